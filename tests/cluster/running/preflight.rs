//! Heads that are tried before the merge.

use capstan_model::finding::Severity;
use capstan_reconciler::reconcile::ports::{PreflightAnswer, PreflightVerdict};
use capstan_reconciler::reconcile::preflight::{is_for_good, preflight};

use super::adopting::with_machines;
use super::applying::plain;
use super::world::{World, id, question};

pub(super) async fn judge(world: &World, cluster: &str) -> PreflightAnswer {
    let head = world.revision().await;
    let records: Vec<_> = world.status_store.posted().clusters.values().cloned().collect();
    let fleet = world.fleet.lock().unwrap().clone();
    preflight(&world.ports(), &fleet, &head, &question(&head, &[id(cluster)]), &records).await.remove(0)
}

#[tokio::test]
async fn a_head_that_passes_is_accepted_and_nothing_is_written() {
    let world = World::new();
    plain(&world, "peu01");
    let answer = judge(&world, "gauss/peu01").await;
    assert_eq!((answer.verdict, answer.reasons.len()), (PreflightVerdict::Accepted, 0));
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    assert_eq!(world.status_store.posted().writes, 0);
}

#[tokio::test]
async fn a_head_that_the_webhook_refuses_is_rejected_with_file_and_line() {
    let world = World::new();
    plain(&world, "peu01");
    world.live.webhook(|_, object| {
        (object["kind"] == "ConfigMap")
            .then(|| (422, "ConfigMap is invalid: data.key: Forbidden: not today".to_owned()))
    });
    let answer = judge(&world, "gauss/peu01").await;
    assert_eq!(answer.verdict, PreflightVerdict::Rejected);
    let reason = &answer.reasons[0];
    assert_eq!(
        reason.line(),
        "gauss/peu01/base/maps.yaml:6: ConfigMap org/peu01-a: ConfigMap is invalid: data.key: Forbidden: not today"
    );
}

#[tokio::test]
async fn a_server_without_an_answer_has_refused_nothing() {
    for (status, says, kind, for_good) in [
        (
            500,
            "Internal error occurred: failed calling webhook \"validation.cluster\": failed to call webhook: Post \"https://capi\": connection refused",
            "WebhookUnreachable",
            true,
        ),
        (503, "the server is currently unable to handle the request", "ManagementClusterAway", false),
    ] {
        let world = World::new();
        plain(&world, "peu01");
        world.live.webhook(move |_, object| (object["kind"] == "Cluster").then(|| (status, says.to_owned())));
        let answer = judge(&world, "gauss/peu01").await;
        assert_eq!(answer.verdict, PreflightVerdict::NotVerifiable, "{:?}", answer.reasons);
        assert_eq!((answer.reasons[0].kind, answer.reasons[0].severity), (kind, Severity::Warning));
        assert_eq!(is_for_good(&[answer]), for_good, "{kind}");
        assert_eq!(world.live.take_writes(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_downgrade_is_rejected_before_the_merge() {
    let world = World::new();
    with_machines(&world, "v1.35.1", "one");
    world.reconcile("gauss/peu01").await;
    with_machines(&world, "v1.34.3", "one");
    let answer = judge(&world, "gauss/peu01").await;
    assert_eq!(answer.verdict, PreflightVerdict::Rejected);
    assert_eq!(answer.reasons[0].kind, "VersionBelowLive");
}

#[tokio::test]
async fn the_names_that_are_answered_are_those_that_will_be_applied() {
    let world = World::new();
    with_machines(&world, "v1.35.1", "one");
    let answer = judge(&world, "gauss/peu01").await;
    world.reconcile("gauss/peu01").await;
    let live = world.live.names("DevMachineTemplate");
    let said: Vec<String> = answer.names.templates().iter().map(|name| name.live.clone()).collect();
    assert_eq!(said, live);
}

#[tokio::test]
async fn an_object_that_two_folders_render_is_settled_before_the_merge_as_after_it() {
    let world = World::new();
    let shared =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: org}\ndata: {key: \"1\"}\n";
    plain(&world, "rival");
    world.write("gauss/rival/base/shared.yaml", shared);
    plain(&world, "peu01");
    world.write("gauss/peu01/base/shared.yaml", shared);
    let answer = judge(&world, "gauss/peu01").await;
    assert_eq!(answer.verdict, PreflightVerdict::NotVerifiable, "nobody has looked at the other yet");
    // The other one is refused, for something else: it has nothing.
    world.live.webhook(|_, object| {
        let is_its = object["metadata"]["name"] == "rival-a";
        is_its.then(|| (422, "ConfigMap is invalid: data.key: Forbidden: not today".to_owned()))
    });
    world.reconcile("gauss/rival").await;
    let answer = judge(&world, "gauss/peu01").await;
    assert_eq!(
        (answer.verdict, answer.reasons.len()),
        (PreflightVerdict::Accepted, 0),
        "{:?}",
        answer.reasons
    );
    world.reconcile("gauss/peu01").await;
    assert!(world.live.object("ConfigMap", "shared").is_some());
}
