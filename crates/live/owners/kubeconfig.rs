//! Where a cluster is, as Cluster API's own kubeconfig says, and the kubeconfigs that owners are given.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_plan::settings::OidcLogin;
use capstan_yaml::{Node, YamlFile};
use serde_json::{Map, Value, json};

use super::granted::USER;

/// The name of a file that is encrypted.
pub const AGE_FILE: &str = "kubeconfig.age";
/// The name of a file that holds no secret.
pub const LOGIN_FILE: &str = "kubeconfig";

/// How an API server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// `https://10.0.0.1:6443`
    pub server: String,
    /// Certificates of its authority in PEM form and base64; `None` where the system's count.
    pub authority: Option<String>,
    /// The name that its certificate is for, where that is not the server's.
    pub tls_server_name: Option<String>,
    /// The certificate of the user who reads it, in PEM form; `None` where it has none.
    pub certificate: Option<String>,
}

impl Endpoint {
    /// What the current context of a kubeconfig says; `None` if the text is not a kubeconfig, or its server is not
    /// reached by https.
    pub fn read(text: &str) -> Option<Self> {
        let file = YamlFile::read(text).ok()?;
        let root = &file.documents().first()?.root;
        let context = entry(root, "contexts", root.text_at("current-context")?)?.get("context")?;
        let cluster = entry(root, "clusters", context.text_at("cluster")?)?.get("cluster")?;
        let user = context.text_at("user").and_then(|user| entry(root, "users", user)?.get("user"));
        let server = cluster.text_at("server").filter(|server| server.starts_with("https://"))?;
        let certificate = user.and_then(|user| user.text_at("client-certificate-data"));
        let decode = |data: &str| String::from_utf8(STANDARD.decode(data).ok()?).ok();
        Some(Self {
            server: server.to_owned(),
            authority: cluster.text_at("certificate-authority-data").map(str::to_owned),
            tls_server_name: cluster.text_at("tls-server-name").map(str::to_owned),
            certificate: certificate.and_then(decode),
        })
    }

    /// A kubeconfig with a certificate and its private key, both in PEM form.
    pub fn with_certificate(&self, cluster: &str, certificate: &str, key: &str) -> String {
        let user = json!({
            "client-certificate-data": STANDARD.encode(certificate),
            "client-key-data": STANDARD.encode(key),
        });
        self.with_user(cluster, user)
    }

    /// A kubeconfig that logs in by OpenID Connect, with `kubectl oidc-login`
    /// (<https://github.com/int128/kubelogin>).
    pub fn with_login(&self, cluster: &str, login: &OidcLogin) -> String {
        let mut arguments = vec![
            "oidc-login".to_owned(),
            "get-token".to_owned(),
            format!("--oidc-issuer-url={}", login.issuer_url),
            format!("--oidc-client-id={}", login.client_id),
        ];
        arguments.extend(login.extra_scopes.iter().map(|scope| format!("--oidc-extra-scope={scope}")));
        let user = json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "kubectl",
            "args": arguments,
            "interactiveMode": "IfAvailable",
            "provideClusterInfo": false,
        }});
        self.with_user(cluster, user)
    }

    /// JSON, which is YAML, too: nothing of a name or an address can change its structure.
    fn with_user(&self, name: &str, user: Value) -> String {
        let mut cluster = Map::new();
        cluster.insert("server".to_owned(), self.server.clone().into());
        let more =
            [("certificate-authority-data", &self.authority), ("tls-server-name", &self.tls_server_name)];
        for (key, value) in more {
            cluster.extend(value.clone().map(|value| (key.to_owned(), value.into())));
        }
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": USER, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": USER}}],
            "current-context": name,
        });
        format!("{config:#}\n")
    }
}

fn entry<'n>(root: &'n Node, list: &str, name: &str) -> Option<&'n Node> {
    root.get(list)?.as_sequence()?.iter().find(|item| item.text_at("name") == Some(name))
}
