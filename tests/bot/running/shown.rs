//! A run writes what it finds out into the records that the pages show.

use capstan_forge::{Edit, MergeMethod};
use capstan_ports::{ClusterFilter, ListExtent, PageRecords as _, ShownTarget, VisibleRepositories};

use super::town::{REPOSITORY, Town};

const PEU01: &str = "gauss/peu01";
const PEU02: &str = "gauss/peu02";

async fn targets(town: &Town) -> Vec<ShownTarget> {
    let all = ListExtent { skip: 0, take: 10 };
    town.database().targets(&VisibleRepositories::Everything, &ClusterFilter::default(), all).await.unwrap()
}

fn hold(town: &Town, cluster: &str) {
    let edit = Edit::write(format!("{cluster}/overlay/capstan.yaml"), "hold: {reason: audit}\n");
    town.forge.commit(REPOSITORY, "main", "ada", "Not before the audit", &[edit]).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn states_releases_checks_and_limits_are_those_of_the_last_run() {
    let town = Town::new("upgrade: {proposals: {open: 7, perHour: 9}}\n", &[PEU01, PEU02]).await;
    hold(&town, PEU02);
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let [open, held] = targets(&town).await.try_into().unwrap();
    assert_eq!((open.target.as_str(), open.state.as_str(), open.pull_request), (PEU01, "proposed", Some(1)));
    assert_eq!((open.at.as_deref(), open.offered.as_deref()), (Some("aws/v21.0.0"), Some("aws/v22.0.0")));
    let (conclusion, title) = open.check.unwrap();
    assert_eq!((Some(conclusion), title), (town.check(1).conclusion, town.check(1).title));
    assert_eq!((held.target.as_str(), held.state.as_str()), (PEU02, "held"));
    assert_eq!(held.reason, "The overlay holds upgrades back: audit.");
    assert_eq!((open.hold, held.hold), (None, Some("The overlay holds upgrades back: audit.".to_owned())));
    assert_eq!((held.at.as_deref(), held.offered.as_deref()), (Some("aws/v21.0.0"), None));
    let page = town.page("/clusters/acme/gitops/gauss/peu01").await;
    let diff = "<span class=\"goes\">-v1.21.4\n</span><span class=\"comes\">+v1.22.5\n</span>";
    assert!(page.contains(diff), "{page}");
    // The same for a hold by command, with an open pull request and without one.
    town.comment(1, "ada", "/capstan hold the freeze until 2999-12-24").await;
    assert_eq!(
        targets(&town).await[0].hold.as_deref(),
        Some("On hold by `ada` until 2999-12-24: the freeze.")
    );
    town.comment(1, "ada", "/capstan unhold").await;
    assert_eq!(targets(&town).await[0].hold, None);
    let repositories = town.database().shown_repositories(&VisibleRepositories::Everything).await.unwrap();
    assert_eq!(repositories[0].limits, Some((7, 9)));
    assert_eq!((repositories[0].open, repositories[0].opened_last_hour), (1, 1));

    town.forge.merge_pull(REPOSITORY, 1, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    let merged = targets(&town).await.swap_remove(0);
    assert_eq!((merged.state.as_str(), merged.at.as_deref()), ("current", Some("aws/v22.0.0")));

    // A proposal that a hold closes is held at once, and stays so.
    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    assert_eq!(targets(&town).await[0].state, "proposed");
    hold(&town, PEU01);
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 0);
    assert_eq!(targets(&town).await[0].state, "held");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_cannot_be_planned_is_shown_on_the_pages_and_in_the_dashboard_while_it_lasts() {
    let town = Town::new("mode: propose\ndashboard: {enabled: true}\n", &[PEU01, PEU02]).await;
    town.push("main", &[Edit::write("gauss/peu01/base/broken.yaml", "a: [\n")]);
    town.settle().await;
    let row = "data-label=\"State\"><div class=\"said\"><span class=\"badge mood-bad\">unplannable</span>";
    let fleet = town.page("/?state=unplannable").await;
    assert!(fleet.contains(row), "{fleet}");
    assert!(fleet.contains("href=\"/clusters/acme/gitops/gauss/peu01\""), "{fleet}");
    assert!(!fleet.contains("href=\"/clusters/acme/gitops/gauss/peu02\""), "{fleet}");
    assert!(fleet.contains("gauss/peu01/base/broken.yaml:"), "where: {fleet}");
    let cluster = town.page("/clusters/acme/gitops/gauss/peu01").await;
    assert!(
        cluster.contains("Capstan cannot read something in it, so it cannot plan its upgrade."),
        "{cluster}"
    );
    assert!(cluster.contains("gauss/peu01/base/broken.yaml:"), "{cluster}");
    assert!(!cluster.contains('`'), "no raw Markdown: {cluster}");
    let issue = town.forge.issues(REPOSITORY).unwrap().pop().unwrap();
    assert!(issue.body.contains("\n### Needs somebody (1)\n"), "{}", issue.body);
    assert!(issue.body.contains("- `gauss/peu01`, unplannable: "), "{}", issue.body);

    town.push("main", &[Edit::remove("gauss/peu01/base/broken.yaml")]);
    town.settle().await;
    assert!(!town.page("/").await.contains(row));
    assert_eq!(town.standing(PEU01).await.0, "current");
    let issue = town.forge.issues(REPOSITORY).unwrap().pop().unwrap();
    assert!(!issue.body.contains("unplannable"), "{}", issue.body);
    town.done();
}
