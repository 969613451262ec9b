//! The same on a forge with real Git.

use capstan_forge::{Edit, MergeMethod};
use capstan_ports::{ClusterFilter, ListExtent, PageRecords as _, VisibleRepositories};

use super::super::sample;
use super::super::town::{REPOSITORY, Town};

const TOWN: &str = "mode: propose\nupgrade: {proposals: {group: {by: \"*/\"}}, merge: {approvals: 1}}\n";
const PEU: [&str; 2] = ["gauss/peu01", "gauss/peu02"];
const GAUSS: &str = "capstan/upgrade/%group/gauss";

#[tokio::test(flavor = "multi_thread")]
async fn it_is_opened_approved_and_merged_and_found_again() {
    let mut town = Town::new(TOWN, &PEU).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 1);
    let (number, pull) = (pulls[0].number, &pulls[0]);
    assert_eq!(
        (pull.head_branch.as_str(), pull.title.as_str()),
        (GAUSS, "Upgrade gauss (2 clusters) to aws/v22.0.0")
    );
    for cluster in PEU {
        let row = format!("\n| `{cluster}` | `aws/v21.0.0` | ");
        assert!(pull.body.contains(&row), "{}", pull.body);
        assert!(town.file(GAUSS, &format!("{cluster}/base/machinepool.yaml")).contains("v1.22.5"));
        assert_eq!(town.standing(cluster).await.0, "proposed");
    }
    let commit = &town.forge.commits(REPOSITORY, GAUSS).unwrap()[0];
    assert!(commit.message.contains("\ngauss/peu02 from aws/v21.0.0: "), "{}", commit.message);
    assert!(town.check(number).title.starts_with("1 of 1 approval missing"), "{}", town.check(number).title);

    let before = town.forge.write_calls();
    town.restart_without_database().await;
    assert_eq!(town.open_pulls().len(), 1);
    assert_eq!(town.forge.write_calls(), before, "all was found again");

    town.comment(number, "ada", "/capstan merge").await;
    assert!(town.answers(number).last().unwrap().starts_with("`gauss`: "), "{:?}", town.answers(number));
    town.comment(number, "ada", "/capstan approve").await;
    assert!(town.pull(number).body.starts_with("> Approved by `ada` for "), "{}", town.pull(number).body);
    assert_eq!(town.answers(number).len(), 1, "the description says it: {:?}", town.answers(number));
    town.restart_without_database().await;
    assert_eq!(town.check(number).conclusion.as_deref(), Some("success"), "{}", town.check(number).summary);
    assert_eq!(town.check(number).buttons, ["merge", "replan"]);
    town.comment(number, "ada", "/capstan merge").await;
    for cluster in PEU {
        let record = town.file("main", &format!("{cluster}/capstan.yaml"));
        assert!(record.starts_with("release: aws/v22.0.0\n"), "{record}");
        assert_eq!(town.standing(cluster).await.0, "current");
    }
    assert!(town.open_pulls().is_empty());
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_asked_for_by_name_and_a_rollback_are_one_clusters_own() {
    let town = Town::new(TOWN, &PEU).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let number = town.open_pulls()[0].number;
    town.comment(number, "ada", "/capstan upgrade gauss/peu02 to aws/v22.0.0").await;
    let own = town.open_pulls().into_iter().find(|pull| pull.head_branch == "capstan/upgrade/gauss/peu02");
    let own = own.unwrap_or_else(|| panic!("{:?}", town.answers(number)));
    assert!(!town.file(GAUSS, "gauss/peu02/base/machinepool.yaml").contains("v1.22.5"), "it left");
    assert!(town.file(GAUSS, "gauss/peu01/base/machinepool.yaml").contains("v1.22.5"));
    let link = format!("See #{}.", own.number);
    assert!(town.answers(number).last().unwrap().contains(&link), "{:?}", town.answers(number));
    town.forge.merge_pull(REPOSITORY, own.number, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 1, "merged, it is in its group again");
    assert!(town.file(GAUSS, "gauss/peu02/base/machinepool.yaml").contains("v1.22.9"));

    town.forge.merge_pull(REPOSITORY, number, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    town.comment(number, "ada", "/capstan rollback").await;
    let answer = town.answers(number).pop().unwrap();
    assert!(answer.contains("Name the cluster, as in `rollback gauss/peu01`"), "{answer}");
    // Also where a newer one is open on its branch by then.
    town.release("v22.2.0", "v1.22.10");
    town.settle().await;
    town.comment(number, "ada", "/capstan rollback gauss/peu01").await;
    let back = town.open_pulls().into_iter().find(|pull| pull.head_branch == "capstan/upgrade/gauss/peu01");
    let back = back.unwrap_or_else(|| panic!("{:?}", town.answers(number)));
    assert!(back.title.starts_with("Roll gauss/peu01 back from aws/v22.1.0"), "{}", back.title);
    assert!(!town.file(GAUSS, "gauss/peu01/base/machinepool.yaml").contains("v1.22.10"), "it left");
    assert!(town.file(GAUSS, "gauss/peu02/base/machinepool.yaml").contains("v1.22.10"));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_below_another_takes_its_place() {
    let settings = |by: &str| {
        format!(
            "mode: propose\ndashboard: {{enabled: false}}\nupgrade: {{proposals: {{group: {{by: \"{by}\"}}}}}}\n"
        )
    };
    let town = Town::new(&settings("*/"), &["gauss/eu/peu01", "gauss/eu/peu02"]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    assert_eq!(town.open_pulls()[0].head_branch, GAUSS);
    for (by, branch) in [("*/*/", "capstan/upgrade/%group/gauss%2Feu"), ("*/", GAUSS)] {
        town.push("main", &[Edit::write(".capstan.yaml", settings(by))]);
        town.settle().await;
        let open = town.open_pulls();
        assert_eq!(open.len(), 1, "{open:?}");
        assert_eq!(open[0].head_branch, branch, "Git has no branch below a branch, and need not");
    }
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_holds_itself_back_or_follows_another_track_stops_nobody() {
    let town = Town::new(TOWN, &PEU).await;
    town.release("v21.1.0", "v1.21.9");
    town.release("v22.0.0", "v1.22.5");
    town.push("main", &[Edit::write("gauss/peu02/capstan.yaml", "release: aws/v21.0.0\ntrack: minor\n")]);
    town.settle().await;
    let pull = town.open_pulls().pop().unwrap();
    assert_eq!(pull.title, "Upgrade gauss (1 cluster) to aws/v22.0.0");
    let why = "- `gauss/peu02`: waiting: `aws/v21.1.0` is offered to it, but the pull request of its group brings `aws/v22.0.0` to others";
    assert!(pull.body.contains(why), "{}", pull.body);
    town.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    let pull = town.open_pulls().pop().unwrap();
    assert_eq!(pull.title, "Upgrade gauss (1 cluster) to aws/v21.1.0");
    assert!(town.file(GAUSS, "gauss/peu02/base/machinepool.yaml").contains("v1.21.9"));

    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    assert_eq!(town.standing("gauss/peu01").await.0, "waiting", "what is open goes first where it is even");
    town.push(
        "main",
        &[Edit::write("gauss/peu02/overlay/capstan.yaml", "hold: {reason: audit, until: 2999-12-01}\n")],
    );
    town.settle().await;
    let pull = town.open_pulls().pop().unwrap();
    assert_eq!(pull.title, "Upgrade gauss (1 cluster) to aws/v22.1.0");
    assert!(pull.body.contains("- `gauss/peu02`: "), "{}", pull.body);
    assert!(town.file(GAUSS, "gauss/peu02/base/machinepool.yaml").contains("v1.21.4"));
    town.done();
}

/// A release that also says how many replicas a pool has.
fn release(name: &str, kubernetes: &str, replicas: u32) -> Edit {
    Edit::write(
        format!("aws/{name}/base/machinepool.yaml"),
        format!(
            "kind: MachinePool\nspec:\n  replicas: {replicas}\n  template:\n    spec:\n      version: {kubernetes}\n"
        ),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_and_an_error_are_one_clusters_own() {
    let mut town = Town::new(TOWN, &PEU).await;
    town.push("main", &[release("v21.0.0", "v1.21.4", 3), release("v22.0.0", "v1.22.5", 4)]);
    town.settle().await;
    let pool = |cluster: &str| town.file(GAUSS, &format!("{cluster}/base/machinepool.yaml"));
    assert!(PEU.iter().all(|cluster| pool(cluster).contains("replicas: 2 # as")));
    town.comment(1, "ada", "/capstan take for gauss/peu02 /spec/replicas").await;
    assert!(town.answers(1).is_empty(), "{:?}", town.answers(1));
    assert!(
        town.pull(1).body.contains("the release's value is taken, as `ada` decided"),
        "{}",
        town.pull(1).body
    );
    assert!(pool("gauss/peu01").contains("replicas: 2 # as"));
    assert!(pool("gauss/peu02").contains("replicas: 4 # as"));
    town.restart_without_database().await;
    let pool = |cluster: &str| town.file(GAUSS, &format!("{cluster}/base/machinepool.yaml"));
    assert!(pool("gauss/peu02").contains("replicas: 4 # as"), "it outlives the database");
    town.comment(1, "ada", "/capstan take /spec/replicas").await;
    assert!(PEU.iter().all(|cluster| pool(cluster).contains("replicas: 4 # as")), "of all that have it");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_settled_for_one_of_them_survives_replans_until_a_value_changes() {
    let mut town = Town::new(TOWN, &PEU).await;
    town.push("main", &[release("v21.0.0", "v1.21.4", 3), release("v22.0.0", "v1.22.5", 4)]);
    town.settle().await;
    let replicas = |town: &Town| {
        PEU.map(|cluster| {
            let pool = town.file(GAUSS, &format!("{cluster}/base/machinepool.yaml"));
            let line = pool.lines().find_map(|line| line.trim().strip_prefix("replicas: ")).unwrap();
            line.split(' ').next().unwrap().to_owned()
        })
    };
    assert_eq!(replicas(&town), ["2", "2"]);
    town.comment(
        1,
        "ada",
        "/capstan take for gauss/peu01 /spec/replicas\n/capstan keep for gauss/peu02 /spec/replicas",
    )
    .await;
    assert_eq!(replicas(&town), ["4", "2"], "{:?}", town.answers(1));
    // The values survive a replan by command, a newer version of the release, and the overwriting of a person's commit.
    town.comment(1, "ada", "/capstan replan").await;
    assert_eq!(replicas(&town), ["4", "2"], "{:?}", town.answers(1));
    town.push("main", &[release("v22.0.0", "v1.22.6", 4)]);
    town.settle().await;
    assert_eq!(replicas(&town), ["4", "2"]);
    assert!(town.file(GAUSS, "gauss/peu01/base/machinepool.yaml").contains("v1.22.6"));
    town.push(GAUSS, &[sample::machine_pool("gauss/peu01", "v1.22.6", 9)]);
    town.settle().await;
    assert_eq!(replicas(&town)[0], "9", "an edited branch is left alone");
    town.restart_without_database().await;
    town.comment(1, "ada", "/capstan replan").await;
    assert_eq!(replicas(&town), ["4", "2"], "{:?}", town.answers(1));
    let body = town.pull(1).body;
    assert!(body.contains("the release's value is taken, as `ada` decided"), "{body}");
    assert!(body.contains("the cluster's value is kept, as `ada` decided"), "{body}");
    // The decision was about another value.
    town.push("main", &[release("v22.0.0", "v1.22.6", 5)]);
    town.settle().await;
    assert_eq!(replicas(&town), ["2", "2"]);
    assert!(!town.pull(1).body.contains("as `ada` decided"), "{}", town.pull(1).body);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_passes_for_the_cluster_that_it_is_said_of() {
    let settings =
        "mode: propose\npolicy: {not-in-release: error}\nupgrade: {proposals: {group: {by: \"*/\"}}}\n";
    let town = Town::new(settings, &PEU).await;
    for cluster in PEU {
        let name = cluster.rsplit('/').next().unwrap();
        let pool = format!(
            "apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata:
  name: {name}-own
  namespace: my-org
spec:
  clusterName: {name}
  template:
    spec:
      clusterName: {name}
      version: v1.21.4
"
        );
        town.push("main", &[Edit::write(format!("{cluster}/base/own.yaml"), pool)]);
    }
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    assert_eq!(town.open_pulls()[0].head_branch, GAUSS);
    assert_eq!(town.check(1).conclusion.as_deref(), Some("failure"), "{}", town.check(1).summary);
    town.comment(1, "ada", "/capstan override for gauss/peu01 not-in-release it is its own").await;
    assert_eq!(town.check(1).conclusion.as_deref(), Some("failure"), "{}", town.check(1).summary);
    town.comment(1, "ada", "/capstan override for gauss/peu02 not-in-release it is, too").await;
    assert_eq!(town.check(1).conclusion.as_deref(), Some("success"), "{}", town.check(1).summary);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_has_a_pull_request_of_its_own_and_holds_nobody_up() {
    let town = Town::new(TOWN, &PEU).await;
    town.push(
        "main",
        &[
            // No release fits it, so that a person has to look.
            Edit::remove("gauss/peu02/capstan.yaml"),
            sample::machine_pool("gauss/peu02", "v1.21.9", 2),
        ],
    );
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let open: Vec<(String, bool)> =
        town.open_pulls().into_iter().map(|pull| (pull.head_branch, pull.draft)).collect();
    let expected = [(GAUSS.to_owned(), false), ("capstan/upgrade/gauss/peu02".to_owned(), true)];
    assert_eq!(open, expected);
    assert!(town.file(GAUSS, "gauss/peu02/base/machinepool.yaml").contains("v1.21.9"));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_dashboard_and_status_name_it_for_each_of_its_clusters() {
    let settings = "mode: propose\nupgrade: {proposals: {group: {by: \"*/\"}}}\ndashboard: {enabled: true}\n";
    let town = Town::new(settings, &PEU).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let number = town.open_pulls()[0].number;
    let issues = town.forge.issues(REPOSITORY).unwrap();
    let board = issues.iter().find(|issue| issue.title == "Capstan dashboard").unwrap();
    for cluster in PEU {
        let line = board
            .body
            .lines()
            .find(|line| line.contains(cluster))
            .unwrap_or_else(|| panic!("{}", board.body));
        assert!(line.contains(&format!("#{number}")), "{}", board.body);
    }
    town.comment(number, "ada", "/capstan status").await;
    let answer = town.answers(number).pop().unwrap();
    assert_eq!(answer.matches(&format!("#{number}")).count(), 2, "{answer}");
    let all = ListExtent { skip: 0, take: u32::MAX };
    let rows = town
        .database()
        .targets(&VisibleRepositories::Everything, &ClusterFilter::default(), all)
        .await
        .unwrap();
    let shown: Vec<(&str, Option<u64>)> =
        rows.iter().map(|row| (row.target.as_str(), row.pull_request)).collect();
    assert_eq!(shown, PEU.map(|cluster| (cluster, Some(number))), "as the fleet page tells");
    town.done();
}
