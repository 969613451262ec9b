//! `capstan inventory list|values|explain|uses|render|diff|import|bootstrap`

mod bootstrap;
mod diff;
mod explain;
mod import;
mod render;

use capstan_inventory::origin::{InventoryOrigin, LevelKind};
use capstan_inventory::survey::Survey;
use capstan_inventory::trace::Explained;
use capstan_inventory::values::{ClusterValues, Member};
use capstan_model::finding::{Finding, Place, Severity};
use capstan_model::ids::ClusterId;
use capstan_model::spelling::{hint, suggestion};
use capstan_model::tree::RepoPath;
use capstan_model::wording::in_one_line;
use capstan_plan::settings::InventorySettings;
use capstan_report::Refusal;
use serde_json::{Value, json};

use super::arguments::{Inventory, InventoryCommand};
use super::{CommandFailure, CommandOutcome, Context, Format, output, text, typed};
use crate::cli::progress::say;
use capstan_fleet::generator::Fleet;
use capstan_fleet::inventory;
use capstan_ports::Workspace;

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

/// An inventory, and the checkout that it is in.
#[derive(Clone, Copy)]
struct OpenedInventory<'a> {
    workspace: &'a dyn Workspace,
    fleet: &'a Fleet,
    survey: &'a Survey,
}

