//! Which clusters share a pull request.

use std::fmt;

use capstan_model::ids::ClusterId;
use capstan_model::target::GroupName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use capstan_model::glob::{Glob, InvalidGlob};

/// Which clusters share a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GroupSettings {
    /// A pattern over the beginnings of cluster ids: clusters in which it matches the same text share a pull request,
    /// as the group of that name. `*/` groups them by the first folder of their ids. A cluster that it does not match
    /// keeps its own.
    #[schemars(with = "String")]
    pub by: GroupPattern,
}

/// A pattern over the beginnings of cluster ids: `*/`, `customers/*/`, `*/prod-`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct GroupPattern {
    text: String,
    /// The same without a slash at its end, which a pattern over whole paths has not.
    glob: Glob,
}

impl GroupPattern {
    /// Reads one.
    ///
    /// # Errors
    /// It could match nothing, or does not end with a plain character: then nothing says where a group's name ends.
    pub fn parse(text: &str) -> Result<Self, InvalidGlob> {
        let refuse = |reason| Err(InvalidGlob { pattern: text.to_owned(), reason });
        let glob = match Glob::parse(text.strip_suffix('/').unwrap_or(text)) {
            Ok(glob) => glob,
            Err(error) => return refuse(error.reason),
        };
        if glob.is_exclusion() {
            return refuse("a group must be a pattern for the start of cluster ids, not an exclusion");
        }
        if text.ends_with(['*', '?', ']', '}']) {
            return refuse(
                "a group is a pattern for the start of cluster ids, so it must end with a plain character: `*/` groups clusters by their first folder",
            );
        }
        Ok(Self { text: text.to_owned(), glob })
    }

    /// The group of a cluster: the shortest beginning of its id that the pattern matches, without the slash at its end.
    /// `None` where none does, or nothing of the id is left.
    pub fn group_of(&self, cluster: &ClusterId) -> Option<GroupName> {
        let id = cluster.as_str();
        let ends = id.char_indices().map(|(at, _)| at).skip(1);
        let name = ends.map(|end| id.split_at(end)).find_map(|(begin, rest)| {
            // A slash at the end of the pattern needs one in the id.
            let is_whole = !self.text.ends_with('/') || rest.starts_with('/');
            (is_whole && self.glob.matches(begin)).then_some(begin)
        })?;
        GroupName::parse(name)
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl TryFrom<String> for GroupPattern {
    type Error = InvalidGlob;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl Serialize for GroupPattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl fmt::Display for GroupPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_model::tree::RepoPath;

    fn group(pattern: &str, cluster: &str) -> Option<String> {
        let cluster = ClusterId::new(RepoPath::parse(cluster).unwrap());
        GroupPattern::parse(pattern).unwrap().group_of(&cluster).map(|group| group.to_string())
    }

    #[test]
    fn clusters_whose_ids_begin_alike_are_in_one_group() {
        for (pattern, cluster, expected) in [
            ("*/", "gauss/peu01", Some("gauss")),
            ("*/", "gauss/peu02", Some("gauss")),
            ("*/", "euler/peu01", Some("euler")),
            ("*/", "gauss/eu/peu01", Some("gauss")),
            ("*/", "peu01", None),
            ("*/", "", None),
            ("*/*/", "gauss/eu/peu01", Some("gauss/eu")),
            ("*/*/", "gauss/peu01", None),
            ("customers/*/", "customers/gauss/peu01", Some("customers/gauss")),
            ("customers/*/", "internal/gauss/peu01", None),
            ("**/eu/", "a/b/eu/peu01", Some("a/b/eu")),
            ("gauss/", "gauss/peu01", Some("gauss")),
            ("gauss/", "gaussian/peu01", None),
            ("{gauss,euler}/", "euler/peu01", Some("euler")),
            ("*/prod-", "gauss/prod-peu01", Some("gauss/prod-")),
            ("*/prod-", "gauss/test-peu01", None),
            ("*-", "prod-eu-1", Some("prod-")),
            ("*-", "prod-", None),
            ("größ?-", "größe-1", Some("größe-")),
        ] {
            assert_eq!(group(pattern, cluster).as_deref(), expected, "{pattern} on {cluster:?}");
        }
    }

    #[test]
    fn what_groups_nothing_is_refused() {
        for (pattern, reason) in [
            ("", "it is empty"),
            ("/", "it is empty"),
            ("*", "must end with a plain character"),
            ("*/*", "must end with a plain character"),
            ("a/{b,c}", "must end with a plain character"),
            ("/a/", "neither begin nor end"),
            ("a//", "neither begin nor end"),
            ("../", "match nothing"),
            ("!a/", "not an exclusion"),
            ("[a/", "not closed"),
        ] {
            let error = GroupPattern::parse(pattern).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(&format!("`{pattern}`")), "{error}");
        }
    }
}
