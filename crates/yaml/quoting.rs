//! How a scalar is written on one line: plain where every reader takes it for the same, else in quotes.

use serde_json::Value;

use super::node::{Node, Scalar, ScalarStyle};
use super::scalar::{ScalarReading, read_plain};

/// The context of a scalar: in brackets fewer scalars can be plain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScalarContext {
    /// Under a key or behind a dash.
    Block,
    /// In `{…}` or `[…]`.
    Flow,
}

impl Scalar {
    /// A scalar that is this string, whatever it looks like: plain where that is safe, else in
    /// double quotes, or a literal block where it has several lines.
    pub fn string(text: impl Into<String>) -> Self {
        let text = text.into();
        let style = string_style(&text);
        Self { text, style }
    }
}

impl Node {
    /// A string made in memory, see [`Scalar::string`].
    pub fn string(text: impl Into<String>) -> Self {
        Self::scalar(Scalar::string(text))
    }

    /// The node whose [`value`](Self::value) is `value`.
    pub fn from_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::null(),
            Value::Bool(truth) => Self::scalar(Scalar::plain(truth.to_string())),
            Value::Number(number) => Self::scalar(Scalar::plain(number.to_string())),
            Value::String(text) => Self::string(text.as_str()),
            Value::Array(items) => Self::sequence(items.iter().map(Self::from_value)),
            Value::Object(fields) => {
                Self::mapping(fields.iter().map(|(key, value)| (key.as_str(), Self::from_value(value))))
            }
        }
    }
}

/// A scalar on one line: in its own style where that can hold it.
pub(super) fn write_inline(scalar: &Scalar, place: ScalarContext) -> String {
    let text = scalar.text.as_str();
    match scalar.style {
        ScalarStyle::Plain => match scalar.reading() {
            // What is meant is the string, so the style was wrong for it, or it is plain enough.
            ScalarReading::String(_) if !holds_plain(text, place) => quote(text),
            ScalarReading::Null if text.is_empty() => "null".to_owned(),
            _ => text.to_owned(),
        },
        ScalarStyle::SingleQuoted if holds_single(text) => format!("'{}'", text.replace('\'', "''")),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => double_quote(text),
        ScalarStyle::Literal | ScalarStyle::Folded if holds_plain(text, place) => text.to_owned(),
        ScalarStyle::Literal | ScalarStyle::Folded => quote(text),
    }
}

/// A key: plain where that is the same string.
pub(super) fn write_key(key: &str, place: ScalarContext) -> String {
    if holds_plain(key, place) && key.len() < 128 { key.to_owned() } else { quote(key) }
}

/// How a string is best written: plain where every reader takes it for the same string.
pub(super) fn string_style(text: &str) -> ScalarStyle {
    if holds_plain(text, ScalarContext::Block) {
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
pub(super) fn holds_plain(text: &str, place: ScalarContext) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let second = text[first.len_utf8()..].chars().next();
    let first_fits = match first {
        '-' | '?' | ':' => second.is_some_and(|next| is_word(next) && next != '-'),
        _ => !"!&*|>%@`\"'#,[]{}=<~".contains(first),
    };
    first_fits
        && matches!(read_plain(text), ScalarReading::String(_))
        && !looks_like_number(text)
        && !text.starts_with("---")
        && !text.starts_with("...")
        && !text.ends_with([' ', ':'])
        && !text.starts_with(' ')
        && !text.chars().any(is_special)
        && !(place == ScalarContext::Flow && text.contains([',', '[', ']', '{', '}', '?']))
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

/// Whether a block scalar can hold every line.
pub(super) fn holds_lines(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || c == '\t' || !is_special(c))
        && text.split('\n').all(|line| line.is_empty() || !line.trim_matches([' ', '\t']).is_empty())
}

/// The new scalar in the old one's quoting, where it is a string in place of a string.
pub(super) fn restyle(old: &Scalar, new: &Scalar, place: ScalarContext) -> Scalar {
    if !matches!(new.reading(), ScalarReading::String(_)) {
        return new.clone();
    }
    let style = match (old.reading(), old.style) {
        (ScalarReading::String(_), ScalarStyle::Plain) if holds_plain(&new.text, place) => ScalarStyle::Plain,
        (ScalarReading::String(_), ScalarStyle::Plain) if new.style != ScalarStyle::Plain => new.style,
        (ScalarReading::String(_), ScalarStyle::Plain) => string_style(&new.text),
        (ScalarReading::String(_), style) => style,
        _ => new.style,
    };
    Scalar { text: new.text.clone(), style }
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
