//! How values, their origins and what is wrong with them are printed.

use capstan_inventory::origin::{InventoryOrigin, LevelKind};
use capstan_inventory::survey::Survey;
use capstan_inventory::trace::Explained;
use capstan_inventory::values::{ClusterValues, Member};
use capstan_model::finding::{Finding, Place, Severity};
use capstan_model::tree::RepoPath;
use capstan_model::wording::in_one_line;
use serde_json::{Value, json};

use super::super::{CommandFailure, CommandOutcome, Format, output};
use crate::cli::progress::say;

pub(super) fn in_words(finding: &Finding) -> String {
    let word = if finding.severity() == Severity::Error { "error" } else { "warning" };
    let place = finding.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
    in_one_line(&format!("{place}{word}: {} [{}]", finding.message, finding.rule.id()))
}

/// Prints what is wrong with values to standard error.
pub(super) fn complain(values: &ClusterValues) -> CommandOutcome {
    for finding in &values.findings {
        say!("{}", in_words(finding));
    }
    let errors = values.findings.iter().any(|finding| finding.severity() == Severity::Error);
    if errors { CommandOutcome::ErrorsStand } else { CommandOutcome::Done }
}

pub(super) fn print_value(value: &Value, format: Format) -> Result<(), CommandFailure> {
    if format == Format::Json { output::print_json(value) } else { output::print_yaml(value) }
}

/// The folder of a cluster, or its name where it has none.
pub(super) fn id(survey: &Survey, member: &Member<'_>) -> String {
    survey.folder(member).map_or_else(|_| member.name().to_owned(), |folder: RepoPath| folder.to_string())
}

pub(super) fn place(place: &Place) -> Value {
    json!({"file": place.file(), "line": place.line(), "column": place.column()})
}

pub(super) fn origin(origin: &InventoryOrigin) -> Value {
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
pub(super) fn explained(survey: &Survey, member: &Member<'_>, one: &Explained, uses: Vec<Value>) -> Value {
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
