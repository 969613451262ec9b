//! `/setup`: the pages by which somebody makes the GitHub App, while there is none.
//!
//! | who may reach it | what stops them |
//! |---|---|
//! | others on this machine | the token or the ticket, which the log has: without one there is no manifest and no state |
//! | other sites in the same browser | the token; on a loopback address, the name that `Host` has to be |
//! | everybody who can reach the listener | the token, again |
//! | who sees addresses (histories, proxies) | the token is in a form's body; ticket, state and code are good once, and the ticket on a loopback address alone |
//!
//! Once an App is kept this server ends, and the bot's has no such page.

use std::net::SocketAddr;
use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use capstan_model::wording::list;
use secrecy::ExposeSecret as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::INTERNAL_CONNECTIONS;
use super::body::Bodies;
use super::pages::{QueryFields, names_this_machine, plain_page};
use crate::Intake;
use capstan_bot::setup::{Addresses, GOOD_FOR, NotSetUp, Setup, manifest};
use capstan_listener as listener;
use capstan_listener::Grants;
use capstan_listener::answer::{self, HttpRefusal};
use capstan_ports::{Clock, ManifestError};

const HERE: &str = "/setup";
const BACK: &str = "/setup/created";
/// A token and a login.
const FORM_BYTES: usize = 8 << 10;
/// GitHub's logins are no longer.
const LOGIN_CHARACTERS: usize = 39;
const NO_LOGIN: &str = "That is not a valid name of an organisation on GitHub.";
const NO_PLACE: &str = "Your browser does not send the origin of this page.";

/// What the setup works with.
pub struct SetupParts {
    /// Makes the App.
    pub setup: Arc<Setup>,
    /// How GitHub will reach the bot.
    pub public_url: Url,
    /// Where people see GitHub.
    pub web_url: Url,
    /// Where people who sign in come back to, where they may.
    pub callback: Option<Url>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

#[derive(Clone)]
struct SetupState {
    parts: Arc<SetupParts>,
    bodies: Bodies,
    address: SocketAddr,
    /// Cancelled once an App is kept.
    kept: CancellationToken,
}

/// Whether an App was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetUp {
    /// It was, and is kept.
    Done,
    /// The process was stopped before.
    Stopped,
}

/// Serves `/setup` on `internal` until an App is kept, and `/healthz` there and on `public`, whose ports are the bot's
/// then. Both are free again when this returns.
///
/// # Errors
/// The address of a listener cannot be read.
pub async fn serve_setup(
    public: TcpListener,
    internal: TcpListener,
    parts: SetupParts,
    stop: CancellationToken,
) -> std::io::Result<SetUp> {
    let intake = Intake::default();
    let kept = CancellationToken::new();
    let shared = SetupState {
        parts: Arc::new(parts),
        bodies: Bodies::new(intake.body_bytes, FORM_BYTES, intake.body_timeout),
        address: internal.local_addr()?,
        kept: kept.clone(),
    };
    let alive = || Router::new().route("/healthz", get(|| async { answer::text(StatusCode::OK, "ok\n") }));
    let pages = Router::new()
        .route(HERE, get(show).post(begin))
        .route(BACK, get(finish))
        .with_state(shared)
        .merge(alive())
        .fallback(answer::not_found);
    let others = alive().fallback(answer::not_found);
    let grants = Grants {
        connections: INTERNAL_CONNECTIONS,
        head_timeout: intake.header_timeout,
        send_timeout: intake.send_timeout,
    };
    let ended = CancellationToken::new();
    tokio::join!(
        listener::serve(internal, pages, grants, ended.clone()),
        listener::serve(public, others, grants, ended.clone()),
        async {
            tokio::select! {
                () = kept.cancelled() => {}
                () = stop.cancelled() => {}
            }
            ended.cancel();
        },
    );
    Ok(if kept.is_cancelled() { SetUp::Done } else { SetUp::Stopped })
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<p>Capstan needs its own GitHub App. GitHub creates one for {{ public }} with the settings that Capstan sends. The next page lists its permissions.</p>
{% if let Some(trouble) = trouble %}<div class="trouble" role="alert"><p>{{ trouble }}</p></div>{% endif %}
<form class="filters" method="post" action="/setup">
  <label>Token, from the log of this process <input name="token" type="password" autocomplete="off" required></label>
  <label>Organisation that owns the App (empty: you) <input name="organization" autocomplete="off" maxlength="39"></label>
  <button>Continue</button>
</form>
"##
)]
struct First<'a> {
    public: &'a str,
    trouble: Option<&'a str>,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<p>GitHub asks for a name and creates the App for <b>{{ owner }}</b>, with exactly these permissions. Come back within {{ minutes }} minutes.</p>
