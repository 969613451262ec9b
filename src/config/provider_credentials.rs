//! What the bot shows hosts from which it fetches components of providers: a file, a list of hosts.

use std::collections::BTreeMap;

use capstan_fleet::components::HostCredentials;
use capstan_plan::settings::{Glob, HostName};
use capstan_ports::SourceCredentials;
use capstan_providers::CREDENTIAL_NAMES;
use secrecy::{ExposeSecret as _, SecretString};

use super::sources::{SettingSources, all, without_login};

/// What a host is shown of who asks.
#[derive(Debug)]
pub struct ProviderCredentials {
    /// The host, with its port where that is not the scheme's own.
    pub host: HostName,
    /// The repositories, as GitHub names them, that may have what it gives.
    pub repositories: Vec<Glob>,
    /// What it is shown, under the names of config Secrets.
    pub values: BTreeMap<String, SecretString>,
}

/// The credentials of the file; none where nobody named one.
pub(super) fn provider_credentials(sources: &SettingSources) -> Result<Vec<ProviderCredentials>, String> {
    let Some(setting) = sources.setting("provider-credentials-file") else { return Ok(Vec::new()) };
    let path = setting.path();
    let text = std::fs::read_to_string(&path).map_err(|error| {
        let path = path.display();
        format!(
            "{}: cannot read {path}: {error}; it should hold credentials by host, readable by this user",
            setting.named()
        )
    })?;
    ProviderCredentials::read(&text).map_err(|why| format!("{}: {}{why}", setting.named(), path.display()))
}

impl From<ProviderCredentials> for HostCredentials {
    fn from(read: ProviderCredentials) -> Self {
        let value = |name: &str| Some(read.values.get(name)?.expose_secret().to_owned());
        Self {
            host: read.host.as_str().to_owned(),
            credentials: SourceCredentials::read(value),
            repositories: read.repositories,
        }
    }
}

impl ProviderCredentials {
    /// Reads the list.
    ///
    /// # Errors
    /// Why it is not such a list: begins with line and column where there is one, and never shows a value.
    pub fn read(text: &str) -> Result<Vec<Self>, String> {
        read(text)
    }
}

fn read(text: &str) -> Result<Vec<ProviderCredentials>, String> {
    const FORM: &str = "expected a list such as `- {host: registry.example.com, repositories: [\"acme/*\"], OCI_USERNAME: …, OCI_PASSWORD: …}`";
    let mut options = serde_saphyr::Options::default();
    // A snippet of the file could show a password.
    options.with_snippet = false;
    let list: Option<Vec<BTreeMap<String, serde_json::Value>>> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let place =
                error.location().map_or_else(String::new, |at| format!(":{}:{}", at.line(), at.column()));
            format!("{place}: {FORM}")
        })?;
    all(list.unwrap_or_default().into_iter().zip(1..).map(|(fields, number)| one(fields, number)))
}

