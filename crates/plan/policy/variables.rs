//! Variables of a cluster's own files: what has no value, what Flux does not understand, what it is given twice or
//! under a key that is not a name, and what becomes of it. Of a release's variables, a plan reports only what stops it.

use std::collections::BTreeSet;

use super::facts::ValueGivers;
use super::filled::misfilled;
use crate::flux::{PlacedVariable, PostBuild, passes_over};
use crate::merge::AppliedBy;
use crate::substitution::reader::{Cursor, TextReader, is_of_the_machine, pointer_of};
use crate::substitution::{
    TextToken, Variable, VariableOperation, budget, may_hold_tokens, tokens, tokens_to_flux,
};
use capstan_kustomize::render::{PlacedContent, PlacedValue, RenderedObject};
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::{Finding, rules};
use capstan_model::object::FieldPath;

/// What is wrong with variables and their values, rule by rule. A variable without a value is reported once, where it
/// occurs first. Capstan's reconciler applies texts without substitution.
pub(super) fn found_in(
    objects: &[RenderedObject],
    values: &ValueGivers<'_>,
    applied_by: AppliedBy,
    schemas: &Schemas,
) -> Vec<Finding> {
    let by_flux = applied_by == AppliedBy::Others && values.flux.substitutes();
    let mut search =
        VariableSearch { values, applied_by, by_flux, used: BTreeSet::new(), verdicts: Vec::new() };
    for object in objects {
        if !(by_flux && passes_over(&object.placed)) {
            search.walk(object, &object.placed, &FieldPath::root(), Cursor::of(Some(&object.id.kind)));
        }
    }
    let VariableSearch { used, mut verdicts, .. } = search;
    if by_flux {
        verdicts.extend(contradictions(values.flux, &used));
        verdicts.extend(values.flux.misnamed().iter().map(misnamed));
        let budget = budget();
        verdicts.extend(objects.iter().flat_map(|object| misfilled(object, values.flux, schemas, &budget)));
    }
    verdicts
}

/// A key that cannot be a variable's name.
fn misnamed((key, given): &(String, PlacedVariable)) -> Finding {
    let message = format!(
        "`{key}` in {} cannot be the name of a variable, and Flux, which substitutes from it for this cluster, fails on it. A name has letters, digits and `_`, and does not begin with a digit",
        given.by
    );
    Finding::new(rules::VARIABLE_NAME, message).place(given.place.clone())
}

/// Two Kustomizations of Flux that disagree about a variable that the cluster uses.
fn contradictions<'a>(flux: &'a PostBuild, used: &'a BTreeSet<String>) -> impl Iterator<Item = Finding> + 'a {
    flux.disagreements().iter().filter(|item| used.contains(&item.name)).map(|item| {
        let shown = |given: &PlacedVariable| {
            let value =
                given.text.as_ref().map_or_else(|| "a secret value".to_owned(), |text| format!("`{text}`"));
            format!("{value} by {given}")
        };
        let message = format!(
            "Flux gives ${{{}}} two values for this cluster: {} and {}. The last one applied wins: make them agree",
            item.name,
            shown(&item.one),
            shown(&item.other)
        );
        Finding::new(rules::VARIABLE_CONTRADICTION, message).place(item.other.place.clone())
    })
}

struct VariableSearch<'a> {
    values: &'a ValueGivers<'a>,
    applied_by: AppliedBy,
    by_flux: bool,
    /// The names of all variables that the objects use.
    used: BTreeSet<String>,
    verdicts: Vec<Finding>,
}

impl VariableSearch<'_> {
    fn walk(&mut self, object: &RenderedObject, value: &PlacedValue, path: &FieldPath, place: Cursor<'_>) {
        match &value.content {
            PlacedContent::Mapping(entries) => {
                let text = |key: &str| entries.iter().find(|(own, _)| own.as_str() == key)?.1.as_str();
                let patched = pointer_of(text("op"), text("path"));
                for (key, value) in entries {
                    self.walk(object, value, &path.key(key), place.entry(key, patched));
                }
            }
            PlacedContent::Sequence(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.walk(object, item, &path.index(at), place.item());
                }
            }
            PlacedContent::Scalar(_) => {
                let Some(text) = value.as_str().filter(|text| may_hold_tokens(text)) else { return };
                // Of several lines, it is a script, a file, other software's settings.
                let reader = if text.contains('\n') { TextReader::Other } else { place.reader_of(text) };
                for token in if self.by_flux { tokens_to_flux(text) } else { tokens(text) } {
                    let Some(verdict) = self.judge(object, &token, reader) else { continue };
                    let said =
                        |known: &Finding| known.rule == verdict.rule && known.message == verdict.message;
                    if !self.verdicts.iter().any(said) {
                        self.verdicts.push(verdict.object(&object.id).path(path).place(&value.place));
                    }
                }
            }
        }
    }

    fn judge(
        &mut self,
        object: &RenderedObject,
        token: &TextToken<'_>,
        reader: TextReader,
    ) -> Option<Finding> {
        match token {
            TextToken::Text(_) | TextToken::Escaped(_) => None,
            // Flux fails on it, and applies nothing of the folder.
            TextToken::Malformed(raw) if self.by_flux => {
                let is_blank = matches!(tokens(raw)[..], [TextToken::Variable(_)]);
                Some(Finding::new(
                    rules::UNSUPPORTED_SUBSTITUTION,
                    format!(
                        "`{raw}` is not an expression for Flux, which substitutes for this cluster and fails on it: {}write `$${}` for the text itself",
                        if is_blank { "remove the white space around the name, or " } else { "" },
                        raw.trim_start_matches('$')
                    ),
                ))
            }
            TextToken::Malformed(_) => None,
            TextToken::Variable(variable) => self.judge_variable(object, variable, reader),
        }
    }

    fn judge_variable(
        &mut self,
        object: &RenderedObject,
        variable: &Variable<'_>,
        reader: TextReader,
    ) -> Option<Finding> {
        let name = variable.name;
        self.used.insert(name.to_owned());
        let has_default =
            matches!(variable.operation, VariableOperation::Default { .. } | VariableOperation::Unsupported);
        if self.by_flux {
            let is_missing = self.values.flux.is_complete() && !self.values.flux.gives(name) && !has_default;
            return is_missing.then(|| {
                Finding::new(
                    rules::UNBOUND_VARIABLE,
                    format!(
                        "${{{name}}} gets no value from `substitute` or `substituteFrom` of the Flux Kustomization that applies this cluster, so it becomes empty: add it there, or write `$${{{name}}}` for the text itself"
                    ),
                )
            });
        }
        let is_own = self.applied_by == AppliedBy::Others && self.values.own.contains_key(name);
        // An object outside the groups of Cluster API may be a template for another program.
        let is_read = reader == TextReader::Controller
            && !is_of_the_machine(name)
            && object.id.group.ends_with("cluster.x-k8s.io");
        (is_read && !is_own).then(|| {
            Finding::new(
                rules::UNBOUND_VARIABLE,
                format!(
                    "${{{name}}} has no value here, so the text itself would be applied: write the value, or substitute it where the cluster is applied"
                ),
            )
        })
    }
}
