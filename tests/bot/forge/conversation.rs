//! Pull requests from opening to merge, and what is said on them.

use capstan_forge::{Edit, MergeMethod, NewPull, Permission, Protection, PullState, ReviewState};
use serde_json::{Value, json};

use super::client::Installed;
use super::git_data::acme;
use capstan_test_parts::conformance::assert_conforms;

fn pull(head: &str) -> NewPull {
    NewPull {
        title: format!("About {head}"),
        head: head.to_owned(),
        base: "main".to_owned(),
        ..NewPull::default()
    }
}

fn payloads(forge: &capstan_forge::Forge, event: &str) -> Vec<Value> {
    let found = forge.deliveries().into_iter().filter(|delivery| delivery.event == event);
    found.map(|delivery| serde_json::from_str(&delivery.payload).unwrap()).collect()
}

#[test]
fn three_ways_to_merge_and_one_conflict() {
    let (forge, _) = acme();
    let repo = "acme/gitops";
    for (branch, file) in [("a", "a"), ("b", "b"), ("c", "c"), ("d", "a")] {
        forge.commit(repo, branch, "alice", "One", &[Edit::write(file, format!("{branch}\n"))]).unwrap();
        forge.open_pull(repo, "alice", pull(branch)).unwrap();
    }
    forge.commit(repo, "c", "alice", "Two", &[Edit::write("c2", "c2\n")]).unwrap();
    forge.merge_pull(repo, 1, "alice", MergeMethod::Merge).unwrap();
    forge.merge_pull(repo, 2, "alice", MergeMethod::Squash).unwrap();
    forge.merge_pull(repo, 3, "alice", MergeMethod::Rebase).unwrap();
    let refused = forge.merge_pull(repo, 4, "alice", MergeMethod::Merge).unwrap_err();
    assert_eq!(refused.to_string(), "the forge refuses: 405: Pull Request has merge conflicts");
    let messages: Vec<String> =
        forge.commits(repo, "main").unwrap().into_iter().map(|commit| commit.message).collect();
    assert_eq!(
        messages,
        [
            "Two",
            "One",
            "About b (#2)",
            "Merge pull request #1 from acme/a\n\nAbout a",
            "One",
            "First clusters"
        ]
    );
    let states: Vec<PullState> = forge.pulls(repo).unwrap().into_iter().map(|pull| pull.state).collect();
    assert_eq!(states, [PullState::Merged, PullState::Merged, PullState::Merged, PullState::Open]);
    let closed: Vec<Value> =
        payloads(&forge, "pull_request").into_iter().filter(|event| event["action"] == "closed").collect();
    assert_eq!(closed.len(), 3, "each merge closes once");
    assert!(closed.iter().all(|event| event["pull_request"]["merged"] == true));
    assert_conforms(&forge);
}

#[test]
fn pushes_close_synchronise_and_merge_pull_requests() {
    let (forge, installation) = acme();
    let repo = "acme/gitops";
    let head = forge.commit(repo, "work", "alice", "One", &[Edit::write("w", "1")]).unwrap();
    forge.open_pull(repo, "alice", pull("work")).unwrap();
    let twice = forge.open_pull(repo, "alice", pull("work")).unwrap_err().to_string();
    assert_eq!(twice, "the forge refuses: 422: Validation Failed");
    let newer = forge.commit(repo, "work", "alice", "Two", &[Edit::write("w", "2")]).unwrap();
    let synchronize = payloads(&forge, "pull_request").pop().unwrap();
    assert_eq!(synchronize["action"], "synchronize");
    assert_eq!((&synchronize["before"], &synchronize["after"]), (&json!(head), &json!(newer)));
    forge.push(repo, "main", &newer, "alice").unwrap();
    assert_eq!(forge.pull(repo, 1).unwrap().state, PullState::Merged, "its head is in the base");

    forge.commit(repo, "other", "alice", "Other", &[Edit::write("o", "1")]).unwrap();
    forge.open_pull(repo, "alice", pull("other")).unwrap();
    forge.delete_branch(repo, "other", "alice").unwrap();
    assert_eq!(forge.pull(repo, 2).unwrap().state, PullState::Closed);
    assert!(forge.reopen(repo, 2, "alice").is_err(), "its branch is gone");

    let app = Installed::new(&forge, installation);
    let none = json!({"title": "x", "head": "work", "base": "main"});
    let refused = app.call("POST", "/repos/acme/gitops/pulls", none);
    assert_eq!(refused.body["errors"][0]["message"], "No commits between main and work");
    let push = payloads(&forge, "push");
    assert_eq!(push[0]["commits"][0]["added"], json!(["w"]));
    assert_eq!(push[1]["commits"][0]["modified"], json!(["w"]));
    let all = app.get("/repos/acme/gitops/pulls?state=all&per_page=1&page=2");
    assert_eq!((all.as_array().unwrap().len(), &all[0]["number"]), (1, &json!(1)));
    let page = app.call("GET", "/repos/acme/gitops/pulls?state=all&per_page=1", Value::Null);
    assert!(page.header("link").unwrap().contains("per_page=1&state=all&page=2>; rel=\"next\""));
    assert_conforms(&forge);
}

