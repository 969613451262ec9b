//! Patterns over paths: `aws/v*`, `*/*`, `customers/**`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A pattern over paths: `*` and `?` stay within one part, `**` crosses parts, `{a,b}` and `[a-z]`
/// choose.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Glob(String);

/// Text that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a pattern over paths: {reason}")]
pub struct InvalidGlob {
    /// The text.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl Glob {
    /// Checks a pattern.
    pub fn parse(pattern: &str) -> Result<Self, InvalidGlob> {
        let refuse = |reason| Err(InvalidGlob { pattern: pattern.to_owned(), reason });
        let parts = || pattern.split('/');
        if pattern.is_empty() {
            return refuse("it is empty");
        }
        if pattern.starts_with('/') || pattern.ends_with('/') {
            return refuse(
                "it must neither begin nor end with `/`; paths are relative to the repository's root",
            );
        }
        if parts().any(|part| matches!(part, "" | "." | "..")) {
            return refuse("`.`, `..` and empty parts match nothing");
        }
        if pattern.starts_with('!') {
            return refuse("exclusions are not known; list what should match");
        }
        if !is_balanced(pattern) {
            return refuse("a bracket or brace is not closed");
        }
        Ok(Self(pattern.to_owned()))
    }

    /// Whether the pattern matches the whole path.
    pub fn matches(&self, path: &str) -> bool {
        glob_match::glob_match(&self.0, path)
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_balanced(pattern: &str) -> bool {
    let (mut braces, mut in_class, mut escaped) = (0_u32, false, false);
    for character in pattern.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ']' => in_class = false,
            _ if in_class => {}
            '[' => in_class = true,
            '{' => braces += 1,
            '}' if braces == 0 => return false,
            '}' => braces -= 1,
            _ => {}
        }
    }
    braces == 0 && !in_class && !escaped
}

impl TryFrom<String> for Glob {
    type Error = InvalidGlob;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stays_within_one_part_of_a_path() {
        let cases = [
            ("aws/v*", "aws/v21.0.0", true),
            ("aws/v*", "aws/archived/v21.0.0", false),
            ("aws/v*", "capa/v21.0.0", false),
            ("*/*", "gauss/peu01", true),
            ("*/*", "gauss", false),
            ("*/*", "gauss/peu01/base", false),
            ("*", "gauss/peu01", false),
            ("*/canary*", "gauss/canary-1", true),
            ("customers/**", "customers/gauss/peu01", true),
            ("**/canary", "a/b/canary", true),
            ("**/canary", "canary", true),
            ("{gauss,euler}/*", "euler/peu01", true),
            ("gauss/peu0[1-3]", "gauss/peu02", true),
            ("gauss/peu0?", "gauss/peu04", true),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(Glob::parse(pattern).unwrap().matches(path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn what_could_never_match_is_refused() {
        for pattern in ["", "/aws", "aws/", "aws//v*", "../x", "./x", "[a", "{a,b", "a}", "!x", "x\\"] {
            assert!(Glob::parse(pattern).is_err(), "{pattern}");
        }
    }
}
