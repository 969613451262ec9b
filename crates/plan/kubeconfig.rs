//! What of a kubeconfig may count: the server's https address, and data in the file itself.
//!
//! The author of a kubeconfig decides what a client does with it: programs are run, files are read, a proxy is asked,
//! and a controller sends its own token (`tokenFile`) to a server of the author's choice. So the allowed keys are
//! listed, and every other key is refused. The code that opens a workload cluster with a kubeconfig reads it here, and
//! so does the boundary of a folder that brings one.
//!
//! Source: <https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/>

use std::fmt;

use capstan_yaml::YamlFile;
use serde_json::{Map, Value};

/// How large a kubeconfig may be.
const LARGEST: usize = 256 << 10;

/// Of a cluster; a client passes over `extensions`.
const OF_CLUSTER: &[&str] =
    &["server", "certificate-authority-data", "tls-server-name", "disable-compression", "extensions"];
const OF_USER: &[&str] = &["token", "client-certificate-data", "client-key-data", "extensions"];

/// The current context of a kubeconfig, with inline data alone.
#[derive(Clone, PartialEq, Eq)]
pub struct InlineKubeconfig {
    /// `https://10.0.0.1:6443`
    pub server: String,
    /// Certificates of its authority in PEM form and base64.
    pub authority: Option<String>,
    /// The name that its certificate is for, where that is not the server's.
    pub tls_server_name: Option<String>,
    pub token: Option<String>,
    /// A certificate in PEM form and base64.
    pub certificate: Option<String>,
    /// Its private key, too.
    pub key: Option<String>,
}

impl fmt::Debug for InlineKubeconfig {
    /// Without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InlineKubeconfig").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Why a kubeconfig does not count: the rest of a sentence, without anything that could be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotInline(String);

fn refused(why: impl Into<String>) -> NotInline {
    NotInline(why.into())
}

impl InlineKubeconfig {
    /// Reads the current context.
    ///
    /// # Errors
    /// It is not a kubeconfig, or holds more than inline data.
    pub fn read(text: &str) -> Result<Self, NotInline> {
        if text.len() > LARGEST {
            return Err(refused(format!("it is larger than {LARGEST} bytes")));
        }
        let file = YamlFile::read(text).map_err(|error| {
            let place = error.position;
            refused(format!("no kubeconfig from line {}, column {} on", place.line, place.column))
        })?;
        let [document] = file.documents() else { return Err(refused("it is not a kubeconfig")) };
        let root = document.root.value();
        let current = root.get("current-context").and_then(Value::as_str);
        let current = current.ok_or_else(|| refused("it has no current-context"))?;
        let context = entry(&root, "contexts", Some(current), "context")?;
        let named = |key: &str| context.get(key).and_then(Value::as_str);
        let cluster = entry(&root, "clusters", named("cluster"), "cluster")?;
        let user = entry(&root, "users", named("user"), "user")?;
        refuse_others("cluster", cluster, OF_CLUSTER)?;
        refuse_others("user", user, OF_USER)?;
        let server = text_at(cluster, "server")?.ok_or_else(|| refused("its cluster has no server"))?;
        if !is_https(&server) {
            return Err(refused("its server is not an https address"));
        }
        Ok(Self {
            server,
            authority: text_at(cluster, "certificate-authority-data")?,
            tls_server_name: text_at(cluster, "tls-server-name")?,
            token: text_at(user, "token")?,
            certificate: text_at(user, "client-certificate-data")?,
            key: text_at(user, "client-key-data")?,
        })
    }
}

/// What an entry of a list of named ones holds. Two of one name are read differently by different clients.
fn entry<'v>(
    root: &'v Value,
    list: &str,
    name: Option<&str>,
    holds: &str,
) -> Result<&'v Map<String, Value>, NotInline> {
    let all = root.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut named =
        all.iter().filter(|item| name.is_some() && item.get("name").and_then(Value::as_str) == name);
    let found = named.next().and_then(|item| item.get(holds)).and_then(Value::as_object);
    if named.next().is_some() {
        return Err(refused(format!("it has two {list} of one name")));
    }
    found.ok_or_else(|| refused(format!("its current context names no {holds}")))
}

fn refuse_others(of: &str, fields: &Map<String, Value>, allowed: &[&str]) -> Result<(), NotInline> {
    let says_nothing = |key: &str, value: &Value| {
        value.is_null() || key == "insecure-skip-tls-verify" && *value == Value::Bool(false)
    };
    let other =
        fields.iter().find(|(key, value)| !allowed.contains(&key.as_str()) && !says_nothing(key, value));
    match other {
        Some((key, _)) => Err(refused(format!(
            "its {of} has `{}`: only the server's https address and inline data count \
             (`certificate-authority-data`, `client-certificate-data`, `client-key-data`, `token`)",
            known(key)
        ))),
        None => Ok(()),
    }
}