#[test]
fn a_stack_is_shown_and_merged_at_once() {
    let (forge, installation) = acme();
    let repo = "acme/gitops";
    let on = forge.resolve(repo, "main").unwrap().unwrap();
    let low = forge.commit_on(repo, &on, "alice", "Low", &[Edit::write("low", "1")]).unwrap();
    let high = forge.commit_on(repo, &low, "alice", "High", &[Edit::write("high", "1")]).unwrap();
    forge.push(repo, "low", &low, "alice").unwrap();
    forge.push(repo, "high", &high, "alice").unwrap();
    let low = forge.open_pull(repo, "alice", pull("low")).unwrap();
    let high = forge.open_pull(repo, "alice", NewPull { base: "low".to_owned(), ..pull("high") }).unwrap();
    let app = Installed::new(&forge, installation);
    let turned = app.call("POST", "/repos/acme/gitops/stacks", json!({"pull_requests": [high, low]}));
    assert_eq!(turned.status, 422, "{turned:?}");
    assert_eq!(app.get("/repos/acme/gitops/stacks"), json!([]));
    let made = app.post("/repos/acme/gitops/stacks", json!({"pull_requests": [low, high]}));
    assert_eq!(
        (&made["number"], &made["base"]["ref"], &made["open"]),
        (&json!(1), &json!("main"), &json!(true))
    );
    let found = app.get(&format!("/repos/acme/gitops/stacks?pull_request={high}"));
    assert_eq!((found.as_array().unwrap().len(), &found[0]["id"]), (1, &made["id"]));
    assert_eq!(app.get("/repos/acme/gitops/stacks/1"), made);
    let shown = app.get(&format!("/repos/acme/gitops/pulls/{high}"));
    assert_eq!((&shown["stack"]["position"], &shown["stack"]["size"]), (&json!(2), &json!(2)));
    assert_eq!((&shown["base"]["ref"], &shown["stack"]["base"]["ref"]), (&json!("low"), &json!("main")));
    let told: Vec<Value> =
        payloads(&forge, "pull_request").into_iter().filter(|one| one["action"] == "stacked").collect();
    assert_eq!(told.len(), 2);
    assert_eq!(told[1]["stack"]["position"], 2);
    let refused = app.call("PUT", &format!("/repos/acme/gitops/pulls/{low}/merge"), json!({}));
    assert_eq!(refused.status, 405, "{refused:?}");
    let tip = forge.merge_stack(repo, high, "alice").unwrap();
    assert_eq!(forge.resolve(repo, "main").unwrap(), Some(tip));
    let states: Vec<PullState> = forge.pulls(repo).unwrap().into_iter().map(|pull| pull.state).collect();
    assert_eq!(states, [PullState::Merged, PullState::Merged]);
    assert_eq!(app.get("/repos/acme/gitops/stacks/1")["open"], false);
    assert_conforms(&forge);
}

