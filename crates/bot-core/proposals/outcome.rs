//! The results for a repository's proposals: answers to commands and checks read them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_campaign::facts::{Note, Stop};
use capstan_facts::{CampaignProgress, PullRequest};
use capstan_model::finding::Finding;
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_plan::proposal::{Approved, Override, PlanDigest, ProposalId, Stage};
use capstan_plan::upgrade::Upgrade;
use capstan_report::{Answer, CampaignStanding, Gate, ProposalState};
use jiff::Timestamp;

use crate::facts::Facts;
use crate::requests::RequestId;

/// The results for a repository's proposals.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Each proposal's state.
    pub proposals: BTreeMap<ProposalId, ProposalOutcome>,
    /// The proposals whose changes a pull request brings, by its proposal, if it was written or is up to date
    /// in this run.
    pub carried: BTreeMap<ProposalId, Vec<ProposalId>>,
    /// Proposals that are left out of their group's pull request, whose block records their decisions.
    pub noted_besides: BTreeSet<ProposalId>,
    /// Proposals whose pull request was closed because another one carries the changes.
    pub superseded: BTreeSet<ProposalId>,
    /// The offer of each kind of source, for the campaigns.
    pub sources: BTreeMap<SourceKind, String>,
    /// Whether a pull request's head or text was written: earlier lists are out of date.
    pub wrote: Wrote,
    /// Proposals whose branch another process moved during the write: they are examined again.
    pub overtaken: BTreeSet<ProposalId>,
    /// The remarks in the check of a proposal.
    pub remarks: BTreeMap<u64, Remarks>,
    /// The approval of each proposal where it is needed.
    pub judged: BTreeMap<ProposalId, JudgedProposal>,
    /// The results of merge requests.
    pub merges: BTreeMap<RequestId, Answer>,
    /// Proposals that could not be read or written just now: decisions about them are not recorded yet.
    pub undecided: BTreeSet<ProposalId>,
    /// Requests that are answered later: GitHub is still computing.
    pub postponed: BTreeSet<RequestId>,
    /// Progress of releases that move through campaigns.
    pub campaigns: Campaigns,
}

impl Outcome {
    /// Notes the same of several proposals.
    pub fn note(&mut self, proposals: &[ProposalId], state: &ProposalOutcome) {
        self.proposals.extend(proposals.iter().map(|proposal| (proposal.clone(), state.clone())));
    }

    /// A carrier that leaves and its members, without those that a pull request of this run carries.
    pub fn not_carried(&self, (id, members): (&ProposalId, &[ProposalId])) -> Vec<ProposalId> {
        let is_carried = |one: &ProposalId| self.carried.values().any(|all| all.contains(one));
        members.iter().chain([id]).filter(|one| !is_carried(one)).cloned().collect()
    }

    /// Notes why the decisions about these are written nowhere.
    pub fn note_not_noted(&mut self, leaving: (&ProposalId, &[ProposalId]), state: &ProposalOutcome) {
        self.note(&self.not_carried(leaving), state);
    }
}

/// Whether the next run may succeed where this one failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextRun {
    MayGetFurther,
    FailsAgain,
}

/// Progress of releases that move through campaigns.
#[derive(Debug, Clone, Default)]
pub struct Campaigns {
    /// Their records.
    pub notes: Vec<Note>,
    /// The same for people.
    pub standings: Vec<CampaignStanding>,
    /// The same in detail, for the pages.
    pub progress: Vec<CampaignProgress>,
    /// When something changes without an event.
    pub look_again: Option<Timestamp>,
    /// Campaigns that were stopped now: their releases, and why.
    pub stopped: Vec<(Note, Stop)>,
}

/// An open proposal, for its merge.
#[derive(Debug, Clone)]
pub struct JudgedProposal {
    /// Its present pull request.
    pub pull: PullRequest,
    /// Who approved it.
    pub approved: Approved,
    /// Whether only Capstan wrote its branch.
    pub whose: BranchOwner,
}

/// Whose work a proposal's branch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchOwner {
    /// Capstan's.
    Capstan,
    /// People's too: these pushed, in lower case.
    People(BTreeSet<String>),
    /// People's too, and GitHub does not list whose.
    Unknown,
}

/// Whether pull requests were written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wrote {
    /// None.
    #[default]
    Nothing,
    /// Some.
    PullRequests,
}

/// The result for a proposal: its state, and why.
#[derive(Debug, Clone)]
pub struct ProposalOutcome {
    pub state: ProposalState,
    /// Why, as a sentence.
    pub why: String,
    /// The pull request with the upgrade, if there is one.
    pub pull: Option<u64>,
}

