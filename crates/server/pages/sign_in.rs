//! `/login` and `/logout`: through GitHub and back, with a state and a proof key in a sealed cookie. Signing
//! out needs no GitHub.

use std::net::IpAddr;
use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};

use super::access::{SESSION_COOKIE, Visitor, cookie};
use super::frame::{Titled, not_there, page};
use super::query::{QueryFields, address};
use super::site::Site;
use capstan_bot::visitors::{BEGINNING, NotSignedIn, SESSION};
use capstan_listener::Peer;
use capstan_listener::answer::HttpRefusal;

/// What somebody carries to GitHub and back.
const BEGUN_COOKIE: &str = "__Host-capstan-sign-in";

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<p>Capstan shows what you can read on GitHub, and asks GitHub for nothing else.</p>
<p><a class="button" href="{{ begin }}">Sign in with GitHub</a></p>
"##
)]
struct SignInContent {
    begin: String,
}

pub(super) async fn show(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    if site.visitors.is_none() {
        return not_there();
    }
    let fields = QueryFields::parse(&query.unwrap_or_default());
    let content = SignInContent { begin: address("/login/github", &[("next", here(fields.whole("next")))]) };
    page(&site, None, &Titled { title: "Sign in", here: "", stamp: None }, &content)
}

pub(super) async fn begin(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let Some(visitors) = &site.visitors else { return not_there() };
    let fields = QueryFields::parse(&query.unwrap_or_default());
    match visitors.begin(here(fields.whole("next"))) {
        Ok(begun) => {
            let cookie = set(BEGUN_COOKIE, &begun.cookie, BEGINNING.as_secs());
            with_cookies(Redirect::to(begun.url.as_str()).into_response(), &[cookie])
        }
        Err(error) => refused(&error),
    }
}

pub(super) async fn finish(
    State(site): State<Site>,
    Extension(peer): Extension<Peer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let Some(visitors) = &site.visitors else { return not_there() };
    let fields = QueryFields::parse(&query.unwrap_or_default());
    let from = address_behind(peer, &headers);
    let begun = cookie(&headers, BEGUN_COOKIE).unwrap_or_default();
    let done = visitors.finish(from, begun, fields.whole("state"), fields.whole("code")).await;
    let gone = set(BEGUN_COOKIE, "", 0);
    match done {
        Ok(finished) => {
            tracing::info!(actor = finished.login, "signed in");
            let session = set(SESSION_COOKIE, &finished.cookie, SESSION.as_secs());
            with_cookies(Redirect::to(here(&finished.next)).into_response(), &[gone, session])
        }
        // Nothing was used up: loading the page again continues.
        Err(error @ NotSignedIn::Crowded) => refused(&error),
        Err(error) => with_cookies(refused(&error), &[gone]),
    }
}

pub(super) async fn end(State(site): State<Site>, headers: HeaderMap, body: Body) -> Response {
    let Some(visitors) = &site.visitors else { return not_there() };
    let to_login = Redirect::to("/login").into_response();
    // Another site's form comes without the cookie (`SameSite`), and must not take it away either.
    let Some(cookie) = cookie(&headers, SESSION_COOKIE) else { return to_login };
    // The extractor of visitors would ask GitHub what they may see; here that is of no interest.
    if let Some(person) = visitors.holder(cookie).map(Arc::new) {
        let visitor = Visitor::Person(Arc::clone(&person));
        if let Err(refusal) = visitor.believes(&site, &headers, body).await {
            return refusal.into_response();
        }
        visitors.end(&person);
        tracing::info!(actor = person.login, "signed out");
    }
    with_cookies(to_login, &[set(SESSION_COOKIE, "", 0)])
}

/// Who comes: the client that the nearest proxy noted, where the peer is in a network of one's own as proxies are. A
/// client there may note what it likes, and has from that no more than all have together.
fn address_behind(Peer(peer): Peer, headers: &HeaderMap) -> IpAddr {
    let is_own = match peer.to_canonical() {
        IpAddr::V4(peer) => peer.is_loopback() || peer.is_private(),
        IpAddr::V6(peer) => peer.is_loopback() || peer.is_unique_local(),
    };
    let noted = headers.get_all("x-forwarded-for").iter().next_back().filter(|_| is_own);
    let noted = noted.and_then(|noted| noted.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    noted.unwrap_or(peer)
}

fn refused(error: &NotSignedIn) -> Response {
    let (status, sentence) = match error {
        NotSignedIn::NotBegun => (
            StatusCode::BAD_REQUEST,
            "This sign-in did not start in this browser, or started too long ago: start again at /login",
        ),
        NotSignedIn::SignIn(error) if error.is_over() => {
            (StatusCode::FORBIDDEN, "GitHub refuses this sign-in: start again at /login")
        }
        NotSignedIn::SignIn(_) | NotSignedIn::Crowded | NotSignedIn::NoRandomness => {
            (StatusCode::SERVICE_UNAVAILABLE, "Signing in is not possible now: try again later")
        }
    };
    HttpRefusal::new(status, sentence).because(error).into_response()
}

/// An address on this server, and nothing else: a link to this page must not choose where the visitor ends.
fn here(next: &str) -> &str {
    let is_local = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains('\\')
        && next.len() <= 2000
        && next.bytes().all(|byte| byte.is_ascii_graphic());
    if is_local { next } else { "/" }
}

fn set(name: &str, value: &str, seconds: i64) -> String {
    format!("{name}={value}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Lax")
}

fn with_cookies(mut response: Response, cookies: &[String]) -> Response {
    for cookie in cookies {
        if let Ok(value) = HeaderValue::from_str(cookie) {
            response.headers_mut().append(SET_COOKIE, value);
        }
    }
    response.headers_mut().insert("cache-control", HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};

    use super::{address_behind, here};
    use capstan_listener::Peer;

    #[test]
    fn a_proxy_says_who_comes_and_nobody_else_does() {
        for (peer, noted, expected) in [
            ("203.0.113.7", None, "203.0.113.7"),
            ("203.0.113.7", Some("192.0.2.1"), "203.0.113.7"),
            ("10.0.0.3", Some("192.0.2.1"), "192.0.2.1"),
            ("::ffff:10.0.0.3", Some("192.0.2.1"), "192.0.2.1"),
            ("fd00::3", Some("198.51.100.9, 2001:db8::1"), "2001:db8::1"),
            ("127.0.0.1", Some("unknown"), "127.0.0.1"),
            ("127.0.0.1", None, "127.0.0.1"),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(noted) = noted {
                headers.append("x-forwarded-for", HeaderValue::from_static("198.51.100.1"));
                headers.append("x-forwarded-for", HeaderValue::from_static(noted));
            }
            let behind = address_behind(Peer(peer.parse().unwrap()), &headers);
            assert_eq!(behind.to_string(), expected, "{peer} {noted:?}");
        }
    }

    #[test]
    fn nobody_is_sent_to_another_server() {
        assert_eq!(here("/audit?q=a&page=2"), "/audit?q=a&page=2");
        for next in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "evil",
            "/a b",
            "/\u{e9}",
            "/a\r\nb",
        ] {
            assert_eq!(here(next), "/", "{next}");
        }
    }
}