#[test]
fn comments_reactions_labels_checks_and_reviews_are_delivered() {
    let (forge, installation) = acme();
    let repo = "acme/gitops";
    forge.create_user("bob").unwrap();
    forge.create_team("acme", "platform", &["alice"]).unwrap();
    forge.grant(repo, "bob", Permission::Write).unwrap();
    let app = Installed::new(&forge, installation);
    let head = forge.commit(repo, "work", "alice", "One", &[Edit::write("w", "1")]).unwrap();
    let number = forge.open_pull(repo, "alice", pull("work")).unwrap();
    let asked = forge.comment(repo, number, "alice", "/capstan help").unwrap();
    app.post(&format!("/repos/{repo}/issues/comments/{asked}/reactions"), json!({"content": "eyes"}));
    app.post(&format!("/repos/{repo}/issues/comments/{asked}/reactions"), json!({"content": "eyes"}));
    let answer = app.post(&format!("/repos/{repo}/issues/{number}/comments"), json!({"body": "Hello"}));
    let edit = format!("/repos/{repo}/issues/comments/{}", answer["id"]);
    assert_eq!(app.call("PATCH", &edit, json!({"body": "Hello!"})).status, 200);
    app.get(&format!("/repos/{repo}/issues/{number}/comments?per_page=100"));
    let comments = forge.comments(repo, number).unwrap();
    assert_eq!(comments[0].reactions, [("capstan[bot]".to_owned(), "eyes".to_owned())]);
    assert_eq!((comments[1].author.as_str(), comments[1].body.as_str()), ("capstan[bot]", "Hello!"));
    app.post(&format!("/repos/{repo}/issues/{number}/labels"), json!({"labels": ["capstan"]}));
    app.post(&format!("/repos/{repo}/issues/{number}/assignees"), json!({"assignees": ["alice"]}));
    app.post(&format!("/repos/{repo}/pulls/{number}/requested_reviewers"), json!({"reviewers": ["bob"]}));
    app.get(&format!("/repos/{repo}/issues/{number}"));
    let permission = app.get(&format!("/repos/{repo}/collaborators/alice/permission"));
    assert_eq!((&permission["permission"], &permission["role_name"]), (&json!("write"), &json!("write")));
    app.get("/orgs/acme/teams/platform/memberships/alice");
    assert_eq!(app.call("GET", "/orgs/acme/teams/platform/memberships/bob", Value::Null).status, 404);

    let annotation =
        json!({"path": "w", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "no"});
    let mut output = json!({"title": "t", "summary": "s", "annotations": [annotation]});
    let created = app.post(
        &format!("/repos/{repo}/check-runs"),
        json!({"name": "capstan", "head_sha": head, "status": "in_progress", "output": output, "external_id": "k"}),
    );
    let path = format!("/repos/{repo}/check-runs/{}", created["id"]);
    let done = json!({"conclusion": "failure", "output": output});
    assert_eq!(app.call("PATCH", &path, done).body["status"], "completed");
    let check = &forge.checks(repo, &head).unwrap()[0];
    assert_eq!((check.annotations.len(), check.conclusion.as_deref()), (2, Some("failure")));
    output["annotations"] = json!(vec![annotation; 51]);
    assert_eq!(app.call("PATCH", &path, json!({"output": output})).status, 422);
    let long = json!({"output": {"title": "t", "summary": "x".repeat(65_536)}});
    assert_eq!(app.call("PATCH", &path, long).status, 422);
    app.get(&format!("/repos/{repo}/commits/{head}/check-runs?check_name=capstan&filter=latest"));
    app.get(&format!("{path}/annotations"));
    app.post(&format!("/repos/{repo}/statuses/{head}"), json!({"state": "success", "context": "capstan"}));
    app.get(&format!("/repos/{repo}/commits/{head}/status"));
    app.get(&format!("/repos/{repo}/commits/{head}/pulls"));

    let query = "query($id: ID!) { node(id: $id) { ... on PullRequest { reviewDecision isInMergeQueue isDraft
        autoMergeRequest { mergeMethod enabledBy { login } } mergeQueueEntry { id } headRefOid } } }";
    let id = json!({"id": app.get(&format!("/repos/{repo}/pulls/{number}"))["node_id"]});
    assert_eq!(app.graphql(query, id.clone())["data"]["node"]["reviewDecision"], Value::Null);
    let review = forge.review(repo, number, "bob", ReviewState::Approved, "Fine").unwrap();
    assert_eq!(app.graphql(query, id.clone())["data"]["node"]["reviewDecision"], "APPROVED");
    app.get(&format!("/repos/{repo}/pulls/{number}/reviews"));
    forge.dismiss_review(repo, number, review, "alice").unwrap();
    let draft = "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { isDraft } } }";
    assert_eq!(
        app.graphql(draft, id.clone())["data"]["convertPullRequestToDraft"]["pullRequest"]["isDraft"],
        true
    );
    let ready = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }";
    app.graphql(ready, id.clone());
    let auto = "mutation($id: ID!) { enablePullRequestAutoMerge(input: {pullRequestId: $id, mergeMethod: SQUASH}) { clientMutationId } }";
    let clean = app.graphql(auto, id.clone());
    assert_eq!(clean["errors"][0]["message"], "Pull request Pull request is in clean status");
    let wanted = Protection { checks: vec!["build".to_owned()], ..Protection::default() };
    forge.require(repo, "main", wanted).unwrap();
    app.graphql(auto, id.clone());
    assert_eq!(app.graphql(query, id)["data"]["node"]["autoMergeRequest"]["mergeMethod"], "SQUASH");
    forge.enqueue(repo, number, "alice").unwrap();
    forge.rerequest_check(repo, check.id, "alice").unwrap();
    forge.rerequest_suite(repo, &head, "alice").unwrap();
    forge.edit_body(repo, number, "alice", "More words").unwrap();
    forge.close(repo, number, "alice").unwrap();
    forge.reopen(repo, number, "alice").unwrap();
    forge.ping().unwrap();
    forge.select_repositories(installation, &["acme/gitops"]).unwrap();
    forge.uninstall(installation).unwrap();
    assert_conforms(&forge);
}

#[test]
fn a_fork_proposes_to_its_source() {
    let (forge, _) = acme();
    forge.create_user("mallory").unwrap();
    forge.grant("acme/gitops", "mallory", Permission::Read).unwrap();
    let fork = forge.fork("acme/gitops", "mallory").unwrap();
    let head = forge.commit(&fork, "idea", "mallory", "Idea", &[Edit::write("i", "1")]).unwrap();
    let number = forge.open_pull("acme/gitops", "mallory", pull("mallory:idea")).unwrap();
    let reference = format!("refs/pull/{number}/head");
    assert_eq!(forge.resolve("acme/gitops", &reference).unwrap().unwrap(), head);
    forge.merge_pull("acme/gitops", number, "alice", MergeMethod::Merge).unwrap();
    assert!(forge.file("acme/gitops", "main", "i").unwrap().is_some());
    let opened = payloads(&forge, "pull_request").remove(0);
    assert_eq!(opened["pull_request"]["head"]["label"], "mallory:idea");
    assert_conforms(&forge);
}
