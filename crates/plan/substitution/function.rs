//! Functions of a variable's value, as `drone/envsubst` computes them
//! (<https://github.com/drone/envsubst/blob/master/funcs.go>): on bytes, not on characters.

use std::borrow::Cow;

/// A function with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Function<'t> {
    /// `${#V}`
    Length,
    /// `${V,}` and `${V^}`: the first letter; `${V,,}` and `${V^^}`: all.
    Case { case: Case, letters: Letters },
    /// `${V:position}` and `${V:position:length}`. What is no number leaves the value as it is.
    Substring { position: &'t str, length: Option<&'t str> },
    /// `${V/what/with}` and its kin.
    Replace { place: Occurrence, what: Cow<'t, str>, with: Cow<'t, str> },
    /// `${V#glob}` and its kin.
    Trim { end: End, match_: Match, glob: &'t str },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Lower,
    Upper,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Letters {
    First,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occurrence {
    First,
    Every,
    Start,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Start,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    Shortest,
    Longest,
}

/// Bytes of a text with values in it. A few expressions in a few others could ask for gigabytes, and an API server
/// takes no object that is longer.
pub(super) const LONGEST: usize = 1 << 20;

/// Trimming tries every place of a text.
const LONGEST_TRIMMED: usize = 1_024;

/// An argument with an expression in it is none that Capstan computes.
const EXPRESSION: &str = "${";

impl<'t> Function<'t> {
    /// Reads what stands between a name and its brace. The outer `None` is no function at all, the inner
    /// one a function that Capstan does not compute; with the length of what was read.
    pub(super) fn read(text: &'t str) -> Option<(Option<Self>, usize)> {
        match text.as_bytes().first()? {
            b',' | b'^' => Some(casing(text)),
            b':' => substring(text),
            b'/' => replacement(text),
            b'#' | b'%' => trimming(text),
            _ => None,
        }
    }

    /// The function's value; `None` where it would cut a character in two, search a text for too long, or be longer
    /// than any text may be.
    pub(crate) fn of(&self, value: &str) -> Option<String> {
        Some(match self {
            Self::Length => value.len().to_string(),
            Self::Case { case, letters } => {
                let cased = |text: &str| match case {
                    Case::Lower => text.to_lowercase(),
                    Case::Upper => text.to_uppercase(),
                };
                let first = value.chars().next().map_or(0, char::len_utf8);
                match letters {
                    Letters::All => cased(value),
                    Letters::First => format!("{}{}", cased(&value[..first]), &value[first..]),
                }
            }
            Self::Substring { position, length } => cut(value, position, *length)?.to_owned(),
            Self::Replace { what, with, .. }
                if value.matches(&**what).count().saturating_mul(with.len()) > LONGEST =>
            {
                return None;
            }
            Self::Replace { place, what, with } => replaced(value, *place, what, with),
            Self::Trim { .. } if value.len() > LONGEST_TRIMMED => return None,
            Self::Trim { end, match_, glob } => trimmed(value, *end, *match_, glob).to_owned(),
        })
    }
}

fn casing<'t>(text: &'t str) -> (Option<Function<'t>>, usize) {
    let length = text.bytes().take(2).take_while(|byte| matches!(byte, b',' | b'^')).count();
    let function = match &text[..length] {
        "," => Some((Case::Lower, Letters::First)),
        ",," => Some((Case::Lower, Letters::All)),
        "^" => Some((Case::Upper, Letters::First)),
        "^^" => Some((Case::Upper, Letters::All)),
        _ => None,
    };
    (function.map(|(case, letters)| Function::Case { case, letters }), length)
}

fn substring(text: &str) -> Option<(Option<Function<'_>>, usize)> {
    let end = text.find('}')?;
    let inside = &text[1..end];
    if inside.starts_with(['+', '?']) || inside.contains(EXPRESSION) {
        return unsupported(text);
    }
    let (position, length) = match inside.split_once(':') {
        Some((position, length)) => (position, Some(length)),
        None => (inside, None),
    };
    // `${V:}` and `${V:1:}` are errors to the tools.
    let is_missing = position.is_empty() || length.is_some_and(str::is_empty);
    (!is_missing).then_some((Some(Function::Substring { position, length }), end))
}

fn replacement(text: &str) -> Option<(Option<Function<'_>>, usize)> {
    let (place, begin) = match text.as_bytes().get(1) {
        Some(b'/') => (Occurrence::Every, 2),
        Some(b'#') => (Occurrence::Start, 2),
        Some(b'%') => (Occurrence::End, 2),
        _ => (Occurrence::First, 1),
    };
    let (what, after) = argument(text, begin, '/')?;
    let (with, end) = argument(text, after + 1, '}')?;
    if text[..end].contains(EXPRESSION) {
        return unsupported(text);
    }
    Some((Some(Function::Replace { place, what, with }), end))
}

/// An argument up to a character; `$$`, `\/` and `\\` stand for `$`, `/` and `\`.
fn argument(text: &str, begin: usize, until: char) -> Option<(Cow<'_, str>, usize)> {
    let rest = text.get(begin..)?;
    let mut unescaped = String::new();
    let mut chars = rest.char_indices().peekable();
    let mut escapes = false;
    while let Some((at, c)) = chars.next() {
        if c == until {
            let written = &rest[..at];
            let argument = if escapes { Cow::Owned(unescaped) } else { Cow::Borrowed(written) };
            return Some((argument, begin + at));
        }
        let escaped = chars.peek().map(|(_, next)| *next).filter(|next| match c {
            '$' => *next == '$',
            '\\' => matches!(next, '/' | '\\'),
            _ => false,
        });
        match escaped {
            Some(next) => {
                escapes = true;
                unescaped.push(next);
                chars.next();
            }
            None => unescaped.push(c),
        }
    }
    None
}

fn trimming(text: &str) -> Option<(Option<Function<'_>>, usize)> {
    let sign = &text[..1];
    let doubled = text[1..].starts_with(sign);
    let begin = if doubled { 2 } else { 1 };
    let end = text.find('}')?;
    let glob = text.get(begin..end).filter(|glob| !glob.is_empty())?;
    if glob.contains(EXPRESSION) || glob.contains(['[', '\\']) {
        return unsupported(text);
    }
    let function = Function::Trim {
        end: if sign == "#" { End::Start } else { End::End },
        match_: if doubled { Match::Longest } else { Match::Shortest },
        glob,
    };
    Some((Some(function), end))
}

/// Something up to the brace that closes it, braces of expressions inside counted.
fn unsupported<T>(text: &str) -> Option<(Option<T>, usize)> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' if text[..at].ends_with('$') => depth += 1,
            '}' if depth == 0 => return Some((None, at)),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn cut<'v>(value: &'v str, position: &str, length: Option<&str>) -> Option<&'v str> {
    let Ok(position) = position.trim_start_matches('+').parse::<i64>() else { return Some(value) };
    let size = i64::try_from(value.len()).ok()?;
    let begin = if position < 0 { (size.saturating_add(position)).max(0) } else { position };
    let end = match length.map(|length| length.trim_start_matches('+').parse::<i64>()) {
        None => size,
        Some(Err(_)) => return Some(value),
        Some(Ok(length)) => begin.saturating_add(length).min(size),
    };
    if begin >= size && length.is_none() {
        return Some("");
    }
    value.get(usize::try_from(begin).ok()?..usize::try_from(end).ok()?)
}

