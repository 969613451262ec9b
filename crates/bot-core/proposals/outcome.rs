//! What became of a repository's proposals: read by the answers to commands and by the checks.

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

use crate::commands::RequestId;
use crate::facts::Facts;

/// What became of a repository's proposals.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Each proposal's state.
    pub proposals: BTreeMap<ProposalId, ProposalOutcome>,
    /// Whose changes a pull request brings, by its proposal, where that was written or found right in this run.
    pub carried: BTreeMap<ProposalId, Vec<ProposalId>>,
    /// Those that stay out of their group's pull request, and of which that notes what was decided.
    pub noted_besides: BTreeSet<ProposalId>,
    /// Those whose pull request was closed because another one carries what it did.
    pub superseded: BTreeSet<ProposalId>,
    /// What is offered by each kind of source, for the campaigns.
    pub sources: BTreeMap<SourceKind, String>,
    /// Whether a pull request's head or text was written: what was listed before is old.
    pub wrote: Wrote,
    /// Proposals whose branch somebody moved while it was to be written: they are looked at again.
    pub overtaken: BTreeSet<ProposalId>,
    /// What the check of a proposal says besides.
    pub remarks: BTreeMap<u64, Remarks>,
    /// Whether each proposal that somebody asks that of is approved.
    pub judged: BTreeMap<ProposalId, JudgedProposal>,
    /// What became of requests to merge.
    pub merges: BTreeMap<RequestId, Answer>,
    /// Proposals of which something could not be read or written just now: what was decided about them is not noted yet.
    pub undecided: BTreeSet<ProposalId>,
    /// Requests that are answered later: GitHub is still computing.
    pub postponed: BTreeSet<RequestId>,
    /// How releases stand that move through campaigns.
    pub campaigns: Campaigns,
}

impl Outcome {
    /// Notes the same of several proposals.
    pub fn note(&mut self, proposals: &[ProposalId], state: &ProposalOutcome) {
        self.proposals.extend(proposals.iter().map(|proposal| (proposal.clone(), state.clone())));
    }
}

/// Whether the next run may read what this one could not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextRun {
    /// It may.
    MayGetFurther,
    /// It fails at the same.
    FailsAgain,
}

/// How releases stand that move through campaigns.
#[derive(Debug, Clone, Default)]
pub struct Campaigns {
    /// What is noted of them.
    pub notes: Vec<Note>,
    /// The same for people.
    pub standings: Vec<CampaignStanding>,
    /// The same in detail, for the pages.
    pub progress: Vec<CampaignProgress>,
    /// When time alone changes something.
    pub look_again: Option<Timestamp>,
    /// Campaigns that were stopped now: their releases, and why.
    pub stopped: Vec<(Note, Stop)>,
}

/// An open proposal, as far as its merge goes.
#[derive(Debug, Clone)]
pub struct JudgedProposal {
    /// As it is now.
    pub pull: PullRequest,
    /// Who approved it.
    pub approved: Approved,
    /// Whether Capstan alone wrote its branch.
    pub whose: BranchOwner,
}

/// Whose work a proposal's branch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchOwner {
    /// Capstan's.
    Capstan,
    /// That of people too: these pushed, in small letters.
    People(BTreeSet<String>),
    /// That of people too, and GitHub does not tell whose.
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

/// What became of a proposal: its state, and why.
#[derive(Debug, Clone)]
pub struct ProposalOutcome {
    /// Its state.
    pub state: ProposalState,
    /// Why, as a sentence.
    pub why: String,
    /// The pull request, where one carries the upgrade.
    pub pull: Option<u64>,
}

impl Outcome {
    /// The states as tables show them: *current* is not said of a target for which another kind of source has something.
    pub fn told(&self) -> impl Iterator<Item = (&ProposalId, &ProposalOutcome)> {
        self.proposals.iter().filter(move |(id, one)| self.is_told(id, one))
    }

    fn is_told(&self, id: &ProposalId, one: &ProposalOutcome) -> bool {
        one.state.is_told_beside(self.of_target(id).map(|(_, other)| other.state))
    }

    /// The states of a proposal's target as a status tells them: its own, and those from other kinds of source that have
    /// something for it.
    pub fn told_of(&self, id: &ProposalId) -> Vec<ProposalId> {
        let own = self.proposals.get(id).is_none_or(|one| self.is_told(id, one));
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

    /// Whether what was decided about a proposal stands in a pull request.
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
    /// One without a pull request.
    pub fn new(state: ProposalState, why: impl Into<String>) -> Self {
        Self { state, why: why.into(), pull: None }
    }

    /// One that waits.
    pub fn waiting(why: impl Into<String>) -> Self {
        Self::new(ProposalState::Waiting, why)
    }

    /// One that GitHub refuses.
    pub fn refused(why: impl Into<String>) -> Self {
        Self::new(ProposalState::Refused, why)
    }
}

/// Errors that pass where a cluster is changed in one way.
#[derive(Debug, Clone)]
pub struct Exemption {
    /// Which.
    pub target: Target,
    /// What is changed in its folder; `None` where that is the tombstone of the whole cluster, and nothing else.
    pub plan: Option<PlanDigest>,
    /// Each rule, and why its errors pass.
    pub rules: Vec<(String, String)>,
}

/// What the check of a proposal says besides what its content says.
#[derive(Debug, Clone, Default)]
pub struct Remarks {
    /// What is to be known.
    pub notes: Vec<String>,
    /// What blocks it.
    pub blocked: Vec<String>,
    /// What planning found, by cluster.
    pub findings: BTreeMap<Target, Vec<Finding>>,
    /// What clusters would be upgraded to, where that settles conflicts or people went on with the branch.
    pub upgrades: BTreeMap<Target, Arc<Upgrade>>,
    /// Whether people went on with the branch.
    pub is_edited: bool,
    /// Rules whose errors pass, by cluster.
    pub overrides: BTreeMap<Target, Vec<Override>>,
    /// Whose errors pass where just that is changed.
    pub exemptions: Vec<Exemption>,
    /// What people have to do first.
    pub gates: Vec<Gate>,
    /// Who approved it, where that was judged.
    pub approved: Option<Approved>,
    /// How it stands, where it is an open proposal: its buttons hang on it.
    pub stage: Option<Stage>,
}

impl Remarks {
    /// What stands against the merge of a pull request stands against that of those above it in a stack, too.
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
