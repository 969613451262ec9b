//! `render`: what a change of the inventory comes to is put on the branch of the pull request that makes it.

use std::sync::Arc;

use capstan_facts::{AuditEntry, PullRequest, PullRequestState, Snapshot};
use capstan_model::tree::{CommitId, Tree};
use capstan_model::wording::{count, few, list};
use capstan_plan::inventory::Inline;
use capstan_plan::proposal::{
    BranchStep, Guarded, OutsideTarget, guard_new, guard_upgrade, is_name_of_proposal,
};
use capstan_plan::settings::Mode;
use capstan_plan::upgrade::{Upgrade, ValuesCourse};
use capstan_report::markdown::{code, plain, prose};
use capstan_report::{Answer, BlockKey, MergeBasis, Refusal};

use crate::checks::{Comparison, InventoryPlans};
use crate::effects::{CommitFiles, DesiredBranch, Effect, Published};
use crate::facts::Scopes;
use crate::planned::PlannedRun;
use crate::proposals::DecisionStep;
use crate::requests::Request;

/// So many clusters are named in an answer and in a commit.
const MOST_NAMED: usize = 20;

/// A fact that is needed first.
#[derive(Clone, Copy)]
pub enum RenderNeed<'a> {
    /// What a merge of the pull request changes.
    Comparison(&'a PullRequest),
    /// The plans of the clusters that it affects through the inventory.
    Plans(&'a Comparison),
    /// The content of its head.
    Head(&'a PullRequest),
    /// The targets of the merge.
    Scopes(&'a Comparison),
}

/// The answers so far. A fact that is absent was not asked for.
#[derive(Clone, Default)]
pub struct RenderAnswers {
    /// What a merge changes; `None` inside while GitHub computes it.
    pub comparison: Option<Option<Comparison>>,
    /// The plans; `None` inside where the inventory does not change, and an error why they cannot be known.
    pub plans: Option<Option<Result<InventoryPlans, String>>>,
    /// The content of its head.
    pub head: Option<Snapshot>,
    /// The targets of the merge.
    pub scopes: Option<Scopes>,
}

/// What is put on a branch.
pub struct Rendering<'a> {
    request: &'a Request,
    /// The pull request of the branch.
    pub pull: &'a PullRequest,
    inline: Inline,
    head: &'a Snapshot,
    scopes: &'a Scopes,
    key: &'a BlockKey,
}

/// What becomes of a request to render: something is put on its branch, or there is only an answer.
pub fn render<'a: 'k, 'k>(
    request: &'a Request,
    planned: PlannedRun<'a>,
    known: &'k RenderAnswers,
) -> DecisionStep<Result<Box<Rendering<'k>>, Answer>, RenderNeed<'k>> {
    let says = |answer| DecisionStep::Decided(Err(answer));
    let not = |why: &str| says(not_rendered(&[why.to_owned()]));
    let pull = match branch_to_render(request, planned) {
        Ok(pull) => pull,
        Err(why) => return not(why),
    };
    let comparison = match &known.comparison {
        None => return DecisionStep::Ask(RenderNeed::Comparison(pull)),
        Some(None) => return not("GitHub has not computed its merge yet: repeat the command in a minute"),
        Some(Some(comparison)) if comparison.basis != MergeBasis::Merge => {
            return not("it conflicts with its base: merge the base into it first");
        }
        Some(Some(comparison)) => comparison,
    };
    let Some(inventory) = &planned.settings.inventory else {
        return not("the settings name no inventory");
    };
    let plans = match &known.plans {
        None => return DecisionStep::Ask(RenderNeed::Plans(comparison)),
        Some(None) => {
            return says(Answer::info("It does not change the inventory: there is nothing to render.\n"));
        }
        Some(Some(Err(why))) => return not(why),
        Some(Some(Ok(plans))) => plans,
    };
    let inline = match Inline::of(&inventory.inline, &plans.change, &plans.before, &plans.after) {
        Ok(inline) if inline.upgrades.is_empty() => return says(rendered(&inline)),
        Ok(inline) => inline,
        Err(against) => return says(not_rendered(&against)),
    };
    let Some(head) = &known.head else { return DecisionStep::Ask(RenderNeed::Head(pull)) };
    if let Some(path) = moved_file(&inline.upgrades, comparison.after.as_ref(), head.tree.as_ref()) {
        return not(&format!("the base branch has changed `{path}` since: merge it into this branch first"));
    }
    let Some(scopes) = &known.scopes else { return DecisionStep::Ask(RenderNeed::Scopes(comparison)) };
    let key = &planned.facts.key;
    DecisionStep::Decided(Ok(Box::new(Rendering { request, pull, inline, head, scopes, key })))
}

impl Rendering<'_> {
    /// The branch, moved by one commit with the planned files.
    ///
    /// # Errors
    /// A file that it must not touch.
    pub fn branch(&self) -> Result<DesiredBranch<'_>, OutsideTarget> {
        let mut guarded = Vec::new();
        for upgrade in &self.inline.upgrades {
            let comes = upgrade.values.as_ref().is_some_and(|values| values.course == ValuesCourse::Comes);
            let scope = self.scopes.get(&upgrade.target);
            guarded.push(match (upgrade.target.cluster().filter(|_| comes), scope) {
                (Some(cluster), _) => guard_new(cluster, self.head.tree.as_ref(), &upgrade.files)?,
                (None, Some(scope)) => guard_upgrade(scope, self.head.tree.as_ref(), upgrade)?,
                (None, None) => continue,
            });
        }
        Ok(DesiredBranch {
            name: self.pull.head_branch.clone(),
            step: BranchStep::Move { before: self.pull.head.clone() },
            parent: self.head,
            key: self.key,
            files: CommitFiles::OfClusters(Guarded::together(guarded)),
            message: render_message(self.request, &self.inline.upgrades),
        })
    }

    /// What the audit trail says of the commit.
    pub fn audited(&self, repository: u64, commit: &CommitId) -> Effect {
        let detail = format!(
            "{} on {} in #{} at {commit}, asked for by {}",
            count(self.inline.upgrades.len(), "cluster", "clusters"),
            self.pull.head_branch,
            self.pull.number,
            self.request.by
        );
        Effect::Audit(AuditEntry::own(repository, None, "inventory-rendered", detail))
    }

    /// The answer; `ended` is why the branch was not moved.
    pub fn said(&self, ended: Option<&Published>) -> Answer {
        match ended {
            None => rendered(&self.inline),
            Some(Published::Refused(why)) => {
                not_rendered(&[format!("GitHub refused to move its branch: {}", why.trim_end_matches('.'))])
            }
            Some(_) => not_rendered(&[
                "it was closed or pushed to meanwhile: check it and repeat the command".to_owned(),
            ]),
        }
    }
}

