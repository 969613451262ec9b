//! Calls that fail, deliveries that are lost: what they cost, and that nothing is lost or done twice.

use std::time::Duration;

use capstan_bot::intake::look_for_missed;
use capstan_forge::{Edit, Fault, Matching, Permission, Strike};
use capstan_github::{AppCredentials, GitHub, GitHubLimits};
use capstan_ports::MissedDeliveries as _;

use super::town::{REPOSITORY, Town};

const CLUSTERS: [&str; 12] = [
    "gauss/a01",
    "gauss/a02",
    "gauss/a03",
    "gauss/a04",
    "gauss/a05",
    "gauss/a06",
    "gauss/a07",
    "gauss/a08",
    "gauss/a09",
    "gauss/a10",
    "gauss/a11",
    "gauss/a12",
];

/// Calls to the API; git's own are the mirror's.
fn calls(town: &Town) -> usize {
    town.forge.count_requests(|exchange| !exchange.path.contains(".git/"))
}

/// The branch of each open proposal, with the number of its checks. A duplicate would be here twice.
fn standing(town: &Town) -> Vec<(String, usize)> {
    let pulls = town.open_pulls();
    let checks = |head: &str| {
        let mut checks = town.forge.checks(REPOSITORY, head).unwrap();
        checks.retain(|check| check.name == "capstan");
        checks.len()
    };
    let mut standing: Vec<_> =
        pulls.iter().map(|pull| (pull.head_branch.clone(), checks(&pull.head))).collect();
    standing.sort();
    standing
}

#[tokio::test(flavor = "multi_thread")]
async fn with_every_fifth_call_failing_one_pass_opens_twelve_proposals_with_checks() {
    let quiet = Town::new("mode: propose\n", &CLUSTERS).await;
    quiet.forge.clear_exchanges();
    let began = std::time::Instant::now();
    quiet.release("v22.0.0", "v1.22.5");
    quiet.settle().await;
    let (quiet_calls, quiet_took) = (calls(&quiet), began.elapsed());
    let expected = standing(&quiet);
    assert_eq!(expected.len(), 12);
    assert!(expected.iter().all(|(_, checks)| *checks == 1), "{expected:?}");
    what_a_proposal_costs(&quiet);
    quiet.done();

    let town = Town::new("mode: propose\n", &CLUSTERS).await;
    town.forge.clear_exchanges();
    let faults = [
        (Strike::Before, Fault::Status(502)),
        (Strike::After, Fault::Drop),
        (Strike::Before, Fault::Status(500)),
        (Strike::After, Fault::Status(504)),
        (Strike::Before, Fault::Drop),
    ];
    town.forge.fail_every(5, Matching::any().path("/repos/acme/gitops/"), &faults);
    let began = std::time::Instant::now();
    town.release("v22.0.0", "v1.22.5");
    // No job is put off and nobody waits: what fails is repeated where it is made.
    town.settle().await;
    let (troubled_calls, took) = (calls(&town), began.elapsed());
    town.forge.clear_faults();
    assert_eq!(standing(&town), expected);
    println!(
        "12 proposals with checks: quiet {quiet_calls} calls in {quiet_took:?}, every fifth failing {troubled_calls} in \
         {took:?}: {:.2} times the calls, {:.2} times the time",
        troubled_calls as f64 / quiet_calls as f64,
        took.as_secs_f64() / quiet_took.as_secs_f64(),
    );
    assert!(troubled_calls <= 2 * quiet_calls, "{troubled_calls} against {quiet_calls}");
    town.settle().await;
    town.resync().await;
    assert_eq!(standing(&town), expected);
    town.done();
}

