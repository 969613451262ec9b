//! Generic packages of GitLab, and what any server may do wrong.

use capstan_forge::CANARY;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use capstan_ports::{FetchError, FetchLimits, SourceCredentials};
use futures_util::StreamExt as _;

use axum::body::{Body, Bytes};
use axum::http::Response;

use super::{COMPONENTS, METADATA, SHA256, credentials, fetched, fetched_within, limits};
use capstan_test_parts::components::serving::{Serving, answer};

fn spec(host: &str) -> String {
    format!(
        "{{fetchConfig: {{url: 'http://{host}/api/v4/projects/acme%2Fown/packages/generic/own/v1.0.0/infra.yaml'}}}}"
    )
}

#[tokio::test]
async fn files_of_a_package_are_fetched_with_the_token() {
    let server = Serving::start(|path| match path.rsplit('/').next() {
        Some("metadata.yaml") => answer(200, &[], METADATA),
        Some("infra.yaml") => answer(200, &[], COMPONENTS),
        _ => answer(404, &[], ""),
    })
    .await;
    let token = format!("glpat-{CANARY}");
    let who = credentials(&[("gitlab-access-token", &token)]);
    let published = fetched(&spec(&server.host), &[&server.host], who).await.unwrap();
    assert_eq!((published.version.as_str(), published.sha256().as_str()), ("v1.0.0", SHA256));
    let folder = "/api/v4/projects/acme%2Fown/packages/generic/own/v1.0.0";
    assert_eq!(
        server.asked(),
        ["infra", "metadata"].map(|file| format!("GET {folder}/{file}.yaml Bearer {token}"))
    );
}

/// What a server says to a path.
type Answers = Box<dyn Fn(&str) -> Response<Body> + Send + Sync>;

#[tokio::test]
async fn a_fault_of_a_server_is_reported_by_name() {
    let cases: Vec<(Answers, &str)> = vec![
        (Box::new(|_| answer(404, &[], "")), "does not exist (404)"),
        (Box::new(|_| answer(401, &[], "")), "401, so it needs other credentials: set `GITLAB_ACCESS_TOKEN`"),
        (Box::new(|_| answer(418, &[], "")), "it answers 418"),
        (
            Box::new(|path| {
                if path.ends_with("metadata.yaml") {
                    answer(404, &[], "")
                } else {
                    answer(200, &[], "a: 1\n")
                }
            }),
            "has no metadata",
        ),
        (Box::new(|_| answer(302, &[("location", "/again")], "")), "redirects more than 3 times"),
        (
            Box::new(|_| {
                answer(302, &[("location", &format!("http://elsewhere.example/x?token={CANARY}"))], "")
            }),
            "redirects to elsewhere.example, which is not among the allowed hosts",
        ),
        (
            Box::new(|_| answer(302, &[("location", "file:///etc/passwd")], "")),
            "which is not among the allowed hosts",
        ),
        (Box::new(|_| answer(200, &[], vec![b'a'; 5 << 20])), "has more than"),
        (Box::new(|_| answer(200, &[], vec![0xff, 0xfe])), "is not UTF-8"),
        (Box::new(|_| answer(200, &[], "a: b: c")), "the metadata is not YAML"),
        (
            Box::new(|_| answer(429, &[("retry-after", "100")], "")),
            "the limit of requests is reached for another 100 s, and 3 s are waited",
        ),
    ];
    for (wrong, said) in cases {
        let server = Serving::start(wrong).await;
        let error = fetched(&spec(&server.host), &[&server.host], SourceCredentials::default()).await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[tokio::test]
async fn a_failed_download_is_tried_again_and_then_reported() {
    let count = AtomicUsize::new(0);
    let server = Serving::start(move |path| match count.fetch_add(1, Ordering::SeqCst) {
        0 | 2 => answer(503, &[], ""),
        _ if path.ends_with("metadata.yaml") => answer(200, &[], METADATA),
        _ => answer(200, &[], COMPONENTS),
    })
    .await;
    fetched(&spec(&server.host), &[&server.host], SourceCredentials::default()).await.unwrap();
    assert_eq!(server.asked().len(), 4);
    let server = Serving::start(|_| answer(500, &[], "")).await;
    let error = fetched(&spec(&server.host), &[&server.host], SourceCredentials::default()).await;
    assert!(matches!(error.unwrap_err(), FetchError::Unexpected { .. }));
    assert_eq!(server.asked().len(), 3);
}

/// One that takes the question and never comes to an end: of an answer, or of all of them together.
#[tokio::test]
async fn an_endless_answer_is_cut_off_after_a_while() {
    let endless = |_: &str| {
        let first = std::iter::once(Ok::<_, std::io::Error>(Bytes::from_static(b"a")));
        let stream = futures_util::stream::iter(first);
        answer(200, &[], Body::from_stream(stream.chain(futures_util::stream::pending())))
    };
    let of_an_answer = Duration::from_millis(200);
    let of_all = Duration::from_millis(500);
    for (timeout, whole, told) in
        [(of_an_answer, Duration::from_secs(60), of_an_answer), (Duration::from_secs(60), of_all, of_all)]
    {
        let server = Serving::start(endless).await;
        let limits = FetchLimits { timeout, whole, ..limits() };
        let (spec, hosts) = (spec(&server.host), [server.host.as_str()]);
        let error = fetched_within(limits, &spec, &hosts, SourceCredentials::default(), None).await;
        let error = error.unwrap_err();
        assert!(matches!(&error, FetchError::TooSlow { after, .. } if *after == told), "{error}");
    }
}
