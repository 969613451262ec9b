//! Approvals of proposals: those in bodies and on GitHub are judged at the present heads, and recorded.

use std::collections::BTreeMap;

use capstan_bot_core::facts::{Write, draft_of};
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::{
    BranchOwner, JudgedProposal, Outcome, judged_pulls, pushed_by, still_decided, to_note, voice_in,
};
use capstan_bot_core::requests::Request;
use capstan_model::target::Target;
use capstan_plan::proposal::{
    ApprovalFacts, Approved, Authorship, Decisions, ProposalId, Review, Voice, judge_approvals, judge_head,
    logins,
};
use capstan_report::decisions_fingerprint;

use super::checks::Comparisons;
use super::rights::RepositoryRights;
use super::{Ending, Run, SyncError};
use capstan_ports::PullRequest;

impl Run<'_> {
    /// Judges the present approvals of proposals, records changes, and passes on what their checks have to
    /// say.
    pub(super) async fn judge_proposals(
        self,
        planned: Planned<'_>,
        requests: &[Request],
        open: &[PullRequest],
        (outcome, ending): (&mut Outcome, &mut Ending),
        seen: &mut Comparisons,
    ) -> Result<(), SyncError> {
        let looked_at = judged_pulls(planned, requests, open, outcome);
        if looked_at.is_empty() {
            return Ok(());
        }
        let pulls: Vec<&PullRequest> = looked_at.values().copied().collect();
        let reviews = match self.ports.host.reviews(self.repository, &pulls).await {
            Ok(reviews) => Some(reviews.into_iter().collect::<BTreeMap<u64, Vec<Review>>>()),
            // Then the recorded ones count, and no other.
            Err(error) if SyncError::is_lone(&error) => {
                tracing::warn!(repository = %self.repository.name, error = %error, "reviews cannot be read: Capstan keeps the recorded ones");
                None
            }
            Err(error) => return Err(error.into()),
        };
        let mut rights = RepositoryRights::of(self, &planned.settings.commands);
        for (proposal, pull) in looked_at {
            let of_pull = reviews.as_ref().and_then(|all| all.get(&pull.number)).map(Vec::as_slice);
            match self
                .judge_one(
                    planned,
                    (&proposal, pull),
                    of_pull,
                    (&mut rights, &mut *seen),
                    (&mut *outcome, &mut *ending),
                )
                .await
            {
                // A problem with one does not affect the others; it is not merged then.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, pull_request = pull.number, error = %error, "approvals cannot be judged");
                    ending.fail(error);
                }
                judged => judged?,
            }
        }
        Ok(())
    }

    async fn judge_one(
        self,
        planned: Planned<'_>,
        (proposal, pull): (&ProposalId, &PullRequest),
        reviews: Option<&[Review]>,
        (rights, seen): (&mut RepositoryRights<'_>, &mut Comparisons),
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<(), SyncError> {
        // Its check waits for the same.
        let Some(result) = self.result_of(pull, seen).await? else {
            ending.look_again();
            return Ok(());
        };
        let decisions = still_decided(planned, proposal);
        let whose = self.whose(proposal, pull).await?;
        // With several clusters an approver must have the right for each; without a record, for those that it
        // touches.
        let mut members = outcome.members_of(self.facts, proposal);
        if members.is_empty() {
            match self.concerned(pull, planned.scopes).await? {
                Ok(touched) => members = touched,
                Err(why) => {
                    tracing::warn!(repository = %self.repository.name, pull_request = pull.number, why = why.text(), "it is unknown what this touches: it is not approved");
                    return Ok(());
                }
            }
        }
        let targets: Vec<Target> = members.into_iter().map(|member| member.target).collect();
        let mut voices = BTreeMap::new();
        for login in logins(&decisions.approvals, reviews.unwrap_or_default()) {
            let voice = match voice_in(&pull.author, &whose, &login) {
                Some(voice) => voice,
                None if self.may_approve(rights, &login, &targets).await? => Voice::Counts,
                None => Voice::MayNot,
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
        self.note_approvals(planned, (proposal, pull), &decisions, &approved).await?;
        let prefix = planned.settings.commands.prefix.as_str();
        outcome.remarks.entry(pull.number).or_default().add_approvals(&approved, prefix);
        let judged = JudgedProposal { pull: pull.clone(), approved, whose };
        outcome.judged.insert(proposal.clone(), judged);
        Ok(())
    }

    /// Records approvals, if they changed.
    async fn note_approvals(
        self,
        planned: Planned<'_>,
        (proposal, pull): (&ProposalId, &PullRequest),
        decisions: &Decisions,
        approved: &Approved,
    ) -> Result<(), SyncError> {
        let Some(noted) = to_note(decisions, approved) else { return Ok(()) };
        let write = Write::proposal(proposal, format!("decided: {}", decisions_fingerprint(&noted)));
        if self.performer.refusal(&write).is_some() {
            return Ok(());
        }
        let written = self.write_decisions(planned, proposal, pull, noted, draft_of(pull)).await;
        self.performer.attempt(&write, written).await.map(drop)
    }

    /// Whose work a proposal's head is. People are those who pushed, according to GitHub: anybody can set the
    /// author of a commit.
    async fn whose(self, proposal: &ProposalId, pull: &PullRequest) -> Result<BranchOwner, SyncError> {
        let record = self.facts.record_of(proposal, &pull.head);
        if record.is_some_and(|record| record.head == pull.head) {
            return Ok(BranchOwner::Capstan);
        }
        let head = self.read_head(&proposal.branch(), &pull.head, Some(&pull.base)).await?;
        if matches!(judge_head(&head, record.map(|record| &record.head)), Authorship::Capstan { .. }) {
            return Ok(BranchOwner::Capstan);
        }
        let own = self.ports.host.bot_login().await?;
        let pushes = match self.ports.host.pushes(self.repository, &proposal.branch()).await {
            Ok(pushes) => pushes,
            Err(error) if error.is_refusal() => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(pushed_by(&pushes, &pull.head, &own))
    }
}
