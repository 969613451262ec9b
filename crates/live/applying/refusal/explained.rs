//! The reasons that Cluster API and Kubernetes give behind a value, in words of our own.
//!
//! The part of a message that is never shown often holds the reason. It is looked for, and said again from
//! a closed set of sentences, into which only versions, numbers, names of types and field paths may go.

use std::sync::OnceLock;

use regex::Regex;

/// A pattern, and the sentence: `$1` and so on stand for what the pattern caught.
const REASONS: &[(&str, &str)] = &[
    (r"completing a previous upgrade", "version cannot be changed: an earlier upgrade is still completing"),
    (
        r#"version cannot be (increased|decreased) from "?(v?[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]{0,20})"? to "?(v?[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]{0,20})"?"#,
        "version cannot be $1 from $2 to $3",
    ),
    (
        r"cannot update Kubernetes version from (v?[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]{0,20}) to (v?[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]{0,20})",
        "cannot update Kubernetes version from $1 to $2",
    ),
    (r#"unknown field "([A-Za-z][A-Za-z0-9_.\[\]-]{0,200})""#, "unknown field `$1`"),
    (r"field is immutable|is immutable", "field is immutable"),
    (r"cannot be an even number when etcd is stacked", "cannot be an even number when etcd is stacked"),
    (r"must be of type (boolean|integer|number|string|array|object)\b", "must be of type $1"),
    (
        r"should be (greater|less) than or equal to (-?[0-9]{1,20}(?:\.[0-9]{1,10})?)",
        "must be $1 than or equal to $2",
    ),
    (r"should be (greater|less) than (-?[0-9]{1,20}(?:\.[0-9]{1,10})?)", "must be $1 than $2"),
    (r"should be at (least|most) ([0-9]{1,20}) (chars|bytes) long", "must be at $1 $2 $3 long"),
    (r"should have at (least|most) ([0-9]{1,20}) (items|properties)", "must have at $1 $2 $3"),
    // The words of an enumeration are those of the definition.
    (r#"supported values: ("[A-Za-z0-9_./-]{1,40}"(?:, "[A-Za-z0-9_./-]{1,40}")*)"#, "supported values: $1"),
    (r"must be a valid semantic version", "must be a valid semantic version"),
    (
        r"a lowercase RFC 1123 (subdomain|label) must consist",
        "must be a name: lower-case letters, digits, `-` and `.`",
    ),
    (r"a valid label must be an empty string or consist of", "must be a valid value of a label"),
    (r"name part must consist of|prefix part", "must be a valid key of a label or annotation"),
    (r"should be a non-negative integer|must be greater than or equal to 0", "must not be negative"),
    (r"ClusterClass \S{1,253} not found", "the ClusterClass does not exist"),
];

fn patterns() -> &'static [(Regex, &'static str)] {
    static PATTERNS: OnceLock<Vec<(Regex, &'static str)>> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        REASONS
            .iter()
            .filter_map(|(pattern, sentence)| Some((Regex::new(pattern).ok()?, *sentence)))
            .collect()
    })
}

/// The reason, if it is a known one. Of several matches the last: an earlier one may be part of an object.
pub(super) fn explained(raw: &str) -> Option<String> {
    patterns().iter().find_map(|(pattern, sentence)| {
        let caught = pattern.captures_iter(raw).last()?;
        let mut said = String::new();
        caught.expand(sentence, &mut said);
        Some(said)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        assert_eq!(patterns().len(), REASONS.len());
    }
}
