//! `/capstan render`: what a change of the inventory comes to, on its author's own branch.

use capstan_forge::{DeliveryOrder, Edit, MergeMethod, NewPull};

use super::inventory::{SETTINGS, branch, environment, heads, level, line, made, site};
use super::town::{REPOSITORY, Town};

fn large(replicas: u32) -> Edit {
    let spec = format!("  release: openstack/v1.4.0\n  values: {{replicas: {replicas}, flavor: large}}\n");
    level("Environment", "prod", &spec)
}

/// The answers on a pull request after the first `before` ones.
fn said(town: &Town, number: u64, before: usize) -> String {
    town.answers(number).get(before..).unwrap_or_default().join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn bases_go_onto_the_authors_branch_and_nothing_is_left_to_propose_once_it_is_merged() {
    let town = made().await;
    let number = town.open("ada", "pods", &[site("fra1", "10.7.0.0/16")]);
    town.settle().await;
    let before = town.answers(number).len();
    town.comment(number, "ada", "/capstan render").await;
    let told = said(&town, number, before);
    assert!(
        told.contains("Rendered on this branch: `acme/peu01`, and `acme/peu02`.")
            || told.contains("Rendered on this branch: `acme/peu01` and `acme/peu02`."),
        "{told}"
    );
    for cluster in ["peu01", "peu02"] {
        let written = town.file("pods", &format!("acme/{cluster}/base/cluster.yaml"));
        assert!(line(&written, "- 10.7.0.0/16"), "{written}");
        let record = town.file("pods", &format!("acme/{cluster}/capstan-values.yaml"));
        assert!(line(&record, "pods: 10.7.0.0/16"), "{record}");
    }
    assert_eq!(town.open_pulls().len(), 1, "in the same pull request, and no other");
    let check = town.check(number);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{check:?}");

    // Asked again there is nothing to do, and nothing is written.
    let head = town.open_pulls()[0].head.clone();
    let before = town.answers(number).len();
    town.comment(number, "ada", "/capstan render").await;
    assert!(said(&town, number, before).contains("there is nothing to render"));
    assert_eq!(town.open_pulls()[0].head, head);
    town.forge.merge_pull(REPOSITORY, number, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    assert_eq!(heads(&town), Vec::<String>::new());
    assert!(line(&town.file("main", "acme/peu01/base/cluster.yaml"), "- 10.7.0.0/16"));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_should_see_first_is_left_and_beyond_the_limits_nothing_is_written() {
    let town = made().await;
    // peu02's people have an edit of their own where the change goes.
    let workers = town.file("main", "acme/peu02/base/workers.yaml").replace("replicas: 1", "replicas: 7");
    town.push("main", &[Edit::write("acme/peu02/base/workers.yaml", workers)]);
    town.settle().await;
    let refused = async |number: u64, by: &str, why: &str| {
        let head = |number: u64| {
            let pulls = town.open_pulls();
            pulls.iter().find(|pull| pull.number == number).unwrap().head.clone()
        };
        let (before, was) = (town.answers(number).len(), head(number));
        town.comment(number, by, "/capstan render").await;
        let told = said(&town, number, before);
        assert!(told.contains(why), "{why}: {told}");
        assert_eq!(head(number), was, "{why}");
    };
    let machines = town.open("ada", "machines", &[large(3)]);
    let none = town.open("ada", "none", &[Edit::write("README.md", "hello\n")]);
    town.forge.create_user("walt").unwrap();
    let from = town.forge.fork(REPOSITORY, "walt").unwrap();
    town.forge.commit(&from, "fork", "walt", "Mine", &[environment("dev", "openstack/v1.4.0", 4)]).unwrap();
    let new = NewPull {
        title: "From a fork".to_owned(),
        head: "walt:fork".to_owned(),
        base: "main".to_owned(),
        ..NewPull::default()
    };
    let fork = town.forge.open_pull(REPOSITORY, "walt", new).unwrap();
    let conflict = town.open("ada", "conflict", &[environment("dev", "openstack/v1.4.0", 4)]);
    town.settle().await;
    refused(machines, "ada", "3 machines are replaced and 0 may be").await;
    refused(none, "ada", "does not change the inventory").await;
    refused(fork, "ada", "its branch is in a fork").await;
    refused(
        conflict,
        "ada",
        "`acme/peu02`: the change conflicts with edits of its base, which its proposal shows",
    )
    .await;

    let limited =
        SETTINGS.replace("{path: inventory}", "{path: inventory, inline: {clusters: 0, machines: 5}}");
    town.push("main", &[Edit::write(".capstan.yaml", limited)]);
    town.settle().await;
    refused(machines, "ada", "1 cluster changes and 0 may").await;
    let wide = SETTINGS.replace("{path: inventory}", "{path: inventory, inline: {clusters: 1, machines: 3}}");
    town.push("main", &[Edit::write(".capstan.yaml", wide)]);
    town.settle().await;
    town.comment(machines, "ada", "/capstan render").await;
    assert!(line(&town.file("machines", "acme/peu01/base/workers.yaml"), "flavor: large"));
    assert_eq!(
        town.file("machines", ".capstan.yaml"),
        SETTINGS,
        "one commit on top of the head that was seen"
    );
    assert!(!heads(&town).contains(&branch("inventory", "peu01")));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_pushed_after_the_comment_is_neither_rendered_nor_written_over_and_is_named() {
    let mut town = made().await;
    let number = town.open("ada", "pods", &[site("fra1", "10.7.0.0/16")]);
    town.settle().await;
    let before = town.answers(number).len();
    town.forge.pause_deliveries();
    town.forge.comment(REPOSITORY, number, "ada", "/capstan render").unwrap();
    let work = [site("fra1", "10.8.0.0/16")];
    let pushed = town.forge.commit(REPOSITORY, "pods", "mallory", "Another network", &work).unwrap();
    town.forge.resume_deliveries(DeliveryOrder::AsHappened);
    town.settle().await;
    let head = |town: &Town| town.pull(number).head;
    assert_eq!(head(&town), pushed, "nothing came on top of what ada had not seen");
    let told = said(&town, number, before);
    assert!(told.contains(&format!("- `{pushed}` by `mallory`, 20")), "{told}");
    assert!(told.contains("comment `/capstan render` again"), "{told}");
    assert_eq!(told.matches("\n- `").count(), 1, "what she had seen is not named: {told}");
    town.restart_without_database().await;
    assert_eq!(head(&town), pushed, "and who forgets that does not obey it later");

    town.comment(number, "ada", "/capstan render").await;
    for cluster in ["peu01", "peu02"] {
        let written = town.file("pods", &format!("acme/{cluster}/base/cluster.yaml"));
        assert!(line(&written, "- 10.8.0.0/16"), "{written}");
    }
    town.done();
}
