//! What a change of the inventory would do: which clusters change, which machines are replaced.

use capstan_inventory::reach::{Fate, Reached};
use capstan_model::finding::{Finding, Place};
use capstan_model::wording::count;
use capstan_plan::upgrade;
use serde_json::{Value, json};

use super::super::arguments::InventoryDiff;
use super::super::context::today;
use super::super::{Context, Failure, Format, Outcome, output, text};
use super::{open_in, print_value};
use crate::app::generator::{self, Refused};
use crate::app::inventory::{Changed, Difference};

pub(super) fn run(context: &Context<'_>, command: &InventoryDiff) -> Result<Outcome, Failure> {
    let workspace = context.workspace()?;
    let before = context.fleet_at(workspace.as_ref(), Some(&command.from))?;
    let after = context.fleet_at(workspace.as_ref(), command.to.as_deref())?;
    let (was, is) = (open_in(&before)?, open_in(&after)?);
    let difference = Difference::between(&was, &is, &after, today());
    match command.output {
        Format::Text => output::print(&told(&difference))?,
        Format::Json | Format::Yaml => print_value(&as_json(&difference), command.output)?,
        other => return Err(output::unsupported("inventory diff", other, "text, json or yaml")),
    }
    Ok(outcome(&difference))
}

/// Clusters of one fate, by their ids.
fn ids(difference: &Difference, is_meant: impl Fn(&Fate) -> bool) -> Vec<&str> {
    difference.clusters.iter().filter(|one| is_meant(&one.fate)).map(|one| one.id.as_str()).collect()
}

/// Clusters that are refused, each with its first finding.
fn refused(difference: &Difference) -> impl Iterator<Item = (&Reached, &Finding)> {
    difference.clusters.iter().filter_map(|one| match &one.fate {
        Fate::Refused(findings) => Some((one, findings.first()?)),
        _ => None,
    })
}

fn outcome(difference: &Difference) -> Outcome {
    let of_plan = |plan: &Result<Changed, Refused>| match plan {
        Err(_) => Outcome::PartlyFailed,
        Ok(changed) if generator::errors_stand(&changed.upgrade) => Outcome::ErrorsStand,
        Ok(_) => Outcome::Done,
    };
    let plans = difference.plans.iter().map(|(_, plan)| of_plan(plan));
    let refused = refused(difference).next().map(|_| Outcome::PartlyFailed);
    plans.chain(refused).max().unwrap_or(Outcome::Done)
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
    let refused = refused(difference).map(
        |(one, finding)| json!({"cluster": one.id, "error": error(&finding.message, finding.place.as_ref())}),
    );
    let unplanned = difference.plans.iter().filter_map(|(id, plan)| {
        let refused = plan.as_ref().err()?;
        Some(json!({"cluster": id, "error": error(&refused.message, refused.place.as_ref())}))
    });
    let (clusters, machines) = difference.rolling();
    let levels: Vec<Value> = difference
        .levels
        .iter()
        .map(|level| {
            json!({
                "level": level.level.kind(), "name": level.name, "changed": level.changed,
                "rolling": level.rolling, "machines": level.machines,
            })
        })
        .collect();
    let plans = difference.plans.iter().filter_map(|(_, plan)| Some(plan_json(plan.as_ref().ok()?)));
    json!({
        "changed": ids(difference, |fate| matches!(fate, Fate::Changed(_))),
        "created": ids(difference, |fate| matches!(fate, Fate::Created)),
        "retired": ids(difference, |fate| matches!(fate, Fate::Retired)),
        "unchanged": ids(difference, |fate| matches!(fate, Fate::Unchanged)).len(),
        "errors": refused.chain(unplanned).collect::<Vec<_>>(),
        "rolling": {"clusters": clusters, "machines": machines},
        "levels": levels,
        "plans": plans.collect::<Vec<_>>(),
    })
}

/// An element as `plan` prints it, brought by the inventory.
fn plan_json(changed: &Changed) -> Value {
    let mut plan = upgrade::to_json(&changed.upgrade);
    let Value::Object(fields) = &mut plan else { return plan };
    let (from, to) = &changed.digests;
    fields.insert("source".to_owned(), json!("inventory"));
    fields.insert("values".to_owned(), json!({"from": from, "to": to}));
    let changes = fields.get_mut("changes").and_then(Value::as_array_mut).into_iter().flatten();
    for (told, origins) in changes.zip(&changed.origins) {
        let Value::Object(told) = told else { continue };
        if told.get("reason") == Some(&json!("release")) {
            told.insert("reason".to_owned(), json!("inventory"));
        }
        let mut origins: Vec<Value> = origins.iter().map(super::origin).collect();
        let one = if origins.len() == 1 { origins.pop() } else { None };
        told.insert("origin".to_owned(), json!(one));
        if origins.len() > 1 {
            told.insert("origins".to_owned(), Value::Array(origins));
        }
    }
    plan
}

fn told(difference: &Difference) -> String {
    let mut out = String::new();
    let changed = ids(difference, |fate| matches!(fate, Fate::Changed(_))).len();
    let (clusters, machines) = difference.rolling();
    let rolls = match clusters {
        0 => "no machine is replaced".to_owned(),
        _ => format!(
            "{} {} {}",
            count(clusters, "cluster", "clusters"),
            if clusters == 1 { "rolls" } else { "roll" },
            count(usize::try_from(machines).unwrap_or(usize::MAX), "machine", "machines")
        ),
    };
    out.push_str(&format!(
        "{changed} of {} change, {rolls}\n",
        count(difference.clusters.len(), "cluster", "clusters")
    ));
    for level in &difference.levels {
        out.push_str(&format!(
            "{} {}: {} of {} change, {} roll {} machines\n",
            level.level.kind(),
            level.name,
            level.changed,
            level.clusters,
            level.rolling,
            level.machines
        ));
    }
    for (what, all) in [
        ("created", ids(difference, |fate| matches!(fate, Fate::Created))),
        ("retired", ids(difference, |fate| matches!(fate, Fate::Retired))),
    ] {
        all.iter().for_each(|id| out.push_str(&format!("{what}: {id}\n")));
    }
    for (one, finding) in refused(difference) {
        out.push_str(&format!("{}: {}\n", one.id, super::told(finding)));
    }
    for (id, plan) in &difference.plans {
        match plan {
            Ok(changed) => out.push_str(&format!("\n{}", text::upgrade(&changed.upgrade))),
            Err(refused) => out.push_str(&format!("\n{id} cannot be planned: {refused}\n")),
        }
    }
    // Created ones and those without a base have no plan.
    let planned = |id: &str| difference.plans.iter().any(|(other, _)| other == id);
    for id in ids(difference, |fate| matches!(fate, Fate::Changed(_))).into_iter().filter(|id| !planned(id)) {
        out.push_str(&format!("\n{id} has no base yet\n"));
    }
    out
}
