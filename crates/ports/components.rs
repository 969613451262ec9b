//! Components of providers, from wherever they are published.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use capstan_plan::settings::OperatorHost;
use capstan_providers::{
    CREDENTIAL_NAMES, ComponentOrigin, MissingComponents, OciArtifact, ProviderKind, Published, Scheme,
};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

/// Fetches components, and puts them into registries.
#[async_trait]
pub trait ComponentSource: Send + Sync {
    /// Fetches the components of a provider with their metadata.
    ///
    /// # Errors
    /// See [`FetchError`].
    async fn fetch(&self, wanted: &WantedComponents) -> Result<Published, FetchError>;

    /// Puts files into an artifact of a registry, each a layer with its title, and gives the digest of its manifest.
    /// An artifact of that tag is replaced.
    ///
    /// # Errors
    /// See [`FetchError`].
    async fn push(
        &self,
        artifact: &OciArtifact,
        files: &[(String, Vec<u8>)],
        credentials: &SourceCredentials,
    ) -> Result<String, FetchError>;
}

/// Keeps components that were fetched, for each repository its own: what one may read is nothing to another.
///
/// *Guarantees*: what is read is what was written, or nothing; so many bytes at most are kept, those that were wanted
/// longest ago go first. That there were some of which digest is remembered longer than they are.
pub trait ComponentCache: Send + Sync {
    /// The stored components; may take long. Damaged ones count as absent.
    fn find(&self, repository: u64, wanted: &MissingComponents) -> KeptComponents;

    /// Keeps them; may take long.
    ///
    /// # Errors
    /// They cannot be written: why, as a sentence without a full stop.
    fn keep(&self, repository: u64, wanted: &MissingComponents, published: &Published) -> Result<(), String>;
}

/// What is kept of components.
#[derive(Debug, Clone, Default)]
pub struct KeptComponents {
    /// The components.
    pub published: Option<Published>,
    /// The SHA-256 of those that were fetched last, in hex digits.
    pub sha256: Option<String>,
}

/// What is fetched.
#[derive(Debug, Clone)]
pub struct WantedComponents {
    /// For a provider of this kind.
    pub kind: ProviderKind,
    pub name: String,
    /// `spec.version`; `None` = the newest.
    pub version: Option<String>,
    /// From where.
    pub origin: ComponentOrigin,
    /// Who asks.
    pub credentials: SourceCredentials,
    /// The SHA-256 of the components that was recorded of this version, if one was.
    pub recorded: Option<String>,
}

/// What sources want to know of who asks; shown by nothing that prints this.
#[derive(Debug, Clone, Default)]
pub struct SourceCredentials {
    /// A user of an OCI registry.
    pub oci_username: Option<SecretString>,
    /// The user's password.
    pub oci_password: Option<SecretString>,
    /// What a registry takes as it is.
    pub oci_access_token: Option<SecretString>,
    /// What a registry's token server exchanges for such a token.
    pub oci_refresh_token: Option<SecretString>,
    pub github_token: Option<SecretString>,
    pub gitlab_token: Option<SecretString>,
}

impl SourceCredentials {
    /// The names under which config Secrets, and clusterctl's environment, have them.
    pub const NAMES: [&str; 8] = CREDENTIAL_NAMES;

    /// Those that a source of values has; the first name of two counts.
    pub fn read(value: impl Fn(&str) -> Option<String>) -> Self {
        let secret = |names: &[&str]| {
            let found = names.iter().find_map(|name| value(name).filter(|value| !value.is_empty()));
            // A line break at the end is a file's.
            found.map(|value| SecretString::from(value.trim_end_matches(['\n', '\r']).to_owned()))
        };
        Self {
            oci_username: secret(&["OCI_USERNAME"]),
            oci_password: secret(&["OCI_PASSWORD"]),
            oci_access_token: secret(&["OCI_ACCESS_TOKEN"]),
            oci_refresh_token: secret(&["OCI_REFRESH_TOKEN"]),
            github_token: secret(&["github-token", "GITHUB_TOKEN"]),
            gitlab_token: secret(&["gitlab-access-token", "GITLAB_ACCESS_TOKEN"]),
        }
    }

