//! `${EXPRESSIONS}` in the text of components, as clusterctl evaluates them: in the whole text, comments included.
//!
//! The grammar and the functions are those of [`capstan_envsubst`]; here stand the values of a provider's variables, which
//! of them are required, and what is said of a text that is refused.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use capstan_envsubst::{Dialect, Evaluator, TextBounds, TextBudget, TextToken, Value};

use super::refusal::Refusal;

/// clusterctl's, of texts as long as YAML may be.
const DIALECT: Dialect = Dialect {
    bounds: TextBounds { text: capstan_yaml::limits::BYTES, ..Dialect::CLUSTERCTL.bounds },
    ..Dialect::CLUSTERCTL
};

/// A text with values in it, and which bytes came from which variable.
pub(crate) type Substituted = capstan_envsubst::Substituted<Arc<str>>;

/// Values of variables by name; case counts. They are never shown: what prints this prints names.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct VariableValues(BTreeMap<String, String>);

impl VariableValues {
    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Sets a value.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// Takes what these have and it has not.
    pub fn fill(&mut self, others: &Self) {
        for (name, value) in &others.0 {
            self.0.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }

    /// Names and values, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for VariableValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Why values are not put into a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VariableError {
    /// These variables have neither value nor default.
    Missing(Vec<String>),
    /// It is not an expression, or cannot be computed.
    Refused(Refusal),
}

impl From<Refusal> for VariableError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Puts values into a text.
///
/// # Errors
/// An invalid expression, with its line; all variables that have neither value nor default; a function that
/// cannot be computed.
pub(crate) fn substitute(text: &str, values: &VariableValues) -> Result<Substituted, VariableError> {
    let tokens = read(text)?;
    let missing = missing(&tokens, values);
    if !missing.is_empty() {
        return Err(VariableError::Missing(missing));
    }
    let value = |name: &str| values.get(name).map_or(Value::Unset, Value::Set);
    let mut out = capstan_envsubst::Substituted::default();
    Evaluator::new(&DIALECT, &value, &TextBudget::of(&DIALECT))
        .tokens(&tokens, &mut out)
        .map_err(|refused| Refusal::new(refused.to_string()))?;
    Ok(out.named())
}

/// The variables of a text, by name, and whether the first use of each has a default.
///
/// # Errors
/// An invalid expression, with its line.
pub(crate) fn uses(text: &str) -> Result<BTreeMap<String, Fallback>, Refusal> {
    let tokens = read(text)?;
    let uses = first_uses(&tokens).into_iter();
    Ok(uses.map(|(name, default)| (name.to_owned(), default)).collect())
}

/// Whether a variable has a default where it is used first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fallback {
    /// It has.
    Given,
    /// It has none, or an empty one.
    Missing,
}

fn read(text: &str) -> Result<Vec<TextToken<'_>>, Refusal> {
    if let Some(at) = text.find('\0') {
        return Err(Refusal::new(format!("line {} has a NUL character: remove it", line_of(text, at))));
    }
    capstan_envsubst::read(text, &DIALECT).map_err(|broken| {
        let line = line_of(text, broken.at);
        Refusal::new(format!(
            "line {line} has an expression that clusterctl does not understand: {}; write `$${{…}}` for the text itself",
            broken.message
        ))
    })
}

/// Line of a byte, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// Names of the variables that have no value and whose first use has no default. Variables inside of an
/// argument are never required, as in clusterctl.
fn missing(tokens: &[TextToken<'_>], values: &VariableValues) -> Vec<String> {
    let is_missing =
        |(name, default): &(&str, Fallback)| *default == Fallback::Missing && values.get(name).is_none();
    first_uses(tokens).into_iter().filter(is_missing).map(|(name, _)| name.to_owned()).collect()
}

fn first_uses<'t>(tokens: &[TextToken<'t>]) -> BTreeMap<&'t str, Fallback> {
    let mut uses = BTreeMap::new();
    for token in tokens {
        if let TextToken::Variable(variable) = token {
            let default = if variable.has_arguments() { Fallback::Given } else { Fallback::Missing };
            uses.entry(variable.name).or_insert(default);
        }
    }
    uses
}

#[cfg(test)]
mod tests;