<table>
  <caption>Permissions of the App</caption>
  <thead><tr><th scope="col">Of</th><th scope="col">Right</th></tr></thead>
  <tbody>{% for right in rights %}<tr><th scope="row">{{ right.0 }}</th><td>{{ right.1 }}</td></tr>{% endfor %}</tbody>
</table>
<p>GitHub sends {{ events }} to <code>{{ webhook }}</code>.</p>
{% if let Some(callback) = callback %}<p>After sign-in, people return to <code>{{ callback }}</code>.</p>{% endif %}
<form class="filters" method="post" action="{{ action }}">
  <input type="hidden" name="manifest" value="{{ manifest }}">
  <button>Create the GitHub App</button>
</form>
{% if let Some(pass) = pass %}
<form class="filters" method="post" action="/setup" aria-label="Owner">
  <input type="hidden" name="token" value="{{ pass }}">
  <label>Another organisation as owner of the App <input name="organization" autocomplete="off" maxlength="39" required></label>
  <button>Change the owner</button>
</form>
{% endif %}
"##
)]
struct Second<'a> {
    owner: &'a str,
    minutes: i64,
    rights: Vec<(String, &'static str)>,
    events: String,
    webhook: &'a str,
    callback: Option<&'a str>,
    action: &'a str,
    manifest: &'a str,
    /// With what another owner may be asked for.
    pass: Option<&'a str>,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<p>GitHub made <a href="{{ page }}">{{ name }}</a> (App {{ id }}). Its key and secrets are in <code>{{ place }}</code>. Capstan reads them there at every start; you need not copy them.</p>
<p>Capstan continues now. Next: <a class="button" href="{{ page }}/installations/new">Install the App</a> on the GitOps repository.</p>
"##
)]
struct LastStep<'a> {
    name: &'a str,
    id: u64,
    page: &'a str,
    place: String,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<div class="trouble" role="alert"><p>{{ what }}</p><p>{{ todo }}</p>{% if let Some(page) = page %}<p><a href="{{ page }}">{{ page }}</a></p>{% endif %}</div>
<p><a class="button" href="/setup">Begin again</a></p>
"##
)]
struct SetupFailed<'a> {
    what: &'a str,
    todo: &'a str,
    page: Option<&'a str>,
}

impl SetupState {
    /// On a loopback address only this machine's own names are answered: another site's name may be made to lead here.
    fn refuse(&self, headers: &HeaderMap) -> Option<Response> {
        if !self.address.ip().is_loopback() || names_this_machine(headers) {
            return None;
        }
        let sentence = "This page is available only as localhost and 127.0.0.1";
        let refusal = HttpRefusal::new(StatusCode::MISDIRECTED_REQUEST, sentence);
        Some(refusal.because(&"the Host header has another name").into_response())
    }

    fn first(&self, status: StatusCode, trouble: Option<&str>) -> Response {
        let content = First { public: self.parts.public_url.as_str(), trouble };
        plain_page(status, "Create the GitHub App", "'self'", self.parts.clock.now(), &content)
    }

    fn failed(&self, status: StatusCode, what: &str, todo: &str, page: Option<&str>) -> Response {
        let content = SetupFailed { what, todo, page };
        plain_page(status, "There is no App", "'none'", self.parts.clock.now(), &content)
    }
}

