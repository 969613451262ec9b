//! Counting what is bound to a name or compared.
//!
//! The engine's fuel pays for the results of operators, and not for walks through values: lists that contain
//! one another more than once are small, and endless when they are compared or turned into text. Such lists
//! grow when they are bound to a name and used again. So a template is compiled with a call round everything
//! that is bound (`set`, `with`, `for`, arguments of macros), and round both sides of each comparison, which
//! would walk through both for one step. The call pays for everything in its value. Places refer to the
//! template as it was written.

use minijinja::machinery::{Token, tokenize};

use super::{COMPARE, WEIGH, syntax};

/// A template with its calls.
#[derive(Debug, Default)]
pub(crate) struct Guarded {
    /// What is compiled.
    pub(crate) text: String,
    /// What was put in: the byte of the written template, and how much; in order.
    inserted: Vec<(usize, usize)>,
}

impl Guarded {
    /// The byte of the written template for one of the compiled one.
    pub(crate) fn written(&self, compiled: usize) -> usize {
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
struct TokenPiece<'t> {
    kind: TokenKind<'t>,
    start: usize,
    end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenKind<'t> {
    BlockStart,
    BlockEnd,
    VariableStart,
    VariableEnd,
    Compares,
    Colon,
    Literal,
    Word(&'t str),
    Assign,
    Comma,
    Open,
    Close,
    Other,
}

/// Inserts the calls. A text that is not a template stays as it is.
pub(crate) fn guard(text: &str) -> Guarded {
    let Some(pieces) = pieces(text, false) else {
        return Guarded { text: text.to_owned(), inserted: Vec::new() };
    };
    let mut put: Vec<(usize, String)> = Vec::new();
    let mut at = 0;
    while let Some(piece) = pieces.get(at) {
        let ends = match piece.kind {
            TokenKind::BlockStart => TokenKind::BlockEnd,
            TokenKind::VariableStart => TokenKind::VariableEnd,
            _ => {
                at += 1;
                continue;
            }
        };
        let length = pieces[at..].iter().position(|piece| piece.kind == ends);
        let Some(end) = length.map(|length| at + length) else { break };
        let inner = &pieces[at + 1..=end];
        if ends == TokenKind::BlockEnd {
            statement(text, inner, &mut put);
            compared(computed(inner), &mut put);
        } else {
            compared(inner, &mut put);
        }
        at = end + 1;
    }
    with_calls(text, put)
}

/// The same for an expression alone.
pub(crate) fn guard_expression(text: &str) -> String {
    let mut put = Vec::new();
    if let Some(pieces) = pieces(text, true) {
        compared(&pieces, &mut put);
    }
    with_calls(text, put).text
}

fn pieces(text: &str, in_expression: bool) -> Option<Vec<TokenPiece<'_>>> {
    let tokens = tokenize(text, in_expression, syntax().ok()?);
    tokens.map(|token| token.map(piece)).collect::<Result<_, _>>().ok()
}

fn with_calls(text: &str, mut put: Vec<(usize, String)>) -> Guarded {
    // What begins first around something was put first.
    put.sort_by_key(|(at, _)| *at);
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

/// The part of a statement that holds expressions; nothing of those that bind no value.
fn computed<'p, 't>(pieces: &'p [TokenPiece<'t>]) -> &'p [TokenPiece<'t>] {
    match pieces.split_first().map(|(first, rest)| (first.kind, rest)) {
        Some((
            TokenKind::Word("if" | "elif" | "set" | "with" | "do" | "macro" | "call" | "filter"),
            rest,
        )) => rest,
        Some((TokenKind::Word("for"), rest)) => {
            let from = rest.iter().position(|piece| piece.kind == TokenKind::Word("in"));
            from.map_or(&[], |from| &rest[from + 1..])
        }
        _ => &[],
    }
}

