//! What Flux makes of a cluster's texts: YAML again.
//!
//! Kustomize prints an object, and leaves out quotes of Git wherever YAML does not need them. Flux puts values into
//! that text and parses it again (<https://github.com/fluxcd/pkg/blob/main/kustomize/kustomize_varsub.go>). So
//! `"${DESK}"` is a number where the value is `0042`, whatever its quotes in Git, and the value `"0042"` with quotes of
//! its own is a string.

use std::collections::BTreeMap;

use super::facts::ValueGivers;
use super::fitting::Trail;
use crate::flux::{PostBuild, passes_over};
use crate::substitution::{
    Bindings, Substitution, SubstitutionScope, TextBudget, TextToken, budget, tokens, tokens_to_flux,
};
use crate::upgrade::{hide_beside, name_beside, redact};
use capstan_kustomize::render::{PlacedContent, PlacedValue, RenderedObject};
use capstan_kustomize::schema::{Schema, Schemas};
use capstan_model::finding::{Finding, rules};
use capstan_yaml::{Value, YamlFile};

/// What does not fit in one object once Flux has filled it in. What is beyond the budget is not judged.
pub(super) fn misfilled(
    object: &RenderedObject,
    flux: &PostBuild,
    schemas: &Schemas,
    budget: &TextBudget,
) -> Vec<Finding> {
    if passes_over(&object.placed) {
        return Vec::new();
    }
    let judges: Vec<&Schema> =
        schemas.judges(&object.id.kind, &object.api_version).map(|(schema, _)| schema).collect();
    let bindings = Bindings::new(&BTreeMap::new(), flux);
    let own = BTreeMap::new();
    let scope = SubstitutionScope { own: &own, bindings: &bindings, substitution: Substitution::FULL };
    let mut walk = FilledWalk { object, flux, scope, budget, found: Vec::new() };
    walk.value(&FilledValue::Schemas(judges), &object.placed, &Trail::Root, 0);
    walk.found
}

/// What is known of a value.
enum FilledValue<'a> {
    /// Texts, to any depth.
    Texts,
    /// What each of the definitions says.
    Schemas(Vec<&'a Schema>),
}

struct FilledWalk<'a> {
    object: &'a RenderedObject,
    flux: &'a PostBuild,
    scope: SubstitutionScope<'a>,
    budget: &'a TextBudget,
    found: Vec<Finding>,
}

