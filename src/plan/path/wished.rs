//! The way to the release that the inventory asks for: to it and no further.

use super::choose::{HORIZON, next_among, refresh, why_skipped, within};
use super::{Direction, MinorSkip, NotOffered, Outcome, Standing, Step};
use crate::release::{Catalogue, Release};
use crate::settings::Track;
use capstan_model::ids::ReleaseId;

/// The next step to that release. `track` is what holds a cluster back: its own, or its overlay's.
pub(super) fn to_wished(
    standing: &Standing,
    track: Track,
    catalogue: &Catalogue,
    wished: &ReleaseId,
    notes: &mut Vec<String>,
) -> Outcome {
    let unreachable = |why: &str| {
        let (at, wished) = (standing.release.clone(), wished.clone());
        Outcome::Nothing(NotOffered::Unreachable { at, wished, why: why.to_owned() })
    };
    let Some(goal) = catalogue.find(wished).filter(|release| release.kind == standing.kind) else {
        let broken = catalogue.unreadable().iter().find(|(id, _)| id == wished);
        return match broken {
            Some((_, error)) => unreachable(&format!("cannot be read: {error}")),
            None => unreachable("does not exist"),
        };
    };
    if standing.release.as_ref() == Some(&goal.id) {
        let there = || Outcome::Nothing(NotOffered::AlreadyThere { at: goal.id.clone() });
        return refresh(standing, catalogue).unwrap_or_else(there);
    }
    if standing.release.is_some() && standing.provider.as_ref() != Ok(&goal.provider) {
        return unreachable("is another provider's than the cluster's: it is taken by name alone");
    }
    if standing.version.as_ref().is_some_and(|version| goal.version < *version) {
        return unreachable("is older than the cluster's: it is taken by name alone");
    }
    match next(standing, track, catalogue, goal) {
        Some((release, minor_skip)) => {
            notes.extend(minor_skip.map(|skip| why_skipped(skip, catalogue, &goal.provider)));
            let after =
                |at: &Release| next(&standing.at(at), track, catalogue, goal).map(|(release, _)| release);
            let follows = std::iter::successors(after(release), |release| after(release));
            Outcome::Step(Step {
                to: release.id.clone(),
                content: release.content.clone(),
                direction: Direction::Forward,
                minor_skip,
                follows: follows.take(HORIZON).map(|release| release.id.clone()).collect(),
            })
        }
        None => unreachable(&format!("lies outside of the track `{track}` that holds the cluster back")),
    }
}

/// The newest that is offered up to the goal, which may be taken whatever its state; one minor at a time.
fn next<'a>(
    standing: &Standing,
    track: Track,
    catalogue: &'a Catalogue,
    goal: &'a Release,
) -> Option<(&'a Release, Option<MinorSkip>)> {
    next_among(standing, || {
        standing
            .releases(catalogue, &goal.provider)
            .filter(|release| release.version <= goal.version)
            .filter(|release| release.is_offered() || release.version == goal.version)
            .filter(|release| within(track, standing.version.as_ref(), &release.version))
    })
}
