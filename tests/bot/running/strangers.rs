//! What people who mean no good, or do odd things at odd moments, cannot make the bot say or do.

use std::sync::Arc;
use std::time::Duration;

use capstan_bot::sync::Synced;
use capstan_bot::worker::perform;
use capstan_database::Database;
use capstan_forge::{Edit, NewPull};
use capstan_ports::{CheckConclusion, JobCause, JobRequest, Jobs, Permission, SystemClock};
use serde_json::json;

use super::memory::{Moment, World, repository};
use super::sample;
use super::town::{REPOSITORY, Town};

const PEU01: &str = "gauss/peu01";

fn small_world() -> World {
    World::new(&[
        (".capstan.yaml", "mode: propose\n"),
        ("releases/v1/base/v", "one\n"),
        ("c/a/base/v", "one\nmine\n"),
        ("c/a/capstan.yaml", "release: releases/v1\n"),
    ])
}

fn conclusion(town: &Town, commit: &str) -> Option<String> {
    let checks = town.forge.checks(REPOSITORY, commit).unwrap();
    checks.into_iter().filter(|check| check.name == "capstan").max_by_key(|check| check.id)?.conclusion
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_merge_queue_tries_is_checked() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    let good = town.push("gh-readonly-queue/main/pr-7-aaaa", &[Edit::write("README.md", "hello\n")]);
    let bad = town.push("gh-readonly-queue/main/pr-8-bbbb", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
    town.resync().await;
    assert_eq!(conclusion(&town, &good).as_deref(), Some("success"));
    assert_eq!(conclusion(&town, &bad).as_deref(), Some("failure"));
    let before = town.forge.write_calls();
    town.resync().await;
    assert_eq!(town.forge.write_calls(), before, "nothing moved, no call");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_apps_check_of_that_name_is_not_capstans() {
    let mut town = Town::new("mode: propose\n", &[PEU01]).await;
    let downgrade = |replicas| [sample::machine_pool(PEU01, "v1.20.1", replicas)];
    let number = town.open("ada", "downgrade", &downgrade(2));
    town.settle().await;
    let first = town.check(number);
    assert_eq!(first.conclusion.as_deref(), Some("failure"));
    // It says what Capstan would say, in Capstan's name, on the next head before Capstan does.
    let head = town.push("downgrade", &downgrade(3));
    let report = |head: &str, conclusion: &str| {
        let named = ("capstan", first.external_id.as_str());
        town.forge.report_as_another_app(REPOSITORY, head, 7_001, named, conclusion).unwrap()
    };
    let forged = report(&head, "success");
    town.settle().await;
    let own = |town: &Town| {
        let mut checks = town.forge.checks(REPOSITORY, &head).unwrap();
        checks.retain(|check| check.name == "capstan" && check.id != forged);
        checks.into_iter().map(|check| check.conclusion).collect::<Vec<_>>()
    };
    assert_eq!(own(&town), [Some("failure".to_owned())]);
    // And later, when no record says which one was Capstan's.
    let later = report(&head, "success");
    let before = town.forge.write_calls();
    town.restart_without_database().await;
    town.resync().await;
    assert_eq!(town.forge.write_calls(), before, "Capstan's own says it already");
    for id in [forged, later] {
        let checks = town.forge.checks(REPOSITORY, &head).unwrap();
        let theirs = checks.into_iter().find(|check| check.id == id).unwrap();
        assert_eq!(theirs.conclusion.as_deref(), Some("success"), "it is left alone");
    }
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_pull_request_of_the_same_head_takes_no_failure_back() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    town.push("elsewhere", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
    town.push("elsewhere", &[Edit::write("README.md", "hello\n")]);
    let harmful = town.open("ada", "downgrade", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
    town.settle().await;
    assert_eq!(town.check(harmful).conclusion.as_deref(), Some("failure"));
    let harmless = NewPull {
        title: "Nothing here".to_owned(),
        head: "downgrade".to_owned(),
        base: "elsewhere".to_owned(),
        ..NewPull::default()
    };
    town.forge.open_pull(REPOSITORY, "mallory", harmless).unwrap();
    town.settle().await;
    assert_eq!(town.check(harmful).conclusion.as_deref(), Some("failure"));
    let before = town.forge.write_calls();
    town.resync().await;
    assert_eq!(town.forge.write_calls(), before, "the two do not take turns");
    town.done();
}

#[tokio::test]
async fn another_heads_merge_is_never_taken_for_this_ones() {
    let world = small_world();
    world.open_pull("mine", &[("c/a/base/v", Some("error\n"))]);
    world.push("main", &[("README.md", Some("hello\n"))]);
    let judged = world.pulls()[0].head.clone();
    let harmless: fn(&World) = |world| world.push("mine", &[("c/a/base/v", Some("one\nmine\n"))]);
    world.state().meanwhile = Some((Moment::PullRequest, harmless));
    assert!(matches!(world.try_sync().await.unwrap(), Synced::Again));
    assert!(world.state().checks.iter().all(|(check, _)| check.head != judged));
    world.sync().await;
    assert_eq!(world.check_on(1).unwrap().conclusion, Some(CheckConclusion::Success));
}

#[tokio::test]
async fn an_old_comment_edited_into_a_command_is_ignored() {
    let world = small_world();
    let number = world.open_pull("mine", &[("README.md", Some("hello\n"))]);
    world.state().permissions.insert("ada".to_owned(), Permission::Write);
    world.comment(number, "ada", "/capstan help");
    world.state().now += 4 * 24 * 3_600;
    world.sync().await;
    assert!(world.answers(number).is_empty());
    world.comment(number, "ada", "/capstan help");
    world.sync().await;
    assert_eq!(world.answers(number).len(), 1);
}

#[tokio::test]
async fn a_name_that_another_repository_has_now_is_left_alone() {
    let world = small_world();
    world.push("main", &[("releases/v2/base/v", Some("two\n"))]);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("c.sqlite").display());
    let jobs: Arc<dyn Jobs> = Arc::new(Database::open(&url, Arc::new(SystemClock)).await.unwrap());
    for (id, expected) in [(999, 0), (repository().id, 1)] {
        let request =
            JobRequest { repository: id, installation: 1, name: repository().name, cause: JobCause::Event };
        jobs.enqueue(&request).await.unwrap();
        let job = jobs.claim("test", Duration::from_secs(60), 8).await.unwrap().unwrap();
        perform(&world.ports(), &jobs, &job, Duration::from_secs(600)).await.unwrap();
        assert_eq!(world.pulls().len(), expected, "as repository {id}");
    }
}

/// Both published ways to a management cluster by way of Flux, and one to a neighbour's: said before the merge.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_outside_a_folders_boundary_fails_the_check() {
    const PEU02: &str = "gauss/peu02";
    let claims = "managementClusters:\n- {name: mc-eu, uid: 00000000-0000-4000-8000-000000000001, clusters: ['gauss/*']}\n";
    let town = Town::new(claims, &[PEU01, PEU02]).await;
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: ingress}\nspec: {chartRef: {kind: OCIRepository, name: mine}}\n";
    let kustomization = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec: {path: ./, serviceAccountName: capstan-applier}\n";
    let authority = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: peu02-ca\n";
    let harmless = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fine}\n";
    for (branch, overlay, expected) in [
        (
            "release",
            release,
            Some((1, "HelmRelease ingress: overlays may add and change objects of Cluster API")),
        ),
        ("account", kustomization, Some((1, "Kustomization apps: overlays may add and change"))),
        (
            "authority",
            authority,
            Some((4, "Cluster API treats it as a Secret of the Cluster peu02 in the folder gauss/peu02")),
        ),
        ("fine", harmless, None),
    ] {
        let file = format!("{PEU01}/overlay/a.yaml");
        let number = town.open("ada", branch, &[Edit::write(file.clone(), overlay)]);
        town.settle().await;
        let check = town.check(number);
        let found: Vec<_> =
            check.annotations.iter().filter(|found| found.to_string().contains("outside-boundary")).collect();
        match (expected, found.as_slice()) {
            (Some((line, says)), [found]) => {
                assert_eq!(check.conclusion.as_deref(), Some("failure"), "{branch}");
                assert_eq!((&found["path"], &found["start_line"]), (&json!(file), &json!(line)), "{branch}");
                assert!(found["message"].as_str().unwrap().contains(says), "{branch}: {found}");
            }
            (None, []) => assert_ne!(check.conclusion.as_deref(), Some("failure"), "{branch}"),
            (_, found) => panic!("{branch}: {found:?}"),
        }
    }
    town.done();
}

