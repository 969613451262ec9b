//! Provider sets in campaigns: they move through the waves beside clusters, and each waits for its own reconciler.

use std::path::Path;
use std::sync::Arc;

use capstan_agent_client::AgentClient;
use capstan_forge::{Edit, MergeMethod};
use capstan_live::agent::RolloutState;

use super::super::sample;
use super::super::town::{REPOSITORY, Town};
use super::{CLUSTERS, WAVES, dashboard, pass, statuses};
use crate::agents::{EU, commit, delivered, enrolled, report};

const TEST: &str = "a/mc-test";

fn core(version: &str) -> String {
    format!(
        "\
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata: {{name: cluster-api, namespace: capi-system}}
spec: {{version: {version}}}
"
    )
}

fn release(name: &str, version: &str) -> Edit {
    Edit::write(format!("mc/{name}/base/providers.yaml"), core(version))
}

/// Two sets that have their first release.
fn sets() -> Vec<Edit> {
    let mut files = vec![release("v1.0.0", "v1.12.8")];
    for set in [TEST, "a/mc-prod"] {
        files.push(Edit::write(format!("{set}/base/providers.yaml"), core("v1.12.8")));
        files.push(Edit::write(format!("{set}/capstan.yaml"), "release: mc/v1.0.0\n"));
    }
    files
}

fn branches(town: &Town) -> Vec<String> {
    let mut open: Vec<String> = town.open_pulls().into_iter().map(|pull| pull.head_branch).collect();
    open.sort();
    open
}

async fn merge_set(town: &Town) {
    let test = town.open_pulls().into_iter().find(|pull| pull.head_branch.ends_with("mc-test")).unwrap();
    town.forge.merge_pull(REPOSITORY, test.number, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_sets_move_through_the_waves_beside_clusters() {
    let settings = WAVES.replace("*/canary", "*/{canary,mc-test}");
    let mut files = sample::repository(&settings, &CLUSTERS);
    files.extend(sets());
    let town = Town::with(&files, None).await;
    town.push("main", &[release("v2.0.0", "v1.13.4"), sample::release("v22.0.0", "v1.22.0")]);
    town.settle().await;
    assert_eq!(branches(&town), ["capstan/providers/a/mc-test", "capstan/upgrade/a/canary"]);
    merge_set(&town).await;
    pass(&town, 2 * 3_600 + 60).await;
    // Each release goes its own way.
    assert_eq!(branches(&town), ["capstan/providers/a/mc-prod", "capstan/upgrade/a/canary"]);
    town.done();
}

const OPERATED: &str = "\
mode: propose
dashboard: {title: Fleet}
managementClusters:
- name: mc-test
  uid: 6f1c2d3e-0000-4000-8000-000000000001
  providers: {path: a/mc-test, by: operator}
- name: mc-prod
  uid: 6f1c2d3e-0000-4000-8000-000000000002
  providers: {path: a/mc-prod, by: operator}
campaigns:
- name: fleet
  waves:
  - {name: test, match: {clusters: [\"*/mc-test\"]}}
  - {name: rest, match: {clusters: [\"**\"]}}
";

fn tip(town: &Town) -> String {
    town.forge.resolve(REPOSITORY, "main").unwrap().unwrap()
}

/// What the reconciler of the first management cluster says of its set as it is now.
async fn say(town: &Town, agent: &Arc<AgentClient>, state: RolloutState) {
    agent.report(report(TEST, &commit(&tip(town)), state, 1)).await.unwrap();
    delivered(agent).await;
    town.resync().await;
}

/// A release of providers, merged into the first set, whose reconciler had reported that the older one is installed; and
/// the commit of the release.
async fn merged(state: &Path) -> (Town, Arc<AgentClient>, String) {
    let mut files = sample::repository(OPERATED, &["gauss/peu01"]);
    files.extend(sets());
    let town = Town::with(&files, None).await;
    let agent = enrolled(&town, EU, state).await;
    say(&town, &agent, RolloutState::Done).await;
    town.push("main", &[release("v2.0.0", "v1.13.4")]);
    town.settle().await;
    let pushed = tip(&town);
    assert_eq!(branches(&town), ["capstan/providers/a/mc-test"]);
    merge_set(&town).await;
    assert_eq!(branches(&town), [""; 0], "what was reported is of the older one");
    let (_, body) = dashboard(&town);
    assert!(body.contains("`a/mc-test` is not rolled out"), "{body}");
    (town, agent, pushed)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_whose_reconciler_reports_done_opens_the_next_wave() {
    let state = tempfile::tempdir().unwrap();
    let (mut town, agent, _) = merged(state.path()).await;
    say(&town, &agent, RolloutState::Rolling).await;
    assert_eq!(branches(&town), [""; 0], "its providers are being installed");
    town.restart_without_database().await;
    assert_eq!(branches(&town), [""; 0], "nor when all reports are lost");
    let anew = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, anew.path()).await;
    say(&town, &agent, RolloutState::Done).await;
    assert_eq!(branches(&town), ["capstan/providers/a/mc-prod"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_that_is_stuck_or_refused_stops_the_campaign() {
    for (how, words) in [
        (RolloutState::Stuck, "the rollout of `a/mc-test` is stuck"),
        (RolloutState::Refused, "the merged change of `a/mc-test` was refused"),
    ] {
        let state = tempfile::tempdir().unwrap();
        let (town, agent, pushed) = merged(state.path()).await;
        say(&town, &agent, how).await;
        assert_eq!(branches(&town), [""; 0], "{words}");
        let told = statuses(&town, &pushed);
        let text = format!("mc/v2.0.0 is stopped: {words}.");
        assert_eq!(told, [("failure".to_owned(), text)]);
        // It heals by itself, and stays stopped.
        say(&town, &agent, RolloutState::Done).await;
        assert_eq!(branches(&town), [""; 0], "{words}");
    }
}
