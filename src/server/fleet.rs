//! `GET /`: the fleet at a glance. Works without JavaScript, and shows nothing that is secret.

use std::borrow::Cow;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::response::{Html, IntoResponse, Response};
use capstan_model::source::SourceKind;
use jiff::Timestamp;
use url::Url;

use super::Shared;
use super::answer::Refusal;
use crate::app::ports::{Agent, Fleet, FleetJob, FleetRepository, FleetTarget, JobState};

/// Styles stand in the page itself and are allowed by their hash; everything else is forbidden.
const STYLE: &str = include_str!("fleet.css");

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Capstan: the fleet</title>
<style>{{ style|safe }}</style>
</head>
<body>
<header>
  <h1>The fleet</h1>
  <p class="quiet">Capstan {{ version }}, {{ now }}</p>
  {% if !tally.is_empty() %}
  <ul class="tally">
    {% for (state, count) in tally %}<li class="state-{{ state }}"><b>{{ count }}</b> {{ state }}</li>{% endfor %}
  </ul>
  {% endif %}
</header>
<main>
{% if !troubled.is_empty() %}
<section class="trouble" aria-labelledby="trouble">
  <h2 id="trouble">Needs a look</h2>
  <ul>
    {% for repository in troubled %}
    <li><a href="{{ repository.url }}">{{ repository.name }}</a>: {{ repository.job }}.
      {% if let Some(trouble) = repository.trouble %}<br><span class="reason">{{ trouble }}</span>{% endif %}</li>
    {% endfor %}
  </ul>
</section>
{% endif %}
{% if repositories.is_empty() %}
<p>Capstan knows no repository yet. Install its GitHub App on one; it appears here within a few minutes.</p>
{% endif %}
{% for repository in repositories %}
<section>
  <h2><a href="{{ repository.url }}">{{ repository.name }}</a> <span class="badge state-{{ repository.state }}">{{ repository.state }}</span></h2>
  <p class="quiet">{{ repository.job }}.{% if let Some(source) = repository.source %} Offering <b>{{ source }}</b>.{% endif %}</p>
  {% if repository.targets.is_empty() %}
  <p>No cluster is being offered anything.</p>
  {% else %}
  <div class="scroll">
  <table>
    <thead><tr><th scope="col">Cluster</th><th scope="col">State</th><th scope="col">Proposal</th><th scope="col">Why</th></tr></thead>
    <tbody>
      {% for target in repository.targets %}
      <tr>
        <th scope="row"><a href="{{ target.url }}">{{ target.id }}</a></th>
        <td><span class="badge state-{{ target.state }}">{{ target.state }}</span></td>
        <td>{% if let Some((number, url)) = target.proposal %}<a href="{{ url }}">#{{ number }}</a> {{ target.offered }}{% endif %}</td>
        <td>{{ target.reason }}</td>
      </tr>
      {% endfor %}
    </tbody>
  </table>
  </div>
  {% endif %}
</section>
{% endfor %}
{% if !agents.is_empty() %}
<section aria-labelledby="reconcilers">
  <h2 id="reconcilers">Reconcilers</h2>
  <div class="scroll">
  <table>
    <thead><tr><th scope="col">Name</th><th scope="col">Management cluster</th><th scope="col">State</th><th scope="col">Enrolled</th><th scope="col">Invited by</th><th scope="col">Last seen</th></tr></thead>
    <tbody>
      {% for agent in agents %}
      <tr>
        <th scope="row">{{ agent.name }} <span class="quiet">{{ agent.id }}</span></th>
        <td>{{ agent.management_cluster }}</td>
        <td><span class="badge state-{{ agent.state }}">{{ agent.state }}</span></td>
        <td>{{ agent.enrolled }}</td>
        <td>{{ agent.invited_by }}</td>
        <td>{{ agent.seen }}</td>
      </tr>
      {% endfor %}
    </tbody>
  </table>
  </div>
</section>
{% endif %}
</main>
</body>
</html>"#
)]
struct Page<'a> {
    style: &'static str,
    version: &'static str,
    now: String,
    tally: Vec<(&'a str, usize)>,
    troubled: Vec<&'a Repository<'a>>,
    repositories: &'a [Repository<'a>],
    agents: Vec<Reconciler<'a>>,
}

struct Reconciler<'a> {
    id: &'a str,
    name: &'a str,
    management_cluster: &'a str,
    state: &'static str,
    enrolled: String,
    invited_by: &'a str,
    seen: String,
}

struct Repository<'a> {
    name: &'a str,
    url: String,
    state: &'static str,
    job: String,
    trouble: Option<&'a str>,
    source: Option<&'a str>,
    targets: Vec<Target<'a>>,
}

struct Target<'a> {
    id: Cow<'a, str>,
    url: String,
    state: &'a str,
    reason: &'a str,
    offered: &'a str,
    proposal: Option<(u64, String)>,
}

