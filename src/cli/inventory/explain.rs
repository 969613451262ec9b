//! Where a value comes from and where it ends; who has a value from where.

use std::collections::BTreeSet;

use capstan_inventory::origin::LevelKind;
use capstan_inventory::survey::Survey;
use capstan_inventory::templates::{Placement, RenderedObject, RenderedTemplates};
use capstan_inventory::trace::{Explained, ValueUse, explain, uses};
use capstan_inventory::values::{ClusterValues, Member};
use capstan_model::object::FieldPath;
use capstan_model::spelling::{did_you_mean, nearest, suggestion};
use capstan_report::Refusal;
use serde_json::{Value, json};

use super::super::arguments::{InventoryExplain, InventoryUses};
use super::super::{CommandFailure, CommandOutcome, Format, output};
use super::opened::{OpenedInventory, named, refused};
use super::printed::{complain, explained, id, origin, place, print_value};

pub(super) fn explain_one(
    opened: OpenedInventory<'_>,
    command: &InventoryExplain,
) -> Result<CommandOutcome, CommandFailure> {
    let survey = opened.survey;
    let (member, values) = named(opened, &command.cluster)?;
    let rendered = survey.render(&member, &values);
    let path = command.pointer.clone().unwrap_or_default();
    if let Some(object) = &command.object {
        let rendered = rendered.map_err(|findings| refused(&findings))?;
        let cluster = RenderedCluster { member: &member, values: &values, rendered: &rendered };
        return explain_object(survey, cluster, object, &path, command.output);
    }
    // Where the render fails, the value still has its history.
    let rendered = rendered.unwrap_or_default();
    let Some(all) = explain(&member, &values, &path) else {
        let meant = suggestion(&path.to_string(), pointers(&member, &values).iter().map(String::as_str));
        return Err(CommandFailure::Usage(
            Refusal::NotFound,
            format!(
                "no level sets `{path}` for {}{meant} (`capstan inventory values` prints what there is)",
                member.name(),
            ),
        ));
    };
    match command.output {
        Format::Text => {
            for one in &all {
                let cluster = RenderedCluster { member: &member, values: &values, rendered: &rendered };
                print_text(cluster, one)?;
            }
        }
        Format::Json | Format::Yaml => {
            let elements: Vec<Value> =
                all.iter().map(|one| explained(survey, &member, one, fields(&rendered, &one.path))).collect();
            match elements.as_slice() {
                [only] if only["path"] == json!(path) => print_value(only, command.output)?,
                _ => print_value(&Value::Array(elements), command.output)?,
            }
        }
    }
    Ok(complain(&values))
}

/// The pointers of all values, and of the mappings and lists around them.
fn pointers(member: &Member<'_>, values: &ClusterValues) -> BTreeSet<String> {
    let there = explain(member, values, &FieldPath::root()).unwrap_or_default();
    let there: Vec<String> = there.iter().map(|one| one.path.to_string()).collect();
    let above = |path: &str| path.rfind('/').filter(|at| *at > 0);
    let all = there
        .iter()
        .flat_map(|path| std::iter::successors(Some(path.as_str()), move |path| path.get(..above(path)?)));
    all.map(str::to_owned).collect()
}

/// A cluster of the inventory, its values, and its objects.
#[derive(Clone, Copy)]
struct RenderedCluster<'a> {
    member: &'a Member<'a>,
    values: &'a ClusterValues,
    rendered: &'a RenderedTemplates,
}

fn print_text(
    RenderedCluster { member, values, rendered }: RenderedCluster<'_>,
    one: &Explained,
) -> Result<(), CommandFailure> {
    let value = one.value.as_ref().map_or_else(|| "absent".to_owned(), ToString::to_string);
    output::print_line(&format!("{} = {value}", one.path))?;
    output::print_line(&format!("  set by {}", one.origin))?;
    if let Some(said) = &one.is_final {
        output::print_line(&format!("  final since {said}"))?;
    }
    for over in &one.overrides {
        output::print_line(&format!("  overrides {} of {}", over.value, over.origin))?;
    }
    for read in &one.reads {
        if let Some(parts) = explain(member, values, read) {
            for part in parts {
                output::print_line(&format!("  made of {} ({})", part.path, part.origin))?;
            }
        }
    }
    for (object, placed) in placements(rendered, &one.path) {
        output::print_line(&format!("  used in {} {} by {}", object.id, placed.path, placed.template))?;
    }
    Ok(())
}

/// The fields that hold a value, or a mapping or list that contains it.
fn placements<'r>(
    rendered: &'r RenderedTemplates,
    path: &'r FieldPath,
) -> impl Iterator<Item = (&'r RenderedObject, &'r Placement)> {
    let objects = rendered.files.iter().flat_map(|file| &file.objects);
    objects.flat_map(move |object| {
        let holds = move |placed: &&Placement| {
            placed.reads.iter().any(|read| path.starts_with(read) || read.starts_with(path))
        };
        object.placements.iter().filter(holds).map(move |placed| (object, placed))
    })
}

fn fields(rendered: &RenderedTemplates, path: &FieldPath) -> Vec<Value> {
    let elements = placements(rendered, path).map(|(object, placed)| {
        json!({"object": object.id, "path": placed.path, "template": place(&placed.template)})
    });
    elements.collect()
}

