//! What rules judge.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::cluster_api::CoreVersion;
use crate::boundary::Surroundings;
use crate::flux::PostBuild;
use crate::merge::AppliedBy;
use crate::release::Release;
use capstan_kustomize::render::{Folders, RenderedFolder, RenderedObject};
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::Place;

/// What rules judge: one cluster before and after, as plain values that the caller gathers.
#[derive(Debug, Clone)]
pub struct PolicyFacts<'a> {
    /// Where the cluster's files lie.
    pub folders: &'a Folders,
    /// The cluster as it is; empty for a cluster that is new.
    pub before: &'a RenderedFolder,
    /// The cluster as it would be.
    pub after: &'a RenderedFolder,
    /// What the repository applies inside the cluster.
    pub inside: &'a [RenderedObject],
    /// Who applies it.
    pub applied_by: AppliedBy,
    /// What brought the change.
    pub occasion: Occasion,
    /// The releases, where the change goes from one to another.
    pub release: Option<ReleaseStep<'a>>,
    /// What is known of objects' fields.
    pub schemas: &'a Schemas,
    /// The version of Cluster API that manages the cluster, where that is known.
    pub cluster_api: Option<CoreVersion>,
    /// What the cluster's folder is held apart by; `None` of a provider set that others apply.
    pub boundary: Option<Surroundings<'a>>,
    /// Who gives its variables their values, where somebody looked.
    pub values: Option<ValueGivers<'a>>,
    /// The day (UTC) on which it is judged.
    pub today: Date,
}

/// Who could give a cluster's variables their values.
#[derive(Debug, Clone, Copy)]
pub struct ValueGivers<'a> {
    /// The cluster's `variables:`; other tools that apply the cluster may use them.
    pub own: &'a BTreeMap<String, String>,
    /// Flux, as far as the repository shows it.
    pub flux: &'a PostBuild,
}

/// What brought a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// An upgrade that Capstan plans.
    Upgrade,
    /// Anything in a pull request or between two revisions.
    Revision,
}

/// From one release to another.
#[derive(Debug, Clone)]
pub struct ReleaseStep<'a> {
    /// The release left; `None` where it is unknown.
    pub from: Option<&'a Release>,
    /// The release entered.
    pub to: &'a Release,
    /// Where the cluster names its release.
    pub place: Option<Place>,
}
