//! How the items of two lists are told apart where kustomize merges them.

/// By what the items of a list are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListMerge {
    /// By these fields.
    ByKey(Vec<String>),
    /// By the items themselves.
    Union,
}
