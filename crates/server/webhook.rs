//! `POST /github/webhook`: checked, read, stored, and only then answered with 202.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use tracing::Instrument as _;

use super::ServerState;
use super::body::Unread;
use super::writer::NotStored;
use capstan_bot::intake::{Delivery, DeliveryReading, Stored, read_delivery};
use capstan_listener::answer::{self, HttpRefusal};
use capstan_listener::connections::{ConnectionSlot, TrustedCaller};

/// The largest payload that GitHub sends: 25 MiB.
pub const BODY_LIMIT_BYTES: usize = 26_214_400;

/// Outcomes of deliveries that are lost.
const OVERLOADED: &str = "overloaded";
const FAILED: &str = "failed";

pub(super) async fn receive(
    State(shared): State<ServerState>,
    Extension(place): Extension<ConnectionSlot>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let span = tracing::info_span!(
        "delivery",
        delivery.id = tracing::field::Empty,
        event = tracing::field::Empty,
        repository = tracing::field::Empty,
        pull_request = tracing::field::Empty,
        outcome = tracing::field::Empty,
    );
    let accepted = accept(&shared, &place, &headers, body).instrument(span.clone()).await;
    span.record("outcome", accepted.as_ref().map_or_else(|(outcome, _)| *outcome, |outcome| *outcome));
    match accepted {
        Ok(accepted) => {
            count(accepted);
            answer::text(StatusCode::ACCEPTED, format!("{accepted}\n"))
        }
        Err((outcome, refusal)) => {
            count(outcome);
            refusal.into_response()
        }
    }
}

/// Begins to count what should never happen at 0, so that the first is seen as a step.
pub(super) fn begin_to_count() {
    for outcome in [OVERLOADED, FAILED] {
        metrics::counter!("capstan_webhooks_total", "outcome" => outcome).increment(0);
    }
}

fn count(outcome: &'static str) {
    metrics::counter!("capstan_webhooks_total", "outcome" => outcome).increment(1);
}

/// What became of the delivery, in a word; or a word for the metrics and what to answer.
async fn accept(
    shared: &ServerState,
    place: &ConnectionSlot,
    headers: &HeaderMap,
    body: Body,
) -> Result<&'static str, (&'static str, HttpRefusal)> {
    let unsigned = |why: &str| {
        let refusal = HttpRefusal::new(StatusCode::UNAUTHORIZED, "The signature is missing or wrong");
        ("unsigned", refusal.because(&why))
    };
    let Some(signature) = headers.get("x-hub-signature-256") else {
        return Err(unsigned("no X-Hub-Signature-256 header"));
    };
    let mut check = shared.secrets.check();
    let body = shared.bodies.read(headers, body, BODY_LIMIT_BYTES, |part| check.update(part)).await;
    let body = body.map_err(unread)?;
    if !check.signed(signature.as_bytes()) {
        return Err(unsigned("it matches none of the webhook secrets"));
    }
    // Beyond GitHub's share of the connections a delivery is stored too; only its place may be lost
    // meanwhile.
    place.trust(TrustedCaller::GitHub).ok();

    let unreadable = |why: &dyn std::fmt::Display| {
        let refusal = HttpRefusal::new(StatusCode::BAD_REQUEST, "The delivery cannot be read");
        ("unreadable", refusal.because(why))
    };
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(guid) = header("x-github-delivery").filter(|guid| is_guid(guid)) else {
        return Err(unreadable(&"the X-GitHub-Delivery header is missing or is not the id of a delivery"));
    };
    let Some(event) = header("x-github-event").filter(|event| !event.is_empty()) else {
        return Err(unreadable(&"the X-GitHub-Event header is missing"));
    };
    let content_type = header(CONTENT_TYPE.as_str()).unwrap_or_default();
    if !content_type
        .split(';')
        .next()
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    {
        return Err((
            "unreadable",
            HttpRefusal::new(
                StatusCode::BAD_REQUEST,
                "The delivery's content type is not application/json: set it so on the App's settings page",
            )
            .because(&format_args!("it is `{}`", content_type.escape_default())),
        ));
    }

    let body = body.whole();
    let delivery = match read_delivery(guid, event, &body, shared.clock.now()) {
        Ok(DeliveryReading::Store(delivery)) => delivery.without_texts(),
        Ok(DeliveryReading::OfNoInterest) => return Ok("of no interest"),
        Err(error) => return Err(unreadable(&error)),
    };
    drop(body);
    describe(&delivery);
    match shared.writer.store(delivery).await {
        Ok(Stored::New) => Ok("stored"),
        Ok(Stored::Known) => Ok("known"),
        Err(why) => {
            // Of a failed batch the writer has logged the cause, once.
            let outcome = match why {
                NotStored::Full => OVERLOADED,
                NotStored::Failed => FAILED,
            };
            Err((outcome, not_stored(&why)))
        }
    }
}

/// What the span of a delivery tells of it, once its signature is believed.
fn describe(delivery: &Delivery) {
    let span = tracing::Span::current();
    span.record("delivery.id", delivery.guid.as_str());
    span.record("event", delivery.event.as_str());
    if let Some(first) = delivery.repositories.first() {
        span.record("repository", tracing::field::display(&first.name));
    }
    if let Some(number) = delivery.hint.pull_request {
        span.record("pull_request", number);
    }
}

fn unread(why: Unread) -> (&'static str, HttpRefusal) {
    match &why {
        Unread::TooLarge(_) => {
            let refusal = HttpRefusal::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "The delivery is larger than 26,214,400 bytes",
            );
            ("too large", refusal.because(&why))
        }
        Unread::Broken(_) => {
            let refusal = HttpRefusal::new(StatusCode::BAD_REQUEST, "The delivery cannot be read");
            ("unreadable", refusal.because(&why))
        }
        Unread::NoRoom => (OVERLOADED, not_stored(&why)),
    }
}

fn not_stored(why: &dyn std::fmt::Display) -> HttpRefusal {
    let sentence = "The delivery could not be stored: deliver it again later";
    HttpRefusal::new(StatusCode::SERVICE_UNAVAILABLE, sentence).because(why)
}

/// GitHub sends UUIDs; other forges may send other short words.
fn is_guid(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
