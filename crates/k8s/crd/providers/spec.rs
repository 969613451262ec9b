//! The fields of a provider object.

use capstan_providers::ProviderKind;
use serde_json::{Value, json};

use super::super::parts::{about, boolean, integer, list, map, object, rule, sized, text, with};
use super::pods;

/// The schema of a kind: all seven have the same.
pub(super) fn provider(kind: ProviderKind) -> Value {
    let description = match kind {
        ProviderKind::Core => "Cluster API itself: which version is installed, and how.",
        ProviderKind::Bootstrap => {
            "A bootstrap provider of Cluster API: which version is installed, and how."
        }
        ProviderKind::ControlPlane => {
            "A control plane provider of Cluster API: which version is installed, and how."
        }
        ProviderKind::Infrastructure => {
            "An infrastructure provider of Cluster API: which version is installed, and how."
        }
        ProviderKind::Ipam => "An IPAM provider of Cluster API: which version is installed, and how.",
        ProviderKind::RuntimeExtension => {
            "A runtime extension of Cluster API: which version is installed, and how."
        }
        ProviderKind::Addon => "An add-on provider of Cluster API: which version is installed, and how.",
    };
    let fields = [
        ("apiVersion", text()),
        ("kind", text()),
        ("metadata", json!({"type": "object"})),
        ("spec", spec()),
        ("status", status()),
    ];
    about(description, object(fields, &[]))
}

fn spec() -> Value {
    let additional = object([("deployment", deployment()), ("manager", manager())], &[]);
    let fields = [
        (
            "additionalDeployments",
            about("Changes of Deployments other than the manager's, by their names.", map(additional)),
        ),
        (
            "additionalManifests",
            about(
                "A ConfigMap with objects in its key manifests that are applied with the components. Default namespace: the provider's.",
                reference(),
            ),
        ),
        (
            "configSecret",
            about(
                "The Secret with the values of the components' variables, and with credentials of their source. Its namespace is the provider's own.",
                reference(),
            ),
        ),
        ("deployment", about("Changes of the manager's Deployment.", deployment())),
        ("fetchConfig", fetch_config()),
        ("manager", about("Arguments of the manager.", manager())),
        (
            "manifestPatches",
            about(
                "Merge patches, each of which names its object by kind, apiVersion, name and namespace.",
                list(text()),
            ),
        ),
        ("patches", patches()),
        ("version", about("The version, v1.13.4 for example. Without it, the newest is installed.", text())),
    ];
    let spec = about("The desired state.", object(fields, &[]));
    rule(
        spec,
        "!(has(self.manifestPatches) && has(self.patches))",
        "Cannot set both 'patches' and 'manifestPatches'",
    )
}

fn reference() -> Value {
    object([("name", about("Its name.", text())), ("namespace", about("Its namespace.", text()))], &["name"])
}

fn fetch_config() -> Value {
    let fields = [
        ("oci", about("An OCI artifact: REGISTRY/REPOSITORY[:TAG].", text())),
        ("selector", about("ConfigMaps in the provider's namespace.", pods::label_selector())),
        ("url", about("A release on GitHub, or a generic package on GitLab.", text())),
    ];
    let fetch =
        about("Where the components come from: exactly one of oci, selector and url.", object(fields, &[]));
    rule(
        fetch,
        "[has(self.oci), has(self.url), has(self.selector)].exists_one(x,x)",
        "Must specify one and only one of {oci, url, selector}",
    )
}

fn patches() -> Value {
    let target = object(
        [
            ("group", text()),
            ("kind", text()),
            ("labelSelector", about("a=b,!c", text())),
            ("name", text()),
            ("namespace", text()),
            ("version", text()),
        ],
        &[],
    );
    let fields = [
        ("patch", about("A merge patch, or a JSON patch (RFC 6902) if it is a list.", text())),
        ("target", about("The objects that it applies to. Default: all.", target)),
    ];
    about("Patches of the rendered objects.", list(object(fields, &[])))
}