/// The pull request whose branch may be written for a request.
///
/// # Errors
/// There is none: why, as a part of a sentence.
fn branch_to_render<'r>(
    request: &'r Request,
    planned: PlannedRun<'_>,
) -> Result<&'r PullRequest, &'static str> {
    let pull = request.pull.as_ref().ok_or("this is not a pull request")?;
    let default_branch = &planned.facts.repository.default_branch;
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
    if pull.base_branch != *default_branch {
        return Err("its base is not the default branch");
    }
    if is_name_of_proposal(&pull.head_branch) || pull.head_branch == *default_branch {
        return Err("its branch is Capstan's or the default branch");
    }
    Ok(pull)
}

/// The first file to be written of which the head has something else than what was planned from.
fn moved_file(upgrades: &[Arc<Upgrade>], merged: &dyn Tree, head: &dyn Tree) -> Option<String> {
    let blob = |tree: &dyn Tree, path| tree.entry(path).map(|entry| entry.blob.clone());
    let files = upgrades.iter().flat_map(|upgrade| &upgrade.files);
    let mut moved = files.filter(|file| blob(merged, &file.path) != blob(head, &file.path));
    moved.next().map(|file| file.path.to_string())
}

/// The message of the commit that brings it.
fn render_message(request: &Request, upgrades: &[Arc<Upgrade>]) -> String {
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
        plain(&request.by, 100),
        request.number,
        rows.concat()
    )
}

/// The answer once the branch has what was planned.
fn rendered(inline: &Inline) -> Answer {
    let left = left_in_words(inline);
    if inline.upgrades.is_empty() {
        let text = "Every base matches the inventory: there is nothing to render.\n";
        return Answer::info(text.to_owned() + &left);
    }
    let clusters = inline.upgrades.iter().map(|upgrade| code(upgrade.target.path(), 200));
    Answer::info(format!(
        "Rendered on this branch: {}. The check shows what a merge changes in {}.\n{left}",
        list(&few(clusters, MOST_NAMED, "more")),
        if inline.upgrades.len() == 1 { "it" } else { "them" },
    ))
}

/// Which clusters get a proposal of their own once this is merged.
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

