//! Which expressions of a release have no value in a cluster, and where they would be written.
//!
//! A token never replaces a value. Variables of the machine itself, or of a shell, are not reported: see
//! [`TextReader`].

use std::collections::{BTreeMap, BTreeSet};

use super::bindings::{Bindings, BoundValue, Flux};
use super::reader::{Cursor, TextReader, is_of_the_machine, patched_by, texts};
use super::substitute::{LONGEST, SubstitutionError, SubstitutionExtent, SubstitutionScope, is_collection};
use super::{budget, tokens, tokens_to_flux};
use capstan_envsubst::{TextBudget, TextToken, Variable, VariableOperation, may_hold_expressions};
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Node, NodeKind};

/// An expression without a value, and the text that it would leave in the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) trouble: SubstitutionError,
    /// Below the value that the release brings.
    pub(crate) below: FieldPath,
    /// The whole text there, with the expression in it.
    pub(crate) text: String,
}

impl Missing {
    /// The variable's value, if that is what makes the cluster's text of the release's: a proposal.
    pub(crate) fn proposed(&self, cluster: &str) -> Option<String> {
        let SubstitutionError::Unbound(name) = &self.trouble else { return None };
        let mut bindings = Bindings::default();
        let found = BoundValue { value: cluster.to_owned(), object: 0, path: FieldPath::root(), at: 0 };
        bindings.unify(&BTreeMap::new(), &self.text, found, &budget());
        bindings.value(name, Flux::PassesOver).map(str::to_owned)
    }
}

