//! Where an answer leads, and who is followed: nobody beyond scheme, host and port of the question.

use http::header::LOCATION;
use http::{HeaderMap, Method, StatusCode};
use url::Url;

/// So often a question is asked again where its answer leads: who leads on and on leads nowhere.
pub const MOST_REDIRECTS: usize = 5;

/// Where `location` leads from `url`, if that has the same scheme, host and port: what was meant for this server, a token
/// above all, stays with it.
pub fn within_origin(url: &Url, location: &str) -> Option<Url> {
    let next = url.join(location).ok()?;
    let is_same = url.origin().is_tuple() && next.origin() == url.origin();
    let is_plain = next.username().is_empty() && next.password().is_none();
    (is_same && is_plain).then_some(next)
}

/// Whether a question may be asked again, as it was, where such an answer leads.
pub fn stays_as_it_was(method: &Method, status: StatusCode) -> bool {
    match status {
        // They may turn a POST into a GET (RFC 9110, 15.4.2 and 15.4.3): the effect is unknown.
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *method != Method::POST,
        StatusCode::SEE_OTHER => matches!(*method, Method::GET | Method::HEAD),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        _ => false,
    }
}

/// Where a question is asked again, as it was: with its method, headers and body.
pub(crate) fn next(method: &Method, url: &Url, status: StatusCode, headers: &HeaderMap) -> Option<Url> {
    let location = headers.get(LOCATION).filter(|_| stays_as_it_was(method, status))?;
    within_origin(url, location.to_str().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_followed_to_another_scheme_host_or_port() {
        let url = Url::parse("https://api.github.com/repos/acme/old/pulls?page=2").unwrap();
        for (location, expected) in [
            ("https://api.github.com/repositories/7/pulls?page=2", Some("/repositories/7/pulls?page=2")),
            ("https://API.GITHUB.COM:443/repositories/7", Some("/repositories/7")),
            ("/repositories/7", Some("/repositories/7")),
            ("//api.github.com/repositories/7", Some("/repositories/7")),
            ("?page=3", Some("/repos/acme/old/pulls?page=3")),
            ("http://api.github.com/repositories/7", None),
            ("https://api.github.com:8443/repositories/7", None),
            ("https://api.github.com.evil.example/", None),
            ("https://github.com/", None),
            ("https://me@api.github.com/", None),
            ("https://api.github.com@evil.example/", None),
            ("//evil.example/", None),
            ("\\\\evil.example/", None),
            ("https:evil.example", Some("/repos/acme/old/evil.example")),
            ("https://127.0.0.1/", None),
            ("file:///etc/passwd", None),
            ("data:,x", None),
            ("https://[", None),
        ] {
            let expected = expected.map(|rest| format!("https://api.github.com{rest}"));
            assert_eq!(within_origin(&url, location).map(String::from), expected, "{location}");
        }
        let file = Url::parse("file:///a").unwrap();
        assert_eq!(within_origin(&file, "/b"), None);
    }

    #[test]
    fn a_question_is_asked_again_as_it_was_or_not_at_all() {
        let url = Url::parse("https://api.github.com/repos/acme/old").unwrap();
        let headers = HeaderMap::from_iter([(LOCATION, "/repositories/7".parse().unwrap())]);
        for (status, get, post, patch) in [
            (301, true, false, true),
            (302, true, false, true),
            (303, true, false, false),
            (307, true, true, true),
            (308, true, true, true),
            (300, false, false, false),
            (304, false, false, false),
            (200, false, false, false),
            (401, false, false, false),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let is_followed = |method| next(&method, &url, status, &headers).is_some();
            let found = (is_followed(Method::GET), is_followed(Method::POST), is_followed(Method::PATCH));
            assert_eq!(found, (get, post, patch), "{status}");
            assert_eq!(next(&Method::GET, &url, status, &HeaderMap::new()), None, "{status}");
        }
    }
}
