//! Conversations: a head is pushed, the live cluster is asked, the check says what it says.

use std::time::Duration;

use capstan_agent_client::AgentClient;
use capstan_forge::{CheckView, Edit, NewPull, Permission};
use capstan_live::agent::{
    ClusterAnswer, PreflightAnswer, PreflightQuestion, PreflightVerdict, WireReason, Words,
};
use capstan_model::finding::Severity;

use super::raw::Raw;
use super::{EU, SETTINGS, cluster, commit, each_engine, enrolled, path};
use crate::running::sample;
use crate::running::town::{REPOSITORY, Town};

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
    let reason = message.map(|message| WireReason {
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
        assert!(
            check.summary.contains("`mc-eu` is being asked whether its live cluster accepts `gauss/peu01`")
        );

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
        assert!(check.summary.contains("`mc-eu` would accept `gauss/peu01` as it is here."));
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

        // A person who re-runs the check repeats the question.
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
        let check = town.check(number);
        assert_eq!(says(&check), done(conclusion), "whoever cannot tell has not said yes: {}", check.title);
        assert!(check.summary.contains("the kind is not installed"), "{}", check.summary);
        let required = check.summary.contains("`preflight.mode` requires it to accept. Remove the reason");
        assert_eq!(required, mode == "required", "{}", check.summary);
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
    assert!(check.summary.contains("Its head is in another repository."), "{}", check.summary);
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
        .report(super::report("gauss/peu01", &tip, capstan_live::agent::RolloutState::Done, 2))
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

    // The answer of another agent is refused.
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
    assert!(others.body.contains("No reconciler reports on this cluster"));
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
    assert!(check.summary.contains("No reconciler of `mc-eu` is enrolled. Run `capstan agents invite --management-cluster 6f1c2d3e-0000-4000-8000-000000000001`"), "{}", check.summary);

    // A reconciler gets the question as soon as it enrols.
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

/// The content of a file in the commit that the question is about.
async fn file_of(agent: &AgentClient, question: &PreflightQuestion, file: &str) -> String {
    let tree = agent.at(&question.commit).await.unwrap();
    let entry = tree.entry(&path(file)).unwrap();
    String::from_utf8_lossy(&tree.read(entry).unwrap()).into_owned()
}

/// Moves a branch to a new commit on top of that one.
fn put_on(town: &Town, branch: &str, parent: &str, edits: &[Edit]) {
    let commit = town.forge.commit_on(REPOSITORY, parent, "ada", "Mine", edits).unwrap();
    town.forge.push(REPOSITORY, branch, &commit, "ada").unwrap();
}

/// A live cluster at Kubernetes v1.22.5 whose pools need as many machines as their least.
async fn live_says(agent: &AgentClient, question: &PreflightQuestion) -> PreflightAnswer {
    let pool = file_of(agent, question, "gauss/peu01/base/machinepool.yaml").await;
    let number = |field: &str| -> u32 {
        let (_, rest) = pool.split_once(field).unwrap();
        rest.split_whitespace().next().unwrap().parse().unwrap()
    };
    if pool.contains("version: v1.21.4") {
        answer(PreflightVerdict::Rejected, Some("spec.version: below live v1.22.5"))
    } else if number("replicas:") < number("minSize:") {
        answer(PreflightVerdict::Rejected, Some("spec.replicas: must be at least minSize"))
    } else {
        answer(PreflightVerdict::Accepted, None)
    }
}

fn pool(kubernetes: &str, replicas: u32, least: u32) -> Edit {
    let Edit::Write { path, content } = sample::machine_pool("gauss/peu01", kubernetes, replicas) else {
        panic!("a file")
    };
    let text = String::from_utf8(content).unwrap().replace("minSize: 1", &format!("minSize: {least}"));
    Edit::write(path, text)
}

fn network(range: &str) -> Edit {
    Edit::write(
        "gauss/peu01/base/cluster.yaml",
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: peu01\n  namespace: my-org\nspec:\n  clusterNetwork:\n    pods:\n      cidrBlocks: [{range}]\n"
        ),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_is_behind_is_tried_as_the_merge_would_be_where_alone_it_would_be_refused() {
    each_engine(&["gauss/peu01", "gauss/peu02", "other/z"], async |town, _| {
        let state = tempfile::tempdir().unwrap();
        let agent = enrolled(&town, EU, state.path()).await;
        let start = town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();
        // What the default branch says is applied by now: v1.22.5.
        town.push("main", &[pool("v1.22.5", 2, 1)]);
        town.settle().await;
        put_on(&town, "network", &start, &[network("10.8.0.0/16")]);
        let new = NewPull {
            title: "Another network".to_owned(),
            head: "network".to_owned(),
            base: "main".to_owned(),
            ..NewPull::default()
        };
        let number = town.forge.open_pull(REPOSITORY, "ada", new).unwrap();
        town.settle().await;
        let question = asked(&agent).await;
        let head = town.pull(number).head;
        assert_eq!((question.head.as_str() == head, question.commit.as_str() == head), (true, false));
        let merge = file_of(&agent, &question, "gauss/peu01/base/cluster.yaml").await;
        assert!(merge.contains("10.8.0.0/16"), "{merge}");
        assert!(agent.at(&question.head).await.is_err(), "the bare head is nobody's business");
        agent.answer(&question.id, &live_says(&agent, &question).await).await.unwrap();
        town.settle().await;
        assert_eq!(says(&town.check(number)), done("success"), "{}", town.check(number).summary);

        // Each push to the default branch gives another test merge, with the same cluster in it.
        let runs = |town: &Town| town.check(number).id;
        let run = runs(&town);
        town.push("main", &[Edit::write("README.md", "Hello.\n")]);
        town.push("main", &[sample::machine_pool("gauss/peu02", "v1.21.4", 7)]);
        town.settle().await;
        assert!(agent.work(None, Duration::ZERO).await.unwrap().preflights.is_empty());
        assert_eq!((says(&town.check(number)), runs(&town)), (done("success"), run));

        // Where nothing moved, GitHub is not asked for anything about the pull request.
        let asks =
            |town: &Town| town.forge.count_requests(|call| call.path.ends_with(&format!("/pulls/{number}")));
        let before = asks(&town);
        town.resync().await;
        assert_eq!(asks(&town), before);

        // Another content of the same cluster is another question, to which the old answer says nothing.
        town.push("main", &[pool("v1.22.5", 3, 1)]);
        town.settle().await;
        let check = town.check(number);
        assert_eq!(says(&check), ("in_progress".to_owned(), String::new()), "{}", check.title);
        let again = asked(&agent).await;
        assert_eq!((again.head == question.head, again.commit == question.commit), (true, false));
        assert!(agent.answer(&question.id, &answer(PreflightVerdict::Accepted, None)).await.is_err());
        agent.answer(&again.id, &live_says(&agent, &again).await).await.unwrap();
        town.settle().await;
        assert_eq!(says(&town.check(number)), done("success"));
        town.done();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_a_head_alone_does_not_stand_for_a_merge_that_would_be_refused() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    town.push("main", &[pool("v1.22.5", 3, 1)]);
    town.settle().await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let number = town.open("ada", "fewer", &[pool("v1.22.5", 1, 1)]);
    town.settle().await;
    let question = asked(&agent).await;
    assert_eq!(question.commit, question.head, "it stands on the tip");
    agent.answer(&question.id, &live_says(&agent, &question).await).await.unwrap();
    town.settle().await;
    assert_eq!(says(&town.check(number)), done("success"));

    // The least rises on the default branch: head and tip are right each, and wrong together.
    town.push("main", &[pool("v1.22.5", 3, 2)]);
    town.settle().await;
    let question = asked(&agent).await;
    agent.answer(&question.id, &live_says(&agent, &question).await).await.unwrap();
    town.settle().await;
    let check = town.check(number);
    assert_eq!(says(&check), done("failure"), "{}", check.summary);
    assert!(check.summary.contains("must be at least minSize"), "{}", check.summary);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_render_reads_besides_the_folder_belongs_to_the_question() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let shared = |minutes: u32| {
        Edit::write(
            "shared/health.yaml",
            format!(
                "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineHealthCheck\nmetadata: {{name: mhc, namespace: my-org}}\nspec: {{clusterName: peu01, nodeStartupTimeout: {minutes}m}}\n"
            ),
        )
    };
    town.push(
        "main",
        &[
            Edit::write("gauss/peu01/overlay/kustomization.yaml", "resources: [../../../shared]\n"),
            Edit::write("shared/kustomization.yaml", "resources: [health.yaml]\n"),
            shared(10),
        ],
    );
    town.settle().await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let number = town.open("ada", "network", &[network("10.8.0.0/16")]);
    town.settle().await;
    agent.answer(&asked(&agent).await.id, &answer(PreflightVerdict::Accepted, None)).await.unwrap();
    town.settle().await;
    assert_eq!(says(&town.check(number)), done("success"));
    town.push("main", &[shared(20)]);
    town.settle().await;
    let question = asked(&agent).await;
    assert!(file_of(&agent, &question, "shared/health.yaml").await.contains("20m"));
    agent.answer(&question.id, &answer(PreflightVerdict::Accepted, None)).await.unwrap();
    town.settle().await;

    // A pull request that changes nothing but what clusters share is asked about like any other.
    let number = town.open("ada", "patience", &[shared(30)]);
    town.settle().await;
    assert_eq!(says(&town.check(number)).0, "in_progress", "{:?}", town.check(number));
    let question = asked(&agent).await;
    assert_eq!(question.clusters, [cluster("gauss/peu01")]);
    assert!(file_of(&agent, &question, "shared/health.yaml").await.contains("30m"));
    let refused = "nodeStartupTimeout is too long";
    agent.answer(&question.id, &answer(PreflightVerdict::Rejected, Some(refused))).await.unwrap();
    town.settle().await;
    let check = town.check(number);
    assert_eq!(says(&check), done("failure"));
    assert!(
        check.summary.contains(refused) || format!("{:?}", check.annotations).contains(refused),
        "{check:?}"
    );
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_conflict_nobody_is_asked_until_it_is_resolved() {
    for (mode, conclusion) in [("advisory", "neutral"), ("required", "action_required")] {
        let settings = format!("{SETTINGS}preflight: {{mode: {mode}}}\n");
        let town = Town::new(&settings, &["gauss/peu01"]).await;
        let state = tempfile::tempdir().unwrap();
        let agent = enrolled(&town, EU, state.path()).await;
        let number = town.open("ada", "more", &bigger(5));
        town.settle().await;
        let question = asked(&agent).await;
        town.push("main", &bigger(4));
        town.settle().await;
        let check = town.check(number);
        assert_eq!(says(&check), done(conclusion), "{}", check.title);
        assert!(
            check
                .summary
                .contains("The pull request conflicts with `main`, so Capstan cannot try the merge."),
            "{}",
            check.summary
        );
        // What is answered late to what was asked before is about something else.
        agent.answer(&question.id, &answer(PreflightVerdict::Accepted, None)).await.unwrap();
        town.settle().await;
        assert_eq!(says(&town.check(number)), done(conclusion));

        let merge = town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();
        put_on(&town, "more", &merge, &bigger(5));
        town.settle().await;
        let question = asked(&agent).await;
        agent.answer(&question.id, &answer(PreflightVerdict::Accepted, None)).await.unwrap();
        town.settle().await;
        assert_eq!(says(&town.check(number)), done("success"));
        town.done();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_that_go_and_pull_requests_to_other_branches_are_nothing_that_is_applied() {
    let settings = format!("{SETTINGS}preflight: {{mode: required}}\n");
    let town = Town::new(&settings, &["gauss/peu01", "gauss/peu02"]).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let gone = ["capstan.yaml", "base/cluster.yaml", "base/machinepool.yaml"]
        .map(|file| Edit::remove(format!("gauss/peu02/{file}")));
    let removal = town.open("ada", "gone", &gone);
    town.settle().await;
    assert!(!town.check(removal).summary.contains("Preflight"), "{}", town.check(removal).summary);
    assert!(agent.work(None, Duration::ZERO).await.unwrap().preflights.is_empty());

    town.push("staging", &[Edit::write("README.md", "Hello.\n")]);
    town.forge.commit(REPOSITORY, "more", "ada", "More", &bigger(5)).unwrap();
    let new = NewPull {
        title: "To staging".to_owned(),
        head: "more".to_owned(),
        base: "staging".to_owned(),
        ..NewPull::default()
    };
    let staged = town.forge.open_pull(REPOSITORY, "ada", new).unwrap();
    town.settle().await;
    // No question is asked, and nothing passes that could reach the default branch with the same head.
    assert_eq!(says(&town.check(staged)), done("action_required"), "{}", town.check(staged).summary);
    assert!(agent.work(None, Duration::ZERO).await.unwrap().preflights.is_empty());

    // The same head towards the default branch is asked about.
    let new = NewPull {
        title: "To main".to_owned(),
        head: "more".to_owned(),
        base: "main".to_owned(),
        ..NewPull::default()
    };
    let number = town.forge.open_pull(REPOSITORY, "ada", new).unwrap();
    town.settle().await;
    assert_eq!(town.check(number).status, "in_progress");
    assert_eq!(asked(&agent).await.clusters, [cluster("gauss/peu01")]);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_machines_is_asked_again_when_they_have_moved_on_and_what_is_wrong_is_not() {
    for (kind, again) in [("SkipsMinor", true), ("Schema", false)] {
        let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
        let state = tempfile::tempdir().unwrap();
        let agent = enrolled(&town, EU, state.path()).await;
        let tip = agent.fetch().await.unwrap().commit;
        let say = async |told| {
            agent.report(super::report("gauss/peu01", &tip, told, 2)).await.unwrap();
            super::delivered(&agent).await;
            town.settle().await;
        };
        say(capstan_live::agent::RolloutState::Rolling).await;
        let number = town.open("ada", "more", &bigger(5));
        town.settle().await;
        let mut no = answer(PreflightVerdict::Rejected, Some("would skip Kubernetes minors"));
        no.clusters[0].reasons[0].kind = kind.to_owned();
        agent.answer(&asked(&agent).await.id, &no).await.unwrap();
        town.settle().await;
        assert_eq!(says(&town.check(number)), done("failure"), "{kind}");

        say(capstan_live::agent::RolloutState::Done).await;
        let open = agent.work(None, Duration::ZERO).await.unwrap().preflights;
        assert_eq!(open.len(), usize::from(again), "{kind}");
        if let [question] = open.as_slice() {
            agent.answer(&question.id, &answer(PreflightVerdict::Accepted, None)).await.unwrap();
            town.settle().await;
            assert_eq!(says(&town.check(number)), done("success"));
        }
        town.done();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permitted_command_asks_the_live_cluster_again() {
    let town = Town::new(SETTINGS, &["gauss/peu01", "euler/z", "other/z"]).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let all = ["gauss/peu01", "euler/z", "other/z"].map(|id| sample::machine_pool(id, "v1.21.4", 5));
    let number = town.open("ada", "more", &all);
    town.settle().await;
    let first = asked(&agent).await;
    agent.answer(&first.id, &answer(PreflightVerdict::Accepted, None)).await.unwrap();
    town.settle().await;
    assert_eq!(says(&town.check(number)), done("success"));

    town.pass(31);
    town.comment(number, "mallory", "/capstan preflight").await;
    assert_eq!(says(&town.check(number)), done("success"));
    assert!(agent.work(None, Duration::ZERO).await.unwrap().preflights.is_empty());

    town.comment(number, "ada", "/capstan preflight").await;
    assert_eq!(town.check(number).status, "in_progress");
    let second = asked(&agent).await;
    assert!(second.id != first.id && second.head == first.head, "{second:?}");
    let said = town.answers(number).pop().unwrap();
    for words in [
        "- `mc-eu` is being asked whether its live cluster accepts `gauss/peu01`.",
        "- `mc-us` was not asked: No reconciler of `mc-us` is enrolled. Run `capstan agents invite --management-cluster 6f1c2d3e-0000-4000-8000-000000000002`",
        "- `other/z`: applied by other tools",
        "The check `capstan` shows the answers.",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    agent.answer(&second.id, &answer(PreflightVerdict::Rejected, Some("no more quota"))).await.unwrap();
    town.settle().await;
    assert_eq!(says(&town.check(number)), done("failure"));

    // Reconcilers apply the default branch alone.
    town.push("develop", &[Edit::write("README.md", "hello\n")]);
    let new = NewPull {
        title: "Mine".to_owned(),
        head: "more".to_owned(),
        base: "develop".to_owned(),
        ..NewPull::default()
    };
    let elsewhere = town.forge.open_pull(REPOSITORY, "ada", new).unwrap();
    town.comment(elsewhere, "ada", "/capstan preflight").await;
    let said = town.answers(elsewhere).pop().unwrap();
    assert!(said.contains("reconcilers apply only `main`"), "{said}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_live_cluster_is_asked_about_what_a_merge_queue_tries() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let group = town.push("gh-readonly-queue/main/pr-7-aaaa", &bigger(5));
    let main = town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();
    let other = town.push(&format!("gh-readonly-queue/develop/pr-8-{main}"), &bigger(6));
    town.resync().await;
    let check = |commit: &str| {
        let checks = town.forge.checks(REPOSITORY, commit).unwrap();
        checks.into_iter().filter(|check| check.name == "capstan").max_by_key(|check| check.id).unwrap()
    };
    assert_eq!(check(&group).status, "in_progress");
    assert_eq!(check(&other).status, "completed", "nobody applies that branch");
    let question = asked(&agent).await;
    assert_eq!(question.commit.as_str(), group);
    let pool = file_of(&agent, &question, "gauss/peu01/base/machinepool.yaml").await;
    assert!(pool.contains("replicas: 5"), "{pool}");
    agent.answer(&question.id, &answer(PreflightVerdict::Rejected, Some("no more quota"))).await.unwrap();
    town.settle().await;
    assert_eq!(says(&check(&group)), done("failure"));

    // The question goes away with the branch of the merge group.
    let again = town.push("gh-readonly-queue/main/pr-9-cccc", &bigger(7));
    town.resync().await;
    assert_eq!(check(&again).status, "in_progress");
    town.forge.delete_branch(REPOSITORY, "gh-readonly-queue/main/pr-9-cccc", "ada").unwrap();
    town.pass(61);
    town.resync().await;
    let left = agent.work(None, Duration::ZERO).await.unwrap().preflights;
    assert!(left.is_empty(), "{left:?} {:?}", town.forge.branches(REPOSITORY));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claimed_cluster_waits_for_a_reconciler_that_enrols_unless_somebody_asks() {
    let town = Town::new(SETTINGS, &["gauss/peu01", "gauss/peu02", "other/z"]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let branches = || town.open_pulls().into_iter().map(|pull| pull.head_branch).collect::<Vec<_>>();
    assert_eq!(branches(), ["capstan/upgrade/other/z"], "who applies it is there");
    let (word, why) = town.standing("gauss/peu01").await;
    assert_eq!(word, "waiting");
    assert!(
        why.starts_with("No reconciler of `mc-eu` is enrolled. Run `capstan agents invite --management-cluster 6f1c2d3e-0000-4000-8000-000000000001` on the bot's machine to make a join code"),
        "{why}"
    );
    let issue = town.open_pulls()[0].number;
    town.comment(issue, "ada", "/capstan upgrade gauss/peu02 to aws/v22.0.0").await;
    assert_eq!(branches().len(), 2, "{:?}", town.answers(issue));

    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    town.resync().await;
    let why = town.standing("gauss/peu01").await.1;
    assert!(why.contains("has not reported on this cluster yet"), "{why}");
    let tip = agent.fetch().await.unwrap().commit;
    let report = super::report("gauss/peu01", &tip, capstan_live::agent::RolloutState::Done, 2);
    agent.report(report).await.unwrap();
    super::delivered(&agent).await;
    town.settle().await;
    assert!(branches().iter().any(|branch| branch.ends_with("gauss/peu01")), "{:?}", branches());
    town.done();
}