async fn show(State(shared): State<SetupState>, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    if let Some(refused) = shared.refuse(&headers) {
        return refused;
    }
    let fields = QueryFields::parse(&query.unwrap_or_default());
    let ticket = fields.text("ticket");
    if ticket.is_empty() || !shared.address.ip().is_loopback() {
        return shared.first(StatusCode::OK, None);
    }
    let organization = fields.text("organization");
    if !is_login(&organization) {
        return shared.first(StatusCode::BAD_REQUEST, Some(NO_LOGIN));
    }
    // Before the ticket is taken: what would be refused afterwards costs it nothing.
    let Some(back) = back(&headers, shared.address) else {
        return shared.first(StatusCode::BAD_REQUEST, Some(NO_PLACE));
    };
    let entered = shared.parts.setup.enter(&ticket);
    let entered = entered.and_then(|pass| Ok((shared.parts.setup.begin(pass.expose_secret())?, pass)));
    match entered {
        Ok((state, pass)) => second(&shared, &organization, &state, &back, Some(pass.expose_secret())),
        Err(error) => {
            tracing::warn!(%error, "/setup refused a ticket");
            let trouble = "This address was already used, or belongs to another process. Enter the token, which is next to it in the log.";
            shared.first(StatusCode::FORBIDDEN, Some(trouble))
        }
    }
}

async fn begin(State(shared): State<SetupState>, headers: HeaderMap, body: Body) -> Response {
    if let Some(refused) = shared.refuse(&headers) {
        return refused;
    }
    let read = match shared.bodies.read(&headers, body, FORM_BYTES, |_| {}).await {
        Ok(read) => read.whole(),
        Err(why) => {
            return HttpRefusal::new(StatusCode::BAD_REQUEST, "The form cannot be read")
                .because(&why)
                .into_response();
        }
    };
    let fields = QueryFields::parse(&String::from_utf8_lossy(&read));
    let organization = fields.text("organization");
    if !is_login(&organization) {
        return shared.first(StatusCode::BAD_REQUEST, Some(NO_LOGIN));
    }
    let state = match shared.parts.setup.begin(&fields.text("token")) {
        Ok(state) => state,
        Err(error) => {
            tracing::warn!(%error, "/setup refused a token");
            let trouble = "That is not the token in the log of this process.";
            return shared.first(StatusCode::FORBIDDEN, Some(trouble));
        }
    };
    let Some(back) = back(&headers, shared.address) else {
        return shared.first(StatusCode::BAD_REQUEST, Some(NO_PLACE));
    };
    second(&shared, &organization, &state, &back, None)
}

fn second(shared: &SetupState, organization: &str, state: &str, back: &Url, pass: Option<&str>) -> Response {
    let SetupParts { public_url, web_url, callback, clock, .. } = shared.parts.as_ref();
    let manifest = manifest(Addresses { public: public_url, back, callback: callback.as_ref() });
    let path: &[&str] = match organization {
        "" => &["settings", "apps", "new"],
        organization => &["organizations", organization, "settings", "apps", "new"],
    };
    let mut action = web_url.clone();
    // Only fails for URLs that cannot be a base, which no setting takes.
    if let Ok(mut segments) = action.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    action.query_pairs_mut().append_pair("state", state);
    let rights = capstan_bot::setup::PERMISSIONS;
    let events = manifest["default_events"].as_array().map(Vec::as_slice).unwrap_or_default();
    let events: Vec<String> =
        events.iter().filter_map(|event| Some(event.as_str()?.replace('_', " "))).collect();
    let content = Second {
        owner: if organization.is_empty() { "you" } else { organization },
        minutes: GOOD_FOR.as_secs() / 60,
        rights: rights
            .iter()
            .map(|(name, level)| {
                (name.replace('_', " "), if *level == "write" { "read and write" } else { "read" })
            })
            .collect(),
        events: list(&events),
        webhook: manifest["hook_attributes"]["url"].as_str().unwrap_or_default(),
        callback: callback.as_ref().map(Url::as_str),
        action: action.as_str(),
        manifest: &manifest.to_string(),
        pass,
    };
    let mut forms = web_url.origin().ascii_serialization();
    if pass.is_some() {
        forms.push_str(" 'self'");
    }
    plain_page(StatusCode::OK, "Create the GitHub App", &forms, clock.now(), &content)
}

