//! A conversation about a provider set: a release is pushed, a pull request comes, a check judges it, it is merged.

use capstan_forge::{Edit, MergeMethod};

use super::sample;
use super::town::{REPOSITORY, Town};

const BRANCH: &str = "capstan/providers/mc-eu/providers";
const FILE: &str = "mc-eu/providers/base/providers.yaml";
const SETTINGS: &str = "\
mode: propose
managementClusters:
- name: mc-eu
  uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab
  providers: {path: mc-eu/providers, by: others}
";

fn providers(core: &str) -> String {
    format!(
        "\
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata: {{name: cluster-api, namespace: capi-system}}
spec: {{version: {core}}}
"
    )
}

fn release(version: &str, core: &str) -> Edit {
    Edit::write(format!("mc/{version}/base/providers.yaml"), providers(core))
}

async fn town() -> Town {
    let mut files = sample::repository(SETTINGS, &["gauss/peu01"]);
    files.push(release("v1.0.0", "v1.12.8"));
    files.push(Edit::write(FILE.to_owned(), providers("v1.12.8").replace("}\n", "} # of mc-eu\n")));
    files.push(Edit::write("mc-eu/providers/capstan.yaml".to_owned(), "release: mc/v1.0.0\n"));
    Town::with(&files, None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_of_providers_is_offered_to_the_set_alone_and_merged() {
    let mut town = town().await;
    assert!(town.pulls().is_empty(), "nothing newer is there");
    town.push("main", &[release("v2.0.0", "v1.13.4")]);
    town.settle().await;

    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 1, "the cluster is offered nothing of it");
    let pull = &pulls[0];
    assert_eq!(pull.head_branch, BRANCH);
    assert_eq!(pull.title, "Upgrade mc-eu/providers from mc/v1.0.0 to mc/v2.0.0");
    let row = "| `CoreProvider capi-system/cluster-api` | `/spec/version` | `v1.12.8` | `v1.13.4` | the release changes it |";
    assert!(pull.body.contains(row), "{}", pull.body);
    assert!(pull.body.contains("<details><summary>cluster-api: v1.12.8 to v1.13.4"), "{}", pull.body);
    assert!(pull.body.contains("are not in the repository"), "{}", pull.body);
    let written = town.file(BRANCH, FILE);
    assert_eq!(written, town.file("main", FILE).replace("v1.12.8", "v1.13.4"), "nothing else changes");
    let check = town.check(pull.number);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{} {}", check.title, check.summary);
    assert!(check.summary.contains("mc-eu/providers"), "{}", check.summary);

    let before = town.forge.write_calls();
    town.restart_without_database().await;
    assert_eq!(town.forge.write_calls(), before, "it is found again by its branch and its record");

    town.comment(pull.number, "ada", "/capstan hold").await;
    assert!(town.pull(pull.number).draft && town.answers(pull.number).is_empty());
    town.comment(pull.number, "ada", "/capstan unhold").await;

    town.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    assert!(
        town.file("main", "mc-eu/providers/capstan.yaml").starts_with("release: mc/v2.0.0\nreleaseTree: ")
    );
    town.resync().await;
    assert_eq!(town.pulls().len(), 1, "nothing further");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_persons_change_of_a_set_is_judged() {
    let town = town().await;
    let overlay = Edit::write(
        "mc-eu/providers/overlay/patch.yaml".to_owned(),
        "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {name: cluster-api, namespace: capi-system}\n"
            .to_owned(),
    );
    let number = town.open("ada", "mine", &[overlay]);
    town.settle().await;
    let check = town.check(number);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{} {}", check.title, check.summary);
    assert!(check.summary.contains("overlay-changes-providers"), "{}", check.summary);
    town.done();
}

/// A set moves through the waves of a campaign as a cluster does.
#[tokio::test(flavor = "multi_thread")]
async fn sets_move_through_the_waves_of_a_campaign() {
    let settings = "\
mode: propose
dashboard: {title: Fleet}
managementClusters:
- name: mc-eu
  uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab
  providers: {path: mc-eu/providers, by: others}
- name: mc-us
  uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ac
  providers: {path: mc-us/providers, by: others}
campaigns:
- name: providers
  releases: [\"mc/*\"]
  waves:
  - {name: first, match: {clusters: [\"mc-us/*\"]}}
  - {name: rest, match: {clusters: [\"**\"]}}
";
    let mut files = sample::repository(settings, &["gauss/peu01"]);
    files.push(release("v1.0.0", "v1.12.8"));
    for set in ["mc-eu", "mc-us"] {
        files.push(Edit::write(format!("{set}/providers/base/providers.yaml"), providers("v1.12.8")));
        files.push(Edit::write(format!("{set}/providers/capstan.yaml"), "release: mc/v1.0.0\n"));
    }
    let town = Town::with(&files, None).await;
    town.push("main", &[release("v2.0.0", "v1.13.4")]);
    town.settle().await;
    let branches = || town.open_pulls().into_iter().map(|pull| pull.head_branch).collect::<Vec<_>>();
    assert_eq!(branches(), ["capstan/providers/mc-us/providers"]);
    let (_, why) = town.standing("providers://mc-eu/providers").await;
    let waits = "Wave `rest` of campaign `providers` waits for wave `first`: the pull request of `mc-us/providers` is not merged";
    assert!(why.contains(waits), "{why}");
    let pull = town.open_pulls().remove(0);
    town.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    assert_eq!(branches(), [BRANCH]);
    town.done();
}
