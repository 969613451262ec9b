//! Texts that are YAML only once their `${EXPRESSIONS}` have values: `[${KEYS}]`, `{name: ${NAME}-0}`.
//!
//! Braces without quotes mean something to YAML in flow collections. Where this alone makes a text invalid,
//! every expression is covered while it is parsed, by a word of as many bytes, so that all spans are those of
//! the text itself. A flow collection that consists of one expression is one scalar then, as it is written:
//! only the value says how many items it brings, and a scalar in brackets is read once it has one.

use super::error::YamlError;
use super::file::{YamlFile, lone_carriage_return};
use super::node::{Document, Entry, Node, NodeKind, Scalar, ScalarStyle, Span};
use super::position::position_in;
use super::read;

/// The first of the characters that stand for expressions: private ones, of three bytes each, which no
/// text of people holds.
const FIRST: u32 = 0xE000;
/// How many there are.
const COVERS: usize = 0x1900;
/// What fills a cover up to the length of its expression.
const FILL: char = '_';

impl YamlFile {
    /// Reads a template: what [`read`](Self::read) reads, and what is YAML except for expressions without
    /// quotes (`[${KEYS}]`). A collection that consists of one is a scalar, as it is written. Such a file is
    /// only for reading: an edit of it is refused.
    pub fn read_template(text: &str) -> Result<Self, YamlError> {
        let error = match Self::read(text) {
            Ok(file) => return Ok(file),
            Err(error) => error,
        };
        if lone_carriage_return(text).is_some() {
            return Err(error);
        }
        match read(text) {
            None => Err(error),
            Some(documents) => Ok(Self::new(text, documents?)),
        }
    }

    /// Reads the bytes of a template: see [`read_template`](Self::read_template).
    pub fn read_template_bytes(bytes: &[u8]) -> Result<Self, YamlError> {
        Self::of_bytes(bytes, Self::read_template)
    }
}

/// The documents of a template that is not valid YAML, if covering its expressions makes it valid; `None`
/// where it has none.
fn read(text: &str) -> Option<Result<Vec<Document>, YamlError>> {
    let covered = Covered::of(text)?;
    let mut documents = match read::read(&covered.text) {
        Ok(documents) => documents,
        Err(error) => return Some(Err(lone_line(text, &covered).unwrap_or(error))),
    };
    let uncovered = documents.iter_mut().try_for_each(|document| covered.uncover(&mut document.root));
    Some(uncovered.map(|()| documents))
}

/// The text with a plain word for everything that only values make readable, for setting the values by edits;
/// `None` where keys are concerned.
pub fn with_words(text: &str) -> Option<String> {
    let file = YamlFile::read_template(text).ok()?;
    let mut spans = Vec::new();
    for document in file.documents() {
        templated_spans(&document.root, text, &mut spans)?;
    }
    spans.sort_by_key(|span: &Span| std::cmp::Reverse(span.start));
    let mut out = text.to_owned();
    for span in spans {
        out.replace_range(span, "x");
    }
    Some(out)
}

fn templated_spans(node: &Node, text: &str, spans: &mut Vec<Span>) -> Option<()> {
    match &node.kind {
        NodeKind::Scalar(Scalar { text: own, style: ScalarStyle::Plain }) if own.contains("${") => {
            spans.push(node.span.clone());
        }
        NodeKind::Scalar(_) => {}
        NodeKind::Sequence(items) => {
            items.iter().try_for_each(|item| templated_spans(item, text, spans))?;
        }
        NodeKind::Mapping(entries) => {
            for entry in entries {
                if text.get(entry.key_span.clone())?.contains("${") {
                    return None;
                }
                templated_spans(&entry.value, text, spans)?;
            }
        }
    }
    Some(())
}

/// A text whose expressions are covered.
struct Covered<'a> {
    source: &'a str,
    text: String,
    /// The expressions, in order; that of the first cover first.
    expressions: Vec<&'a str>,
}

impl<'a> Covered<'a> {
    /// `None` where there is nothing to cover, or too much.
    fn of(source: &'a str) -> Option<Self> {
        if source.chars().any(|c| index_of(c).is_some()) {
            return None;
        }
        let (mut text, mut expressions) = (String::with_capacity(source.len()), Vec::new());
        let mut rest = source;
        while let Some((before, expression, after)) = next_expression(rest) {
            text.push_str(before);
            let cover = u32::try_from(expressions.len()).ok().and_then(|at| char::from_u32(FIRST + at))?;
            text.push(cover);
            text.extend(std::iter::repeat_n(FILL, expression.len() - cover.len_utf8()));
            expressions.push(expression);
            rest = after;
        }
        text.push_str(rest);
        (!expressions.is_empty() && expressions.len() <= COVERS).then_some(Self { source, text, expressions })
    }

