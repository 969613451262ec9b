//! Counting what is bound to a name.
//!
//! The engine's fuel pays for what an operator makes, and not for what it walks through: lists that hold one another
//! more than once are small, and endless for whoever compares them or makes text of them. Such lists grow by being bound
//! to a name and named again. So a template is compiled with a call round everything that is bound (`set`, `with`,
//! `for`, arguments of macros); the call pays for all that its value holds. Places are told in the template as it was
//! written.

use minijinja::machinery::{Token, tokenize};

use crate::engine::{WEIGH, syntax};

/// A template with its calls.
#[derive(Debug, Default)]
pub(super) struct Guarded {
    /// What is compiled.
    pub(super) text: String,
    /// What was put in: the byte of the written template, and how much; in order.
    inserted: Vec<(usize, usize)>,
}

impl Guarded {
    /// The byte of the written template for one of the compiled one.
    pub(super) fn written(&self, compiled: usize) -> usize {
        let mut shift = 0;
        for (at, length) in &self.inserted {
            let begin = at + shift;
            if begin >= compiled {
                break;
            }
            // Inside of what was put in is where it was put.
            shift += (*length).min(compiled - begin);
        }
        compiled - shift
    }
}

/// A token: what it is to this room, and its bytes.
struct Piece<'t> {
    kind: Kind<'t>,
    start: usize,
    end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind<'t> {
    BlockStart,
    BlockEnd,
    Word(&'t str),
    Assign,
    Comma,
    Open,
    Close,
    Other,
}

/// Puts the calls in. A text that is no template stays as it is.
pub(super) fn guard(text: &str) -> Guarded {
    let pieces = syntax().map(|syntax| tokenize(text, false, syntax).map(|token| token.map(piece)).collect());
    let Ok(Ok(pieces)) = pieces else { return Guarded { text: text.to_owned(), inserted: Vec::new() } };
    let pieces: Vec<Piece<'_>> = pieces;
    let mut put: Vec<(usize, String)> = Vec::new();
    let mut at = 0;
    while let Some(piece) = pieces.get(at) {
        if piece.kind == Kind::BlockStart {
            let length = pieces[at..].iter().position(|piece| piece.kind == Kind::BlockEnd);
            let Some(end) = length.map(|length| at + length) else { break };
            statement(text, &pieces[at + 1..=end], &mut put);
            at = end;
        }
        at += 1;
    }
    let mut out = String::with_capacity(text.len() + put.len() * 8);
    let mut from = 0;
    let mut inserted = Vec::with_capacity(put.len());
    for (at, what) in put {
        out.push_str(text.get(from..at).unwrap_or_default());
        out.push_str(&what);
        inserted.push((at, what.len()));
        from = at;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Guarded { text: out, inserted }
}

fn piece<'t>((token, span): (Token<'t>, minijinja::machinery::Span)) -> Piece<'t> {
    let kind = match token {
        Token::BlockStart => Kind::BlockStart,
        Token::BlockEnd => Kind::BlockEnd,
        Token::Ident(word) => Kind::Word(word),
        Token::Assign => Kind::Assign,
        Token::Comma => Kind::Comma,
        Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => Kind::Open,
        Token::ParenClose | Token::BracketClose | Token::BraceClose => Kind::Close,
        _ => Kind::Other,
    };
    Piece { kind, start: span.start_offset as usize, end: span.end_offset as usize }
}