pub(super) async fn show(State(shared): State<Shared>) -> Response {
    let unavailable = |why: &dyn std::fmt::Display| {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "The fleet cannot be shown now")
            .because(why)
            .into_response()
    };
    let fleet = match shared.fleet.fleet().await {
        Ok(fleet) => fleet,
        Err(error) => return unavailable(&error),
    };
    match render(&fleet, &shared.web_url, shared.clock.now()) {
        Ok(page) => {
            let policy = format!(
                "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'; \
                 frame-ancestors 'none'",
                style_hash()
            );
            let headers = [
                (CONTENT_SECURITY_POLICY, policy.as_str()),
                (X_CONTENT_TYPE_OPTIONS, "nosniff"),
                (X_FRAME_OPTIONS, "DENY"),
                (REFERRER_POLICY, "no-referrer"),
                (CACHE_CONTROL, "no-store"),
            ];
            (headers, Html(page)).into_response()
        }
        Err(error) => unavailable(&error),
    }
}

fn style_hash() -> String {
    use base64::Engine;
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, STYLE.as_bytes());
    base64::engine::general_purpose::STANDARD.encode(digest)
}

fn render(fleet: &Fleet, web_url: &Url, now: Timestamp) -> Result<String, askama::Error> {
    let repositories: Vec<Repository<'_>> =
        fleet.repositories.iter().map(|repository| describe(repository, web_url)).collect();
    let page = Page {
        style: STYLE,
        version: env!("CARGO_PKG_VERSION"),
        now: minute(now),
        tally: tally(fleet),
        troubled: repositories.iter().filter(|repository| repository.trouble.is_some()).collect(),
        repositories: &repositories,
        agents: fleet.agents.iter().map(reconciler).collect(),
    };
    page.render()
}

fn describe<'a>(repository: &'a FleetRepository, web_url: &Url) -> Repository<'a> {
    let url = format!("{}/{}", web_url.as_str().trim_end_matches('/'), repository.name);
    let target = |target: &'a FleetTarget| Target {
        id: if target.kind == SourceKind::RELEASE.as_str() {
            Cow::Borrowed(target.target.as_str())
        } else {
            Cow::Owned(format!("{} ({})", target.target, target.kind))
        },
        url: format!("{url}/tree/HEAD/{}", target.target),
        state: &target.state,
        reason: &target.reason,
        offered: target.offered.as_deref().unwrap_or_default(),
        proposal: target.pull_request.map(|number| (number, format!("{url}/pull/{number}"))),
    };
    Repository {
        name: &repository.name,
        state: repository.job.state.as_str(),
        job: describe_job(&repository.job),
        // A wait that is no failure (GitHub still computes, a rate limit) is nothing to look at.
        trouble: repository
            .job
            .reason
            .as_deref()
            .filter(|_| repository.job.attempts > 0 || repository.job.state == JobState::Dead),
        source: repository.source.as_deref(),
        targets: repository.targets.iter().map(target).collect(),
        url,
    }
}

fn reconciler(agent: &Agent) -> Reconciler<'_> {
    Reconciler {
        id: agent.id.as_str(),
        name: &agent.name,
        management_cluster: agent.management_cluster.as_str(),
        state: if agent.revoked_at.is_some() { "revoked" } else { "enrolled" },
        enrolled: minute(agent.enrolled_at),
        invited_by: &agent.invited_by,
        seen: agent.seen_at.map_or_else(|| "never".to_owned(), minute),
    }
}

fn describe_job(job: &FleetJob) -> String {
    let last = job.finished_at.map_or_else(|| "never yet".to_owned(), minute);
    match job.state {
        JobState::Idle => format!("up to date, last looked at {last}"),
        JobState::Running => "being looked at now".to_owned(),
        JobState::Queued if job.attempts > 0 => {
            format!(
                "failed {} times, tried again at {}; last success: {last}",
                job.attempts,
                minute(job.not_before)
            )
        }
        JobState::Queued => format!("waits its turn; last looked at: {last}"),
        JobState::Dead => format!(
            "given up after {} failures, until something new happens in the repository; last success: {last}",
            job.attempts
        ),
    }
}

/// How many targets are in which state, most first.
fn tally(fleet: &Fleet) -> Vec<(&str, usize)> {
    let mut tally: Vec<(&str, usize)> = Vec::new();
    for target in fleet.repositories.iter().flat_map(|repository| &repository.targets) {
        match tally.iter_mut().find(|(state, _)| *state == target.state) {
            Some((_, count)) => *count += 1,
            None => tally.push((&target.state, 1)),
        }
    }
    tally.sort_by_key(|&(state, count)| (std::cmp::Reverse(count), state));
    tally
}

/// `2026-11-21 13:05 UTC`
fn minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
