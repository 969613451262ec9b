//! `refused-change`

use serde_json::Value;

use super::evidence::Evidence;
use super::helm_chart_proxy::is_chart_proxy;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::{PlacedValue, RenderedObject};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::FieldPath;

pub(super) struct RefusedChange;

static ABOUT: About =
    About::new(rules::REFUSED_CHANGE, include_str!("../../../docs/rules/refused-change.md"));

/// What may change below `spec` of a KubeadmControlPlane, from v1beta1 to v1beta2: the webhook's list, a
/// path standing for all below it. Fields that only one of the versions has are refused by their schema.
const MAY_CHANGE: &[&str] = &[
    "kubeadmConfigSpec/bootCommands",
    "kubeadmConfigSpec/clusterConfiguration/apiServer",
    "kubeadmConfigSpec/clusterConfiguration/certificateValidityPeriodDays",
    "kubeadmConfigSpec/clusterConfiguration/controllerManager",
    "kubeadmConfigSpec/clusterConfiguration/dns",
    "kubeadmConfigSpec/clusterConfiguration/encryptionAlgorithm",
    "kubeadmConfigSpec/clusterConfiguration/etcd",
    "kubeadmConfigSpec/clusterConfiguration/featureGates",
    "kubeadmConfigSpec/clusterConfiguration/imageRepository",
    "kubeadmConfigSpec/clusterConfiguration/scheduler",
    "kubeadmConfigSpec/diskSetup",
    "kubeadmConfigSpec/files",
    "kubeadmConfigSpec/format",
    "kubeadmConfigSpec/ignition",
    "kubeadmConfigSpec/initConfiguration/bootstrapTokens",
    "kubeadmConfigSpec/initConfiguration/localAPIEndpoint",
    "kubeadmConfigSpec/initConfiguration/nodeRegistration",
    "kubeadmConfigSpec/initConfiguration/patches",
    "kubeadmConfigSpec/initConfiguration/skipPhases",
    "kubeadmConfigSpec/initConfiguration/timeouts",
    "kubeadmConfigSpec/joinConfiguration/caCertPath",
    "kubeadmConfigSpec/joinConfiguration/controlPlane",
    "kubeadmConfigSpec/joinConfiguration/discovery",
    "kubeadmConfigSpec/joinConfiguration/nodeRegistration",
    "kubeadmConfigSpec/joinConfiguration/patches",
    "kubeadmConfigSpec/joinConfiguration/skipPhases",
    "kubeadmConfigSpec/joinConfiguration/timeouts",
    "kubeadmConfigSpec/mounts",
    "kubeadmConfigSpec/ntp",
    "kubeadmConfigSpec/postKubeadmCommands",
    "kubeadmConfigSpec/preKubeadmCommands",
    "kubeadmConfigSpec/useExperimentalRetryJoin",
    "kubeadmConfigSpec/users",
    "kubeadmConfigSpec/verbosity",
    "machineNaming",
    "machineNamingStrategy",
    "machineTemplate",
    "remediation",
    "remediationStrategy",
    "replicas",
    "rollout",
    "rolloutAfter",
    "rolloutBefore",
    "rolloutStrategy",
    "version",
    // v1alpha3 has these in other places.
    "infrastructureTemplate",
    "nodeDrainTimeout",
    "upgradeAfter",
];

/// Cluster API's own control plane, whose webhook knows what may change.
const KUBEADM: &str = "KubeadmControlPlane";