impl FilledWalk<'_> {
    fn value(&mut self, known: &FilledValue<'_>, value: &PlacedValue, path: &Trail<'_>, depth: usize) {
        match &value.content {
            PlacedContent::Mapping(entries) => {
                for (name, below) in entries {
                    let known = match known {
                        FilledValue::Texts => FilledValue::Texts,
                        FilledValue::Schemas(_) if self.holds_texts(path, name, depth) => FilledValue::Texts,
                        FilledValue::Schemas(schemas) => FilledValue::Schemas(
                            schemas.iter().filter_map(|schema| schema.field(name)).collect(),
                        ),
                    };
                    self.value(&known, below, &Trail::Key(path, name), depth + 1);
                }
            }
            PlacedContent::Sequence(items) => {
                let known = match known {
                    FilledValue::Texts => FilledValue::Texts,
                    FilledValue::Schemas(schemas) => {
                        FilledValue::Schemas(schemas.iter().filter_map(|schema| schema.item()).collect())
                    }
                };
                for (at, item) in items.iter().enumerate() {
                    self.value(&known, item, &Trail::Index(path, at), depth + 1);
                }
            }
            PlacedContent::Scalar(_) => {
                // What has several lines is printed as a block, in which every value is text.
                let text = value.as_str().filter(|text| text.contains("${") && !text.contains('\n'));
                let filled = |text: &str| filled(&tokens_to_flux(&printed(text)), &self.scope, self.budget);
                if let Some((text, filled)) = text.and_then(|text| Some((text, filled(text)?))) {
                    self.judge(known, value, text, &filled, path);
                }
            }
        }
    }

    /// What the API server takes for texts in every object.
    fn holds_texts(&self, path: &Trail<'_>, name: &str, depth: usize) -> bool {
        let is_core = self.object.id.group.is_empty();
        match (depth, path) {
            (0, _) => {
                let of_kind = match self.object.id.kind.as_str() {
                    "ConfigMap" => name == "data",
                    "Secret" => matches!(name, "data" | "stringData"),
                    _ => false,
                };
                matches!(name, "apiVersion" | "kind") || is_core && of_kind
            }
            (1, Trail::Key(_, "metadata")) => {
                matches!(name, "name" | "generateName" | "namespace" | "labels" | "annotations")
            }
            _ => false,
        }
    }

    fn judge(
        &mut self,
        known: &FilledValue<'_>,
        value: &PlacedValue,
        text: &str,
        filled: &str,
        path: &Trail<'_>,
    ) {
        let becomes = read(filled);
        let wrong = match (&becomes, known) {
            (None, _) => "is no longer YAML: Flux fails on it and applies nothing from the folder".to_owned(),
            (Some(Value::Null), _) => return,
            (Some(becomes), FilledValue::Texts) if !becomes.is_string() => {
                "but must be a string: the API server refuses the object".to_owned()
            }
            (Some(becomes), FilledValue::Schemas(schemas)) => {
                let wrong = schemas.iter().map(|schema| schema.kind).find(|kind| !kind.takes(becomes));
                let all = schemas.iter().all(|schema| !schema.kind.takes(becomes));
                let Some(wanted) = wrong.filter(|_| all) else { return };
                format!("but must be {}: the API server refuses the object", wanted.noun())
            }
            (Some(_), FilledValue::Texts) => return,
        };
        let path = path.path();
        let mapping = path.parent().and_then(|parent| self.object.value.pointer(&parent.to_string()));
        let said = |value: Value| {
            let value = hide_beside(&path, mapping.and_then(name_beside), value);
            redact(&self.object.id, &path, Some(&value)).to_string()
        };
        let becomes = becomes.map_or_else(String::new, |value| format!(" becomes {}", noun(&value, &said)));
        let names = tokens_to_flux(text).into_iter().filter_map(|token| match token {
            TextToken::Variable(variable) => {
                self.flux.given(variable.name).map(|given| (variable.name, given))
            }
            _ => None,
        });
        let mut given: Vec<String> = names
            .map(|(name, given)| {
                let value = said(Value::from(given.text.as_deref().unwrap_or_default()));
                format!("${{{name}}} is {value} by {given}")
            })
            .collect();
        given.dedup();
        let message = format!(
            "`{path}` of {} is substituted by Flux ({}). kustomize prints it without quotes, so it{becomes}{} {wrong}. Put quotes inside the value, as in `'\"0042\"'`, or use another value",
            self.object.id,
            given.join(", "),
            if becomes.is_empty() { "" } else { "," },
        );
        self.found.push(
            Finding::new(rules::WRONG_TYPE, message).object(&self.object.id).path(&path).place(&value.place),
        );
    }
}

/// A text with the values of its variables; `None` where one is not known, or where that takes more than there is.
fn filled(tokens: &[TextToken<'_>], scope: &SubstitutionScope<'_>, budget: &TextBudget) -> Option<String> {
    let of = |token: &TextToken<'_>| match token {
        TextToken::Text(text) | TextToken::Escaped(text) => Some((*text).to_owned()),
        TextToken::Variable(variable) => scope.variable_within(variable, budget).ok(),
        TextToken::Malformed(_) => None,
    };
    let filled: String = tokens.iter().map(of).collect::<Option<_>>()?;
    budget.takes_bytes(filled.len()).then_some(filled)
}

/// An object with the values of its variables, as other tools than Capstan substitute them. A text with an unknown
/// variable stays as it is. `None` where it has no variables, or asks Flux to pass it over.
pub(super) fn substituted(object: &RenderedObject, values: &ValueGivers<'_>) -> Option<Value> {
    if !holds_tokens(&object.value) || passes_over(&object.placed) {
        return None;
    }
    let (bindings, own) = (Bindings::new(values.own, values.flux), BTreeMap::new());
    let scope = SubstitutionScope { own: &own, bindings: &bindings, substitution: Substitution::FULL };
    let mut value = object.value.clone();
    substitute(&mut value, &scope, values.flux.substitutes(), &budget());
    Some(value)
}

fn holds_tokens(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("${"),
        Value::Array(items) => items.iter().any(holds_tokens),
        Value::Object(fields) => fields.values().any(holds_tokens),
        _ => false,
    }
}

