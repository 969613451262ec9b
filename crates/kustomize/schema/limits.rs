//! What a definition asks of a value beyond its type: how many, how long, how large, which fields must be there.
//!
//! Deliberately absent: validation by expressions (`x-kubernetes-validations`).

use std::fmt;
use std::sync::OnceLock;

use capstan_yaml::Node;
use regex::{Regex, RegexBuilder};

/// How large a compiled pattern may be, in bytes. What is larger is not enforced.
const PATTERN_SIZE: usize = 1 << 20;

/// The limits of one value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueLimits {
    /// Fields that a mapping must have, and that the server does not fill in.
    pub required: Box<[Box<str>]>,
    /// How many items a list has.
    pub items: Range<u64>,
    /// How many fields a mapping has.
    pub properties: Range<u64>,
    /// How many characters a string has.
    pub length: Range<u64>,
    /// How large a number is.
    pub number: Range<f64>,
    /// What a string looks like.
    pub pattern: Option<Pattern>,
}

/// A least and a most, both allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range<T> {
    /// The least.
    pub least: Option<T>,
    /// The most.
    pub most: Option<T>,
}

impl<T> Default for Range<T> {
    fn default() -> Self {
        Self { least: None, most: None }
    }
}

impl<T: PartialOrd + Copy> Range<T> {
    /// Whether a value is within it.
    pub fn holds(&self, value: T) -> bool {
        self.least.is_none_or(|least| value >= least) && self.most.is_none_or(|most| value <= most)
    }
}

impl<T: fmt::Display> fmt::Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.least, &self.most) {
            (Some(least), Some(most)) => write!(f, "{least} to {most}"),
            (Some(least), None) => write!(f, "at least {least}"),
            (None, Some(most)) => write!(f, "at most {most}"),
            (None, None) => f.write_str("any number"),
        }
    }
}

/// A regular expression, compiled when it is first asked.
#[derive(Debug)]
pub struct Pattern {
    text: Box<str>,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.into(), compiled: OnceLock::new() }
    }

    /// As the definition writes it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a string has it; `None` where it cannot be compiled.
    pub fn fits(&self, text: &str) -> Option<bool> {
        let compile = || RegexBuilder::new(&self.text).size_limit(PATTERN_SIZE).build().ok();
        self.compiled.get_or_init(compile).as_ref().map(|pattern| pattern.is_match(text))
    }
}

impl Clone for Pattern {
    fn clone(&self) -> Self {
        Self::new(&self.text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl ValueLimits {
    /// Adds what the API server asks of the replicas of a kind that can be scaled, whatever the schema says:
    /// <https://github.com/kubernetes/apiextensions-apiserver/blob/master/pkg/registry/customresource/validator.go>.
    pub(super) fn add_scale(&mut self) {
        let Range { least, most } = self.number;
        let largest = f64::from(i32::MAX);
        self.number = Range {
            least: Some(least.map_or(0.0, |least| least.max(0.0))),
            most: Some(most.map_or(largest, |most| most.min(largest))),
        };
    }

    /// The limits that a schema of a definition sets; `None` where it sets none.
    pub(super) fn of(schema: &Node) -> Option<Box<Self>> {
        let number = |key: &str| schema.get(key).and_then(|node| node.value().as_f64());
        let count = |key: &str| schema.get(key).and_then(|node| node.value().as_u64());
        let counts = |least: &str, most: &str| Range { least: count(least), most: count(most) };
        let properties = schema.get("properties");
        let is_filled_in =
            |name: &str| properties.and_then(|fields| fields.get(name)?.get("default")).is_some();
        let required = schema.get("required").and_then(Node::as_sequence).unwrap_or_default();
        let limits = Self {
            required: required
                .iter()
                .filter_map(Node::as_str)
                .filter(|name| !is_filled_in(name))
                .map(Into::into)
                .collect(),
            items: counts("minItems", "maxItems"),
            properties: counts("minProperties", "maxProperties"),
            length: counts("minLength", "maxLength"),
            number: Range { least: number("minimum"), most: number("maximum") },
            pattern: schema.text_at("pattern").map(Pattern::new),
        };
        limits.if_any()
    }

    pub(super) fn if_any(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}
