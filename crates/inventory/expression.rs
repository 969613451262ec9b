//! Expressions in values (I8): evaluated after merging, each when somebody needs its value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use capstan_model::finding::{Finding, rules};
use capstan_model::object::FieldPath;

use super::braces::segments;
use super::context::{ContextShape, EvaluationFailure, FailureKind, GIVEN, LINKS, ValueContext};
use super::engine::{EXPRESSIONS_FUEL, Engines, VALUES_WEIGHT};
use super::merge::{MergedKind, MergedValue};
use super::origin::InventoryOrigin;

/// The values that each expression read, by its own path.
pub type Dependencies = BTreeMap<FieldPath, Vec<FieldPath>>;

/// What expressions came to.
pub(crate) struct Evaluated {
    /// What each of them read.
    pub(crate) dependencies: Dependencies,
    /// What is wrong where one has no value.
    pub(crate) findings: Vec<Finding>,
    /// The steps that they took.
    pub(crate) steps: u64,
}

/// Gives every expression its value.
pub(crate) fn evaluate(merged: &mut MergedValue) -> Evaluated {
    let mut findings = Vec::new();
    let mut found: BTreeMap<FieldPath, InventoryOrigin> = BTreeMap::new();
    merged.leaves(&FieldPath::root(), &mut |path, leaf| {
        let MergedKind::Scalar(scalar) = &leaf.kind else { return };
        // Numbers and the like have no braces.
        match segments(&scalar.text) {
            Ok(None) => {}
            Ok(Some(_)) => {
                found.insert(path.clone(), leaf.origin.clone());
            }
            Err(no) => {
                let level = &leaf.origin.level;
                let offset = level.file.offset_inside(leaf.origin.offset, &scalar.text, no.offset);
                let message = format!("`{path}`: {}", no.reason);
                findings
                    .push(Finding::new(rules::INVENTORY_TYPE, message).place(level.place(offset)).path(path));
            }
        }
    });
    if found.is_empty() {
        return Evaluated { dependencies: Dependencies::new(), findings, steps: 0 };
    }
    let context = ValueContext::of(shape(merged), engine());
    let mut dependencies = Dependencies::new();
    let mut told: BTreeSet<String> = BTreeSet::new();
    merged.leaves_mut(&FieldPath::root(), &mut |path, leaf| {
        let Some(origin) = found.get(path) else { return };
        match context.evaluate(path) {
            Ok((value, reads)) => {
                dependencies.insert(path.clone(), reads);
                let overrides = std::mem::take(&mut leaf.overrides);
                *leaf = MergedValue { overrides, ..MergedValue::of_value(&value, origin) };
            }
            Err(failure) => {
                let finding = tell(&failure, &found, path, origin);
                // A circle is reported once, not for each link; of a long chain only its beginning; a sum
                // where it exceeded the limit.
                let known = match failure.kind {
                    FailureKind::TooLong | FailureKind::SumLimit => format!("{:?}", failure.kind),
                    _ => finding.message.clone(),
                };
                if told.insert(known) {
                    findings.push(finding);
                }
            }
        }
    });
    Evaluated { dependencies, findings, steps: context.steps() }
}

/// The environments in which values' expressions are evaluated.
fn engine() -> Option<&'static Engines> {
    static ENGINES: OnceLock<Option<Engines>> = OnceLock::new();
    ENGINES.get_or_init(|| super::engine::engines(GIVEN).ok()).as_ref()
}

fn shape(merged: &MergedValue) -> ContextShape<'_> {
    match &merged.kind {
        MergedKind::Absent => ContextShape::Scalar(serde_json::Value::Null),
        MergedKind::Scalar(scalar) => match segments(&scalar.text) {
            Ok(Some(segments)) => ContextShape::Expression(segments),
            _ => ContextShape::Scalar(scalar.value()),
        },
        MergedKind::Map(entries) => ContextShape::Map(
            entries
                .iter()
                .filter(|(_, value)| !matches!(value.kind, MergedKind::Absent))
                .map(|(key, value)| (key.as_str(), shape(value)))
                .collect(),
        ),
        MergedKind::List(items) => ContextShape::List(items.iter().map(shape).collect()),
    }
}

fn tell(
    failure: &EvaluationFailure,
    origins: &BTreeMap<FieldPath, InventoryOrigin>,
    path: &FieldPath,
    origin: &InventoryOrigin,
) -> Finding {
    let link = |path: &FieldPath| match origins.get(path) {
        Some(origin) => format!("`{path}` ({})", origin.place()),
        None => format!("`{path}`"),
    };
    let links = || failure.links.iter().map(link).collect::<Vec<_>>().join(", which needs ");
    // Where the value itself is right, and one that it needs is not.
    let at =
        failure.links.last().filter(|_| matches!(failure.kind, FailureKind::Limit | FailureKind::Engine(_)));
    let at = at.and_then(|path| Some((path, origins.get(path)?))).unwrap_or((path, origin));
    let (rule, message) = match &failure.kind {
        FailureKind::Cycle => (rules::INVENTORY_CYCLE, {
            let turned = rotated(&failure.links);
            let links: Vec<String> = turned.iter().map(link).collect();
            format!(
                "an expression needs its own value: {}. Remove one of these links",
                links.join(", which needs ")
            )
        }),
        FailureKind::TooLong => (
            rules::INVENTORY_CYCLE,
            format!("more than {LINKS} expressions need each other in a row: {}", links()),
        ),
        FailureKind::Limit => (
            rules::TEMPLATE_LIMIT,
            format!("`{}` exceeds the limits of an expression (steps, memory or nesting)", at.0),
        ),
        FailureKind::SumLimit => (
            rules::TEMPLATE_LIMIT,
            format!(
                "the expressions in the values of this cluster take more than {} million steps or {} MiB together: `{}` is the first one over the limit. Use fewer expressions or smaller results",
                EXPRESSIONS_FUEL / 1_000_000,
                VALUES_WEIGHT >> 20,
                at.0
            ),
        ),
        FailureKind::Engine(reason) => (rules::INVENTORY_TYPE, format!("`{}` has no value: {reason}", at.0)),
    };
    Finding::new(rule, message).place(at.1.place()).path(at.0)
}

/// A circle beginning at its first path, so that it is the same for every entry.
fn rotated(links: &[FieldPath]) -> Vec<FieldPath> {
    let Some((_, circle)) = links.split_last() else { return Vec::new() };
    let first = circle.iter().enumerate().min_by(|a, b| a.1.cmp(b.1)).map_or(0, |(at, _)| at);
    let mut turned: Vec<FieldPath> = circle[first..].iter().chain(&circle[..first]).cloned().collect();
    turned.extend(turned.first().cloned());
    turned
}

#[cfg(test)]
#[path = "expression_tests.rs"]
mod tests;
