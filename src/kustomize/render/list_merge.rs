//! How kustomize merges two lists that are no replacement of one another.

/// By what the items of a list are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListMerge {
    /// By these fields.
    ByKey(Vec<String>),
    /// By the items themselves.
    Union,
}
