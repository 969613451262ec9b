//! What no budget stops ends a planning process, and nothing else.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use capstan_bot::sync::Ports;
use capstan_fleet::planner::{Planner as _, PlannerFailed};
use capstan_forge::Edit;
use capstan_model::tree::{MadeTree, Tree};
use capstan_plan::settings::RepositorySettings;
use capstan_planner_process::{ProcessPlanner, Processes};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::sample;
use super::town::{REPOSITORY, Town, processes};
use super::workers::until;

const POISONED: &str = "gauss/peu01";
const NEIGHBOUR: &str = "noether/peu02";
const PLANNED: &str = "capstan/upgrade/noether/peu02";

/// An overlay that is small enough to be read, and takes hundreds of megabytes when it is.
fn poison() -> [Edit; 2] {
    overlay(&format!("[{}]", "1,".repeat(1_900_000)))
}

/// An overlay that writes a value into the cluster.
fn overlay(value: &str) -> [Edit; 2] {
    [
        Edit::write(
            format!("{POISONED}/overlay/kustomization.yaml"),
            "resources: [../base/cluster.yaml, ../base/machinepool.yaml]\npatches: [{path: large.yaml}]\n",
        ),
        Edit::write(
            format!("{POISONED}/overlay/large.yaml"),
            format!(
                "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: peu01, namespace: my-org}}\nspec: {{large: {value}}}\n"
            ),
        ),
    ]
}

