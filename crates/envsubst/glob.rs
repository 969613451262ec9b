//! Patterns as `drone/envsubst` matches them
//! (<https://github.com/drone/envsubst/blob/master/path/match.go>): `*` is any text, `?` a character, `[a-z]` and
//! `[^a-z]` classes, `\` an escape; on bytes.

use crate::dialect::TextBudget;

/// Why nothing can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GlobError {
    /// An invalid pattern.
    BadPattern,
    /// It takes more steps than there are.
    OutOfSteps,
}

/// Whether a pattern fits a whole text.
pub(crate) fn matches(mut pattern: &[u8], mut text: &[u8], budget: &TextBudget) -> Result<bool, GlobError> {
    spend(budget, pattern.len())?;
    'pattern: while !pattern.is_empty() {
        let (star, chunk, rest) = split(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(true);
        }
        if let Some(left) = match_chunk(chunk, text, budget)?
            && (left.is_empty() || !pattern.is_empty())
        {
            text = left;
            continue;
        }
        if star {
            for at in 1..=text.len() {
                if let Some(left) = match_chunk(chunk, &text[at..], budget)? {
                    if pattern.is_empty() && !left.is_empty() {
                        continue;
                    }
                    text = left;
                    continue 'pattern;
                }
            }
        }
        return Ok(false);
    }
    Ok(text.is_empty())
}

fn spend(budget: &TextBudget, steps: usize) -> Result<(), GlobError> {
    if budget.takes_steps(steps) { Ok(()) } else { Err(GlobError::OutOfSteps) }
}

/// Leading stars, then everything up to the next star.
fn split(pattern: &[u8]) -> (bool, &[u8], &[u8]) {
    let stars = pattern.iter().take_while(|byte| **byte == b'*').count();
    let pattern = &pattern[stars..];
    let (mut in_class, mut at) = (false, 0);
    while let Some(byte) = pattern.get(at) {
        match byte {
            b'\\' if at + 1 < pattern.len() => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'*' if !in_class => break,
            _ => {}
        }
        at += 1;
    }
    (stars > 0, &pattern[..at], &pattern[at..])
}

/// What is left of a text whose start a chunk without stars fits.
fn match_chunk<'t>(
    mut chunk: &[u8],
    mut text: &'t [u8],
    budget: &TextBudget,
) -> Result<Option<&'t [u8]>, GlobError> {
    while let Some(first) = chunk.first() {
        spend(budget, 1)?;
        if text.is_empty() {
            return Ok(None);
        }
        match first {
            b'[' => {
                let (character, length) = character(text);
                text = &text[length..];
                chunk = &chunk[1..];
                let negated = chunk.first() == Some(&b'^');
                if negated {
                    chunk = &chunk[1..];
                }
                let (mut fits, mut ranges) = (false, 0);
                while ranges == 0 || chunk.first() != Some(&b']') {
                    spend(budget, 1)?;
                    let (low, rest) = in_class(chunk)?;
                    chunk = rest;
                    let mut high = low;
                    if chunk.first() == Some(&b'-') {
                        (high, chunk) = in_class(&chunk[1..])?;
                    }
                    fits |= (low..=high).contains(&character);
                    ranges += 1;
                }
                chunk = &chunk[1..];
                if fits == negated {
                    return Ok(None);
                }
            }
            b'?' => {
                text = &text[character(text).1..];
                chunk = &chunk[1..];
            }
            byte => {
                let wanted = match (byte, chunk.get(1)) {
                    (b'\\', None) => return Err(GlobError::BadPattern),
                    (b'\\', Some(escaped)) => {
                        chunk = &chunk[1..];
                        escaped
                    }
                    (byte, _) => byte,
                };
                if text.first() != Some(wanted) {
                    return Ok(None);
                }
                (text, chunk) = (&text[1..], &chunk[1..]);
            }
        }
    }
    Ok(Some(text))
}

/// A character of a class; something must follow it.
fn in_class(chunk: &[u8]) -> Result<(u32, &[u8]), GlobError> {
    let chunk = match chunk {
        [] | [b'-' | b']', ..] | [b'\\'] => return Err(GlobError::BadPattern),
        [b'\\', rest @ ..] => rest,
        chunk => chunk,
    };
    let (character, length) = character(chunk);
    let rest = &chunk[length..];
    if rest.is_empty() { Err(GlobError::BadPattern) } else { Ok((character, rest)) }
}

/// The first character, and how many bytes it has; a byte that begins none is Go's replacement character.
fn character(bytes: &[u8]) -> (u32, usize) {
    let most = bytes.len().min(4);
    for length in 1..=most {
        if let Some(c) = std::str::from_utf8(&bytes[..length]).ok().and_then(|text| text.chars().next()) {
            return (u32::from(c), length);
        }
    }
    (u32::from(char::REPLACEMENT_CHARACTER), 1)
}
