//! What a token is good for: one repository, and what one task needs there. A token that gets into the wrong hands, a
//! fetch's say, which a program beside this one is given, opens nothing else.

use capstan_ports::Repository;

/// What is done with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Task {
    /// To find out which repositories there are: names, and nothing in them.
    Find,
    /// To fetch commits with Git.
    Fetch,
    /// To read what the API shows.
    Read,
    /// To ask whether somebody belongs to a team.
    AskTeam,
    /// To write trees, commits and branches.
    Commit,
    /// To open and change pull requests.
    Propose,
    /// To ask teams for reviews, which GitHub finds only for who may see an organisation's members.
    AskReview,
    /// To make pull requests drafts, or ready: GitHub asks for both rights.
    Draft,
    /// To merge pull requests, or have GitHub merge them.
    Merge,
    /// To comment and react, and to keep the dashboard issue.
    Answer,
    /// To report checks and statuses.
    Report,
}

/// A right: what it is about, and `read` or `write`.
pub(super) type TokenRight = (&'static str, &'static str);

impl Task {
    /// The rights that it needs, in GitHub's words
    /// (<https://docs.github.com/en/rest/authentication/permissions-required-for-github-apps>). To read metadata goes
    /// with each of them.
    pub(super) const fn rights(self) -> &'static [TokenRight] {
        match self {
            Self::Find => &[("metadata", "read")],
            Self::Fetch => &[("contents", "read")],
            Self::Read => &[
                ("checks", "read"),
                ("contents", "read"),
                ("issues", "read"),
                ("merge_queues", "read"),
                ("pull_requests", "read"),
                ("statuses", "read"),
            ],
            Self::AskTeam => &[("members", "read")],
            Self::Commit => &[("contents", "write")],
            Self::Propose => &[("pull_requests", "write")],
            Self::AskReview => &[("members", "read"), ("pull_requests", "write")],
            Self::Draft | Self::Merge => &[("contents", "write"), ("pull_requests", "write")],
            Self::Answer => &[("issues", "write")],
            Self::Report => &[("checks", "write"), ("statuses", "write")],
        }
    }

    /// Whether it changes nothing: what is public may be read without any right.
    pub(super) const fn only_reads(self) -> bool {
        matches!(self, Self::Find | Self::Fetch | Self::Read | Self::AskTeam)
    }
}

/// What a token of an installation is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TokenAccess {
    pub(super) installation: u64,
    /// The one repository; `None` only to find out which there are.
    pub(super) repository: Option<u64>,
    pub(super) task: Task,
}

impl TokenAccess {
    /// Finding out which repositories there are.
    pub(super) const fn find(installation: u64) -> Self {
        Self { installation, repository: None, task: Task::Find }
    }

    /// A task in a repository.
    pub(super) const fn to(task: Task, repository: &Repository) -> Self {
        Self { installation: repository.installation, repository: Some(repository.id), task }
    }
}
