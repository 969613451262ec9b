//! The objects of a text whose variables have values, read as Kubernetes reads YAML; and the rule that a
//! value stays inside one scalar, so that a credential cannot add a key to an object.

use std::ops::Range;

use capstan_model::object::{ObjectId, api_group};
use capstan_yaml::limits::NODES;
use capstan_yaml::{Node, NodeKind, Position, YamlError, YamlFile};
use serde_json::Value;

use super::refusal::Refusal;
use super::variables::Substituted;

/// An object of the components.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) value: Value,
    /// The line of the text that it begins at.
    line: u32,
}

impl Object {
    /// An object that no text holds.
    #[cfg(test)]
    pub(crate) const fn of(value: Value) -> Self {
        Self { value, line: 0 }
    }

    fn text(&self, key: &str) -> &str {
        self.value.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn kind(&self) -> &str {
        self.text("kind")
    }

    /// The group of its `apiVersion`.
    pub(crate) fn group(&self) -> &str {
        api_group(self.text("apiVersion"))
    }

    /// The version of its `apiVersion`, without the group.
    pub(crate) fn version(&self) -> &str {
        let version = self.text("apiVersion");
        version.split_once('/').map_or(version, |(_, version)| version)
    }

    /// A text of its metadata; empty where there is none.
    pub(crate) fn metadata(&self, key: &str) -> &str {
        self.value.get("metadata").and_then(|metadata| metadata.get(key)?.as_str()).unwrap_or_default()
    }

    /// Which object it is.
    pub(crate) fn id(&self) -> ObjectId {
        id_of(&self.value)
    }

    /// A refusal of it.
    pub(crate) fn refuse(&self, message: impl Into<String>) -> Refusal {
        Refusal::new(message).of(self.id())
    }

    /// That it says what every object says.
    ///
    /// # Errors
    /// No `apiVersion`, `kind` or `metadata.name`, or a map of its metadata with values that are not texts.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let known = self.id();
        let missing = [
            ("apiVersion", self.text("apiVersion")),
            ("kind", self.kind()),
            ("metadata.name", known.name.as_str()),
        ];
        if let Some((field, _)) = missing.iter().find(|(_, text)| text.is_empty()) {
            let kind = if known.kind.is_empty() { "document" } else { known.kind.as_str() };
            return Err(Refusal::new(format!(
                "line {}: this {kind} has no `{field}`, so it is not a Kubernetes object",
                self.line
            )));
        }
        for field in ["labels", "annotations"] {
            let map = self
                .value
                .get("metadata")
                .and_then(|metadata| metadata.get(field))
                .filter(|map| !map.is_null());
            if map.is_some_and(|map| map.as_object().is_none_or(|map| !map.values().all(Value::is_string))) {
                return Err(
                    self.refuse(format!("`metadata.{field}` must be a mapping of texts: quote its values"))
                );
            }
        }
        Ok(())
    }
}

/// Which object that is; without the parts that it does not say.
pub(crate) fn id_of(object: &Value) -> ObjectId {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let namespace = text("/metadata/namespace");
    ObjectId {
        group: api_group(text("/apiVersion")).to_owned(),
        kind: text("/kind").to_owned(),
        namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
        name: text("/metadata/name").to_owned(),
    }
}

/// Reads the objects of a text; documents without content are passed over. One document is read after the other: what its
/// tree takes is many times its text, and components are large.
///
/// # Errors
/// Not YAML, a value that leaves its scalar, a document that is not an object: with the line of the text. A
/// value is never shown.
pub(crate) fn read(text: &Substituted) -> Result<Vec<Object>, Refusal> {
    let mut objects = Vec::new();
    let mut values: usize = 0;
    let mut lines_before: u32 = 0;
    for part in parts(&text.text) {
        let own = &text.text[part.clone()];
        let file = YamlFile::read(own).map_err(|error| no_yaml(text, &error, lines_before))?;
        refuse_values_outside(&file, text, &part)?;
        for document in file.documents() {
            if document.root.is_null() {
                continue;
            }
            values += size(&document.root);
            if values > NODES {
                return Err(Refusal::new(format!(
                    "this has more than {NODES} values with aliases expanded: make it smaller"
                )));
            }
            let line = lines_before + file.position(document.root.span.start).line;
            if document.root.as_mapping().is_none() {
                return Err(Refusal::new(format!(
                    "line {line}: a document must be a mapping: remove this one"
                )));
            }
            let object = Object { value: document.root.value(), line };
            object.check()?;
            objects.push(object);
        }
        lines_before += u32::try_from(own.matches('\n').count()).unwrap_or(u32::MAX);
    }
    Ok(objects)
}

