//! The HTTP server: finds out who asks and for what, strikes with planned faults, lets a room answer, and puts
//! on the answer what GitHub puts on all of them: limits, entity tags, request ids.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::api::{self, Actor, ForgeCall, REQUESTS_PER_HOUR, Reply};
use crate::authenticate::authenticate;
use crate::clock::now;
use crate::error::ApiError;
use crate::faults::{Fault, Strike};
use crate::http::{HttpRequest, HttpResponse};
use crate::log::{Exchange, Recording, Surface};
use crate::random::random_guid;
use crate::shared::SharedState;
use crate::smart_http::{self, GitRequest};
use crate::state::State;
use crate::url_encoding::{decode, parse_query};
use crate::{graphql, manifest, oauth, pages};

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
pub(crate) async fn serve(shared: Arc<SharedState>, listener: TcpListener) {
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

async fn handle(
    shared: Arc<SharedState>,
    incoming: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Dropped> {
    let (head, body) = incoming.into_parts();
    let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
    let request = HttpRequest {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body,
    };
    let struck = shared.lock().faults.strike(&request.method, &request.path, &request.body);
    let struck = match struck {
        Some((_, Fault::Wait(time))) => {
            tokio::time::sleep(time).await;
            None
        }
        struck => struck,
    };
    let outcome = tokio::task::spawn_blocking(move || {
        let outcome = answer(&shared, &request, struck);
        shared.outbox_changed.notify_one();
        outcome
    });
    let (response, fault) = outcome.await.map_err(|_| Dropped)?;
    match fault {
        Some(Fault::Drop) => return Err(Dropped),
        Some(Fault::Hang(time)) => {
            tokio::time::sleep(time).await;
            return Err(Dropped);
        }
        _ => {}
    }
    let mut sent = Response::builder().status(response.status);
    for (name, value) in &response.headers {
        sent = sent.header(name, value);
    }
    sent.body(Full::new(Bytes::from(response.body))).map_err(|_| Dropped)
}

/// What is asked for, by its address.
struct Address<'a> {
    surface: Surface,
    /// Without the prefix that GitHub Enterprise Server has.
    path: &'a str,
}

/// Where the API is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ApiBase {
    /// At the root, and below `/api` as well.
    Anywhere,
    /// Below `/api` alone, as GitHub Enterprise Server has it.
    BelowApi,
}

fn address(path: &str, base: ApiBase) -> Address<'_> {
    let below_api = path.strip_prefix("/api/v3");
    if path == "/api/graphql" || (path == "/graphql" && base == ApiBase::Anywhere) {
        return Address { surface: Surface::GraphQl, path: "/graphql" };
    }
    if base == ApiBase::BelowApi
        && below_api.is_none()
        && api::is_api(path.trim_start_matches('/').split('/').next().unwrap_or_default())
    {
        return Address { surface: Surface::Pages, path };
    }
    let path = below_api.unwrap_or(path);
    let mut segments = path.trim_start_matches('/').split('/');
    let first = segments.next().unwrap_or_default();
    let surface = match (first, segments.next(), segments.next()) {
        _ if api::is_api(first) => Surface::Rest,
        (_, Some(repository), Some("info" | "git-upload-pack" | "git-receive-pack"))
            if !repository.is_empty() =>
        {
            Surface::Git
        }
        _ => Surface::Pages,
    };
    Address { surface, path }
}

fn answer(
    shared: &SharedState,
    request: &HttpRequest,
    struck: Option<(Strike, Fault)>,
) -> (HttpResponse, Option<Fault>) {
    let began = Instant::now();
    let base = if shared.lock().enterprise.is_some() { ApiBase::BelowApi } else { ApiBase::Anywhere };
    let address = address(&request.path, base);
    let actor = authenticate(shared, request);
    let who = actor.as_ref().map_or_else(|_| "nobody".to_owned(), Actor::describe);
    let response = match (&struck, actor) {
        (Some((Strike::Before, _)), _) => HttpResponse::json(500, &Value::Null),
        (_, Err(error)) => HttpResponse::error(&error),
        (_, Ok(actor)) => perform(shared, request, &address, &actor),
    };
    let mut response = match &struck {
        Some((_, fault)) => faulty(fault),
        None => response,
    };
    let mut state = shared.lock();
    if address.surface == Surface::Rest || address.surface == Surface::GraphQl {
        common_headers(&mut response, &mut state);
        if request.method == "GET" && response.status == 200 {
            entity_tag(&mut response, request.header("if-none-match"));
        }
    }
    // Where only lines are kept, what is asked of GraphQL still tells whether it writes.
    let is_full = state.log.recording == Recording::Full;
    let json = |bytes: &[u8], is_kept: bool| {
        if is_kept { serde_json::from_slice(bytes).unwrap_or(Value::Null) } else { Value::Null }
    };
    let closed = matches!(struck, Some((_, Fault::Drop | Fault::Hang(_))));
    state.log.push(Exchange {
        method: request.method.clone(),
        path: address.path.to_owned(),
        query: request.query.clone(),
        who,
        surface: address.surface,
        request: json(&request.body, is_full || address.surface == Surface::GraphQl),
        status: if closed { 0 } else { response.status },
        headers: response.headers.clone(),
        response: json(&response.body, is_full),
        faulted: struck.is_some(),
        began,
        took: began.elapsed(),
    });
    (response, struck.map(|(_, fault)| fault))
}

