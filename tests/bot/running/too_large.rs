//! Capstan reports what is too large to be read, and everything else continues.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use capstan_bot::sync::Ports;
use capstan_forge::{Edit, Fault, Matching, MergeMethod, Strike};
use capstan_model::tree::{BlobId, CommitId, RepoPath, Tree, TreeId};
use capstan_ports::{CheckConclusion, Mirror, MirrorError, Permission, Repository, Snapshot};
use secrecy::SecretString;

use super::memory::{TOO_LARGE, World};
use super::sample;
use super::town::{REPOSITORY, Town};
use crate::agents::{EU, SETTINGS, enrolled};

const LARGE: (&str, Option<&str>) = (TOO_LARGE, Some("huge\n"));

/// Clusters `a` and `b` at `releases/v1`, where ada may write.
fn two_clusters() -> World {
    let world = World::new(&[
        (".capstan.yaml", "mode: propose\n"),
        ("releases/v1/base/v", "one\n"),
        ("c/a/base/v", "one\n"),
        ("c/a/capstan.yaml", "release: releases/v1\n"),
        ("c/b/base/v", "one\n"),
        ("c/b/capstan.yaml", "release: releases/v1\n"),
    ]);
    world.state().permissions.insert("ada".to_owned(), Permission::Write);
    world
}

fn check_of(world: &World, number: u64) -> (CheckConclusion, String) {
    let check = world.check_on(number).unwrap();
    (check.conclusion.unwrap(), check.title + "\n" + &check.summary)
}

#[tokio::test]
async fn a_head_that_is_too_large_is_reported_once_and_stops_nothing_else() {
    let world = two_clusters();
    world.push("main", &[("releases/v2/base/v", Some("two\n"))]);
    world.sync().await;
    // The head of a proposal, and one of ada's own.
    world.push("capstan/upgrade/c/a", &[LARGE]);
    let large = world.open_pull("large", &[LARGE]);
    for command in ["/capstan plan", "/capstan retarget"] {
        world.comment(large, "ada", command);
    }
    world.comment(2, "ada", "/capstan plan");
    world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
    world.sync().await;
    assert_eq!(world.file("capstan/upgrade/c/b", "c/b/base/v").unwrap(), "three\n");
    for number in [1, large] {
        let (conclusion, text) = check_of(&world, number);
        assert_eq!(conclusion, CheckConclusion::Failure, "{text}");
        assert!(text.contains("is too large: it is huge"), "{text}");
    }
    assert_eq!(check_of(&world, 2).0, CheckConclusion::Success);
    assert_eq!(world.answers(2).len(), 1);
    let answers = world.answers(large);
    assert_eq!(answers.len(), 2, "{answers:?}");
    for answer in answers {
        assert!(
            answer.contains("Capstan cannot read what this pull request touches. The commit "),
            "{answer}"
        );
    }
    let mark = world.state().writes.len();
    world.sync().await;
    assert_eq!(world.writes_since(mark), [""; 0], "nothing moved, nothing is written");
}

#[tokio::test]
async fn a_head_that_is_too_large_stops_nobody_who_mends_the_settings() {
    let world = two_clusters();
    world.push("main", &[(".capstan.yaml", Some("moode: propose\n"))]);
    let large = world.open_pull("large", &[LARGE]);
    let mends = world.open_pull("mends", &[(".capstan.yaml", Some("mode: propose\n"))]);
    world.sync().await;
    assert!(check_of(&world, large).1.contains("is too large: it is huge"), "{:?}", check_of(&world, large));
    let (conclusion, text) = check_of(&world, mends);
    assert_eq!(conclusion, CheckConclusion::Success, "{text}");
    assert!(text.contains("It checked this pull request under the settings in it"), "{text}");
}

#[tokio::test]
async fn a_base_branch_that_is_too_large_is_reported_on_open_heads_and_a_repairing_head_is_judged_alone() {
    let world = two_clusters();
    world.push("main", &[LARGE]);
    let follows = world.open_pull("follows", &[("README.md", Some("hello\n"))]);
    let mends = world.open_pull("mends", &[(TOO_LARGE, None)]);
    world.sync().await;
    let (conclusion, text) = check_of(&world, follows);
    assert_eq!(conclusion, CheckConclusion::ActionRequired, "{text}");
    assert!(text.starts_with("The base branch exceeds the limits\n"), "{text}");
    assert!(text.contains("it is huge") && text.contains("Make it smaller"), "{text}");
    assert!(!text.contains("settings"), "{text}");
    let (conclusion, text) = check_of(&world, mends);
    assert_eq!(conclusion, CheckConclusion::Success, "{text}");
    assert!(text.contains("Capstan checked this pull request by itself"), "{text}");
    let mark = world.state().writes.len();
    world.sync().await;
    assert_eq!(world.writes_since(mark), [""; 0], "nothing moved, nothing is written");

    // Without settings on its default branch nothing is written to a repository, whatever else is there.
    world.push("main", &[(".capstan.yaml", None)]);
    world.push("follows", &[("README.md", Some("hello again\n"))]);
    world.sync().await;
    assert!(world.check_on(follows).is_none());
}

