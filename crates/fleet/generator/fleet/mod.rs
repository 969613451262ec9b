//! A repository at one commit: its facts, each of them read once, and what was given for it.
//!
//! *Expected flow*: [`Fleet::open`] reads the settings and finds releases and clusters. A caller gives what the snapshot
//! does not hold ([`Fleet::supplement_mut`]). From then on it does not change, and may be asked from any thread.
//!
//! Deliberately absent: every decision. What is made of the facts is in the files beside this folder.

mod opening;
mod releases;
mod targets;

use std::sync::Arc;

use capstan_kustomize::schema::Schemas;
use capstan_model::finding::FileError;
use capstan_model::ids::{ClusterId, ContentId, ReleaseId};
use capstan_model::tree::Tree;
use capstan_plan::flux::FluxIndex;
use capstan_plan::inventory::FleetInventory;
use capstan_plan::layout::{self, Layout, TargetFolder};
use capstan_plan::policy::CoreVersion;
use capstan_plan::release::{Catalogue, ReleaseContent};
use capstan_plan::settings::RepositorySettings;
use capstan_providers::Supplies;
use jiff::civil::Date;

use super::cached_snapshot::CachedSnapshot;
use super::contents::Contents;
use super::home::Home;
use super::inputs::Conditions;
use super::plan_cache::{CachedFleet, PlanCache};
use super::refused::Refused;
use super::shared::Shared;
use super::sources::Sources;
use super::supplement::{PastRelease, Supplement};
use super::wide::Wide;

/// A repository at one commit, ready to plan.
pub struct Fleet {
    tree: Arc<dyn Tree>,
    settings: RepositorySettings,
    has_settings_file: bool,
    layout: Arc<Layout>,
    today: Date,
    /// What plans ask of the whole snapshot.
    wide: Arc<Wide>,
    releases: Home,
    shared: Arc<Shared>,
    supplement: Supplement,
    /// What is kept of earlier looks; without it every plan is made from scratch.
    known: Option<Arc<CachedFleet>>,
    /// Where that is kept, and this look at the repository.
    plan_cache: Option<(PlanCache, Arc<CachedSnapshot>)>,
}

impl Fleet {
    /// The snapshot.
    pub fn tree(&self) -> &Arc<dyn Tree> {
        &self.tree
    }

    /// The settings in force.
    pub fn settings(&self) -> &RepositorySettings {
        &self.settings
    }

    /// Whether `.capstan.yaml` exists: without it `serve` writes nothing.
    pub const fn has_settings_file(&self) -> bool {
        self.has_settings_file
    }

    /// Which folders are releases and clusters, and what looks wrong.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The day in UTC, by which holds are judged.
    pub(super) const fn today(&self) -> Date {
        self.today
    }

    /// What holds for the plans of all clusters.
    pub(super) const fn conditions(&self) -> Conditions<'_> {
        Conditions { settings: &self.settings, today: self.today }
    }

    /// What callers gave.
    pub const fn supplement(&self) -> &Supplement {
        &self.supplement
    }

    /// The same, to give more.
    pub const fn supplement_mut(&mut self) -> &mut Supplement {
        &mut self.supplement
    }

    /// What is kept of earlier looks at its releases and plans.
    pub(super) const fn known(&self) -> Option<&Arc<CachedFleet>> {
        self.known.as_ref()
    }

    /// This look at the repository, where it is kept for the next one.
    pub(super) fn look(&self) -> Option<&CachedSnapshot> {
        self.plan_cache.as_ref().map(|(_, look)| look.as_ref())
    }

    /// What plans ask of the whole snapshot.
    pub(super) fn wide(&self) -> &Wide {
        &self.wide
    }

    /// Clusters that the settings leave out, and the settings that take them in. Reads every manifest outside of
    /// clusters and releases.
    pub fn outside(&self) -> Vec<FileError> {
        let tree = self.tree.as_ref();
        let outside = layout::outside(tree, &self.layout, &self.settings);
        outside.into_iter().chain(layout::crowded(tree, &self.layout)).collect()
    }

    /// What is known of objects' fields: the repository's definitions and the built-in table.
    pub fn schemas(&self) -> &Schemas {
        self.wide.defined(self.tree.as_ref(), &self.layout).schemas()
    }

    /// The Flux Kustomizations of the snapshot.
    pub fn flux_index(&self) -> &FluxIndex {
        self.wide.flux(self.tree.as_ref(), &self.layout)
    }

    /// The version of Cluster API that the repository installs, where it says so.
    pub fn cluster_api(&self) -> Option<&CoreVersion> {
        self.wide.cluster_api(self.tree.as_ref(), &self.layout)
    }

    /// The inventory, where the settings name one.
    pub(super) fn inventory(&self) -> Option<&FleetInventory> {
        self.wide.inventory(self.tree.as_ref(), &self.settings)
    }

    /// Ids of all clusters, ordered.
    pub fn clusters(&self) -> impl Iterator<Item = &ClusterId> {
        self.layout.clusters().map(|folder| &folder.id)
    }

    /// Ids of all clusters and provider sets, ordered.
    pub fn targets(&self) -> impl Iterator<Item = &ClusterId> {
        self.layout.targets.iter().map(|folder| &folder.id)
    }
}

impl Contents for Fleet {
    fn repository(&self) -> &dyn Tree {
        self.tree.as_ref()
    }

    fn releases(&self) -> &dyn Tree {
        Self::releases_tree(self)
    }

    fn folder(&self, cluster: &ClusterId) -> Result<&TargetFolder, Refused> {
        Self::folder(self, cluster)
    }

    fn catalogue(&self) -> &Catalogue {
        Self::catalogue(self)
    }

    fn sources(&self) -> &Sources {
        &self.shared.sources
    }

    fn schemas(&self) -> &Schemas {
        Self::schemas(self)
    }

    fn provided(&self, id: &ContentId) -> Option<&ReleaseContent> {
        self.supplement.contents.get(id)
    }

    fn past(&self, id: &ReleaseId) -> Option<&PastRelease> {
        self.supplement.past.get(id)
    }

    fn supplies(&self) -> &Supplies {
        &self.supplement.supplies
    }

    fn inventory(&self) -> Option<&FleetInventory> {
        Self::inventory(self)
    }
}
