//! A settings file with wrong fields taken out or replaced, and where each of its places is in the file as it is written.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use capstan_model::finding::{FileError, Position};
use capstan_yaml::{Node, NodeKind, YamlFile};
use serde_json::Value;

use super::schema::json_schema;

/// One way to get past an error.
pub(super) struct Mend {
    /// The part of the text that changes.
    span: Range<usize>,
    /// What is there instead, before blanks; `None` where a field or an item goes with its key or dash.
    value: Option<String>,
    /// What is left of a mapping or a list without its only member.
    left: &'static str,
}

/// A change of the file, in bytes of the file as it is written.
#[derive(Debug, Clone)]
struct MendedSpan {
    written: Range<usize>,
    with: String,
    /// Whether a field or an item is gone.
    removes: bool,
}

/// The text of a file after some mends.
#[derive(Debug, Clone)]
pub(super) struct MendedText<'t> {
    written: &'t str,
    /// Ordered, and none inside another.
    edits: Vec<MendedSpan>,
    text: String,
}

/// A field or an item of a text: from its key or its value to its end.
struct TextMember {
    whole: Range<usize>,
    value: Range<usize>,
    /// What is left where it is taken out: of its mapping or list, if it is the only one.
    only: Option<(Range<usize>, &'static str)>,
    is_item: bool,
}

/// Right values of fields that must not be absent, whatever their type: the words that settings have, and forms.
static VALUES: LazyLock<Vec<String>> = LazyLock::new(|| {
    fn words(schema: &Value, found: &mut BTreeSet<String>) {
        match schema {
            Value::Object(fields) => {
                let of_enum = fields.get("enum").and_then(Value::as_array).into_iter().flatten();
                found.extend(of_enum.chain(fields.get("const")).filter_map(Value::as_str).map(str::to_owned));
                fields.values().for_each(|below| words(below, found));
            }
            Value::Array(items) => items.iter().for_each(|below| words(below, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    words(&json_schema(), &mut found);
    let forms = [
        "1",
        "a/b",
        "/a",
        "[]",
        "{}",
        "[a]",
        "[{name: a}]",
        "1h",
        "UTC",
        "true",
        "2026-01-01",
        "0 0 * * *",
        "https://a.example",
        "a/v1.0.0",
    ];
    forms.into_iter().map(str::to_owned).chain(found).collect()
});

impl<'t> MendedText<'t> {
    pub(super) fn new(written: &'t str) -> Self {
        Self { written, edits: Vec::new(), text: written.to_owned() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What may get past an error, the smallest change first. A wrong value is replaced before it is taken out: it may be
    /// one that must not be absent.
    pub(super) fn mends(&self, error: &FileError) -> impl Iterator<Item = Mend> {
        let at = error.place.position().and_then(|position| self.offset_of(position));
        let members = at.map(|at| self.members_at(at)).unwrap_or_default();
        // Two names or UIDs must differ.
        let number = self.edits.len();
        let unique = [format!("a{number}"), format!("00000000-0000-0000-0000-{number:012}")];
        let mut values: Vec<String> = unique.into_iter().chain(VALUES.iter().cloned()).collect();
        // Most messages say what is right.
        values.sort_by_key(|value| !error.message.contains(value.as_str()));
        members.into_iter().rev().flat_map(move |member| {
            let removal = self.removal_of(&member);
            let is_value =
                at == Some(member.value.start) && (member.is_item || at != Some(member.whole.start));
            let value = member.value;
            let replacing = |with: &String| Mend { span: value.clone(), value: Some(with.clone()), left: "" };
            let mut mends: Vec<Mend> = values.iter().map(replacing).collect();
            mends.insert(if is_value { mends.len() } else { 0 }, removal);
            mends
        })
    }

    fn removal_of(&self, member: &TextMember) -> Mend {
        let (span, left) = match &member.only {
            Some((around, left)) => (around.clone(), *left),
            None if member.is_item => (dash_before(&self.text, member.whole.start)..member.whole.end, ""),
            None => (member.whole.clone(), ""),
        };
        let span = if left.is_empty() { with_separators(&self.text, span) } else { span };
        Mend { span, value: None, left }
    }

    /// The text after one more mend; `None` where it cannot be read as YAML then.
    pub(super) fn with(&self, mend: &Mend) -> Option<Self> {
        let written = self.written_at(mend.span.start)..self.written_at(mend.span.end);
        let replaced = self.written.get(written.clone())?;
        // Line ends stay, so that a comment or a block behind it begins a line.
        let blank: String = replaced.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        let with = match &mend.value {
            // A scalar in a line of its own must be deeper than its key.
            Some(value) => format!(" {value}{}", blank.trim_start_matches(' ')),
            None => format!("{}{blank}", mend.left),
        };
        let apart =
            |edit: &MendedSpan| edit.written.end <= written.start || written.end <= edit.written.start;
        let mut edits: Vec<MendedSpan> = self.edits.iter().filter(|edit| apart(edit)).cloned().collect();
        edits.push(MendedSpan { written, with, removes: mend.value.is_none() });
        edits.sort_by_key(|edit| edit.written.start);
        let (mut text, mut done) = (String::new(), 0);
        for edit in &edits {
            text.push_str(self.written.get(done..edit.written.start)?);
            text.push_str(&edit.with);
            done = edit.written.end;
        }
        text.push_str(self.written.get(done..)?);
        YamlFile::read(&text).ok()?;
        Some(Self { written: self.written, edits, text })
    }

    /// The byte at a position of the text.
    pub(super) fn offset_of(&self, position: Position) -> Option<usize> {
        let line = usize::try_from(position.line).ok()?.checked_sub(1)?;
        let column = usize::try_from(position.column).ok()?.checked_sub(1)?;
        let begins = match line {
            0 => self.text.len() - self.text.trim_start_matches('\u{feff}').len(),
            line => self.text.match_indices('\n').nth(line - 1)?.0 + 1,
        };
        let rest = self.text.get(begins..)?;
        Some(begins + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at))
    }

    /// Where a byte of the text is in the file as it is written; of what is replaced, where that begins.
    pub(super) fn written_at(&self, at: usize) -> usize {
        self.origin_of(at).0
    }

    /// Whether a byte of the text is not in the file as it is written.
    pub(super) fn is_edited(&self, at: usize) -> bool {
        self.origin_of(at).1
    }

    fn origin_of(&self, at: usize) -> (usize, bool) {
        let (mut here, mut written) = (0, 0);
        for edit in &self.edits {
            let begins = here + edit.written.start - written;
            if at < begins {
                break;
            }
            here = begins + edit.with.len();
            if at < here {
                return (edit.written.start, true);
            }
            written = edit.written.end;
        }
        (written + at - here, false)
    }

    /// The position in the file as it is written.
    pub(super) fn written_position(&self, at: usize) -> Position {
        let before = self.written.get(..self.written_at(at)).unwrap_or_default();
        let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Position {
            line: number(before.matches('\n').count() + 1),
            column: number(line.trim_start_matches('\u{feff}').chars().count() + 1),
        }
    }

    /// What an error at a position is about, in bytes of the file as it is written: the largest member that begins there.
    pub(super) fn subject_at(&self, position: Position) -> Option<Range<usize>> {
        let at = self.offset_of(position)?;
        let members = self.members_at(at);
        let whole = members.iter().find(|member| member.whole.start == at || member.value.start == at)?;
        Some(self.written_at(whole.whole.start)..self.written_at(whole.whole.end))
    }

    /// Whether a member whose value begins at a byte lost a field or an item: it may be wrong for that alone.
    pub(super) fn lacks_removed(&self, at: usize) -> bool {
        let here = members_around(&self.text, at);
        let written = members_around(self.written, self.written_at(at));
        let mut pairs = here.iter().zip(&written).filter(|(here, _)| here.value.start == at);
        pairs.any(|(_, written)| {
            let mut gone = self.edits.iter().filter(|edit| edit.removes);
            gone.any(|edit| written.value.contains(&edit.written.start))
        })
    }

    /// The items around a byte by their paths: here, and in the file as it is written. The innermost comes first.
    pub(super) fn indices(&self, at: usize) -> Vec<(String, String)> {
        let here = items_around(&self.text, at);
        let written = items_around(self.written, self.written_at(at));
        let pairs = here.into_iter().zip(written).filter(|(here, written)| here != written);
        let mut pairs: Vec<(String, String)> = pairs.collect();
        pairs.reverse();
        pairs
    }

    /// The members around a byte, the outermost first.
    fn members_at(&self, at: usize) -> Vec<TextMember> {
        members_around(&self.text, at)
    }
}

fn members_around(text: &str, at: usize) -> Vec<TextMember> {
    let mut found = Vec::new();
    if let Ok(file) = YamlFile::read(text)
        && let Some(document) = file.documents().first()
    {
        members_below(&document.root, at, true, &mut found);
    }
    found
}

fn members_below(node: &Node, at: usize, is_root: bool, found: &mut Vec<TextMember>) {
    let only = |count: usize, left: &'static str| {
        (count == 1).then(|| (node.span.clone(), if is_root { "" } else { left }))
    };
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let end = |entry: &capstan_yaml::Entry| entry.value.span.end.max(entry.key_span.end);
            let around = entries.iter().rfind(|entry| entry.key_span.start <= at && at <= end(entry));
            if let Some(entry) = around {
                found.push(TextMember {
                    whole: entry.key_span.start..end(entry),
                    value: entry.value.span.clone(),
                    only: only(entries.len(), "{}"),
                    is_item: false,
                });
                members_below(&entry.value, at, false, found);
            }
        }
        NodeKind::Sequence(items) => {
            if let Some(item) = items.iter().rfind(|item| item.span.start <= at && at <= item.span.end) {
                found.push(TextMember {
                    whole: item.span.clone(),
                    value: item.span.clone(),
                    only: only(items.len(), "[]"),
                    is_item: true,
                });
                members_below(item, at, false, found);
            }
        }
        NodeKind::Scalar(_) => {}
    }
}

/// The items of lists around a byte, each as a message names it: `campaigns[1].waves[0]`. The outermost comes first.
fn items_around(text: &str, at: usize) -> Vec<String> {
    let (mut path, mut found) = (String::new(), Vec::new());
    let Ok(file) = YamlFile::read(text) else { return found };
    let mut node = file.documents().first().map(|document| &document.root);
    while let Some(here) = node {
        node = match &here.kind {
            NodeKind::Mapping(entries) => {
                let around = entries.iter().rfind(|entry| entry.key_span.start <= at);
                around.map(|entry| {
                    let dot = if path.is_empty() { "" } else { "." };
                    path.push_str(&format!("{dot}{}", entry.key));
                    &entry.value
                })
            }
            NodeKind::Sequence(items) => {
                let around = items.iter().enumerate().rfind(|(_, item)| item.span.start <= at);
                around.map(|(index, item)| {
                    path.push_str(&format!("[{index}]"));
                    found.push(path.clone());
                    item
                })
            }
            NodeKind::Scalar(_) => None,
        };
    }
    found
}

/// Where an item begins with the dash before it, if it has one.
fn dash_before(text: &str, item: usize) -> usize {
    let before = text.get(..item).unwrap_or_default().trim_end_matches([' ', '\n']);
    if before.ends_with('-') { before.len() - 1 } else { item }
}

/// A member with the colon behind an absent value, and with the comma beside it.
fn with_separators(text: &str, span: Range<usize>) -> Range<usize> {
    let (before, behind) =
        (text.get(..span.start).unwrap_or_default(), text.get(span.end..).unwrap_or_default());
    let colon = usize::from(behind.starts_with(':'));
    let rest = behind.get(colon..).unwrap_or_default();
    let comma = rest.trim_start_matches([' ', '\n']);
    if comma.starts_with(',') {
        return span.start..text.len() - comma.len() + 1;
    }
    let without = before.trim_end_matches([' ', '\n']);
    let start = if without.ends_with(',') { without.len() - 1 } else { span.start };
    start..span.end + colon
}
