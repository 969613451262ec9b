//! `capstan clusters`

use std::convert::Infallible;

use capstan_model::target::TargetKind;
use serde_json::{Value, json};

use super::arguments::List;
use super::context::Context;
use super::{CommandFailure, CommandOutcome, Format, output, progress, refusal, text};
use capstan_fleet::generator::{Refused, Summary, plan_each, summary};

pub(super) fn run(context: &Context<'_>, command: &List) -> Result<CommandOutcome, CommandFailure> {
    let workspace = context.workspace()?;
    let mut fleet = context.fleet_with_releases(workspace.as_ref())?;
    let ids = context.clusters(workspace.as_ref(), &fleet, &[])?;
    // A blocked upgrade is not offered, and only a plan shows that; a release that only history has is a
    // known one.
    context.find_old_releases(workspace.as_ref(), &mut fleet, &ids);
    let mut summaries: Vec<(String, Result<Summary, Refused>)> = Vec::with_capacity(ids.len());
    progress::count_clusters(ids.len());
    let Ok(()) = plan_each(
        &fleet,
        &ids,
        None,
        |id, planned| (id.to_string(), summary(&fleet, id, &planned.map(|planned| planned.upgrade))),
        |one| {
            progress::cluster_done();
            summaries.push(one);
            Ok::<(), Infallible>(())
        },
    );
    match command.output {
        Format::Text => {
            let rows: Vec<Vec<String>> = summaries.iter().map(row).collect();
            output::print_text(&text::table(&["cluster", "release", "offered", "remark"], &rows))?;
        }
        Format::Json => output::print_json(&summaries.iter().map(to_json).collect())?,
        Format::Yaml => output::print_yaml(&summaries.iter().map(to_json).collect())?,
    }
    let failed = summaries.iter().any(|(_, summary)| !matches!(summary, Ok(one) if !one.failed));
    Ok(if failed { CommandOutcome::PartlyFailed } else { CommandOutcome::Done })
}

fn row((id, summary): &(String, Result<Summary, Refused>)) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    match summary {
        Ok(summary) => vec![
            id.clone(),
            summary.current.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string),
            or_dash(summary.offered.as_ref().map(ToString::to_string)),
            match summary.kind {
                TargetKind::Cluster => summary.notes.join(" "),
                TargetKind::Providers => {
                    let says =
                        std::iter::once("A provider set.").chain(summary.notes.iter().map(String::as_str));
                    says.collect::<Vec<_>>().join(" ")
                }
            },
        ],
        Err(refused) => {
            vec![id.clone(), "-".to_owned(), "-".to_owned(), format!("cannot be read: {refused}")]
        }
    }
}

fn to_json((id, summary): &(String, Result<Summary, Refused>)) -> Value {
    match summary {
        Ok(summary) => json!({
            "cluster": id,
            "kind": summary.kind,
            "release": summary.current,
            "offered": summary.offered,
            "blocked": summary.blocked,
            "notes": summary.notes,
        }),
        Err(refused) => json!({
            "cluster": id,
            "error": refusal::error(refused),
        }),
    }
}
