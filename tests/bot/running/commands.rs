//! Which commands are obeyed: not words that were put into another person's mouth, not after changes that the author
//! had not seen, and not from people without the right.

use capstan_bot::sync::Synced;
use capstan_forge::{DeliveryOrder, Edit, MergeMethod};
use capstan_plan::command::CommentId;
use capstan_ports::{Permission, Reaction};

use super::memory::{Moment, World};
use super::sample;
use super::town::{REPOSITORY, Town};

const PEU01: &str = "gauss/peu01";
const BRANCH: &str = "capstan/upgrade/gauss/peu01";
const POOL: &str = "gauss/peu01/base/machinepool.yaml";
const A: &str = "capstan/upgrade/c/a";

/// A proposal of v2 whose branch holds a person's work since, and v3. Ada may write.
fn edited_world() -> World {
    let world = World::new(&[
        (".capstan.yaml", "mode: propose\n"),
        ("releases/v1/base/v", "one\n"),
        ("releases/v2/base/v", "two\n"),
        ("c/a/base/v", "one\nmine\n"),
        ("c/a/capstan.yaml", "release: releases/v1\n"),
    ]);
    world.state().permissions.insert("ada".to_owned(), Permission::Write);
    world
}

async fn edited_proposal() -> World {
    let world = edited_world();
    world.sync().await;
    world.push(A, &[("c/a/base/v", Some("two\nedited\n"))]);
    world.sync().await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn words_put_into_an_administrators_mouth_are_not_obeyed() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    town.push(BRANCH, &[sample::machine_pool(PEU01, "v1.22.5", 9)]);
    town.settle().await;
    // An App that manages issues, quicker than Capstan; its edit mostly falls into the comment's own second.
    town.forge.create_user("triage-app").unwrap();
    town.forge.pause_deliveries();
    let comment = town.forge.comment(REPOSITORY, 1, "ada", "Please leave this alone.").unwrap();
    town.forge.edit_comment(REPOSITORY, comment, "triage-app", "/capstan replan").unwrap();
    town.forge.resume_deliveries(DeliveryOrder::AsHappened);
    town.settle().await;
    town.resync().await;
    assert!(town.file(BRANCH, POOL).contains("replicas: 9"), "a person's work stays");
    let answers = town.answers(1);
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].starts_with("This comment was not carried out: it was edited"), "{answers:?}");

    town.comment(1, "ada", "/capstan replan").await;
    assert!(town.file(BRANCH, POOL).contains("replicas: 2"), "her own words are");
    town.done();
}

