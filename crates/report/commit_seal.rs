//! The seal of a commit: proof that Capstan wrote it.
//!
//! Anybody can copy trailers, and anybody who changes a commit can compute a digest of its changes. The seal
//! is a code under Capstan's key over everything that must not differ: repository, branch, parent, tree and
//! trailers. So it is valid for one commit at one place.

use capstan_model::tree::{CommitId, TreeId};
use capstan_plan::proposal::{TRAILER_PLAN, TRAILER_SEAL, TRAILER_SOURCE, trailer_value};

use crate::BlockKey;
use crate::block::equal;

/// A commit of Capstan's, as its seal identifies it.
#[derive(Debug, Clone, Copy)]
pub struct SealedCommit<'c> {
    /// GitHub's id of the repository.
    pub repository: u64,
    /// The branch that it is written for, without `refs/heads/`.
    pub branch: &'c str,
    pub parent: &'c CommitId,
    /// Its content.
    pub tree: &'c TreeId,
    /// The value of its trailer `Capstan-Source`.
    pub source: &'c str,
    /// The value of its trailer `Capstan-Plan`.
    pub plan: &'c str,
}

impl SealedCommit<'_> {
    /// Whether a seal belongs to this commit.
    pub fn has_seal(&self, key: &BlockKey, seal: &str) -> bool {
        let own: Vec<String> = key.codes(self.payload().as_bytes()).collect();
        seal.split(' ').any(|code| own.iter().any(|own| equal(code.as_bytes(), own.as_bytes())))
    }

    /// The value of the trailer: a code for each key.
    fn seal(&self, key: &BlockKey) -> String {
        key.codes(self.payload().as_bytes()).collect::<Vec<_>>().join(" ")
    }

    /// The text that is authenticated. A folded block begins with a brace, so a code of one is never a code
    /// of the other. No value holds a line break: ids are hexadecimal, Git allows none in a branch, and a
    /// trailer is one line.
    fn payload(&self) -> String {
        let Self { repository, branch, parent, tree, source, plan } = self;
        format!("capstan commit v1\n{repository}\n{branch}\n{parent}\n{tree}\n{source}\n{plan}\n")
    }
}

/// A commit's message, with the seal below its other trailers. A message without trailers does not change.
pub fn sealed_message(
    message: String,
    (repository, branch): (u64, &str),
    (parent, tree): (&CommitId, &TreeId),
    key: &BlockKey,
) -> String {
    let value = |trailer| trailer_value(&message, trailer);
    let (Some(source), Some(plan)) = (value(TRAILER_SOURCE), value(TRAILER_PLAN)) else { return message };
    let seal = SealedCommit { repository, branch, parent, tree, source, plan }.seal(key);
    format!("{}\n{TRAILER_SEAL}: {seal}\n", message.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id<T, E: std::fmt::Debug>(digit: char, parse: impl Fn(&str) -> Result<T, E>) -> T {
        parse(&digit.to_string().repeat(40)).unwrap()
    }

    #[test]
    fn a_seal_is_good_for_one_commit_at_one_place() {
        let key = BlockKey::derive(b"a").and(b"b");
        let (parent, tree) = (id('1', CommitId::parse), id('2', TreeId::parse));
        let (other, elsewhere) = (id('3', CommitId::parse), id('4', TreeId::parse));
        let message = "Upgrade\n\nWhy.\n\nCapstan-Source: aws/v2.0.0@-\nCapstan-Plan: 12\n".to_owned();
        let sealed = sealed_message(message.clone(), (7, "capstan/upgrade/a"), (&parent, &tree), &key);
        assert!(sealed.starts_with(message.trim_end()), "{sealed}");
        let seal = trailer_value(&sealed, TRAILER_SEAL).unwrap();
        assert_eq!(seal.split(' ').count(), 2, "a code for each key");
        let own = SealedCommit {
            repository: 7,
            branch: "capstan/upgrade/a",
            parent: &parent,
            tree: &tree,
            source: "aws/v2.0.0@-",
            plan: "12",
        };
        assert!(own.has_seal(&key, seal));
        assert!(own.has_seal(&BlockKey::derive(b"b"), seal), "a key that was replaced");
        assert!(!own.has_seal(&BlockKey::derive(b"c"), seal));
        for another in [
            SealedCommit { repository: 8, ..own },
            SealedCommit { branch: "capstan/upgrade/b", ..own },
            SealedCommit { parent: &other, ..own },
            SealedCommit { tree: &elsewhere, ..own },
            SealedCommit { source: "aws/v1.0.0@-", ..own },
            SealedCommit { plan: "13", ..own },
        ] {
            assert!(!another.has_seal(&key, seal), "{another:?}");
        }
        for forged in ["", " ", "12", "00"] {
            assert!(!own.has_seal(&key, forged), "{forged:?}");
        }
    }

    #[test]
    fn a_message_without_trailers_has_no_seal() {
        let (parent, tree) = (id('1', CommitId::parse), id('2', TreeId::parse));
        let sealed =
            sealed_message("Words\n".to_owned(), (7, "b"), (&parent, &tree), &BlockKey::derive(b"a"));
        assert_eq!(sealed, "Words\n");
    }
}
