//! Kubernetes' own kinds, from the list types, merge keys and quantities of its API:
//! <https://github.com/kubernetes/kubernetes/blob/master/api/openapi-spec/swagger.json>.

use super::contracts::SELECTOR;
use super::entry::SchemaEntry;
use super::entry::SchemaRow::{self, Atomic, Keyed, Part, Set, Value};
use crate::schema::ValueKind::Quantity;

const NAME: &[&str] = &["name"];

/// What every object has.
pub(super) const OBJECT: &[SchemaRow] = &[
    Keyed("metadata.ownerReferences", &["uid"]),
    Set("metadata.finalizers"),
    Atomic(&["metadata.managedFields"]),
];

/// An environment variable.
const ENV: &[SchemaRow] = &[Value("valueFrom.resourceFieldRef.divisor", Quantity)];

const AMOUNTS: &[SchemaRow] =
    &[Value("limits.*", Quantity), Value("requests.*", Quantity), Keyed("claims", NAME)];

const CLAIM: &[SchemaRow] =
    &[Atomic(&["accessModes"]), Part("resources", AMOUNTS), Part("selector", SELECTOR)];

const CONTAINER: &[SchemaRow] = &[
    Atomic(&[
        "args",
        "command",
        "envFrom",
        "lifecycle.postStart.exec.command",
        "lifecycle.postStart.httpGet.httpHeaders",
        "lifecycle.preStop.exec.command",
        "lifecycle.preStop.httpGet.httpHeaders",
        "livenessProbe.exec.command",
        "livenessProbe.httpGet.httpHeaders",
        "readinessProbe.exec.command",
        "readinessProbe.httpGet.httpHeaders",
        "startupProbe.exec.command",
        "startupProbe.httpGet.httpHeaders",
        "resizePolicy",
        "securityContext.capabilities.add",
        "securityContext.capabilities.drop",
    ]),
    Keyed("env", NAME),
    Part("env[]", ENV),
    Keyed("ports", &["containerPort", "protocol=TCP"]),
    Part("resources", AMOUNTS),
    Keyed("volumeDevices", &["devicePath"]),
    Keyed("volumeMounts", &["mountPath"]),
];

const NODE_TERM: &[SchemaRow] =
    &[Atomic(&["matchExpressions", "matchExpressions[].values", "matchFields", "matchFields[].values"])];

const POD_TERM: &[SchemaRow] = &[
    Atomic(&["namespaces", "matchLabelKeys", "mismatchLabelKeys"]),
    Part("labelSelector", SELECTOR),
    Part("namespaceSelector", SELECTOR),
];

const POD_AFFINITY: &[SchemaRow] = &[
    Atomic(&[
        "preferredDuringSchedulingIgnoredDuringExecution",
        "requiredDuringSchedulingIgnoredDuringExecution",
    ]),
    Part("preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm", POD_TERM),
    Part("requiredDuringSchedulingIgnoredDuringExecution[]", POD_TERM),
];

const VOLUME: &[SchemaRow] = &[
    Value("emptyDir.sizeLimit", Quantity),
    Part("ephemeral.volumeClaimTemplate.spec", CLAIM),
    Atomic(&[
        "cephfs.monitors",
        "configMap.items",
        "downwardAPI.items",
        "projected.sources",
        "projected.sources[].configMap.items",
        "projected.sources[].downwardAPI.items",
        "projected.sources[].secret.items",
        "rbd.monitors",
        "secret.items",
    ]),
    Value("downwardAPI.items[].resourceFieldRef.divisor", Quantity),
    Value("projected.sources[].downwardAPI.items[].resourceFieldRef.divisor", Quantity),
];