    /// Puts the expressions back.
    fn uncover(&self, node: &mut Node) -> Result<(), YamlError> {
        let is_alone = |node: &Node| {
            matches!(&node.kind, NodeKind::Scalar(scalar)
                if scalar.style == ScalarStyle::Plain && self.is_cover(&scalar.text))
        };
        let is_flow = self.source.get(node.span.clone()).is_some_and(|text| text.starts_with(['[', '{']));
        let holds_one_alone = is_flow
            && match &node.kind {
                NodeKind::Sequence(items) => items.iter().any(is_alone),
                // `{${LABELS}}` reads as a key without a value.
                NodeKind::Mapping(entries) => entries.iter().any(|entry| {
                    self.is_cover(&entry.key) && entry.value.span.is_empty() && entry.value.is_null()
                }),
                NodeKind::Scalar(_) => false,
            };
        if holds_one_alone {
            let text = self.source.get(node.span.clone()).unwrap_or_default();
            if text.contains('\n') {
                return self.error(
                    "an expression alone in brackets over several lines: write them in one line",
                    node.span.start,
                );
            }
            node.kind = NodeKind::Scalar(Scalar::plain(text));
            return Ok(());
        }
        match &mut node.kind {
            NodeKind::Scalar(scalar) => {
                scalar.text = self.text_of(&scalar.text, scalar.style, &node.span)?;
            }
            NodeKind::Sequence(items) => items.iter_mut().try_for_each(|item| self.uncover(item))?,
            NodeKind::Mapping(entries) => {
                for Entry { key, key_span, value } in entries {
                    let is_quoted =
                        self.source.get(key_span.clone()).is_some_and(|key| key.starts_with(['"', '\'']));
                    let style = if is_quoted { ScalarStyle::DoubleQuoted } else { ScalarStyle::Plain };
                    *key = self.text_of(key, style, key_span)?;
                    self.uncover(value)?;
                }
            }
        }
        Ok(())
    }

    /// The text of a scalar with its expressions. In quotes they may contain escapes, which are read again.
    fn text_of(&self, text: &str, style: ScalarStyle, span: &Span) -> Result<String, YamlError> {
        if !text.chars().any(|c| index_of(c).is_some()) {
            return Ok(text.to_owned());
        }
        if matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) {
            let own = self.source.get(span.clone()).unwrap_or_default();
            let read = YamlFile::read(own).ok();
            let scalar = read.as_ref().and_then(|file| file.documents().first()?.root.as_scalar());
            return match scalar {
                Some(scalar) => Ok(scalar.text.clone()),
                None => self.error(
                    "an expression whose quotes end those around it: use the other quotes",
                    span.start,
                ),
            };
        }
        let mut out = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            let Some(expression) = index_of(c).and_then(|at| self.expressions.get(at)) else {
                out.push(c);
                continue;
            };
            out.push_str(expression);
            let fill = expression.len() - c.len_utf8();
            if fill > 0 {
                chars.nth(fill - 1);
            }
        }
        Ok(out)
    }

    /// Whether a text is one expression and nothing else.
    fn is_cover(&self, text: &str) -> bool {
        let mut chars = text.chars();
        let expression = chars.next().and_then(index_of).and_then(|at| self.expressions.get(at));
        expression.is_some_and(|expression| expression.len() == text.len()) && chars.all(|c| c == FILL)
    }

    fn error<T>(&self, message: &str, at: usize) -> Result<T, YamlError> {
        Err(YamlError { message: message.to_owned(), position: position_in(self.source, at) })
    }
}

fn index_of(c: char) -> Option<usize> {
    let at = usize::try_from(u32::from(c).checked_sub(FIRST)?).ok()?;
    (at < COVERS).then_some(at)
}

/// How many bytes an expression has at most: one that is never closed is not looked through to the end of its line by
/// each one in it.
const LONGEST: usize = 16 << 10;

/// The next expression, `$${ESCAPED}` ones included, with the text before and after it. One that does not end
/// on its line is not an expression.
fn next_expression(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(found) = text[from..].find("${") {
        let open = from + found;
        let start = if text[..open].ends_with('$') { open - 1 } else { open };
        let mut depth = 0_usize;
        for (at, byte) in text.bytes().enumerate().skip(open).take(LONGEST) {
            match byte {
                b'\n' => break,
                b'{' => depth += 1,
                b'}' if depth == 1 => {
                    return Some((&text[..start], &text[start..=at], &text[at + 1..]));
                }
                b'}' => depth -= 1,
                _ => {}
            }
        }
        from = open + 2;
    }
    None
}

