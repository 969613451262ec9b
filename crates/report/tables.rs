//! The rows that bodies and checks share: changes, conflicts, findings, rollouts.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use super::excerpt::{Excerpt, ExcerptForm, excerpts};
use super::markdown::{Page, code, code_cell, more, one_line, plain, prose_cell};
use super::pages::rule_shown;
use capstan_model::finding::{Finding, Place, Severity};
use capstan_model::kinds::{is_cluster, is_control_plane};
use capstan_model::object::{FieldPath, ObjectId, Step};
use capstan_model::source::SourceKind;
use capstan_model::wording::{count, few, sentence};
use capstan_plan::upgrade::{
    Basis, Certainty, Change, ChangeReason, ComponentChange, Conflict, MachineCount, ReleaseList, Rollout,
    Side, Upgrade, ValueOrigin, is_hidden, whole_of,
};
use capstan_yaml::Value;

const EDITS_HEAD: &str = "| Object | Field | Old | New | Why |\n|---|---|---|---|---|\n";
const DIFFERENCES_HEAD: &str = "| Object | Field | Old | New |\n|---|---|---|---|\n";
pub(super) const COMPONENTS_HEAD: &str = "| | Name | Old | New | Changelog |\n|---|---|---|---|---|\n";

const VALUE: usize = 160;
const NAME: usize = 120;
/// Rows of changes that are shown unfolded.
const UNFOLDED: usize = 20;

/// What the conflicts of an upgrade are: a sentence above [`conflicts_head`].
pub(super) fn conflicts_in_words(upgrade: &Upgrade) -> String {
    let kind = upgrade.brought_by();
    // Two values that are hidden look alike, and may differ.
    let has_old = |conflict: &Conflict| {
        conflict.cluster == conflict.base && !conflict.base.as_ref().is_some_and(is_hidden)
    };
    match upgrade.basis {
        // As in a rollback, and where an owner rule holds a field.
        Basis::Known | Basis::Inferred if upgrade.conflicts.iter().all(has_old) => {
            format!("The new {kind} has other values here. The cluster keeps those of the old {kind}.")
        }
        Basis::Known | Basis::Inferred if upgrade.conflicts.iter().any(has_old) => format!(
            "The {kind} changed these since the old {kind}. The cluster changed them too, or keeps the old value."
        ),
        Basis::Known | Basis::Inferred => {
            format!("The cluster and the {kind} both changed these since the old {kind}.")
        }
        Basis::Unknown => format!(
            "The cluster and the {kind} have different values here. Taking the new ones would lose those of the cluster."
        ),
    }
}

/// The heading over [`conflict_rows`].
pub(super) fn conflicts_head(kind: &SourceKind) -> String {
    format!("| Object | Field | Old {kind} | Cluster | New {kind} | Settled |\n|---|---|---|---|---|---|\n")
}

/// How much an upgrade changes: `11 changes, by 14 edits in 6 files`. The check counts the changes in the same way. A file
/// with nothing but Capstan's record has no edit.
pub(super) fn changes(upgrade: &Upgrade) -> String {
    let files: BTreeSet<_> = upgrade.changes.iter().map(|change| change.place.file()).collect();
    let edits = format!(
        "{} in {}",
        count(upgrade.changes.len(), "edit", "edits"),
        count(files.len(), "file", "files")
    );
    match (upgrade.changes.len(), upgrade.applied_changes) {
        (0, None | Some(0)) => "no edit".to_owned(),
        (0, Some(changes)) => count(changes, "change", "changes"),
        (_, Some(changes)) => format!("{}, by {edits}", count(changes, "change", "changes")),
        (_, None) => edits,
    }
}

/// The table of edits, by object. `origin` is what is said of the place that an edit comes from.
pub(super) fn edits_table(
    changes: &[Change],
    kind: &SourceKind,
    origin: impl Fn(usize) -> String,
) -> ChangesTable {
    ChangesTable::new("edit", EDITS_HEAD, changes, |at, change, object| {
        let [old, new] = value_cells(&change.object, &change.path, [&change.old, &change.new]);
        let (field, why) = (moved_cell(change), reason(change, kind));
        format!("| {object} | {field} | {old} | {new} | {why}{} |\n", origin(at))
    })
}