async fn finish(State(shared): State<SetupState>, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    if let Some(refused) = shared.refuse(&headers) {
        return refused;
    }
    let fields = QueryFields::parse(&query.unwrap_or_default());
    let setup = Arc::clone(&shared.parts.setup);
    let (state, code) = (fields.whole("state").to_owned(), fields.whole("code").to_owned());
    // A client that hangs up meanwhile must not leave an App behind whose key is lost.
    let finished = tokio::spawn(async move { setup.finish(&state, &code).await }).await;
    match finished {
        Ok(Ok(kept)) => {
            tracing::info!(app.id = kept.app.id, place = %kept.place.display(), "the GitHub App was created, and its key is stored");
            shared.kept.cancel();
            let content = LastStep {
                name: &kept.app.name,
                id: kept.app.id,
                page: kept.app.page.as_str().trim_end_matches('/'),
                place: kept.place.display().to_string(),
            };
            plain_page(StatusCode::OK, "The App is created", "'none'", shared.parts.clock.now(), &content)
        }
        Ok(Err(error)) => not_made(&shared, &error),
        Err(error) => {
            let sentence = "Something went wrong here";
            HttpRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, sentence).because(&error).into_response()
        }
    }
}

fn not_made(shared: &SetupState, error: &NotSetUp) -> Response {
    tracing::warn!(%error, "there is no App");
    let settings = "Delete it on its settings page if it is there (GitHub showed its key once, and it is lost), and start again.";
    let (status, what, todo, page) = match error {
        NotSetUp::Token | NotSetUp::State => (
            StatusCode::BAD_REQUEST,
            "You did not come from the page of this process, came too late, or loaded this page twice."
                .to_owned(),
            "Capstan stored nothing. If GitHub created an App, delete it in its developer settings.",
            None,
        ),
        NotSetUp::Done(id) => (
            StatusCode::CONFLICT,
            format!("App {id} was created a moment ago, and Capstan keeps it."),
            "Delete the other one on its settings page at GitHub.",
            None,
        ),
        NotSetUp::Place(why) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("The App could not be stored in the state directory: {why}."),
            "Capstan did not request the key. Free space or fix the permissions there, and load this page again.",
            None,
        ),
        NotSetUp::Manifest(error @ ManifestError::Unreachable(_)) => (
            StatusCode::BAD_GATEWAY,
            format!("{error}."),
            "Load this page again within the hour: the code is still valid. The log says more; set your proxy or CA through environment variables (`capstan help install-bot`).",
            None,
        ),
        NotSetUp::Manifest(error) => (StatusCode::BAD_GATEWAY, format!("{error}."), settings, None),
        NotSetUp::Lost { page, .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{error}."), settings, Some(page.as_str()))
        }
        NotSetUp::NoRandomness => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}."), "Try again.", None),
    };
    shared.failed(status, &what, todo, page)
}

/// Where the browser returns to: the address at which it sees this page. The caller knows the token already.
fn back(headers: &HeaderMap, address: SocketAddr) -> Option<Url> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(HOST)?;
    // A proxy may speak TLS with the browser: then its own word counts.
    let origin = text(ORIGIN).and_then(|origin| Url::parse(origin).ok());
    let is_tls = !address.ip().is_loopback() && origin.is_some_and(|origin| origin.scheme() == "https");
    let mut url = Url::parse(&format!("{}://{host}/", if is_tls { "https" } else { "http" })).ok()?;
    let is_bare = url.path() == "/" && url.query().is_none() && url.username().is_empty();
    url.set_path(BACK);
    is_bare.then_some(url)
}

/// Whether it is a login, or nothing.
fn is_login(text: &str) -> bool {
    text.len() <= LOGIN_CHARACTERS && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
