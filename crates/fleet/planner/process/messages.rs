//! Questions and answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use capstan_campaign::membership::WaveCandidate;
use capstan_kustomize::render::Folders;
use capstan_model::finding::FileError;
use capstan_model::ids::{ClusterId, ContentId, ReleaseName};
use capstan_model::source::SourceKind;
use capstan_model::tree::TreeEntry;
use capstan_plan::creation::CreatedCluster;
use capstan_plan::inventory::InventoryChange;
use capstan_plan::onboarding::Onboarding;
use capstan_plan::proposal::{ProposalId, Scope};
use capstan_plan::retirement::RetiredCluster;
use capstan_plan::settings::RepositorySettings;
use capstan_plan::templates::TemplateNames;
use capstan_plan::upgrade::{SettledConflict, Upgrade};
use capstan_plan::verbs::ClusterFrom;
use capstan_providers::Supplies;
use capstan_report::{JudgedCluster, JudgedReleases};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::super::LiveNames;
use super::tree_ref::{TreeRef, WrittenRelease};
use crate::generator::NotPossible;

/// A question. Each holds all that its answer depends on, so that any process may answer it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum PlannerRequest {
    /// What is there? Answered by [`Response::Opened`], [`Response::BadSettings`] or
    /// [`Response::ReleasesRefused`].
    Open(FleetRequest),
    /// What every source brings to every target; answered by [`Response::Planned`] for each.
    Plan {
        fleet: FleetRequest,
        /// To these targets alone.
        only: Option<BTreeSet<ClusterId>>,
        /// Not from these sources.
        without: BTreeSet<(ClusterId, SourceKind)>,
    },
    /// [`OpenFleet::create`](super::super::OpenFleet::create)
    Create {
        fleet: FleetRequest,
        /// What is wanted.
        wanted: ClusterFrom,
    },
    /// [`OpenFleet::retire`](super::super::OpenFleet::retire)
    Retire { fleet: FleetRequest, cluster: ClusterId },
    /// [`OpenFleet::candidates`](super::super::OpenFleet::candidates)
    Candidates {
        fleet: FleetRequest,
        /// Those that are beyond the limits, which are not rendered.
        unrendered: BTreeSet<ClusterId>,
    },
    /// What a merge would do.
    Judge(Judging),
    /// [`Planner::judge_releases`](super::super::Planner::judge_releases)
    JudgeReleases {
        /// The snapshot before the merge.
        before: TreeRef,
        /// The snapshot after it.
        after: TreeRef,
        /// The settings in force.
        settings: RepositorySettings,
        /// The day in UTC.
        today: Date,
    },
    /// [`Planner::inventory_change`](super::super::Planner::inventory_change)
    InventoryChange {
        /// The snapshot before the merge.
        before: TreeRef,
        /// The snapshot after it.
        after: TreeRef,
        /// The settings in force.
        settings: RepositorySettings,
        /// The day in UTC.
        today: Date,
    },
    /// [`Planner::touched`](super::super::Planner::touched)
    Touched {
        /// A snapshot.
        before: TreeRef,
        /// Another one.
        after: TreeRef,
        /// The targets.
        scopes: Vec<Scope>,
        /// Those of which the folders alone are compared.
        unrendered: BTreeSet<ClusterId>,
        /// Whether one cluster is rendered after the other, so that it is known which was worked on.
        one_by_one: bool,
    },
    /// [`Planner::touched_through_classes`](super::super::Planner::touched_through_classes)
    TouchedThroughClasses {
        /// A snapshot.
        before: TreeRef,
        /// Another one.
        after: TreeRef,
        /// The settings in force.
        settings: RepositorySettings,
    },
    /// [`Planner::made_of`](super::super::Planner::made_of)
    MadeOf {
        /// The snapshot.
        tree: TreeRef,
        clusters: Vec<Folders>,
        /// Clusters that are not rendered: only the files of their folders are returned.
        unrendered: BTreeSet<ClusterId>,
    },
    /// [`Planner::scopes`](super::super::Planner::scopes)
    Scopes {
        /// The snapshot.
        tree: TreeRef,
        /// The settings in force.
        settings: RepositorySettings,
    },
    /// [`Planner::onboard`](super::super::Planner::onboard)
    Onboard {
        /// The snapshot.
        tree: TreeRef,
        /// The day in UTC.
        today: Date,
        /// Clusters that are beyond the limits.
        unplanned: BTreeSet<ClusterId>,
    },
    /// Opens a tree under these settings and renders clusters of it, one after the other: whether that does any harm.
    Try {
        /// The snapshot.
        tree: TreeRef,
        /// The settings in force.
        settings: RepositorySettings,
        clusters: Vec<ClusterId>,
    },
}

