//! What Kubernetes reads in a scalar.
//!
//! Kubernetes reads YAML through `sigs.k8s.io/yaml`, whose parser is go-yaml v2.4. The rules
//! here are those of its `resolve` function
//! (<https://github.com/kubernetes-sigs/yaml/blob/master/goyaml.v2/resolve.go>) followed by what JSON
//! makes of the value: `y`, `on`, `No` are booleans, `0644` is 420, `1_000` is 1000, `08` is the float
//! 8; sexagesimal numbers (`1:30`) and timestamps are strings.
//!
//! Numbers meet in JSON, where `1.0` is written `1`: a float without a fraction that fits 64 bits *is*
//! that integer. NaN and the infinities have no JSON; Kubernetes refuses them, and as a [`Value`] they
//! are their own text.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::node::{Node, NodeKind, Scalar, ScalarStyle};

/// A scalar after Kubernetes' reading; borrowed, so that comparing needs no memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScalarReading<'a> {
    /// `null`, `~`, nothing.
    Null,
    /// `true`, `yes`, `on`, `y` and their opposites.
    Bool(bool),
    /// An integer, or a float without a fraction, that fits in 64 signed bits.
    Integer(i64),
    /// An integer above the signed range.
    Unsigned(u64),
    /// Any other number.
    Float(f64),
    /// Everything else.
    String(&'a str),
}

impl ScalarReading<'_> {
    /// The same as an owned JSON value.
    pub fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(truth) => Value::Bool(truth),
            Self::Integer(number) => Value::Number(number.into()),
            Self::Unsigned(number) => Value::Number(number.into()),
            Self::Float(number) => {
                Number::from_f64(number).map_or_else(|| Value::String(name_float(number)), Value::Number)
            }
            Self::String(text) => Value::String(text.to_owned()),
        }
    }

    /// Whether two readings are the same value; NaN equals NaN, since the file says the same.
    pub fn same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            (a, b) => a == b,
        }
    }
}

impl Scalar {
    /// What Kubernetes reads.
    pub fn reading(&self) -> ScalarReading<'_> {
        match self.style {
            ScalarStyle::Plain => read_plain(&self.text),
            _ => ScalarReading::String(&self.text),
        }
    }

    /// What Kubernetes reads, as a JSON value.
    pub fn value(&self) -> Value {
        self.reading().to_value()
    }
}

impl Node {
    /// The text of what Kubernetes reads as a string (so not of `3` or `yes`).
    pub fn as_str(&self) -> Option<&str> {
        match self.as_scalar()?.reading() {
            ScalarReading::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether Kubernetes reads null.
    pub fn is_null(&self) -> bool {
        self.as_scalar().is_some_and(|scalar| scalar.reading() == ScalarReading::Null)
    }

    /// The whole value as Kubernetes reads it, keys in the order of the file.
    pub fn value(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar(scalar) => scalar.value(),
            NodeKind::Sequence(items) => Value::Array(items.iter().map(Self::value).collect()),
            NodeKind::Mapping(entries) => Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.value())).collect::<Map<_, _>>(),
            ),
        }
    }
}

/// Reads a text without quotes.
pub fn read_plain(text: &str) -> ScalarReading<'_> {
    let known = match text.as_bytes().first() {
        None => Some(ScalarReading::Null),
        Some(b'0'..=b'9' | b'+' | b'-') => read_word(text).or_else(|| read_number(text)),
        Some(b'.') => read_word(text).or_else(|| parse_float(&drop_separators(text)?)),
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => read_word(text),
        Some(_) => None,
    };
    known.unwrap_or(ScalarReading::String(text))
}

/// The words of go-yaml's table: nulls, booleans, and the floats that are not finite.
fn read_word(text: &str) -> Option<ScalarReading<'_>> {
    Some(match text {
        "~" | "null" | "Null" | "NULL" => ScalarReading::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            ScalarReading::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            ScalarReading::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => ScalarReading::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => ScalarReading::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => ScalarReading::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

/// Go's `ParseInt` and `ParseUint` with base 0, then go-yaml's float pattern. Underscores are dropped.
fn read_number(text: &str) -> Option<ScalarReading<'static>> {
    let dropped;
    let plain = if text.contains('_') {
        dropped = text.replace('_', "");
        &dropped
    } else {
        text
    };
    let (negative, unsigned) = match plain.as_bytes().first()? {
        b'-' => (true, &plain[1..]),
        b'+' => (false, &plain[1..]),
        _ => (false, plain),
    };
    let signed = unsigned.len() < plain.len();
    let (radix, digits) = split_radix(unsigned);
    if !digits.is_empty() && digits.bytes().all(|digit| char::from(digit).is_digit(radix)) {
        // Beyond 64 bits a decimal is a float, and any other base a string.
        if let Ok(number) = u64::from_str_radix(digits, radix) {
            if let Some(number) = to_signed(negative, number) {
                return Some(ScalarReading::Integer(number));
            }
            if !signed {
                return Some(ScalarReading::Unsigned(number));
            }
        }
    }
    if is_float(plain) { parse_float(plain) } else { None }
}

/// `0x1F` -> (16, `1F`), `0o17` and `017` -> (8, `17`), `0b1` -> (2, `1`), else base 10.
fn split_radix(unsigned: &str) -> (u32, &str) {
    match unsigned.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, &unsigned[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &unsigned[2..]),
        [b'0', b'b' | b'B', _, ..] => (2, &unsigned[2..]),
        [b'0', _, ..] => (8, &unsigned[1..]),
        _ => (10, unsigned),
    }
}