/// The parts of a text that are read by themselves: each begins with its document's marker, which ends the
/// previous one. A text with directives is one part, since they precede the marker of their document.
fn parts(text: &str) -> Vec<Range<usize>> {
    let mut begins = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with('%') {
            return std::iter::once(0..text.len()).collect();
        }
        let is_marker = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if is_marker && at > 0 {
            begins.push(at);
        }
        at += line.len();
    }
    let ends = begins.iter().skip(1).copied().chain([text.len()]);
    begins.iter().copied().zip(ends).map(|(begin, end)| begin..end).collect()
}

/// How many values a document has.
fn size(node: &Node) -> usize {
    1 + match &node.kind {
        NodeKind::Scalar(_) => 0,
        NodeKind::Sequence(items) => items.iter().map(size).sum(),
        NodeKind::Mapping(entries) => entries.iter().map(|entry| size(&entry.value)).sum::<usize>(),
    }
}

/// Why a text is not YAML: the parser's words may quote its input, so near a value only its variable is
/// named.
fn no_yaml(text: &Substituted, error: &YamlError, lines_before: u32) -> Refusal {
    let position = YamlError {
        message: error.message.clone(),
        position: Position { line: error.position.line + lines_before, ..error.position },
    };
    let line = usize::try_from(position.position.line).unwrap_or(usize::MAX);
    let end = text.text.match_indices('\n').nth(line.saturating_sub(1)).map_or(text.text.len(), |(at, _)| at);
    match text.values.iter().rev().find(|(range, _)| range.start <= end) {
        Some((_, name)) => Refusal::new(format!(
            "line {line}: with the values of the variables this is not YAML. The last variable before it is `{name}`: give it a value that fits into one scalar"
        )),
        None => Refusal::new(format!("this is not YAML: {position}")),
    }
}

/// Refuses a value of a part of the text whose bytes are not all in one scalar, or in one comment. White
/// space at its ends counts where it could do more than pad.
fn refuse_values_outside(file: &YamlFile, text: &Substituted, part: &Range<usize>) -> Result<(), Refusal> {
    let own: Vec<(Range<usize>, &str)> = text
        .values
        .iter()
        .filter(|(range, _)| part.contains(&range.start))
        .map(|(range, name)| (range.start - part.start..range.end - part.start, &**name))
        .collect();
    if own.is_empty() {
        return Ok(());
    }
    let mut scalars = Vec::new();
    file.documents().iter().for_each(|document| collect(&document.root, &mut scalars));
    scalars.sort_by_key(|span| span.start);
    let whole = &text.text[part.start..];
    let lines = std::iter::once(0).chain(whole.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut layout = ScalarLayout { text: whole, scalars, lines, comment: None };
    for (range, name) in own {
        let range = layout.without_padding(&range);
        let is_beyond = range.end > part.end - part.start;
        if !range.is_empty() && (is_beyond || !layout.keeps(&range)) {
            let before = text.text[..part.start].matches('\n').count();
            let line = before + layout.line_of(range.start) + 1;
            return Err(Refusal::new(format!(
                "line {line}: the value of the variable `{name}` does not fit into one scalar: it has a line break, a quote or another character that YAML treats specially. Give it another value"
            )));
        }
    }
    Ok(())
}

/// The bytes of all keys and values.
fn collect(node: &Node, scalars: &mut Vec<Range<usize>>) {
    match &node.kind {
        NodeKind::Scalar(_) => scalars.push(node.span.clone()),
        NodeKind::Sequence(items) => items.iter().for_each(|item| collect(item, scalars)),
        NodeKind::Mapping(entries) => {
            for entry in entries {
                scalars.push(entry.key_span.clone());
                collect(&entry.value, scalars);
            }
        }
    }
}

/// Which bytes of a text are scalars, and which a comment. Values are asked for in their order.
struct ScalarLayout<'t> {
    text: &'t str,
    scalars: Vec<Range<usize>>,
    /// Where each line begins.
    lines: Vec<usize>,
    /// The line that was asked for last, and where a comment begins on it.
    comment: Option<(usize, Option<usize>)>,
}

