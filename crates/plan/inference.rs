//! Which release the base of a cluster comes from that records none (`capstan adopt`).
//!
//! Every release is laid over the base, as `infer` does ([U5]); other than there, a base that people have
//! edited since is recognised too. What is recorded becomes the old release of the next upgrade, so a
//! wrong answer is worse than none: equals are not chosen between, and a release that the base hardly
//! resembles is not taken.
//!
//! [U5]: crate::merge::fields#u5

use crate::merge::cluster_objects::Base;
use crate::merge::fit::rank;
use crate::merge::{ClusterFacts, ReleaseFit, ReleaseSource};
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::FileError;
use capstan_model::ids::{ContentId, ReleaseId};

/// Percent of a release's fields that a base has to have. What it lacks would count as the cluster's own edits from
/// then on and be kept for ever. If more than a fifth is missing, it is another release rather than an edited one.
pub const SENSIBLE_PERCENT: usize = 80;

/// How well releases fit one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inference {
    /// All of them, best first.
    pub candidates: Vec<ReleaseCandidate>,
    /// What follows.
    pub verdict: Verdict,
}

/// One release and how well it fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseCandidate {
    pub release: ReleaseId,
    /// Its content's id.
    pub content: Option<ContentId>,
    /// How well it fits.
    pub fit: ReleaseFit,
}

/// What follows from the fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The first candidate is the one.
    Fits,
    /// How many of the first candidates fit equally well.
    Equals(usize),
    /// Even the first fits too badly.
    Poor,
    /// There is no release that could be it.
    NoCandidate,
}

/// Finds the release that fits a cluster's base best.
///
/// # Errors
/// A file of the base that cannot be read as YAML, with its place.
pub fn infer(
    cluster: &ClusterFacts,
    candidates: &[&ReleaseSource],
    schemas: &Schemas,
) -> Result<Inference, FileError> {
    let base = Base::read(cluster)?;
    let ranked = rank(candidates, &base, &cluster.variables, &cluster.flux, schemas);
    let equals = ranked.iter().take_while(|(fit, _)| fit.rank() == ranked[0].0.rank()).count();
    let verdict = match ranked.first() {
        None => Verdict::NoCandidate,
        Some((fit, _)) if fit.equal == 0 || fit.percent() < SENSIBLE_PERCENT => Verdict::Poor,
        Some(_) if equals > 1 => Verdict::Equals(equals),
        Some(_) => Verdict::Fits,
    };
    let candidate = |(fit, source): (ReleaseFit, &ReleaseSource)| {
        Some(ReleaseCandidate { release: source.id.release()?, content: source.content.clone(), fit })
    };
    Ok(Inference { candidates: ranked.into_iter().filter_map(candidate).collect(), verdict })
}
