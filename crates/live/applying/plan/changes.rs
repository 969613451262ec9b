//! What an apply would change.

use std::collections::BTreeMap;

use capstan_model::object::{FieldPath, ObjectId};

/// What an apply would change, by object: the answer of [`differs`](super::super::differs) where it is not empty.
/// The root alone stands for an object that is not there yet.
pub type Changes = BTreeMap<ObjectId, Vec<FieldPath>>;