fn replaced(value: &str, place: Occurrence, what: &str, with: &str) -> String {
    match place {
        Occurrence::First => value.replacen(what, with, 1),
        Occurrence::Every => value.replace(what, with),
        Occurrence::Start => match value.strip_prefix(what) {
            Some(rest) => format!("{with}{rest}"),
            None => value.to_owned(),
        },
        Occurrence::End => match value.strip_suffix(what) {
            Some(rest) => format!("{rest}{with}"),
            None => value.to_owned(),
        },
    }
}

/// Nothing is cut off where only nothing fits.
fn trimmed<'v>(value: &'v str, end: End, match_: Match, glob: &str) -> &'v str {
    let starts: Vec<usize> = value.char_indices().map(|(at, _)| at).chain([value.len()]).collect();
    let fits = |at: &&usize| match end {
        End::Start => **at > 0 && fits_glob(glob, &value[..**at]),
        End::End => **at < value.len() && fits_glob(glob, &value[**at..]),
    };
    let is_early = matches!((end, match_), (End::Start, Match::Shortest) | (End::End, Match::Longest));
    let found = if is_early { starts.iter().find(fits) } else { starts.iter().rev().find(fits) };
    match (found, end) {
        (None, _) => value,
        (Some(at), End::Start) => &value[*at..],
        (Some(at), End::End) => &value[..*at],
    }
}

