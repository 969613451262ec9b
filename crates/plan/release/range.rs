//! Ranges of versions as `requests.yaml` writes them.
//!
//! The grammar is that of the tool that reads the file upstream (<https://github.com/blang/semver#ranges>): comparisons
//! side by side all have to hold, `||` separates alternatives, `1.2.x` means every patch. Versions compare as semver
//! orders them, a pre-release before its release, with no exception for pre-releases.

use std::cmp::Ordering;
use std::fmt;

use semver::{BuildMetadata, Prerelease, Version};

use capstan_model::version::LooseVersion;

/// Some versions: `>= 1.17.1 < 1.18.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRange {
    text: String,
    /// One of these holds; in each of them all comparisons.
    alternatives: Vec<Vec<VersionComparison>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct VersionComparison {
    operator: VersionOperator,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VersionOperator {
    Less,
    AtMost,
    Equal,
    Unequal,
    AtLeast,
    Greater,
}

/// A text that is not a range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a range of versions: write it like `>= 1.2.0 < 1.3.0`, `1.2.3` or `1.2.x`")]
pub struct NoRange {
    text: String,
}

impl VersionRange {
    /// Reads a range.
    ///
    /// # Errors
    /// The text is not a range.
    pub fn parse(text: &str) -> Result<Self, NoRange> {
        let no_range = || NoRange { text: text.to_owned() };
        let mut alternatives = Vec::new();
        for part in text.split("||") {
            let all = comparisons(part).filter(|all| !all.is_empty()).ok_or_else(no_range)?;
            // `!= 1.2.x` is two alternatives; each goes with every other comparison beside it.
            let mut combined = vec![Vec::new()];
            for choices in all {
                combined = combined
                    .iter()
                    .flat_map(|before: &Vec<VersionComparison>| {
                        choices.iter().map(|choice| [before.as_slice(), choice].concat())
                    })
                    .collect();
                if combined.len() > 64 {
                    return Err(no_range());
                }
            }
            alternatives.append(&mut combined);
        }
        Ok(Self { text: text.trim().to_owned(), alternatives })
    }

    /// Whether a version is in the range; `None` where that is unknown, because the version is not semver and does not
    /// compare with the range's.
    pub fn holds(&self, version: &str) -> Option<bool> {
        let bare = version.strip_prefix('v').unwrap_or(version);
        let semver = Version::parse(bare).ok();
        let compare = |other: &Version| match &semver {
            Some(version) => Some(version.cmp_precedence(other)),
            None => LooseVersion::new(bare).compare(&LooseVersion::new(&other.to_string())),
        };
        let mut unknown = false;
        for all in &self.alternatives {
            let each =
                all.iter().map(|comparison| Some(comparison.operator.accepts(compare(&comparison.version)?)));
            match each.collect::<Option<Vec<bool>>>() {
                Some(each) if each.iter().all(|holds| *holds) => return Some(true),
                Some(_) => {}
                None => unknown = true,
            }
        }
        (!unknown).then_some(false)
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl VersionOperator {
    fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Self::Less => ordering.is_lt(),
            Self::AtMost => ordering.is_le(),
            Self::Equal => ordering.is_eq(),
            Self::Unequal => ordering.is_ne(),
            Self::AtLeast => ordering.is_ge(),
            Self::Greater => ordering.is_gt(),
        }
    }
}

/// The comparisons of one alternative, each as the choices that meet it.
fn comparisons(text: &str) -> Option<Vec<Vec<Vec<VersionComparison>>>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let signs = rest.len() - rest.trim_start_matches(['<', '>', '=', '!']).len();
        let operator = match &rest[..signs] {
            "<" => VersionOperator::Less,
            "<=" => VersionOperator::AtMost,
            "" | "=" | "==" => VersionOperator::Equal,
            "!" | "!=" => VersionOperator::Unequal,
            ">=" => VersionOperator::AtLeast,
            ">" => VersionOperator::Greater,
            _ => return None,
        };
        let after = rest[signs..].trim_start();
        let end = after.find(|c: char| c.is_whitespace() || "<>=!".contains(c)).unwrap_or(after.len());
        let version = after[..end].strip_prefix('v').unwrap_or(&after[..end]);
        found.push(choices(operator, version)?);
        rest = after[end..].trim_start();
    }
    Some(found)
}

