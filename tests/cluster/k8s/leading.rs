//! One leader at a time, by a Lease.

use capstan_test_support::PATIENCE;
use std::sync::Arc;
use std::time::Duration;

use capstan_controllers::OperatorLeases;
use capstan_k8s::{KubeLease, KubeLeases, Timing};
use capstan_ports::Leadership as _;
use capstan_test_parts::plane::Plane;
use capstan_test_parts::plane::audit::Request;
use jiff::Timestamp;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{connection, shared};

const TIMING: Timing = Timing {
    duration: Duration::from_secs(4),
    renew: Duration::from_secs(3),
    retry: Duration::from_millis(200),
};

async fn lease(name: &str, identity: &str) -> Option<KubeLease> {
    let connection = connection(shared()?).await;
    Some(KubeLease::new(&connection, "default", name, identity).with_timing(TIMING))
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let holding = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, holding).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// How many times a Lease was read so far.
fn looks(plane: &Plane, name: &str) -> usize {
    let is_look = |request: &Request| request.verb == "get" && request.name == name;
    plane.audit().iter().filter(|request| request.resource == "leases" && is_look(request)).count()
}

#[tokio::test]
async fn a_second_one_waits_while_the_first_renews_its_lease() {
    let Some(first) = lease("renewing", "one").await else { return };
    let second = lease("renewing", "two").await.unwrap();
    let never = CancellationToken::new();
    let term = first.lead(&never).await.unwrap();
    let waiting = tokio::spawn({
        let never = never.clone();
        async move { second.lead(&never).await }
    });
    // It is held for longer than it holds by itself.
    let times = ["acquireTime", "renewTime"].map(|field| format!("-o=jsonpath={{.spec.{field}}}"));
    until("it is renewed", || {
        let [acquired, renewed] = times.each_ref().map(|path| {
            let time = shared().unwrap().kubectl(&["get", "lease", "renewing", "-n", "default", path]);
            time.parse::<Timestamp>().unwrap()
        });
        renewed.duration_since(acquired).unsigned_abs() > TIMING.duration + TIMING.retry
    })
    .await;
    assert!(!waiting.is_finished() && !term.lost().is_cancelled());
    term.resign().await;
    timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap().resign().await;
}

#[tokio::test]
async fn one_that_resigns_is_followed_before_its_lease_runs_out() {
    let Some(first) = lease("resigning", "one").await else { return };
    let second = lease("resigning", "two").await.unwrap();
    let never = CancellationToken::new();
    // Of an hour, so that nothing but the resignation lets another one lead.
    let hour = Timing { duration: Duration::from_secs(3600), ..TIMING };
    let term = first.with_timing(hour).lead(&never).await.unwrap();
    let waiting = tokio::spawn({
        let never = never.clone();
        async move { second.lead(&never).await }
    });
    until("the second one looks", || looks(shared().unwrap(), "resigning") > 2).await;
    assert!(!waiting.is_finished());
    term.resign().await;
    timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap().resign().await;
}

#[tokio::test]
async fn a_leader_that_died_is_followed_when_its_lease_runs_out() {
    let Some(first) = lease("dying", "one").await else { return };
    let second = lease("dying", "two").await.unwrap();
    let never = CancellationToken::new();
    // A process of its own that ends without a word.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let connection_lives_there = lease("dying", "one");
    let dead = runtime
        .spawn({
            let never = never.clone();
            async move { connection_lives_there.await.unwrap().lead(&never).await.is_some() }
        })
        .await
        .unwrap();
    assert!(dead);
    runtime.shutdown_background();
    drop(first);

    let term = timeout(PATIENCE, second.lead(&never)).await.unwrap().unwrap();
    assert!(!term.lost().is_cancelled());
    term.resign().await;
}

#[tokio::test]
async fn a_leader_whose_lease_was_taken_stops_leading() {
    let Some(first) = lease("stolen", "one").await else { return };
    let term = first.lead(&CancellationToken::new()).await.unwrap();
    let theft = r#"{"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 3600}}"#;
    shared().unwrap().kubectl(&["patch", "lease", "stolen", "-n", "default", "--type=merge", "-p", theft]);
    timeout(PATIENCE, term.lost().cancelled()).await.unwrap();
}

