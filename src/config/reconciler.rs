//! The settings of `capstan reconcile`. What it applies, and how, is in the management cluster itself,
//! in its Fleets.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use capstan_model::dns_name::{is_label, is_subdomain};
use capstan_plan::settings::{HostName, OperatorHost};

use super::problems::{ConfigCheck, ConfigError, Environment};
use super::sources::{Flags, SettingSources, typed};
use super::state::state_dir;
use super::values::{listen, number, seconds};

/// Flags of `capstan reconcile`. Each can also be given as a variable (`CAPSTAN_LISTEN`) or in the file
/// (`listen: …`); a flag wins over a variable, and that over the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub struct ReconcileOptions {
    /// YAML file with settings, named like the flags [env: CAPSTAN_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How to reach the management cluster [env: CAPSTAN_KUBECONFIG, KUBECONFIG] [default: the service
    /// account of the pod]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Namespace of the Fleets, their Secrets and the lock of the leader [env: CAPSTAN_NAMESPACE]
    /// [default: capstan-system]
    #[arg(long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Folder for the last good trees and reports not yet sent [env: CAPSTAN_STATE_DIR] [default:
    /// ~/.local/state/capstan]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Address and port of /healthz, /readyz and /metrics [env: CAPSTAN_LISTEN] [default: 127.0.0.1:8081]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// How many namespaces to watch one by one for drift, for kinds that the reconciler may not watch in all
    /// namespaces. Each pair of kind and namespace counts, and needs a connection. 0: none, only the interval [env:
    /// CAPSTAN_NAMESPACE_WATCHES] [default: 200]
    #[arg(long, value_name = "NUMBER")]
    pub namespace_watches: Option<String>,
    /// How many seconds reading and rendering one cluster folder may take. A folder that takes longer is refused, and
    /// the others continue [env: CAPSTAN_RENDER_TIMEOUT_SECONDS] [default: 60]
    #[arg(long, value_name = "NUMBER")]
    pub render_timeout_seconds: Option<String>,
    /// Memory for rendering, in MiB, of which one cluster folder may use a tenth. A folder that needs more is
    /// refused, and the others continue [env: CAPSTAN_RENDER_MEMORY_MIB] [default: 512]
    #[arg(long, value_name = "NUMBER")]
    pub render_memory_mib: Option<String>,
    /// Namespace of the service account capstan-providers, with whose rights the providers of this management
    /// cluster are installed [env: CAPSTAN_PROVIDERS_NAMESPACE] [default: none are installed]
    #[arg(long, value_name = "NAMESPACE")]
    pub providers_namespace: Option<String>,
    /// How many seconds to wait for each of a provider's Deployments, its webhooks and the end of its old pods; after
    /// that, the set stops there [env: CAPSTAN_PROVIDER_TIMEOUT_SECONDS] [default: 600]
    #[arg(long, value_name = "NUMBER")]
    pub provider_timeout_seconds: Option<String>,
    /// Hosts from which components of providers may be fetched, separated by commas. Add the port if it is not the
    /// default of the scheme, `http://` if the host has no TLS, and `private://` if its name resolves to a private
    /// network. Without any, components come only from ConfigMaps [env: CAPSTAN_PROVIDER_HOSTS] [default: none]
    #[arg(long, value_name = "HOST,…")]
    pub provider_hosts: Option<String>,
    /// Hosts of OpenStack clouds that preflights may ask, separated by commas: Keystone and every host in its
    /// catalog. Add the port if it is not the default of the scheme. Without any, no cloud is asked [env:
    /// CAPSTAN_CLOUD_HOSTS] [default: none]
    #[arg(long, value_name = "HOST,…")]
    pub cloud_hosts: Option<String>,
    /// Name or address at which the node ports of this management cluster are reached, for the endpoints of SIPClusters
    /// [env: CAPSTAN_NODE_PORTS_AT] [default: none, so load balancers at node ports have no endpoint]
    #[arg(long, value_name = "HOST")]
    pub node_ports_at: Option<String>,
}

/// How long a folder may take where nobody says so: the largest take a second.
const RENDER_TIMEOUT: Duration = Duration::from_secs(60);

/// Memory for rendering where nobody says so, in MiB.
const RENDER_MEMORY_MIB: usize = 512;

/// How long a provider is waited for where nobody says so: as long as Kubernetes gives a Deployment to make progress.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(600);

/// Namespaces that are watched one by one where nobody says how many.
const NAMESPACE_WATCHES: usize = 200;

