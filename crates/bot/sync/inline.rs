//! `/capstan render`: puts the result of a change of the inventory into the clusters' folders, on its
//! author's own branch.
//!
//! *Guarantees.* The branch belongs to this repository and to an open pull request for the default branch,
//! and is not Capstan's own. It moves by one commit from the head that the author of the command had seen.
//! Files are those of the plans of a merge, and only where the head has them as the merge would: no edit is
//! lost. If a run died after it moved the branch, the next one finds nothing to do.

use capstan_bot_core::checks::Comparison;
use capstan_bot_core::commands::{branch_to_render, moved_file, not_rendered, render_message, rendered};
use capstan_bot_core::effects::{CommitFiles, DesiredBranch};
use capstan_bot_core::facts::by_target;
use capstan_bot_core::planned::Planned;
use capstan_bot_core::requests::Request;
use capstan_model::wording::count;
use capstan_plan::inventory::Inline;
use capstan_plan::proposal::{BranchStep, Guarded, guard_new, guard_upgrade};
use capstan_plan::upgrade::ValuesCourse;
use capstan_report::{Answer, MergeBasis};

use super::checks::{Comparisons, Judging};
use super::{Run, SyncError};
use crate::performing::{Branched, Published};
use capstan_ports::{PullRequest, Snapshot};

impl Run<'_> {
    /// Writes the result, and returns the answer.
    pub(super) async fn render_text(
        self,
        request: &Request,
        planned: Planned<'_>,
    ) -> Result<Answer, SyncError> {
        let pull = match branch_to_render(request, planned) {
            Ok(pull) => pull,
            Err(why) => return Ok(not_rendered(&[why.to_owned()])),
        };
        let subject = self.subject(pull).await?;
        let Some(comparison) = self.comparison(&subject, &mut Comparisons::default()).await? else {
            let why = "GitHub has not computed its merge yet: repeat the command in a minute";
            return Ok(not_rendered(&[why.to_owned()]));
        };
        if comparison.basis != MergeBasis::Merge {
            let why = "it conflicts with its base: merge the base into it first";
            return Ok(not_rendered(&[why.to_owned()]));
        }
        let Planned { settings, scopes, reporters, .. } = planned;
        let judging = Judging { settings, scopes, reporters, plans: None };
        let Some(inventory) = &settings.inventory else {
            return Ok(not_rendered(&["the settings name no inventory".to_owned()]));
        };
        let plans = match self.inventory_plans(&comparison, judging).await? {
            None => {
                return Ok(Answer::told("It does not change the inventory: there is nothing to render.\n"));
            }
            Some(Err(why)) => return Ok(not_rendered(&[why])),
            Some(Ok(plans)) => plans,
        };
        let inline = match Inline::of(&inventory.inline, &plans.change, &plans.before, &plans.after) {
            Ok(inline) => inline,
            Err(against) => return Ok(not_rendered(&against)),
        };
        if inline.upgrades.is_empty() {
            return Ok(rendered(&inline));
        }
        let head = self.required_snapshot(&pull.head).await?;
        if let Some(path) = moved_file(&inline.upgrades, comparison.after.as_ref(), head.tree.as_ref()) {
            let why = format!("the base branch has changed `{path}` since: merge it into this branch first");
            return Ok(not_rendered(&[why]));
        }
        match self.put_on(request, pull, (&head, &comparison), &inline, planned).await? {
            Branched::Stands | Branched::Written(_) => Ok(rendered(&inline)),
            Branched::Ends(Published::Refused(why)) => Ok(not_rendered(&[format!(
                "GitHub refused to move its branch: {}",
                why.trim_end_matches('.')
            )])),
            Branched::Ends(_) => Ok(not_rendered(&[
                "it was closed or pushed to meanwhile: check it and repeat the command".to_owned(),
            ])),
        }
    }

    /// Moves the branch by one commit with the planned files.
    async fn put_on(
        &self,
        request: &Request,
        pull: &PullRequest,
        (head, comparison): (&Snapshot, &Comparison),
        inline: &Inline,
        planned: Planned<'_>,
    ) -> Result<Branched, SyncError> {
        let scopes = by_target(self.scopes_of(&comparison.after, planned.settings).await?);
        let mut guarded = Vec::new();
        for upgrade in &inline.upgrades {
            let comes = upgrade.values.as_ref().is_some_and(|values| values.course == ValuesCourse::Comes);
            let scope = scopes.get(&upgrade.target);
            guarded.push(match (upgrade.target.cluster().filter(|_| comes), scope) {
                (Some(cluster), _) => guard_new(cluster, head.tree.as_ref(), &upgrade.files)?,
                (None, Some(scope)) => guard_upgrade(scope, head.tree.as_ref(), upgrade)?,
                (None, None) => continue,
            });
        }
        let branch = DesiredBranch {
            name: pull.head_branch.clone(),
            step: BranchStep::Move { before: pull.head.clone() },
            parent: head,
            key: &self.facts.key,
            files: CommitFiles::OfClusters(Guarded::together(guarded)),
            message: render_message(request, &inline.upgrades),
        };
        let moved = self.performer.bring_branch_up(&branch, Some(pull.number)).await?;
        if let Branched::Written(commit) = &moved {
            let detail = format!(
                "{} on {} in #{} at {commit}, asked for by {}",
                count(inline.upgrades.len(), "cluster", "clusters"),
                pull.head_branch,
                pull.number,
                request.by
            );
            self.performer.audit(None, "inventory-rendered", detail).await?;
        }
        Ok(moved)
    }
}
