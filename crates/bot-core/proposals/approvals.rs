//! Approvals of proposals: which pull requests are judged, whose approval counts, and what is recorded.
//!
//! Only proposals with a need for it cost a call: those that require approvals or have some, those that are
//! to be merged, and those that are held or on auto-merge; during a pause all.

use std::collections::{BTreeMap, BTreeSet};

use capstan_facts::PullRequest;
use capstan_model::target::Target;
use capstan_model::tree::CommitId;
use capstan_plan::command::Push;
use capstan_plan::proposal::{Approved, Decisions, OnHold, ProposalId, Voice};
use capstan_plan::settings::{Glob, Mode, RepositorySettings};
use capstan_report::{approvals_gate, approvals_in_words, room_for};

use super::outcome::{BranchOwner, Outcome, Remarks};
use crate::planned::Planned;
use crate::requests::{MOST_BYTES, Request};

/// Whether changes of these clusters are merged without an approval.
pub fn is_automatic(settings: &RepositorySettings, members: &[ProposalId]) -> bool {
    let automatic = &settings.upgrade.merge.automatic;
    let is_one = |target: &Target| Glob::grants(automatic, target.path());
    !members.is_empty() && members.iter().all(|member| is_one(&member.target))
}

/// The hold of a member of a pull request.
pub fn held_in(planned: Planned<'_>, outcome: &Outcome, id: &ProposalId) -> Option<OnHold> {
    let members = outcome.members_of(planned.facts, id);
    members.iter().find_map(|member| planned.decided.of(member).hold_on(planned.facts.today).cloned())
}

/// The proposals of these open pull requests whose approvals are judged.
pub fn judged_pulls<'o>(
    planned: Planned<'_>,
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
pub fn still_decided(planned: Planned<'_>, proposal: &ProposalId) -> Decisions {
    let decisions = planned.decided.of(proposal);
    match planned.plan_of(proposal) {
        Some(upgrade) => decisions.still(upgrade, planned.facts.today),
        None => decisions,
    }
}

/// Whose work a head is that Capstan did not write: that of those who pushed, according to GitHub. Anybody
/// can set the author of a commit. `own` is Capstan's login.
pub fn pushed_by(pushes: &[Push], head: &CommitId, own: &str) -> BranchOwner {
    if !pushes.iter().any(|push| push.after == *head) {
        return BranchOwner::Unknown;
    }
    let people = pushes.iter().filter_map(|push| push.actor.as_deref()).filter(|actor| *actor != own);
    BranchOwner::People(people.map(str::to_ascii_lowercase).collect())
}

/// Whether a person's approval counts, judged by whose work it is; `None` where their permission decides.
pub fn voice_in(author: &str, whose: &BranchOwner, login: &str) -> Option<Voice> {
    match whose {
        _ if author.eq_ignore_ascii_case(login) => Some(Voice::OwnWork),
        BranchOwner::People(people) if people.contains(login) => Some(Voice::OwnWork),
        BranchOwner::Unknown => Some(Voice::Untold),
        BranchOwner::Capstan | BranchOwner::People(_) => None,
    }
}

/// The approvals to record; `None` where they are recorded already, or have no room.
pub fn to_note(decisions: &Decisions, approved: &Approved) -> Option<Decisions> {
    let noted = Decisions { approvals: approved.noted.clone(), ..decisions.clone() };
    (noted != *decisions && room_for(&noted) <= MOST_BYTES).then_some(noted)
}

impl Remarks {
    /// Adds the part about approvals to the check of a proposal.
    pub fn add_approvals(&mut self, approved: &Approved, prefix: &str) {
        self.gates.extend(approvals_gate(approved, prefix));
        self.notes.extend(approvals_in_words(approved));
        self.approved = Some(approved.clone());
    }
}
