//! First contact: what a repository without settings looks like under those that would be proposed.

use std::sync::Arc;

use capstan_model::finding::FileError;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::first_release::first_release;
use capstan_plan::inference::{Candidate, Inference, Verdict};
use capstan_plan::onboarding::{
    FirstOffer, FittingRelease, Onboarded, Onboarding, ReleaseGuess, RolledMachines, propose,
};
use capstan_plan::upgrade::{MachineCount, Upgrade};
use jiff::civil::Date;

use super::render_reads::WatchRenders;
use super::{Fleet, Inferred};

/// How many clusters are compared with releases, and planned: a first look shows examples, not everything.
const COMPARED: usize = 200;
const PLANNED: usize = 50;

/// What first contact with a repository shows, under the settings that would be proposed. `None` where nothing in it is
/// Capstan's concern: no cluster, no provider set, no other object of Cluster API's and no release.
pub fn onboard(tree: &Arc<dyn Tree>, today: Date, watch: &dyn WatchRenders) -> Option<Onboarding> {
    let proposed = propose(tree.as_ref()).filter(capstan_plan::onboarding::Proposed::is_worth_it)?;
    let fleet = Fleet::with_settings(Arc::clone(tree), proposed.settings, true, today);
    let clusters = proposed.clusters.into_iter().enumerate().map(|(at, (id, applied_by))| {
        let skipped = watch.skips(&id);
        let (release, offer) = if skipped {
            let why = "it is too large for one run of Capstan".to_owned();
            (ReleaseGuess::Refused(why.clone()), FirstOffer::Refused(why))
        } else {
            watch.begun(&id);
            let release = if at < COMPARED { fleet.guess(&id) } else { ReleaseGuess::NotLookedAt };
            let offer = if at < PLANNED { fleet.first_offer(&id) } else { FirstOffer::NotLookedAt };
            watch.ended(&id);
            (release, offer)
        };
        Onboarded { id, applied_by, release, offer }
    });
    let clusters: Vec<Onboarded> = clusters.collect();
    let releases: Vec<_> = fleet.layout().releases.iter().map(|release| release.id.clone()).collect();
    let example = if releases.is_empty() { fleet.example(&clusters) } else { None };
    let (settings, sets, mut left) = (proposed.text, proposed.sets, proposed.left);
    left.extend(proposed.templates);
    left.sort();
    Some(Onboarding { settings, clusters, sets, left, crowded: proposed.crowded, example, releases })
}

/// What would make clusters if it were filled in, of a repository in which [`onboard`] finds nothing to set up.
pub fn templates_alone(tree: &dyn Tree) -> Vec<FileError> {
    propose(tree).map(|proposed| proposed.templates).unwrap_or_default()
}

impl Fleet {
    /// The first cluster of which a release can be made.
    fn example(&self, clusters: &[Onboarded]) -> Option<ClusterId> {
        let folder = RepoPath::parse("release").ok()?;
        let can_be_copied = |cluster: &&Onboarded| {
            let skipped = matches!(cluster.release, ReleaseGuess::Refused(_) | ReleaseGuess::Recorded(_));
            let read = || self.read_cluster(&cluster.id).ok();
            !skipped && read().is_some_and(|read| first_release(self.tree.as_ref(), &read, &folder).is_ok())
        };
        clusters.iter().take(PLANNED).find(can_be_copied).map(|cluster| cluster.id.clone())
    }

    fn guess(&self, id: &ClusterId) -> ReleaseGuess {
        match self.infer_release(id) {
            Err(refused) => ReleaseGuess::Refused(refused.to_string()),
            Ok(Inferred::Recorded(release)) => ReleaseGuess::Recorded(release),
            Ok(Inferred::Fits { inference, .. } | Inferred::Undecided(inference)) => of_inference(&inference),
        }
    }

    fn first_offer(&self, id: &ClusterId) -> FirstOffer {
        match self.plan(id, None) {
            Err(refused) => FirstOffer::Refused(refused.to_string()),
            Ok(upgrade) => of_upgrade(&upgrade),
        }
    }
}

fn of_inference(inference: &Inference) -> ReleaseGuess {
    let Some(best) = inference.candidates.first().map(fitting) else { return ReleaseGuess::NoCandidate };
    match inference.verdict {
        Verdict::Fits => ReleaseGuess::Fits(best),
        Verdict::Equals(count) => ReleaseGuess::Equals(count, best),
        Verdict::Poor => ReleaseGuess::Poor(best),
        Verdict::NoCandidate => ReleaseGuess::NoCandidate,
    }
}

fn fitting(candidate: &Candidate) -> FittingRelease {
    let fit = candidate.fit;
    FittingRelease {
        release: candidate.release.clone(),
        equal: fit.equal,
        differing: fit.differing,
        missing: fit.missing,
        percent: fit.percent(),
    }
}

fn of_upgrade(upgrade: &Upgrade) -> FirstOffer {
    let Some(to) = upgrade.to.as_ref() else {
        return FirstOffer::Nothing(upgrade.notes.first().cloned());
    };
    let known = MachineCount::of(&upgrade.rollouts).exactly();
    FirstOffer::Offered {
        to: to.to_string(),
        changes: upgrade.changes.len(),
        machines: known.map_or(RolledMachines::Unknown, RolledMachines::Known),
        blocked: upgrade.blocked.first().cloned(),
    }
}
