//! An upgrade in words, for a terminal.

use std::fmt::Write as _;

use capstan_model::finding::{Finding, Severity};
use capstan_model::ids::ClusterId;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::source::SourceKind;
use capstan_model::wording::{count, in_one_line};
use capstan_plan::proposal::{Decisions, Drafted, PlanDigest, SidebarStanding, SourceState};
use capstan_plan::settings::TitleTemplate;

use capstan_plan::upgrade::{
    Basis, Certainty, Change, Conflict, Retarget, Rollout, ServiceChange, ServiceCourse, Side, Upgrade,
    Versions, whole_of,
};
use capstan_providers::ProviderChange;
use capstan_report::ExcerptForm;
use capstan_report::markdown::prose;
use clap::builder::styling::{AnsiColor, Style};
use serde_json::Value;

use super::harmless::line;
use super::progress::say;
use capstan_fleet::generator::Refused;

const BOLD: Style = Style::new().bold();

/// One upgrade: what changes, what was kept, what the rules say, which machines go.
pub(super) fn upgrade(upgrade: &Upgrade) -> String {
    let mut text = String::new();
    heading(&mut text, upgrade);
    for note in &upgrade.notes {
        line!(text, "  {note}");
    }
    for component in &upgrade.components {
        line!(text, "  {}", [&[component.to_string()], component.changelogs.as_slice()].concat().join(" "));
    }
    if !upgrade.services.is_empty() {
        line!(text, "  services");
        upgrade.services.iter().for_each(|item| service(&mut text, item));
    }
    if !upgrade.changes.is_empty() {
        let verb = if upgrade.blocked.is_empty() { "changes" } else { "would change" };
        line!(text, "  {verb}");
        upgrade.changes.iter().for_each(|item| change(&mut text, item));
    }
    let kind = upgrade.brought_by();
    if let ([], [record]) = (upgrade.changes.as_slice(), upgrade.files.as_slice()) {
        let what = if kind == SourceKind::INVENTORY { "values" } else { kind.as_str() };
        line!(text, "  no object changes; {} records the {what}", record.path);
    }
    if !upgrade.conflicts.is_empty() {
        line!(text, "  {}", conflicts_heading(upgrade));
        (0..upgrade.conflicts.len()).for_each(|at| conflict(&mut text, upgrade, at));
    }
    if let Some(hint) = overwriting(upgrade) {
        line!(text, "  {hint}");
    }
    if !upgrade.rollouts.is_empty() {
        line!(text, "  {}", machines_head(&upgrade.rollouts));
        // In the order in which it happens, as far as there is one.
        let mut rollouts: Vec<&Rollout> = upgrade.rollouts.iter().collect();
        rollouts.sort_by_key(|rollout| rollout.course.order);
        let is_judged_above = Certainty::common(&upgrade.rollouts).is_some();
        // What happens at once has no turns.
        let turns = rollouts.iter().any(|item| item.course.order != rollouts[0].course.order);
        rollouts.into_iter().for_each(|item| rollout(&mut text, item, is_judged_above, turns));
    }
    if !upgrade.providers.is_empty() {
        line!(text, "  providers");
        upgrade.providers.iter().for_each(|item| provider(&mut text, item));
    }
    if !upgrade.findings.is_empty() {
        line!(text, "  findings");
        for item in &upgrade.findings {
            line!(text, "    {}", finding(item));
        }
    }
    if !upgrade.blocked.is_empty() {
        let red = AnsiColor::Red.on_default().bold();
        let others: Vec<&String> = upgrade.reasons_beside_findings().collect();
        let why = if others.is_empty() { "; the findings say why" } else { "" };
        line!(text, "  {red}blocked: nothing is written{red:#}{why}");
        for reason in others {
            line!(text, "    {reason}");
        }
    }
    text
}

fn service(text: &mut String, service: &ServiceChange) {
    let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "present".to_owned());
    let (from, to) = (version(&service.from), version(&service.to));
    let course = match service.course {
        ServiceCourse::Add => format!("{to} comes"),
        ServiceCourse::Modify if service.from == service.to => format!("{to}, changes"),
        ServiceCourse::Modify => format!("{from} -> {to}"),
        ServiceCourse::Remove => format!("{from} goes"),
    };
    let settings = match service.settings.as_slice() {
        [] => String::new(),
        keys => format!("; in capstan.yaml: {}", keys.join(", ")),
    };
    line!(text, "    {} ({})  {course}{settings}", service.name, service.role);
    for edit in &service.kept {
        line!(text, "      stays as it was edited: {}  {}", edit.object, path_of(&edit.object, &edit.path));
    }
}

