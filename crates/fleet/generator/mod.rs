//! One facade over the domain's planner: a snapshot in, upgrades out. The command line and the bot
//! both call it, so that what a person sees offline is what the bot proposes.
//!
//! *Expected flow*: [`Fleet::open`] reads the settings and finds releases and clusters. [`Fleet::missing_contents`]
//! names the old releases that are not in the snapshot; a caller that finds them gives them with
//! [`Fleet::provide_content`]. Then [`Fleet::plan`], as often as wanted and from any thread. *Guarantee*: the same
//! snapshot, trees and day give the same plans.
//!
//! Deliberately absent: I/O (everything comes through [`Tree`]), clocks (the day is passed in), and
//! every decision that the domain can take.

mod bootstrap;
mod bounded;
mod cached_plan;
mod cached_snapshot;
mod campaigns;
mod classes;
mod cloud;
mod content;
mod contents;
mod creation;
mod definitions;
mod earlier_fleet;
mod elsewhere;
mod first_release;
mod fleet_inputs;
mod following;
mod gather;
mod infer;
mod inputs;
mod instructions;
mod inventory_change;
mod judge;
pub mod made_folders;
mod migration;
mod moving;
mod not_possible;
mod onboarding;
mod opening;
mod plan;
mod plan_cache;
mod plan_cached;
mod plan_each;
mod planning;
mod provider_objects;
mod read_beside;
mod read_set;
mod record;
mod refused;
mod releases;
mod render_reads;
mod renders;
mod retirement;
mod service_step;
mod services;
mod sources;
mod step_facts;
mod trial;
mod valued;
mod valued_plan;
mod wide;
mod written_inputs;
mod written_tree;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use capstan_kustomize::render::{self, Folders, RenderedFolder};
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::{FileError, Place, Severity, rules};
use capstan_model::ids::{ClusterId, ContentId, ReleaseId, ReleaseName};
use capstan_model::kinds::is_class;
use capstan_model::source::SourceKind;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::cluster::Cluster;
use capstan_plan::flux::FluxIndex;
use capstan_plan::inventory::FleetInventory;
use capstan_plan::layout::{self, Layout, TargetFolder};
use capstan_plan::merge::AppliedBy;
use capstan_plan::policy::{self, CoreVersion, InstalledProviders};
use capstan_plan::release::{Catalogue, ReleaseContent};
use capstan_plan::settings::{
    ComponentsRecord, Deletion, EffectiveSettings, REPOSITORY_FILE, RepositorySettings, RuleIds,
};
use capstan_plan::templates::{self, NamedTemplate, TemplateNames};
use capstan_plan::upgrade::{Overwrite, Retarget, Upgrade};
use capstan_providers::Supplies;
use jiff::civil::Date;

pub(crate) use content::Content;
pub use first_release::{FirstReleaseFailed, MadeRelease};
pub use infer::Inferred;
pub use instructions::Instructions;
pub use moving::{MovedClusters, SettingsAfterMove, move_clusters, uncommitted};
pub use not_possible::NotPossible;
pub use onboarding::{onboard, templates_alone};
pub use plan::{Planned, PlannedWithReasons, Summary, UpgradeWithReasons};
pub use plan_cache::{PlanCache, PlanCacheLimits, PlanCounts, SnapshotView};
pub use plan_each::limit_threads;
pub use read_beside::read_beside;
pub use refused::Refused;
pub use releases::{PastRelease, consents};
pub use render_reads::{NoWatch, RenderReads, WatchRenders};
pub use services::ClusterServices;
pub use written_inputs::{Misread, WrittenInputs};
pub(crate) use written_tree::WrittenTree;

use cached_snapshot::CachedSnapshot;
use instructions::AllInstructions;
use plan_cache::CachedFleet;
use planning::Contents;
use releases::Home;
use sources::Sources;
use wide::Wide;

