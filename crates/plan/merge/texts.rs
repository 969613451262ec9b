//! Texts of several lines that both sides changed, merged by lines ([U5]), as Git does: cloud-init, scripts,
//! configurations. Lines that touch conflict; all others are taken.
//!
//! Deliberately absent: what the lines mean. A text of YAML stays one value if the merge would make it invalid, or
//! repeat a key. An encoded text stays one value, too, because its lines mean nothing.
//!
//! [U5]: crate::merge::fields#u5

use std::borrow::Cow;
use std::ops::Range;

use super::sequence::{Hunk, HunkKind, hunks};
use capstan_yaml::YamlFile;

/// What becomes of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergedText {
    /// With the cluster's lines where both sides changed them.
    pub(crate) kept: String,
    /// With the release's lines there.
    pub(crate) taken: String,
    /// The lines in dispute of O, C and N, stretch by stretch; none where everything merges.
    pub(crate) disputed: Vec<[String; 3]>,
}

/// Merges the release's change of a text into the cluster's; `None` where it is one value.
pub(crate) fn merge_texts(old: &str, own: &str, new: &str) -> Option<MergedText> {
    let sides = [old, own, new];
    if sides.iter().any(|text| text.lines().nth(1).is_none() || is_encoded(text)) {
        return None;
    }
    let lines = sides.map(|text| text.split_inclusive('\n').map(terminated).collect::<Vec<_>>());
    let [o, c, n] = &lines;
    let hunks = hunks(o, c, n, touch);
    let end = if own.ends_with('\n') == old.ends_with('\n') { new } else { own };
    let merged = |takes: &dyn Fn(&Hunk) -> bool| {
        let (mut text, mut at) = (String::with_capacity(own.len() + new.len()), 0);
        for hunk in hunks.iter().filter(|hunk| takes(hunk)) {
            text.extend(range(c, &(at..hunk.own.start)).iter().map(AsRef::as_ref));
            text.extend(range(n, &hunk.new).iter().map(AsRef::as_ref));
            at = hunk.own.end;
        }
        text.extend(range(c, &(at..c.len())).iter().map(AsRef::as_ref));
        if !end.ends_with('\n') && text.ends_with('\n') {
            text.pop();
        }
        text
    };
    let disputed = hunks.iter().filter(|hunk| hunk.kind == HunkKind::Conflict);
    let disputed = disputed
        .map(|hunk| {
            [range(o, &hunk.old).concat(), range(c, &hunk.own).concat(), range(n, &hunk.new).concat()]
        })
        .collect();
    let text =
        MergedText { kept: merged(&|hunk| hunk.kind == HunkKind::Take), taken: merged(&|_| true), disputed };
    let is_sound = !sides.into_iter().all(is_yaml) || is_yaml(&text.kept) && is_yaml(&text.taken);
    is_sound.then_some(text)
}

/// Lines that differ between two texts: of what was replaced, the longer side counts.
pub(crate) fn differing_lines(one: &str, other: &str) -> usize {
    let lines = |text: &'_ str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let changes = super::sequence::changes(&lines(one), &lines(other));
    changes.iter().map(|change| change.old.len().max(change.side.len())).sum()
}

/// A line with a line feed, so that the last line compares like the others. The end of the text is merged
/// separately.
fn terminated(line: &str) -> Cow<'_, str> {
    if line.ends_with('\n') { Cow::Borrowed(line) } else { Cow::Owned(format!("{line}\n")) }
}

fn range<'l, T>(lines: &'l [T], range: &Range<usize>) -> &'l [T] {
    lines.get(range.clone()).unwrap_or_default()
}

/// Two changes that overlap, or of which one begins where the other ends.
fn touch(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start <= other.end && other.start <= one.end
}

/// Mappings and lists that say no key twice: anything is some scalar of YAML.
fn is_yaml(text: &str) -> bool {
    let Ok(file) = YamlFile::read(text) else { return false };
    let documents = file.documents();
    documents.iter().all(|document| document.duplicate_key.is_none())
        && documents
            .iter()
            .any(|document| document.root.as_mapping().is_some() || document.root.as_sequence().is_some())
}

/// Base64 in lines.
fn is_encoded(text: &str) -> bool {
    let is_of_it = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let mut lines = text.lines().filter(|line| !line.is_empty()).peekable();
    lines.peek().is_some_and(|line| line.len() >= 40) && lines.all(|line| line.trim().bytes().all(is_of_it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn merged(old: &str, own: &str, new: &str) -> (String, String, usize) {
        let merged = merge_texts(old, own, new).unwrap();
        (merged.kept, merged.taken, merged.disputed.len())
    }

    #[test]
    fn changes_apart_from_one_another_both_arrive() {
        let text = "a\nb\nc\nd\ne\n";
        let both = "A\nb\nc\nd\nmine\ne\n".to_owned();
        assert_eq!(merged(text, "a\nb\nc\nd\nmine\ne\n", "A\nb\nc\nd\ne\n"), (both.clone(), both, 0));
    }

    #[test]
    fn lines_that_touch_conflict_and_the_others_arrive() {
        assert_eq!(
            merged("a\nb\nc\nd\ne\n", "a\nmine\nc\nd\ne\n", "a\ntheirs\nc\nd\nE\n"),
            ("a\nmine\nc\nd\nE\n".to_owned(), "a\ntheirs\nc\nd\nE\n".to_owned(), 1)
        );
        let touching = merge_texts("a\nb\nc\n", "a\nB\nc\n", "a\nb\nC\n").unwrap();
        assert_eq!(touching.disputed, [["b\nc\n".to_owned(), "B\nc\n".to_owned(), "b\nC\n".to_owned()]]);
        // Both add at one place.
        assert_eq!(merge_texts("a\nb\n", "a\nb\nx\n", "a\nb\ny\n").unwrap().disputed.len(), 1);
    }

    #[test]
    fn the_end_of_the_last_line_is_merged_by_itself() {
        assert_eq!(merged("a\nb\nc", "x\na\nb\nc", "a\nb\nc\n").0, "x\na\nb\nc\n");
        assert_eq!(merged("a\nb\nc\n", "x\na\nb\nc", "a\nb\nc\n").0, "x\na\nb\nc");
    }

    #[test]
    fn what_has_no_lines_is_one_value() {
        assert_eq!(merge_texts("a\n", "b\n", "c\n"), None);
        let encoded = |end: &str| format!("{0}\n{0}\n{0}{end}\n", "QUJD".repeat(15));
        assert_eq!(merge_texts(&encoded(""), &encoded("QQ=="), &encoded("QUI=")), None);
        // Two keys of one name.
        assert_eq!(
            merge_texts("a: 1\nb: 2\nc: 3\n", "x: 1\na: 1\nb: 2\nc: 3\n", "a: 1\nb: 2\nc: 3\nx: 2\n"),
            None
        );
    }

    #[test]
    fn differing_lines_are_counted() {
        assert_eq!(differing_lines("a\nb\nc\n", "a\nB\nB\nc\nd\n"), 3);
        assert_eq!(differing_lines("a\nb\n", "a\n"), 1);
    }
}
