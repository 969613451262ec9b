//! Which server belongs to an API: where people look at repositories, and from where Git fetches them.

use capstan_outbound::host_of;
use url::Url;

/// Where people look at repositories and Git fetches them: `https://github.com` for GitHub's own API, the company's host for
/// data residency (`https://octo.ghe.com` for `https://api.octo.ghe.com`), else the root of the API's server. GitHub
/// Enterprise Server has API and Git on one host, also with
/// [subdomain isolation](https://docs.github.com/enterprise-server/admin/configuring-settings/hardening-security-for-your-enterprise/enabling-subdomain-isolation).
pub fn web_url(api: &Url) -> Url {
    let mut web = api.clone();
    web.set_path("");
    web.set_query(None);
    let host = api.host_str().unwrap_or_default();
    let own = host.strip_prefix("api.").filter(|own| *own == "github.com" || own.ends_with(".ghe.com"));
    if own.is_some() && web.set_host(own).is_err() {
        return api.clone();
    }
    web
}

/// Refuses a clone URL of another server than the API's own: the token's holder may read the repository.
/// Returns the reason.
pub(super) fn check_clone_url(api: &Url, clone_url: &str) -> Result<(), String> {
    let own = web_url(api);
    let url = Url::parse(clone_url).map_err(|error| format!("the clone URL is not valid ({error})"))?;
    let is_its_port = match (own.scheme(), url.scheme()) {
        (of_api, of_clone) if of_api == of_clone => {
            url.port_or_known_default() == own.port_or_known_default()
        }
        ("http", "https") => url.port().is_none(),
        _ => false,
    };
    if url.host() == own.host() && is_its_port {
        return Ok(());
    }
    let server = |url: &Url| format!("{}://{}", url.scheme(), host_of(url));
    Err(format!(
        "the clone URL is on {}, but Capstan sends tokens only to {}, the server of the API: check --github-api-url",
        server(&url),
        server(&own)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_belongs_to_a_server() {
        for (api, web) in [
            ("https://api.github.com", "https://github.com/"),
            ("https://api.octo.ghe.com/", "https://octo.ghe.com/"),
            ("https://ghes.example/api/v3", "https://ghes.example/"),
            // A company may call its server so.
            ("https://api.example.com/api/v3", "https://api.example.com/"),
            ("https://api.github.com.evil.example/", "https://api.github.com.evil.example/"),
            ("http://127.0.0.1:3000/api/v3", "http://127.0.0.1:3000/"),
        ] {
            assert_eq!(web_url(&api.parse().unwrap()).as_str(), web, "{api}");
        }
    }

    #[test]
    fn a_clone_url_is_of_the_server_that_belongs_to_the_api() {
        const GITHUB: &str = "https://api.github.com";
        const GHES: &str = "https://ghes.example/api/v3";
        const NEAR: &str = "http://127.0.0.1:3000/api/v3";
        for (api, clone_url, fits) in [
            (GITHUB, "https://github.com/acme/fleet.git", true),
            (GITHUB, "https://GitHub.com:443/acme/fleet.git", true),
            (GITHUB, "http://github.com/acme/fleet.git", false),
            (GITHUB, "https://github.com:8443/acme/fleet.git", false),
            (GITHUB, "https://api.github.com/acme/fleet.git", false),
            (GITHUB, "https://github.com.evil.example/acme/fleet.git", false),
            (GITHUB, "https://github.com@evil.example/acme/fleet.git", false),
            (GITHUB, "https://evil.example/github.com/acme/fleet.git", false),
            (GITHUB, "https://github.com./acme/fleet.git", false),
            (GITHUB, "https://10.0.0.1/acme/fleet.git", false),
            (GITHUB, "git@github.com:acme/fleet.git", false),
            (GITHUB, "ssh://git@github.com/acme/fleet.git", false),
            (GITHUB, "file:///srv/acme/fleet.git", false),
            (GITHUB, "", false),
            ("https://api.octo.ghe.com", "https://octo.ghe.com/acme/fleet.git", true),
            ("https://api.octo.ghe.com", "https://other.ghe.com/acme/fleet.git", false),
            (GHES, "https://ghes.example/acme/fleet.git", true),
            (GHES, "http://ghes.example/acme/fleet.git", false),
            (GHES, "https://codeload.ghes.example/acme/fleet.git", false),
            (GHES, "https://github.com/acme/fleet.git", false),
            (NEAR, "http://127.0.0.1:3000/acme/fleet.git", true),
            (NEAR, "http://127.0.0.1:3001/acme/fleet.git", false),
            (NEAR, "http://localhost:3000/acme/fleet.git", false),
            (NEAR, "https://127.0.0.1/acme/fleet.git", true),
            (NEAR, "https://127.0.0.1:3000/acme/fleet.git", false),
        ] {
            assert_eq!(check_clone_url(&api.parse().unwrap(), clone_url).is_ok(), fits, "{api} {clone_url}");
        }
        let shown = check_clone_url(&GITHUB.parse().unwrap(), "https://u:s3cret@evil.example/a.git?t=s3cret");
        assert_eq!(
            shown.unwrap_err(),
            "the clone URL is on https://evil.example, but Capstan sends tokens only to https://github.com, the server of the API: check --github-api-url"
        );
    }
}
