//! `${EXPRESSIONS}` in the text of components, as clusterctl evaluates them: in the whole text, comments included.
//!
//! The grammar and the functions are those of `drone/envsubst` v2 (<https://github.com/drone/envsubst>), quirks
//! included, behind clusterctl's own step that makes `${V}` of `${ V }`
//! (<https://github.com/kubernetes-sigs/cluster-api/blob/v1.12.10/cmd/clusterctl/client/yamlprocessor/simple_processor.go>):
//!
//! | written | comes to |
//! |---|---|
//! | `${V}` | the value; nothing where there is none, but then it is required |
//! | `${V:=d}` `${V=d}` `${V:-d}` `${V:?d}` `${V:+d}` | the value, or `d` where it is unset or empty; `d` may hold expressions |
//! | `${V,}` `${V,,}` `${V^}` `${V^^}` | first letter, all letters, in lower or upper case |
//! | `${V:p}` `${V:p:n}` `${#V}` | from byte `p` on, `n` bytes; the length in bytes |
//! | `${V/a/b}` `${V//a/b}` `${V/#a/b}` `${V/%a/b}` | first, every, leading, trailing `a` replaced |
//! | `${V#g}` `${V##g}` `${V%g}` `${V%%g}` | shortest, longest start or end that fits `g` cut off |
//! | `$$` | `$`, hence `$${V}` is the text `${V}` |
//! | `$V` | itself |
//! | `${V-d}` `${V+d}` `${}` `${V` | refused, as there |
//!
//! Every byte of the result remembers whether it came from a value ([`Substituted::values`]).

mod function;
mod glob;
mod parse;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use parse::Node;

use super::refusal::Refusal;

/// Bytes that a text may have once its variables have values.
const LONGEST: usize = capstan_yaml::limits::BYTES;

/// Values of variables by name; case counts. They are never shown: what prints this prints names.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Values(BTreeMap<String, String>);

impl Values {
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

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A text with values in it.
#[derive(Default)]
pub(crate) struct Substituted {
    pub(crate) text: String,
    /// The bytes that came from values, in order, with the variables' names.
    pub(crate) values: Vec<(Range<usize>, Arc<str>)>,
}

impl Substituted {
    fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), values: Vec::new() }
    }

    fn value(text: &str, variable: &Arc<str>) -> Self {
        let values = if text.is_empty() { Vec::new() } else { vec![(0..text.len(), Arc::clone(variable))] };
        Self { text: text.to_owned(), values }
    }

    fn push(&mut self, other: &Self) -> Result<(), Refusal> {
        let begin = self.text.len();
        if begin + other.text.len() > LONGEST {
            return Err(Refusal::new(format!(
                "with the values of its variables it has more than {LONGEST} bytes"
            )));
        }
        self.text.push_str(&other.text);
        let moved = |(range, name): &(Range<usize>, Arc<str>)| {
            (begin + range.start..begin + range.end, Arc::clone(name))
        };
        self.values.extend(other.values.iter().map(moved));
        Ok(())
    }
}

/// Why values are not put into a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// These variables have neither value nor default.
    Missing(Vec<String>),
    /// What is no expression, or cannot be computed.
    Refused(Refusal),
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Puts values into a text.
///
/// # Errors
/// What is no expression, with its line; all variables that have neither value nor default; a function that cannot be
/// computed.
pub(crate) fn substitute(text: &str, values: &Values) -> Result<Substituted, Trouble> {
    let nodes = read(text)?;
    let missing = missing(&nodes, values);
    if !missing.is_empty() {
        return Err(Trouble::Missing(missing));
    }
    let mut out = Substituted::default();
    for node in &nodes {
        evaluate(node, values, &mut out)?;
    }
    Ok(out)
}

/// The variables of a text, by name, and whether the first use of each has a default.
///
/// # Errors
/// What is no expression, with its line.
pub(crate) fn uses(text: &str) -> Result<BTreeMap<String, Fallback>, Refusal> {
    let nodes = read(text)?;
    let uses = first_uses(&nodes).into_iter();
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

fn read(text: &str) -> Result<Vec<Node>, Refusal> {
    let text = parse::without_blanks(text);
    if let Some(at) = text.find('\0') {
        return Err(Refusal::new(format!("line {} has a NUL character: take it out", line_of(&text, at))));
    }
    parse::parse(&text).map_err(|broken| {
        let line = line_of(&text, broken.at);
        Refusal::new(format!(
            "line {line} has an expression that is none to clusterctl: {}; write `$${{…}}` for the text itself",
            broken.message
        ))
    })
}

/// Line of a byte, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// Names of the variables that have no value and whose first use has no default. What stands inside of an argument is
/// never asked for, as in clusterctl.
fn missing(nodes: &[Node], values: &Values) -> Vec<String> {
    let is_missing =
        |(name, default): &(&str, Fallback)| *default == Fallback::Missing && values.get(name).is_none();
    first_uses(nodes).into_iter().filter(is_missing).map(|(name, _)| name.to_owned()).collect()
}

fn first_uses(nodes: &[Node]) -> BTreeMap<&str, Fallback> {
    let mut uses = BTreeMap::new();
    for node in nodes {
        if let Node::Function { variable, arguments, .. } = node {
            let has_default = arguments.iter().any(|argument| match argument {
                Node::Function { .. } => true,
                Node::Text(text) => !text.is_empty(),
            });
            let default = if has_default { Fallback::Given } else { Fallback::Missing };
            uses.entry(variable.as_str()).or_insert(default);
        }
    }
    uses
}

fn evaluate(node: &Node, values: &Values, out: &mut Substituted) -> Result<(), Refusal> {
    match node {
        Node::Text(text) => out.push(&Substituted::literal(text)),
        Node::Function { variable, operator, arguments } => {
            let mut evaluated = Vec::with_capacity(arguments.len());
            for argument in arguments {
                let mut one = Substituted::default();
                evaluate(argument, values, &mut one)?;
                evaluated.push(one);
            }
            let name: Arc<str> = variable.as_str().into();
            let value = values.get(variable).unwrap_or_default();
            out.push(&function::apply(operator, &name, value, &evaluated)?)
        }
    }
}

#[cfg(test)]
mod tests;