fn opened(
    context: &Context<'_>,
    run: impl FnOnce(OpenedInventory<'_>) -> Result<CommandOutcome, CommandFailure>,
) -> Result<CommandOutcome, CommandFailure> {
    let workspace = context.workspace()?;
    let fleet = context.fleet_of(workspace.as_ref())?;
    run(OpenedInventory { workspace: workspace.as_ref(), fleet: &fleet, survey: &open_in(&fleet)? })
}

/// What `.capstan.yaml` of a snapshot says of its inventory, which there must be.
pub(super) fn settings_of(fleet: &Fleet) -> Result<&InventorySettings, CommandFailure> {
    fleet.settings().inventory.as_ref().ok_or_else(|| {
        CommandFailure::Usage(
            Refusal::Settings,
            "there is no inventory here: `.capstan.yaml` names its folder, `inventory: {path: inventory}`"
                .to_owned(),
        )
    })
}

/// The inventory that `.capstan.yaml` of a snapshot names.
fn open_in(fleet: &Fleet) -> Result<Survey, CommandFailure> {
    let settings = settings_of(fleet)?;
    let survey = inventory::survey(fleet, settings);
    for finding in &survey.inventory.findings {
        say!("{}", in_words(finding));
    }
    match &survey.inventory.unreadable {
        Some(place) => Err(CommandFailure::Failed(
            Refusal::Unreadable,
            format!("part of the inventory cannot be read, so its values are unknown: see {place}"),
        )),
        None => Ok(survey),
    }
}

/// The definition that was typed, by its name or its folder, with its values.
fn named<'s>(
    opened: OpenedInventory<'s>,
    typed: &str,
) -> Result<(Member<'s>, ClusterValues), CommandFailure> {
    let survey = opened.survey;
    let member = match survey.member(typed) {
        Some(member) => member.map_err(|findings| refused(&findings))?,
        None => {
            let (folders, members): (Vec<ClusterId>, Vec<Member<'_>>) =
                in_folders(survey).into_iter().unzip();
            let meant = typed::only(in_folder(opened, &folders, typed)?, typed)?;
            let found = folders.iter().zip(members).find(|(folder, _)| **folder == meant);
            found.map(|(_, member)| member).ok_or_else(|| undefined(survey, &folders, typed))?
        }
    };
    let values = survey.values(&member);
    Ok((member, values))
}

/// The definitions that have a folder, with it.
fn in_folders(survey: &Survey) -> Vec<(ClusterId, Member<'_>)> {
    let members =
        survey.inventory.clusters().filter_map(|cluster| Member::of(&survey.inventory, cluster).ok());
    members.filter_map(|member| Some((ClusterId::new(survey.folder(&member).ok()?), member))).collect()
}

/// The folders of definitions that a path means, of which there is one at least.
fn in_folder(
    opened: OpenedInventory<'_>,
    folders: &[ClusterId],
    typed: &str,
) -> Result<Vec<ClusterId>, CommandFailure> {
    let known: Vec<&ClusterId> = folders.iter().collect();
    let meant = typed::matching(opened.workspace, opened.fleet.tree().as_ref(), &known, typed)?;
    if meant.is_empty() { Err(undefined(opened.survey, folders, typed)) } else { Ok(meant) }
}

/// What the inventory does not define, and which cluster may have been meant, by its name or its folder.
fn undefined(survey: &Survey, folders: &[ClusterId], typed: &str) -> CommandFailure {
    let names: Vec<&str> = survey.inventory.clusters().map(|cluster| cluster.level.name.as_str()).collect();
    let by_folder = suggestion(typed.trim_end_matches('/'), folders.iter().map(ClusterId::as_str));
    let meant = match suggestion(typed, names.iter().copied()) {
        none if none.is_empty() && !by_folder.is_empty() => by_folder,
        _ => hint(typed, &names),
    };
    CommandFailure::Usage(Refusal::NotFound, format!("the inventory defines no cluster `{typed}`{meant}"))
}

/// Says why a cluster has no values.
fn refused(findings: &[Finding]) -> CommandFailure {
    let lines: Vec<String> = findings.iter().map(in_words).collect();
    CommandFailure::Failed(Refusal::Unreadable, format!("this cluster is refused:\n{}", lines.join("\n")))
}

fn in_words(finding: &Finding) -> String {
    let word = if finding.severity() == Severity::Error { "error" } else { "warning" };
    let place = finding.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
    in_one_line(&format!("{place}{word}: {} [{}]", finding.message, finding.rule.id()))
}

/// Prints what is wrong with values to standard error.
fn complain(values: &ClusterValues) -> CommandOutcome {
    for finding in &values.findings {
        say!("{}", in_words(finding));
    }
    let errors = values.findings.iter().any(|finding| finding.severity() == Severity::Error);
    if errors { CommandOutcome::ErrorsStand } else { CommandOutcome::Done }
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

fn print_value(value: &Value, format: Format) -> Result<(), CommandFailure> {
    if format == Format::Json { output::print_json(value) } else { output::print_yaml(value) }
}

/// The folder of a cluster, or its name where it has none.
fn id(survey: &Survey, member: &Member<'_>) -> String {
    survey.folder(member).map_or_else(|_| member.name().to_owned(), |folder: RepoPath| folder.to_string())
}

fn place(place: &Place) -> Value {
    json!({"file": place.file(), "line": place.line(), "column": place.column()})
}

fn origin(origin: &InventoryOrigin) -> Value {
    let at = origin.place();
    let mut element = json!({"level": origin.level.kind.kind()});
    if let Some(element) = element.as_object_mut() {
        if origin.level.kind != LevelKind::Default {
            element.insert("name".to_owned(), json!(origin.level.name));
        }
        if let Value::Object(at) = place(&at) {
            element.extend(at);
        }
    }
    element
}

/// One value, as `explain -o json` prints it.
fn explained(survey: &Survey, member: &Member<'_>, one: &Explained, uses: Vec<Value>) -> Value {
    let overrides: Vec<Value> = one
        .overrides
        .iter()
        .map(|over| {
            let mut element = origin(&over.origin);
            if let Some(element) = element.as_object_mut() {
                element.insert("value".to_owned(), over.value.clone());
            }
            element
        })
        .collect();
    json!({
        "cluster": id(survey, member),
        "path": one.path,
        "value": one.value,
        "origin": origin(&one.origin),
        "overrides": overrides,
        "final": one.is_final.is_some(),
        "uses": uses,
    })
}
