//! What a proposal's pull request looks like by the settings: labels, assignees, reviewers, title.

use capstan_forge::{Fault, Matching, MergeMethod, Permission, Strike};

use super::sample;
use super::town::{REPOSITORY, Town};

const PEU01: &str = "gauss/peu01";
const MINUTE: i64 = 60;

fn settings(proposals: &str) -> String {
    format!("mode: propose\nupgrade:\n  proposals: {{{proposals}}}\n")
}

/// A cluster whose proposal, #1, is open; grace may write, and there is a team `acme/platform`.
async fn proposed(proposals: &str) -> Town {
    let town = Town::new(&settings(proposals), &[PEU01]).await;
    town.forge.create_user("grace").unwrap();
    town.forge.grant(REPOSITORY, "grace", Permission::Write).unwrap();
    town.forge.create_team("acme", "platform", &["ada"]).unwrap();
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    town
}

/// The settings change, with whatever else there is to change.
async fn change(town: &Town, proposals: &str) {
    let edit = capstan_forge::Edit::write(".capstan.yaml", settings(proposals));
    town.push("main", &[edit]);
    town.settle().await;
}

/// Labels, assignees, and whose review is asked for: people, then teams.
fn beside(town: &Town, number: u64) -> String {
    let pull = town.pull(number);
    let reviewers = [pull.requested_reviewers, pull.requested_teams].concat();
    format!("{} | {} | {}", pull.labels.join(" "), pull.assignees.join(" "), reviewers.join(" "))
}

