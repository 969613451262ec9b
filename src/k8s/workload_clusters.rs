//! [`WorkloadClusters`] on the Kubernetes API: clients from the kubeconfigs that Cluster API writes into Secrets.
//!
//! Whoever may write that Secret decides what stands in it, and kube obeys all that a kubeconfig can say: programs that are
//! run, files that are read, proxies. So it is not handed to kube as it is: what names anything but the API server and
//! data of its own is refused by name, and what is left is put together anew.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, KubeconfigError, NamedAuthInfo, NamedCluster,
    NamedContext,
};
use kube::{Client, Config};
use secrecy::{ExposeSecret as _, SecretString};

use super::bounds::Bounds;
use super::cluster::KubeCluster;
use super::rest::Rest;
use crate::app::ports::{KubeconfigRefused, ManagementCluster, WorkloadClusters};

/// How long a request to a workload cluster may take in all.
const PATIENCE: Duration = Duration::from_secs(10);
/// How large a kubeconfig may be.
const LARGEST_KUBECONFIG: usize = 256 << 10;

/// Opens workload clusters over https.
#[derive(Debug, Clone, Copy, Default)]
pub struct KubeWorkloadClusters;

#[async_trait]
impl WorkloadClusters for KubeWorkloadClusters {
    async fn open(&self, kubeconfig: &SecretString) -> Result<Arc<dyn ManagementCluster>, KubeconfigRefused> {
        let inline = read(kubeconfig.expose_secret())?;
        let unusable = |why: &str| refused(format!("its certificates or key cannot be used ({why})"));
        // Errors of kube's quote what they could not read: only what sort of thing it was is told.
        let mut config = Config::from_custom_kubeconfig(inline, &KubeConfigOptions::default())
            .await
            .map_err(|error| unusable(sort(&error)))?;
        // A proxy of the environment is one to the world outside of this process' clusters.
        config.proxy_url = None;
        let port = config.cluster_url.port_u16().unwrap_or(443);
        let host = format!("{}:{port}", config.cluster_url.host().unwrap_or_default());
        config.connect_timeout = Some(PATIENCE);
        config.read_timeout = Some(PATIENCE);
        config.write_timeout = Some(PATIENCE);
        let client =
            Client::try_from(config).map_err(|_quotes_them| unusable("no TLS client can be made of them"))?;
        let rest = Rest::new(client, PATIENCE).of_stranger(&host, Bounds::WORKLOAD);
        Ok(Arc::new(KubeCluster::of(rest)))
    }
}

fn refused(why: impl Into<String>) -> KubeconfigRefused {
    KubeconfigRefused { why: why.into() }
}

const fn sort(error: &KubeconfigError) -> &'static str {
    match error {
        KubeconfigError::ParseClusterUrl(_) | KubeconfigError::MissingClusterUrl => {
            "the address of its server"
        }
        KubeconfigError::ParseCertificates(_) => "no certificate in PEM form",
        _ => "not what a kubeconfig holds",
    }
}

/// What of a kubeconfig may count: its current context with inline data alone.
fn read(text: &str) -> Result<Kubeconfig, KubeconfigRefused> {
    if text.len() > LARGEST_KUBECONFIG {
        return Err(refused(format!("it is larger than {LARGEST_KUBECONFIG} bytes")));
    }
    let read = Kubeconfig::from_yaml(text).map_err(|error| match error {
        KubeconfigError::Parse(error) => match error.location() {
            Some(place) => {
                refused(format!("no kubeconfig from line {}, column {} on", place.line(), place.column()))
            }
            None => refused("it is no kubeconfig"),
        },
        _ => refused("it is no kubeconfig"),
    })?;
    let named = |what: &str| refused(format!("its current context names no {what}"));
    let current = read.current_context.as_deref().ok_or_else(|| refused("it has no current-context"))?;
    let context = read.contexts.iter().find(|context| context.name == current);
    let context = context.and_then(|named| named.context.as_ref()).ok_or_else(|| named("context"))?;
    let cluster = read.clusters.iter().find(|cluster| cluster.name == context.cluster);
    let cluster = cluster.and_then(|named| named.cluster.as_ref()).ok_or_else(|| named("cluster"))?;
    let user = read.auth_infos.iter().find(|user| Some(&user.name) == context.user.as_ref());
    let user = user.and_then(|named| named.auth_info.as_ref()).ok_or_else(|| named("user"))?;
    Ok(put_together(inline_cluster(cluster)?, inline_user(user)?))
}

/// The server and its authority, and nothing that leads elsewhere.
fn inline_cluster(cluster: &Cluster) -> Result<Cluster, KubeconfigRefused> {
    let leads_elsewhere = [
        ("certificate-authority", cluster.certificate_authority.is_some()),
        ("insecure-skip-tls-verify", cluster.insecure_skip_tls_verify == Some(true)),
        ("proxy-url", cluster.proxy_url.is_some()),
    ];
    refuse_any("cluster", &leads_elsewhere)?;
    let server = cluster.server.as_deref().ok_or_else(|| refused("its cluster has no server"))?;
    if url::Url::parse(server).ok().is_none_or(|url| url.scheme() != "https" || url.host_str().is_none()) {
        return Err(refused("its server is no https address"));
    }
    Ok(Cluster {
        server: Some(server.to_owned()),
        certificate_authority_data: cluster.certificate_authority_data.clone(),
        tls_server_name: cluster.tls_server_name.clone(),
        ..Cluster::default()
    })
}

