//! Which release a cluster without a record comes from, and the record that says so.

use capstan_model::file_change::FileChange;
use capstan_model::finding::Place;
use capstan_model::ids::{ClusterId, ReleaseName};
use capstan_model::tree::Tree;
use capstan_plan::cluster::Cluster;
use capstan_plan::flux::PostBuild;
use capstan_plan::inference::{self, Inference, ReleaseCandidate, Verdict};
use capstan_plan::path::ProviderUnknown;
use capstan_plan::settings::{RecordedRelease, record_release};

use super::answers::own_classes;
use super::inputs::used_elsewhere;
use super::reading::Reading;
use super::sources::settings_text;
use super::step_facts::{cluster_facts, documents_of, releases_of};
use super::valued::Subject;
use super::{Fleet, Refused};

/// The result for one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inferred {
    /// Its release is recorded already, as it is written there.
    Recorded(String),
    /// One release fits; writing this records it.
    Fits {
        /// How well releases fit, this one first.
        inference: Inference,
        /// Its `capstan.yaml`.
        change: FileChange,
    },
    /// No release is taken.
    Undecided(Inference),
}

impl Inferred {
    /// Releases and their fits, best first.
    pub fn candidates(&self) -> &[ReleaseCandidate] {
        match self {
            Self::Recorded(_) => &[],
            Self::Fits { inference, .. } | Self::Undecided(inference) => &inference.candidates,
        }
    }
}

/// Looks for the release that a cluster's base comes from.
///
/// # Errors
/// A file that cannot be read, or releases that are elsewhere.
pub fn infer_release(fleet: &Fleet, id: &ClusterId) -> Result<Inferred, Refused> {
    fleet.require_releases()?;
    let cluster = fleet.read_cluster(id)?;
    if let Some(recorded) = &cluster.recorded {
        return Ok(Inferred::Recorded(match &recorded.name {
            ReleaseName::Id(id) => id.to_string(),
            ReleaseName::Version(version) => version.to_string(),
        }));
    }
    let Reading { cluster, effective, standing, .. } = Reading::of(fleet.conditions(), fleet, id)?;
    let providers = match standing.provider {
        Ok(provider) => vec![provider],
        Err(ProviderUnknown::Several { providers }) => providers,
        Err(ProviderUnknown::NoReleases | ProviderUnknown::Named { .. }) => Vec::new(),
    };
    let candidates = match Subject::of(fleet, id.folder())? {
        Some(subject) => subject.releases(fleet, &providers),
        None => releases_of(fleet, cluster.folder.kind, &providers),
    };
    let candidates = documents_of(&candidates);
    let has_variables = candidates.iter().any(|source| source.has_variables());
    let flux = if has_variables { fleet.flux_index().post_build(id) } else { PostBuild::default() };
    let classes = used_elsewhere(&own_classes(fleet, &cluster));
    let facts = cluster_facts(fleet.tree().as_ref(), &cluster, &effective, None, flux, classes)?;
    let inference = inference::infer(&facts, &candidates, fleet.schemas())?;
    Ok(match (inference.verdict, inference.candidates.first()) {
        (Verdict::Fits, Some(best)) => {
            let change = record(fleet.tree().as_ref(), &cluster, best)?;
            Inferred::Fits { inference, change }
        }
        _ => Inferred::Undecided(inference),
    })
}

/// The cluster's `capstan.yaml` with that release in it.
fn record(tree: &dyn Tree, cluster: &Cluster, best: &ReleaseCandidate) -> Result<FileChange, Refused> {
    let path = cluster.folder.settings_path();
    let before = settings_text(tree, &cluster.folder)?;
    let name = cluster.id.folder().name();
    let record = RecordedRelease { release: &best.release, content: best.content.as_ref() };
    let after = record_release(&path, before.as_deref(), name, record);
    let after = after.map_err(|error| Refused {
        message: format!("the release cannot be recorded: {error}"),
        place: Some(Place::whole(path.clone())),
    })?;
    Ok(FileChange { path, before, after: Some(after) })
}
