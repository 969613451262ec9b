//! What a merge of a head would change: the head itself where it is based on the tip of its base, else GitHub's own test
//! merge; in a conflict the head alone.

use std::sync::Arc;

use capstan_facts::{PullRequest, Snapshot};
use capstan_model::tree::CommitId;
use capstan_report::MergeBasis;

use super::judging::Comparison;
use super::subject::CheckSubject;
use crate::proposals::DecisionStep;

/// How often GitHub is asked for a test merge before the job is put off.
const READS: usize = 4;

/// A head, with what it is compared by.
#[derive(Clone, Copy)]
pub struct ComparisonFacts<'a> {
    /// The head.
    pub subject: &'a CheckSubject,
    /// The tip of its base branch.
    pub base: &'a Snapshot,
    /// Its content.
    pub head: &'a Snapshot,
}

/// A fact about a head that is needed first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComparisonNeed {
    /// The commit where the head leaves its base branch.
    ForkPoint,
    /// Its pull request, as GitHub shows it now.
    Pull,
    /// The same after a pause, because GitHub computes the test merge.
    PullLater,
    /// The content of a commit.
    Snapshot(CommitId),
    /// The content of the base as the pull request last saw it, which may be gone.
    SeenBase,
}

/// The answers so far. A fact that is absent was not asked for.
#[derive(Clone, Default)]
pub struct ComparisonAnswers {
    /// The commit where the head leaves its base branch; `None` inside where there is none.
    pub fork: Option<Option<CommitId>>,
    /// Its pull request, as it was read, one time after the other.
    pub reads: Vec<PullRequest>,
    /// The content of commits.
    pub snapshots: Vec<Snapshot>,
    /// The content of the base as the pull request last saw it.
    pub seen_base: Option<Option<Snapshot>>,
}

impl ComparisonAnswers {
    fn snapshot(&self, commit: &CommitId) -> Result<&Snapshot, ComparisonNeed> {
        let found = self.snapshots.iter().find(|snapshot| snapshot.commit == *commit);
        found.ok_or_else(|| ComparisonNeed::Snapshot(commit.clone()))
    }
}

/// What a merge of a head would change; `None` while GitHub computes its test merge.
pub fn compare(
    of: ComparisonFacts<'_>,
    known: &ComparisonAnswers,
) -> DecisionStep<Option<Comparison>, ComparisonNeed> {
    compared(of, known).map_or_else(DecisionStep::Ask, DecisionStep::Decided)
}

fn compared(
    of: ComparisonFacts<'_>,
    known: &ComparisonAnswers,
) -> Result<Option<Comparison>, ComparisonNeed> {
    let ComparisonFacts { subject, base, head } = of;
    if subject.pull.is_none() || head.parents.contains(&base.commit) {
        return Ok(Some(between(base, (head, &subject.head), MergeBasis::Merge)));
    }
    if subject.is_prefix() {
        return compared_prefix(of, known).map(Some);
    }
    for read in &known.reads {
        // Another head's merge must never be used for this one.
        if read.head != subject.head {
            return Ok(None);
        }
        match (read.mergeable, &read.merge_commit) {
            (Some(true), Some(merge)) => {
                let merged = known.snapshot(merge)?;
                if !merged.parents.contains(&subject.head) {
                    continue;
                }
                // A test merge uses the base of its time: each is compared with its own.
                let before = match merged.parents.first() {
                    Some(parent) if *parent != base.commit => known.snapshot(parent)?,
                    _ => base,
                };
                return Ok(Some(between(before, (merged, merge), MergeBasis::Merge)));
            }
            (Some(false), _) => {
                let seen = known.seen_base.as_ref().ok_or(ComparisonNeed::SeenBase)?;
                let before = seen.as_ref().unwrap_or(base);
                return Ok(Some(between(before, (head, &subject.head), MergeBasis::HeadAlone)));
            }
            _ => {}
        }
    }
    match known.reads.len() {
        0 => Err(ComparisonNeed::Pull),
        reads if reads < READS => Err(ComparisonNeed::PullLater),
        _ => Ok(None),
    }
}

/// All changes of a head for the default branch. GitHub's test merge is with the branch below, so there is none where the
/// head is not based on the default branch's tip.
fn compared_prefix(
    ComparisonFacts { subject, base, head }: ComparisonFacts<'_>,
    known: &ComparisonAnswers,
) -> Result<Comparison, ComparisonNeed> {
    let (before, basis) = match known.fork.as_ref().ok_or(ComparisonNeed::ForkPoint)? {
        Some(fork) if *fork == base.commit => (base, MergeBasis::Merge),
        Some(fork) => (known.snapshot(fork)?, MergeBasis::BehindTip),
        None => (base, MergeBasis::BehindTip),
    };
    Ok(between(before, (head, &subject.head), basis))
}

fn between(before: &Snapshot, (after, commit): (&Snapshot, &CommitId), basis: MergeBasis) -> Comparison {
    Comparison {
        before: Arc::clone(&before.tree),
        base: before.commit.clone(),
        after: Arc::clone(&after.tree),
        commit: commit.clone(),
        basis,
    }
}
