//! The reconciler's own custom resources as the API server has them, and the events that people see on them.

use std::fmt;

use crate::resources::{FleetSpec, FleetStatus, ManagedClusterSpec, ManagedClusterStatus};

/// A Fleet's namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FleetKey {
    pub namespace: String,
    pub name: String,
}

impl fmt::Display for FleetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A ManagedCluster's namespace (its Fleet's) and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterKey {
    pub namespace: String,
    pub name: String,
}

impl fmt::Display for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A `Fleet` as the API server has it.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetRecord {
    /// Namespace and name.
    pub key: FleetKey,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// What is asked.
    pub spec: FleetSpec,
    /// What was written last.
    pub status: FleetStatus,
    /// Whether it carries the annotation `capstan.dev/reconcile`.
    pub reconcile_requested: bool,
}

/// A `ManagedCluster` as the API server has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterRecord {
    /// Namespace and name.
    pub key: ClusterKey,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// What is asked.
    pub spec: ManagedClusterSpec,
    /// What was written last.
    pub status: ManagedClusterStatus,
    /// Whether it carries the annotation `capstan.dev/reconcile`.
    pub reconcile_requested: bool,
}

/// An event for people who look at a ManagedCluster or a Fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Whether all is well.
    pub tone: Tone,
    /// A CamelCase word of a closed set: `Applied`, `Refused`, `RolloutDone`.
    pub reason: &'static str,
    /// One or two sentences.
    pub message: String,
}

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Normal,
    Warning,
}
