//! Conversations: a pull request is merged, machines follow, the check `capstan/rollout` tells how.

use async_trait::async_trait;
use capstan_agent_client::AgentClient;
use capstan_bot::agents::rollouts::Reporting;
use capstan_bot::sync::Ports;
use capstan_forge::{CheckView, Edit, MergeMethod, PullState};
use capstan_live::agent::{ReportId, RolloutState, WireReason, Words};
use capstan_model::finding::Severity;
use capstan_model::tree::{BlobId, CommitId, RepoPath, Tree, TreeId};
use capstan_ports::{Mirror, MirrorError, Repository, Snapshot};
use secrecy::SecretString;
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

use super::raw::Raw;
use super::{EU, SETTINGS, US, commit, delivered, each_engine, enrolled, path, report};
use crate::running::sample;
use crate::running::shared::{size, sized};
use crate::running::town::{REPOSITORY, Town};

const NAME: &str = "capstan/rollout";

fn rollout(town: &Town, number: u64) -> CheckView {
    town.check_named(NAME, number).unwrap()
}

fn statuses(town: &Town, commit: &str) -> Vec<(String, String)> {
    let mut statuses = town.forge.statuses(REPOSITORY, commit).unwrap();
    statuses.retain(|status| status.context == NAME);
    statuses.into_iter().map(|status| (status.state, status.description)).collect()
}

async fn say(agent: &Arc<AgentClient>, at: &str, state: RolloutState, ready: u32) {
    agent.report(report("gauss/peu01", &commit(at), state, ready)).await.unwrap();
    delivered(agent).await;
}

/// What the reporter does when the bot's clock is so much ahead; the tokens of agents would be over by then.
async fn report_after(town: &Town, seconds: i64) -> Reporting {
    town.pass(seconds);
    let looked = town.report_rollouts().await;
    town.pass(-seconds);
    looked
}

