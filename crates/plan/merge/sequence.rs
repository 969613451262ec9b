//! Three-way merge of ordered scalars: where only one side changed, that side; overlapping changes conflict.

use std::hash::Hash;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use capstan_yaml::Node;

/// A stretch that the new release changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) kind: HunkKind,
    pub(super) old: Range<usize>,
    pub(super) own: Range<usize>,
    pub(super) new: Range<usize>,
}

/// Whether the cluster changed it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HunkKind {
    /// The release alone.
    Take,
    /// Both, to different things.
    Conflict,
}

/// A changed stretch of one side against the old list.
#[derive(Debug, Clone)]
pub(super) struct Changed {
    pub(super) old: Range<usize>,
    pub(super) side: Range<usize>,
}

/// The hunks of `new` against `own`, in order. A change that both sides made alike is not a hunk.
pub(super) fn merge_sequences(old: &[Node], own: &[Node], new: &[Node]) -> Vec<Hunk> {
    let text =
        |items: &[Node]| -> Vec<String> { items.iter().map(|item| item.value().to_string()).collect() };
    hunks(&text(old), &text(own), &text(new), overlap)
}

/// The hunks of anything in order. Changes of both sides that `meet` are one hunk.
pub(super) fn hunks<T: Hash + Eq + Ord>(
    old: &[T],
    own: &[T],
    new: &[T],
    meet: impl Fn(&Range<usize>, &Range<usize>) -> bool,
) -> Vec<Hunk> {
    let (by_cluster, by_release) = (changes(old, own), changes(old, new));
    let mut hunks = Vec::new();
    let mut at = 0;
    while at < by_release.len() {
        let mut span = by_release[at].old.clone();
        let mut last = at;
        let mut touching: Vec<&Changed> = Vec::new();
        // Grow until no further change of either side overlaps the stretch.
        loop {
            let before = (span.clone(), touching.len(), last);
            touching = by_cluster.iter().filter(|change| meet(&change.old, &span)).collect();
            for change in &touching {
                span = span.start.min(change.old.start)..span.end.max(change.old.end);
            }
            while last + 1 < by_release.len()
                && meet(&by_release[last + 1].old, &span)
                && !touching.is_empty()
            {
                last += 1;
                span = span.start.min(by_release[last].old.start)..span.end.max(by_release[last].old.end);
            }
            if before == (span.clone(), touching.len(), last) {
                break;
            }
        }
        let new_range = image(&by_release, &span, &by_release[at..=last].iter().collect::<Vec<_>>());
        let own_range = image(&by_cluster, &span, &touching);
        if own[own_range.clone()] != new[new_range.clone()] {
            let kind = if touching.is_empty() { HunkKind::Take } else { HunkKind::Conflict };
            hunks.push(Hunk { kind, old: span, own: own_range, new: new_range });
        }
        at = last + 1;
    }
    hunks
}

/// What one side changed.
pub(super) fn changes<T: Hash + Eq + Ord>(old: &[T], side: &[T]) -> Vec<Changed> {
    capture_diff_slices(Algorithm::Myers, old, side)
        .into_iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| Changed { old: op.old_range(), side: op.new_range() })
        .fold(Vec::new(), |mut all: Vec<Changed>, next| {
            match all.last_mut() {
                Some(last) if last.old.end == next.old.start && last.side.end == next.side.start => {
                    last.old.end = next.old.end;
                    last.side.end = next.side.end;
                }
                _ => all.push(next),
            }
            all
        })
}

/// Two insertions at one place overlap, and so does one inside of a changed stretch; neighbours do not.
fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    match (one.is_empty(), other.is_empty()) {
        (true, true) => one.start == other.start,
        (true, false) => other.start < one.start && one.start < other.end,
        (false, true) => one.start < other.start && other.start < one.end,
        (false, false) => one.start < other.end && other.start < one.end,
    }
}

/// The range of a side that belongs to a stretch of the old list, given the side's changes inside of it.
fn image(all: &[Changed], span: &Range<usize>, inside: &[&Changed]) -> Range<usize> {
    let is_inside =
        |change: &Changed| inside.iter().any(|known| known.old == change.old && known.side == change.side);
    let shift = |changes: &mut dyn Iterator<Item = &Changed>| -> isize {
        changes.map(|change| length(&change.side) - length(&change.old)).sum()
    };
    let before = shift(&mut all.iter().filter(|change| change.old.end <= span.start && !is_inside(change)));
    let within = shift(&mut inside.iter().copied());
    let at = |old: usize, shift: isize| old.saturating_add_signed(shift);
    at(span.start, before)..at(span.end, before + within)
}

fn length(range: &Range<usize>) -> isize {
    isize::try_from(range.len()).unwrap_or(isize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<Node> {
        text.split_whitespace().map(Node::string).collect()
    }

    #[track_caller]
    fn check(old: &str, own: &str, new: &str, expected: &str, conflicts: usize) {
        let (old, own, new) = (list(old), list(own), list(new));
        let mut out: Vec<&Node> = Vec::new();
        let mut at = 0;
        let mut found = 0;
        for hunk in merge_sequences(&old, &own, &new) {
            if hunk.kind == HunkKind::Conflict {
                found += 1;
                continue;
            }
            out.extend(&own[at..hunk.own.start]);
            out.extend(&new[hunk.new.clone()]);
            at = hunk.own.end;
        }
        out.extend(&own[at..]);
        let out: Vec<_> = out.into_iter().filter_map(Node::as_str).collect();
        assert_eq!((out.join(" ").as_str(), found), (expected, conflicts));
    }

    #[test]
    fn changes_of_one_side_are_taken_and_the_other_side_stays() {
        check("a b c", "a b c", "a B c", "a B c", 0);
        check("a b c", "x a b c", "a b c d", "x a b c d", 0);
        check("a b c", "a c", "a b c d", "a c d", 0);
        check("a b c d", "A b c d", "a b D", "A b D", 0);
        check("a b c", "a x b c", "a b", "a x b", 0);
    }

    #[test]
    fn identical_changes_are_nothing_and_overlapping_ones_conflict() {
        check("a b c", "a B c", "a B c", "a B c", 0);
        check("a b c", "a x c", "a y c", "a x c", 1);
        check("a b c d", "a x c d", "a y c D", "a x c D", 1);
        check("a b", "a x b", "a y b", "a x b", 1);
        check("", "x", "y", "x", 1);
    }

    #[test]
    fn neighbouring_changes_do_not_conflict() {
        check("a b c", "a X c", "a b Y", "a X Y", 0);
        check("a b", "A b", "a B", "A B", 0);
    }
}
