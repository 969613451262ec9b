//! Approvals of proposals: which pull requests are judged, whose approval counts, and what is recorded.
//!
//! Only proposals with a need for it cost a call: those that require approvals or have some, those that are
//! to be merged, and those that are held or on auto-merge; during a pause all.

use std::collections::{BTreeMap, BTreeSet};

use capstan_facts::PullRequest;
use capstan_model::target::Target;
use capstan_plan::proposal::{
    ApprovalFacts, Approved, Decisions, OnHold, ProposalId, ResultDigest, Review, Voice, judge_approvals,
    logins,
};
use capstan_plan::settings::{Glob, Mode, RepositorySettings};
use capstan_report::{approvals_gate, approvals_in_words, room_for};

use super::deciding::DecisionStep;
use super::outcome::{BranchOwner, JudgedProposal, Outcome, Remarks};
use crate::planned::PlannedRun;
use crate::requests::{MOST_BYTES, Request};

/// Whether changes of these clusters are merged without an approval.
pub fn is_automatic(settings: &RepositorySettings, members: &[ProposalId]) -> bool {
    let automatic = &settings.upgrade.merge.automatic;
    let is_one = |target: &Target| Glob::grants(automatic, target.path());
    !members.is_empty() && members.iter().all(|member| is_one(&member.target))
}

/// The hold of a member of a pull request.
pub fn held_in(planned: PlannedRun<'_>, outcome: &Outcome, id: &ProposalId) -> Option<OnHold> {
    let members = outcome.members_of(planned.facts, id);
    members.iter().find_map(|member| planned.decided.of(member).hold_on(planned.facts.today).cloned())
}

/// The proposals of these open pull requests whose approvals are judged.
pub fn judged_pulls<'o>(
    planned: PlannedRun<'_>,
    requests: &[Request],
    open: &'o [PullRequest],
    outcome: &Outcome,
) -> BTreeMap<ProposalId, &'o PullRequest> {
    if planned.settings.mode == Mode::Observe {
        return BTreeMap::new();
    }
    let facts = planned.facts;
    let asked: BTreeSet<ProposalId> =
        requests.iter().filter_map(|request| facts.carrier_of(request)).collect();
    open.iter()
        .filter(|pull| pull.comes_to(&facts.repository.default_branch))
        .filter_map(|pull| Some((facts.proposal_of(pull)?, pull)))
        .filter(|(proposal, pull)| {
            let decisions = planned.decided.of(proposal);
            planned.settings.upgrade.merge.approvals > 0
                || !decisions.approvals.is_empty()
                || decisions.hold.is_some()
                || held_in(planned, outcome, proposal).is_some()
                || planned.decided.pause().is_some()
                || is_automatic(planned.settings, &outcome.members_of(facts, proposal))
                || pull.auto_merge
                || asked.contains(proposal)
        })
        .collect()
}

/// The decisions about a proposal that still apply to its present plan.
pub(super) fn still_decided(planned: PlannedRun<'_>, proposal: &ProposalId) -> Decisions {
    let decisions = planned.decided.of(proposal);
    match planned.plan_of(proposal) {
        Some(upgrade) => decisions.still(upgrade, planned.facts.today),
        None => decisions,
    }
}

/// An open proposal whose approvals are judged.
#[derive(Clone)]
pub struct Approving<'a> {
    /// What is planned.
    pub planned: PlannedRun<'a>,
    pub proposal: &'a ProposalId,
    /// Its pull request.
    pub pull: &'a PullRequest,
    /// The reviews on GitHub; `None` where they cannot be read: then the recorded approvals count, and no others.
    pub reviews: Option<&'a [Review]>,
    /// The proposals whose changes it brings, as far as that is recorded.
    pub members: Vec<ProposalId>,
}

/// What was found out about a proposal's approvals so far.
#[derive(Debug, Clone, Default)]
pub struct ApprovalFound {
    /// What it changes.
    pub result: Option<ApprovedResult>,
    /// Whose work it is.
    pub whose: Option<BranchOwner>,
    /// The proposals of the clusters that it touches, or why these are unknown.
    pub touched: Option<Result<Vec<ProposalId>, String>>,
    /// Who may approve changes of its clusters, by login.
    pub rights: Option<BTreeMap<String, bool>>,
}

/// What a proposal changes, which is what people approve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovedResult {
    /// It is not known yet: GitHub or Git computes it.
    NotYet,
    /// It has none, for example because it conflicts with its base.
    None,
    /// This.
    Known(ResultDigest),
}

/// What has to be known before approvals are judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalNeed {
    /// What the proposal changes.
    Result,
    /// Whose work it is.
    Whose,
    /// The proposals of the clusters that it touches.
    Touched,
    /// Whether these people may approve changes of each of these targets.
    Rights(Vec<String>, Vec<Target>),
}

