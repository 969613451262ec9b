//! Approvals bound to what is changed, merges in the way that the branch wants, and buttons that do the same.

use std::collections::BTreeMap;

use capstan_forge::{
    Edit, Fault, Matching, MergeMethod, Permission, Protection, PullState, ReviewState, Strike,
};

use capstan_model::file_change::FileChange;
use capstan_model::tree::RepoPath;
use capstan_plan::proposal::PlanDigest;

use super::sample;
use super::town::{REPOSITORY, Town};

const PEU01: &str = "gauss/peu01";
const BRANCH: &str = "capstan/upgrade/gauss/peu01";

/// A town with a proposal, where ada, grace and tom may write.
async fn proposed(merge: &str) -> Town {
    proposed_under(&format!("mode: propose\nupgrade: {{merge: {merge}}}\n")).await
}

async fn proposed_under(settings: &str) -> Town {
    let town = Town::new(settings, &[PEU01]).await;
    for login in ["grace", "tom"] {
        town.forge.create_user(login).unwrap();
        town.forge.grant(REPOSITORY, login, Permission::Write).unwrap();
    }
    town.push("main", &[sample::release("v22.0.0", "v1.22.5")]);
    town.settle().await;
    town
}

fn last(town: &Town) -> String {
    town.answers(1).pop().unwrap_or_default()
}

fn head(town: &Town) -> String {
    town.pull(1).head[..7].to_owned()
}

fn conclusion(town: &Town) -> String {
    town.check(1).conclusion.unwrap_or_default()
}

/// Comments a command that names the head, as a person does who has reviewed it.
async fn say(town: &Town, by: &str, verb: &str) {
    let head = head(town);
    town.comment(1, by, &format!("/capstan {verb} {head}")).await;
}

