//! `/capstan render`: puts the result of a change of the inventory into the clusters' folders, on its
//! author's own branch.
//!
//! *Guarantees.* The branch belongs to this repository and to an open pull request for the default branch,
//! and is not Capstan's own. It moves by one commit from the head that the author of the command had seen.
//! Files are those of the plans of a merge, and only where the head has them as the merge would: no edit is
//! lost. If a run died after it moved the branch, the next one finds nothing to do.

use std::sync::Arc;

use capstan_bot_core::checks::Comparison;
use capstan_bot_core::commands::Request;
use capstan_bot_core::effects::{CommitFiles, DesiredBranch};
use capstan_bot_core::facts::by_target;
use capstan_bot_core::planned::Planned;
use capstan_model::tree::Tree;
use capstan_model::wording::{count, few, list};
use capstan_plan::inventory::Inline;
use capstan_plan::proposal::{BranchStep, Guarded, guard_new, guard_upgrade, is_name_of_proposal};
use capstan_plan::settings::Mode;
use capstan_plan::upgrade::{Upgrade, ValuesCourse};
use capstan_report::markdown::{code, prose};
use capstan_report::{Answer, MergeBasis, Refusal};

use super::checks::{Comparisons, Judging};
use super::{Run, SyncError};
use crate::performing::{Branched, Published};
use capstan_ports::{PullRequest, PullRequestState, Snapshot};

/// Clusters listed in an answer and in a commit.
const MOST_NAMED: usize = 20;

impl Run<'_> {
    /// Writes the result, and returns the answer.
    pub(super) async fn render_text(
        self,
        request: &Request,
        planned: Planned<'_>,
    ) -> Result<Answer, SyncError> {
        let pull = match self.own_pull(request, planned) {
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
        let left = left_in_words(&inline);
        if inline.upgrades.is_empty() {
            let text = "Every base matches the inventory: there is nothing to render.\n";
            return Ok(Answer::told(text.to_owned() + &left));
        }
        let head = self.required_snapshot(&pull.head).await?;
        if let Some(path) = moved_file(&inline.upgrades, &comparison, &head) {
            let why = format!("the base branch has changed `{path}` since: merge it into this branch first");
            return Ok(not_rendered(&[why]));
        }
        match self.put_on(request, pull, (&head, &comparison), &inline, planned).await? {
            Branched::Stands | Branched::Written(_) => {
                let clusters = inline.upgrades.iter().map(|upgrade| code(upgrade.target.path(), 200));
                let text = format!(
                    "Rendered on this branch: {}. The check shows what a merge changes in {}.\n{left}",
                    list(&few(clusters, MOST_NAMED, "more")),
                    if inline.upgrades.len() == 1 { "it" } else { "them" },
                );
                Ok(Answer::told(text))
            }
            Branched::Ends(Published::Refused(why)) => Ok(not_rendered(&[format!(
                "GitHub refused to move its branch: {}",
                why.trim_end_matches('.')
            )])),
            Branched::Ends(_) => Ok(not_rendered(&[
                "it was closed or pushed to meanwhile: check it and repeat the command".to_owned(),
            ])),
        }
    }

    /// The pull request whose branch may be written for a request, or why there is none.
    fn own_pull<'r>(
        &self,
        request: &'r Request,
        planned: Planned<'_>,
    ) -> Result<&'r PullRequest, &'static str> {
        let pull = request.pull.as_ref().ok_or("this is not a pull request")?;
        let is_own = is_name_of_proposal(&pull.head_branch);
        if planned.settings.mode == Mode::Observe {
            return Err("the settings say `mode: observe`, so Capstan writes no branch");
        }
        if planned.decided.pause().is_some() {
            return Err("Capstan is paused here: `resume` ends that");
        }
        if pull.state != PullRequestState::Open {
            return Err("it is not open");
        }
        if !pull.head_in_repository {
            return Err(
                "its branch is in a fork, where Capstan writes nothing: after the merge, each cluster gets its own proposal",
            );
        }
        if pull.base_branch != self.repository.default_branch {
            return Err("its base is not the default branch");
        }
        if is_own || pull.head_branch == self.repository.default_branch {
            return Err("its branch is Capstan's or the default branch");
        }
        Ok(pull)
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
            message: message(request, &inline.upgrades),
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

/// The first planned file that differs in the head from the one that was planned from.
fn moved_file(upgrades: &[Arc<Upgrade>], comparison: &Comparison, head: &Snapshot) -> Option<String> {
    let blob = |tree: &dyn Tree, path| tree.entry(path).map(|entry| entry.blob.clone());
    let files = upgrades.iter().flat_map(|upgrade| &upgrade.files);
    let mut moved = files
        .filter(|file| blob(comparison.after.as_ref(), &file.path) != blob(head.tree.as_ref(), &file.path));
    moved.next().map(|file| file.path.to_string())
}

fn message(request: &Request, upgrades: &[Arc<Upgrade>]) -> String {
    let rows: Vec<String> = upgrades
        .iter()
        .take(MOST_NAMED)
        .map(|upgrade| {
            format!("- {}: {}\n", upgrade.target.path(), count(upgrade.changes.len(), "change", "changes"))
        })
        .collect();
    let more = upgrades.len().saturating_sub(MOST_NAMED);
    let more = if more == 0 { String::new() } else { format!("- and {more} more\n") };
    format!(
        "Render the inventory for {}\n\nAsked for by {} in #{}.\n\n{}{more}",
        count(upgrades.len(), "cluster", "clusters"),
        capstan_report::markdown::plain(&request.by, 100),
        request.number,
        rows.concat()
    )
}

/// Which clusters get a proposal of their own after the merge.
fn left_in_words(inline: &Inline) -> String {
    let rows = inline.left.iter().take(MOST_NAMED);
    let rows: String = rows.map(|(id, why)| format!("- {}: {why}\n", code(id.as_str(), 200))).collect();
    let more = inline.left.len().saturating_sub(MOST_NAMED);
    let more = if more == 0 { String::new() } else { format!("- … and {more} more\n") };
    if rows.is_empty() {
        return rows;
    }
    format!("\nThese get their own proposals once this is merged:\n\n{rows}{more}")
}

fn not_rendered(against: &[String]) -> Answer {
    let one = |why: &String| prose(why.trim_end_matches('.'), 900);
    let text = match against {
        [why] => format!("Nothing was rendered: {}.\n", one(why)),
        _ => {
            let rows: String =
                against.iter().take(MOST_NAMED).map(|why| format!("- {}\n", one(why))).collect();
            format!("Nothing was rendered:\n\n{rows}")
        }
    };
    Answer::refused(Refusal::NotRenderedInline, &text)
}