/// Prints what the simulation of the budget takes from here.
fn what_a_proposal_costs(town: &Town) {
    let exchanges = town.forge.exchanges();
    let api = exchanges.iter().filter(|exchange| !exchange.path.contains(".git/"));
    let (mut reads, mut writes, mut content) = (0, 0, 0);
    for exchange in api {
        let creates = ["/pulls", "/check-runs", "/comments", "/issues", "/statuses/"];
        match exchange.method.as_str() {
            "GET" => reads += 1,
            "POST" if exchange.path.ends_with("/graphql") => reads += 1,
            "POST" if creates.iter().any(|end| exchange.path.ends_with(end)) => content += 1,
            _ => writes += 1,
        }
    }
    println!(
        "a proposal costs {:.1} reads, {:.1} writes and {:.1} requests that create content",
        f64::from(reads) / 12.0,
        f64::from(writes) / 12.0,
        f64::from(content) / 12.0
    );
    // As the simulation takes them: 3 writes (tree, commit, branch), 2 of content (pull request, check), and no more reads.
    // A run has its own, few for all twelve.
    assert!(f64::from(reads) / 12.0 <= 15.0, "{reads}");
    assert!((30..=48).contains(&writes), "{writes}");
    assert!((24..=28).contains(&content), "{content}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_for_one_proposal_leaves_the_others_going() {
    let town = Town::new("mode: propose\n", &["gauss/a01", "gauss/a02", "gauss/a03"]).await;
    // Never answered, however often it is asked.
    let one = Matching::any().method("POST").path("/git/refs").body("gauss/a02");
    town.forge.fail_next(1_000, one, Strike::Before, Fault::Status(502));
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let branches: Vec<String> = standing(&town).into_iter().map(|(branch, _)| branch).collect();
    assert_eq!(branches, ["capstan/upgrade/gauss/a01", "capstan/upgrade/gauss/a03"]);
    assert!(standing(&town).iter().all(|(_, checks)| *checks == 1));
    let (state, why) = town.standing("gauss/a02").await;
    assert_eq!(state, "failed", "{why}");
    town.forge.clear_faults();
    town.pass(60);
    town.resync().await;
    assert_eq!(standing(&town).len(), 3);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_cannot_be_written_and_comments_that_cannot_be_listed_cost_only_themselves() {
    let town = Town::new("mode: propose\n", &["gauss/a01", "gauss/a02"]).await;
    let comments = Matching::any().method("GET").path("/issues/comments");
    town.forge.fail_next(1_000, comments, Strike::Before, Fault::Status(502));
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    assert_eq!(standing(&town).len(), 2);
    assert!(standing(&town).iter().all(|(_, checks)| *checks == 1));
    town.forge.clear_faults();
    town.pass(60);
    town.settle().await;
    town.done();
}

/// What is read and written beside proposals: the dashboard, the status of the default branch, what merge queues try.
#[tokio::test(flavor = "multi_thread")]
async fn what_only_a_part_needs_costs_only_that_part() {
    let town =
        Town::new("mode: propose\ndashboard: {enabled: true}\n", &["gauss/a01", "gauss/a02", "gauss/a03"])
            .await;
    town.push("main", &[Edit::write("gauss/a03/base/broken.yaml", "a: [\n")]);
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let board = town.forge.issues(REPOSITORY).unwrap().remove(0).number;
    let dashboard = || {
        let issues = town.forge.issues(REPOSITORY).unwrap();
        issues.into_iter().find(|issue| issue.number == board).unwrap().body
    };
    let fail = |method: &str, path: &str| {
        let calls = Matching::any().method(method).path(path);
        town.forge.fail_next(1_000, calls, Strike::Before, Fault::Status(502));
    };
    let tree_status = |commit: &str| {
        let statuses = town.forge.statuses(REPOSITORY, commit).unwrap();
        statuses.iter().filter(|status| status.context == "capstan/tree").count()
    };
    let is_offered = |release: &str| {
        let pulls = town.open_pulls();
        pulls.len() == 2
            && pulls.iter().all(|pull| {
                pull.title.ends_with(release) && town.check_named("capstan", pull.number).is_some()
            })
    };

    // Read by none, written by none.
    let issue = format!("/issues/{board}");
    for (round, (method, path)) in (1..).zip([
        ("GET", issue.as_str()),
        ("PATCH", issue.as_str()),
        ("POST", "/statuses/"),
        ("GET", "/git/matching-refs/heads/gh-readonly-queue"),
    ]) {
        let release = format!("v22.{round}.0");
        fail(method, path);
        let calls = town.forge.count_requests(|exchange| exchange.faulted);
        town.release(&release, &format!("v1.22.{}", 5 + round));
        let tip = town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();
        town.settle().await;
        assert!(town.forge.count_requests(|exchange| exchange.faulted) > calls, "{method} {path}");
        assert!(is_offered(&release), "{method} {path}: proposals and their checks go on");
        let number = town.open_pulls()[0].number;
        let answers = town.answers(number).len();
        town.comment(number, "ada", "/capstan help").await;
        assert_eq!(town.answers(number).len(), answers + 1, "{method} {path}: commands are answered");
        town.forge.clear_faults();
        town.pass(3_600);
        town.settle().await;
        town.resync().await;
        assert!(dashboard().contains(&release), "{method} {path}: {}", dashboard());
        assert_eq!(tree_status(&tip), 1, "{method} {path}");
    }

    // What was decided there counts while it cannot be read.
    town.forge.create_user("olga").unwrap();
    town.forge.grant(REPOSITORY, "olga", Permission::Admin).unwrap();
    town.comment(town.open_pulls()[0].number, "olga", "/capstan pause the audit").await;
    assert!(dashboard().contains("the audit"), "{}", dashboard());
    fail("GET", &issue);
    town.release("v22.9.0", "v1.22.19");
    town.settle().await;
    assert!(is_offered("v22.4.0"), "it is paused");
    town.forge.clear_faults();
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn missed_deliveries_are_asked_for_again_once_each() {
    let mut town = Town::new("mode: propose\n", &["gauss/peu01"]).await;
    let app = town.forge.app();
    let credentials = AppCredentials::from_pem(app.id, &app.private_key.clone().into(), "test").unwrap();
    let github =
        GitHub::connect(&town.forge.url().parse().unwrap(), credentials, GitHubLimits::default()).unwrap();
    let clock = town.bot_clock();
    let look = async |town: &Town| {
        // What happened just now may still be on its way.
        let now = clock.now() + Duration::from_secs(60);
        let looked = look_for_missed(&github, town.database(), now).await.unwrap();
        assert!(town.forge.delivered(Duration::from_secs(20)).await);
        looked
    };
    assert_eq!(look(&town).await.asked, 0);

    town.go_away().await;
    town.release("v22.0.0", "v1.22.5");
    assert!(town.forge.delivered(Duration::from_secs(20)).await);
    let lost: Vec<String> = town
        .forge
        .deliveries()
        .into_iter()
        .filter(|one| one.status_code >= 500)
        .map(|one| one.guid)
        .collect();
    assert!(!lost.is_empty());
    town.come_back().await;
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 0, "nobody told it");

    let looked = look(&town).await;
    assert_eq!((looked.asked, looked.refused, looked.left), (lost.len(), 0, 0));
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 1);
    let again = |town: &Town| town.forge.deliveries().into_iter().filter(|one| one.redelivery).count();
    assert_eq!(again(&town), lost.len());
    for _ in 0..3 {
        assert_eq!(look(&town).await.asked, 0);
    }
    assert_eq!(again(&town), lost.len(), "once each");

    // One that is lost again is not asked for for ever: comparing finds what it said.
    town.go_away().await;
    town.release("v22.1.0", "v1.22.9");
    assert!(town.forge.delivered(Duration::from_secs(20)).await);
    assert!(look(&town).await.asked > 0);
    let asked = again(&town);
    look(&town).await;
    assert_eq!(again(&town), asked);
    town.come_back().await;
    town.resync().await;
    assert!(town.file("capstan/upgrade/gauss/peu01", "gauss/peu01/capstan.yaml").contains("v22.1.0"));

    // GitHub lists the deliveries of three days: the bot reports a longer gap.
    let last = town.database().last_look().await.unwrap().unwrap();
    town.forge.age_deliveries(4 * 24 * 3_600);
    town.pass(4 * 24 * 3_600);
    let looked = look(&town).await;
    assert_eq!((looked.beyond, looked.asked), (Some(last), 0));
    town.done();
}