impl Outcome {
    /// The states as tables show them: *current* is omitted for a target that has an offer from another kind
    /// of source.
    pub fn shown(&self) -> impl Iterator<Item = (&ProposalId, &ProposalOutcome)> {
        self.proposals.iter().filter(move |(id, one)| self.is_shown(id, one))
    }

    fn is_shown(&self, id: &ProposalId, one: &ProposalOutcome) -> bool {
        one.state.is_shown_beside(self.of_target(id).map(|(_, other)| other.state))
    }

    /// The proposals in the status of a proposal's target: its own, and those of other kinds of source with
    /// an offer.
    pub fn shown_of(&self, id: &ProposalId) -> Vec<ProposalId> {
        let own = self.proposals.get(id).is_none_or(|one| self.is_shown(id, one));
        let others = self.of_target(id).filter(|(_, other)| !other.state.rests());
        own.then_some(id).into_iter().chain(others.map(|(other, _)| other)).cloned().collect()
    }

    /// Those of the same target from other kinds of source.
    fn of_target(&self, id: &ProposalId) -> impl Iterator<Item = (&ProposalId, &ProposalOutcome)> {
        self.proposals.iter().filter(move |(other, _)| other.target == id.target && *other != id)
    }

    /// The proposals whose changes an open pull request brings now.
    pub fn members_of(&self, facts: &Facts, id: &ProposalId) -> Vec<ProposalId> {
        self.carried.get(id).cloned().unwrap_or_else(|| facts.members_of(id))
    }

    /// Whether a pull request records the decisions about a proposal.
    pub fn is_noted(&self, facts: &Facts, proposal: &ProposalId) -> bool {
        let stays = |id: &ProposalId| {
            !self.superseded.contains(id)
                && self.carried.get(id).is_none_or(|members| members.contains(proposal))
        };
        let in_new = || self.carried.values().any(|members| members.contains(proposal));
        facts.carrier(proposal).is_some_and(stays) || in_new() || self.noted_besides.contains(proposal)
    }
}

impl ProposalOutcome {
    /// A result without a pull request.
    pub fn new(state: ProposalState, why: impl Into<String>) -> Self {
        Self { state, why: why.into(), pull: None }
    }

    /// A proposal that waits.
    pub fn waiting(why: impl Into<String>) -> Self {
        Self::new(ProposalState::Waiting, why)
    }

    /// A proposal that GitHub refuses.
    pub fn refused(why: impl Into<String>) -> Self {
        Self::new(ProposalState::Refused, why)
    }
}

/// Errors that are exempt for one change of a cluster.
#[derive(Debug, Clone)]
pub struct Exemption {
    /// The cluster.
    pub target: Target,
    /// The change in its folder; `None` for the tombstone of the whole cluster, and nothing else.
    pub plan: Option<PlanDigest>,
    /// Each rule, and why its errors are exempt.
    pub rules: Vec<(String, String)>,
}

/// What the check of a proposal says besides its content.
#[derive(Debug, Clone, Default)]
pub struct Remarks {
    pub notes: Vec<String>,
    /// What blocks it.
    pub blocked: Vec<String>,
    /// Findings of planning, by cluster.
    pub findings: BTreeMap<Target, Vec<Finding>>,
    /// The clusters' upgrades, if they settle conflicts or people pushed to the branch.
    pub upgrades: BTreeMap<Target, Arc<Upgrade>>,
    /// Whether people pushed to the branch.
    pub is_edited: bool,
    /// Overridden rules, by cluster.
    pub overrides: BTreeMap<Target, Vec<Override>>,
    /// Exemptions for one exact change each.
    pub exemptions: Vec<Exemption>,
    /// What people have to do first.
    pub gates: Vec<Gate>,
    /// Its approvals, if they were judged.
    pub approved: Option<Approved>,
    /// Its stage, if it is an open proposal: it decides the buttons.
    pub stage: Option<Stage>,
}

impl Remarks {
    /// Adds what prevents the merge of a pull request below this one in a stack.
    pub fn add_below(&mut self, number: u64, below: &Self) {
        self.blocked.extend(below.blocked.iter().map(|why| format!("#{number}, which is below it: {why}")));
        for gate in &below.gates {
            let why = format!("#{number}, which is below it: {}", gate.why);
            self.gates.push(Gate { title: format!("#{number}: {}", gate.title), why });
        }
        for (target, findings) in &below.findings {
            self.findings.entry(target.clone()).or_default().extend(findings.iter().cloned());
        }
    }
}