impl ScalarLayout<'_> {
    /// The line of a byte, from 0.
    fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|begin| *begin <= at).saturating_sub(1)
    }

    fn begin_of(&self, line: usize) -> usize {
        self.lines.get(line).copied().unwrap_or_default()
    }

    /// A value without the blanks in front of it that stand behind something on its line, and without the white
    /// space behind it where its line ends there anyway.
    fn without_padding(&self, range: &Range<usize>) -> Range<usize> {
        let text = self.text;
        let value = &text[range.clone()];
        let line = &text[self.begin_of(self.line_of(range.start))..range.start];
        let mut start = range.start;
        if line.bytes().any(|byte| !matches!(byte, b' ' | b'\t')) {
            start += value.len() - value.trim_start_matches([' ', '\t']).len();
        }
        let mut end = range.end;
        if text[end..].is_empty() || text[end..].starts_with(['\n', '\r']) {
            end = start + text[start..end].trim_end_matches([' ', '\t', '\r', '\n']).len();
        }
        start..end
    }

    fn keeps(&mut self, range: &Range<usize>) -> bool {
        let at = self.scalars.partition_point(|span| span.start <= range.start);
        let before = self.scalars[..at].last().filter(|span| range.end <= span.end);
        match before {
            Some(span) if span.start == range.start => match self.text.as_bytes().get(range.start) {
                // What opens must be closed by the same value.
                Some(b'"' | b'\'') => range.end == span.end,
                // Block scalars, aliases, anchors and tags take in or name what is the text's own.
                Some(b'|' | b'>' | b'*' | b'&' | b'!') => false,
                _ => true,
            },
            Some(_) => true,
            None => {
                let begins = self.comment_on(self.line_of(range.start));
                begins.is_some_and(|begin| begin < range.start)
                    && !self.text[range.clone()].contains(['\n', '\r'])
            }
        }
    }

    /// Where a comment begins on a line.
    fn comment_on(&mut self, line: usize) -> Option<usize> {
        if let Some((known, begin)) = self.comment
            && known == line
        {
            return begin;
        }
        let begin = self.begin_of(line);
        let end = self.lines.get(line + 1).copied().unwrap_or(self.text.len());
        let in_scalar = |byte: usize| {
            let before = self.scalars.partition_point(|span| span.start <= byte);
            self.scalars[..before].last().is_some_and(|span| byte < span.end)
        };
        let line_text = &self.text[begin..end];
        let found = line_text
            .match_indices('#')
            .map(|(at, _)| at)
            .find(|at| (*at == 0 || line_text[..*at].ends_with([' ', '\t'])) && !in_scalar(begin + at));
        self.comment = Some((line, found.map(|at| begin + at)));
        found.map(|at| begin + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::{VariableValues, substitute};

    fn tried(text: &str, value: &str) -> Result<Vec<Object>, String> {
        let mut values = VariableValues::default();
        values.insert("V", value);
        values.insert("ROLE", "arn:aws:iam::123:role/x");
        let substituted = substitute(text, &values).ok().unwrap();
        read(&substituted).map_err(|refusal| {
            let said = refusal.to_string();
            assert!(value.trim().len() < 3 || !said.contains(value.trim()), "a value is shown: {said}");
            said
        })
    }

    const HEAD: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n";

    #[test]
    fn a_value_stays_inside_one_scalar() {
        for (written, value, stays) in [
            ("data: {a: ${V}}", "plain", true),
            ("data: {a: ${V}}", "b, c: d", false),
            ("data:\n  a: ${V}\n", "secret-value", true),
            ("data:\n  a: ${V}\n", "secret\n  injected: true", false),
            ("data:\n  a: ${V}\n", "secret\n", true),
            ("data:\n  a: ${V} \n", "secret\n", false),
            ("data:\n  a: \"${V}\"\n", "secret\n", true),
            ("data:\n  a: \"${V}\"\n", "sec\"\n  b: \"ret", false),
            ("data:\n  a: '${V}'\n", "it''s", true),
            ("data:\n  a: ${V}\n", "\"quoted\"", true),
            ("data:\n  a: ${V}\n  b: c\"\n", "\"", false),
            ("data:\n  a: ${V}\n    b: c\n", "|", false),
            ("data:\n  a: &x b\n  c: ${V}\n", "*x", false),
            ("data:\n  a: ${V}\n", "&anchor value", false),
            ("data:\n  a: ${V}\n", "!!binary value", false),
            ("data:\n  a: ${V}\n", "value # comment", false),
            ("data:\n  a: ${V}\n", "value: other", false),
            ("data:\n  a: ${V}\n", "value\n---\nkind: Evil", false),
            ("data:\n  a: |\n    ${V}\n", "line", true),
            ("data:\n  a: |\n    ${V}\n", "line\n  b: injected", false),
            ("data:\n  a: |\n    ${V}\n", "line\n    more", true),
            ("data:\n  ${V}: b\n", "key", true),
            ("data:\n  ${V}: b\n", "key: {x: y}, z", false),
            ("data:\n  a: b # ${V}\n", "remark", true),
            ("data:\n  a: b # ${V}\n", "remark\n  c: d", false),
            ("data:\n  a: 'b # ${V}'\n", "text", true),
            ("data:\n  a: b#${V}\n", "text", true),
            ("data:\n  a: ${V}\n", "", true),
            ("data:\n  a: ${V}-x\n", "   padded", true),
            ("${V}data: {a: b}\n", "injected: true\n", false),
            ("data: [\"${V}\"]\n", "a\", \"b", false),
            ("${V}\n", "---\nkind: Evil", false),
            ("data: {a: b}\n${V}\n", "---", false),
            ("data: {a: ${V}}\n---\napiVersion: v1\nkind: B\nmetadata: {name: b}\n", "plain", true),
            ("data: {a: b}\n---\napiVersion: v1\nkind: B\nmetadata: {name: ${V}}\n", "plain", true),
            ("data: {a: b}\n---\napiVersion: v1\nkind: B\nmetadata: {name: ${V}}\n", "b, c: d", false),
        ] {
            let read = tried(&format!("{HEAD}{written}"), value);
            let refused = read.as_ref().err().is_some_and(|said| said.contains("`V`"));
            assert_eq!((read.is_ok(), refused), (stays, !stays), "{written:?} {value:?}: {read:?}");
        }
    }

    /// The real AWS components make a key of an annotation out of the text of a replacement.
    #[test]
    fn a_key_may_come_from_the_text_round_a_value() {
        let text =
            format!("{HEAD}data:\n  annotations:\n    ${{ROLE/#arn/eks.amazonaws.com/role-arn: arn}}\n");
        let objects = tried(&text, "").unwrap();
        assert_eq!(
            objects[0].value["data"],
            serde_json::json!({"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::123:role/x"}})
        );
    }

    #[test]
    fn documents_are_objects_or_refused_with_their_line() {
        let objects = tried(
            "---\n# nothing\n---\napiVersion: v1\nkind: A\nmetadata: {name: b, labels: null}\nx: {y: 1, on: no}\n---\n",
            "",
        );
        assert_eq!(objects.unwrap()[0].value["x"], serde_json::json!({"true": 1, "true": false}), "YAML 1.1");
        for (text, said) in [
            ("apiVersion: v1\nkind: A\nmetadata: {}\n", "line 1: this A has no `metadata.name`"),
            ("---\na: b\n", "line 2: this document has no `apiVersion`"),
            ("apiVersion: v1\nmetadata: {name: a}\n", "line 1: this document has no `kind`"),
            ("- a\n", "line 1: a document must be a mapping"),
            ("a: b: c\n", "this is not YAML: line 1"),
            (
                "# x\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n\na: b: c\n",
                "this is not YAML: line 8",
            ),
            (
                "%YAML 1.2\n---\napiVersion: v1\nkind: A\nmetadata: {}\n",
                "line 3: this A has no `metadata.name`",
            ),
            (
                "apiVersion: v1\nkind: A\nmetadata: {name: a, labels: {b: true}}\n",
                "A a: `metadata.labels` must be a mapping of texts",
            ),
            (&format!("a: {}1{}\n", "[".repeat(1000), "]".repeat(1000)), "nested deeper than 200 levels"),
        ] {
            let refused = tried(text, "").unwrap_err();
            assert!(refused.contains(said), "{text}: {refused}");
        }
    }
}
