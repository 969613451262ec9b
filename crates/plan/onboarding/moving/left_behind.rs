//! Machines of a cluster that would stay where they are while it moves.
//!
//! What is below a crowded folder moves with its cluster. A folder in it with a kustomization of its own does not, nor
//! does one that begins with a dot, nor anything beside the crowded folder.

use std::collections::BTreeSet;

use super::appliers::around;
use super::facts::{LeavingCluster, MoveFacts, Moving, in_words};
use super::owners::fits;
use super::proof::kustomization_of;
use crate::onboarding::survey::{Owner, What};
use crate::onboarding::units::example;
use capstan_model::tree::RepoPath;

impl LeavingCluster {
    /// Whether something that owns machines is of this cluster.
    fn has(&self, owner: &Owner) -> bool {
        let namespace = owner.name.namespace.as_deref();
        let says = [&owner.cluster, &owner.label].into_iter().flatten().any(|cluster| *cluster == self.name);
        let is_named = self.names.iter().any(|(kind, name, of)| {
            kind.eq_ignore_ascii_case(&owner.kind)
                && *name == owner.name.name
                && fits(of.as_deref(), namespace)
        });
        says && fits(self.namespace.as_deref(), namespace) || is_named
    }

    /// Whether a cluster of the same name is nearer to a file than this one.
    fn is_beyond_another(&self, facts: &MoveFacts<'_>, file: &RepoPath) -> bool {
        let shared = |path: &RepoPath| around(file, path).parts().count();
        let own = if file.is_in(&self.from) { self.from.parts().count() } else { shared(&self.home) };
        let clusters = facts.survey.seen.iter().filter(|seen| {
            seen.what == What::Cluster
                && seen.name.name == self.name
                && seen.path.parent().as_ref() != Some(&self.from)
        });
        clusters.map(|seen| shared(&seen.path)).any(|depth| depth > own)
    }
}

/// Refuses the moves that would leave machines behind.
pub(super) fn look(facts: &MoveFacts<'_>, moving: &mut Moving) {
    if moving.leaving.is_empty() {
        return;
    }
    let crowded = facts.units.crowded.keys();
    let moved: BTreeSet<&RepoPath> =
        crowded.flat_map(|folder| facts.manifests(folder)).map(|entry| &entry.path).collect();
    let leaving = moving.leaving.clone();
    for owner in facts.survey.owners.iter().chain(&facts.survey.hidden_owners) {
        let file = owner.place.file();
        if moved.contains(file) {
            continue;
        }
        // What is in the folder that the cluster gets has its own check.
        let stays = |cluster: &&LeavingCluster| {
            let is_example = example(file).is_some() && example(&cluster.from).is_none();
            cluster.has(owner)
                && !is_example
                && !file.is_in(&cluster.home)
                && !cluster.is_beyond_another(facts, file)
        };
        let Some(cluster) = leaving.iter().find(stays) else { continue };
        let built = file.parent().and_then(|folder| kustomization_of(facts.tree, &folder));
        let entry = built.map(|built| format!(" with its entry in {built}")).unwrap_or_default();
        let message = format!(
            "{} {} belongs to the cluster `{}`, which would move to {} without it: move this file{entry} to {} first, so that it moves too, or move the cluster by hand",
            owner.kind,
            owner.name.shown(true),
            cluster.name,
            cluster.home,
            in_words(&cluster.from)
        );
        moving.refuse(owner.place.clone(), message);
    }
}
