//! Where a provider's components are published: read out of `fetchConfig`, else out of what clusterctl knows.
//!
//! | written | origin |
//! |---|---|
//! | `oci: [http://]REGISTRY/REPOSITORY[:TAG]` | an OCI artifact; without a tag that of `spec.version` |
//! | `url: https://HOST/OWNER/REPOSITORY/releases[/TAG[/FILE]]` | releases of GitHub, or of a GitHub Enterprise Server |
//! | `url: https://HOST/api/v4/projects/PROJECT/packages/generic/PACKAGE/VERSION/FILE` | a generic package of GitLab |
//! | nothing | releases on github.com, by kind and name |

use std::fmt;

use capstan_model::plain_http;
use serde::{Deserialize, Serialize};

use super::kind::ProviderKind;
use super::known;
use super::refusal::Refusal;
use super::spec::{FetchSource, Provider};

/// The names under which config Secrets, and clusterctl's environment, have what a host wants to be shown.
pub const CREDENTIAL_NAMES: [&str; 8] = [
    "OCI_USERNAME",
    "OCI_PASSWORD",
    "OCI_ACCESS_TOKEN",
    "OCI_REFRESH_TOKEN",
    "github-token",
    "GITHUB_TOKEN",
    "gitlab-access-token",
    "GITLAB_ACCESS_TOKEN",
];

/// How a host is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scheme {
    /// With TLS.
    Https,
    /// Without: only where it is written out.
    Http,
}

impl Scheme {
    /// As URLs begin.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
        }
    }
}

/// Where components are published.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ComponentOrigin {
    /// An artifact in an OCI registry.
    Oci(OciArtifact),
    /// Files of a release on GitHub or a GitHub Enterprise Server.
    GitHub(GitHubRelease),
    /// A generic package of GitLab.
    GitLab(GitLabPackage),
}

/// An artifact in an OCI registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OciArtifact {
    /// `http` only where the address begins so.
    pub scheme: Scheme,
    /// Host, and port where one is written: `registry.example.com:5000`.
    pub registry: String,
    /// `mirror/infrastructure-aws`.
    pub repository: String,
    /// `v2.8.4`.
    pub tag: String,
}

/// Files of a release.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GitHubRelease {
    /// `http` on this machine alone.
    pub scheme: Scheme,
    /// `github.com`, or that of a GitHub Enterprise Server, with its port where one is written.
    pub host: String,
    /// The repository's owner.
    pub owner: String,
    pub repository: String,
    /// The release's tag; `None` = the newest release.
    pub tag: Option<String>,
    /// The file of components.
    pub file: String,
}

/// A generic package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GitLabPackage {
    /// `http` on this machine alone.
    pub scheme: Scheme,
    /// Host, and port where one is written.
    pub host: String,
    /// Number of the project, or its path in percent-encoding: `acme%2Fproviders`.
    pub project: String,
    pub package: String,
    pub version: String,
    /// The file of components.
    pub file: String,
}

impl ComponentOrigin {
    /// Host, and port where one is written.
    pub fn host(&self) -> &str {
        match self {
            Self::Oci(artifact) => &artifact.registry,
            Self::GitHub(release) => &release.host,
            Self::GitLab(package) => &package.host,
        }
    }

    /// How that host is spoken to.
    pub const fn scheme(&self) -> Scheme {
        match self {
            Self::Oci(artifact) => artifact.scheme,
            Self::GitHub(release) => release.scheme,
            Self::GitLab(package) => package.scheme,
        }
    }

    /// The version that will be fetched; `None` = the newest, which is not known yet.
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Oci(artifact) => Some(&artifact.tag),
            Self::GitHub(release) => release.tag.as_deref(),
            Self::GitLab(package) => Some(&package.version),
        }
    }
}

impl fmt::Display for OciArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scheme == Scheme::Http {
            f.write_str("http://")?;
        }
        write!(f, "{}/{}:{}", self.registry, self.repository, self.tag)
    }
}

