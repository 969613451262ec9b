//! What people decide by command about a proposal: conflicts settled, holds, releases skipped; and who may.

use capstan_forge::{Edit, NewPull, Permission};

use super::sample;
use super::town::{REPOSITORY, Town};
use capstan_test_parts::canary;

const PEU01: &str = "gauss/peu01";
const BRANCH: &str = "capstan/upgrade/gauss/peu01";
const POOL: &str = "gauss/peu01/base/machinepool.yaml";

/// A release that also says how many replicas a pool has.
fn release(name: &str, kubernetes: &str, replicas: u32) -> Edit {
    Edit::write(
        format!("aws/{name}/base/machinepool.yaml"),
        format!(
            "kind: MachinePool\nspec:\n  replicas: {replicas}\n  template:\n    spec:\n      version: {kubernetes}\n"
        ),
    )
}

/// A proposal in which cluster (2) and release (from 3 to 4) changed the replicas.
async fn conflicting() -> Town {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    let releases = [release("v21.0.0", "v1.21.4", 3), release("v22.0.0", "v1.22.5", 4)];
    town.push("main", &releases);
    town.settle().await;
    assert!(town.file(BRANCH, POOL).contains("replicas: 2 # as"), "the cluster's value is kept");
    let summary = town.check(1).summary;
    assert!(summary.contains("### Conflicts of `gauss/peu01`, and how they are settled\n"), "{summary}");
    let row = "| `/spec/replicas` | `3` | `2` | `4` | the cluster's value is kept |\n";
    assert!(summary.contains(row), "{summary}");
    town
}

