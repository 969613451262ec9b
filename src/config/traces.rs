//! Where traces go: a collector's address, and what it wants to be shown.

use http::{HeaderName, HeaderValue};
use secrecy::SecretString;
use url::Url;

use super::problems::{ConfigError, Environment};
use super::sources::{ServeOptions, SettingSources};
use super::values::web_url;

/// Where a collector takes traces, below its address
/// (<https://opentelemetry.io/docs/specs/otlp/#otlphttp-request>).
const PATH: &str = "/v1/traces";

/// Where traces go.
#[derive(Debug)]
pub struct TraceCollector {
    /// Where they are posted to.
    pub endpoint: Url,
    /// Headers that are sent along: names, and values that nobody else may see.
    pub headers: Vec<(String, SecretString)>,
}

/// Whether this program can send traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Built {
    With,
    Without,
}

const BUILT: Built = if cfg!(feature = "otlp") { Built::With } else { Built::Without };

/// Where traces go; `None` where nobody said.
///
/// # Errors
/// Where a setting is wrong, or this program was built without traces.
pub fn traces_of(
    options: &ServeOptions,
    environment: Environment<'_>,
) -> Result<Option<TraceCollector>, ConfigError> {
    let sources = SettingSources::read(options, environment)?;
    traces(&sources, environment).map_err(|problem| ConfigError { problems: vec![problem] })
}

pub(super) fn traces(
    sources: &SettingSources,
    environment: Environment<'_>,
) -> Result<Option<TraceCollector>, String> {
    read(sources, environment, BUILT)
}

fn read(
    sources: &SettingSources,
    environment: Environment<'_>,
    built: Built,
) -> Result<Option<TraceCollector>, String> {
    let Some(setting) = sources.setting("otlp-endpoint") else { return Ok(None) };
    if built == Built::Without {
        return Err(setting.wrong(
            "cannot be used: this program was built without traces; build it with `--features otlp`",
        ));
    }
    let mut endpoint = web_url(&setting)?;
    if endpoint.path() == "/" {
        endpoint.set_path(PATH);
    }
    let is_given = sources.setting("otlp-headers-file").is_some()
        || environment("CAPSTAN_OTLP_HEADERS").is_some_and(|text| !text.trim().is_empty());
    if !is_given {
        return Ok(Some(TraceCollector { endpoint, headers: Vec::new() }));
    }
    let secret = sources.secret(
        environment,
        "otlp-headers-file",
        "CAPSTAN_OTLP_HEADERS",
        "lines such as `authorization: Bearer …`",
    )?;
    let private = endpoint.host_str().is_some_and(capstan_model::plain_http::is_private);
    if endpoint.scheme() != "https" && !private {
        return Err(format!(
            "otlp-endpoint: `{endpoint}` must begin with https://, or be in the cluster (*.svc) or on this machine, because its headers are secret"
        ));
    }
    let lines = secret.text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let headers = lines.map(|(line, number)| {
        // The line is never shown: it holds a secret.
        let wrong =
            || format!("{}: line {number} is not a header such as `authorization: Bearer …`", secret.origin);
        let (name, value) = line.split_once(':').ok_or_else(wrong)?;
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        HeaderValue::from_str(value).map_err(|_| wrong())?;
        Ok((name, value.into()))
    });
    Ok(Some(TraceCollector { endpoint, headers: headers.collect::<Result<_, String>>()? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(built: Built, variables: &[(&str, &str)]) -> Result<Option<TraceCollector>, String> {
        let environment = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        };
        read(&SettingSources::read(&ServeOptions::default(), &environment).unwrap(), &environment, built)
    }

    fn read_with(variables: &[(&str, &str)]) -> Result<Option<TraceCollector>, String> {
        read_as(Built::With, variables)
    }

    #[test]
    fn a_program_without_traces_says_what_is_missing() {
        assert!(read_as(Built::Without, &[]).unwrap().is_none());
        let endpoint = ("CAPSTAN_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        let why = read_as(Built::Without, &[endpoint]).unwrap_err();
        assert_eq!(
            why,
            "otlp-endpoint (from CAPSTAN_OTLP_ENDPOINT): `http://127.0.0.1:4318` cannot be used: this program was built \
             without traces; build it with `--features otlp`"
        );
        let read = read_with(&[endpoint]).unwrap().unwrap();
        assert_eq!(read.endpoint.as_str(), "http://127.0.0.1:4318/v1/traces");
    }

    #[test]
    fn headers_are_read_line_by_line_never_shown_and_never_sent_in_clear() {
        use secrecy::ExposeSecret as _;
        let collector = ("CAPSTAN_OTLP_ENDPOINT", "https://collector.example/otlp");
        let read_both = |headers| read_with(&[collector, ("CAPSTAN_OTLP_HEADERS", headers)]);
        let found = read_both("Authorization: Bearer a:b\n\nx-scope: acme\n").unwrap().unwrap();
        assert_eq!(found.endpoint.as_str(), "https://collector.example/otlp");
        let headers: Vec<(&str, &str)> =
            found.headers.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
        assert_eq!(headers, [("authorization", "Bearer a:b"), ("x-scope", "acme")]);
        assert_eq!(
            read_both("x-scope: acme\nsecret words").unwrap_err(),
            "CAPSTAN_OTLP_HEADERS: line 2 is not a header such as `authorization: Bearer …`"
        );
        let clear = ("CAPSTAN_OTLP_ENDPOINT", "http://collector.example");
        assert!(read_with(&[clear]).is_ok());
        let why = read_with(&[clear, ("CAPSTAN_OTLP_HEADERS", "x-key: swordfish")]).unwrap_err();
        assert!(why.contains("must begin with https://") && !why.contains("swordfish"), "{why}");
    }
}
