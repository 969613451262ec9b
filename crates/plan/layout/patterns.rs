//! Patterns that fit some folders and no others.

use std::collections::{BTreeMap, BTreeSet};

use crate::settings::Glob;
use capstan_model::tree::RepoPath;

/// Patterns that fit all of `members` and none of `others`, as general as possible: `clusters/*` if each folder
/// there is a member. Shallow ones come first. Folders of one depth are compared part by part, so each folder is
/// compared once for each of its parts.
pub(crate) fn patterns(members: &BTreeSet<RepoPath>, others: &BTreeSet<RepoPath>) -> Vec<String> {
    let mut by_depth: BTreeMap<usize, (Folders<'_>, Folders<'_>)> = BTreeMap::new();
    for folder in members {
        by_depth.entry(folder.parts().count()).or_default().0.push(folder.parts().collect());
    }
    for folder in others {
        if let Some((_, others)) = by_depth.get_mut(&folder.parts().count()) {
            others.push(folder.parts().collect());
        }
    }
    let mut found = Vec::new();
    for (members, others) in by_depth.into_values() {
        narrow(&members, &others, 0, &mut found);
    }
    found
}

/// Folders of one depth, by their parts.
type Folders<'f> = Vec<Vec<&'f str>>;

/// `told_apart` is how many parts, from the first, members and others have in common: others that differ there are gone.
fn narrow(members: &[Vec<&str>], others: &[Vec<&str>], told_apart: usize, found: &mut Vec<String>) {
    let Some(first) = members.first() else { return };
    let varies = |at: &usize| members.iter().any(|member| member[*at] != first[*at]);
    let mut pattern: Vec<String> =
        (0..first.len()).map(|at| if varies(&at) { "*".to_owned() } else { literal(first[at]) }).collect();
    if let ([_], [_, .., last]) = (members, pattern.as_mut_slice())
        && told_apart < first.len()
    {
        // The only one is all that there are; the top of a repository holds too much else for that.
        "*".clone_into(last);
    }
    if fits_none(&pattern, others) {
        found.push(pattern.join("/"));
        return;
    }
    let Some(at) = (0..first.len()).find(varies) else {
        found.push(first.iter().map(|part| literal(part)).collect::<Vec<_>>().join("/"));
        return;
    };
    let mut groups: BTreeMap<&str, (Folders<'_>, Folders<'_>)> = BTreeMap::new();
    for member in members {
        groups.entry(member[at]).or_default().0.push(member.clone());
    }
    for other in others {
        if let Some((_, others)) = groups.get_mut(other[at]) {
            others.push(other.clone());
        }
    }
    for (members, others) in groups.into_values() {
        narrow(&members, &others, at + 1, found);
    }
}

/// The pattern that only this folder fits. A path never has a backslash of its own.
pub(crate) fn exact(folder: &RepoPath) -> String {
    let mut pattern = String::new();
    for letter in folder.as_str().chars() {
        if "*?[]{}!".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

/// A part of a path as a pattern. What means something in patterns becomes `?`, which any letter fits.
fn literal(part: &str) -> String {
    part.replace(['*', '?', '[', ']', '{', '}', '!'], "?")
}

fn fits_none(pattern: &[String], folders: &[Vec<&str>]) -> bool {
    let Ok(glob) = Glob::parse(&pattern.join("/")) else { return false };
    !folders.iter().any(|folder| glob.matches(&folder.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_as_general_as_the_other_folders_allow() {
        for (members, others, expected) in [
            (&["clusters/a", "clusters/b"][..], &["clusters", "apps/x"][..], &["clusters/*"][..]),
            (&["clusters/a", "clusters/b"], &["clusters/common"], &["clusters/a", "clusters/b"]),
            (&["clusters/a"], &["clusters"], &["clusters/*"]),
            (&["a"], &[], &["a"]),
            (&["a", "b"], &[], &["*"]),
            (&["eu/dev/a", "eu/prod/b", "us/prod/c"], &[], &["*/*/*"]),
            (&["eu/dev/a", "eu/prod/b", "us/prod/c"], &["us/dev/x"], &["eu/*/*", "us/prod/*"]),
            (&["a/x/mapi/cluster", "b/y/mapi/cluster"], &["a/x/mapi/apps"], &["*/*/mapi/cluster"]),
            (&["top", "clusters/a", "clusters/b"], &["apps"], &["top", "clusters/*"]),
            (&["odd/[a]", "odd/{b"], &["odd/c"], &["odd/?a?", "odd/?b"]),
        ] {
            let set = |paths: &[&str]| paths.iter().map(|path| RepoPath::parse(path).unwrap()).collect();
            assert_eq!(patterns(&set(members), &set(others)), expected, "{members:?} and not {others:?}");
        }
    }

    #[test]
    fn an_exact_pattern_fits_its_folder_alone() {
        for (folder, pattern, other) in [
            ("clusters/a", "clusters/a", "clusters/b"),
            ("odd/[a]", "odd/\\[a\\]", "odd/a"),
            ("!odd/{a,b}", "\\!odd/\\{a,b\\}", "!odd/a"),
            ("odd/a*", "odd/a\\*", "odd/ab"),
            ("odd/a?", "odd/a\\?", "odd/ab"),
        ] {
            assert_eq!(exact(&RepoPath::parse(folder).unwrap()), pattern);
            let glob = Glob::parse(pattern).unwrap();
            assert!(glob.matches(folder) && !glob.matches(other), "{pattern}");
        }
    }
}
