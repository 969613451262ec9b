//! Releases that are not in the repository as it is now: in another repository, or in its past.

use capstan_forge::{Edit, MergeMethod, Permission, Selection};

use super::sample;
use super::town::{REPOSITORY, Town};

const PEU01: &str = "gauss/peu01";
const BRANCH: &str = "capstan/upgrade/gauss/peu01";
const RELEASES: &str = "acme/releases";
const NAMED: &str = "releases: {repository: acme/releases}\n";
const CONSENT: &str = "consumers: [acme/gitops]\n";

fn push_release(town: &Town, repository: &str, edits: &[Edit]) -> String {
    town.forge.commit(repository, "main", "ada", "A release", edits).unwrap()
}

/// A repository with releases v21.0.0 and v22.0.0 under these settings.
fn add_releases(town: &Town, repository: &str, settings: &str) -> String {
    town.forge.create_repository(repository).unwrap();
    town.forge.grant(repository, "ada", Permission::Write).unwrap();
    let edits = [
        Edit::write(".capstan.yaml", settings),
        sample::release("v21.0.0", "v1.21.4"),
        sample::release("v22.0.0", "v1.22.5"),
    ];
    push_release(town, repository, &edits)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_to_the_releases_offers_them_to_the_permitted_repositories() {
    let town = Town::new(NAMED, &[PEU01]).await;
    assert!(town.pulls().is_empty());
    let tip = add_releases(&town, RELEASES, CONSENT);
    town.settle().await;

    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 1);
    assert_eq!(pulls[0].title, "Upgrade gauss/peu01 from aws/v21.0.0 to aws/v22.0.0");
    let origin = format!("> The release comes from `acme/releases` at `{tip}`.");
    assert!(pulls[0].body.contains(&origin), "{}", pulls[0].body);
    assert!(!pulls[0].body.contains("not known"), "{}", pulls[0].body);
    let commit = &town.forge.commits(REPOSITORY, BRANCH).unwrap()[0];
    assert!(
        commit.message.contains(&format!("\nCapstan-Releases: acme/releases@{tip}\n")),
        "{}",
        commit.message
    );
    assert!(town.file(BRANCH, "gauss/peu01/base/machinepool.yaml").contains("v1.22.5"));

    // The other repository moves and its releases do not: nothing is written here.
    let before = town.forge.write_calls();
    push_release(&town, RELEASES, &[Edit::write("README.md", "hello\n")]);
    town.settle().await;
    assert_eq!(town.forge.write_calls(), before);

    // A newer release updates the proposal without any push to this repository.
    push_release(&town, RELEASES, &[sample::release("v22.1.0", "v1.22.9")]);
    town.settle().await;
    assert_eq!(town.open_pulls()[0].title, "Upgrade gauss/peu01 from aws/v21.0.0 to aws/v22.1.0");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_consent_nothing_is_offered_and_the_fleet_page_says_why() {
    let town = Town::new(NAMED, &[PEU01]).await;
    let refused = "The cluster cannot be planned: .capstan.yaml: the releases are in acme/releases, which Capstan cannot read, or whose \
                   .capstan.yaml does not list acme/gitops under `consumers` on its default branch";
    // A repository that may not use it does not learn whether it exists.
    assert_eq!(town.standing(PEU01).await, ("unplannable".to_owned(), refused.to_owned()));
    add_releases(&town, RELEASES, "consumers: [acme/others]\n");
    town.settle().await;
    town.resync().await;
    assert_eq!(town.standing(PEU01).await, ("unplannable".to_owned(), refused.to_owned()));
    assert!(town.pulls().is_empty());

    // A branch that would consent is not the default branch.
    town.forge.commit(RELEASES, "consent", "ada", "Soon", &[Edit::write(".capstan.yaml", CONSENT)]).unwrap();
    town.settle().await;
    town.resync().await;
    assert!(town.pulls().is_empty());

    push_release(&town, RELEASES, &[Edit::write(".capstan.yaml", CONSENT)]);
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 1);

    // Consent that is taken back stops what follows.
    push_release(
        &town,
        RELEASES,
        &[Edit::write(".capstan.yaml", "consumers: []\n"), sample::release("v23.0.0", "v1.23.1")],
    );
    town.settle().await;
    town.resync().await;
    assert!(town.open_pulls().iter().all(|pull| pull.title.ends_with("to aws/v22.0.0")));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_owners_releases_are_read_through_their_installation() {
    let town = Town::new("releases: {repository: vendor/releases}\n", &[PEU01]).await;
    town.forge.create_organization("vendor").unwrap();
    add_releases(&town, "vendor/releases", CONSENT);
    town.forge.install("vendor", Selection::All).unwrap();
    town.settle().await;
    town.resync().await;
    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 1);
    assert!(pulls[0].body.contains("comes from `vendor/releases` at"), "{}", pulls[0].body);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_repositories_that_use_each_others_releases_come_to_rest() {
    let town =
        Town::new("releases: {repository: acme/releases}\nconsumers: [acme/releases]\n", &[PEU01]).await;
    add_releases(&town, RELEASES, "releases: {repository: acme/gitops}\nconsumers: [acme/gitops]\n");
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 1);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_tree_that_only_history_has_is_read_by_its_id() {
    let mut town = Town::new("mode: propose\n", &[PEU01]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let number = town.open_pulls()[0].number;
    town.forge.merge_pull(REPOSITORY, number, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    let record = town.file("main", "gauss/peu01/capstan.yaml");
    let tree = record.lines().find_map(|line| line.strip_prefix("releaseTree: ")).unwrap().to_owned();

    // The cluster's own edit, and a release that takes the place of the one it comes from.
    town.stop_bot();
    town.push(
        "main",
        &[
            Edit::remove("aws/v22.0.0/base/machinepool.yaml"),
            sample::release("v23.0.0", "v1.23.1"),
            sample::machine_pool(PEU01, "v1.22.5", 7),
        ],
    );
    town.forge.clear_exchanges();
    town.restart_with_nothing().await;
    let read = format!("/repos/{REPOSITORY}/git/trees/{tree}");
    assert!(town.forge.count_requests(|exchange| exchange.path == read) >= 1, "the mirror lacks it");
    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 1);
    assert_eq!(pulls[0].title, "Upgrade gauss/peu01 from aws/v22.0.0 to aws/v23.0.0");
    assert!(!pulls[0].draft, "the old release is known");
    assert!(!pulls[0].body.contains("inferred") && !pulls[0].body.contains("not known"), "{}", pulls[0].body);
    let pool = town.file(BRANCH, "gauss/peu01/base/machinepool.yaml");
    assert!(pool.contains("replicas: 7") && pool.contains("version: v1.23.1"), "{pool}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_old_release_read_elsewhere_is_read_by_its_id() {
    let part = |kubernetes: &str| {
        let text = format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachinePool\nmetadata:\n  name: ${{CLUSTER_NAME}}-mp-0\nspec:\n  template:\n    spec:\n      version: {kubernetes}\n"
        );
        Edit::write("aws/parts/pool.yaml", text)
    };
    let naming = |name: &str| {
        Edit::write(format!("aws/{name}/base/kustomization.yaml"), "resources:\n- ../../parts/pool.yaml\n")
    };
    let mut town = Town::new("mode: propose\n", &[PEU01]).await;
    town.push("main", &[part("v1.22.5"), naming("v22.0.0")]);
    town.settle().await;
    let number = town.open_pulls()[0].number;
    town.forge.merge_pull(REPOSITORY, number, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    let record = town.file("main", "gauss/peu01/capstan.yaml");
    let read =
        record.lines().find_map(|line| line.strip_prefix("  ../parts/pool.yaml: ")).unwrap().to_owned();

    // One commit makes the new release by editing the part that the old one reads too.
    town.stop_bot();
    town.push("main", &[part("v1.23.1"), naming("v23.0.0"), sample::machine_pool(PEU01, "v1.22.5", 7)]);
    town.forge.clear_exchanges();
    town.restart_with_nothing().await;
    let blob = format!("/repos/{REPOSITORY}/git/blobs/{read}");
    assert!(town.forge.count_requests(|exchange| exchange.path == blob) >= 1, "the mirror lacks it");
    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 1);
    assert_eq!(pulls[0].title, "Upgrade gauss/peu01 from aws/v22.0.0 to aws/v23.0.0");
    let pool = town.file(BRANCH, "gauss/peu01/base/machinepool.yaml");
    assert!(pool.contains("replicas: 7") && pool.contains("version: v1.23.1"), "{pool}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_names_no_object_of_this_repository_stops_nobody() {
    let town = Town::new("mode: propose\n", &[PEU01, "gauss/peu02"]).await;
    // GitHub calls ids of another length unprocessable.
    let record = format!(
        "release: aws/v21.0.0\nreleaseTree: {}\nreleaseReads:\n  ../parts/pool.yaml: {}\n",
        "a".repeat(64),
        "b".repeat(64)
    );
    town.push("main", &[Edit::write("gauss/peu01/capstan.yaml", record)]);
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let titles: Vec<String> = town.open_pulls().into_iter().map(|pull| pull.title).collect();
    assert!(
        titles.contains(&"Upgrade gauss/peu02 from aws/v21.0.0 to aws/v22.0.0".to_owned()),
        "one record stops no other cluster: {titles:?}"
    );
    town.done();
}