#[tokio::test]
async fn a_leader_that_was_overtaken_finds_out_before_it_writes() {
    let Some(first) = lease("fenced", "one").await else { return };
    // It renews so seldom that nothing but the fence tells it, as if it had been stopped.
    let timing = Timing { retry: Duration::from_secs(3600), ..Timing::default() };
    let term = first.with_timing(timing).lead(&CancellationToken::new()).await.unwrap();
    term.fence().check("applying").await.unwrap();
    let over = r#"{"spec": {"holderIdentity": "one", "leaseTransitions": 7}}"#;
    shared().unwrap().kubectl(&["patch", "lease", "fenced", "-n", "default", "--type=merge", "-p", over]);
    assert!(!term.lost().is_cancelled());
    let error = term.fence().check("applying").await.unwrap_err();
    assert_eq!(error.to_string(), "applying: this reconciler no longer leads, and writes nothing");
    assert!(term.lost().is_cancelled());
    term.fence().check("applying").await.unwrap_err();
}

#[tokio::test]
async fn a_recreated_lease_ends_every_term() {
    let Some(first) = lease("anew", "one").await else { return };
    let term = first.lead(&CancellationToken::new()).await.unwrap();
    let over = r#"{"spec": {"leaseTransitions": 7}}"#;
    shared().unwrap().kubectl(&["patch", "lease", "anew", "-n", "default", "--type=merge", "-p", over]);
    timeout(PATIENCE, term.lost().cancelled()).await.unwrap();
}

#[tokio::test]
async fn a_lease_of_the_dead_is_taken_at_once() {
    let Some(first) = lease("inherited", "one").await else { return };
    let term = first.lead(&CancellationToken::new()).await.unwrap();
    let hour = Timing { duration: Duration::from_secs(3600), ..Timing::default() };
    drop(term);
    let theft = r#"{"spec": {"holderIdentity": "dead", "leaseDurationSeconds": 3600}}"#;
    shared().unwrap().kubectl(&["patch", "lease", "inherited", "-n", "default", "--type=merge", "-p", theft]);
    let heir = lease("inherited", "heir").await.unwrap().with_timing(hour).after(vec!["dead".to_owned()]);
    let term = timeout(PATIENCE, heir.lead(&CancellationToken::new())).await.unwrap().unwrap();
    term.fence().check("applying").await.unwrap();
    term.resign().await;
}

#[tokio::test]
async fn a_candidate_that_has_to_stop_does_not_wait_any_longer() {
    let Some(first) = lease("stopping", "one").await else { return };
    let second = lease("stopping", "two").await.unwrap();
    let term = first.lead(&CancellationToken::new()).await.unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    assert!(second.lead(&stop).await.is_none());
    term.resign().await;
}

#[tokio::test]
async fn an_operators_lease_is_held_and_an_operator_that_starts_later_waits() {
    let Some(plane) = shared() else { return };
    plane.apply("{apiVersion: v1, kind: Namespace, metadata: {name: leased}}");
    let posts = KubeLeases::new(&connection(plane).await, "of-an-operator", "capstan-providers_test");
    let mut leases = OperatorLeases::new(Arc::new(posts));
    let namespaces = ["leased".to_owned(), "nowhere".to_owned()];
    assert_eq!(leases.hold(&namespaces).await, ["nowhere"], "there is no such namespace");
    let holder = ["get", "lease", "of-an-operator", "-n", "leased", "-o", "jsonpath={.spec.holderIdentity}"];
    assert_eq!(plane.kubectl(&holder), "capstan-providers_test");
    assert_eq!(leases.hold(&namespaces[..1]).await, [""; 0]);

    let operator = KubeLease::new(&connection(plane).await, "leased", "of-an-operator", "operator");
    let never = CancellationToken::new();
    let leading = tokio::spawn(async move { operator.lead(&never).await });
    let looks_on = async || {
        let before = looks(plane, "of-an-operator");
        until("the operator looks", || looks(plane, "of-an-operator") >= before + 2).await;
    };
    looks_on().await;
    assert!(!leading.is_finished(), "it stands by");
    // Given up, not given away: it runs out.
    leases.give_up().await;
    assert_eq!(plane.kubectl(&holder), "capstan-providers_test");
    looks_on().await;
    assert!(!leading.is_finished());
    timeout(PATIENCE, leading).await.unwrap().unwrap().unwrap().resign().await;
}
