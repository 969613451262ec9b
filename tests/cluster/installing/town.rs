//! A management cluster with provider objects, their components in ConfigMaps, and the real reconciler.

use capstan_test_support::PATIENCE;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_test_support::tally;
use serde_json::{Value, json};

use super::stub::Stub;
use capstan_test_parts::plane::process::Process;
use capstan_test_parts::plane::reconciler::{HOME, install, process_with};
use capstan_test_parts::plane::{Parts, Plane};

/// Kind, name, namespace, label and file of a provider.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) kind: &'static str,
    pub(crate) name: &'static str,
    pub(crate) namespace: &'static str,
    pub(crate) label: &'static str,
    pub(crate) file: &'static str,
}

pub(crate) const CORE: Row = Row {
    kind: "CoreProvider",
    name: "cluster-api",
    namespace: "capi-system",
    label: "cluster-api",
    file: "core-components.yaml",
};
pub(crate) const BOOTSTRAP: Row = Row {
    kind: "BootstrapProvider",
    name: "kubeadm",
    namespace: "capi-kubeadm-bootstrap-system",
    label: "bootstrap-kubeadm",
    file: "bootstrap-components.yaml",
};
pub(crate) const CONTROL_PLANE: Row = Row {
    kind: "ControlPlaneProvider",
    name: "kubeadm",
    namespace: "capi-kubeadm-control-plane-system",
    label: "control-plane-kubeadm",
    file: "control-plane-components.yaml",
};
pub(crate) const IPAM: Row = Row {
    kind: "IPAMProvider",
    name: "in-cluster",
    namespace: "capi-ipam-in-cluster-system",
    label: "ipam-in-cluster",
    file: "ipam-components.yaml",
};

pub(crate) const AWS: Row = Row {
    kind: "InfrastructureProvider",
    name: "aws",
    namespace: "capa-system",
    label: "infrastructure-aws",
    file: "infrastructure-components.yaml",
};

/// A management cluster with provider objects.
pub(crate) struct Town {
    pub(crate) plane: Plane,
    pub(crate) stub: Stub,
    pub(crate) reconciler: Process,
    components: PathBuf,
    _folder: tempfile::TempDir,
}

impl Town {
    /// With Capstan's kinds, the seven kinds and cert-manager's; `None`, said aloud, where something was never built.
    /// What a set takes is another matter: here it may do everything.
    pub(crate) fn build() -> Option<Self> {
        Self::build_with(&[])
    }

    /// The same with flags of the reconciler.
    pub(crate) fn build_with(flags: &[&str]) -> Option<Self> {
        let town = Self::found(flags)?;
        town.plane.apply(RIGHTS);
        Some(town)
    }

    /// With what `deploy/providers` brings, and nothing besides.
    pub(crate) fn build_without_rights() -> Option<Self> {
        Self::found(&[])
    }

    fn found(flags: &[&str]) -> Option<Self> {
        let tools = capstan_test_parts::plane::tools()?;
        let (components, certificates) = (tools.join("components"), tools.join("cert-manager.crds.yaml"));
        if !components.join("complete").is_file() || !certificates.is_file() {
            println!(
                "SKIPPED: no components of providers (`make components` has them where Go is): none are installed"
            );
            return None;
        }
        let plane = Plane::start(Parts::Kubernetes)?;
        install(&plane);
        let printed =
            tally::command(env!("CARGO_BIN_EXE_capstan")).args(["crds", "--providers"]).output().unwrap();
        plane.apply(std::str::from_utf8(&printed.stdout).unwrap());
        plane.kubectl(&["create", "-f", &certificates.display().to_string()]);
        plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
        plane.apply(&capstan_test_parts::plane::reconciler::deployed("providers/rbac.yaml"));
        let stub = Stub::start(&plane);
        let folder = tempfile::tempdir().unwrap();
        let reconciler =
            process_with(&plane, folder.path(), &[&["--providers-namespace", HOME], flags].concat());
        Some(Self { plane, stub, reconciler, components, _folder: folder })
    }

    /// Puts the components of a version into a packed ConfigMap of the provider's namespace.
    pub(crate) fn publish(&self, row: Row, version: &str) {
        publish(&self.plane, &self.components, row, version);
    }

    /// A version of a provider that nobody published: another one, without what `is_left_out` says, and with what `more` says.
    pub(crate) fn publish_next(
        &self,
        row: Row,
        [of, version]: [&str; 2],
        is_left_out: impl Fn(&str) -> bool,
        more: &str,
    ) {
        let folder = self.components.join(row.label).join(of);
        let text = std::fs::read_to_string(folder.join(row.file)).unwrap();
        let kept: Vec<&str> = text.split("\n---\n").filter(|document| !is_left_out(document)).collect();
        assert!(kept.len() < text.split("\n---\n").count(), "nothing is left out");
        let metadata = std::fs::read_to_string(folder.join("metadata.yaml")).unwrap();
        let text = format!("{}\n---\n{more}", kept.join("\n---\n"));
        publish_text(&self.plane, row, version, &text, &metadata);
    }

