//! Requests with their bodies read, and answers before they go on the wire.

use hyper::HeaderMap;
use hyper::body::Bytes;
use serde_json::Value;

use crate::error::ApiError;

/// A request with its body read.
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    /// As it came, without the query.
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl HttpRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// An answer before it is sent.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl HttpResponse {
    pub(crate) fn new(status: u16, content_type: &str, body: Vec<u8>) -> HttpResponse {
        HttpResponse { status, headers: vec![("content-type".to_owned(), content_type.to_owned())], body }
    }

    /// JSON; nothing for null.
    pub(crate) fn json(status: u16, body: &Value) -> HttpResponse {
        if body.is_null() {
            return HttpResponse { status, headers: Vec::new(), body: Vec::new() };
        }
        HttpResponse::new(status, "application/json; charset=utf-8", body.to_string().into_bytes())
    }

    /// An error as GitHub's API writes it.
    pub(crate) fn error(error: &ApiError) -> HttpResponse {
        let mut response = HttpResponse::json(error.status, &error.body());
        response.headers.extend(error.headers.clone());
        response
    }
}