/// A certificate with its key, or a token, and nothing that is run or read for one.
fn inline_user(user: &AuthInfo) -> Result<AuthInfo, KubeconfigRefused> {
    let leads_elsewhere = [
        ("exec", user.exec.is_some()),
        ("auth-provider", user.auth_provider.is_some()),
        ("tokenFile", user.token_file.is_some()),
        ("client-certificate", user.client_certificate.is_some()),
        ("client-key", user.client_key.is_some()),
        ("as", user.impersonate.is_some() || user.impersonate_groups.is_some()),
        ("username", user.username.is_some() || user.password.is_some()),
    ];
    refuse_any("user", &leads_elsewhere)?;
    Ok(AuthInfo {
        token: user.token.clone(),
        client_certificate_data: user.client_certificate_data.clone(),
        client_key_data: user.client_key_data.clone(),
        ..AuthInfo::default()
    })
}

fn refuse_any(of: &str, leads_elsewhere: &[(&str, bool)]) -> Result<(), KubeconfigRefused> {
    match leads_elsewhere.iter().find(|(_, is_there)| *is_there) {
        Some((key, _)) => Err(refused(format!(
            "its {of} has `{key}`: only the server's https address and inline data count \
             (`certificate-authority-data`, `client-certificate-data`, `client-key-data`, `token`)"
        ))),
        None => Ok(()),
    }
}

fn put_together(cluster: Cluster, user: AuthInfo) -> Kubeconfig {
    let name = || "workload".to_owned();
    Kubeconfig {
        clusters: vec![NamedCluster { name: name(), cluster: Some(cluster), ..NamedCluster::default() }],
        auth_infos: vec![NamedAuthInfo { name: name(), auth_info: Some(user), ..NamedAuthInfo::default() }],
        contexts: vec![NamedContext {
            name: name(),
            context: Some(Context { cluster: name(), user: Some(name()), ..Context::default() }),
            ..NamedContext::default()
        }],
        current_context: Some(name()),
        ..Kubeconfig::default()
    }
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

    const SERVER: &str = "server: 'https://10.0.0.1:6443'";

    async fn refusal(text: String) -> String {
        match KubeWorkloadClusters.open(&SecretString::from(text)).await {
            Ok(_) => "taken".to_owned(),
            Err(refused) => refused.why,
        }
    }

    #[tokio::test]
    async fn what_runs_reads_or_leads_elsewhere_is_refused_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("trace");
        let exec = format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, command: touch, args: ['{}'], interactiveMode: Never}}",
            trace.display()
        );
        for (cluster, user, key) in [
            (SERVER, exec.as_str(), "exec"),
            (SERVER, "auth-provider: {name: oidc, config: {}}", "auth-provider"),
            (SERVER, "tokenFile: /etc/hostname", "tokenFile"),
            (SERVER, "client-certificate: /a", "client-certificate"),
            (SERVER, "client-key: /a", "client-key"),
            (SERVER, "as: system:masters, token: t", "as"),
            (SERVER, "username: a, password: hunter2", "username"),
            ("server: 'https://a', certificate-authority: /a", "token: t", "certificate-authority"),
            ("server: 'https://a', insecure-skip-tls-verify: true", "token: t", "insecure-skip-tls-verify"),
            ("server: 'https://a', proxy-url: 'http://b'", "token: t", "proxy-url"),
        ] {
            let why = refusal(kubeconfig(cluster, user)).await;
            assert!(why.contains(&format!("`{key}`")), "{key}: {why}");
            assert!(!why.contains("hunter2"), "{why}");
        }
        assert!(!trace.exists(), "it was run");
    }

    #[tokio::test]
    async fn only_https_counts_and_no_secret_is_told() {
        assert_eq!(
            refusal(kubeconfig("server: 'http://10.0.0.1'", "token: t")).await,
            "its server is no https address"
        );
        assert_eq!(refusal("current-context: x".to_owned()).await, "its current context names no context");
        for text in [
            "users: hunter2".to_owned(),
            kubeconfig(SERVER, "client-key-data: '%%hunter2', client-certificate-data: '%%hunter2'"),
            kubeconfig("server: 'https://a', certificate-authority-data: '%%hunter2'", "token: t"),
        ] {
            let why = refusal(text).await;
            assert!(why != "taken" && !why.contains("hunter2"), "{why}");
        }
        let large = format!("# {}\n", "x".repeat(LARGEST_KUBECONFIG));
        assert!(refusal(large).await.starts_with("it is larger"));
        assert_eq!(refusal(kubeconfig(SERVER, "token: t")).await, "taken");
    }
}