/// From a field of an object back to the template and the values that were read there.
fn explain_object(
    survey: &Survey,
    RenderedCluster { member, values, rendered }: RenderedCluster<'_>,
    typed: &str,
    path: &FieldPath,
    format: Format,
) -> Result<CommandOutcome, CommandFailure> {
    let is_meant = |object: &&RenderedObject| {
        typed.split_once('/').is_some_and(|(kind, name)| object.id.kind == kind && object.id.name == name)
    };
    let Some(object) = rendered.files.iter().flat_map(|file| &file.objects).find(is_meant) else {
        let objects = rendered.files.iter().flat_map(|file| &file.objects);
        let all: Vec<String> =
            objects.map(|object| format!("{}/{}", object.id.kind, object.id.name)).collect();
        let hint = suggestion(typed, all.iter().map(String::as_str));
        return Err(CommandFailure::Usage(
            Refusal::NotFound,
            format!("the render of {} has no object `{typed}`: name it KIND/NAME{hint}", member.name()),
        ));
    };
    let inside = |placed: &&Placement| placed.path.starts_with(path) || path.starts_with(&placed.path);
    let mut elements = Vec::new();
    for placed in object.placements.iter().filter(inside) {
        let read: Vec<Explained> =
            placed.reads.iter().filter_map(|read| explain(member, values, read)).flatten().collect();
        if format == Format::Text {
            output::print_line(&format!("{} {} by {}", object.id, placed.path, placed.template))?;
            for one in &read {
                let value = one.value.as_ref().map_or_else(|| "absent".to_owned(), ToString::to_string);
                output::print_line(&format!("  {} = {value}, set by {}", one.path, one.origin))?;
            }
        }
        let values: Vec<Value> = read.iter().map(|one| explained(survey, member, one, Vec::new())).collect();
        elements.push(json!({
            "object": object.id, "path": placed.path, "template": place(&placed.template), "values": values,
        }));
    }
    if let Some((component, said)) = survey.component_of(member, values, &object.id, path) {
        if format == Format::Text {
            output::print_line(&format!(
                "{} {path} by the component {component}, named by {said}",
                object.id
            ))?;
        }
        elements.push(json!({
            "object": object.id, "path": path, "component": component, "origin": origin(&said),
        }));
    }
    match format {
        Format::Text if elements.is_empty() => {
            output::print_line(&format!(
                "{} {path} holds no value: it is the text of {}",
                object.id, object.template
            ))?;
        }
        Format::Text => {}
        Format::Json | Format::Yaml => print_value(&Value::Array(elements), format)?,
    }
    Ok(complain(values))
}

/// The level that was typed, KIND/NAME; or what may have been meant.
fn level<'t>(survey: &Survey, typed: &'t str) -> Result<(LevelKind, &'t str), CommandFailure> {
    let found = typed.split_once('/').and_then(|(kind, name)| Some((LevelKind::of_kind(kind)?, name)));
    let objects = &survey.inventory.objects;
    let (refusal, message) = match found {
        Some((kind, name)) if survey.inventory.object(kind, name).is_some() => return Ok((kind, name)),
        Some((kind, name)) => (Refusal::NotFound, format!("the inventory has no {} `{name}`", kind.kind())),
        None => (Refusal::Usage, format!("`{typed}` is not a level: write it like `Site/fra1`")),
    };
    let all: Vec<String> = objects.keys().map(|(kind, name)| format!("{}/{name}", kind.kind())).collect();
    let name = typed.rsplit('/').next().unwrap_or(typed);
    let meant = nearest(typed, all.iter().map(String::as_str))
        .or_else(|| all.iter().map(String::as_str).find(|level| level.split('/').nth(1) == Some(name)));
    let hint = did_you_mean(meant);
    Err(CommandFailure::Usage(refusal, format!("{message}{hint}")))
}

pub(super) fn print_uses(survey: &Survey, command: &InventoryUses) -> Result<CommandOutcome, CommandFailure> {
    let path = &command.pointer;
    let by = command.level.as_deref().map(|typed| level(survey, typed)).transpose()?;
    let (mut has, mut overridden) = (Vec::new(), Vec::new());
    let (mut failed, mut is_known, mut all) = (false, false, BTreeSet::new());
    for definition in survey.inventory.clusters() {
        let Ok(member) = Member::of(&survey.inventory, definition) else {
            failed = true;
            continue;
        };
        let values = survey.values(&member);
        is_known |= values.merged.at(path).is_some();
        all.extend(pointers(&member, &values));
        match uses(&values, path, by) {
            Some(ValueUse::Has(from)) => has.push((id(survey, &member), from)),
            Some(ValueUse::Overrides(by)) => overridden.push((id(survey, &member), by)),
            None => {}
        }
    }
    if !is_known && !failed {
        let meant = suggestion(&path.to_string(), all.iter().map(String::as_str));
        let message = format!("no level sets `{path}` for any cluster{meant}");
        return Err(CommandFailure::Usage(Refusal::NotFound, message));
    }
    match command.output {
        Format::Text if has.is_empty() && overridden.is_empty() => {
            let from = command.level.as_ref().map_or_else(String::new, |level| format!(" from {level}"));
            output::print_line(&format!("no cluster has `{path}`{from}"))?;
        }
        Format::Text => {
            for (cluster, from) in &has {
                output::print_line(&format!("{cluster} has it from {from}"))?;
            }
            for (cluster, by) in &overridden {
                output::print_line(&format!("{cluster} has it overridden by {by}"))?;
            }
        }
        Format::Json | Format::Yaml => {
            let elements = |all: &[(String, capstan_inventory::origin::InventoryOrigin)]| -> Vec<Value> {
                all.iter()
                    .map(|(cluster, from)| json!({"cluster": cluster, "origin": origin(from)}))
                    .collect()
            };
            let all = json!({"path": path, "has": elements(&has), "overridden": elements(&overridden)});
            print_value(&all, command.output)?;
        }
    }
    Ok(if failed { CommandOutcome::PartlyFailed } else { CommandOutcome::Done })
}
