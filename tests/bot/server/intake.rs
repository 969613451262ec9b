//! Deliveries: which are stored, and how the others are answered.

use std::time::Duration;

use capstan_ports::{ClaimedJob, CommentHint, Jobs};

use super::client::{Delivery, OLD_SECRET, Running, sign};

const UNSIGNED: &str = "The signature is missing or wrong";
const UNREADABLE: &str = "The delivery cannot be read";
const TOO_LARGE: &str = "The delivery is larger than 26,214,400 bytes";

async fn claim(server: &Running) -> Option<ClaimedJob> {
    server.database.claim("worker", Duration::from_secs(30), 8).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_stored_and_its_repositorys_job_queued() {
    let server = Running::start().await;
    server.deliver(&Delivery::comment("guid-1", 900)).await.is(202, "stored\n");
    let job = claim(&server).await.unwrap();
    assert_eq!((job.repository, job.installation, job.name.to_string().as_str()), (1, 7, "acme/gitops"));
    assert_eq!(job.hints.comments, [CommentHint { comment: 900, pull_request: 12 }]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_is_known_is_accepted_and_its_job_queued_again() {
    let server = Running::start().await;
    server.deliver(&Delivery::comment("guid-1", 900)).await.is(202, "stored\n");
    let job = claim(&server).await.unwrap();
    server.database.complete(&job, None).await.unwrap();
    server.deliver(&Delivery::comment("guid-1", 900)).await.is(202, "known\n");
    assert!(claim(&server).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_of_no_interest_is_accepted_and_not_stored() {
    let server = Running::start().await;
    for (event, body) in [
        ("ping", r#"{"zen":"Design for failure."}"#),
        ("star", "{}"),
        ("issue_comment", r#"{"action":"deleted"}"#),
        (
            "push",
            r#"{"ref":"refs/heads/feature","repository":{"id":1,"full_name":"a/b","default_branch":"main"},"installation":{"id":7}}"#,
        ),
        ("push", r#"{"ref":"refs/tags/v1","repository":{"id":1,"full_name":"a/b"},"installation":{"id":7}}"#),
        (
            "issue_comment",
            r#"{"action":"created","issue":{"number":1,"pull_request":{}},"comment":{"id":2},"repository":{"id":1,"full_name":"a/b"},"installation":{"id":7},"sender":{"type":"Bot"}}"#,
        ),
    ] {
        server.deliver(&Delivery::new("guid-1", event, body.as_bytes())).await.is(202, "of no interest\n");
    }
    assert_eq!(claim(&server).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_reviews_merge_groups_and_installations_are_of_interest() {
    let server = Running::start().await;
    let repository =
        r#""repository":{"id":1,"full_name":"a/b","default_branch":"main"},"installation":{"id":7}"#;
    for (event, fields) in [
        ("push", r#""ref":"refs/heads/main","#),
        ("push", r#""ref":"refs/heads/capstan/upgrade/gauss/peu01","#),
        ("pull_request", r#""action":"synchronize","pull_request":{"number":3},"#),
        ("issue_comment", r#""action":"created","issue":{"number":1},"comment":{"id":2},"#),
        ("pull_request_review", r#""action":"submitted","pull_request":{"number":3},"#),
        ("merge_group", r#""action":"checks_requested","merge_group":{"head_sha":"1f"},"#),
        ("check_run", r#""action":"rerequested","check_run":{"head_sha":"1f"},"#),
        ("repository", r#""action":"renamed","#),
    ] {
        let body = format!("{{{fields}{repository}}}");
        let guid = format!("guid-{event}-{}", fields.len()).replace('_', "-");
        server.deliver(&Delivery::new(&guid, event, body.as_bytes())).await.is(202, "stored\n");
        let job = claim(&server).await.unwrap();
        server.database.complete(&job, None).await.unwrap();
    }
    let body =
        br#"{"action":"added","repositories_added":[{"id":5,"full_name":"a/five"}],"installation":{"id":7}}"#;
    let installed = Delivery::new("guid-i", "installation_repositories", body);
    server.deliver(&installed).await.is(202, "stored\n");
    assert_eq!(claim(&server).await.unwrap().repository, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_or_missing_signature_is_refused_and_nothing_stored() {
    let server = Running::start().await;
    let good = Delivery::comment("guid-1", 900);
    server.deliver(&good.clone().without("X-Hub-Signature-256")).await.refuses(401, UNSIGNED);
    let bad = good.clone().with("X-Hub-Signature-256", &sign("another secret", &good.body));
    server.deliver(&bad).await.refuses(401, UNSIGNED);
    let mut changed = good.clone();
    changed.body[5] ^= 1;
    server.deliver(&changed).await.refuses(401, UNSIGNED);
    assert_eq!(claim(&server).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_before_is_valid_too() {
    let server = Running::start().await;
    let delivery = Delivery::comment("guid-1", 900);
    let signed = delivery.clone().with("X-Hub-Signature-256", &sign(OLD_SECRET, &delivery.body));
    server.deliver(&signed).await.is(202, "stored\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_refused() {
    let server = Running::start().await;
    let good = Delivery::comment("guid-1", 900);
    server.deliver(&good.clone().without("X-GitHub-Delivery")).await.refuses(400, UNREADABLE);
    server.deliver(&good.clone().with("X-GitHub-Delivery", "no guid")).await.refuses(400, UNREADABLE);
    server.deliver(&good.clone().without("X-GitHub-Event")).await.refuses(400, UNREADABLE);
    server.deliver(&Delivery::new("guid-1", "push", b"{\"ref\":")).await.refuses(400, UNREADABLE);
    server.deliver(&Delivery::new("guid-1", "push", b"{\"ref\":5}")).await.refuses(400, UNREADABLE);
    server.deliver(&Delivery::new("guid-1", "push", b"{}")).await.refuses(400, UNREADABLE);
    let form = good.with("Content-Type", "application/x-www-form-urlencoded");
    server.deliver(&form).await.refuses(
        400,
        "The delivery's content type is not application/json: set it so on the App's settings page",
    );
    assert_eq!(claim(&server).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_at_the_limit_is_read_and_one_above_is_refused() {
    let server = Running::start().await;
    let mut body = Delivery::comment("guid-1", 900).body;
    body.resize(26_214_400, b' ');
    server.deliver(&Delivery::new("guid-1", "issue_comment", &body)).await.is(202, "stored\n");

    // Announced: refused before it is read.
    let announced = "POST /github/webhook HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\
                     X-Hub-Signature-256: sha256=00\r\nContent-Length: 26214401\r\n\r\n";
    server.send(announced.as_bytes()).await.refuses(413, TOO_LARGE);

    // Without an announced length, a request is refused where it passes the limit, whatever follows.
    let mut chunked = b"POST /github/webhook HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\
                        X-Hub-Signature-256: sha256=00\r\nTransfer-Encoding: chunked\r\n\r\n"
        .to_vec();
    chunked.extend(b"1900001\r\n");
    chunked.resize(chunked.len() + 26_214_401, b' ');
    server.send(&chunked).await.refuses(413, TOO_LARGE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_cannot_be_stored_is_refused() {
    let server = Running::start().await;
    server.database.close().await;
    server
        .deliver(&Delivery::comment("guid-1", 900))
        .await
        .refuses(503, "The delivery could not be stored: deliver it again later");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn deliveries_that_arrive_together_are_all_stored() {
    let server = std::sync::Arc::new(Running::start().await);
    let mut deliveries = tokio::task::JoinSet::new();
    for n in 0..200 {
        let server = server.clone();
        deliveries.spawn(async move {
            server.deliver(&Delivery::comment(&format!("guid-{}", n / 2), n / 2)).await.body
        });
    }
    let answers = deliveries.join_all().await;
    // Each was sent twice: whichever came first was new.
    assert_eq!(answers.iter().filter(|answer| *answer == "stored\n").count(), 100, "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| *answer == "known\n").count(), 100, "{answers:?}");
    let job = claim(&server).await.unwrap();
    assert_eq!(job.hints.comments.len(), 100);
    assert_eq!(claim(&server).await, None);
}
