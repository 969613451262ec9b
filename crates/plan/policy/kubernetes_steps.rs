//! Kubernetes versions before and after a change, and whose they are.

use std::collections::HashMap;

use super::evidence::{ClusterEvidence, Evidence};
use super::facts::Occasion;
use super::kubernetes::{RequiredVersion, Role};
use crate::templates::ControlPlanes;
use capstan_kustomize::render::SourceOffset;
use capstan_model::object::ObjectId;

/// Versions of the same field before and after.
pub(super) fn steps<'a>(change: &Evidence<'a>) -> Vec<(RequiredVersion<'a>, RequiredVersion<'a>)> {
    let old: HashMap<(&ObjectId, &[&str]), &RequiredVersion<'a>> =
        change.before.versions.iter().map(|old| ((old.object, old.keys), old)).collect();
    let pair = |new: &RequiredVersion<'a>| Some(((*old.get(&(new.object, new.keys))?).clone(), new.clone()));
    change.after.versions.iter().filter_map(pair).collect()
}

/// Where a version is to be looked for: an upgrade speaks of the files before it, a pull request of
/// those that it brings.
pub(super) fn spot<'a>(
    occasion: Occasion,
    old: &RequiredVersion<'a>,
    new: &RequiredVersion<'a>,
) -> &'a SourceOffset {
    match occasion {
        Occasion::Upgrade => &old.placed.place,
        Occasion::Revision => &new.placed.place,
    }
}

/// Workers, each with the control plane whose API servers its kubelets talk to.
pub(super) fn workers_and_planes<'s, 'a>(
    cluster: &'s ClusterEvidence<'a>,
) -> impl Iterator<Item = (&'s RequiredVersion<'a>, &'s RequiredVersion<'a>)> {
    let planes = ControlPlanes::of(cluster.objects.iter().map(|object| (&object.id, &object.placed)));
    let of_planes = cluster.versions.iter().filter(|wanted| wanted.role == Role::ControlPlane);
    let versions: HashMap<&ObjectId, &RequiredVersion<'a>> =
        of_planes.rev().map(|wanted| (wanted.object, wanted)).collect();
    let workers = cluster.versions.iter().filter(|wanted| wanted.role == Role::Workers);
    workers.filter_map(move |worker| {
        let object = cluster.object(worker.object)?;
        let found = planes.of_workers(&object.id, &object.placed);
        Some((worker, *found.iter().find_map(|(id, _)| versions.get(id))?))
    })
}
