//! How failures are answered: a fixed sentence and a request id.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ulid::Ulid;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// An error answer. Its id is in the answer and in the log.
pub struct HttpRefusal {
    status: StatusCode,
    sentence: &'static str,
    id: Ulid,
}

impl HttpRefusal {
    /// That sentence, with a request id.
    pub fn new(status: StatusCode, sentence: &'static str) -> Self {
        Self { status, sentence, id: Ulid::generate() }
    }

    /// Logs why, in one line.
    pub fn because(self, why: &dyn std::fmt::Display) -> Self {
        let (id, status) = (self.id, self.status.as_u16());
        if self.status.is_server_error() {
            tracing::error!(request.id = %id, http.status = status, "{}: {why}", self.sentence);
        } else {
            tracing::warn!(request.id = %id, http.status = status, "{}: {why}", self.sentence);
        }
        self
    }
}

/// What a refusal says, beside the answer itself: who shows pages puts it into one.
#[derive(Debug, Clone)]
pub struct RefusalNote {
    /// The sentence, without its full stop.
    pub sentence: &'static str,
    /// The id of the request.
    pub id: String,
}

impl IntoResponse for HttpRefusal {
    fn into_response(self) -> Response {
        let id = self.id.to_string();
        let mut response = text(self.status, format!("{}. Request {id}.\n", self.sentence));
        response.extensions_mut().insert(RefusalNote { sentence: self.sentence, id: id.clone() });
        if let Ok(value) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(REQUEST_ID, value);
        }
        response
    }
}

/// A plain answer that no browser takes for anything else, and nobody keeps.
pub fn text(status: StatusCode, body: impl IntoResponse) -> Response {
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Nothing has that path.
pub async fn not_found() -> HttpRefusal {
    HttpRefusal::new(StatusCode::NOT_FOUND, "There is nothing here")
}