/// A file that nobody sees would be a way past every rule.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_an_unreadable_name_fails_the_check_anywhere_in_the_folder() {
    let town = Town::new("mode: propose\n", &[PEU01, "gauss/peu02"]).await;
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: my-org}\n";
    for (branch, file, shown) in [
        ("base", "base/a\\b.yaml", "base/a%5Cb.yaml"),
        ("overlay", "overlay/a\\b.yaml", "overlay/a%5Cb.yaml"),
        ("aside", "notes\\1.txt", "notes%5C1.txt"),
    ] {
        let number = town.open("ada", branch, &[Edit::write(format!("{PEU01}/{file}"), map)]);
        town.settle().await;
        let check = town.check(number);
        let said = format!("{} {:?}", check.summary, check.annotations);
        assert_eq!(check.conclusion.as_deref(), Some("failure"), "{branch}: {said}");
        assert!(said.contains("unreadable-file"), "{branch}: {said}");
        assert!(said.contains(&format!("{PEU01}/{shown}")), "{branch}: {said}");
    }
    town.done();
}

/// A field alone does not tell that it is a secret: the name beside it does.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_value_of_a_variable_that_is_called_a_secret_is_not_shown() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    let file = |password: &str, plain: &str| {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: tool, namespace: my-org}}\nspec:\n  containers:\n  - name: tool\n    image: tool:1\n    env:\n    - name: DB_PASSWORD\n      value: {password}\n    - name: LEVEL\n      value: {plain}\n"
        );
        Edit::write(format!("{PEU01}/base/tool.yaml"), text)
    };
    town.push("main", &[file("hunter2", "quiet")]);
    let number = town.open("ada", "mine", &[file("hunter3", "loud")]);
    town.settle().await;
    let check = town.check(number);
    let said = format!("{} {:?}", check.summary, check.annotations);
    assert!(said.contains("`/spec/containers/0/env/0/value`"), "{said}");
    assert!(!said.contains("hunter"), "{said}");
    assert!(said.contains("loud"), "what is no secret is shown: {said}");
    town.done();
}
