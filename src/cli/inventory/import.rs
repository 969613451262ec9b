//! A file of clusterctl's variables as values of an inventory.

use std::fs;

use capstan_inventory::import::import;
use capstan_model::tree::RepoPath;
use capstan_report::Refusal;
use serde_json::Value;

use super::super::arguments::InventoryImport;
use super::super::{CommandFailure, CommandOutcome, Format};
use super::printed::print_value;
use crate::cli::progress::say;

pub(super) fn run(command: &InventoryImport) -> Result<CommandOutcome, CommandFailure> {
    let typed = command.file.display();
    let failed = |message: String| CommandFailure::Failed(Refusal::Unreadable, message);
    let bytes =
        fs::read(&command.file).map_err(|error| failed(format!("{typed} cannot be read: {error}")))?;
    // Places name the file as it was typed, wherever it is.
    let name = command.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let path = RepoPath::parse(&name).unwrap_or_default();
    let imported = import(&path, &bytes).map_err(|error| failed(error.to_string()))?;
    for (place, note) in &imported.notes {
        say!("{place}: warning: {note}");
    }
    let values = Value::Object(imported.values);
    match command.output {
        Format::Text => print_value(&values, Format::Yaml)?,
        Format::Json | Format::Yaml => print_value(&values, command.output)?,
    }
    Ok(CommandOutcome::Done)
}