fn perform(
    shared: &SharedState,
    request: &HttpRequest,
    address: &Address<'_>,
    actor: &Actor,
) -> HttpResponse {
    match address.surface {
        Surface::Git => git(shared, request, address.path, actor),
        Surface::Pages if address.path.starts_with("/login/oauth/") => oauth::answer(shared, request),
        Surface::Pages if manifest::is_here(address.path) => manifest::answer(shared, request),
        Surface::Pages => pages::answer(shared, request),
        Surface::Rest | Surface::GraphQl => {
            let body = match request.body.as_ref() {
                b"" => Value::Null,
                bytes => match serde_json::from_slice(bytes) {
                    Ok(body) => body,
                    Err(_) => return HttpResponse::error(&ApiError::new(400, "Problems parsing JSON")),
                },
            };
            let query = parse_query(&request.query);
            let mut state = shared.lock();
            let url = format!("{}{}", state.web, request.path);
            let accept = request.header("accept").unwrap_or_default();
            let mut call =
                ForgeCall { state: &mut state, actor, query: &query, body: &body, url: &url, accept };
            if address.surface == Surface::GraphQl {
                return match actor {
                    Actor::Nobody | Actor::App => HttpResponse::error(&ApiError::new(401, "Bad credentials")),
                    _ => HttpResponse::json(200, &graphql::answer(&mut call)),
                };
            }
            let segments: Vec<String> = address.path.split('/').skip(1).map(decode).collect();
            let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
            match api::route(&mut call, &request.method, &segments) {
                Ok(Reply { status, body, link, location }) => {
                    let mut response = HttpResponse::json(status, &body);
                    response.headers.extend(link.map(|link| ("link".to_owned(), link)));
                    response.headers.extend(location.map(|to| ("location".to_owned(), to)));
                    response
                }
                Err(error) => HttpResponse::error(&error),
            }
        }
    }
}

fn git(shared: &SharedState, request: &HttpRequest, path: &str, actor: &Actor) -> HttpResponse {
    let path = path.trim_start_matches('/');
    let mut parts = path.splitn(3, '/');
    let (owner, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let query = parse_query(&request.query);
    let git_request = GitRequest {
        full_name: &format!("{owner}/{}", name.strip_suffix(".git").unwrap_or(name)),
        method: &request.method,
        rest: parts.next().unwrap_or_default(),
        service: query.get("service").map(String::as_str),
        protocol: request.header("git-protocol"),
        gzip: request.header("content-encoding") == Some("gzip"),
        body: &request.body,
    };
    match smart_http::answer(shared, actor, &git_request) {
        Ok((content_type, body)) => {
            let mut response = HttpResponse::new(200, &content_type, body);
            response.headers.push(("cache-control".to_owned(), "no-cache".to_owned()));
            response
        }
        Err(error) => {
            let mut response =
                HttpResponse::new(error.status, "text/plain; charset=utf-8", error.message.into_bytes());
            if response.status == 401 {
                let challenge = "Basic realm=\"GitHub\"".to_owned();
                response.headers.push(("www-authenticate".to_owned(), challenge));
            }
            response
        }
    }
}

fn common_headers(response: &mut HttpResponse, state: &mut State) {
    let used = api::used(state);
    let own = |name: &str| response.headers.iter().any(|(known, _)| known == name);
    if !own("x-ratelimit-limit") {
        let limits = [
            ("x-ratelimit-limit", REQUESTS_PER_HOUR.to_string()),
            ("x-ratelimit-remaining", (REQUESTS_PER_HOUR - used).to_string()),
            ("x-ratelimit-used", used.to_string()),
            ("x-ratelimit-reset", (now() + 3600).to_string()),
            ("x-ratelimit-resource", "core".to_owned()),
        ];
        response.headers.extend(limits.map(|(name, value)| (name.to_owned(), value)));
    }
    let version =
        state.enterprise.iter().map(|version| ("x-github-enterprise-version".to_owned(), version.clone()));
    response.headers.extend(version);
    response.headers.push(("x-github-request-id".to_owned(), random_guid()));
    response.headers.push(("x-github-media-type".to_owned(), "github.v3; format=json".to_owned()));
}

/// Gives an answer its entity tag, and empties it where the client has it already.
fn entity_tag(response: &mut HttpResponse, known: Option<&str>) {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &response.body);
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("W/\"{hex}\"");
    let strip = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    if known.is_some_and(|known| known.split(',').any(|one| strip(one) == strip(&tag))) {
        response.status = 304;
        response.body = Vec::new();
    }
    response.headers.push(("etag".to_owned(), tag));
}

fn faulty(fault: &Fault) -> HttpResponse {
    match fault {
        Fault::Status(status) => HttpResponse::error(&ApiError::new(*status, "Server Error")),
        Fault::SecondaryLimit { retry_after_seconds } => {
            let mut error = ApiError::new(
                403,
                "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
            );
            error.headers.push(("retry-after".to_owned(), retry_after_seconds.to_string()));
            HttpResponse::error(&error)
        }
        Fault::Unprocessable(message) => {
            let mut error = ApiError::unprocessable(message.clone());
            error.errors = vec![serde_json::json!({"message": message})];
            HttpResponse::error(&error)
        }
        Fault::TooManyRequests { retry_after_seconds } => {
            let mut error = ApiError::new(429, "You have exceeded a secondary rate limit.");
            error.headers.push(("retry-after".to_owned(), retry_after_seconds.to_string()));
            HttpResponse::error(&error)
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
            HttpResponse::error(&error)
        }
        Fault::Hang(_) | Fault::Drop | Fault::Wait(_) => HttpResponse::json(500, &Value::Null),
    }
}
