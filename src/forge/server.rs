//! The HTTP server: finds out who asks and for what, strikes with planned faults, lets a room answer, and puts
//! on the answer what GitHub puts on all of them: limits, entity tags, request ids.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::call::{Actor, Call, Reply, decode, parse_query};
use super::error::ApiError;
use super::faults::{Fault, Strike};
use super::log::{Exchange, Surface};
use super::smart_http::GitRequest;
use super::state::{State, Token, now};
use super::{app_auth, graphql, pages, routes, smart_http};

const REQUESTS_PER_HOUR: u64 = 15_000;

/// What the server, the deliveries and the forge's owner share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Told whenever something may have been put into the outbox.
    pub(crate) outbox_changed: Notify,
}

impl Shared {
    pub(crate) fn new(state: State) -> Shared {
        Shared { state: Mutex::new(state), outbox_changed: Notify::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request with its body read.
pub(crate) struct Asked {
    pub(crate) method: String,
    /// As it came, without the query.
    pub(crate) path: String,
    pub(crate) query: String,
    headers: hyper::HeaderMap,
    pub(crate) body: Bytes,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// An answer before it goes on the wire.
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Told {
    pub(crate) fn new(status: u16, content_type: &str, body: Vec<u8>) -> Told {
        Told { status, headers: vec![("content-type".to_owned(), content_type.to_owned())], body }
    }

    fn json(status: u16, body: &Value) -> Told {
        if body.is_null() {
            return Told { status, headers: Vec::new(), body: Vec::new() };
        }
        Told::new(status, "application/json; charset=utf-8", body.to_string().into_bytes())
    }

    fn error(error: &ApiError) -> Told {
        let mut told = Told::json(error.status, &error.body());
        told.headers.extend(error.headers.clone());
        told
    }
}

/// The reason to close a connection without an answer.
#[derive(Debug)]
struct Dropped;

impl fmt::Display for Dropped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the connection is dropped because a fault asks for it")
    }
}

impl std::error::Error for Dropped {}

/// Accepts connections until the runtime goes.
pub(crate) async fn serve(shared: Arc<Shared>, listener: TcpListener) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        stream.set_nodelay(true).ok();
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| handle(Arc::clone(&shared), request));
            // An error here is a client that went away, or a fault.
            hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await
                .ok();
        });
    }
}

async fn handle(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Dropped> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
    let asked = Asked {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body,
    };
    let struck = shared.lock().faults.strike(&asked.method, &asked.path, &asked.body);
    let outcome = tokio::task::spawn_blocking(move || {
        let outcome = answer(&shared, &asked, struck);
        shared.outbox_changed.notify_one();
        outcome
    });
    let (told, fault) = outcome.await.map_err(|_| Dropped)?;
    match fault {
        Some(Fault::Drop) => return Err(Dropped),
        Some(Fault::Hang(time)) => {
            tokio::time::sleep(time).await;
            return Err(Dropped);
        }
        _ => {}
    }
    let mut response = Response::builder().status(told.status);
    for (name, value) in &told.headers {
        response = response.header(name, value);
    }
    response.body(Full::new(Bytes::from(told.body))).map_err(|_| Dropped)
}

/// What is asked for, by its address.
struct Address<'a> {
    surface: Surface,
    /// Without the prefix that GitHub Enterprise Server has.
    path: &'a str,
}

fn address(path: &str) -> Address<'_> {
    let path = path.strip_prefix("/api/v3").unwrap_or(path);
    if path == "/graphql" || path == "/api/graphql" {
        return Address { surface: Surface::GraphQl, path: "/graphql" };
    }
    let mut segments = path.trim_start_matches('/').split('/');
    let first = segments.next().unwrap_or_default();
    let surface = match (first, segments.next(), segments.next()) {
        _ if routes::is_api(first) => Surface::Rest,
        (_, Some(repository), Some("info" | "git-upload-pack" | "git-receive-pack"))
            if !repository.is_empty() =>
        {
            Surface::Git
        }
        _ => Surface::Pages,
    };
    Address { surface, path }
}

