//! What is planned at the tip of the base branch, and for whom.

use std::collections::{BTreeMap, BTreeSet};

use capstan_campaign::membership::Candidate;
use capstan_model::ids::ClusterId;
use capstan_plan::proposal::{ProposalId, ReleasesOrigin};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::upgrade::{Retarget, Upgrade};
use capstan_report::{Missing, missing_in_words};

use crate::facts::{Facts, Plans, Reporters, Scopes};
use crate::requests::{AskedClusters, Decided, Ground};

/// What is planned, and for whom.
#[derive(Clone, Copy)]
pub struct Planned<'a> {
    /// What the run started from.
    pub facts: &'a Facts,
    /// The settings of the base branch.
    pub settings: &'a RepositorySettings,
    /// The targets of the base branch.
    pub scopes: &'a Scopes,
    /// What is planned for them.
    pub plans: &'a Plans,
    /// Proposals that may edit names of templates in their cluster's overlay.
    pub retargeted: &'a BTreeSet<ProposalId>,
    /// Where the releases come from, where that is another repository.
    pub origin: Option<&'a ReleasesOrigin>,
    /// The reconcilers, and what they reported.
    pub reporters: &'a Reporters,
    /// What people decided by command.
    pub decided: &'a Decided,
    /// What was made of commands about clusters as a whole.
    pub clusters: &'a AskedClusters,
    /// What the waves of campaigns tell clusters apart by, beside their folders.
    pub candidates: &'a BTreeMap<ClusterId, Candidate>,
}

impl<'a> Planned<'a> {
    /// Whether a proposal may edit names of templates in its cluster's overlay.
    pub fn retarget_of(&self, proposal: &ProposalId) -> Retarget {
        if self.retargeted.contains(proposal) { Retarget::Allowed } else { Retarget::Refused }
    }

    /// What is said of a proposal of which nothing is planned.
    pub fn missing(&self, proposal: &ProposalId) -> String {
        let is_there = self.scopes.contains_key(&proposal.target);
        missing_in_words(proposal, if is_there { Missing::Source } else { Missing::Target })
    }

    /// The upgrade of a proposal, where there is one.
    pub fn plan_of(&self, proposal: &ProposalId) -> Option<&'a Upgrade> {
        self.plans.get(proposal).and_then(|plan| plan.as_ref().ok()).map(AsRef::as_ref)
    }

    /// What commands are judged by.
    pub const fn ground(&self) -> Ground<'a> {
        Ground { facts: self.facts, scopes: self.scopes, settings: self.settings }
    }
}