    /// User and password, where a user is known.
    pub fn basic(&self) -> Option<(&str, &str)> {
        let password = self.oci_password.as_ref().map_or("", |password| password.expose_secret());
        self.oci_username.as_ref().map(|user| (user.expose_secret(), password))
    }
}

/// The hosts that may be spoken to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct AllowedHosts {
    named: Vec<String>,
    /// The hosts that the operator lets others name. `None` where the operator named them all, with or
    /// without TLS.
    operators: Option<Vec<OperatorHost>>,
}

/// Where a registry gives out tokens, beside itself.
const TOKEN_SERVERS: [(&str, &str); 2] =
    [("registry-1.docker.io", "auth.docker.io"), ("registry.gitlab.com", "gitlab.com")];

/// Whether a registry may redirect to that host for a token; both as URLs write them, with a port where that
/// is not the scheme's own. Asking a server that another party names would carry its answer to that party.
pub fn gives_tokens_for(registry: &str, server: &str) -> bool {
    server == registry || TOKEN_SERVERS.contains(&(registry, server))
}

/// Hosts that belong to another one: its API, and where it keeps what it hands out.
const COMPANIONS: [(&str, &[&str]); 3] = [
    (
        "github.com",
        &["api.github.com", "objects.githubusercontent.com", "release-assets.githubusercontent.com"],
    ),
    ("ghcr.io", &["pkg-containers.githubusercontent.com"]),
    ("docker.io", &["registry-1.docker.io", "auth.docker.io", "production.cloudflare.docker.com"]),
];

impl AllowedHosts {
    /// Of hosts with or without a port.
    pub fn new(hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut named: Vec<String> = Vec::new();
        for host in hosts {
            let host = host.into().to_ascii_lowercase();
            if !named.contains(&host) {
                named.push(host);
            }
        }
        Self { named, operators: None }
    }

    /// Of such a list alone.
    pub fn of_operator(entries: &[OperatorHost]) -> Self {
        Self::new(entries.iter().map(|entry| entry.host.as_str())).within(entries)
    }

    /// The same, with only those that the operator lets others name.
    pub fn within(mut self, operators: &[OperatorHost]) -> Self {
        self.operators = Some(operators.to_vec());
        self
    }

    /// The names, without ports, that the operator allows to lead to any address.
    pub fn free(&self) -> Vec<String> {
        let private = self.operators.iter().flatten().filter(|entry| entry.is_private);
        private.map(|entry| entry.name().to_owned()).collect()
    }

    /// Whether what is published there may be asked for.
    pub fn allow_origin(&self, origin: &ComponentOrigin) -> bool {
        let scheme = origin.scheme();
        let (host, port) = match origin.host().rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()),
            None => (origin.host(), Some(own_port(scheme))),
        };
        port.is_some_and(|port| self.allow(host, port, scheme))
    }

    /// Whether an address may be asked: its scheme is HTTP, it has no user and no password, and its host is named.
    pub fn allow_url(&self, url: &Url) -> bool {
        let scheme = match url.scheme() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            _ => return false,
        };
        let is_bare = url.username().is_empty() && url.password().is_none();
        let named = url.host_str().zip(url.port_or_known_default());
        is_bare && named.is_some_and(|(host, port)| self.allow(host, port, scheme))
    }

    /// Whether a host may be spoken to: it is named, or belongs to one that is. One that is named without a port is
    /// meant at the scheme's own.
    fn allow(&self, host: &str, port: u16, scheme: Scheme) -> bool {
        let host = host.to_ascii_lowercase();
        let owner = COMPANIONS.iter().find(|(_, companions)| companions.contains(&host.as_str()));
        let has = |is_named: &dyn Fn(&str) -> bool| {
            is_named(&host) || owner.is_some_and(|(owner, _)| is_named(owner))
        };
        let of_operators = |operators: &Vec<OperatorHost>| {
            let is_meant = |entry: &OperatorHost, host: &str| {
                entry.scheme == scheme && is_entry(&entry.host, host, port, scheme)
            };
            has(&|host| operators.iter().any(|entry| is_meant(entry, host)))
        };
        has(&|host| self.named.iter().any(|entry| is_entry(entry, host, port, scheme)))
            && self.operators.as_ref().is_none_or(of_operators)
    }
}