fn substitute(value: &mut Value, scope: &SubstitutionScope<'_>, by_flux: bool, budget: &TextBudget) {
    match value {
        Value::String(text) if text.contains("${") => {
            let is_block = text.contains('\n');
            let whole = |tokens: &[TextToken<'_>]| filled(tokens, scope, budget);
            // Another rule reports a text that is not YAML once Flux has filled it in.
            let becomes = match by_flux {
                true if is_block => whole(&tokens_to_flux(text)).map(Value::String),
                true => whole(&tokens_to_flux(&printed(text))).and_then(|text| read(&text)),
                false => whole(&tokens(text)).map(Value::String),
            };
            if let Some(becomes) = becomes {
                *value = becomes;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| substitute(item, scope, by_flux, budget)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| substitute(field, scope, by_flux, budget))
        }
        _ => {}
    }
}

/// A text of one line as kustomize prints it: in quotes only where YAML needs them
/// (<https://github.com/kubernetes-sigs/yaml/blob/master/goyaml.v2/emitterc.go>).
fn printed(text: &str) -> String {
    let is_indicator = |first: char| "#,[]{}&*!|>'\"%@`".contains(first);
    let begins = |start: &str| text.starts_with(start);
    let needs_quotes = text.starts_with(is_indicator)
        || ["- ", "? ", ": ", "--- ", "... "].into_iter().any(begins)
        || text.trim() != text
        || text.ends_with(':')
        || text.contains(": ")
        || text.contains(" #")
        || text.contains(char::is_control);
    if needs_quotes { format!("'{}'", text.replace('\'', "''")) } else { text.to_owned() }
}

/// Reads a text as the value of a key; `None` where that is not YAML.
fn read(text: &str) -> Option<Value> {
    let file = YamlFile::read(&format!("filled: {text}\n")).ok()?;
    let [document] = file.documents() else { return None };
    let [entry] = document.root.as_mapping()? else { return None };
    (entry.key == "filled").then(|| entry.value.value())
}

fn noun(value: &Value, said: &dyn Fn(Value) -> String) -> String {
    match value {
        Value::Object(_) => "a mapping".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(_) => format!("the number {}", said(value.clone())),
        _ => format!("the string {}", said(value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::collections::BTreeMap;

    use super::{filled, printed, read};
    use crate::flux::PostBuild;
    use crate::substitution::{Bindings, Substitution, SubstitutionScope, budget, tokens_to_flux};

    #[test]
    fn what_flux_reads_is_what_yaml_of_old_makes_of_the_printed_text() {
        for (text, value) in [
            ("0042", Some(json!(34))),
            ("\"0042\"", Some(json!("0042"))),
            ("off", Some(json!(false))),
            ("1e2", Some(json!(100))),
            ("a1", Some(json!("a1"))),
            ("", Some(json!(null))),
            ("{a: b}", Some(json!({"a": "b"}))),
            ("[a", None),
            ("a: b", None),
            ("a #b", Some(json!("a"))),
            ("*a", None),
        ] {
            assert_eq!(read(text), value, "{text}");
        }
    }

    #[test]
    fn what_all_texts_take_together_is_bounded() {
        // Nothing is cut off, after some 30 million steps; there are 67 million for all.
        let declared = BTreeMap::from([("V".to_owned(), "a".repeat(1_024))]);
        let (own, bindings) = (BTreeMap::new(), Bindings::new(&declared, &PostBuild::default()));
        let scope = SubstitutionScope { own: &own, bindings: &bindings, substitution: Substitution::FULL };
        let budget = budget();
        let text = format!("${{V##*{}b}}", "a".repeat(60));
        let known = [(); 4].map(|()| filled(&tokens_to_flux(&text), &scope, &budget).is_some());
        assert_eq!(known, [true, true, false, false]);
    }

    #[test]
    fn a_text_is_printed_in_quotes_only_where_yaml_needs_them() {
        for (text, expected) in [
            ("${A}", "${A}"),
            ("a-${A}", "a-${A}"),
            ("{${A}}", "'{${A}}'"),
            ("a: ${A}", "'a: ${A}'"),
            ("it's ${A}: b", "'it''s ${A}: b'"),
            ("${A}:", "'${A}:'"),
            ("- ${A}", "'- ${A}'"),
        ] {
            assert_eq!(printed(text), expected, "{text}");
        }
    }
}
