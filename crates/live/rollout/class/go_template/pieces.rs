//! A template as text and actions, trimmed where they ask for it.

use super::tokens::SPACES;
use super::uncomputed::{Computed, Uncomputed};

/// Text, and the content between `{{` and `}}`.
#[derive(Debug)]
pub(super) enum TemplatePiece<'t> {
    Text(&'t str),
    Action(&'t str),
}

/// The pieces of a template, in their order.
pub(super) fn pieces(template: &str) -> Computed<Vec<TemplatePiece<'_>>> {
    let mut found = Vec::new();
    let mut rest = template;
    let mut trims = false;
    loop {
        let begin = rest.find("{{");
        let text = begin.map_or(rest, |begin| &rest[..begin]);
        let text = if trims { text.trim_start_matches(SPACES) } else { text };
        let Some(begin) = begin else {
            found.push(TemplatePiece::Text(text));
            return Ok(found);
        };
        let inside = &rest[begin + 2..];
        let end = end_of_action(inside).ok_or(Uncomputed)?;
        let mut action = &inside[..end];
        let trims_before = action.strip_prefix('-').filter(|rest| rest.starts_with(SPACES));
        found.push(TemplatePiece::Text(match trims_before {
            Some(_) => text.trim_end_matches(SPACES),
            None => text,
        }));
        action = trims_before.unwrap_or(action);
        let trims_after = action.strip_suffix('-').filter(|rest| rest.ends_with(SPACES));
        trims = trims_after.is_some();
        found.push(TemplatePiece::Action(trims_after.unwrap_or(action).trim()));
        rest = &inside[end + 2..];
    }
}

/// Where `}}` ends an action: not within a string.
fn end_of_action(inside: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in inside.char_indices() {
        match quote {
            Some('"' | '\'') if escaped => escaped = false,
            Some('"' | '\'') if letter == '\\' => escaped = true,
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if matches!(letter, '"' | '`' | '\'') => quote = Some(letter),
            None if inside[at..].starts_with("}}") => return Some(at),
            None => {}
        }
    }
    None
}