/// A key as errors show it: one that is not a plain word may be anything, even a secret.
fn known(key: &str) -> &str {
    let is_word = key.len() <= 40 && key.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    if is_word { key } else { "an unknown key" }
}

fn text_at(fields: &Map<String, Value>, key: &str) -> Result<Option<String>, NotInline> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(_) => Err(refused(format!("its `{key}` is not text"))),
    }
}

fn is_https(server: &str) -> bool {
    let host = server.strip_prefix("https://").and_then(|rest| rest.split('/').next());
    host.is_some_and(|host| {
        !host.is_empty() && !host.starts_with(':') && !host.contains(['@', '?', '#', '\\']) && host.is_ascii()
    }) && !server.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kubeconfig(cluster: &str, user: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: k, user: u}}\n\
             clusters:\n- name: k\n  cluster: {{{cluster}}}\nusers:\n- name: u\n  user: {{{user}}}\n"
        )
    }

    fn refusal(text: &str) -> String {
        match InlineKubeconfig::read(text) {
            Ok(_) => "taken".to_owned(),
            Err(refused) => refused.to_string(),
        }
    }

    const SERVER: &str = "server: 'https://10.0.0.1:6443'";

    #[test]
    fn what_runs_reads_or_leads_elsewhere_is_refused_by_its_key() {
        for (cluster, user, key) in [
            (SERVER, "exec: {command: touch}", "exec"),
            (SERVER, "auth-provider: {name: oidc, config: {}}", "auth-provider"),
            (SERVER, "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token", "tokenFile"),
            (SERVER, "token: t, tokenFile: /a", "tokenFile"),
            (SERVER, "client-certificate: /a", "client-certificate"),
            (SERVER, "client-key: /a", "client-key"),
            (SERVER, "as: system:masters, token: t", "as"),
            (SERVER, "as-groups: [system:masters]", "as-groups"),
            (SERVER, "username: a, password: hunter2", "username"),
            (SERVER, "what-comes-next: /a", "what-comes-next"),
            ("server: 'https://a', certificate-authority: /a", "token: t", "certificate-authority"),
            ("server: 'https://a', insecure-skip-tls-verify: true", "token: t", "insecure-skip-tls-verify"),
            ("server: 'https://a', proxy-url: 'http://b'", "token: t", "proxy-url"),
        ] {
            let why = refusal(&kubeconfig(cluster, user));
            assert!(why.contains(&format!("`{key}`")), "{key}: {why}");
            assert!(!why.contains("hunter2"), "{why}");
        }
    }

    #[test]
    fn only_https_counts_and_no_secret_is_shown() {
        for server in ["http://10.0.0.1", "https://", "https://a@b", "HTTPS://a b", "unix:///run/a", ""] {
            let why = refusal(&kubeconfig(&format!("server: '{server}'"), "token: t"));
            assert!(
                why == "its server is not an https address" || why == "its cluster has no server",
                "{server}: {why}"
            );
        }
        for (text, expected) in [
            ("current-context: x".to_owned(), "its current context names no context"),
            ("users: hunter2".to_owned(), "it has no current-context"),
            ("hunter2".to_owned(), "it has no current-context"),
            ("a: b\n---\nc: d\n".to_owned(), "it is not a kubeconfig"),
            (kubeconfig(SERVER, "token: 7"), "its `token` is not text"),
            (
                kubeconfig(SERVER, "token: t").replace("users:", "users:\n- {name: u, user: {token: v}}"),
                "it has two users of one name",
            ),
            (
                kubeconfig(SERVER, "'hunter2 ': t").clone(),
                "its user has `an unknown key`: only the server's https address and inline data count (`certificate-authority-data`, `client-certificate-data`, `client-key-data`, `token`)",
            ),
            (kubeconfig(SERVER, "token: t"), "taken"),
            (
                kubeconfig("server: 'https://a', insecure-skip-tls-verify: false", "token: t, exec: null"),
                "taken",
            ),
        ] {
            assert_eq!(refusal(&text), expected, "{text}");
        }
        let large = format!("# {}\n", "x".repeat(LARGEST));
        assert!(refusal(&large).starts_with("it is larger"));
        let read = InlineKubeconfig::read(&kubeconfig(SERVER, "token: hunter2")).unwrap();
        assert_eq!(read.token.as_deref(), Some("hunter2"));
        assert!(!format!("{read:?}").contains("hunter2"));
    }
}
