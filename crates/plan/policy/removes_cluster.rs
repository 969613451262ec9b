//! `removes-cluster`: found while an upgrade removes objects, and between any two trees.

use super::evidence::{ClusterEvidence, Evidence};
use super::facts::Occasion;
use super::rule::{About, PolicyRule};
use crate::templates::{Foundation, TemplateRole, foundations, references, replaced};
use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::is_cluster;
use capstan_model::object::FieldPath;

pub(super) struct RemovesCluster;

static ABOUT: About =
    About::new(rules::REMOVES_CLUSTER, include_str!("../../../docs/rules/removes-cluster.md"));

impl PolicyRule for RemovesCluster {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        for (old, new) in change.pairs().filter(|(old, _)| old.id.group == "cluster.x-k8s.io") {
            turned(change, old, new, verdicts);
            if !is_cluster(&old.id) {
                continue;
            }
            if let (Some(was), Some(is)) = (class_of(&change.before, old), class_of(&change.after, new))
                && was.id != is.id
            {
                turned(change, was, is, verdicts);
            }
            gone_from_under(change, old, verdicts);
        }
    }
}

/// The class that a Cluster with a topology is made from, where it is rendered too.
fn class_of<'a>(survey: &ClusterEvidence<'a>, cluster: &RenderedObject) -> Option<&'a RenderedObject> {
    let named = references(&cluster.id.group, &cluster.id.kind, &cluster.placed);
    let class = named.into_iter().find(|reference| reference.role == TemplateRole::Class)?;
    let namespace = cluster.id.namespace.as_deref();
    survey.objects.iter().find(|object| class.means(namespace, &object.id))
}

fn built_on(object: &RenderedObject) -> Vec<Foundation<'_>> {
    foundations(&object.id.group, &object.id.kind, &object.placed)
}

/// What the one is built on and the other is not.
fn turned(change: &Evidence<'_>, old: &RenderedObject, new: &RenderedObject, verdicts: &mut Vec<Finding>) {
    for found in replaced(&built_on(old), &built_on(new)) {
        let message = if is_cluster(&old.id) {
            format!(
                "`{}` of {} changes from {} to {}: another infrastructure or control plane is another cluster. Make a new cluster, and move the workloads",
                found.part, old.id, found.from, found.to
            )
        } else {
            format!(
                "`{}` of {} changes from {} to {}. Cluster API refuses a class whose templates change their kind, for every cluster of the class. Make a class with a new name, and new clusters from it",
                found.part, old.id, found.from, found.to
            )
        };
        let place = if change.occasion == Occasion::Upgrade { &old.placed } else { &new.placed };
        let place = &place.nearest(&found.path).place;
        verdicts.push(
            Finding::new(rules::REMOVES_CLUSTER, message).object(&old.id).path(&found.path).place(place),
        );
    }
}

/// The infrastructure cluster of a Cluster that stays is gone. (A control plane that is gone has machines, and
/// `removes-machines` says so.)
fn gone_from_under(change: &Evidence<'_>, cluster: &RenderedObject, verdicts: &mut Vec<Finding>) {
    let built = built_on(cluster);
    let Some(part) = built.iter().find(|part| part.part == "infrastructureRef") else { return };
    let namespace = cluster.id.namespace.as_deref();
    let means = |object: &&RenderedObject| part.reference.means(namespace, &object.id);
    let Some(old) = change.before.objects.iter().find(means) else { return };
    if change.after.object(&old.id).is_some() {
        return;
    }
    let message = format!(
        "{} is gone, but {} names it as its infrastructure. Without it the cluster is lost: restore it",
        old.id, cluster.id
    );
    verdicts.push(
        Finding::new(rules::REMOVES_CLUSTER, message)
            .object(&old.id)
            .path(&FieldPath::root())
            .place(old.origin()),
    );
}
