//! Pull requests whose base is not the default branch. Capstan judges what they bring there together with everything
//! below them, and passes nothing whose effect is unknown.

use capstan_forge::{Edit, NewPull};

use super::sample;
use super::town::{REPOSITORY, Town};

const PEU01: &str = "gauss/peu01";
const WEB: &str = "euler/web";
const BRANCH: &str = "capstan/upgrade/gauss/peu01";

/// A person's pull request whose branch is based on another branch.
fn open_on(town: &Town, base: &str, branch: &str, edits: &[Edit]) -> u64 {
    let on = town.forge.resolve(REPOSITORY, base).unwrap().unwrap();
    let commit = town.forge.commit_on(REPOSITORY, &on, "ada", "Mine", edits).unwrap();
    town.forge.push(REPOSITORY, branch, &commit, "ada").unwrap();
    aim(town, base, branch)
}

fn aim(town: &Town, base: &str, branch: &str) -> u64 {
    let new = NewPull {
        title: branch.to_owned(),
        head: branch.to_owned(),
        base: base.to_owned(),
        ..NewPull::default()
    };
    town.forge.open_pull(REPOSITORY, "ada", new).unwrap()
}

fn docs(name: &str) -> [Edit; 1] {
    [Edit::write(format!("docs/{name}.md"), format!("{name}\n"))]
}

#[track_caller]
fn concludes(town: &Town, number: u64, conclusion: &str, said: &[&str]) {
    let check = town.check(number);
    assert_eq!(check.conclusion.as_deref(), Some(conclusion), "#{number} {}: {}", check.title, check.summary);
    for said in said {
        assert!(check.summary.contains(said), "#{number}: {said}: {}", check.summary);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_is_judged_as_what_it_brings_onto_the_default_branch() {
    let settings = "mode: propose\n\
        upgrade: {merge: {approvals: 1}}\n\
        preflight: {mode: required}\n\
        managementClusters: [{name: mc-eu, uid: 00000000-0000-4000-8000-000000000001, clusters: ['euler/*']}]\n";
    let town = Town::new(settings, &[PEU01, WEB]).await;
    let harmless = open_on(&town, "main", "one", &docs("one"));
    let harmless_too = open_on(&town, "one", "two", &docs("two"));
    // Each is harmless against the branch below it.
    let harmful = open_on(&town, "main", "down", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
    let above_harmful = open_on(&town, "down", "down-two", &docs("down"));
    let claimed = open_on(&town, "two", "claimed", &[sample::machine_pool(WEB, "v1.21.4", 3)]);
    let above_claimed = open_on(&town, "claimed", "claimed-two", &docs("claimed"));
    // The branch below says something else of what is an error.
    let lenient = open_on(
        &town,
        "main",
        "lenient",
        &[Edit::write(".capstan.yaml", "mode: propose\npolicy: {component-downgrade: 'off'}\n")],
    );
    let above_lenient =
        open_on(&town, "lenient", "lenient-two", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
    // Branches without an open pull request.
    town.push("release-1", &docs("release"));
    let aside = open_on(&town, "release-1", "aside", &docs("aside"));
    let aside_touching =
        open_on(&town, "release-1", "aside-two", &[sample::machine_pool(PEU01, "v1.21.4", 4)]);
    // Each is below the other.
    let hither = open_on(&town, "main", "hither", &[sample::machine_pool(PEU01, "v1.21.4", 5)]);
    town.forge.push(REPOSITORY, "thither", &open_commit(&town, "hither"), "ada").unwrap();
    let circle = aim(&town, "hither", "thither");
    town.forge.retarget(REPOSITORY, hither, "ada", "thither").unwrap();
    town.settle().await;

    concludes(&town, harmless, "success", &[]);
    concludes(&town, harmless_too, "success", &["changes no file of a cluster"]);
    concludes(&town, harmful, "failure", &[]);
    concludes(&town, above_harmful, "failure", &["`gauss/peu01`"]);
    concludes(&town, claimed, "action_required", &["mc-eu"]);
    concludes(&town, above_claimed, "action_required", &["mc-eu"]);
    concludes(&town, above_lenient, "failure", &["`gauss/peu01`"]);
    concludes(&town, lenient, "success", &[]);
    concludes(&town, aside, "success", &["changes no file of a cluster"]);
    concludes(&town, aside_touching, "action_required", &["for `release-1`", "Change its base to `main`"]);
    concludes(&town, circle, "action_required", &["are based on each other in a circle"]);

    // A stack that GitHub knows gets the same verdict.
    town.forge.stack(REPOSITORY, &[harmful, above_harmful], "ada").unwrap();
    town.settle().await;
    concludes(&town, above_harmful, "failure", &["`gauss/peu01`"]);
    let before = town.forge.write_calls();
    town.resync().await;
    assert_eq!(town.forge.write_calls(), before, "nothing moved, no call");

    // The default branch moves: no merge can be tried until the stack is rebased.
    town.push("main", &docs("moved"));
    town.settle().await;
    concludes(&town, harmless_too, "success", &["changes no file of a cluster"]);
    concludes(&town, above_claimed, "action_required", &["is not based on the tip of `main`"]);
    town.done();
}

fn open_commit(town: &Town, branch: &str) -> String {
    let on = town.forge.resolve(REPOSITORY, branch).unwrap().unwrap();
    town.forge.commit_on(REPOSITORY, &on, "ada", "Mine", &docs("thither")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_does_not_merge_a_proposal_early() {
    let town = Town::new("mode: propose\nupgrade: {merge: {approvals: 1}}\n", &[PEU01]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let proposal = town.open_pulls().iter().find(|pull| pull.head_branch == BRANCH).unwrap().number;
    let above = open_on(&town, BRANCH, "above", &docs("above"));
    town.settle().await;
    concludes(&town, proposal, "action_required", &[]);
    concludes(&town, above, "action_required", &["which is below it: It needs 1 approval"]);

    // A pull request below Capstan's in a stack: Capstan does not merge other people's work with its own.
    town.forge.close(REPOSITORY, above, "ada").unwrap();
    let below = open_on(&town, "main", "below", &docs("below"));
    town.forge.retarget(REPOSITORY, proposal, "ada", "below").unwrap();
    town.forge.stack(REPOSITORY, &[below, proposal], "ada").unwrap();
    town.settle().await;
    let open: Vec<u64> = town.open_pulls().iter().map(|pull| pull.number).collect();
    assert!(open.contains(&proposal) && open.len() == 2, "no second proposal is opened: {open:?}");
    town.comment(proposal, "ada", "/capstan merge").await;
    town.settle().await;
    let answers = town.answers(proposal);
    // Its number is not a link, so that the answer creates no mention.
    let said = format!("also merge the pull requests below it: #\u{200b}{below}.");
    assert!(answers.last().is_some_and(|answer| answer.contains(&said)), "{answers:?}");
    assert_eq!(town.pull(proposal).state, capstan_forge::PullState::Open);
    // A person merges the stack at once.
    town.forge.merge_stack(REPOSITORY, proposal, "ada").unwrap();
    town.settle().await;
    assert_eq!(town.pull(below).state, capstan_forge::PullState::Merged);
    assert_eq!(town.pull(proposal).state, capstan_forge::PullState::Merged);
    town.done();
}
