//! `capstan diff CLUSTER --from REV [--to REV]`

use std::collections::BTreeSet;

use capstan_kustomize::render::{self, FieldDifference, RenderedFolder};
use capstan_model::ids::ClusterId;
use capstan_plan::upgrade::{hide_beside, redact};
use capstan_report::Refusal;
use serde_json::{Value, json};

use super::arguments::Diff;
use super::context::Context;
use super::{CommandFailure, CommandOutcome, Format, output, text, typed};
use capstan_fleet::generator::Fleet;

pub(super) fn run(context: &Context<'_>, command: &Diff) -> Result<CommandOutcome, CommandFailure> {
    let workspace = context.workspace()?;
    let before = context.fleet_at(workspace.as_ref(), Some(&command.from))?;
    let after = context.fleet_at(workspace.as_ref(), command.to.as_deref())?;
    // A cluster that came or went has nothing on one side; one that is in neither is a mistake.
    let known: BTreeSet<&ClusterId> = before.targets().chain(after.targets()).collect();
    let known: Vec<&ClusterId> = known.into_iter().collect();
    let cluster = typed::cluster(workspace.as_ref(), &after, &known, &command.cluster)?;
    let (before, after) = (rendered(&before, &cluster)?, rendered(&after, &cluster)?);
    let differences = render::diff(&before.objects, &after.objects);
    match command.output {
        Format::Text => {
            for difference in &differences {
                let value = |value: &Option<Value>| {
                    text::shown(&difference.object, &difference.path, hidden(difference, value).as_ref())
                };
                let path =
                    if difference.path.is_root() { String::new() } else { format!("  {}", difference.path) };
                let (old, new) = (value(&difference.old), value(&difference.new));
                output::print_line(&format!("{}{path}", difference.object))?;
                output::print_line(&format!("  {old} -> {new}"))?;
            }
        }
        Format::Json | Format::Yaml => {
            let value: Value = differences
                .iter()
                .map(|difference| {
                    let value = |value: &Option<Value>| {
                        redact(&difference.object, &difference.path, hidden(difference, value).as_ref())
                    };
                    json!({
                        "object": difference.object,
                        "path": difference.path,
                        "old": value(&difference.old),
                        "new": value(&difference.new),
                    })
                })
                .collect();
            if command.output == Format::Json {
                output::print_json(&value)?
            } else {
                output::print_yaml(&value)?
            }
        }
    }
    Ok(CommandOutcome::Done)
}

/// A value without what the name beside its field tells to be secret.
fn hidden(difference: &FieldDifference, value: &Option<Value>) -> Option<Value> {
    value.clone().map(|value| hide_beside(&difference.path, difference.beside.as_deref(), value))
}

fn rendered(fleet: &Fleet, cluster: &ClusterId) -> Result<RenderedFolder, CommandFailure> {
    match fleet.layout().target(cluster.as_str()) {
        Some(folder) => fleet
            .render(&folder.id)
            .map_err(|error| CommandFailure::Failed(Refusal::NotRendered, error.to_string())),
        None => Ok(RenderedFolder::default()),
    }
}
