//! `wrong-type`

use super::evidence::ClusterEvidence;
use super::fitting::{MisfitKind, defined_in};
use super::rule::{About, PolicyRule};
use crate::upgrade::{Shown, hide_beside, name_beside};
use capstan_kustomize::render::{PlacedContent, PlacedValue};
use capstan_kustomize::schema::SchemaType;
use capstan_model::finding::{Finding, rules};
use capstan_yaml::Value;

pub(super) struct WrongType;

static ABOUT: About = About::new(rules::WRONG_TYPE, include_str!("../../../docs/rules/wrong-type.md"));

impl PolicyRule for WrongType {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        verdicts.extend(cluster.variables(ABOUT.entry));
        for misfit in cluster.misfits() {
            let (object, path) = (misfit.object, &misfit.path);
            let mapping = path.parent().and_then(|parent| object.value.pointer(&parent.to_string()));
            let said = |value: &Value| {
                let value = hide_beside(path, mapping.and_then(name_beside), value.clone());
                match Shown::of(&object.id, path, &value, None) {
                    Shown::Words(words) => words,
                    Shown::Value(value) => value.to_string(),
                }
            };
            let (is, wanted) = match &misfit.kind {
                MisfitKind::UnknownField(_) | MisfitKind::Limit(_) => continue,
                MisfitKind::Type { wanted, found } => {
                    let found = noun(found, &said);
                    let hint = hint(*wanted, misfit_scalar(&misfit.kind));
                    (found, format!("{}{hint}", wanted.noun()))
                }
                MisfitKind::Choice { allowed, found } => {
                    let allowed: Vec<String> = allowed.iter().take(12).map(Value::to_string).collect();
                    (said(found), format!("one of {}", allowed.join(", ")))
                }
            };
            let message = format!(
                "`{path}` of {} is {is}, but {} ({}) requires {wanted}: the API server refuses the object",
                object.id,
                object.api_version,
                defined_in(misfit.origin),
            );
            verdicts.push(
                Finding::new(rules::WRONG_TYPE, message).object(&object.id).path(path).place(misfit.place),
            );
        }
    }
}

fn misfit_scalar<'a>(kind: &MisfitKind<'a>) -> Option<&'a Value> {
    match kind {
        MisfitKind::Type { found: PlacedValue { content: PlacedContent::Scalar(scalar), .. }, .. } => {
            Some(scalar.value())
        }
        _ => None,
    }
}

fn noun(value: &PlacedValue, said: &dyn Fn(&Value) -> String) -> String {
    match &value.content {
        PlacedContent::Mapping(_) => "a mapping".to_owned(),
        PlacedContent::Sequence(_) => "a list".to_owned(),
        PlacedContent::Scalar(scalar) => match scalar.value() {
            Value::Bool(truth) => truth.to_string(),
            value if value.is_number() => format!("the number {}", said(value)),
            value => format!("the string {}", said(value)),
        },
    }
}

/// What to do about the quotes, where that is all.
fn hint(wanted: SchemaType, value: Option<&Value>) -> &'static str {
    match (wanted, value) {
        (SchemaType::String | SchemaType::IntOrString, Some(Value::Bool(_) | Value::Number(_))) => {
            " (put it in quotes)"
        }
        (SchemaType::Integer | SchemaType::Number, Some(Value::String(text)))
            if text.parse::<f64>().is_ok() =>
        {
            " (leave out the quotes)"
        }
        (SchemaType::Boolean, Some(Value::String(text))) if matches!(text.as_str(), "true" | "false") => {
            " (leave out the quotes)"
        }
        _ => "",
    }
}
