//! The keys of items in lists that kustomize merges.

/// The keys of a list's items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListMerge {
    /// By these fields.
    ByKey(Vec<String>),
    /// By the items themselves.
    Union,
}