fn wants(checks: &[&str]) -> Protection {
    let checks = checks.iter().map(|check| (*check).to_owned()).collect();
    Protection { checks, ..Protection::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_of_what_is_changed_and_no_commit_else_takes_it_back() {
    let mut town = proposed("{approvals: 2}").await;
    assert_eq!(conclusion(&town), "action_required");
    assert!(town.check(1).title.starts_with("2 of 2 approvals missing"), "{}", town.check(1).title);
    assert_eq!(town.check(1).buttons, ["approve", "replan"]);
    let first = head(&town);
    say(&town, "ada", "approve").await;
    let body = town.pull(1).body;
    assert!(body.starts_with(&format!("> Approved by `ada` for `{first}`.")), "{body}");
    assert!(town.check(1).title.starts_with("1 of 2 approvals missing"), "{}", town.check(1).title);
    assert!(town.answers(1).is_empty(), "description and check say it: {:?}", town.answers(1));
    town.comment(1, "mallory", "/capstan approve").await;
    assert!(last(&town).contains("was not carried out"), "{}", last(&town));
    town.comment(1, "ada", "/capstan approve 0123456").await;
    assert!(last(&town).contains("nothing is approved"), "{}", last(&town));
    assert_eq!(conclusion(&town), "action_required");

    town.forge.review(REPOSITORY, 1, "grace", ReviewState::Approved, "Fine").unwrap();
    town.settle().await;
    assert_eq!(conclusion(&town), "success", "{}", town.check(1).summary);
    assert_eq!(town.check(1).buttons, ["merge", "replan"]);
    let above = format!(
        "> Approved by `ada` for `{first}`.\n\n> Approved by `grace` for `{first}`, in a review.\n\n"
    );
    assert!(town.pull(1).body.starts_with(&above), "{}", town.pull(1).body);
    // A newer release waits: what is approved keeps its target.
    town.push("main", &[sample::release("v23.0.0", "v1.22.6")]);
    town.settle().await;
    assert_eq!(head(&town), first);
    town.restart_without_database().await;
    town.resync().await;
    assert_eq!(conclusion(&town), "success", "{}", town.check(1).summary);

    // Another person pushes the same change as another commit.
    let files = town.forge.files(REPOSITORY, BRANCH).unwrap();
    let own = files.into_iter().filter(|(path, _)| path.starts_with("gauss/"));
    let edits: Vec<Edit> = own.map(|(path, content)| Edit::write(path, content)).collect();
    let rebased = town.forge.commit_on(REPOSITORY, "main", "tom", "Rebased", &edits).unwrap();
    town.forge.push(REPOSITORY, BRANCH, &rebased, "tom").unwrap();
    town.settle().await;
    assert_ne!(head(&town), first);
    assert_eq!(conclusion(&town), "success", "{}", town.check(1).summary);

    // A byte more.
    let pushed =
        town.forge.commit(REPOSITORY, BRANCH, "tom", "More", &[Edit::write("gauss/peu01/base/NOTES", "x")]);
    let pushed = pushed.unwrap()[..7].to_owned();
    town.settle().await;
    assert_eq!(conclusion(&town), "action_required");
    let dismissed =
        format!("The approval by `ada` for `{first}` is dismissed: the result changed with `{pushed}`.");
    assert!(town.check(1).summary.contains(&dismissed), "{}", town.check(1).summary);
    assert!(town.pull(1).body.contains(&format!("> {dismissed}\n")), "{}", town.pull(1).body);
    say(&town, "tom", "approve").await;
    assert!(
        last(&town).contains("does not count: they opened it, or pushed to its branch."),
        "{}",
        last(&town)
    );
    say(&town, "ada", "approve").await;
    say(&town, "grace", "approve").await;
    assert_eq!(conclusion(&town), "success", "{}", town.check(1).summary);
    town.comment(1, "grace", "/capstan unapprove").await;
    assert_eq!(conclusion(&town), "action_required");
    say(&town, "ada", "merge").await;
    assert!(last(&town).contains("It is not merged. 1 of 2 approvals missing."), "{}", last(&town));
    // An approval counts only while its author has the right.
    say(&town, "grace", "approve").await;
    town.forge.grant(REPOSITORY, "grace", Permission::Read).unwrap();
    town.resync().await;
    assert_eq!(conclusion(&town), "action_required");
    town.forge.grant(REPOSITORY, "grace", Permission::Write).unwrap();
    town.resync().await;
    say(&town, "ada", "merge").await;
    assert_eq!(town.pull(1).state, PullState::Merged, "{}", last(&town));
    assert!(town.audit().await.iter().any(|line| line.contains("proposal-merged #1 at ")));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_approves_or_merges_what_came_after_they_said_so() {
    let town = proposed("{approvals: 1}").await;
    town.forge.comment(REPOSITORY, 1, "ada", "/capstan approve\n/capstan merge").unwrap();
    town.push(BRANCH, &[Edit::write("gauss/peu01/base/NOTES", "x")]);
    town.settle().await;
    let answer = last(&town);
    assert!(answer.starts_with("`/capstan approve` was not carried out: "), "{answer}");
    assert!(answer.contains(&format!("comment `/capstan merge {}`", head(&town))), "{answer}");
    assert_eq!((town.pull(1).state, conclusion(&town).as_str()), (PullState::Open, "action_required"));
    town.done();
}

/// Puts a commit of tom's in the place of Capstan's. It brings a change of his own besides, and says of itself all that
/// Capstan's says: its trailers are copied, and its digest is that of what it changes.
fn forge_authorship(town: &Town, keep: fn(&str) -> bool) -> String {
    let read = |revision| town.forge.files(REPOSITORY, revision).unwrap();
    let before = read("main");
    let mut after: BTreeMap<String, Vec<u8>> = before.clone();
    after.extend(read(BRANCH).into_iter().filter(|(path, _)| path.starts_with("gauss/peu01/")));
    after.insert("gauss/peu01/base/backdoor.yaml".to_owned(), b"kind: ConfigMap\n".to_vec());
    after.retain(|path, content| before.get(path) != Some(content));
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    let changes: Vec<FileChange> = after
        .iter()
        .map(|(path, content)| FileChange {
            path: RepoPath::parse(path).unwrap(),
            before: before.get(path).map(text),
            after: Some(text(content)),
        })
        .collect();
    let said = town.forge.commits(REPOSITORY, BRANCH).unwrap()[0].message.clone();
    let lines = said.lines().filter(|line| keep(line)).map(|line| match line.split_once(": ") {
        Some(("Capstan-Plan", _)) => format!("Capstan-Plan: {}\n", PlanDigest::of(&changes)),
        _ => format!("{line}\n"),
    });
    let message: String = lines.collect();
    let edits: Vec<Edit> = after.iter().map(|(path, content)| Edit::write(path, content.clone())).collect();
    let forged = town.forge.commit_on(REPOSITORY, "main", "tom", &message, &edits).unwrap();
    town.forge.push(REPOSITORY, BRANCH, &forged, "tom").unwrap();
    forged
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_claims_to_be_capstans_belongs_to_its_author() {
    for keep in [|_: &str| true, |line: &str| !line.starts_with("Capstan-Seal: ")] {
        for remembers in [true, false] {
            let mut town = proposed("{approvals: 1, automatic: [\"gauss/*\"]}").await;
            let own = town.pull(1).head;
            let forged = forge_authorship(&town, keep);
            if !remembers {
                town.restart_without_database().await;
            }
            town.settle().await;
            town.resync().await;
            assert_eq!(town.pull(1).head, forged, "nobody's push is lost");
            say(&town, "tom", "approve").await;
            town.forge.review(REPOSITORY, 1, "tom", ReviewState::Approved, "Mine").unwrap();
            town.settle().await;
            say(&town, "tom", "merge").await;
            town.resync().await;
            assert_eq!(town.pull(1).state, PullState::Open, "{:?}", town.answers(1));
            assert!(!town.pull(1).auto_merge);
            let summary = town.check(1).summary;
            assert!(summary.contains("does not count: they opened it, or pushed to its branch"), "{summary}");
            // A replan by another person restores Capstan's own content.
            town.comment(1, "ada", "/capstan replan").await;
            assert_ne!(town.pull(1).head, forged);
            let (own, now) = (
                town.forge.commits(REPOSITORY, &own).unwrap(),
                town.forge.commits(REPOSITORY, BRANCH).unwrap(),
            );
            assert_eq!(own[0].tree, now[0].tree);
            town.done();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_waits_for_others_by_githubs_own_means_and_takes_that_back() {
    let town = proposed("{}").await;
    town.forge.allow_merging(REPOSITORY, &[MergeMethod::Squash], true).unwrap();
    town.forge.require(REPOSITORY, "main", wants(&["capstan", "build"])).unwrap();
    town.comment(1, "ada", "/capstan hold the audit").await;
    say(&town, "ada", "merge").await;
    assert!(last(&town).contains("It is not merged. On hold by `ada`: the audit."), "{}", last(&town));
    assert_eq!(town.check(1).buttons, ["unhold"]);
    town.comment(1, "ada", "/capstan unhold").await;

    say(&town, "ada", "merge").await;
    assert!(
        last(&town).contains("These required checks are not done: `build`. Auto-merge is enabled"),
        "{}",
        last(&town)
    );
    assert!(town.pull(1).auto_merge);
    say(&town, "ada", "merge").await;
    assert!(last(&town).contains("Auto-merge is enabled"), "{}", last(&town));
    town.comment(1, "ada", "/capstan hold").await;
    assert!(!town.pull(1).auto_merge && town.pull(1).draft);
    town.comment(1, "ada", "/capstan unhold").await;
    // What a person asked for is theirs.
    town.forge.enable_auto_merge(REPOSITORY, 1, "ada", MergeMethod::Squash).unwrap();
    town.comment(1, "ada", "/capstan hold").await;
    assert!(town.pull(1).auto_merge);
    town.comment(1, "ada", "/capstan unhold").await;
    town.forge.disable_auto_merge(REPOSITORY, 1).unwrap();

    let full = town.pull(1).head;
    town.forge.set_status(REPOSITORY, &full, "ada", "build", "failure").unwrap();
    say(&town, "ada", "merge").await;
    assert!(last(&town).contains("Required checks fail: `build`."), "{}", last(&town));
    town.forge.set_status(REPOSITORY, &full, "ada", "build", "success").unwrap();
    // What GitHub does not let the App do is said, and not tried by itself again.
    let merges = Matching::any().method("PUT").path("/merge");
    town.forge.fail_next(1, merges, Strike::Before, Fault::Status(403));
    say(&town, "ada", "merge").await;
    assert_eq!(town.pull(1).state, PullState::Open);
    assert!(last(&town).contains("It is not merged: GitHub refuses it."), "{}", last(&town));
    say(&town, "ada", "merge").await;
    assert_eq!(town.pull(1).state, PullState::Merged, "{}", last(&town));
    assert!(last(&town).contains("(squash)"), "{}", last(&town));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_stops_merges_and_takes_back_what_capstan_had_asked_for() {
    // The dashboard keeps the pause.
    let settings = "mode: propose\nupgrade: {merge: {approvals: 1, automatic: [\"gauss/*\"]}}\ndashboard: {enabled: true}\n";
    let town = proposed_under(settings).await;
    town.forge.grant(REPOSITORY, "tom", Permission::Admin).unwrap();
    town.forge.require(REPOSITORY, "main", wants(&["capstan", "build"])).unwrap();
    say(&town, "grace", "approve").await;
    assert!(town.pull(1).auto_merge, "{}", town.check(1).summary);
    town.comment(1, "tom", "/capstan pause the freeze").await;
    assert!(!town.pull(1).auto_merge, "what Capstan asked for is taken back: {}", last(&town));
    let full = town.pull(1).head;
    town.forge.set_status(REPOSITORY, &full, "ada", "build", "success").unwrap();
    town.resync().await;
    assert_eq!(town.pull(1).state, PullState::Open, "the settings merge nothing in a pause");
    assert_eq!(town.check(1).buttons, Vec::<String>::new());
    say(&town, "ada", "merge").await;
    assert!(last(&town).contains("It is not merged. Paused by `tom` since "), "{}", last(&town));
    assert!(last(&town).contains("`/capstan resume` undoes it."), "{}", last(&town));
    // What a person asked for is theirs, in a pause too.
    town.forge.set_status(REPOSITORY, &full, "ada", "build", "pending").unwrap();
    town.forge.enable_auto_merge(REPOSITORY, 1, "ada", MergeMethod::Squash).unwrap();
    town.resync().await;
    assert!(town.pull(1).auto_merge);
    town.forge.disable_auto_merge(REPOSITORY, 1).unwrap();
    town.forge.set_status(REPOSITORY, &full, "ada", "build", "success").unwrap();
    town.comment(1, "tom", "/capstan resume").await;
    town.resync().await;
    assert_eq!(town.pull(1).state, PullState::Merged, "{}", last(&town));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_with_a_merge_queue_gets_its_proposals_through_the_queue() {
    let town = proposed("{method: rebase}").await;
    town.forge.require(REPOSITORY, "main", Protection { queue: true, ..wants(&["capstan"]) }).unwrap();
    say(&town, "ada", "merge").await;
    assert!(last(&town).contains("It is in the merge queue at"), "{}", last(&town));
    assert!(town.pull(1).queued);
    town.comment(1, "ada", "/capstan hold").await;
    assert!(!town.pull(1).queued && town.pull(1).draft);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_of_the_settings_are_merged_by_themselves_once_approved() {
    let town = proposed("{approvals: 1, automatic: [\"gauss/*\"]}").await;
    town.forge.require(REPOSITORY, "main", wants(&["capstan", "build"])).unwrap();
    town.resync().await;
    assert!(!town.pull(1).auto_merge, "an approval is missing");
    say(&town, "grace", "approve").await;
    assert!(town.pull(1).auto_merge, "{}", town.check(1).summary);
    town.comment(1, "grace", "/capstan unapprove").await;
    assert!(!town.pull(1).auto_merge);
    say(&town, "grace", "approve").await;
    assert!(town.pull(1).auto_merge);
    let full = town.pull(1).head;
    town.forge.set_status(REPOSITORY, &full, "ada", "build", "success").unwrap();
    town.forge.disable_auto_merge(REPOSITORY, 1).unwrap();
    town.pass(60);
    town.resync().await;
    assert_eq!(town.pull(1).state, PullState::Merged);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_button_does_anything_for_who_may_not() {
    let town = proposed("{approvals: 1}").await;
    let mut pressed = Vec::new();
    let press_all = async |town: &Town, pressed: &mut Vec<String>| {
        let seen = |town: &Town| {
            let pull = town.pull(1);
            (pull.head, pull.body, pull.draft, pull.state, conclusion(town), town.check(1).buttons)
        };
        let before = seen(town);
        for button in town.check(1).buttons {
            // GitHub lets writers press the button. Capstan checks their rights when it handles the press.
            town.forge.pause_deliveries();
            town.forge.press_button(REPOSITORY, town.check(1).id, &button, "tom").unwrap();
            town.forge.grant(REPOSITORY, "tom", Permission::Read).unwrap();
            town.forge.resume_deliveries(capstan_forge::DeliveryOrder::AsHappened);
            town.settle().await;
            town.forge.grant(REPOSITORY, "tom", Permission::Write).unwrap();
            assert_eq!(seen(town), before, "{button}: {}", town.check(1).summary);
            pressed.push(button);
        }
    };
    press_all(&town, &mut pressed).await;
    say(&town, "ada", "approve").await;
    press_all(&town, &mut pressed).await;
    town.comment(1, "ada", "/capstan hold").await;
    press_all(&town, &mut pressed).await;
    pressed.sort();
    pressed.dedup();
    assert_eq!(pressed, ["approve", "merge", "replan", "unhold"]);
    let audit = town.audit().await;
    assert!(!audit.iter().any(|row| row.starts_with("tom command-carried-out")), "{audit:?}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_does_what_its_command_does_and_the_check_tells() {
    let town = proposed("{approvals: 1}").await;
    let press = async |button: &str, by: &str| {
        town.forge.press_button(REPOSITORY, town.check(1).id, button, by).unwrap();
        town.settle().await;
    };
    town.push("main", &[Edit::write("CODEOWNERS", "/gauss/ @ada @grace\n")]);
    town.settle().await;
    press("approve", "tom").await;
    let summary = town.check(1).summary;
    assert!(
        summary.contains("`approve`, pressed by `tom`: `/capstan approve` was not carried out: it needs for `gauss/peu01` an owner"),
        "{summary}"
    );
    press("approve", "ada").await;
    let summary = town.check(1).summary;
    assert!(summary.contains("`approve`, pressed by `ada`: `gauss/peu01`: Approved by `ada`"), "{summary}");
    assert_eq!(
        (conclusion(&town), town.check(1).buttons),
        ("success".to_owned(), vec!["merge".to_owned(), "replan".to_owned()])
    );
    assert!(town.answers(1).is_empty(), "nobody asked in a comment");
    town.comment(1, "ada", "/capstan hold").await;
    press("unhold", "grace").await;
    assert!(!town.pull(1).draft);
    press("merge", "grace").await;
    assert_eq!(town.pull(1).state, PullState::Merged, "{}", town.check(1).summary);
    let audited = town.audit().await;
    for (who, what) in [
        ("tom", "command-refused approve, button "),
        ("ada", "command-carried-out approve, button "),
        ("grace", "command-carried-out merge, button "),
    ] {
        assert!(
            audited.iter().any(|line| line.starts_with(&format!("{who} {what}"))),
            "{who} {what}: {audited:?}"
        );
    }
    town.done();
}

/// Nobody asked Capstan for it, and no reconciler reports.
#[tokio::test(flavor = "multi_thread")]
async fn a_merge_by_a_person_is_a_line_in_the_history_of_its_cluster() {
    let town = proposed("{approvals: 1}").await;
    let commit = town.forge.merge_pull(REPOSITORY, 1, "grace", MergeMethod::Squash).unwrap();
    town.settle().await;
    let merges = async || -> Vec<String> {
        town.audit().await.into_iter().filter(|line| line.contains(" pull-request-merged ")).collect()
    };
    let found = merges().await;
    let expected = format!("grace pull-request-merged #1 as {commit}, ");
    assert!(found.len() == 1 && found[0].starts_with(&expected), "{found:?}");
    town.resync().await;
    assert_eq!(merges().await, found, "it is noted once");
    town.done();
}
