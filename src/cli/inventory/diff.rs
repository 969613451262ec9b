//! What a change of the inventory would do: which clusters change, which machines are replaced.

use capstan_model::finding::Place;
use capstan_model::ids::ClusterId;
use capstan_plan::upgrade;
use capstan_report::inventory_reach;
use serde_json::{Value, json};

use super::super::arguments::InventoryDiff;
use super::super::context::Context;
use super::super::{CommandFailure, CommandOutcome, Format, output, text};
use super::opened::open_in;
use super::printed::print_value;
use capstan_fleet::inventory::Difference;

pub(super) fn run(context: &Context<'_>, command: &InventoryDiff) -> Result<CommandOutcome, CommandFailure> {
    let workspace = context.workspace()?;
    let mut before = context.fleet_at(workspace.as_ref(), Some(&command.from))?;
    let mut after = context.fleet_at(workspace.as_ref(), command.to.as_deref())?;
    for fleet in [&mut before, &mut after] {
        // Says what is wrong with the inventory as a whole.
        open_in(fleet)?;
        let clusters: Vec<ClusterId> = fleet.clusters().cloned().collect();
        context.find_old_releases(workspace.as_ref(), fleet, &clusters);
    }
    let difference = Difference::between(&before, &after);
    match command.output {
        Format::Text => output::print_text(&in_words(&difference))?,
        Format::Json | Format::Yaml => print_value(&as_json(&difference), command.output)?,
    }
    Ok(outcome(&difference))
}

fn outcome(difference: &Difference) -> CommandOutcome {
    if !difference.errors.is_empty() {
        return CommandOutcome::PartlyFailed;
    }
    let stand = difference.outlook.worst.iter().any(|upgrade| upgrade.errors_stand());
    if stand { CommandOutcome::ErrorsStand } else { CommandOutcome::Done }
}

fn error(message: &str, place: Option<&Place>) -> Value {
    json!({
        "message": message,
        "file": place.map(Place::file),
        "line": place.and_then(Place::line),
        "column": place.and_then(Place::column),
    })
}

fn as_json(difference: &Difference) -> Value {
    let outlook = &difference.outlook;
    let errors = difference.errors.iter().map(|(cluster, refused)| {
        json!({"cluster": cluster, "error": error(&refused.message, refused.place.as_ref())})
    });
    let levels = outlook.levels.iter().map(|((level, name), reach)| {
        json!({
            "level": level, "name": name, "changed": reach.changed,
            "rolling": reach.rolling, "machines": reach.machines.known,
        })
    });
    let plans = outlook.worst.iter().map(|upgrade| upgrade::element_to_json(upgrade));
    json!({
        "changed": outlook.changed,
        "created": outlook.created,
        "retired": outlook.retired,
        "unchanged": difference.unchanged(),
        "errors": errors.collect::<Vec<_>>(),
        "rolling": {"clusters": outlook.whole.rolling, "machines": outlook.whole.machines.known},
        "levels": levels.collect::<Vec<_>>(),
        "plans": plans.collect::<Vec<_>>(),
    })
}

fn in_words(difference: &Difference) -> String {
    let outlook = &difference.outlook;
    let mut out = format!("{}\n", inventory_reach(&outlook.whole));
    for ((level, name), reach) in &outlook.levels {
        out.push_str(&format!("{level} {name}: {}\n", inventory_reach(reach)));
    }
    for (what, all) in [("created", &outlook.created), ("retired", &outlook.retired)] {
        all.iter().for_each(|id| out.push_str(&format!("{what}: {id}\n")));
    }
    for (cluster, refused) in &difference.errors {
        out.push_str(&format!("{cluster}: {refused}\n"));
    }
    for upgrade in &outlook.worst {
        out.push_str(&format!("\n{}", text::upgrade(upgrade)));
    }
    out
}
