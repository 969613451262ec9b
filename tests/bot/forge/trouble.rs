//! Faults, limits and entity tags.

use std::time::Duration;

use capstan_forge::{Fault, Matching, Strike};
use serde_json::{Value, json};

use super::client::{Installed, try_request};
use super::git_data::acme;
use capstan_test_parts::conformance::assert_conforms;

#[test]
fn faults_strike_before_or_after_the_work() {
    let (forge, installation) = acme();
    let app = Installed::new(&forge, installation);
    let main = forge.resolve("acme/gitops", "main").unwrap().unwrap();
    let reference = |name: &str| json!({"ref": format!("refs/heads/{name}"), "sha": main});
    let creation = Matching::any().method("POST").path("/git/refs");
    forge.fail_next(1, creation.clone(), Strike::Before, Fault::Status(502));
    assert_eq!(app.call("POST", "/repos/acme/gitops/git/refs", reference("a")).status, 502);
    assert_eq!(forge.branches("acme/gitops").unwrap(), ["main"]);
    forge.fail_next(1, creation.clone(), Strike::After, Fault::Status(500));
    assert_eq!(app.call("POST", "/repos/acme/gitops/git/refs", reference("a")).status, 500);
    assert_eq!(forge.branches("acme/gitops").unwrap(), ["a", "main"]);
    forge.fail_next(1, creation.clone(), Strike::After, Fault::Drop);
    forge.fail_next(1, creation, Strike::Before, Fault::Hang(Duration::from_millis(20)));
    let authorization = format!("Bearer {}", app.token);
    for name in ["b", "c"] {
        let headers = [("authorization", authorization.as_str())];
        let path = "/repos/acme/gitops/git/refs";
        assert!(try_request(&forge, "POST", path, &headers, &reference(name)).is_none());
    }
    assert_eq!(forge.branches("acme/gitops").unwrap(), ["a", "b", "main"]);
    forge.fail_next(1, Matching::any(), Strike::Before, Fault::SecondaryLimit { retry_after_seconds: 7 });
    let limited = app.call("GET", "/repos/acme/gitops", Value::Null);
    assert_eq!((limited.status, limited.header("retry-after")), (403, Some("7")));
    forge.fail_next(1, Matching::any(), Strike::Before, Fault::PrimaryLimit { reset_after_seconds: 9 });
    let limited = app.call("GET", "/repos/acme/gitops", Value::Null);
    assert_eq!((limited.status, limited.header("x-ratelimit-remaining")), (403, Some("0")));
    assert_eq!(app.call("GET", "/rate_limit", Value::Null).status, 200);
    assert_conforms(&forge);
}

#[test]
fn an_unchanged_answer_is_304() {
    let (forge, installation) = acme();
    let app = Installed::new(&forge, installation);
    let path = "/repos/acme/gitops/git/ref/heads/main";
    let first = app.call("GET", path, Value::Null);
    let tag = first.header("etag").unwrap().to_owned();
    let same = app.call_with("GET", path, &[("if-none-match", &tag)], Value::Null);
    assert_eq!((same.status, &same.body), (304, &Value::Null));
    let other = app.call_with("GET", path, &[("if-none-match", "W/\"other\"")], Value::Null);
    assert_eq!(other.status, 200);
    assert_conforms(&forge);
}

#[test]
fn an_unknown_token_is_refused_and_a_private_repository_hidden() {
    let (forge, _) = acme();
    let headers = [("authorization", "Bearer ghs_nothing")];
    assert_eq!(try_request(&forge, "GET", "/repos/acme/gitops", &headers, &Value::Null).unwrap().status, 401);
    assert_eq!(try_request(&forge, "GET", "/repos/acme/gitops", &[], &Value::Null).unwrap().status, 404);
    assert_conforms(&forge);
}