fn heading(text: &mut String, upgrade: &Upgrade) {
    let name = upgrade.target.path();
    let from = upgrade.from.as_ref().map_or_else(|| "(unknown release)".to_owned(), ToString::to_string);
    let is_of_inventory = upgrade.brought_by() == SourceKind::INVENTORY;
    let is_of_versions = upgrade.brought_by() == SourceKind::MIGRATION;
    match &upgrade.to {
        // Never from a source to the same.
        Some(to) if upgrade.from.as_ref() == Some(to) || is_of_inventory || is_of_versions => {
            let step = capstan_report::step_in_words(upgrade, str::to_owned);
            let step = step.trim_start_matches([':', ',']).trim_start();
            line!(text, "{BOLD}{name}{BOLD:#}  {step}{}", basis(upgrade.basis, is_of_inventory))
        }
        Some(to) => line!(text, "{BOLD}{name}{BOLD:#}  {from} -> {to}{}", basis(upgrade.basis, false)),
        None => line!(text, "{BOLD}{name}{BOLD:#}  {from}, nothing is offered"),
    }
}

/// A target whose objects keep their API versions, with the reason.
pub(super) fn unmoved(upgrade: &Upgrade) -> String {
    let mut text = String::new();
    line!(text, "{BOLD}{}{BOLD:#}  nothing to migrate", upgrade.target.path());
    for note in &upgrade.notes {
        line!(text, "  {note}");
    }
    text
}

const fn basis(basis: Basis, is_of_inventory: bool) -> &'static str {
    match (basis, is_of_inventory) {
        (Basis::Known, _) => "",
        (Basis::Inferred, false) => "  (the old release was inferred from the content)",
        (Basis::Inferred, true) => "  (the values were not recorded, and all of them are in its base)",
        (Basis::Unknown, true) => {
            "  (the old values are not recorded: missing fields are added, existing ones stay)"
        }
        (Basis::Unknown, false) => {
            "  (the old release is unknown: missing fields are added, existing ones stay)"
        }
    }
}

/// A field, or what it is about that has none.
pub(super) fn path_of(object: &ObjectId, path: &FieldPath) -> String {
    if path.is_root() { format!("({})", whole_of(object)) } else { path.to_string() }
}

fn change(text: &mut String, change: &Change) {
    let path = path_of(&change.object, &change.path);
    let from = change.from.as_ref().map(|from| format!("{from} -> ")).unwrap_or_default();
    line!(text, "    {}  {}  {from}{path}", change.place, change.object);
    if !change.path.is_root() {
        let [old, new] = sides(&change.object, &change.path, [&change.old, &change.new]);
        let (red, green) = (AnsiColor::Red.on_default(), AnsiColor::Green.on_default());
        line!(text, "      {red}{old}{red:#} -> {green}{new}{green:#}");
    } else {
        let word = if change.old.is_none() {
            "added"
        } else if change.new.is_none() {
            "removed"
        } else {
            "replaced"
        };
        line!(text, "      {word}");
    }
}

fn conflicts_heading(upgrade: &Upgrade) -> String {
    let source = upgrade.brought_by();
    match upgrade.basis {
        Basis::Known | Basis::Inferred => format!("changed by both the cluster and the {source}"),
        Basis::Unknown => format!("differs from the {source}"),
    }
}

/// The word for what brings an upgrade, and where the values of one of its conflicts stand there.
fn brought_from(upgrade: &Upgrade, conflict: usize) -> (SourceKind, String) {
    let origins = upgrade.values.as_ref().and_then(|values| values.conflict_origins.get(conflict));
    let from = match origins.map(Vec::as_slice) {
        None | Some([]) => String::new(),
        Some(origins) => format!(" ({})", capstan_report::origins_in_words(origins, ToString::to_string)),
    };
    (upgrade.brought_by(), from)
}

/// How to discard what is there, if its source is unknown.
fn overwriting(upgrade: &Upgrade) -> Option<String> {
    let stays = |conflict: &&Conflict| conflict.kept == Side::Cluster;
    let first = upgrade.conflicts.iter().find(stays).filter(|_| upgrade.basis == Basis::Unknown)?;
    Some(format!(
        "it is unknown whether these are edits, so they stay: `--overwrite={}` takes the {}'s value of one, `--overwrite` of all",
        first.path,
        upgrade.brought_by()
    ))
}

