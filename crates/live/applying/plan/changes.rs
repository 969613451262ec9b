//! What an apply would change.

use std::collections::BTreeMap;

use capstan_model::object::{FieldPath, ObjectId};

/// What an apply would change, by object: the answer of [`differs`](super::super::differs) if it is not empty. The root
/// alone means that the object does not exist yet.
pub type Changes = BTreeMap<ObjectId, Vec<FieldPath>>;
