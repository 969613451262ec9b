//! Who approved which proposal: what stands in bodies and on GitHub, judged at the heads that there are now, and noted.
//!
//! Only proposals of which somebody asks it cost a call: those that need approvals or have some, those that are to be
//! merged, and those that are held or on auto-merge; in a pause all.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::target::Target;
use capstan_plan::proposal::{
    ApprovalFacts, Approved, Authorship, Decisions, OnHold, ProposalId, Review, Voice, judge_approvals,
    judge_head, logins,
};
use capstan_plan::settings::{Glob, Mode, RepositorySettings};
use capstan_plan::verbs::Verb;
use capstan_report::{approvals_gate, approvals_in_words, decisions_fingerprint, room_for};

use super::decisions::MOST_BYTES;
use super::facts::draft_of;
use super::outcome::{JudgedProposal, Outcome, Whose};
use super::refusals::Write;
use super::request::Request;
use super::rights::Rights;
use super::{Planned, Run, SyncError};
use capstan_ports::PullRequest;

/// Whether what changes these clusters is merged without a word from anybody.
pub(super) fn is_automatic(settings: &RepositorySettings, members: &[ProposalId]) -> bool {
    let automatic = &settings.upgrade.merge.automatic;
    let is_one = |target: &Target| Glob::grants(automatic, target.path());
    !members.is_empty() && members.iter().all(|member| is_one(&member.target))
}

