//! `GET /`: all clusters that somebody may see, narrowed by words, state and repository, a hundred at a time.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use capstan_live::agent::RolloutState;
use capstan_model::source::SourceKind;
use capstan_model::wording::count_of;
use capstan_report::{Mood, ProposalState};
use url::Url;

use super::Site;
use super::access::Visitor;
use super::frame::{Titled, mood, of, page, unavailable};
use super::prose::{Html, prose};
use super::query::{Fields, Paged, Pager, extent, page_address, path};
use super::queue::{Trouble, troubled};
use capstan_ports::{CheckConclusion, ClusterFilter, RecordsError, ShownTarget};

const PER_PAGE: u32 = 100;
/// More repositories than these are written into a field, not chosen from a list.
const CHOSEN: usize = 100;
/// Repositories in trouble that the page names.
const NAMED: usize = 5;

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"{% if !troubled.is_empty() %}
<section class="trouble" aria-labelledby="trouble">
  <h2 id="trouble">Needs attention</h2>
  <ul>
    {% for trouble in troubled %}<li><a href="{{ trouble.url }}">{{ trouble.repository }}</a>: {{ trouble.job }}.<br><span class="reason">{{ trouble.why }}</span></li>{% endfor %}
  </ul>
  <p><a href="/queue">{% if more_troubled > 0 %}{{ more_troubled }} more in the queue{% else %}The queue{% endif %}</a></p>
</section>
{% endif %}
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
  <button>Show</button>
  {% if narrowed %}<a href="/">Show all</a>{% endif %}
</form>
{% if !tally.is_empty() %}
<nav class="tally" aria-label="States">
  <ul>
    {% for one in tally %}<li><a class="mood-{{ one.mood }}" href="{{ one.url }}"{% if one.current %} aria-current="true"{% endif %}><b>{{ one.count }}</b> {{ one.word }}</a></li>{% endfor %}
  </ul>
</nav>
{% endif %}
{% if repositories.is_empty() %}
<p>Capstan knows no repository yet{% if local %}. Install its GitHub App on one; it appears here within a few minutes{% else %} that you can read{% endif %}.</p>
{% else if rows.is_empty() %}
<p>{% if narrowed %}No cluster matches. <a href="/">Show all</a>.{% else %}Capstan offers nothing to any cluster.{% endif %}</p>
{% else %}
<table class="cards" role="table">
  <caption>Clusters {{ pager.shown }}</caption>
  <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Cluster</th><th role="columnheader" scope="col">Release</th><th role="columnheader" scope="col">Offered</th><th role="columnheader" scope="col">State</th><th role="columnheader" scope="col">Proposal</th><th role="columnheader" scope="col">Check</th><th role="columnheader" scope="col">Hold</th><th role="columnheader" scope="col">Rollout</th></tr></thead>
  <tbody role="rowgroup">
    {% for row in rows %}
    <tr role="row">
      <th role="rowheader" scope="row"><a href="{{ row.url }}">{{ row.name }}</a><span class="quiet">{{ row.repository }}</span></th>
      <td role="cell" data-label="Release">{{ row.at }}</td>
      <td role="cell" data-label="Offered">{{ row.offered }}</td>
      <td role="cell" data-label="State"><span class="badge mood-{{ row.mood }}">{{ row.state }}</span><span class="reason">{{ row.reason }}</span></td>
      <td role="cell" data-label="Proposal">{% if let Some(proposal) = row.proposal %}<a href="{{ proposal.0 }}">#{{ proposal.1 }}</a>{% else %}<span class="quiet">none</span>{% endif %}</td>
      <td role="cell" data-label="Check">{% if let Some(check) = row.check %}<span class="mood-{{ check.0 }}">{{ check.1 }}</span>{% else %}<span class="quiet">none</span>{% endif %}</td>
      <td role="cell" data-label="Hold">{% if let Some(hold) = row.hold %}{{ hold }}{% else %}<span class="quiet">none</span>{% endif %}</td>
      <td role="cell" data-label="Rollout">{% if let Some(rollout) = row.rollout %}<span class="mood-{{ rollout.0 }}">{{ rollout.1 }}</span>{% else %}<span class="quiet">not reported</span>{% endif %}</td>
    </tr>
    {% endfor %}
  </tbody>
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
struct Content<'a> {
    troubled: Vec<Trouble<'a>>,
    more_troubled: usize,
    filter: &'a ClusterFilter,
    narrowed: bool,
    local: bool,
    states: [Meaning; ProposalState::ALL.len()],
    /// Name, and whether it is the one that was chosen.
    repositories: Vec<(&'a str, bool)>,
    chosen: usize,
    tally: Vec<Tallied<'a>>,
    rows: Vec<Row<'a>>,
    pager: Pager,
}