/// `*` is any text, `?` any one character; in time that is the product of both lengths at most.
fn fits_glob(glob: &str, text: &str) -> bool {
    let (glob, text): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
    let (mut at, mut in_glob) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match glob.get(in_glob) {
            Some('*') => {
                star = Some((in_glob, at));
                in_glob += 1;
            }
            Some(c) if *c == '?' || *c == text[at] => {
                at += 1;
                in_glob += 1;
            }
            _ => match star {
                Some((star_at, from)) => {
                    star = Some((star_at, from + 1));
                    (in_glob, at) = (star_at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    glob[in_glob..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of envsubst's own tests, and what its source says beyond them.
    #[test]
    fn functions_are_those_of_envsubst() {
        let rows = [
            ("abcdEFGH28ij", ",", "abcdEFGH28ij"),
            ("ABCD", ",", "aBCD"),
            ("ABCD", ",,", "abcd"),
            ("abcd", "^", "Abcd"),
            ("abcd", "^^", "ABCD"),
            ("", "^", ""),
            ("/home/bozo/ideas/thoughts", ":11", "ideas/thoughts"),
            ("/home/bozo/ideas/thoughts", ":11:5", "ideas"),
            ("abcdef", ":3:99", "def"),
            ("abcdef", ":9", ""),
            ("abcdef", ":x", "abcdef"),
            ("abcABC123ABCabc", "/abc/xyz", "xyzABC123ABCabc"),
            ("abcABC123ABCabc", "//abc/xyz", "xyzABC123ABCxyz"),
            ("abcABC123ABCabc", "/#abc/XYZ", "XYZABC123ABCabc"),
            ("abcABC123ABCabc", "/%abc/XYZ", "abcABC123ABCXYZ"),
            ("somevalue", "/#/prefix-", "prefix-somevalue"),
            ("somevalue", "/%/-suffix", "somevalue-suffix"),
            ("foo/bar/baz", "//\\//-", "foo-bar-baz"),
            ("foo.bar", "/./", "foobar"),
            ("v1.29.4", "/v/", "1.29.4"),
            ("bash.string.txt", "#*.", "string.txt"),
            ("path/to/file", "#*/", "to/file"),
            ("/path/to/file", "##*/", "file"),
            ("bash.string.txt", "##*.", "txt"),
            ("bash.string.txt", "%.*", "bash.string"),
            ("bash.string.txt", "%%.*", "bash"),
            ("v1.29.4", "#v", "1.29.4"),
            ("v1.29.4", "%x", "v1.29.4"),
        ];
        for (value, written, expected) in rows {
            let text = format!("{written}}}");
            let (function, length) = Function::read(&text).unwrap();
            assert_eq!(length, written.len(), "{written}");
            assert_eq!(function.unwrap().of(value).as_deref(), Some(expected), "{value} {written}");
        }
        assert_eq!(Function::Length.of("abcdEFGH28ij").as_deref(), Some("12"));
    }

    #[test]
    fn half_a_character_is_no_value() {
        let (function, _) = Function::read(":1}").unwrap();
        assert_eq!(function.unwrap().of("ä"), None);
    }
}
