//! A token opens one repository, for one task: the forge refuses what a token does not hold.

use capstan_git::{MirrorLimits, Mirrors};
use capstan_model::tree::CommitId;
use capstan_ports::{
    Branches, Checks, CodeHostError, Comments, CommitStatus, History, Installations, Mirror, PullRequests,
    Reaction, Repository, RepositoryName, Statuses,
};
use capstan_report::StatusState;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::fleet::{Fleet, NAME};
use crate::forge::client::{Response, try_request};
use capstan_test_parts::conformance::assert_conforms;

const OTHER: &str = "acme/other";

/// The same account has another repository, with a branch.
async fn with_neighbour() -> Fleet {
    let fleet = Fleet::new().await;
    fleet.forge.create_repository(OTHER).unwrap();
    let edit = [capstan_forge::Edit::write("secret.yaml", "kind: Secret\n")];
    fleet.forge.commit(OTHER, "main", "alice", "A secret", &edit).unwrap();
    fleet
}

fn with_token(fleet: &Fleet, token: &str, method: &str, path: &str, body: Value) -> Response {
    let authorization = format!("Bearer {token}");
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    try_request(&fleet.forge, method, path, &headers, &body).unwrap()
}

/// What tokens were asked for, without doubles: repository and rights.
fn asked(fleet: &Fleet) -> Vec<(Value, Value)> {
    let mut asked: Vec<(Value, Value)> = Vec::new();
    for exchange in fleet.forge.exchanges() {
        if exchange.path.ends_with("/access_tokens") {
            let one = (exchange.request["repository_ids"].clone(), exchange.request["permissions"].clone());
            if !asked.contains(&one) {
                asked.push(one);
            }
        }
    }
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_a_fetch_reads_the_code_of_one_repository_and_nothing_else() {
    let fleet = with_neighbour().await;
    let token = fleet.github.git_token(&fleet.repository).await.unwrap();
    let token = token.expose_secret();
    let head = fleet.head.as_str();
    for (method, path, body, status) in [
        ("GET", format!("/repos/{NAME}/git/ref/heads/main"), Value::Null, 200),
        ("GET", format!("/repos/{NAME}/contents/gauss/peu01/base/cluster.yaml"), Value::Null, 200),
        ("POST", format!("/repos/{NAME}/git/refs"), json!({"ref": "refs/heads/x", "sha": head}), 403),
        ("GET", format!("/repos/{NAME}/pulls"), Value::Null, 403),
        ("GET", format!("/repos/{NAME}/issues/comments"), Value::Null, 403),
        ("POST", format!("/repos/{NAME}/check-runs"), json!({"name": "x", "head_sha": head}), 403),
        ("POST", format!("/repos/{NAME}/statuses/{head}"), json!({"state": "success"}), 403),
        ("GET", format!("/repos/{OTHER}/git/ref/heads/main"), Value::Null, 404),
        ("GET", format!("/repos/{OTHER}/contents/secret.yaml"), Value::Null, 404),
    ] {
        let response = with_token(&fleet, token, method, &path, body);
        assert_eq!(response.status, status, "{method} {path}: {response:?}");
    }

    // Nor does Git give the neighbour away for it.
    let other = Repository {
        name: RepositoryName::parse(OTHER).unwrap(),
        clone_url: format!("{}/{OTHER}.git", fleet.forge.url()),
        ..fleet.repository.clone()
    };
    let secret = CommitId::parse(&fleet.forge.commits(OTHER, "main").unwrap()[0].id).unwrap();
    let state = tempfile::tempdir().unwrap();
    let mirrors = Mirrors::open(state.path(), MirrorLimits::default()).unwrap();
    mirrors.snapshot(&fleet.repository, &token.to_owned().into(), &fleet.head).await.unwrap();
    assert!(mirrors.snapshot(&other, &token.to_owned().into(), &secret).await.is_err());
    assert_conforms(&fleet.forge);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clone_url_of_another_server_gets_no_token() {
    let fleet = Fleet::new().await;
    let elsewhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let port = elsewhere.local_addr().unwrap().port();
    let state = tempfile::tempdir().unwrap();
    let mirrors = Mirrors::open(state.path(), MirrorLimits::default()).unwrap();
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), "git.example.com".to_owned()] {
        let clone_url = format!("http://{host}/{NAME}.git");
        let repository = Repository { clone_url, ..fleet.repository.clone() };
        let error = match fleet.github.git_token(&repository).await {
            Ok(token) => {
                let fetched = mirrors.snapshot(&repository, &token, &fleet.head).await;
                panic!("there is a token for {host}: {:?}", fetched.err())
            }
            Err(error) => error,
        };
        assert!(error.is_refusal(), "{error}");
        let said = format!("the clone URL is on http://{host}, but Capstan sends tokens only to");
        assert!(error.to_string().contains(&said), "{error}");
    }
    assert!(elsewhere.accept().is_err(), "somebody else was asked");
    assert!(asked(&fleet).is_empty(), "a token was made");
    fleet.github.git_token(&fleet.repository).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_token_is_asked_for_one_repository_and_the_rights_of_its_task() {
    let fleet = Fleet::new().await;
    let commit = fleet.branch("capstan/upgrade/x", "one\n").await;
    let (github, repository) = (&fleet.github, &fleet.repository);
    let new = capstan_ports::NewPullRequest {
        title: "x".to_owned(),
        body: String::new(),
        head_branch: "capstan/upgrade/x".to_owned(),
        base_branch: "main".to_owned(),
        draft: false,
    };
    github.create_pull_request(repository, &new).await.unwrap();
    let comment = github.create_comment(repository, 1, "hello").await.unwrap();
    github.react(repository, comment.id, Reaction::Eyes).await.unwrap();
    let status = CommitStatus {
        context: "capstan/rollout".to_owned(),
        state: StatusState::Success,
        description: "done".to_owned(),
        target_url: None,
    };
    github.create_commit_status(repository, &commit, &status).await.unwrap();
    github.pushes(repository, "main").await.unwrap();
    github.git_token(repository).await.unwrap();

    let one = json!([repository.id]);
    let expected = [
        json!({"contents": "write"}),
        json!({"pull_requests": "write"}),
        json!({"issues": "write"}),
        json!({"checks": "write", "statuses": "write"}),
        json!({
            "checks": "read", "contents": "read", "issues": "read", "merge_queues": "read",
            "pull_requests": "read", "statuses": "read"
        }),
        json!({"contents": "read"}),
    ];
    assert_eq!(asked(&fleet), expected.map(|rights| (one.clone(), rights)));
    assert_conforms(&fleet.forge);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_owner_has_not_granted_is_refused_and_nothing_else() {
    let fleet = Fleet::new().await;
    fleet.forge.grant_app("merge_queues", None);
    fleet.forge.grant_app("issues", None);
    fleet.forge.grant_app("checks", Some("read"));
    let (github, repository) = (&fleet.github, &fleet.repository);
    assert_eq!(github.branch(repository, "main").await.unwrap().as_ref(), Some(&fleet.head));
    github.check_runs(repository, &fleet.head, "capstan").await.unwrap();
    let error = github.create_comment(repository, 1, "hello").await.unwrap_err();
    assert!(
        matches!(&error, CodeHostError::Forbidden { reason, .. } if reason.contains("not granted")),
        "{error}"
    );
    assert!(error.is_refusal());
    assert_conforms(&fleet.forge);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_owner_grants_later_may_be_done_at_once() {
    let fleet = Fleet::new().await;
    let (github, repository) = (&fleet.github, &fleet.repository);
    fleet.forge.grant_app("statuses", None);
    let status = CommitStatus {
        context: "capstan/rollout".to_owned(),
        state: StatusState::Success,
        description: "done".to_owned(),
        target_url: None,
    };
    let report = || github.create_commit_status(repository, &fleet.head, &status);
    for _ in 0..2 {
        let error = report().await.unwrap_err();
        assert!(matches!(error, CodeHostError::Forbidden { .. }), "{error}");
    }
    fleet.forge.grant_app("statuses", Some("write"));
    report().await.unwrap();
    assert_conforms(&fleet.forge);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_public_is_read_where_the_app_is_not_installed_and_nothing_is_written_there() {
    let fleet = with_neighbour().await;
    fleet.forge.select_repositories(fleet.repository.installation, &[NAME]).unwrap();
    let other = Repository {
        id: fleet.repository.id + 1_000,
        name: RepositoryName::parse(OTHER).unwrap(),
        ..fleet.repository.clone()
    };
    let private = fleet.github.branch(&other, "main").await.unwrap();
    assert_eq!(private, None, "nobody is told that it is there");
    fleet.forge.publish(OTHER, true).unwrap();
    assert!(fleet.github.branch(&other, "main").await.unwrap().is_some());
    let error = fleet.github.create_comment(&other, 1, "hello").await.unwrap_err();
    assert!(matches!(error, CodeHostError::NotFound { .. }), "{error}");
    assert_conforms(&fleet.forge);
}