impl PlannerRequest {
    /// Opens a fleet that was given nothing yet.
    pub fn open(tree: TreeRef, today: Date) -> Self {
        Self::Open(FleetRequest::of(tree, today))
    }

    /// The snapshot that it asks about, the newer one of two.
    const fn tree(&self) -> &TreeRef {
        match self {
            Self::Open(fleet)
            | Self::Plan { fleet, .. }
            | Self::Candidates { fleet, .. }
            | Self::Create { fleet, .. }
            | Self::Retire { fleet, .. } => &fleet.tree,
            Self::Judge(judging) => &judging.after,
            Self::JudgeReleases { after, .. }
            | Self::InventoryChange { after, .. }
            | Self::Touched { after, .. }
            | Self::TouchedThroughClasses { after, .. } => after,
            Self::MadeOf { tree, .. }
            | Self::Scopes { tree, .. }
            | Self::Onboard { tree, .. }
            | Self::Try { tree, .. } => tree,
        }
    }

    /// The same request without its day: its cost depends on what is read, and almost never on the day.
    pub fn on_no_day(&self) -> Self {
        let mut asked = self.clone();
        let today = match &mut asked {
            Self::Open(fleet)
            | Self::Plan { fleet, .. }
            | Self::Candidates { fleet, .. }
            | Self::Create { fleet, .. }
            | Self::Retire { fleet, .. } => &mut fleet.today,
            Self::Judge(judging) => &mut judging.today,
            Self::JudgeReleases { today, .. }
            | Self::InventoryChange { today, .. }
            | Self::Onboard { today, .. } => today,
            Self::Touched { .. }
            | Self::TouchedThroughClasses { .. }
            | Self::MadeOf { .. }
            | Self::Scopes { .. }
            | Self::Try { .. } => return asked,
        };
        *today = Date::ZERO;
        asked
    }

    /// The mirror that it asks about: a process that has already read that mirror answers faster.
    pub fn mirror(&self) -> Option<PathBuf> {
        Some(self.tree().stored()?.git_dir.clone())
    }
}

/// A fleet, with all that it was given.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FleetRequest {
    /// The repository.
    pub tree: TreeRef,
    /// The settings in force, where they are not the repository's own.
    pub settings: Option<RepositorySettings>,
    /// The day in UTC.
    pub today: Date,
    /// The repository that holds the releases, where that is another one.
    pub releases: Releases,
    /// Old releases.
    pub contents: Vec<(ContentId, WrittenRelease)>,
    /// Proposals that may edit names of templates in their cluster's overlay.
    pub retarget: Vec<ProposalId>,
    /// Releases that people asked for.
    pub asked: Vec<(ProposalId, ReleaseName)>,
    /// Conflicts that people settled.
    pub settled: Vec<(ProposalId, Vec<SettledConflict>)>,
    /// Proposals in which versions and images stay.
    pub rolled_back: Vec<ProposalId>,
    /// Live names of templates.
    pub names: BTreeMap<ClusterId, TemplateNames>,
    /// The components that were requested, or why they are missing.
    pub supplies: Arc<Supplies>,
}

impl FleetRequest {
    /// A fleet that was given nothing yet.
    pub fn of(tree: TreeRef, today: Date) -> Self {
        Self {
            tree,
            settings: None,
            today,
            releases: Releases::NotAsked,
            contents: Vec::new(),
            retarget: Vec::new(),
            asked: Vec::new(),
            settled: Vec::new(),
            rolled_back: Vec::new(),
            names: BTreeMap::new(),
            supplies: Arc::default(),
        }
    }
}

/// What is known of another repository's releases.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub enum Releases {
    /// Nothing, or there is no other repository.
    #[default]
    NotAsked,
    /// Its content, to be used by the repository of that name.
    Given {
        /// The content.
        tree: TreeRef,
        /// Who uses it.
        consumer: String,
    },
    /// Why it cannot be had.
    Refused(String),
}

