//! Functions of a variable's value, as `drone/envsubst` computes them
//! (<https://github.com/drone/envsubst/blob/master/funcs.go>): on bytes, not on characters.

use std::fmt;

use crate::dialect::{TextBounds, TextBudget};
use crate::expression::{LetterCase, Letters, Match, Occurrence, TrimEnd};
use crate::glob::{self, GlobError};

/// Why something is not computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionError {
    /// It is not a valid expression.
    Malformed,
    /// A shell reads it otherwise than the tools.
    Strange,
    /// The text gets longer than any may be.
    LongText(usize),
    /// The variable does.
    LongValue(usize),
    /// The requested part does not exist.
    NoPart,
    /// The value is too long for its end to be cut off.
    LongTrimmed(usize),
    /// The end that fits cuts a character in two.
    HalfCharacter,
    /// All patterns together take too long.
    OutOfSteps(usize),
}

impl FunctionError {
    /// Says so of a variable.
    pub(crate) fn say_of(self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => write!(f, "this is not an expression"),
            Self::Strange => {
                write!(
                    f,
                    "a shell reads the expression of the variable `{name}` otherwise than clusterctl and Flux"
                )
            }
            Self::LongText(most) => {
                write!(f, "with the values of its variables it has more than {most} bytes")
            }
            Self::LongValue(most) => write!(f, "the variable `{name}` comes to more than {most} bytes"),
            Self::NoPart => write!(
                f,
                "the part of the variable `{name}` that is asked for ends before it begins, or cuts a character in two"
            ),
            Self::LongTrimmed(most) => {
                write!(f, "the variable `{name}` has more than {most} bytes, and its ends are to be cut off")
            }
            Self::HalfCharacter => {
                write!(f, "cutting off an end of the variable `{name}` would cut a character in two")
            }
            Self::OutOfSteps(most) => write!(
                f,
                "to find the ends of variables that are to be cut off takes more than {most} steps, with the variable `{name}`: use shorter values and patterns, or fewer"
            ),
        }
    }
}

/// Letters in another case.
pub(crate) fn cased(case: LetterCase, letters: Letters, value: &str) -> String {
    let of = |c: char| match case {
        LetterCase::Lower => lower(c),
        LetterCase::Upper => upper(c),
    };
    match letters {
        Letters::All => value.chars().map(of).collect(),
        Letters::First => {
            let mut rest = value.chars();
            rest.next().map(of).into_iter().chain(rest).collect()
        }
    }
}

/// Go's cases are of one letter for one. What becomes several elsewhere has one of its own, or stays.
fn lower(c: char) -> char {
    if c == 'İ' { 'i' } else { only(c, c.to_lowercase()) }
}

fn upper(c: char) -> char {
    let by = match u32::from(c) {
        // Greek letters with a iota below.
        0x1f80..=0x1f87 | 0x1f90..=0x1f97 | 0x1fa0..=0x1fa7 => 8,
        0x1fb3 | 0x1fc3 | 0x1ff3 => 9,
        _ => return only(c, c.to_uppercase()),
    };
    char::from_u32(u32::from(c) + by).unwrap_or(c)
}

fn only(c: char, mut changed: impl Iterator<Item = char>) -> char {
    match (changed.next(), changed.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}

/// A part of a value. An argument that is not a number leaves the value as it is. `None` where the tools
/// crash, or cut a character in two.
pub(crate) fn substring<'v>(value: &'v str, position: &str, length: Option<&str>) -> Option<&'v str> {
    let Ok(position) = position.parse::<i64>() else { return Some(value) };
    let size = i64::try_from(value.len()).ok()?;
    let begin = if position < 0 { size.saturating_add(position).max(0) } else { position };
    let end = match length.map(str::parse::<i64>) {
        None => size,
        Some(Err(_)) => return Some(value),
        Some(Ok(length)) => begin.checked_add(length)?,
    };
    if end >= size && begin >= size {
        return Some("");
    }
    value.get(usize::try_from(begin).ok()?..usize::try_from(end.min(size)).ok()?)
}

