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
mod site;
mod streams;

use axum::Router;
use axum::routing::{get, post};

use crate::CALLBACK;

pub(super) use self::access::{Door, names_this_machine};
pub(super) use self::errors::framed;
pub(super) use self::frame::plain_page;
pub(super) use self::query::QueryFields;
pub(super) use self::site::Site;
pub(super) use self::streams::Streams;

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
