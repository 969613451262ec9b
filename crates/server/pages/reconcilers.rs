//! `GET /reconcilers`: who enrolled. They belong to no repository, so only people who use this machine see them.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::access::Visitor;
use super::frame::{Titled, not_there, page, unavailable};
use super::site::Site;
use capstan_campaign::wording::minute;
use capstan_ports::Agent;

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"{% if rows.is_empty() %}
<p>No reconciler has enrolled. <code>capstan agents invite</code> makes a join code for one.</p>
{% else %}
<table class="cards" role="table">
  <caption>Reconcilers, by time of enrolment</caption>
  <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Name</th><th role="columnheader" scope="col">Management cluster</th><th role="columnheader" scope="col">State</th><th role="columnheader" scope="col">Enrolled</th><th role="columnheader" scope="col">Invited by</th><th role="columnheader" scope="col">Last seen</th></tr></thead>
  <tbody role="rowgroup">
    {% for row in rows %}
    <tr role="row">
      <th role="rowheader" scope="row">{{ row.name }}<span class="quiet id">{{ row.id }}</span></th>
      <td role="cell" data-label="Management cluster"><span class="id">{{ row.management_cluster }}</span></td>
      <td role="cell" data-label="State"><span class="badge mood-{{ row.mood }}">{{ row.state }}</span></td>
      <td role="cell" data-label="Enrolled">{{ row.enrolled }}</td>
      <td role="cell" data-label="Invited by">{{ row.invited_by }}</td>
      <td role="cell" data-label="Last seen">{{ row.seen }}</td>
    </tr>
    {% endfor %}
  </tbody>
</table>
{% endif %}
"##
)]
struct ReconcilersContent<'a> {
    rows: Vec<ReconcilerLine<'a>>,
}

struct ReconcilerLine<'a> {
    id: &'a str,
    name: &'a str,
    management_cluster: &'a str,
    state: &'static str,
    mood: &'static str,
    enrolled: String,
    invited_by: &'a str,
    seen: String,
}

pub(super) async fn show(visitor: Visitor, State(site): State<Site>) -> Response {
    if visitor.login().is_some() {
        return not_there();
    }
    let agents = match site.records.reconcilers().await {
        Ok(agents) => agents,
        Err(error) => return unavailable(&error),
    };
    let content = ReconcilersContent { rows: agents.iter().map(row).collect() };
    page(&site, Some(&visitor), &Titled { title: "Reconcilers", here: "/reconcilers", stamp: None }, &content)
}

fn row(agent: &Agent) -> ReconcilerLine<'_> {
    let (state, mood) = if agent.revoked_at.is_some() { ("revoked", "waits") } else { ("enrolled", "good") };
    ReconcilerLine {
        id: agent.id.as_str(),
        name: &agent.name,
        management_cluster: agent.management_cluster.as_str(),
        state,
        mood,
        enrolled: minute(agent.enrolled_at),
        invited_by: &agent.invited_by,
        seen: agent.seen_at.map_or_else(|| "never".to_owned(), minute),
    }
}