impl PolicyRule for RefusedChange {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        for (old, new) in change.pairs().filter(|(_, new)| new.id.group.ends_with("cluster.x-k8s.io")) {
            // Between API versions fields move; the server converts them.
            if old.api_version != new.api_version {
                continue;
            }
            let found = match role_of(&new.id) {
                Some(KindRole::ControlPlane(_)) if new.id.kind == KUBEADM => control_plane(old, new),
                Some(KindRole::Workers(_) | KindRole::Machine | KindRole::HealthCheck) => {
                    changed(old, new, &["spec", "clusterName"])
                }
                Some(KindRole::Cluster) => {
                    let gone = |field| removed(old, new, &["spec", field]);
                    gone("controlPlaneRef").or_else(|| gone("infrastructureRef"))
                }
                Some(KindRole::ResourceSet) => {
                    // An absent strategy is `ApplyOnce`.
                    changed_default(old, new, &["spec", "strategy"], "ApplyOnce")
                        .or_else(|| differs(old, new, &["spec", "clusterSelector"]))
                }
                _ if is_chart_proxy(&new.id) => changed_default(old, new, &["spec", "reconcileStrategy"], ""),
                _ => None,
            };
            let Some(path) = found else { continue };
            let message = format!(
                "`{path}` of {} is immutable once the object exists, and the API server refuses the change: restore the old value",
                new.id
            );
            let place = change.nearest_place(old, new, &path);
            verdicts
                .push(Finding::new(rules::REFUSED_CHANGE, message).object(&new.id).path(&path).place(place));
        }
    }
}

/// Both have the field, with different values.
fn changed(old: &RenderedObject, new: &RenderedObject, keys: &[&str]) -> Option<FieldPath> {
    let text = |object: &RenderedObject| object.placed.text_at(keys).map(str::to_owned);
    let (old, new) = (text(old)?, text(new)?);
    (old != new).then(|| FieldPath::of_keys(keys))
}

/// The field has another text, where an absent one is read as `default`.
fn changed_default(
    old: &RenderedObject,
    new: &RenderedObject,
    keys: &[&str],
    default: &str,
) -> Option<FieldPath> {
    let text = |object: &RenderedObject| object.placed.text_at(keys).unwrap_or(default).to_owned();
    (text(old) != text(new)).then(|| FieldPath::of_keys(keys))
}

/// The field has another value.
fn differs(old: &RenderedObject, new: &RenderedObject, keys: &[&str]) -> Option<FieldPath> {
    let value = |object: &RenderedObject| object.placed.at(keys).map(PlacedValue::to_value);
    (value(old) != value(new)).then(|| FieldPath::of_keys(keys))
}

/// The field goes. A topology makes these references itself.
fn removed(old: &RenderedObject, new: &RenderedObject, keys: &[&str]) -> Option<FieldPath> {
    let has = |object: &RenderedObject| object.placed.at(keys).is_some_and(|value| !value.is_null());
    let topology = new.placed.at(&["spec", "topology"]).is_some();
    (has(old) && !has(new) && !topology).then(|| FieldPath::of_keys(keys))
}

fn control_plane(old: &RenderedObject, new: &RenderedObject) -> Option<FieldPath> {
    let null = Value::Null;
    let spec = |object: &'_ RenderedObject| object.value.get("spec").cloned().unwrap_or_default();
    let (old, new) = (spec(old), spec(new));
    if let Some(path) = first_forbidden(&old, &new, "") {
        return Some(path.split('/').fold(FieldPath::root().key("spec"), |path, key| path.key(key)));
    }
    let etcd = "/kubeadmConfigSpec/clusterConfiguration/etcd/external";
    let external = |spec: &Value| !spec.pointer(etcd).unwrap_or(&null).is_null();
    (external(&old) != external(&new)).then(|| FieldPath::parse(&format!("/spec{etcd}"))).flatten()
}

/// The first field that differs and may not.
fn first_forbidden(old: &Value, new: &Value, at: &str) -> Option<String> {
    if old == new || MAY_CHANGE.contains(&at) {
        return None;
    }
    let null = Value::Null;
    // A mapping that comes or goes counts as its fields.
    let empty = serde_json::Map::new();
    let (old, new) = match (old, new) {
        (Value::Object(old), Value::Object(new)) => (old, new),
        (Value::Object(old), Value::Null) => (old, &empty),
        (Value::Null, Value::Object(new)) => (&empty, new),
        _ => return Some(at.to_owned()),
    };
    old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))).find_map(|key| {
        let path = if at.is_empty() { key.clone() } else { format!("{at}/{key}") };
        first_forbidden(old.get(key).unwrap_or(&null), new.get(key).unwrap_or(&null), &path)
    })
}
