//! The targets of a snapshot, and their planned upgrades.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::ids::ClusterId;
use capstan_model::target::Target;
use capstan_plan::proposal::{ProposalId, Scope};
use capstan_plan::upgrade::Upgrade;

/// The upgrades of all targets at the tip of the base branch, from each kind of source.
pub type TargetPlans = BTreeMap<ProposalId, Result<Arc<Upgrade>, String>>;

/// Which files of each target of a snapshot may be written.
pub type Scopes = BTreeMap<Target, Scope>;

/// The scopes by their targets.
pub fn by_target(scopes: Vec<Scope>) -> Scopes {
    scopes.into_iter().map(|scope| (scope.target.clone(), scope)).collect()
}

/// The target of a folder: a provider set, or else a cluster.
pub fn target_in(scopes: &Scopes, id: &ClusterId) -> Target {
    let set = Target::Providers(id.clone());
    if scopes.contains_key(&set) { set } else { Target::Cluster(id.clone()) }
}

/// The proposal that upgrades the cluster or provider set of that folder to a newer release.
pub fn proposal_for(scopes: &Scopes, id: &ClusterId) -> ProposalId {
    ProposalId::of_release(target_in(scopes, id))
}
