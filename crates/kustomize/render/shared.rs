//! Scalars that are one node for kustomize.
//!
//! Where a label or an annotation is new, kustomize puts one and the same YAML node at all its places in an
//! object: its metadata, its selector, its pods' labels. A later change of one of these places changes them
//! all, so a patch of `metadata.labels` changes the selector too
//! (<https://github.com/kubernetes-sigs/kustomize/blob/master/api/filters/filtersutil/setters.go>,
//! `SetEntry`, and `FieldSetter` in kyaml). It ends where kustomize writes the object or its annotations
//! again, as it does for JSON patches.

/// The node of one label or annotation, at one of its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SharedNode {
    node: u32,
    news: News,
}

/// Whether the node was set here since its places last were the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Set,
    Known,
}

impl SharedNode {
    /// A new place of a node.
    pub(super) const fn new(node: u32) -> Self {
        Self { node, news: News::Known }
    }

    /// The node, set at this place.
    pub(super) const fn set(self) -> Self {
        Self { news: News::Set, ..self }
    }

    /// Which node it is.
    pub(super) const fn node(self) -> u32 {
        self.node
    }

    /// Which node it is, where it was set at this place.
    pub(super) fn set_here(self) -> Option<u32> {
        (self.news == News::Set).then_some(self.node)
    }
}
