//! How much of a wave is open and rolling at a time, for waves that tell clusters apart by labels and by customers' own
//! fields; and how many failures of how many stop it.

use std::sync::Arc;

use capstan_agent_client::AgentClient;
use capstan_forge::{Edit, Permission};
use capstan_live::agent::RolloutState;

use super::{dashboard, merge, open, statuses};
use crate::agents::{EU, commit, delivered, enrolled, report};
use crate::running::sample;
use crate::running::town::{REPOSITORY, Town};

const CLUSTERS: [&str; 10] = ["c/c1", "c/c2", "f/f1", "f/f2", "m/m1", "m/m2", "m/m3", "o/o1", "o/o2", "r/r1"];

const SETTINGS: &str = "\
mode: propose
dashboard: {title: Fleet}
managementClusters:
- {name: mc-eu, uid: 6f1c2d3e-0000-4000-8000-000000000001, clusters: [\"*/*\"]}
campaigns:
- name: fleet
  stopOn: {count: 2, of: 3}
  waves:
  - name: early
    match: {fields: {/metadata/annotations/acme.example~1ring: early}}
    maxRolling: {machines: 4}
  - {name: gold, match: {labels: {tier: gold}}, maxRolling: {clusters: 1}}
  - {name: one, match: {clusters: [\"o/*\"]}, maxOpen: 1}
  - {name: failing, match: {clusters: [\"f/*\"]}}
  - {name: rest, match: {clusters: [\"**\"]}}
";

/// What a customer writes into the `Cluster`, in the overlay.
fn early(id: &str) -> [Edit; 2] {
    let name = id.rsplit('/').next().unwrap();
    [
        Edit::write(
            format!("{id}/overlay/kustomization.yaml"),
            "resources: [../base/cluster.yaml, ../base/machinepool.yaml]\npatches: [{path: ring.yaml}]\n",
        ),
        Edit::write(
            format!("{id}/overlay/ring.yaml"),
            format!(
                "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: {name}, namespace: my-org, annotations: {{acme.example/ring: early}}}}\n"
            ),
        ),
    ]
}

pub(super) fn tip(town: &Town) -> String {
    town.forge.resolve(REPOSITORY, "main").unwrap().unwrap()
}

/// The reconciler reports on the tip.
pub(super) async fn say(town: &Town, agent: &Arc<AgentClient>, id: &str, state: RolloutState) {
    agent.report(report(id, &commit(&tip(town)), state, 1)).await.unwrap();
    delivered(agent).await;
    town.resync().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_and_rolling_clusters_stay_within_the_limits_of_a_wave_and_failures_stop_it() {
    let mut files = sample::repository(SETTINGS, &CLUSTERS);
    for id in ["m/m1", "m/m2", "m/m3"] {
        files.extend(early(id));
    }
    for id in ["c/c1", "c/c2"] {
        files.retain(|file| *file != sample::cluster(id)[1]);
        files.push(super::labelled(id));
    }
    let town = Town::with(&files, None).await;
    town.forge.create_user("olga").unwrap();
    town.forge.grant(REPOSITORY, "olga", Permission::Admin).unwrap();
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let say = async |id: &str, state| say(&town, &agent, id, state).await;
    for id in CLUSTERS {
        agent.report(report(id, &commit(&tip(&town)), RolloutState::Done, 2)).await.unwrap();
    }
    delivered(&agent).await;
    town.release("v22.0.0", "v1.22.0");
    let release = tip(&town);
    town.settle().await;
    let done = async |id: &str| {
        merge(&town, id).await;
        say(id, RolloutState::Done).await;
    };

    // Two machines each, of at most four: what was merged counts on while its machines roll.
    assert_eq!(open(&town), ["m/m1", "m/m2"]);
    let (_, why) = town.standing("m/m3").await;
    assert!(
        why.ends_with("In wave `early` of campaign `fleet`, 4 of at most 4 machines may be rolling (`maxRolling.machines`)."),
        "{why}"
    );
    merge(&town, "m/m1").await;
    assert_eq!(open(&town), ["m/m2"], "not reported yet");
    say("m/m1", RolloutState::Rolling).await;
    assert_eq!(open(&town), ["m/m2"], "its two machines roll");
    let (_, why) = town.standing("m/m3").await;
    assert!(why.contains("4 of at most 4 machines may be rolling"), "{why}");
    say("m/m1", RolloutState::Done).await;
    assert_eq!(open(&town), ["m/m2", "m/m3"]);
    done("m/m2").await;
    done("m/m3").await;

    // One cluster at a time.
    assert_eq!(open(&town), ["c/c1"]);
    merge(&town, "c/c1").await;
    say("c/c1", RolloutState::Rolling).await;
    let (_, why) = town.standing("c/c2").await;
    assert!(why.contains("1 of at most 1 clusters may be rolling (`maxRolling.clusters`)"), "{why}");
    assert_eq!(open(&town), [""; 0]);
    say("c/c1", RolloutState::Done).await;
    done("c/c2").await;

    // One pull request at a time, whatever rolls.
    assert_eq!(open(&town), ["o/o1"]);
    merge(&town, "o/o1").await;
    say("o/o1", RolloutState::Rolling).await;
    assert_eq!(open(&town), ["o/o2"]);
    say("o/o1", RolloutState::Done).await;
    done("o/o2").await;

    // Of the last three that ended one failed, then two.
    assert_eq!(open(&town), ["f/f1", "f/f2"]);
    merge(&town, "f/f1").await;
    say("f/f1", RolloutState::Stuck).await;
    assert!(statuses(&town, &release).is_empty());
    let (_, body) = dashboard(&town);
    assert!(!body.contains("**stopped**"), "{body}");
    merge(&town, "f/f2").await;
    say("f/f2", RolloutState::Refused).await;
    let words =
        "aws/v22.0.0 is stopped: the merged change of `f/f2` was refused, and 1 other failed before it.";
    assert_eq!(statuses(&town, &release), [("failure".to_owned(), words.to_owned())]);
    assert_eq!(open(&town), [""; 0]);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_open_for_an_older_release_takes_room_from_the_newer_one() {
    let settings = "\
mode: propose
dashboard: {title: Fleet}
campaigns:
- name: fleet
  waves:
  - {name: canary, match: {clusters: [\"*/canary\"]}}
  - {name: rest, match: {clusters: [\"**\"]}, maxOpen: 1}
";
    let town = Town::with(&sample::repository(settings, &["a/canary", "a/r1", "a/r2"]), None).await;
    town.release("v22.0.0", "v1.22.0");
    town.settle().await;
    merge(&town, "a/canary").await;
    merge(&town, "a/r1").await;
    assert_eq!(open(&town), ["a/r2"]);
    // A minor after the other: the one that is open keeps the older release.
    town.release("v23.0.0", "v1.23.0");
    town.settle().await;
    assert_eq!(open(&town), ["a/canary", "a/r2"]);
    merge(&town, "a/canary").await;
    assert_eq!(open(&town), ["a/r2"]);
    let (_, why) = town.standing("a/r1").await;
    assert_eq!(why, "In wave `rest` of campaign `fleet`, 1 of at most 1 pull requests are open (`maxOpen`).");
    merge(&town, "a/r2").await;
    assert_eq!(open(&town), ["a/r1"]);
    town.done();
}
