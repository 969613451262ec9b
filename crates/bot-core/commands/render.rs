//! `render`: what a change of the inventory comes to is put on the branch of the pull request that makes it.

use std::sync::Arc;

use capstan_facts::{PullRequest, PullRequestState};
use capstan_model::tree::Tree;
use capstan_model::wording::{count, few, list};
use capstan_plan::inventory::Inline;
use capstan_plan::proposal::is_name_of_proposal;
use capstan_plan::settings::Mode;
use capstan_plan::upgrade::Upgrade;
use capstan_report::markdown::{code, plain, prose};
use capstan_report::{Answer, Refusal};

use crate::planned::Planned;
use crate::requests::Request;

/// So many clusters are named in an answer and in a commit.
const MOST_NAMED: usize = 20;

/// The pull request whose branch may be written for a request.
///
/// # Errors
/// There is none: why, as a part of a sentence.
pub fn branch_to_render<'r>(
    request: &'r Request,
    planned: Planned<'_>,
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
pub fn moved_file(upgrades: &[Arc<Upgrade>], merged: &dyn Tree, head: &dyn Tree) -> Option<String> {
    let blob = |tree: &dyn Tree, path| tree.entry(path).map(|entry| entry.blob.clone());
    let files = upgrades.iter().flat_map(|upgrade| &upgrade.files);
    let mut moved = files.filter(|file| blob(merged, &file.path) != blob(head, &file.path));
    moved.next().map(|file| file.path.to_string())
}

/// The message of the commit that brings it.
pub fn render_message(request: &Request, upgrades: &[Arc<Upgrade>]) -> String {
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
pub fn rendered(inline: &Inline) -> Answer {
    let left = left_in_words(inline);
    if inline.upgrades.is_empty() {
        let text = "Every base matches the inventory: there is nothing to render.\n";
        return Answer::told(text.to_owned() + &left);
    }
    let clusters = inline.upgrades.iter().map(|upgrade| code(upgrade.target.path(), 200));
    Answer::told(format!(
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
pub fn not_rendered(against: &[String]) -> Answer {
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
    use crate::testing::{Case, comment, open, pull, town};
    use capstan_plan::proposal::Paused;
    use capstan_report::DashboardRecord;
    use jiff::civil::date;

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
}
