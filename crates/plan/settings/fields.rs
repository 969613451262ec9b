//! Values that settings files share, each parsed once into a type that cannot be wrong.

use std::fmt;

use serde::{Deserialize, Serialize};

pub use capstan_model::track::Track;
use capstan_model::tree::RepoPath;
use capstan_model::wording::is_of_no_line;

macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident, $check:expr, $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks and keeps the text; the error says what it should look like.
            pub fn parse(text: &str) -> Result<Self, String> {
                let check: fn(&str) -> bool = $check;
                if check(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(format!(concat!("`{}` is not ", $expected), text))
                }
            }

            /// As it was written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(&text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

pub(super) use text_type;

text_type!(
    /// A repository on GitHub: `acme/releases`.
    RepositoryName,
    |text| {
        let part = |part: &str| {
            !part.is_empty()
                && !matches!(part, "." | "..")
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        };
        text.split_once('/').is_some_and(|(owner, name)| part(owner) && part(name))
    },
    "a repository (owner/name)"
);

text_type!(
    /// UID of a management cluster's `kube-system` namespace.
    ManagementClusterUid,
    |text| {
        let groups: Vec<&str> = text.split('-').collect();
        groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
            && groups.iter().all(|group| group.bytes().all(|b| b.is_ascii_hexdigit()))
    },
    "the UID of a namespace (`kubectl get namespace kube-system -o jsonpath={{.metadata.uid}}`)"
);

impl ManagementClusterUid {
    /// Whether a text is this UID: UIDs are hexadecimal, their case means nothing.
    pub fn is(&self, uid: &str) -> bool {
        self.0.eq_ignore_ascii_case(uid)
    }
}

text_type!(
    /// A label of an issue or pull request, as long as GitHub takes it.
    LabelName,
    |text| text.trim() == text && (1..=50).contains(&text.chars().count()) && !text.chars().any(is_of_no_line),
    "the name of a label (1 to 50 characters on one line, no blank at its ends)"
);

/// Logins and team names: wider than GitHub's rule for new ones, since older and managed ones differ.
fn is_name(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && !matches!(text, "." | "..")
}

text_type!(
    /// Somebody's login on GitHub.
    GitHubLogin,
    is_name,
    "a login (`ada`, without `@`)"
);

text_type!(
    /// Whose review can be asked for: somebody's login, or `organisation/team`.
    Reviewer,
    |text| text.split_once('/').map_or_else(|| is_name(text), |(owner, team)| is_name(owner) && is_name(team)),
    "a reviewer (a login such as `ada` or a team such as `acme/platform`, without `@`)"
);

text_type!(
    /// A host, and its port where that is not the scheme's own: `registry.example.com:5000`.
    HostName,
    |text| {
        let (name, port) = text.rsplit_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        name.len() <= 253
            && name.split('.').all(is_label)
            && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
    },
    "a host (`registry.example.com` or `registry.example.com:5000`, without scheme or path)"
);

text_type!(
    /// What a slash-command begins with: `/capstan`.
    CommandPrefix,
    |text| {
        text.strip_prefix('/').is_some_and(|word| {
            !word.is_empty()
                && word.len() <= 40
                && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        })
    },
    "a command prefix (`/` and then letters, digits, `-` or `_`)"
);

impl Default for CommandPrefix {
    fn default() -> Self {
        Self("/capstan".to_owned())
    }
}

/// A folder inside a cluster's folder; `.` is the cluster's folder itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct FolderName(RepoPath);

impl FolderName {
    /// A default; plain names only.
    pub(super) fn named(name: &'static str) -> Self {
        Self(RepoPath::parse(name).unwrap_or_default())
    }

    /// Reads `base` or `.`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "." {
            return Ok(Self(RepoPath::root()));
        }
        match RepoPath::parse(text) {
            Ok(path) if !path.is_root() => Ok(Self(path)),
            _ => Err(format!("`{text}` is not a folder inside a cluster's folder (a name, or `.`)")),
        }
    }

    /// Whether files lie directly in the cluster's folder.
    pub fn is_here(&self) -> bool {
        self.0.is_root()
    }

    /// The folder of that name in `cluster`.
    pub fn inside(&self, cluster: &RepoPath) -> RepoPath {
        cluster.join(self.0.as_str()).unwrap_or_else(|_| cluster.clone())
    }

    /// The path below the cluster's folder; the root for `.`.
    pub const fn path(&self) -> &RepoPath {
        &self.0
    }
}

impl Serialize for FolderName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl TryFrom<String> for FolderName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl fmt::Display for FolderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_here() { "." } else { self.0.as_str() })
    }
}

/// A folder of the repository, by its path from the root; never the root itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct FolderPath(RepoPath);

impl FolderPath {
    /// Reads `mc-eu/providers`; a slash at the end does not count.
    pub fn parse(text: &str) -> Result<Self, String> {
        match RepoPath::parse(text.strip_suffix('/').unwrap_or(text)) {
            Ok(path) if !path.is_root() && path.as_str() != "." => Ok(Self(path)),
            _ => Err(format!("`{text}` is not a folder of the repository (`mc-eu/providers`)")),
        }
    }

    pub const fn path(&self) -> &RepoPath {
        &self.0
    }
}

impl Serialize for FolderPath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl TryFrom<String> for FolderPath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl fmt::Display for FolderPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
