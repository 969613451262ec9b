//! All that is known of a repository at first contact.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use capstan_model::finding::{FileError, Place};
use capstan_model::ids::{ClusterId, ReleaseId};

/// What a repository without settings looks like to Capstan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Onboarding {
    /// The text of the proposed `.capstan.yaml`.
    pub settings: String,
    /// The clusters that it finds.
    pub clusters: Vec<Onboarded>,
    /// The provider sets that it finds.
    pub sets: Vec<ClusterId>,
    /// What was found and is left to people, ordered by place.
    pub left: Vec<FileError>,
    /// How many folders have clusters that need folders of their own, which `capstan init --write --move` makes.
    pub crowded: usize,
    /// A cluster of which the first release can be made, where there is no release; none of the first ones can else.
    pub example: Option<ReleaseExample>,
    /// The releases that there are.
    pub releases: Vec<ReleaseId>,
}

/// A cluster of which a release can be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseExample {
    pub cluster: ClusterId,
    /// The provider of its infrastructure, as the folder of a release has it: `aws`.
    pub provider: String,
}

impl ReleaseExample {
    /// The provider in the kinds of a cluster's infrastructure: `AWSCluster`, `AzureMachineTemplate`. Where they tell of
    /// none or of several, the release is one of the platform.
    pub fn of<'k>(cluster: ClusterId, kinds: impl IntoIterator<Item = &'k str>) -> Self {
        const ENDS: [&str; 6] =
            ["ClusterTemplate", "MachineTemplate", "MachinePool", "ControlPlane", "Cluster", "Managed"];
        let named = kinds.into_iter().filter_map(|kind| {
            let name = ENDS.iter().fold(kind, |kind, end| kind.strip_suffix(end).unwrap_or(kind));
            (name != kind && !name.is_empty()).then(|| name.to_lowercase())
        });
        let named: BTreeSet<String> = named.collect();
        let provider = named.iter().next().filter(|_| named.len() == 1);
        Self { cluster, provider: provider.cloned().unwrap_or_else(|| "platform".to_owned()) }
    }
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Onboarded {
    /// Its folder.
    pub id: ClusterId,
    /// Who applies it from this repository, as far as that shows.
    pub applied_by: Vec<Applier>,
    /// The release that it comes from.
    pub release: ReleaseGuess,
    /// What it would be offered first.
    pub offer: FirstOffer,
}

/// Who applies a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Applier {
    /// What it is.
    pub with: AppliedWith,
    /// Its name, with its namespace where Flux's says one.
    pub name: String,
    /// Where it is written.
    pub place: Place,
}

/// What applies folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AppliedWith {
    FluxKustomization,
    /// Argo CD.
    ArgoApplication,
    /// Argo CD, one for each of several folders.
    ArgoApplicationSet,
}

impl AppliedWith {
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::FluxKustomization => "Flux Kustomization",
            Self::ArgoApplication => "Argo CD Application",
            Self::ArgoApplicationSet => "Argo CD ApplicationSet",
        }
    }
}

/// A release, and how many of its fields a base has, has otherwise, and lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FittingRelease {
    pub release: ReleaseId,
    /// Fields that are the same.
    pub equal: usize,
    /// Fields that have another value.
    pub differing: usize,
    /// Fields that are not there.
    pub missing: usize,
    /// How much of it is the same.
    pub percent: usize,
}

/// Which release a cluster comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseGuess {
    /// It says so itself.
    Recorded(String),
    Fits(FittingRelease),
    /// This many fit equally well, this one among them.
    Equals(usize, FittingRelease),
    /// Even the best fits badly.
    Poor(FittingRelease),
    /// There is no release that it could come from.
    NoCandidate,
    /// The cluster cannot be read: why.
    Refused(String),
    /// It was not planned: there are too many clusters.
    NotPlanned,
}

/// What a cluster would be offered first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirstOffer {
    /// A release.
    Offered {
        /// The release.
        to: String,
        /// Fields and objects that it changes.
        changes: usize,
        /// Machines that it replaces.
        machines: RolledMachines,
        /// Why it would not go ahead as it is.
        blocked: Option<String>,
    },
    /// Nothing; why, where that is known.
    Nothing(Option<String>),
    /// It cannot be planned: why.
    Refused(String),
    /// It was not planned: there are too many clusters.
    NotPlanned,
}

/// How many machines are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RolledMachines {
    /// This many.
    Known(u64),
    /// Git alone does not say how many.
    Unknown,
}

#[cfg(test)]
mod tests {
    use capstan_model::tree::RepoPath;

    use super::*;

    #[test]
    fn the_kinds_of_a_clusters_infrastructure_name_the_provider() {
        let cases: [(&[&str], &str); 6] = [
            (&["AWSCluster", "AWSMachineTemplate"], "aws"),
            (&["AWSManagedCluster", "AWSManagedControlPlane", "AWSManagedMachinePool"], "aws"),
            (&["OpenStackCluster"], "openstack"),
            (&["DockerMachineTemplate"], "docker"),
            (&["AWSCluster", "DockerMachineTemplate"], "platform"),
            (&["Other"], "platform"),
        ];
        for (kinds, provider) in cases {
            let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
            assert_eq!(ReleaseExample::of(cluster, kinds.iter().copied()).provider, provider, "{kinds:?}");
        }
    }
}
