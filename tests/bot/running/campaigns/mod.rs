//! Campaigns: a release moves through waves, and people stop it, have it go on and skip clusters.

mod edits;
mod limits;
mod losses;
mod providers;
mod running;
mod stops;
mod webhooks;

use capstan_forge::{Edit, MergeMethod, Permission};
use capstan_live::agent::RolloutState;

use super::sample;
use super::town::{REPOSITORY, Town};
use crate::agents::{EU, commit, delivered, enrolled, report};

const WAVES: &str = "\
mode: propose
dashboard: {title: Fleet}
campaigns:
- name: fleet
  waves:
  - {name: canary, match: {clusters: [\"*/canary\"]}, soak: 2h}
  - name: gold
    match: {labels: {tier: gold}}
    maxOpen: 1
  - {name: rest, match: {clusters: [\"**\"]}}
";

const CLUSTERS: [&str; 4] = ["a/canary", "a/gold1", "a/gold2", "a/rest"];

fn labelled(id: &str) -> Edit {
    let name = id.rsplit('/').next().unwrap();
    let text = format!(
        "apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: {name}
  namespace: my-org
  labels: {{tier: gold}}
spec:
  clusterNetwork:
    pods:
      cidrBlocks: [10.0.0.0/16]
"
    );
    Edit::write(format!("{id}/base/cluster.yaml"), text)
}

async fn town(settings: &str) -> Town {
    let mut files = sample::repository(settings, &CLUSTERS);
    for gold in ["a/gold1", "a/gold2"] {
        files.retain(|file| *file != sample::cluster(gold)[1]);
        files.push(labelled(gold));
    }
    let town = Town::with(&files, None).await;
    town.forge.create_user("olga").unwrap();
    town.forge.grant(REPOSITORY, "olga", Permission::Admin).unwrap();
    town
}

/// The branches of open proposals, in a few letters.
fn open(town: &Town) -> Vec<String> {
    let open = town.open_pulls().into_iter();
    let mut open: Vec<String> =
        open.filter_map(|pull| Some(pull.head_branch.strip_prefix("capstan/upgrade/")?.to_owned())).collect();
    open.sort();
    open
}

async fn merge(town: &Town, cluster: &str) {
    let branch = format!("capstan/upgrade/{cluster}");
    let pull = town.open_pulls().into_iter().find(|pull| pull.head_branch == branch).unwrap();
    town.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
}

/// Time passes, and nothing else happens.
async fn pass(town: &Town, seconds: i64) {
    town.pass(seconds);
    town.settle().await;
}

fn dashboard(town: &Town) -> (u64, String) {
    let issue =
        town.forge.issues(REPOSITORY).unwrap().into_iter().find(|issue| issue.title == "Fleet").unwrap();
    (issue.number, issue.body)
}

fn statuses(town: &Town, commit: &str) -> Vec<(String, String)> {
    let mut statuses = town.forge.statuses(REPOSITORY, commit).unwrap();
    statuses.retain(|status| status.context == "capstan/campaign/fleet");
    statuses.into_iter().map(|status| (status.state, status.description)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_moves_through_three_waves_whatever_is_lost_between() {
    let mut town = town(WAVES).await;
    town.release("v22.0.0", "v1.22.0");
    town.settle().await;
    assert_eq!(open(&town), ["a/canary"]);
    let (_, why) = town.standing("a/rest").await;
    assert!(
        why.contains("Wave `rest` of campaign `fleet` waits for wave `canary`: the pull request of `a/canary` is not merged"),
        "{why}"
    );
    merge(&town, "a/canary").await;
    assert_eq!(open(&town), [""; 0], "it must be well for two hours");
    let (_, body) = dashboard(&town);
    assert!(body.contains("### Campaigns\n\n- `aws/v22.0.0` through campaign `fleet`\n  - `canary`: 1 of 1 done; is verified, and must stay healthy until "), "{body}");

    // An hour later everything but GitHub is lost: the soak continues from where it was.
    pass(&town, 3_600).await;
    assert_eq!(open(&town), [""; 0]);
    town.restart_with_nothing().await;
    assert_eq!(open(&town), [""; 0]);
    pass(&town, 3_500).await;
    assert_eq!(open(&town), [""; 0]);
    // No event arrives: time alone wakes it.
    pass(&town, 110).await;
    assert_eq!(open(&town), ["a/gold1"], "one at a time of those with the label");
    let (_, why) = town.standing("a/gold2").await;
    assert!(why.contains("1 of at most 1 pull requests are open (`maxOpen`)"), "{why}");
    merge(&town, "a/gold1").await;
    assert_eq!(open(&town), ["a/gold2"]);

    // A newer release: the open pull request goes to the next minor first. Clusters that had the older release begin at
    // the first wave.
    town.release("v23.0.0", "v1.23.0");
    town.settle().await;
    assert_eq!(open(&town), ["a/canary", "a/gold2"]);
    let gold = town.open_pulls().into_iter().find(|pull| pull.head_branch.ends_with("gold2")).unwrap();
    assert!(gold.body.contains("aws/v22.0.0"), "a minor after the other: {}", gold.body);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn people_stop_it_have_it_go_on_and_skip_clusters() {
    let town = town(WAVES).await;
    town.release("v22.0.0", "v1.22.0");
    town.settle().await;
    let (issue, _) = dashboard(&town);
    town.comment(issue, "ada", "/capstan campaign stop").await;
    let refused = town.answers(issue);
    assert!(refused[0].contains("may not") || refused[0].contains("administrat"), "{refused:?}");
    town.comment(issue, "olga", "/capstan campaign stop wrong image").await;
    merge(&town, "a/canary").await;
    pass(&town, 3 * 3_600).await;
    assert_eq!(open(&town), [""; 0]);
    let (_, body) = dashboard(&town);
    assert!(body.contains("**stopped** on "), "{body}");
    assert!(body.contains("`olga` stopped it (wrong image)."), "{body}");
    // Who owns a cluster does not pass that either.
    town.comment(issue, "ada", "/capstan upgrade a/rest").await;
    assert_eq!(open(&town), [""; 0]);
    town.comment(issue, "olga", "/capstan campaign skip a/gold1").await;
    town.comment(issue, "olga", "/capstan campaign resume").await;
    pass(&town, 3 * 3_600).await;
    assert_eq!(open(&town), ["a/gold2"], "it goes on without the other");
    let (_, body) = dashboard(&town);
    assert!(body.contains("it continues without `a/gold1`"), "{body}");
    merge(&town, "a/gold2").await;
    assert_eq!(open(&town), ["a/rest"]);
    town.comment(issue, "olga", "/capstan campaign skip a/nobody").await;
    assert!(town.answers(issue).last().unwrap().contains("There is no cluster `a/nobody`"));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_rollout_stops_it_for_all_and_is_reported_once() {
    let settings = WAVES.replace("soak: 2h", "soak: 0s")
        + "managementClusters:\n- {name: mc-eu, uid: 6f1c2d3e-0000-4000-8000-000000000001, clusters: [\"a/*\"]}\n";
    let mut town = town(&settings).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let tip = |town: &Town| town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();
    let say = async |town: &Town, id: &str, state| {
        agent.report(report(id, &commit(&tip(town)), state, 1)).await.unwrap();
        delivered(&agent).await;
        town.resync().await;
    };
    for id in CLUSTERS {
        say(&town, id, RolloutState::Done).await;
    }
    town.release("v22.0.0", "v1.22.0");
    let release = tip(&town);
    town.settle().await;
    merge(&town, "a/canary").await;
    say(&town, "a/canary", RolloutState::Rolling).await;
    assert_eq!(open(&town), [""; 0], "its machines roll");
    say(&town, "a/canary", RolloutState::Done).await;
    assert_eq!(open(&town), ["a/gold1"]);
    merge(&town, "a/gold1").await;
    assert_eq!(open(&town), ["a/gold2"]);
    say(&town, "a/gold1", RolloutState::Stuck).await;
    // What is open stays so; nothing else is opened.
    merge(&town, "a/gold2").await;
    say(&town, "a/gold2", RolloutState::Done).await;
    assert_eq!(open(&town), [""; 0]);
    let told = statuses(&town, &release);
    let words = "aws/v22.0.0 is stopped: the rollout of `a/gold1` is stuck.";
    assert_eq!(told, [("failure".to_owned(), words.to_owned())]);
    let (issue, body) = dashboard(&town);
    assert!(body.contains("**stopped** on "), "{body}");
    town.resync().await;
    let stops = town.audit().await.into_iter().filter(|row| row.contains("campaign-stopped")).count();
    assert_eq!((stops, statuses(&town, &release).len()), (1, 1), "told once");

    // The cluster recovers by itself, but the campaign stays stopped until a person resumes it.
    say(&town, "a/gold1", RolloutState::Done).await;
    assert_eq!(open(&town), [""; 0]);
    town.comment(issue, "olga", "/capstan campaign resume").await;
    assert_eq!(open(&town), ["a/rest"]);
    assert_eq!(statuses(&town, &release).last().unwrap().0, "success");
    town.restart_without_database().await;
    assert_eq!(open(&town), ["a/rest"], "and it is not stopped again by what was forgiven");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emergency_passes_soaks_and_windows_where_the_settings_allow_it() {
    let shut = "\
mode: propose
dashboard: {title: Fleet}
campaigns:
- name: fleet
  allowUrgent: true
  timeZone: Asia/Kolkata
  freezes: [{from: 2020-01-01, until: 2090-01-01, reason: for ever}]
  waves:
  - {name: canary, match: {clusters: [\"*/canary\"]}, soak: 2h}
  - {name: rest, match: {clusters: [\"**\"]}}
";
    let town = town(&shut.replace("  allowUrgent: true\n", "")).await;
    town.release("v22.0.0", "v1.22.0");
    town.settle().await;
    assert_eq!(open(&town), [""; 0]);
    let (_, why) = town.standing("a/canary").await;
    assert_eq!(why, "Wave `canary` of campaign `fleet` is frozen (for ever) until 2090-01-01 00:00 IST.");
    town.push("main", &[Edit::write("aws/v22.0.0/capstan.yaml", "urgency: now\n")]);
    town.settle().await;
    assert_eq!(open(&town), [""; 0], "a release alone does not decide that");
    town.push("main", &[Edit::write(".capstan.yaml", shut)]);
    town.settle().await;
    assert_eq!(open(&town), ["a/canary"]);
    merge(&town, "a/canary").await;
    assert_eq!(open(&town), ["a/gold1", "a/gold2", "a/rest"]);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wave_waits_for_its_window_and_the_next_for_the_check_of_each_merge() {
    // An hour that begins within the next two, of a zone whose hours begin at half past.
    let zone = jiff::tz::TimeZone::get("Asia/Kolkata").unwrap();
    let now = jiff::Timestamp::now().to_zoned(zone);
    let opens = now
        .checked_add(jiff::Span::new().hours(2))
        .unwrap()
        .round(jiff::ZonedRound::new().smallest(jiff::Unit::Hour).mode(jiff::RoundMode::Trunc))
        .unwrap();
    let settings = format!(
        "\
mode: propose
dashboard: {{title: Fleet}}
campaigns:
- name: fleet
  timeZone: Asia/Kolkata
  waves:
  - name: canary
    match: {{clusters: [\"*/canary\"]}}
    windows: [{{cron: \"0 {} * * *\", duration: 1h}}]
    verify: {{checks: [e2e]}}
  - {{name: rest, match: {{clusters: [\"**\"]}}}}
",
        opens.hour()
    );
    let town = town(&settings).await;
    town.release("v22.0.0", "v1.22.0");
    town.settle().await;
    assert_eq!(open(&town), [""; 0]);
    let (_, why) = town.standing("a/canary").await;
    let until = opens.strftime("%Y-%m-%d %H:%M IST");
    assert_eq!(
        why,
        format!("Wave `canary` of campaign `fleet` is closed until {until}, when its window opens.")
    );
    // Nothing happens but that time passes.
    let wait = opens.timestamp().as_second() - jiff::Timestamp::now().as_second();
    pass(&town, wait - 60).await;
    assert_eq!(open(&town), [""; 0]);
    pass(&town, 61).await;
    assert_eq!(open(&town), ["a/canary"]);

    merge(&town, "a/canary").await;
    assert_eq!(open(&town), [""; 0]);
    let (_, why) = town.standing("a/rest").await;
    assert!(why.contains("check `e2e` of the merge of `a/canary` has not passed"), "{why}");
    let merged = town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();
    town.forge.set_status(REPOSITORY, &merged, "ada", "e2e", "failure").unwrap();
    pass(&town, 301).await;
    let (_, why) = town.standing("a/rest").await;
    assert!(why.contains("check `e2e` of the merge of `a/canary` failed"), "{why}");
    town.forge.set_status(REPOSITORY, &merged, "ada", "e2e", "success").unwrap();
    // The success of another app under that name does not cancel a failure: all must have passed.
    let report = |app, conclusion: &str| {
        town.forge.report_as_another_app(REPOSITORY, &merged, app, ("e2e", ""), conclusion).unwrap();
    };
    report(7_001, "failure");
    report(7_002, "success");
    pass(&town, 301).await;
    let (_, why) = town.standing("a/rest").await;
    assert!(why.contains("check `e2e` of the merge of `a/canary` failed"), "{why}");
    report(7_001, "success");
    pass(&town, 301).await;
    assert_eq!(open(&town), ["a/gold1", "a/gold2", "a/rest"]);
    town.done();
}
