//! Functions of a variable's value: those of `drone/envsubst`, on bytes
//! (<https://github.com/drone/envsubst/blob/master/funcs.go>).

use std::sync::Arc;

use super::{LONGEST, Substituted, glob};
use crate::refusal::Refusal;

/// Trimming tries every place of a value.
const LONGEST_TRIMMED: usize = 1_024;

/// What an operator makes of a value.
pub(super) fn apply(
    operator: &str,
    variable: &Arc<str>,
    value: &str,
    arguments: &[Substituted],
) -> Result<Substituted, Refusal> {
    let text = |at: usize| arguments.get(at).map(|argument| argument.text.as_str());
    let derived = |text: &str| Ok(Substituted::value(text, variable));
    match (operator, text(0)) {
        ("," | "^", _) => {
            let first = value.chars().next().map_or(0, char::len_utf8);
            derived(&format!("{}{}", cased(operator, &value[..first]), &value[first..]))
        }
        (",," | "^^", _) => derived(&cased(operator, value)),
        ("#", None) => derived(&value.len().to_string()),
        ("#" | "##" | "%" | "%%", Some(pattern)) => trimmed(operator, variable, value, pattern),
        (":", Some(position)) => derived(substring(variable, value, position, text(1))?),
        ("/" | "//" | "/#" | "/%", Some(what)) => replaced(operator, variable, value, what, arguments.get(1)),
        _ if value.is_empty() => {
            let mut all = Substituted::default();
            arguments.iter().try_for_each(|argument| all.push(argument))?;
            Ok(all)
        }
        _ => derived(value),
    }
}

/// Go's cases are of one letter for one letter; what would become several stays.
fn cased(operator: &str, text: &str) -> String {
    let one = |c: char| {
        let mut changed = if operator.starts_with(',') {
            c.to_lowercase().collect::<Vec<_>>()
        } else {
            c.to_uppercase().collect()
        };
        match (changed.pop(), changed.is_empty()) {
            (Some(only), true) => only,
            _ => c,
        }
    };
    text.chars().map(one).collect()
}

/// What is no number leaves the value as it is.
fn substring<'v>(
    variable: &str,
    value: &'v str,
    position: &str,
    length: Option<&str>,
) -> Result<&'v str, Refusal> {
    let Ok(position) = position.parse::<i64>() else { return Ok(value) };
    let size = i64::try_from(value.len()).unwrap_or(i64::MAX);
    let begin = if position < 0 { size.saturating_add(position).max(0) } else { position };
    let end = match length.map(str::parse::<i64>) {
        None => size,
        Some(Err(_)) => return Ok(value),
        Some(Ok(length)) => begin.saturating_add(length).min(size),
    };
    if begin >= size {
        return Ok("");
    }
    let bounds =
        usize::try_from(begin).ok().zip(usize::try_from(end).ok()).filter(|(begin, end)| begin <= end);
    bounds.and_then(|(begin, end)| value.get(begin..end)).ok_or_else(|| {
        Refusal::new(format!(
            "the part of the variable `{variable}` that is asked for ends before it begins, or cuts a character in two"
        ))
    })
}

/// The value's parts are the value's, what is put in between is the text's.
fn replaced(
    operator: &str,
    variable: &Arc<str>,
    value: &str,
    what: &str,
    with: Option<&Substituted>,
) -> Result<Substituted, Refusal> {
    let places: Vec<usize> = match operator {
        "/" => value.find(what).into_iter().collect(),
        "//" => value.match_indices(what).map(|(at, _)| at).collect(),
        // Without a second argument nothing is done at the ends, unlike elsewhere.
        _ if with.is_none() => Vec::new(),
        "/#" => value.starts_with(what).then_some(0).into_iter().collect(),
        _ => value.strip_suffix(what).map(str::len).into_iter().collect(),
    };
    let added = with.map_or(0, |with| with.text.len());
    if places.len().saturating_mul(added) > LONGEST {
        return Err(Refusal::new(format!("the variable `{variable}` comes to more than {LONGEST} bytes")));
    }
    let mut out = Substituted::default();
    let mut copied = 0;
    for at in places {
        out.push(&Substituted::value(&value[copied..at], variable))?;
        if let Some(with) = with {
            out.push(with)?;
        }
        copied = at + what.len();
    }
    out.push(&Substituted::value(&value[copied..], variable))?;
    Ok(out)
}

fn trimmed(operator: &str, variable: &Arc<str>, value: &str, pattern: &str) -> Result<Substituted, Refusal> {
    if value.len() > LONGEST_TRIMMED {
        return Err(Refusal::new(format!(
            "the variable `{variable}` has more than {LONGEST_TRIMMED} bytes, and its ends are to be cut off"
        )));
    }
    let reverse = |text: &str| text.chars().rev().collect::<String>();
    let rest = if operator.starts_with('#') {
        cut(value, pattern, operator).map(str::to_owned)
    } else {
        cut(&reverse(value), &reverse(pattern), operator).map(reverse)
    };
    match rest {
        Some(rest) => Ok(Substituted::value(&rest, variable)),
        None => Err(Refusal::new(format!(
            "cutting off an end of the variable `{variable}` would cut a character in two"
        ))),
    }
}

/// The value without a start that fits; a pattern that is none cuts nothing off.
fn cut<'v>(value: &'v str, pattern: &str, operator: &str) -> Option<&'v str> {
    let mut found = None;
    for end in (1..=value.len()).rev() {
        match glob::matches(pattern.as_bytes(), &value.as_bytes()[..end]) {
            Err(glob::BadPattern) => return Some(value),
            Ok(true) => {
                found = Some(end);
                if operator.len() == 2 {
                    break;
                }
            }
            Ok(false) => {}
        }
    }
    found.map_or(Some(value), |end| value.get(end..))
}
