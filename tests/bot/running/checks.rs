//! What the check `capstan` says of releases, settings and other branches; that it always comes to a conclusion, with
//! each annotation once and on the head's own line.

use std::sync::Arc;

use capstan_bot::sync::{Ports, Synced};
use capstan_bot::worker::perform;
use capstan_fleet::planner::{OpenFailed, OpenFleet, Planner, PlannerFailed};
use capstan_forge::{Edit, Fault, Matching, NewPull, Strike};
use capstan_model::tree::Tree;
use capstan_ports::{JobCause, JobRequest, RepositoryName};
use jiff::civil::Date;
use serde_json::Value;

use super::sample;
use super::town::{REPOSITORY, Town};
use capstan_test_parts::canary;

const PEU01: &str = "gauss/peu01";
const PEU02: &str = "gauss/peu02";
const PEU03: &str = "gauss/peu03";
const POOL: &str = "gauss/peu01/base/machinepool.yaml";

/// Path and line of each annotation.
fn places(annotations: &[Value]) -> Vec<(String, u64)> {
    let place = |one: &Value| (one["path"].as_str().unwrap().to_owned(), one["start_line"].as_u64().unwrap());
    annotations.iter().map(place).collect()
}

fn open_to(town: &Town, base: &str, branch: &str, draft: bool) -> u64 {
    let (title, head, base) = ("Mine".to_owned(), branch.to_owned(), base.to_owned());
    let new = NewPull { title, head, base, draft, ..NewPull::default() };
    town.forge.open_pull(REPOSITORY, "ada", new).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_pull_request_shows_the_clusters_it_would_be_offered_to_and_the_worst_upgrades() {
    let town = Town::new("mode: propose\nconsumers: [acme/other]\n", &[PEU01, PEU02, PEU03]).await;
    // One has five machines, one is on hold, one changed what the release changes.
    town.push(
        "main",
        &[
            sample::machine_pool(PEU01, "v1.21.4", 5),
            Edit::write(format!("{PEU02}/overlay/capstan.yaml"), "hold: {reason: audit}\n"),
            sample::machine_pool(PEU03, "v1.21.9", 3),
        ],
    );
    town.settle().await;
    let number = town.open("ada", "release", &[sample::release("v22.0.0", "v1.22.5")]);
    town.settle().await;
    let check = town.check(number);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{}", check.summary);
    assert_eq!(check.title, "1 release that would be offered to 2 clusters");
    let said = [
        "- `aws/v22.0.0` is new\n",
        "3 clusters were checked.",
        "Would be offered to 2 clusters:\n\n- `gauss/peu01`: `aws/v22.0.0`\n- `gauss/peu03`: `aws/v22.0.0`\n",
        "The others: 1 held.",
        "Other repositories use these releases (`acme/other`)",
    ];
    for said in said {
        assert!(check.summary.contains(said), "{said}: {}", check.summary);
    }
    // A conflict is worse than machines.
    let worst = check.summary.split_once("#### The 2 upgrades to look at first").unwrap().1;
    let (first, second) = worst.split_once("**`gauss/peu01`**").unwrap();
    assert!(first.contains("**`gauss/peu03`** from `aws/v21.0.0` to `aws/v22.0.0`"), "{worst}");
    assert!(first.contains("`v1.21.9`"), "its conflict is shown: {first}");
    assert!(second.contains("replaces 5"), "{second}");
    assert!(town.pulls().len() == 1, "nothing is offered before the merge");

    // What is wrong with the release itself decides, at its line.
    let broken = "kind: MachinePool\nspec:\n  template:\n    spec:\n  version: v1.22.5\n bad\n";
    town.push("release", &[Edit::write("aws/v22.0.0/base/machinepool.yaml", broken)]);
    town.settle().await;
    let check = town.check(number);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{}", check.summary);
    assert_eq!(places(&check.annotations), [("aws/v22.0.0/base/machinepool.yaml".to_owned(), 6)]);

    // The check reports the removal of a release.
    town.release("v21.1.0", "v1.21.14");
    town.settle().await;
    let gone = town.open("ada", "gone", &[Edit::remove("aws/v21.1.0/base/machinepool.yaml")]);
    town.settle().await;
    let check = town.check(gone);
    assert!(check.summary.contains("- `aws/v21.1.0` is removed"), "{}", check.summary);
    let withdrawn = "No longer offered to `gauss/peu01` and `gauss/peu03`.";
    assert!(check.summary.contains(withdrawn), "{}", check.summary);
    town.done();
}

/// `count` settings of a cluster, each with a value.
fn config(folder: &str, count: usize, value: &str) -> Edit {
    let data: String = (0..count).map(|at| format!("  key-{at:04}: {value}-{at}\n")).collect();
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: my-org\ndata:\n";
    Edit::write(format!("{folder}/base/config.yaml"), format!("{head}{data}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_upgrades_the_worst_three_are_shown_and_what_is_long_is_cut_with_a_count() {
    let clusters = ["gauss/peu01", "gauss/peu02", "gauss/peu03", "gauss/peu04", "gauss/peu05"];
    let town = Town::new("mode: propose\n", &clusters).await;
    let machines = [1, 5, 4, 2, 3];
    let pools =
        clusters.iter().zip(machines).map(|(cluster, count)| sample::machine_pool(cluster, "v1.21.4", count));
    town.push("main", &pools.collect::<Vec<_>>());
    town.settle().await;
    let number = town.open("ada", "release", &[sample::release("v22.0.0", "v1.22.5")]);
    town.settle().await;
    let check = town.check(number);
    assert_eq!(check.title, "1 release that would be offered to 5 clusters");
    for cluster in clusters {
        assert!(check.summary.contains(&format!("- `{cluster}`: `aws/v22.0.0`\n")), "{}", check.summary);
    }
    let (_, worst) = check.summary.split_once("#### The 3 upgrades to look at first\n").unwrap();
    let heads: Vec<&str> =
        worst.lines().filter_map(|line| line.strip_prefix("**`")?.split('`').next()).collect();
    assert_eq!(heads, ["gauss/peu02", "gauss/peu03", "gauss/peu05"], "by the machines that they replace");
    for machines in ["replaces 5", "replaces 4", "replaces 3"] {
        assert!(worst.contains(machines), "{worst}");
    }

    // A thousand conflicts are worse than machines, and too many for a check.
    let mine = [
        config("aws/v21.0.0", 1_000, "a value of the old release that is rather long"),
        config("gauss/peu01", 1_000, "what the customer of this cluster wrote there, as long"),
    ];
    town.push("main", &mine);
    town.settle().await;
    town.push(
        "release",
        &[config("aws/v22.0.0", 1_000, "a value of the new release that is as long as that")],
    );
    town.settle().await;
    let check = town.check(number);
    assert!(check.summary.chars().count() <= 65_535, "{}", check.summary.chars().count());
    let (_, worst) = check.summary.split_once("#### The 3 upgrades to look at first\n").unwrap();
    let (first, others) = worst.split_once("\n**`gauss/peu02`**").unwrap();
    assert!(first.starts_with("\n**`gauss/peu01`**"), "{first}");
    let left = first.lines().find_map(|line| line.strip_prefix("… and ")?.strip_suffix(" more conflicts."));
    let left: usize = left.expect("it is told how many are left out").parse().unwrap();
    let shown = first.matches("/data/key-").count();
    assert_eq!((shown + left, shown >= 3), (1_000, true), "{shown} are shown, {left} are not");
    assert!(others.contains("\n**`gauss/peu03`**"), "the others have their share: {others}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_settings_are_validated_at_their_line_and_shown_beside_the_old() {
    let town = Town::new("mode: propose\n", &[PEU01, PEU02]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let settings = |text: &str| [Edit::write(".capstan.yaml", text)];
    let wrong = town.open("ada", "wrong", &settings("mode: propose\nclusters:\n  ruls: []\n"));
    let twice = "managementClusters:\n- {name: mc-eu, uid: 00000000-0000-4000-8000-000000000001, clusters: ['gauss/*']}\n- {name: mc-us, uid: 00000000-0000-4000-8000-000000000002, clusters: ['*/peu01']}\n";
    let twice = town.open("ada", "twice", &settings(twice));
    let right = "mode: propose\nclusters:\n  paths: ['gauss/peu01']\n  rules: [{match: '*/peu01', track: patch}]\nmanagementClusters:\n- {name: mc-eu, uid: 00000000-0000-4000-8000-000000000001, clusters: ['gauss/*']}\n";
    let right = town.open("ada", "right", &settings(right));
    town.settle().await;

    let check = town.check(wrong);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{}", check.summary);
    assert_eq!(places(&check.annotations), [(".capstan.yaml".to_owned(), 3)]);
    assert!(check.annotations[0]["message"].as_str().unwrap().contains("rules"), "{:?}", check.annotations);

    let check = town.check(twice);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{}", check.summary);
    assert_eq!(places(&check.annotations), [(".capstan.yaml".to_owned(), 3)]);

    let check = town.check(right);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{}", check.summary);
    for said in [
        "checked with the settings of the base branch and with its own",
        "Clusters that are no longer clusters (Capstan closes their proposals): `gauss/peu02`.",
        "| `gauss/peu01` | other tools | `mc-eu` |",
        "| `gauss/peu01` | `aws/v22.0.0` | nothing (pinned) |",
    ] {
        assert!(check.summary.contains(said), "{said}: {}", check.summary);
    }
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_loosen_nothing_of_the_pull_request_that_brings_them() {
    let town = Town::new("mode: propose\n", &[PEU01, PEU02]).await;
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: peu01-cloud, namespace: my-org}\nstringData: {password: correct horse battery}\n";
    let secret = Edit::write(format!("{PEU01}/base/secret.yaml"), secret);
    let downgrade = sample::machine_pool(PEU01, "v1.20.1", 2);
    let settings = |text: &str| Edit::write(".capstan.yaml", text);
    let loosened = [
        ("off", settings("mode: propose\npolicy: {secret-in-clear-text: 'off'}\n")),
        ("warning", settings("mode: propose\npolicy: {secret-in-clear-text: warning}\n")),
        ("elsewhere", settings("mode: propose\nclusters: {paths: ['nothing/*']}\n")),
        ("not-this-one", settings("mode: propose\nclusters: {paths: ['*/*', '!gauss/peu01']}\n")),
        ("other-base", settings("mode: propose\nclusters: {base: other}\n")),
        ("observe", settings("mode: observe\n")),
        ("broken", settings("mode: [\n")),
        ("gone", Edit::Remove { path: ".capstan.yaml".to_owned() }),
    ];
    let opened = loosened
        .map(|(branch, edit)| (branch, town.open("ada", branch, &[downgrade.clone(), secret.clone(), edit])));
    town.settle().await;
    for (branch, number) in opened {
        let check = town.check(number);
        assert_eq!(check.conclusion.as_deref(), Some("failure"), "{branch}: {}", check.summary);
        let said = format!("{} {} {:?}", check.title, check.summary, check.annotations);
        for rule in ["kubernetes-downgrade", "secret-in-clear-text"] {
            assert!(check.summary.contains(&format!("**error** `{rule}`")), "{branch}: {said}");
        }
        assert!(said.contains("settings"), "{branch}: {said}");
    }
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_of_the_branch_that_is_to_be_changed_count() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    town.push("develop", &[Edit::write(".capstan.yaml", "clusters: {paths: ['other/*']}\n")]);
    town.push("broken", &[Edit::write(".capstan.yaml", "moder: observe\n")]);
    let downgrade = [sample::machine_pool(PEU01, "v1.20.1", 2)];
    // As tools do it: each head is based on the branch that it targets.
    for base in ["main", "develop", "broken"] {
        let on = town.forge.resolve(REPOSITORY, base).unwrap().unwrap();
        let commit = town.forge.commit_on(REPOSITORY, &on, "ada", "Mine", &downgrade).unwrap();
        town.forge.push(REPOSITORY, &format!("to-{base}"), &commit, "ada").unwrap();
    }
    let [main, develop, broken] =
        ["main", "develop", "broken"].map(|base| open_to(&town, base, &format!("to-{base}"), base == "main"));
    town.settle().await;
    assert_eq!(town.check(main).conclusion.as_deref(), Some("failure"), "a draft is judged too");
    let check = town.check(develop);
    let said = (check.conclusion.as_deref(), check.title.as_str());
    // Nothing there, and a cluster of the default branch's, where the same commit might come.
    assert_eq!(said, (Some("action_required"), "It is for another branch"), "{}", check.summary);
    let check = town.check(broken);
    assert_eq!(check.conclusion.as_deref(), Some("action_required"), "{}", check.summary);
    assert!(check.summary.contains("did you mean `mode`?"), "{}", check.summary);

    // That branch moves, and the default one does not.
    town.push("develop", &[Edit::write(".capstan.yaml", "mode: observe\n")]);
    town.resync().await;
    assert_eq!(town.check(develop).conclusion.as_deref(), Some("failure"), "{}", town.check(develop).summary);
    let before = town.forge.write_calls();
    town.resync().await;
    assert_eq!(town.forge.write_calls(), before, "nothing moved, no call");

    // Broken settings of the default branch are those of its own pull requests alone.
    town.push("main", &[Edit::write(".capstan.yaml", "moder: observe\n")]);
    town.settle().await;
    assert_eq!(town.check(main).conclusion.as_deref(), Some("action_required"));
    assert_eq!(town.check(develop).conclusion.as_deref(), Some("failure"));
    town.done();
}

/// How many checks were given a conclusion.
fn concluded(town: &Town) -> usize {
    let is_one = |call: &capstan_forge::Exchange| {
        call.path.contains("/check-runs") && call.request["status"] == "completed"
    };
    town.forge.count_requests(is_one)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_gets_a_concluded_check_even_if_nothing_is_touched() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    let fork = town.forge.fork(REPOSITORY, "mallory").unwrap();
    town.forge.commit(&fork, "docs", "mallory", "Docs", &[Edit::write("README.md", "hello\n")]).unwrap();
    let new = NewPull {
        title: "From a fork".to_owned(),
        head: "mallory:docs".to_owned(),
        base: "main".to_owned(),
        ..NewPull::default()
    };
    let forked = town.forge.open_pull(REPOSITORY, "mallory", new).unwrap();
    let own = town.open("ada", "docs", &[Edit::write("README.md", "hello\n")]);
    let conflicting = town.open("ada", "mine", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
    town.push("main", &[sample::machine_pool(PEU01, "v1.21.9", 2)]);
    let queued = town.push("gh-readonly-queue/main/pr-9-cccc", &[Edit::write("LICENSE", "mine\n")]);
    town.resync().await;
    for (number, conclusion) in [(forked, "success"), (own, "success"), (conflicting, "failure")] {
        let first = town.check(number);
        assert_eq!(first.conclusion.as_deref(), Some(conclusion), "{}", first.summary);
        for of in ["run", "suite"] {
            // GitHub removes the conclusion of a check that a person re-runs: Capstan has to report it again.
            town.forge.clear_exchanges();
            match of {
                "run" => town.forge.rerequest_check(REPOSITORY, first.id, "ada").unwrap(),
                _ => town.forge.rerequest_suite(REPOSITORY, &town.pull(number).head, "ada").unwrap(),
            }
            town.settle().await;
            assert_eq!(concluded(&town), 1, "{number} {of}");
            let again = town.check(number);
            assert_eq!((&again.conclusion, &again.summary), (&first.conclusion, &first.summary));
        }
    }
    town.forge.clear_exchanges();
    town.forge.rerequest_suite(REPOSITORY, &queued, "ada").unwrap();
    town.settle().await;
    assert_eq!(concluded(&town), 1, "a merge group's");
    town.done();
}

/// A planner that has no answer, whatever it is asked.
struct Away;

impl Planner for Away {
    fn open(&self, _: Arc<dyn Tree>, _: Date) -> Result<Box<dyn OpenFleet>, OpenFailed> {
        Err(OpenFailed::Planner(PlannerFailed::Unavailable("no process could be started".to_owned())))
    }
    fn judge(
        &self,
        _: Arc<dyn Tree>,
        _: Arc<dyn Tree>,
        _: capstan_fleet::planner::JudgedBy<'_>,
    ) -> Result<Vec<capstan_report::JudgedCluster>, PlannerFailed> {
        Err(PlannerFailed::Unavailable("no process could be started".to_owned()))
    }
    fn scopes(
        &self,
        _: Arc<dyn Tree>,
        _: &capstan_plan::settings::RepositorySettings,
    ) -> Result<Vec<capstan_plan::proposal::Scope>, PlannerFailed> {
        Err(PlannerFailed::Unavailable("no process could be started".to_owned()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_of_capstan_is_reported_with_its_id_until_it_can_check_again() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    let judged = town.open("ada", "judged", &[sample::machine_pool(PEU01, "v1.21.4", 3)]);
    town.settle().await;
    town.forge.pause_deliveries();
    let new = town.open("ada", "new", &[sample::machine_pool(PEU01, "v1.21.4", 4)]);
    let broken = Ports { planner: Arc::new(Away), ..town.ports().clone() };
    for _ in 0..2 {
        assert!(town.sync_with(&broken).await.is_err());
        let check = town.check(new);
        assert_eq!(check.conclusion.as_deref(), Some("action_required"));
        assert_eq!(check.title, "Capstan could not judge everything");
        let incident = check.summary.split_once("Its log has the reason under `").unwrap().1;
        let incident = incident.split_once('`').unwrap().0;
        assert_eq!(incident.len(), 26, "{}", check.summary);
        let logged = canary::logged_of(incident);
        let why = "no process could be started";
        assert!(logged.len() == 1 && logged[0].contains(why) && logged[0].contains(REPOSITORY), "{logged:?}");
    }
    let runs = town.forge.checks(REPOSITORY, &town.pull(new).head).unwrap();
    assert_eq!(runs.len(), 1, "it is told once");
    assert_eq!(town.check(judged).conclusion.as_deref(), Some("success"), "what is known stays");
    town.forge.resume_deliveries(capstan_forge::DeliveryOrder::AsHappened);
    town.settle().await;
    assert_eq!(town.check(new).conclusion.as_deref(), Some("success"));

    // A job that does not end within its limit.
    town.forge.pause_deliveries();
    let late = town.open("ada", "late", &[sample::machine_pool(PEU01, "v1.21.4", 5)]);
    let installation = town.host().installations().await.unwrap()[0].id;
    let name = RepositoryName::parse(REPOSITORY).unwrap();
    let repository = town.host().repository(installation, &name).await.unwrap();
    let jobs: Arc<dyn capstan_ports::Jobs> = Arc::new(town.database().clone());
    let request = JobRequest { repository: repository.id, installation, name, cause: JobCause::Event };
    jobs.enqueue(&request).await.unwrap();
    let job = jobs.claim("test", std::time::Duration::from_secs(60), 8).await.unwrap().unwrap();
    perform(town.ports(), &jobs, &job, std::time::Duration::ZERO).await.unwrap();
    assert_eq!(town.check(late).conclusion.as_deref(), Some("action_required"));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_annotations_are_sent_in_parts_and_none_twice_wherever_it_is_cut_off() {
    // 120 files that are not YAML: three calls.
    let bad = |count: usize| -> Vec<Edit> {
        (0..count).map(|at| Edit::write(format!("{PEU01}/base/bad-{at:03}.yaml"), "a: [\n")).collect()
    };
    for (method, nth, is_lost) in
        [("POST", 0, false), ("PATCH", 0, false), ("PATCH", 1, false), ("POST", 0, true)]
    {
        let mut town = Town::new("mode: propose\n", &[PEU01]).await;
        town.forge.pause_deliveries();
        let number = town.open("ada", "bad", &bad(120));
        let writes = || Matching::any().method(method).path("/check-runs");
        // The work is done, and its answer is lost; of the second call, once the first was answered.
        let strike = if nth == 0 { Strike::After } else { Strike::Before };
        if nth == 0 {
            town.forge.fail_next(1, writes(), strike, Fault::Drop);
        } else {
            town.forge.fail_next(1, writes().body("\"status\":\"completed\""), strike, Fault::Drop);
        }
        let ended = town.sync_with(&town.hasty_ports()).await.unwrap();
        assert!(matches!(ended, Synced::Partly(_)), "{method} {nth}: {ended:?}");
        let cut_off = town.check(number);
        assert_eq!((cut_off.status.as_str(), cut_off.conclusion.as_deref()), ("in_progress", None));
        assert!((50..=100).contains(&cut_off.annotations.len()), "{}", cut_off.annotations.len());
        if is_lost {
            town.restart_without_database().await;
        }
        town.forge.resume_deliveries(capstan_forge::DeliveryOrder::AsHappened);
        town.settle().await;
        let check = town.check(number);
        assert_eq!(check.id, cut_off.id, "it goes on with what is there");
        assert_eq!(check.conclusion.as_deref(), Some("failure"));
        let mut annotated = places(&check.annotations);
        annotated.sort();
        annotated.dedup();
        assert_eq!((check.annotations.len(), annotated.len()), (120, 120), "{method} {nth}: each once");

        // What is said next has annotations of its own alone.
        town.push("bad", &[Edit::remove(format!("{PEU01}/base/bad-000.yaml"))]);
        town.settle().await;
        assert_eq!(town.check(number).annotations.len(), 119);
        town.done();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_github_has_whole_is_not_sent_again_where_nobody_noted_it() {
    let bad = |count: usize| -> Vec<Edit> {
        (0..count).map(|at| Edit::write(format!("{PEU01}/base/bad-{at:03}.yaml"), "a: [\n")).collect()
    };
    // One call, and three; on a head of which the records know nothing, and on one that has a check.
    for (count, has_one) in [(20, false), (20, true), (120, false), (120, true)] {
        let town = Town::new("mode: propose\n", &[PEU01]).await;
        town.forge.pause_deliveries();
        let number = town.open("ada", "bad", &bad(count));
        if has_one {
            // With one of the files on the base branch, the same head gets one annotation less.
            town.push("main", &[Edit::write("gauss/peu01/base/bad-000.yaml", "a: [\n")]);
            town.sync_with(town.ports()).await.unwrap();
            assert_eq!(town.check(number).annotations.len(), count - 1);
            town.push("main", &[Edit::remove("gauss/peu01/base/bad-000.yaml")]);
        }
        let before = town.forge.checks(REPOSITORY, &town.pull(number).head).unwrap().len();
        // GitHub has written it, and the process is gone before it receives the answer.
        let last = Matching::any().path("/check-runs").body("\"status\":\"completed\"");
        town.forge.fail_next(1, last, Strike::After, Fault::Drop);
        let ended = town.sync_with(&town.hasty_ports()).await.unwrap();
        assert!(matches!(ended, Synced::Partly(_)), "{count} {has_one}: {ended:?}");
        let cut_off = town.check(number);
        assert_eq!((cut_off.conclusion.as_deref(), cut_off.annotations.len()), (Some("failure"), count));

        town.forge.clear_exchanges();
        town.sync_with(town.ports()).await.unwrap();
        let sent = town.forge.count_requests(|one| one.is_write() && one.path.contains("/check-runs"));
        assert_eq!(sent, 0, "{count} {has_one}: nothing is sent again");
        let runs = town.forge.checks(REPOSITORY, &town.pull(number).head).unwrap();
        assert_eq!(runs.len(), before + 1, "{count} {has_one}");
        assert_eq!(town.check(number).id, cut_off.id);
        town.forge.resume_deliveries(capstan_forge::DeliveryOrder::AsHappened);
        town.settle().await;
        assert_eq!(town.check(number).annotations.len(), count);
        town.done();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_changed_meanwhile_is_not_added_to_what_was_cut_off() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    town.forge.pause_deliveries();
    let bad: Vec<Edit> =
        (0..60).map(|at| Edit::write(format!("{PEU01}/base/bad-{at:03}.yaml"), "a: [\n")).collect();
    let number = town.open("ada", "bad", &bad);
    let last = Matching::any().method("PATCH").path("/check-runs");
    town.forge.fail_next(1, last, Strike::Before, Fault::Drop);
    let ended = town.sync_with(&town.hasty_ports()).await.unwrap();
    assert!(matches!(ended, Synced::Partly(_)), "{ended:?}");
    // Ten of them stand on the base branch now.
    town.push("main", &bad[..20]);
    town.forge.resume_deliveries(capstan_forge::DeliveryOrder::AsHappened);
    town.settle().await;
    let check = town.check(number);
    assert_eq!((check.conclusion.as_deref(), check.annotations.len()), (Some("failure"), 40));
    assert!(check.summary.contains("20 findings are on the base branch already"), "{}", check.summary);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_annotation_is_on_the_heads_own_line_where_the_base_moves_it() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    let number = town.open("ada", "downgrade", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
    let above = town.file("main", POOL);
    town.push("main", &[Edit::write(POOL, format!("# one\n# two\n{above}"))]);
    town.settle().await;
    let check = town.check(number);
    assert!(!check.summary.contains("Capstan judged its head alone"), "it merges: {}", check.summary);
    assert!(check.summary.contains("machinepool.yaml:14:"), "in the merge: {}", check.summary);
    assert!(places(&check.annotations).contains(&(POOL.to_owned(), 12)), "{:?}", check.annotations);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_is_refreshed_by_what_it_touches_alone_and_closed_with_a_reason() {
    type Story = (&'static str, fn() -> Vec<Edit>, &'static str);
    let stories: [Story; 5] = [
        (
            "on hold",
            || vec![Edit::write("gauss/peu01/overlay/capstan.yaml", "hold: {reason: audit}\n")],
            "held",
        ),
        (
            "its track",
            || vec![Edit::write("gauss/peu01/capstan.yaml", "release: aws/v21.0.0\ntrack: patch\n")],
            "pinned",
        ),
        ("no release", || vec![Edit::remove("aws/v22.0.0/base/machinepool.yaml")], "current"),
        (
            "no cluster",
            || {
                let files = ["capstan.yaml", "base/cluster.yaml", "base/machinepool.yaml"];
                files.iter().map(|file| Edit::remove(format!("gauss/peu01/{file}"))).collect()
            },
            "gone",
        ),
        (
            "done by hand",
            || {
                let record = Edit::write("gauss/peu01/capstan.yaml", "release: aws/v22.0.0\n");
                vec![record, sample::machine_pool(PEU01, "v1.22.5", 2)]
            },
            "current",
        ),
    ];
    for (what, edits, state) in stories {
        let town = Town::new("mode: propose\n", &[PEU01, PEU02]).await;
        town.release("v22.0.0", "v1.22.5");
        town.settle().await;
        let number =
            town.pulls().into_iter().find(|pull| pull.head_branch.ends_with("peu01")).unwrap().number;
        let (head, body) = (town.pull(number).head, town.pull(number).body);
        // Neither a file beside, nor a neighbour's, is any of its business.
        town.push("main", &[Edit::write("README.md", "hello\n"), sample::machine_pool(PEU02, "v1.21.4", 9)]);
        town.settle().await;
        assert_eq!((&town.pull(number).head, &town.pull(number).body), (&head, &body), "{what}");

        town.push("main", &edits());
        town.settle().await;
        let pull = town.pull(number);
        assert_eq!(pull.state, capstan_forge::PullState::Closed, "{what}");
        let reason = pull.body.lines().next().unwrap();
        assert!(reason.starts_with("> Closed by Capstan: ") && reason.len() > 30, "{what}: {reason}");
        if state != "gone" && what != "done by hand" {
            assert_eq!(town.standing(PEU01).await.0, state, "{what}");
        }
        town.done();
    }
}
