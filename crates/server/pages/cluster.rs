//! `GET /clusters/<owner>/<name>/<folder>`: one cluster: how it stands, its proposals and checks, what its repository's
//! work and budget let become of it, what its reconciler reported, the merges that changed it, and what was done about it.

use std::collections::BTreeSet;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use capstan_report::ProposalState;

use super::Site;
use super::access::Visitor;
use super::audit::Row as Entry;
use super::fleet::{Row, folder_url, row};
use super::frame::{Titled, minute, not_there, page, unavailable};
use super::prose::{Html, prose};
use super::query::{Fields, Paged, Pager, extent, page_address, path};
use super::queue;
use capstan_ports::{AuditFilter, RecordsError, ShownMerge, ShownTarget, Sight};

const PER_PAGE: u32 = 50;

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<p class="quiet"><a href="{{ repository_url }}">{{ repository }}</a>, <a href="{{ folder_url }}">its folder</a></p>
{% for one in standings %}
<section aria-labelledby="stands-{{ loop.index }}">
  <h2 id="stands-{{ loop.index }}">State{% if standings.len() > 1 || one.kind != "release" %}: {{ one.kind }}{% endif %}</h2>
  <p><span class="badge mood-{{ one.row.mood }}">{{ one.row.state }}</span> {{ one.meaning }}</p>
  <p class="reason">{{ one.row.reason }}</p>
  <dl class="facts">
    <dt>Release</dt><dd>{{ one.row.at }}</dd>
    <dt>Offered</dt><dd>{{ one.row.offered }}</dd>
    <dt>Proposal</dt><dd>{% if let Some(proposal) = one.row.proposal %}<a href="{{ proposal.0 }}">#{{ proposal.1 }}</a>{% else %}none{% endif %}</dd>
    <dt>Check</dt><dd>{% if let Some(check) = one.row.check %}<span class="mood-{{ check.0 }}">{{ check.1 }}</span>{% else %}none{% endif %}</dd>
  </dl>
</section>
{% endfor %}
{% if let Some(work) = work %}
<section aria-labelledby="queue">
  <h2 id="queue">Queue and budget</h2>
  <p><span class="badge mood-{{ work.mood }}">{{ work.state }}</span> Its repository: {{ work.job }}.</p>
  {% if let Some(why) = work.why %}<p class="reason">{{ why }}</p>{% endif %}
  <dl class="facts">
    <dt>Proposals open</dt><dd>{{ work.open }}</dd>
    <dt>Opened in the last hour</dt><dd>{{ work.opened }}</dd>
  </dl>
</section>
{% endif %}
<section aria-labelledby="rollout">
  <h2 id="rollout">Rollout</h2>
  {% if let Some(rollout) = rollout %}
  <p><span class="mood-{{ rollout.mood }}">{{ rollout.state }}</span>, reported {{ rollout.at }}{% if let Some(words) = rollout.words %}: {{ words }}{% endif %}</p>
  {% if !rollout.reasons.is_empty() %}<ul>{% for reason in rollout.reasons %}<li>{{ reason }}</li>{% endfor %}</ul>{% endif %}
  {% if !rollout.machines.is_empty() %}
  <details><summary>{{ rollout.machines.len() }} {% if rollout.machines.len() == 1 %}machine{% else %}machines{% endif %}</summary>
    <ul>{% for machine in rollout.machines %}<li>{{ machine }}</li>{% endfor %}</ul>
  </details>
  {% endif %}
  {% else %}
  <p>No reconciler has reported on it.</p>
  {% endif %}
</section>
{% if !merges.is_empty() %}
<section aria-labelledby="merges">
  <h2 id="merges">Merges</h2>
  <table class="cards" role="table">
    <caption>Merges whose machines were followed, newest first</caption>
    <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Pull request</th><th role="columnheader" scope="col">Merged</th><th role="columnheader" scope="col">Applied by</th><th role="columnheader" scope="col">State</th><th role="columnheader" scope="col">What happened</th></tr></thead>
    <tbody role="rowgroup">
      {% for merge in merges %}
      <tr role="row">
        <th role="rowheader" scope="row"><a href="{{ merge.url }}">#{{ merge.number }}</a></th>
        <td role="cell" data-label="Merged">{{ merge.at }}</td>
        <td role="cell" data-label="Applied by">{{ merge.by }}</td>
        <td role="cell" data-label="State">{{ merge.state }}</td>
        <td role="cell" data-label="What happened">{% if merge.turns.is_empty() %}<span class="quiet">nothing yet</span>{% else %}<ol>{% for turn in merge.turns %}<li>{{ turn }}</li>{% endfor %}</ol>{% endif %}</td>
      </tr>
      {% endfor %}
    </tbody>
  </table>
