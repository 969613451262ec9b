//! [`WorkloadClusters`] on the Kubernetes API: clients from the kubeconfigs that Cluster API writes into Secrets.
//!
//! The writer of that Secret decides its content, and kube obeys all that a kubeconfig can say: programs to
//! run, files to read, proxies. So it is not handed to kube as it is: a kubeconfig that names more than the
//! API server and inline data is refused ([`InlineKubeconfig`]), and the rest is put together again.
//!
//! Its server is whoever's, too: an address of the link, of a metadata service or of this machine is called neither as it
//! is nor by a name, but for this machine's where the management cluster's own API server is there.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use capstan_outbound::NetworkReach;
use capstan_plan::kubeconfig::InlineKubeconfig;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::retry::RetryPolicy;
use kube::client::{ClientBuilder, ConfigExt as _};
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, KubeconfigError, NamedAuthInfo, NamedCluster,
    NamedContext,
};
use kube::{Client, Config};
use secrecy::{ExposeSecret as _, SecretString};
use tower::retry::RetryLayer;

use super::bounds::ReadBounds;
use super::cluster::KubeCluster;
use super::connect::{Connection, address_of};
use super::rest::ApiServer;
use capstan_ports::{KubeconfigRefused, ManagementCluster, WorkloadClusters};

/// How long a request to a workload cluster may take in all.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens workload clusters over https.
#[derive(Debug, Clone)]
pub struct KubeWorkloadClusters {
    /// Where their servers may be.
    reach: NetworkReach,
}

impl KubeWorkloadClusters {
    /// The clusters of a management cluster.
    pub const fn new(management: &Connection) -> Self {
        Self {
            reach: if management.is_on_this_machine { NetworkReach::Machine } else { NetworkReach::Network },
        }
    }
}

#[async_trait]
impl WorkloadClusters for KubeWorkloadClusters {
    async fn open(&self, kubeconfig: &SecretString) -> Result<Arc<dyn ManagementCluster>, KubeconfigRefused> {
        let inline =
            InlineKubeconfig::read(kubeconfig.expose_secret()).map_err(|why| refused(why.to_string()))?;
        let inline = put_together(inline);
        let unusable = |why: &str| refused(format!("its certificates or key cannot be used ({why})"));
        // Errors of kube's quote what they could not read: only its kind is shown.
        let config = Config::from_custom_kubeconfig(inline, &KubeConfigOptions::default())
            .await
            .map_err(|error| unusable(sort(&error)))?;
        let port = config.cluster_url.port_u16().unwrap_or(443);
        let host = config.cluster_url.host().unwrap_or_default();
        if address_of(host).is_some_and(|address| !self.reach.holds(address)) {
            return Err(refused(
                "its server is at an address of this machine, its link or a metadata service: no cluster is there",
            ));
        }
        let host = format!("{host}:{port}");
        let client = client(&config, self.reach.clone())
            .map_err(|_quotes_them| unusable("no TLS client can be made of them"))?;
        let rest = ApiServer::new(client, PATIENCE).of_stranger(&host, ReadBounds::WORKLOAD);
        Ok(Arc::new(KubeCluster::of(rest)))
    }
}

/// As [`Client::try_from`] makes it, but that names lead no further than `reach`, and nobody asks a proxy: one of the
/// environment is one to the world outside of this process' clusters. How long a request may take is for [`ApiServer`].
fn client(config: &Config, reach: NetworkReach) -> Result<Client, kube::Error> {
    let look_up = move |name: Name| {
        let reach = reach.clone();
        async move {
            let found = reach.look_up(name.as_str()).await?;
            Ok::<_, Box<dyn Error + Send + Sync>>(found.into_iter())
        }
    };
    let mut connector = HttpConnector::new_with_resolver(tower::service_fn(look_up));
    // It is TLS that goes through.
    connector.enforce_http(false);
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let http = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        // A server that never closes keeps nothing open here.
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(PATIENCE)
        .build(connector);
    let retries = config.default_retry.then(|| RetryLayer::new(RetryPolicy::server_retry()));
    let service = tower::ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(retries)
        .option_layer(config.auth_layer()?)
        .map_err(Box::<dyn Error + Send + Sync>::from)
        .service(http);
    Ok(ClientBuilder::new(service, config.default_namespace.clone()).build())
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
        refusal_within(NetworkReach::Network, text).await
    }

    async fn refusal_within(reach: NetworkReach, text: String) -> String {
        match (KubeWorkloadClusters { reach }).open(&SecretString::from(text)).await {
            Ok(_) => "taken".to_owned(),
            Err(refused) => refused.why,
        }
    }

    #[tokio::test]
    async fn a_server_is_neither_this_machine_nor_its_link_nor_a_metadata_service() {
        let no_cluster = "its server is at an address of this machine, its link or a metadata service: no cluster is there";
        for (host, in_a_pod, beside_the_management_cluster) in [
            ("10.0.0.1:6443", true, true),
            ("workload.example.com", true, true),
            ("[fd12::1]:6443", true, true),
            ("127.0.0.1:6443", false, true),
            ("[::1]:6443", false, true),
            ("[::ffff:127.0.0.1]", false, true),
            ("169.254.169.254", false, false),
            ("[::ffff:169.254.169.254]", false, false),
            ("[fe80::1]:6443", false, false),
            ("0.0.0.0:6443", false, false),
        ] {
            for (reach, taken) in
                [(NetworkReach::Network, in_a_pod), (NetworkReach::Machine, beside_the_management_cluster)]
            {
                let why = refusal_within(
                    reach.clone(),
                    kubeconfig(&format!("server: 'https://{host}'"), "token: t"),
                );
                assert_eq!(why.await, if taken { "taken" } else { no_cluster }, "{host} {reach:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_name_of_a_server_does_not_lead_to_this_machine() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let called = async |reach: NetworkReach| {
            let server = format!("server: 'https://localhost:{port}'");
            let text = SecretString::from(kubeconfig(&server, "token: t"));
            let config = put_together(InlineKubeconfig::read(text.expose_secret()).unwrap());
            let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
            let client = client(&config, reach).unwrap();
            let asked = tokio::spawn(async move { client.apiserver_version().await.map(drop) });
            tokio::select! {
                _connected = listener.accept() => true,
                ended = asked => {
                    assert!(ended.unwrap().is_err());
                    false
                }
            }
        };
        assert!(!called(NetworkReach::Network).await);
        assert!(called(NetworkReach::Machine).await);
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
    async fn only_https_counts_and_no_secret_is_shown() {
        let plain = kubeconfig("server: 'http://10.0.0.1'", "token: t");
        assert_eq!(refusal(plain).await, "its server is not an https address");
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
