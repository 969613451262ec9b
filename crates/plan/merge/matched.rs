//! A release's documents, matched with the objects of one cluster.

use std::collections::HashMap;

use super::piece::{Form, ReleasePiece};
use super::source::ReleaseSource;

/// What a piece speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Of these objects; more than one only for a document without identity.
    Objects(Vec<usize>),
    /// Of nothing that the cluster has.
    Absent,
    /// Of one of these; which one is ambiguous.
    Ambiguous(Vec<usize>),
}

/// A source's pieces, matched with one cluster.
pub(crate) struct Matched<'a> {
    pub(crate) source: &'a ReleaseSource,
    /// The form of the release that the cluster holds.
    pub(crate) form: Form,
    /// The pieces in effect: what a ConfigMap wraps, where the cluster has that.
    pub(crate) pieces: Vec<&'a ReleasePiece>,
    /// One per piece.
    pub(crate) targets: Vec<Target>,
    /// The pieces that speak of an object of the cluster, whole ones first.
    pub(crate) of_object: HashMap<usize, Vec<&'a ReleasePiece>>,
    /// (kind, name in the release) -> name in the cluster.
    pub(crate) names: HashMap<(&'a str, &'a str), String>,
    /// Name of the release's own `Cluster` and of the cluster's, where they differ and neither is a
    /// variable; the same for namespaces.
    pub(crate) renamed: Option<(String, String)>,
    pub(crate) moved: Option<(String, String)>,
}