/// Where something is replaced.
pub(crate) fn places(value: &str, place: Occurrence, what: &str, with: Option<&str>) -> Vec<usize> {
    match place {
        Occurrence::First => value.find(what).into_iter().collect(),
        Occurrence::Every => value.match_indices(what).map(|(at, _)| at).collect(),
        // Without a second argument nothing is done at the ends, unlike elsewhere.
        Occurrence::Start | Occurrence::End if with.is_none() => Vec::new(),
        Occurrence::Start => value.starts_with(what).then_some(0).into_iter().collect(),
        Occurrence::End => value.strip_suffix(what).map(str::len).into_iter().collect(),
    }
}

/// A value without an end that fits.
pub(crate) fn trimmed(
    value: &str,
    end: TrimEnd,
    match_: Match,
    pattern: &str,
    bounds: &TextBounds,
    budget: &TextBudget,
) -> Result<String, FunctionError> {
    if value.len() > bounds.trimmed {
        return Err(FunctionError::LongTrimmed(bounds.trimmed));
    }
    let reverse = |text: &str| text.chars().rev().collect::<String>();
    match end {
        TrimEnd::Start => cut(value, pattern, match_, bounds, budget).map(str::to_owned),
        TrimEnd::End => cut(&reverse(value), &reverse(pattern), match_, bounds, budget).map(reverse),
    }
}

/// The value without a matching start; an invalid pattern cuts nothing off.
fn cut<'v>(
    value: &'v str,
    pattern: &str,
    match_: Match,
    bounds: &TextBounds,
    budget: &TextBudget,
) -> Result<&'v str, FunctionError> {
    let mut found = 0;
    for end in (1..=value.len()).rev() {
        match glob::matches(pattern.as_bytes(), &value.as_bytes()[..end], budget) {
            Err(GlobError::BadPattern) => return Ok(value),
            Err(GlobError::OutOfSteps) => return Err(FunctionError::OutOfSteps(bounds.steps)),
            Ok(true) => {
                found = end;
                if match_ == Match::Longest {
                    break;
                }
            }
            Ok(false) => {}
        }
    }
    value.get(found..).ok_or(FunctionError::HalfCharacter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_change_one_for_one() {
        for (value, lower, upper) in [
            ("äß", "äß", "Äß"),
            ("İI", "ii", "İI"),
            ("ᾀᾳ", "ᾀᾳ", "ᾈᾼ"),
            ("ﬁ", "ﬁ", "ﬁ"),
            ("ΣΑΣ", "σασ", "ΣΑΣ"),
            ("ǆ", "ǆ", "Ǆ"),
        ] {
            assert_eq!(cased(LetterCase::Lower, Letters::All, value), lower, "{value}");
            assert_eq!(cased(LetterCase::Upper, Letters::All, value), upper, "{value}");
        }
        assert_eq!(cased(LetterCase::Upper, Letters::First, "äb"), "Äb");
        assert_eq!(cased(LetterCase::Lower, Letters::First, ""), "");
    }

    #[test]
    fn a_part_is_asked_for_in_numbers() {
        for (position, length, part) in [
            ("3", None, Some("def")),
            ("+3", None, Some("def")),
            ("++3", None, Some("abcdef")),
            ("-2", None, Some("ef")),
            ("-9", None, Some("abcdef")),
            ("9", None, Some("")),
            ("3", Some("99"), Some("def")),
            ("9", Some("1"), Some("")),
            ("3", Some("x"), Some("abcdef")),
            ("5", Some("-2"), None),
            ("9", Some("-9"), None),
            ("1", Some("9223372036854775807"), None),
        ] {
            assert_eq!(substring("abcdef", position, length), part, "{position} {length:?}");
        }
        assert_eq!(substring("ä", "1", None), None);
    }
}
