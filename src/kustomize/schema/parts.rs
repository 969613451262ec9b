//! Parts of a definition: what a value must be besides (`allOf`), at least one of several (`anyOf`), exactly one of them
//! (`oneOf`), or not (`not`).
//!
//! In a definition of Kubernetes they hold limits alone: types, fields and defaults stand in the schema around them.
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>

use super::node::Schema;

/// Parts of one kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Parts {
    /// All must hold.
    All(Box<[Schema]>),
    /// At least one must hold.
    Any(Box<[Schema]>),
    /// One must hold, and no other.
    One(Box<[Schema]>),
    /// It must not hold.
    Not(Box<Schema>),
}

/// Parts that a list holds.
type OfList = fn(Box<[Schema]>) -> Parts;

/// The lists of parts, by their keys.
pub(super) const LISTS: [(&str, OfList); 3] =
    [("allOf", Parts::All), ("anyOf", Parts::Any), ("oneOf", Parts::One)];