impl Run<'_> {
    /// Judges the approvals of proposals as they are now, notes what changed of them, and leaves for their checks what is
    /// to be said.
    pub(super) async fn judge_proposals(
        self,
        planned: Planned<'_>,
        requests: &[Request],
        open: &[PullRequest],
        outcome: &mut Outcome,
    ) -> Result<(), SyncError> {
        if planned.settings.mode == Mode::Observe {
            return Ok(());
        }
        let asked: BTreeSet<ProposalId> =
            requests.iter().filter_map(|request| self.carrier_of(request)).collect();
        let looked_at: BTreeMap<ProposalId, &PullRequest> = open
            .iter()
            .filter(|pull| pull.comes_to(&self.repository.default_branch))
            .filter_map(|pull| Some((self.facts.proposal_of(pull)?, pull)))
            .filter(|(proposal, pull)| {
                let decisions = planned.decided.of(proposal);
                planned.settings.upgrade.merge.approvals > 0
                    || !decisions.approvals.is_empty()
                    || decisions.hold.is_some()
                    || self.held_in(planned, outcome, proposal).is_some()
                    || planned.decided.pause().is_some()
                    || is_automatic(planned.settings, &outcome.members_of(self.facts, proposal))
                    || pull.auto_merge
                    || asked.contains(proposal)
            })
            .collect();
        if looked_at.is_empty() {
            return Ok(());
        }
        let pulls: Vec<&PullRequest> = looked_at.values().copied().collect();
        let reviews = match self.ports.host.reviews(self.repository, &pulls).await {
            Ok(reviews) => Some(reviews.into_iter().collect::<BTreeMap<u64, Vec<Review>>>()),
            // Then those that were noted stand, and no other.
            Err(error) if SyncError::is_lone(&error) => {
                tracing::warn!(repository = %self.repository.name, error = %error, "reviews cannot be read: what was noted of them stands");
                None
            }
            Err(error) => return Err(error.into()),
        };
        let mut rights = Rights::of(self, &planned.settings.commands);
        for (proposal, pull) in looked_at {
            let of_pull = reviews.as_ref().and_then(|all| all.get(&pull.number)).map(Vec::as_slice);
            match self.judge_one(planned, &proposal, pull, of_pull, &mut rights, outcome).await {
                // What is wrong with one is not its neighbours' trouble; it is not merged then.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, pull_request = pull.number, error = %error, "approvals cannot be judged");
                    outcome.ending.fail(error);
                }
                judged => judged?,
            }
        }
        Ok(())
    }

    async fn judge_one(
        self,
        planned: Planned<'_>,
        proposal: &ProposalId,
        pull: &PullRequest,
        reviews: Option<&[Review]>,
        rights: &mut Rights<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), SyncError> {
        // Its check waits for the same.
        let Some(result) = self.result_of(pull).await? else {
            outcome.ending.look_again();
            return Ok(());
        };
        let decisions = match planned.plans.get(proposal) {
            Some(Ok(upgrade)) => planned.decided.of(proposal).still(upgrade, self.today),
            _ => planned.decided.of(proposal),
        };
        let whose = self.whose(proposal, pull).await?;
        // Of several clusters whoever approves must have the right for each; where nobody noted which, of what it touches.
        let mut members = outcome.members_of(self.facts, proposal);
        if members.is_empty() {
            match self.concerned(pull, planned.scopes).await? {
                Ok(touched) => members = touched,
                Err(why) => {
                    tracing::warn!(repository = %self.repository.name, pull_request = pull.number, why = why.text(), "nobody knows what this touches: it is not approved");
                    return Ok(());
                }
            }
        }
        let targets: Vec<Target> = members.into_iter().map(|member| member.target).collect();
        let mut voices = BTreeMap::new();
        for login in logins(&decisions.approvals, reviews.unwrap_or_default()) {
            let voice = match &whose {
                _ if pull.author.eq_ignore_ascii_case(&login) => Voice::OwnWork,
                Whose::Peoples(people) if people.contains(&login) => Voice::OwnWork,
                Whose::Untold => Voice::Untold,
                _ if self.may_approve(rights, &login, &targets).await? => Voice::Counts,
                _ => Voice::MayNot,
            };
            voices.insert(login, voice);
        }
        let approved = judge_approvals(&ApprovalFacts {
            needed: planned.settings.upgrade.merge.approvals,
            head: &pull.head,
            result: result.as_ref(),
            noted: &decisions.approvals,
            reviews,
            voices: &voices,
        });
        self.note_approvals(planned, proposal, pull, decisions, &approved).await?;
        let prefix = planned.settings.commands.prefix.as_str();
        let remarks = outcome.remarks.entry(pull.number).or_default();
        remarks.gates.extend(approvals_gate(&approved, prefix));
        remarks.notes.extend(approvals_in_words(&approved));
        remarks.approved = Some(approved.clone());
        let judged = JudgedProposal { pull: pull.clone(), approved, whose };
        outcome.judged.insert(proposal.clone(), judged);
        Ok(())
    }

    /// Writes what is to be known of approvals from now on, where that is something else than what is known.
    async fn note_approvals(
        self,
        planned: Planned<'_>,
        proposal: &ProposalId,
        pull: &PullRequest,
        decisions: Decisions,
        approved: &Approved,
    ) -> Result<(), SyncError> {
        let noted = Decisions { approvals: approved.noted.clone(), ..decisions.clone() };
        if noted == decisions || room_for(&noted) > MOST_BYTES {
            return Ok(());
        }
        let write = Write::proposal(proposal, format!("decided: {}", decisions_fingerprint(&noted)));
        if self.refusal(&write).is_some() {
            return Ok(());
        }
        let written = self.write_decisions(planned, proposal, pull, noted, draft_of(pull)).await;
        self.attempt(&write, written).await.map(drop)
    }

    /// Whose work a proposal's head is. People are those who pushed, as GitHub noted it: what a commit says of its author
    /// is anybody's word.
    async fn whose(self, proposal: &ProposalId, pull: &PullRequest) -> Result<Whose, SyncError> {
        let record = self.facts.record_of(proposal, &pull.head);
        if record.is_some_and(|record| record.head == pull.head) {
            return Ok(Whose::Capstans);
        }
        let head = self.read_head(&proposal.branch(), &pull.head, Some(&pull.base)).await?;
        if matches!(judge_head(&head, record.map(|record| &record.head)), Authorship::Capstan { .. }) {
            return Ok(Whose::Capstans);
        }
        let own = self.ports.host.bot_login().await?;
        let pushes = match self.ports.host.pushes(self.repository, &proposal.branch()).await {
            Ok(pushes) => pushes,
            Err(error) if error.is_refusal() => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        if !pushes.iter().any(|push| push.after == pull.head) {
            return Ok(Whose::Untold);
        }
        let people = pushes.into_iter().filter_map(|push| push.actor).filter(|actor| *actor != own);
        Ok(Whose::Peoples(people.map(|actor| actor.to_ascii_lowercase()).collect()))
    }

    /// The hold of one whose changes a pull request brings.
    pub(super) fn held_in(&self, planned: Planned<'_>, outcome: &Outcome, id: &ProposalId) -> Option<OnHold> {
        let members = outcome.members_of(self.facts, id);
        members.iter().find_map(|member| planned.decided.of(member).hold_on(self.today).cloned())
    }

    /// Whether a request asks for a merge that is carried out.
    pub(super) fn asks_to_merge(request: &Request) -> bool {
        request.carries_out(Verb::Merge)
    }
}
