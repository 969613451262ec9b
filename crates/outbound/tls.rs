//! The certificates that the process's HTTP clients trust: the machine's root certificates, read once.
//!
//! A client that reads them itself parses a file of some hundred and fifty certificates first, and each fetch of a commit
//! makes a client. Clients
//! that share the configuration also take up each other's TLS sessions. *Caveat*: certificates that change on the disk are
//! seen by the next start, as every client that lives as long as the process had it before.
//!
//! Not here: clients that trust a Secret's own authorities and nobody else.

use std::sync::{Arc, OnceLock};

use reqwest::ClientBuilder;
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls_platform_verifier::BuilderVerifierExt as _;

/// The builder of a client that shares the process's configuration. Where that cannot be made, the client reads the
/// certificates itself, and says what is wrong with them.
pub(crate) fn share_tls(builder: ClientBuilder) -> ClientBuilder {
    match shared_config() {
        Some(config) => builder.tls_backend_preconfigured(config),
        None => builder,
    }
}

/// The process's configuration, for [`ClientBuilder::tls_backend_preconfigured`] and its twin for blocking
/// clients; `None` where the machine has no readable root certificates (the next call tries again).
pub(crate) fn shared_config() -> Option<ClientConfig> {
    static SHARED: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = SHARED.get() {
        return Some(config.clone());
    }
    match read_config() {
        Ok(config) => Some(SHARED.get_or_init(|| config).clone()),
        Err(error) => {
            tracing::debug!(error = %error, "the machine's root certificates cannot be read");
            None
        }
    }
}

/// As reqwest makes it by itself.
fn read_config() -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clients_have_the_same_sessions_and_certificates() {
        let Some(one) = shared_config() else {
            println!("skipped: this machine has no root certificates");
            return;
        };
        let other = shared_config().unwrap();
        assert!(Arc::ptr_eq(one.crypto_provider(), other.crypto_provider()));
        assert_eq!(one.alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
    }

    /// reqwest takes what it is given by its type alone, and refuses another major version's when the client is built.
    #[test]
    fn reqwest_and_the_blocking_client_of_git_take_it() {
        let Some(config) = shared_config() else {
            println!("skipped: this machine has no root certificates");
            return;
        };
        share_tls(reqwest::Client::builder()).build().unwrap();
        let blocking = reqwest::blocking::Client::builder().tls_backend_preconfigured(config);
        blocking.build().unwrap();
    }
}
