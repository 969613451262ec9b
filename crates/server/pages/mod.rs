//! Pages for people: the fleet, a cluster, campaigns, the queue, deliveries, the audit trail, reconcilers.
//!
//! They are made here as HTML, work without JavaScript, and show only what the visitor may see. [`access`] says what that
//! is, and what a form must carry. Filters are in the address.
//!
//! Deliberately absent: what states mean (`capstan_report`), and who people are ([`capstan_bot::visitors`]).

mod access;
mod audit;
mod campaigns;
mod changes;
mod cluster;
mod columns;
mod deliveries;
mod detail;
mod errors;
mod fleet;
mod frame;
mod overview;
mod prose;
mod query;
mod queue;
mod reconcilers;
mod row;
mod sign_in;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use url::Url;

use super::body::Bodies;
use crate::{CALLBACK, Mode};
use capstan_bot::visitors::Visitors;
use capstan_listener::answer::HttpRefusal;
use capstan_ports::{Clock, PageRecords};

pub(super) use self::access::{Door, names_this_machine};
pub(super) use self::changes::Streams;
pub(super) use self::errors::framed;
pub(super) use self::frame::plain_page;
pub(super) use self::query::QueryFields;

/// A form is a token and a few words.
const FORM_BYTES: usize = 8 << 10;

/// What the pages work with.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) records: Arc<dyn PageRecords>,
    /// Who signs in; without it nobody does.
    pub(super) visitors: Option<Arc<Visitors>>,
    pub(super) clock: Arc<dyn Clock>,
    /// The address of repositories for people.
    pub(super) web_url: Arc<Url>,
    /// What forms on the loopback listener carry.
    pub(super) local_token: Arc<str>,
    pub(super) bodies: Bodies,
    /// Whether what is shown is done.
    pub(super) mode: Mode,
    /// What open pages hear from.
    pub(super) streams: Streams,
}

impl Site {
    /// A repository on GitHub.
    fn repository_url(&self, name: &str) -> String {
        format!("{}{}", self.web_url.as_str().trim_end_matches('/'), query::path(&[name]))
    }

    async fn form(&self, headers: &HeaderMap, body: Body) -> Result<QueryFields, HttpRefusal> {
        let read = self.bodies.read(headers, body, FORM_BYTES, |_| {}).await;
        let bytes = read.map_err(|why| {
            HttpRefusal::new(StatusCode::BAD_REQUEST, "The form cannot be read").because(&why)
        })?;
        Ok(QueryFields::parse(&String::from_utf8_lossy(&bytes.whole())))
    }
}

/// The pages as one door shows them.
pub(super) fn routes(site: Site, door: Door) -> Router {
    let site = Site { streams: site.streams.of_another_door(), ..site };
    let pages = Router::new()
        .route("/", get(fleet::show))
        .route("/clusters/{owner}/{name}/{*target}", get(cluster::show))
        .route("/campaigns", get(campaigns::list))
        .route("/campaigns/{owner}/{name}/{campaign}", get(campaigns::show))
        .route("/campaigns/{owner}/{name}/{campaign}/order", post(campaigns::order))
        .route("/changes", get(changes::show))
        .route("/queue", get(queue::show))
        .route("/queue/{repository}/look", post(queue::look))
        .route("/deliveries", get(deliveries::show))
        .route("/deliveries/{guid}/replay", post(deliveries::replay))
        .route("/audit", get(audit::show))
        .route("/reconcilers", get(reconcilers::show));
    let pages = match door {
        Door::Public => pages
            .route("/login", get(sign_in::show))
            .route("/login/github", get(sign_in::begin))
            .route(&format!("/{CALLBACK}"), get(sign_in::finish))
            .route("/logout", post(sign_in::end)),
        Door::Loopback | Door::Inside => pages,
    };
    pages.with_state(site).layer(axum::Extension(door))
}
