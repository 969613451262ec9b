//! Text from the other side: short, and without what must not be shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::limits;

/// At most 512 characters of one line, without control characters, and without what follows
/// `Invalid value:` in an API server's message (objects, diffs). Whatever is longer is cut when it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Words(String);

impl Words {
    /// Keeps what may be shown of a text.
    pub fn new(text: &str) -> Self {
        let text = match text.split_once("Invalid value:") {
            Some((before, _)) => format!("{before}Invalid value"),
            None => text.to_owned(),
        };
        let mut line: String = text
            .trim()
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(limits::WORDS + 1)
            .collect();
        if line.chars().count() > limits::WORDS {
            line = line.chars().take(limits::WORDS - 1).chain(['…']).collect();
        }
        Self(line)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<Words> for String {
    fn from(words: Words) -> Self {
        words.0
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_one_short_line_without_values() {
        let long = "x".repeat(600);
        let cut = format!("{}…", "x".repeat(511));
        for (raw, kept) in [
            ("  still completing\n", "still completing"),
            ("a\nb\u{1b}[31mc", "a b [31mc"),
            ("spec.version: Invalid value: \"secret\": cannot be changed", "spec.version: Invalid value"),
            (long.as_str(), cut.as_str()),
        ] {
            assert_eq!(Words::new(raw).as_str(), kept);
        }
        let read: Words = serde_json::from_value(serde_json::json!(long)).unwrap();
        assert_eq!(read.as_str().chars().count(), 512);
    }
}
