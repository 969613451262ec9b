//! How many machines are replaced, come and go.

use super::course::Verdict;
use super::owner::{replacing, replicas};
use super::reading::Pair;

/// The counts of an owner whose outdated machines are replaced, and what surge its strategy allows
/// (replaced, surge).
pub(super) fn rolling(verdict: &mut Verdict, pair: Pair<'_>) -> (Option<u32>, Option<u32>) {
    let (before, after) = (replicas(pair.before), replicas(pair.after));
    let (created, deleted) = scaled(before, after);
    if pair.differs("/spec/replicas") && (created, deleted) != (Some(0), Some(0)) {
        verdict.scales("/spec/replicas");
    }
    let stays = match (before, after) {
        (Some(before), Some(after)) => Some(before.min(after)),
        (_, after) => after,
    };
    let (replaced, machines) = if verdict.is_definite() {
        (stays, after)
    } else if verdict.is_unknown() {
        (None, None)
    } else {
        (Some(0), Some(0))
    };
    let replacing = replacing(pair.after, after);
    verdict.course.replaced = replaced;
    verdict.course.created = created;
    verdict.course.deleted = deleted;
    verdict.course.strategy = Some(replacing.strategy);
    verdict.machines = machines;
    (replaced, replacing.surge)
}

/// How many come and go; unknown where a count is.
pub(super) fn scaled(before: Option<u32>, after: Option<u32>) -> (Option<u32>, Option<u32>) {
    match (before, after) {
        (Some(before), Some(after)) => {
            (Some(after.saturating_sub(before)), Some(before.saturating_sub(after)))
        }
        _ => (None, None),
    }
}
