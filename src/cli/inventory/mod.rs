//! `capstan inventory list|values|explain|uses|render|diff|import|bootstrap`

mod bootstrap;
mod diff;
mod explain;
mod import;
mod opened;
mod printed;
mod render;

use capstan_inventory::survey::Survey;
use capstan_inventory::values::Member;
use capstan_model::finding::Severity;
use serde_json::{Value, json};

use super::arguments::{Inventory, InventoryCommand};
use super::context::Context;
use super::{CommandFailure, CommandOutcome, Format, output, text};

pub(super) use self::opened::settings_of;
use self::opened::{OpenedInventory, named, open_in};
use self::printed::{complain, explained, in_words, print_value};

pub(super) fn run(context: &Context<'_>, command: &Inventory) -> Result<CommandOutcome, CommandFailure> {
    match &command.command {
        InventoryCommand::List { output } => opened(context, |opened| list(opened.survey, *output)),
        InventoryCommand::Values { cluster, origins, output } => {
            opened(context, |opened| values(opened, cluster, *origins, *output))
        }
        InventoryCommand::Explain(command) => opened(context, |opened| explain::explain_one(opened, command)),
        InventoryCommand::Uses(command) => {
            opened(context, |opened| explain::print_uses(opened.survey, command))
        }
        InventoryCommand::Render(command) => opened(context, |opened| render::run(opened, command)),
        InventoryCommand::Diff(command) => diff::run(context, command),
        InventoryCommand::Import(command) => import::run(command),
        InventoryCommand::Bootstrap { name } => opened(context, |opened| bootstrap::run(opened, name)),
    }
}

fn opened(
    context: &Context<'_>,
    run: impl FnOnce(OpenedInventory<'_>) -> Result<CommandOutcome, CommandFailure>,
) -> Result<CommandOutcome, CommandFailure> {
    let workspace = context.workspace()?;
    let fleet = context.fleet_of(workspace.as_ref())?;
    run(OpenedInventory { workspace: workspace.as_ref(), fleet: &fleet, survey: &open_in(&fleet)? })
}

fn list(survey: &Survey, format: Format) -> Result<CommandOutcome, CommandFailure> {
    let mut rows = Vec::new();
    let mut failed = false;
    for definition in survey.inventory.clusters() {
        let name = definition.level.name.as_str();
        rows.push(match Member::of(&survey.inventory, definition) {
            Ok(member) => {
                let levels: Vec<String> =
                    member.levels.iter().map(|(level, name)| format!("{} {name}", level.word())).collect();
                let values = survey.values(&member);
                let mut findings = values.findings.clone();
                findings.extend(survey.render(&member, &values).err().unwrap_or_default());
                let error = findings.iter().find(|finding| finding.severity() == Severity::Error);
                let folder = survey.folder(&member);
                failed |= error.is_some() || folder.is_err();
                let wrong = error.map(in_words).or_else(|| folder.as_ref().err().map(ToString::to_string));
                let state = match (wrong, definition.retire) {
                    (Some(wrong), _) => wrong,
                    (None, Some(_)) => "retire".to_owned(),
                    (None, None) => "ready".to_owned(),
                };
                let levels_json: serde_json::Map<String, Value> = member
                    .levels
                    .iter()
                    .map(|(level, name)| (level.word().to_owned(), json!(name)))
                    .collect();
                let release = survey.release(&member).map(|release| release.to_string());
                let folder = folder.ok().map(|folder| folder.to_string());
                let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
                let row = vec![
                    name.to_owned(),
                    levels.join(", "),
                    or_dash(&release),
                    or_dash(&folder),
                    state.clone(),
                ];
                let json = json!({
                    "name": name, "kind": definition.level.kind.kind(), "levels": levels_json,
                    "release": release, "folder": folder, "state": state,
                });
                (row, json)
            }
            Err(findings) => {
                failed = true;
                let state = findings.first().map(in_words).unwrap_or_default();
                let row =
                    vec![name.to_owned(), "-".to_owned(), "-".to_owned(), "-".to_owned(), state.clone()];
                (row, json!({"name": name, "kind": definition.level.kind.kind(), "state": state}))
            }
        });
    }
    let all: Vec<Value> = rows.iter().map(|(_, json)| json.clone()).collect();
    match format {
        Format::Text => {
            let rows: Vec<Vec<String>> = rows.into_iter().map(|(row, _)| row).collect();
            output::print_text(&text::table(&["definition", "levels", "release", "folder", "state"], &rows))?;
        }
        Format::Json => output::print_json(&Value::Array(all))?,
        Format::Yaml => output::print_yaml(&Value::Array(all))?,
    }
    Ok(if failed { CommandOutcome::PartlyFailed } else { CommandOutcome::Done })
}

fn values(
    opened: OpenedInventory<'_>,
    typed: &str,
    origins: bool,
    format: Format,
) -> Result<CommandOutcome, CommandFailure> {
    let survey = opened.survey;
    let (member, values) = named(opened, typed)?;
    match (origins, format) {
        (true, Format::Text) => {
            let all = capstan_inventory::trace::explain(&member, &values, &Default::default());
            for one in all.unwrap_or_default() {
                let value = one.value.map_or_else(|| "absent".to_owned(), |value| value.to_string());
                output::print_line(&format!("{} = {value}  # {}", one.path, one.origin))?;
            }
        }
        (true, Format::Json | Format::Yaml) => {
            let all = capstan_inventory::trace::explain(&member, &values, &Default::default());
            let all = all
                .unwrap_or_default()
                .iter()
                .map(|one| explained(survey, &member, one, Vec::new()))
                .collect();
            print_value(&Value::Array(all), format)?;
        }
        (false, Format::Json) => output::print_json(&values.value())?,
        (false, Format::Yaml | Format::Text) => output::print_yaml(&values.value())?,
    }
    Ok(complain(&values))
}