/// The table of the difference that a pull request makes, by object.
pub(super) fn differences_table(changes: &[Change]) -> ChangesTable {
    ChangesTable::new("change", DIFFERENCES_HEAD, changes, |_, change, object| {
        let [old, new] = value_cells(&change.object, &change.path, [&change.old, &change.new]);
        format!("| {object} | {} | {old} | {new} |\n", field_cell(&change.object, &change.path))
    })
}

/// A table of changes, grouped by object, which is folded where it is long.
pub(super) struct ChangesTable {
    what: &'static str,
    head: &'static str,
    rows: Vec<String>,
    objects: usize,
}

impl ChangesTable {
    fn new(
        what: &'static str,
        head: &'static str,
        changes: &[Change],
        row: impl Fn(usize, &Change, &str) -> String,
    ) -> Self {
        let (ordered, mut objects, mut last) = (by_object(changes), 0, None);
        let rows = ordered.into_iter().map(|(at, change)| {
            // An object is named once, in the first of its rows.
            let is_first = last.replace(&change.object) != Some(&change.object);
            objects += usize::from(is_first);
            row(at, change, &if is_first { object_cell(&change.object) } else { String::new() })
        });
        let rows = rows.collect();
        Self { what, head, rows, objects }
    }

    /// Appends it below `title`, in at most `budget` bytes. `command` shows all changes.
    pub(super) fn push(&self, page: &mut Page, title: &str, budget: usize, command: &str) {
        const END: &str = "\n</details>\n";
        let (one, many) = (self.what, &format!("{}s", self.what));
        let summary =
            format!("{} in {}", count(self.rows.len(), one, many), count(self.objects, "object", "objects"));
        let left_out = |left: usize| {
            format!("\n… and {}; {command} in a checkout shows all of them.\n", more(left, one, many))
        };
        if self.rows.len() <= UNFOLDED {
            page.section(&format!("{title}{summary}\n\n{}", self.head), &self.rows, budget, left_out);
            return;
        }
        let head = format!("{title}<details><summary>{summary}</summary>\n\n{}", self.head);
        let before = page.free();
        let room = budget.min(before).saturating_sub(END.len());
        // A fold that is begun has to be ended: the counts above say how much there is.
        if head.len() + left_out(self.rows.len()).len() > room {
            return;
        }
        page.section(&head, &self.rows, room, left_out);
        if page.free() < before {
            page.push(END);
        }
    }
}

/// Changes with their places in the list, those of one object together: the `Cluster`, then its control plane, then the
/// others as they come. An object whose name another one takes or leaves, as a template, comes after that one.
fn by_object(changes: &[Change]) -> Vec<(usize, &Change)> {
    let mut first = HashMap::new();
    let mut namers: HashMap<&str, &ObjectId> = HashMap::new();
    for (at, change) in changes.iter().enumerate() {
        first.entry(&change.object).or_insert(at);
        let is_reference = matches!(change.path.steps().last(), Some(Step::Key(key)) if key == "name");
        for name in [&change.old, &change.new].into_iter().flatten().filter_map(Value::as_str) {
            if is_reference && name != change.object.name {
                namers.entry(name).or_insert(&change.object);
            }
        }
    }
    let rank = |object: &ObjectId| match object {
        cluster if is_cluster(cluster) => 0,
        plane if is_control_plane(plane) => 1,
        _ => 2,
    };
    let mut ordered: Vec<(usize, &Change)> = changes.iter().enumerate().collect();
    ordered.sort_by_key(|(_, change)| {
        let namer = namers.get(change.object.name.as_str()).filter(|namer| ***namer != change.object);
        let lead = namer.copied().unwrap_or(&change.object);
        (rank(lead), first[lead], namer.is_some(), first[&change.object])
    });
    ordered
}

