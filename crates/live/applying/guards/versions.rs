//! Kubernetes versions: never back, and no minor left out.

use std::cmp::Ordering;

use serde_json::Value;

use super::broken::GuardBreach;
use crate::live_objects::{LiveObjects, text};
use crate::rollout::replicas;
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::preflight::PreflightCheck;
use capstan_model::kinds::{VersionRole, is_cluster, version_fields};
use capstan_model::object::FieldPath;
use capstan_model::version::{KubernetesVersion, beginning};
use capstan_plan::templates::{
    ClassUpgrade, ControlPlanes, Reference, TemplateRole, checked_kubeadm_template, references, skips_check,
};

/// Where live objects say what really runs: one version, or a list of versions.
pub(super) const RUNNING: &[&str] = &["/status/version", "/status/currentVersion", "/status/versions"];
/// The same of a Cluster with a topology.
const RUNNING_CONTROL_PLANE: &[&str] = &["/status/controlPlane/versions"];
const RUNNING_WORKERS: &[&str] = &["/status/workers/versions"];

pub(super) fn check(
    object: &RenderedObject,
    rendered: &[RenderedObject],
    (live, planes): (&LiveObjects, &ControlPlanes<'_, Value>),
    broken: &mut impl FnMut(FieldPath, GuardBreach),
) {
    let Some(now) = live.get(&object.id) else { return };
    for (role, keys) in version_fields(&object.id.group, &object.id.kind) {
        let field = FieldPath::of_keys(keys);
        let pointer = field.to_string();
        let Some(asked) = text(&object.value, &pointer) else { continue };
        let spec = text(now, &pointer).and_then(KubernetesVersion::parse);
        let topology = is_cluster(&object.id);
        let mut running = Vec::new();
        versions(now, if topology { RUNNING_CONTROL_PLANE } else { RUNNING }, &mut running);
        let of_control_plane = running.clone();
        if topology {
            versions(now, RUNNING_WORKERS, &mut running);
        }
        running.extend(spec.clone());
        let Some(highest) = extreme(&running, Ordering::Greater) else { continue };
        let Some(wanted) = KubernetesVersion::parse(asked) else {
            // The same text that is live already changes nothing.
            if text(now, &pointer) != Some(asked) {
                let breach = GuardBreach::NoVersion { text: beginning(asked), live: highest.clone() };
                broken(field, breach);
            }
            continue;
        };
        if wanted.compare(highest) == Some(Ordering::Less) {
            broken(field, GuardBreach::VersionBelowLive { wanted, live: highest.clone() });
            continue;
        }
        // An unchanged version passes, however far its machines have come.
        if spec.as_ref().is_some_and(|spec| spec.compare(&wanted) == Some(Ordering::Equal)) {
            continue;
        }
        if role == VersionRole::Workers
            && let Some(control_plane) = joined_to_newer(object, &wanted, rendered, (live, planes))
        {
            broken(field, GuardBreach::CannotJoin { wanted, control_plane });
            continue;
        }
        let may_skip = match role {
            VersionRole::ControlPlane => {
                goes_through(object, spec.as_ref().unwrap_or(highest), &wanted, rendered, live)
            }
            VersionRole::Workers => catches_up(object, &wanted, planes),
        };
        if may_skip {
            continue;
        }
        let from = spec.as_ref().unwrap_or(highest);
        if from.minor().skips(wanted.minor()) {
            broken(field, GuardBreach::SkipsMinor { from: from.clone(), to: wanted });
            continue;
        }
        let oldest = extreme(&of_control_plane, Ordering::Less);
        if role == VersionRole::ControlPlane
            && let Some(oldest) = oldest.filter(|oldest| oldest.minor().skips(wanted.minor()))
        {
            broken(field, GuardBreach::StillRolling { oldest: oldest.clone(), to: wanted });
        }
    }
}

/// The versions that an object says run.
pub(super) fn versions(object: &Value, pointers: &[&str], found: &mut Vec<KubernetesVersion>) {
    let mut add = |value: &Value| {
        let version = value.as_str().or_else(|| value.get("version")?.as_str());
        found.extend(version.and_then(KubernetesVersion::parse));
    };
    for pointer in pointers {
        match object.pointer(pointer) {
            Some(Value::Array(items)) => items.iter().for_each(&mut add),
            Some(one) => add(one),
            None => {}
        }
    }
}

/// The highest or the lowest; of two that cannot be compared the first.
pub(super) fn extreme(versions: &[KubernetesVersion], order: Ordering) -> Option<&KubernetesVersion> {
    versions.iter().reduce(|best, other| if other.compare(best) == Some(order) { other } else { best })
}

/// Machines that lag may catch up with a control plane that is there already: they are replaced, not
/// upgraded.
fn catches_up(
    workers: &RenderedObject,
    wanted: &KubernetesVersion,
    planes: &ControlPlanes<'_, Value>,
) -> bool {
    let mut running = Vec::new();
    for (id, plane) in planes.of_workers(&workers.id, &workers.value) {
        versions(plane, if is_cluster(id) { RUNNING_CONTROL_PLANE } else { RUNNING }, &mut running);
    }
    let lowest = running.iter().map(KubernetesVersion::minor).min();
    lowest.is_some_and(|lowest| wanted.minor() <= lowest)
}

/// What the control plane of these workers runs, or is to run, where that is a newer minor and kubeadm joins them: no
/// machine of them would be made. Workers that want none need none.
fn joined_to_newer(
    workers: &RenderedObject,
    wanted: &KubernetesVersion,
    rendered: &[RenderedObject],
    (live, planes): (&LiveObjects, &ControlPlanes<'_, Value>),
) -> Option<KubernetesVersion> {
    let template = checked_kubeadm_template(&workers.id, &workers.value)?;
    let template = meant(&template, workers.id.namespace.as_deref(), rendered, live);
    let is_skipped = skips_check(PreflightCheck::KubeadmVersionSkew, &workers.value, template);
    if is_skipped || replicas(&workers.value) == Some(0) {
        return None;
    }
    let mut found = Vec::new();
    for (id, plane) in planes.of_workers(&workers.id, &workers.value) {
        let asked = rendered.iter().find(|object| object.id == *id);
        versions(plane, if is_cluster(id) { RUNNING_CONTROL_PLANE } else { RUNNING }, &mut found);
        for (role, keys) in version_fields(&id.group, &id.kind) {
            let pointer = FieldPath::of_keys(keys).to_string();
            let text = asked
                .filter(|_| role == VersionRole::ControlPlane)
                .and_then(|object| text(&object.value, &pointer));
            found.extend(text.and_then(KubernetesVersion::parse));
        }
    }
    let highest = extreme(&found, Ordering::Greater)?;
    (wanted.minor() < highest.minor()).then(|| highest.clone())
}

/// What a reference means: rendered, or live.
fn meant<'v>(
    reference: &Reference<'_>,
    namespace: Option<&str>,
    rendered: &'v [RenderedObject],
    live: &'v LiveObjects,
) -> Option<&'v Value> {
    let found = rendered.iter().find(|object| reference.means(namespace, &object.id));
    found.map(|object| &object.value).or_else(|| live.meant(reference, namespace))
}

/// Cluster API goes through the minors between by itself where the class lists a version of each, or names a runtime
/// extension that plans upgrades.
fn goes_through(
    cluster: &RenderedObject,
    from: &KubernetesVersion,
    wanted: &KubernetesVersion,
    rendered: &[RenderedObject],
    live: &LiveObjects,
) -> bool {
    if !is_cluster(&cluster.id) {
        return false;
    }
    let named = references(&cluster.id.group, &cluster.id.kind, &cluster.value);
    let Some(class) = named.into_iter().find(|reference| reference.role == TemplateRole::Class) else {
        return false;
    };
    let class = meant(&class, cluster.id.namespace.as_deref(), rendered, live);
    class.is_some_and(|class| ClassUpgrade::of(class).leads(from, wanted))
}
