//! k0smotron, v1beta1 to v1beta2, in its four API groups
//! (<https://github.com/k0sproject/k0smotron/blob/main/docs/update/migrate-v1beta2-api.md>).

use super::rule::TableRule::{self, Hand, In, Move, Refuse, Silent};
use super::rule::{ConversionTable, ServedSince, TablePart};
use super::run::{TableRun, own, says_something};
use crate::conversion::step::ConversionStep::{Remove, Replace};
use capstan_model::object::FieldPath;
use capstan_yaml::Node;

const VERSIONS: (&str, &str) = ("v1beta1", "v1beta2");

pub(super) const BOOTSTRAP: ConversionTable = ConversionTable {
    group: "bootstrap.cluster.x-k8s.io",
    versions: VERSIONS,
    since: ServedSince::release("bootstrap-k0sproject-k0smotron", "v2.0.0"),
    parts: &[TablePart {
        at: &[
            ("K0sWorkerConfig", "spec"),
            ("K0sWorkerConfigTemplate", "spec.template.spec"),
            ("K0sControllerConfig", "spec"),
        ],
        rules: &[In("", COMMANDS), Hand(provisioner), Hand(platform)],
    }],
};

pub(super) const PLANES: ConversionTable = ConversionTable {
    group: "controlplane.cluster.x-k8s.io",
    versions: VERSIONS,
    since: ServedSince::release("control-plane-k0sproject-k0smotron", "v2.0.0"),
    parts: &[
        TablePart {
            at: &[
                ("K0sControlPlane", "spec.k0sConfigSpec"),
                ("K0sControlPlaneTemplate", "spec.template.spec.k0sConfigSpec"),
            ],
            rules: &[In("", COMMANDS), Hand(provisioner), Hand(platform)],
        },
        TablePart {
            at: &[("K0smotronControlPlane", "spec"), ("K0smotronControlPlaneTemplate", "spec.template.spec")],
            rules: HOSTED,
        },
    ],
};

pub(super) const HOSTED_CLUSTERS: ConversionTable = ConversionTable {
    group: "k0smotron.io",
    versions: VERSIONS,
    since: ServedSince::release("control-plane-k0sproject-k0smotron", "v2.0.0"),
    parts: &[
        TablePart { at: &[("Cluster", "spec")], rules: HOSTED },
        TablePart { at: &[("JoinTokenRequest", "spec")], rules: &[Hand(cluster)] },
    ],
};

pub(super) const INFRASTRUCTURE: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: VERSIONS,
    since: ServedSince::release("infrastructure-k0sproject-k0smotron", "v2.0.0"),
    parts: &[
        TablePart {
            at: &[
                ("RemoteMachine", "spec"),
                ("RemoteMachineTemplate", "spec.template.spec"),
                ("PooledRemoteMachine", "spec"),
                ("PooledRemoteMachine", "spec.machine"),
            ],
            rules: &[Move("customCleanUpCommands", "cleanUpCommands")],
        },
        TablePart { at: &[("RemoteCluster", "spec")], rules: &[] },
    ],
};

const COMMANDS: &[TableRule] = &[
    Move("preStartCommands", "preK0sCommands"),
    Move("postStartCommands", "postK0sCommands"),
    Move("ignition", "provisioner.ignition"),
    Move("customUserDataRef", "provisioner.customUserDataRef"),
];

const WITHOUT_EFFECT: &str =
    "the newer version has no such field: the server keeps it as an annotation without effect";

const PATCH: &str = "take it out, and write it as one of `spec.patches` for the Service";

const HOSTED: &[TableRule] = &[
    Move("controllerPlaneFlags", "controlPlaneFlags"),
    Hand(storage),
    Move("kubeconfigRef", "remoteHostCluster.kubeconfigRef"),
    In(
        "service",
        &[
            Refuse("annotations", WITHOUT_EFFECT, PATCH),
            Refuse("labels", WITHOUT_EFFECT, PATCH),
            Refuse("externalTrafficPolicy", WITHOUT_EFFECT, PATCH),
            Refuse("loadBalancerClass", WITHOUT_EFFECT, PATCH),
        ],
    ),
    Silent(
        "persistence",
        "{type: emptyDir}",
        "where nothing is said, the older version takes `emptyDir`, and the newer one fills in nothing: the old meaning is \
         written out",
    ),
];

/// How machines are set up: said by the fields alone in the older version, and by name in the newer one.
fn provisioner(run: &mut TableRun<'_>, base: &FieldPath) {
    let place = base.key("provisioner");
    let has_ignition = run.object.at(&place.key("ignition")).is_some_and(says_something);
    let is_said = run.object.at(&place.key("type")).is_some();
    if !is_said && (has_ignition || run.is_whole()) {
        run.write(&place.key("type"), if has_ignition { "ignition" } else { "cloud-config" });
    }
}

fn platform(run: &mut TableRun<'_>, base: &FieldPath) {
    let place = base.key("provisioner").key("platform");
    if run.is_whole() && run.object.at(&place).is_none() {
        run.write(&place, "linux");
    }
}

/// Where a hosted control plane keeps its state: etcd, or what kine connects to.
fn storage(run: &mut TableRun<'_>, base: &FieldPath) {
    let to = base.key("storage");
    let mut has_kine = false;
    for (from, key) in
        [("kineDataSourceURL", "dataSourceURL"), ("kineDataSourceSecretName", "dataSourceSecretName")]
    {
        let from = base.key(from);
        if run.object.at(&from).is_some_and(says_something) {
            has_kine = true;
            run.go(&from, &to.key("kine").key(key));
        } else {
            run.step(Remove { at: from });
        }
    }
    let etcd = base.key("etcd");
    if run.object.at(&etcd).is_some_and(|node| !node.is_null()) {
        run.go(&etcd, &to.key("etcd"));
    }
    // A part that speaks of etcd alone does not say what the rest of the object keeps its state in.
    if has_kine || run.is_whole() {
        run.write(&to.key("type"), if has_kine { "kine" } else { "etcd" });
    }
}

/// A token's cluster is of its own namespace in the newer version.
fn cluster(run: &mut TableRun<'_>, base: &FieldPath) {
    let place = base.key("clusterRef");
    let Some(node) = run.object.at(&place).filter(|node| !node.is_null()).cloned() else { return };
    let own_namespace =
        run.object.get("metadata").and_then(|node| node.text_at("namespace")).map(str::to_owned);
    let namespace = node.text_at("namespace").map(str::to_owned);
    if namespace != own_namespace && namespace.is_some() {
        let why = "the newer version finds the cluster in the object's own namespace alone";
        let advice = "write `metadata.namespace` as that of the cluster, or move the object there";
        return run.refuse(&place.key("namespace"), why, advice);
    }
    let name = node.get("name").map_or_else(Node::null, own);
    run.step(Replace { at: place.clone(), value: name });
    run.go(&place, &base.key("clusterName"));
}