/// A repository at one commit, ready to plan.
pub struct Fleet {
    tree: Arc<dyn Tree>,
    settings: RepositorySettings,
    has_settings_file: bool,
    layout: Arc<Layout>,
    shared: Arc<Shared>,
    /// What is kept of earlier looks; without it every plan is made from scratch.
    known: Option<Arc<CachedFleet>>,
    /// Where that is kept, and this look at the repository.
    plan_cache: Option<(PlanCache, Arc<CachedSnapshot>)>,
    /// Content of old releases that the snapshot itself does not hold.
    provided: BTreeMap<ContentId, ReleaseContent>,
    /// Releases that are in no folder any more, from history.
    past: BTreeMap<ReleaseId, PastRelease>,
    releases: Home,
    /// What people asked of upgrades.
    instructions: AllInstructions,
    /// What may be overwritten in clusters whose release is unknown, beside what the settings say.
    overwrite: Overwrite,
    /// Clusters that are not read for others.
    unread: BTreeSet<ClusterId>,
    /// The live names of templates, by cluster.
    names: BTreeMap<ClusterId, Arc<TemplateNames>>,
    /// The components of providers that were requested, or why they are missing.
    supplies: Arc<Supplies>,
    /// What plans ask of the whole snapshot.
    wide: Arc<Wide>,
    today: Date,
}

/// Whether something was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Here,
    Missing,
}

/// What the plans of all clusters share.
#[derive(Default)]
struct Shared {
    /// Read when first asked for: who renders a cluster does not want to know its release.
    catalogue: OnceLock<Catalogue>,
    sources: Sources,
}

impl Shared {
    fn new(catalogue: Catalogue, sources: Sources) -> Self {
        Self { catalogue: OnceLock::from(catalogue), sources }
    }
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

    /// Clusters that the settings leave out, and the settings that take them in. Reads every manifest outside of
    /// clusters and releases.
    pub fn outside(&self) -> Vec<FileError> {
        let tree = self.tree.as_ref();
        let outside = layout::outside(tree, self.layout(), &self.settings);
        outside.into_iter().chain(layout::crowded(tree, self.layout())).collect()
    }

    /// The releases that could be read, and those that could not.
    pub fn catalogue(&self) -> &Catalogue {
        self.shared.catalogue.get_or_init(|| match self.releases {
            Home::Here => Catalogue::read(self.tree.as_ref(), &self.layout),
            Home::Elsewhere(_) | Home::Missing(_) => Catalogue::default(),
        })
    }

    /// What is known of objects' fields: the repository's definitions and the built-in table.
    pub fn schemas(&self) -> &Schemas {
        self.wide.defined(self.tree.as_ref(), &self.layout).schemas()
    }

    /// Ids of all clusters, ordered.
    pub fn clusters(&self) -> impl Iterator<Item = &ClusterId> {
        self.layout.clusters().map(|folder| &folder.id)
    }

    /// Ids of all clusters and provider sets, ordered.
    pub fn targets(&self) -> impl Iterator<Item = &ClusterId> {
        self.layout.targets.iter().map(|folder| &folder.id)
    }

