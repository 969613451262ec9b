//! What is asked.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use url::Url;

/// What is asked.
#[derive(Debug, Clone)]
pub struct OutboundRequest {
    /// How.
    pub method: Method,
    /// The address, and what for. The caller has judged already that its host may be asked.
    pub url: Url,
    /// Secrets among them are marked as sensitive.
    pub headers: HeaderMap,
    /// The body, where there is one.
    pub body: Option<Vec<u8>>,
    /// Whether it is asked again, as it was, where its answer leads within the same scheme, host and port.
    pub follows: bool,
}

impl OutboundRequest {
    /// Without headers and body, for one server and one place alone.
    pub fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: None, follows: false }
    }

    /// Asked again where the answer leads within the same scheme, host and port; a few times.
    #[must_use]
    pub const fn follow(mut self) -> Self {
        self.follows = true;
        self
    }

    /// With a header more.
    #[must_use]
    pub fn header(mut self, name: impl Into<HeaderName>, value: HeaderValue) -> Self {
        self.headers.insert(name.into(), value);
        self
    }

    /// With a body of that media type.
    #[must_use]
    pub fn body(mut self, media_type: &'static str, body: Vec<u8>) -> Self {
        self.body = Some(body);
        self.header(CONTENT_TYPE, HeaderValue::from_static(media_type))
    }
}
