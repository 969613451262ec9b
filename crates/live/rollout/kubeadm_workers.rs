//! Workers that kubeadm joins: Cluster API makes no machine of them unless their minor is their control plane's.

use super::by_id::{ById, key};
use super::cluster_change::ClusterChange;
use super::pointer::PointerTarget;
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::preflight::PreflightCheck;
use capstan_model::kinds::{VersionRole, pointer, version_fields};
use capstan_model::object::ObjectId;
use capstan_model::version::KubernetesVersion;
use capstan_plan::templates::{ControlPlanes, checked_kubeadm_template, checked_template, skips_check};
use capstan_plan::upgrade::Rollout;
use capstan_yaml::Value;

/// Says of workers that are left at an older minor than their control plane's that no machine of them is made.
pub(super) fn wait_for_minor(found: &mut [Rollout], change: &ClusterChange<'_>) {
    let planes = ControlPlanes::of(change.after.values().map(|object| (&object.id, &object.value)));
    let mut lagging: Vec<Lagging<'_>> =
        change.after.values().filter_map(|worker| Lagging::of(&change.after, &planes, worker)).collect();
    lagging.sort_by(|one, other| one.workers.cmp(other.workers));
    for Lagging { workers, version, control_plane, wanted } in lagging {
        let minor = wanted.minor();
        let own = found.iter_mut().find(|rollout| rollout.object == *workers);
        let makes_none =
            |rollout: &Rollout| rollout.course.replaced == Some(0) && rollout.course.created == Some(0);
        if let Some(own) = own {
            if !makes_none(own) {
                own.course.notes.push(format!(
                    "kubeadm joins machines to a control plane of their own minor alone. Cluster API makes no machine of these until they ask for Kubernetes {minor}."
                ));
            }
            continue;
        }
        // The workers lagged just as far before: this change does not add a note.
        let before = change.before.get(&key(control_plane));
        let before = before.and_then(|plane| asked(&plane.id, &plane.value, VersionRole::ControlPlane));
        if before.is_some_and(|before| before.minor() == minor) {
            continue;
        }
        if let Some(plane) = found.iter_mut().find(|rollout| rollout.object == *control_plane) {
            plane.course.notes.push(format!(
                "{workers} keeps running Kubernetes {version}, but cannot grow or replace a machine until it asks for {minor}."
            ));
        }
    }
}

/// Whether workers skip a check.
pub(super) fn skips(objects: &ById<'_>, workers: &ObjectId, check: PreflightCheck) -> bool {
    let Some(workers) = objects.get(&key(workers)) else { return false };
    let template = checked_template(&workers.id, &workers.value).and_then(|reference| {
        let means = |object: &&&RenderedObject| reference.means(workers.id.namespace.as_deref(), &object.id);
        objects.values().find(means)
    });
    skips_check(check, &workers.value, template.map(|template| &template.value))
}

struct Lagging<'a> {
    workers: &'a ObjectId,
    version: KubernetesVersion,
    control_plane: &'a ObjectId,
    wanted: KubernetesVersion,
}

impl<'a> Lagging<'a> {
    fn of(
        objects: &ById<'a>,
        planes: &ControlPlanes<'a, Value>,
        workers: &'a RenderedObject,
    ) -> Option<Self> {
        checked_kubeadm_template(&workers.id, &workers.value)?;
        let version = asked(&workers.id, &workers.value, VersionRole::Workers)?;
        let mut planes = planes.of_workers(&workers.id, &workers.value).into_iter();
        let (control_plane, wanted) =
            planes.find_map(|(id, plane)| Some((id, asked(id, plane, VersionRole::ControlPlane)?)))?;
        let is_skipped = skips(objects, &workers.id, PreflightCheck::KubeadmVersionSkew);
        (version.minor() < wanted.minor() && !is_skipped).then_some(Self {
            workers: &workers.id,
            version,
            control_plane,
            wanted,
        })
    }
}

fn asked(id: &ObjectId, value: &Value, role: VersionRole) -> Option<KubernetesVersion> {
    let mut fields = version_fields(&id.group, &id.kind).filter(|(of, _)| *of == role);
    fields.find_map(|(_, keys)| KubernetesVersion::parse(value.at(&pointer(keys))?.as_str()?))
}
