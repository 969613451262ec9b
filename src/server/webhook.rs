//! `POST /github/webhook`: checked, read, stored, and only then answered with 202.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::Shared;
use super::answer::{self, Refusal};
use super::writer::NotStored;
use crate::app::intake::{Reading, Stored, read_delivery};

/// The largest payload that GitHub sends: 25 MiB.
pub const BODY_LIMIT_BYTES: usize = 26_214_400;

/// GitHub gives up after this long.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn receive(State(shared): State<Shared>, headers: HeaderMap, body: Body) -> Response {
    match accept(&shared, &headers, body).await {
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

fn count(outcome: &'static str) {
    metrics::counter!("capstan_webhooks_total", "outcome" => outcome).increment(1);
}

/// What became of the delivery, in a word; or a word for the metrics and what to answer.
async fn accept(
    shared: &Shared,
    headers: &HeaderMap,
    body: Body,
) -> Result<&'static str, (&'static str, Refusal)> {
    let unsigned = |why: &str| {
        let refusal = Refusal::new(StatusCode::UNAUTHORIZED, "The signature is missing or wrong");
        ("unsigned", refusal.because(&why))
    };
    let Some(signature) = headers.get("x-hub-signature-256") else {
        return Err(unsigned("no X-Hub-Signature-256 header"));
    };
    let body = read_body(headers, body).await?;
    if !shared.secrets.signed(signature.as_bytes(), &body) {
        return Err(unsigned("it was made with none of the webhook secrets"));
    }

    let unreadable = |why: &dyn std::fmt::Display| {
        let refusal = Refusal::new(StatusCode::BAD_REQUEST, "The delivery cannot be read");
        ("unreadable", refusal.because(why))
    };
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(guid) = header("x-github-delivery").filter(|guid| is_guid(guid)) else {
        return Err(unreadable(&"the X-GitHub-Delivery header is missing or is no delivery's id"));
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
            Refusal::new(
                StatusCode::BAD_REQUEST,
                "The delivery's content type is not application/json: set it so on the App's settings page",
            )
            .because(&format_args!("it is `{}`", content_type.escape_default())),
        ));
    }

    let delivery = match read_delivery(guid, event, &body, shared.clock.now()) {
        Ok(Reading::Store(delivery)) => delivery,
        Ok(Reading::OfNoInterest) => return Ok("of no interest"),
        Err(error) => return Err(unreadable(&error)),
    };
    drop(body);
    match shared.writer.store(delivery).await {
        Ok(Stored::New) => Ok("stored"),
        Ok(Stored::Known) => Ok("known"),
        Err(not_stored) => {
            let refusal = Refusal::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "The delivery could not be stored: deliver it again later",
            );
            // Of a failed batch the writer has logged the cause, once.
            let outcome = match not_stored {
                NotStored::Full => "overloaded",
                NotStored::Failed => "failed",
            };
            Err((outcome, refusal.because(&not_stored)))
        }
    }
}

async fn read_body(headers: &HeaderMap, body: Body) -> Result<axum::body::Bytes, (&'static str, Refusal)> {
    let too_large = |why: &dyn std::fmt::Display| {
        let refusal =
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "The delivery is larger than 26,214,400 bytes");
        ("too large", refusal.because(why))
    };
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if let Some(length) = announced.filter(|&length| length > BODY_LIMIT_BYTES as u64) {
        return Err(too_large(&format_args!("{length} bytes were announced")));
    }
    let broken = |why: &dyn std::fmt::Display| {
        let refusal = Refusal::new(StatusCode::BAD_REQUEST, "The delivery cannot be read");
        ("unreadable", refusal.because(why))
    };
    match tokio::time::timeout(READ_TIMEOUT, Limited::new(body, BODY_LIMIT_BYTES).collect()).await {
        Ok(Ok(read)) => Ok(read.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(&"it did not end there")),
        Ok(Err(error)) => Err(broken(&error)),
        Err(_) => Err(broken(&"it took longer than 10 s to arrive")),
    }
}

/// GitHub sends UUIDs; other forges may send other short words.
fn is_guid(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
