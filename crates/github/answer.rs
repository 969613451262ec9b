//! What an answer of GitHub's means: content, an expected outcome, a limit, an error. octocrab reads it.

use std::time::Duration;

use bytes::Bytes;
use capstan_outbound::stays_as_it_was;
use http::header::LINK;
use http::{HeaderMap, Method, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use octocrab::{FromResponse, GitHubError};

use super::words;
use capstan_budget::Primary;
use capstan_ports::CodeHostError;

/// GitHub's messages are shown up to this length.
const MESSAGE_CHARACTERS: usize = 512;
/// How long to wait where GitHub names a limit but no time
/// (<https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api>).
const DEFAULT_WAIT: Duration = Duration::from_secs(60);
/// GitHub's limits end within an hour; a longer wait is a clock that is wrong.
const LONGEST_WAIT: Duration = Duration::from_secs(3_660);

/// Of a redirect that is still there.
const NOT_FOLLOWED: &str =
    "it redirects to another server, or too often, and Capstan does not follow: check --github-api-url";
/// Of one that no write may follow.
const NOT_WRITTEN: &str = "it redirects in a way that may turn a write into a read, and Capstan does not follow: check --github-api-url";

/// What octocrab hands up.
pub(super) type CrabResponse = Response<BoxBody<Bytes, octocrab::Error>>;

/// An answer that is not a server error.
#[derive(Debug)]
pub(super) struct GitHubAnswer {
    pub(super) doing: String,
    method: Method,
    said: Result<CrabResponse, Box<GitHubError>>,
}

impl GitHubAnswer {
    /// Reads the words of a refusal; a failure of the server's is an error.
    pub(super) async fn of(
        doing: String,
        method: Method,
        response: CrabResponse,
    ) -> Result<Self, CodeHostError> {
        let said = match octocrab::map_github_error(response).await {
            Ok(response) => Ok(response),
            Err(octocrab::Error::GitHub { source, .. }) if !source.status_code.is_server_error() => {
                Err(source)
            }
            Err(error) => return Err(failure(doing, error)),
        };
        Ok(Self { doing, method, said })
    }

    pub(super) fn status(&self) -> StatusCode {
        self.said.as_ref().map_or_else(|refusal| refusal.status_code, Response::status)
    }

    /// How many bytes its content has.
    pub(super) fn bytes(&self) -> u64 {
        self.said.as_ref().map_or(0, |response| http_body::Body::size_hint(response.body()).lower())
    }

    /// Whether `Link` names a next page; `None` where it names no pages at all.
    pub(super) fn has_next_page(&self) -> Option<bool> {
        let link = self.said.as_ref().ok()?.headers().get(LINK)?.to_str().ok()?;
        let names = |page: &str| link.contains(&format!("rel=\"{page}\""));
        ["first", "prev", "next", "last"].into_iter().any(names).then(|| names("next"))
    }

    /// The content of a successful answer; anything else is an error.
    pub(super) async fn content<T: FromResponse>(self) -> Result<T, CodeHostError> {
        match self.said {
            Ok(response) => T::from_response(response).await.map_err(|error| failure(self.doing, error)),
            Err(refusal) => Err(refused(self.doing, &self.method, &refusal)),
        }
    }

    /// The content, or `None` for 404.
    pub(super) async fn content_if_found<T: FromResponse>(self) -> Result<Option<T>, CodeHostError> {
        if self.status() == StatusCode::NOT_FOUND { Ok(None) } else { self.content().await.map(Some) }
    }

    /// A Git object by its id; `None` where there is none, or no repository of this kind can have one of that id: a
    /// record may name any, and GitHub calls one of 64 digits unprocessable.
    pub(super) async fn object_if_there<T: FromResponse>(self) -> Result<Option<T>, CodeHostError> {
        if self.status() == StatusCode::UNPROCESSABLE_ENTITY {
            Ok(None)
        } else {
            self.content_if_found().await
        }
    }

    /// GitHub's words of a refusal.
    pub(super) fn message(&self) -> String {
        self.said.as_ref().map_or_else(|refusal| message(refusal), |response| words_of(response.status()))
    }

    /// The error that an answer is where nothing about it was expected.
    pub(super) fn into_error(self) -> CodeHostError {
        match self.said {
            Ok(response) => {
                let (status, reason) = (response.status().as_u16(), words_of(response.status()));
                CodeHostError::Unexpected { doing: self.doing, status, reason }
            }
            Err(refusal) => refused(self.doing, &self.method, &refusal),
        }
    }
}

fn words_of(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or("no reason given").to_owned()
}

/// GitHub's words: the message, and the messages of its `errors`.
fn message(refusal: &GitHubError) -> String {
    // Where `errors` is not a list, octocrab gives all of the body as the message.
    let body: Option<serde_json::Value> = serde_json::from_str(&refusal.message).ok();
    let own = body.as_ref().and_then(|body| body.get("message")?.as_str());
    let mut text = own.unwrap_or(&refusal.message).to_owned();
    for error in refusal.errors.iter().flatten() {
        let field = |name: &str| error.get(name).and_then(serde_json::Value::as_str);
        let detail = match (error.as_str(), field("message"), field("field"), field("code")) {
            (Some(text), ..) | (None, Some(text), ..) => text.to_owned(),
            (None, None, field, code) => {
                format!("{} {}", field.unwrap_or_default(), code.unwrap_or_default())
            }
        };
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(detail.trim());
    }
    if text.is_empty() { words_of(refusal.status_code) } else { cut(&text) }
}

fn refused(doing: String, method: &Method, refusal: &GitHubError) -> CodeHostError {
    let reason = message(refusal);
    match refusal.status_code {
        StatusCode::NOT_FOUND => CodeHostError::NotFound { doing },
        StatusCode::UNAUTHORIZED => CodeHostError::Unauthenticated { doing, reason },
        StatusCode::FORBIDDEN => CodeHostError::Forbidden { doing, reason },
        status if status.is_server_error() => {
            CodeHostError::Unreachable { doing, reason: format!("{} {reason}", status.as_u16()) }
        }
        status => {
            let reason = match status.is_redirection() {
                true if stays_as_it_was(method, status) => NOT_FOLLOWED.to_owned(),
                true => NOT_WRITTEN.to_owned(),
                false => reason,
            };
            CodeHostError::Unexpected { doing, status: status.as_u16(), reason }
        }
    }
}

/// What an error of octocrab's is.
pub(super) fn failure(doing: String, error: octocrab::Error) -> CodeHostError {
    match error {
        octocrab::Error::GitHub { source, .. } => refused(doing, &Method::GET, &source),
        // Said by one of the layers below it.
        octocrab::Error::Service { source, .. } => match source.downcast::<CodeHostError>() {
            Ok(error) => *error,
            Err(_) => CodeHostError::Unreachable { doing, reason: "shutting down".to_owned() },
        },
        octocrab::Error::JWT { source, .. } => {
            CodeHostError::Unauthenticated { doing, reason: source.to_string() }
        }
        error => {
            let reason = cut(&format!("the answer is not as documented: {error}"));
            CodeHostError::Unexpected { doing, status: 200, reason }
        }
    }
}

/// How long GitHub asks to wait, where it does: `Retry-After`, a used-up primary limit, or the words of
/// a secondary one.
pub(super) fn asked_to_wait(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    now: jiff::Timestamp,
) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<i64>().ok();
    let limited = matches!(status, StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS);
    if !limited && status != StatusCode::SERVICE_UNAVAILABLE {
        return None;
    }
    let wait = if let Some(seconds) = number("retry-after") {
        seconds
    } else if !limited {
        return None;
    } else if number("x-ratelimit-remaining") == Some(0)
        && let Some(reset) = number("x-ratelimit-reset")
    {
        reset - now.as_second()
    } else if status == StatusCode::TOO_MANY_REQUESTS
        || words::is_secondary_limit(&String::from_utf8_lossy(body))
    {
        return Some(DEFAULT_WAIT);
    } else {
        return None;
    };
    Some(Duration::from_secs(u64::try_from(wait).unwrap_or_default().max(1)).min(LONGEST_WAIT))
}

