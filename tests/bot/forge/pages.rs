//! The pages for people, as a browser asks for them.

use capstan_forge::{Edit, Forge, NewPull, Permission, PullState};
use serde_json::{Value, json};

use super::client::{Installed, try_request};
use super::git_data::acme;

const PULL: &str = "/acme/gitops/pull/1";

fn look(forge: &Forge, path: &str) -> String {
    let response = try_request(forge, "GET", path, &[], &Value::Null).unwrap();
    assert_eq!(response.status, 200, "{path}: {response:?}");
    response.body.as_str().unwrap().to_owned()
}

fn press(forge: &Forge, action: &str, form: &str) -> u16 {
    let form = Value::String(form.to_owned());
    try_request(forge, "POST", &format!("{PULL}/{action}"), &[], &form).unwrap().status
}

/// A forge with one pull request and a check on it that has something to say.
fn with_pull() -> Forge {
    let (forge, installation) = acme();
    let edit = Edit::write("gauss/peu01/base/pool.yaml", "replicas: <3>\n");
    let head = forge.commit("acme/gitops", "more", "alice", "More", &[edit]).unwrap();
    let new = NewPull {
        title: "More <machines>".to_owned(),
        body: "Because **three** is more.\n\n<script>alert(1)</script>".to_owned(),
        head: "more".to_owned(),
        base: "main".to_owned(),
        draft: false,
    };
    forge.open_pull("acme/gitops", "alice", new).unwrap();
    Installed::new(&forge, installation).post(
        "/repos/acme/gitops/check-runs",
        json!({"name": "capstan", "head_sha": head, "status": "completed", "conclusion": "failure", "output": {
            "title": "1 error", "summary": "| a |\n|---|\n| `cell` |",
            "annotations": [{"path": "gauss/peu01/base/pool.yaml", "start_line": 1, "end_line": 1,
                "annotation_level": "failure", "title": "some-rule", "message": "no number"}],
        }}),
    );
    forge
}

#[test]
fn a_pull_request_is_listed_and_shown_with_body_check_and_diff() {
    let forge = with_pull();
    assert!(look(&forge, "/").contains("href=\"/acme/gitops\""));
    forge.welcome("1. Look at [the list](/acme/gitops) <script>");
    let first = look(&forge, "/");
    assert!(
        first.contains("<li>Look at <a href=\"/acme/gitops\">the list</a> &lt;script&gt;</li>"),
        "{first}"
    );
    let list = look(&forge, "/acme/gitops");
    assert!(list.contains("href=\"/acme/gitops/pull/1\">More &#60;machines&#62;</a>"), "{list}");
    let page = look(&forge, PULL);
    for part in [
        "<strong>three</strong>",
        "<td><code>cell</code></td>",
        "<td>-replicas: 2</td>",
        "<td>+replicas: &lt;3&gt;</td>",
        "<b>some-rule</b><br>no number",
        "Merge pull request",
        "You act as alice.",
    ] {
        assert!(page.contains(part), "`{part}` is missing in {page}");
    }
    assert!(!page.contains("<script"), "{page}");
}

#[test]
fn files_are_shown_by_folder_and_line() {
    let forge = with_pull();
    let folder = look(&forge, "/acme/gitops/tree/HEAD/gauss/peu01");
    assert!(folder.contains("href=\"/acme/gitops/tree/HEAD/gauss/peu01/base\">base/</a>"), "{folder}");
    let file = look(&forge, "/acme/gitops/blob/main/gauss/peu01/base/pool.yaml");
    assert!(file.contains("<tr id=\"L1\"><td class=\"n\">1</td><td>replicas: 2</td></tr>"), "{file}");
    let nothing = try_request(&forge, "GET", "/acme/gitops/tree/HEAD/nothing", &[], &Value::Null).unwrap();
    assert_eq!(nothing.status, 404);
}

#[test]
fn the_box_comments_and_the_button_merges() {
    let forge = with_pull();
    assert_eq!(press(&forge, "comment", "body=%2Fcapstan+help%0D%0Aplease"), 303);
    let comments = forge.comments("acme/gitops", 1).unwrap();
    assert_eq!((comments[0].author.as_str(), comments[0].body.as_str()), ("alice", "/capstan help\nplease"));
    assert_eq!(press(&forge, "comment", "body=+"), 422);
    assert_eq!(press(&forge, "close", ""), 303);
    assert_eq!(forge.pull("acme/gitops", 1).unwrap().state, PullState::Closed);
    assert_eq!(press(&forge, "reopen", ""), 303);
    assert_eq!(press(&forge, "merge", ""), 303);
    assert_eq!(forge.pull("acme/gitops", 1).unwrap().state, PullState::Merged);
    assert!(look(&forge, PULL).contains("alice merged this at"));
}

#[test]
fn an_issue_is_listed_and_its_boxes_are_ticked() {
    let forge = with_pull();
    let readme = Edit::write("README.md", "# Clusters\n\nLook at **this**.\n");
    forge.commit("acme/gitops", "main", "alice", "Readme", &[readme]).unwrap();
    let body = "- [ ] <!-- a -->one\n- [x] two\n";
    let number = forge.open_issue("acme/gitops", "alice", "A <board>", body).unwrap();
    let list = look(&forge, "/acme/gitops");
    assert!(list.contains(&format!("href=\"/acme/gitops/issues/{number}\">A &#60;board&#62;</a>")), "{list}");
    assert!(list.contains("Look at <strong>this</strong>."), "{list}");
    let page = format!("/acme/gitops/issues/{number}");
    assert!(look(&forge, &page).contains("value=\"1\" aria-label=\"Untick\">"));
    let tick = |form: &str| {
        let form = Value::String(form.to_owned());
        try_request(&forge, "POST", &format!("{page}/tick"), &[], &form).unwrap().status
    };
    assert_eq!((tick("box=0"), tick("box=2"), tick("box=")), (303, 422, 404));
    assert_eq!(forge.issues("acme/gitops").unwrap()[0].body, "- [x] <!-- a -->one\n- [x] two\n");
    // A pull request has a page of its own.
    assert_eq!(try_request(&forge, "GET", "/acme/gitops/issues/1", &[], &Value::Null).unwrap().status, 404);
}

#[test]
fn the_default_viewer_is_the_person_with_most_rights() {
    let forge = with_pull();
    forge.create_user("zoe").unwrap();
    forge.grant("acme/gitops", "zoe", Permission::Admin).unwrap();
    assert!(look(&forge, PULL).contains("You act as zoe."));
}

#[test]
fn another_site_cannot_press_the_buttons() {
    let forge = with_pull();
    let path = format!("{PULL}/merge");
    let headers = [("sec-fetch-site", "cross-site")];
    let refused = try_request(&forge, "POST", &path, &headers, &Value::Null).unwrap();
    assert_eq!(refused.status, 403);
    assert_eq!(forge.pull("acme/gitops", 1).unwrap().state, PullState::Open);
}
