//! What may be shown of a message.

use crate::live_objects::shortened;

/// What API servers write before a value. The words stay, nothing of what follows does.
const VALUES: &[&str] = &["Invalid value:", "Duplicate value:", "Unsupported value:"];

/// What values and whole objects begin with, in the messages of the API server and its libraries.
const BEFORE_VALUES: &[&str] = &["{", "map[", "&value", ", got ", "Diff:", "last-applied-configuration"];

/// The words before the first value that the message quotes: `Invalid value`.
pub(super) fn quotes_value(raw: &str) -> Option<&'static str> {
    let first = VALUES.iter().filter_map(|words| Some((raw.find(words)?, *words))).min()?;
    Some(first.1.trim_end_matches(':'))
}

/// The message without values, on one line; `None` where nothing is left.
pub(super) fn safe(raw: &str) -> Option<String> {
    let mut text = raw;
    for words in VALUES {
        if let Some(at) = text.find(words) {
            text = &text[..at + words.len() - 1];
        }
    }
    let mut cut = false;
    for words in BEFORE_VALUES {
        if let Some(at) = text.find(words) {
            text = &text[..at];
            cut = true;
        }
    }
    // It means no field, and so it says nothing.
    let text = text.replace("<nil>: ", "");
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect::<String>()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    if cut {
        line = line.trim_end_matches([':', ',', '"', ' ', '[', '(', '&']).to_owned();
        line.push('…');
    }
    let nothing = line.is_empty() || line == "…";
    (!nothing).then(|| shortened(&line))
}
