//! Everybody else's kinds: only `apiVersion` changes, where the definitions of both versions show the
//! same shape for every field that the object has.
//!
//! The same shape need not mean the same; but a provider that gives a field another meaning under its
//! old name and type has broken Kubernetes' own rules for versions.
//!
//! What Cluster API's contract moves is followed where the definitions show it:
//!
//! | older | newer |
//! |---|---|
//! | a duration `x`: `nodeDrainTimeout: 10m` | whole seconds in `xSeconds`, `deletion.xSeconds` or `spec.deletion.xSeconds` |
//! | a duration of Cluster API's own for machines, such as `nodeDrainTimeout` | the same, below `machineTemplate` |
//! | a reference with `apiVersion` | one with `apiGroup` there, or below `spec` |
//! | one of these that `machineTemplate` has too | what `machineTemplate` has becomes; it counts where that says nothing |

use super::cluster_api::{ReferenceVersion, number, reference_steps, seconds_of};
use super::has_variables::has_variables;
use super::refusal::{ConversionRefusal, Refusals};
use super::step::ConversionStep;
use crate::schema::{Schema, SchemaType, Schemas, Unlisted};
use capstan_model::object::FieldPath;
use capstan_yaml::{Entry, Node, NodeKind, same_meaning};

/// The steps but for `apiVersion`. Refuses what else has another shape in the newer version.
pub(super) fn same_shape(
    object: &Node,
    kind: &str,
    from: &str,
    to: &str,
    schemas: &Schemas,
) -> Result<Vec<ConversionStep>, Refusals> {
    let definition = |version| schemas.definitions(kind, version).map(|(schema, _)| schema).next();
    let missing = |version: &str| {
        let why = format!(
            "no definition of {kind} in {version} is known, so Capstan cannot say which fields moved"
        );
        let advice = "add the provider's CustomResourceDefinition to .capstan/crds, or convert the object to that version by hand";
        ConversionRefusal::whole(why, advice)
    };
    let older = definition(from).ok_or_else(|| missing(from))?;
    let newer = definition(to).ok_or_else(|| missing(to))?;
    let mut found = ShapeFindings::default();
    for entry in object.as_mapping().unwrap_or_default() {
        if !matches!(entry.key.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
            field((&FieldPath::root(), object), entry, (older, newer), &mut found);
        }
    }
    Refusals::none(found.refused).map(|()| found.steps)
}

/// What one walk finds.
#[derive(Default)]
struct ShapeFindings {
    steps: Vec<ConversionStep>,
    refused: Vec<ConversionRefusal>,
}

fn field(
    (above, holder): (&FieldPath, &Node),
    Entry { key, value: node, .. }: &Entry,
    (older, newer): (&Schema, &Schema),
    found: &mut ShapeFindings,
) {
    let path = &above.key(key);
    if let Some(steps) = moved((above, holder), key, node, (older, newer)) {
        match steps {
            Ok(steps) => found.steps.extend(steps),
            Err(refusal) => found.refused.push(*refusal),
        }
        return;
    }
    let refused = &mut found.refused;
    match (older.field(key), newer.field(key)) {
        (Some(older), Some(newer)) => value(path, node, (older, newer), found),
        (None, None) if keeps(older) == keeps(newer) => {}
        (None, _) if !keeps(older) => refused.push(*ConversionRefusal::new(
            path.clone(),
            node,
            "the older version has no such field, so the server drops it today",
            "remove the field, or convert the object to the newer version by hand",
        )),
        _ => refused.push(by_hand(path, node, "the newer version has no such field")),
    }
}

/// Where control planes of Cluster API's contract say what holds for their machines.
const MACHINES: &str = "machineTemplate";

/// What they say of them, and said of themselves in older versions.
const OF_MACHINES: [&str; 3] = ["nodeDrainTimeout", "nodeVolumeDetachTimeout", "nodeDeletionTimeout"];

