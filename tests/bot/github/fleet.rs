//! A forge with one repository, and the client of the App that is installed there.

use std::time::Duration;

use capstan_forge::{Edit, Forge, Options, Permission, Selection};
use capstan_github::{AppCredentials, GitHub, GitHubLimits};
use capstan_model::tree::{CommitId, RepoPath, TreeId};
use capstan_ports::{
    Branches, CommitMetadata, CreatedReference, Installations, NewTreeEntry, Repository, Trees,
};
use secrecy::SecretString;

pub(crate) const NAME: &str = "acme/fleet";

pub(crate) struct Fleet {
    pub(crate) forge: Forge,
    pub(crate) github: GitHub,
    pub(crate) repository: Repository,
    pub(crate) head: CommitId,
}

impl Fleet {
    pub(crate) async fn new() -> Self {
        let forge = tokio::task::spawn_blocking(|| Forge::start(Options::default())).await.unwrap().unwrap();
        forge.create_organization("acme").unwrap();
        for login in ["alice", "rita", "mallory"] {
            forge.create_user(login).unwrap();
        }
        forge.create_repository(NAME).unwrap();
        forge.grant(NAME, "alice", Permission::Maintain).unwrap();
        forge.grant(NAME, "rita", Permission::Triage).unwrap();
        forge.install("acme", Selection::All).unwrap();
        let edits = [
            Edit::write("gauss/peu01/base/cluster.yaml", "kind: Cluster\n"),
            Edit::write("gauss/peu02/base/cluster.yaml", "kind: Cluster\n"),
        ];
        let head = forge.commit(NAME, "main", "alice", "Two clusters", &edits).unwrap();
        let github = connect(&forge);
        let installation = github.installations().await.unwrap()[0].id;
        let repository = github.repositories(installation).await.unwrap().remove(0);
        forge.clear_exchanges();
        Self { forge, github, repository, head: CommitId::parse(&head).unwrap() }
    }

    pub(crate) fn root(&self) -> TreeId {
        let commit = self.forge.commits(NAME, self.head.as_str()).unwrap().remove(0);
        TreeId::parse(&commit.tree).unwrap()
    }

    /// Commits an edit of `peu01` on top of the head, on no branch yet.
    pub(crate) async fn commit(&self, text: &str) -> CommitId {
        let write = NewTreeEntry::Write {
            path: RepoPath::parse("gauss/peu01/base/cluster.yaml").unwrap(),
            text: text.to_owned(),
            executable: false,
        };
        let tree = self.github.create_tree(&self.repository, &self.root(), &[write]).await.unwrap();
        let metadata = CommitMetadata {
            message: format!("Write {text}\n\nCapstan-Plan: {}\n", text.len()),
            tree,
            parents: vec![self.head.clone()],
        };
        self.github.create_commit(&self.repository, &metadata).await.unwrap()
    }

    /// A branch with such a commit.
    pub(crate) async fn branch(&self, branch: &str, text: &str) -> CommitId {
        let commit = self.commit(text).await;
        let created = self.github.create_branch(&self.repository, branch, &commit).await.unwrap();
        assert_eq!(created, CreatedReference::Created);
        commit
    }

    /// Requests since the last look: `GET /app`.
    pub(crate) fn take_requests(&self) -> Vec<(String, u16)> {
        let exchanges = self.forge.exchanges();
        self.forge.clear_exchanges();
        exchanges
            .iter()
            .map(|exchange| (format!("{} {}", exchange.method, exchange.path), exchange.status))
            .collect()
    }
}

pub(crate) fn connect(forge: &Forge) -> GitHub {
    connect_at(forge, forge.url())
}

/// The same, for an API in front of the forge.
pub(crate) fn connect_at(forge: &Forge, url: &str) -> GitHub {
    let limits = GitHubLimits {
        first_retry_after: Duration::from_millis(1),
        timeout: Duration::from_secs(10),
        ..GitHubLimits::default()
    };
    connect_within(forge, url, limits)
}

/// The same within other limits.
pub(crate) fn connect_within(forge: &Forge, url: &str, limits: GitHubLimits) -> GitHub {
    let app = forge.app();
    let key = SecretString::from(app.private_key);
    let credentials = AppCredentials::from_pem(app.id, &key, "the forge's key").unwrap();
    GitHub::connect(&url.parse().unwrap(), credentials, limits).unwrap()
}
