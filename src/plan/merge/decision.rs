//! What a merge of one object comes to: decisions, each with the edits that would carry it out.

use crate::substitution::Missing;
use capstan_model::object::FieldPath;
use capstan_yaml::{Edit, Node};

/// One place where the release's value would replace the cluster's, or might.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    /// The field, as it is reported.
    pub(crate) path: FieldPath,
    /// Byte offset of the cluster's field, for its line; `None` for what is new.
    pub(crate) at: Option<usize>,
    /// The old release's value.
    pub(crate) base: Option<Node>,
    /// The cluster's value.
    pub(crate) cluster: Option<Node>,
    /// The new release's value.
    pub(crate) release: Option<Node>,
    /// What it is.
    pub(crate) kind: DecisionKind,
    /// Expressions in the release's value that have none.
    pub(crate) missing: Vec<Missing>,
    /// What takes the release's value into the cluster's document.
    pub(crate) edits: Vec<Edit>,
}

/// Kinds of decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecisionKind {
    /// Only the release changed it: the release's value.
    Take,
    /// Both changed it: the settings decide.
    Conflict,
    /// Both changed it and the types differ ([U8](crate::merge::fields#u8)): blocks.
    TypeConflict,
    /// The release changed it, and an owner rule holds the cluster's value. Of interest in a step
    /// group only.
    Held,
}

/// A list that has a key by its table, but whose items lack it or share it.
#[derive(Debug, Clone)]
pub(crate) struct UnkeyedList {
    pub(crate) path: FieldPath,
    pub(crate) at: usize,
    pub(crate) fields: Vec<String>,
}
