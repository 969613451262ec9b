//! What a proposal's check says of the upgrade itself and the difference of two trees cannot show: how
//! conflicts were settled, and what people's commits on the branch changed.

use std::sync::Arc;

use capstan_model::source::SourceKind;
use capstan_model::tree::RepoPath;
use capstan_model::wording::{few, list};
use capstan_plan::upgrade::Upgrade;

use super::markdown::{Page, code, more_below};
use super::step::step_in_words;
use super::tables;

/// The upgrades of a proposal, as they are planned now.
#[derive(Debug, Clone, Default)]
pub struct Carried {
    /// One for each cluster with something to report.
    pub upgrades: Vec<Arc<Upgrade>>,
    /// Where people pushed to the branch: the files that differ from Capstan's.
    pub edited: Option<Vec<RepoPath>>,
}

/// Appends these sections, in at most `room` bytes.
pub(super) fn sections(page: &mut Page, carried: &Carried, room: usize) {
    let end = page.free().saturating_sub(room);
    for (at, upgrade) in carried.upgrades.iter().enumerate() {
        let share = page.free().saturating_sub(end) / (carried.upgrades.len() - at);
        let kind = upgrade.brought_by();
        let target = code(upgrade.target.path(), 200);
        let rows = tables::conflict_rows(upgrade);
        let head = format!(
            "\n### Conflicts of {target}, and how they are settled\n\n{}\n\n{}",
            tables::conflicts_in_words(upgrade),
            tables::conflicts_head(&kind)
        );
        let budget = if carried.edited.is_some() { share / 2 } else { share };
        page.section(&head, &rows, budget, |left| more_below(left, "conflict", "conflicts"));
        if let Some(edited) = &carried.edited {
            without_edits(page, upgrade, (&kind, edited), share / 2);
        }
    }
}

fn without_edits(
    page: &mut Page,
    upgrade: &Upgrade,
    (kind, edited): (&SourceKind, &[RepoPath]),
    room: usize,
) {
    let target = code(upgrade.target.path(), 200);
    if upgrade.to.is_none() {
        return;
    }
    let step = step_in_words(upgrade, |name| code(name, 200));
    let step = step.strip_prefix(" from ").map_or_else(|| format!("{target}{step}"), str::to_owned);
    let of_it: Vec<String> = edited.iter().map(|path| code(path.as_str(), 300)).collect();
    let differs = if of_it.is_empty() {
        "The branch has exactly these changes.".to_owned()
    } else {
        format!("The branch differs in {}.", list(&few(of_it, 10, "more")))
    };
    page.push(&format!(
        "\n### What Capstan would have changed in {target}\n\n{step}: {}. {differs}\n\n",
        tables::changes(upgrade),
    ));
    tables::edits_table(&upgrade.changes, kind, |_| String::new()).push(page, "", room, "`capstan plan`");
}