/// An expression that replaces whole lines: they are unknown before it has a value.
fn lone_line(text: &str, covered: &Covered<'_>) -> Option<YamlError> {
    let mut start = 0;
    for (line, original) in covered.text.split_inclusive('\n').zip(text.split_inclusive('\n')) {
        if covered.is_cover(line.trim()) {
            let reads = |end: usize| read::read(&covered.text[..end]).is_ok();
            if reads(start) && !reads(start + line.len()) {
                let message = format!(
                    "`{}` alone on a line is replaced by whole lines, so this is not YAML before the replacement: write these lines here, with variables for the values in them",
                    original.trim()
                );
                let at = start + line.len() - line.trim_start().len();
                return Some(YamlError { message, position: position_in(text, at) });
            }
        }
        start += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> serde_json::Value {
        YamlFile::read_template(text).unwrap().documents()[0].root.value()
    }

    #[test]
    fn expressions_in_flow_collections_are_read() {
        for (text, expected) in [
            ("a: {name: ${N}-0, b: [x, z]}\n", serde_json::json!({"a": {"name": "${N}-0", "b": ["x", "z"]}})),
            ("a: [${KEYS}]\nb: 1\n", serde_json::json!({"a": "[${KEYS}]", "b": 1})),
            ("a: {${LABELS}}\n", serde_json::json!({"a": "{${LABELS}}"})),
            ("a: [x, ${Y}]\n", serde_json::json!({"a": "[x, ${Y}]"})),
            ("a: [x-${Y:=z}, '${Z}']\n", serde_json::json!({"a": ["x-${Y:=z}", "${Z}"]})),
            ("a: {b: \"${C}\\n\", ${D}: e}\n", serde_json::json!({"a": {"b": "${C}\n", "${D}": "e"}})),
            ("a: [$${X}y]\nb: |\n  ${Z}\n", serde_json::json!({"a": ["$${X}y"], "b": "${Z}\n"})),
            ("a: {b: ${C:={d: 1}}}\n", serde_json::json!({"a": {"b": "${C:={d: 1}}"}})),
        ] {
            assert!(YamlFile::read(text).is_err(), "{text}");
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_yaml_is_read_as_it_is() {
        assert_eq!(value("a: ${B}\nb: ['${C}']\n"), serde_json::json!({"a": "${B}", "b": ["${C}"]}));
    }

    #[test]
    fn spans_are_those_of_the_text() {
        let text = "a: {name: ${N}-0, b: [${X}]}\n";
        let file = YamlFile::read_template(text).unwrap();
        let root = &file.documents()[0].root;
        let span = |node: &Node| text[node.span.clone()].to_owned();
        let a = root.get("a").unwrap();
        assert_eq!(
            (span(a.get("name").unwrap()), span(a.get("b").unwrap())),
            ("${N}-0".into(), "[${X}]".into())
        );
    }

    #[test]
    fn what_stays_unreadable_is_said_with_its_place() {
        for (text, line, column, said) in [
            (
                "a:\n  b: c\n${MORE}\nd: [${E}]\n",
                3,
                1,
                "`${MORE}` alone on a line is replaced by whole lines",
            ),
            ("a:\n  ${B}\nb: [${C}]\n${MORE}\nd: e\n${LESS}\n", 4, 1, "`${MORE}` alone on a line"),
            ("a: [${X}\nb: c\n", 2, 2, ""),
            ("a: b: c\n", 1, 5, ""),
        ] {
            let error = YamlFile::read_template(text).unwrap_err();
            assert_eq!((error.position.line, error.position.column), (line, column), "{text}: {error}");
            assert!(error.message.starts_with(said), "{error}");
        }
    }

    #[test]
    fn of_the_real_files_those_are_left_that_only_values_complete() {
        let Some(files) = capstan_test_support::shared_data::files("") else { return };
        let mut left = Vec::new();
        for (path, bytes) in files {
            if !path.ends_with(".yaml") && !path.ends_with(".yml") {
                continue;
            }
            if let Err(error) = YamlFile::read_template_bytes(&bytes) {
                left.push(format!("{}: {error}", path.rsplit('/').next().unwrap_or_default()));
            }
        }
        // A variable that replaces lines.
        let [lines] = left.as_slice() else { panic!("{left:#?}") };
        assert!(
            lines.starts_with(
                "clusterctl-cluster.yaml: line 69, column 1: `${CTLPLANE_KUBEADM_EXTRA_CONFIG}` alone"
            ),
            "{lines}"
        );
    }
}
