//! Paths from a folder to files outside of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::RepoPath;

/// A path from a folder to a file outside of it: `../parts/pool.yaml`. It climbs first, at least one folder and
/// at most 64, and then goes down; it may be at most 4,096 bytes long.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OutsidePath(String);

impl OutsidePath {
    const DEEPEST: usize = 64;
    const LONGEST: usize = 4096;

    /// Checks and keeps a path.
    pub fn parse(text: &str) -> Result<Self, InvalidOutsidePath> {
        let below = text.trim_start_matches("../");
        let depth = (text.len() - below.len()) / 3;
        let is_bounded = (1..=Self::DEEPEST).contains(&depth) && text.len() <= Self::LONGEST;
        if !is_bounded || below.is_empty() || RepoPath::parse(below).is_err() {
            return Err(InvalidOutsidePath(text.chars().take(200).collect()));
        }
        Ok(Self(text.to_owned()))
    }

    /// The path from `folder` to `path`; `None` where that is in the folder.
    pub fn between(folder: &RepoPath, path: &RepoPath) -> Option<Self> {
        let (from, to): (Vec<&str>, Vec<&str>) = (folder.parts().collect(), path.parts().collect());
        let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
        let text = format!("{}{}", "../".repeat(from.len() - shared), to[shared..].join("/"));
        Self::parse(&text).ok()
    }

    /// How many folders it climbs.
    pub fn depth(&self) -> usize {
        (self.0.len() - self.0.trim_start_matches("../").len()) / 3
    }

    /// Where it leads from a folder; `None` where it would leave the repository.
    pub fn from(&self, folder: &RepoPath) -> Option<RepoPath> {
        folder.join(&self.0).ok()
    }
}

/// A text that is not a path to a file outside of a folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a path from a release's folder to a file outside of it (`../parts/pool.yaml`)")]
pub struct InvalidOutsidePath(pub String);

impl TryFrom<String> for OutsidePath {
    type Error = InvalidOutsidePath;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<OutsidePath> for String {
    fn from(path: OutsidePath) -> Self {
        path.0
    }
}

impl fmt::Display for OutsidePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    #[test]
    fn leads_from_a_folder_to_a_file_and_back() {
        let cases = [
            ("aws/v21.0.0", "aws/parts/pool.yaml", "../parts/pool.yaml"),
            ("aws/v21.0.0", "parts/pool.yaml", "../../parts/pool.yaml"),
            ("aws/v21.0.0", "aws/v20.0.0/base/pool.yaml", "../v20.0.0/base/pool.yaml"),
            ("aws/v21.0.0", "pool.yaml", "../../pool.yaml"),
        ];
        for (folder, file, between) in cases {
            let found = OutsidePath::between(&path(folder), &path(file)).unwrap();
            assert_eq!(found.to_string(), between);
            assert_eq!(found.from(&path(folder)), Some(path(file)));
        }
        assert_eq!(OutsidePath::between(&path("aws"), &path("aws/pool.yaml")), None);
    }

    #[test]
    fn any_other_path_is_refused() {
        let deep = format!("{}pool.yaml", "../".repeat(65));
        let long = format!("../{}", "p".repeat(4096));
        for text in
            ["", "..", "../", "pool.yaml", "/pool.yaml", "../a/../b", ".././a", "../a//b", &deep, &long]
        {
            assert!(OutsidePath::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn never_leaves_the_repository() {
        let two = OutsidePath::parse("../../pool.yaml").unwrap();
        assert_eq!((two.depth(), two.from(&path("aws"))), (2, None));
    }
}
