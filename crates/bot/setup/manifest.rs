//! The manifest of the GitHub App.

use serde_json::{Value, json};
use url::Url;

use crate::intake::Event;

/// GitHub's limit of a name.
const NAME_CHARACTERS: usize = 34;

/// What the App may do, and nothing else: never workflows or administration.
pub const PERMISSIONS: &[(&str, &str)] = &[
    ("contents", "write"),
    ("pull_requests", "write"),
    ("checks", "write"),
    ("statuses", "write"),
    ("issues", "write"),
    ("metadata", "read"),
    ("merge_queues", "read"),
    ("members", "read"),
];

/// Addresses of the bot.
#[derive(Debug, Clone, Copy)]
pub struct Addresses<'a> {
    /// How GitHub reaches the bot.
    pub public: &'a Url,
    /// The address that GitHub redirects the browser to, with a code.
    pub back: &'a Url,
    /// The address that GitHub redirects people to after a sign-in, if they may sign in.
    pub callback: Option<&'a Url>,
}

/// The manifest of the App.
pub fn manifest(addresses: Addresses<'_>) -> Value {
    let Addresses { public, back, callback } = addresses;
    let name = format!("Capstan of {}", public.host_str().unwrap_or_default());
    let name: String = name.chars().take(NAME_CHARACTERS).collect();
    let webhook = format!("{}/github/webhook", public.as_str().trim_end_matches('/'));
    // GitHub sends these to every App.
    let unasked = [Event::Installation, Event::InstallationRepositories];
    let events: Vec<&str> =
        Event::ALL.into_iter().filter(|event| !unasked.contains(event)).map(Event::as_str).collect();
    let permissions: serde_json::Map<String, Value> =
        PERMISSIONS.iter().map(|(name, level)| ((*name).to_owned(), json!(level))).collect();
    let mut manifest = json!({
        "name": name.trim_end_matches(['.', '-', ' ']),
        "url": public.as_str(),
        "hook_attributes": {"url": webhook, "active": true},
        "redirect_url": back.as_str(),
        "public": false,
        "default_permissions": permissions,
        "default_events": events,
    });
    if let Some(callback) = callback {
        manifest["callback_urls"] = json!([callback.as_str()]);
    }
    manifest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_asks_for_what_is_documented_and_nothing_else() {
        let url = |text: &str| Url::parse(text).unwrap();
        let (public, back) =
            (url("https://capstan.example/below/"), url("http://127.0.0.1:8082/setup/created"));
        let asked = manifest(Addresses { public: &public, back: &back, callback: None });
        let expected = json!({
            "name": "Capstan of capstan.example",
            "url": "https://capstan.example/below/",
            "hook_attributes": {"url": "https://capstan.example/below/github/webhook", "active": true},
            "redirect_url": "http://127.0.0.1:8082/setup/created",
            "public": false,
            "default_permissions": {
                "checks": "write", "contents": "write", "issues": "write", "members": "read",
                "merge_queues": "read", "metadata": "read", "pull_requests": "write", "statuses": "write"
            },
            "default_events": [
                "check_run", "check_suite", "issue_comment", "issues", "merge_group", "pull_request",
                "pull_request_review", "push", "repository"
            ],
        });
        assert_eq!(asked, expected);
        let callback = url("https://capstan.example/login/callback");
        let public = url("https://a-rather-long-name-of-a-host.example.com");
        let asked = manifest(Addresses { public: &public, back: &back, callback: Some(&callback) });
        assert_eq!(asked["callback_urls"], json!(["https://capstan.example/login/callback"]));
        assert_eq!(asked["name"], "Capstan of a-rather-long-name-of-a");
    }
}
