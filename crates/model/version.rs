//! How versions compare: releases as semver, Kubernetes by its minors, components loosely.
//!
//! Three types because three rules hold (U14, in `capstan_plan::path`): a [`ReleaseVersion`] has a total order, a
//! [`KubernetesVersion`] may lack its patch, and a [`LooseVersion`] is whatever a component calls
//! itself. What cannot be compared is `None`, which is "unknown", never "older".

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A release's version: semver, with or without a leading `v`; ordered as semver orders.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReleaseVersion(semver::Version);

impl ReleaseVersion {
    /// Reads `v21.0.0`, `21.0.0` or `v1.2.3-gs1`; `None` for anything else (a folder of that name is not a
    /// release).
    pub fn parse(text: &str) -> Option<Self> {
        semver::Version::parse(text.strip_prefix('v').unwrap_or(text)).ok().map(Self)
    }

    /// The first number.
    pub const fn major(&self) -> u64 {
        self.0.major
    }

    /// The second number.
    pub const fn minor(&self) -> u64 {
        self.0.minor
    }

    /// The third number.
    pub const fn patch(&self) -> u64 {
        self.0.patch
    }

    /// Whether semver calls it a pre-release: `15.0.0-beta1`.
    pub fn is_prerelease(&self) -> bool {
        !self.0.pre.is_empty()
    }
}

impl fmt::Display for ReleaseVersion {
    /// Without the `v`: `21.0.0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A minor of Kubernetes: `1.30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesMinor {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
}

/// The first 64 characters of a value that a message repeats.
pub fn beginning(value: &str) -> String {
    value.chars().take(64).collect()
}

impl KubernetesMinor {
    /// The minor after this one: the furthest that one upgrade may go.
    #[must_use]
    pub const fn next(self) -> Self {
        Self { major: self.major, minor: self.minor + 1 }
    }

    /// Whether going from here to `to` leaves a minor out.
    pub fn skips(self, to: Self) -> bool {
        to > self.next()
    }
}

impl fmt::Display for KubernetesMinor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A version of Kubernetes as manifests write it: `v1.30.2`, `1.30.2`, `v1.30.2+rke2r1`, or for
/// managed control planes `1.30`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KubernetesVersion {
    text: String,
    minor: KubernetesMinor,
    patch: Option<u64>,
}

/// The longest text that is read as a version, in bytes: messages repeat it.
const LONGEST_VERSION: usize = 256;

impl KubernetesVersion {
    /// Reads a version; `None` for any other text (a variable, for example), and for one of more than 256 bytes.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST_VERSION {
            return None;
        }
        let bare = text.strip_prefix('v').unwrap_or(text);
        let core = bare.split(['-', '+']).next().unwrap_or(bare);
        let mut numbers = core.split('.').map(number);
        let (major, minor) = (numbers.next()??, numbers.next()??);
        let patch = match numbers.next() {
            None => None,
            Some(patch) => Some(patch?),
        };
        if numbers.next().is_some() || bare.len() > core.len() && patch.is_none() {
            return None;
        }
        Some(Self { text: text.to_owned(), minor: KubernetesMinor { major, minor }, patch })
    }

    pub const fn minor(&self) -> KubernetesMinor {
        self.minor
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// A number that grows with major, minor and patch, for lists: versions that differ in their suffix share it.
    pub fn rank(&self) -> u64 {
        let number = |part: u64| part.min(99_999);
        number(self.minor.major) * 10_000_000_000
            + number(self.minor.minor) * 100_000
            + number(self.patch.unwrap_or_default())
    }

    /// Whether this one is older or newer; `None` where that is unknown (`1.30` and `1.30.2`).
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match self.minor.cmp(&other.minor) {
            Ordering::Equal if self.patch.is_some() != other.patch.is_some() => None,
            Ordering::Equal => LooseVersion::new(&self.text).compare(&LooseVersion::new(&other.text)),
            unequal => Some(unequal),
        }
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for KubernetesVersion {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or_else(|| format!("`{}` is not a version of Kubernetes", beginning(&text)))
    }
}

impl From<KubernetesVersion> for String {
    fn from(version: KubernetesVersion) -> Self {
        version.text
    }
}

/// A component's version, whatever its maker calls it: `1.27.3-gs9`, `4593.2.4`, `v3.5.12-0`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct LooseVersion(String);

