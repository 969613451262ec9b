//! First contact: the settings that fit a repository which has none, and what they would find.
//!
//! *Expected flow*: one look at every manifest (`survey`), which folders are clusters independently of settings
//! (`units`), settings that find those and no others (`choose`), who applies each (`appliers`). *Guarantee*: the
//! proposed text was read again, and used to search. What the search does not find is reported, with file and line
//! and what to do.
//!
//! Clusters that share a folder or a file are reported, and [`plan_moves`] gives each a folder of its own, on
//! request.
//!
//! Deliberately absent: which release a cluster comes from and what it would be offered, which takes a planner
//! ([`Onboarding`] has room for its answers), and how it is said.

mod appliers;
mod choose;
mod model;
mod moving;
mod sources;
mod survey;
mod templates;
#[cfg(test)]
mod tests;
mod text;
mod units;

use capstan_model::finding::{FileError, Place, rules};
use capstan_model::ids::ClusterId;
use capstan_model::target::TargetKind;
use capstan_model::tree::Tree;

use crate::layout::{Layout, TargetFolder, crowded, discover};
use crate::settings::RepositorySettings;
use appliers::Appliers;
use survey::{Survey, Who};
use templates::Templates;

pub use model::{
    AppliedWith, Applier, FirstOffer, FittingRelease, Onboarded, Onboarding, ReleaseExample, ReleaseGuess,
    RolledMachines,
};
pub use moving::{AppliedBelow, Moving, differences, plan_moves, settings_in_the_way};
pub use sources::RepositoryAddresses;

/// Settings for a repository that has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// The text of `.capstan.yaml`.
    pub text: String,
    /// The same, as it is read.
    pub settings: RepositorySettings,
    /// What they find.
    pub layout: Layout,
    /// Each cluster, and who applies it.
    pub clusters: Vec<(ClusterId, Vec<Applier>)>,
    /// The provider sets that they find.
    pub sets: Vec<ClusterId>,
    /// What was found and is left to people, where, why and what to do; ordered by place.
    pub left: Vec<FileError>,
    /// How many folders have clusters that need folders of their own.
    pub crowded: usize,
    /// Templates that would make clusters, but are not filled in here. They are shown beside other findings, or on
    /// request: a repository that only offers templates to others has nothing to set up.
    pub templates: Vec<FileError>,
}

impl Proposed {
    /// Whether there is anything for Capstan here.
    pub fn is_worth_it(&self) -> bool {
        let found = !self.clusters.is_empty() || !self.sets.is_empty();
        found || !self.left.is_empty() || !self.layout.releases.is_empty()
    }
}

/// Proposes settings; `None` where none could be written that can be read again.
pub fn propose(tree: &dyn Tree) -> Option<Proposed> {
    let shaped = discover(tree, &RepositorySettings::default());
    let survey = Survey::of(tree, &shaped);
    let shaped_sets = sets(&shaped);
    let appliers = Appliers::of(tree, &survey);
    let mut units = units::units(&survey, &shaped, &appliers);
    let mut templates = Templates::of(&survey, &units, &appliers);
    let crowded_folders = units.crowded.len();
    units.left.append(&mut templates.applied);
    units.left.extend(without_cluster(&survey, &units));
    let chosen = choose::choose(tree, &units, shaped)?;
    let mut left = units.left;
    left.extend(shaped_sets.iter().filter_map(|set| not_found(set, &chosen.layout)));
    left.extend(survey.unfinished.iter().cloned());
    left.extend(chosen.left);
    left.extend(chosen.layout.problems.iter().cloned());
    left.extend(crowded(tree, &chosen.layout));
    let in_cluster = |error: &FileError| chosen.layout.target_around(error.place.file()).is_some();
    left.extend(survey.unreadable.iter().filter(|error| !in_cluster(error)).cloned());
    left.sort();
    left.dedup();
    let of_folder = |folder| {
        let applies = appliers.of_folder(folder).into_iter();
        applies.map(|applies| Applier::of(&applies.who, applies.place.clone())).collect()
    };
    let clusters = chosen.layout.clusters().map(|cluster| (cluster.id.clone(), of_folder(&cluster.base)));
    let clusters = clusters.collect();
    let sets = sets(&chosen.layout);
    Some(Proposed {
        text: chosen.text,
        settings: chosen.settings,
        clusters,
        sets,
        left,
        crowded: crowded_folders,
        templates: templates.offered,
        layout: chosen.layout,
    })
}

/// The provider sets of a layout.
fn sets(layout: &Layout) -> Vec<ClusterId> {
    let is_set = |target: &&TargetFolder| target.kind == TargetKind::Providers;
    layout.targets.iter().map(AsRef::as_ref).filter(is_set).map(|target| target.id.clone()).collect()
}

/// A folder that is a provider set by its shape, and that settings with patterns do not find.
fn not_found(set: &ClusterId, layout: &Layout) -> Option<FileError> {
    if layout.target(set.as_str()).is_some() {
        return None;
    }
    let message = format!(
        "{set} is a provider set by its shape, and these settings go by patterns: name it under `providers` of its \
         management cluster in `managementClusters`, or add it to `clusters.paths`"
    );
    Some(FileError::new(rules::CLUSTER_OUTSIDE, Place::whole(set.folder().clone()), message))
}

/// Objects of Cluster API's without any cluster that they could be of.
fn without_cluster(survey: &Survey, units: &units::Units) -> Option<FileError> {
    if !units.folders.is_empty() || !units.left.is_empty() {
        return None;
    }
    let (place, kind) = match (survey.owners.first(), &survey.other) {
        (Some(owner), _) => {
            (Place::whole(owner.place.file().clone()), "an object that owns machines".to_owned())
        }
        (None, Some((place, kind))) => (place.clone(), format!("a `{kind}`")),
        (None, None) => return None,
    };
    let message = format!(
        "there is {kind} here, and no cluster in this repository: Capstan upgrades folders that hold a `Cluster`, or the \
         App or HelmRelease of one"
    );
    Some(FileError::new(rules::CLUSTER_OUTSIDE, place, message))
}

impl Applier {
    fn of(who: &Who, place: Place) -> Self {
        let (with, name) = match who {
            Who::Flux(apply) => {
                let namespace = apply.namespace.as_deref().map(|namespace| format!("{namespace}/"));
                (AppliedWith::FluxKustomization, namespace.unwrap_or_default() + &apply.name)
            }
            Who::Argo { kind, name, .. } if kind == "ApplicationSet" => {
                (AppliedWith::ArgoApplicationSet, name.clone())
            }
            Who::Argo { name, .. } => (AppliedWith::ArgoApplication, name.clone()),
        };
        Self { with, name, place }
    }
}