fn reason(change: &Change, kind: &SourceKind) -> Cow<'static, str> {
    Cow::Borrowed(match change.reason {
        ChangeReason::Release | ChangeReason::Inventory if change.from.is_some() => {
            "moved by the new API version"
        }
        ChangeReason::Release => return Cow::Owned(format!("the {kind} changes it")),
        ChangeReason::Inventory => "the inventory changes it",
        ChangeReason::Object if change.old.is_none() => {
            return Cow::Owned(format!("the {kind} adds the object"));
        }
        ChangeReason::Object if change.new.is_none() => {
            return Cow::Owned(format!("the {kind} drops the object"));
        }
        ChangeReason::Object => return Cow::Owned(format!("the {kind} replaces the object")),
        ChangeReason::Rotation => "templates are immutable: a new one takes its place",
        ChangeReason::Reference => "follows the new template",
    })
}

/// Rows of an upgrade's conflicts; those from an inventory have the places of its values.
pub(super) fn conflict_rows(upgrade: &Upgrade) -> Vec<String> {
    let kind = upgrade.brought_by();
    let origins =
        upgrade.values.as_deref().map(|values| values.conflict_origins.as_slice()).unwrap_or_default();
    upgrade
        .conflicts
        .iter()
        .enumerate()
        .map(|(at, conflict)| {
            let from = match origins.get(at).map(Vec::as_slice) {
                None | Some([]) => String::new(),
                Some(origins) => format!(", {}", places(origins)),
            };
            let sides = conflict.lines_in_dispute();
            let sides = sides.as_ref().map_or_else(|| conflict.sides(), |sides| sides.each_ref());
            let [base, cluster, release] = value_cells(&conflict.object, &conflict.path, sides);
            let by = conflict.settling.by.as_ref().map(|by| format!(", as {} decided", code_cell(by, 80)));
            let settled = match (conflict.blocks, conflict.kept) {
                (true, _) => "**blocks the upgrade**".to_owned(),
                (false, Side::Cluster) => "the cluster's value is kept".to_owned(),
                (false, Side::Release) => format!("the {kind}'s value is taken"),
            };
            format!(
                "| {} | {} | {base} | {cluster} | {release}{from} | {settled}{} |\n",
                object_cell(&conflict.object),
                field_cell(&conflict.object, &conflict.path),
                by.unwrap_or_default(),
            )
        })
        .collect()
}

/// `Environment prod` in `inventory/prod.yaml:9:16`
pub(super) fn places(origins: &[ValueOrigin]) -> String {
    origins_in_words(origins, |place| code(&place.to_string(), 200))
}

/// The same with the places as `quoted` shows them.
pub fn origins_in_words(origins: &[ValueOrigin], quoted: impl Fn(&Place) -> String) -> String {
    const MOST: usize = 3;
    let told = origins.iter().take(MOST).map(|origin| {
        let name = if origin.level == "default" {
            "the default".to_owned()
        } else {
            format!("{} {}", origin.level, origin.name)
        };
        format!("{} in {}", plain(&name, 120), quoted(&origin.place))
    });
    let mut told: Vec<String> = told.collect();
    if origins.len() > MOST {
        told.push(format!("and {} more", count(origins.len() - MOST, "place", "places")));
    }
    told.join(", ")
}

pub(super) fn component_rows(changes: &[ComponentChange]) -> Vec<String> {
    changes
        .iter()
        .map(|change| {
            let part = match change.part {
                ReleaseList::Component => "component",
                ReleaseList::App => "app",
            };
            let version = |version: &Option<String>| {
                version.as_ref().map_or_else(|| "absent".to_owned(), |version| code_cell(version, VALUE))
            };
            // The links were checked when they were read: no character in them ends a link.
            let links: Vec<String> = match change.changelogs.as_slice() {
                [only] => vec![format!("[changelog](<{only}>)")],
                several => several
                    .iter()
                    .enumerate()
                    .map(|(at, link)| format!("[changelog {}](<{link}>)", at + 1))
                    .collect(),
            };
            format!(
                "| {part} | {} | {} | {} | {} |\n",
                code_cell(&change.name, NAME),
                version(&change.old),
                version(&change.new),
                links.join(", ")
            )
        })
        .collect()
}

