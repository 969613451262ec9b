//! What a pull request shows by itself is not said in a comment again: the bot's own reaction says that it was done, and
//! is read back where the database is lost.

use capstan_forge::{Edit, Fault, Matching, Permission, Strike};

use super::sample;
use super::town::{REPOSITORY, Town};

const PEU01: &str = "gauss/peu01";
const BRANCH: &str = "capstan/upgrade/gauss/peu01";
const POOL: &str = "gauss/peu01/base/machinepool.yaml";

/// A proposal in which cluster (2) and release (from 3 to 4) changed the replicas, and whose check finds an error.
async fn town() -> Town {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    for (name, kubernetes, replicas) in [("v21.0.0", "v1.21.4", 3), ("v22.0.0", "v1.22.5", 4)] {
        let text = format!(
            "kind: MachinePool\nspec:\n  replicas: {replicas}\n  template:\n    spec:\n      version: {kubernetes}\n"
        );
        town.push("main", &[Edit::write(format!("aws/{name}/base/machinepool.yaml"), text)]);
    }
    town.settle().await;
    town
}

/// The bot's reactions to a comment.
fn reactions(town: &Town, number: u64, comment: u64) -> Vec<String> {
    let bot = town.forge.bot_login();
    let comments = town.forge.comments(REPOSITORY, number).unwrap();
    let comment = comments.into_iter().find(|one| one.id == comment).unwrap();
    comment.reactions.into_iter().filter(|(by, _)| *by == bot).map(|(_, content)| content).collect()
}

/// How often reactions were read since the exchanges were cleared.
fn reads(town: &Town) -> usize {
    let calls = town.forge.exchanges();
    calls.iter().filter(|call| call.method == "GET" && call.path.ends_with("/reactions")).count()
}

/// What was carried out since the database is a new one.
async fn carried_out(town: &Town) -> Vec<String> {
    let audit = town.audit().await;
    audit.into_iter().filter(|line| line.contains(" command-")).collect()
}

/// Each command, and what shows in the check or in the description once it is carried out.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_pull_request_shows_is_answered_by_a_reaction_that_outlives_the_database() {
    let mut town = town().await;
    let edited = [sample::machine_pool(PEU01, "v1.22.5", 9)];
    type Shows = fn(&Town) -> bool;
    let rows: [(&str, Shows); 11] = [
        ("take /spec/replicas", |town| {
            town.pull(1).body.contains("the release's value is taken, as `ada` decided")
        }),
        ("keep /spec/replicas", |town| {
            town.check(1).summary.contains("the cluster's value is kept, as `ada` decided")
        }),
        ("hold the audit", |town| {
            town.pull(1).draft && town.pull(1).body.starts_with("> On hold by `ada`: the audit.")
        }),
        ("unhold", |town| !town.pull(1).draft && !town.pull(1).body.contains("On hold")),
        ("override component-downgrade it is a rename", |town| {
            town.check(1).summary.contains("`component-downgrade` is overridden by `ada`: it is a rename.")
        }),
        ("approve", |town| town.pull(1).body.contains("> Approved by `ada` for ")),
        ("unapprove", |town| !town.pull(1).body.contains("Approved by")),
        ("replan", |town| town.file(BRANCH, POOL).contains("replicas: 2 # as")),
        ("upgrade to aws/v22.0.0", |town| town.pull(1).body.contains("to `aws/v22.0.0`")),
        ("hold\n/capstan unhold", |town| !town.pull(1).draft),
        ("skip", |town| {
            town.pull(1).body.starts_with("> Closed by Capstan: Somebody asked for it with `skip`")
        }),
    ];
    for (at, (command, shows)) in rows.into_iter().enumerate() {
        if command == "replan" {
            town.push(BRANCH, &edited);
            town.settle().await;
        }
        town.forge.clear_exchanges();
        let comment = town.comment(1, "ada", &format!("/capstan {command}")).await;
        assert!(shows(&town), "{command}: {}\n{}", town.pull(1).body, town.check(1).summary);
        assert_eq!(reactions(&town, 1, comment), ["eyes", "+1"], "{command}: {:?}", town.answers(1));
        assert_eq!(town.answers(1), [""; 0], "{command}");
        assert_eq!(reads(&town), 0, "{command}: the database knows");

        town.restart_without_database().await;
        assert_eq!(carried_out(&town).await, [""; 0], "{command} is not carried out again");
        assert!(shows(&town) && town.answers(1).is_empty(), "{command}");
        assert_eq!(reactions(&town, 1, comment), ["eyes", "+1"], "{command}");
        assert_eq!(reads(&town), at + 1, "one call for each comment that the new database does not know");
        town.forge.clear_exchanges();
        town.resync().await;
        assert_eq!(reads(&town), 0, "they are known now");
    }
    town.done();
}

