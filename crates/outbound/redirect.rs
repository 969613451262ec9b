//! Where an answer leads, and who is followed: nobody beyond scheme, host and port of the question, unless the caller judges
//! each host.

use http::header::{AUTHORIZATION, LOCATION};
use http::{HeaderMap, Method, StatusCode};
use url::Url;

use crate::address::host_of;
use crate::request::OutboundRequest;

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

/// Why a question is not asked again where its answer leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedirectError {
    /// To this host, which may not be asked.
    NotAllowed(String),
    /// From TLS to a server without it.
    NoTls,
    /// On and on.
    TooOften,
}

/// Where a question is asked again, and how often that is left to do.
pub struct Redirects<'a> {
    left: usize,
    /// Which addresses may be asked; `None`: those of the question's own server.
    may_be_asked: Option<&'a (dyn Fn(&Url) -> bool + Sync)>,
}

impl<'a> Redirects<'a> {
    /// So often, and only within the scheme, host and port of the question: with its method, headers and body.
    pub(crate) const fn within_origin(most: usize) -> Self {
        Self { left: most, may_be_asked: None }
    }

    /// So often, and to each address that may be asked: reads alone, never from TLS to no TLS, and with the credential
    /// for the first server alone.
    pub const fn to_others(most: usize, may_be_asked: &'a (dyn Fn(&Url) -> bool + Sync)) -> Self {
        Self { left: most, may_be_asked: Some(may_be_asked) }
    }

    /// Whether the question is asked again; it is then the one that the answer leads to.
    ///
    /// # Errors
    /// See [`RedirectError`].
    pub fn follow(
        &mut self,
        question: &mut OutboundRequest,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<bool, RedirectError> {
        let (method, url) = (&question.method, &question.url);
        let location = headers.get(LOCATION).filter(|_| stays_as_it_was(method, status));
        let Some(location) = location.and_then(|location| location.to_str().ok()) else { return Ok(false) };
        let next = match self.may_be_asked {
            None => within_origin(url, location),
            Some(_) if !matches!(*method, Method::GET | Method::HEAD) => None,
            Some(_) => url.join(location).ok(),
        };
        let Some(next) = next else { return Ok(false) };
        if self.may_be_asked.is_some_and(|may_be_asked| !may_be_asked(&next)) {
            return Err(RedirectError::NotAllowed(host_of(&next)));
        }
        if url.scheme() == "https" && next.scheme() != "https" {
            return Err(RedirectError::NoTls);
        }
        self.left = self.left.checked_sub(1).ok_or(RedirectError::TooOften)?;
        if next.origin() != url.origin() {
            question.headers.remove(AUTHORIZATION);
        }
        question.url = next;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

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
            let is_followed = |method: Method, headers: &HeaderMap| {
                let mut question = OutboundRequest::new(method, url.clone());
                Redirects::within_origin(1).follow(&mut question, status, headers).unwrap()
            };
            let found =
                [Method::GET, Method::POST, Method::PATCH].map(|method| is_followed(method, &headers));
            assert_eq!(found, [get, post, patch], "{status}");
            assert!(!is_followed(Method::GET, &HeaderMap::new()), "{status}");
        }
    }

    #[test]
    fn a_read_is_led_to_others_without_its_credential_and_never_away_from_tls() {
        let url = Url::parse("https://ghcr.io/v2/acme/blobs/1").unwrap();
        for (method, location, expected) in [
            (Method::GET, "/v2/acme/blobs/2", Ok(Some(("https://ghcr.io/v2/acme/blobs/2", true)))),
            (Method::HEAD, "https://ghcr.io:443/b", Ok(Some(("https://ghcr.io/b", true)))),
            (Method::GET, "https://pkg.example/b", Ok(Some(("https://pkg.example/b", false)))),
            (Method::GET, "https://ghcr.io:8443/b", Ok(Some(("https://ghcr.io:8443/b", false)))),
            (Method::GET, "http://ghcr.io/b", Err(RedirectError::NoTls)),
            (
                Method::GET,
                "https://evil.example/b",
                Err(RedirectError::NotAllowed("evil.example".to_owned())),
            ),
            (Method::GET, "file:///etc/passwd", Err(RedirectError::NotAllowed(String::new()))),
            (Method::GET, "https://[", Ok(None)),
            (Method::POST, "/v2/acme/blobs/2", Ok(None)),
            (Method::PUT, "https://pkg.example/b", Ok(None)),
        ] {
            let headers = HeaderMap::from_iter([(LOCATION, location.parse().unwrap())]);
            let token = HeaderValue::from_static("Bearer t0ken");
            let mut question = OutboundRequest::new(method.clone(), url.clone()).header(AUTHORIZATION, token);
            let may_be_asked =
                |url: &Url| ["ghcr.io", "pkg.example"].contains(&url.host_str().unwrap_or_default());
            let mut redirects = Redirects::to_others(1, &may_be_asked);
            let led = redirects.follow(&mut question, StatusCode::TEMPORARY_REDIRECT, &headers);
            let has_token = question.headers.contains_key(AUTHORIZATION);
            let found = led.map(|led| led.then_some((question.url.as_str(), has_token)));
            assert_eq!(found, expected, "{method} {location}");
            if matches!(expected, Ok(Some(_))) {
                let more = redirects.follow(&mut question, StatusCode::TEMPORARY_REDIRECT, &headers);
                assert_eq!(more, Err(RedirectError::TooOften), "{method} {location}");
            }
        }
    }
}
