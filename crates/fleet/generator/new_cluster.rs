//! What is checked of a cluster that is made, as if it were written: its name, and what the rules say.

use std::collections::BTreeSet;

use capstan_kustomize::render;
use capstan_model::finding::Finding;
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_model::tree::Tree;
use capstan_plan::boundary::Neighbours;
use capstan_plan::creation::MadeCluster;
use capstan_plan::layout::TargetFolder;
use capstan_plan::merge::AppliedBy;
use capstan_plan::policy::{Snapshot, ValidationScope, folders_of, validate};

use super::Fleet;
use super::not_possible::NotPossible;

/// Checks that no other folder has a `Cluster` of that namespace and name. In one management cluster that is an
/// error. Folders that others apply may go to different management clusters, so they only give notes.
pub(super) fn own_name(
    fleet: &Fleet,
    folder: &TargetFolder,
    made: &MadeCluster,
) -> Result<Vec<String>, NotPossible> {
    let (tree, settings) = (fleet.tree().as_ref(), fleet.settings());
    let claim = |id: &ClusterId| settings.claimed_by(id).ok().flatten().map(|management| &management.name);
    let (own, mut notes) = (claim(&folder.id), Vec::new());
    let clusters: Vec<&ObjectId> = made.clusters().collect();
    for other in fleet.layout().targets.iter().filter(|other| other.id != folder.id) {
        if claim(&other.id) != own || !mentions(tree, other, &clusters) {
            continue;
        }
        let Ok(rendered) = render::render(tree, &folders_of(other)) else { continue };
        let same = |id: &&&ObjectId| rendered.objects.iter().any(|object| object.id == ***id);
        let Some(cluster) = clusters.iter().find(same) else { continue };
        let namespace = cluster.namespace.as_deref().unwrap_or("default");
        let said = format!("{} has a `Cluster` {} in the namespace {namespace} too", other.id, cluster.name);
        match own {
            Some(management) => {
                return Err(NotPossible::Usage(format!(
                    "{said}, and {management} applies both: give this one another name"
                )));
            }
            None => notes.push(format!("{said}: they must not be applied to one management cluster.")),
        }
    }
    Ok(notes)
}

/// Whether a folder may have an object of one of these names: rendering all of them would take long.
fn mentions(tree: &dyn Tree, folder: &TargetFolder, clusters: &[&ObjectId]) -> bool {
    let mut files = folder.base_files.iter().chain(&folder.overlay_files);
    files.any(|entry| {
        // What kustomizations make of names is seen by rendering alone.
        render::is_kustomization(&entry.path)
            || tree.read(entry).is_ok_and(|bytes| {
                let text = String::from_utf8_lossy(&bytes);
                clusters.iter().any(|cluster| text.contains(cluster.name.as_str()))
            })
    })
}

/// What the rules say of a cluster that comes, between the snapshots before and after it.
pub(super) fn verdict(before: &Fleet, after: &Fleet, id: &ClusterId, applied: AppliedBy) -> Vec<Finding> {
    let (tree, settings) = (after.tree().as_ref(), after.settings());
    let neighbours = (applied == AppliedBy::Reconciler)
        .then(|| Neighbours::read(tree, after.layout(), settings, &mut |_, read| read()));
    let now = Snapshot {
        tree,
        layout: after.layout(),
        schemas: after.schemas(),
        cluster_api: after.cluster_api(),
        flux: Some(after.flux_index()),
        neighbours: neighbours.as_ref(),
        supplies: None,
    };
    let (tree, layout) = (before.tree().as_ref(), before.layout());
    let before = Snapshot { tree, layout, neighbours: None, ..now };
    let alone = BTreeSet::from([id.clone()]);
    validate(now, Some(before), settings, ValidationScope::Clusters(&alone), after.today())
}