const POD: &[SchemaRow] = &[
    Part("affinity.podAffinity", POD_AFFINITY),
    Part("affinity.podAntiAffinity", POD_AFFINITY),
    Atomic(&[
        "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution",
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
        "dnsConfig.nameservers",
        "dnsConfig.options",
        "dnsConfig.searches",
        "readinessGates",
        "securityContext.supplementalGroups",
        "securityContext.sysctls",
        "tolerations",
    ]),
    Part("affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[].preference", NODE_TERM),
    Part(
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[]",
        NODE_TERM,
    ),
    Keyed("containers", NAME),
    Part("containers[]", CONTAINER),
    Keyed("initContainers", NAME),
    Part("initContainers[]", CONTAINER),
    Keyed("ephemeralContainers", NAME),
    Part("ephemeralContainers[]", CONTAINER),
    Keyed("hostAliases", &["ip"]),
    Atomic(&["hostAliases[].hostnames"]),
    Keyed("imagePullSecrets", NAME),
    Value("overhead.*", Quantity),
    Keyed("resourceClaims", NAME),
    Part("resources", AMOUNTS),
    Keyed("schedulingGates", NAME),
    Keyed("topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
    Part("topologySpreadConstraints[].labelSelector", SELECTOR),
    Atomic(&["topologySpreadConstraints[].matchLabelKeys"]),
    Keyed("volumes", NAME),
    Part("volumes[]", VOLUME),
];

const POD_TEMPLATE: &[SchemaRow] = &[Part("spec", POD)];

const JOB: &[SchemaRow] = &[Part("selector", SELECTOR), Part("template", POD_TEMPLATE)];

const WEBHOOK: &[SchemaRow] = &[
    Atomic(&[
        "admissionReviewVersions",
        "rules",
        "rules[].apiGroups",
        "rules[].apiVersions",
        "rules[].operations",
        "rules[].resources",
    ]),
    Part("namespaceSelector", SELECTOR),
    Part("objectSelector", SELECTOR),
    Keyed("matchConditions", NAME),
];

const PEER: &[SchemaRow] =
    &[Atomic(&["ipBlock.except"]), Part("namespaceSelector", SELECTOR), Part("podSelector", SELECTOR)];

pub(super) const ENTRIES: &[SchemaEntry] = &[
    SchemaEntry { group: "", kinds: &["Pod"], rows: &[Part("spec", POD)] },
    SchemaEntry { group: "", kinds: &["PodTemplate"], rows: &[Part("template", POD_TEMPLATE)] },
    SchemaEntry {
        group: "",
        kinds: &["ReplicationController"],
        rows: &[Part("spec.template", POD_TEMPLATE)],
    },
    SchemaEntry {
        group: "apps",
        kinds: &["DaemonSet", "Deployment", "ReplicaSet"],
        rows: &[Part("spec.selector", SELECTOR), Part("spec.template", POD_TEMPLATE)],
    },
    SchemaEntry {
        group: "apps",
        kinds: &["StatefulSet"],
        rows: &[
            Part("spec.selector", SELECTOR),
            Part("spec.template", POD_TEMPLATE),
            Atomic(&["spec.volumeClaimTemplates"]),
            Part("spec.volumeClaimTemplates[].spec", CLAIM),
        ],
    },
    SchemaEntry { group: "batch", kinds: &["Job"], rows: &[Part("spec", JOB)] },
    SchemaEntry { group: "batch", kinds: &["CronJob"], rows: &[Part("spec.jobTemplate.spec", JOB)] },
    SchemaEntry {
        group: "",
        kinds: &["Service"],
        rows: &[
            Keyed("spec.ports", &["port", "protocol=TCP"]),
            Atomic(&[
                "spec.clusterIPs",
                "spec.externalIPs",
                "spec.ipFamilies",
                "spec.loadBalancerSourceRanges",
            ]),
        ],
    },
    SchemaEntry {
        group: "",
        kinds: &["ServiceAccount"],
        rows: &[Keyed("secrets", NAME), Atomic(&["imagePullSecrets"])],
    },
    SchemaEntry { group: "", kinds: &["ConfigMap", "Secret"], rows: &[] },
    SchemaEntry { group: "", kinds: &["Namespace"], rows: &[Atomic(&["spec.finalizers"])] },
    SchemaEntry { group: "", kinds: &["Node"], rows: &[Set("spec.podCIDRs"), Atomic(&["spec.taints"])] },
    SchemaEntry {
        group: "",
        kinds: &["LimitRange"],
        rows: &[
            Atomic(&["spec.limits"]),
            Value("spec.limits[].default.*", Quantity),
            Value("spec.limits[].defaultRequest.*", Quantity),
            Value("spec.limits[].max.*", Quantity),
            Value("spec.limits[].maxLimitRequestRatio.*", Quantity),
            Value("spec.limits[].min.*", Quantity),
        ],
    },
    SchemaEntry {
        group: "",
        kinds: &["ResourceQuota"],
        rows: &[
            Value("spec.hard.*", Quantity),
            Atomic(&["spec.scopes", "spec.scopeSelector.matchExpressions"]),
        ],
    },
    SchemaEntry { group: "", kinds: &["PersistentVolumeClaim"], rows: &[Part("spec", CLAIM)] },
    SchemaEntry {
        group: "",
        kinds: &["PersistentVolume"],
        rows: &[
            Value("spec.capacity.*", Quantity),
            Atomic(&["spec.accessModes", "spec.mountOptions"]),
            Atomic(&["spec.nodeAffinity.required.nodeSelectorTerms"]),
        ],
    },
    SchemaEntry {
        group: "storage.k8s.io",
        kinds: &["StorageClass"],
        rows: &[Atomic(&["allowedTopologies", "mountOptions"])],
    },
    SchemaEntry {
        group: "networking.k8s.io",
        kinds: &["Ingress"],
        rows: &[Atomic(&["spec.rules", "spec.rules[].http.paths", "spec.tls", "spec.tls[].hosts"])],
    },
    SchemaEntry {
        group: "networking.k8s.io",
        kinds: &["NetworkPolicy"],
        rows: &[
            Part("spec.podSelector", SELECTOR),
            Atomic(&[
                "spec.egress",
                "spec.egress[].ports",
                "spec.egress[].to",
                "spec.ingress",
                "spec.ingress[].from",
                "spec.ingress[].ports",
                "spec.policyTypes",
            ]),
            Part("spec.egress[].to[]", PEER),
            Part("spec.ingress[].from[]", PEER),
        ],
    },
    SchemaEntry {
        group: "rbac.authorization.k8s.io",
        kinds: &["ClusterRole", "Role"],
        rows: &[Atomic(&[
            "aggregationRule.clusterRoleSelectors",
            "rules",
            "rules[].apiGroups",
            "rules[].nonResourceURLs",
            "rules[].resourceNames",
            "rules[].resources",
            "rules[].verbs",
        ])],
    },
    SchemaEntry {
        group: "rbac.authorization.k8s.io",
        kinds: &["ClusterRoleBinding", "RoleBinding"],
        rows: &[Atomic(&["subjects"])],
    },
    SchemaEntry {
        group: "policy",
        kinds: &["PodDisruptionBudget"],
        rows: &[Part("spec.selector", SELECTOR)],
    },
    SchemaEntry {
        group: "autoscaling",
        kinds: &["HorizontalPodAutoscaler"],
        rows: &[Atomic(&[
            "spec.behavior.scaleDown.policies",
            "spec.behavior.scaleUp.policies",
            "spec.metrics",
        ])],
    },
    SchemaEntry {
        group: "admissionregistration.k8s.io",
        kinds: &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
        rows: &[Keyed("webhooks", NAME), Part("webhooks[]", WEBHOOK)],
    },
    SchemaEntry {
        group: "apiextensions.k8s.io",
        kinds: &["CustomResourceDefinition"],
        rows: &[Atomic(&[
            "spec.conversion.webhook.conversionReviewVersions",
            "spec.names.categories",
            "spec.names.shortNames",
            "spec.versions",
        ])],
    },
];
