//! What GitHub refuses to take fails alone, and is not tried at every turn.

use capstan_forge::{Edit, Fault, Matching, Permission, Strike};
use capstan_ports::Retention as _;

use super::sample;
use super::town::{REPOSITORY, Town};

const PEU01: &str = "gauss/peu01";
const PEU02: &str = "gauss/peu02";
const MINUTE: i64 = 60;

/// Two clusters whose proposals, #1 and #2, are open.
async fn two_proposals() -> Town {
    let town = Town::new("mode: propose\n", &[PEU01, PEU02]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 2);
    town
}

fn calls(town: &Town, method: &str, path: &str) -> usize {
    town.forge.count_requests(|call| call.method == method && call.path.ends_with(path))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_conversation_costs_its_answer_alone_until_it_is_unlocked() {
    let town = two_proposals().await;
    let tried = || calls(&town, "POST", "/issues/1/comments");
    town.forge.comment(REPOSITORY, 1, "ada", "/capstan plan").unwrap();
    town.forge.lock(REPOSITORY, 1, true).unwrap();
    town.forge.comment(REPOSITORY, 2, "ada", "/capstan plan").unwrap();
    town.settle().await;
    assert_eq!((town.answers(1).len(), town.answers(2).len()), (0, 1));
    town.resync().await;
    town.pass(9 * MINUTE);
    town.resync().await;
    assert_eq!(tried(), 1, "it is left alone for ten minutes");
    town.pass(2 * MINUTE);
    town.resync().await;
    assert_eq!(tried(), 2);

    town.forge.lock(REPOSITORY, 1, false).unwrap();
    town.pass(19 * MINUTE);
    town.resync().await;
    assert_eq!(tried(), 2, "then for twenty");
    town.pass(2 * MINUTE);
    town.resync().await;
    assert_eq!((tried(), town.answers(1).len()), (3, 1));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_refused_costs_nobody_else_theirs() {
    for status in [403, 404, 410, 422] {
        let town = two_proposals().await;
        town.forge.pause_deliveries();
        let answers = Matching::any().method("POST").path("/issues/1/comments");
        town.forge.fail_next(u32::MAX, answers, Strike::Before, Fault::Status(status));
        let tried = || calls(&town, "POST", "/issues/1/comments");
        let mine = town.open("ada", "mine", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
        town.forge.comment(REPOSITORY, 1, "ada", "/capstan help").unwrap();
        town.forge.comment(REPOSITORY, 2, "ada", "/capstan help").unwrap();
        town.forge.resume_deliveries(capstan_forge::DeliveryOrder::AsHappened);
        town.settle().await;
        assert_eq!((town.answers(1).len(), town.answers(2).len()), (0, 1), "{status}");
        assert_eq!(town.check(mine).conclusion.as_deref(), Some("failure"), "{status}: heads are judged");
        town.resync().await;
        assert_eq!(tried(), 1, "{status}: it is left alone");

        town.forge.clear_faults();
        town.pass(11 * MINUTE);
        town.resync().await;
        assert_eq!((tried(), town.answers(1).len()), (2, 1), "{status}: tried again");
        town.done();
    }
}

/// Updating an existing check is another call than creating one.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_cannot_be_updated_costs_nobody_else_theirs() {
    for status in [403, 404, 422] {
        let town = two_proposals().await;
        let older = [PEU01, PEU02].map(|cluster| sample::machine_pool(cluster, "v1.20.1", 2));
        let mine = town.open("ada", "mine", &older[..1]);
        let other = town.open("ada", "other", &older[1..]);
        town.settle().await;
        let verdicts = || [mine, other].map(|number| town.check(number).conclusion.unwrap());
        assert_eq!(verdicts(), ["failure", "failure"], "{status}");

        let update = format!("/check-runs/{}", town.check(mine).id);
        let updates = Matching::any().method("PATCH").path(&update);
        // If GitHub no longer has the old check, Capstan creates another one.
        let reports = Matching::any().method("POST").path("/check-runs").body(&town.pull(mine).head);
        town.forge.fail_next(u32::MAX, updates, Strike::Before, Fault::Status(status));
        town.forge.fail_next(u32::MAX, reports, Strike::Before, Fault::Status(status));
        let tried = || town.forge.count_requests(|call| call.path.contains("/check-runs") && call.faulted);
        // The base has it by now: no head changes anything.
        town.forge.pause_deliveries();
        town.push("main", &older);
        town.forge.comment(REPOSITORY, 1, "ada", "/capstan help").unwrap();
        town.forge.resume_deliveries(capstan_forge::DeliveryOrder::AsHappened);
        town.settle().await;
        assert_eq!(verdicts(), ["failure", "success"], "{status}");
        assert_eq!(town.answers(1).len(), 1, "{status}: commands are answered");
        let tries = tried();
        assert!(tries > 0, "{status}");
        town.resync().await;
        assert_eq!(tried(), tries, "{status}: it is left alone");

        town.forge.clear_faults();
        town.pass(11 * MINUTE);
        town.resync().await;
        assert_eq!(verdicts(), ["success", "success"], "{status}: tried again");
        town.done();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_that_is_deleted_before_it_is_reacted_to_is_answered_once() {
    let town = two_proposals().await;
    let reactions = Matching::any().method("POST").path("/reactions");
    town.forge.fail_next(1, reactions, Strike::Before, Fault::Status(404));
    town.comment(1, "ada", "/capstan help").await;
    town.comment(2, "ada", "/capstan help").await;
    town.resync().await;
    assert_eq!((town.answers(1).len(), town.answers(2).len()), (1, 1));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_issues_commands_alone_are_missing() {
    let town = two_proposals().await;
    town.forge.comment(REPOSITORY, 1, "ada", "/capstan plan").unwrap();
    town.forge.switch_issues(REPOSITORY, false).unwrap();
    town.release("v22.1.0", "v1.22.9");
    let mine = town.open("ada", "mine", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
    town.settle().await;
    for pull in town.open_pulls().iter().filter(|pull| pull.number != mine) {
        assert!(pull.title.ends_with("to aws/v22.1.0"), "{}", pull.title);
        assert_eq!(town.check(pull.number).conclusion.as_deref(), Some("success"));
    }
    assert_eq!(town.check(mine).conclusion.as_deref(), Some("failure"));
    assert!(town.answers(1).is_empty());

    town.forge.switch_issues(REPOSITORY, true).unwrap();
    for status in [403, 422] {
        let listing = Matching::any().method("GET").path("/issues/comments");
        town.forge.fail_next(1, listing, Strike::Before, Fault::Status(status));
        town.push("main", &[sample::machine_pool(PEU01, "v1.21.4", u32::from(status))]);
        town.settle().await;
        let body = town.pull(1).body;
        assert!(body.contains(&format!("| Will be replaced | {status} machines |")), "{status}: {body}");
    }
    town.resync().await;
    assert_eq!(town.answers(1).len(), 1, "they are back");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_is_refused_costs_nobody_else_theirs() {
    for status in [403, 404, 422] {
        let town = two_proposals().await;
        town.forge.pause_deliveries();
        let mine = town.open("ada", "mine", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
        let other = town.open("ada", "other", &[sample::machine_pool(PEU02, "v1.20.1", 2)]);
        let head = town.pull(mine).head;
        let reports = Matching::any().method("POST").path("/check-runs").body(&head);
        town.forge.fail_next(u32::MAX, reports, Strike::Before, Fault::Status(status));
        let tried = || {
            let of_head = |call: &capstan_forge::Exchange| {
                call.path.ends_with("/check-runs") && call.request["head_sha"] == head.as_str()
            };
            town.forge.count_requests(of_head)
        };
        town.forge.comment(REPOSITORY, 1, "ada", "/capstan help").unwrap();
        town.forge.resume_deliveries(capstan_forge::DeliveryOrder::AsHappened);
        town.settle().await;
        assert_eq!(town.check(other).conclusion.as_deref(), Some("failure"), "{status}");
        assert_eq!(town.answers(1).len(), 1, "{status}: commands are answered");
        town.resync().await;
        assert_eq!(tried(), 1, "{status}: it is left alone");
        town.forge.clear_faults();
        town.pass(11 * MINUTE);
        town.resync().await;
        assert_eq!(town.check(mine).conclusion.as_deref(), Some("failure"), "{status}: tried again");
        town.done();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_that_is_refused_costs_nobody_else_theirs() {
    for status in [403, 404, 410, 422] {
        let town = Town::new("mode: propose\n", &[PEU01, PEU02]).await;
        let opens = Matching::any().method("POST").path("/pulls").body("gauss/peu01");
        town.forge.fail_next(u32::MAX, opens, Strike::Before, Fault::Status(status));
        town.release("v22.0.0", "v1.22.5");
        town.settle().await;
        let heads = || town.open_pulls().into_iter().map(|pull| pull.head_branch).collect::<Vec<_>>();
        assert_eq!(heads(), ["capstan/upgrade/gauss/peu02"], "{status}");
        assert_eq!(town.check(1).conclusion.as_deref(), Some("success"), "{status}");
        let (state, why) = town.standing(PEU01).await;
        assert_eq!(state, "refused", "{status}: {why}");
        assert!(why.contains(". Capstan retries after 2"), "{why}");
        let before = town.forge.write_calls();
        town.resync().await;
        assert_eq!(town.forge.write_calls(), before, "{status}: it is left alone");

        town.forge.clear_faults();
        town.pass(11 * MINUTE);
        town.resync().await;
        assert_eq!(heads().len(), 2, "{status}: tried again");
        town.done();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_ruleset_refuses_is_not_written_at_every_turn() {
    let town = Town::new("mode: propose\n", &[PEU01, PEU02]).await;
    town.forge.protect(REPOSITORY, "refs/heads/capstan/upgrade/gauss/peu01", "Nobody may.").unwrap();
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 1);
    let counts = town.database().row_counts().await.unwrap();
    assert!(counts.contains(&("audit", 2)), "what was opened and what was refused, once each: {counts:?}");
    let before = town.forge.write_calls();
    town.resync().await;
    assert_eq!(town.forge.write_calls(), before, "neither tree nor commit");
    // Something else is another write.
    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    assert!(town.forge.write_calls() > before + 3);
    town.forge.unprotect(REPOSITORY).unwrap();
    town.pass(11 * MINUTE);
    town.resync().await;
    assert_eq!(town.open_pulls().len(), 2);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_github_refuses_is_reported_and_its_neighbour_is_held() {
    let town = two_proposals().await;
    let body = Matching::any().method("PATCH").path("/pulls/1");
    town.forge.fail_next(1, body, Strike::Before, Fault::Status(403));
    let tried = || calls(&town, "PATCH", "/pulls/1");
    let before = tried();
    town.forge.comment(REPOSITORY, 1, "ada", "/capstan hold").unwrap();
    town.comment(2, "ada", "/capstan hold").await;
    assert!(town.answers(1)[0].contains("GitHub refuses it"), "{:?}", town.answers(1));
    assert!(!town.pull(1).draft && town.pull(2).draft);
    assert!(town.pull(2).body.starts_with("> On hold by `ada`."), "{}", town.pull(2).body);
    town.resync().await;
    assert_eq!(tried() - before, 1);
    town.done();
}

/// The settings group no longer, so the shared pull request leaves. During a pause it stays, and notes new decisions.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_a_leaving_pull_request_cannot_note_is_reported() {
    const GROUPED: &str = "mode: propose\nupgrade: {proposals: {group: {by: \"*/\"}}}\ndashboard: {}\n";
    let town = Town::new(GROUPED, &[PEU01, PEU02]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let shared = town.open_pulls()[0].number;
    town.forge.create_user("olga").unwrap();
    town.forge.grant(REPOSITORY, "olga", Permission::Admin).unwrap();
    town.comment(shared, "olga", "/capstan pause").await;
    town.push("main", &[Edit::write(".capstan.yaml", GROUPED.replace("group: {by: \"*/\"}", ""))]);
    town.settle().await;
    let body = Matching::any().method("PATCH").path(&format!("/pulls/{shared}"));
    town.forge.fail_next(1, body.clone(), Strike::Before, Fault::Status(403));
    town.comment(shared, "ada", "/capstan hold").await;
    let last = || town.answers(shared).last().cloned().unwrap_or_default();
    assert!(last().contains("GitHub refuses it"), "{}", last());
    assert!(!town.pull(shared).body.contains("On hold by"), "{}", town.pull(shared).body);
    // Another decision is another write, which is tried at once.
    town.comment(shared, "ada", "/capstan hold an audit").await;
    assert!(town.pull(shared).body.contains("On hold by `ada`: an audit"), "{}", town.pull(shared).body);

    // Where GitHub does not answer, the others go on, and the next run hears the command again.
    town.forge.fail_next(u32::MAX, body, Strike::Before, Fault::Status(502));
    town.comment(shared, "ada", "/capstan unhold").await;
    assert!(town.pull(shared).body.contains("On hold by `ada`"), "{}", town.pull(shared).body);
    town.forge.clear_faults();
    town.pass(10 * MINUTE);
    town.resync().await;
    assert!(!town.pull(shared).body.contains("On hold by"), "{}", town.pull(shared).body);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_drafts_a_hold_still_holds_and_the_draft_is_not_retried_at_every_turn() {
    let town = two_proposals().await;
    let drafts = Matching::any().path("/graphql").body("convertPullRequestToDraft");
    town.forge.fail_next(1, drafts, Strike::Before, Fault::Status(403));
    town.comment(1, "ada", "/capstan hold").await;
    assert!(!town.pull(1).draft && town.pull(1).body.starts_with("> On hold by `ada`."));
    town.resync().await;
    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    assert!(!town.pull(1).draft && town.pull(1).title.ends_with("to aws/v22.0.0"));
    town.done();
}
