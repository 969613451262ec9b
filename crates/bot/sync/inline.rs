//! `/capstan render`: puts the result of a change of the inventory into the clusters' folders, on its
//! author's own branch.
//!
//! *Guarantees.* The branch belongs to this repository and to an open pull request for the default branch,
//! and is not Capstan's own. It moves by one commit from the head that the author of the command had seen.
//! Files are those of the plans of a merge, and only where the head has them as the merge would: no edit is
//! lost. If a run died after it moved the branch, the next one finds nothing to do.

use capstan_bot_core::commands::{RenderAnswers, RenderNeed, render};
use capstan_bot_core::facts::by_target;
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::Step;
use capstan_bot_core::requests::Request;
use capstan_report::Answer;

use super::checks::{Comparisons, Judging};
use super::{Run, SyncError};
use crate::performing::Branched;

impl Run<'_> {
    /// Writes the result, and returns the answer.
    pub(super) async fn render_text(
        self,
        request: &Request,
        planned: Planned<'_>,
    ) -> Result<Answer, SyncError> {
        let mut known = RenderAnswers::default();
        loop {
            match render(request, planned, &known) {
                Step::Decided(Err(answer)) => return Ok(answer),
                Step::Decided(Ok(rendering)) => {
                    let number = rendering.pull.number;
                    let moved = self.performer.bring_branch_up(&rendering.branch()?, Some(number)).await?;
                    if let Branched::Written(commit) = &moved {
                        let audited = rendering.audited(self.repository.id, commit);
                        self.performer.perform(audited).await?;
                    }
                    return Ok(match &moved {
                        Branched::Stands | Branched::Written(_) => rendering.said(None),
                        Branched::Ends(published) => rendering.said(Some(published)),
                    });
                }
                Step::Ask(RenderNeed::Comparison(pull)) => {
                    let subject = self.subject(pull).await?;
                    known.comparison = Some(self.comparison(&subject, &mut Comparisons::default()).await?);
                }
                Step::Ask(RenderNeed::Head(pull)) => {
                    known.head = Some(self.required_snapshot(&pull.head).await?);
                }
                Step::Ask(RenderNeed::Plans(comparison)) => {
                    let Planned { settings, scopes, reporters, .. } = planned;
                    let judging = Judging { settings, scopes, reporters, plans: None };
                    known.plans = Some(self.inventory_plans(comparison, judging).await?);
                }
                Step::Ask(RenderNeed::Scopes(comparison)) => {
                    let scopes = self.scopes_of(&comparison.after, planned.settings).await?;
                    known.scopes = Some(by_target(scopes));
                }
            }
        }
    }
}
