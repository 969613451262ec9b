//! Conversations on a forge: push this, expect that pull request; comment this, expect that check.

use capstan_forge::{DeliveryOrder, Edit, MergeMethod, NewPull, PullState, ReviewState};

use super::sample;
use super::town::{REPOSITORY, Town};

const PEU01: &str = "gauss/peu01";
const PEU02: &str = "gauss/peu02";
const BRANCH: &str = "capstan/upgrade/gauss/peu01";
const POOL: &str = "gauss/peu01/base/machinepool.yaml";

#[tokio::test(flavor = "multi_thread")]
async fn a_release_gives_one_pull_request_for_each_concerned_cluster() {
    let town = Town::new("mode: propose\n", &[PEU01, PEU02]).await;
    assert!(town.pulls().is_empty(), "nothing newer is there");
    let before = town.forge.write_calls();
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;

    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 2);
    assert_eq!(town.forge.write_calls() - before, 10, "four writes and a check for each");
    let pull = pulls.iter().find(|pull| pull.head_branch == BRANCH).unwrap();
    assert_eq!(pull.title, "Upgrade gauss/peu01 from aws/v21.0.0 to aws/v22.0.0");
    assert_eq!(pull.author, town.forge.bot_login());
    let row = "| `MachinePool my-org/peu01-mp-0` | `/spec/template/spec/version` | `v1.21.4` | `v1.22.5` | the release changes it |";
    assert!(pull.body.contains(row), "{}", pull.body);
    assert!(pull.body.contains("| Will be replaced | 2 machines |"), "{}", pull.body);

    let old = town.file("main", POOL);
    assert_eq!(town.file(BRANCH, POOL), old.replace("v1.21.4", "v1.22.5"), "nothing else changes");
    let record = town.file(BRANCH, "gauss/peu01/capstan.yaml");
    assert!(record.starts_with("release: aws/v22.0.0\nreleaseTree: "), "{record}");
    let commit = &town.forge.commits(REPOSITORY, BRANCH).unwrap()[0];
    assert!(commit.verified, "no author is sent, so GitHub signs");
    assert!(
        commit.message.contains("\nCapstan-Source: aws/v22.0.0@")
            && commit.message.contains("\nCapstan-Plan: ")
    );

    let check = town.check(pull.number);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{} {}", check.title, check.summary);
    assert!(check.title.contains("2 machines are replaced"), "{}", check.title);

    let before = town.forge.write_calls();
    town.resync().await;
    assert_eq!(town.forge.write_calls(), before, "nothing moved, no call");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_release_updates_in_place_but_not_what_is_approved() {
    let town = Town::new("mode: propose\n", &[PEU01, PEU02]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let approved = town.open_pulls().into_iter().find(|pull| pull.head_branch.ends_with("peu02")).unwrap();
    town.forge.review(REPOSITORY, approved.number, "ada", ReviewState::Approved, "").unwrap();
    town.settle().await;
    town.release("v22.1.0", "v1.22.9");
    town.settle().await;

    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 2);
    let moved = pulls.iter().find(|pull| pull.head_branch == BRANCH).unwrap();
    assert_eq!(moved.title, "Upgrade gauss/peu01 from aws/v21.0.0 to aws/v22.1.0");
    assert!(town.file(BRANCH, POOL).contains("v1.22.9"));
    let kept = town.pull(approved.number);
    assert_eq!((kept.head.as_str(), kept.title.as_str()), (approved.head.as_str(), approved.title.as_str()));
    assert!(
        town.check(kept.number).summary.contains("Capstan offers `aws/v22.1.0` when it is merged or closed")
    );

    town.forge.merge_pull(REPOSITORY, kept.number, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    let next = town.open_pulls().into_iter().find(|pull| pull.head_branch.ends_with("peu02")).unwrap();
    assert_eq!(next.title, "Upgrade gauss/peu02 from aws/v22.0.0 to aws/v22.1.0");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_base_moves_the_proposal_follows_and_merged_it_is_done() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    town.push("main", &[sample::machine_pool(PEU01, "v1.21.4", 7)]);
    town.settle().await;
    let written = town.file(BRANCH, POOL);
    assert!(written.contains("replicas: 7") && written.contains("v1.22.5"), "{written}");
    assert_eq!(town.pulls().len(), 1);
    assert!(town.pull(1).body.contains("| Will be replaced | 7 machines |"));

    town.forge.merge_pull(REPOSITORY, 1, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    assert!(town.file("main", "gauss/peu01/capstan.yaml").starts_with("release: aws/v22.0.0\n"));
    town.resync().await;
    assert_eq!(town.pulls().len(), 1, "nothing further");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_persons_close_is_respected_and_a_newer_release_opens_a_new_one() {
    let mut town = Town::new("mode: propose\n", &[PEU01]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    town.forge.close(REPOSITORY, 1, "ada").unwrap();
    town.settle().await;
    town.restart_without_database().await;
    assert!(town.open_pulls().is_empty(), "not offered again");

    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    let pulls = town.pulls();
    assert_eq!(pulls.len(), 2);
    assert_eq!(town.open_pulls()[0].title, "Upgrade gauss/peu01 from aws/v21.0.0 to aws/v22.1.0");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_branch_waits_for_a_writers_replan() {
    let mut town = Town::new("mode: propose\n", &[PEU01]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    town.push(BRANCH, &[sample::machine_pool(PEU01, "v1.22.5", 9)]);
    town.settle().await;
    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    town.restart_without_database().await;
    assert!(town.file(BRANCH, POOL).contains("replicas: 9"), "commits of a person stays");
    let summary = town.check(1).summary;
    assert!(summary.contains("The branch has commits of a person"), "{summary}");
    let would =
        format!("### What Capstan would have changed in `{PEU01}`\n\n`aws/v21.0.0` to `aws/v22.1.0`: ");
    assert!(summary.contains(&would), "{summary}");
    let differs = format!("The branch differs in `{POOL}` and `{PEU01}/capstan.yaml`.");
    assert!(summary.contains(&differs), "{summary}");
    assert!(summary.contains("| `v1.21.4` | `v1.22.9` | the release changes it |"), "{summary}");

    town.comment(1, "mallory", "/capstan replan").await;
    assert!(town.file(BRANCH, POOL).contains("replicas: 9"));
    assert!(town.answers(1)[0].contains("it needs write permission"), "{:?}", town.answers(1));

    town.comment(1, "ada", "Fine, thanks.\n\n/capstan replan").await;
    let written = town.file(BRANCH, POOL);
    assert!(written.contains("replicas: 2") && written.contains("v1.22.9"), "{written}");
    town.restart_without_database().await;
    assert_eq!(town.answers(1).len(), 1, "what shows is not said, and the rest once: {:?}", town.answers(1));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn merging_the_base_into_the_branch_is_not_an_edit() {
    let mut town = Town::new("mode: propose\n", &[PEU01]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    town.push("main", &[Edit::write("README.md", "hello\n")]);
    town.settle().await;
    let update = NewPull {
        title: "Update the branch".to_owned(),
        head: "main".to_owned(),
        base: BRANCH.to_owned(),
        ..NewPull::default()
    };
    let update = town.forge.open_pull(REPOSITORY, "ada", update).unwrap();
    town.forge.merge_pull(REPOSITORY, update, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    town.restart_without_database().await;
    assert_eq!(town.forge.commits(REPOSITORY, BRANCH).unwrap()[0].parents.len(), 2);
    assert!(!town.check(1).summary.contains("commits of a person"), "{}", town.check(1).summary);
    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    assert!(town.file(BRANCH, POOL).contains("v1.22.9"));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_webhooks_do_not_bring_a_resync_finds() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    town.forge.lose_deliveries(u32::MAX);
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    assert!(town.pulls().is_empty());
    town.resync().await;
    assert_eq!(town.open_pulls().len(), 1);
    assert_eq!(town.check(1).conclusion.as_deref(), Some("success"));
    town.forge.comment(REPOSITORY, 1, "ada", "/capstan help").unwrap();
    town.resync().await;
    assert_eq!(town.answers(1).len(), 1, "a lost comment is answered too");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn doubled_and_reordered_events_change_nothing() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    town.forge.pause_deliveries();
    town.forge.duplicate_deliveries(20);
    town.release("v22.0.0", "v1.22.5");
    town.push("main", &[sample::machine_pool(PEU01, "v1.21.4", 4)]);
    town.release("v22.1.0", "v1.22.9");
    town.forge.resume_deliveries(DeliveryOrder::Reversed);
    town.settle().await;
    let first: Vec<u64> = town.forge.deliveries().iter().map(|delivery| delivery.id).collect();
    for delivery in first {
        town.forge.redeliver(delivery).unwrap();
    }
    town.settle().await;
    assert_eq!(town.pulls().len(), 1);
    let written = town.file(BRANCH, POOL);
    assert!(written.contains("v1.22.9") && written.contains("replicas: 4"), "{written}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_and_observe_mode_writes_no_branch() {
    let limited = "upgrade:\n  proposals: {open: 1, order: [\"*/peu02\"]}\n";
    let town = Town::new(limited, &[PEU01, PEU02]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 1);
    assert_eq!(town.open_pulls()[0].head_branch, "capstan/upgrade/gauss/peu02");
    town.forge.merge_pull(REPOSITORY, 1, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    assert_eq!(town.open_pulls()[0].head_branch, BRANCH, "its turn has come");
    town.done();

    let town = Town::new("mode: observe\n", &[PEU01]).await;
    town.release("v22.0.0", "v1.22.5");
    let mine = town.open("ada", "mine", &[sample::machine_pool(PEU01, "v1.21.4", 3)]);
    town.settle().await;
    assert_eq!(town.pulls().len(), 1, "mine alone");
    assert_eq!(town.forge.branches(REPOSITORY).unwrap(), ["main", "mine"]);
    assert!(
        town.check(mine).summary.contains("| `/spec/replicas` | `2` | `3` |"),
        "{}",
        town.check(mine).summary
    );
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_pull_request_is_checked_regardless_of_its_author() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    let docs = town.open("mallory", "docs", &[Edit::write("README.md", "hello\n")]);
    let downgrade = town.open("ada", "downgrade", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
    let broken = town.open("ada", "broken", &[Edit::write(POOL, "kind: MachinePool\nspec: {\n")]);
    town.settle().await;
    let check = town.check(docs);
    assert_eq!(
        (check.conclusion.as_deref(), check.title.as_str()),
        (Some("success"), "No cluster is touched")
    );

    let check = town.check(downgrade);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{}", check.summary);
    let place = |annotation: &serde_json::Value| {
        (annotation["path"].as_str().unwrap().to_owned(), annotation["start_line"].as_u64().unwrap())
    };
    let annotation = check.annotations.iter().find(|a| a["title"] == "kubernetes-downgrade").unwrap();
    assert_eq!(place(annotation), (POOL.to_owned(), 12));

    let check = town.check(broken);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{}", check.summary);
    assert_eq!(check.annotations[0]["path"], POOL);

    town.push("main", &[sample::machine_pool(PEU01, "v1.21.5", 2)]);
    town.settle().await;
    assert!(
        town.check(downgrade).summary.contains("Capstan judged its head alone"),
        "{}",
        town.check(downgrade).summary
    );
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_answered_and_noise_is_not() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    town.comment(1, "ada", "/capstan plan").await;
    assert!(town.answers(1)[0].contains("| `v1.21.4` | `v1.22.5` |"), "{:?}", town.answers(1));
    town.comment(1, "ada", "/capstan repaln").await;
    assert!(town.answers(1)[1].contains("did you mean `/capstan replan`?"), "{:?}", town.answers(1));
    town.comment(1, "mallory", "/capstan help").await;
    assert!(town.answers(1)[2].contains("it needs write permission"), "{:?}", town.answers(1));
    town.comment(1, "ada", "/capstan help").await;
    assert!(town.answers(1)[3].contains("| `/capstan plan [for CLUSTER]` |"), "{:?}", town.answers(1));
    town.comment(1, "ada", "```\n/capstan plan\n```\n> /capstan plan\n\nsee /capstan plan").await;
    assert_eq!(town.answers(1).len(), 4);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_settings_on_the_default_branch_nothing_is_written() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    town.push("main", &[Edit::remove(".capstan.yaml")]);
    town.settle().await;
    let asked: Vec<u64> = town.open_pulls().iter().map(|pull| pull.number).collect();
    assert_eq!(asked, [1], "but for the one pull request that would bring settings");
    town.release("v22.0.0", "v1.22.5");
    let mine = town.open("ada", "mine", &[sample::machine_pool(PEU01, "v1.21.4", 3)]);
    town.settle().await;
    assert_eq!(town.pulls().len(), 2);
    assert!(town.check_named("capstan", mine).is_none());
    assert_eq!(town.forge.branches(REPOSITORY).unwrap(), ["capstan/onboarding", "main", "mine"]);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_cannot_be_read_stops_nobody_else() {
    let town = Town::new("mode: propose\n", &[PEU01, PEU02]).await;
    town.push(
        "main",
        &[Edit::write("gauss/peu02/base/broken.yaml", "a: {\n"), sample::release("v22.0.0", "v1.22.5")],
    );
    town.settle().await;
    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 1);
    assert_eq!(pulls[0].head_branch, BRANCH);
    assert_eq!(town.pull(1).state, PullState::Open);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_that_was_down_does_what_is_missing_when_it_starts() {
    let mut town = Town::new("mode: propose\n", &[PEU01]).await;
    town.stop_bot();
    town.release("v22.0.0", "v1.22.5");
    town.restart_without_database().await;
    assert_eq!(town.open_pulls().len(), 1);
    town.done();
}

/// A cluster that names its infrastructure, which begins at the second line of `aws-cluster.yaml`.
fn standing_on_infrastructure() -> [Edit; 2] {
    let cluster = "apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: peu01
  namespace: my-org
spec:
  infrastructureRef:
    apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
    kind: AWSCluster
    name: peu01
";
    [Edit::write("gauss/peu01/base/cluster.yaml", cluster), infrastructure("my-org")]
}

fn infrastructure(namespace: &str) -> Edit {
    Edit::write(
        "gauss/peu01/base/aws-cluster.yaml",
        format!(
            "# What the cluster stands on.
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata:
  name: peu01
  namespace: {namespace}
spec:
  region: eu-west-1
"
        ),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_takes_a_clusters_ground_away_or_moves_it_fails() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    town.push("main", &standing_on_infrastructure());
    town.settle().await;
    let harmless = town.open("ada", "harmless", &[sample::machine_pool(PEU01, "v1.21.4", 3)]);
    let deletes = town.open("ada", "deletes", &[Edit::remove("gauss/peu01/base/aws-cluster.yaml")]);
    let moves = town.open("ada", "moves", &[infrastructure("other")]);
    town.settle().await;
    assert_eq!(
        town.check(harmless).conclusion.as_deref(),
        Some("success"),
        "{}",
        town.check(harmless).summary
    );
    for (number, rule, line) in [(deletes, "removes-cluster", 2), (moves, "namespace-changed", 6)] {
        let check = town.check(number);
        assert_eq!(check.conclusion.as_deref(), Some("failure"), "{}", check.summary);
        let annotation = check.annotations.iter().find(|annotation| annotation["title"] == rule);
        let annotation = annotation.unwrap_or_else(|| panic!("no {rule}: {}", check.summary));
        assert_eq!(annotation["path"], "gauss/peu01/base/aws-cluster.yaml");
        assert_eq!(annotation["start_line"], line, "{rule}");
        assert_eq!(annotation["annotation_level"], "failure");
    }
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_was_inferred_is_recorded_and_not_called_a_refresh() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    town.push("main", &[Edit::remove("gauss/peu01/capstan.yaml")]);
    town.settle().await;
    assert_eq!(town.pulls().len(), 1);
    assert_eq!(town.pull(1).title, "Record gauss/peu01 at aws/v21.0.0");
    let body = town.pull(1).body;
    let begin = "no machine is replaced\n\nThe content of `gauss/peu01` is that of `aws/v21.0.0`, which was not recorded. This pull request records it and changes nothing else.\n";
    assert!(body.starts_with(begin), "{body}");
    assert!(town.file(BRANCH, "gauss/peu01/capstan.yaml").contains("\nrelease: aws/v21.0.0\n"));

    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    assert_eq!(town.pulls().len(), 1);
    assert_eq!(town.pull(1).title, "Upgrade gauss/peu01 from aws/v21.0.0 to aws/v22.0.0");
    assert!(
        town.pull(1)
            .body
            .contains("> The release that this cluster comes from is not recorded. Capstan inferred it: ")
    );
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_planned_is_said_on_the_default_branch_while_it_lasts() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    let statuses = |commit: &str| -> Vec<(String, String)> {
        let statuses = town.forge.statuses(REPOSITORY, commit).unwrap();
        let own = statuses.into_iter().filter(|status| status.context == "capstan/tree");
        own.map(|status| (status.state, status.description)).collect()
    };
    let good = town.push("main", &[Edit::write("notes.txt", "all is well\n")]);
    town.settle().await;
    assert_eq!(statuses(&good), []);
    let broken = town.push("main", &[Edit::write("gauss/peu01/base/broken.yaml", "a: [\n")]);
    town.settle().await;
    town.resync().await;
    let words = ("failure".to_owned(), "gauss/peu01 cannot be planned".to_owned());
    assert_eq!(statuses(&broken), [words], "once");
    let mended = town.push("main", &[Edit::remove("gauss/peu01/base/broken.yaml")]);
    town.settle().await;
    assert_eq!(statuses(&mended), []);
    let unread = town.push("main", &[Edit::write(".capstan.yaml", "mode: perhaps\n")]);
    town.settle().await;
    let said = statuses(&unread);
    assert!(said.len() == 1 && said[0].1.starts_with("nothing can be planned: "), "{said:?}");
    assert!(said[0].1.chars().count() <= 140);
    town.done();
}
