//! What else is wrong in a settings file beside its first error.
//!
//! The reader stops at the first one. So that field is taken out, all other text staying where it is, and the file is read
//! again. It ends where that does not help: the same place is wrong again, or the text is no YAML any more.

use std::ops::Range;

use capstan_model::finding::{FileError, Position};
use capstan_yaml::{Node, NodeKind, YamlFile};

/// How many errors of one file are told.
const MOST: usize = 10;

/// The first error, its message with what else `read` finds wrong.
pub(super) fn with_others(
    text: &str,
    mut first: FileError,
    read: impl Fn(&str) -> Result<(), FileError>,
) -> FileError {
    let mut others: Vec<FileError> = Vec::new();
    let mut rest = text.to_owned();
    let mut blanked: Vec<Range<usize>> = Vec::new();
    let mut last = first.place.position();
    while let Some(position) = last
        && blanked.len() < MOST
        && let Some(Removal { span, left }) = removal_at(&rest, position)
        && !blanked.contains(&span)
    {
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
            others.push(error);
        }
    }
    if !others.is_empty() {
        let told: Vec<String> = others
            .iter()
            .map(|error| match error.place.line() {
                Some(line) => format!("line {line}: {}", error.message),
                None => error.message.clone(),
            })
            .collect();
        let stop = if first.message.ends_with('?') { "" } else { "." };
        first.message = format!("{}{stop} Also wrong: {}", first.message, told.join("; "));
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
    // A line that ends stays one: what is wrong further down is told with its own line.
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

    fn told(text: &str) -> String {
        let file = RepoPath::parse(".capstan.yaml").unwrap();
        RepositorySettings::read(&file, text, &RuleIds::of_catalogue()).unwrap_err().to_string()
    }

    #[test]
    fn all_that_is_wrong_is_told() {
        let text = "\
mode: propos
upgrade:
  proposals: {open: many, perHour: 3, ordre: [a]}
polcy: {component-downgrade: warning}
policy:
  component-downgrad: warning
";
        let told = told(text);
        assert!(told.starts_with(".capstan.yaml:1:7: "), "{told}");
        for part in [
            "Also wrong: line 3: `upgrade.proposals.open` must be",
            "line 3: unknown key `ordre` in `upgrade.proposals`; did you mean `order`?",
            "line 4: unknown key `polcy`; did you mean `policy`?",
            "line 6: `policy`: there is no rule `component-downgrad`",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
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
        let told = told(text);
        for part in [
            "`mode` must be propose or observe",
            "line 3: unknown key `pathss`",
            "line 7: `clusters.rules[0].track` must be",
            "line 8: `clusters.rules",
            "line 10: `upgrade.conflicts` must be",
            "line 11: `upgrade.proposals.open` must be",
            "line 12: `policy`: there is no rule `no-such-rule`",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }

    #[test]
    fn one_error_is_told_alone() {
        let told = told("mode: propos\n");
        assert!(!told.contains("Also wrong"), "{told}");
    }
}
