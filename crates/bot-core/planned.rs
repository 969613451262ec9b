//! The plans at the tip of the base branch, with their inputs.

use std::collections::{BTreeMap, BTreeSet};

use capstan_campaign::membership::WaveCandidate;
use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_plan::proposal::{ProposalId, ReleasesOrigin, SourceState};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::upgrade::{Retarget, Upgrade};
use capstan_report::{Missing, missing_in_words};

use crate::facts::{Facts, Reporters, Scopes, TargetPlans};
use crate::requests::{AskedClusters, Ground, RunDecisions};

/// The plans, with their inputs.
#[derive(Clone, Copy)]
pub struct PlannedRun<'a> {
    /// The facts of the run.
    pub facts: &'a Facts,
    /// The settings of the base branch.
    pub settings: &'a RepositorySettings,
    /// The targets of the base branch.
    pub scopes: &'a Scopes,
    /// Their plans.
    pub plans: &'a TargetPlans,
    /// Proposals that may edit names of templates in their cluster's overlay.
    pub retargeted: &'a BTreeSet<ProposalId>,
    /// The repository that the releases come from, if it is another one.
    pub origin: Option<&'a ReleasesOrigin>,
    /// The reconcilers, and their reports.
    pub reporters: &'a Reporters,
    /// Decisions made by command.
    pub decided: &'a RunDecisions,
    /// Results of commands that create or destroy clusters.
    pub clusters: &'a AskedClusters,
    /// What selectors of waves need besides folders.
    pub candidates: &'a BTreeMap<ClusterId, WaveCandidate>,
}

impl<'a> PlannedRun<'a> {
    /// Whether a proposal may edit names of templates in its cluster's overlay.
    pub fn retarget_of(&self, proposal: &ProposalId) -> Retarget {
        if self.retargeted.contains(proposal) { Retarget::Allowed } else { Retarget::Refused }
    }

    /// The repository that an offer comes from, if it is another one: only for releases.
    pub fn origin_of(&self, offer: &SourceState) -> Option<&'a ReleasesOrigin> {
        self.origin.filter(|_| *offer.source().kind() == SourceKind::RELEASE)
    }

    /// Why a proposal has no plan, as a sentence.
    pub fn missing(&self, proposal: &ProposalId) -> String {
        let is_there = self.scopes.contains_key(&proposal.target);
        missing_in_words(proposal, if is_there { Missing::Source } else { Missing::Target })
    }

    /// The upgrade of a proposal, if there is one.
    pub fn plan_of(&self, proposal: &ProposalId) -> Option<&'a Upgrade> {
        self.plans.get(proposal).and_then(|plan| plan.as_ref().ok()).map(AsRef::as_ref)
    }

    /// What commands are judged with.
    pub const fn ground(&self) -> Ground<'a> {
        Ground { facts: self.facts, scopes: self.scopes, settings: self.settings }
    }
}
