//! The webhooks that waves of campaigns may ask, and what signs the questions: a file, a list of hosts.

use std::collections::BTreeMap;

use capstan_bot::wave_webhooks::WebhookHost;
use capstan_plan::settings::{Glob, HostName};
use secrecy::SecretString;
use serde_json::Value;

use super::secrets::SECRET_CHARACTERS;
use super::sources::{SettingSources, all, without_login};

const FORM: &str =
    "expected a list such as `- {host: judge.example.com, repositories: [\"acme/*\"], secret: …}`";

/// A host whose webhooks may be asked.
#[derive(Debug)]
pub struct WaveWebhookHost {
    /// The host, with its port where that is not the scheme's own.
    pub host: HostName,
    /// The repositories, as GitHub names them, for whose sake.
    pub repositories: Vec<Glob>,
    /// What signs questions to it.
    pub secret: SecretString,
}

/// The hosts of the file; none where nobody named one.
pub(super) fn wave_webhooks(sources: &SettingSources) -> Result<Vec<WaveWebhookHost>, String> {
    let Some(setting) = sources.setting("wave-webhooks-file") else { return Ok(Vec::new()) };
    let path = setting.path();
    let text = std::fs::read_to_string(&path).map_err(|error| {
        let path = path.display();
        format!(
            "{}: cannot read {path}: {error}; it should hold hosts of webhooks, readable by this user",
            setting.named()
        )
    })?;
    WaveWebhookHost::read(&text).map_err(|why| format!("{}: {}{why}", setting.named(), path.display()))
}

impl From<WaveWebhookHost> for WebhookHost {
    fn from(read: WaveWebhookHost) -> Self {
        Self { host: read.host.as_str().to_owned(), repositories: read.repositories, secret: read.secret }
    }
}

impl WaveWebhookHost {
    /// Reads the list.
    ///
    /// # Errors
    /// Why it is not such a list: begins with line and column where there is one, and never shows a value.
    pub fn read(text: &str) -> Result<Vec<Self>, String> {
        let mut options = serde_saphyr::Options::default();
        // A snippet of the file could show a secret.
        options.with_snippet = false;
        let list: Option<Vec<BTreeMap<String, Value>>> = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| {
            let place =
                error.location().map_or_else(String::new, |at| format!(":{}:{}", at.line(), at.column()));
            format!("{place}: {FORM}")
        })?;
        all(list.unwrap_or_default().into_iter().zip(1..).map(|(fields, number)| one(fields, number)))
    }
}

fn one(mut fields: BTreeMap<String, Value>, number: usize) -> Result<WaveWebhookHost, String> {
    let wrong = |why: &str| format!("entry {number} {why}");
    let host = fields.remove("host");
    let host = host.as_ref().and_then(Value::as_str).ok_or_else(|| wrong("has no `host`"))?;
    let host = HostName::parse(host)
        .map_err(|error| wrong(&format!("has a wrong `host`: {}", without_login(&error, host))))?;
    let of = |why: &str| format!("entry {number}, for {}, {why}", host.as_str());
    let repositories = fields.remove("repositories");
    let repositories = repositories.as_ref().and_then(Value::as_array).filter(|list| !list.is_empty());
    let repositories = repositories.ok_or_else(|| {
        of("lists no `repositories` that may ask it: add a list of patterns such as `acme/*`")
    })?;
    let glob = |pattern: &Value| {
        let pattern = pattern.as_str().ok_or_else(|| of("has `repositories` that are not texts"))?;
        Glob::parse(pattern).map_err(|error| of(&format!("has wrong `repositories`: {error}")))
    };
    let repositories = repositories.iter().map(glob).collect::<Result<Vec<_>, _>>()?;
    if repositories.iter().all(Glob::is_exclusion) {
        return Err(of("names no `repositories`, and only excludes some: add a pattern such as `acme/*`"));
    }
    let secret = match fields.remove("secret") {
        Some(Value::String(text)) if text.chars().count() >= SECRET_CHARACTERS => text.into(),
        Some(Value::String(_)) => {
            return Err(of(&format!(
                "has a `secret` of fewer than {SECRET_CHARACTERS} characters, which can be guessed: make one with `openssl rand -hex 32`"
            )));
        }
        _ => return Err(of("has no text under `secret`: quote it")),
    };
    match fields.into_keys().next() {
        Some(key) => {
            Err(of(&format!("has an unknown key `{key}`; expected `host`, `repositories`, `secret`")))
        }
        None => Ok(WaveWebhookHost { host, repositories, secret }),
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn hosts_are_read_and_secrets_never_shown() {
        let text = "- host: judge.example.com:8443\n  repositories: [\"acme/*\"]\n  secret: \"s3cret-s3cret-s3cret\"\n";
        let read = WaveWebhookHost::read(text).unwrap();
        let [one] = read.as_slice() else { panic!("{read:?}") };
        assert_eq!(one.host.as_str(), "judge.example.com:8443");
        assert!(one.repositories[0].matches("acme/gitops") && !one.repositories[0].matches("other/gitops"));
        assert_eq!(one.secret.expose_secret(), "s3cret-s3cret-s3cret");
        assert!(!format!("{read:?}").contains("s3cret"));
        assert!(WaveWebhookHost::read("").unwrap().is_empty());
    }

    #[test]
    fn mistakes_are_reported_by_entry_without_a_value() {
        for (text, expected) in [
            ("- {secret: s3cret}", ": entry 1 has no `host`"),
            (
                "- {host: judge.example, secret: s3cret}",
                ": entry 1, for judge.example, lists no `repositories` that may ask it: add a list of patterns such as `acme/*`",
            ),
            (
                "- {host: judge.example, repositories: ['!acme/*'], secret: s3cret-s3cret-s3cret}",
                ": entry 1, for judge.example, names no `repositories`, and only excludes some: add a pattern such as `acme/*`",
            ),
            (
                "- {host: judge.example, repositories: ['*/*'], secret: s3cret}",
                ": entry 1, for judge.example, has a `secret` of fewer than 16 characters, which can be guessed: make one with `openssl rand -hex 32`",
            ),
            (
                "- {host: judge.example, repositories: ['*/*'], secret: 12}",
                ": entry 1, for judge.example, has no text under `secret`: quote it",
            ),
            (
                "- {host: judge.example, repositories: ['*/*'], secret: s3cret-s3cret-s3cret, path: /x}",
                ": entry 1, for judge.example, has an unknown key `path`; expected `host`, `repositories`, `secret`",
            ),
            (
                "host: s3cret",
                ":1:1: expected a list such as `- {host: judge.example.com, repositories: [\"acme/*\"], secret: …}`",
            ),
        ] {
            assert_eq!(WaveWebhookHost::read(text).unwrap_err(), expected, "{text}");
        }
    }
}
