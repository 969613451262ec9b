//! What a registry wants of those who ask (`WWW-Authenticate`), and tokens for it.
//! <https://distribution.github.io/distribution/spec/auth/token/>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_outbound::host_of;
use http::{HeaderValue, Method};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use url::{Url, form_urlencoded};

use super::http::{Ask, RegistryHttp, bearer, parse, secret};
use capstan_ports::{FetchError, SourceCredentials, gives_tokens_for};

/// What to give where a registry refuses.
pub(super) const NAMES: &str = "so it needs other credentials: set `OCI_USERNAME` and `OCI_PASSWORD`, `OCI_ACCESS_TOKEN` or `OCI_REFRESH_TOKEN` in the environment or in the config Secret";

/// What an answer with a token may measure.
const ANSWER_BYTES: usize = 1 << 20;

/// What a registry wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

impl Challenge {
    /// Reads the header; `None` for what is not known here.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service, mut scope) = (None, None, None);
        let mut rest = rest.trim_start();
        while let Some((name, after)) = rest.split_once('=') {
            let (value, next) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"')?,
                None => after.split_once(',').unwrap_or((after, "")),
            };
            match name.trim() {
                "realm" => realm = Some(value.to_owned()),
                "service" => service = Some(value.to_owned()),
                "scope" => scope = Some(value.to_owned()),
                _ => {}
            }
            rest = next.trim_start_matches([',', ' ']);
        }
        Some(Self::Bearer { realm: realm?, service, scope })
    }

    /// What to send with the next request to the registry at this address; `None` where the credentials are not
    /// enough for it.
    pub(super) async fn meet(
        &self,
        http: &RegistryHttp,
        registry: &Url,
        credentials: &SourceCredentials,
    ) -> Result<Option<HeaderValue>, FetchError> {
        let Self::Bearer { realm, service, scope } = self else { return Ok(basic(credentials)) };
        let unexpected = |reason: &str| FetchError::Unexpected {
            address: registry.origin().ascii_serialization(),
            reason: reason.to_owned(),
        };
        // The answer is untrusted text and is not shown.
        let mut url = parse(realm).map_err(|_| unexpected("it names no valid address for a token"))?;
        if url.scheme() != registry.scheme() && url.scheme() != "https" {
            return Err(unexpected("it names a host without TLS for a token"));
        }
        if !gives_tokens_for(&host_of(registry), &host_of(&url)) {
            return Err(unexpected(
                "it names another host for a token, which Capstan does not ask: set a token in `OCI_ACCESS_TOKEN`",
            ));
        }
        let pairs: Vec<(&str, &str)> = [("service", service), ("scope", scope)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
            .collect();
        let ask = match &credentials.oci_refresh_token {
            Some(token) => {
                let mut form = form_urlencoded::Serializer::new(String::new());
                form.append_pair("grant_type", "refresh_token");
                form.append_pair("client_id", "capstan");
                form.append_pair("refresh_token", token.expose_secret()).extend_pairs(pairs);
                Ask::new(Method::POST, url, ANSWER_BYTES)
                    .body("application/x-www-form-urlencoded", form.finish().into_bytes())
            }
            None => {
                url.query_pairs_mut().extend_pairs(pairs);
                Ask::new(Method::GET, url, ANSWER_BYTES).authorization(basic(credentials)).stay()
            }
        };
        let told = http.send(&ask).await?.success(NAMES)?;
        let given: RegistryToken =
            serde_json::from_slice(&told.body).map_err(|_| unexpected("it gives no token"))?;
        let token = given.token.or(given.access_token).ok_or_else(|| unexpected("it gives no token"))?;
        Ok(bearer(&token))
    }
}

/// Both names are in use; never shown.
#[derive(Deserialize)]
struct RegistryToken {
    token: Option<String>,
    access_token: Option<String>,
}

fn basic(credentials: &SourceCredentials) -> Option<HeaderValue> {
    let (user, password) = credentials.basic()?;
    secret(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| {
            Some(Challenge::Bearer {
                realm: realm.to_owned(),
                service: service.map(str::to_owned),
                scope: scope.map(str::to_owned),
            })
        };
        for (header, expected) in [
            (
                r#"Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push""#,
                bearer(
                    "https://auth.example/token",
                    Some("registry.example"),
                    Some("repository:a/b:pull,push"),
                ),
            ),
            (
                r#"bearer realm=https://auth.example/t, error="x""#,
                bearer("https://auth.example/t", None, None),
            ),
            (r#"Basic realm="Registry""#, Some(Challenge::Basic)),
            ("Bearer service=x", None),
            ("Negotiate", None),
            ("", None),
        ] {
            assert_eq!(Challenge::parse(header), expected, "{header}");
        }
    }
}
