//! Why a cloud cannot give what is asked for.

use capstan_model::object::{FieldPath, ObjectId};

/// How much a reason counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Worth reading.
    Notable,
    /// It could not be found out.
    Unknown,
    /// It cannot be.
    Impossible,
}

/// Why a cloud cannot give what is asked for, or why that is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudReason {
    /// A CamelCase word of a closed set.
    pub kind: &'static str,
    /// How much it counts.
    pub weight: Weight,
    /// A sentence without any credential.
    pub message: String,
    /// The object that asks.
    pub object: ObjectId,
    /// The field that asks.
    pub field: FieldPath,
}