#[tokio::test]
async fn an_edit_within_the_comments_own_second_is_an_edit() {
    for seconds in [0, 1] {
        let world = edited_proposal().await;
        let comment = world.comment(1, "ada", "Please leave this alone.");
        world.edit(comment, "/capstan replan", seconds);
        world.sync().await;
        world.lose_database();
        world.sync().await;
        assert_eq!(world.file(A, "c/a/base/v").unwrap(), "two\nedited\n");
        assert_eq!(world.answers(1).len(), 1, "it is said once: {:?}", world.answers(1));
        assert_eq!(world.state().reactions, [(CommentId::Comment(comment), Reaction::Confused)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_pushed_after_the_comment_is_not_overwritten_and_is_named() {
    let mut town = Town::new("mode: propose\n", &[PEU01]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    town.push(BRANCH, &[sample::machine_pool(PEU01, "v1.22.5", 9)]);
    town.settle().await;
    town.forge.pause_deliveries();
    town.forge.comment(REPOSITORY, 1, "ada", "/capstan replan").unwrap();
    let work = [sample::machine_pool(PEU01, "v1.22.5", 7)];
    let pushed = town.forge.commit(REPOSITORY, BRANCH, "mallory", "Hours of work", &work).unwrap();
    town.forge.resume_deliveries(DeliveryOrder::AsHappened);
    town.settle().await;
    assert!(town.file(BRANCH, POOL).contains("replicas: 7"), "what ada had not seen stays");
    let answer = &town.answers(1)[0];
    assert!(answer.contains(&format!("- `{pushed}` by `mallory`, 20")), "{answer}");
    assert!(answer.contains("comment `/capstan replan` again"), "{answer}");
    assert_eq!(answer.matches("\n- `").count(), 1, "what she had seen is not named: {answer}");
    town.restart_without_database().await;
    assert!(town.file(BRANCH, POOL).contains("replicas: 7"));

    town.comment(1, "ada", "/capstan replan").await;
    assert!(town.file(BRANCH, POOL).contains("replicas: 2"), "now she has");
    assert_eq!(town.answers(1).len(), 1, "and sees it");
    town.done();
}

#[tokio::test]
async fn a_push_during_a_rewrite_of_the_branch_is_not_overwritten_and_is_named() {
    let world = edited_proposal().await;
    world.comment(1, "ada", "/capstan replan");
    let push: fn(&World) = |world| world.push(A, &[("c/a/base/v", Some("two\nlater\n"))]);
    world.state().meanwhile = Some((Moment::Reference, push));
    assert!(matches!(world.try_sync().await.unwrap(), Synced::Again));
    assert!(world.answers(1).is_empty(), "nothing is known yet");
    world.sync().await;
    assert_eq!(world.file(A, "c/a/base/v").unwrap(), "two\nlater\n");
    let answers = world.answers(1);
    assert!(answers.len() == 1 && answers[0].contains("by `grace`"), "{answers:?}");
}

#[tokio::test]
async fn a_head_that_github_has_not_noted_is_waited_for_and_in_the_end_left_alone() {
    let world = edited_proposal().await;
    let pushes = std::mem::take(&mut world.state().pushes);
    world.comment(1, "ada", "/capstan replan");
    assert!(matches!(world.try_sync().await.unwrap(), Synced::Again));
    assert!(world.answers(1).is_empty());
    world.state().now += 601;
    world.sync().await;
    assert_eq!(world.file(A, "c/a/base/v").unwrap(), "two\nedited\n");
    assert!(world.answers(1)[0].contains("GitHub does not say when the head of"), "{:?}", world.answers(1));

    world.state().pushes = pushes;
    world.comment(1, "ada", "/capstan replan");
    world.sync().await;
    assert_eq!(world.file(A, "c/a/base/v").unwrap(), "two\nmine\n");
}

#[tokio::test]
async fn who_may_not_is_answered_once_an_hour_and_who_may_not_read_never() {
    let world = edited_proposal().await;
    world.state().permissions.insert("eve".to_owned(), Permission::None);
    for _ in 0..3 {
        world.comment(1, "mallory", "/capstan replan");
        world.comment(1, "mallory", "/capstan help");
        world.comment(1, "eve", "/capstan help");
        world.comment(1, "eve", "/capstan replan");
        world.sync().await;
    }
    let answers = world.answers(1);
    assert!(answers.len() == 1 && answers[0].contains("it needs write permission"), "{answers:?}");
    assert_eq!(world.state().reactions.len(), 2, "one for mallory, one for eve");
    world.lose_database();
    let mark = world.state().writes.len();
    world.sync().await;
    assert_eq!(world.writes_since(mark), [""; 0], "the answer and the reaction tell who was dealt with");

    world.state().now += 3_600;
    world.comment(1, "mallory", "/capstan help");
    world.comment(1, "ada", "/capstan help");
    world.comment(1, "ada", "/capstan help");
    world.sync().await;
    assert_eq!(world.answers(1).len(), 4, "an hour later again; who may write always");
}

/// The marker of an answer is anybody's to write.
#[tokio::test]
async fn an_answer_written_by_another_person_answers_nothing() {
    let world = edited_proposal().await;
    let asked = world.comment(1, "ada", "/capstan help");
    world.comment(1, "mallory", &format!("Done.\n\n<!-- capstan-answer:{asked} -->\n"));
    world.sync().await;
    assert_eq!(world.answers(1).len(), 1, "{:?}", world.answers(1));
}

#[tokio::test]
async fn a_comment_that_was_passed_over_does_not_put_off_the_next_answer() {
    let world = edited_proposal().await;
    for (minutes, answers) in [(0, 1), (40, 1), (30, 2)] {
        world.state().now += minutes * 60;
        world.comment(1, "mallory", "/capstan help");
        world.sync().await;
        assert_eq!(world.answers(1).len(), answers, "{minutes} minutes later");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_that_a_moderator_has_hidden_is_not_obeyed() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    town.push(BRANCH, &[sample::machine_pool(PEU01, "v1.22.5", 9)]);
    town.settle().await;
    town.forge.pause_deliveries();
    let comment = town.forge.comment(REPOSITORY, 1, "ada", "/capstan replan").unwrap();
    town.forge.minimize_comment(REPOSITORY, comment).unwrap();
    town.forge.resume_deliveries(DeliveryOrder::AsHappened);
    town.settle().await;
    town.resync().await;
    assert!(town.file(BRANCH, POOL).contains("replicas: 9"), "a person's work stays");
    assert_eq!(town.answers(1), [""; 0], "nobody is shown what an answer would be to");
    town.done();
}

/// The author of a comment sees at once that Capstan has read it, however long the work takes.
#[tokio::test]
async fn a_reaction_comes_before_the_work_and_the_verdict_after_it() {
    let world = edited_proposal().await;
    let mark = world.state().writes.len();
    let comment = CommentId::Comment(world.comment(1, "ada", "/capstan replan"));
    world.sync().await;
    let writes = world.writes_since(mark);
    assert_eq!(writes.first(), Some(&"reaction"), "{writes:?}");
    assert!(writes.contains(&"commit"), "{writes:?}");
    assert_eq!(writes.last(), Some(&"reaction"), "{writes:?}");
    assert!(!writes.contains(&"comment"), "the pull request shows it: {writes:?}");
    assert_eq!(world.state().reactions, [(comment, Reaction::Eyes), (comment, Reaction::ThumbsUp)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_begin_with_what_the_default_branch_says_and_are_allowed_by_it_alone() {
    let settings = "mode: propose\ncommands:\n  prefix: /fleet\n";
    let town = Town::new(settings, &[PEU01]).await;
    town.release("v22.0.0", "v1.22.5");
    town.forge.create_user("olga").unwrap();
    town.forge.grant(REPOSITORY, "olga", capstan_forge::Permission::Write).unwrap();
    town.push("main", &[Edit::write("CODEOWNERS", "/gauss/ @ada\n")]);
    town.settle().await;
    town.comment(1, "olga", "/capstan status").await;
    assert_eq!(town.answers(1), [""; 0], "another program's command, perhaps");
    town.comment(1, "olga", "/fleet hold").await;
    let answers = town.answers(1);
    assert!(
        answers[0].starts_with("`/fleet hold` was not carried out: it needs for `gauss/peu01` an owner"),
        "{answers:?}"
    );

    // What a pull request says of rights counts once it is merged.
    let allowed = format!(
        "{settings}  permissions: [{{verbs: [hold], allow: [\"@olga\"]}}]\ndashboard: {{enabled: false}}\n"
    );
    let edits = [Edit::write(".capstan.yaml", allowed), sample::machine_pool(PEU01, "v1.21.4", 3)];
    let own = town.open("olga", "more-rights", &edits);
    town.settle().await;
    town.comment(own, "olga", "/fleet hold for gauss/peu01").await;
    assert!(town.answers(own)[0].contains("was not carried out"), "{:?}", town.answers(own));
    assert!(!town.pull(1).draft);
    town.forge.merge_pull(REPOSITORY, own, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    town.comment(1, "olga", "/fleet hold").await;
    assert!(town.pull(1).draft, "{:?}", town.answers(1));
    town.done();
}