</section>
{% endif %}
<section aria-labelledby="history">
  <h2 id="history">History</h2>
  {% if entries.is_empty() %}
  <p>There are no entries yet.</p>
  {% else %}
  <table class="cards" role="table">
    <caption>Entries {{ pager.shown }}, newest first</caption>
    <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">When</th><th role="columnheader" scope="col">Who</th><th role="columnheader" scope="col">What</th><th role="columnheader" scope="col">Detail</th></tr></thead>
    <tbody role="rowgroup">
      {% for entry in entries %}
      <tr role="row">
        <th role="rowheader" scope="row">{{ entry.at }}</th>
        <td role="cell" data-label="Who">{{ entry.actor }}</td>
        <td role="cell" data-label="What">{{ entry.action }}</td>
        <td role="cell" data-label="Detail">{{ entry.detail }}</td>
      </tr>
      {% endfor %}
    </tbody>
  </table>
  {{ pager }}
  {% endif %}
</section>
"##
)]
struct Content<'a> {
    repository: &'a str,
    repository_url: String,
    folder_url: String,
    standings: Vec<Stands<'a>>,
    work: Option<queue::Row<'a>>,
    rollout: Option<Rollout>,
    merges: Vec<Merge>,
    entries: Vec<Entry<'a>>,
    pager: Pager,
}

struct Stands<'a> {
    kind: &'a str,
    row: Row<'a>,
    meaning: &'static str,
}

struct Rollout {
    mood: &'static str,
    state: String,
    at: String,
    words: Option<Html>,
    reasons: Vec<Html>,
    machines: Vec<String>,
}

struct Merge {
    number: u64,
    url: String,
    at: String,
    by: String,
    state: &'static str,
    turns: Vec<String>,
}

pub(super) async fn show(
    visitor: Visitor,
    State(site): State<Site>,
    Path((owner, name, target)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let fields = Fields::parse(&query.unwrap_or_default());
    let repository = format!("{owner}/{name}");
    shown(&site, &visitor, &repository, &target, &fields).await.unwrap_or_else(|error| unavailable(&error))
}

async fn shown(
    site: &Site,
    visitor: &Visitor,
    repository: &str,
    name: &str,
    fields: &Fields,
) -> Result<Response, RecordsError> {
    let sight = visitor.sight();
    let targets = site.records.target(&sight, repository, name).await?;
    let Some(first) = targets.first() else { return Ok(not_there()) };
    let merges = site.records.merges(first.repository, name).await?;
    // Whoever sees one of its clusters sees the repository.
    let own = Sight::Repositories(BTreeSet::from([first.repository]));
    let repositories = site.records.shown_repositories(&own).await?;
    let at = extent(fields.page(), PER_PAGE);
    let filter = AuditFilter {
        target: Some(name.to_owned()),
        repository: repository.to_owned(),
        ..AuditFilter::default()
    };
    let part = site.records.audit_trail(&sight, &filter, at).await?;
    let repository_url = site.repository_url(&first.repository_name);
    let here = path(&["clusters", &first.repository_name, name]);
    let link = |page: u64| page_address(&here, &[], page);
    let content = Content {
        repository: &first.repository_name,
        folder_url: folder_url(&site.web_url, &first.repository_name, name),
        standings: targets.iter().map(|target| stands(site, target)).collect(),
        work: repositories.first().map(|repository| queue::row(site, visitor, repository)),
        rollout: rollout(site, first, &repository_url),
        merges: merges.iter().map(|one| merge(one, &repository_url)).collect(),
        entries: part.items.iter().map(|entry| super::audit::row(site, entry)).collect(),
        pager: Pager::new(Paged::newest_first("its history"), at, part.items.len(), part.more, None, link),
        repository_url,
    };
    Ok(page(site, Some(visitor), &Titled { title: name, here: "" }, &content))
}

fn stands<'a>(site: &Site, target: &'a ShownTarget) -> Stands<'a> {
    let meaning = ProposalState::parse(&target.state).map_or("", ProposalState::meaning);
    Stands { kind: &target.kind, row: row(site, target), meaning }
}

fn rollout(site: &Site, target: &ShownTarget, repository: &str) -> Option<Rollout> {
    let report = target.rollout.as_ref()?;
    let (mood, state) = row(site, target).rollout?;
    Some(Rollout {
        mood,
        state,
        at: minute(report.observed_at),
        words: report.words.as_ref().map(|words| prose(&words.to_string(), Some(repository))),
        reasons: report.reasons.iter().map(|reason| prose(&reason.sentence(), Some(repository))).collect(),
        machines: report
            .machines
            .iter()
            .map(|machine| format!("{}, {} of {}", machine.name, machine.state, machine.owner))
            .collect(),
    })
}

fn merge(merge: &ShownMerge, repository: &str) -> Merge {
    let turns = merge.progress.turns.iter().map(|turn| {
        let words = turn.words.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
        format!("{} {}{words}", minute(turn.at), turn.kind.as_str().to_lowercase())
    });
    Merge {
        number: merge.pull_request,
        url: format!("{repository}/pull/{}", merge.pull_request),
        at: minute(merge.merged_at),
        by: merge.management_cluster.clone(),
        state: merge.progress.state().as_str(),
        turns: turns.collect(),
    }
}