impl Flags for ReconcileOptions {
    const NAMES: &'static [&'static str] = &[
        "kubeconfig",
        "namespace",
        "state-dir",
        "listen",
        "namespace-watches",
        "render-timeout-seconds",
        "render-memory-mib",
        "providers-namespace",
        "provider-timeout-seconds",
        "provider-hosts",
        "cloud-hosts",
        "node-ports-at",
    ];

    fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    fn flag(&self, name: &str) -> Option<String> {
        match name {
            "kubeconfig" => typed(self.kubeconfig.as_ref()),
            "namespace" => self.namespace.clone(),
            "state-dir" => typed(self.state_dir.as_ref()),
            "listen" => self.listen.clone(),
            "namespace-watches" => self.namespace_watches.clone(),
            "render-timeout-seconds" => self.render_timeout_seconds.clone(),
            "render-memory-mib" => self.render_memory_mib.clone(),
            "providers-namespace" => self.providers_namespace.clone(),
            "provider-timeout-seconds" => self.provider_timeout_seconds.clone(),
            "provider-hosts" => self.provider_hosts.clone(),
            "cloud-hosts" => self.cloud_hosts.clone(),
            "node-ports-at" => self.node_ports_at.clone(),
            _ => None,
        }
    }
}

/// All settings of `capstan reconcile`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconcilerConfig {
    /// The file that says how to reach the management cluster; `None` for what the environment says.
    pub kubeconfig: Option<PathBuf>,
    /// Namespace of the Fleets.
    pub namespace: String,
    /// Exists and can be written to.
    pub state_dir: PathBuf,
    /// Where to answer probes.
    pub listen: SocketAddr,
    /// Namespaces that are watched one by one at most.
    pub namespace_watches: usize,
    /// How long reading and rendering one folder may take.
    pub render_timeout: Duration,
    /// Memory that rendering may take, in bytes.
    pub render_memory: u64,
    /// Namespace of the service account that installs providers; `None` where none are installed.
    pub providers_namespace: Option<String>,
    /// How long one thing of a provider is waited for.
    pub provider_timeout: Duration,
    /// Hosts from which components of providers may be fetched.
    pub provider_hosts: Vec<OperatorHost>,
    /// Hosts of clouds that may be asked.
    pub cloud_hosts: Vec<HostName>,
    /// Where node ports of the management cluster are reached, where that is said.
    pub node_ports_at: Option<String>,
}

impl ReconcilerConfig {
    /// Reads and checks all settings, and makes the state directory where it does not exist.
    ///
    /// # Errors
    /// With every problem found.
    pub fn load(options: &ReconcileOptions, environment: Environment<'_>) -> Result<Self, ConfigError> {
        let sources = SettingSources::read(options, environment)?;
        let mut problems = sources.problems();
        let mut checked = ConfigCheck { problems: &mut problems };
        let kubeconfig = checked.take(kubeconfig(&sources));
        let namespace = checked.take(namespace(&sources));
        let providers = checked.take(named_namespace(&sources, "providers-namespace"));
        let of_providers = checked.take(super::values::provider_hosts(&sources, Vec::new()));
        let of_clouds = checked.take(hosts(&sources, "cloud-hosts"));
        let state_dir = checked.take(state_dir(&sources, environment));
        let listen = checked.take(listen(&sources, 8081));
        let watches = checked.take(namespace_watches(&sources));
        let timeout = checked.take(render_timeout(&sources));
        let memory = checked.take(render_memory(&sources));
        let patience = checked.take(provider_timeout(&sources));
        let hosts = of_providers.zip(of_clouds).zip(checked.take(node_ports_at(&sources)));
        match (kubeconfig, namespace, state_dir, listen, watches, timeout, memory, providers, patience, hosts)
        {
            (
                Some(kubeconfig),
                Some(namespace),
                Some(state_dir),
                Some(listen),
                Some(namespace_watches),
                Some(render_timeout),
                Some(render_memory),
                Some(providers_namespace),
                Some(provider_timeout),
                Some(((provider_hosts, cloud_hosts), node_ports_at)),
            ) if problems.is_empty() => Ok(Self {
                kubeconfig,
                namespace,
                state_dir,
                listen,
                namespace_watches,
                render_timeout,
                render_memory,
                providers_namespace,
                provider_timeout,
                provider_hosts,
                cloud_hosts,
                node_ports_at,
            }),
            _ => Err(ConfigError { problems }),
        }
    }
}

fn kubeconfig(sources: &SettingSources) -> Result<Option<PathBuf>, String> {
    let Some(setting) = sources.setting("kubeconfig") else { return Ok(None) };
    let path = setting.path();
    // Its content is read where it is used; here only a wrong path is reported, in the words of the settings.
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(path)),
        Ok(_) => Err(setting.wrong("is not a file; expected a kubeconfig")),
        Err(error) => Err(setting.wrong(&format!("cannot be read ({error}); expected a kubeconfig"))),
    }
}

fn namespace(sources: &SettingSources) -> Result<String, String> {
    Ok(named_namespace(sources, "namespace")?.unwrap_or_else(|| "capstan-system".to_owned()))
}

fn named_namespace(sources: &SettingSources, name: &'static str) -> Result<Option<String>, String> {
    let Some(setting) = sources.setting(name) else { return Ok(None) };
    if is_label(&setting.text) {
        Ok(Some(setting.text.clone()))
    } else {
        Err(setting.wrong("is not a name of a namespace: use lower-case letters, digits and `-`, at most 63"))
    }
}