impl SubstitutionScope<'_> {
    /// What below has no value, by the text that stays in its place.
    pub(crate) fn troubles_below(
        &self,
        node: &Node,
        place: Cursor<'_>,
        out: &mut BTreeMap<String, SubstitutionError>,
    ) {
        let budget = budget();
        texts(node, place, &mut |text, reader| {
            let length = self.troubles_in(text, reader, &budget, out);
            if !budget.takes_bytes(length) {
                // The whole text stays as it is written.
                out.extend(tokens(text).into_iter().filter_map(|token| match token {
                    TextToken::Variable(variable) => Some((
                        variable.raw.to_owned(),
                        SubstitutionError::Unsupported(variable.raw.to_owned()),
                    )),
                    TextToken::Text(_) | TextToken::Escaped(_) | TextToken::Malformed(_) => None,
                }));
            }
        });
    }

    /// The troubles of one text; how long it gets where values go into it.
    fn troubles_in(
        &self,
        text: &str,
        reader: TextReader,
        budget: &TextBudget,
        out: &mut BTreeMap<String, SubstitutionError>,
    ) -> usize {
        if !may_hold_expressions(text) {
            return 0;
        }
        let mut length = 0;
        for token in tokens(text) {
            let (raw, trouble, is_of_the_machine) = match &token {
                TextToken::Text(text) | TextToken::Escaped(text) => {
                    length += text.len();
                    continue;
                }
                TextToken::Malformed(raw) => {
                    length += raw.len();
                    (*raw, SubstitutionError::Unsupported((*raw).to_owned()), false)
                }
                TextToken::Variable(variable) if self.stops_flux(variable, budget) => {
                    (variable.raw, SubstitutionError::Unsupported(variable.raw.to_owned()), false)
                }
                TextToken::Variable(variable) => match self.trouble_within(variable, budget, &mut length) {
                    Some(trouble) => (variable.raw, trouble, is_of_the_machine(variable.name)),
                    None => continue,
                },
            };
            // Where Flux substitutes, no text reaches its reader as it is written: Flux empties an expression without a
            // value, and stops at one that it cannot read.
            let stays = (reader == TextReader::Machine || is_of_the_machine)
                && !self.is_read_by_flux()
                && matches!(trouble, SubstitutionError::Unbound(_) | SubstitutionError::Unsupported(_));
            let is_said = self.substitution.extent == SubstitutionExtent::Full
                || self.is_read_by_flux()
                || !matches!(trouble, SubstitutionError::Unsupported(_));
            if is_said && !stays {
                out.insert(raw.to_owned(), trouble);
            }
        }
        length
    }

    /// Whether Flux fails at what remains of an expression for it: Flux allows no white space round names.
    fn stops_flux(&self, variable: &Variable<'_>, budget: &TextBudget) -> bool {
        let stays =
            self.substitution.extent == SubstitutionExtent::OwnOnly && !self.own.contains_key(variable.name);
        if !stays || !self.is_read_by_flux() {
            return false;
        }
        let mut left = String::new();
        self.copy(variable, budget, &mut left);
        holds_malformed(&tokens_to_flux(&left))
    }

    /// The trouble of an expression behind so many bytes: what gets too long has no value either.
    fn trouble_within(
        &self,
        variable: &Variable<'_>,
        budget: &TextBudget,
        length: &mut usize,
    ) -> Option<SubstitutionError> {
        if self.substitution.extent == SubstitutionExtent::OwnOnly {
            return self.trouble_in_template(variable);
        }
        let (trouble, added) = match self.variable_within(variable, budget) {
            Ok(value) if *length + value.len() <= LONGEST => (None, value.len()),
            Ok(_) => (Some(SubstitutionError::Unsupported(variable.raw.to_owned())), variable.raw.len()),
            Err(trouble) => (Some(trouble), variable.raw.len()),
        };
        *length += added;
        trouble
    }

    /// Where the object stays a template, Flux has to know the variable. Where it is unknown who substitutes, nothing
    /// is reported.
    fn trouble_in_template(&self, variable: &Variable<'_>) -> Option<SubstitutionError> {
        if self.substitution.flux == Flux::PassesOver {
            return None;
        }
        let flux = self.bindings.flux();
        let is_given = self.own.contains_key(variable.name) || flux.gives(variable.name);
        match &variable.operation {
            _ if is_given || !flux.is_complete() => None,
            VariableOperation::Default { tokens, .. } => tokens.iter().find_map(|token| match token {
                TextToken::Variable(variable) => self.trouble_in_template(variable),
                _ => None,
            }),
            _ => Some(SubstitutionError::NotGiven(variable.name.to_owned())),
        }
    }

    /// The expressions without a value in what is left of a release's value, each once. `known` are those of the
    /// release's own texts. An escaped one there is not an expression, although it reads like one afterwards.
    pub(crate) fn missing(
        &self,
        known: &BTreeMap<String, SubstitutionError>,
        release: &Node,
        place: Cursor<'_>,
    ) -> Vec<Missing> {
        let mut found = Vec::new();
        self.missing_below(known, release, place, &mut Vec::new(), &mut found);
        found
    }

    fn missing_below(
        &self,
        known: &BTreeMap<String, SubstitutionError>,
        node: &Node,
        place: Cursor<'_>,
        trail: &mut Vec<Step>,
        found: &mut Vec<Missing>,
    ) {
        let mut say_all = |troubles: Vec<SubstitutionError>, text: &str, trail: &[Step]| {
            for trouble in troubles {
                if !found.iter().any(|known: &Missing| known.trouble == trouble) {
                    let below = trail.iter().cloned().collect();
                    found.push(Missing { trouble, below, text: text.to_owned() });
                }
            }
        };
        let mut say = |text: &str, reader: TextReader, trail: &[Step]| {
            say_all(self.missing_in(known, text, reader), text, trail);
        };
        match &node.kind {
            NodeKind::Scalar(scalar) if is_collection(scalar) => {
                // Written into a file it would be a string: it never stays.
                let mut troubles = self.missing_in(known, &scalar.text, TextReader::Controller);
                troubles.retain(|trouble| {
                    matches!(trouble, SubstitutionError::Unbound(_) | SubstitutionError::NotGiven(_))
                });
                if troubles.is_empty() {
                    troubles.push(SubstitutionError::Unsupported(scalar.text.clone()));
                }
                say_all(troubles, &scalar.text, trail);
            }
            NodeKind::Scalar(scalar) => say(&scalar.text, place.reader_of(&scalar.text), trail),
            NodeKind::Mapping(entries) => {
                let patched = patched_by(entries);
                for entry in entries {
                    let place = place.entry(&entry.key, patched);
                    say(&entry.key, place.reader_of(&entry.key), trail);
                }
                for entry in entries {
                    trail.push(Step::Key(entry.key.clone()));
                    let place = place.entry(&entry.key, patched);
                    self.missing_below(known, &entry.value, place, trail, found);
                    trail.pop();
                }
            }
            NodeKind::Sequence(items) => {
                for (at, item) in items.iter().enumerate() {
                    trail.push(Step::Index(at));
                    self.missing_below(known, item, place.item(), trail, found);
                    trail.pop();
                }
            }
        }
    }

    fn missing_in(
        &self,
        known: &BTreeMap<String, SubstitutionError>,
        text: &str,
        reader: TextReader,
    ) -> Vec<SubstitutionError> {
        if !may_hold_expressions(text) {
            return Vec::new();
        }
        let mut here = BTreeMap::new();
        match self.substitution.extent {
            SubstitutionExtent::Full if reader == TextReader::Machine && !self.is_read_by_flux() => {
                let is_secret = |(_, trouble): &(&String, &SubstitutionError)| {
                    matches!(trouble, SubstitutionError::Secret(_))
                };
                let secrets = known.iter().filter(is_secret);
                here.extend(secrets.map(|(raw, trouble)| (raw.clone(), trouble.clone())));
            }
            SubstitutionExtent::Full => here = known.clone(),
            SubstitutionExtent::OwnOnly => {
                let _length = self.troubles_in(text, reader, &budget(), &mut here);
                return here.into_values().collect();
            }
        }
        let mut left = BTreeSet::new();
        expressions_in(text, |_| false, &mut left);
        left.iter().filter_map(|raw| here.get(raw)).cloned().collect()
    }
}

