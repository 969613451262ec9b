//! The payloads in `webhook-fixtures/`, one per event and action that Capstan reads, held against GitHub's schemas.
//!
//! `CAPSTAN_WRITE_FIXTURES=1` rewrites them from a conversation on the forge, with fixed hosts and times.

use std::collections::BTreeSet;
use std::path::PathBuf;

use capstan_forge::{Edit, Forge, MergeMethod, NewPull, Options, Permission, ReviewState, Selection};
use serde_json::{Value, json};

use super::client::Installed;
use capstan_test_parts::conformance::webhook_violations;

/// `event.action` of each payload that Capstan reads.
const READ: [&str; 30] = [
    "check_run.requested_action",
    "check_run.rerequested",
    "check_suite.requested",
    "check_suite.rerequested",
    "installation.created",
    "installation.deleted",
    "installation_repositories.added",
    "installation_repositories.removed",
    "issue_comment.created",
    "issue_comment.edited",
    "issues.edited",
    "issues.opened",
    "merge_group.checks_requested",
    "ping",
    "pull_request.auto_merge_disabled",
    "pull_request.auto_merge_enabled",
    "pull_request.closed",
    "pull_request.converted_to_draft",
    "pull_request.edited",
    "pull_request.enqueued",
    "pull_request.labeled",
    "pull_request.opened",
    "pull_request.ready_for_review",
    "pull_request.reopened",
    "pull_request.synchronize",
    "pull_request.unlabeled",
    "pull_request_review.dismissed",
    "pull_request_review.submitted",
    "push",
    "check_run.completed",
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("webhook-fixtures")
}

