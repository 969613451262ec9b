//! `GET /`: all clusters that somebody may see, what needs somebody first: narrowed by words, state, repository and version
//! of Kubernetes, ordered by a column, a hundred at a time.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use capstan_report::ProposalState;
use url::Url;

use super::access::Visitor;
use super::columns::{Heading, group_of, headings, order_in_address, order_of};
use super::frame::{Titled, mood, of, page, unavailable};
use super::overview::Overview;
use super::query::{Paged, Pager, QueryFields, address, extent, page_address, path};
use super::queue::{FailedRepository, failed_repositories};
use super::row::{Row, row};
use super::site::Site;
use capstan_ports::{ClusterFilter, ClusterOrder, RecordsError, SortKey};

const PER_PAGE: u32 = 100;
/// More repositories than these are written into a field, not chosen from a list.
const CHOSEN: usize = 100;
/// So many repositories whose last run failed are named.
const NAMED: usize = 5;
/// Clusters that roll now and that the page names.
const ROLLING: u32 = 4;

/// The orders that the page offers by name.
const VIEWS: [(&str, SortKey); 3] =
    [("What needs attention", SortKey::Need), ("By customer", SortKey::Cluster), ("By wave", SortKey::Wave)];

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"{% if !failed.is_empty() %}
<section class="trouble" aria-labelledby="trouble">
  <h2 id="trouble">Needs attention</h2>
  <ul>
    {% for one in failed %}<li><a href="{{ one.url }}">{{ one.repository }}</a>: {{ one.job }}.<br><span class="reason">{{ one.why }}</span></li>{% endfor %}
  </ul>
  <p><a href="/queue">{% if more_failed > 0 %}{{ more_failed }} more in the queue{% else %}The queue{% endif %}</a></p>
</section>
{% endif %}
{% if let Some(overview) = overview %}{{ overview }}{% endif %}
<div class="controls">
<form class="filters" method="get" action="/" role="search" aria-label="Clusters">
  <label>Search <input type="search" name="q" value="{{ filter.text }}" placeholder="cluster, release, reason"></label>
  <label>State
    <select name="state">
      <option value="">any</option>
      {% for state in states %}<option{% if state.word == filter.state %} selected{% endif %}>{{ state.word }}</option>{% endfor %}
    </select>
  </label>
  <label>Repository
    {% if repositories.len() > chosen %}
    <input name="repository" value="{{ filter.repository }}" placeholder="owner/name">
    {% else %}
    <select name="repository">
      <option value="">any</option>
      {% for repository in repositories %}<option{% if repository.1 %} selected{% endif %}>{{ repository.0 }}</option>{% endfor %}
    </select>
    {% endif %}
  </label>
  {% if !filter.kubernetes.is_empty() %}<label>Kubernetes <input name="kubernetes" value="{{ filter.kubernetes }}"></label>{% endif %}
  {% if !sort.is_empty() %}<input type="hidden" name="sort" value="{{ sort }}">{% endif %}
  <button>Show</button>
  {% if narrowed %}<a href="{{ everything }}">Show all</a>{% endif %}
</form>
{% if !tally.is_empty() %}
<nav class="tally" aria-label="States">
  <ul>
    {% for one in tally %}<li><a class="mood-{{ one.mood }}" href="{{ one.url }}"{% if one.current %} aria-current="true"{% endif %}><b>{{ one.count }}</b> {{ one.word }}</a></li>{% endfor %}
  </ul>
</nav>
{% endif %}
</div>
{% if repositories.is_empty() %}
<p>Capstan knows no repository yet{% if local %}. Install its GitHub App on one; it appears here within a few minutes{% else %} that you can read{% endif %}.</p>
{% else if groups.is_empty() %}
<p>{% if narrowed %}No cluster matches. <a href="{{ everything }}">Show all</a>.{% else %}Capstan offers nothing to any cluster.{% endif %}</p>
{% else %}
<nav class="views" aria-label="Order">
  <ul>
    {% for view in views %}<li><a href="{{ view.1 }}"{% if view.2 %} aria-current="true"{% endif %}>{{ view.0 }}</a></li>{% endfor %}
  </ul>
