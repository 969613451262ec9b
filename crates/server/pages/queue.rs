//! `GET /queue`: the work of each repository, and how many proposals it may have; a button queues one again.

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};

use super::access::Visitor;
use super::frame::{Titled, not_there, page, unavailable};
use super::prose::{Html, prose};
use super::query::{Paged, Pager, QueryFields, extent, page_address};
use super::site::Site;
use capstan_campaign::wording::minute;
use capstan_ports::{Again, FleetJob, JobState, ShownRepository};

const PER_PAGE: u32 = 100;

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<p>{{ waiting }} waiting, {{ running }} running, {{ dead }} given up. Capstan looks at a repository when something happens in it, and also every few minutes.</p>
{% if rows.is_empty() %}
<p>There is no repository here.</p>
{% else %}
<table class="cards" role="table">
  <caption>Repositories {{ pager.shown }}, their work and their budgets</caption>
  <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Repository</th><th role="columnheader" scope="col">Work</th><th role="columnheader" scope="col">Proposals open</th><th role="columnheader" scope="col">Opened in the last hour</th><th role="columnheader" scope="col">Do</th></tr></thead>
  <tbody role="rowgroup">
    {% for row in rows %}
    <tr role="row">
      <th role="rowheader" scope="row"><a href="{{ row.url }}">{{ row.name }}</a></th>
      <td role="cell" data-label="Work"><span class="badge mood-{{ row.mood }}">{{ row.state }}</span><span class="reason">{{ row.job }}.</span>{% if let Some(why) = row.why %}<span class="reason">{{ why }}</span>{% endif %}</td>
      <td role="cell" data-label="Proposals open">{{ row.open }}</td>
      <td role="cell" data-label="Opened in the last hour">{{ row.opened }}</td>
      <td role="cell" data-label="Do">{% if row.may_write %}<form method="post" action="/queue/{{ row.id }}/look"><input type="hidden" name="token" value="{{ form_token }}"><button aria-label="Look again at {{ row.name }}">Look again</button></form>{% else %}<span class="quiet">needs write access</span>{% endif %}</td>
    </tr>
    {% endfor %}
  </tbody>
</table>
{{ pager }}
{% endif %}
"##
)]
struct QueueContent<'a> {
    waiting: usize,
    running: usize,
    dead: usize,
    rows: Vec<QueueLine<'a>>,
    pager: Pager,
    form_token: &'a str,
}

/// The work of a repository, and its budget.
pub(super) struct QueueLine<'a> {
    id: u64,
    name: &'a str,
    url: String,
    pub(super) state: &'static str,
    pub(super) mood: &'static str,
    pub(super) job: String,
    pub(super) why: Option<Html>,
    pub(super) open: String,
    pub(super) opened: String,
    may_write: bool,
}

pub(super) struct FailedRepository<'a> {
    pub(super) repository: &'a str,
    pub(super) url: String,
    pub(super) job: String,
    pub(super) why: Html,
}

pub(super) async fn show(visitor: Visitor, State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let repositories = match site.records.shown_repositories(&visitor.sight()).await {
        Ok(repositories) => repositories,
        Err(error) => return unavailable(&error),
    };
    let count = |state| repositories.iter().filter(|repository| repository.job.state == state).count();
    let at = extent(QueryFields::parse(&query.unwrap_or_default()).page(), PER_PAGE);
    let skip = usize::try_from(at.skip).unwrap_or(usize::MAX);
    let shown: Vec<&ShownRepository> = repositories.iter().skip(skip).take(PER_PAGE as usize).collect();
    let content = QueueContent {
        waiting: count(JobState::Queued),
        running: count(JobState::Running),
        dead: count(JobState::Dead),
        rows: shown.iter().map(|repository| row(&site, &visitor, repository)).collect(),
        pager: Pager::new(
            Paged::sorted("repositories"),
            at,
            shown.len(),
            repositories.len() > skip.saturating_add(shown.len()),
            Some(repositories.len() as u64),
            |page| page_address("/queue", &[], page),
        ),
        form_token: visitor.form_token(),
    };
    page(&site, Some(&visitor), &Titled { title: "Queue and budget", here: "/queue", stamp: None }, &content)
}

