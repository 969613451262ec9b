//! Which release a cluster says it is at.

use crate::release::Catalogue;
use capstan_model::ids::{ContentId, Provider, ReleaseId, ReleaseName};

/// The release that a cluster says it is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRelease {
    /// What is written.
    pub name: ReleaseName,
    /// That release's content when it was taken.
    pub content: Option<ContentId>,
    /// Who says so.
    pub by: RecordedBy,
}

/// Where a cluster's release is written, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordedBy {
    /// `global.release.version` in a ConfigMap's YAML string.
    ConfigMap,
    /// The cluster's `capstan.yaml`.
    Settings,
    /// The annotation `capstan.dev/release` on its `Cluster`.
    Annotation,
    /// The label `release.giantswarm.io/version` on its `Cluster`.
    Label,
}

impl RecordedRelease {
    /// The id that is meant. A bare version is looked up among the provider's releases; of one that is
    /// not there the id is what its folder would be called.
    pub fn id(&self, catalogue: &Catalogue, provider: Option<&Provider>) -> Option<ReleaseId> {
        match &self.name {
            ReleaseName::Id(id) => {
                Some(catalogue.find(id).map_or_else(|| id.clone(), |release| release.id.clone()))
            }
            ReleaseName::Version(version) => {
                let provider = provider?;
                Some(catalogue.find_version(provider, version).map_or_else(
                    || ReleaseId::from_path(&format!("{}/v{version}", provider.as_str())),
                    |release| release.id.clone(),
                ))
            }
        }
    }
}