fn one(
    mut fields: BTreeMap<String, serde_json::Value>,
    number: usize,
) -> Result<ProviderCredentials, String> {
    let wrong = |why: &str| format!("entry {number} {why}");
    let host = fields.remove("host");
    let host = host.as_ref().and_then(serde_json::Value::as_str).ok_or_else(|| wrong("has no `host`"))?;
    let host = HostName::parse(host)
        .map_err(|error| wrong(&format!("has a wrong `host`: {}", without_login(&error, host))))?;
    let of = |why: &str| format!("entry {number}, for {}, {why}", host.as_str());
    let repositories = fields.remove("repositories");
    let repositories = repositories.as_ref().and_then(serde_json::Value::as_array);
    let repositories = repositories.filter(|list| !list.is_empty()).ok_or_else(|| {
        of("lists no `repositories` allowed to use this host: add a list of patterns such as `acme/*`")
    })?;
    let glob = |pattern: &serde_json::Value| {
        let pattern = pattern.as_str().ok_or_else(|| of("has `repositories` that are not texts"))?;
        Glob::parse(pattern).map_err(|error| of(&format!("has wrong `repositories`: {error}")))
    };
    let repositories = repositories.iter().map(glob).collect::<Result<Vec<_>, _>>()?;
    if repositories.iter().all(Glob::is_exclusion) {
        return Err(of("names no `repositories`, and only excludes some: add a pattern such as `acme/*`"));
    }
    let value = |(name, value): (String, serde_json::Value)| {
        if !CREDENTIAL_NAMES.contains(&name.as_str()) {
            let names = CREDENTIAL_NAMES.join(", ");
            return Err(of(&format!(
                "has an unknown key `{name}`; expected `host`, `repositories`, {names}"
            )));
        }
        match value {
            serde_json::Value::String(text) if !text.is_empty() => Ok((name, text.into())),
            _ => Err(of(&format!("has no text under `{name}`: quote it"))),
        }
    };
    let values = fields.into_iter().map(value).collect::<Result<BTreeMap<_, _>, _>>()?;
    if values.is_empty() {
        return Err(of(&format!("holds no credentials: add one of {}", CREDENTIAL_NAMES.join(", "))));
    }
    Ok(ProviderCredentials { host, repositories, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_read_by_host_and_never_shown() {
        let text = "- host: registry.example.com:5000\n  repositories: [\"acme/*\"]\n  OCI_USERNAME: me\n  OCI_PASSWORD: \"s3cret\"\n";
        let read = read(text).unwrap();
        let [one] = read.as_slice() else { panic!("{read:?}") };
        assert_eq!(one.host.as_str(), "registry.example.com:5000");
        assert!(one.repositories[0].matches("acme/gitops") && !one.repositories[0].matches("other/gitops"));
        assert_eq!(one.values["OCI_PASSWORD"].expose_secret(), "s3cret");
        assert!(!format!("{read:?}").contains("s3cret"));
        assert!(super::read("").unwrap().is_empty());
    }

    #[test]
    fn mistakes_are_reported_by_entry_without_a_value() {
        const NAMES: &str = "OCI_USERNAME, OCI_PASSWORD, OCI_ACCESS_TOKEN, OCI_REFRESH_TOKEN, github-token, GITHUB_TOKEN, gitlab-access-token, GITLAB_ACCESS_TOKEN";
        for (text, expected) in [
            ("- {OCI_PASSWORD: s3cret}", ": entry 1 has no `host`".to_owned()),
            (
                "- {host: 'https://github.com', OCI_PASSWORD: s3cret}",
                ": entry 1 has a wrong `host`: `https://github.com` is not a host (`registry.example.com` or `registry.example.com:5000`, without scheme or path)".to_owned(),
            ),
            (
                "- {host: github.com, GITHUB_TOKEN: s3cret}",
                ": entry 1, for github.com, lists no `repositories` allowed to use this host: add a list of patterns such as `acme/*`".to_owned(),
            ),
            (
                "- {host: github.com, repositories: ['!acme/*'], GITHUB_TOKEN: s3cret}",
                ": entry 1, for github.com, names no `repositories`, and only excludes some: add a pattern such as `acme/*`".to_owned(),
            ),
            (
                "- {host: github.com, repositories: ['*/*'], GITHUB_TOKN: s3cret}",
                format!(": entry 1, for github.com, has an unknown key `GITHUB_TOKN`; expected `host`, `repositories`, {NAMES}"),
            ),
            (
                "- {host: github.com, repositories: ['*/*'], GITHUB_TOKEN: 12}",
                ": entry 1, for github.com, has no text under `GITHUB_TOKEN`: quote it".to_owned(),
            ),
            (
                "- {host: github.com, repositories: ['*/*']}",
                format!(": entry 1, for github.com, holds no credentials: add one of {NAMES}"),
            ),
            (
                "host: s3cret",
                ":1:1: expected a list such as `- {host: registry.example.com, repositories: [\"acme/*\"], OCI_USERNAME: …, OCI_PASSWORD: …}`".to_owned(),
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), expected, "{text}");
        }
    }
}
