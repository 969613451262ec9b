//! What an answer of GitHub's means: content, an expected outcome, a limit, an error.

use std::sync::Arc;
use std::time::Duration;

use capstan_outbound::stays_as_it_was;
use http::{HeaderMap, Method, StatusCode};
use serde::de::DeserializeOwned;

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
    "it leads to another server, or on and on, where it is not followed: look at --github-api-url";
/// Of one that no write may follow.
const NOT_WRITTEN: &str = "it leads elsewhere in a way in which a write may become a read, so that it is not followed: look at --github-api-url";

/// An answer with its whole body.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) doing: String,
    pub(super) method: Method,
    pub(super) status: StatusCode,
    pub(super) body: Arc<[u8]>,
    /// Whether another page follows; `None` where the answer does not say.
    pub(super) more: Option<bool>,
    /// Where the next page begins, in lists that go by cursors.
    pub(super) cursor: Option<String>,
}

/// How GitHub words a refusal.
#[derive(Debug, Default, serde::Deserialize)]
struct Refusal {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: serde_json::Value,
}

impl Answer {
    /// The content of a successful answer; anything else is an error.
    pub(super) fn content<T: DeserializeOwned>(self) -> Result<T, CodeHostError> {
        if !self.status.is_success() {
            return Err(self.into_error());
        }
        serde_json::from_slice(&self.body).map_err(|error| CodeHostError::Unexpected {
            status: self.status.as_u16(),
            reason: cut(&format!("the answer is not as documented: {error}")),
            doing: self.doing,
        })
    }

    /// The content, or `None` for 404.
    pub(super) fn content_if_found<T: DeserializeOwned>(self) -> Result<Option<T>, CodeHostError> {
        if self.status == StatusCode::NOT_FOUND { Ok(None) } else { self.content().map(Some) }
    }

    /// A Git object by its id; `None` where there is none, or no repository of this kind can have one of that id: a
    /// record may name any, and GitHub calls one of 64 digits unprocessable.
    pub(super) fn object_if_there<T: DeserializeOwned>(self) -> Result<Option<T>, CodeHostError> {
        if self.status == StatusCode::UNPROCESSABLE_ENTITY { Ok(None) } else { self.content_if_found() }
    }

    /// GitHub's words: the message, and the messages of its `errors`.
    pub(super) fn message(&self) -> String {
        let refusal: Refusal = serde_json::from_slice(&self.body).unwrap_or_default();
        let mut text = refusal.message;
        for error in refusal.errors.as_array().into_iter().flatten() {
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
        if text.is_empty() {
            text = self.status.canonical_reason().unwrap_or("no reason given").to_owned();
        }
        cut(&text)
    }

    /// The error that an answer is where nothing about it was expected.
    pub(super) fn into_error(self) -> CodeHostError {
        let reason = self.message();
        let doing = self.doing;
        match self.status {
            StatusCode::NOT_FOUND => CodeHostError::NotFound { doing },
            StatusCode::UNAUTHORIZED => CodeHostError::Unauthenticated { doing, reason },
            StatusCode::FORBIDDEN => CodeHostError::Forbidden { doing, reason },
            status if status.is_server_error() => {
                CodeHostError::Unreachable { doing, reason: format!("{} {reason}", status.as_u16()) }
            }
            status => {
                let reason = match status.is_redirection() {
                    true if stays_as_it_was(&self.method, status) => NOT_FOLLOWED.to_owned(),
                    true => NOT_WRITTEN.to_owned(),
                    false => reason,
                };
                CodeHostError::Unexpected { doing, status: status.as_u16(), reason }
            }
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
    } else if status == StatusCode::TOO_MANY_REQUESTS || is_secondary_limit(body) {
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

fn is_secondary_limit(body: &[u8]) -> bool {
    let refusal: Refusal = serde_json::from_slice(body).unwrap_or_default();
    words::is_secondary_limit(&refusal.message)
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
    fn limits_are_told_from_refusals() {
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

    #[test]
    fn messages_name_all_that_github_says_and_are_cut() {
        let answer = |body: &str| Answer {
            doing: "opening".to_owned(),
            method: Method::POST,
            status: StatusCode::UNPROCESSABLE_ENTITY,
            body: Arc::from(body.as_bytes()),
            more: None,
            cursor: None,
        };
        assert_eq!(
            answer(
                r#"{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "code": "custom",
                "message": "No commits between main and x"}, {"field": "head", "code": "invalid"}, "plain"]}"#
            )
            .message(),
            "Validation Failed: No commits between main and x: head invalid: plain"
        );
        assert_eq!(answer("<html>").message(), "Unprocessable Entity");
        let long = answer(&format!(r#"{{"message": "{}"}}"#, "ä".repeat(600))).message();
        assert_eq!(long.chars().count(), 512);
    }
}