    /// Contents that these clusters record of their old release, and of the components of their values, and that the
    /// snapshot does not have there now.
    /// Clusters that cannot be read are passed over: planning them says why.
    pub fn missing_contents<'a>(
        &self,
        clusters: impl IntoIterator<Item = &'a ClusterId>,
    ) -> BTreeSet<ContentId> {
        let records = clusters.into_iter().filter_map(|id| self.record_of(id));
        records
            .flat_map(|record| {
                let components: Vec<ContentId> = record.moved_components(self.tree.as_ref()).collect();
                record.content.into_iter().chain(components)
            })
            .filter(|content| self.find_content(content) == Presence::Missing)
            .collect()
    }

    /// Whether the content of an old release is at hand.
    fn find_content(&self, content: &ContentId) -> Presence {
        let is_here = self.catalogue().find_content(content).is_some() || self.provided.contains_key(content);
        if is_here { Presence::Here } else { Presence::Missing }
    }

    /// Releases that these clusters record and that are in no folder, for clusters whose record does not
    /// lead to their content by its id either: their history may still have them.
    pub fn missing_releases<'a>(
        &self,
        clusters: impl IntoIterator<Item = &'a ClusterId>,
    ) -> BTreeSet<ReleaseId> {
        let recorded = clusters.into_iter().filter_map(|id| {
            let record = self.record_of(id)?;
            let is_known =
                record.content.is_some_and(|content| self.find_content(&content) == Presence::Here);
            record.release.filter(|_| !is_known)
        });
        let unreadable = |id: &ReleaseId| self.catalogue().unreadable().iter().any(|(other, _)| other == id);
        recorded.filter(|id| self.catalogue().find(id).is_none() && !unreadable(id)).collect()
    }

    /// Gives one of [`Self::missing_contents`].
    pub fn provide_content(&mut self, id: ContentId, content: ReleaseContent) {
        self.provided.insert(id, content);
    }

    /// Gives the live names of the clusters' templates, as reconcilers reported them: plans of claimed clusters
    /// say with them which machines roll.
    pub fn know_names(&mut self, names: BTreeMap<ClusterId, Arc<TemplateNames>>) {
        self.names = names;
    }

    /// Gives the requested components that provider sets lack, or why they are missing: see `Upgrade::unasked`.
    pub fn provide_components(&mut self, supplies: Arc<Supplies>) {
        self.supplies = supplies;
    }

    /// Has these clusters not read for what others want to know of them, as if they could not be: they are beyond limits.
    pub fn leave_unread(&mut self, clusters: impl IntoIterator<Item = ClusterId>) {
        self.unread.extend(clusters);
    }

    /// What is known of a claimed cluster's live names.
    fn live_names(&self, cluster: &ClusterId) -> Option<&Arc<TemplateNames>> {
        self.names.get(cluster)
    }

    /// Says what people ask of the upgrade that sources of a kind bring to a cluster, beside what they asked before.
    pub fn instruct(&mut self, kind: SourceKind, cluster: ClusterId, change: impl FnOnce(&mut Instructions)) {
        self.instructions.change(kind, cluster, change);
    }

    fn instructions(&self, kind: &SourceKind, cluster: &ClusterId) -> &Instructions {
        self.instructions.of(kind, cluster)
    }

    /// The release that people asked for.
    fn asked_release(&self, cluster: &ClusterId) -> Option<&ReleaseName> {
        self.instructions(&SourceKind::RELEASE, cluster).release.as_ref()
    }

    /// Says what may be overwritten in clusters whose release is unknown.
    pub fn allow_overwriting(&mut self, overwrite: Overwrite) {
        self.overwrite = overwrite;
    }

    /// Whether the upgrade of a cluster to a release may edit names of templates in its overlay.
    pub fn retarget(&self, cluster: &ClusterId) -> Retarget {
        self.instructions(&SourceKind::RELEASE, cluster).retarget
    }

    /// A cluster's files, settings and current release.
    ///
    /// # Errors
    /// A file of it that cannot be read.
    pub fn read_cluster(&self, id: &ClusterId) -> Result<Cluster, Refused> {
        Ok(Cluster::read(self.tree.as_ref(), self.folder(id)?)?)
    }

    /// What may be deleted from a cluster, without reading its manifests.
    ///
    /// # Errors
    /// A `capstan.yaml` that cannot be read.
    pub fn tombstones(&self, id: &ClusterId) -> Result<Deletion, Refused> {
        let settings = Cluster::settings_of(self.tree.as_ref(), self.folder(id)?)?;
        Ok(settings.map(|settings| settings.delete).unwrap_or_default())
    }

    /// What a provider set records of its components, by clusterctl's label.
    ///
    /// # Errors
    /// A `capstan.yaml` that cannot be read.
    pub fn recorded_components(&self, id: &ClusterId) -> Result<BTreeMap<String, ComponentsRecord>, Refused> {
        let settings = Cluster::settings_of(self.tree.as_ref(), self.folder(id)?)?;
        Ok(settings.map(|settings| settings.components).unwrap_or_default())
    }

    /// What the settings say of a cluster.
    ///
    /// # Errors
    /// Two management clusters claim it.
    pub fn effective(&self, cluster: &Cluster) -> Result<EffectiveSettings, Refused> {
        let settings = &self.settings;
        let target = cluster.folder.target();
        Ok(settings.for_target(&target, cluster.settings.as_ref(), cluster.overlay_settings.as_ref())?)
    }

    /// A cluster's objects, base and overlay together.
    ///
    /// # Errors
    /// What cannot be rendered, with its place.
    pub fn render(&self, id: &ClusterId) -> Result<RenderedFolder, Refused> {
        let mut rendered = render::render(self.tree.as_ref(), &self.folders(id)?)?;
        provider_objects::in_served_version(&mut rendered)?;
        Ok(rendered)
    }

    /// [`Self::render`]; what it reads is kept.
    ///
    /// # Errors
    /// As [`Self::render`].
    pub fn render_remembering(&self, id: &ClusterId, reads: &RenderReads) -> Result<RenderedFolder, Refused> {
        Ok(reads.render(self.tree.as_ref(), &self.folders(id)?)?)
    }

    /// The folders that a cluster is rendered from.
    ///
    /// # Errors
    /// There is no such cluster.
    pub fn folders(&self, id: &ClusterId) -> Result<Folders, Refused> {
        Ok(policy::folders_of(self.folder(id)?))
    }

    /// Who applies a cluster.
    ///
    /// # Errors
    /// Two management clusters claim it.
    pub fn applied_by(&self, id: &ClusterId) -> Result<AppliedBy, Refused> {
        Ok(match self.layout.claimed_by(id, &self.settings)? {
            Some(_) => AppliedBy::Reconciler,
            None => AppliedBy::Others,
        })
    }

    /// Gives the templates of a claimed cluster's render the names under which they are applied; does
    /// nothing to a cluster that others apply, which Git names to the letter.
    ///
    /// # Errors
    /// Two management clusters claim it.
    pub fn name_templates(
        &self,
        id: &ClusterId,
        rendered: &mut RenderedFolder,
        names: &TemplateNames,
    ) -> Result<Vec<NamedTemplate>, Refused> {
        if self.applied_by(id)? == AppliedBy::Others {
            return Ok(Vec::new());
        }
        let classes: BTreeSet<String> = rendered
            .objects
            .iter()
            .filter(|object| is_class(&object.id))
            .map(|object| object.id.name.clone())
            .collect();
        // Asking who uses a class reads the whole fleet.
        let shared = if classes.is_empty() {
            Vec::new()
        } else {
            self.used_elsewhere(id, classes.iter().map(String::as_str))
        };
        Ok(templates::name_templates(&mut rendered.objects, names, &shared))
    }

    /// The Flux Kustomizations of the snapshot.
    pub fn flux_index(&self) -> &FluxIndex {
        self.wide.flux(self.tree.as_ref(), &self.layout)
    }

    /// The version of Cluster API that the repository installs, where it says so.
    pub fn cluster_api(&self) -> Option<&CoreVersion> {
        self.wide.cluster_api(self.tree.as_ref(), &self.layout)
    }

    /// The releases of providers that the repository installs, where it says so.
    pub(super) fn installed(&self) -> &InstalledProviders {
        self.wide.installed(self.tree.as_ref(), &self.layout)
    }

    fn folder(&self, id: &ClusterId) -> Result<&TargetFolder, Refused> {
        self.layout.target(id.as_str()).ok_or_else(|| Refused {
            message: format!("there is no cluster or provider set `{id}`"),
            place: None,
        })
    }
}

