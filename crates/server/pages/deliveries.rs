//! `GET /deliveries`: GitHub's deliveries and the page's orders, with their results; a button queues the
//! repository of a delivery again.
//!
//! No payload is kept, so a replay sends nothing again: the delivery counts as just arrived, its repository's job is
//! queued, and the job looks at the present state, as it always does.

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};

use super::access::Visitor;
use super::frame::{Titled, not_there, page, unavailable};
use super::prose::{Html, prose};
use super::query::{Paged, Pager, QueryFields, address, extent, page_address};
use super::queue::allowed;
use super::site::Site;
use capstan_campaign::wording::minute;
use capstan_ports::{Again, DeliveryFilter, DeliveryOutcome, PageOrder, RecordsError, ShownDelivery};

const PER_PAGE: u32 = 50;

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<form class="filters" method="get" action="/deliveries" role="search" aria-label="Deliveries">
  <label>Search <input type="search" name="q" value="{{ filter.text }}" placeholder="id, event"></label>
  <label>Outcome
    <select name="outcome">
      <option value="">any</option>
      {% for outcome in outcomes %}<option value="{{ outcome.0 }}"{% if outcome.0 == filter.outcome %} selected{% endif %}>{{ outcome.1 }}</option>{% endfor %}
    </select>
  </label>
  <label>Repository <input name="repository" value="{{ filter.repository }}" placeholder="owner/name"></label>
  <button>Show</button>
  {% if narrowed %}<a href="/deliveries">Show all</a>{% endif %}
</form>
{% if rows.is_empty() %}
<p>{% if narrowed %}No delivery matches.{% else %}GitHub has delivered nothing yet.{% endif %}</p>
{% else %}
<table class="cards" role="table">
  <caption>Deliveries {{ pager.shown }}, newest first</caption>
  <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Delivery</th><th role="columnheader" scope="col">Event</th><th role="columnheader" scope="col">Repository</th><th role="columnheader" scope="col">Outcome</th><th role="columnheader" scope="col">Do</th></tr></thead>
  <tbody role="rowgroup">
    {% for row in rows %}
    <tr role="row">
      <th role="rowheader" scope="row">{{ row.at }}<span class="quiet id">{{ row.guid }}</span></th>
      <td role="cell" data-label="Event">{{ row.event }}</td>
      <td role="cell" data-label="Repository">{% if let Some(repository) = row.repository %}<a href="{{ repository.1 }}">{{ repository.0 }}</a>{% if let Some(pull) = row.pull %} <a href="{{ pull.0 }}">#{{ pull.1 }}</a>{% endif %}{% else %}<span class="quiet">several, or none</span>{% endif %}</td>
      <td role="cell" data-label="Outcome"><span class="badge mood-{{ row.mood }}">{{ row.outcome }}</span>{% if let Some(why) = row.why %}<span class="reason">{{ why }}</span>{% endif %}</td>
      <td role="cell" data-label="Do">{% if row.may_replay %}<form method="post" action="/deliveries/{{ row.guid }}/replay"><input type="hidden" name="token" value="{{ form_token }}"><button aria-label="Replay {{ row.event }}, {{ row.guid }}">Replay</button></form>{% else if row.repository.is_some() && !row.is_order %}<span class="quiet">needs write access</span>{% else %}<span class="quiet">nothing</span>{% endif %}</td>
    </tr>
    {% endfor %}
  </tbody>
</table>
{{ pager }}
{% endif %}
<details>
  <summary>What a replay does</summary>
  <p>It sends nothing again, because Capstan keeps no payload. Capstan looks again at what the delivery named, as if it had just arrived. Existing answers and writes stay as they are.</p>
</details>
"##
)]
struct DeliveriesContent<'a> {
    filter: &'a DeliveryFilter,
    narrowed: bool,
    outcomes: Vec<(&'static str, &'static str)>,
    rows: Vec<DeliveryLine<'a>>,
    pager: Pager,
    form_token: &'a str,
}

struct DeliveryLine<'a> {
    guid: &'a str,
    at: String,
    event: String,
    /// Name and address.
    repository: Option<(&'a str, String)>,
    pull: Option<(String, u64)>,
    outcome: &'static str,
    mood: &'static str,
    why: Option<Html>,
    /// Whether it is an order that somebody gave on the page: there is nothing to look at again.
    is_order: bool,
    may_replay: bool,
}