/// What an answer's headers say of the primary limit.
pub(super) fn primary_limit(headers: &HeaderMap) -> Option<Primary> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<i64>().ok();
    let count = |name: &str| u32::try_from(number(name)?).ok();
    Some(Primary {
        limit: count("x-ratelimit-limit")?,
        remaining: count("x-ratelimit-remaining")?,
        reset_ms: number("x-ratelimit-reset")?.checked_mul(1_000)?,
    })
}

/// A text of at most 512 characters.
pub(super) fn cut(text: &str) -> String {
    cut_to(text, MESSAGE_CHARACTERS)
}

/// A text of at most so many characters.
pub(super) fn cut_to(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(characters.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use http_body_util::{BodyExt as _, Full};

    use super::*;

    fn wait(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Option<u64> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        let now = jiff::Timestamp::from_second(1_000_000).unwrap();
        asked_to_wait(StatusCode::from_u16(status).unwrap(), &map, body.as_bytes(), now)
            .map(|wait| wait.as_secs())
    }

    #[test]
    fn rate_limits_differ_from_refusals() {
        let used_up = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1000120")];
        let left = [("x-ratelimit-remaining", "4999"), ("x-ratelimit-reset", "1000120")];
        let secondary = r#"{"message": "You have exceeded a secondary rate limit. Please wait."}"#;
        for (case, expected) in [
            (wait(403, &used_up, "{}"), Some(120)),
            (wait(429, &used_up, "{}"), Some(120)),
            (wait(403, &[("retry-after", "30")], "{}"), Some(30)),
            (wait(503, &[("retry-after", "5")], "{}"), Some(5)),
            (wait(403, &left, secondary), Some(60)),
            (wait(429, &[], ""), Some(60)),
            (wait(403, &[("retry-after", "999999")], ""), Some(3_660)),
            (wait(403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "5")], ""), Some(1)),
            (wait(403, &left, r#"{"message": "Resource not accessible by integration"}"#), None),
            (wait(503, &[], ""), None),
            (wait(200, &used_up, "{}"), None),
            (wait(404, &used_up, "{}"), None),
        ] {
            assert_eq!(case, expected);
        }
    }

    fn answered(response: http::response::Builder, body: &'static str) -> GitHubAnswer {
        let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed();
        let response = response.body(body).unwrap();
        let answer = GitHubAnswer::of("opening".to_owned(), Method::POST, response).now_or_never().unwrap();
        answer.unwrap()
    }

    fn answer(body: &'static str) -> GitHubAnswer {
        answered(Response::builder().status(422), body)
    }

    #[test]
    fn the_next_page_is_where_a_link_says_so() {
        let next = r#"<https://x/?page=2>; rel="next", <https://x/?page=9>; rel="last""#;
        let last = r#"<https://x/?page=1>; rel="first", <https://x/?page=1>; rel="prev""#;
        for (link, expected) in
            [(next, Some(true)), (last, Some(false)), (r#"<https://x/old>; rel="deprecation""#, None)]
        {
            assert_eq!(answered(Response::builder().header(LINK, link), "[]").has_next_page(), expected);
        }
        assert_eq!(answered(Response::builder(), "[]").has_next_page(), None);
    }

    #[test]
    fn messages_name_all_that_github_says_and_are_cut() {
        assert_eq!(
            answer(
                r#"{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "code": "custom",
                "message": "No commits between main and x"}, {"field": "head", "code": "invalid"}, "plain"]}"#
            )
            .message(),
            "Validation Failed: No commits between main and x: head invalid: plain"
        );
        let single = r#"{"message": "Validation Failed", "errors": "plain"}"#;
        assert_eq!(answer(single).message(), "Validation Failed");
        assert_eq!(answer("").message(), "Unprocessable Entity");
        let long = Box::leak(format!(r#"{{"message": "{}"}}"#, "ä".repeat(600)).into_boxed_str());
        assert_eq!(answer(long).message().chars().count(), 512);
    }
}
