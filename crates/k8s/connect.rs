//! Finding the API server: a kubeconfig that is named, `KUBECONFIG`, or the service account of the pod.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use super::rest::ApiServer;

/// How long one request may take in all. Admission webhooks answer within 30 s at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why there is no connection to an API server.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("kubeconfig {path}: {reason}")]
    Kubeconfig {
        /// The file.
        path: String,
        /// Why; no secrets.
        reason: String,
    },
    /// There is no kubeconfig, and this is not a pod.
    #[error("no API server: name a kubeconfig (--kubeconfig FILE or KUBECONFIG), or run in a pod ({reason})")]
    NotInACluster {
        /// What of a pod is missing.
        reason: String,
    },
    /// Its certificates or credentials cannot be used.
    #[error("the API server's address or credentials cannot be used: {reason}")]
    Unusable {
        /// Why; no secrets.
        reason: String,
    },
}

/// The API server, ready to be asked.
#[derive(Clone)]
pub struct Connection {
    pub(super) rest: ApiServer,
    /// The namespace of the pod or of the kubeconfig's context.
    pub namespace: String,
    /// Whether the API server is on the same machine, as it is not for a pod with a network of its own.
    pub(super) is_on_this_machine: bool,
}

/// Finds the API server: the kubeconfig that is named, else the files of `KUBECONFIG`, else the pod's service
/// account. Nothing is sent yet.
///
/// # Errors
/// What is missing or wrong, and what to do.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Connection, ConnectError> {
    let named = kubeconfig.map(Path::to_path_buf);
    let from_environment = || std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
    let mut config = match (named, from_environment()) {
        (Some(path), _) => from_file(&path, Kubeconfig::read_from(&path)).await?,
        (None, Some(paths)) => {
            let read = Kubeconfig::from_env().map(Option::unwrap_or_default);
            from_file(&PathBuf::from(paths), read).await?
        }
        (None, None) => {
            Config::incluster().map_err(|error| ConnectError::NotInACluster { reason: error.to_string() })?
        }
    };
    // Watches end on their own, and every request has its bound: a silent connection must not live for ever.
    config.read_timeout = Some(Duration::from_secs(6 * 60));
    config.reset_reader_on_write = true;
    let namespace = config.default_namespace.clone();
    let host = config.cluster_url.host().unwrap_or_default();
    let is_on_this_machine =
        host == "localhost" || address_of(host).is_some_and(|address| address.is_loopback());
    let client =
        Client::try_from(config).map_err(|error| ConnectError::Unusable { reason: error.to_string() })?;
    Ok(Connection { rest: ApiServer::new(client, PATIENCE), namespace, is_on_this_machine })
}

/// The address that a URL's host is, where it is not a name.
pub(super) fn address_of(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

async fn from_file(path: &Path, read: Result<Kubeconfig, KubeconfigError>) -> Result<Config, ConnectError> {
    let failed = |error: KubeconfigError| ConnectError::Kubeconfig {
        path: path.display().to_string(),
        reason: explain(&error),
    };
    let read = read.map_err(failed)?;
    let names_a_proxy = read
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref())
        .any(|cluster| cluster.proxy_url.is_some());
    let mut config =
        Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.map_err(failed)?;
    if !names_a_proxy {
        // A proxy of the environment is one to the world outside, not to this API server.
        config.proxy_url = None;
    }
    Ok(config)
}

/// The parser's own words quote the lines around the place, and with them tokens and keys: only the place is
/// shown.
fn explain(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(error) => match error.location() {
            Some(place) => format!("no kubeconfig from line {}, column {} on", place.line(), place.column()),
            None => "no kubeconfig".to_owned(),
        },
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    async fn refused(text: &str) -> String {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        match connect(Some(file.path())).await {
            Ok(_) => panic!("it is taken: {text}"),
            Err(error) => format!("{error} {error:?}"),
        }
    }

    #[tokio::test]
    async fn a_kubeconfig_that_is_not_there_is_named() {
        let error = connect(Some(Path::new("/nowhere/kubeconfig"))).await.err().unwrap().to_string();
        assert!(error.starts_with("kubeconfig /nowhere/kubeconfig: "), "{error}");
    }

    #[tokio::test]
    async fn no_credential_of_a_broken_kubeconfig_is_shown() {
        for text in [
            "users:\n- name: a\n  user: {token: hunter2\n",
            "users:\n- name: a\n  user:\n    token: [hunter2]\n",
            "users: hunter2\n",
            "kind: Config\nusers:\n- name: a\n  user: {token: hunter2, client-key-data: '%%hunter2%%', client-certificate-data: '%%hunter2'}\nclusters:\n- name: c\n  cluster: {server: 'https://127.0.0.1:1', certificate-authority-data: '%%hunter2'}\ncontexts:\n- name: x\n  context: {cluster: c, user: a}\ncurrent-context: x\n",
        ] {
            let words = refused(text).await;
            assert!(!words.contains("hunter2"), "{words}");
        }
    }
}