/// The answer where nothing was rendered; the reasons are parts of a sentence.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, V22, comment, commit, open, pull, snapshot, town, tree, upgrade};
    use capstan_model::file_change::FileChange;
    use capstan_model::ids::ClusterId;
    use capstan_model::tree::RepoPath;
    use capstan_plan::inventory::InventoryChange;
    use capstan_plan::proposal::Paused;
    use capstan_report::DashboardRecord;
    use jiff::civil::date;
    use std::collections::BTreeMap;

    #[test]
    fn a_branch_is_written_that_is_its_authors_and_of_this_repository() {
        let case = town();
        let paused = Paused { by: "eve".to_owned(), reason: None, since: date(2026, 1, 5) };
        let record = DashboardRecord { pause: Some(paused), ..DashboardRecord::default() };
        let observed = town().settings(|settings| settings.mode = Mode::Observe);
        let on = open(&case, 9);
        for (case, pull, expected) in [
            (&case, Some(on.clone()), Ok(9)),
            (&case, None, Err("this is not a pull request")),
            (
                &observed,
                Some(on.clone()),
                Err("the settings say `mode: observe`, so Capstan writes no branch"),
            ),
            (&Case { record, ..town() }, Some(on.clone()), Err("Capstan is paused here: `resume` ends that")),
            (
                &case,
                Some(PullRequest { state: PullRequestState::Merged, ..on.clone() }),
                Err("it is not open"),
            ),
            (
                &case,
                Some(PullRequest { head_in_repository: false, ..on.clone() }),
                Err(
                    "its branch is in a fork, where Capstan writes nothing: after the merge, each cluster gets its own proposal",
                ),
            ),
            (
                &case,
                Some(PullRequest { base_branch: "topic".to_owned(), ..on }),
                Err("its base is not the default branch"),
            ),
            (&case, Some(open(&case, 3)), Err("its branch is Capstan's or the default branch")),
            (&case, Some(pull(8, "main", 'e')), Err("its branch is Capstan's or the default branch")),
        ] {
            let request = comment(1, "ada", pull.as_ref(), "/capstan render");
            let found = case.look(|planned| branch_to_render(&request, planned).map(|pull| pull.number));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn why_nothing_was_rendered_is_one_sentence_or_a_list() {
        for (against, expected) in [
            (&["it is not open."][..], "Nothing was rendered: it is not open."),
            (&["one", "two"][..], "Nothing was rendered:\n\n- one\n- two\n"),
        ] {
            let against: Vec<String> = against.iter().map(|why| (*why).to_owned()).collect();
            let answer = not_rendered(&against);
            assert!(answer.is_refusal() && answer.text().starts_with(expected), "{}", answer.text());
        }
    }

    const FILE: &str = "gauss/peu01/base/a.yaml";

    fn merge(basis: MergeBasis) -> Comparison {
        let trees = [&[(FILE, "a: 1")][..], &[(FILE, "a: 1"), ("inventory/a.yaml", "b: 2")][..]];
        let [before, after] = trees.map(|files| Arc::new(tree(files)) as Arc<dyn Tree>);
        Comparison { before, base: commit('0'), after, commit: commit('c'), basis }
    }

    /// The plans of a change that writes that file of gauss/peu01, or none.
    fn plans(writes: Option<&str>) -> InventoryPlans {
        let id = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
        let file = |path| FileChange {
            path: RepoPath::parse(path).unwrap(),
            before: Some("a: 1".to_owned()),
            after: Some("a: 2".to_owned()),
        };
        let plan = writes.map(|path| {
            let upgrade = Upgrade { files: vec![file(path)], ..upgrade("gauss/peu01", V22, V22) };
            Ok(Arc::new(upgrade))
        });
        let change = InventoryChange { clusters: vec![id.clone()], all: 1, ..InventoryChange::default() };
        let after = BTreeMap::from([(id, plan.into_iter().collect())]);
        InventoryPlans { change, before: BTreeMap::new(), after }
    }

    fn with_inventory() -> Case {
        town().settings(|settings| {
            let inventory = serde_json::json!({"path": "inventory"});
            settings.inventory = Some(serde_json::from_value(inventory).unwrap());
        })
    }

    /// A question, the answer, or what is put on the branch.
    fn step(case: &Case, known: &RenderAnswers) -> String {
        let request = comment(1, "ada", Some(&open(case, 9)), "/capstan render");
        case.look(|planned| match render(&request, planned, known) {
            DecisionStep::Ask(RenderNeed::Comparison(pull)) => format!("? merge of #{}", pull.number),
            DecisionStep::Ask(RenderNeed::Head(pull)) => format!("? head of #{}", pull.number),
            DecisionStep::Ask(RenderNeed::Plans(_)) => "? Plans".to_owned(),
            DecisionStep::Ask(RenderNeed::Scopes(_)) => "? Scopes".to_owned(),
            DecisionStep::Decided(Err(answer)) => {
                answer.text().split(" See `").next().unwrap_or_default().trim().to_owned()
            }
            DecisionStep::Decided(Ok(rendering)) => match rendering.branch() {
                Ok(branch) => format!("{} by {} files", branch.name, branch.entries().len()),
                Err(_) => "outside".to_owned(),
            },
        })
    }

    #[test]
    fn what_a_render_needs_is_asked_for_one_after_the_other() {
        let (case, without) = (with_inventory(), town());
        let merged = |plans| RenderAnswers {
            comparison: Some(Some(merge(MergeBasis::Merge))),
            plans,
            ..RenderAnswers::default()
        };
        let on_head = |files: &[(&str, &str)]| RenderAnswers {
            head: Some(snapshot(commit('f'), files)),
            ..merged(Some(Some(Ok(plans(Some(FILE))))))
        };
        let computing =
            "Nothing was rendered: GitHub has not computed its merge yet: repeat the command in a minute.";
        let conflict = "Nothing was rendered: it conflicts with its base: merge the base into it first.";
        let moved = "Nothing was rendered: the base branch has changed `gauss/peu01/base/a.yaml` since: merge it into this branch first.";
        for (case, known, expected) in [
            (&case, RenderAnswers::default(), "? merge of #9"),
            (&case, RenderAnswers { comparison: Some(None), ..RenderAnswers::default() }, computing),
            (
                &case,
                RenderAnswers {
                    comparison: Some(Some(merge(MergeBasis::HeadAlone))),
                    ..RenderAnswers::default()
                },
                conflict,
            ),
            (&without, merged(None), "Nothing was rendered: the settings name no inventory."),
            (&case, merged(None), "? Plans"),
            (&case, merged(Some(None)), "It does not change the inventory: there is nothing to render."),
            (
                &case,
                merged(Some(Some(Err("there are too many clusters".to_owned())))),
                "Nothing was rendered: there are too many clusters.",
            ),
            (
                &case,
                merged(Some(Some(Ok(plans(None))))),
                "Every base matches the inventory: there is nothing to render.",
            ),
            (&case, merged(Some(Some(Ok(plans(Some(FILE)))))), "? head of #9"),
            (&case, on_head(&[(FILE, "a: 0")]), moved),
            (&case, on_head(&[(FILE, "a: 1")]), "? Scopes"),
        ] {
            assert_eq!(step(case, &known), expected);
        }
    }

    #[test]
    fn only_files_of_the_clusters_are_put_on_the_branch() {
        let case = with_inventory();
        for (path, expected) in [(FILE, "topic by 1 files"), ("kiel/peu01/base/a.yaml", "outside")] {
            let known = RenderAnswers {
                comparison: Some(Some(merge(MergeBasis::Merge))),
                plans: Some(Some(Ok(plans(Some(path))))),
                head: Some(snapshot(commit('f'), &[(FILE, "a: 1")])),
                scopes: Some(case.scopes.clone()),
            };
            assert_eq!(step(&case, &known), expected);
        }
    }

    #[test]
    fn the_answer_says_whether_the_branch_was_moved() {
        let case = with_inventory();
        let request = comment(1, "ada", Some(&open(&case, 9)), "/capstan render");
        let known = RenderAnswers {
            comparison: Some(Some(merge(MergeBasis::Merge))),
            plans: Some(Some(Ok(plans(Some(FILE))))),
            head: Some(snapshot(commit('f'), &[(FILE, "a: 1")])),
            scopes: Some(case.scopes.clone()),
        };
        let refused = Published::Refused("The branch is protected.".to_owned());
        for (ended, expected) in [
            (None, "Rendered on this branch: `gauss/peu01`."),
            (
                Some(&refused),
                "Nothing was rendered: GitHub refused to move its branch: The branch is protected.",
            ),
            (
                Some(&Published::Overtaken),
                "Nothing was rendered: it was closed or pushed to meanwhile: check it and repeat the command.",
            ),
        ] {
            let said = case.look(|planned| match render(&request, planned, &known) {
                DecisionStep::Decided(Ok(rendering)) => rendering.said(ended).text().to_owned(),
                _ => panic!("it is put on the branch"),
            });
            assert!(said.starts_with(expected), "{said}");
        }
    }
}