/// An answer says only what is shown nowhere else, not what the other commands of the same comment did.
#[tokio::test(flavor = "multi_thread")]
async fn what_nothing_else_shows_is_said_in_a_comment() {
    let mut town = town().await;
    town.push("main", &sample::cluster("gauss/peu02"));
    town.settle().await;
    for (command, answer) in [
        ("status", "| Release | `aws/v21.0.0` |"),
        ("help", "| `/capstan replan` |"),
        ("unhold", "It is not on hold."),
        ("unapprove", "You have not approved it."),
        ("retry", "GitHub has refused no write"),
        // Another pull request shows it, and not the one where it was said.
        ("hold for gauss/peu02 the audit", "`gauss/peu02`: On hold by `ada`: the audit."),
        ("unhold for gauss/peu02", "`gauss/peu02`: It is no longer on hold."),
        ("take /spec/replica", "has no conflict there"),
    ] {
        let before = town.answers(1).len();
        town.comment(1, "ada", &format!("/capstan {command}")).await;
        let answers = town.answers(1);
        assert_eq!(answers.len(), before + 1, "{command}");
        assert!(answers[before].contains(answer), "{command}: {}", answers[before]);
    }
    let before = town.answers(1).len();
    town.comment(1, "ada", "/capstan hold the freeze\n/capstan explain component-downgrade").await;
    let answer = town.answers(1).pop().unwrap();
    assert!(answer.starts_with("### `component-downgrade`") && !answer.contains("On hold"), "{answer}");
    assert!(town.pull(1).body.starts_with("> On hold by `ada`: the freeze."), "{}", town.pull(1).body);
    town.restart_without_database().await;
    assert_eq!(town.answers(1).len(), before + 1);
    town.done();
}

/// Anybody can react to a comment, and as they like.
#[tokio::test(flavor = "multi_thread")]
async fn a_persons_reaction_is_not_a_record_of_capstan() {
    let town = town().await;
    town.forge.pause_deliveries();
    let comment = town.forge.comment(REPOSITORY, 1, "ada", "/capstan hold").unwrap();
    for number in 0..120 {
        let login = format!("fan-{number}");
        town.forge.create_user(&login).unwrap();
        town.forge.grant(REPOSITORY, &login, Permission::Read).unwrap();
        for content in ["+1", "confused"] {
            town.forge.react(REPOSITORY, comment, &login, content).unwrap();
        }
    }
    town.forge.clear_exchanges();
    town.forge.resume_deliveries(capstan_forge::DeliveryOrder::AsHappened);
    town.settle().await;
    assert!(town.pull(1).draft, "it is carried out all the same");
    assert_eq!(reactions(&town, 1, comment), ["eyes", "+1"]);
    assert_eq!(reads(&town), 3, "240 reactions: three pages, once");

    let mut town = town;
    town.forge.clear_exchanges();
    town.restart_without_database().await;
    assert_eq!(carried_out(&town).await, [""; 0], "Capstan's own is found among them");
    town.done();
}

/// Where GitHub refuses the reaction, a comment is the record.
#[tokio::test(flavor = "multi_thread")]
async fn a_reaction_that_github_refuses_becomes_a_comment() {
    let mut town = town().await;
    let reactions = Matching::any().method("POST").path("/reactions").body("+1");
    town.forge.fail_next(1, reactions, Strike::Before, Fault::Status(403));
    town.comment(1, "ada", "/capstan hold").await;
    assert!(town.pull(1).draft);
    let answers = town.answers(1);
    assert!(answers.len() == 1 && answers[0].starts_with("`gauss/peu01`: On hold by `ada`."), "{answers:?}");
    town.restart_without_database().await;
    assert_eq!((town.answers(1).len(), carried_out(&town).await.len()), (1, 0));
    town.done();
}
