//! What one cluster's plan may depend on, all of it, as a value.
//!
//! *Guarantee*: a plan is made from a [`PlanInputs`] and from the contents that its ids name, and from nothing else
//! ([`super::planning`] has no other way to ask): so equal inputs have equal plans, and a plan that is kept with its
//! inputs may be used again where the same questions have the same answers. *Expected flow*: the fleet answers the
//! questions of one plan ([`super::gather`]), the plan is made, both are [kept](super::plan_cache); at the next look
//! [`inputs_now`](super::answers::inputs_now) answers them again, and old and new inputs are compared whole.
//!
//! Inputs name files, folders and releases by their Git ids. [`super::written_inputs`] adds their contents, for a
//! plan that is made in another process.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::ids::{ClusterId, ContentId, ReleaseId, ReleaseName};
use capstan_model::source::SourceKind;
use capstan_model::tree::{RepoPath, Tree, TreeId};
use capstan_plan::classes::Classes;
use capstan_plan::flux::PostBuild;
use capstan_plan::layout::ReleaseFolder;
use capstan_plan::policy::CoreVersion;
use capstan_plan::provider_set::ManagedWorkload;
use capstan_plan::settings::RepositorySettings;
use capstan_plan::templates::TemplateNames;
use capstan_plan::upgrade::{Overwrite, Retarget, SettledConflict, Versions};
use capstan_providers::MissingComponents;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::definitions::Definitions;
use super::read_set::ReadSet;

/// What holds for the plans of all clusters.
#[derive(Clone, Copy)]
pub(super) struct Conditions<'a> {
    pub(super) settings: &'a RepositorySettings,
    /// In UTC.
    pub(super) today: Date,
}

/// What the plans of all clusters of a fleet are given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FleetInputs {
    /// The settings in force.
    pub(super) settings: RepositorySettings,
    /// The day in UTC, by which holds are judged.
    pub(super) today: Date,
    /// The releases that there are.
    pub(super) releases: Vec<ReleaseFolder>,
    /// The root of the repository that holds them, where that is another one.
    pub(super) elsewhere: Option<TreeId>,
    /// What was read for them.
    pub(super) looked: ReadSet,
    /// The files that define kinds.
    pub(super) definitions: Arc<Definitions>,
}

/// What one cluster's plan is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlanInputs {
    /// What it shares with all others.
    pub(super) fleet: Arc<FleetInputs>,
    pub(super) cluster: ClusterId,
    /// Its folder, with all below it.
    pub(super) folder: Option<TreeId>,
    /// The release that was requested by name.
    pub(super) asked: Option<ReleaseName>,
    /// The release that it comes from.
    pub(super) old: Option<OldReleaseInput>,
    /// What kind of source would bring the change.
    pub(super) brought_by: SourceKind,
    /// The components that its old render was made with, and whether each is at hand.
    pub(super) components: Vec<OldComponentInput>,
    /// Tells what the inventory says of it from anything else; `None` where it says nothing.
    pub(super) said: Option<String>,
    /// What is gathered only if it is offered a release.
    pub(super) step: Option<StepInputs>,
}

/// What is known of the release that a cluster comes from, beside the releases that there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OldReleaseInput {
    pub(super) release: ReleaseId,
    /// Its content, where the cluster records that.
    pub(super) content: Option<ContentId>,
    /// Whether that content was found outside of the releases that there are.
    pub(super) provided: Provided,
    /// Its folder as history last had it, and where that was found.
    pub(super) past: Option<(TreeId, String)>,
}

/// A component as it was when a cluster's base was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OldComponentInput {
    pub(super) path: RepoPath,
    pub(super) tree: TreeId,
    /// Whether it is still so in the snapshot.
    pub(super) is_current: bool,
    /// Whether it was found elsewhere.
    pub(super) provided: Provided,
}

/// Whether the content of an old release was found and given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Provided {
    Yes,
    No,
}

/// What a plan is given that goes to a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StepInputs {
    /// What Flux substitutes in the cluster; `None` where no release of the plan has a variable.
    pub(super) flux: Option<PostBuild>,
    /// The classes of the cluster's base, and whether Clusters of other folders use them.
    pub(super) own_classes: BTreeMap<String, Used>,
    /// Whether names of templates in its overlay may be edited.
    pub(super) retarget: Retarget,
    /// Its conflicts that people settled.
    pub(super) settled: Vec<SettledConflict>,
    /// Whether its versions and images move.
    pub(super) versions: Versions,
    /// What may be overwritten where its release is unknown.
    #[serde(default)]
    pub(super) overwrite: Overwrite,
    /// The version of Cluster API that the repository installs.
    pub(super) cluster_api: Option<CoreVersion>,
    /// The live names of its templates.
    pub(super) names: Option<Arc<TemplateNames>>,
    /// Of a provider set: the clusters that its management cluster runs.
    pub(super) workloads: Vec<ManagedWorkload>,
    /// Of a provider set: all clusters that its management cluster runs.
    pub(super) claimed: Vec<ClusterId>,
    /// Of a provider set: the components that it lacks, each with a digest of the answer; `None` if nobody asked for
    /// them.
    pub(super) components: Vec<(MissingComponents, Option<String>)>,
    /// What it reads outside of its folder.
    pub(super) outside: ReadSet,
    /// What classes are that its Clusters name and its folder lacks.
    pub(super) classes: Classes,
}

/// Whether a class is used from other folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Used {
    Elsewhere,
    Here,
}

impl FleetInputs {
    /// What holds for the plans of all clusters.
    pub(super) const fn conditions(&self) -> Conditions<'_> {
        Conditions { settings: &self.settings, today: self.today }
    }

    /// Whether the same is given now. What reading the releases would read is compared with their snapshot.
    pub(super) fn is_still(&self, now: &Self, releases: &dyn Tree) -> bool {
        let Self { settings, today, releases: known, elsewhere, looked, definitions } = self;
        *today == now.today
            && *settings == now.settings
            && *elsewhere == now.elsewhere
            && *known == now.releases
            && *definitions == now.definitions
            && looked.holds_in(releases)
    }
}

/// Those classes that Clusters of other folders use.
pub(super) fn used_elsewhere(classes: &BTreeMap<String, Used>) -> Vec<String> {
    let elsewhere = |(name, used): (&String, &Used)| (*used == Used::Elsewhere).then(|| name.clone());
    classes.iter().filter_map(elsewhere).collect()
}