struct Meaning {
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

/// A cluster in a table.
pub(super) struct Row<'a> {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) repository: &'a str,
    pub(super) at: &'a str,
    pub(super) offered: String,
    pub(super) state: &'a str,
    pub(super) mood: &'static str,
    pub(super) reason: Html,
    /// Address and number.
    pub(super) proposal: Option<(String, u64)>,
    /// Mood and words.
    pub(super) check: Option<(&'static str, String)>,
    /// Who holds it back, why, and until when.
    pub(super) hold: Option<Html>,
    /// Likewise.
    pub(super) rollout: Option<(&'static str, String)>,
}

pub(super) async fn show(visitor: Visitor, State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let fields = Fields::parse(&query.unwrap_or_default());
    shown(&site, &visitor, &fields).await.unwrap_or_else(|error| unavailable(&error))
}

async fn shown(site: &Site, visitor: &Visitor, fields: &Fields) -> Result<Response, RecordsError> {
    let filter = ClusterFilter {
        text: fields.text("q"),
        state: fields.text("state").to_lowercase(),
        repository: fields.text("repository"),
    };
    let (sight, at) = (visitor.sight(), extent(fields.page(), PER_PAGE));
    let repositories = site.records.shown_repositories(&sight).await?;
    let tally = site.records.states(&sight, &filter).await?;
    let targets = site.records.targets(&sight, &filter, at).await?;
    let matching = |state: &str| filter.state.is_empty() || state == filter.state;
    let total = tally.iter().filter(|(state, _)| matching(state)).map(|(_, count)| count).sum();
    let link = |state: &str, page: u64| {
        let fields =
            [("q", filter.text.as_str()), ("state", state), ("repository", filter.repository.as_str())];
        page_address("/", &fields, page)
    };
    let tallied = |(state, count): &(String, u64)| (state.clone(), *count);
    let mut ordered: Vec<(String, u64)> = tally.iter().map(tallied).collect();
    ordered.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then_with(|| a.cmp(b)));
    let mut trouble = troubled(site, &repositories);
    let more_troubled = trouble.len().saturating_sub(NAMED);
    trouble.truncate(NAMED);
    let more = at.skip + (targets.len() as u64) < total;
    let content = Content {
        troubled: trouble,
        more_troubled,
        narrowed: filter != ClusterFilter::default(),
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
                let url = link(if current { "" } else { word }, 1);
                Tallied { word, count: *count, mood: mood(word), url, current }
            })
            .collect(),
        rows: targets.iter().map(|target| row(site, target)).collect(),
        pager: Pager::new(Paged::sorted("clusters"), at, targets.len(), more, Some(total), |page| {
            link(&filter.state, page)
        }),
        filter: &filter,
    };
    Ok(page(site, Some(visitor), &Titled { title: "The fleet", here: "/" }, &content))
}

/// A cluster for a table.
pub(super) fn row<'a>(site: &Site, target: &'a ShownTarget) -> Row<'a> {
    let repository = site.repository_url(&target.repository_name);
    Row {
        name: if target.kind == SourceKind::RELEASE.as_str() {
            target.target.clone()
        } else {
            format!("{} ({})", target.target, target.kind)
        },
        url: path(&["clusters", &target.repository_name, &target.target]),
        repository: &target.repository_name,
        at: target.at.as_deref().unwrap_or("unknown"),
        offered: offered(target),
        state: &target.state,
        mood: mood(&target.state),
        reason: prose(&target.reason, Some(&repository)),
        proposal: target.pull_request.map(|number| (format!("{repository}/pull/{number}"), number)),
        check: target.check.as_ref().map(|(conclusion, title)| {
            (mood_of_check(conclusion), format!("{}: {title}", conclusion.replace('_', " ")))
        }),
        hold: target.hold.as_ref().map(|hold| prose(hold, Some(&repository))),
        rollout: target.rollout.as_ref().map(|report| {
            let mood = match report.state {
                RolloutState::Done => "good",
                RolloutState::Stuck | RolloutState::Refused => "bad",
                RolloutState::Rolling => "open",
                RolloutState::Waiting | RolloutState::Unknown => "waits",
            };
            let machines = if report.wanted > 0 {
                let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
                let of = count_of(number(report.ready), number(report.wanted), "machine", "machines");
                format!("{}, {of}", report.state.as_str())
            } else {
                report.state.as_str().to_owned()
            };
            (mood, machines)
        }),
    }
}

/// How the conclusion of a check is coloured; one that is not known as one that stands against it.
fn mood_of_check(conclusion: &str) -> &'static str {
    of(match CheckConclusion::parse(conclusion) {
        Some(CheckConclusion::Success) => Mood::Good,
        Some(CheckConclusion::Neutral) => Mood::Waits,
        Some(CheckConclusion::Failure | CheckConclusion::ActionRequired) | None => Mood::Bad,
    })
}

const fn meaning(state: ProposalState) -> Meaning {
    Meaning { word: state.as_str(), mood: of(state.mood()), meaning: state.meaning() }
}

/// What there is for a target: where that is the source that it has, what else of it.
fn offered(target: &ShownTarget) -> String {
    match &target.offered {
        None => "nothing".to_owned(),
        Some(offered) if target.at.as_ref() != Some(offered) => offered.clone(),
        Some(offered) if target.kind == SourceKind::RELEASE.as_str() => format!("{offered} as it is now"),
        Some(_) => "other values".to_owned(),
    }
}

/// What a repository's folder is called on GitHub.
pub(super) fn folder_url(web: &Url, repository: &str, target: &str) -> String {
    format!("{}{}", web.as_str().trim_end_matches('/'), path(&[repository, "tree/HEAD", target]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_coloured_by_its_conclusion() {
        for (conclusion, expected) in [
            ("success", "good"),
            ("neutral", "waits"),
            ("failure", "bad"),
            ("action_required", "bad"),
            ("of_tomorrow", "bad"),
        ] {
            assert_eq!(mood_of_check(conclusion), expected, "{conclusion}");
        }
    }
}
