//! How an object gets from the API version in which it stands to another one of the same kind.
//!
//! Cluster API converts on the server: `v1beta1` objects come back as `v1beta2` with fields moved,
//! durations in seconds, maps of arguments as lists. This room says the same as a list of small steps,
//! one a field, so that they can be replayed on a value ([`apply`]) and on a text, where comments travel
//! with their values. It may use `yaml`, `object`, `version` and `schema`; it knows nothing of merging
//! and upgrades.
//!
//! | file | idea |
//! |---|---|
//! | `apply` | steps, replayed on a value |
//!
//! *Guarantees*: the first step sets `apiVersion`; steps are done in order, and a path speaks of the
//! object as the steps before have left it; no step adds or removes an item of a list, so indexes never
//! shift. What is not understood is refused by name, never guessed.
//!
//! Deliberately absent: `status` (the controllers' own), defaulting (the server's), and downgrades.

mod apply;

pub use apply::apply;

use crate::object::{FieldPath, api_group};
use crate::schema::Schemas;
use crate::yaml::{Node, Value};

/// What brings an object from the API version in which it stands to another one, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversion {
    /// The steps; none where the object stands in that version already.
    pub steps: Vec<ConversionStep>,
}

/// One step. Mappings that a step leaves empty go with it; those that it needs are made.
#[derive(Debug, Clone, PartialEq)]
pub enum ConversionStep {
    /// A value goes elsewhere as it is. Where both parents are one mapping, the field is renamed.
    Move {
        /// Where it stands.
        from: FieldPath,
        /// Where it goes; nothing stands there.
        to: FieldPath,
    },
    /// A value is spelled otherwise in place.
    Replace {
        /// Where it stands.
        at: FieldPath,
        /// How it is spelled from now on.
        value: Node,
    },
    /// A value goes, since the version has no place for it and it means nothing.
    Remove {
        /// Where it stands.
        at: FieldPath,
    },
    /// A value comes.
    Add {
        /// Where it goes; nothing stands there.
        at: FieldPath,
        /// What.
        value: Node,
    },
}

/// Why an object has no conversion.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{kind} cannot be converted from {from} to {to}{}: {why}; {advice}", at(field, value.as_ref()))]
pub struct Unconvertible {
    /// The object's kind.
    pub kind: String,
    /// The API version in which it stands.
    pub from: String,
    /// The API version that is wanted.
    pub to: String,
    /// The field that stands in the way; the root where it is the object as a whole.
    pub field: FieldPath,
    /// What stands there.
    pub value: Option<Value>,
    /// Why, without a full stop.
    pub why: String,
    /// What to do, without a full stop.
    pub advice: String,
}

fn at(field: &FieldPath, value: Option<&Value>) -> String {
    match value {
        _ if field.is_root() => String::new(),
        Some(value) if !value.is_array() && !value.is_object() => format!(" at {field} ({value})"),
        _ => format!(" at {field}"),
    }
}

/// The steps that bring `object` to `to_api_version` (`group/version`). `schemas` decide for kinds that
/// are not Cluster API's own.
pub fn convert(
    object: &Node,
    to_api_version: &str,
    schemas: &Schemas,
) -> Result<Conversion, Box<Unconvertible>> {
    let _ = schemas;
    let text = |key: &str| object.get(key).and_then(Node::as_str).unwrap_or_default();
    let (kind, from) = (text("kind"), text("apiVersion"));
    if from == to_api_version {
        return Ok(Conversion::default());
    }
    let refused = |why: &str, advice: &str| {
        Err(Box::new(Unconvertible {
            kind: kind.to_owned(),
            from: from.to_owned(),
            to: to_api_version.to_owned(),
            field: FieldPath::root(),
            value: None,
            why: why.to_owned(),
            advice: advice.to_owned(),
        }))
    };
    if api_group(from) != api_group(to_api_version) {
        return refused("these are two API groups, so two objects", "move it by hand");
    }
    refused("no conversion between these versions is known", "bring the object to that version by hand")
}
