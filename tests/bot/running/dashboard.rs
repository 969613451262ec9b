//! The dashboard issue, and `pause`: kept by edits of its body, commanded by its boxes.

use capstan_bot::sync::Synced;
use capstan_forge::{Edit, Fault, IssueView, Matching, Permission, Strike};
use capstan_ports::{Issue, IssueEdit, IssueState, Permission as Right};
use capstan_report::{BlockKey, DashboardRecord};

use super::memory::{Moment, World};
use super::sample;
use super::town::{REPOSITORY, Town};

const PEU01: &str = "gauss/peu01";
const PEU02: &str = "gauss/peu02";
const POOL: &str = "gauss/peu01/base/machinepool.yaml";
const BRANCH: &str = "capstan/upgrade/gauss/peu01";
/// One proposal at a time: the other waits.
const ONE_AT_A_TIME: &str = "mode: propose\nupgrade: {proposals: {open: 1}}\ndashboard: {labels: [fleet]}\n";

async fn town(settings: &str) -> Town {
    let town = Town::new(settings, &[PEU01, PEU02]).await;
    town.forge.create_user("olga").unwrap();
    town.forge.grant(REPOSITORY, "olga", Permission::Admin).unwrap();
    town
}

/// Issues that are open, and no pull requests.
fn open(town: &Town) -> Vec<IssueView> {
    town.forge.issues(REPOSITORY).unwrap().into_iter().filter(|issue| issue.open).collect()
}

/// The one dashboard.
fn dashboard(town: &Town) -> IssueView {
    let mut open = open(town);
    assert_eq!(open.len(), 1, "{open:?}");
    open.pop().unwrap()
}

