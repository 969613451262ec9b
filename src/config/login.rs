//! How people sign in to see the pages: the App's client id and secret, and where they come back to.

use capstan_serve::SignInSettings;
use capstan_server::CALLBACK;
use url::Url;

use super::problems::Environment;
use super::sources::SettingSources;

/// How people sign in, where a client id is given.
pub(super) fn login(
    sources: &SettingSources,
    environment: Environment<'_>,
    public_url: Option<&Url>,
) -> Result<Option<SignInSettings>, String> {
    let Some(client_id) = sources.setting("github-client-id") else { return Ok(None) };
    let is_word = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
    };
    if !is_word(&client_id.text) {
        return Err(client_id.wrong(
            "is not a client id; expected what GitHub shows as `Client ID` on the App's settings page",
        ));
    }
    let secret = sources.secret(
        environment,
        "github-client-secret-file",
        "CAPSTAN_GITHUB_CLIENT_SECRET",
        "a client secret that was made on the App's settings page",
    )?;
    let client_secret = secret.text.trim();
    if client_secret.is_empty() || client_secret.chars().any(char::is_whitespace) {
        return Err(format!("{} holds no client secret: one word, as GitHub showed it once", secret.origin));
    }
    let url = public_url.ok_or(
        "public-url is missing: with github-client-id people sign in, and GitHub has to know where to send them back: \
         give the address at which browsers reach --listen, by --public-url or CAPSTAN_PUBLIC_URL",
    )?;
    let callback = callback(url)?;
    Ok(Some(SignInSettings { client_id: client_id.text, client_secret: client_secret.into(), callback }))
}

/// Where people come back to who sign in; the error is why they cannot with that public URL.
pub(super) fn callback(url: &Url) -> Result<Url, String> {
    // Browsers send the session's cookie back over https and to this machine alone, and to every path of the host.
    let is_local = url.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"));
    if url.scheme() != "https" && !is_local {
        return Err(format!("public-url: `{url}` must begin with https:// where people sign in"));
    }
    if url.path() != "/" {
        return Err(format!(
            "public-url: `{url}` must hold no path where people sign in: give a host of its own"
        ));
    }
    url.join(CALLBACK).map_err(|error| format!("public-url: `{url}`: {error}"))
}