impl fmt::Display for ComponentOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oci(artifact) => artifact.fmt(f),
            Self::GitHub(GitHubRelease { scheme, host, owner, repository, tag, file }) => {
                let tag = tag.as_deref().unwrap_or("latest");
                write!(f, "{}://{host}/{owner}/{repository}/releases/{tag}/{file}", scheme.as_str())
            }
            Self::GitLab(GitLabPackage { scheme, host, project, package, version, file }) => write!(
                f,
                "{}://{host}/api/v4/projects/{project}/packages/generic/{package}/{version}/{file}",
                scheme.as_str()
            ),
        }
    }
}

impl OciArtifact {
    /// Reads an address; one without a tag has this one.
    ///
    /// # Errors
    /// What is not an address: why, and what one looks like.
    pub fn parse(address: &str, tag: Option<&str>) -> Result<Self, Refusal> {
        let refuse = |why: &str| {
            Refusal::new(format!(
                "`{}` is not an address of an OCI artifact: {why}; write `[http://]REGISTRY/REPOSITORY[:TAG]`",
                without_credentials(address)
            ))
        };
        let (scheme, rest) = match address.split_once("://") {
            None => (Scheme::Https, address),
            Some(("http", rest)) => (Scheme::Http, rest),
            Some(_) => return Err(refuse("it begins with something other than `http://`")),
        };
        if rest.contains('@') {
            return Err(refuse("it has a digest or a user"));
        }
        let (registry, path) = rest.split_once('/').ok_or_else(|| refuse("it names no repository"))?;
        let (repository, written) = match path.rsplit_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        if !is_host(registry) {
            return Err(refuse("its registry is not a host name"));
        }
        let is_part = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte))
                && !part.starts_with('.')
        };
        if !repository.split('/').all(is_part) {
            return Err(refuse("its repository may only have a-z, 0-9, `.`, `_`, `-` and `/`"));
        }
        let tag =
            written.or(tag).ok_or_else(|| refuse("it has no tag, and the provider has no `spec.version`"))?;
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if tag.is_empty() || tag.len() > 128 || !tag.bytes().all(is_sign) || tag.starts_with(['.', '-']) {
            return Err(refuse("its tag may only have letters, digits, `.`, `_` and `-`"));
        }
        Ok(Self {
            scheme,
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag: tag.to_owned(),
        })
    }
}

impl Provider {
    /// Where its components are published; `None` where they are in ConfigMaps.
    ///
    /// # Errors
    /// An invalid address; a name that clusterctl does not know, without a source.
    pub fn origin(&self) -> Result<Option<ComponentOrigin>, Refusal> {
        let version = self.spec.version.as_deref();
        let origin = match &self.spec.source {
            Some(FetchSource::Selector(_)) => return Ok(None),
            Some(FetchSource::Oci(address)) => OciArtifact::parse(address, version).map(ComponentOrigin::Oci),
            Some(FetchSource::Url(address)) => self.of_url(address),
            None => self.known_release().map(ComponentOrigin::GitHub),
        };
        origin.map(Some).map_err(|refusal| refusal.of(self.subject()).at(self.place.clone()))
    }

    fn known_release(&self) -> Result<GitHubRelease, Refusal> {
        let known = known::repository(self.kind, &self.name).and_then(|path| path.split_once('/'));
        let (owner, repository) = known.ok_or_else(|| {
            Refusal::new(format!(
                "clusterctl knows no {} of this name, so it needs a source: add `spec.fetchConfig` with `selector`, `oci` or `url`",
                self.kind
            ))
        })?;
        Ok(GitHubRelease {
            scheme: Scheme::Https,
            host: "github.com".to_owned(),
            owner: owner.to_owned(),
            repository: repository.to_owned(),
            tag: self.spec.version.clone(),
            file: known::components_file(self.kind, &self.name),
        })
    }