fn hosts(sources: &SettingSources, name: &'static str) -> Result<Vec<HostName>, String> {
    let Some(setting) = sources.setting(name) else { return Ok(Vec::new()) };
    setting.each(HostName::parse)
}

fn node_ports_at(sources: &SettingSources) -> Result<Option<String>, String> {
    let Some(setting) = sources.setting("node-ports-at") else { return Ok(None) };
    if is_subdomain(&setting.text) || setting.text.parse::<std::net::IpAddr>().is_ok() {
        Ok(Some(setting.text.clone()))
    } else {
        Err(setting.wrong("is neither a DNS name nor an address: give it without a port"))
    }
}

fn namespace_watches(sources: &SettingSources) -> Result<usize, String> {
    // A connection each, and a process has some thousands.
    Ok(number(sources, "namespace-watches", 0..=10_000)?.unwrap_or(NAMESPACE_WATCHES))
}

fn render_timeout(sources: &SettingSources) -> Result<Duration, String> {
    Ok(seconds(sources, "render-timeout-seconds", 1..=3600)?.unwrap_or(RENDER_TIMEOUT))
}

fn provider_timeout(sources: &SettingSources) -> Result<Duration, String> {
    Ok(seconds(sources, "provider-timeout-seconds", 1..=86_400)?.unwrap_or(PROVIDER_TIMEOUT))
}

fn render_memory(sources: &SettingSources) -> Result<u64, String> {
    let mebibytes = number(sources, "render-memory-mib", 128..=1_048_576)?.unwrap_or(RENDER_MEMORY_MIB);
    Ok((mebibytes as u64) << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(options: &ReconcileOptions, variables: &[(&str, &str)]) -> Result<ReconcilerConfig, ConfigError> {
        let environment = |name: &str| {
            variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned())
        };
        ReconcilerConfig::load(options, &environment)
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let state = tempfile::tempdir().unwrap();
        let config =
            load(&ReconcileOptions::default(), &[("CAPSTAN_STATE_DIR", &state.path().display().to_string())])
                .unwrap();
        assert_eq!(config.namespace, "capstan-system");
        assert_eq!(config.listen.to_string(), "127.0.0.1:8081");
        assert_eq!(config.kubeconfig, None);
        assert_eq!(config.namespace_watches, 200);
        assert_eq!(config.render_timeout, Duration::from_secs(60));
        assert_eq!(config.provider_timeout, Duration::from_secs(600));
        assert_eq!(config.provider_hosts, []);
        assert_eq!(config.cloud_hosts, []);
    }

    #[test]
    fn hosts_of_components_are_named_with_commas_between_them() {
        let state = tempfile::tempdir().unwrap();
        let hosts = |hosts: &str| {
            let variables =
                [("CAPSTAN_STATE_DIR", state.path().to_str().unwrap()), ("CAPSTAN_PROVIDER_HOSTS", hosts)];
            let config = load(&ReconcileOptions::default(), &variables)?;
            Ok(config.provider_hosts)
        };
        assert_eq!(
            hosts("github.com, private://registry.example.com:5000,http://127.0.0.1:5001").unwrap(),
            ["github.com", "private://registry.example.com:5000", "http://127.0.0.1:5001"]
                .map(|entry| OperatorHost::parse(entry).unwrap())
        );
        assert_eq!(hosts("").unwrap(), []);
        let error: ConfigError = hosts("github.com,https://ghcr.io").unwrap_err();
        let problem = &error.problems[0];
        assert!(problem.starts_with("provider-hosts (from CAPSTAN_PROVIDER_HOSTS): "), "{problem}");
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let state = tempfile::tempdir().unwrap();
        let options = ReconcileOptions {
            namespace: Some("Capstan_System".to_owned()),
            kubeconfig: Some(PathBuf::from("/nonexistent/kubeconfig")),
            state_dir: Some(state.path().to_path_buf()),
            ..ReconcileOptions::default()
        };
        let variables = [
            ("CAPSTAN_LISTEN", "8081"),
            ("CAPSTAN_NAMESPACE_WATCHES", "many"),
            ("CAPSTAN_RENDER_TIMEOUT_SECONDS", "0"),
        ];
        let error = load(&options, &variables).unwrap_err();
        assert_eq!(error.problems.len(), 5, "{error}");
        assert!(error.problems[0].starts_with("kubeconfig (from --kubeconfig): `/nonexistent/kubeconfig`"));
        assert!(error.problems[1].starts_with("namespace (from --namespace): `Capstan_System`"));
        assert!(error.problems[2].starts_with("listen (from CAPSTAN_LISTEN): `8081`"));
        assert!(
            error.problems[3]
                .starts_with("namespace-watches (from CAPSTAN_NAMESPACE_WATCHES): `many` is not a number")
        );
        assert!(error.problems[4].ends_with("`0` is not a number from 1 to 3600"), "{}", error.problems[4]);
    }
}