/// Whether an entry of a list means a host. One without a port means the scheme's own.
fn is_entry(entry: &str, host: &str, port: u16, scheme: Scheme) -> bool {
    match entry.rsplit_once(':') {
        Some((named, at)) => named == host && at.parse() == Ok(port),
        None => entry == host && port == own_port(scheme),
    }
}

const fn own_port(scheme: Scheme) -> u16 {
    match scheme {
        Scheme::Https => 443,
        Scheme::Http => 80,
    }
}

impl fmt::Display for AllowedHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.named.is_empty() { f.write_str("none") } else { f.write_str(&self.named.join(", ")) }
    }
}

/// Bounds of what fetching may cost.
#[derive(Debug, Clone)]
pub struct FetchLimits {
    /// How long one answer may take, its body included.
    pub timeout: Duration,
    /// How long the components of one provider may take, waits included.
    pub whole: Duration,
    /// How long a host may ask to be left alone; longer is an error.
    pub longest_wait: Duration,
    /// How often an answer may lead elsewhere.
    pub redirects: usize,
    /// Pages of a list of releases.
    pub pages: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            whole: Duration::from_secs(600),
            longest_wait: Duration::from_secs(300),
            redirects: 5,
            pages: 10,
        }
    }
}

/// Why components are not fetched. Addresses in it hold no credentials and no queries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The host is not named.
    #[error(
        "{host} is not among the allowed hosts ({allowed}): give `--host {host}`; `providers.hosts` of .capstan.yaml alone allows only public registries and forges"
    )]
    HostNotAllowed {
        /// Host and port.
        host: String,
        /// Those that are named.
        allowed: String,
    },
    /// An answer leads to a host that is not named.
    #[error(
        "{from} redirects to {to}, which is not among the allowed hosts ({allowed}): give `--host {to}`; `providers.hosts` of .capstan.yaml alone allows only public registries and forges"
    )]
    RedirectedElsewhere {
        /// What was asked for.
        from: String,
        /// Host and port that it leads to.
        to: String,
        /// Those that are named.
        allowed: String,
    },
    /// The host's name leads to an address that nobody lets it lead to.
    #[error(
        "{host} resolves to an address of a private network or of this machine: correct the name, or allow it with `private://{host}` in `--provider-hosts` of the bot or the reconciler, or with `--host {host}` on the command line"
    )]
    OutOfReach {
        /// Host and port.
        host: String,
    },
    /// Answers lead on and on.
    #[error("{from} redirects more than {most} times: correct the address")]
    RedirectedTooOften {
        /// What was asked for.
        from: String,
        /// The bound.
        most: usize,
    },
    /// 401 or 403.
    #[error("{address}: {status}, {names}")]
    Unauthorized {
        /// What was asked for.
        address: String,
        status: u16,
        /// Which credentials to give.
        names: &'static str,
    },
    /// 404.
    #[error(
        "{address} does not exist (404): correct the address or the version, or give credentials that may read it"
    )]
    NotFound {
        /// What was asked for.
        address: String,
    },
    /// The host asks to be left alone for longer than is waited.
    #[error("{address}: the limit of requests is reached for another {} s, and {} s are waited: try later, or give credentials", wait.as_secs(), most.as_secs())]
    RateLimited {
        /// What was asked for.
        address: String,
        /// For how long.
        wait: Duration,
        /// The bound.
        most: Duration,
    },
    /// More bytes than are taken.
    #[error("{address} has more than {most} bytes: use another source")]
    TooLarge {
        /// What was asked for.
        address: String,
        /// The bound.
        most: usize,
    },
    /// It took too long.
    #[error("{address} took longer than {} s: try again", after.as_secs())]
    TooSlow {
        /// What was asked for.
        address: String,
        /// The bound.
        after: Duration,
    },
    /// No answer, or an invalid one.
    #[error("{address}: {reason}")]
    Unexpected {
        /// What was asked for.
        address: String,
        /// What was wrong with it.
        reason: String,
    },
    /// Metadata or components are missing where the rest is.
    #[error("{address} has no {what}: it needs {wanted}")]
    Lacks {
        /// Where it was looked for.
        address: String,
        /// `metadata` or `components`.
        what: &'static str,
        /// The names that would do.
        wanted: String,
    },
    /// Layers of an artifact without names.
    #[error(
        "{address} has no layer with the annotation `org.opencontainers.image.title`: push it with a client that names files, such as oras or `capstan providers fetch --push`"
    )]
    NoTitles {
        /// The artifact.
        address: String,
    },
    /// The same version was something else before.
    #[error(
        "{address} changed: its components have SHA-256 {found}, but {recorded} was recorded for {version}. Other components were published under the same version: find out why before you use them"
    )]
    Moved {
        /// What was asked for.
        address: String,
        version: String,
        /// What was recorded.
        recorded: String,
        /// What is there.
        found: String,
    },
    /// The fetched data is not valid.
    #[error("{address}: {reason}")]
    Refused {
        /// What was asked for.
        address: String,
        /// What was wrong, and what to do.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> OperatorHost {
        OperatorHost::parse(text).unwrap()
    }

    #[test]
    fn a_host_is_allowed_by_name_and_port_and_brings_those_that_belong_to_it() {
        let hosts = AllowedHosts::new(["github.com", "Registry.example.com:5000", "127.0.0.1"]);
        for (host, port, scheme, allowed) in [
            ("github.com", 443, Scheme::Https, true),
            ("GitHub.com", 443, Scheme::Https, true),
            ("github.com", 8443, Scheme::Https, false),
            ("api.github.com", 443, Scheme::Https, true),
            ("release-assets.githubusercontent.com", 443, Scheme::Https, true),
            ("evil.githubusercontent.com", 443, Scheme::Https, false),
            ("pkg-containers.githubusercontent.com", 443, Scheme::Https, false),
            ("registry.example.com", 5000, Scheme::Https, true),
            ("registry.example.com", 5000, Scheme::Http, true),
            ("registry.example.com", 443, Scheme::Https, false),
            ("127.0.0.1", 80, Scheme::Http, true),
            ("127.0.0.1", 443, Scheme::Http, false),
            ("sub.github.com", 443, Scheme::Https, false),
        ] {
            assert_eq!(hosts.allow(host, port, scheme), allowed, "{host}:{port}");
        }
        assert!(!AllowedHosts::default().allow("github.com", 443, Scheme::Https));
    }

    #[test]
    fn an_address_is_allowed_by_its_host_over_http_and_without_a_user() {
        let hosts = AllowedHosts::new(["github.com", "127.0.0.1:5000"]);
        for (url, allowed) in [
            ("https://github.com/acme/own", true),
            ("https://GITHUB.com:443/acme/own", true),
            ("https://github.com:8443/", false),
            ("http://github.com/", true),
            ("http://127.0.0.1:5000/v2/", true),
            ("http://127.0.0.1/v2/", false),
            ("https://me@github.com/", false),
            ("https://:word@github.com/", false),
            ("https://evil.example/github.com", false),
            ("ftp://github.com/", false),
            ("file:///etc/passwd", false),
            ("data:,github.com", false),
        ] {
            assert_eq!(hosts.allow_url(&Url::parse(url).unwrap()), allowed, "{url}");
        }
    }

    #[test]
    fn a_repository_names_only_hosts_that_the_operator_allows() {
        let operators = ["github.com", "http://127.0.0.1:5000", "registry.example.com:8443"].map(entry);
        let named = [
            "github.com",
            "127.0.0.1:5000",
            "127.0.0.1:5001",
            "127.0.0.1",
            "localhost",
            "10.0.0.1",
            "169.254.169.254",
        ];
        let hosts =
            AllowedHosts::new(named.into_iter().chain(["registry.example.com:8443"])).within(&operators);
        for (host, port, scheme, allowed) in [
            ("github.com", 443, Scheme::Https, true),
            ("api.github.com", 443, Scheme::Https, true),
            ("github.com", 80, Scheme::Http, false),
            ("127.0.0.1", 5000, Scheme::Http, true),
            ("127.0.0.1", 5000, Scheme::Https, false),
            ("127.0.0.1", 5001, Scheme::Http, false),
            ("127.0.0.1", 80, Scheme::Http, false),
            ("localhost", 443, Scheme::Https, false),
            ("10.0.0.1", 443, Scheme::Https, false),
            ("169.254.169.254", 80, Scheme::Http, false),
            ("registry.example.com", 8443, Scheme::Https, true),
            ("registry.example.com", 8443, Scheme::Http, false),
        ] {
            assert_eq!(hosts.allow(host, port, scheme), allowed, "{host}:{port}");
        }
        let nobody = AllowedHosts::default().within(&operators);
        assert!(
            !nobody.allow("github.com", 443, Scheme::Https),
            "a repository that names nobody has nobody asked"
        );
    }

    #[test]
    fn a_name_leads_into_a_private_network_where_the_operator_says_so() {
        let entries = ["ghcr.io", "private://Registry.example.com:8443", "http://mirror.example.com:5000"];
        let hosts = AllowedHosts::of_operator(&entries.map(entry));
        assert_eq!(hosts.free(), ["registry.example.com", "mirror.example.com"]);
        for (host, port, scheme, allowed) in [
            ("ghcr.io", 443, Scheme::Https, true),
            ("registry.example.com", 8443, Scheme::Https, true),
            ("registry.example.com", 8443, Scheme::Http, false),
            ("mirror.example.com", 5000, Scheme::Http, true),
            ("mirror.example.com", 5000, Scheme::Https, false),
            ("private", 443, Scheme::Https, false),
        ] {
            assert_eq!(hosts.allow(host, port, scheme), allowed, "{host}:{port}");
        }
        assert_eq!(hosts.to_string(), "ghcr.io, registry.example.com:8443, mirror.example.com:5000");
        // What a repository names frees nothing.
        let named = AllowedHosts::new(["private://ghcr.io", "ghcr.io"]).within(&[entry("ghcr.io")]);
        assert_eq!(named.free(), [""; 0]);
    }

    #[test]
    fn tokens_come_from_the_registry_itself_or_its_own_token_server() {
        for (registry, server, gives) in [
            ("ghcr.io", "ghcr.io", true),
            ("registry-1.docker.io", "auth.docker.io", true),
            ("registry.gitlab.com", "gitlab.com", true),
            ("evil.example", "auth.docker.io", false),
            ("evil.example:5000", "evil.example:5001", false),
            ("ghcr.io", "127.0.0.1:8082", false),
        ] {
            assert_eq!(gives_tokens_for(registry, server), gives, "{registry} {server}");
        }
    }

    #[test]
    fn credentials_are_read_by_name_and_never_shown() {
        let credentials = SourceCredentials::read(|name| match name {
            "OCI_USERNAME" => Some("me".to_owned()),
            "OCI_PASSWORD" => Some("s3cret\n".to_owned()),
            "GITHUB_TOKEN" => Some("t0ken".to_owned()),
            "OCI_ACCESS_TOKEN" => Some(String::new()),
            _ => None,
        });
        assert_eq!(credentials.basic(), Some(("me", "s3cret")));
        assert!(credentials.oci_access_token.is_none());
        let shown = format!("{credentials:?}");
        assert!(!shown.contains("s3cret") && !shown.contains("t0ken"), "{shown}");
    }
}
