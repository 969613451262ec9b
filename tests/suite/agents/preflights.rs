//! Conversations: a head is pushed, the live cluster is asked, the check says what it says.

use std::time::Duration;

use capstan::agent_client::AgentClient;
use capstan::forge::{CheckView, Edit, NewPull, Permission};
use capstan_domain::agent::{
    ClusterAnswer, PreflightAnswer, PreflightQuestion, PreflightVerdict, Reason, Words,
};
use capstan_domain::finding::Severity;

use super::raw::Raw;
use super::{EU, SETTINGS, cluster, commit, each_engine, enrolled, path};
use crate::bot::sample;
use crate::bot::town::{REPOSITORY, Town};

fn bigger(replicas: u32) -> Vec<Edit> {
    vec![sample::machine_pool("gauss/peu01", "v1.21.4", replicas)]
}

/// The one question that is open.
async fn asked(agent: &AgentClient) -> PreflightQuestion {
    let work = agent.work(None, Duration::ZERO).await.unwrap();
    assert_eq!(work.preflights.len(), 1, "{work:?}");
    work.preflights[0].clone()
}

fn answer(verdict: PreflightVerdict, message: Option<&str>) -> PreflightAnswer {
    let reason = message.map(|message| Reason {
        severity: Severity::Error,
        kind: "Invalid".to_owned(),
        message: Words::new(message),
        object: None,
        field: Some("/spec/replicas".to_owned()),
        file: Some(path("gauss/peu01/base/machinepool.yaml")),
        line: Some(8),
        column: Some(13),
    });
    let one = ClusterAnswer {
        cluster: cluster("gauss/peu01"),
        verdict,
        reasons: reason.into_iter().collect(),
        names: vec![],
    };
    PreflightAnswer { clusters: vec![one], duration_ms: 12 }
}

fn says(check: &CheckView) -> (String, String) {
    (check.status.clone(), check.conclusion.clone().unwrap_or_default())
}

