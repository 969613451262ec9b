//! Code: objects, references, Git over HTTP.

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_forge::{AppCredentials, Edit, Forge, Options, Permission, Selection};
use capstan_test_support::tally;
use serde_json::{Value, json};

use super::client::{Installed, as_app, try_request, web_token};
use capstan_test_parts::conformance::assert_conforms;

/// A forge with `acme/gitops`, one commit in it, Alice who may write, and the App installed.
pub(crate) fn acme() -> (Forge, u64) {
    let forge = Forge::start(Options::default()).unwrap();
    forge.create_organization("acme").unwrap();
    forge.create_user("alice").unwrap();
    forge.create_repository("acme/gitops").unwrap();
    forge.grant("acme/gitops", "alice", Permission::Write).unwrap();
    let edits = [
        Edit::write("gauss/peu01/base/cluster.yaml", "kind: Cluster\n"),
        Edit::write("gauss/peu01/base/pool.yaml", "replicas: 2\n"),
        Edit::write("README.md", "Clusters\n"),
    ];
    forge.commit("acme/gitops", "main", "alice", "First clusters", &edits).unwrap();
    let installation = forge.install("acme", Selection::All).unwrap();
    (forge, installation)
}

const MOVE: &str = "mutation($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }";

#[test]
fn a_proposal_takes_a_tree_a_commit_a_branch_and_a_pull_request() {
    let (forge, installation) = acme();
    let app = Installed::new(&forge, installation);
    let main = app.get("/repos/acme/gitops/git/ref/heads/main")["object"]["sha"].clone();
    let commit = app.get(&format!("/repos/acme/gitops/git/commits/{}", main.as_str().unwrap()));
    let tree = app.post(
        "/repos/acme/gitops/git/trees",
        json!({"base_tree": commit["tree"]["sha"], "tree": [
            {"path": "gauss/peu01/base/pool.yaml", "mode": "100644", "type": "blob", "content": "replicas: 3\n"},
            {"path": "gauss/peu01/base/cluster.yaml", "mode": "100644", "type": "blob", "sha": null},
        ]}),
    );
    let new = app.post(
        "/repos/acme/gitops/git/commits",
        json!({"message": "Upgrade", "tree": tree["sha"], "parents": [main]}),
    );
    assert_eq!(new["verification"]["verified"], true);
    assert_eq!(new["author"]["name"], "capstan[bot]");
    let reference = json!({"ref": "refs/heads/capstan/upgrade/gauss/peu01", "sha": new["sha"]});
    app.post("/repos/acme/gitops/git/refs", reference.clone());
    let again = app.call("POST", "/repos/acme/gitops/git/refs", reference);
    assert_eq!((again.status, again.body["message"].as_str()), (422, Some("Reference already exists")));
    let pull = app.post(
        "/repos/acme/gitops/pulls",
        json!({"title": "Upgrade", "body": "b", "head": "capstan/upgrade/gauss/peu01", "base": "main"}),
    );
    assert_eq!((&pull["number"], &pull["mergeable"]), (&json!(1), &Value::Null));
    assert_eq!((&pull["additions"], &pull["deletions"]), (&json!(1), &json!(2)));
    assert_eq!(forge.write_calls(), 5, "the refused call counts too");

    let path = "gauss/peu01/base/pool.yaml";
    assert_eq!(forge.file("acme/gitops", "refs/pull/1/head", path).unwrap().unwrap(), "replicas: 3\n");
    assert_eq!(forge.file("acme/gitops", "main", path).unwrap().unwrap(), "replicas: 2\n");
    assert_eq!(app.get("/repos/acme/gitops/pulls/1")["mergeable"], Value::Null, "still computing");
    let computed = app.get("/repos/acme/gitops/pulls/1");
    assert_eq!(computed["mergeable"], true);
    let merge = app.get("/repos/acme/gitops/git/ref/pull/1/merge");
    assert_eq!(merge["object"]["sha"], computed["merge_commit_sha"]);
    let files = app.get("/repos/acme/gitops/pulls/1/files");
    assert_eq!(files[1]["patch"], "@@ -1 +1 @@\n-replicas: 2\n+replicas: 3");
    app.get("/repos/acme/gitops/pulls?state=open&head=acme:capstan/upgrade/gauss/peu01&base=main");
    app.get("/repos/acme/gitops/git/matching-refs/heads/capstan/");
    app.get("/repos/acme/gitops/compare/main...capstan%2Fupgrade%2Fgauss%2Fpeu01");
    app.get(&format!("/repos/acme/gitops/git/trees/{}?recursive=1", tree["sha"].as_str().unwrap()));
    app.get("/repos/acme/gitops/contents/gauss/peu01?ref=main");
    app.get("/repos/acme/gitops/contents/README.md");
    app.get("/repos/acme/gitops/commits/main");
    app.get("/repos/acme/gitops/branches/main");
    assert_conforms(&forge);
}