/// A merged pull request of ada's that touches the cluster; gives its number and the merge.
async fn merged(town: &Town, replicas: u32, method: MergeMethod) -> (u64, String) {
    let branch = format!("more-{replicas}");
    let number = town.open("ada", &branch, &[sample::machine_pool("gauss/peu01", "v1.21.4", replicas)]);
    town.settle().await;
    town.forge.merge_pull(REPOSITORY, number, "ada", method).unwrap();
    town.settle().await;
    (number, town.forge.resolve(REPOSITORY, "main").unwrap().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_is_followed_until_its_machines_are_done_and_each_turn_reported_once() {
    each_engine(&["gauss/peu01"], async |mut town, url| {
        let state = tempfile::tempdir().unwrap();
        let agent = enrolled(&town, EU, state.path()).await;
        let (number, merge) = merged(&town, 5, MergeMethod::Merge).await;
        assert_eq!(town.report_rollouts().await, Reporting::AllReported);
        let check = rollout(&town, number);
        assert_eq!(
            (check.status.as_str(), check.title.as_str()),
            ("in_progress", "gauss/peu01: waiting for the reconciler")
        );
        assert_eq!(
            statuses(&town, &merge),
            [("pending".to_owned(), "The machines of gauss/peu01 are being followed".to_owned())]
        );
        let first = check.id;

        // At most once in a quarter of a minute, and then what is true by then.
        say(&agent, &merge, RolloutState::Rolling, 0).await;
        assert!(matches!(town.report_rollouts().await, Reporting::Later(_)));
        say(&agent, &merge, RolloutState::Rolling, 1).await;
        assert!(matches!(town.report_rollouts().await, Reporting::Later(_)));
        assert_eq!(rollout(&town, number).title, "gauss/peu01: waiting for the reconciler");
        town.pass(15);
        assert_eq!(town.report_rollouts().await, Reporting::AllReported);
        let check = rollout(&town, number);
        assert_eq!((check.id, check.title.as_str()), (first, "gauss/peu01: 1 of 2 machines are up to date"));
        assert!(
            check
                .summary
                .contains("| `peu01-mp-0-old` | `MachinePool peu01-mp-0` | Deleting | to be replaced |"),
            "{}",
            check.summary
        );

        // Stuck, the bot restarts, freed, done.
        say(&agent, &merge, RolloutState::Stuck, 1).await;
        town.pass(15);
        town.report_rollouts().await;
        let check = rollout(&town, number);
        assert_eq!((check.id, check.conclusion.as_deref()), (first, Some("failure")));
        assert!(check.summary.contains("**stuck**: no IP addresses left"), "{}", check.summary);
        town.restart(Some(&url)).await;
        say(&agent, &merge, RolloutState::Rolling, 1).await;
        town.pass(15);
        town.report_rollouts().await;
        let check = rollout(&town, number);
        assert_eq!((check.status.as_str(), check.conclusion.as_deref()), ("in_progress", None));
        assert_ne!(check.id, first, "a completed run does not go back to work");
        say(&agent, &merge, RolloutState::Done, 2).await;
        town.pass(15);
        town.report_rollouts().await;
        let check = rollout(&town, number);
        assert_eq!(
            (check.conclusion.as_deref(), check.title.as_str()),
            (Some("success"), "gauss/peu01: done, 2 machines")
        );
        for (turn, times) in
            [("**stuck**", 1), ("continues", 1), ("the first machine is replaced", 1), (" done\n", 1)]
        {
            assert_eq!(check.summary.matches(turn).count(), times, "{turn}: {}", check.summary);
        }
        let told: Vec<String> = statuses(&town, &merge).into_iter().map(|(state, _)| state).collect();
        assert_eq!(told, ["pending", "failure", "pending", "success"]);

        // What comes after is not this pull request's.
        let before = town.forge.write_calls();
        say(&agent, &merge, RolloutState::Rolling, 1).await;
        town.pass(60);
        assert_eq!(town.report_rollouts().await, Reporting::AllReported);
        assert_eq!(town.forge.write_calls(), before);
        town.done();
    })
    .await;
}

/// A merge touches the clusters that render differently afterwards, wherever the changed file is.
#[tokio::test(flavor = "multi_thread")]
async fn a_merge_of_what_clusters_share_is_followed_for_all_who_use_it_and_nobody_else() {
    const USERS: [&str; 2] = ["gauss/peu01", "gauss/peu02"];
    let town = Town::new(SETTINGS, &["gauss/peu01", "gauss/peu02", "gauss/peu03"]).await;
    let state = tempfile::tempdir().unwrap();
    let mut edits = vec![size(3), Edit::write("shared/README.md", "What clusters share.\n")];
    edits.extend(USERS.map(sized));
    town.push("main", &edits);
    town.settle().await;
    let agent = enrolled(&town, EU, state.path()).await;
    let merge = async |branch: &str, edit: Edit| {
        let number = town.open("ada", branch, &[edit]);
        town.settle().await;
        town.forge.merge_pull(REPOSITORY, number, "ada", MergeMethod::Merge).unwrap();
        town.settle().await;
        town.report_rollouts().await;
        (number, town.forge.resolve(REPOSITORY, "main").unwrap().unwrap())
    };
    let (docs, _) = merge("docs", Edit::write("shared/README.md", "What they share.\n")).await;
    assert!(town.check_named(NAME, docs).is_none(), "nobody's machines follow");

    let (number, commit_of_merge) = merge("bigger", size(5)).await;
    let check = rollout(&town, number);
    assert_eq!(check.status, "in_progress");
    let said = format!("{} {}", check.title, check.summary);
    assert!(USERS.iter().all(|user| said.contains(user)) && !said.contains("gauss/peu03"), "{said}");
    for (nth, user) in USERS.into_iter().enumerate() {
        let state = |number: u64| town.check_named(NAME, number).unwrap().conclusion;
        assert_eq!(state(number), None, "{nth} of 2 are done");
        agent.report(report(user, &commit(&commit_of_merge), RolloutState::Done, 2)).await.unwrap();
        delivered(&agent).await;
        town.pass(15);
        town.report_rollouts().await;
    }
    assert_eq!(rollout(&town, number).conclusion.as_deref(), Some("success"));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_rollout_its_recovery_and_its_end_are_commented_once_each() {
    each_engine(&["gauss/peu01"], async |mut town, url| {
        let state = tempfile::tempdir().unwrap();
        let agent = enrolled(&town, EU, state.path()).await;
        let (number, merge) = merged(&town, 5, MergeMethod::Merge).await;
        say(&agent, &merge, RolloutState::Rolling, 1).await;
        report_after(&town, 0).await;
        say(&agent, &merge, RolloutState::Stuck, 1).await;
        assert!(matches!(report_after(&town, 15).await, Reporting::Later(_)), "it may pass by itself");
        assert_eq!(town.answers(number), Vec::<String>::new());

        report_after(&town, 75).await;
        let told = town.answers(number);
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("- `gauss/peu01` on `mc-eu`: **stuck** since "), "{}", told[0]);
        assert!(told[0].contains(" UTC: no IP addresses left\n"), "{}", told[0]);
        // The next report says the same, and the bot restarts: neither causes a second notice.
        say(&agent, &merge, RolloutState::Stuck, 2).await;
        town.restart(Some(&url)).await;
        report_after(&town, 120).await;
        assert_eq!(town.answers(number).len(), 1);

        say(&agent, &merge, RolloutState::Rolling, 1).await;
        report_after(&town, 140).await;
        let told = town.answers(number);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[1].contains("`gauss/peu01` on `mc-eu`: continues since "), "{}", told[1]);
        say(&agent, &merge, RolloutState::Done, 2).await;
        report_after(&town, 160).await;
        let told = town.answers(number);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[2].contains("`gauss/peu01` on `mc-eu`: done since "), "{}", told[2]);
        for turn in ["**stuck**", "continues", "done since"] {
            assert_eq!(told.concat().matches(turn).count(), 1, "{turn}: {told:?}");
        }
        let before = town.forge.write_calls();
        assert_eq!(report_after(&town, 220).await, Reporting::AllReported);
        assert_eq!(town.forge.write_calls(), before);
        town.done();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_that_goes_well_or_stumbles_for_a_moment_wakes_nobody() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let (number, merge) = merged(&town, 5, MergeMethod::Merge).await;
    for (told, ready) in [(RolloutState::Rolling, 1), (RolloutState::Stuck, 1), (RolloutState::Done, 2)] {
        say(&agent, &merge, told, ready).await;
        town.pass(15);
        town.report_rollouts().await;
    }
    assert_eq!(rollout(&town, number).conclusion.as_deref(), Some("success"));
    assert_eq!(town.answers(number), Vec::<String>::new(), "what is over within a minute is in the check");
    town.done();
}

/// What a file says of a rollout that waits is annotated where it ends: a run at work is updated with each news.
#[tokio::test(flavor = "multi_thread")]
async fn reports_of_a_waiting_rollout_update_one_run() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let (number, merge) = merged(&town, 5, MergeMethod::Merge).await;
    town.report_rollouts().await;
    let first = rollout(&town, number).id;
    for message in ["from two o'clock on", "from three o'clock on"] {
        let mut waiting = report("gauss/peu01", &commit(&merge), RolloutState::Waiting, 0);
        waiting.reasons = vec![WireReason {
            severity: Severity::Warning,
            kind: "RolloutAfter".to_owned(),
            message: Words::new(message),
            object: None,
            field: None,
            file: Some(path("gauss/peu01/base/machinepool.yaml")),
            line: Some(8),
            column: None,
        }];
        agent.report(waiting).await.unwrap();
        delivered(&agent).await;
        town.pass(15);
        town.report_rollouts().await;
        let check = rollout(&town, number);
        assert_eq!((check.id, check.status.as_str()), (first, "in_progress"));
        assert!(check.summary.contains(message), "{}", check.summary);
        assert!(check.annotations.is_empty(), "{:?}", check.annotations);
    }
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn squashed_and_rebased_merges_are_followed_and_a_later_commit_counts_for_an_earlier_one() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let (squashed, first) = merged(&town, 5, MergeMethod::Squash).await;
    let (rebased, second) = merged(&town, 6, MergeMethod::Rebase).await;
    town.report_rollouts().await;
    // A report on the first says nothing of the second.
    say(&agent, &first, RolloutState::Done, 2).await;
    town.pass(15);
    town.report_rollouts().await;
    assert_eq!(rollout(&town, squashed).conclusion.as_deref(), Some("success"));
    assert_eq!(rollout(&town, rebased).title, "gauss/peu01: waiting for the reconciler");
    // A report about a later commit also counts for the merges that it skipped.
    let (third, last) = merged(&town, 7, MergeMethod::Merge).await;
    town.report_rollouts().await;
    say(&agent, &last, RolloutState::Done, 2).await;
    town.pass(15);
    town.report_rollouts().await;
    for number in [rebased, third] {
        assert_eq!(rollout(&town, number).conclusion.as_deref(), Some("success"), "#{number}");
    }
    assert_ne!(second, last);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claimed_cluster_gets_its_next_step_once_its_machines_are_done() {
    let town = Town::new(SETTINGS, &["gauss/peu01", "gauss/peu02", "other/z"]).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let at_first = town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();
    say(&agent, &at_first, RolloutState::Rolling, 1).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let branches: Vec<String> = town.open_pulls().into_iter().map(|pull| pull.head_branch).collect();
    assert_eq!(branches, ["capstan/upgrade/other/z"]);
    let (word, why) = town.standing("gauss/peu01").await;
    assert_eq!(word, "waiting");
    assert_eq!(
        why,
        "The last rollout is not done: 1 of 2 machines are up to date, as the reconciler on `mc-eu` reports. Capstan offers the next step when it is done."
    );
    let (_, why) = town.standing("gauss/peu02").await;
    assert!(why.starts_with("The reconciler on `mc-eu` has not reported on this cluster yet"), "{why}");

    // Done: what was held is offered at once, without a push or a resync.
    say(&agent, &at_first, RolloutState::Done, 2).await;
    town.settle().await;
    let pull = town.open_pulls().into_iter().find(|pull| pull.head_branch.ends_with("peu01")).unwrap();
    town.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    let (word, why) = town.standing("gauss/peu01").await;
    assert_eq!(word, "waiting", "{why}");
    assert!(why.contains("has not yet reported that the newest change of this cluster is done"), "{why}");
    let tip = agent.fetch().await.unwrap().commit;
    say(&agent, tip.as_str(), RolloutState::Done, 2).await;
    town.settle().await;
    let next = town.open_pulls().into_iter().find(|pull| pull.head_branch.ends_with("peu01")).unwrap();
    assert_eq!(next.title, "Upgrade gauss/peu01 from aws/v22.0.0 to aws/v22.1.0");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_on_others_clusters_commits_and_repositories_are_refused_one_by_one() {
    each_engine(&["gauss/peu01", "euler/x", "both/y"], async |town, _| {
        let agent = Raw::enrolled(&town).await;
        let tip = town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();
        let number = town.open("ada", "more", &[sample::machine_pool("gauss/peu01", "v1.21.4", 5)]);
        town.settle().await;
        let head = town.pull(number).head;
        let mut id = 0;
        let mut one = |cluster: &str, at: &str, repository: &str| {
            id += 1;
            let mut one = report(cluster, &commit(at), RolloutState::Done, 2);
            one.id = ReportId::parse(&format!("{id:026}")).unwrap();
            one.repository = capstan_plan::settings::RepositoryName::parse(repository).unwrap();
            one
        };
        let reports = [
            one("gauss/peu01", &tip, REPOSITORY),
            one("euler/x", &tip, REPOSITORY),
            one("both/y", &tip, REPOSITORY),
            one("gauss/peu01", &head, REPOSITORY),
            one("gauss/peu01", &"f".repeat(40), REPOSITORY),
            one("gauss/peu01", &tip, "acme/secret"),
            one("gauss/gone", &tip, REPOSITORY),
        ];
        let body = serde_json::json!({"reports": reports}).to_string();
        let token = agent.token();
        let came = agent.post("reports", Some(&token), body).await;
        let answer: serde_json::Value = serde_json::from_str(&came.body).unwrap();
        let ids = |numbers: &[u32]| -> Vec<String> { numbers.iter().map(|n| format!("{n:026}")).collect() };
        assert_eq!(
            answer["taken"],
            serde_json::json!(ids(&[1, 7])),
            "a folder that is gone is still its own"
        );
        assert_eq!(answer["refused"], serde_json::json!(ids(&[2, 3, 4, 5, 6])));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_out_of_order_and_twice_end_the_same() {
    each_engine(&["gauss/peu01"], async |town, _| {
        let agent = Raw::enrolled(&town).await;
        let (number, merge) = merged(&town, 5, MergeMethod::Merge).await;
        town.report_rollouts().await;
        let one = |id: u32, state, ready| {
            let mut one = report("gauss/peu01", &commit(&merge), state, ready);
            one.id = ReportId::parse(&format!("{id:026}")).unwrap();
            one.repository = capstan_plan::settings::RepositoryName::parse(REPOSITORY).unwrap();
            one
        };
        let send = async |reports: Vec<capstan_live::agent::RolloutReport>| {
            let count = reports.len();
            let body = serde_json::json!({"reports": reports}).to_string();
            let token = agent.token();
            let came = agent.post("reports", Some(&token), body).await;
            let answer: serde_json::Value = serde_json::from_str(&came.body).unwrap();
            assert_eq!(answer["taken"].as_array().unwrap().len(), count, "{came:?}");
        };
        let done = one(9, RolloutState::Done, 2);
        send(vec![one(2, RolloutState::Rolling, 1), one(3, RolloutState::Stuck, 1)]).await;
        send(vec![done.clone(), one(1, RolloutState::Rolling, 0)]).await;
        send(vec![one(4, RolloutState::Rolling, 1)]).await;
        send(vec![done]).await;
        town.pass(15);
        town.report_rollouts().await;
        let check = rollout(&town, number);
        assert_eq!(check.conclusion.as_deref(), Some("success"), "{}", check.title);
        assert_eq!(check.summary.matches("**stuck**").count(), 1, "{}", check.summary);
        assert_eq!(check.summary.matches("continues").count(), 0, "it was told too late: {}", check.summary);
        town.done();
    })
    .await;
}

/// A mirror that, when the first snapshot is asked for, says so and waits: the tip has just been read then.
struct Pauses {
    mirror: Arc<dyn Mirror>,
    first: Mutex<Option<(oneshot::Sender<()>, oneshot::Receiver<()>)>>,
}

#[async_trait]
impl Mirror for Pauses {
    async fn snapshot(
        &self,
        repository: &Repository,
        token: &SecretString,
        commit: &CommitId,
    ) -> Result<Snapshot, MirrorError> {
        let first = self.first.lock().unwrap().take();
        if let Some((asked, goes_on)) = first {
            asked.send(()).unwrap();
            goes_on.await.unwrap();
        }
        self.mirror.snapshot(repository, token, commit).await
    }

    async fn snapshot_of_file(
        &self,
        repository: &Repository,
        commit: &CommitId,
        file: &RepoPath,
    ) -> Result<Snapshot, MirrorError> {
        self.mirror.snapshot_of_file(repository, commit, file).await
    }

    async fn folder(
        &self,
        repository: &Repository,
        tree: &TreeId,
    ) -> Result<Option<Arc<dyn Tree>>, MirrorError> {
        self.mirror.folder(repository, tree).await
    }

    async fn file(&self, repository: &Repository, blob: &BlobId) -> Result<Option<Arc<[u8]>>, MirrorError> {
        self.mirror.file(repository, blob).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_adds_a_cluster_is_followed_though_it_comes_just_after_the_tip_was_read() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let state = tempfile::tempdir().unwrap();
    let _agent = enrolled(&town, EU, state.path()).await;
    let number = town.open("ada", "born", &[sample::machine_pool("gauss/peu09", "v1.21.4", 3)]);
    town.settle().await;

    let ((asked, is_asked), (go_on, goes_on)) = (oneshot::channel(), oneshot::channel());
    let mirror = Arc::clone(&town.ports().mirror);
    let pauses = Pauses { mirror, first: Mutex::new(Some((asked, goes_on))) };
    let ports = Ports { mirror: Arc::new(pauses), ..town.ports().clone() };
    let meanwhile = async {
        is_asked.await.unwrap();
        town.forge.merge_pull(REPOSITORY, number, "ada", MergeMethod::Merge).unwrap();
        go_on.send(()).unwrap();
    };
    let (synced, ()) = tokio::join!(town.sync_with(&ports), meanwhile);
    synced.unwrap();
    assert_eq!(town.pull(number).state, PullState::Merged);

    town.settle().await;
    town.report_rollouts().await;
    assert_eq!(rollout(&town, number).title, "gauss/peu09: waiting for the reconciler");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_cluster_lived_before_is_remembered() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let eu = enrolled(&town, EU, one.path()).await;
    let tip = town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();
    say(&eu, &tip, RolloutState::Done, 2).await;
    assert_eq!(eu.record(&super::cluster("gauss/peu01")).await.unwrap().elsewhere, None);
    let moved = SETTINGS.replace("\"gauss/*\", ", "").replace("\"euler/*\"", "\"euler/*\", \"gauss/*\"");
    town.push("main", &[Edit::write(".capstan.yaml", moved.as_str())]);
    town.settle().await;
    let us = enrolled(&town, US, other.path()).await;
    assert_eq!(us.record(&super::cluster("gauss/peu01")).await.unwrap().elsewhere.as_deref(), Some("mc-eu"));
    assert!(eu.record(&super::cluster("gauss/peu01")).await.is_err(), "it is not its own any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_between_a_call_and_its_record_posts_nothing_twice() {
    use sqlx::Connection as _;

    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("capstan.sqlite").display());
    let town = Town::on(SETTINGS, &["gauss/peu01"], Some(&url)).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let (number, merge) = merged(&town, 5, MergeMethod::Merge).await;
    say(&agent, &merge, RolloutState::Rolling, 1).await;
    town.report_rollouts().await;
    let (check, told) = (rollout(&town, number), statuses(&town, &merge));
    // The calls were made, and nothing of them was recorded.
    let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let forgotten = "UPDATE followed_merges SET check_run = NULL, told_check = '', told_completed = 0,
                     told_at_ms = NULL, told_status = ''";
    sqlx::query(forgotten).execute(&mut connection).await.unwrap();
    let before = town.forge.write_calls();
    town.report_rollouts().await;
    assert_eq!(town.forge.write_calls(), before);
    assert_eq!((rollout(&town, number).id, statuses(&town, &merge)), (check.id, told));
    town.done();
}
