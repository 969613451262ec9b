//! The fleet page, health, metrics, and the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use capstan_bot::worker::Heartbeats;
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::ProposalId;
use capstan_ports::{
    CampaignRecord, CampaignTarget, JobCause, JobRequest, Jobs, ProposalRecord, Records, RepositoryName,
};
use capstan_report::ProposalState;
use capstan_server as server;

use super::client::{Running, get};

fn request() -> JobRequest {
    let name = RepositoryName::parse("acme/gitops").unwrap();
    JobRequest { repository: 1, installation: 7, name, cause: JobCause::Start }
}

fn target(path: &str, state: &str, reason: &str) -> CampaignTarget {
    let target = Target::parse(path).unwrap();
    CampaignTarget {
        target,
        state: ProposalState::parse(state).unwrap(),
        reason: reason.to_owned(),
        at: None,
        offered: None,
        hold: None,
        facts: capstan_ports::FleetFacts::default(),
    }
}

fn campaign(kind: SourceKind, targets: Vec<CampaignTarget>) -> CampaignRecord {
    CampaignRecord { kind, source: "aws/v22.0.0@9d1f".to_owned(), limits: None, targets }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_fleet_says_what_to_do() {
    let server = Running::start().await;
    let page = server.get("/").await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("Install its GitHub App on one"), "{page:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fleet_page_links_proposals_and_escapes_what_others_wrote() {
    let server = Running::start().await;
    let database = &server.database;
    database.enqueue(&request()).await.unwrap();
    let proposal = ProposalRecord {
        repository: 1,
        proposal: ProposalId::of_release(Target::parse("gauss/peu01").unwrap()),
        pull_request: Some(12),
        source: "aws/v22.0.0@9d1f".to_owned(),
        plan: "plan".to_owned(),
        head: CommitId::parse(&"a".repeat(40)).unwrap(),
        opened_at: "2026-11-21T12:00:00Z".parse().unwrap(),
        ended_at: None,
    };
    database.save_proposal(&proposal).await.unwrap();
    let releases = [
        target("gauss/peu01", "proposed", "open"),
        target("gauss/<b>peu02", "waiting", "<script>alert(1)</script>"),
    ];
    let values = SourceKind::parse("values").unwrap();
    let campaigns = [
        campaign(SourceKind::RELEASE, releases.into()),
        campaign(values, vec![target("gauss/peu01", "waiting", "")]),
    ];
    database.save_campaigns(1, &campaigns).await.unwrap();
    let job = database.claim("worker", Duration::from_secs(30), 8).await.unwrap().unwrap();
    database.fail(&job, "the mirror <is> broken", None).await.unwrap();

    let page = server.get("/").await;
    assert_eq!(page.status, 200);
    for expected in [
        r#"<a href="https://github.com/acme/gitops">acme/gitops</a>"#,
        r#"<a href="https://github.com/acme/gitops/pull/12">#12</a>"#,
        r#"<span class="to">→ aws/v22.0.0</span>"#,
        r#"<a href="/clusters/acme/gitops/gauss/peu01">gauss/peu01</a>"#,
        r#"<a href="/clusters/acme/gitops/gauss/peu01">gauss/peu01</a><span class="quiet">values</span>"#,
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "the mirror &lt;is&gt; broken",
        "failed once, tried again at ",
    ] {
        assert!(page.body.contains(expected), "{expected} is missing in {}", page.body);
    }
    assert!(!page.body.contains("<script>alert") && !page.body.contains("<b>peu02"));
    assert!(
        page.head.contains("content-security-policy: default-src 'none'; style-src 'sha256-"),
        "{page:?}"
    );
    assert!(page.head.contains("x-content-type-options: nosniff"), "{page:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_follows_the_database_and_github() {
    let server = Running::start().await;
    server.get("/healthz").await.is(200, "alive\n");
    server
        .get("/readyz")
        .await
        .is(200, r#"{"ready":true,"database":"reachable","github":"reachable","workers":"working"}"#);
    server.database.close().await;
    server.get("/healthz").await.is(200, "alive\n");
    server
        .get("/readyz")
        .await
        .is(503, r#"{"ready":false,"database":"unreachable","github":"reachable","workers":"working"}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_report_a_worker_that_was_not_seen_for_long() {
    let (begun, passed) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let seconds = Arc::clone(&passed);
    let workers = Heartbeats::timed_by(move || begun + Duration::from_secs(seconds.load(Ordering::SeqCst)));
    let server = Running::with_workers(workers.clone()).await;
    let ready = |is_ready: bool, workers: &str| {
        format!(r#"{{"ready":{is_ready},"database":"reachable","github":"reachable","workers":"{workers}"}}"#)
    };
    workers.beat(0);
    workers.beat(1);
    for (at, status, alive, is_ready, word) in [
        (0, 200, "alive\n", true, "working"),
        (90, 200, "alive\n", true, "working"),
        (91, 503, "the workers are stuck\n", false, "stuck"),
    ] {
        passed.store(at, Ordering::SeqCst);
        for path in [server.internal, server.metrics, server.address] {
            get(path, "/healthz").await.is(status, alive);
        }
        server.get("/readyz").await.is(status, &ready(is_ready, word));
    }
    assert_eq!(workers.check(), Err("2 of the workers are stuck, the first of them for 91 s".to_owned()));
    // One of two is not enough.
    workers.beat(0);
    server.get("/healthz").await.is(503, "the workers are stuck\n");
    workers.beat(1);
    server.get("/healthz").await.is(200, "alive\n");
    server.get("/readyz").await.is(200, &ready(true, "working"));
}

#[tokio::test(flavor = "multi_thread")]
async fn github_is_asked_seldom_and_its_reasons_are_not_shown() {
    let asked = Arc::new(AtomicU32::new(0));
    let counter = asked.clone();
    let server = Running::with_github(move || {
        counter.fetch_add(1, Ordering::SeqCst);
        async { Err("token hunter2 was refused".to_owned()) }
    })
    .await;
    for _ in 0..3 {
        server
            .get("/readyz")
            .await
            .is(503, r#"{"ready":false,"database":"reachable","github":"unreachable","workers":"working"}"#);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_text_and_other_paths_are_nothing() {
    let server = Running::start().await;
    let metrics = server.get("/metrics").await;
    assert_eq!(metrics.status, 200);
    assert!(metrics.head.contains("content-type: text/plain; version=0.0.4"), "{metrics:?}");
    server.get("/setup").await.refuses(404, "There is nothing here");
    server.get("/github/webhook").await.refuses(404, "There is nothing here");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_public_listener_shows_nothing_to_those_who_did_not_log_in() {
    let server = Running::start().await;
    for path in ["/", "/readyz", "/metrics", "/setup"] {
        get(server.address, path).await.refuses(404, "There is nothing here");
    }
    get(server.address, "/healthz").await.is(200, "alive\n");
    assert_eq!(get(server.address, "/github/webhook").await.status, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_listener_of_monitoring_has_everything_but_the_fleet_page() {
    let server = Running::start().await;
    for path in ["/metrics", "/readyz", "/healthz"] {
        assert_eq!(get(server.metrics, path).await.status, 200, "{path}");
    }
    for path in ["/", "/github/webhook", "/agent/v1/work"] {
        get(server.metrics, path).await.refuses(404, "There is nothing here");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_is_reported_with_what_to_do() {
    let server = Running::start().await;
    let error = server::bind(server.address, "--listen").await.unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "cannot listen on {}: Address already in use (os error 98); another program (perhaps another capstan) already listens there; stop it, or choose another port with --listen",
            server.address
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures the page of a large fleet; `--ignored --nocapture` shows the figures"]
async fn the_page_of_ten_thousand_clusters_is_quick() {
    let server = Running::start().await;
    server.database.enqueue(&request()).await.unwrap();
    let clusters: Vec<_> = (0..10_000)
        .map(|number| {
            let why = format!("#{number} offers `aws/v22.0.0`.");
            target(&format!("gauss/peu{number:05}"), "proposed", &why)
        })
        .collect();
    server.database.save_campaigns(1, &[campaign(SourceKind::RELEASE, clusters)]).await.unwrap();
    for path in ["/", "/?page=100", "/?q=peu09999", "/?q=offers&state=proposed&page=50", "/?state=held"] {
        let begun = Instant::now();
        let page = server.get(path).await;
        println!("{path}: {:?}, {} bytes", begun.elapsed(), page.body.len());
        assert_eq!(page.status, 200);
    }
}
