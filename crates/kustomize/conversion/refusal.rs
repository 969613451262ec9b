//! Why an object has no conversion.

use capstan_model::object::FieldPath;
use capstan_yaml::{Node, Value};

/// Why an object has no conversion.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{kind} cannot be converted from {from} to {to}{}: {why}; {advice}", at(field, value.as_ref()))]
pub struct Unconvertible {
    /// The object's kind.
    pub kind: String,
    /// Its API version.
    pub from: String,
    /// The API version that is wanted.
    pub to: String,
    /// The field that prevents it; the root where it is the object as a whole.
    pub field: FieldPath,
    /// The value there.
    pub value: Option<Value>,
    /// Why, without a full stop.
    pub why: String,
    /// What to do, without a full stop.
    pub advice: String,
    /// Whether a person must decide what to write: `why` says what the field means in both versions.
    pub asks: bool,
}

fn at(field: &FieldPath, value: Option<&Value>) -> String {
    match value {
        _ if field.is_root() => String::new(),
        Some(value) if !value.is_array() && !value.is_object() => format!(" at {field} ({value})"),
        _ => format!(" at {field}"),
    }
}

/// Why there is no conversion, before it is known of what.
#[derive(Debug)]
pub(super) struct ConversionRefusal {
    pub(super) field: FieldPath,
    pub(super) value: Option<Value>,
    pub(super) why: String,
    pub(super) advice: String,
    pub(super) asks: bool,
}

impl ConversionRefusal {
    pub(super) fn new(
        field: FieldPath,
        node: &Node,
        why: impl Into<String>,
        advice: impl Into<String>,
    ) -> Box<Self> {
        Box::new(Self {
            field,
            value: Some(node.value()),
            why: why.into(),
            advice: advice.into(),
            asks: false,
        })
    }

    /// Of the object as a whole.
    pub(super) fn whole(why: impl Into<String>, advice: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            field: FieldPath::root(),
            value: None,
            why: why.into(),
            advice: advice.into(),
            asks: false,
        })
    }
}

/// Why there is no conversion: at least one reason.
#[derive(Debug)]
pub(super) struct Refusals {
    pub(super) first: Box<ConversionRefusal>,
    pub(super) others: Vec<ConversionRefusal>,
}

impl From<Box<ConversionRefusal>> for Refusals {
    fn from(first: Box<ConversionRefusal>) -> Self {
        Self { first, others: Vec::new() }
    }
}

impl Refusals {
    /// `Err` where there is one.
    pub(super) fn none(refused: Vec<ConversionRefusal>) -> Result<(), Self> {
        let mut refused = refused.into_iter();
        match refused.next() {
            Some(first) => Err(Self { first: Box::new(first), others: refused.collect() }),
            None => Ok(()),
        }
    }
}
