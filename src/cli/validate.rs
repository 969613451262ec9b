//! `capstan validate [PATH…] [--from REV]`

use std::sync::Arc;

use capstan_model::finding::{Finding, Severity, rules};
use capstan_model::tree::{RepoPath, Tree};
use capstan_model::wording::{count, in_one_line};
use capstan_plan::boundary::Neighbours;
use capstan_plan::cluster::Cluster;
use capstan_plan::policy::{self, Snapshot, ValidationScope};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::{layout, upgrade};
use capstan_report::{sarif, workflow_command};
use serde_json::Value;

use super::arguments::{FindingsFormat, Validate};
use super::context::Context;
use super::context::today;
use super::progress::say;
use super::typed::file_or_folder;
use super::{CommandFailure, CommandOutcome, output, text};
use capstan_fleet::generator::Fleet;
use capstan_fleet::inventory::{self, Difference};

pub(super) fn run(context: &Context<'_>, command: &Validate) -> Result<CommandOutcome, CommandFailure> {
    let workspace = context.workspace()?;
    let now = context.tree(workspace.as_ref(), context.arguments.at.as_deref())?;
    let before = match &command.from {
        Some(revision) => Some(workspace.commit(revision)?),
        None => None,
    };
    let trees: Vec<&dyn Tree> =
        [Some(&now), before.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
    let asked = command
        .paths
        .iter()
        .map(|typed| file_or_folder(workspace.as_ref(), &trees, typed))
        .collect::<Result<Vec<_>, CommandFailure>>()?;
    let mut checked = check(&now, before.as_ref());
    for finding in checked.findings.iter_mut().filter(|finding| finding.rule == rules::VALUES_EDITED) {
        let Some(path) = finding.file().cloned() else { continue };
        if let Some(commit) = workspace.last_fitting(&path, &|bytes| inventory::fits(&path, bytes)) {
            finding.message = format!("{}. {}", finding.message, inventory::restored_by(&path, &commit));
        }
    }
    let findings: Vec<&Finding> =
        checked.findings.iter().filter(|finding| concerns(finding, &asked)).collect();
    print(command.output, &findings, &below(&asked), &checked.examined)?;
    Ok(if findings.iter().any(|finding| finding.severity() == Severity::Error) {
        CommandOutcome::ErrorsStand
    } else {
        CommandOutcome::Done
    })
}

struct ValidatedTree {
    findings: Vec<Finding>,
    /// What was judged, in words.
    examined: String,
}

fn check(now: &Arc<dyn Tree>, before: Option<&Arc<dyn Tree>>) -> ValidatedTree {
    let fleet = match Fleet::open(Arc::clone(now), today()) {
        Ok(fleet) => fleet,
        // Under settings that nobody meant, everything else would be judged wrongly.
        Err(error) => {
            let others = settings_of_targets(now.as_ref());
            return ValidatedTree {
                findings: error.findings().chain(others).collect(),
                examined: format!("nothing but settings; correct {} first", error.place.file()),
            };
        }
    };
    let settings = fleet.settings();
    let mut reach = None;
    let before = before.map(|tree| {
        let before = Fleet::open(Arc::clone(tree), today());
        if let (Ok(before), Some(inventory)) = (&before, &settings.inventory) {
            reach = Difference::between(before, &fleet).beyond(inventory);
        }
        let layout =
            before.map_or_else(|_| layout::discover(tree.as_ref(), settings), |fleet| fleet.layout().clone());
        (tree, layout)
    });
    let neighbours = Neighbours::read(now.as_ref(), fleet.layout(), settings, &mut |_, read| read());
    let mut findings = policy::validate(
        Snapshot {
            tree: now.as_ref(),
            layout: fleet.layout(),
            schemas: fleet.schemas(),
            cluster_api: fleet.cluster_api(),
            flux: Some(fleet.flux_index()),
            neighbours: Some(&neighbours),
            supplies: None,
        },
        before.as_ref().map(|(tree, layout)| Snapshot {
            tree: tree.as_ref(),
            layout,
            schemas: fleet.schemas(),
            cluster_api: fleet.cluster_api(),
            flux: None,
            neighbours: None,
            supplies: None,
        }),
        settings,
        ValidationScope::Everything,
        today(),
    );
    findings.extend(settings.severities().settle(reach.into_iter().collect()));
    let (clusters, releases) = (fleet.layout().clusters().count(), fleet.layout().releases.len());
    let sets = match fleet.layout().targets.len() - clusters {
        0 => String::new(),
        sets => format!("{}, ", count(sets, "provider set", "provider sets")),
    };
    let (clusters, releases) =
        (count(clusters, "cluster", "clusters"), count(releases, "release", "releases"));
    let examined = format!("{clusters}, {sets}{releases}");
    ValidatedTree { findings, examined }
}

/// What is wrong in the settings of clusters, where those of the repository cannot be read: clusters are found by shape.
fn settings_of_targets(tree: &dyn Tree) -> Vec<Finding> {
    let found = layout::discover(tree, &RepositorySettings::default());
    let errors = found.targets.iter().flat_map(|folder| {
        let own = Cluster::settings_of(tree, folder).err();
        own.into_iter().chain(Cluster::overlay_settings_of(tree, folder).err())
    });
    errors.flat_map(|error| error.findings().collect::<Vec<_>>()).collect()
}

fn concerns(finding: &Finding, asked: &[RepoPath]) -> bool {
    asked.is_empty()
        || finding
            .file()
            .is_some_and(|file| asked.iter().any(|path| path.is_root() || file == path || file.is_in(path)))
}

/// What was reported on, where that is less than what was judged.
fn below(asked: &[RepoPath]) -> String {
    match asked {
        [] => String::new(),
        all if all.iter().any(RepoPath::is_root) => String::new(),
        [one] => format!(" in {one}"),
        several => format!(" in {}", count(several.len(), "path", "paths")),
    }
}

fn print(
    format: FindingsFormat,
    findings: &[&Finding],
    below: &str,
    examined: &str,
) -> Result<(), CommandFailure> {
    let value = || -> Value { findings.iter().map(|finding| upgrade::finding_to_json(finding)).collect() };
    let errors = findings.iter().filter(|finding| finding.severity() == Severity::Error).count();
    let warnings = findings.len() - errors;
    let (errors, warnings) = (count(errors, "error", "errors"), count(warnings, "warning", "warnings"));
    let summary = format!("{errors}, {warnings}{below}; checked {examined}");
    match format {
        FindingsFormat::Json => output::print_json(&value()),
        FindingsFormat::Yaml => output::print_yaml(&value()),
        FindingsFormat::Sarif => output::print_json(&sarif(findings, env!("CARGO_PKG_VERSION"))),
        FindingsFormat::Github => {
            for finding in findings {
                output::print(&format!("{}\n", in_one_line(&workflow_command(finding))))?;
            }
            // Standard output holds commands alone.
            say!("{summary}");
            Ok(())
        }
        FindingsFormat::Text => {
            for finding in findings {
                output::print_line(&text::finding(finding))?;
            }
            output::print_line(&summary)?;
            if findings.is_empty() {
                Ok(())
            } else {
                output::print("`capstan rules RULE` says what a rule means\n")
            }
        }
    }
}
