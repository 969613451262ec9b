//! Validation rules that forbid a change (`x-kubernetes-validations` with `oldSelf`).

/// A field that must stay as it is once the object exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Immutable {
    /// The fields from where the rule stands to the field it speaks of; empty for that place itself.
    pub below: Box<[Box<str>]>,
    /// The rule's own message, where it has one.
    pub message: Option<Box<str>>,
}
