//! Text of a value in block style.

use super::node::{Node, NodeKind, Scalar, ScalarStyle};
use super::scalar::{Reading, read_plain};

/// How wide one level is where nothing around it says otherwise.
pub(super) const INDENT: usize = 2;

/// How a node made here is laid out: learnt from the neighbourhood where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// Columns per level of mappings.
    pub(super) indent: usize,
    /// Columns from a key to the dashes of its sequence: 0 or `indent`.
    pub(super) dash: usize,
    /// Columns from a dash to its item.
    pub(super) item: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Self { indent: INDENT, dash: 0, item: 2 }
    }
}

/// A whole value as block-style text with line feeds, two columns a level, sequences flush with their
/// key, a final line feed. Scalars keep their style where it can hold their text; strings that a YAML
/// 1.1 reader would take for something else are quoted. Reading the text gives the same meaning.
pub fn write(node: &Node) -> String {
    let mut out = String::new();
    let writer = Writer { layout: Layout::default() };
    match &node.kind {
        NodeKind::Scalar(scalar) => {
            writer.scalar(&mut out, scalar, 0);
        }
        _ => writer.block(&mut out, node, 0),
    }
    out.push('\n');
    out
}

/// Where a scalar stands: in brackets less may stand without quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// Under a key or behind a dash.
    Block,
    /// In `{…}` or `[…]`.
    Flow,
}

/// Writes values with line feeds; whoever splices turns them into the file's own line ends.
pub(super) struct Writer {
    pub(super) layout: Layout,
}

impl Writer {
    /// A value after `key:` (without it), led by a blank or a line feed, without a final line feed.
    /// `column` is that of the key.
    pub(super) fn after_key(&self, out: &mut String, node: &Node, column: usize) {
        match &node.kind {
            NodeKind::Scalar(scalar) => {
                out.push(' ');
                self.scalar(out, scalar, column + self.layout.indent);
            }
            NodeKind::Mapping(entries) if entries.is_empty() => out.push_str(" {}"),
            NodeKind::Sequence(items) if items.is_empty() => out.push_str(" []"),
            NodeKind::Mapping(_) => {
                out.push('\n');
                self.indented(out, node, column + self.layout.indent);
            }
            NodeKind::Sequence(_) => {
                out.push('\n');
                self.indented(out, node, column + self.layout.dash);
            }
        }
    }

    /// A value after the dash and its blanks (without them); `column` is that of the dash.
    pub(super) fn after_dash(&self, out: &mut String, node: &Node, column: usize) {
        match &node.kind {
            NodeKind::Scalar(scalar) => self.scalar(out, scalar, column + self.layout.item),
            NodeKind::Mapping(entries) if entries.is_empty() => out.push_str("{}"),
            NodeKind::Sequence(items) if items.is_empty() => out.push_str("[]"),
            _ => self.block(out, node, column + self.layout.item),
        }
    }

    /// A dash and the blanks after it.
    pub(super) fn dash(&self, out: &mut String) {
        out.push('-');
        pad(out, self.layout.item - 1);
    }

    fn indented(&self, out: &mut String, node: &Node, column: usize) {
        pad(out, column);
        self.block(out, node, column);
    }

    /// A collection whose first line stands at `column` already.
    pub(super) fn block(&self, out: &mut String, node: &Node, column: usize) {
        match &node.kind {
            NodeKind::Scalar(scalar) => self.scalar(out, scalar, column),
            NodeKind::Mapping(entries) if entries.is_empty() => out.push_str("{}"),
            NodeKind::Sequence(items) if items.is_empty() => out.push_str("[]"),
            NodeKind::Mapping(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    if index > 0 {
                        next_line(out, column);
                    }
                    out.push_str(&write_key(&entry.key, Context::Block));
                    out.push(':');
                    self.after_key(out, &entry.value, column);
                }
            }
            NodeKind::Sequence(items) => {
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        next_line(out, column);
                    }
                    self.dash(out);
                    self.after_dash(out, item, column);
                }
            }
        }
    }

    /// A scalar in its own style where that can hold it. Block scalars are indented by `column`.
    pub(super) fn scalar(&self, out: &mut String, scalar: &Scalar, column: usize) {
        match scalar.style {
            ScalarStyle::Literal if holds_literal(&scalar.text) => literal(out, &scalar.text, column),
            // A folded text is not folded anew: as a literal block it is the same string.
            ScalarStyle::Folded if holds_literal(&scalar.text) => literal(out, &scalar.text, column),
            _ => out.push_str(&write_inline(scalar, Context::Block)),
        }
    }
}

pub(super) fn pad(out: &mut String, column: usize) {
    out.extend(std::iter::repeat_n(' ', column));
}

fn next_line(out: &mut String, column: usize) {
    out.push('\n');
    pad(out, column);
}

/// A scalar on one line: in its own style where that can hold it.
pub(super) fn write_inline(scalar: &Scalar, place: Context) -> String {
    let text = scalar.text.as_str();
    match scalar.style {
        ScalarStyle::Plain => match scalar.reading() {
            // What is meant is the string, so the style was wrong for it, or it is plain enough.
            Reading::String(_) if !holds_plain(text, place) => quote(text),
            Reading::Null if text.is_empty() => "null".to_owned(),
            _ => text.to_owned(),
        },
        ScalarStyle::SingleQuoted if holds_single(text) => format!("'{}'", text.replace('\'', "''")),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => double_quote(text),
        ScalarStyle::Literal | ScalarStyle::Folded if holds_plain(text, place) => text.to_owned(),
        ScalarStyle::Literal | ScalarStyle::Folded => quote(text),
    }
}