</nav>
<table class="cards sorts" role="table">
  <caption>Clusters {{ pager.shown }}</caption>
  <thead role="rowgroup"><tr role="row">{% for heading in headings %}<th role="columnheader" scope="col"{% if let Some(sorted) = heading.sorted %} aria-sort="{{ sorted }}"{% endif %}><a href="{{ heading.url }}">{{ heading.name }}</a></th>{% endfor %}</tr></thead>
  {% for group in groups %}
  <tbody role="rowgroup">
    {% if let Some(name) = group.name %}<tr class="group" role="row"><th role="rowheader" scope="rowgroup" colspan="{{ headings.len() }}">{{ name }}</th></tr>{% endif %}
    {% for row in group.rows %}
    <tr role="row">
      <th role="rowheader" scope="row"{% if row.has_short_name() %} class="short"{% endif %}><a href="{{ row.url }}">{{ row.target }}</a>{% if several || row.kind.is_some() %}<span class="quiet">{% if several %}{{ row.repository }}{% endif %}{% if several && row.kind.is_some() %}, {% endif %}{% if let Some(kind) = row.kind %}{{ kind }}{% endif %}</span>{% endif %}</th>
      {% for heading in headings %}{% if heading.name == "State" %}<td role="cell" data-label="State"><div class="said"><span class="badge mood-{{ row.mood }}">{{ row.state }}</span> <span class="reason">{{ row.said }}</span></div></td>
      {% else if heading.name == "Kubernetes" %}<td role="cell" data-label="Kubernetes" class="step">{% if let Some(now) = row.kubernetes %}{{ now }}{% else %}<span class="quiet">not known</span>{% endif %}{% if let Some(then) = row.kubernetes_offered %} <span class="to">→ {{ then }}</span>{% endif %}</td>
      {% else if heading.name == "Release" %}<td role="cell" data-label="Release" class="step">{{ row.at }}{% if let Some(to) = row.to %} <span class="to">→ {{ to }}</span>{% endif %}</td>
      {% else if heading.name == "Since" %}<td role="cell" data-label="Since">{% if let Some(since) = row.since %}<time datetime="{{ since.0 }}">{{ since.1 }}</time>{% else %}<span class="quiet">not known</span>{% endif %}</td>
      {% else if heading.name == "Wave" %}<td role="cell" data-label="Wave">{% if let Some(wave) = row.wave %}{{ wave }}{% else %}<span class="empty">none</span>{% endif %}</td>
      {% else if heading.name == "Machines" %}<td role="cell" data-label="Machines">{% if let Some(machines) = row.machines %}<span class="mood-{{ machines.0 }}">{{ machines.1 }}</span>{% else %}<span class="empty">none</span>{% endif %}</td>
      {% else if heading.name == "Proposal" %}<td role="cell" data-label="Proposal">{% if let Some(proposal) = row.proposal %}<a href="{{ proposal.0 }}">#{{ proposal.1 }}</a>{% else %}<span class="empty">none</span>{% endif %}</td>
      {% else if heading.name == "Check" %}<td role="cell" data-label="Check" class="check">{% if let Some(check) = row.check %}<span class="mood-{{ check.0 }}">{{ check.1 }}</span>{% else %}<span class="empty">none</span>{% endif %}</td>
      {% endif %}{% endfor %}
    </tr>
    {% endfor %}
  </tbody>
  {% endfor %}
</table>
{{ pager }}
{% endif %}
<details>
  <summary>What the states mean</summary>
  <dl>
    {% for state in states %}<dt><span class="badge mood-{{ state.mood }}">{{ state.word }}</span></dt><dd>{{ state.meaning }}</dd>{% endfor %}
  </dl>
</details>
"##
)]
struct FleetContent<'a> {
    failed: Vec<FailedRepository<'a>>,
    more_failed: usize,
    filter: &'a ClusterFilter,
    narrowed: bool,
    local: bool,
    states: [StateMeaning; ProposalState::ALL.len()],
    /// Name, and whether it is the one that was chosen.
    repositories: Vec<(&'a str, bool)>,
    chosen: usize,
    tally: Vec<Tallied<'a>>,
    overview: Option<Overview>,
    /// As the address has it.
    sort: &'a str,
    /// Without filters, in the same order.
    everything: String,
    /// Name, address, and whether the list is in that order.
    views: Vec<(&'static str, String, bool)>,
    headings: Vec<Heading>,
    groups: Vec<ListedTogether<'a>>,
    /// Whether clusters of several repositories may be among them.
    several: bool,
    pager: Pager,
}

/// Rows under a heading, where the order has such.
struct ListedTogether<'a> {
    name: Option<String>,
    rows: Vec<Row<'a>>,
}

struct StateMeaning {
    word: &'static str,
    mood: &'static str,
    meaning: &'static str,
}

struct Tallied<'a> {
    word: &'a str,
    count: u64,
    mood: &'static str,
    url: String,
    current: bool,
}

pub(super) async fn show(visitor: Visitor, State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let fields = QueryFields::parse(&query.unwrap_or_default());
    shown(&site, &visitor, &fields).await.unwrap_or_else(|error| unavailable(&error))
}