    fn of_url(&self, address: &str) -> Result<ComponentOrigin, Refusal> {
        const FORMS: &str = "`https://HOST/OWNER/REPOSITORY/releases[/TAG[/FILE]]` or `https://HOST/api/v4/projects/PROJECT/packages/generic/PACKAGE/VERSION/FILE`";
        let refuse = |why: &str| {
            let shown = without_credentials(address);
            Refusal::new(format!("`fetchConfig.url` `{shown}` is not understood: {why}; write {FORMS}"))
        };
        let (scheme, rest) = address.split_once("://").ok_or_else(|| refuse("it is not a URL"))?;
        let (host, path) = rest.split_once('/').ok_or_else(|| refuse("it has no path"))?;
        let bare = host.rsplit_once(':').map_or(host, |(bare, _)| bare);
        let scheme = match scheme {
            "https" => Scheme::Https,
            "http" if plain_http::is_private(bare) => Scheme::Http,
            _ => return Err(refuse("it does not begin with `https://`")),
        };
        if !is_host(host) {
            return Err(refuse("its host is not a host name"));
        }
        if path.contains(['?', '#', '\\']) {
            return Err(refuse("it has a query or a fragment"));
        }
        let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        if let Some(odd) = parts.iter().find(|part| !is_segment(part)) {
            return Err(refuse(&format!("`{odd}` cannot be part of a path")));
        }
        let version = self.spec.version.clone();
        match parts.as_slice() {
            ["api", "v4", "projects", project, "packages", "generic", package, written, file] => {
                Ok(ComponentOrigin::GitLab(GitLabPackage {
                    scheme,
                    host: host.to_owned(),
                    project: (*project).to_owned(),
                    package: (*package).to_owned(),
                    version: version.unwrap_or_else(|| (*written).to_owned()),
                    file: (*file).to_owned(),
                }))
            }
            ["api", ..] => Err(refuse("it is not the address of a file of a generic package")),
            [owner, repository, "releases", rest @ ..] if rest.len() <= 2 => {
                let written = rest.first().filter(|tag| **tag != "latest").map(|tag| (*tag).to_owned());
                let file = rest.get(1).map(|file| (*file).to_owned());
                Ok(ComponentOrigin::GitHub(GitHubRelease {
                    scheme,
                    host: host.to_owned(),
                    owner: (*owner).to_owned(),
                    repository: (*repository).to_owned(),
                    tag: version.or(written),
                    file: file.unwrap_or_else(|| known::components_file(self.kind, &self.name)),
                }))
            }
            _ => Err(refuse("its path is another one")),
        }
    }

    /// The version that it asks for.
    pub fn version(&self) -> Option<&str> {
        self.spec.version.as_deref()
    }

    /// The labels that its selector asks for, where it has one; expressions are not among them.
    pub fn selected_labels(&self) -> Option<impl Iterator<Item = (&str, &str)>> {
        match &self.spec.source {
            Some(FetchSource::Selector(selector)) => Some(selector.labels()),
            _ => None,
        }
    }

    /// The titles of the layers that may hold its metadata, and of those that may hold its components: the first that
    /// is there counts.
    pub fn artifact_titles(&self, version: &str) -> (Vec<String>, Vec<String>) {
        self.kind.artifact_titles(&self.name, version)
    }
}

impl ProviderKind {
    /// The same of a provider of this kind and name.
    pub fn artifact_titles(self, name: &str, version: &str) -> (Vec<String>, Vec<String>) {
        let full = format!("{}-{name}-{version}", self.word());
        let metadata = vec![format!("{full}-metadata.yaml"), "metadata.yaml".to_owned()];
        let components = vec![
            format!("{full}-components.yaml"),
            format!("{}-components.yaml", self.word()),
            "components.yaml".to_owned(),
        ];
        (metadata, components)
    }
}

fn is_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    };
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.split('.').all(is_label) && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

fn is_segment(part: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+~%".contains(&byte);
    !part.is_empty() && !matches!(part, "." | "..") && part.bytes().all(is_sign)
}

/// An address without its user and password.
pub(crate) fn without_credentials(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").map_or(("", address), |(scheme, rest)| (scheme, rest));
    let host = rest.find('/').unwrap_or(rest.len());
    let begin = rest[..host].rfind('@').map_or(0, |at| at + 1);
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{}", &rest[begin..])
}

#[cfg(test)]
#[path = "origin_tests.rs"]
mod tests;
