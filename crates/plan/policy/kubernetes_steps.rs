//! Kubernetes versions before and after a change, and whose they are.

use std::collections::HashMap;

use super::evidence::{ClusterEvidence, Evidence};
use super::facts::Occasion;
use super::kubernetes::{RequiredVersion, Role};
use capstan_kustomize::render::SourceOffset;
use capstan_model::kinds::{is_cluster, names};
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
    let workers = cluster.versions.iter().filter(|wanted| wanted.role == Role::Workers);
    workers.filter_map(|worker| Some((worker, control_plane_of(cluster, worker)?)))
}

/// The control plane whose API servers a worker's kubelets talk to: that of the Cluster which the
/// worker names, else the only one there is.
fn control_plane_of<'s, 'a>(
    cluster: &'s ClusterEvidence<'a>,
    worker: &RequiredVersion<'a>,
) -> Option<&'s RequiredVersion<'a>> {
    let planes = || cluster.versions.iter().filter(|wanted| wanted.role == Role::ControlPlane);
    let named =
        cluster.object(worker.object).and_then(|object| object.placed.text_at(&["spec", "clusterName"]));
    let owner =
        named.and_then(|name| cluster.named(names::CLUSTER, name).find(|object| is_cluster(&object.id)));
    if let Some(owner) = owner {
        let reference = owner.placed.at(&["spec", "controlPlaneRef"]);
        let text = |key| reference.and_then(|reference| reference.text_at(&[key]));
        let found = planes().find(|plane| {
            *plane.object == owner.id
                || text("kind") == Some(plane.object.kind.as_str())
                    && text("name") == Some(plane.object.name.as_str())
        });
        if found.is_some() {
            return found;
        }
    }
    let mut all = planes();
    all.next().filter(|_| all.next().is_none())
}
