//! What every page has: its head, the way to the others, who looks, and the headers that keep it harmless.

use askama::Template;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, StatusCode};
use axum::response::{Html as HtmlAnswer, IntoResponse, Response};
use capstan_campaign::wording::minute;
use capstan_model::wording::count;
use capstan_report::{Mood, ProposalState};
use jiff::Timestamp;

use super::access::Visitor;
use super::prose::Html;
use super::site::Site;
use crate::Mode;
use capstan_listener::answer::HttpRefusal;

/// Styles are in the page itself and are allowed by their hash; all others are forbidden.
const STYLE: &str = include_str!("page.css");

/// Renews a page that is open. It is in the page itself, too, and is allowed by its hash, where a page has it.
const SCRIPT: &str = include_str!("live.js");

/// The pages that the bar leads to: address, name.
const PAGES: &[(&str, &str)] = &[
    ("/", "Fleet"),
    ("/campaigns", "Campaigns"),
    ("/queue", "Queue"),
    ("/deliveries", "Deliveries"),
    ("/audit", "Audit"),
    (RECONCILERS, "Reconcilers"),
];

/// Reconcilers belong to no repository: only people at this machine see them.
const RECONCILERS: &str = "/reconcilers";

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{ title }} · Capstan</title>
<link rel="icon" href="data:,">
<style>{{ style|safe }}</style>
</head>
<body{% if let Some(stamp) = stamp %} data-stamp="{{ stamp }}"{% endif %}>
<a class="skip" href="#main">Skip to the content</a>
<header class="bar">
  <p class="brand">Capstan</p>
  {% if !pages.is_empty() %}
  <nav aria-label="Pages">
    <ul>
      {% for page in pages %}<li><a href="{{ page.0 }}"{% if page.0 == here %} aria-current="page"{% endif %}>{{ page.1 }}</a></li>{% endfor %}
    </ul>
  </nav>
  {% endif %}
  {% if let Some(login) = login %}
  <form class="who" method="post" action="/logout">
    <span>Signed in as <b>{{ login }}</b></span>
    <input type="hidden" name="token" value="{{ form_token }}">
    <button>Sign out</button>
  </form>
  {% endif %}
</header>
{% if is_dry_run %}<p class="dry-run" role="status"><strong>DRY RUN</strong> Nothing is written to GitHub: everything shown here as done was only computed, and the log lists each write.</p>
{% endif %}<main id="main" tabindex="-1">
<h1>{{ title }}</h1>
{{ content }}
</main>
<footer class="quiet">Capstan {{ version }}, <time datetime="{{ now }}">{{ minute }}</time>{% if stamp.is_some() %} <span id="renewed" role="status"></span>{% endif %}</footer>
{% if stamp.is_some() %}<script>{{ script|safe }}</script>
{% endif %}</body>
</html>
"##
)]
struct Frame<'a> {
    title: &'a str,
    style: &'static str,
    script: &'static str,
    /// How the records were, on a page that renews itself.
    stamp: Option<&'a str>,
    pages: Vec<(&'static str, &'static str)>,
    here: &'a str,
    login: Option<&'a str>,
    form_token: &'a str,
    is_dry_run: bool,
    content: Html,
    version: &'static str,
    now: Timestamp,
    minute: String,
}

impl<'a> Frame<'a> {
    fn plain(title: &'a str, content: Html, now: Timestamp) -> Self {
        Self {
            title,
            style: STYLE,
            script: SCRIPT,
            stamp: None,
            pages: Vec::new(),
            here: "",
            login: None,
            form_token: "",
            is_dry_run: false,
            content,
            version: env!("CARGO_PKG_VERSION"),
            now,
            minute: minute(now),
        }
    }
}

/// The title of a page, and its place in the bar.
pub(super) struct Titled<'a> {
    pub(super) title: &'a str,
    /// The address of the page in the bar that it belongs to.
    pub(super) here: &'a str,
    /// How the records were before the page was made, where it is to renew itself.
    pub(super) stamp: Option<String>,
}

/// A page for somebody; `None` for somebody who has not signed in.
pub(super) fn page(
    site: &Site,
    visitor: Option<&Visitor>,
    titled: &Titled<'_>,
    content: &impl Template,
) -> Response {
    let now = site.clock.now();
    let all = |visitor: &Visitor| matches!(visitor, Visitor::Local { .. });
    let pages = match visitor {
        Some(visitor) => PAGES.iter().copied().filter(|page| page.0 != RECONCILERS || all(visitor)).collect(),
        None => Vec::new(),
    };
    let framed = Html::of(content).and_then(|content| {
        let frame = Frame {
            pages,
            here: titled.here,
            login: visitor.and_then(Visitor::login),
            form_token: visitor.map_or("", Visitor::form_token),
            is_dry_run: site.mode == Mode::DryRun,
            stamp: titled.stamp.as_deref(),
            ..Frame::plain(titled.title, content, now)
        };
        frame.render()
    });
    let renewing = if titled.stamp.is_some() { Renewing::Yes } else { Renewing::No };
    match framed {
        Ok(html) => (headers("'self'", renewing), HtmlAnswer(html)).into_response(),
        Err(error) => unavailable(&error),
    }
}

