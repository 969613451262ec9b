//! A branch as a source: fetched over HTTP and from a folder, and found again without either.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use capstan_git::{BranchSource, MirrorLimits, Mirrors, RemoteCredential};
use capstan_model::tree::{CommitId, RepoPath};
use capstan_reconciler::reconcile::ports::{SourceError, SourceTree, TreeSource};
use secrecy::SecretString;
use tempfile::TempDir;

use super::http_server::{GitServer, TOKEN};
use capstan_test_parts::repository::{TestRepository, git};

struct Fixture {
    work: TestRepository,
    server: GitServer,
    remotes: TempDir,
    state: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let work = TestRepository::new();
        let remotes = tempfile::tempdir().unwrap();
        git(remotes.path(), &["init", "-q", "--bare", "fleet.git"]);
        work.git(&["remote", "add", "origin", remotes.path().join("fleet.git").to_str().unwrap()]);
        let server = GitServer::start(remotes.path()).await;
        Self { work, server, remotes, state: tempfile::tempdir().unwrap() }
    }

    fn push(&self, content: &str) -> CommitId {
        self.work.write("gauss/peu01/base/cluster.yaml", content);
        let commit = self.work.commit_all("A change");
        self.work.git(&["push", "-q", "--force", "origin", "HEAD:main"]);
        CommitId::parse(&commit).unwrap()
    }

    fn open(&self, url: &str, access: RemoteCredential) -> Result<BranchSource, SourceError> {
        let mirrors = Arc::new(Mirrors::open(self.state.path(), MirrorLimits::default()).unwrap());
        BranchSource::open(mirrors, self.state.path(), "capstan-system/fleet", url, "main", access)
    }

    fn over_http(&self) -> BranchSource {
        self.open(&self.server.url("fleet.git"), RemoteCredential::token(&SecretString::from(TOKEN))).unwrap()
    }
}

fn content(tree: &SourceTree) -> String {
    let path = RepoPath::parse("gauss/peu01/base/cluster.yaml").unwrap();
    let entry = tree.tree.entry(&path).unwrap();
    String::from_utf8(tree.tree.read(entry).unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn the_tip_of_a_branch_is_fetched_and_follows_it() {
    let fixture = Fixture::new().await;
    let first = fixture.push("one");
    let source = fixture.over_http();
    let tree = source.fetch().await.unwrap();
    assert_eq!((tree.commit, content(&source.fetch().await.unwrap()).as_str()), (first, "one"));

    let second = fixture.push("two");
    let tree = source.fetch().await.unwrap();
    assert_eq!((tree.commit.clone(), content(&tree).as_str()), (second, "two"));

    // Nothing new: the branch is asked for, nothing is fetched.
    fixture.server.take_requests();
    source.fetch().await.unwrap();
    assert_eq!(
        fixture.server.take_requests(),
        ["GET /fleet.git/info/refs", "POST /fleet.git/git-upload-pack"]
    );
}

#[tokio::test]
async fn a_folder_on_this_machine_is_a_source_too() {
    let fixture = Fixture::new().await;
    let commit = fixture.push("one");
    let url = format!("file://{}", fixture.remotes.path().join("fleet.git").display());
    let source = fixture.open(&url, RemoteCredential::Public).unwrap();
    assert_eq!(source.fetch().await.unwrap().commit, commit);
}

#[tokio::test]
async fn after_a_restart_the_last_tree_is_there_without_the_remote() {
    let fixture = Fixture::new().await;
    assert!(fixture.over_http().kept().await.unwrap().is_none());
    let commit = fixture.push("one");
    let source = fixture.over_http();
    source.fetch().await.unwrap();
    assert!(fixture.over_http().kept().await.unwrap().is_none(), "nobody has opened it");
    source.keep(&commit).await.unwrap();
    // Fetched, and never opened.
    fixture.push("two");
    source.fetch().await.unwrap();

    fixture.server.control.lock().unwrap().fail_with = Some(StatusCode::SERVICE_UNAVAILABLE);
    fixture.server.take_requests();
    let restarted = fixture.over_http();
    let kept = restarted.kept().await.unwrap().unwrap();
    assert_eq!((kept.commit.clone(), content(&kept).as_str()), (commit, "one"));
    assert!(fixture.server.take_requests().is_empty());
    assert_eq!(restarted.fetch().await.map(drop).unwrap_err().kind(), "SourceAway");

    // Another branch under the same name is another source.
    let mirrors = Arc::new(Mirrors::open(fixture.state.path(), MirrorLimits::default()).unwrap());
    let url = fixture.server.url("fleet.git");
    let other = BranchSource::open(
        mirrors,
        fixture.state.path(),
        "capstan-system/fleet",
        &url,
        "next",
        RemoteCredential::Public,
    );
    assert!(other.unwrap().kept().await.unwrap().is_none());
}

#[tokio::test]
async fn a_head_that_is_judged_does_not_replace_what_is_kept() {
    let fixture = Fixture::new().await;
    let main = fixture.push("one");
    let source = fixture.over_http();
    source.fetch().await.unwrap();
    source.keep(&main).await.unwrap();
    fixture.work.git(&["checkout", "-q", "-b", "proposal"]);
    fixture.work.write("gauss/peu01/base/cluster.yaml", "proposed");
    let head = CommitId::parse(&fixture.work.commit_all("A proposal")).unwrap();
    fixture.work.git(&["push", "-q", "origin", "proposal"]);

    let judged = source.at(&head).await.unwrap();
    assert_eq!(content(&judged), "proposed");
    assert_eq!(fixture.over_http().kept().await.unwrap().unwrap().commit, main);
}

#[tokio::test]
async fn what_is_wrong_is_said_without_the_secret() {
    let fixture = Fixture::new().await;
    fixture.push("one");
    let url = fixture.server.url("fleet.git");
    let refused = fixture.open(&url, RemoteCredential::token(&SecretString::from("wrong-t0ken"))).unwrap();
    let error = refused.fetch().await.map(drop).unwrap_err();
    assert!(error.to_string().contains("the token is refused"), "{error}");
    assert!(!error.to_string().contains("wrong-t0ken"), "{error}");
    let error = fixture.open(&url, RemoteCredential::Public).unwrap().fetch().await.map(drop).unwrap_err();
    assert!(error.to_string().contains("needs a token or a password"), "{error}");

    let mirrors = Arc::new(Mirrors::open(fixture.state.path(), MirrorLimits::default()).unwrap());
    let token = RemoteCredential::token(&SecretString::from(TOKEN));
    let missing = BranchSource::open(mirrors, fixture.state.path(), "f", &url, "nowhere", token).unwrap();
    let error = missing.fetch().await.map(drop).unwrap_err();
    assert_eq!(error.to_string(), format!("{url} has no branch nowhere"));

    let error =
        fixture.open("http://git.example.com/fleet.git", RemoteCredential::Public).map(drop).unwrap_err();
    assert_eq!(error.kind(), "SourceSettings");
    // A source that gets no notice of pushes can only wait.
    missing.wait(None, Duration::ZERO).await;
}