fn answer(shared: &Shared, asked: &Asked, struck: Option<(Strike, Fault)>) -> (Told, Option<Fault>) {
    let address = address(&asked.path);
    let actor = authenticate(shared, asked);
    let who = actor.as_ref().map_or_else(|_| "nobody".to_owned(), Actor::describe);
    let told = match (&struck, actor) {
        (Some((Strike::Before, _)), _) => Told::json(500, &Value::Null),
        (_, Err(error)) => Told::error(&error),
        (_, Ok(actor)) => perform(shared, asked, &address, &actor),
    };
    let mut told = match &struck {
        Some((_, fault)) => faulty(fault),
        None => told,
    };
    let mut state = shared.lock();
    if address.surface == Surface::Rest || address.surface == Surface::GraphQl {
        common_headers(&mut told, &mut state);
        if asked.method == "GET" && told.status == 200 {
            entity_tag(&mut told, asked.header("if-none-match"));
        }
    }
    let json = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or(Value::Null);
    let closed = matches!(struck, Some((_, Fault::Drop | Fault::Hang(_))));
    state.log.push(Exchange {
        method: asked.method.clone(),
        path: address.path.to_owned(),
        query: asked.query.clone(),
        who,
        surface: address.surface,
        request: json(&asked.body),
        status: if closed { 0 } else { told.status },
        headers: told.headers.clone(),
        response: json(&told.body),
        faulted: struck.is_some(),
    });
    (told, struck.map(|(_, fault)| fault))
}

fn perform(shared: &Shared, asked: &Asked, address: &Address<'_>, actor: &Actor) -> Told {
    match address.surface {
        Surface::Git => git(shared, asked, address.path, actor),
        Surface::Pages => pages::answer(shared, asked),
        Surface::Rest | Surface::GraphQl => {
            let body = match asked.body.as_ref() {
                b"" => Value::Null,
                bytes => match serde_json::from_slice(bytes) {
                    Ok(body) => body,
                    Err(_) => return Told::error(&ApiError::new(400, "Problems parsing JSON")),
                },
            };
            let query = parse_query(&asked.query);
            let mut state = shared.lock();
            let url = format!("{}{}", state.web, asked.path);
            let mut call = Call { state: &mut state, actor, query: &query, body: &body, url: &url };
            if address.surface == Surface::GraphQl {
                return match actor {
                    Actor::Nobody | Actor::App => Told::error(&ApiError::new(401, "Bad credentials")),
                    _ => Told::json(200, &graphql::answer(&mut call)),
                };
            }
            let segments: Vec<String> = address.path.split('/').skip(1).map(decode).collect();
            let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
            match routes::route(&mut call, &asked.method, &segments) {
                Ok(Reply { status, body, link }) => {
                    let mut told = Told::json(status, &body);
                    told.headers.extend(link.map(|link| ("link".to_owned(), link)));
                    told
                }
                Err(error) => Told::error(&error),
            }
        }
    }
}

