//! Commands about whole clusters: a row is what is known of the branch and its pull requests, and what is done.

use capstan_facts::{EarlierPullRequest, PullRequestState, RefusedWrite};
use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;
use capstan_plan::proposal::{Authorship, BranchStep, PlanDigest};
use capstan_plan::retirement::RetiredCluster;
use capstan_plan::settings::Mode;
use capstan_report::{AskedFor, Refusal};
use jiff::SignedDuration;

use super::clusters::*;
use crate::effects::Published;
use crate::proposals::DecisionStep;
use crate::requests::{ClusterChange, Request};
use crate::testing::{Case, comment, commit, now, source, town};

const BRANCH: &str = "capstan/destroy/gauss/peu01";

fn retired() -> ClusterChange {
    let path = RepoPath::parse("gauss/peu01/capstan.yaml").unwrap();
    let file = FileChange { path, before: None, after: Some("delete: cluster\n".to_owned()) };
    ClusterChange::Destroy(RetiredCluster {
        cluster: ClusterId::new(RepoPath::parse("gauss/peu01").unwrap()),
        claimed_by: "prod".to_owned(),
        file,
        objects: Vec::new(),
        machines: Vec::new(),
    })
}

fn asked() -> AskedFor<'static> {
    AskedFor { by: "ada", number: 3, key: "comment-5", reason: None }
}

/// The newest pull request of the branch, at the head `b`.
fn newest(number: u64, state: PullRequestState, body: &str) -> EarlierPullRequest {
    EarlierPullRequest {
        number,
        state,
        body: body.to_owned(),
        head_branch: BRANCH.to_owned(),
        head: commit('b'),
        base: commit('0'),
    }
}

/// A question, the answer, or what becomes of the branch.
fn step(case: &Case, known: &ClusterPullAnswers) -> String {
    let (facts, change) = (case.facts(), retired());
    let of = ClusterPullFacts { facts: &facts, change: &change, origin: None, asked: asked(), now: now() };
    match cluster_pull(of, known).unwrap() {
        DecisionStep::Ask(ClusterPullNeed::Newest) => "? Newest".to_owned(),
        DecisionStep::Ask(ClusterPullNeed::Branch(write)) => format!("? Branch for {}", write.what()),
        DecisionStep::Decided(ClusterPullStep::Says(answer)) => {
            // Without what keeps Markdown from making links of it.
            let text = answer.text().replace('\u{200b}', "");
            text.split(" See `").next().unwrap_or_default().trim().to_owned()
        }
        DecisionStep::Decided(ClusterPullStep::Writes(_, None)) => "a person's".to_owned(),
        DecisionStep::Decided(ClusterPullStep::Writes(_, Some(desired))) => match desired.branch.step {
            BranchStep::Create => "creates".to_owned(),
            BranchStep::Keep => "keeps".to_owned(),
            BranchStep::Move { before } => format!("moves {}", &before.as_str()[..1]),
        },
    }
}

#[test]
fn a_pull_request_is_opened_once_for_a_comment_and_none_beside_an_open_one() {
    let own = retired().pull(None, asked()).body;
    let other = retired().pull(None, AskedFor { key: "comment-4", ..asked() }).body;
    let open_now = "#8 is open for `gauss/peu01`.";
    let already =
        "#8 is already open for `gauss/peu01`. Close it and delete its branch before you ask again.";
    use PullRequestState::{Closed, Merged, Open};
    for (newest, expected) in [
        (None, "? Newest"),
        (Some(None), "? Branch for pull request capstan/destroy/gauss/peu01"),
        // A run that died opened it, whatever became of it since.
        (Some(Some(newest(8, Open, &own))), open_now),
        (Some(Some(newest(8, Closed, &own))), open_now),
        (Some(Some(newest(8, Merged, &own))), open_now),
        (Some(Some(newest(8, Open, &other))), already),
        (Some(Some(newest(8, Closed, &other))), "? Branch for pull request capstan/destroy/gauss/peu01"),
    ] {
        let known = ClusterPullAnswers { newest, branch: None };
        assert_eq!(step(&town(), &known), expected, "{:?}", known.newest);
    }
}

#[test]
fn a_branch_is_written_over_where_capstan_alone_wrote_it() {
    let planned = PlanDigest::of(retired().files());
    let by_capstan =
        |plan: &PlanDigest| Authorship::Capstan { source: source("aws/v22.0.0"), plan: plan.clone() };
    let closed = || newest(8, PullRequestState::Closed, "");
    for (newest, branch, expected) in [
        (None, None, "creates"),
        (None, Some((commit('a'), by_capstan(&planned))), "keeps"),
        (None, Some((commit('a'), by_capstan(&PlanDigest::of(&[])))), "moves a"),
        (None, Some((commit('a'), Authorship::Person)), "a person's"),
        // It is the head of a pull request that was closed: that one is not to be had again.
        (Some(closed()), Some((commit('b'), by_capstan(&planned))), "moves b"),
        (Some(closed()), Some((commit('a'), by_capstan(&planned))), "keeps"),
    ] {
        let known = ClusterPullAnswers { newest: Some(newest), branch: Some(branch) };
        assert_eq!(step(&town(), &known), expected, "{known:?}");
    }
}