fn deployment() -> Value {
    let container = object(
        [
            ("args", about("Arguments by name.", map(text()))),
            ("command", list(text())),
            ("env", pods::environment()),
            ("imageUrl", about("The image, whole.", text())),
            ("name", about("The container's name.", text())),
            ("resources", pods::resources()),
        ],
        &["name"],
    );
    object(
        [
            ("affinity", pods::affinity()),
            ("containers", list(container)),
            ("imagePullSecrets", pods::local_references()),
            ("nodeSelector", map(text())),
            ("replicas", about("How many pods are wanted.", with(integer(), "minimum", 0))),
            ("serviceAccountName", text()),
            ("tolerations", about("An empty list removes those of the components.", pods::tolerations())),
        ],
        &[],
    )
}

fn manager() -> Value {
    let controller = object(
        [
            ("cacheSyncTimeout", about("In nanoseconds.", sized("int64"))),
            ("groupKindConcurrency", about("Workers by Kind.group.", map(integer()))),
            ("recoverPanic", boolean()),
        ],
        &[],
    );
    let health = object(
        [
            ("healthProbeBindAddress", text()),
            ("livenessEndpointName", text()),
            ("readinessEndpointName", text()),
        ],
        &[],
    );
    let leader_election = object(
        [
            ("leaderElect", boolean()),
            ("leaseDuration", text()),
            ("renewDeadline", text()),
            ("resourceLock", text()),
            ("resourceName", text()),
            ("resourceNamespace", text()),
            ("retryPeriod", text()),
        ],
        &[
            "leaderElect",
            "leaseDuration",
            "renewDeadline",
            "resourceLock",
            "resourceName",
            "resourceNamespace",
            "retryPeriod",
        ],
    );
    let metrics = object(
        [("bindAddress", text()), ("diagnosticsAddress", text()), ("insecureDiagnostics", boolean())],
        &[],
    );
    let webhook = object([("certDir", text()), ("host", text()), ("port", integer())], &[]);
    let verbosity = with(with(integer(), "default", 1), "minimum", 0);
    object(
        [
            ("additionalArgs", about("Arguments that it does not have yet, by name.", map(text()))),
            ("cacheNamespace", about("The one namespace that it watches.", text())),
            ("controller", controller),
            ("featureGates", map(boolean())),
            ("gracefulShutDown", about("A duration: 30s.", text())),
            ("health", health),
            ("leaderElection", leader_election),
            ("maxConcurrentReconciles", with(integer(), "minimum", 1)),
            ("metrics", metrics),
            ("profilerAddress", text()),
            ("syncPeriod", about("A duration: 10m.", text())),
            ("verbosity", about("1 has no effect: the value of the components applies.", verbosity)),
            ("webhook", webhook),
        ],
        &[],
    )
}

fn status() -> Value {
    // The bounds are those of `metav1.Condition`.
    let kind = json!({
        "type": "string",
        "maxLength": 316,
        "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
    });
    let reason = json!({
        "type": "string",
        "minLength": 1,
        "maxLength": 1024,
        "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
    });
    let condition = object(
        [
            ("lastTransitionTime", json!({"type": "string", "format": "date-time"})),
            ("message", json!({"type": "string", "maxLength": 32768})),
            ("observedGeneration", with(sized("int64"), "minimum", 0)),
            ("reason", reason),
            ("status", json!({"type": "string", "enum": ["True", "False", "Unknown"]})),
            ("type", kind),
        ],
        &["lastTransitionTime", "message", "reason", "status", "type"],
    );
    let fields = [
        ("conditions", list(condition)),
        ("contract", about("The contract of Cluster API that it implements: v1beta2.", text())),
        ("installedVersion", about("The version that is completely installed.", text())),
        ("observedGeneration", sized("int64")),
    ];
    about("The observed state.", object(fields, &[]))
}