fn done(conclusion: &str) -> (String, String) {
    ("completed".to_owned(), conclusion.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_live_cluster_rejects_fails_the_check_at_file_and_line() {
    each_engine(&["gauss/peu01"], async |town, _| {
        let state = tempfile::tempdir().unwrap();
        let agent = enrolled(&town, EU, state.path()).await;
        let number = town.open("ada", "more", &bigger(5));
        town.settle().await;
        let check = town.check(number);
        assert_eq!(says(&check), ("in_progress".to_owned(), String::new()), "{}", check.title);
        assert!(check.summary.contains("`mc-eu` is asked what its live cluster would say to `gauss/peu01`"));

        let question = asked(&agent).await;
        assert_eq!(question.head.as_str(), town.pull(number).head);
        assert_eq!(question.clusters, [cluster("gauss/peu01")]);
        assert!((55..=60).contains(&question.timeout_seconds), "{question:?}");
        let tree = agent.at(&question.head).await.unwrap();
        let file = tree.entry(&path("gauss/peu01/base/machinepool.yaml")).unwrap();
        assert!(String::from_utf8_lossy(&tree.read(file).unwrap()).contains("replicas: 5"));

        let says_no = answer(PreflightVerdict::Rejected, Some("spec.replicas: must not exceed @quota"));
        agent.answer(&question.id, &says_no).await.unwrap();
        town.settle().await;
        let check = town.check(number);
        assert_eq!(says(&check), done("failure"));
        assert!(check.title.starts_with("The live cluster would refuse it, 1 error"), "{}", check.title);
        let annotation = &check.annotations[0];
        assert_eq!(annotation["path"], "gauss/peu01/base/machinepool.yaml");
        assert_eq!(
            (annotation["start_line"].as_u64(), annotation["start_column"].as_u64()),
            (Some(8), Some(13))
        );
        assert_eq!(
            annotation["message"],
            "The live cluster on `mc-eu` would refuse this: spec.replicas: must not exceed @quota"
        );
        assert!(!check.summary.contains("@quota"), "nobody is mentioned: {}", check.summary);

        // A second answer changes nothing.
        agent.answer(&question.id, &answer(PreflightVerdict::Accepted, None)).await.unwrap();
        town.settle().await;
        assert_eq!(says(&town.check(number)), done("failure"));

        // A new head is a new question.
        town.push("more", &bigger(3));
        town.settle().await;
        let question = asked(&agent).await;
        assert_eq!(question.head.as_str(), town.pull(number).head);
        agent.answer(&question.id, &answer(PreflightVerdict::Accepted, None)).await.unwrap();
        town.settle().await;
        let check = town.check(number);
        assert_eq!(says(&check), done("success"), "{}", check.title);
        assert!(check.summary.contains("`mc-eu` would take `gauss/peu01` as it is here."));
        let before = town.forge.write_calls();
        town.resync().await;
        assert_eq!(town.forge.write_calls(), before, "nothing moved, no call");
        town.done();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_neutral_or_asks_for_a_person_as_the_settings_say() {
    for (mode, conclusion) in [("advisory", "neutral"), ("required", "action_required")] {
        let settings = format!("{SETTINGS}preflight: {{mode: {mode}, timeout_seconds: 20}}\n");
        let town = Town::new(&settings, &["gauss/peu01"]).await;
        let state = tempfile::tempdir().unwrap();
        let agent = enrolled(&town, EU, state.path()).await;
        let number = town.open("ada", "more", &bigger(5));
        town.settle().await;
        assert_eq!(town.check(number).status, "in_progress");
        let question = asked(&agent).await;
        town.pass(60);
        town.settle().await;
        let check = town.check(number);
        assert_eq!(says(&check), done(conclusion), "{mode}: {}", check.title);
        assert!(check.summary.contains("did not answer in time"), "{}", check.summary);

        // Late is better than never.
        agent.answer(&question.id, &answer(PreflightVerdict::Accepted, None)).await.unwrap();
        town.settle().await;
        assert_eq!(says(&town.check(number)), done("success"));

        // Whoever wants it asked again re-runs the check.
        town.forge.rerequest_check(REPOSITORY, town.check(number).id, "ada").unwrap();
        town.settle().await;
        assert_eq!(town.check(number).status, "in_progress");
        let again = asked(&agent).await;
        assert_ne!(again.id, question.id);
        agent
            .answer(&again.id, &answer(PreflightVerdict::NotVerifiable, Some("the kind is not installed")))
            .await
            .unwrap();
        town.settle().await;
        assert_eq!(says(&town.check(number)), done("neutral"));
        town.done();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_ever_and_a_late_answer_still_counts() {
    each_engine(&["gauss/peu01"], async |mut town, url| {
        let state = tempfile::tempdir().unwrap();
        let agent = enrolled(&town, EU, state.path()).await;
        let (first, second) = (town.open("ada", "more", &bigger(5)), town.open("ada", "most", &bigger(9)));
        town.settle().await;
        // The bot is away for longer than an answer is waited for.
        town.pass(61);
        town.restart(Some(&url)).await;
        town.settle().await;
        assert_eq!(says(&town.check(first)), done("neutral"));
        town.forge.close(REPOSITORY, second, "ada").unwrap();
        town.settle().await;

        let open = agent.work(None, Duration::ZERO).await.unwrap().preflights;
        let [question] = open.as_slice() else { panic!("the first alone is still a question: {open:?}") };
        assert_eq!(question.timeout_seconds, 0);
        agent.answer(&question.id, &answer(PreflightVerdict::Accepted, None)).await.unwrap();
        town.settle().await;
        assert_eq!(says(&town.check(first)), done("success"));
        town.done();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_heads_of_the_repository_that_a_writer_pushed_are_asked_about() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;

    let fork = town.forge.fork(REPOSITORY, "mallory").unwrap();
    town.forge.commit(&fork, "more", "mallory", "More", &bigger(9)).unwrap();
    let new = NewPull {
        title: "From a fork".to_owned(),
        head: "mallory:more".to_owned(),
        base: "main".to_owned(),
        ..NewPull::default()
    };
    let forked = town.forge.open_pull(REPOSITORY, "mallory", new).unwrap();
    town.settle().await;
    let check = town.check(forked);
    assert_eq!(says(&check), done("neutral"), "{}", check.title);
    assert!(check.summary.contains("Its head stands in another repository."), "{}", check.summary);
    assert!(agent.work(None, Duration::ZERO).await.unwrap().preflights.is_empty());
    assert!(agent.at(&commit(&town.pull(forked).head)).await.is_err(), "and nobody reads it");

    town.forge.create_user("eve").unwrap();
    town.forge.grant(REPOSITORY, "eve", Permission::Write).unwrap();
    town.forge.commit(REPOSITORY, "eves", "eve", "Mine", &bigger(8)).unwrap();
    town.forge.grant(REPOSITORY, "eve", Permission::Read).unwrap();
    let new = NewPull {
        title: "Eve's".to_owned(),
        head: "eves".to_owned(),
        base: "main".to_owned(),
        ..NewPull::default()
    };
    let eves = town.forge.open_pull(REPOSITORY, "ada", new).unwrap();
    town.settle().await;
    let check = town.check(eves);
    assert_eq!(says(&check), done("neutral"), "{}", check.title);
    assert!(
        check.summary.contains("`eve`, who pushed its head, has no write permission."),
        "{}",
        check.summary
    );
    assert!(agent.work(None, Duration::ZERO).await.unwrap().preflights.is_empty());
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn capstans_own_proposals_are_asked_about_too_and_others_clusters_are_not() {
    let town = Town::new(SETTINGS, &["gauss/peu01", "other/z"]).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let tip = agent.fetch().await.unwrap().commit;
    agent
        .report(super::report("gauss/peu01", &tip, capstan_domain::agent::RolloutState::Done, 2))
        .await
        .unwrap();
    super::delivered(&agent).await;
    town.settle().await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    // The release's own commit is not reported on yet, but the folder is as it was.
    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 2, "{pulls:?}");
    let own = pulls.iter().find(|pull| pull.head_branch.ends_with("peu01")).unwrap();
    let others = pulls.iter().find(|pull| pull.head_branch.ends_with("/z")).unwrap();
    assert_eq!(town.check(own.number).status, "in_progress");
    assert_eq!(says(&town.check(others.number)), done("success"));
    let question = asked(&agent).await;
    assert_eq!(question.clusters, [cluster("gauss/peu01")]);

    // Somebody else's answer is not taken.
    let stranger = Raw::enrolled(&town).await;
    let body = serde_json::to_string(&answer(PreflightVerdict::Accepted, None)).unwrap();
    let token = stranger.token();
    stranger
        .post("preflights/01ARZ3NDEKTSV4RRFFQ69G5FAV", Some(&token), body)
        .await
        .refuses(404, "There is nothing here for this agent");
    assert!(
        own.body.contains("The reconciler on `mc-eu` follows the machines after the merge"),
        "{}",
        own.body
    );
    assert!(others.body.contains("No reconciler reports on this cluster here"));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_reconciler_enrolled_nobody_is_missed_unless_an_answer_is_required() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let number = town.open("ada", "more", &bigger(5));
    town.settle().await;
    assert_eq!(says(&town.check(number)), done("success"));
    assert!(!town.check(number).summary.contains("Preflight"));

    let town = Town::new(&format!("{SETTINGS}preflight: {{mode: required}}\n"), &["gauss/peu01"]).await;
    let number = town.open("ada", "more", &bigger(5));
    town.settle().await;
    let check = town.check(number);
    assert_eq!(says(&check), done("action_required"), "{}", check.title);
    assert!(check.summary.contains("No reconciler of it is enrolled."), "{}", check.summary);

    // Whoever enrols is asked at once.
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    town.settle().await;
    assert_eq!(town.check(number).status, "in_progress");
    assert_eq!(asked(&agent).await.clusters, [cluster("gauss/peu01")]);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_survives_the_bot_and_a_lost_answer_is_asked_for_again() {
    each_engine(&["gauss/peu01"], async |mut town, url| {
        let state = tempfile::tempdir().unwrap();
        let agent = enrolled(&town, EU, state.path()).await;
        let number = town.open("ada", "more", &bigger(5));
        town.settle().await;
        let question = asked(&agent).await;
        let tip = agent.work(Some(&commit(&"0".repeat(40))), Duration::ZERO).await.unwrap();
        assert!(tip.preflights.is_empty(), "given out once, for a while");
        // A reconciler that has only begun has forgotten it.
        assert_eq!(asked(&agent).await.id, question.id);
        town.restart(Some(&url)).await;
        town.pass(21);
        let later = agent.work(tip.commit.as_ref(), Duration::from_secs(10)).await.unwrap();
        assert_eq!(later.preflights[0].id, question.id);
        agent.answer(&question.id, &answer(PreflightVerdict::Accepted, None)).await.unwrap();
        town.settle().await;
        assert_eq!(says(&town.check(number)), done("success"));
        town.done();
    })
    .await;
}