fn conflict(text: &mut String, upgrade: &Upgrade, at: usize) {
    let conflict = &upgrade.conflicts[at];
    let (source, from) = brought_from(upgrade, at);
    let path = path_of(&conflict.object, &conflict.path);
    let kept = match (conflict.blocks, conflict.kept) {
        (true, _) => "blocks until a person decides".to_owned(),
        (false, side) => taken(side, &source),
    };
    line!(text, "    {}  {}  {path}", conflict.place, conflict.object);
    if let Some(disputed) = conflict.lines_in_dispute() {
        let heads = ["was".to_owned(), "the cluster has".to_owned(), format!("the {source} has{from}")];
        for (whose, lines) in heads.into_iter().zip(disputed) {
            line!(text, "      {whose}");
            let lines = lines.as_ref().and_then(Value::as_str).unwrap_or_default();
            for line in lines.lines() {
                line!(text, "        | {line}");
            }
        }
        line!(text, "      {kept} in these lines; the others are merged");
        return;
    }
    let [base, cluster, release] = sides(&conflict.object, &conflict.path, conflict.sides());
    let was = if upgrade.basis == Basis::Unknown { String::new() } else { format!("was {base}, ") };
    line!(text, "      {was}the cluster has {cluster}, the {source} has {release}{from}: {kept}");
}

/// Whose value a conflict leaves.
fn taken(side: Side, kind: &SourceKind) -> String {
    match side {
        Side::Cluster => "the cluster's value is kept".to_owned(),
        Side::Release => format!("the {kind}'s value is taken"),
    }
}

fn provider(text: &mut String, provider: &ProviderChange) {
    let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "no known version".to_owned());
    line!(text, "    {}: {} -> {}", provider.label, version(&provider.from), version(&provider.to));
    let objects = &provider.objects;
    if provider.unknown.is_empty() {
        line!(
            text,
            "      {}, {}, {}; -o json has all of it",
            count(objects.add.len(), "object comes", "objects come"),
            count(objects.change.len(), "changes", "change"),
            count(objects.remove.len(), "goes", "go"),
        );
    }
    for why in &provider.unknown {
        line!(text, "      unknown: {why}");
    }
}

/// The heading of rollouts. What they are judged by is said once, where it is the same of all.
fn machines_head(rollouts: &[Rollout]) -> String {
    format!("machines{}", Certainty::common(rollouts).map_or("", judged_by))
}

const fn judged_by(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Exact => "",
        Certainty::Offline => " (judged from Git alone)",
        Certainty::Unknown => " (cannot be judged)",
    }
}

fn rollout(text: &mut String, rollout: &Rollout, is_judged_above: bool, turns: bool) {
    let because: Vec<String> = rollout
        .because
        .iter()
        .map(|path| if path.is_root() { "the object is removed".to_owned() } else { path.to_string() })
        .collect();
    let certainty = if is_judged_above { "" } else { judged_by(rollout.certainty) };
    let turn = rollout.course.order.filter(|_| turns).map_or_else(String::new, |order| format!("{order}. "));
    line!(
        text,
        "    {turn}{}: {}, because of {}{certainty}",
        rollout.object,
        capstan_report::becomes(rollout),
        because.join(", ")
    );
    for part in &rollout.course.parts {
        let number = |number: Option<u32>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
        line!(
            text,
            "        {}. {}: replaces {}, adds {}, removes {}",
            part.order,
            part.name,
            number(part.replaced),
            number(part.created),
            number(part.deleted)
        );
    }
    for note in &rollout.course.notes {
        line!(text, "        {note}");
    }
}

/// `error[kubernetes-minor-skip] gauss/peu01/base/a.yaml:7:3: message`
pub(super) fn finding(finding: &Finding) -> String {
    let (style, word) = match finding.severity() {
        Severity::Error => (AnsiColor::Red.on_default().bold(), "error"),
        Severity::Warning => (AnsiColor::Yellow.on_default().bold(), "warning"),
    };
    let place = finding.place.as_ref().map(|place| {
        // A finding of the repository as a whole names no file.
        if place.file().is_root() { ": ".to_owned() } else { format!("{place}: ") }
    });
    format!("{style}{word}[{}]{style:#} {}{}", finding.rule.id(), place.unwrap_or_default(), finding.message)
}

/// A value in about 60 characters, without secrets.
pub(super) fn shown(object: &ObjectId, path: &FieldPath, value: Option<&Value>) -> String {
    let [shown] = sides(object, path, [&value.cloned()]);
    shown
}

/// The sides of one value in about 60 characters each, without secrets: of long ones, where they differ.
fn sides<const N: usize>(object: &ObjectId, path: &FieldPath, values: [&Option<Value>; N]) -> [String; N] {
    let values = values.map(Option::as_ref);
    let mut shown = capstan_report::excerpts(object, path, &values, 60).into_iter();
    values.map(|_| match shown.next().flatten() {
        Some(excerpt) if excerpt.form == ExcerptForm::Text => Value::String(excerpt.text).to_string(),
        Some(excerpt) => excerpt.text,
        None => "(absent)".to_owned(),
    })
}