#[test]
fn what_github_refused_is_not_tried_before_its_time() {
    let facts = town().facts();
    let known = ClusterPullAnswers { newest: Some(None), branch: Some(None) };
    let change = retired();
    let of = ClusterPullFacts { facts: &facts, change: &change, origin: None, asked: asked(), now: now() };
    let Ok(DecisionStep::Decided(ClusterPullStep::Writes(write, _))) = cluster_pull(of, &known) else {
        panic!("it is written");
    };
    assert_eq!(write.what(), format!("pull request {BRANCH}"));
    let refused = facts.refusals.refused(&write, 7, "no", now() - SignedDuration::from_secs(1));
    let passed = RefusedWrite { not_before: now(), ..refused.clone() };
    let waits = RefusedWrite { not_before: "2026-03-02T13:00:00Z".parse().unwrap(), ..refused };
    for (refused, expected) in [
        (
            waits,
            "`gauss/peu01`: GitHub refused it, and Capstan does not retry before 2026-03-02 13:00 UTC: no.",
        ),
        (passed, "creates"),
    ] {
        assert_eq!(step(&Case { refused: vec![refused], ..town() }, &known), expected);
    }
}

#[test]
fn the_answer_says_what_became_of_the_pull_request() {
    let refused = Published::Refused("Resource not accessible by integration.".to_owned());
    for (published, expected) in [
        (Some(Published::Opened(8)), "#8 is open for `gauss/peu01`."),
        (
            Some(refused),
            "`gauss/peu01`: GitHub refused it: Resource not accessible by integration. Repeat the command once the cause is gone.",
        ),
        (
            None,
            "`gauss/peu01`: the branch `capstan/destroy/gauss/peu01` has commits by people: if nobody needs them, delete the branch and repeat the command.",
        ),
        (
            Some(Published::Overtaken),
            "`gauss/peu01`: its branch or pull request changed at the same time: check it and repeat the command.",
        ),
    ] {
        let answer = cluster_pull_said(&retired(), published.as_ref());
        assert_eq!(answer.text().split(" See `").next().unwrap().trim(), expected);
        assert_eq!(answer.is_refusal(), !matches!(published, Some(Published::Opened(_))));
    }
}

#[test]
fn as_many_clusters_are_made_as_one_run_can_render() {
    let requests = |count: u64| -> Vec<Request> {
        let one = |at| comment(at, "ada", None, &format!("/capstan create gauss/c{at} from aws/v22.0.0"));
        (0..count).map(one).chain([comment(99, "ada", None, "/capstan help")]).collect()
    };
    let observed = "the settings say `mode: observe`, so Capstan opens no pull request";
    let many = "there were too many requests at once: repeat the command";
    for (count, mode, made, refused, why) in [
        (0, Mode::Propose, 0, 0, ""),
        (10, Mode::Propose, 10, 0, ""),
        (12, Mode::Propose, 10, 2, many),
        (2, Mode::Observe, 0, 2, observed),
    ] {
        let wanted = wanted_clusters(&requests(count), mode);
        assert_eq!((wanted.made.len(), wanted.refused.len()), (made, refused));
        let reasons = wanted.refused.values().filter_map(|refused| refused.as_ref().err());
        assert!(reasons.into_iter().all(|reason| reason == why));
    }
}

#[test]
fn a_command_about_a_cluster_that_could_not_be_made_says_why() {
    let request = comment(5, "ada", None, "/capstan destroy gauss/peu01");
    let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
    let asked = super::ClusterPullAsked { cluster: &cluster, reason: None, page: Refusal::NotRetired };
    let place = (request.id(), 0);
    for (made, expected) in [
        (Some(Ok(retired())), Ok("comment-5")),
        (Some(Err("it is suspended".to_owned())), Err("`gauss/peu01`: it is suspended.")),
        (None, Err("")),
    ] {
        let clusters =
            crate::requests::AskedClusters::new(made.into_iter().map(|made| (place.clone(), made)).collect());
        let found = town().look(|planned| {
            let planned = crate::planned::PlannedRun { clusters: &clusters, ..planned };
            let found = change_asked(planned, (&request, 0), asked);
            found
                .map(|(_, key)| key)
                .map_err(|answer| answer.text().split(" See `").next().unwrap_or_default().trim().to_owned())
        });
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    }
}