/// The town's ports with processes that may take little memory.
fn tight(town: &Town, remembered: &Path) -> (Ports, ProcessPlanner) {
    let remembered = Some(remembered.join("exceeded.json"));
    let planner = ProcessPlanner::new(Processes { count: 1, remembered, ..processes(96 << 20) });
    (Ports { planner: Arc::new(planner.clone()), ..town.ports().clone() }, planner)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_pull_request_is_reported_and_the_others_are_judged() {
    let town = Town::new("mode: propose\n", &[POISONED, NEIGHBOUR]).await;
    let state = tempfile::tempdir().unwrap();
    let (ports, planner) = tight(&town, state.path());
    let poisoned = town.open("mallory", "poison", &poison());
    let harmless = town.open("ada", "harmless", &[sample::machine_pool(NEIGHBOUR, "v1.21.4", 3)]);
    town.sync_with(&ports).await.unwrap();
    let check = town.check(poisoned);
    assert_eq!(check.conclusion.as_deref(), Some("action_required"), "{check:?}");
    let summary = &check.summary;
    assert!(
        summary.contains("Planning ended by signal 6: it needs more memory than the allowed 96 MiB"),
        "{summary}"
    );
    assert!(summary.contains("It was at `gauss/peu01`."), "{summary}");
    assert_eq!(town.check(harmless).conclusion.as_deref(), Some("success"));
    // What was beyond the limits is not met again, whatever makes the bot look.
    let ended = planner.ended();
    assert!(ended >= 1, "{:?}", town.standing(POISONED).await);
    town.push("main", &[Edit::write("README.md", "hello\n")]);
    town.sync_with(&ports).await.unwrap();
    town.sync_with(&ports).await.unwrap();
    assert!(planner.ended() <= ended + 1, "at most once for each state of the base: {}", planner.ended());
    town.done();
}

/// An overlay within every budget, and a time that it takes more than on whatever machine this is, while its neighbours take
/// a hundredth of it.
async fn slow() -> ([Edit; 2], Duration) {
    static TAKEN: OnceCell<Duration> = OnceCell::const_new();
    let slow = overlay(&format!("[{}]", "1,".repeat(900_000)));
    let taken = TAKEN.get_or_init(async || {
        let town = Town::new("mode: propose\n", &[POISONED]).await;
        let planner = ProcessPlanner::new(Processes { count: 1, ..processes(4 << 30) });
        let ports = Ports { planner: Arc::new(planner), ..town.ports().clone() };
        town.open("mallory", "slow", &slow);
        let begun = Instant::now();
        town.sync_with(&ports).await.unwrap();
        begun.elapsed()
    });
    let seconds = (taken.await.as_secs() / 4).max(1);
    (slow, Duration::from_secs(seconds))
}

/// What a planner with these limits says of such an overlay; the others' pull requests and commands go on beside it.
async fn summary_for(overlay: &[Edit], limits: Processes) -> String {
    let town = Town::new("mode: propose\n", &[POISONED, NEIGHBOUR]).await;
    let planner = ProcessPlanner::new(limits);
    let ports = Ports { planner: Arc::new(planner.clone()), ..town.ports().clone() };
    let poisoned = town.open("mallory", "poison", overlay);
    let harmless = town.open("ada", "harmless", &[sample::machine_pool(NEIGHBOUR, "v1.21.4", 3)]);
    town.forge.comment(REPOSITORY, harmless, "ada", "/capstan help").unwrap();
    town.sync_with(&ports).await.unwrap();
    let check = town.check(poisoned);
    assert_eq!(check.conclusion.as_deref(), Some("action_required"), "{check:?}");
    assert_eq!(town.check(harmless).conclusion.as_deref(), Some("success"));
    assert_eq!(town.answers(harmless).len(), 1);
    let ended = planner.ended();
    assert!(ended >= 1);
    town.sync_with(&ports).await.unwrap();
    assert_eq!(planner.ended(), ended, "it is not met again");
    town.done();
    check.summary
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_takes_too_long_is_reported_and_the_others_are_judged() {
    // Within every budget, and many times as much work as its neighbours: seconds against milliseconds.
    let (slow, patience) = slow().await;
    let summary = summary_for(&slow, Processes { count: 1, patience, ..processes(4 << 30) }).await;
    let told = format!("Planning took more than the allowed {} s and was stopped.", patience.as_secs());
    assert!(summary.contains(&told), "{summary}");
    assert!(summary.contains("It was at `gauss/peu01`."), "{summary}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_takes_too_long_in_total_is_reported_and_the_others_are_judged() {
    // Never silent for long, each of its clusters within its limits.
    let (slow, whole) = slow().await;
    let summary = summary_for(&slow, Processes { count: 1, whole, ..processes(4 << 30) }).await;
    let told = format!("Planning took more than the {} s allowed in total and was stopped.", whole.as_secs());
    assert!(summary.contains(&told), "{summary}");
}

/// A job that has ended holds no process: the next job gets it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_job_asked_for_ends_with_the_job() {
    let state = tempfile::tempdir().unwrap();
    let program = state.path().join("capstan");
    std::fs::write(&program, "#!/bin/sh\n: > \"$0.begun\"\nexec sleep 1000\n").unwrap();
    let begun = state.path().join("capstan.begun");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    let planner = ProcessPlanner::new(Processes { program, count: 1, ..processes(1 << 30) });
    // The first works, the second waits for the process.
    let asked: Vec<_> = (0..2)
        .map(|_| {
            let ended = CancellationToken::new();
            let of_job = planner.for_job(&ended).unwrap();
            let tree: Arc<dyn Tree> = Arc::new(MadeTree::default());
            let asked =
                tokio::task::spawn_blocking(move || of_job.scopes(tree, &RepositorySettings::default()));
            (ended, asked)
        })
        .collect();
    until("one works", || begun.exists()).await;
    for (ended, asked) in asked.into_iter().rev() {
        assert!(!asked.is_finished());
        ended.cancel();
        let answer = tokio::time::timeout(Duration::from_secs(60), asked).await.unwrap().unwrap();
        assert!(matches!(answer, Err(PlannerFailed::Unavailable(_))), "{answer:?}");
    }
    assert_eq!(planner.ended(), 0, "nothing that was asked about is to blame");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_takes_too_much_stack_is_reported_and_the_others_are_judged() {
    // As deep as a file may be, on a stack that is not made for it.
    let deep = overlay(&format!("{}1{}", "{a: ".repeat(190), "}".repeat(190)));
    let stack = 320 << 10;
    let summary = summary_for(&deep, Processes { count: 1, stack, ..processes(1 << 30) }).await;
    assert!(summary.contains("Planning ended by signal 6: "), "{summary}");
    assert!(summary.contains("nests too deep"), "{summary}");
    assert!(summary.contains("It was at `gauss/peu01`."), "{summary}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_folder_is_reported_and_its_neighbour_is_upgraded() {
    let town = Town::new("mode: propose\n", &[POISONED, NEIGHBOUR]).await;
    let state = tempfile::tempdir().unwrap();
    let (ports, planner) = tight(&town, state.path());
    town.push("main", &poison());
    town.push("main", &[sample::release("v22.0.0", "v1.22.7")]);
    town.sync_with(&ports).await.unwrap();
    let open: Vec<String> = town.pulls().into_iter().map(|pull| pull.head_branch).collect();
    assert_eq!(open, [PLANNED]);
    let ended = planner.ended();
    assert!((1..=2).contains(&ended), "perhaps once beside its neighbour, and once alone: {ended}");
    town.sync_with(&ports).await.unwrap();
    assert_eq!(planner.ended(), ended, "what was beyond the limits is not tried again");
    let (restarted, next) = tight(&town, state.path());
    town.sync_with(&restarted).await.unwrap();
    assert_eq!(next.ended(), 0, "nor by the next bot");
    // The poison goes, and all is as it should be.
    town.push(
        "main",
        &[
            Edit::remove(format!("{POISONED}/overlay/kustomization.yaml")),
            Edit::remove(format!("{POISONED}/overlay/large.yaml")),
        ],
    );
    town.sync_with(&ports).await.unwrap();
    let mut open: Vec<String> = town.pulls().into_iter().map(|pull| pull.head_branch).collect();
    open.sort();
    assert_eq!(open, ["capstan/upgrade/gauss/peu01", PLANNED]);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_was_started_ahead_is_the_one_that_plans() {
    let state = tempfile::tempdir().unwrap();
    let (program, started) = (state.path().join("capstan"), state.path().join("started"));
    let limits = processes(1 << 30);
    let script = format!(
        "#!/bin/sh\necho started >> '{}'\nexec '{}' \"$@\"\n",
        started.display(),
        limits.program.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    let count = || std::fs::read_to_string(&started).unwrap_or_default().lines().count();

    let town = Town::new("mode: propose\n", &[NEIGHBOUR]).await;
    let planner = ProcessPlanner::new(Processes { program, count: 1, ..limits });
    planner.start_ahead();
    planner.start_ahead();
    // Nothing was asked of it, and it is there.
    for _ in 0..1_000 {
        if count() > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(count(), 1);
    town.push("main", &[sample::release("v22.0.0", "v1.22.7")]);
    town.sync_with(&Ports { planner: Arc::new(planner), ..town.ports().clone() }).await.unwrap();
    let open: Vec<String> = town.pulls().into_iter().map(|pull| pull.head_branch).collect();
    assert_eq!(open, [PLANNED]);
    assert_eq!(count(), 1, "no other was started");
    town.done();
}
