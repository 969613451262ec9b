//! `/capstan render`: puts the result of a change of the inventory into the clusters' folders, on its
//! author's own branch.
//!
//! *Guarantees.* The branch belongs to this repository and to an open pull request for the default branch,
//! and is not Capstan's own. It moves by one commit from the head that the author of the command had seen.
//! Files are those of the plans of a merge, and only where the head has them as the merge would: no edit is
//! lost. If a run died after it moved the branch, the next one finds nothing to do.

use capstan_bot_core::commands::{RenderAnswers, RenderNeed, render};
use capstan_bot_core::facts::by_target;
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::DecisionStep;
use capstan_bot_core::requests::Request;
use capstan_report::Answer;

use super::SyncError;
use super::checks::{Comparisons, Judging, Outlooks, TestMerges};
use super::commits::Commits;
use crate::performing::{Branched, Performer};

/// Writes it.
#[derive(Clone, Copy)]
pub(super) struct BranchRender<'a> {
    pub(super) commits: Commits<'a>,
    pub(super) merges: TestMerges<'a>,
    pub(super) outlooks: Outlooks<'a>,
    pub(super) performer: &'a Performer<'a>,
}

impl BranchRender<'_> {
    /// Writes the result, and returns the answer.
    pub(super) async fn answer(
        self,
        request: &Request,
        planned: PlannedRun<'_>,
    ) -> Result<Answer, SyncError> {
        let mut known = RenderAnswers::default();
        loop {
            match render(request, planned, &known) {
                DecisionStep::Decided(Err(answer)) => return Ok(answer),
                DecisionStep::Decided(Ok(rendering)) => {
                    let number = rendering.pull.number;
                    let moved = self.performer.bring_branch_up(&rendering.branch()?, Some(number)).await?;
                    if let Branched::Written(commit) = &moved {
                        let audited = rendering.audited(self.commits.facts.repository.id, commit);
                        self.performer.perform(audited).await?;
                    }
                    return Ok(match &moved {
                        Branched::Unchanged | Branched::Written(_) => rendering.said(None),
                        Branched::Ends(published) => rendering.said(Some(published)),
                    });
                }
                DecisionStep::Ask(RenderNeed::Comparison(pull)) => {
                    let subject = self.merges.subjects.subject(pull).await?;
                    known.comparison =
                        Some(self.merges.comparison(&subject, &mut Comparisons::default()).await?);
                }
                DecisionStep::Ask(RenderNeed::Head(pull)) => {
                    known.head = Some(self.commits.required_snapshot(&pull.head).await?);
                }
                DecisionStep::Ask(RenderNeed::Plans(comparison)) => {
                    let PlannedRun { settings, scopes, reporters, .. } = planned;
                    let judging = Judging { settings, scopes, reporters, plans: None };
                    known.plans = Some(self.outlooks.inventory_plans(comparison, judging).await?);
                }
                DecisionStep::Ask(RenderNeed::Scopes(comparison)) => {
                    let scopes = self.outlooks.planner.scopes_of(&comparison.after, planned.settings).await?;
                    known.scopes = Some(by_target(scopes));
                }
            }
        }
    }
}
