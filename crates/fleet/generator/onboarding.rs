//! First contact: what a repository without settings looks like under those that would be proposed.

use std::sync::Arc;

use capstan_model::finding::FileError;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::first_release::first_release;
use capstan_plan::inference::{Inference, ReleaseCandidate, Verdict};
use capstan_plan::onboarding::{
    FirstOffer, FittingRelease, Onboarded, Onboarding, ReleaseExample, ReleaseGuess, RolledMachines, propose,
};
use capstan_plan::upgrade::{MachineCount, Upgrade};
use jiff::civil::Date;

use super::Fleet;
use super::infer::{Inferred, infer_release};
use super::plan::plan_target;
use super::render_reads::WatchRenders;

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
            let release = if at < COMPARED { guess(&fleet, &id) } else { ReleaseGuess::NotPlanned };
            let offer = if at < PLANNED { first_offer(&fleet, &id) } else { FirstOffer::NotPlanned };
            watch.ended(&id);
            (release, offer)
        };
        Onboarded { id, applied_by, release, offer }
    });
    let clusters: Vec<Onboarded> = clusters.collect();
    let releases: Vec<_> = fleet.layout().releases.iter().map(|release| release.id.clone()).collect();
    let example = if releases.is_empty() { example(&fleet, &clusters) } else { None };
    let (settings, sets, mut left) = (proposed.text, proposed.sets, proposed.left);
    left.extend(proposed.templates);
    left.sort();
    Some(Onboarding { settings, clusters, sets, left, crowded: proposed.crowded, example, releases })
}

/// What would make clusters if it were filled in, of a repository in which [`onboard`] finds nothing to set up.
pub fn templates_alone(tree: &dyn Tree) -> Vec<FileError> {
    propose(tree).map(|proposed| proposed.templates).unwrap_or_default()
}

/// The first cluster of which a release can be made.
fn example(fleet: &Fleet, clusters: &[Onboarded]) -> Option<ReleaseExample> {
    let folder = RepoPath::parse("release").ok()?;
    let is_skipped = |cluster: &&Onboarded| {
        matches!(cluster.release, ReleaseGuess::Refused(_) | ReleaseGuess::Recorded(_))
    };
    clusters.iter().take(PLANNED).filter(|cluster| !is_skipped(cluster)).find_map(|cluster| {
        let read = fleet.read_cluster(&cluster.id).ok()?;
        first_release(fleet.tree().as_ref(), &read, &folder).ok()?;
        let kinds = read.infrastructure_kinds.iter().map(String::as_str);
        Some(ReleaseExample::of(cluster.id.clone(), kinds))
    })
}

fn guess(fleet: &Fleet, id: &ClusterId) -> ReleaseGuess {
    match infer_release(fleet, id) {
        Err(refused) => ReleaseGuess::Refused(refused.to_string()),
        Ok(Inferred::Recorded(release)) => ReleaseGuess::Recorded(release),
        Ok(Inferred::Fits { inference, .. } | Inferred::Undecided(inference)) => of_inference(&inference),
    }
}

fn first_offer(fleet: &Fleet, id: &ClusterId) -> FirstOffer {
    match plan_target(fleet, id, None) {
        Err(refused) => FirstOffer::Refused(refused.to_string()),
        Ok(upgrade) => of_upgrade(&upgrade),
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

fn fitting(candidate: &ReleaseCandidate) -> FittingRelease {
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