    /// Applies a provider object: nothing of what `spec` has beside the version and the source was said before.
    pub(crate) fn ask(&self, row: Row, version: &str, spec: &Value) {
        self.plane.apply(&self.object(row, version, spec).to_string());
    }

    /// A provider object.
    pub(crate) fn object(&self, row: Row, version: &str, spec: &Value) -> Value {
        let folder = self.components.join(row.label);
        // One that nobody published has the webhooks of those that somebody did.
        let published = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let known = std::iter::once(folder.join(version)).chain(published);
        let mut texts = known.map(|folder| std::fs::read_to_string(folder.join(row.file)));
        let text = texts.find_map(Result::ok).unwrap();
        let mut object = json!({
            "apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": row.kind,
            "metadata": {"name": row.name, "namespace": row.namespace},
            "spec": {"version": version, "fetchConfig": {"selector": {"matchLabels": {"for": row.name}}},
                "patches": self.webhook_patches(&text)},
        });
        for (key, value) in spec.as_object().into_iter().flatten() {
            match (&mut object["spec"][key], value) {
                (Value::Array(items), Value::Array(more)) => items.extend(more.iter().cloned()),
                (field, value) => *field = value.clone(),
            }
        }
        object
    }

    /// Grants the installer what `capstan providers rights` prints of the provider objects and ConfigMaps that are there, and
    /// takes away what it had before. `repository` is a folder that has what was there the last time: an upgrade is printed from
    /// that.
    pub(crate) fn grant_what_is_printed(&self, repository: &Path) {
        let git = |arguments: &[&str]| {
            let mut git = tally::command("git");
            git.current_dir(repository).args(["-c", "user.name=test", "-c", "user.email=test@example.com"]);
            git.args(arguments).output().unwrap().status.success()
        };
        assert!(git(&["init", "--quiet"]));
        let is_upgrade = git(&["rev-parse", "--verify", "--quiet", "HEAD"]);
        // Those of ConfigMaps that hold components.
        let arguments = [vec![self.kinds()], vec!["configmaps".to_owned(), "--selector=for".to_owned()]];
        let mut items = Vec::new();
        for what in arguments {
            let what = what.iter().map(String::as_str);
            let all: Vec<&str> = ["get", "-A", "-o", "json"].into_iter().chain(what).collect();
            let found: Value = serde_json::from_str(&self.plane.kubectl(&all)).unwrap();
            items.extend(found["items"].as_array().unwrap().iter().cloned());
        }
        for (at, item) in items.iter().enumerate() {
            std::fs::write(repository.join(format!("{at}.yaml")), item.to_string()).unwrap();
        }
        let mut rights = tally::command(env!("CARGO_BIN_EXE_capstan"));
        rights.args(["providers", "rights", "--repo", &repository.display().to_string(), "."]);
        let printed = rights.args(is_upgrade.then_some("--from=HEAD")).output().unwrap();
        assert!(git(&["add", "-A"]) && git(&["commit", "--quiet", "-m", "as it is"]));
        let roles = String::from_utf8(printed.stdout).unwrap();
        assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
        self.plane.apply(&roles);
        for kind in ["ClusterRole", "Role"] {
            let names = "jsonpath={range .items[?(@.metadata.name==\"capstan-providers\")]}{.metadata.namespace} {end}";
            let namespaces = self.plane.kubectl(&["get", kind, "-A", "-o", names]);
            let namespaces = if kind == "Role" { namespaces.split_whitespace().collect() } else { vec![""] };
            for namespace in namespaces {
                let mut binding = json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": format!("{kind}Binding"),
                    "metadata": {"name": "capstan-providers"},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "capstan-providers"},
                    "subjects": [{"kind": "ServiceAccount", "name": "capstan-providers", "namespace": HOME}],
                });
                if kind == "Role" {
                    binding["metadata"]["namespace"] = json!(namespace);
                }
                self.plane.apply(&binding.to_string());
            }
        }
    }

    /// Webhooks are served by the stub: nobody routes to Services here.
    fn webhook_patches(&self, components: &str) -> Value {
        let mut patches = Vec::new();
        for document in components.split("\n---\n") {
            let kind = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
                .into_iter()
                .find(|kind| document.contains(&format!("\nkind: {kind}\n")));
            let Some(kind) = kind else { continue };
            let sort = if kind.starts_with("Mutating") { "mutate" } else { "validate" };
            let count = document.matches("clientConfig:").count();
            let mut operations = vec![
                json!({"op": "remove", "path": "/metadata/annotations/cert-manager.io~1inject-ca-from"}),
            ];
            operations.extend((0..count).map(|at| {
                json!({"op": "replace", "path": format!("/webhooks/{at}/clientConfig"),
                    "value": {"url": format!("{}/{sort}/{at}", self.stub.url), "caBundle": self.stub.ca}})
            }));
            patches.push(json!({"target": {"kind": kind}, "patch": json!(operations).to_string()}));
        }
        json!(patches)
    }

    /// A field of the object, at a JSONPath.
    pub(crate) fn field(&self, row: Row, path: &str) -> String {
        let resource = format!("{}s.operator.cluster.x-k8s.io", row.kind.to_lowercase());
        let path = format!("jsonpath={{{path}}}");
        self.plane.kubectl(&["get", &resource, row.name, "-n", row.namespace, "-o", &path])
    }

    /// Whether a provider is ready at that version.
    pub(crate) fn is_ready(&self, row: Row, version: &str) -> bool {
        let ready = ".status.conditions[?(@.type==\"Ready\")].status";
        self.field(row, ".status.installedVersion") == version && self.field(row, ready) == "True"
    }

    /// Waits until these are ready at their versions.
    pub(crate) fn wait_for(&self, wanted: &[(Row, &str)]) {
        self.wait("the providers are not ready", || {
            wanted.iter().all(|(row, version)| self.is_ready(*row, version))
        });
    }

    /// Waits until something holds.
    pub(crate) fn wait(&self, otherwise: &str, holds: impl Fn() -> bool) {
        let begun = Instant::now();
        while !holds() {
            self.reconciler.is_well().unwrap();
            if begun.elapsed() > PATIENCE {
                let stands = self.plane.kubectl(&["get", "managedproviders", "-A", "-o", "wide"]);
                let log = capstan_test_parts::plane::tail(&self.reconciler.log(), 40);
                panic!("{otherwise}:\n{stands}\n{}\n{log}", self.statuses());
            }
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    pub(crate) fn kinds(&self) -> String {
        let all = [CORE, BOOTSTRAP, CONTROL_PLANE, IPAM, AWS];
        let kinds: Vec<String> =
            all.iter().map(|row| format!("{}s.operator.cluster.x-k8s.io", row.kind.to_lowercase())).collect();
        kinds.join(",")
    }

    pub(crate) fn statuses(&self) -> String {
        let path = "jsonpath={range .items[*]}{.kind}{\" \"}{.status.conditions}{\"\\n\"}{end}";
        self.plane.kubectl(&["get", &self.kinds(), "-A", "-o", path])
    }

    /// Waits until nobody has written anything as the installer for a while; how many writes there were in all.
    pub(crate) fn settle(&self) -> usize {
        let (mut writes, mut quiet) = (self.writes().len(), Instant::now());
        while quiet.elapsed() < Duration::from_secs(4) {
            // The log is long, and is read whole each time.
            std::thread::sleep(Duration::from_secs(2));
            let now = self.writes().len();
            if now != writes {
                (writes, quiet) = (now, Instant::now());
            }
        }
        writes
    }

    /// What the installer wrote so far.
    pub(crate) fn writes(&self) -> Vec<String> {
        let all = self.plane.audit();
        let own = all.iter().filter(|request| request.is_by(HOME, "capstan-providers") && request.is_write());
        own.map(capstan_test_parts::plane::audit::Request::words).collect()
    }

    /// Every object that carries a provider's label, without what the API server sets, Deployments' status included.
    pub(crate) fn objects(&self) -> Vec<String> {
        let resources = "deployments,services,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,\
                         mutatingwebhookconfigurations,validatingwebhookconfigurations,issuers,certificates,customresourcedefinitions";
        let text =
            self.plane.kubectl(&["get", resources, "-A", "-l", "cluster.x-k8s.io/provider", "-o", "json"]);
        let list: Value = serde_json::from_str(&text).unwrap();
        let mut objects: Vec<String> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|object| {
                let mut object = object.clone();
                object.as_object_mut().unwrap().remove("status");
                let metadata = object["metadata"].as_object_mut().unwrap();
                for key in [
                    "uid",
                    "resourceVersion",
                    "generation",
                    "creationTimestamp",
                    "managedFields",
                    "ownerReferences",
                ] {
                    metadata.remove(key);
                }
                // Given by the API server, another one each time.
                if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                    spec.retain(|key, _| !key.starts_with("clusterIP"));
                }
                object.to_string()
            })
            .collect();
        objects.sort();
        objects
    }
}

/// Puts the components of a version into a packed ConfigMap of the provider's namespace.
pub(crate) fn publish(plane: &Plane, components: &Path, row: Row, version: &str) {
    let folder = components.join(row.label).join(version);
    let text = std::fs::read_to_string(folder.join(row.file)).unwrap();
    let metadata = std::fs::read_to_string(folder.join("metadata.yaml")).unwrap();
    publish_text(plane, row, version, &text, &metadata);
}

/// The same of components that are at hand.
pub(crate) fn publish_text(plane: &Plane, row: Row, version: &str, components: &str, metadata: &str) {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(components.as_bytes()).unwrap();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": row.namespace}});
    plane.apply(&namespace.to_string());
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": version, "namespace": row.namespace,
            "labels": {"for": row.name, "provider.cluster.x-k8s.io/version": version},
            "annotations": {"provider.cluster.x-k8s.io/compressed": "true"},
        },
        "data": {"metadata": metadata},
        "binaryData": {"components": STANDARD.encode(packed.finish().unwrap())},
    });
    plane.apply(&map.to_string());
}

const RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: capstan-providers-for-tests}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: capstan-providers, namespace: capstan-system}]
";
