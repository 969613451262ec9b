//! `capstan agents invite|list|revoke`, as people type it.

use std::process::Output;

use capstan_live::agent::JoinCode;
use capstan_test_support::tally;

use super::raw::Raw;
use super::{EU, SETTINGS};
use crate::running::town::Town;

fn capstan(url: &str, arguments: &[&str]) -> Output {
    tally::command(env!("CARGO_BIN_EXE_capstan"))
        .args(arguments)
        .env("CAPSTAN_DATABASE_URL", url)
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_printed_once_and_agents_are_listed_and_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("capstan.sqlite").display());
    let town = Town::on(SETTINGS, &["gauss/peu01"], Some(&url)).await;
    assert_eq!(
        out(&capstan(&url, &["agents", "list"])),
        "No reconciler has enrolled yet; `capstan agents invite` prints a join code.\n"
    );
    let invited = capstan(&url, &["agents", "invite", "--management-cluster", EU]);
    let code = out(&invited);
    assert!(JoinCode::parse(&code).is_ok(), "the code alone: {invited:?}");
    assert!(String::from_utf8_lossy(&invited.stderr).contains("works once"));
    let mut agent = Raw::new(&town);
    assert_eq!(agent.enrol(code.trim(), EU).await.status, 201);
    let id = agent.enrolment.as_ref().unwrap().agent.to_string();

    let listed = out(&capstan(&url, &["agents", "list"]));
    assert!(listed.contains(&id) && listed.contains(EU) && listed.contains("enrolled"), "{listed}");
    let json: serde_json::Value =
        serde_json::from_str(&out(&capstan(&url, &["agents", "list", "-o", "json"]))).unwrap();
    assert_eq!(
        (json[0]["id"].as_str(), json[0]["managementCluster"].as_str()),
        (Some(id.as_str()), Some(EU))
    );
    for text in [listed, json.to_string()] {
        assert!(!text.contains(code.trim()), "a code is shown once");
    }

    let revoked = capstan(&url, &["agents", "revoke", &id]);
    assert_eq!(out(&revoked), format!("revoked {id}\n"));
    let token = agent.token();
    assert_eq!(agent.get("work?repository=acme/gitops", Some(&token)).await.status, 401);
    // A second one is asked for by name.
    let (one, beside) = (["agents", "invite", "--management-cluster", EU], ["--name", "standby"]);
    assert_eq!(Raw::new(&town).enrol(out(&capstan(&url, &one)).trim(), EU).await.status, 201);
    let refused = capstan(&url, &one);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("has an agent"), "{refused:?}");
    let code = out(&capstan(&url, &[&one[..], &beside].concat()));
    assert_eq!(Raw::new(&town).enrol(code.trim(), EU).await.status, 201);
    assert!(out(&capstan(&url, &["agents", "list"])).contains("standby"));
    for wrong in [
        &["agents", "invite"][..],
        &["agents", "invite", "--management-cluster", EU, "--name", "Stand\nby"],
        &["agents", "revoke", id.as_str()],
        &["agents", "revoke", "x"],
        &["agents", "invite", "--management-cluster", "x"],
    ] {
        assert_eq!(capstan(&url, wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_database_that_is_not_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capstan.sqlite");
    let refused = capstan(&format!("sqlite://{}", file.display()), &["agents", "list"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("does not exist: give the same --state-dir"), "{said}");
    assert!(!file.exists());
}