/// A mirror to which these commits are too large.
struct Limited {
    mirror: Arc<dyn Mirror>,
    too_large: BTreeSet<String>,
}

impl Limited {
    fn ports(town: &Town, commits: &[&str]) -> Ports {
        let mirror = Arc::clone(&town.ports().mirror);
        let too_large = commits.iter().map(|commit| (*commit).to_owned()).collect();
        Ports { mirror: Arc::new(Self { mirror, too_large }), ..town.ports().clone() }
    }
}

#[async_trait]
impl Mirror for Limited {
    async fn snapshot(
        &self,
        repository: &Repository,
        token: &SecretString,
        commit: &CommitId,
    ) -> Result<Snapshot, MirrorError> {
        let snapshot = self.mirror.snapshot(repository, token, commit).await?;
        if self.too_large.contains(commit.as_str()) {
            return Err(MirrorError::TooLarge { commit: commit.clone(), reason: "it is huge".to_owned() });
        }
        Ok(snapshot)
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

/// The repository of the releases is too large: the clusters show that, and heads are judged as before.
#[tokio::test(flavor = "multi_thread")]
async fn releases_elsewhere_that_are_too_large_are_refused_and_heads_are_judged() {
    const PEU01: &str = "gauss/peu01";
    let town = Town::new("releases: {repository: acme/releases}\n", &[PEU01]).await;
    town.forge.create_repository("acme/releases").unwrap();
    let edits =
        [Edit::write(".capstan.yaml", "consumers: [acme/gitops]\n"), sample::release("v22.0.0", "v1.22.5")];
    let tip = town.forge.commit("acme/releases", "main", "ada", "Releases", &edits).unwrap();
    let mine = town.open("ada", "mine", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
    town.sync_with(&Limited::ports(&town, &[&tip])).await.unwrap();
    let (state, why) = town.standing(PEU01).await;
    assert_eq!(state, "unplannable");
    assert!(why.contains("acme/releases, which Capstan cannot read, or whose"), "{why}");
    assert_eq!(town.check(mine).conclusion.as_deref(), Some("failure"));
    town.done();
}

/// A merge whose head is too large: the others' machines are followed.
#[tokio::test(flavor = "multi_thread")]
async fn a_merge_of_a_head_that_is_too_large_keeps_no_other_from_being_followed() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let state = tempfile::tempdir().unwrap();
    let _agent = enrolled(&town, EU, state.path()).await;
    let large = town.open("ada", "large", &[Edit::write("README.md", "hello\n")]);
    let other = town.open("ada", "more", &[sample::machine_pool("gauss/peu01", "v1.21.4", 5)]);
    town.settle().await;
    let commits: Vec<String> = [large, other]
        .map(|number| {
            town.forge.merge_pull(REPOSITORY, number, "ada", MergeMethod::Merge).unwrap();
            town.pull(number).head
        })
        .into();
    town.sync_with(&Limited::ports(&town, &[&commits[0]])).await.unwrap();
    town.report_rollouts().await;
    let check = town.check_named("capstan/rollout", other).unwrap();
    assert_eq!(check.title, "gauss/peu01: waiting for the reconciler");
    town.done();
}

/// A check that GitHub does not take is left alone, also where it says only that the head is too large.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_check_on_a_head_that_is_too_large_is_not_tried_at_every_turn() {
    let town = Town::new("mode: propose\n", &["gauss/peu01"]).await;
    town.forge.pause_deliveries();
    let large = town.open("ada", "large", &[Edit::write("README.md", "hello\n")]);
    let head = town.pull(large).head;
    let reports = Matching::any().method("POST").path("/check-runs").body(&head);
    town.forge.fail_next(u32::MAX, reports, Strike::Before, Fault::Status(403));
    let ports = Limited::ports(&town, &[&head]);
    for _ in 0..3 {
        town.sync_with(&ports).await.unwrap();
    }
    let tried = |call: &capstan_forge::Exchange| call.method == "POST" && call.path.ends_with("/check-runs");
    assert_eq!(town.forge.count_requests(tried), 1);
    town.forge.clear_faults();
    town.pass(11 * 60);
    town.sync_with(&ports).await.unwrap();
    assert_eq!(town.check(large).conclusion.as_deref(), Some("failure"));
    town.done();
}