/// The choices that meet one comparison: with `x` for a patch or minor, comparisons with the ends of what the `x`
/// leaves open.
fn choices(operator: VersionOperator, version: &str) -> Option<Vec<Vec<VersionComparison>>> {
    let of = |operator, version| VersionComparison { operator, version };
    let Some((first, next)) = open_ended(version) else {
        return Some(vec![vec![of(operator, Version::parse(version).ok()?)]]);
    };
    Some(match operator {
        VersionOperator::Less => vec![vec![of(VersionOperator::Less, first)]],
        VersionOperator::AtMost => vec![vec![of(VersionOperator::Less, next)]],
        VersionOperator::Equal => {
            vec![vec![of(VersionOperator::AtLeast, first), of(VersionOperator::Less, next)]]
        }
        VersionOperator::Unequal => {
            vec![vec![of(VersionOperator::Less, first)], vec![of(VersionOperator::AtLeast, next)]]
        }
        VersionOperator::AtLeast => vec![vec![of(VersionOperator::AtLeast, first)]],
        VersionOperator::Greater => vec![vec![of(VersionOperator::AtLeast, next)]],
    })
}

/// The first version of `1.2.x` or `1.x`, and the first after it.
fn open_ended(version: &str) -> Option<(Version, Version)> {
    let is_open = |part: &str| matches!(part, "x" | "X" | "*");
    let parts: Vec<&str> = version.split('.').collect();
    let number = |text: &str| text.parse::<u64>().ok();
    let at = |major, minor| Version {
        major,
        minor,
        patch: 0,
        pre: Prerelease::EMPTY,
        build: BuildMetadata::EMPTY,
    };
    match parts.as_slice() {
        [major, minor] | [major, minor, _]
            if is_open(minor) && parts.get(2).is_none_or(|part| is_open(part)) =>
        {
            let major = number(major)?;
            Some((at(major, 0), at(major.checked_add(1)?, 0)))
        }
        [major, minor, patch] if is_open(patch) => {
            let (major, minor) = (number(major)?, number(minor)?);
            Some((at(major, minor), at(major, minor.checked_add(1)?)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_what_the_tool_that_reads_the_file_upstream_lets_through() {
        let cases = [
            (">= 1.17.1 < 1.18.0", "1.17.1", Some(true)),
            (">= 1.17.1 < 1.18.0", "1.18.0", Some(false)),
            (">=1.17.1<1.18.0", "v1.17.9", Some(true)),
            ("< 7.0.0", "6.9.9", Some(true)),
            ("< 7.0.0", "7.0.0-rc.1", Some(true)),
            (">= 1.34.3", "1.34.3-2", Some(false)),
            ("1.2.3", "1.2.3", Some(true)),
            ("v31.1.2", "31.1.2", Some(true)),
            ("v31.1.2", "31.1.3", Some(false)),
            ("= 1.2.3 || > 2.0.0 != 2.1.0", "2.1.0", Some(false)),
            ("= 1.2.3 || > 2.0.0 != 2.1.0", "2.1.1", Some(true)),
            ("1.2.x", "1.2.99", Some(true)),
            ("1.2.x", "1.3.0", Some(false)),
            ("> 1.2.x", "1.2.99", Some(false)),
            ("<= 1.2.x", "1.2.99", Some(true)),
            ("!1.x", "1.5.0", Some(false)),
            ("!1.x", "2.0.0", Some(true)),
            ("1.x.x", "1.5.0", Some(true)),
            ("< 4230.2.0", "4593.2", Some(false)),
            (">= 1.0.0", "latest", None),
        ];
        for (range, version, expected) in cases {
            assert_eq!(VersionRange::parse(range).unwrap().holds(version), expected, "{range} {version}");
        }
    }

    #[test]
    fn an_invalid_range_is_refused_with_an_example() {
        for text in ["", ">= ", "latest", "~1.2.0", ">= 34", "1.2.3 ||", "=> 1.0.0", ">= 1.0.0 <"] {
            assert!(VersionRange::parse(text).is_err(), "{text}");
        }
        assert_eq!(
            VersionRange::parse(">= 34").unwrap_err().to_string(),
            "`>= 34` is not a range of versions: write it like `>= 1.2.0 < 1.3.0`, `1.2.3` or `1.2.x`"
        );
    }
}