const ALL: &str = r#"labels: [capstan, "kind/größe 1"], assignees: [ada], reviewers: [grace, acme/platform], title: "chore({cluster}): {previousRelease} to {releaseVersion} ({kubernetesVersion})""#;

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_opens_as_the_settings_say_and_keeps_what_people_did_with_it() {
    let mut town = proposed(ALL).await;
    assert_eq!(beside(&town, 1), "capstan kind/größe 1 | ada | grace platform");
    assert_eq!(town.pull(1).title, "chore(gauss/peu01): aws/v21.0.0 to v22.0.0 (v1.22.5)");
    let commit = town.forge.commits(REPOSITORY, &town.pull(1).head).unwrap().remove(0);
    assert!(
        commit
            .message
            .starts_with("chore(gauss/peu01): aws/v21.0.0 to v22.0.0 (v1.22.5)\n\nFrom aws/v21.0.0"),
        "{}",
        commit.message
    );
    let before = town.forge.write_calls();
    town.resync().await;
    assert_eq!(town.forge.write_calls(), before, "all is as the settings say");

    town.forge.remove_label(REPOSITORY, 1, "capstan", "ada").unwrap();
    town.forge.add_label(REPOSITORY, 1, "urgent", "ada").unwrap();
    town.forge.unassign(REPOSITORY, 1, "ada", "ada").unwrap();
    town.forge.assign(REPOSITORY, 1, "grace", "ada").unwrap();
    town.forge.remove_reviewer(REPOSITORY, 1, "grace", "ada").unwrap();
    town.forge.remove_reviewer(REPOSITORY, 1, "platform", "ada").unwrap();
    town.forge.edit_title(REPOSITORY, 1, "ada", "Ours, please look").unwrap();
    town.settle().await;
    town.restart_with_nothing().await;
    town.push("main", &[sample::machine_pool(PEU01, "v1.21.4", 7)]);
    town.settle().await;
    assert!(town.pull(1).body.contains("| Will be replaced | 7 machines |"), "{}", town.pull(1).body);
    assert_eq!(beside(&town, 1), "kind/größe 1 urgent | grace | ");
    assert_eq!(town.pull(1).title, "Ours, please look");

    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    assert_eq!(town.pull(1).title, "chore(gauss/peu01): aws/v21.0.0 to v22.1.0 (v1.22.9)");
    assert_eq!(beside(&town, 1), "kind/größe 1 urgent | grace | ");

    // The next pull request has all of it again.
    town.forge.merge_pull(REPOSITORY, 1, "ada", MergeMethod::Squash).unwrap();
    town.release("v23.0.0", "v1.23.1");
    town.settle().await;
    assert_eq!(beside(&town, 2), "capstan kind/größe 1 | ada | grace platform");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_settings_change_is_changed_and_nothing_else() {
    let town = proposed(r#"labels: ["kind/größe 1", blue], reviewers: [grace]"#).await;
    assert_eq!(beside(&town, 1), "kind/größe 1 blue |  | grace");
    town.forge.remove_label(REPOSITORY, 1, "blue", "ada").unwrap();
    town.forge.add_label(REPOSITORY, 1, "green", "ada").unwrap();
    town.forge.remove_reviewer(REPOSITORY, 1, "grace", "ada").unwrap();
    change(&town, r#"labels: [Blue, red], assignees: [ada], reviewers: [grace, ada], title: "{release}""#)
        .await;
    assert_eq!(beside(&town, 1), "green red | ada | ada", "one label goes, what people did stays");
    assert_eq!(town.pull(1).title, "aws/v22.0.0");
    change(&town, "title: Upgrade").await;
    assert_eq!(beside(&town, 1), "green |  | ");
    assert_eq!(town.pull(1).title, "Upgrade");
    change(&town, "").await;
    assert_eq!(town.pull(1).title, "Upgrade gauss/peu01 from aws/v21.0.0 to aws/v22.0.0");

    // A person removes Capstan's record from the body: Capstan writes it again, but does not repeat its other changes.
    change(&town, "labels: [capstan]").await;
    town.forge.remove_label(REPOSITORY, 1, "capstan", "ada").unwrap();
    town.forge.edit_title(REPOSITORY, 1, "ada", "Ours").unwrap();
    town.forge.edit_body(REPOSITORY, 1, "ada", "Our own words.").unwrap();
    town.settle().await;
    assert!(town.pull(1).body.contains("Capstan's record"), "{}", town.pull(1).body);
    assert_eq!((beside(&town, 1).as_str(), town.pull(1).title.as_str()), ("green |  | ", "Ours"));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn people_that_github_refuses_are_reported_and_not_requested_at_every_turn() {
    let town = proposed(
        "labels: [capstan], assignees: [ada, nobody], reviewers: [ada, nobody, acme/none, else/team]",
    )
    .await;
    assert_eq!(beside(&town, 1), "capstan | ada | ada", "the others are there");
    let told = "> GitHub refuses what `upgrade.proposals` asks for: the assignee `nobody`, the reviewer `nobody`, the reviewer `acme/none`, the reviewer `else/team`.";
    assert!(town.pull(1).body.contains(told), "{}", town.pull(1).body);
    assert_eq!(town.standing(PEU01).await.0, "proposed");
    let audit = town.audit().await;
    assert_eq!(audit.iter().filter(|entry| entry.contains("write-refused")).count(), 1, "{audit:?}");
    let before = town.forge.write_calls();
    town.resync().await;
    assert_eq!(town.forge.write_calls(), before, "it is left alone");

    town.forge.create_user("nobody").unwrap();
    town.forge.grant(REPOSITORY, "nobody", Permission::Write).unwrap();
    town.forge.create_team("acme", "none", &["ada"]).unwrap();
    town.pass(11 * MINUTE);
    town.resync().await;
    assert_eq!(beside(&town, 1), "capstan | ada nobody | ada nobody none", "tried again after a while");
    let body = town.pull(1).body;
    assert!(body.contains("asks for: the reviewer `else/team`.") && !body.contains("`nobody`"), "{body}");
    change(&town, "labels: [capstan], assignees: [ada, nobody], reviewers: [ada, nobody, acme/none]").await;
    assert!(!town.pull(1).body.contains("GitHub refuses what"), "{}", town.pull(1).body);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lacking_right_costs_what_needs_it_alone() {
    let town = Town::new(&settings("labels: [capstan], reviewers: [ada, acme/platform]"), &[PEU01]).await;
    town.forge.create_team("acme", "platform", &["ada"]).unwrap();
    town.forge.grant_app("members", None);
    let labels = Matching::any().method("POST").path("/labels");
    town.forge.fail_next(1, labels, Strike::Before, Fault::Status(403));
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    assert_eq!(beside(&town, 1), " |  | ada");
    assert_eq!(town.check(1).conclusion.as_deref(), Some("success"));
    let body = town.pull(1).body;
    assert!(body.contains("asks for: the label `capstan`, the reviewer `acme/platform`."), "{body}");
    town.forge.grant_app("members", Some("read"));
    town.comment(1, "ada", "/capstan retry").await;
    town.pass(2 * MINUTE);
    town.resync().await;
    assert!(beside(&town, 1).starts_with("capstan |  | ada"), "{}", beside(&town, 1));
    town.done();
}
