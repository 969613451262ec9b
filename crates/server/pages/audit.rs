//! `GET /audit`: what Capstan did or refused to do, and who wanted it.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::access::Visitor;
use super::frame::{Titled, page, unavailable};
use super::prose::{Html, prose};
use super::query::{Paged, Pager, QueryFields, extent, page_address, path};
use super::site::Site;
use capstan_campaign::wording::minute;
use capstan_ports::{AuditFilter, RecordsError, ShownAudit};

const PER_PAGE: u32 = 100;

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<form class="filters" method="get" action="/audit" role="search" aria-label="Audit">
  <label>Search <input type="search" name="q" value="{{ filter.text }}" placeholder="cluster, detail"></label>
  <label>Who <input name="actor" value="{{ filter.actor }}" placeholder="login"></label>
  <label>What <input name="action" value="{{ filter.action }}" placeholder="proposal-opened"></label>
  <label>Repository <input name="repository" value="{{ filter.repository }}" placeholder="owner/name"></label>
  <button>Show</button>
  {% if narrowed %}<a href="/audit">Show all</a>{% endif %}
</form>
{% if rows.is_empty() %}
<p>{% if narrowed %}Nothing matches.{% else %}There are no entries yet.{% endif %}</p>
{% else %}
<table class="cards" role="table">
  <caption>Entries {{ pager.shown }}, newest first</caption>
  <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">When</th><th role="columnheader" scope="col">Who</th><th role="columnheader" scope="col">What</th><th role="columnheader" scope="col">Where</th><th role="columnheader" scope="col">Detail</th></tr></thead>
  <tbody role="rowgroup">
    {% for row in rows %}
    <tr role="row">
      <th role="rowheader" scope="row">{{ row.at }}</th>
      <td role="cell" data-label="Who">{{ row.actor }}</td>
      <td role="cell" data-label="What">{{ row.action }}</td>
      <td role="cell" data-label="Where">{% if let Some(cluster) = row.cluster %}<a href="{{ cluster.1 }}">{{ cluster.0 }}</a> {% endif %}<span class="quiet">{{ row.repository }}</span></td>
      <td role="cell" data-label="Detail">{{ row.detail }}</td>
    </tr>
    {% endfor %}
  </tbody>
</table>
{{ pager }}
{% endif %}
"##
)]
struct AuditContent<'a> {
    filter: &'a AuditFilter,
    narrowed: bool,
    rows: Vec<AuditLine<'a>>,
    pager: Pager,
}

/// An entry in a table.
pub(super) struct AuditLine<'a> {
    pub(super) at: String,
    pub(super) actor: &'a str,
    pub(super) action: &'a str,
    /// Name and address.
    pub(super) cluster: Option<(&'a str, String)>,
    pub(super) repository: &'a str,
    pub(super) detail: Html,
}

pub(super) async fn show(visitor: Visitor, State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let fields = QueryFields::parse(&query.unwrap_or_default());
    shown(&site, &visitor, &fields).await.unwrap_or_else(|error| unavailable(&error))
}

async fn shown(site: &Site, visitor: &Visitor, fields: &QueryFields) -> Result<Response, RecordsError> {
    let filter = AuditFilter {
        text: fields.text("q"),
        actor: fields.text("actor"),
        action: fields.text("action"),
        repository: fields.text("repository"),
        target: None,
    };
    let at = extent(fields.page(), PER_PAGE);
    let part = site.records.audit_trail(&visitor.sight(), &filter, at).await?;
    let link = |page: u64| {
        let fields = [
            ("q", filter.text.as_str()),
            ("actor", filter.actor.as_str()),
            ("action", filter.action.as_str()),
            ("repository", filter.repository.as_str()),
        ];
        page_address("/audit", &fields, page)
    };
    let content = AuditContent {
        narrowed: filter != AuditFilter::default(),
        rows: part.items.iter().map(|entry| row(site, entry)).collect(),
        pager: Pager::new(
            Paged::newest_first("the audit trail"),
            at,
            part.items.len(),
            part.more,
            None,
            link,
        ),
        filter: &filter,
    };
    Ok(page(site, Some(visitor), &Titled { title: "Audit", here: "/audit", stamp: None }, &content))
}

/// An entry for a table.
pub(super) fn row<'a>(site: &Site, entry: &'a ShownAudit) -> AuditLine<'a> {
    let url = entry.repository.as_deref().map(|name| site.repository_url(name));
    let cluster = entry.repository.as_deref().zip(entry.target.as_deref());
    AuditLine {
        at: minute(entry.at),
        actor: &entry.actor,
        action: &entry.action,
        cluster: cluster.map(|(repository, target)| (target, path(&["clusters", repository, target]))),
        repository: entry.repository.as_deref().unwrap_or_default(),
        detail: prose(&entry.detail, url.as_deref()),
    }
}