async fn shown(site: &Site, visitor: &Visitor, fields: &QueryFields) -> Result<Response, RecordsError> {
    let filter = ClusterFilter {
        text: fields.text("q"),
        state: fields.text("state").to_lowercase(),
        repository: fields.text("repository"),
        kubernetes: fields.text("kubernetes"),
        order: order_of(&fields.text("sort")),
    };
    let order = filter.order;
    let sort = order_in_address(order);
    let (sight, at) = (visitor.sight(), extent(fields.page(), PER_PAGE));
    // First: what changes meanwhile is seen then.
    let stamp = site.records.stamp(&sight).await?;
    let repositories = site.records.shown_repositories(&sight).await?;
    let tally = site.records.states(&sight, &filter).await?;
    let targets = site.records.targets(&sight, &filter, at).await?;
    let versions = site.records.versions(&sight, &filter).await?;
    let rolling = site.records.rolling(&sight, extent(1, ROLLING)).await?;
    let matching = |state: &str| filter.state.is_empty() || state == filter.state;
    let total = tally.iter().filter(|(state, _)| matching(state)).map(|(_, count)| count).sum();
    let link = |state: &str, sort: &str, page: u64| {
        let fields = [
            ("q", filter.text.as_str()),
            ("state", state),
            ("repository", filter.repository.as_str()),
            ("kubernetes", filter.kubernetes.as_str()),
            ("sort", sort),
        ];
        page_address("/", &fields, page)
    };
    let in_order = |order: ClusterOrder| link(&filter.state, &order_in_address(order), 1);
    let tallied = |(state, count): &(String, u64)| (state.clone(), *count);
    let mut ordered: Vec<(String, u64)> = tally.iter().map(tallied).collect();
    ordered.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then_with(|| a.cmp(b)));
    let mut failed = failed_repositories(site, &repositories);
    let more_failed = failed.len().saturating_sub(NAMED);
    failed.truncate(NAMED);
    let more = at.skip + (targets.len() as u64) < total;
    let rows: Vec<Row<'_>> = targets.iter().map(|target| row(site, target)).collect();
    let headings = headings(&rows, order, in_order);
    let view = |(name, key): (&'static str, SortKey)| {
        let view = ClusterOrder { key, is_reversed: false };
        (name, in_order(view), key == order.key)
    };
    let content = FleetContent {
        failed,
        more_failed,
        narrowed: filter != ClusterFilter { order, ..ClusterFilter::default() },
        local: visitor.login().is_none(),
        states: ProposalState::ALL.map(meaning),
        repositories: repositories
            .iter()
            .map(|one| (one.name.as_str(), one.name.eq_ignore_ascii_case(&filter.repository)))
            .collect(),
        chosen: CHOSEN,
        tally: ordered
            .iter()
            .map(|(word, count)| {
                let current = *word == filter.state;
                let url = link(if current { "" } else { word }, &sort, 1);
                Tallied { word, count: *count, mood: mood(word), url, current }
            })
            .collect(),
        overview: (!repositories.is_empty()).then(|| Overview::of(&versions, &rolling, site.clock.now())),
        sort: &sort,
        everything: address("/", &[("sort", &sort)]),
        views: VIEWS.map(view).to_vec(),
        headings,
        groups: listed(rows, order),
        several: repositories.len() > 1,
        pager: Pager::new(Paged::sorted("clusters"), at, targets.len(), more, Some(total), |page| {
            link(&filter.state, &sort, page)
        }),
        filter: &filter,
    };
    Ok(page(site, Some(visitor), &Titled { title: "The fleet", here: "/", stamp: Some(stamp) }, &content))
}

/// Puts rows that follow one another and belong together under one heading.
fn listed(rows: Vec<Row<'_>>, order: ClusterOrder) -> Vec<ListedTogether<'_>> {
    let mut groups: Vec<ListedTogether<'_>> = Vec::new();
    for row in rows {
        let name = group_of(&row, order);
        match groups.last_mut() {
            Some(group) if group.name == name => group.rows.push(row),
            _ => groups.push(ListedTogether { name, rows: vec![row] }),
        }
    }
    groups
}

const fn meaning(state: ProposalState) -> StateMeaning {
    StateMeaning { word: state.as_str(), mood: of(state.mood()), meaning: state.meaning() }
}

/// What a repository's folder is called on GitHub.
pub(super) fn folder_url(web: &Url, repository: &str, target: &str) -> String {
    format!("{}{}", web.as_str().trim_end_matches('/'), path(&[repository, "tree/HEAD", target]))
}