pub(super) fn finding_rows(findings: &[Finding]) -> Vec<String> {
    let mut errors_first: Vec<&Finding> = findings.iter().collect();
    errors_first.sort_by_key(|finding| std::cmp::Reverse(finding.severity()));
    errors_first
        .into_iter()
        .map(|finding| {
            let word = match finding.severity() {
                Severity::Error => "**error**",
                Severity::Warning => "warning",
            };
            let place = place(finding).map_or_else(String::new, |place| format!(" ({})", code(&place, 300)));
            format!(
                "- {word} {}{place}: {}\n",
                rule_shown(finding.rule.id()),
                prose_cell(&finding.message, 700)
            )
        })
        .collect()
}

/// The head of the table of [`rollout_rows`]. What they are judged by is said above it, where that is the same of all.
pub(super) fn rollouts_head(rollouts: &[Rollout]) -> String {
    let judged = Certainty::common(rollouts).map(said_of);
    let judged = judged.map_or_else(String::new, |judged| format!("{}.\n\n", sentence(judged)));
    format!("{judged}| Object | Machines | Because of | How |\n|---|---|---|---|\n")
}

const fn said_of(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Exact => "judged with the live names of templates",
        Certainty::Offline => "judged from Git alone",
        Certainty::Unknown => "cannot be judged",
    }
}

/// Rollouts in the order of replacement, as far as the roles tell it: the control plane's first.
pub(super) fn planes_first<'r>(rollouts: impl IntoIterator<Item = &'r Rollout>) -> Vec<&'r Rollout> {
    let mut ordered: Vec<&Rollout> = rollouts.into_iter().collect();
    ordered.sort_by_key(|rollout| !is_cluster(&rollout.object) && !is_control_plane(&rollout.object));
    ordered
}

/// A row for each owner of machines, the control plane above the workers.
pub(super) fn rollout_rows(rollouts: &[Rollout]) -> Vec<String> {
    let is_said_above = Certainty::common(rollouts).is_some();
    planes_first(rollouts)
        .into_iter()
        .map(|rollout| {
            let fields = rollout.because.iter().map(|path| field_cell(&rollout.object, path));
            let because = few(fields, 4, "more fields");
            let certainty = (!is_said_above).then(|| said_of(rollout.certainty).to_owned());
            let notes = rollout.course.notes.iter().take(4);
            let notes = notes.map(|note| prose_cell(note.trim_end_matches('.'), 300));
            let how: Vec<String> = certainty.into_iter().chain(notes).collect();
            format!(
                "| {} | {} | {} | {} |\n",
                object_cell(&rollout.object),
                becomes(rollout),
                because.join(", "),
                how.join(". ")
            )
        })
        .collect()
}