#[test]
fn references_move_only_from_where_the_caller_believes_them_to_be() {
    let (forge, installation) = acme();
    let app = Installed::new(&forge, installation);
    let one = forge.resolve("acme/gitops", "main").unwrap().unwrap();
    let two = forge.commit_on("acme/gitops", "main", "alice", "Two", &[Edit::write("a", "2")]).unwrap();
    let three = forge.commit_on("acme/gitops", "main", "alice", "Three", &[Edit::write("a", "3")]).unwrap();
    forge.push("acme/gitops", "work", &two, "alice").unwrap();
    let repository = app.get("/repos/acme/gitops")["node_id"].clone();
    let update = |name: &str, before: &str, after: &str, force: bool| {
        let update = json!({"name": name, "beforeOid": before, "afterOid": after, "force": force});
        json!({"input": {"repositoryId": repository, "refUpdates": [update]}})
    };
    let stale = app.graphql(MOVE, update("refs/heads/work", &one, &three, true));
    assert!(stale["errors"][0]["message"].as_str().unwrap().contains("expected"), "{stale}");
    let diverged = app.graphql(MOVE, update("refs/heads/work", &two, &three, false));
    assert!(diverged["errors"][0]["message"].as_str().unwrap().contains("fast-forward"), "{diverged}");
    let moved = app.graphql(MOVE, update("refs/heads/work", &two, &three, true));
    assert_eq!(moved, json!({"data": {"updateRefs": {"clientMutationId": null}}}));
    assert_eq!(forge.resolve("acme/gitops", "work").unwrap().unwrap(), three);

    forge.protect("acme/gitops", "refs/heads/work", "Changes must be made through a pull request.").unwrap();
    let refused = app.graphql(MOVE, update("refs/heads/work", &three, &two, true));
    assert!(refused["errors"][0]["message"].as_str().unwrap().contains("rule violations"), "{refused}");
    let body = json!({"sha": two, "force": true});
    let refused = app.call("PATCH", "/repos/acme/gitops/git/refs/heads/work", body);
    assert_eq!(refused.status, 422);
    assert_conforms(&forge);
}

#[test]
fn git_clones_fetches_and_pushes_with_a_token() {
    let (forge, installation) = acme();
    let app = Installed::new(&forge, installation);
    let folder = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let output = tally::command("git")
            .args(args)
            .current_dir(folder.path())
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b")])
            .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@b")])
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let host = forge.url().trim_start_matches("http://");
    let as_bot = format!("http://x-access-token:{}@{host}/acme/gitops.git", app.token);
    let as_alice = format!("http://alice:{}@{host}/acme/gitops.git", forge.token_for("alice").unwrap());
    assert!(!git(&["clone", "-q", &format!("http://{host}/acme/gitops.git"), "denied"]).0);
    for version in ["0", "2"] {
        let protocol = format!("protocol.version={version}");
        let (cloned, said) = git(&["-c", &protocol, "clone", "-q", "--depth", "1", &as_bot, version]);
        assert!(cloned, "protocol {version}: {said}");
    }
    forge.commit("acme/gitops", "main", "alice", "More", &[Edit::write("more", "1")]).unwrap();
    assert!(git(&["-C", "2", "fetch", "-q", "--depth", "1", "origin", "main"]).0);
    assert!(git(&["-C", "2", "reset", "-q", "--hard", "FETCH_HEAD"]).0);
    assert!(folder.path().join("2/more").exists());
    assert!(git(&["-C", "2", "commit", "-q", "--allow-empty", "-m", "By hand"]).0);
    let (pushed, said) = git(&["-C", "2", "push", "-q", &as_alice, "HEAD:refs/heads/by-hand"]);
    assert!(pushed, "{said}");
    assert_eq!(forge.commits("acme/gitops", "by-hand").unwrap()[0].message, "By hand\n");
    let push = forge.deliveries().into_iter().rfind(|delivery| delivery.event == "push").unwrap();
    let push: Value = serde_json::from_str(&push.payload).unwrap();
    assert_eq!((&push["ref"], &push["created"]), (&json!("refs/heads/by-hand"), &json!(true)));
    assert_eq!(push["sender"]["login"], "alice");
    forge.protect("acme/gitops", "refs/heads/main", "No.").unwrap();
    assert!(!git(&["-C", "2", "push", "-q", &as_alice, "HEAD:main"]).0);
    assert_conforms(&forge);
}

/// An RSA key in PEM that belongs to no App.
fn another_key() -> String {
    let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der.as_ref()))
}

#[test]
fn the_app_proves_itself_with_a_short_lived_token() {
    let (forge, installation) = acme();
    let now = jiff::Timestamp::now().as_second();
    let app = as_app(&forge, "GET", "/app", Value::Null);
    assert_eq!((app.status, &app.body["slug"]), (200, &json!("capstan")));
    for (issued, expires) in [(now, now + 3600), (now - 900, now - 300)] {
        let header = format!("Bearer {}", web_token(&forge.app(), issued, expires));
        let refused =
            try_request(&forge, "GET", "/app", &[("authorization", &header)], &Value::Null).unwrap();
        assert_eq!(refused.status, 401);
    }
    let other = AppCredentials { private_key: another_key(), ..forge.app() };
    let header = format!("Bearer {}", web_token(&other, now, now + 60));
    let refused = try_request(&forge, "GET", "/app", &[("authorization", &header)], &Value::Null).unwrap();
    assert_eq!(refused.status, 401, "signed with another App's key");
    as_app(&forge, "GET", "/app/installations?per_page=100", Value::Null);
    let found = as_app(&forge, "GET", "/repos/acme/gitops/installation", Value::Null);
    assert_eq!(found.body["id"], installation);
    let app = Installed::new(&forge, installation);
    assert_eq!(app.get("/installation/repositories")["total_count"], 1);
    assert_eq!(app.call("GET", "/app", Value::Null).status, 401);
    let only_reads = as_app(
        &forge,
        "POST",
        &format!("/app/installations/{installation}/access_tokens"),
        json!({"repositories": ["gitops"], "permissions": {"contents": "read"}}),
    );
    let reader = Installed { forge: &forge, token: only_reads.body["token"].as_str().unwrap().to_owned() };
    reader.get("/repos/acme/gitops/git/ref/heads/main");
    let refused = reader.call("POST", "/repos/acme/gitops/git/blobs", json!({"content": "x"}));
    assert_eq!(refused.status, 403);
    assert_conforms(&forge);
}
