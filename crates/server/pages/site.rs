//! What the pages work with.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use capstan_bot::visitors::Visitors;
use capstan_listener::answer::HttpRefusal;
use capstan_ports::{Clock, PageRecords};
use url::Url;

use super::query::{QueryFields, path};
use super::streams::Streams;
use crate::Mode;
use crate::body::Bodies;

/// A form is a token and a few words.
const FORM_BYTES: usize = 8 << 10;

/// What the pages work with.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) records: Arc<dyn PageRecords>,
    /// Who signs in; without it nobody does.
    pub(crate) visitors: Option<Arc<Visitors>>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The address of repositories for people.
    pub(crate) web_url: Arc<Url>,
    /// What forms on the loopback listener carry.
    pub(crate) local_token: Arc<str>,
    pub(crate) bodies: Bodies,
    /// Whether what is shown is done.
    pub(crate) mode: Mode,
    /// What open pages hear from.
    pub(crate) streams: Streams,
}

impl Site {
    /// A repository on GitHub.
    pub(super) fn repository_url(&self, name: &str) -> String {
        format!("{}{}", self.web_url.as_str().trim_end_matches('/'), path(&[name]))
    }

    pub(super) async fn form(&self, headers: &HeaderMap, body: Body) -> Result<QueryFields, HttpRefusal> {
        let read = self.bodies.read(headers, body, FORM_BYTES, |_| {}).await;
        let bytes = read.map_err(|why| {
            HttpRefusal::new(StatusCode::BAD_REQUEST, "The form cannot be read").because(&why)
        })?;
        Ok(QueryFields::parse(&String::from_utf8_lossy(&bytes.whole())))
    }
}
