//! Maps a line of the merge result to a line of the head: GitHub annotates the head's files, and changes of
//! the base branch move lines.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Lines compared between the common beginning and the common end; if there are more, the place is their
/// beginning.
const MOST_LINES: usize = 5_000;

/// A file of the head that differs from the judged one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadFile {
    /// The head has no such file, or none that can be read.
    Absent,
    /// The head's file has these lines.
    Differs(HeadLines),
}

/// The head's line for each judged line, from 1; `None` where the head has no such line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadLines(Vec<Option<u32>>);

impl HeadLines {
    /// Compares the judged text with the head's.
    pub fn between(judged: &str, head: &str) -> Self {
        let (judged, head): (Vec<&str>, Vec<&str>) = (judged.lines().collect(), head.lines().collect());
        let same = judged.iter().zip(&head).take_while(|(one, other)| one == other).count();
        let (judged_rest, head_rest) = (judged.get(same..).unwrap_or(&[]), head.get(same..).unwrap_or(&[]));
        let ends = judged_rest.iter().rev().zip(head_rest.iter().rev());
        let same_end = ends.take_while(|(one, other)| one == other).count();
        let (judged_end, head_end) = (judged.len() - same_end, head.len() - same_end);
        let mut lines = vec![None; judged.len()];
        let mut note = |at: usize, line: usize| {
            if let Some(known) = lines.get_mut(at) {
                *known = u32::try_from(line + 1).ok();
            }
        };
        (0..same).for_each(|at| note(at, at));
        (0..same_end).for_each(|at| note(judged_end + at, head_end + at));
        let middles = (judged.get(same..judged_end), head.get(same..head_end));
        if let (Some(one), Some(other)) = middles
            && one.len().max(other.len()) <= MOST_LINES
        {
            for op in capture_diff_slices(Algorithm::Patience, one, other) {
                if let DiffOp::Equal { old_index, new_index, len } = op {
                    (0..len).for_each(|at| note(same + old_index + at, same + new_index + at));
                }
            }
        }
        Self(lines)
    }

    /// The head's line for a judged one; if the head lacks it, the nearest above.
    pub(super) fn of(&self, line: u32) -> HeadLine {
        let at = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1).min(self.0.len());
        if let Some(Some(line)) = self.0.get(at) {
            return HeadLine::Same(*line);
        }
        let above = self.0.get(..at).unwrap_or_default().iter().rev().flatten().next();
        HeadLine::Near(above.copied().unwrap_or(1))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadLine {
    /// The same line.
    Same(u32),
    /// The head has no such line: the nearest above.
    Near(u32),
}

#[cfg(test)]
mod tests {
    use super::HeadLine::{Near, Same};
    use super::*;

    #[test]
    fn lines_that_the_base_brings_move_those_below_and_have_none_of_their_own() {
        let head = "a: 1\nb: 2\nc: 3\nd: 4\n";
        let judged = "# new\na: 1\nb: 2\nx: 9\nd: 5\nd: 4\n";
        let lines = HeadLines::between(judged, head);
        let found: Vec<HeadLine> = (1..=7).map(|line| lines.of(line)).collect();
        assert_eq!(found, [Near(1), Same(1), Same(2), Near(2), Near(2), Same(4), Near(4)]);
        assert_eq!(HeadLines::between("", "a\n").of(1), Near(1));
        assert_eq!(HeadLines::between("a\n", "").of(1), Near(1));
    }

    #[test]
    fn a_long_difference_costs_no_long_comparison() {
        let head: String = (0..20_000).map(|line| format!("head {line}\n")).collect();
        let judged: String = (0..20_000).map(|line| format!("judged {line}\n")).collect();
        let lines = HeadLines::between(&format!("first\n{judged}last\n"), &format!("first\n{head}last\n"));
        assert_eq!((lines.of(1), lines.of(9_000)), (Same(1), Near(1)));
        assert_eq!(lines.of(20_002), Same(20_002));
    }
}