fn to_signed(negative: bool, number: u64) -> Option<i64> {
    if negative { 0_i64.checked_sub_unsigned(number) } else { i64::try_from(number).ok() }
}

/// `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`
fn is_float(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let whole = digits(text);
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = digits(fraction);
        if whole == 0 && length == 0 {
            return false;
        }
        rest = &fraction[length..];
    } else if whole == 0 {
        return false;
    }
    match rest.strip_prefix(['e', 'E']) {
        None => rest.is_empty(),
        Some(exponent) => {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
    }
}

/// Go's `ParseFloat`, which rejects a number out of range.
fn parse_float(text: &str) -> Option<ScalarReading<'static>> {
    let number = text.parse::<f64>().ok()?;
    number.is_finite().then(|| normalise(number))
}

/// Go's `ParseFloat` takes `_` between two digits, no others.
fn drop_separators(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('_') {
        return Some(Cow::Borrowed(text));
    }
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let separates = |at: usize| digit(bytes.get(at.wrapping_sub(1))) && digit(bytes.get(at + 1));
    let fits = text.match_indices('_').all(|(at, _)| separates(at));
    fits.then(|| Cow::Owned(text.replace('_', "")))
}

/// JSON writes a float without a fraction as an integer, and Kubernetes reads that as one. JSON writes
/// the shortest digits that give the float, then zeros: above 2^53 that is not the float's own value.
fn normalise(number: f64) -> ScalarReading<'static> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() != 0.0 || number.abs() >= 9_223_372_036_854_775_808.0 {
        return ScalarReading::Float(number);
    }
    if number.abs() > EXACT {
        return format!("{number}").parse().map_or(ScalarReading::Float(number), ScalarReading::Integer);
    }
    #[expect(clippy::cast_possible_truncation, reason = "an integer of at most 53 bits")]
    ScalarReading::Integer(number as i64)
}

/// `.nan`, `.inf` and `-.inf`, as `sigs.k8s.io/yaml` names them.
fn name_float(number: f64) -> String {
    if number.is_nan() {
        ".nan"
    } else if number > 0.0 {
        ".inf"
    } else {
        "-.inf"
    }
    .to_owned()
}

/// The string that a mapping's key becomes in JSON; `None` where Kubernetes refuses it as a key: null, and
/// integers above the signed range.
pub(super) fn key_text(scalar: &Scalar) -> Option<String> {
    Some(match scalar.reading() {
        ScalarReading::Null | ScalarReading::Unsigned(_) => return None,
        ScalarReading::Bool(truth) => truth.to_string(),
        ScalarReading::Integer(number) if !scalar.text.contains(['.', 'e', 'E']) => number.to_string(),
        ScalarReading::Integer(_) | ScalarReading::Float(_) => {
            match scalar.text.replace('_', "").parse::<f64>() {
                Ok(number) => format_float_key(number),
                Err(_) => scalar.value().as_str().map_or_else(|| scalar.text.clone(), str::to_owned),
            }
        }
        ScalarReading::String(text) => text.to_owned(),
    })
}

/// Go's `FormatFloat(number, 'g', -1, 32)`: with an exponent where that is below -4 or above 5
/// (<https://github.com/golang/go/blob/master/src/strconv/ftoa.go>).
#[expect(clippy::cast_possible_truncation, reason = "32 bits are what the source says")]
fn format_float_key(number: f64) -> String {
    if (number as f32).is_infinite() {
        return name_float(number);
    }
    let short = format!("{:e}", number as f32);
    let Some((digits, exponent)) = short.split_once('e') else { return short };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{}", number as f32),
    }
}

#[cfg(test)]
#[path = "scalar_tests.rs"]
mod tests;
