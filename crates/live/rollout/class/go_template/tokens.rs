//! The words of an action.

use super::uncomputed::{Computed, Uncomputed};

/// What Go trims.
pub(super) const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

/// The words of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TemplateToken {
    /// `.a.b`; a single `.` has no parts.
    Field(Vec<String>),
    /// `$.a.b`
    RootField(Vec<String>),
    /// `$`
    Root,
    Text(String),
    Word(String),
    Open,
    Close,
    Pipe,
    /// Everything else.
    Other,
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The words of an action: nothing of a comment.
pub(super) fn tokens(action: &str) -> Computed<Vec<TemplateToken>> {
    let mut found = Vec::new();
    if action.starts_with("/*") {
        return Ok(found);
    }
    let mut rest = action;
    let mut glued = false;
    while let Some(letter) = rest.chars().next() {
        // A field of the token before, `(index .a 0).b` or `$local.b`, names nothing by itself.
        let of_another = glued && matches!(found.last(), Some(TemplateToken::Close | TemplateToken::Other));
        glued = !SPACES.contains(&letter);
        if !glued {
            rest = &rest[letter.len_utf8()..];
            continue;
        }
        let (token, length) = match letter {
            '(' => (TemplateToken::Open, 1),
            ')' => (TemplateToken::Close, 1),
            '|' => (TemplateToken::Pipe, 1),
            '"' | '`' | '\'' => text(rest)?,
            '.' if of_another => (TemplateToken::Other, path(rest).1),
            '.' => {
                let (parts, length) = path(rest);
                (TemplateToken::Field(parts), length)
            }
            '$' if rest[1..].starts_with('.') => {
                let (parts, length) = path(&rest[1..]);
                (TemplateToken::RootField(parts), length + 1)
            }
            '$' if rest[1..].starts_with(is_word) => (TemplateToken::Other, 1 + word(&rest[1..])),
            '$' => (TemplateToken::Root, 1),
            letter if letter.is_ascii_digit() => {
                (TemplateToken::Other, rest.find(|c| !is_word(c) && c != '.').unwrap_or(rest.len()))
            }
            letter if is_word(letter) => (TemplateToken::Word(rest[..word(rest)].to_owned()), word(rest)),
            letter => (TemplateToken::Other, letter.len_utf8()),
        };
        found.push(token);
        rest = &rest[length..];
    }
    Ok(found)
}

/// The length of the word that a text begins with.
pub(super) fn word(rest: &str) -> usize {
    rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
}

/// `.a.b` and its length.
fn path(rest: &str) -> (Vec<String>, usize) {
    let mut parts = Vec::new();
    let mut length = 0;
    while let Some(below) = rest[length..].strip_prefix('.') {
        let part = word(below);
        length += 1 + part;
        if part == 0 {
            break;
        }
        parts.push(below[..part].to_owned());
    }
    (parts, length)
}

/// A quoted string and its length. Escapes are not read.
fn text(rest: &str) -> Computed<(TemplateToken, usize)> {
    let quote = rest.chars().next().unwrap_or('"');
    let end = rest[1..].find(quote).ok_or(Uncomputed)?;
    let inside = &rest[1..=end];
    if quote != '`' && inside.contains('\\') {
        // Where it ends is not sure: no field is read out of what may be text.
        return Err(Uncomputed);
    }
    Ok((if quote == '\'' { TemplateToken::Other } else { TemplateToken::Text(inside.to_owned()) }, end + 2))
}
