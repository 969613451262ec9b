//! Sources of change as values: what kind of thing brings change, which one of them, and with which content.
//!
//! A [`SourceId`] is written as people and machines read it everywhere: in trailers, folded blocks, tables and
//! texts.
//!
//! | kind | written |
//! |---|---|
//! | `release`, Giant Swarm's included | its path alone: `aws/v22.0.0` |
//! | any other | `<kind>://<path>`: `values://gauss/peu01.yaml` |
//!
//! No release is written like the second: the parts of its path are never empty.
//!
//! Deliberately absent: what a source holds (`capstan_plan::upgrade::ChangeSource`), and the proposals that carry it
//! (`capstan_plan::proposal`).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::tree::{BlobId, RepoPath, TreeId};

/// The separator between the kind and the path of a source or target that is not of the default kind.
pub const SCHEME_END: &str = "://";

/// A kind of source. Texts use its name as a noun: "The release itself has changed".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceKind(Cow<'static, str>);

impl SourceKind {
    /// Releases, those of Giant Swarm included.
    pub const RELEASE: Self = Self(Cow::Borrowed("release"));

    /// The inventory: other values under the release that a cluster has, which is what such a source is named by.
    pub const INVENTORY: Self = Self(Cow::Borrowed("inventory"));

    /// Newer API versions of the objects that a target has.
    pub const MIGRATION: Self = Self(Cow::Borrowed("migration"));

    /// So many bytes are a name at most.
    const LONGEST: usize = 32;

    /// The kind of that name: lower-case letters and digits, in words with single hyphens between them, a letter
    /// first. `None` for anything else, and for `upgrade`, `providers` and `migrate`, which is how branches call releases
    /// of clusters and of provider sets, and migrations.
    pub fn parse(name: &str) -> Option<Self> {
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        let is_name = name.len() <= Self::LONGEST
            && name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.split('-').all(is_word)
            && !["upgrade", "providers", "migrate"].contains(&name);
        is_name.then(|| Self(Cow::Owned(name.to_owned())))
    }

    /// `release`
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which source: its kind, and its path among those of that kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceId {
    kind: SourceKind,
    path: Arc<str>,
}

impl SourceId {
    /// The source of that kind at that path; empty parts of the path do not count, nor does [`ARCHIVED`] in a
    /// release's.
    pub fn new(kind: SourceKind, path: &str) -> Self {
        let path = if kind == SourceKind::RELEASE { release_path(path) } else { joined(parts(path)) };
        Self { kind, path }
    }

    /// Reads what [`fmt::Display`] writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let source = match text.split_once(SCHEME_END) {
            Some((kind, path)) => {
                let kind = SourceKind::parse(kind).filter(|kind| *kind != SourceKind::RELEASE)?;
                Self::new(kind, path)
            }
            None => Self::new(SourceKind::RELEASE, text),
        };
        (!source.path.is_empty()).then_some(source)
    }

    /// What kind of source it is.
    pub const fn kind(&self) -> &SourceKind {
        &self.kind
    }

    /// Its path among those of its kind: `aws/v22.0.0`.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// The folder of releases that are in use no more, in any place of their path: no part of their names.
pub const ARCHIVED: &str = "archived";

/// Whether a file or folder is below such a folder, or is one.
pub fn is_archived(path: &RepoPath) -> bool {
    path.parts().any(|part| part == ARCHIVED)
}

/// A release's path, or a part of it, as it is a name: empty parts do not count, nor does [`ARCHIVED`].
pub(crate) fn release_path(path: &str) -> Arc<str> {
    joined(parts(path).filter(|part| *part != ARCHIVED))
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

fn joined<'p>(parts: impl Iterator<Item = &'p str>) -> Arc<str> {
    parts.collect::<Vec<_>>().join("/").into()
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind != SourceKind::RELEASE {
            write!(f, "{}{SCHEME_END}", self.kind)?;
        }
        f.write_str(&self.path)
    }
}

/// What tells one content of a source from any other: a Git id, and where more than one tree or file counts, `+` and
/// 16 hex digits that tell the rest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceContent(Arc<str>);

impl SourceContent {
    /// Reads what [`fmt::Display`] writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, rest) = text.split_once('+').map_or((text, None), |(id, rest)| (id, Some(rest)));
        let is_digest = |rest: &str| rest.len() == 16 && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_one = TreeId::parse(id).is_ok() && rest.is_none_or(is_digest);
        is_one.then(|| Self(text.into()))
    }

    /// The content of a release's folder under these values, of which the digest is known: that takes the place of what
    /// else counts beside the folder.
    #[must_use]
    pub fn with_values(&self, digest: &str) -> Self {
        let (id, _) = self.0.split_once('+').unwrap_or((&self.0, ""));
        let digest: String = digest.chars().take(16).collect();
        Self(format!("{id}+{digest}").into())
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SourceContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&TreeId> for SourceContent {
    /// The content of a source that is one folder.
    fn from(tree: &TreeId) -> Self {
        Self(tree.as_str().into())
    }
}

impl From<&BlobId> for SourceContent {
    /// The content of a source that is one file.
    fn from(blob: &BlobId) -> Self {
        Self(blob.as_str().into())
    }
}

/// Goes between processes as it is written.
macro_rules! as_written {
    ($($name:ident, $what:literal;)*) => {$(
        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(&text).ok_or_else(|| format!("`{text}` is not a {}", $what))
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    )*};
}

as_written! {
    SourceKind, "kind of source";
    SourceId, "source";
    SourceContent, "content of a source";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_its_path_and_any_other_source_says_its_kind() {
        let values = SourceKind::parse("values").unwrap();
        for (kind, path, written) in [
            (SourceKind::RELEASE, "aws/v22.0.0", "aws/v22.0.0"),
            (SourceKind::RELEASE, "capa/archived//v1.0.0", "capa/v1.0.0"),
            (SourceKind::RELEASE, "values:/v1.0.0", "values:/v1.0.0"),
            (values.clone(), "gauss/peu01.yaml", "values://gauss/peu01.yaml"),
            (values, "archived/a b.yaml", "values://archived/a b.yaml"),
        ] {
            let source = SourceId::new(kind, path);
            assert_eq!(source.to_string(), written);
            assert_eq!(SourceId::parse(written), Some(source));
        }
    }

    #[test]
    fn a_text_without_a_source_is_refused() {
        for text in ["", "/", "archived", "values://", "release://aws/v1.0.0", "Values://a", "upgrade://a"] {
            assert_eq!(SourceId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_kind_is_a_plain_word_or_several() {
        for name in ["release", "values", "provider-set", "v2"] {
            assert_eq!(SourceKind::parse(name).unwrap().as_str(), name);
        }
        for name in [
            "",
            "upgrade",
            "providers",
            "migrate",
            "Values",
            "2v",
            "a--b",
            "a-",
            "a/b",
            "a.b",
            "größe",
            &"a".repeat(33),
        ] {
            assert_eq!(SourceKind::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_content_is_a_git_id_and_what_else_counts() {
        let id = "9d1f".repeat(10);
        for text in [id.clone(), format!("{id}+0a1b2c3d4e5f6071")] {
            assert_eq!(SourceContent::parse(&text).unwrap().as_str(), text);
        }
        for text in ["", "nonsense", &format!("{id}+"), &format!("{id}+12")] {
            assert_eq!(SourceContent::parse(text), None, "{text}");
        }
    }
}
