//! The length of operator chains in a template: the engine's parser bounds nesting in brackets, and not
//! chains (`a.b.c`, `1 + 1 + 1`, `elif … elif`). Its syntax tree is as deep as the chain is long, and a walk
//! through it recurses as deep.

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;

/// How many operators one expression may have in a row, those around it included.
pub(crate) const ROW: usize = 250;

/// Looks for a chain that is too long; returns its byte. A text that is not a template has none.
pub(crate) fn too_long(text: &str, syntax: SyntaxConfig) -> Option<usize> {
    // Of every bracket that is open, and of the statement itself, the row so far.
    let mut rows: Vec<usize> = vec![0];
    // Of every block that is open, the branches so far.
    let mut branches: Vec<usize> = Vec::new();
    let mut begins = false;
    for token in tokenize(text, false, syntax) {
        let Ok((token, span)) = token else { return None };
        let row = rows.last_mut()?;
        match token {
            Token::VariableStart | Token::BlockStart => {
                rows = vec![0];
                begins = matches!(token, Token::BlockStart);
                continue;
            }
            Token::Ident(word) if begins => match word {
                "elif" | "else" => {
                    if let Some(last) = branches.last_mut() {
                        *last += 1;
                    }
                }
                "endif" | "endfor" => drop(branches.pop()),
                "if" | "for" => branches.push(1),
                _ => {}
            },
            Token::Ident("and" | "or" | "not" | "in" | "is" | "if" | "else") => *row += 1,
            Token::Comma => *row = 0,
            Token::Ident(_)
            | Token::Str(_)
            | Token::String(_)
            | Token::Int(_)
            | Token::Int128(_)
            | Token::Float(_)
            | Token::Assign
            | Token::Colon
            | Token::TemplateData(_)
            | Token::VariableEnd
            | Token::BlockEnd => {}
            Token::BracketOpen | Token::ParenOpen | Token::BraceOpen => {
                *row += 1;
                rows.push(0);
            }
            Token::BracketClose | Token::ParenClose | Token::BraceClose => {
                if rows.len() > 1 {
                    rows.pop();
                }
            }
            _ => *row += 1,
        }
        begins = false;
        if rows.iter().sum::<usize>() + branches.iter().sum::<usize>() > ROW {
            return Some(span.start_offset as usize);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_and_lists_are_not() {
        let row = |part: &str, count: usize| format!("{{{{ 1{} }}}}", part.repeat(count));
        let list = format!("{{{{ [{}] }}}}", "a.b + 1, ".repeat(10_000));
        let branches = |count: usize| format!("{{% if a %}}{}{{% endif %}}", "{% elif a %}b".repeat(count));
        let nested = format!("{{{{ {}1{} }}}}", "(1 + ".repeat(130), ")".repeat(130));
        for (text, is_long) in [
            (row(" + 1", 250), false),
            (row(" + 1", 251), true),
            (row(".a", 300), true),
            (row(" | abs", 300), true),
            (row("()", 300), true),
            (row(" if 1 else 1", 130), true),
            (format!("{{{{ {}1 }}}}", "not ".repeat(300)), true),
            (format!("{{{{ {}1 }}}}", "-".repeat(300)), true),
            (nested, true),
            (list, false),
            ("{{ a.b }}{% if a and b %}{% elif c %}{% else %}{% endif %}\n".repeat(1_000), false),
            (branches(249), false),
            (branches(250), true),
            ("- - - - {# -- #}".repeat(300), false),
        ] {
            let found = too_long(&text, crate::engine::syntax().unwrap());
            assert_eq!(found.is_some(), is_long, "{}", text.get(..80).unwrap_or(&text));
        }
    }
}