pub(super) async fn show(visitor: Visitor, State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let fields = QueryFields::parse(&query.unwrap_or_default());
    shown(&site, &visitor, &fields).await.unwrap_or_else(|error| unavailable(&error))
}

async fn shown(site: &Site, visitor: &Visitor, fields: &QueryFields) -> Result<Response, RecordsError> {
    let filter = DeliveryFilter {
        text: fields.text("q"),
        outcome: fields.text("outcome").to_lowercase(),
        repository: fields.text("repository"),
    };
    let at = extent(fields.page(), PER_PAGE);
    let part = site.records.deliveries(&visitor.sight(), &filter, at).await?;
    let link = |page: u64| {
        let fields = [
            ("q", filter.text.as_str()),
            ("outcome", filter.outcome.as_str()),
            ("repository", filter.repository.as_str()),
        ];
        page_address("/deliveries", &fields, page)
    };
    let content = DeliveriesContent {
        narrowed: filter != DeliveryFilter::default(),
        outcomes: DeliveryOutcome::ALL.iter().map(|one| (one.as_str(), words(*one).1)).collect(),
        rows: part.items.iter().map(|delivery| row(site, visitor, delivery)).collect(),
        pager: Pager::new(Paged::newest_first("deliveries"), at, part.items.len(), part.more, None, link),
        form_token: visitor.form_token(),
        filter: &filter,
    };
    Ok(page(site, Some(visitor), &Titled { title: "Deliveries", here: "/deliveries", stamp: None }, &content))
}

/// Mood and words of an outcome.
const fn words(outcome: DeliveryOutcome) -> (&'static str, &'static str) {
    match outcome {
        DeliveryOutcome::Done => ("good", "done"),
        DeliveryOutcome::Running => ("open", "at work"),
        DeliveryOutcome::Waiting => ("waits", "waiting"),
        DeliveryOutcome::Failed => ("bad", "failed, tried again"),
        DeliveryOutcome::Dead => ("bad", "given up"),
        DeliveryOutcome::Several => ("waits", "handed on"),
    }
}

fn row<'a>(site: &Site, visitor: &Visitor, delivery: &'a ShownDelivery) -> DeliveryLine<'a> {
    let url = delivery.repository.as_ref().map(|(_, name)| site.repository_url(name));
    let (mood, outcome) = words(delivery.outcome);
    let is_order = delivery.guid.starts_with(PageOrder::ID_PREFIX);
    let event = if is_order {
        "order on the page".to_owned()
    } else {
        format!("{} {}", delivery.event, delivery.action).trim_end().to_owned()
    };
    DeliveryLine {
        guid: &delivery.guid,
        at: minute(delivery.received_at),
        event,
        pull: url
            .as_deref()
            .zip(delivery.pull_request)
            .map(|(url, number)| (format!("{url}/pull/{number}"), number)),
        outcome,
        mood,
        why: delivery.reason.as_deref().map(|reason| prose(reason, url.as_deref())),
        is_order,
        may_replay: !is_order && delivery.repository.as_ref().is_some_and(|(id, _)| visitor.may_write(*id)),
        repository: delivery.repository.as_ref().map(|(_, name)| name.as_str()).zip(url),
    }
}

pub(super) async fn replay(
    visitor: Visitor,
    State(site): State<Site>,
    Path(guid): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    if let Err(refusal) = visitor.believes(&site, &headers, body).await {
        return refusal.into_response();
    }
    replayed(&site, &visitor, &guid).await.unwrap_or_else(|error| unavailable(&error))
}

async fn replayed(site: &Site, visitor: &Visitor, guid: &str) -> Result<Response, RecordsError> {
    let Some(repository) = site.records.repository_of(guid).await? else { return Ok(not_there()) };
    if let Err(refusal) = allowed(visitor, repository) {
        return Ok(*refusal);
    }
    Ok(match site.records.replay(guid, visitor.name()).await? {
        Again::Queued => {
            tracing::info!(delivery = guid, actor = visitor.name(), "replayed on the page");
            Redirect::to(&address("/deliveries", &[("q", guid)])).into_response()
        }
        Again::NotThere => not_there(),
    })
}