fn holds_malformed(tokens: &[TextToken<'_>]) -> bool {
    tokens.iter().any(|token| match token {
        TextToken::Malformed(_) => true,
        TextToken::Variable(Variable { operation: VariableOperation::Default { tokens, .. }, .. }) => {
            holds_malformed(tokens)
        }
        TextToken::Variable(_) | TextToken::Text(_) | TextToken::Escaped(_) => false,
    })
}

/// The expressions below, as they are written, and the names of their variables; without those that the
/// machine fills in.
pub(crate) fn expressions(node: &Node, out: &mut BTreeSet<String>) {
    texts(node, Cursor::of(None), &mut |text, _| expressions_in(text, is_of_the_machine, out));
}

/// [`expressions`] of the default in an expression as it is written, as in `${A:-${B}}`.
pub(crate) fn expressions_within(expression: &str, out: &mut BTreeSet<String>) {
    if let Some(inside) = expression.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
        expressions_in(inside, is_of_the_machine, out);
    }
}

/// [`expressions`] of what a controller or other software reads: a script's own say nothing of whether an
/// object is a template.
pub(crate) fn expressions_of_fields(node: &Node, out: &mut BTreeSet<String>) {
    let kind = node.text_at("kind");
    texts(node, Cursor::of(kind), &mut |text, reader| {
        if reader != TextReader::Machine {
            expressions_in(text, is_of_the_machine, out);
        }
    });
}

/// The expressions that escaped ones (`$${NAME}`) become once the texts are substituted.
pub(crate) fn unescaped(node: &Node, out: &mut BTreeSet<String>) {
    texts(node, Cursor::of(None), &mut |text, _| {
        if text.contains("$${") {
            // Each `$${` opens one; unescaped expressions in the same text do not count.
            for behind in text.split("$${").skip(1) {
                let end = behind.find('}').map_or(behind.len(), |at| at + 1);
                expressions_in(&format!("${{{}", &behind[..end]), is_of_the_machine, out);
            }
        }
    });
}

fn expressions_in(text: &str, passes_over: fn(&str) -> bool, out: &mut BTreeSet<String>) {
    if !may_hold_expressions(text) {
        return;
    }
    for token in tokens(text) {
        match token {
            TextToken::Text(_) | TextToken::Escaped(_) => {}
            TextToken::Malformed(raw) => {
                out.insert(raw.to_owned());
            }
            TextToken::Variable(variable) if passes_over(variable.name) => {}
            TextToken::Variable(variable) => {
                out.insert(variable.name.to_owned());
                out.insert(variable.raw.to_owned());
            }
        }
    }
}
