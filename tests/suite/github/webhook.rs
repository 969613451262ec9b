//! Payloads, cut down to the fields that are read.

use capstan::app::ports::RepositoryName;
use capstan::github::webhook::{Event, EventRepository, Happening, read};
use capstan_domain::tree::CommitId;
use serde_json::{Value, json};

const SHA: &str = "9d1f000000000000000000000000000000000000";

fn happening(event: &str, mut fields: Value) -> Happening {
    fields["installation"] = json!({"id": 7});
    fields["repository"] = json!({"id": 11, "full_name": "acme/fleet"});
    let read = read(event, fields.to_string().as_bytes()).unwrap();
    let repository = EventRepository { id: 11, name: RepositoryName::parse("acme/fleet").unwrap() };
    assert_eq!((read.installation, read.repository), (Some(7), Some(repository)));
    read.happening
}

#[test]
fn each_event_is_read() {
    let commit = CommitId::parse(SHA).unwrap();
    assert_eq!(
        happening("push", json!({"ref": "refs/heads/main", "before": SHA, "after": SHA})),
        Happening::Push { reference: "refs/heads/main".to_owned(), after: Some(commit.clone()) }
    );
    assert_eq!(
        happening("push", json!({"ref": "refs/heads/x", "before": SHA, "after": "0".repeat(40)})),
        Happening::Push { reference: "refs/heads/x".to_owned(), after: None }
    );
    let pull = json!({"number": 3, "head": {"sha": SHA, "ref": "x"}});
    assert_eq!(
        happening("pull_request", json!({"action": "synchronize", "number": 3, "pull_request": pull})),
        Happening::PullRequest { number: 3, action: "synchronize".to_owned(), head: commit.clone() }
    );
    assert_eq!(
        happening("pull_request_review", json!({"action": "submitted", "pull_request": pull})),
        Happening::Review { number: 3 }
    );
    let comment = json!({"id": 5, "body": "/capstan plan", "user": {"login": "alice", "type": "User"}});
    let issue = json!({"number": 3, "pull_request": {"url": "x"}});
    assert_eq!(
        happening("issue_comment", json!({"action": "created", "issue": issue, "comment": comment})),
        Happening::Comment {
            number: 3,
            on_pull_request: true,
            comment: 5,
            author: "alice".to_owned(),
            by_bot: false,
            body: "/capstan plan".to_owned(),
        }
    );
    assert_eq!(
        happening("issue_comment", json!({"action": "edited", "issue": issue, "comment": comment})),
        Happening::Other
    );
    for event in ["check_run", "check_suite"] {
        let payload = json!({"action": "rerequested", event: {"head_sha": SHA}});
        assert_eq!(happening(event, payload), Happening::CheckRequested { head: commit.clone() });
        let payload = json!({"action": "completed", event: {"head_sha": SHA}});
        assert_eq!(happening(event, payload), Happening::Other);
    }
    assert_eq!(
        happening("merge_group", json!({"action": "checks_requested", "merge_group": {"head_sha": SHA}})),
        Happening::MergeGroup { head: commit }
    );
    assert_eq!(
        happening("installation_repositories", json!({"action": "added"})),
        Happening::Installation { action: "added".to_owned() }
    );
    assert_eq!(happening("star", json!({"action": "created"})), Happening::Other);
    let ping = read("ping", br#"{"zen": "Keep it logically awesome.", "hook_id": 1}"#).unwrap();
    assert_eq!(ping, Event { installation: None, repository: None, happening: Happening::Ping });
}

#[test]
fn what_cannot_be_read_says_where_and_shows_no_content() {
    let error = read("push", b"{\"ref\": secret}").unwrap_err().to_string();
    assert_eq!(error, "the payload of `push` cannot be read: Syntax error at line 1 column 9");
    let error = read("push", b"{}").unwrap_err().to_string();
    assert_eq!(error, "the payload of `push` cannot be read: `ref` is missing");
    let error = read("push", br#"{"ref": "refs/heads/x", "after": "secret"}"#).unwrap_err().to_string();
    assert!(!error.contains("secret"), "{error}");
}

/// What fuzzing found in payloads, and what the fixtures hold, through the check of the fuzz target.
#[test]
fn what_fuzzing_once_found_in_payloads_stays_mended() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/regressions/payloads");
    let files: Vec<_> = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty(), "{} holds at least one example", root.display());
    for file in files {
        super::fuzzed_payloads::check(&std::fs::read(&file).unwrap(), read);
    }
}