/// A call round both sides of every comparison. What binds weaker than a comparison parts its sides from the rest.
fn compared(pieces: &[TokenPiece<'_>], put: &mut Vec<(usize, String)>) {
    let mut side = 0;
    let mut is_right = false;
    let mut at = 0;
    while at <= pieces.len() {
        let kind = pieces.get(at).map_or(TokenKind::BlockEnd, |piece| piece.kind);
        let before = |back: usize| Some(pieces.get(at.checked_sub(back)?)?.kind);
        let of_test = before(1) == Some(TokenKind::Word("is"))
            || before(1) == Some(TokenKind::Word("not")) && before(2) == Some(TokenKind::Word("is"));
        let (ends, compares, length) = match kind {
            TokenKind::Compares => (true, true, 1),
            TokenKind::Word("in" | "not") if of_test => (false, false, 1),
            TokenKind::Word("in") => (true, true, 1),
            TokenKind::Word("not")
                if pieces.get(at + 1).is_some_and(|next| next.kind == TokenKind::Word("in")) =>
            {
                (true, true, 2)
            }
            TokenKind::Word("and" | "or" | "not" | "if" | "else" | "recursive")
            | TokenKind::Comma
            | TokenKind::Colon
            | TokenKind::Assign
            | TokenKind::BlockEnd
            | TokenKind::VariableEnd => (true, false, 1),
            _ => (false, false, 1),
        };
        if ends {
            let operand = &pieces[side..at.min(pieces.len())];
            if is_right || compares {
                around(operand, COMPARE, put);
            }
            (side, is_right) = (at + length, compares);
        }
        if kind == TokenKind::Open {
            let close = outside(&pieces[at + 1..], |piece| piece.kind == TokenKind::Close);
            let end = close.map_or(pieces.len(), |close| at + 1 + close);
            // Calls within brackets are inserted there, also inside of a side.
            compared(&pieces[at + 1..end], put);
            at = end;
        }
        at += length;
    }
}

/// A call round pieces; a literal alone needs none.
fn around(pieces: &[TokenPiece<'_>], call: &str, put: &mut Vec<(usize, String)>) {
    if matches!(pieces, [TokenPiece { kind: TokenKind::Literal, .. }]) {
        return;
    }
    if let (Some(first), Some(last)) = (pieces.first(), pieces.last()) {
        put.push((first.start, format!("{call}(")));
        put.push((last.end, ")".to_owned()));
    }
}

fn piece<'t>((token, span): (Token<'t>, minijinja::machinery::Span)) -> TokenPiece<'t> {
    let kind = match token {
        Token::BlockStart => TokenKind::BlockStart,
        Token::BlockEnd => TokenKind::BlockEnd,
        Token::VariableStart => TokenKind::VariableStart,
        Token::VariableEnd => TokenKind::VariableEnd,
        Token::Eq | Token::Ne | Token::Lt | Token::Lte | Token::Gt | Token::Gte => TokenKind::Compares,
        Token::Colon => TokenKind::Colon,
        Token::Str(_) | Token::String(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_) => {
            TokenKind::Literal
        }
        Token::Ident(word) => TokenKind::Word(word),
        Token::Assign => TokenKind::Assign,
        Token::Comma => TokenKind::Comma,
        Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => TokenKind::Open,
        Token::ParenClose | Token::BracketClose | Token::BraceClose => TokenKind::Close,
        _ => TokenKind::Other,
    };
    TokenPiece { kind, start: span.start_offset as usize, end: span.end_offset as usize }
}