/// Rows under headings, columns as wide as their widest cell.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| in_one_line(cell)).collect()).collect();
    let mut widths: Vec<usize> = headings.iter().map(|heading| heading.chars().count()).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &[String]| {
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate() {
            match widths.get(column) {
                Some(&width) if column + 1 < cells.len() => {
                    let _ = write!(line, "{cell:<width$}  ");
                }
                _ => line.push_str(cell),
            }
        }
        format!("{}\n", line.trim_end())
    };
    let headings: Vec<String> = headings.iter().map(|heading| heading.to_uppercase()).collect();
    let mut text = format!("{BOLD}{}{BOLD:#}", line(&headings).trim_end());
    text.push('\n');
    rows.iter().for_each(|row| text.push_str(&line(row)));
    text
}

/// The upgrade as a pull request would show it; `title` is what the settings call it.
pub(super) fn markdown(upgrade: &Upgrade, title: Option<&TitleTemplate>) -> String {
    let Some(to) = &upgrade.to else {
        let notes: Vec<String> = upgrade.notes.iter().map(|note| prose(note, 1_000)).collect();
        let name = prose(upgrade.target.path(), 300);
        return format!("## {name}\n\nNothing is offered. {}\n\n", notes.join(" "));
    };
    let source = SourceState::new(to.clone(), upgrade.to_content.clone());
    // A link to the notes would be relative to the page of a pull request.
    let upgrade = &Upgrade { release_notes: None, ..upgrade.clone() };
    let proposal = capstan_report::Proposal {
        upgrade,
        source: &source,
        plan: &PlanDigest::of(&upgrade.files),
        origin: None,
        command_prefix: "/capstan",
        retarget: Retarget::Refused,
        decisions: &Decisions::default(),
        drafted: Drafted::No,
        reporter: None,
        sidebar: &SidebarStanding::default(),
        previous: &[],
    };
    format!(
        "## {}\n\n{}\n",
        capstan_report::proposal_title(title, upgrade, &source, Versions::Move),
        capstan_report::visible_text(&proposal)
    )
}

/// A cluster that cannot be planned.
pub(super) fn refused(cluster: &ClusterId, refused: &Refused) -> String {
    let red = AnsiColor::Red.on_default().bold();
    let mut text = String::new();
    line!(text, "{BOLD}{cluster}{BOLD:#}  {red}cannot be planned{red:#}");
    line!(text, "    {refused}");
    text
}

/// The same in Markdown.
pub(super) fn refused_in_markdown(cluster: &ClusterId, refused: &Refused) -> String {
    format!(
        "## {}\n\nCannot be planned: {}\n\n",
        prose(cluster.as_str(), 300),
        prose(&refused.to_string(), 1_000)
    )
}

/// The same on standard error.
pub(super) fn complain(cluster: &ClusterId, refused: &Refused) {
    let red = AnsiColor::Red.on_default().bold();
    say!("{red}error{red:#}: {cluster} cannot be planned: {refused}");
}

/// What is printed besides the diff of an upgrade, on standard error.
pub(super) fn remark(upgrade: &Upgrade, written: bool) {
    let name = upgrade.target.path();
    let red = AnsiColor::Red.on_default().bold();
    let mut others = upgrade.reasons_beside_findings().peekable();
    if others.peek().is_none() && !upgrade.blocked.is_empty() {
        say!("{red}blocked{red:#}: {name}: nothing is written; the findings say why");
    }
    for reason in others {
        say!("{red}blocked{red:#}: {name}: {reason}");
    }
    for note in &upgrade.notes {
        say!("{name}: {note}");
    }
    for item in &upgrade.findings {
        say!("{}", finding(item));
    }
    for (at, item) in upgrade.conflicts.iter().enumerate().filter(|(_, item)| !item.blocks) {
        let (source, from) = brought_from(upgrade, at);
        let kept = taken(item.kept, &source);
        let path = path_of(&item.object, &item.path);
        let values = match upgrade.basis {
            Basis::Unknown => {
                let [own, new] = sides(&item.object, &item.path, [&item.cluster, &item.release]);
                format!("the cluster has {own}, the {source} {new}{from}: ")
            }
            Basis::Known | Basis::Inferred if !from.is_empty() => {
                format!("the {source} has another value{from}: ")
            }
            Basis::Known | Basis::Inferred => String::new(),
        };
        say!("conflict: {}: {} {path}: {values}{kept}", item.place, item.object);
    }
    if let Some(hint) = overwriting(upgrade) {
        say!("{name}: {hint}");
    }
    if upgrade.files.is_empty() && upgrade.blocked.is_empty() {
        // A note says already why nothing is offered.
        if upgrade.to.is_some() || upgrade.notes.is_empty() {
            say!("{name}: nothing to change");
        }
    } else if written && upgrade.blocked.is_empty() {
        say!("{name}: {} written", count(upgrade.files.len(), "file", "files"));
    }
}