/// What a suffix says about the version before it.
#[derive(Debug, PartialEq, Eq)]
enum Suffix<'a> {
    /// `rc.1`, `beta2`: comes before it.
    Before(&'a str),
    /// `gs9`, `0`, `rke2r1`: a rebuild, comes after it.
    After(&'a str),
    /// A build id: says nothing.
    Opaque(&'a str),
}

impl LooseVersion {
    /// Keeps the text; every text is a version of something.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this one is older or newer; `None` where that is unknown.
    ///
    /// Numbers decide first (a missing one is 0); then a pre-release word makes a version older than
    /// the bare one and any other tag, such as `gs9` or `-2`, newer; equal tags compare by number.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        if self.0 == other.0 {
            return Some(Ordering::Equal);
        }
        let ((left, left_tag), (right, right_tag)) = (self.split()?, other.split()?);
        let length = left.len().max(right.len());
        let padded =
            |numbers: &[u64]| (0..length).map(|i| numbers.get(i).copied().unwrap_or(0)).collect::<Vec<_>>();
        match padded(&left).cmp(&padded(&right)) {
            Ordering::Equal => compare_suffixes(left_tag.as_ref(), right_tag.as_ref()),
            unequal => Some(unequal),
        }
    }

    fn split(&self) -> Option<(Vec<u64>, Option<Suffix<'_>>)> {
        let bare = self.0.strip_prefix(['v', 'V']).unwrap_or(&self.0);
        let (core, tag) = match bare.find(['-', '+', '_']) {
            Some(at) => (&bare[..at], Some(&bare[at + 1..])),
            None => (bare, None),
        };
        let numbers = core.split('.').map(number).collect::<Option<Vec<_>>>()?;
        Some((numbers, tag.map(suffix)))
    }
}

impl fmt::Display for LooseVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn number(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn suffix(tag: &str) -> Suffix<'_> {
    const PRERELEASE: [&str; 8] = ["alpha", "beta", "rc", "pre", "preview", "dev", "snapshot", "canary"];
    let letters: String = tag.chars().take_while(char::is_ascii_alphabetic).collect();
    let is_hash = tag.len() >= 7
        && tag.bytes().all(|byte| byte.is_ascii_hexdigit())
        && tag.bytes().any(|byte| byte.is_ascii_alphabetic());
    if PRERELEASE.contains(&letters.to_ascii_lowercase().as_str()) {
        Suffix::Before(tag)
    } else if is_hash || tag.is_empty() || letters.len() > 4 {
        Suffix::Opaque(tag)
    } else {
        Suffix::After(tag)
    }
}

fn compare_suffixes(left: Option<&Suffix<'_>>, right: Option<&Suffix<'_>>) -> Option<Ordering> {
    use Suffix::{After, Before, Opaque};
    match (left, right) {
        (None, None) => Some(Ordering::Equal),
        (Some(Opaque(left)), Some(Opaque(right))) if left == right => Some(Ordering::Equal),
        (Some(Opaque(_)), _) | (_, Some(Opaque(_))) => None,
        (Some(Before(left)), Some(Before(right))) | (Some(After(left)), Some(After(right))) => {
            compare_tags(left, right)
        }
        (Some(Before(_)), _) | (None, Some(After(_))) => Some(Ordering::Less),
        (Some(After(_)), _) | (None, Some(Before(_))) => Some(Ordering::Greater),
    }
}

/// `gs9` and `gs10`, `rc.1` and `rc.2`, `alpha.1` and `beta.1`; words of makers have no order.
fn compare_tags(left: &str, right: &str) -> Option<Ordering> {
    let (left, right) = (runs(left), runs(right));
    for (a, b) in left.iter().zip(&right) {
        let order = match (number(a), number(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            (None, None) if a == b => Ordering::Equal,
            (None, None) => match (stage(a), stage(b)) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => return None,
            },
            _ => return None,
        };
        if order.is_ne() {
            return Some(order);
        }
    }
    Some(left.len().cmp(&right.len()))
}

fn stage(word: &str) -> Option<u8> {
    match word.to_ascii_lowercase().as_str() {
        "alpha" => Some(0),
        "beta" => Some(1),
        "rc" => Some(2),
        _ => None,
    }
}

/// `rke2r1` -> `rke`, `2`, `r`, `1`.
fn runs(tag: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for part in tag.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()) {
        let mut start = 0;
        let bytes = part.as_bytes();
        for at in 1..bytes.len() {
            if bytes[at].is_ascii_digit() != bytes[at - 1].is_ascii_digit() {
                found.push(&part[start..at]);
                start = at;
            }
        }
        found.push(&part[start..]);
    }
    found
}

