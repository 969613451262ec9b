//! Expressions in values (I8): evaluated after merging, each when somebody needs its value.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use capstan_model::finding::{Finding, rules};
use capstan_model::object::FieldPath;
use minijinja::Environment;

use super::braces::segments;
use super::context::{Context, Failure, FailureKind, GIVEN, LINKS, Shape};
use super::engine::{EXPRESSION_FUEL, environment};
use super::merge::{Kind, Merged};
use super::origin::Origin;

/// The values that each expression read, by its own path.
pub type Dependencies = BTreeMap<FieldPath, Vec<FieldPath>>;

/// Gives every expression its value. What each of them read is told; a finding where one has none.
pub(crate) fn evaluate(merged: &mut Merged) -> (Dependencies, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut found: Vec<(FieldPath, Origin)> = Vec::new();
    merged.leaves(&FieldPath::root(), &mut |path, leaf| {
        let Kind::Scalar(scalar) = &leaf.kind else { return };
        // Numbers and the like have no braces.
        match segments(&scalar.text) {
            Ok(None) => {}
            Ok(Some(_)) => found.push((path.clone(), leaf.origin.clone())),
            Err(no) => {
                let level = &leaf.origin.level;
                let offset = level.file.offset_inside(leaf.origin.offset, &scalar.text, no.offset);
                let message = format!("`{path}`: {}", no.reason);
                findings
                    .push(Finding::new(rules::INVENTORY_TYPE, message).place(level.place(offset)).path(path));
            }
        }
    });
    let mut dependencies = Dependencies::new();
    if found.is_empty() {
        return (dependencies, findings);
    }
    let context = Context::of(shape(merged), engine());
    for (path, origin) in &found {
        match context.evaluate(path) {
            Ok((value, reads)) => {
                dependencies.insert(path.clone(), reads);
                if let Some(leaf) = at_mut(merged, path) {
                    let overrides = std::mem::take(&mut leaf.overrides);
                    *leaf = Merged { overrides, ..Merged::of_value(&value, origin) };
                }
            }
            Err(failure) => {
                let origins: BTreeMap<&FieldPath, &Origin> =
                    found.iter().map(|(path, at)| (path, at)).collect();
                let finding = told(&failure, &origins, path, origin);
                // A circle is told once, not once a link; and of a long row only its beginning.
                let told = |known: &Finding| {
                    known.message == finding.message
                        || failure.kind == FailureKind::TooLong && known.rule == rules::INVENTORY_CYCLE
                };
                if !findings.iter().any(told) {
                    findings.push(finding);
                }
            }
        }
    }
    (dependencies, findings)
}

/// The environment in which values' expressions are evaluated.
fn engine() -> Option<&'static Environment<'static>> {
    static ENGINE: OnceLock<Option<Environment<'static>>> = OnceLock::new();
    ENGINE.get_or_init(|| environment(EXPRESSION_FUEL, GIVEN).ok()).as_ref()
}

fn shape(merged: &Merged) -> Shape<'_> {
    match &merged.kind {
        Kind::Absent => Shape::Scalar(serde_json::Value::Null),
        Kind::Scalar(scalar) => match segments(&scalar.text) {
            Ok(Some(segments)) => Shape::Expression(segments),
            _ => Shape::Scalar(scalar.value()),
        },
        Kind::Map(entries) => Shape::Map(
            entries
                .iter()
                .filter(|(_, value)| !matches!(value.kind, Kind::Absent))
                .map(|(key, value)| (key.as_str(), shape(value)))
                .collect(),
        ),
        Kind::List(items) => Shape::List(items.iter().map(shape).collect()),
    }
}

fn at_mut<'m>(merged: &'m mut Merged, path: &FieldPath) -> Option<&'m mut Merged> {
    use capstan_model::object::Step;
    path.steps().iter().try_fold(merged, |value, step| match (&mut value.kind, step) {
        (Kind::Map(entries), Step::Key(key)) => {
            entries.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
        }
        (Kind::List(items), Step::Index(index)) => items.get_mut(*index),
        _ => None,
    })
}

fn told(
    failure: &Failure,
    origins: &BTreeMap<&FieldPath, &Origin>,
    path: &FieldPath,
    origin: &Origin,
) -> Finding {
    let link = |path: &FieldPath| match origins.get(path) {
        Some(origin) => format!("`{path}` ({})", origin.place()),
        None => format!("`{path}`"),
    };
    let links = || failure.links.iter().map(link).collect::<Vec<_>>().join(", which needs ");
    // Where the value itself is right, and one that it needs is not.
    let at =
        failure.links.last().filter(|_| matches!(failure.kind, FailureKind::Limit | FailureKind::Engine(_)));
    let at = at.and_then(|path| Some((path, *origins.get(path)?))).unwrap_or((path, origin));
    let (rule, message) = match &failure.kind {
        FailureKind::Cycle => (rules::INVENTORY_CYCLE, {
            let turned = rotated(&failure.links);
            let links: Vec<String> = turned.iter().map(link).collect();
            format!(
                "an expression needs its own value: {}. Take one of these links out",
                links.join(", which needs ")
            )
        }),
        FailureKind::TooLong => (
            rules::INVENTORY_CYCLE,
            format!("more than {LINKS} expressions need each other in a row: {}", links()),
        ),
        FailureKind::Limit => {
            (rules::TEMPLATE_LIMIT, format!("`{}` takes more steps or memory than an expression may", at.0))
        }
        FailureKind::Engine(reason) => (rules::INVENTORY_TYPE, format!("`{}` has no value: {reason}", at.0)),
    };
    Finding::new(rule, message).place(at.1.place()).path(at.0)
}

/// A circle told from its first path, so that it is the same from wherever it was entered.
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
