//! A campaign whose database is lost after every step of its way goes the same way as one that keeps it.

use capstan_forge::{MergeMethod, PullState};

use super::{WAVES, dashboard, open, pass, statuses, town};
use crate::running::town::{REPOSITORY, Town};

/// What happens to it, one after the other.
const STEPS: [Step; 15] = [
    Step::Release("v22.0.0", "v1.22.0"),
    Step::Merge("a/canary"),
    // The soak of two hours continues across the loss.
    Step::Pass(3_600),
    Step::Say("campaign stop the audit"),
    Step::Pass(3_700),
    Step::Say("campaign resume"),
    Step::Merge("a/gold1"),
    Step::Say("campaign skip a/gold2"),
    Step::Pass(60),
    // A newer release begins at the first wave again, with the clusters that the older one had finished.
    Step::Release("v22.1.0", "v1.22.1"),
    Step::Merge("a/canary"),
    Step::Pass(7_300),
    // One at a time of those with the label, and that one was open already.
    Step::Merge("a/gold2"),
    Step::Merge("a/gold1"),
    Step::Merge("a/rest"),
];

#[derive(Clone, Copy, Debug)]
enum Step {
    Release(&'static str, &'static str),
    Merge(&'static str),
    Pass(i64),
    Say(&'static str),
}

/// What people see after each step: pull requests with their releases, whether the campaign is stopped, the skipped
/// cluster, and the statuses of the releases' commits.
async fn live(loses: bool) -> Vec<String> {
    let mut town = town(WAVES).await;
    let (mut seen, mut releases) = (Vec::new(), Vec::new());
    for step in STEPS {
        match step {
            Step::Release(name, kubernetes) => {
                town.release(name, kubernetes);
                releases.push(town.forge.resolve(REPOSITORY, "main").unwrap().unwrap());
                town.settle().await;
            }
            Step::Merge(cluster) => {
                let branch = format!("capstan/upgrade/{cluster}");
                if let Some(pull) = town.open_pulls().into_iter().find(|pull| pull.head_branch == branch) {
                    town.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Merge).unwrap();
                    town.settle().await;
                } else {
                    seen.push(format!("nothing is open for {cluster}"));
                }
            }
            Step::Pass(seconds) => pass(&town, seconds).await,
            Step::Say(words) => {
                let (issue, _) = dashboard(&town);
                town.comment(issue, "olga", &format!("/capstan {words}")).await;
            }
        }
        if loses {
            town.restart_with_nothing().await;
        }
        seen.push(format!("{step:?}: {}", look(&town, &releases)));
    }
    seen
}

fn look(town: &Town, releases: &[String]) -> String {
    let titles: Vec<String> = town
        .pulls()
        .into_iter()
        .filter(|pull| pull.state != PullState::Closed)
        .map(|pull| format!("{:?} {}", pull.state, pull.title))
        .collect();
    let (_, body) = dashboard(town);
    let said = ["**stopped**", "`olga` stopped it (the audit)", "it goes on without `a/gold2`"];
    let said: Vec<&str> = said.into_iter().filter(|words| body.contains(words)).collect();
    let told: Vec<_> = releases.iter().map(|commit| statuses(town, commit)).collect();
    format!("open {:?}, {titles:?}, {said:?}, {told:?}", open(town))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_that_loses_its_database_after_every_step_goes_the_same_way() {
    let (kept, lost) = tokio::join!(live(false), live(true));
    for (kept, lost) in kept.iter().zip(&lost) {
        assert_eq!(kept, lost);
    }
    assert_eq!(kept.len(), lost.len());
    let all_merged = ["a/canary", "a/gold1", "a/gold2", "a/rest"]
        .iter()
        .all(|cluster| kept.last().unwrap().contains(&format!("Merged Upgrade {cluster} from")));
    assert!(all_merged && kept.last().unwrap().starts_with("Merge(\"a/rest\"): open [], "), "{kept:#?}");
    assert_eq!(kept.len(), STEPS.len(), "{kept:#?}");
}
