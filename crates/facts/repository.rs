//! Repositories and heads of their branches.

use capstan_model::tree::CommitId;

use super::RepositoryName;

/// A repository that an installation may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// GitHub's id: survives a rename, and is the key of all records.
    pub id: u64,
    /// The installation that gives access.
    pub installation: u64,
    /// Its present name.
    pub name: RepositoryName,
    /// The branch that proposals aim at.
    pub default_branch: String,
    /// Archived repositories are read-only.
    pub archived: bool,
    /// A fork of another repository, which is asked where there is something to ask.
    pub fork: bool,
    /// GraphQL id.
    pub node_id: String,
    /// URL for git over HTTP, without credentials.
    pub clone_url: String,
    /// URL for people.
    pub html_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchHead {
    /// Name without `refs/heads/`.
    pub branch: String,
    pub commit: CommitId,
}
