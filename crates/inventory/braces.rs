//! Which texts are expressions (I8): those with `{{ … }}`.

use minijinja::machinery::{ast, parse};
use minijinja::syntax::SyntaxConfig;

use super::engine::{ROW, too_long};

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    /// As it is written.
    Text(String),
    /// The text between braces.
    Expression(String),
}

/// Why a text with braces is not an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoExpression {
    /// The byte of the text at which that is seen.
    pub(crate) offset: usize,
    /// Why, as a sentence without a full stop.
    pub(crate) reason: String,
}

/// Takes a text apart; `None` where it is a text like any other.
///
/// # Errors
/// It has `{% %}`, or its braces hold no expression.
pub(crate) fn segments(text: &str) -> Result<Option<Vec<Segment>>, NoExpression> {
    let open = text.find("{%");
    if !text.contains("{{") && open.is_none() {
        return Ok(None);
    }
    let statement = |offset| {
        let reason = "only templates of releases may have `{% %}`: a value has expressions in `{{ }}`. For the characters themselves write `{{ '{%' }}`";
        NoExpression { offset, reason: reason.to_owned() }
    };
    let failed = |error: minijinja::Error| match open {
        Some(offset) => statement(offset),
        None => NoExpression {
            offset: error.range().map_or(0, |range| range.start),
            reason: format!(
                "this is not an expression: {}. For the characters themselves write `{{{{ '{{{{' }}}}`",
                error.detail().unwrap_or("the syntax is wrong")
            ),
        },
    };
    if let Some(offset) = too_long(text, syntax().map_err(failed)?) {
        let reason = format!("more than {ROW} operators are in a row here: make parts of it separate values");
        return Err(NoExpression { offset, reason });
    }
    let read = parse(text, "value", syntax().map_err(failed)?).map_err(failed)?;
    let ast::Stmt::Template(template) = &read else { return Ok(None) };
    let is_plain = |child: &ast::Stmt<'_>| matches!(child, ast::Stmt::EmitRaw(_) | ast::Stmt::EmitExpr(_));
    if let Some(offset) = open.filter(|_| !template.children.iter().all(is_plain) || !text.contains("{{")) {
        return Err(statement(offset));
    }
    let segments = template.children.iter().filter_map(|child| match child {
        ast::Stmt::EmitRaw(raw) => Some(Segment::Text(raw.raw.to_owned())),
        ast::Stmt::EmitExpr(emit) => {
            // What an expression's span leaves out are parentheses around it, which mean nothing; the statement's
            // own span has the braces.
            let inner = braced(text, emit.span().start_offset as usize, emit.expr.span().end_offset as usize);
            Some(Segment::Expression(inner.to_owned()))
        }
        _ => None,
    });
    Ok(Some(segments.collect()))
}

fn syntax() -> Result<SyntaxConfig, minijinja::Error> {
    SyntaxConfig::builder().keep_trailing_newline(true).build()
}

/// From the braces before `start` to those behind `end`.
fn braced(text: &str, start: usize, end: usize) -> &str {
    let open = text[..=start.min(text.len() - 1)].rfind("{{").map_or(start, |open| open + 2);
    let open = if text[start..].starts_with("{{") { start + 2 } else { open };
    let close = text[end..].find("}}").map_or(text.len(), |close| end + close);
    text.get(open..close).unwrap_or_default().trim_matches('-').trim()
}

/// Whether a text is one expression and nothing else, so that its value keeps its type.
pub(crate) fn is_one_expression(text: &str) -> bool {
    text.trim().starts_with("{{")
        && matches!(segments(text.trim()), Ok(Some(parts)) if matches!(parts.as_slice(), [Segment::Expression(_)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_taken_apart() {
        let text = |text: &str| Segment::Text(text.to_owned());
        let expression = |text: &str| Segment::Expression(text.to_owned());
        for (read, expected) in [
            ("plain", None),
            ("{ { a } }", None),
            ("{{ a.b }}", Some(vec![expression("a.b")])),
            (
                "x-{{a}}-{{ (b) }}\n",
                Some(vec![text("x-"), expression("a"), text("-"), expression("(b)"), text("\n")]),
            ),
            ("{{ '}}' }}", Some(vec![expression("'}}'")])),
            ("{{ a if b else (c) }}y", Some(vec![expression("a if b else (c)"), text("y")])),
            ("{{ (a + b) * c }}", Some(vec![expression("(a + b) * c")])),
            ("x {{ '{%' }} y", Some(vec![text("x "), expression("'{%'"), text(" y")])),
            ("{{ a | default('{{') }}", Some(vec![expression("a | default('{{')")])),
        ] {
            assert_eq!(segments(read), Ok(expected), "{read}");
        }
        for (read, alone) in [("{{ a }}", true), (" {{ a }} ", true), ("{{ a }}{{ b }}", false), ("a", false)]
        {
            assert_eq!(is_one_expression(read), alone, "{read}");
        }
        for (read, offset) in [
            ("a {% if b %}", 2),
            ("{{ a }} {% if b %}c{% endif %}", 8),
            ("{%", 0),
            ("{{ a", 3),
            ("{{ a ; }}", 5),
        ] {
            assert_eq!(segments(read).unwrap_err().offset, offset, "{read}");
        }
    }
}
