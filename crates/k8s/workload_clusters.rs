//! [`WorkloadClusters`] on the Kubernetes API: clients from the kubeconfigs that Cluster API writes into Secrets.
//!
//! Whoever may write that Secret decides what stands in it, and kube obeys all that a kubeconfig can say: programs that are
//! run, files that are read, proxies. So it is not handed to kube as it is: what names anything but the API server and
//! data of its own is refused by name ([`InlineKubeconfig`]), and what is left is put together anew.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use capstan_plan::kubeconfig::InlineKubeconfig;
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, KubeconfigError, NamedAuthInfo, NamedCluster,
    NamedContext,
};
use kube::{Client, Config};
use secrecy::{ExposeSecret as _, SecretString};

use super::bounds::Bounds;
use super::cluster::KubeCluster;
use super::rest::Rest;
use capstan_ports::{KubeconfigRefused, ManagementCluster, WorkloadClusters};

/// How long a request to a workload cluster may take in all.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens workload clusters over https.
#[derive(Debug, Clone, Copy, Default)]
pub struct KubeWorkloadClusters;

#[async_trait]
impl WorkloadClusters for KubeWorkloadClusters {
    async fn open(&self, kubeconfig: &SecretString) -> Result<Arc<dyn ManagementCluster>, KubeconfigRefused> {
        let inline =
            InlineKubeconfig::read(kubeconfig.expose_secret()).map_err(|why| refused(why.to_string()))?;
        let inline = put_together(inline);
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

/// A kubeconfig of what counts alone.
fn put_together(inline: InlineKubeconfig) -> Kubeconfig {
    let name = || "workload".to_owned();
    let cluster = Cluster {
        server: Some(inline.server),
        certificate_authority_data: inline.authority,
        tls_server_name: inline.tls_server_name,
        ..Cluster::default()
    };
    let user = AuthInfo {
        token: inline.token.map(SecretString::from),
        client_certificate_data: inline.certificate,
        client_key_data: inline.key.map(SecretString::from),
        ..AuthInfo::default()
    };
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
    async fn what_runs_is_refused_before_kube_sees_it() {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("trace");
        let exec = format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, command: touch, args: ['{}'], interactiveMode: Never}}",
            trace.display()
        );
        let why = refusal(kubeconfig(SERVER, &exec)).await;
        assert!(why.contains("`exec`"), "{why}");
        assert!(!trace.exists(), "it was run");
    }

    #[tokio::test]
    async fn only_https_counts_and_no_secret_is_told() {
        let plain = kubeconfig("server: 'http://10.0.0.1'", "token: t");
        assert_eq!(refusal(plain).await, "its server is no https address");
        for text in [
            "users: hunter2".to_owned(),
            kubeconfig(SERVER, "client-key-data: '%%hunter2', client-certificate-data: '%%hunter2'"),
            kubeconfig("server: 'https://a', certificate-authority-data: '%%hunter2'", "token: t"),
        ] {
            let why = refusal(text).await;
            assert!(why != "taken" && !why.contains("hunter2"), "{why}");
        }
        assert_eq!(refusal(kubeconfig(SERVER, "token: t")).await, "taken");
    }
}