/// A person ticks the box whose line contains these words.
async fn tick(town: &Town, by: &str, words: &str) {
    let issue = dashboard(town);
    let line = issue.body.lines().find(|line| line.contains(words) && line.contains("- [ ]"));
    let line = line.unwrap_or_else(|| panic!("no box has {words:?}: {}", issue.body));
    let body = issue.body.replacen(line, &line.replacen("[ ]", "[x]", 1), 1);
    town.forge.edit_body(REPOSITORY, issue.number, by, &body).unwrap();
    town.settle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_made_when_there_is_something_to_tell_and_written_when_that_changes() {
    let mut town = town(ONE_AT_A_TIME).await;
    assert_eq!(open(&town).len(), 0, "all clusters rest");
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let issue = dashboard(&town);
    assert_eq!(
        (issue.title.as_str(), issue.labels.as_slice()),
        ("Capstan dashboard", ["fleet".to_owned()].as_slice())
    );
    assert_eq!(issue.author, town.forge.bot_login());
    assert!(issue.body.contains("\n| `aws/v22.0.0` | 0 | 1 | 1 | 0 |\n"), "{}", issue.body);
    assert!(issue.body.contains("`gauss/peu01` to `aws/v22.0.0` [#1](../pull/1)\n"), "{}", issue.body);
    let waits = "`gauss/peu02` to `aws/v22.0.0`, waiting: 1 of at most 1 proposals are open (`upgrade.proposals.open`)";
    assert!(issue.body.contains(waits), "{}", issue.body);

    let before = town.forge.write_calls();
    town.resync().await;
    town.restart_with_nothing().await;
    town.resync().await;
    assert_eq!(town.forge.write_calls(), before, "nothing changed, nothing is written");
    assert_eq!(dashboard(&town).number, issue.number);
    assert_eq!(town.forge.comments(REPOSITORY, issue.number).unwrap().len(), 0);

    // Another name, and a title of a person's own.
    let broken = Edit::write(format!("{PEU02}/base/machinepool.yaml"), "kind: [\n");
    town.push("main", &[broken]);
    town.settle().await;
    let body = dashboard(&town).body;
    assert!(
        body.contains("\n### Needs somebody (1)\n") && body.contains("- `gauss/peu02`, unplannable: "),
        "{body}"
    );
    town.push("main", &[Edit::write(".capstan.yaml", "mode: perhaps\n")]);
    town.settle().await;
    assert!(dashboard(&town).body.contains("> **Nothing can be planned**: "), "{}", dashboard(&town).body);
    town.push("main", &[Edit::write(".capstan.yaml", "dashboard: {title: Our fleet}\n")]);
    town.settle().await;
    assert_eq!(dashboard(&town).title, "Our fleet");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_is_a_command_of_the_person_who_ticked() {
    let town = town(ONE_AT_A_TIME).await;
    town.push("main", &[Edit::write("CODEOWNERS", "/gauss/peu02/ @olga\n")]);
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    // ada may write, and owns nothing of it.
    tick(&town, "ada", "`gauss/peu02` to").await;
    assert_eq!(town.open_pulls().len(), 1);
    let body = dashboard(&town).body;
    assert!(!body.contains("[x]"), "{body}");
    let refused = "- `ada` ticked `upgrade`: `/capstan upgrade` was not carried out: it needs for `gauss/peu02` an owner of its folder in `CODEOWNERS` (`@olga`), or an administrator of this repository.";
    assert!(body.contains(refused), "{body}");

    tick(&town, "olga", "`gauss/peu02` to").await;
    assert_eq!(town.open_pulls().len(), 2);
    let body = dashboard(&town).body;
    assert!(body.contains("- `olga` ticked `upgrade`: `gauss/peu02`: "), "{body}");
    assert!(!body.contains("### Waiting"), "{body}");
    let audit = town.audit().await;
    let has = |words: &str| audit.iter().any(|row| row.starts_with(words));
    let number = dashboard(&town).number;
    assert!(has(&format!("ada command-refused upgrade, a tick in #{number}")), "{audit:?}");
    assert!(has(&format!("olga command-carried-out upgrade, a tick in #{number}")), "{audit:?}");

    // After a day the dashboard no longer shows it.
    town.pass(25 * 3_600);
    town.resync().await;
    assert!(!dashboard(&town).body.contains("### Just now"), "{}", dashboard(&town).body);
    town.done();
}

/// This applies to every box and to everybody who may edit the issue: on GitHub more people may edit than may command.
#[tokio::test(flavor = "multi_thread")]
async fn no_box_does_anything_for_who_may_not() {
    let town = town(ONE_AT_A_TIME).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let boxes = dashboard(&town).body.matches("- [ ]").count();
    assert!(boxes >= 2, "{}", dashboard(&town).body);
    let standing = async |town: &Town| {
        let body = dashboard(town).body;
        let boxes = body.matches("- [ ]").count();
        (town.open_pulls().len(), boxes, body.contains("**Paused"), town.standing(PEU02).await)
    };
    let before = standing(&town).await;
    for number in 0..boxes {
        let issue = dashboard(&town);
        let at = issue.body.match_indices("- [ ]").nth(number).unwrap().0;
        let mut body = issue.body.clone();
        body.replace_range(at..at + 5, "- [x]");
        town.forge.edit_body(REPOSITORY, issue.number, "mallory", &body).unwrap();
        town.settle().await;
        assert_eq!(standing(&town).await, before, "box {number}: {}", dashboard(&town).body);
        assert!(!dashboard(&town).body.contains("[x]"), "{}", dashboard(&town).body);
    }
    let audit = town.audit().await;
    assert!(!audit.iter().any(|row| row.starts_with("mallory command-carried-out")), "{audit:?}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn ticks_of_several_people_are_ignored_and_other_edits_are_reverted() {
    let town = town(ONE_AT_A_TIME).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let issue = dashboard(&town);
    let both = issue.body.replace("- [ ]", "- [x]");
    let one = issue.body.replacen("- [ ]", "- [x]", 1);
    town.forge.pause_deliveries();
    town.forge.edit_body(REPOSITORY, issue.number, "mallory", &one).unwrap();
    town.forge.edit_body(REPOSITORY, issue.number, "olga", &both).unwrap();
    town.forge.resume_deliveries(capstan_forge::DeliveryOrder::AsHappened);
    town.settle().await;
    let body = dashboard(&town).body;
    let said =
        "No checkbox was processed: several people edited this page at once (`mallory`, `olga`). Tick again.";
    assert!(body.contains(said) && !body.contains("[x]"), "{body}");
    assert_eq!(town.open_pulls().len(), 1);

    // A different text beside the box of `pause`, and a person who is misled by it.
    let issue = dashboard(&town);
    let lure =
        issue.body.replace("`pause`: Capstan opens", "`help`: Capstan opens").replace("- [ ]", "- [x]");
    town.forge.edit_body(REPOSITORY, issue.number, "olga", &lure).unwrap();
    town.settle().await;
    let body = dashboard(&town).body;
    assert!(
        body.contains("`olga` edited this page: the edit was reverted; no checkbox was processed."),
        "{body}"
    );
    assert!(body.contains("`pause`: Capstan opens") && !body.contains("**Paused"), "{body}");

    // An older body of Capstan's own, from before.
    town.forge.edit_body(REPOSITORY, issue.number, "olga", &both).unwrap();
    town.settle().await;
    assert!(!dashboard(&town).body.contains("**Paused"), "{}", dashboard(&town).body);
    assert_eq!(town.open_pulls().len(), 1);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_holds_without_the_database_and_nothing_is_lost_with_resume() {
    let mut town = town("mode: propose\ndashboard: {}\n").await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let issue = dashboard(&town).number;
    town.comment(1, "ada", "/capstan pause").await;
    assert!(
        town.answers(1)[0].contains("it needs an administrator of this repository"),
        "{:?}",
        town.answers(1)
    );
    town.comment(issue, "olga", "/capstan pause the freeze").await;
    let said = "Paused by `olga` since ";
    assert!(town.answers(issue)[0].starts_with(said), "{:?}", town.answers(issue));
    assert!(
        dashboard(&town).body.contains(": the freeze.** Capstan opens, writes and merges nothing."),
        "{}",
        dashboard(&town).body
    );

    town.restart_with_nothing().await;
    town.release("v22.1.0", "v1.22.9");
    town.push("main", &sample::cluster("gauss/peu03"));
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 2, "none is opened");
    assert!(town.file(BRANCH, POOL).contains("v1.22.5"), "none is written");
    assert_eq!(town.standing(PEU01).await.0, "paused");
    town.comment(1, "ada", "/capstan status").await;
    assert!(town.answers(1).pop().unwrap().starts_with(said), "{:?}", town.answers(1).pop());
    town.comment(1, "ada", "/capstan replan").await;
    assert!(town.file(BRANCH, POOL).contains("v1.22.5"), "also where somebody asks");
    let mine = town.open("ada", "mine", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
    town.settle().await;
    assert_eq!(town.check(mine).conclusion.as_deref(), Some("failure"), "checks go on");

    tick(&town, "ada", "`resume`: ").await;
    assert!(town.file(BRANCH, POOL).contains("v1.22.5"), "ada is no administrator");
    tick(&town, "olga", "`resume`: ").await;
    assert!(town.file(BRANCH, POOL).contains("v1.22.9"));
    assert_eq!(town.open_pulls().len(), 4);
    assert!(!dashboard(&town).body.contains("**Paused"), "{}", dashboard(&town).body);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_closes_it_declines_it_and_what_is_decided_there_still_counts() {
    let mut town = town(ONE_AT_A_TIME).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let issue = dashboard(&town);
    town.comment(1, "olga", "/capstan pause").await;
    town.forge.close(REPOSITORY, issue.number, "ada").unwrap();
    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    town.restart_with_nothing().await;
    assert_eq!(open(&town).len(), 0);
    assert_eq!(town.standing(PEU01).await.0, "paused");
    town.comment(1, "olga", "/capstan resume").await;
    assert!(town.file(BRANCH, POOL).contains("v1.22.9"));
    assert_eq!(open(&town).len(), 0);

    town.forge.reopen(REPOSITORY, issue.number, "ada").unwrap();
    town.settle().await;
    assert!(dashboard(&town).body.contains("`gauss/peu01` to `aws/v22.1.0`"), "{}", dashboard(&town).body);

    // Closed again, and enabled explicitly in the settings.
    town.forge.close(REPOSITORY, issue.number, "ada").unwrap();
    town.push("main", &[Edit::write(".capstan.yaml", "dashboard: {enabled: true}\n")]);
    town.settle().await;
    assert_eq!(dashboard(&town).number, issue.number);
    town.forge.close(REPOSITORY, issue.number, "ada").unwrap();
    town.resync().await;
    assert_eq!(open(&town).len(), 0, "asked for once is not for ever");

    // Deleted: recreated. Switched off: closed. On again: the same issue.
    town.forge.delete_issue(REPOSITORY, issue.number, "olga").unwrap();
    town.settle().await;
    let again = dashboard(&town).number;
    assert_ne!(again, issue.number);
    town.push("main", &[Edit::write(".capstan.yaml", "dashboard: {enabled: false}\n")]);
    town.settle().await;
    assert_eq!(open(&town).len(), 0);
    town.comment(1, "olga", "/capstan pause").await;
    let answer = town.answers(1).pop().unwrap();
    assert!(
        answer.contains(
            "the settings disable the dashboard issue (`dashboard.enabled`). Instead: `mode: observe`"
        ),
        "{answer}"
    );
    town.push("main", &[Edit::write(".capstan.yaml", "mode: propose\n")]);
    town.settle().await;
    assert_eq!(dashboard(&town).number, again);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_issues_or_the_right_to_write_them_the_dashboard_alone_is_missing() {
    let town = town(ONE_AT_A_TIME).await;
    town.forge.switch_issues(REPOSITORY, false).unwrap();
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    assert_eq!((town.open_pulls().len(), open(&town).len()), (1, 0));
    let tried = || town.forge.count_requests(|call| call.path.ends_with("/gitops/issues"));
    let before = tried();
    town.resync().await;
    assert_eq!(tried(), before, "it is left alone");
    let audit = town.audit().await;
    assert!(audit.iter().any(|row| row.starts_with("capstan write-refused dashboard: ")), "{audit:?}");

    town.forge.switch_issues(REPOSITORY, true).unwrap();
    town.comment(1, "olga", "/capstan pause").await;
    let answer = town.answers(1).pop().unwrap();
    assert!(
        answer.contains(
            "was not carried out: Capstan would record it in the dashboard issue, and GitHub refuses"
        ),
        "{answer}"
    );
    town.comment(1, "olga", "/capstan retry").await;
    let answer = town.answers(1).pop().unwrap();
    assert!(answer.starts_with("Capstan retries now: dashboard."), "{answer}");
    // Soon, and long before the ten minutes are over.
    town.pass(120);
    town.resync().await;
    assert_eq!(open(&town).len(), 1, "it is tried again");

    let edits = Matching::any().method("PATCH").path("/issues/");
    town.forge.fail_next(1, edits, Strike::Before, Fault::Status(403));
    town.comment(1, "olga", "/capstan pause").await;
    let answer = town.answers(1).pop().unwrap();
    assert!(
        answer.contains(
            "was not carried out: Capstan would record it in the dashboard issue, and GitHub refuses"
        ),
        "{answer}"
    );
    assert!(!dashboard(&town).body.contains("**Paused"));
    assert_eq!(town.standing(PEU02).await.0, "paused", "this run had heard it");
    town.resync().await;
    assert_eq!(town.standing(PEU02).await.0, "waiting");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_without_a_pull_request_are_held_and_their_conflicts_settled_by_name() {
    let settings = "mode: propose\nupgrade: {conflicts: block}\ndashboard: {}\n";
    let mut town = town(settings).await;
    let release = |name: &str, kubernetes: &str, replicas: u32| {
        let text = format!(
            "kind: MachinePool\nspec:\n  replicas: {replicas}\n  template:\n    spec:\n      version: {kubernetes}\n"
        );
        Edit::write(format!("aws/{name}/base/machinepool.yaml"), text)
    };
    town.push("main", &[release("v21.0.0", "v1.21.4", 3), release("v22.0.0", "v1.22.5", 4)]);
    town.settle().await;
    assert_eq!((town.open_pulls().len(), town.standing(PEU01).await.0.as_str()), (0, "blocked"));
    let issue = dashboard(&town);
    assert!(
        issue.body.contains("`take` `MachinePool/peu01-mp-0 /spec/replicas`: the release's value is taken"),
        "{}",
        issue.body
    );

    town.comment(
        issue.number,
        "ada",
        "/capstan hold for gauss/peu02 an audit\n/capstan hold for gauss/peu09\n/capstan hold",
    )
    .await;
    let answer = town.answers(issue.number).pop().unwrap();
    assert!(
        answer.contains(
            "`gauss/peu02`: On hold by `ada`: an audit. `/capstan unhold for gauss/peu02` undoes it."
        ),
        "{answer}"
    );
    assert!(answer.contains("`gauss/peu09`: there is no such cluster on the default branch."), "{answer}");
    assert!(answer.contains("not one of Capstan's open proposals"), "{answer}");
    assert_eq!(town.standing(PEU02).await.0, "held");

    tick(&town, "ada", "`take` `MachinePool/peu01-mp-0 /spec/replicas`").await;
    assert_eq!(town.open_pulls().len(), 1);
    assert!(town.file(BRANCH, POOL).contains("replicas: 4 # as"));
    let number = town.open_pulls()[0].number;
    assert!(town.pull(number).body.contains("as `ada` decided"), "{}", town.pull(number).body);

    town.restart_with_nothing().await;
    town.resync().await;
    assert_eq!(town.standing(PEU02).await.0, "held");
    assert!(town.file(BRANCH, POOL).contains("replicas: 4 # as"));
    tick(&town, "ada", "`gauss/peu02` to").await;
    assert_eq!(town.standing(PEU02).await.0, "blocked");
    town.comment(issue.number, "ada", "/capstan keep for gauss/peu02 /spec/replicas").await;
    assert_eq!(town.open_pulls().len(), 2);
    town.done();
}

/// A cluster with an open proposal for v2, where ada administers the repository.
fn world() -> World {
    let world = World::new(&[
        (".capstan.yaml", "mode: propose\n"),
        ("releases/v1/base/v", "one\n"),
        ("releases/v2/base/v", "two\n"),
        ("c/a/base/v", "one\n"),
    ]);
    world.state().permissions.insert("ada".to_owned(), Right::Admin);
    world
}

fn tick_pause(world: &World) {
    tick_box(world, "ada", "pause");
}

/// A person ticks the box of that command, which is about the whole repository.
fn tick_box(world: &World, by: &str, command: &str) {
    let pause = format!("<!-- capstan {{\"do\":\"{command}\"}}");
    let (number, body) = {
        let state = world.state();
        (state.issues[0].0.number, state.issues[0].0.body.clone())
    };
    let ticked = body.replace(&format!("- [ ] {pause}"), &format!("- [x] {pause}"));
    assert_ne!(ticked, body);
    world.change_issue(number, by, &IssueEdit { body: Some(ticked), ..IssueEdit::default() });
}

#[tokio::test]
async fn a_tick_in_the_instant_of_a_write_is_obeyed_through_its_delivery() {
    let world = world();
    world.sync().await;
    world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
    world.state().meanwhile = Some((Moment::IssueEdit, tick_pause));
    world.sync().await;
    let body = |world: &World| world.state().issues[0].0.body.clone();
    let over = body(&world);
    assert!(!over.contains("[x]") && !over.contains("**Paused by") && !over.contains("`ada`"), "{over}");
    // The delivery of that edit begins the next run.
    let told = world.state().ticked.clone();
    assert_eq!(told.len(), 1);
    world.sync().await;
    let heard = body(&world);
    assert!(
        heard.contains("> **Paused by `ada` since ") && heard.contains("`ada` ticked `pause`: "),
        "{heard}"
    );

    // The edit counts once, however often it is reported and whatever is decided since.
    tick_box(&world, "ada", "resume");
    world.sync().await;
    for _ in 0..2 {
        world.state().ticked.clone_from(&told);
        world.sync().await;
        assert!(!body(&world).contains("> **Paused by"), "{}", body(&world));
    }
    // So it is where the database is lost.
    world.lose_database();
    world.state().ticked = told;
    world.sync().await;
    assert!(!body(&world).contains("> **Paused by"), "{}", body(&world));
}

/// The delivery of a tick that a run has seen already has no effect, and neither has a tick that was taken back.
#[tokio::test]
async fn a_delivery_tells_nothing_new_of_a_tick_that_was_seen_or_taken_back() {
    let world = world();
    world.sync().await;
    let body = |world: &World| world.state().issues[0].0.body.clone();
    tick_pause(&world);
    let told = world.state().ticked.clone();
    world.sync().await;
    assert!(body(&world).contains("> **Paused by `ada` since "));
    tick_box(&world, "ada", "resume");
    world.state().ticked = told;
    world.sync().await;
    assert!(!body(&world).contains("> **Paused by"), "{}", body(&world));

    world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
    world.state().meanwhile = Some((Moment::IssueEdit, |world| {
        tick_pause(world);
        let Issue { number, body, .. } = world.state().issues[0].0.clone();
        let edit = IssueEdit { body: Some(body.replace("[x]", "[ ]")), ..IssueEdit::default() };
        world.change_issue(number, "ada", &edit);
    }));
    world.sync().await;
    assert_eq!(world.state().ticked.len(), 2);
    world.sync().await;
    assert!(!body(&world).contains("> **Paused by"), "{}", body(&world));
}

/// A box beside words of another person is not a command, even where the delivery reports the tick.
#[tokio::test]
async fn a_tick_in_a_text_that_is_not_capstans_is_not_heard_by_its_delivery() {
    let world = world();
    world.sync().await;
    world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
    world.state().meanwhile = Some((Moment::IssueEdit, |world| {
        let Issue { number, body, .. } = world.state().issues[0].0.clone();
        let forged =
            body.replace("Capstan keeps this page", "Tick below to say hello. Capstan keeps this page");
        assert_ne!(forged, body);
        let edit = |body: String| IssueEdit { body: Some(body), ..IssueEdit::default() };
        world.change_issue(number, "mallory", &edit(forged.clone()));
        let pause = "<!-- capstan {\"do\":\"pause\"}";
        let ticked = forged.replace(&format!("- [ ] {pause}"), &format!("- [x] {pause}"));
        world.change_issue(number, "ada", &edit(ticked));
    }));
    world.sync().await;
    assert_eq!(world.state().ticked.len(), 1, "the delivery tells of a tick");
    world.sync().await;
    let body = world.state().issues[0].0.body.clone();
    assert!(!body.contains("> **Paused by"), "{body}");
}

/// On a forge: the write of the body is on its way when ada ticks, and goes over it.
#[tokio::test(flavor = "multi_thread")]
async fn a_tick_that_a_write_overwrites_on_a_forge_is_obeyed() {
    let town = town("mode: propose\ndashboard: {enabled: true}\n").await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let issue = dashboard(&town);
    let path = format!("/issues/{}", issue.number);
    let writes = Matching::any().method("PATCH").path(&path);
    town.forge.fail_next(1, writes, Strike::Before, Fault::Wait(std::time::Duration::from_millis(1_500)));
    town.release("v22.1.0", "v1.22.9");
    let ticks = async {
        while town.forge.faults_left() > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let pause = "<!-- capstan {\"do\":\"pause\"}";
        let ticked = issue.body.replace(&format!("- [ ] {pause}"), &format!("- [x] {pause}"));
        assert_ne!(ticked, issue.body);
        town.forge.edit_body(REPOSITORY, issue.number, "olga", &ticked).unwrap();
    };
    tokio::join!(town.settle(), ticks);
    town.settle().await;
    let body = dashboard(&town).body;
    assert!(body.contains("> **Paused by `olga` since ") && body.contains("v22.1.0"), "{body}");
    assert!(!body.contains("[x]"), "{body}");
    town.done();
}

#[tokio::test]
async fn a_tick_in_the_instant_of_a_write_is_reported_if_no_delivery_comes() {
    let world = world();
    world.state().deaf = true;
    world.sync().await;
    world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
    world.state().meanwhile = Some((Moment::IssueEdit, tick_pause));
    world.sync().await;
    let body = |world: &World| world.state().issues[0].0.body.clone();
    let told = "`ada` edited this page while Capstan wrote it. Capstan processes the ticked boxes when GitHub reports them. If there is no answer here within a minute, tick again.";
    let after = body(&world);
    assert!(after.contains(told) && !after.contains("[x]") && !after.contains("**Paused by"), "{after}");
    // The notice comes once, and the next tick counts.
    world.sync().await;
    assert_eq!(body(&world), after);
    tick_pause(&world);
    world.sync().await;
    let body = body(&world);
    assert!(body.contains("> **Paused by `ada` since ") && !body.contains("[x]"), "{body}");
}

#[tokio::test]
async fn a_tick_that_comes_while_a_run_works_is_not_written_over() {
    let world = world();
    world.sync().await;
    world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
    let body = |world: &World| world.state().issues[0].0.body.clone();
    world.state().meanwhile = Some((Moment::Reference, tick_pause));
    assert!(matches!(world.try_sync().await.unwrap(), Synced::Again));
    assert!(body(&world).contains("[x]"), "it was left as it was");
    world.sync().await;
    let body = body(&world);
    assert!(body.contains("> **Paused by `ada` since ") && !body.contains("[x]"), "{body}");
}

#[tokio::test]
async fn of_two_runs_that_open_one_at_the_same_time_both_keep_the_first() {
    let world = world();
    world.state().meanwhile = Some((Moment::Issue, |world| {
        let body = DashboardRecord::default().body("Text.\n", &BlockKey::derive(b"test"), 7);
        let issue = Issue {
            number: 1_000,
            state: IssueState::Open,
            title: "Capstan dashboard".to_owned(),
            body,
            author: "capstan[bot]".to_owned(),
            node_id: "I_1000".to_owned(),
        };
        world.state().issues.push((issue, vec![]));
    }));
    assert!(matches!(world.try_sync().await.unwrap(), Synced::Again));
    world.sync().await;
    let seen = || {
        let state = world.state();
        let issues =
            state.issues.iter().map(|(issue, _)| (issue.number, issue.state, issue.body.contains("`c/a`")));
        issues.collect::<Vec<_>>()
    };
    let expected = vec![(1_000, IssueState::Open, true), (1_001, IssueState::Closed, false)];
    assert_eq!(seen(), expected);
    world.lose_database();
    world.push("main", &[("c/b/base/v", Some("one\n"))]);
    world.sync().await;
    assert_eq!(seen(), expected);
}