#[test]
fn every_fixture_is_what_github_would_send() {
    if std::env::var_os("CAPSTAN_WRITE_FIXTURES").is_some() {
        write();
    }
    let names: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    assert_eq!(names, READ.map(str::to_owned).into());
    for name in names {
        let text = std::fs::read_to_string(folder().join(format!("{name}.json"))).unwrap();
        let payload: Value = serde_json::from_str(&text).unwrap();
        let (event, action) = match name.split_once('.') {
            Some((event, action)) => (event, Some(action)),
            None => (name.as_str(), None),
        };
        assert_eq!(payload["action"].as_str(), action, "{name}");
        let Some(found) = webhook_violations(event, action, &payload) else { return };
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

/// Plays a conversation in which each event happens, and keeps the first payload of each.
fn write() {
    let forge = Forge::start(Options { mergeability_reads: 0, ..Options::default() }).unwrap();
    let repo = "acme/gitops";
    forge.create_organization("acme").unwrap();
    forge.create_user("alice").unwrap();
    forge.create_user("bob").unwrap();
    forge.create_repository(repo).unwrap();
    forge.create_repository("acme/releases").unwrap();
    forge.grant(repo, "alice", Permission::Write).unwrap();
    forge.grant(repo, "bob", Permission::Write).unwrap();
    let installation = forge.install("acme", Selection::Selected([repo.to_owned()].into())).unwrap();
    forge.ping().unwrap();
    let first = [Edit::write("aws/v21.0.0/base/cluster.yaml", "kind: Cluster\n"), Edit::write("old", "1\n")];
    forge.commit(repo, "main", "alice", "Release v21.0.0", &first).unwrap();
    forge.clear_exchanges();
    let second = [
        Edit::write("aws/v22.0.0/base/cluster.yaml", "kind: Cluster\n"),
        Edit::write("aws/v21.0.0/base/cluster.yaml", "kind: Cluster # old\n"),
        Edit::remove("old"),
    ];
    forge.commit(repo, "main", "alice", "Release v22.0.0", &second).unwrap();
    let head = forge.commit(repo, "work", "alice", "One", &[Edit::write("w", "1\n")]).unwrap();
    let new = NewPull {
        title: "Work".to_owned(),
        body: "Some work".to_owned(),
        head: "work".to_owned(),
        base: "main".to_owned(),
        draft: false,
    };
    let number = forge.open_pull(repo, "alice", new).unwrap();
    let app = Installed::new(&forge, installation);
    let output = json!({"title": "Nothing to do", "summary": "No cluster is touched."});
    app.post(
        "/repos/acme/gitops/check-runs",
        json!({
            "name": "capstan", "head_sha": head, "conclusion": "success", "output": output,
            "actions": [{"label": "Merge", "description": "Merges it, or has GitHub merge it", "identifier": "merge"}],
        }),
    );
    let check = forge.checks(repo, &head).unwrap()[0].id;
    forge.rerequest_check(repo, check, "alice").unwrap();
    forge.press_button(repo, check, "merge", "alice").unwrap();
    forge.rerequest_suite(repo, &head, "alice").unwrap();
    let comment = forge.comment(repo, number, "alice", "/capstan plan").unwrap();
    let path = format!("/repos/acme/gitops/issues/comments/{comment}");
    app.call("PATCH", &path, json!({"body": "/capstan help"}));
    forge.add_label(repo, number, "capstan", "alice").unwrap();
    app.call("DELETE", &format!("/repos/acme/gitops/issues/{number}/labels/capstan"), Value::Null);
    forge.edit_body(repo, number, "alice", "More work").unwrap();
    forge.set_draft(repo, number, "alice", true).unwrap();
    forge.set_draft(repo, number, "alice", false).unwrap();
    let review = forge.review(repo, number, "bob", ReviewState::Approved, "Fine").unwrap();
    forge.dismiss_review(repo, number, review, "alice").unwrap();
    forge.enable_auto_merge(repo, number, "alice", MergeMethod::Merge).unwrap();
    let id = json!({"id": app.get(&format!("/repos/acme/gitops/pulls/{number}"))["node_id"]});
    let disable = "mutation($id: ID!) { disablePullRequestAutoMerge(input: {pullRequestId: $id}) { clientMutationId } }";
    app.graphql(disable, id);
    forge.enqueue(repo, number, "alice").unwrap();
    forge.commit(repo, "work", "alice", "Two", &[Edit::write("w", "2\n")]).unwrap();
    forge.close(repo, number, "alice").unwrap();
    forge.reopen(repo, number, "alice").unwrap();
    forge.select_repositories(installation, &[repo, "acme/releases"]).unwrap();
    forge.select_repositories(installation, &[repo]).unwrap();
    forge.open_issue(repo, "alice", "A cluster", "/capstan help").unwrap();
    let issue =
        app.post("/repos/acme/gitops/issues", json!({"title": "Capstan dashboard", "body": "- [ ] one"}));
    forge.edit_body(repo, issue["number"].as_u64().unwrap(), "alice", "- [x] one").unwrap();
    forge.uninstall(installation).unwrap();

    std::fs::create_dir_all(folder()).unwrap();
    for name in READ {
        let (event, action) =
            name.split_once('.').map_or((name, None), |(event, action)| (event, Some(action)));
        // The second push shows all three kinds of changes; of the rest the first is the plainest.
        let wanted = usize::from(event == "push");
        let deliveries = forge.deliveries();
        let delivery = deliveries
            .iter()
            .filter(|delivery| delivery.event == event && delivery.action.as_deref() == action)
            .nth(wanted)
            .unwrap_or_else(|| panic!("{name} did not happen"));
        let text = delivery.payload.replace(forge.url(), "https://github.example");
        let mut payload: Value = serde_json::from_str(&text).unwrap();
        fix_times(&mut payload);
        let text = serde_json::to_string_pretty(&payload).unwrap();
        std::fs::write(folder().join(format!("{name}.json")), format!("{text}\n")).unwrap();
    }
}

/// Times that stay the same whenever the fixtures are written.
fn fix_times(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(fix_times),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                let is_time = name.ends_with("_at") || ["date", "timestamp"].contains(&name.as_str());
                match field {
                    Value::String(_) if is_time => *field = json!("2026-01-15T09:30:00Z"),
                    Value::Number(_) if is_time => *field = json!(1_768_469_400),
                    _ => fix_times(field),
                }
            }
        }
        _ => {}
    }
}