/// The steps of a field that Cluster API's contract moves; `None` where the definitions show nothing of the kind.
fn moved(
    (above, holder): (&FieldPath, &Node),
    key: &str,
    node: &Node,
    (older, newer): (&Schema, &Schema),
) -> Option<Result<Vec<ConversionStep>, Box<ConversionRefusal>>> {
    let own = older.listed(key)?;
    let from = above.key(key);
    // A control plane says it of its machines: what it says itself is an older spelling, which its server copies there.
    let twin = older.listed(MACHINES).and_then(|machines| machines.listed(key));
    let has_twin = newer.listed(key).is_none() && twin.is_some_and(|twin| twin.kind == own.kind);
    let is_possible = |place: &&[&str]| has_twin || place.first() != Some(&MACHINES);
    let of_twin = holder.get(MACHINES).and_then(|machines| machines.get(key)).filter(|twin| !twin.is_null());
    let beside_twin = |place: &[&str]| {
        let twin = of_twin.filter(|_| place.first() == Some(&MACHINES))?;
        let differs = || {
            let why = format!(
                "{MACHINES} of the object has another value, and the newer version has only that field"
            );
            ConversionRefusal::new(from.clone(), node, why, "remove one of the two, or make them equal")
        };
        let is_same = same_meaning(node, twin);
        Some(if is_same { Ok(vec![ConversionStep::Remove { at: from.clone() }]) } else { Err(differs()) })
    };
    let below = |path: &[&str]| path.iter().try_fold(newer, |schema, key| schema.listed(key));
    let to = |path: &[&str]| path.iter().fold(above.clone(), |path, key| path.key(key));
    if own.kind == SchemaType::String && newer.listed(key).is_none() {
        let seconds = format!("{key}Seconds");
        let seconds = seconds.as_str();
        let places: [&[&str]; 6] = [
            &[seconds],
            &["deletion", seconds],
            &["spec", "deletion", seconds],
            &[MACHINES, seconds],
            &[MACHINES, "deletion", seconds],
            &[MACHINES, "spec", "deletion", seconds],
        ];
        let is_there = |path: &&[&str]| below(path).is_some_and(|field| field.kind == SchemaType::Integer);
        let place = places.into_iter().filter(is_possible).find(is_there);
        let as_it_is: &[&str] = &[MACHINES, key];
        let is_kept =
            || OF_MACHINES.contains(&key) && below(as_it_is).is_some_and(|field| field.kind == own.kind);
        let place = place.or_else(|| is_kept().then_some(as_it_is))?;
        if node.is_null() {
            return Some(Ok(vec![ConversionStep::Remove { at: from }]));
        }
        if let Some(said) = beside_twin(place) {
            return Some(said);
        }
        if place == as_it_is {
            return Some(Ok(vec![ConversionStep::Move { from, to: to(place) }]));
        }
        let steps = seconds_of(&from, node).map(|value| {
            let replaced = ConversionStep::Replace { at: from.clone(), value: number(value) };
            vec![replaced, ConversionStep::Move { from: from.clone(), to: to(place) }]
        });
        return Some(steps);
    }
    let has = |schema: &Schema, key: &str| schema.listed(key).is_some();
    let is_older = has(own, "apiVersion") && has(own, "kind") && has(own, "name") && !has(own, "apiGroup");
    let is_newer =
        |schema: &Schema| has(schema, "apiGroup") && has(schema, "kind") && !has(schema, "apiVersion");
    let places: [&[&str]; 4] = [&[key], &["spec", key], &[MACHINES, key], &[MACHINES, "spec", key]];
    let is_there = |path: &&[&str]| is_older && below(path).is_some_and(is_newer);
    let place = places.into_iter().filter(is_possible).find(is_there)?;
    if node.is_null() {
        return Some(Ok(vec![ConversionStep::Remove { at: from }]));
    }
    if let Some(said) = beside_twin(place) {
        return Some(said);
    }
    let mut steps = match reference_steps(&from, node, ReferenceVersion::GroupOnly, &|key| has(own, key)) {
        Ok(steps) => steps,
        Err(refusal) => return Some(Err(refusal)),
    };
    if place.len() > 1 {
        steps.push(ConversionStep::Move { from, to: to(place) });
    }
    Some(Ok(steps))
}

fn keeps(schema: &Schema) -> bool {
    schema.unlisted == Unlisted::Kept
}

fn value(path: &FieldPath, node: &Node, (older, newer): (&Schema, &Schema), found: &mut ShapeFindings) {
    if node.is_null() {
        return;
    }
    let refused = &mut found.refused;
    // A list that gains its type is the same one; the result shows whether its items have distinct keys.
    let is_other_list = older.list.is_some() && older.list != newer.list;
    if older.kind != newer.kind || is_other_list || older.value != newer.value {
        return refused.push(by_hand(path, node, differs(older, newer)));
    }
    let has_variables = node.as_scalar().is_some_and(|scalar| has_variables(&scalar.text));
    if !newer.choices.is_empty() && !has_variables && !newer.choices.contains(&node.value()) {
        return refused.push(by_hand(path, node, "the newer version does not accept this value"));
    }
    match &node.kind {
        NodeKind::Mapping(entries) => {
            entries.iter().for_each(|entry| field((path, node), entry, (older, newer), found));
        }
        NodeKind::Sequence(items) => match (older.item(), newer.item()) {
            (Some(older), Some(newer)) => {
                let items = items.iter().enumerate();
                items.for_each(|(at, item)| value(&path.index(at), item, (older, newer), found));
            }
            (None, None) => {}
            _ => refused.push(by_hand(path, node, "the lists of the two versions have different items")),
        },
        NodeKind::Scalar(_) => {}
    }
}

fn differs(older: &Schema, newer: &Schema) -> String {
    let (was, is) = (older.kind.noun(), newer.kind.noun());
    if older.kind == newer.kind {
        "the two versions read it differently".to_owned()
    } else {
        format!("it is {was} in the older version and {is} in the newer one")
    }
}

fn by_hand(path: &FieldPath, node: &Node, why: impl Into<String>) -> ConversionRefusal {
    let advice = "convert the object to the newer version by hand, as the provider's notes on it say";
    *ConversionRefusal::new(path.clone(), node, why, advice)
}

#[cfg(test)]
#[path = "definitions_tests.rs"]
mod tests;