/// What is to be judged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Judging {
    /// The snapshot before the merge.
    pub before: TreeRef,
    /// The snapshot after it.
    pub after: TreeRef,
    /// The settings in force.
    pub settings: RepositorySettings,
    /// Which clusters.
    pub clusters: Vec<ClusterId>,
    /// What is known of live names.
    pub live: BTreeMap<ClusterId, LiveNames>,
    /// The components that were requested, or why they are missing.
    pub supplies: Arc<Supplies>,
    /// Neighbours that are not rendered: they are beyond the limits.
    pub unrendered: BTreeSet<ClusterId>,
    /// The day in UTC.
    pub today: Date,
}

/// A part of an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Response {
    /// A fleet was opened. The end.
    Opened(Box<OpenedFleet>),
    /// The settings are wrong. The end.
    BadSettings(FileError),
    /// The other repository does not let this one use its releases. The end.
    ReleasesRefused(String),
    /// That cluster is begun with.
    Begun(ClusterId),
    /// What was begun with that cluster is done.
    Finished(ClusterId),
    /// What a source brings to a target; `None` where that is nothing.
    Planned(ClusterId, SourceKind, Option<Result<SentUpgrade, String>>),
    /// A cluster's verdict.
    Judged(JudgedCluster),
    /// What the rules say of releases. The end.
    JudgedReleases(Box<JudgedReleases>),
    /// The clusters that a change of the inventory concerns. The end.
    InventoryChanged(Option<Box<InventoryChange>>),
    /// Clusters. The end.
    Clusters(Vec<ClusterId>),
    /// What the waves of campaigns tell clusters apart by. The end.
    Candidates(Vec<WaveCandidate>),
    /// What a cluster is made of; those of a question come in its order.
    Made(ClusterId, Vec<TreeEntry>),
    /// Scopes. The end.
    Scopes(Vec<Scope>),
    /// First contact; nothing where there is nothing for Capstan. The end.
    Onboarded(Option<Box<Onboarding>>),
    /// A cluster that was made, or why none was. The end.
    Created(Box<Result<CreatedCluster, NotPossible>>),
    /// What deletes a cluster, or why nothing does. The end.
    Retired(Box<Result<RetiredCluster, NotPossible>>),
    /// These upgrades will not be named again.
    Forgotten(Vec<u64>),
    /// All was answered. The end.
    Done,
    /// A snapshot could not be had; earlier parts of the answer do not count. The end.
    Unavailable(String),
    /// What was begun and not answered has an answer that is too long to be said. The end.
    TooLong(String),
}

impl Response {
    /// Whether nothing follows.
    pub const fn is_end(&self) -> bool {
        match self {
            Self::Begun(_)
            | Self::Finished(_)
            | Self::Planned(..)
            | Self::Judged(_)
            | Self::Made(..)
            | Self::Forgotten(_) => false,
            Self::Opened(_)
            | Self::BadSettings(_)
            | Self::ReleasesRefused(_)
            | Self::JudgedReleases(_)
            | Self::InventoryChanged(_)
            | Self::Clusters(_)
            | Self::Candidates(_)
            | Self::Scopes(_)
            | Self::Onboarded(_)
            | Self::Created(_)
            | Self::Retired(_)
            | Self::Done
            | Self::Unavailable(_)
            | Self::TooLong(_) => true,
        }
    }
}

/// What there is in a fleet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OpenedFleet {
    /// The settings in force.
    pub settings: RepositorySettings,
    /// Its targets and where each may be written.
    pub scopes: Vec<Scope>,
    /// Those of clusters that are defined and have no folder yet.
    pub to_come: Vec<Scope>,
    /// The targets to which the inventory may bring something.
    pub valued: BTreeSet<ClusterId>,
    /// The repository that holds the releases, where the settings name another one.
    pub releases_repository: Option<String>,
    /// Old releases that clusters record and the snapshot does not hold.
    pub missing_contents: Vec<ContentId>,
}

/// An upgrade, which travels once: a fleet's plans are mostly the same from one look to the next.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum SentUpgrade {
    /// One that was not sent before; it will be called so.
    New(u64, Arc<Upgrade>),
    /// One that was.
    Same(u64),
}
