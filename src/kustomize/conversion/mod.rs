//! How an object gets from the API version in which it stands to another one of the same kind.
//!
//! Cluster API converts on the server: `v1beta1` objects come back as `v1beta2` with fields moved,
//! durations in seconds, maps of arguments as lists. This room says the same as a list of small steps,
//! one a field, so that they can be replayed on a value ([`apply()`]) and on a text, where comments travel
//! with their values. It may use `yaml`, `object`, `version` and `schema`; it knows nothing of merging
//! and upgrades.
//!
//! | file | idea |
//! |---|---|
//! | `apply` | steps, replayed on a value |
//! | `paths` | where fields stand before and after |
//! | `text` | steps, replayed on the text of a document |
//! | `rounds` | which steps one reading of a text is enough for |
//! | `rules` | what Cluster API changed between v1beta1 and v1beta2, type by type |
//! | `cluster_api` | its own kinds: the walk with the rules |
//! | `older` | its alpha versions |
//! | `definitions` | everybody else's kinds, where definitions show the same shape |
//!
//! *Guarantees*: the first step sets `apiVersion`; steps are done in order, and a path speaks of the
//! object as the steps before have left it; no step adds or removes an item of a list, so indexes never
//! shift. What is not understood is refused by name, never guessed.
//!
//! Deliberately absent: `status` (the controllers' own), defaulting (the server's), and downgrades.

mod apply;
mod cluster_api;
mod definitions;
mod older;
mod paths;
mod rounds;
mod rules;
#[cfg(test)]
mod tests;
mod text;

pub use apply::apply;
pub use text::Replay;
pub use text::{in_order_of, replay};

use crate::schema::{Fields, Schemas};
use capstan_model::object::{FieldPath, api_group};
use capstan_yaml::{Node, Value};

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

/// Why there is no conversion, before it is known of what.
#[derive(Debug)]
struct Refusal {
    field: FieldPath,
    value: Option<Value>,
    why: String,
    advice: String,
}

impl Refusal {
    fn new(field: FieldPath, node: &Node, why: impl Into<String>, advice: impl Into<String>) -> Box<Self> {
        Box::new(Self { field, value: Some(node.value()), why: why.into(), advice: advice.into() })
    }

    /// Of the object as a whole.
    fn whole(why: impl Into<String>, advice: impl Into<String>) -> Box<Self> {
        Box::new(Self { field: FieldPath::root(), value: None, why: why.into(), advice: advice.into() })
    }
}

/// The steps that bring `object` to `to_api_version` (`group/version`). `schemas` decide for kinds that
/// are not Cluster API's own.
///
/// # Errors
/// The first of the fields that stand in the way.
pub fn convert(
    object: &Node,
    to_api_version: &str,
    schemas: &Schemas,
) -> Result<Conversion, Box<Unconvertible>> {
    convert_or_all(object, to_api_version, schemas).map_err(|(first, _)| first)
}

/// The same, and where there is no conversion the other fields too that stand in the way, as far as one look
/// at the object shows them.
pub fn convert_or_all(
    object: &Node,
    to_api_version: &str,
    schemas: &Schemas,
) -> Result<Conversion, (Box<Unconvertible>, Vec<Unconvertible>)> {
    let text = |key: &str| object.get(key).and_then(Node::as_str).unwrap_or_default();
    let (kind, from) = (text("kind"), text("apiVersion"));
    if from == to_api_version {
        return Ok(Conversion::default());
    }
    let of = |refusal: Refusal| {
        let Refusal { field, value, why, advice } = refusal;
        let (kind, from, to) = (kind.to_owned(), from.to_owned(), to_api_version.to_owned());
        Unconvertible { kind, from, to, field, value, why, advice }
    };
    steps(object, kind, from, to_api_version, schemas)
        .map(|steps| Conversion { steps })
        .map_err(|Refusals { first, others }| (Box::new(of(*first)), others.into_iter().map(of).collect()))
}

/// Why there is no conversion: at least one reason.
#[derive(Debug)]
struct Refusals {
    first: Box<Refusal>,
    others: Vec<Refusal>,
}

impl From<Box<Refusal>> for Refusals {
    fn from(first: Box<Refusal>) -> Self {
        Self { first, others: Vec::new() }
    }
}

impl Refusals {
    /// `Err` where there is one.
    fn none(refused: Vec<Refusal>) -> Result<(), Self> {
        let mut refused = refused.into_iter();
        match refused.next() {
            Some(first) => Err(Self { first: Box::new(first), others: refused.collect() }),
            None => Ok(()),
        }
    }
}

fn steps(
    object: &Node,
    kind: &str,
    from: &str,
    to: &str,
    schemas: &Schemas,
) -> Result<Vec<ConversionStep>, Refusals> {
    let group = api_group(from);
    if group != api_group(to) || group.is_empty() {
        return Err(Refusal::whole(
            "these are no two versions of one API group",
            "write the object anew in the other group",
        )
        .into());
    }
    let mut done = Done { object: object.clone(), steps: Vec::new() };
    let named = ConversionStep::Replace { at: FieldPath::root().key("apiVersion"), value: Node::string(to) };
    done.all([named]);
    let own = |version: &str| Fields::of(kind, &format!("{group}/{version}"));
    let (Some((name, beta1)), Some((_, beta2))) = (own("v1beta1"), own("v1beta2")) else {
        definitions::same_shape(object, kind, from, to, schemas)?;
        return Ok(done.steps);
    };
    match (version(from), version(to)) {
        ("v1beta1", "v1beta2") => {}
        ("v1alpha3" | "v1alpha4", "v1beta1" | "v1beta2") => {
            done.all(older::steps(&done.object, kind));
            older::known(&done.object, name, beta1)?;
            if to.ends_with("v1beta1") {
                return Ok(done.steps);
            }
        }
        ("v1beta1" | "v1beta2", "v1alpha3" | "v1alpha4" | "v1beta1") => {
            return Err(Refusal::whole(
                "the way back to an older version needs what only the server knows, such as the versions \
                 of what is referred to",
                "bring the object to that version by hand, or stay at the newer one",
            )
            .into());
        }
        _ => {
            return Err(Refusal::whole(
                "no conversion between these versions is known",
                "bring the object to that version by hand",
            )
            .into());
        }
    }
    done.all(cluster_api::steps(&done.object, name, beta1, beta2)?);
    done.all(cluster_api::tidy(&done.object, name, beta2));
    Ok(done.steps)
}

fn version(api_version: &str) -> &str {
    api_version.split_once('/').map_or(api_version, |(_, version)| version)
}

/// Steps, and the object after them. Steps that find nothing to do are left out.
struct Done {
    object: Node,
    steps: Vec<ConversionStep>,
}

impl Done {
    fn all(&mut self, steps: impl IntoIterator<Item = ConversionStep>) {
        for step in steps {
            if apply::apply_step(&mut self.object, &step) == apply::Did::Something {
                self.steps.push(step);
            }
        }
    }
}