/// One statement, from the word behind `{%` to its `%}`.
fn statement(text: &str, pieces: &[Piece<'_>], put: &mut Vec<(usize, String)>) {
    let Some((Kind::Word(word), rest)) = pieces.split_first().map(|(first, rest)| (first.kind, rest)) else {
        return;
    };
    match word {
        "set" => {
            if let Some(assign) = outside(rest, |piece| piece.kind == Kind::Assign) {
                wrap(&rest[assign..rest.len() - 1], put);
            }
        }
        "with" => assignments(&rest[..rest.len() - 1], put),
        "for" => {
            let Some(from) = rest.iter().position(|piece| piece.kind == Kind::Word("in")) else { return };
            let ends =
                |piece: &Piece<'_>| matches!(piece.kind, Kind::Word("if" | "recursive") | Kind::BlockEnd);
            let end = outside(&rest[from..], ends).map(|length| from + length);
            if let Some(end) = end {
                wrap(&rest[from..end], put);
            }
        }
        "macro" | "call" => {
            let Some(last) = rest.last() else { return };
            // As much blank is stripped as the statement itself says.
            let end = text.get(last.start..last.end).unwrap_or("%}");
            let open = rest.iter().position(|piece| piece.kind == Kind::Open);
            let is_list = |open: &usize| word == "macro" || *open == 0;
            let Some(open) = open.filter(is_list) else { return };
            let mut sets = String::new();
            let close = outside(&rest[open + 1..], |piece| piece.kind == Kind::Close);
            let inner = close.map_or(&[][..], |close| &rest[open + 1..open + 1 + close]);
            for argument in split(inner) {
                if let Some(Piece { kind: Kind::Word(name), .. }) = argument.first() {
                    sets.push_str(&format!("{{% set {name} = {WEIGH}({name}) {end}"));
                }
            }
            if !sets.is_empty() {
                put.push((last.end, sets));
            }
        }
        _ => {}
    }
}

/// `a = x, b = y`
fn assignments(pieces: &[Piece<'_>], put: &mut Vec<(usize, String)>) {
    for one in split(pieces) {
        if let Some(assign) = one.iter().position(|piece| piece.kind == Kind::Assign) {
            wrap(&one[assign..], put);
        }
    }
}

/// A call round everything behind the first piece.
fn wrap(pieces: &[Piece<'_>], put: &mut Vec<(usize, String)>) {
    if let [_, first, ..] = pieces
        && let Some(last) = pieces.last()
    {
        put.push((first.start, format!("{WEIGH}(")));
        put.push((last.end, ")".to_owned()));
    }
}

/// The first piece outside of brackets that is meant.
fn outside(pieces: &[Piece<'_>], meant: impl Fn(&Piece<'_>) -> bool) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, piece) in pieces.iter().enumerate() {
        if depth == 0 && meant(piece) {
            return Some(at);
        }
        match piece.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Parts between commas outside of brackets.
fn split<'p, 't>(pieces: &'p [Piece<'t>]) -> Vec<&'p [Piece<'t>]> {
    let mut parts = Vec::new();
    let mut rest = pieces;
    while let Some(comma) = outside(rest, |piece| piece.kind == Kind::Comma) {
        parts.push(&rest[..comma]);
        rest = &rest[comma + 1..];
    }
    parts.push(rest);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_bound_is_counted_and_places_stay() {
        for (written, compiled) in [
            ("a {{ b == [c] }} {% if d %}x{% endif %}", "a {{ b == [c] }} {% if d %}x{% endif %}"),
            ("{% set a = b + [c] %}", "{% set a = counted(b + [c]) %}"),
            ("{% set n.a = (b) -%}\n", "{% set n.a = counted((b)) -%}\n"),
            ("{% set a %}x{% endset %}", "{% set a %}x{% endset %}"),
            (
                "{% with a = [1, 2], b = c %}{% endwith %}",
                "{% with a = counted([1, 2]), b = counted(c) %}{% endwith %}",
            ),
            ("{% for x in [a if b else c, d] if x %}", "{% for x in counted([a if b else c, d]) if x %}"),
            ("{% for k, v in m.items() -%}", "{% for k, v in counted(m.items()) -%}"),
            (
                "{% macro m(a, b=[1, 2]) -%}\nx",
                "{% macro m(a, b=[1, 2]) -%}{% set a = counted(a) -%}{% set b = counted(b) -%}\nx",
            ),
            ("{% macro m() %}x", "{% macro m() %}x"),
            ("{% call(a) m(b) %}x", "{% call(a) m(b) %}{% set a = counted(a) %}x"),
            ("{% call m(b) %}x", "{% call m(b) %}x"),
            ("{% set a | replace(b='c') %}x", "{% set a | replace(b='c') %}x"),
            ("{% raw %}{% set a = b %}{% endraw %}", "{% raw %}{% set a = b %}{% endraw %}"),
        ] {
            let guarded = guard(written);
            assert_eq!(guarded.text.replace(WEIGH, "counted"), compiled, "{written}");
            let mut last = 0;
            for at in 0..=guarded.text.len() {
                let place = guarded.written(at);
                assert!(place >= last && place <= written.len(), "{written}: {at} -> {place}");
                last = place;
            }
            assert_eq!(last, written.len());
        }
    }
}
