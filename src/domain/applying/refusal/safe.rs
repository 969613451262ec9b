//! What may be shown of a message.

/// The longest that is shown, in characters.
pub(super) const LONGEST: usize = 512;

const VALUE: &str = "Invalid value:";

/// Words after which values may follow, in the messages of the API server and its libraries.
const BEFORE_VALUES: &[&str] = &[
    "{",
    "map[",
    "&value",
    ", got ",
    "Diff:",
    "Duplicate value:",
    "Unsupported value:",
    "last-applied-configuration",
];

/// Whether the message tells a value, which is cut off.
pub(super) fn is_cut(raw: &str) -> bool {
    raw.contains(VALUE)
}

/// The message without values, on one line; `None` where nothing is left.
pub(super) fn safe(raw: &str) -> Option<String> {
    let mut text = raw;
    if let Some(at) = text.find(VALUE) {
        text = &text[..at + VALUE.len() - 1];
    }
    let mut cut = false;
    for words in BEFORE_VALUES {
        if let Some(at) = text.find(words) {
            text = &text[..at];
            cut = true;
        }
    }
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

/// At most [`LONGEST`] characters.
pub(crate) fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}
