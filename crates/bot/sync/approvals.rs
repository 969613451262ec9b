//! Approvals of proposals: those in bodies and on GitHub are judged at the present heads, and recorded.

use std::collections::BTreeMap;

use capstan_bot_core::facts::{Facts, Write, draft_of};
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::{
    ApprovalFound, ApprovalNeed, ApprovalsJudged, ApprovedResult, Approving, DecisionStep, HeadFacts,
    Outcome, judged_pulls,
};
use capstan_bot_core::requests::Request;
use capstan_plan::proposal::{Decisions, Review};

use super::SyncError;
use super::checks::{Comparisons, TestMerges};
use super::ending::Ending;
use super::heads::Heads;
use super::publish::Publisher;
use super::request_subjects::RequestSubjects;
use super::rights::RepositoryRights;
use capstan_ports::{CodeHost, PullRequest};

/// Judges them.
#[derive(Clone, Copy)]
pub(super) struct Approvals<'a> {
    pub(super) host: &'a dyn CodeHost,
    pub(super) facts: &'a Facts,
    pub(super) heads: Heads<'a>,
    pub(super) merges: TestMerges<'a>,
    pub(super) subjects: RequestSubjects<'a>,
    pub(super) publisher: Publisher<'a>,
}

impl Approvals<'_> {
    /// Judges the present approvals of proposals, records changes, and passes on what their checks have to
    /// say.
    pub(super) async fn judge(
        self,
        planned: PlannedRun<'_>,
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
        let reviews = match self.host.reviews(&self.facts.repository, &pulls).await {
            Ok(reviews) => Some(reviews.into_iter().collect::<BTreeMap<u64, Vec<Review>>>()),
            // Then the recorded ones count, and no other.
            Err(error) if SyncError::is_lone(&error) => {
                tracing::warn!(repository = %self.facts.repository.name, error = %error, "reviews cannot be read: Capstan keeps the recorded ones");
                None
            }
            Err(error) => return Err(error.into()),
        };
        let mut rights = RepositoryRights::of(self.host, self.subjects, &planned.settings.commands);
        for (proposal, pull) in looked_at {
            let approving = Approving {
                planned,
                proposal: &proposal,
                pull,
                reviews: reviews.as_ref().and_then(|all| all.get(&pull.number)).map(Vec::as_slice),
                members: outcome.members_of(self.facts, &proposal),
            };
            let so_far = (&mut *outcome, &mut *ending);
            match self.judge_one(&approving, (&mut rights, &mut *seen), so_far).await {
                // A problem with one does not affect the others; it is not merged then.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.facts.repository.name, pull_request = pull.number, error = %error, "approvals cannot be judged");
                    ending.fail(error);
                }
                judged => judged?,
            }
        }
        Ok(())
    }

    async fn judge_one(
        self,
        approving: &Approving<'_>,
        (rights, seen): (&mut RepositoryRights<'_>, &mut Comparisons),
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<(), SyncError> {
        let Approving { planned, proposal, pull, .. } = *approving;
        let mut found = ApprovalFound::default();
        let judged = loop {
            match approving.judge(&found) {
                DecisionStep::Decided(judged) => break judged,
                DecisionStep::Ask(need) => {
                    self.find_of_approval(approving, need, &mut found, (&mut *rights, &mut *seen)).await?;
                }
            }
        };
        match judged {
            ApprovalsJudged::Later => ending.look_again(),
            ApprovalsJudged::Unknown(why) => {
                tracing::warn!(repository = %self.facts.repository.name, pull_request = pull.number, why, "it is unknown what this touches: it is not approved");
            }
            ApprovalsJudged::Judged { judged, noted } => {
                if let Some(noted) = noted {
                    self.note_approvals(approving, *noted).await?;
                }
                outcome.note_judged(proposal, *judged, planned.settings.commands.prefix.as_str());
            }
        }
        Ok(())
    }

    /// Finds out what a verdict on approvals has to know.
    async fn find_of_approval(
        self,
        Approving { planned, proposal, pull, .. }: &Approving<'_>,
        need: ApprovalNeed,
        found: &mut ApprovalFound,
        (rights, seen): (&mut RepositoryRights<'_>, &mut Comparisons),
    ) -> Result<(), SyncError> {
        match need {
            ApprovalNeed::Result => {
                found.result = Some(match self.merges.result_of(pull, seen).await? {
                    None => ApprovedResult::NotYet,
                    Some(None) => ApprovedResult::None,
                    Some(Some(result)) => ApprovedResult::Known(result),
                });
            }
            ApprovalNeed::Whose => {
                let head = HeadFacts::of(self.facts, proposal, &pull.head, Some(&pull.base));
                found.whose = Some(self.heads.find_out(&head, HeadFacts::owner).await?);
            }
            ApprovalNeed::Touched => {
                let touched = self.subjects.of_pull(pull, planned.scopes).await?;
                found.touched = Some(touched.map_err(|why| why.text()));
            }
            ApprovalNeed::Rights(logins, targets) => {
                let mut may = BTreeMap::new();
                for login in logins {
                    let right = rights.may_approve(&login, &targets).await?;
                    may.insert(login, right);
                }
                found.rights = Some(may);
            }
        }
        Ok(())
    }

    /// Records approvals that changed.
    async fn note_approvals(self, approving: &Approving<'_>, noted: Decisions) -> Result<(), SyncError> {
        let Approving { planned, proposal, pull, .. } = *approving;
        let write = Write::decisions(proposal, &noted);
        if self.publisher.performer.refusal(&write).is_some() {
            return Ok(());
        }
        let written = self.publisher.write_decisions(planned, proposal, pull, noted, draft_of(pull)).await;
        self.publisher.performer.attempt(&write, written).await.map(drop)
    }
}
