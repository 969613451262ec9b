//! What else is wrong in a settings file beside its first error: each with its own place.
//!
//! The reader stops at the first error. So that field is taken out, without moving any other text, and the file is read
//! again. It ends where that does not help: the same place is wrong again, or the text is not YAML any more.

use std::ops::Range;

use capstan_model::finding::{FileError, Position};
use capstan_yaml::{Node, NodeKind, YamlFile};

/// How many fields of one file are taken out.
const MOST: usize = 100;

/// So many bytes are read again for one file: a large file with many mistakes takes no longer than a small one.
const READ_AGAIN: usize = 4 << 20;

/// The first error, with what else `read` finds wrong.
pub(super) fn with_others(
    text: &str,
    mut first: FileError,
    read: impl Fn(&str) -> Result<(), FileError>,
) -> FileError {
    let mut rest = text.to_owned();
    let mut blanked: Vec<Range<usize>> = Vec::new();
    let mut last = first.place.position();
    while let Some(position) = last {
        if blanked.len() >= MOST.min(READ_AGAIN / text.len().max(1)) {
            let message = first.others.last_mut().map_or(&mut first.message, |last| &mut last.message);
            message.push_str("; more may be wrong in this file: correct these mistakes first");
            break;
        }
        let Some(Removal { span, left }) = removal_at(&rest, position) else { break };
        if blanked.contains(&span) {
            break;
        }
        blank(&mut rest, span.clone(), left);
        blanked.push(span);
        if YamlFile::read(&rest).is_err() {
            break;
        }
        let Err(error) = read(&rest) else { break };
        last = error.place.position();
        // What holds a blanked field may be wrong for that alone.
        let own = last.and_then(|position| match mapping_at(&rest, position) {
            Some((_, true)) => mapping_at(text, position).map(|(span, _)| span),
            _ => removal_at(text, position).map(|removal| removal.span),
        });
        let holds = |span: &Range<usize>| {
            own.as_ref().is_none_or(|own| own.start <= span.start && span.end <= own.end)
        };
        if !blanked.iter().any(holds) {
            first.others.push(error);
        }
    }
    first
}

/// What is taken out of a text, and what is left there.
struct Removal {
    span: Range<usize>,
    left: &'static str,
}

/// The field or item whose key or value begins at a place. Where it is the only one, its mapping or list is left empty:
/// without a word it would be null.
fn removal_at(text: &str, position: Position) -> Option<Removal> {
    let file = YamlFile::read(text).ok()?;
    let root = &file.documents().first()?.root;
    let is_there = |at: usize| file.position(at) == position;
    removal_below(text, root, &is_there)
        .map(|removal| if removal.span == root.span { Removal { left: "", ..removal } } else { removal })
}

/// The mapping below the file's own that has a key at a place, and whether it begins there: then an error there may be
/// about all of it.
fn mapping_at(text: &str, position: Position) -> Option<(Range<usize>, bool)> {
    let file = YamlFile::read(text).ok()?;
    let root = &file.documents().first()?.root;
    let is_there = |at: usize| file.position(at) == position;
    let span = mapping_below(root, &is_there).filter(|node| node.span != root.span)?.span.clone();
    let begins = is_there(span.start);
    Some((span, begins))
}

fn mapping_below<'n>(node: &'n Node, is_there: &dyn Fn(usize) -> bool) -> Option<&'n Node> {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let has_it = || entries.iter().any(|entry| is_there(entry.key_span.start));
            let below = entries.iter().find_map(|entry| mapping_below(&entry.value, is_there));
            below.or_else(|| has_it().then_some(node))
        }
        NodeKind::Sequence(items) => items.iter().find_map(|item| mapping_below(item, is_there)),
        NodeKind::Scalar(_) => None,
    }
}

fn removal_below(text: &str, node: &Node, is_there: &dyn Fn(usize) -> bool) -> Option<Removal> {
    match &node.kind {
        NodeKind::Mapping(entries) => entries.iter().find_map(|entry| {
            let own = || is_there(entry.key_span.start) || is_there(entry.value.span.start);
            removal_below(text, &entry.value, is_there).or_else(|| {
                own().then(|| match entries.len() {
                    1 => Removal { span: node.span.clone(), left: "{}" },
                    _ => {
                        let end = entry.value.span.end.max(entry.key_span.end);
                        Removal { span: entry.key_span.start..end, left: "" }
                    }
                })
            })
        }),
        NodeKind::Sequence(items) => items.iter().find_map(|item| {
            removal_below(text, item, is_there).or_else(|| {
                is_there(item.span.start).then(|| match items.len() {
                    1 => Removal { span: node.span.clone(), left: "[]" },
                    _ => Removal { span: dash_before(text, item.span.start)..item.span.end, left: "" },
                })
            })
        }),
        NodeKind::Scalar(_) => None,
    }
}

/// Where an item begins with the dash before it, if it has one.
fn dash_before(text: &str, item: usize) -> usize {
    let before = text.get(..item).unwrap_or_default().trim_end_matches([' ', '\n']);
    if before.ends_with('-') { before.len() - 1 } else { item }
}

