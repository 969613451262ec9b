//! Hosts from which the operator lets components be fetched.

use capstan_providers::Scheme;

use super::fields::HostName;

/// Registries and forges from which anybody may have components fetched, unless the operator lists others.
pub const PUBLIC_HOSTS: [&str; 5] = ["docker.io", "ghcr.io", "github.com", "gitlab.com", "quay.io"];

/// An entry of such a list: `ghcr.io`, `private://registry.example.com:5000`, `http://registry.svc:5000`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OperatorHost {
    /// In small letters, with its port where that is not the scheme's own.
    pub host: String,
    /// `http://` before the host means one without TLS.
    pub scheme: Scheme,
    /// Whether its name may lead to an address of a private network or of this machine: `private://` says so, and so does
    /// `http://`.
    pub is_private: bool,
}

impl OperatorHost {
    /// Reads an entry; the error says what it should look like.
    pub fn parse(entry: &str) -> Result<Self, String> {
        let (scheme, is_private, host) =
            match (entry.strip_prefix("http://"), entry.strip_prefix("private://")) {
                (Some(host), _) => (Scheme::Http, true, host),
                (None, Some(host)) => (Scheme::Https, true, host),
                (None, None) => (Scheme::Https, false, entry),
            };
        HostName::parse(host)?;
        Ok(Self { host: host.to_ascii_lowercase(), scheme, is_private })
    }

    /// The public ones.
    pub fn public() -> Vec<Self> {
        let of = |host: &str| Self { host: host.to_owned(), scheme: Scheme::Https, is_private: false };
        PUBLIC_HOSTS.map(of).to_vec()
    }

    /// A host that somebody typed, with TLS and without, wherever it leads.
    pub fn typed(host: &str) -> [Self; 2] {
        [Scheme::Https, Scheme::Http].map(|scheme| Self {
            host: host.to_ascii_lowercase(),
            scheme,
            is_private: true,
        })
    }

    /// The name alone.
    pub fn name(&self) -> &str {
        match self.host.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() => name,
            _ => &self.host,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_says_how_a_host_is_asked_and_where_it_may_lead() {
        for (entry, host, name, scheme, is_private) in [
            ("ghcr.io", "ghcr.io", "ghcr.io", Scheme::Https, false),
            (
                "Registry.example.com:5000",
                "registry.example.com:5000",
                "registry.example.com",
                Scheme::Https,
                false,
            ),
            (
                "private://registry.example.com",
                "registry.example.com",
                "registry.example.com",
                Scheme::Https,
                true,
            ),
            ("http://127.0.0.1:5000", "127.0.0.1:5000", "127.0.0.1", Scheme::Http, true),
            // A host may be called so.
            ("private:5000", "private:5000", "private", Scheme::Https, false),
        ] {
            let read = OperatorHost::parse(entry).unwrap();
            assert_eq!(
                (read.host.as_str(), read.name(), read.scheme, read.is_private),
                (host, name, scheme, is_private),
                "{entry}"
            );
        }
        for entry in ["https://ghcr.io", "private://", "http://ghcr.io/path", "private://http://a", "a b"] {
            assert!(OperatorHost::parse(entry).is_err(), "{entry}");
        }
        let public = PUBLIC_HOSTS.map(|host| OperatorHost::parse(host).unwrap());
        assert_eq!(OperatorHost::public(), public);
    }
}