impl Contents for Fleet {
    fn repository(&self) -> &dyn Tree {
        self.tree.as_ref()
    }

    fn releases(&self) -> &dyn Tree {
        self.releases_tree()
    }

    fn folder(&self, cluster: &ClusterId) -> Result<&TargetFolder, Refused> {
        self.folder(cluster)
    }

    fn catalogue(&self) -> &Catalogue {
        self.catalogue()
    }

    fn sources(&self) -> &Sources {
        &self.shared.sources
    }

    fn schemas(&self) -> &Schemas {
        self.schemas()
    }

    fn provided(&self, id: &ContentId) -> Option<&ReleaseContent> {
        self.provided.get(id)
    }

    fn past(&self, id: &ReleaseId) -> Option<&PastRelease> {
        self.past.get(id)
    }

    fn supplies(&self) -> &Supplies {
        &self.supplies
    }

    fn inventory(&self) -> Option<&FleetInventory> {
        self.wide.inventory(self.tree.as_ref(), &self.settings)
    }
}

/// Whether an upgrade has findings of severity error, or conflicts that block (exit code 3).
pub fn errors_stand(upgrade: &Upgrade) -> bool {
    !upgrade.blocked.is_empty()
        || upgrade.findings.iter().any(|finding| finding.severity() == Severity::Error)
        || upgrade.conflicts.iter().any(|conflict| conflict.blocks)
}

fn read_settings(tree: &dyn Tree) -> Result<(RepositorySettings, bool), FileError> {
    let failed = |file: RepoPath, message: String| {
        FileError::new(rules::INVALID_SETTINGS, Place::whole(file), message)
    };
    let path =
        RepoPath::parse(REPOSITORY_FILE).map_err(|error| failed(RepoPath::root(), error.to_string()))?;
    let Some(entry) = tree.entry(&path) else {
        return Ok((RepositorySettings::default(), false));
    };
    let bytes = tree.read(entry).map_err(|error| failed(path.clone(), error.reason))?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| failed(path.clone(), format!("is not UTF-8 ({error})")))?;
    Ok((RepositorySettings::read(&path, text, &RuleIds::of_catalogue())?, true))
}
