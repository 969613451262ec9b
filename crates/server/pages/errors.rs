//! What cannot be shown, in the frame of the pages: for browsers alone. Programs get the same sentence as plain text.

use askama::Template;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use capstan_listener::answer::RefusalNote;

use super::access::{Door, SESSION_COOKIE, cookie};
use super::frame::{Ways, error_page};
use super::site::Site;

/// The content of an error's page.
#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<p>{{ sentence }}.</p>
{% if let Some(id) = id %}<p class="quiet">Request <code>{{ id }}</code>: the log of the bot says more under this id.</p>
{% endif %}<p><a class="button" href="/">Go to the fleet</a></p>
"##
)]
struct FailedPage<'a> {
    sentence: &'a str,
    id: Option<&'a str>,
}

/// Puts what failed into a page where a browser asked.
pub(crate) async fn framed(
    State((site, door)): State<(Site, Door)>,
    request: Request,
    next: Next,
) -> Response {
    let wants_page = accepts_html(request.headers());
    let ways = match door {
        Door::Loopback => Ways::All,
        Door::Public if cookie(request.headers(), SESSION_COOKIE).is_some() => Ways::OfPeople,
        Door::Public | Door::Inside => Ways::None,
    };
    let answer = next.run(request).await;
    let status = answer.status();
    if !wants_page || !(status.is_client_error() || status.is_server_error()) {
        return answer;
    }
    let note = answer.extensions().get::<RefusalNote>().cloned();
    let sentence = match &note {
        Some(note) => note.sentence,
        None if status == StatusCode::METHOD_NOT_ALLOWED => {
            "This address does not support the method of the request"
        }
        None => return answer,
    };
    let content = FailedPage { sentence, id: note.as_ref().map(|note| note.id.as_str()) };
    let Some((page, headers)) = error_page(&site, ways, title(status), &content) else { return answer };
    // Whatever else the answer has stays: cookies that it takes back, the id of the request.
    let (mut parts, _) = answer.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            parts.headers.insert(name, value);
        }
    }
    Response::from_parts(parts, Body::from(page))
}

/// Whether a browser wants to show it: it names HTML among what it takes.
fn accepts_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted
        .flat_map(|line| line.split(','))
        .any(|kind| kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/html"))
}

const fn title(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => "Not allowed",
        StatusCode::SERVICE_UNAVAILABLE => "Not available now",
        _ => "This did not work",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_gets_a_page_and_a_program_a_text() {
        for (accept, expected) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
            ("TEXT/HTML;q=0.9", true),
            ("application/json, text/html", true),
            ("*/*", false),
            ("application/json", false),
            ("text/htmlish", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(accepts_html(&headers), expected, "{accept}");
        }
        assert!(!accepts_html(&HeaderMap::new()));
    }

    #[test]
    fn an_error_says_what_is_wrong_and_where_to_go() {
        let content = FailedPage { sentence: "There is <nothing> here", id: Some("01J") };
        assert_eq!(
            content.render().unwrap().trim_end(),
            "<p>There is &#60;nothing&#62; here.</p>\n\
             <p class=\"quiet\">Request <code>01J</code>: the log of the bot says more under this id.</p>\n\
             <p><a class=\"button\" href=\"/\">Go to the fleet</a></p>"
        );
    }
}
