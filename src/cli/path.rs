//! `capstan plan --path`: every step of a cluster's way, with its reason.

use std::fmt::Write as _;

use capstan_model::ids::{ClusterId, ReleaseId, ReleaseName};
use capstan_plan::path::{PathStep, UpgradePath, path_to_json};
use capstan_report::Refusal;
use capstan_report::markdown::{code, prose, prose_cell};
use clap::builder::styling::{AnsiColor, Style};
use serde_json::Value;

use super::harmless::line;
use super::refusal::refusal;
use super::{CommandFailure, CommandOutcome, PlanFormat, output, text};
use capstan_fleet::generator::{Fleet, Refused, upgrade_path};

const BOLD: Style = Style::new().bold();

type PlannedPath = Result<UpgradePath, Refused>;

pub(super) fn run(
    fleet: &Fleet,
    clusters: &[ClusterId],
    target: Option<&ReleaseName>,
    format: PlanFormat,
) -> Result<CommandOutcome, CommandFailure> {
    if format == PlanFormat::Diff {
        return Err(CommandFailure::Usage(
            Refusal::Usage,
            "`plan --path` prints text, json, yaml or markdown: a path is not a diff".to_owned(),
        ));
    }
    let ways: Vec<(&ClusterId, PlannedPath)> =
        clusters.iter().map(|cluster| (cluster, upgrade_path(fleet, cluster, target))).collect();
    let each = |say: &dyn Fn(&ClusterId, &PlannedPath) -> String| {
        ways.iter().try_for_each(|(cluster, planned)| output::print_text(&say(cluster, planned)))
    };
    match format {
        PlanFormat::Json => output::print_json(&elements(&ways))?,
        PlanFormat::Yaml => output::print_yaml(&elements(&ways))?,
        PlanFormat::Markdown => each(&|cluster, planned| match planned {
            Ok(path) => markdown(path),
            Err(refused) => text::refused_in_markdown(cluster, refused),
        })?,
        PlanFormat::Text | PlanFormat::Diff => each(&|cluster, planned| match planned {
            Ok(path) => in_words(path),
            Err(refused) => text::refused(cluster, refused),
        })?,
    }
    let is_whole = ways.iter().all(|(_, planned)| planned.is_ok());
    Ok(if is_whole { CommandOutcome::Done } else { CommandOutcome::PartlyFailed })
}

fn elements(ways: &[(&ClusterId, PlannedPath)]) -> Value {
    let element = |(cluster, planned): &(&ClusterId, PlannedPath)| match planned {
        Ok(path) => path_to_json(path),
        Err(refused) => refusal(cluster, refused),
    };
    ways.iter().map(element).collect()
}

fn in_words(path: &UpgradePath) -> String {
    let mut text = String::new();
    let kubernetes = path.kubernetes.as_ref().map(|version| format!("Kubernetes {version}"));
    let facts: Vec<String> = kubernetes.into_iter().chain(path.date.map(|date| date.to_string())).collect();
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
    line!(text, "{BOLD}{}{BOLD:#}  {}{facts}", path.cluster, name(path.from.as_ref()));
    for note in &path.notes {
        line!(text, "  {note}");
    }
    let yellow = AnsiColor::Yellow.on_default().bold();
    if let Some(held) = &path.held {
        line!(text, "  {yellow}held{yellow:#}: {held}");
    }
    for (index, step) in path.steps.iter().enumerate() {
        let from = name(step.from.as_ref());
        let to = match &step.from {
            Some(from) if *from == step.to => format!("{} as it is now", step.to),
            _ => format!("{from} -> {}", step.to),
        };
        line!(text, "  {}. {to}{}", index + 1, between(step));
        line!(text, "     {}", step.why);
        for warning in &step.warnings {
            line!(text, "     {yellow}warning{yellow:#}: {warning}");
        }
    }
    line!(text, "  {}", path.end);
    text
}

/// `, Kubernetes 1.33.6 -> 1.34.3, 2026-06-02 -> 2026-01-23`
fn between(step: &PathStep) -> String {
    let mut text = String::new();
    for (word, change) in [("Kubernetes ", kubernetes(step)), ("", dates(step))] {
        if let Some(change) = change {
            let _ = write!(text, ", {word}{change}");
        }
    }
    text
}

fn kubernetes(step: &PathStep) -> Option<String> {
    change(step.kubernetes.0.as_ref().map(|version| version.as_str()), step.kubernetes.1.as_ref()?.as_str())
}

fn dates(step: &PathStep) -> Option<String> {
    change(step.dates.0.map(|date| date.to_string()).as_deref(), &step.dates.1?.to_string())
}

fn change(old: Option<&str>, new: &str) -> Option<String> {
    Some(match old {
        Some(old) if old == new => new.to_owned(),
        Some(old) => format!("{old} -> {new}"),
        None => format!("? -> {new}"),
    })
}

fn name(release: Option<&ReleaseId>) -> String {
    release.map_or_else(|| "(unknown release)".to_owned(), ToString::to_string)
}

fn markdown(path: &UpgradePath) -> String {
    let mut text = format!("## The path of {}\n\n", code(path.cluster.as_str(), 200));
    if let Some(held) = &path.held {
        let _ = writeln!(text, "> {}\n", prose(held, 600));
    }
    for note in &path.notes {
        let _ = writeln!(text, "> {}\n", prose(note, 600));
    }
    if !path.steps.is_empty() {
        text.push_str("| | From | To | Kubernetes | Published | Why, and what is wrong with it |\n|---|---|---|---|---|---|\n");
    }
    for (index, step) in path.steps.iter().enumerate() {
        let mut reasons = vec![prose_cell(&step.why, 600)];
        reasons
            .extend(step.warnings.iter().map(|warning| format!("**Warning**: {}", prose_cell(warning, 600))));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            index + 1,
            prose_cell(&name(step.from.as_ref()), 200),
            prose_cell(step.to.as_str(), 200),
            prose_cell(&kubernetes(step).unwrap_or_default(), 100),
            dates(step).unwrap_or_default(),
            reasons.join("<br>"),
        );
    }
    let _ = writeln!(text, "\n{}\n", prose(&path.end, 600));
    text
}