/// Whether a text names a version, which has no `v`: `ubuntu-1.29.0` names 1.29.0; `1.29.04` and the network
/// `10.1.29.0/24` do not.
pub fn names_version(text: &str, version: &str) -> bool {
    text.match_indices(version).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + version.len()..].chars().next();
        !before.is_some_and(|c| c.is_ascii_digit() || c == '.') && !after.is_some_and(|c| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{Equal, Greater, Less};

    #[test]
    fn component_versions_compare_loosely_and_say_when_they_cannot() {
        let cases = [
            ("1.27.3-gs9", "1.27.3", Some(Greater)),
            ("1.27.3-gs9", "1.27.3-gs10", Some(Less)),
            ("1.27.3-gs9", "1.27.4", Some(Less)),
            ("1.34.3-2", "1.34.3", Some(Greater)),
            ("1.34.3-2", "1.34.3-10", Some(Less)),
            ("4593.2.4", "4459.2.1", Some(Greater)),
            ("v1.2", "1.2.0", Some(Equal)),
            ("1.2.3", "v1.2.3", Some(Equal)),
            ("1.2.3-rc.1", "1.2.3", Some(Less)),
            ("1.2.3-rc.1", "1.2.3-gs1", Some(Less)),
            ("1.2.3-beta.2", "1.2.3-rc.1", Some(Less)),
            ("1.2.3-rc.2", "1.2.3-rc.10", Some(Less)),
            ("1.2.3-rc", "1.2.3-rc.1", Some(Less)),
            ("v1.30.2+rke2r1", "v1.30.2+rke2r2", Some(Less)),
            ("1.2.3-gs1", "1.2.3-abc1", None),
            ("1.2.3-abc8675309", "1.2.3", None),
            ("1.2.3-abc8675309", "1.2.4", Some(Less)),
            ("jammy", "focal", None),
            ("jammy", "jammy", Some(Equal)),
            ("${V}", "1.2.3", None),
            ("99999999999999999999999.0.0", "1.0.0", None),
        ];
        for (left, right, expected) in cases {
            let (a, b) = (LooseVersion::new(left), LooseVersion::new(right));
            assert_eq!(a.compare(&b), expected, "{left} against {right}");
            assert_eq!(b.compare(&a), expected.map(Ordering::reverse), "{right} against {left}");
        }
    }

    #[test]
    fn releases_compare_as_semver_and_numerically() {
        let mut versions: Vec<_> =
            ["v10.0.0", "9.0.0", "v15.0.0", "v15.0.0-beta1", "v1.2.3-gs1", "v9.10.0", "v9.9.0"]
                .iter()
                .filter_map(|text| ReleaseVersion::parse(text))
                .collect();
        versions.sort();
        let written: Vec<_> = versions.iter().map(ToString::to_string).collect();
        assert_eq!(written, ["1.2.3-gs1", "9.0.0", "9.9.0", "9.10.0", "10.0.0", "15.0.0-beta1", "15.0.0"]);
        for no_version in ["v21", "v21.0", "base", "vv1.0.0", "1.0.0.0", "v01.0.0", ""] {
            assert_eq!(ReleaseVersion::parse(no_version), None, "{no_version}");
        }
    }

    #[test]
    fn kubernetes_versions_are_read_as_manifests_write_them() {
        // 256 bytes, and one more.
        let (longest, too_long) =
            (format!("v1.30.2+{}", "a".repeat(248)), format!("v1.30.2+{}", "a".repeat(249)));
        let cases = [
            ("v1.30.2", Some("1.30")),
            ("1.30.2", Some("1.30")),
            ("v1.30", Some("1.30")),
            ("v1.30.2+rke2r1", Some("1.30")),
            ("v1.30.2-gs1", Some("1.30")),
            (&longest, Some("1.30")),
            (&too_long, None),
            ("v1", None),
            ("${KUBERNETES_VERSION}", None),
            ("1.30.2.1", None),
            ("1.30-x", None),
            ("latest", None),
            ("", None),
        ];
        for (text, minor) in cases {
            let read = KubernetesVersion::parse(text).map(|version| version.minor().to_string());
            assert_eq!(read.as_deref(), minor, "{text}");
        }
    }

    #[test]
    fn kubernetes_versions_compare_where_both_say_enough() {
        let cases = [
            ("v1.30.2", "1.30.10", Some(Less)),
            ("v1.30.2", "1.30.2", Some(Equal)),
            ("v1.9.0", "v1.30.0", Some(Less)),
            ("1.30", "1.30.2", None),
            ("1.30", "1.31.2", Some(Less)),
        ];
        for (left, right, expected) in cases {
            let compared =
                KubernetesVersion::parse(left).unwrap().compare(&KubernetesVersion::parse(right).unwrap());
            assert_eq!(compared, expected, "{left} against {right}");
        }
    }

    #[test]
    fn a_minor_is_skipped_only_when_another_is_between() {
        let minor = |minor| KubernetesMinor { major: 1, minor };
        assert!(!minor(29).skips(minor(29)));
        assert!(!minor(29).skips(minor(30)));
        assert!(minor(29).skips(minor(31)));
        assert!(!minor(29).skips(minor(28)), "backwards is a downgrade, not a skip");
    }
}