fn git(shared: &Shared, asked: &Asked, path: &str, actor: &Actor) -> Told {
    let path = path.trim_start_matches('/');
    let mut parts = path.splitn(3, '/');
    let (owner, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let query = parse_query(&asked.query);
    let request = GitRequest {
        full_name: &format!("{owner}/{}", name.strip_suffix(".git").unwrap_or(name)),
        method: &asked.method,
        rest: parts.next().unwrap_or_default(),
        service: query.get("service").map(String::as_str),
        protocol: asked.header("git-protocol"),
        gzip: asked.header("content-encoding") == Some("gzip"),
        body: &asked.body,
    };
    match smart_http::answer(shared, actor, &request) {
        Ok((content_type, body)) => {
            let mut told = Told::new(200, &content_type, body);
            told.headers.push(("cache-control".to_owned(), "no-cache".to_owned()));
            told
        }
        Err(error) => {
            let mut told = Told::new(error.status, "text/plain; charset=utf-8", error.message.into_bytes());
            if told.status == 401 {
                let challenge = "Basic realm=\"GitHub\"".to_owned();
                told.headers.push(("www-authenticate".to_owned(), challenge));
            }
            told
        }
    }
}

/// Finds out who asks, by `Authorization: Bearer`, `token` or `Basic`.
fn authenticate(shared: &Shared, asked: &Asked) -> Result<Actor, ApiError> {
    let Some(header) = asked.header("authorization") else { return Ok(Actor::Nobody) };
    let (scheme, credentials) = header.split_once(' ').unwrap_or((header, ""));
    let token = if scheme.eq_ignore_ascii_case("basic") {
        let decoded =
            base64::engine::general_purpose::STANDARD.decode(credentials.trim()).unwrap_or_default();
        let decoded = String::from_utf8_lossy(&decoded).into_owned();
        // The token is the password; with no password it is the user name.
        let (user, password) = decoded.split_once(':').unwrap_or((decoded.as_str(), ""));
        if password.is_empty() { user.to_owned() } else { password.to_owned() }
    } else {
        credentials.trim().to_owned()
    };
    let state = shared.lock();
    if token.split('.').count() == 3 {
        state.app.key.verify(&token, state.app.id)?;
        return Ok(Actor::App);
    }
    match state.tokens.get(&token) {
        Some(Token::User(account)) => Ok(Actor::User(account.clone())),
        Some(Token::Installation { installation, permissions, repositories, expires_at })
            if *expires_at > now() && state.installations.contains_key(installation) =>
        {
            Ok(Actor::Installation {
                id: *installation,
                permissions: permissions.clone(),
                repositories: repositories.clone(),
            })
        }
        _ => Err(ApiError::new(401, "Bad credentials")),
    }
}

fn faulty(fault: &Fault) -> Told {
    match fault {
        Fault::Status(status) => Told::error(&ApiError::new(*status, "Server Error")),
        Fault::SecondaryLimit { retry_after_seconds } => {
            let mut error = ApiError::new(
                403,
                "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
            );
            error.headers.push(("retry-after".to_owned(), retry_after_seconds.to_string()));
            Told::error(&error)
        }
        Fault::PrimaryLimit { reset_after_seconds } => {
            let reset = now() + i64::try_from(*reset_after_seconds).unwrap_or(i64::MAX / 2);
            let mut error = ApiError::new(403, "API rate limit exceeded for installation ID 1.");
            error.headers = [
                ("x-ratelimit-limit", REQUESTS_PER_HOUR.to_string()),
                ("x-ratelimit-remaining", "0".to_owned()),
                ("x-ratelimit-used", REQUESTS_PER_HOUR.to_string()),
                ("x-ratelimit-reset", reset.to_string()),
                ("x-ratelimit-resource", "core".to_owned()),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec();
            Told::error(&error)
        }
        Fault::Hang(_) | Fault::Drop => Told::json(500, &Value::Null),
    }
}

fn common_headers(told: &mut Told, state: &mut State) {
    let used = u64::try_from(state.log.exchanges.len()).unwrap_or(0) % REQUESTS_PER_HOUR;
    let own = |name: &str| told.headers.iter().any(|(known, _)| known == name);
    if !own("x-ratelimit-limit") {
        let limits = [
            ("x-ratelimit-limit", REQUESTS_PER_HOUR.to_string()),
            ("x-ratelimit-remaining", (REQUESTS_PER_HOUR - used).to_string()),
            ("x-ratelimit-used", used.to_string()),
            ("x-ratelimit-reset", (now() + 3600).to_string()),
            ("x-ratelimit-resource", "core".to_owned()),
        ];
        told.headers.extend(limits.map(|(name, value)| (name.to_owned(), value)));
    }
    told.headers.push(("x-github-request-id".to_owned(), app_auth::random_guid()));
    told.headers.push(("x-github-media-type".to_owned(), "github.v3; format=json".to_owned()));
}

/// Gives an answer its entity tag, and empties it where the client has it already.
fn entity_tag(told: &mut Told, known: Option<&str>) {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &told.body);
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("W/\"{hex}\"");
    let strip = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    if known.is_some_and(|known| known.split(',').any(|one| strip(one) == strip(&tag))) {
        told.status = 304;
        told.body = Vec::new();
    }
    told.headers.push(("etag".to_owned(), tag));
}

/// The rate limit as its own route tells it.
pub(crate) fn rate_limit(state: &State) -> Value {
    let used = u64::try_from(state.log.exchanges.len()).unwrap_or(0) % REQUESTS_PER_HOUR;
    let rate = serde_json::json!({
        "limit": REQUESTS_PER_HOUR, "used": used, "remaining": REQUESTS_PER_HOUR - used, "reset": now() + 3600,
    });
    serde_json::json!({
        "resources": {"core": rate, "search": rate, "graphql": rate},
        "rate": rate,
    })
}
