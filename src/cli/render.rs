//! `capstan render CLUSTER [--names FILE]`

use std::fs;
use std::path::Path;

use capstan_model::finding::Severity;
use capstan_model::ids::ClusterId;
use capstan_plan::policy::{self, AppliedBy};
use capstan_plan::templates::TemplateNames;
use capstan_report::Refusal;
use serde_json::Value;

use super::arguments::Render;
use super::context::Context;
use super::progress::say;
use super::{CommandFailure, CommandOutcome, output, text};
use capstan_fleet::generator::{Fleet, name_templates};

pub(super) fn run(context: &Context<'_>, command: &Render) -> Result<CommandOutcome, CommandFailure> {
    let workspace = context.workspace()?;
    let fleet = context.fleet_of(workspace.as_ref())?;
    let cluster = context.cluster(workspace.as_ref(), &fleet, &command.cluster)?;
    let names = names(&fleet, &cluster, command.names.as_deref())?;
    let mut rendered = fleet
        .render(&cluster)
        .map_err(|error| CommandFailure::Failed(Refusal::NotRendered, error.to_string()))?;
    // Patches that were left out because they find no target: what is printed lacks what they set.
    let lost = policy::lost_patches(&rendered, &fleet.settings().severities());
    name_templates(&fleet, &cluster, &mut rendered, &names)
        .map_err(|error| CommandFailure::Failed(Refusal::NotRendered, error.to_string()))?;
    let objects: Vec<&Value> = rendered.objects.iter().map(|object| &object.value).collect();
    output::print_objects(command.output, &objects)?;
    for note in rendered.notes.iter().cloned().chain(rendered.note_of_passed_over()) {
        say!("note: {note}");
    }
    for finding in &lost {
        say!("{}", text::finding(finding));
    }
    Ok(if lost.iter().any(|finding| finding.severity() == Severity::Error) {
        CommandOutcome::ErrorsStand
    } else {
        CommandOutcome::Done
    })
}

/// The live names that were given; none where none were.
fn names(fleet: &Fleet, cluster: &ClusterId, file: Option<&Path>) -> Result<TemplateNames, CommandFailure> {
    let Some(file) = file else { return Ok(TemplateNames::default()) };
    let applied = fleet
        .applied_by(cluster)
        .map_err(|error| CommandFailure::Failed(Refusal::NotRendered, error.to_string()))?;
    if applied == AppliedBy::Others {
        return Err(CommandFailure::Usage(
            Refusal::TemplateNames,
            format!(
                "{cluster} is claimed by no management cluster (`managementClusters` in .capstan.yaml), so it is applied with the names in Git: leave `--names` out"
            ),
        ));
    }
    let shown = file.display();
    let text = fs::read_to_string(file).map_err(|error| {
        CommandFailure::Failed(Refusal::TemplateNames, format!("the names cannot be read: {shown}: {error}"))
    })?;
    TemplateNames::read(&text).map_err(|error| {
        let at = error.position.map(|at| format!(":{}:{}", at.line, at.column)).unwrap_or_default();
        CommandFailure::Failed(Refusal::TemplateNames, format!("{shown}{at}: {}", error.message))
    })
}