/// The verdict on a proposal's approvals.
#[derive(Debug, Clone)]
pub enum ApprovalsJudged {
    /// There is none yet; its check waits for the same.
    Later,
    /// It is unknown what it touches, and why: it is not approved.
    Unknown(String),
    Judged {
        /// The verdict.
        judged: Box<JudgedProposal>,
        /// What is recorded, where that changes.
        noted: Option<Box<Decisions>>,
    },
}

impl Approving<'_> {
    /// Judges the approvals, or says what has to be known first.
    pub fn judge(&self, found: &ApprovalFound) -> DecisionStep<ApprovalsJudged, ApprovalNeed> {
        self.judged(found).map_or_else(DecisionStep::Ask, DecisionStep::Decided)
    }

    fn judged(&self, found: &ApprovalFound) -> Result<ApprovalsJudged, ApprovalNeed> {
        let Self { planned, proposal, pull, reviews, .. } = *self;
        let result = match found.result.as_ref().ok_or(ApprovalNeed::Result)? {
            ApprovedResult::NotYet => return Ok(ApprovalsJudged::Later),
            ApprovedResult::None => None,
            ApprovedResult::Known(result) => Some(result),
        };
        let whose = found.whose.as_ref().ok_or(ApprovalNeed::Whose)?;
        // With several clusters an approver must have the right for each; without a record, for those that it touches.
        let members = match self.members.as_slice() {
            [] => match found.touched.as_ref().ok_or(ApprovalNeed::Touched)? {
                Ok(touched) => touched,
                Err(why) => return Ok(ApprovalsJudged::Unknown(why.clone())),
            },
            members => members,
        };
        let decisions = still_decided(planned, proposal);
        let mut voices = BTreeMap::new();
        let mut asked = Vec::new();
        for login in logins(&decisions.approvals, reviews.unwrap_or_default()) {
            match voice_in(&pull.author, whose, &login) {
                Some(voice) => drop(voices.insert(login, voice)),
                None => asked.push(login),
            }
        }
        if !asked.is_empty() {
            let targets = || members.iter().map(|member| member.target.clone()).collect();
            let rights = found.rights.as_ref();
            let rights = rights.ok_or_else(|| ApprovalNeed::Rights(asked.clone(), targets()))?;
            voices.extend(asked.into_iter().map(|login| match rights.get(&login) {
                Some(true) => (login, Voice::Counts),
                None | Some(false) => (login, Voice::MayNot),
            }));
        }
        let approved = judge_approvals(&ApprovalFacts {
            needed: planned.settings.upgrade.merge.approvals,
            head: &pull.head,
            result,
            noted: &decisions.approvals,
            reviews,
            voices: &voices,
        });
        let noted = to_note(&decisions, &approved).map(Box::new);
        let judged = JudgedProposal { pull: pull.clone(), approved, whose: whose.clone() };
        let judged = Box::new(judged);
        Ok(ApprovalsJudged::Judged { judged, noted })
    }
}

/// Whether a person's approval counts, judged by whose work it is; `None` where their permission decides.
pub(super) fn voice_in(author: &str, whose: &BranchOwner, login: &str) -> Option<Voice> {
    match whose {
        _ if author.eq_ignore_ascii_case(login) => Some(Voice::OwnWork),
        BranchOwner::People(people) if people.contains(login) => Some(Voice::OwnWork),
        BranchOwner::Unknown => Some(Voice::Untold),
        BranchOwner::Capstan | BranchOwner::People(_) => None,
    }
}

/// The approvals to record; `None` where they are recorded already, or have no room.
fn to_note(decisions: &Decisions, approved: &Approved) -> Option<Decisions> {
    let noted = Decisions { approvals: approved.noted.clone(), ..decisions.clone() };
    (noted != *decisions && room_for(&noted) <= MOST_BYTES).then_some(noted)
}

impl Outcome {
    /// Notes the verdict on a proposal's approvals; its check says it, too. `prefix` begins commands.
    pub fn note_judged(&mut self, proposal: &ProposalId, judged: JudgedProposal, prefix: &str) {
        self.remarks.entry(judged.pull.number).or_default().add_approvals(&judged.approved, prefix);
        self.judged.insert(proposal.clone(), judged);
    }
}

impl Remarks {
    /// Adds the part about approvals to the check of a proposal.
    fn add_approvals(&mut self, approved: &Approved, prefix: &str) {
        self.gates.extend(approvals_gate(approved, prefix));
        self.notes.extend(approvals_in_words(approved));
        self.approved = Some(approved.clone());
    }
}