/// `a/b.yaml:7:3`
pub(super) fn place(finding: &Finding) -> Option<String> {
    let file = finding.file()?;
    Some(match (finding.line(), finding.column()) {
        (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        (Some(line), None) => format!("{file}:{line}"),
        _ => file.to_string(),
    })
}

/// What happens to machines, in words: `replaces 3, adds 2`.
pub fn becomes(rollout: &Rollout) -> String {
    if rollout.loses_its_owner() {
        let machines = rollout.machines.map(|machines| format!("removes {machines}"));
        return machines.unwrap_or_else(|| "removes an unknown number (replicas are not in Git)".to_owned());
    }
    let mut words = Vec::new();
    match rollout.machines {
        Some(0) => {}
        Some(machines) => words.push(format!("replaces {machines}")),
        None if rollout.certainty == Certainty::Unknown => words.push("perhaps replaces some".to_owned()),
        // The counts are known, but not how often machines are replaced; the notes say why.
        None if rollout.course.created.is_some() => words.push("replaces an unknown number".to_owned()),
        None => words.push("replaces an unknown number (replicas are not in Git)".to_owned()),
    }
    let some = |number: Option<u32>| number.filter(|number| *number > 0);
    words.extend(some(rollout.course.created).map(|created| format!("adds {created}")));
    words.extend(some(rollout.course.deleted).map(|deleted| format!("removes {deleted}")));
    match words.join(", ") {
        none if none.is_empty() => "replaces none".to_owned(),
        scaled if rollout.certainty == Certainty::Unknown && rollout.machines == Some(0) => {
            format!("perhaps {scaled}")
        }
        all => all,
    }
}

/// So many machines: `5 machines`, `at least 5 machines`, `no machine`.
pub(super) fn machines(number: MachineCount) -> String {
    let known = count(usize::try_from(number.known).unwrap_or(usize::MAX), "machine", "machines");
    match (number.known, number.is_more) {
        (0, false) => "no machine".to_owned(),
        (0, true) => "an unknown number of machines".to_owned(),
        (_, false) => known,
        (_, true) => format!("at least {known}"),
    }
}

/// `1 error, 2 warnings`, `1 warning`, or `none`.
pub(super) fn findings(findings: &[Finding]) -> String {
    let errors = findings.iter().filter(|finding| finding.severity() == Severity::Error).count();
    let errors_in_words = || count(errors, "error", "errors");
    match (errors, findings.len() - errors) {
        (0, 0) => "none".to_owned(),
        (_, 0) => errors_in_words(),
        (0, warnings) => count(warnings, "warning", "warnings"),
        (_, warnings) => format!("{}, {}", errors_in_words(), count(warnings, "warning", "warnings")),
    }
}

/// `3, of which 1 blocks`, `2, both block`, or `none`.
pub(super) fn conflicts(conflicts: &[Conflict]) -> String {
    let blocking = conflicts.iter().filter(|conflict| conflict.blocks).count();
    match (conflicts.len(), blocking) {
        (0, _) => "none".to_owned(),
        (all, 0) => all.to_string(),
        (1, _) => "1, which blocks".to_owned(),
        (2, 2) => "2, both block".to_owned(),
        (all, blocking) if all == blocking => format!("{all}, all block"),
        (all, _) => format!("{all}, of which {}", count(blocking, "blocks", "block")),
    }
}

fn object_cell(object: &ObjectId) -> String {
    code_cell(&object.to_string(), NAME)
}

fn field_cell(object: &ObjectId, path: &FieldPath) -> String {
    if path.is_root() { whole_of(object).to_owned() } else { code_cell(&path.to_string(), NAME) }
}

/// The place of a field, and its place before its API version changed.
fn moved_cell(change: &Change) -> String {
    let from = change.from.as_ref().map(|from| format!("{} → ", field_cell(&change.object, from)));
    format!("{}{}", from.unwrap_or_default(), field_cell(&change.object, &change.path))
}

/// The sides of one value; long ones only where they differ.
fn value_cells<const N: usize>(
    object: &ObjectId,
    path: &FieldPath,
    sides: [&Option<Value>; N],
) -> [String; N] {
    let values = sides.map(Option::as_ref);
    let mut shown = excerpts(object, path, &values, VALUE).into_iter();
    values.map(|value| match (value, shown.next().flatten()) {
        // A whole object does not fit into a cell: the files show it.
        (Some(_), _) if path.is_root() => "present".to_owned(),
        (Some(_), Some(Excerpt { text, form: ExcerptForm::Words })) => format!("*{text}*"),
        (Some(_), Some(Excerpt { text, form: ExcerptForm::Text })) => code_cell(&text, VALUE),
        (Some(_), Some(Excerpt { text, .. })) => code_cell(&one_line(&text, VALUE), VALUE + 1),
        _ => "absent".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use capstan_model::finding::rules;
    use serde_json::json;

    use super::*;
    use crate::body::tests::upgrade;

    fn rollout(machines: Option<u32>, lost: bool) -> Rollout {
        let because = vec![if lost { FieldPath::root() } else { FieldPath::parse("/spec/version").unwrap() }];
        Rollout { machines, because, ..upgrade().rollouts[0].clone() }
    }

    #[test]
    fn machines_are_counted_as_far_as_git_knows_them_and_lost_ones_by_themselves() {
        let (keeps, loses) = (false, true);
        for (rollouts, said) in [
            (vec![], None),
            (vec![(Some(0), keeps)], None),
            (vec![(Some(1), keeps)], Some("1 machine is replaced")),
            (vec![(Some(1), keeps), (Some(2), keeps)], Some("3 machines are replaced")),
            (vec![(None, keeps)], Some("an unknown number of machines are replaced")),
            (vec![(None, keeps), (Some(0), keeps)], Some("an unknown number of machines are replaced")),
            (vec![(None, keeps), (Some(1), keeps)], Some("at least 1 machine is replaced")),
            (vec![(Some(1), loses)], Some("1 machine is deleted")),
            (vec![(None, loses)], Some("an unknown number of machines are deleted")),
            (
                vec![(Some(3), keeps), (Some(2), loses)],
                Some("3 machines are replaced and 2 machines are deleted"),
            ),
            (vec![(Some(u32::MAX), keeps); 2], Some("8589934590 machines are replaced")),
        ] {
            let rollouts: Vec<Rollout> =
                rollouts.into_iter().map(|(number, lost)| rollout(number, lost)).collect();
            assert_eq!(crate::headline::machine_changes(&rollouts).as_deref(), said);
        }
    }

    /// The text names missing replicas in Git only where they are missing.
    #[test]
    fn an_unknown_number_is_explained_by_git_only_where_git_lacks_it() {
        let of = |created: Option<u32>| {
            let mut rollout = rollout(None, false);
            rollout.certainty = Certainty::Offline;
            rollout.course.created = created;
            rollout.course.deleted = created;
            becomes(&rollout)
        };
        assert_eq!(of(None), "replaces an unknown number (replicas are not in Git)");
        assert_eq!(of(Some(0)), "replaces an unknown number");
        let mut scaled = rollout(Some(0), false);
        scaled.certainty = Certainty::Unknown;
        (scaled.course.created, scaled.course.deleted) = (Some(2), Some(0));
        assert_eq!(becomes(&scaled), "perhaps adds 2");
    }

    #[test]
    fn of_hidden_values_nothing_says_that_they_are_the_old_ones() {
        let said = |value: Value| {
            let mut upgrade = upgrade();
            let conflict = &mut upgrade.conflicts[0];
            (conflict.base, conflict.cluster) = (Some(value.clone()), Some(value));
            conflicts_in_words(&upgrade)
        };
        let old = "The new release has other values here. The cluster keeps those of the old release.";
        assert_eq!(said(json!(2)), old);
        let both = "The cluster and the release both changed these since the old release.";
        assert_eq!(said(json!({"redacted": true})), both);
    }

    #[test]
    fn conflicts_and_findings_are_counted_in_the_same_words_everywhere() {
        let conflict = |blocks| Conflict { blocks, ..upgrade().conflicts[0].clone() };
        for (blocking, said) in [
            (&[][..], "none"),
            (&[false], "1"),
            (&[false, false], "2"),
            (&[true], "1, which blocks"),
            (&[true, false], "2, of which 1 blocks"),
            (&[true, true], "2, both block"),
            (&[true, true, true], "3, all block"),
            (&[true, true, false], "3, of which 2 block"),
        ] {
            let all: Vec<Conflict> = blocking.iter().map(|blocks| conflict(*blocks)).collect();
            assert_eq!(conflicts(&all), said);
        }
        let error = upgrade().findings[0].clone();
        let warning = Finding::new(rules::UNMATCHED_FRAGMENT, String::new());
        for (errors, warnings, said) in [
            (0, 0, "none"),
            (1, 0, "1 error"),
            (2, 0, "2 errors"),
            (0, 1, "1 warning"),
            (0, 2, "2 warnings"),
            (1, 2, "1 error, 2 warnings"),
        ] {
            let all = [vec![error.clone(); errors], vec![warning.clone(); warnings]].concat();
            assert_eq!(findings(&all), said);
        }
    }
}
