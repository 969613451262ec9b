//! Pull requests that write campaigns into `.capstan.yaml`: the check shows what is invalid, at its line.

use capstan_forge::{Edit, MergeMethod};

use super::{CLUSTERS, WAVES, open};
use crate::running::sample;
use crate::running::town::{REPOSITORY, Town};

const DOUBTFUL: &str = "\
mode: propose
dashboard: {title: Fleet}
campaigns:
- name: fleet
  waves:
  - name: canary
    match:
      clusters:
      - a/canary
      - a/kanary
    verify:
      webhook:
        url: https://judge.example/well
  - name: gold
    match: {clusters: [\"a/*\"]}
    windows: [{cron: \"0 9 30 2 *\", duration: 8h}]
  - name: silver
    match: {labels: {tier: silver}}
- name: other
  releases: [\"openstack/*\"]
  waves:
  - {name: all, match: {clusters: [\"a/gold?\"]}}
";

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_edits_campaigns_lists_mistakes_with_their_places() {
    let town = Town::with(&sample::repository("mode: propose\n", &CLUSTERS), None).await;
    let settings = |branch: &str, text: &str| town.open("ada", branch, &[Edit::write(".capstan.yaml", text)]);
    let doubtful = settings("doubtful", DOUBTFUL);
    let wrong = settings("wrong", &(WAVES.replace("soak: 2h", "soak: tomorrow") + "polcy: {}\n"));
    let right = settings("right", WAVES);
    town.settle().await;
    let told = |number: u64| {
        let check = town.check(number);
        let line = |one: &serde_json::Value| {
            let (path, message) = (one["path"].as_str().unwrap(), one["message"].as_str().unwrap());
            format!(
                "{path}:{} {} {}",
                one["start_line"],
                one["annotation_level"].as_str().unwrap(),
                message.lines().next().unwrap()
            )
        };
        let mut told: Vec<String> = check.annotations.iter().map(line).collect();
        told.sort();
        (check.conclusion.unwrap(), told.join("\n"))
    };
    let (conclusion, told_of_doubtful) = told(doubtful);
    let expected = "\
.capstan.yaml:10 warning wave `canary` of campaign `fleet`: this pattern matches no cluster
.capstan.yaml:13 failure wave `canary` of campaign `fleet` never ends: `judge.example` is not among the hosts that Capstan may ask for this repository (its operator lists them in the file of the setting `wave-webhooks-file`)
.capstan.yaml:16 failure wave `gold` of campaign `fleet`: every window of it is in a freeze: it would wait for ever
.capstan.yaml:18 warning wave `silver` of campaign `fleet`: no cluster is in this wave";
    assert_eq!(told_of_doubtful, expected);
    assert_eq!(conclusion, "failure", "what waits for ever is an error");
    let (conclusion, told_of_wrong) = told(wrong);
    assert_eq!(conclusion, "failure");
    // Each mistake has an annotation of its own.
    let lines: Vec<&str> = told_of_wrong.lines().collect();
    let [unknown, wrong] = lines.as_slice() else { panic!("{told_of_wrong}") };
    assert_eq!(*unknown, ".capstan.yaml:11 failure unknown key `polcy`; did you mean `policy`?");
    assert!(
        wrong.starts_with(
            ".capstan.yaml:6 failure `campaigns[0].waves[0].soak`: `tomorrow` is not a duration from 0s to 2160h"
        ),
        "{told_of_wrong}"
    );
    let (conclusion, told_of_right) = told(right);
    // No cluster has the label yet.
    assert_eq!(conclusion, "success");
    assert_eq!(
        told_of_right,
        ".capstan.yaml:8 warning wave `gold` of campaign `fleet`: no cluster is in this wave"
    );

    // The check does not report what is on the default branch already, and an empty wave does not hold up the others.
    town.forge.merge_pull(REPOSITORY, right, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    let again = settings("again", &format!("{WAVES}# a remark\n"));
    town.release("v22.0.0", "v1.22.0");
    town.settle().await;
    assert_eq!(told(again).1, "");
    assert_eq!(open(&town), ["a/canary"]);
    town.done();
}