/// A value on one line, collections in brackets.
pub fn flow_text(node: &Node) -> String {
    match &node.kind {
        NodeKind::Scalar(scalar) if matches!(scalar.style, ScalarStyle::Plain) => {
            write_inline(scalar, Context::Flow)
        }
        // Quotes only where they are needed.
        NodeKind::Scalar(scalar) if holds_plain(&scalar.text, Context::Flow) => scalar.text.clone(),
        NodeKind::Scalar(scalar) => quote(&scalar.text),
        NodeKind::Sequence(items) => {
            let items: Vec<String> = items.iter().map(flow_text).collect();
            format!("[{}]", items.join(", "))
        }
        NodeKind::Mapping(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|entry| format!("{}: {}", write_key(&entry.key, Context::Flow), flow_text(&entry.value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// A key: plain where that is the same string.
pub(super) fn write_key(key: &str, place: Context) -> String {
    if holds_plain(key, place) && key.len() < 128 { key.to_owned() } else { quote(key) }
}

/// How a string is best written: plain where every reader takes it for the same string.
pub(super) fn string_style(text: &str) -> ScalarStyle {
    if holds_plain(text, Context::Block) {
        ScalarStyle::Plain
    } else if text.trim_end_matches('\n').contains('\n') && holds_literal(text) {
        ScalarStyle::Literal
    } else if text.contains(['"', '\\']) && holds_single(text) {
        ScalarStyle::SingleQuoted
    } else {
        ScalarStyle::DoubleQuoted
    }
}

/// Quotes: double, but single where there is something to escape and single can hold it.
pub(super) fn quote(text: &str) -> String {
    if text.contains(['"', '\\']) && holds_single(text) {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        double_quote(text)
    }
}

/// Whether a string may stand without quotes, for readers of YAML 1.1 and 1.2.
pub(super) fn holds_plain(text: &str, place: Context) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let second = text[first.len_utf8()..].chars().next();
    let first_fits = match first {
        '-' | '?' | ':' => second.is_some_and(|next| is_word(next) && next != '-'),
        _ => !"!&*|>%@`\"'#,[]{}=<~".contains(first),
    };
    first_fits
        && matches!(read_plain(text), Reading::String(_))
        && !looks_like_number(text)
        && !text.starts_with("---")
        && !text.starts_with("...")
        && !text.ends_with([' ', ':'])
        && !text.starts_with(' ')
        && !text.chars().any(is_special)
        && !(place == Context::Flow && text.contains([',', '[', ']', '{', '}', '?']))
        && !text.contains(": ")
        && !text.contains(" #")
}

/// Numbers and times of YAML 1.1 that Kubernetes reads as strings, but other readers do not:
/// sexagesimals, timestamps, octals and the like.
fn looks_like_number(text: &str) -> bool {
    let body = text.strip_prefix(['-', '+', '.']).unwrap_or(text);
    if !body.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let sexagesimal = body.contains(':') && body.bytes().all(|b| b.is_ascii_digit() || b":_.".contains(&b));
    let bytes = body.as_bytes();
    let date = bytes.len() >= 8
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && bytes[5].is_ascii_digit();
    let exponent = body.bytes().all(|b| b.is_ascii_digit() || b"eE+-_.xXoO".contains(&b))
        && body.bytes().filter(|b| !b.is_ascii_digit()).count() <= 2
        && !body.contains('-')
        && body.matches('.').count() < 2;
    sexagesimal || date || exponent
}

fn is_word(c: char) -> bool {
    !c.is_whitespace() && !is_special(c) && !",[]{}#:".contains(c)
}

/// What no plain or single-quoted scalar here may hold: controls, line breaks, byte order marks.
fn is_special(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{85}' | '\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether single quotes on one line can hold it.
pub(super) fn holds_single(text: &str) -> bool {
    !text.chars().any(is_special)
}

/// Whether a literal block can hold it, without an indentation indicator and without keeping line
/// feeds at its end (which would swallow blank lines that follow).
pub(super) fn holds_literal(text: &str) -> bool {
    !text.starts_with([' ', '\t', '\n']) && !text.ends_with("\n\n") && !text.is_empty() && holds_lines(text)
}

/// Whether every line can stand in a block scalar.
pub(super) fn holds_lines(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || c == '\t' || !is_special(c))
        && text.split('\n').all(|line| line.is_empty() || !line.trim_matches([' ', '\t']).is_empty())
}

/// `|` with the chomping that the text's end asks for.
fn literal(out: &mut String, text: &str, column: usize) {
    out.push_str(if text.ends_with('\n') { "|" } else { "|-" });
    for line in text.trim_end_matches('\n').split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(out, column);
            out.push_str(line);
        }
    }
}

/// `"…"`, everything that is not plain ASCII text or a visible character escaped.
pub(super) fn double_quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            c if is_special(c) => {
                let code = u32::from(c);
                out.push_str(&if code < 0x100 { format!("\\x{code:02X}") } else { format!("\\u{code:04X}") });
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