/// One statement, from the word behind `{%` to its `%}`.
fn statement(text: &str, pieces: &[TokenPiece<'_>], put: &mut Vec<(usize, String)>) {
    let Some((TokenKind::Word(word), rest)) = pieces.split_first().map(|(first, rest)| (first.kind, rest))
    else {
        return;
    };
    match word {
        "set" => {
            if let Some(assign) = outside(rest, |piece| piece.kind == TokenKind::Assign) {
                wrap(&rest[assign..rest.len() - 1], put);
            }
        }
        "with" => assignments(&rest[..rest.len() - 1], put),
        "for" => {
            let Some(from) = rest.iter().position(|piece| piece.kind == TokenKind::Word("in")) else {
                return;
            };
            let ends = |piece: &TokenPiece<'_>| {
                matches!(piece.kind, TokenKind::Word("if" | "recursive") | TokenKind::BlockEnd)
            };
            let end = outside(&rest[from..], ends).map(|length| from + length);
            if let Some(end) = end {
                wrap(&rest[from..end], put);
            }
        }
        "macro" | "call" => {
            let Some(last) = rest.last() else { return };
            // As much blank is stripped as the statement itself says.
            let end = text.get(last.start..last.end).unwrap_or("%}");
            let open = rest.iter().position(|piece| piece.kind == TokenKind::Open);
            let is_list = |open: &usize| word == "macro" || *open == 0;
            let Some(open) = open.filter(is_list) else { return };
            let mut sets = String::new();
            let close = outside(&rest[open + 1..], |piece| piece.kind == TokenKind::Close);
            let inner = close.map_or(&[][..], |close| &rest[open + 1..open + 1 + close]);
            for argument in split(inner) {
                if let Some(TokenPiece { kind: TokenKind::Word(name), .. }) = argument.first() {
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
fn assignments(pieces: &[TokenPiece<'_>], put: &mut Vec<(usize, String)>) {
    for one in split(pieces) {
        if let Some(assign) = one.iter().position(|piece| piece.kind == TokenKind::Assign) {
            wrap(&one[assign..], put);
        }
    }
}

/// A call round everything behind the first piece.
fn wrap(pieces: &[TokenPiece<'_>], put: &mut Vec<(usize, String)>) {
    around(pieces.get(1..).unwrap_or_default(), WEIGH, put);
}

/// The first piece outside of brackets that is meant.
fn outside(pieces: &[TokenPiece<'_>], meant: impl Fn(&TokenPiece<'_>) -> bool) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, piece) in pieces.iter().enumerate() {
        if depth == 0 && meant(piece) {
            return Some(at);
        }
        match piece.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Parts between commas outside of brackets.
fn split<'p, 't>(pieces: &'p [TokenPiece<'t>]) -> Vec<&'p [TokenPiece<'t>]> {
    let mut parts = Vec::new();
    let mut rest = pieces;
    while let Some(comma) = outside(rest, |piece| piece.kind == TokenKind::Comma) {
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
            (
                "a {{ b == [c] }} {% if d %}x{% endif %}",
                "a {{ compared(b) == compared([c]) }} {% if d %}x{% endif %}",
            ),
            (
                "{% if a.b|f == 'c' and not d in e %}",
                "{% if compared(a.b|f) == 'c' and not compared(d) in compared(e) %}",
            ),
            ("{{ x if a not in b else c }}", "{{ x if compared(a) not in compared(b) else c }}"),
            ("{{ f(a < b, c=d) is not in (e) }}", "{{ f(compared(a) < compared(b), c=d) is not in (e) }}"),
            (
                "{{ (a == b) != {'k': c >= 1} }}",
                "{{ compared((compared(a) == compared(b))) != compared({'k': compared(c) >= 1}) }}",
            ),
            ("{{ 1 < a < b }}", "{{ 1 < compared(a) < compared(b) }}"),
            ("{% set x = a == b %}", "{% set x = counted(compared(a) == compared(b)) %}"),
            ("{% set a = b + [c] %}", "{% set a = counted(b + [c]) %}"),
            ("{% set n.a = (b) -%}\n", "{% set n.a = counted((b)) -%}\n"),
            ("{% set a %}x{% endset %}", "{% set a %}x{% endset %}"),
            (
                "{% with a = [1, 2], b = c %}{% endwith %}",
                "{% with a = counted([1, 2]), b = counted(c) %}{% endwith %}",
            ),
            ("{% for x in [a if b else c, d] if x %}", "{% for x in counted([a if b else c, d]) if x %}"),
            ("{% for x in a if x == b %}", "{% for x in counted(a) if compared(x) == compared(b) %}"),
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
            assert_eq!(
                guarded.text.replace(WEIGH, "counted").replace(COMPARE, "compared"),
                compiled,
                "{written}"
            );
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