fn last(town: &Town) -> String {
    town.answers(1).pop().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_is_settled_and_stays_so_until_one_of_its_values_changes() {
    let mut town = conflicting().await;
    town.comment(1, "ada", "/capstan take /spec/replica").await;
    assert!(
        last(&town).contains(
            "has no conflict there. Its conflicts are:\n\n- `MachinePool/peu01-mp-0 /spec/replicas`"
        ),
        "{}",
        last(&town)
    );

    town.comment(1, "ada", "/capstan take /spec/replicas").await;
    assert_eq!(town.answers(1).len(), 1, "the pull request shows it: {}", last(&town));
    assert!(town.file(BRANCH, POOL).contains("replicas: 4 # as"));
    assert!(
        town.pull(1).body.contains("the release's value is taken, as `ada` decided |"),
        "{}",
        town.pull(1).body
    );

    // It outlives the database, and another change of the release.
    town.restart_without_database().await;
    town.push("main", &[release("v22.0.0", "v1.22.6", 4)]);
    town.settle().await;
    let text = town.file(BRANCH, POOL);
    assert!(text.contains("replicas: 4 # as") && text.contains("v1.22.6"), "{text}");

    // The release has another value, which the decision was not about.
    town.push("main", &[release("v22.0.0", "v1.22.6", 5)]);
    town.settle().await;
    assert!(town.file(BRANCH, POOL).contains("replicas: 2 # as"));
    assert!(!town.pull(1).body.contains("as `ada` decided"));
    town.done();
}

/// What people decided is believed for either secret, and one of the two may change at a time.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_outlives_another_key_of_the_app() {
    let mut town = conflicting().await;
    town.comment(1, "ada", "/capstan take /spec/replicas").await;
    assert!(town.file(BRANCH, POOL).contains("replicas: 4 # as"));
    for kubernetes in ["v1.22.6", "v1.22.7"] {
        town.restart_with_another_key().await;
        town.push("main", &[release("v22.0.0", kubernetes, 4)]);
        town.settle().await;
        let text = town.file(BRANCH, POOL);
        assert!(text.contains("replicas: 4 # as") && text.contains(kubernetes), "{text}");
        assert!(town.pull(1).body.contains("as `ada` decided"), "{}", town.pull(1).body);
    }
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_makes_a_draft_that_stays_as_it_is_until_it_is_over() {
    let mut town = conflicting().await;
    town.comment(1, "ada", "/capstan hold the audit until 2999-12-31").await;
    let words = "On hold by `ada` until 2999-12-31: the audit.";
    let summary = town.check(1).summary;
    assert!(summary.contains(words) && summary.contains("`/capstan unhold` undoes it"), "{summary}");
    assert!(town.pull(1).draft && town.answers(1).is_empty());
    assert!(town.pull(1).body.starts_with(&format!("> {words}\n\n")), "{}", town.pull(1).body);
    assert_eq!(town.standing(PEU01).await.0, "held");

    town.push("main", &[release("v22.0.0", "v1.22.6", 4)]);
    town.settle().await;
    town.restart_without_database().await;
    assert!(town.file(BRANCH, POOL).contains("v1.22.5"), "it is left alone");
    town.comment(1, "ada", "/capstan replan").await;
    assert!(
        town.file(BRANCH, POOL).contains("v1.22.5") && last(&town).contains("On hold by `ada`"),
        "{}",
        last(&town)
    );

    town.comment(1, "ada", "/capstan unhold").await;
    assert!(town.file(BRANCH, POOL).contains("v1.22.6"));
    assert!(!town.pull(1).draft && !town.pull(1).body.contains("On hold"), "{}", town.pull(1).body);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_noted_also_where_somebody_took_the_record_out() {
    let town = conflicting().await;
    town.forge.edit_body(REPOSITORY, 1, "ada", "My own words.").unwrap();
    town.comment(1, "ada", "/capstan hold").await;
    assert!(town.pull(1).body.starts_with("> On hold by `ada`.\n\nMy own words."), "{}", town.pull(1).body);
    town.push("main", &[release("v22.0.0", "v1.22.6", 4)]);
    town.settle().await;
    assert!(town.file(BRANCH, POOL).contains("v1.22.5") && town.pull(1).draft);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_ends_a_hold_and_a_persons_own_draft_stays_one() {
    let town = conflicting().await;
    town.comment(1, "ada", "/capstan hold until 1999-01-01").await;
    assert!(!town.pull(1).draft, "that day is past");
    town.forge.set_draft(REPOSITORY, 1, "ada", true).unwrap();
    town.comment(1, "ada", "/capstan hold").await;
    town.comment(1, "ada", "/capstan unhold").await;
    town.push("main", &[release("v22.0.0", "v1.22.6", 4)]);
    town.settle().await;
    assert!(town.pull(1).draft, "a person made it one");
    assert!(town.file(BRANCH, POOL).contains("v1.22.6"));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skipped_release_is_not_offered_again_until_somebody_says_unskip() {
    let mut town = conflicting().await;
    town.comment(1, "ada", "/capstan skip").await;
    assert!(town.open_pulls().is_empty());
    assert!(
        town.pull(1).body.starts_with("> Closed by Capstan: Somebody asked for it with `skip`"),
        "{}",
        town.pull(1).body
    );
    town.restart_without_database().await;
    town.push("main", &[release("v22.0.0", "v1.22.6", 4)]);
    town.settle().await;
    assert!(town.open_pulls().is_empty(), "a correction of it is not offered either");
    assert_eq!(town.standing(PEU01).await.0, "declined");

    town.comment(1, "ada", "/capstan unskip").await;
    assert_eq!(town.open_pulls().len(), 1);
    assert!(town.file(BRANCH, POOL).contains("v1.22.6"));
    town.comment(2, "ada", "/capstan skip").await;
    sample_release(&town, "v23.0.0").await;
    assert_eq!(town.open_pulls().len(), 1, "a newer one is offered");
    town.done();
}

async fn sample_release(town: &Town, name: &str) {
    town.push("main", &[sample::release(name, "v1.22.7")]);
    town.settle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_owns_the_folder_may_decide_and_others_who_write_may_ask() {
    let town = conflicting().await;
    for login in ["olga", "tom"] {
        town.forge.create_user(login).unwrap();
        town.forge.grant(REPOSITORY, login, Permission::Write).unwrap();
    }
    town.forge.create_team("acme", "gauss", &["tom"]).unwrap();
    town.push("main", &[Edit::write("CODEOWNERS", "/gauss/ @acme/gauss\n")]);
    // What a branch says of owners counts for nothing.
    town.push(BRANCH, &[Edit::write("CODEOWNERS", "* @olga\n")]);
    town.settle().await;
    town.comment(1, "olga", "/capstan skip\n/capstan status").await;
    let answer = last(&town);
    assert!(
        answer.starts_with("`/capstan skip` was not carried out: it needs for `gauss/peu01` an owner of its folder in `CODEOWNERS` (`@acme/gauss`), or an administrator of this repository."),
        "{answer}"
    );
    assert!(
        answer.contains("| Release | `aws/v21.0.0` |\n| Offered | `aws/v22.0.0` |\n| Conflicts | 1 |"),
        "{answer}"
    );
    assert!(answer.contains("| State | **edited**: "), "{answer}");
    assert_eq!(town.open_pulls().len(), 1);
    let audited: Vec<String> =
        town.audit().await.into_iter().filter(|line| line.starts_with("olga ")).collect();
    assert!(audited[0].starts_with("olga command-refused skip, comment "), "{audited:?}");
    assert!(audited[1].starts_with("olga command-carried-out status, comment "), "{audited:?}");

    town.comment(1, "tom", "@capstan skip").await;
    assert!(town.open_pulls().is_empty(), "{}", last(&town));
    town.done();
}

/// This applies even with write access to the repository: the owner of a fork writes what is merged from it.
#[tokio::test(flavor = "multi_thread")]
async fn who_opens_a_pull_request_from_a_fork_decides_nothing_there() {
    let town = conflicting().await;
    town.forge.create_user("walt").unwrap();
    town.forge.grant(REPOSITORY, "walt", Permission::Write).unwrap();
    let fork = town.forge.fork(REPOSITORY, "walt").unwrap();
    let edit = sample::machine_pool(PEU01, "v1.21.5", 2);
    town.forge.commit(&fork, "mine", "walt", "Mine", &[edit]).unwrap();
    let new = NewPull {
        title: "From a fork".to_owned(),
        head: "walt:mine".to_owned(),
        base: "main".to_owned(),
        ..NewPull::default()
    };
    let forked = town.forge.open_pull(REPOSITORY, "walt", new).unwrap();
    town.settle().await;
    town.comment(forked, "walt", "/capstan hold for gauss/peu01\n/capstan status").await;
    let answer = town.answers(forked).pop().unwrap();
    assert!(
        answer.starts_with("`/capstan hold` was not carried out: the author of a pull request from a fork cannot have Capstan write"),
        "{answer}"
    );
    assert!(answer.contains("\n---\n\n`gauss/peu01`\n\n| | |\n"), "it may be asked: {answer}");
    assert!(!town.pull(1).draft, "nothing is held");
    town.comment(forked, "ada", "/capstan hold for gauss/peu01").await;
    assert!(town.pull(1).draft, "somebody else may");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_trail_tells_what_was_done_from_what_could_not_be() {
    let town = conflicting().await;
    let head = town.pull(1).head;
    let words = "/capstan keep /spec/nothing\n/capstan take /spec/replicas\n/capstan skp";
    let comment = town.comment(1, "ada", words).await;
    let audited: Vec<String> =
        town.audit().await.into_iter().filter(|line| line.starts_with("ada ")).collect();
    let mut actions: Vec<&str> = audited.iter().filter_map(|line| line.split(", comment ").next()).collect();
    // What is noted in one millisecond has no order.
    actions.sort_unstable();
    assert_eq!(
        actions,
        [
            "ada command-carried-out take /spec/replicas",
            "ada command-not-possible keep /spec/nothing",
            "ada command-unknown `skp`"
        ],
        "{audited:?}"
    );
    // Who, what, where, at which commit, and with which outcome: in the table and in the log.
    let logged = canary::logged_of(&head);
    for (verb, given, outcome) in [
        ("take", "take /spec/replicas", "command-carried-out"),
        ("keep", "keep /spec/nothing", "command-not-possible"),
    ] {
        let row = format!("ada {outcome} {given}, comment {comment} on #1 at {head}");
        assert!(audited.contains(&row), "{row}: {audited:?}");
        let said = [
            format!("repository={REPOSITORY}"),
            format!("place=\"comment {comment} on #1\""),
            "actor=\"ada\"".to_owned(),
            format!("command=\"{verb}\""),
            format!("outcome=\"{outcome}\""),
        ];
        let is_told = |line: &String| said.iter().all(|said| line.contains(said));
        assert!(logged.iter().any(is_told), "{said:?}: {logged:#?}");
    }
    town.done();
}

/// Several plans, each longer than a comment: each has its share of the answer.
#[tokio::test(flavor = "multi_thread")]
async fn several_long_plans_share_one_answer() {
    let clusters = [PEU01, "gauss/peu02", "gauss/peu03"];
    let town = Town::new("mode: propose\n", &clusters).await;
    let settings = |path: &str, version: u32| {
        let rows: String =
            (0..900).map(|row| format!("  setting-{row:04}: \"of version {version}\"\n")).collect();
        let head =
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: my-org\ndata:\n";
        Edit::write(format!("{path}/base/settings.yaml"), format!("{head}{rows}"))
    };
    let mut edits =
        vec![settings("aws/v21.0.0", 21), settings("aws/v22.0.0", 22), sample::release("v22.0.0", "v1.22.5")];
    edits.extend(clusters.iter().map(|cluster| settings(cluster, 21)));
    town.push("main", &edits);
    town.settle().await;
    let pools: Vec<Edit> =
        clusters.iter().map(|cluster| sample::machine_pool(cluster, "v1.21.4", 3)).collect();
    let number = town.open("ada", "more", &pools);
    town.settle().await;
    town.comment(number, "ada", "/capstan plan\n/capstan status").await;
    let answers = town.answers(number);
    let [answer] = answers.as_slice() else { panic!("one answer: {answers:?}") };
    assert!(answer.len() <= 65_536, "{}", answer.len());
    for cluster in clusters {
        let plan = format!("Upgrades `{cluster}` from `aws/v21.0.0` to `aws/v22.0.0`.\n");
        assert!(answer.contains(&plan), "{plan}: {answer}");
        assert!(answer.contains(&format!("`{cluster}`\n")), "its status: {answer}");
    }
    assert_eq!(answer.matches("<details>").count(), answer.matches("</details>").count(), "{answer}");
    assert!(answer.contains("`setting-0000`") || answer.contains("/data/setting-0000"), "{answer}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_is_explained_with_the_severity_that_it_has_here() {
    let town = Town::new("mode: propose\npolicy: {component-downgrade: warning}\n", &[PEU01]).await;
    town.push("main", &[release("v22.0.0", "v1.22.5", 4)]);
    town.settle().await;
    town.comment(1, "ada", "/capstan explain component-downgrade\n/capstan explain nothing").await;
    let answer = last(&town);
    assert!(
        answer.starts_with(
            "### `component-downgrade`\n\nSeverity here: **warning**, as `policy` in `.capstan.yaml` says.\n"
        ),
        "{answer}"
    );
    assert!(answer.contains("`/capstan explain` needs the id of a rule"), "{answer}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_is_asked_for_is_offered_until_something_else_is() {
    let mut town =
        Town::new("mode: propose\nclusters: {rules: [{match: \"gauss/*\", track: none}]}\n", &[PEU01]).await;
    town.push("main", &[release("v21.1.0", "v1.21.5", 3), release("v22.0.0", "v1.22.5", 3)]);
    town.settle().await;
    assert!(town.open_pulls().is_empty(), "its track takes nothing");
    let issue = town.forge.open_issue(REPOSITORY, "ada", "Please", "Upgrade it.").unwrap();
    town.comment(issue, "ada", "/capstan upgrade gauss/peu01 to aws/v99.0.0\n/capstan plan").await;
    let answer = town.answers(issue).pop().unwrap();
    assert!(answer.contains("`gauss/peu01`: ") && answer.contains("v99.0.0"), "{answer}");
    assert!(answer.contains("This is an issue"), "{answer}");
    assert!(town.open_pulls().is_empty());

    town.comment(issue, "ada", "/capstan upgrade gauss/peu01 to aws/v21.1.0").await;
    let answer = town.answers(issue).pop().unwrap();
    let pull = town.open_pulls().pop().unwrap();
    assert!(answer.contains("offers `aws/v21.1.0`.\n\nSee #"), "{answer}");
    assert!(answer.contains(&format!("See #{}.", pull.number)), "{answer}");
    assert!(town.file(BRANCH, POOL).contains("v1.21.5"));
    town.restart_without_database().await;
    town.push("main", &[release("v23.0.0", "v1.22.6", 3)]);
    town.settle().await;
    assert!(town.file(BRANCH, POOL).contains("v1.21.5"), "it stays what was asked for");

    town.comment(pull.number, "ada", "/capstan upgrade to aws/v22.0.0").await;
    assert!(town.file(BRANCH, POOL).contains("v1.22.5"));
    town.comment(pull.number, "mallory", "/capstan upgrade to aws/v21.1.0").await;
    assert!(town.file(BRANCH, POOL).contains("v1.22.5"), "who may only read asks for nothing");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overridden_rule_passes_the_check_until_another_release_is_offered() {
    let mut town = Town::new("mode: propose\n", &[PEU01]).await;
    town.push("main", &[release("v22.0.0", "v1.24.0", 3)]);
    town.settle().await;
    let check = || (town.check(1).conclusion.unwrap_or_default(), town.check(1).summary);
    assert_eq!(check().0, "failure");
    town.comment(1, "ada", "/capstan override kubernetes-minor-skip").await;
    assert!(last(&town).contains("needs a reason after the rule"), "{}", last(&town));
    assert_eq!(check().0, "failure");
    town.comment(1, "ada", "/capstan override kubernetes-minor-skip nothing runs there").await;
    let words = "`kubernetes-minor-skip` is overridden by `ada`: nothing runs there.";
    assert_eq!(town.answers(1).len(), 1, "the check says it: {}", last(&town));
    let (conclusion, summary) = check();
    assert!(conclusion == "success" && summary.contains(words), "{conclusion} {summary}");
    town.restart_without_database().await;
    town.resync().await;
    assert_eq!(town.check(1).conclusion.unwrap_or_default(), "success");
    // What a merge queue makes of it is judged so too.
    let group = town.forge.enqueue(REPOSITORY, 1, "ada").unwrap();
    town.settle().await;
    let checks = town.forge.checks(REPOSITORY, &group).unwrap();
    assert_eq!(checks[0].conclusion.as_deref(), Some("success"), "{}", checks[0].summary);
    assert!(checks[0].summary.contains(words), "{}", checks[0].summary);
    town.forge.leave_queue(REPOSITORY, 1, "ada").unwrap();

    town.push("main", &[release("v23.0.0", "v1.25.0", 3)]);
    town.settle().await;
    assert_eq!(town.check(1).conclusion.unwrap_or_default(), "failure", "nobody has said that of this one");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_into_the_description_is_not_decided_and_nothing_else_is_lost() {
    let town = conflicting().await;
    let reason = "\u{1f6a2}".repeat(200);
    town.comment(1, "ada", "/capstan take /spec/replicas").await;
    for rule in [
        "component-downgrade",
        "removes-machines",
        "kubernetes-minor-skip",
        "unknown-field",
        "missing-reference",
        "wrong-type",
        "duplicate-object",
    ] {
        town.comment(1, "ada", &format!("/capstan override {rule} {reason}")).await;
    }
    assert!(last(&town).contains("has no room for more"), "{}", last(&town));
    assert!(town.check(1).summary.contains("is overridden by `ada`"), "{}", town.check(1).summary);
    assert!(town.pull(1).body.chars().count() <= 65_536);
    town.resync().await;
    assert!(town.file(BRANCH, POOL).contains("replicas: 4 # as"), "what was settled still is");
    town.done();
}
