//! `capstan releases`

use capstan_plan::release::Release;
use serde_json::{Value, json};

use super::arguments::List;
use super::context::Context;
use super::progress::say;
use super::{CommandFailure, CommandOutcome, Format, output, text};

pub(super) fn run(context: &Context<'_>, command: &List) -> Result<CommandOutcome, CommandFailure> {
    let fleet = context.fleet_with_releases(context.workspace()?.as_ref())?;
    let releases = fleet.catalogue().releases();
    match command.output {
        Format::Text => {
            let rows: Vec<Vec<String>> = releases.iter().map(row).collect();
            output::print_text(&text::table(&["release", "state", "kubernetes", "date", "folder"], &rows))?;
        }
        Format::Json => output::print_json(&releases.iter().map(to_json).collect())?,
        Format::Yaml => output::print_yaml(&releases.iter().map(to_json).collect())?,
    }
    for (id, error) in fleet.catalogue().unreadable() {
        say!("error: the release {id} cannot be read and is not offered: {error}");
    }
    Ok(if fleet.catalogue().unreadable().is_empty() {
        CommandOutcome::Done
    } else {
        CommandOutcome::PartlyFailed
    })
}

fn row(release: &Release) -> Vec<String> {
    vec![
        release.id.to_string(),
        release.state.to_string(),
        release.kubernetes.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
        release.date.clone().unwrap_or_else(|| "-".to_owned()),
        release.folder.to_string(),
    ]
}

fn to_json(release: &Release) -> Value {
    json!({
        "release": release.id,
        "folder": release.folder,
        "tree": release.content.as_ref().map(|content| &content.tree),
        "state": release.state,
        "kubernetes": release.kubernetes.as_ref().map(ToString::to_string),
        "date": release.date,
        "components": release.components.iter().map(|component| json!({
            "name": component.name, "version": component.version.as_str(),
        })).collect::<Vec<_>>(),
        "apps": release.apps.iter().map(|app| json!({
            "name": app.name, "version": app.version.as_str(),
        })).collect::<Vec<_>>(),
    })
}
