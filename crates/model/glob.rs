//! Patterns over paths: `aws/v*`, `*/*`, `customers/**`, and `!gauss/*` for what is not meant.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A pattern over paths: `*` and `?` stay within one part, `**` crosses parts, `{a,b}` and `[a-z]`
/// choose. `!` before it turns it round: alone it matches every other path, in a list it takes out what the others
/// match ([`Self::any`]).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Glob(String);

/// Text that is not a pattern.
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
        let whole = pattern;
        let pattern = pattern.strip_prefix('!').unwrap_or(pattern);
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
            return refuse("one `!` is enough");
        }
        if !is_balanced(pattern) {
            return refuse("a bracket or brace is not closed");
        }
        Ok(Self(whole.to_owned()))
    }

    /// Whether the pattern matches the whole path.
    pub fn matches(&self, path: &str) -> bool {
        match self.0.strip_prefix('!') {
            Some(excluded) => !glob_match::glob_match(excluded, path),
            None => glob_match::glob_match(&self.0, path),
        }
    }

    /// Whether it takes out what others match.
    pub fn is_exclusion(&self) -> bool {
        self.0.starts_with('!')
    }

    /// Whether a list of patterns means a path: one of them matches it, and no exclusion takes it out. A list of
    /// exclusions alone means every other path; an empty one none.
    pub fn any(patterns: &[Self], path: &str) -> bool {
        let (exclusions, others): (Vec<&Self>, Vec<&Self>) =
            patterns.iter().partition(|pattern| pattern.is_exclusion());
        !patterns.is_empty()
            && exclusions.iter().all(|pattern| pattern.matches(path))
            && (others.is_empty() || others.iter().any(|pattern| pattern.matches(path)))
    }

    /// Whether a list of patterns grants a right over a path: a pattern that is not an exclusion matches it,
    /// and no exclusion removes it. A list of exclusions alone grants nothing.
    pub fn grants(patterns: &[Self], path: &str) -> bool {
        Self::any(patterns, path) && patterns.iter().any(|pattern| !pattern.is_exclusion())
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
            ("!gauss/*", "gauss/peu01", false),
            ("!gauss/*", "euler/peu01", true),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(Glob::parse(pattern).unwrap().matches(path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn in_a_list_an_exclusion_takes_out_what_others_match_and_alone_gives_no_right() {
        for (patterns, path, is_meant, is_granted) in [
            (&["*/*", "!gauss/*"][..], "euler/1", true, true),
            (&["*/*", "!gauss/*"], "gauss/1", false, false),
            (&["!gauss/*", "*/*"], "gauss/1", false, false),
            (&["euler/*", "!euler/2"], "gauss/1", false, false),
            (&["euler/*", "!euler/2"], "euler/2", false, false),
            (&["!gauss/*"], "euler/1", true, false),
            (&["!gauss/*", "!euler/*"], "euler/1", false, false),
            (&[], "euler/1", false, false),
        ] {
            let patterns: Vec<Glob> = patterns.iter().map(|pattern| Glob::parse(pattern).unwrap()).collect();
            let found = (Glob::any(&patterns, path), Glob::grants(&patterns, path));
            assert_eq!(found, (is_meant, is_granted), "{patterns:?} on {path}");
        }
    }

    #[test]
    fn what_could_never_match_is_refused() {
        for pattern in
            ["", "/aws", "aws/", "aws//v*", "../x", "./x", "[a", "{a,b", "a}", "!", "!!x", "!/x", "x\\"]
        {
            assert!(Glob::parse(pattern).is_err(), "{pattern}");
        }
    }
}
