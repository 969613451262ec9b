//! `rollback`: back to the release before, with versions as they are, and no further than what is known.

use capstan_forge::{Edit, MergeMethod};

use super::sample;
use super::town::{REPOSITORY, Town};

const PEU01: &str = "gauss/peu01";
const POOL: &str = "gauss/peu01/base/machinepool.yaml";

/// A release of a Kubernetes version that also sets the pool's failure domains and a minimum.
fn release(name: &str, kubernetes: &str, zone: &str) -> Edit {
    Edit::write(
        format!("aws/{name}/base/machinepool.yaml"),
        format!(
            "kind: MachinePool\nspec:\n  failureDomains: [{zone}]\n  template:\n    spec:\n      version: {kubernetes}\n"
        ),
    )
}

/// A cluster that was upgraded from v21 to v22 by #1, and edited by its customer since.
async fn upgraded() -> Town {
    let mut files = sample::repository("mode: propose\n", &[PEU01]);
    files.push(release("v21.0.0", "v1.21.4", "eu-1a"));
    let pool = "  clusterName: peu01\n  replicas: 2";
    let Some(Edit::Write { content, .. }) =
        files.iter().rev().find(|edit| matches!(edit, Edit::Write { path, .. } if path == POOL))
    else {
        panic!("the sample has a pool");
    };
    let text = String::from_utf8(content.clone()).unwrap();
    files.push(Edit::write(POOL, text.replace(pool, &format!("  failureDomains: [eu-1a]\n{pool}"))));
    let town = Town::with(&files, None).await;
    town.push("main", &[release("v22.0.0", "v1.22.5", "eu-1b")]);
    town.settle().await;
    town.forge.merge_pull(REPOSITORY, 1, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    let merged = town.file("main", POOL);
    assert!(merged.contains("v1.22.5") && merged.contains("eu-1b"), "{merged}");
    town.push("main", &[Edit::write(POOL, merged.replace("replicas: 2", "replicas: 5"))]);
    town.settle().await;
    town
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_go_back_versions_stay_and_the_release_that_is_left_is_skipped() {
    let mut town = upgraded().await;
    town.comment(1, "ada", "/capstan rollback").await;
    let open = town.open_pulls();
    assert_eq!(open.len(), 1);
    let pull = &open[0];
    assert_eq!(pull.title, "Roll gauss/peu01 back from aws/v22.0.0 to aws/v21.0.0");
    let answer = town.answers(1).pop().unwrap();
    assert!(answer.contains(&format!("See #{}.", pull.number)), "{answer}");
    for text in [&answer, &pull.body] {
        assert!(text.contains("Versions and images do not change"), "{text}");
        assert!(text.contains("/spec/template/spec/version"), "{text}");
    }
    let kept = "The new release has other values here. The cluster keeps those of the old release.";
    assert!(pull.body.contains(kept), "{}", pull.body);
    assert!(pull.body.contains("- Close this pull request to keep `aws/v22.0.0`.\n"), "{}", pull.body);
    let branch = "capstan/upgrade/gauss/peu01";
    let pool = town.file(branch, POOL);
    assert!(pool.contains("eu-1a") && pool.contains("v1.22.5") && pool.contains("replicas: 5"), "{pool}");
    assert!(town.file(branch, "gauss/peu01/capstan.yaml").contains("release: aws/v21.0.0"));

    // It is kept as what it is without any memory of it.
    let head = pull.head.clone();
    town.restart_with_nothing().await;
    assert_eq!((town.open_pulls().len(), town.open_pulls()[0].head.clone()), (1, head));

    town.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    town.restart_with_nothing().await;
    assert!(
        town.open_pulls().is_empty(),
        "{:?}",
        town.open_pulls().iter().map(|pull| &pull.title).collect::<Vec<_>>()
    );
    let (state, why) = town.standing(PEU01).await;
    assert_eq!(state, "reverted");
    assert!(why.contains("rolled back from it"), "{why}");
    // A newer one is offered, and moves versions again.
    town.push("main", &[release("v22.1.0", "v1.22.9", "eu-1c")]);
    town.settle().await;
    assert_eq!(town.open_pulls()[0].title, "Upgrade gauss/peu01 from aws/v21.0.0 to aws/v22.1.0");
    let pool = town.file(branch, POOL);
    assert!(pool.contains("v1.22.9") && pool.contains("eu-1c") && pool.contains("replicas: 5"), "{pool}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_offered_past_what_is_known() {
    let town = upgraded().await;
    let issue = town.forge.open_issue(REPOSITORY, "ada", "Back", "Please.").unwrap();
    for (at, comment, expected) in [
        (issue, "/capstan rollback", "name the cluster"),
        (issue, "/capstan rollback gauss/peu09", "no upgrade of gauss/peu09 was ever proposed"),
        (issue, "/capstan rollback gauss/peu01 now", "takes a cluster by its path"),
    ] {
        town.comment(at, "ada", comment).await;
        let answer = town.answers(at).pop().unwrap().replace(['\\', '\u{200b}'], "").to_lowercase();
        assert!(answer.contains(expected), "{comment}\n{answer}");
    }
    town.push("main", &[release("v23.0.0", "v1.23.1", "eu-1c")]);
    town.settle().await;
    let open = town.open_pulls()[0].number;
    town.comment(issue, "ada", "/capstan rollback gauss/peu01").await;
    let answer = town.answers(issue).pop().unwrap();
    assert!(answer.contains("is not merged") && answer.contains("rollback"), "{answer}");
    town.forge.merge_pull(REPOSITORY, open, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    town.comment(1, "ada", "/capstan rollback").await;
    let answer = town.answers(1).pop().unwrap();
    assert!(answer.contains("the cluster is now at") && answer.contains("aws/v23.0.0"), "{answer}");
    assert!(town.open_pulls().is_empty());
    town.done();
}
