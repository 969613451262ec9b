//! Names become addresses, without those that are out of reach.
//!
//! A named host says who owns the name, not where it leads: the owner of a DNS name can let it lead to
//! `127.0.0.1`. So addresses are checked after the name was resolved, and only those that pass are called.
//!
//! *Caveat*: a proxy resolves names itself, and has its own rules about what it may reach. An address in a
//! URL is not resolved: it has to be named as it is.

use std::env;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

use crate::address::{AddressScope, place};

/// Where the names of a client may lead.
#[derive(Debug, Clone)]
pub enum NetworkReach {
    /// Into the Internet. These names are whoever's who runs Capstan, and lead into private networks and to this machine,
    /// too; without ports.
    Internet {
        /// Such names.
        but: Vec<String>,
    },
    /// Private networks, too: the operator names every host. Never this machine, its link or a metadata
    /// service, unless the name is this machine's.
    Network,
    /// To this machine, too. Never to its link or a metadata service.
    Machine,
}

impl NetworkReach {
    const fn most(&self) -> AddressScope {
        match self {
            Self::Internet { .. } => AddressScope::Internet,
            Self::Network => AddressScope::Network,
            Self::Machine => AddressScope::Machine,
        }
    }

    /// Whether an address in a URL is allowed, where the operator did not write the URL.
    pub fn holds(&self, address: IpAddr) -> bool {
        place(address) <= self.most()
    }

    /// The addresses within it to which a name leads, for clients that are not made here and ask no proxy.
    ///
    /// # Errors
    /// There is none: the name leads nowhere, or beyond.
    pub async fn look_up(&self, name: &str) -> Result<Vec<SocketAddr>, Box<dyn Error + Send + Sync>> {
        Resolver::freeing(self, std::iter::empty()).look_up(name).await
    }
}

/// A name that leads out of reach, and where to.
#[derive(Debug, thiserror::Error)]
#[error("the name resolves to an address {}", .0.words())]
pub(crate) struct OutOfReach(pub(crate) AddressScope);

/// A name that leads nowhere.
#[derive(Debug, thiserror::Error)]
#[error("the name has no address")]
pub(crate) struct Nowhere;

#[derive(Clone)]
pub(crate) struct Resolver {
    most: AddressScope,
    /// Lead into private networks and to this machine, too.
    free: Arc<[String]>,
}

impl Resolver {
    /// For a client that may ask a proxy of the environment, whose name leads wherever it does.
    pub(crate) fn new(reach: &NetworkReach) -> Self {
        Self::freeing(reach, proxies())
    }

    fn freeing(reach: &NetworkReach, more: impl Iterator<Item = String>) -> Self {
        let but = match reach {
            NetworkReach::Internet { but } => but.as_slice(),
            NetworkReach::Network | NetworkReach::Machine => &[],
        };
        let free = but.iter().map(|name| name.to_ascii_lowercase()).chain(more);
        Self { most: reach.most(), free: free.collect() }
    }

    fn reaches(&self, name: &str, address: SocketAddr) -> bool {
        let place = place(address.ip());
        let is_free = || self.free.iter().any(|free| free.eq_ignore_ascii_case(name));
        // Nobody means a metadata service, whose answers are credentials.
        place <= self.most || place <= AddressScope::Machine && is_free()
    }

    async fn look_up(&self, name: &str) -> Result<Vec<SocketAddr>, Box<dyn Error + Send + Sync>> {
        let name = name.trim_end_matches('.');
        let found = tokio::net::lookup_host((name, 0)).await.map_err(|error| {
            tracing::debug!(%error, "a name is not resolved");
            Nowhere
        })?;
        let found: Vec<SocketAddr> = found.collect();
        if found.is_empty() {
            return Err(Nowhere.into());
        }
        let (within, beyond): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|found| self.reaches(name, *found));
        match beyond.iter().map(|found| place(found.ip())).max() {
            Some(beyond) if within.is_empty() => Err(OutOfReach(beyond).into()),
            _ => Ok(within),
        }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let found = resolver.look_up(name.as_str()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The hosts of the proxies that the operator names in the environment: reqwest resolves them here.
fn proxies() -> impl Iterator<Item = String> {
    let names = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
    names.into_iter().filter_map(|name| {
        let value = env::var(name).ok()?;
        let url = Url::parse(&value).ok().filter(Url::has_host);
        let url = url.or_else(|| Url::parse(&format!("http://{value}")).ok())?;
        url.host_str().map(str::to_ascii_lowercase)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_a_url_that_a_stranger_wrote_is_judged_too() {
        for (address, by_internet, by_network, by_machine) in [
            ("140.82.121.3", true, true, true),
            ("10.0.0.7", false, true, true),
            ("127.0.0.1", false, false, true),
            ("::1", false, false, true),
            ("::ffff:127.0.0.1", false, false, true),
            ("0.0.0.0", false, false, false),
            ("169.254.169.254", false, false, false),
            ("fd00:ec2::254", false, false, false),
            ("fe80::1", false, false, false),
        ] {
            let address = address.parse().unwrap();
            let internet = NetworkReach::Internet { but: Vec::new() };
            let found =
                [internet, NetworkReach::Network, NetworkReach::Machine].map(|reach| reach.holds(address));
            assert_eq!(found, [by_internet, by_network, by_machine], "{address}");
        }
    }

    #[test]
    fn a_name_leads_where_it_may() {
        let internet =
            Resolver::new(&NetworkReach::Internet { but: vec!["Registry.example.com".to_owned()] });
        let network = Resolver::new(&NetworkReach::Network);
        for (name, address, by_internet, by_network) in [
            ("ghcr.io", "140.82.121.3", true, true),
            ("ghcr.io", "10.0.0.7", false, true),
            ("ghcr.io", "127.0.0.1", false, false),
            ("ghcr.io", "169.254.169.254", false, false),
            ("ghcr.io", "::ffff:127.0.0.1", false, false),
            ("registry.example.com", "10.0.0.7", true, true),
            ("registry.example.com", "127.0.0.1", true, false),
            ("registry.example.com.evil.example", "10.0.0.7", false, true),
        ] {
            let address = SocketAddr::new(address.parse().unwrap(), 443);
            let found = (internet.reaches(name, address), network.reaches(name, address));
            assert_eq!(found, (by_internet, by_network), "{name} {address}");
        }
    }
}
