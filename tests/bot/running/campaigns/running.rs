//! The real program with the hosts of webhooks in a file: it asks those, and a file that it cannot take ends it.

use std::time::Duration;

use axum::http::StatusCode;
use capstan_forge::{Forge, MergeMethod, PullState};
use serde_json::json;

use super::webhooks::{Judge, SECRET, Says};
use crate::running::kills::Place;
use crate::running::sample;
use crate::running::town::{REPOSITORY, forge};
use capstan_test_parts::canary;
use capstan_test_parts::conformance::assert_conforms;

const CLUSTERS: [&str; 2] = ["a/canary", "a/rest"];

/// Until the pull request of a cluster is open.
async fn open(forge: &Forge, place: &Place, cluster: &str) -> u64 {
    let branch = format!("capstan/upgrade/{cluster}");
    for _ in 0..1_200 {
        let pulls = forge.pulls(REPOSITORY).unwrap();
        let mut open = pulls.iter().filter(|pull| pull.state == PullState::Open);
        if let Some(pull) = open.find(|pull| pull.head_branch == branch) {
            return pull.number;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nothing is opened for {cluster}:\n{}", place.log());
}

/// Until the metrics say that missed deliveries were looked for, and that all repositories were.
async fn looked(place: &Place) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://{}/metrics", place.internal);
    for _ in 0..600 {
        let metrics = client.get(&url).send().await.unwrap().text().await.unwrap();
        let has =
            |what: &str| metrics.contains(&format!("capstan_last_look_timestamp_seconds{{what=\"{what}\"}}"));
        if has("deliveries") && has("repositories") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nothing is told of the last look:\n{}", place.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_asks_the_webhooks_of_its_file() {
    canary::plant(SECRET);
    let judge = Judge::new(Says::Text(StatusCode::OK, json!({"result": "pass"}).to_string())).await;
    let settings = format!(
        "\
mode: propose
dashboard: {{title: Fleet}}
campaigns:
- name: fleet
  waves:
  - name: canary
    match: {{clusters: [\"*/canary\"]}}
    verify: {{webhook: {{url: \"http://{}/well\"}}}}
  - {{name: rest, match: {{clusters: [\"**\"]}}}}
",
        judge.address
    );
    let forge = forge();
    let place = Place::new(&forge);
    forge.commit(REPOSITORY, "main", "ada", "Begin", &sample::repository(&settings, &CLUSTERS)).unwrap();
    forge.commit(REPOSITORY, "main", "ada", "First", &[sample::release("v22.0.0", "v1.22.0")]).unwrap();
    let file = place.state().with_file_name("webhooks.yaml");
    let hosts =
        format!("- {{host: \"{}\", repositories: [\"acme/*\"], secret: \"{SECRET}\"}}\n", judge.address);
    std::fs::write(&file, hosts).unwrap();
    let process = place.start_with(&["--wave-webhooks-file", file.to_str().unwrap()]);

    let canary = open(&forge, &place, "a/canary").await;
    assert_eq!(judge.times(), 0, "nothing is merged that it could tell of");
    forge.merge_pull(REPOSITORY, canary, "ada", MergeMethod::Merge).unwrap();
    open(&forge, &place, "a/rest").await;
    let asked = judge.last();
    assert_eq!((judge.times(), &asked["wave"]), (1, &json!("canary")));
    assert_eq!(asked["clusters"][0]["pull_request"], canary);
    looked(&place).await;
    drop(process);
    place.done();
    assert_conforms(&forge);
}

#[test]
fn a_file_that_it_cannot_take_ends_the_program_and_shows_nothing_of_it() {
    let forge = forge();
    let place = Place::new(&forge);
    let file = place.state().with_file_name("webhooks.yaml");
    let flags = ["--wave-webhooks-file", file.to_str().unwrap()];
    for (text, expected) in [
        (None, "it should hold hosts of webhooks, readable by this user"),
        (
            Some("- {host: judge.example.com, repositories: [\"acme/*\"], secret: hunter2}\n"),
            "entry 1, for judge.example.com, has a `secret` of fewer than 16 characters, which can be guessed",
        ),
    ] {
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        let ended = place.command(&flags).output().unwrap();
        let said = [ended.stdout, ended.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(!ended.status.success(), "{said}");
        assert!(said.contains("--wave-webhooks-file") && said.contains(expected), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}