/// Puts spaces where a field is, and where the colon behind an absent value or the comma beside it is.
fn blank(text: &mut String, span: Range<usize>, left: &str) {
    let mut bytes = std::mem::take(text).into_bytes();
    let next =
        |bytes: &[u8], from: usize| (from..bytes.len()).find(|at| !matches!(bytes[*at], b' ' | b'\n' | b':'));
    let comma_after = next(&bytes, span.end).filter(|at| bytes[*at] == b',');
    let comma_before = || {
        let before = (0..span.start).rev().find(|at| !matches!(bytes[*at], b' ' | b'\n'))?;
        (bytes[before] == b',').then_some(before)
    };
    // What is left needs the comma beside it.
    let comma = comma_after.or_else(comma_before).filter(|_| left.is_empty());
    let (start, length) = (span.start, span.len());
    let colon = (span.end < bytes.len() && bytes[span.end] == b':').then_some(span.end);
    for at in span.chain(comma).chain(colon) {
        if let Some(byte) = bytes.get_mut(at).filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
    }
    // Line ends stay, so that later errors have the right line.
    let place = bytes.get_mut(start..start + left.len()).filter(|place| !place.contains(&b'\n'));
    if let Some(place) = place.filter(|_| length >= left.len()) {
        place.copy_from_slice(left.as_bytes());
    }
    *text = String::from_utf8(bytes).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use crate::settings::{RepositorySettings, RuleIds};
    use capstan_model::tree::RepoPath;

    fn error_lines(text: &str) -> Vec<String> {
        let file = RepoPath::parse(".capstan.yaml").unwrap();
        RepositorySettings::read(&file, text, &RuleIds::of_catalogue()).unwrap_err().lines().collect()
    }

    fn assert_errors(text: &str, expected: &[&str]) {
        let told = error_lines(text);
        assert_eq!(told.len(), expected.len(), "{told:#?}");
        for (line, expected) in told.iter().zip(expected) {
            assert!(line.starts_with(expected), "{expected}: {told:#?}");
        }
    }

    #[test]
    fn every_mistake_is_reported_at_its_own_place() {
        let text = "\
mode: propos
upgrade:
  proposals: {open: many, perHour: 3, ordre: [a]}
polcy: {component-downgrade: warning}
policy:
  component-downgrad: warning
";
        let expected = [
            ".capstan.yaml:1:7: `mode` must be propose or observe",
            ".capstan.yaml:3:21: `upgrade.proposals.open` must be",
            ".capstan.yaml:3:39: unknown key `ordre` in `upgrade.proposals`; did you mean `order`?",
            ".capstan.yaml:4:1: unknown key `polcy`; did you mean `policy`?",
            ".capstan.yaml:6:3: `policy`: there is no rule `component-downgrad`",
        ];
        assert_errors(text, &expected);
    }

    #[test]
    fn what_is_wrong_alone_in_its_mapping_or_list_hides_nothing_after_it() {
        let text = "\
mode: proposee
releases:
  pathss: [\"aws/v*\"]
clusters:
  rules:
  - match: \"gauss/*\"
    track: minr
  - 5
upgrade:
  conflicts: kep
  proposals: {open: many}
policy: {no-such-rule: error}
";
        let expected = [
            ".capstan.yaml:1:7: `mode` must be propose or observe",
            ".capstan.yaml:3:3: unknown key `pathss`",
            ".capstan.yaml:7:12: `clusters.rules[0].track` must be",
            ".capstan.yaml:8:5: `clusters.rules",
            ".capstan.yaml:10:14: `upgrade.conflicts` must be",
            ".capstan.yaml:11:21: `upgrade.proposals.open` must be",
            ".capstan.yaml:12:10: `policy`: there is no rule `no-such-rule`",
        ];
        assert_errors(text, &expected);
    }

    #[test]
    fn many_mistakes_are_all_reported() {
        let text: String = (0..60).map(|at| format!("unknown{at}: x\n")).collect();
        assert_eq!(error_lines(&text).len(), 60);
        let text: String = (0..150).map(|at| format!("unknown{at}: x\n")).collect();
        let told = error_lines(&text);
        assert_eq!(told.len(), 101, "the first and a hundred others");
        let more = "more may be wrong in this file: correct these mistakes first";
        assert!(told[100].ends_with(more), "{told:#?}");
    }

    #[test]
    fn one_error_is_shown_alone() {
        let file = RepoPath::parse(".capstan.yaml").unwrap();
        let read = |text: &str| RepositorySettings::read(&file, text, &RuleIds::of_catalogue()).unwrap_err();
        assert!(read("mode: propos\n").others.is_empty());
        let two = read("mode: propos\npolcy: {}\n").to_string();
        let more = " (and 1 other mistake in this file, which `capstan validate` lists)";
        assert!(two.starts_with(".capstan.yaml:1:7: ") && two.ends_with(more), "{two}");
    }
}