pub(super) fn row<'a>(site: &Site, visitor: &Visitor, repository: &'a ShownRepository) -> QueueLine<'a> {
    let ShownRepository { id, name, job, open, opened_last_hour, limits, .. } = repository;
    let of = |count: &u64, limit: Option<u64>| match limit {
        Some(limit) => format!("{count} of {limit}"),
        None => count.to_string(),
    };
    let url = site.repository_url(name);
    QueueLine {
        id: *id,
        name,
        state: job.state.as_str(),
        mood: match job.state {
            JobState::Idle if job.reason.is_none() => "good",
            JobState::Running => "open",
            JobState::Idle | JobState::Queued => "waits",
            JobState::Dead => "bad",
        },
        job: describe(job),
        why: job.reason.as_deref().map(|reason| prose(reason, Some(&url))),
        open: of(open, limits.map(|(open, _)| open)),
        opened: of(opened_last_hour, limits.map(|(_, hour)| hour)),
        may_write: visitor.may_write(*id),
        url,
    }
}

/// The repositories whose last run failed. A run that only waits (GitHub still computes, a rate limit) has
/// not failed.
pub(super) fn failed_repositories<'a>(
    site: &Site,
    repositories: &'a [ShownRepository],
) -> Vec<FailedRepository<'a>> {
    let failed = repositories.iter().filter(|repository| {
        let job = &repository.job;
        job.reason.is_some() && (job.attempts > 0 || job.state == JobState::Dead)
    });
    failed
        .map(|repository| {
            let url = site.repository_url(&repository.name);
            FailedRepository {
                repository: &repository.name,
                job: describe(&repository.job),
                why: prose(repository.job.reason.as_deref().unwrap_or_default(), Some(&url)),
                url,
            }
        })
        .collect()
}

fn describe(job: &FleetJob) -> String {
    let last = job.finished_at.map_or_else(|| "never yet".to_owned(), minute);
    match job.state {
        JobState::Idle => format!("last checked {last}"),
        JobState::Running => "being checked now".to_owned(),
        JobState::Queued if job.attempts > 0 => {
            let times = if job.attempts == 1 { "once".to_owned() } else { format!("{} times", job.attempts) };
            format!("failed {times}, tried again at {}; last success: {last}", minute(job.not_before))
        }
        JobState::Queued => format!("waits its turn; last checked: {last}"),
        JobState::Dead => format!(
            "given up after {} failures, until something happens in the repository; last success: {last}",
            job.attempts
        ),
    }
}

pub(super) async fn look(
    visitor: Visitor,
    State(site): State<Site>,
    Path(repository): Path<u64>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    if let Err(refusal) = visitor.believes(&site, &headers, body).await {
        return refusal.into_response();
    }
    if let Err(refusal) = allowed(&visitor, repository) {
        return *refusal;
    }
    match site.records.look_again(repository, visitor.name()).await {
        Ok(Again::Queued) => {
            tracing::info!(
                repository.id = repository,
                actor = visitor.name(),
                "requested a new check on the page"
            );
            Redirect::to("/queue").into_response()
        }
        Ok(Again::NotThere) => not_there(),
        Err(error) => unavailable(&error),
    }
}

/// Whether somebody may have things done in a repository: what they may not even see is not there.
pub(super) fn allowed(visitor: &Visitor, repository: u64) -> Result<(), Box<Response>> {
    use axum::http::StatusCode;
    use capstan_listener::answer::HttpRefusal;
    if !visitor.sight().includes(repository) {
        return Err(Box::new(not_there()));
    }
    if !visitor.may_write(repository) {
        let refusal = HttpRefusal::new(StatusCode::FORBIDDEN, "This needs write access to the repository")
            .because(&format_args!("{} has only read access there", visitor.name()));
        return Err(Box::new(refusal.into_response()));
    }
    Ok(())
}