/// Which pages the bar of an error leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ways {
    /// All of them.
    All,
    /// Those of people who sign in.
    OfPeople,
    None,
}

/// The page of an error and its headers; `None` where it cannot be made.
pub(super) fn error_page(
    site: &Site,
    ways: Ways,
    title: &str,
    content: &impl Template,
) -> Option<(String, [(HeaderName, String); 5])> {
    let pages = match ways {
        Ways::All => PAGES.to_vec(),
        Ways::OfPeople => PAGES.iter().copied().filter(|page| page.0 != RECONCILERS).collect(),
        Ways::None => Vec::new(),
    };
    let content = Html::of(content).ok()?;
    let frame = Frame {
        pages,
        is_dry_run: site.mode == Mode::DryRun,
        ..Frame::plain(title, content, site.clock.now())
    };
    Some((frame.render().ok()?, headers("'self'", Renewing::No)))
}

/// A page that nobody signs in for and that leads nowhere; its forms go to `forms` alone, in the words of a content
/// security policy.
pub(crate) fn plain_page(
    status: StatusCode,
    title: &str,
    forms: &str,
    now: Timestamp,
    content: &impl Template,
) -> Response {
    match Html::of(content).and_then(|content| Frame::plain(title, content, now).render()) {
        Ok(html) => (status, headers(forms, Renewing::No), HtmlAnswer(html)).into_response(),
        Err(error) => unavailable(&error),
    }
}

/// That a page cannot be shown.
pub(super) fn unavailable(why: &dyn std::fmt::Display) -> Response {
    HttpRefusal::new(StatusCode::SERVICE_UNAVAILABLE, "This page cannot be shown now")
        .because(why)
        .into_response()
}

pub(super) fn not_there() -> Response {
    HttpRefusal::new(StatusCode::NOT_FOUND, "There is nothing here").into_response()
}

/// Whether a page renews itself: then it runs its script and asks this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewing {
    Yes,
    No,
}

fn headers(forms: &str, renewing: Renewing) -> [(HeaderName, String); 5] {
    let script = match renewing {
        Renewing::Yes => format!(" script-src 'sha256-{}'; connect-src 'self';", hash_of(SCRIPT)),
        Renewing::No => String::new(),
    };
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}';{script} img-src data:; base-uri 'none'; form-action {forms}; \
         frame-ancestors 'none'",
        hash_of(STYLE)
    );
    [
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (X_FRAME_OPTIONS, "DENY".to_owned()),
        // With `no-referrer` browsers hide `Origin` from our own forms too.
        (REFERRER_POLICY, "same-origin".to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
    ]
}

/// As a content security policy names what it allows.
fn hash_of(text: &str) -> String {
    use base64::Engine;
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
    base64::engine::general_purpose::STANDARD.encode(digest)
}

/// How long ago something was, in one word and a number: `3 days`.
pub(super) fn ago(then: Timestamp, now: Timestamp) -> String {
    let minutes = now.duration_since(then).as_mins().max(0);
    let (number, one, many) = match minutes {
        0 => return "a moment".to_owned(),
        1..60 => (minutes, "minute", "minutes"),
        60..1440 => (minutes / 60, "hour", "hours"),
        _ => (minutes / 1440, "day", "days"),
    };
    count(usize::try_from(number).unwrap_or_default(), one, many)
}

/// How a state is coloured; one that is not known asks nothing of anybody.
pub(super) fn mood(word: &str) -> &'static str {
    of(ProposalState::parse(word).map_or(Mood::Waits, ProposalState::mood))
}

/// The class of a mood.
pub(super) const fn of(mood: Mood) -> &'static str {
    match mood {
        Mood::Good => "good",
        Mood::Waits => "waits",
        Mood::Open => "open",
        Mood::Bad => "bad",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_its_largest_unit() {
        let now: Timestamp = "2026-11-29T12:00:00Z".parse().unwrap();
        for (then, expected) in [
            ("2026-11-29T12:00:00Z", "a moment"),
            ("2026-11-29T12:05:00Z", "a moment"),
            ("2026-11-29T11:59:00Z", "1 minute"),
            ("2026-11-29T11:00:30Z", "59 minutes"),
            ("2026-11-29T11:00:00Z", "1 hour"),
            ("2026-11-28T12:01:00Z", "23 hours"),
            ("2026-11-28T12:00:00Z", "1 day"),
            ("2025-11-29T12:00:00Z", "365 days"),
        ] {
            assert_eq!(ago(then.parse().unwrap(), now), expected, "{then}");
        }
    }

    /// A record may hold the word of another version.
    #[test]
    fn a_state_that_is_not_known_asks_nothing_of_anybody() {
        for (word, expected) in [
            ("current", "good"),
            ("held", "waits"),
            ("edited", "open"),
            ("blocked", "bad"),
            ("of-tomorrow", "waits"),
            ("", "waits"),
        ] {
            assert_eq!(mood(word), expected, "{word}");
        }
    }
}
