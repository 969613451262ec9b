//! Whether what Flux or Argo CD applies comes from this repository.

use std::collections::BTreeSet;

use capstan_model::finding::Place;
use capstan_model::tree::RepoPath;
use capstan_yaml::Node;

/// Where this repository is fetched from: the remotes of a checkout. None where it has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryAddresses(BTreeSet<RepositoryAddress>);

/// A repository on a host, however it is reached. Hosts of Git do not tell letters of either case apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct RepositoryAddress {
    host: String,
    path: String,
}

/// Where a folder that is applied comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// From this repository.
    This,
    /// From another one.
    Another,
    /// Nothing here says from where.
    Unknown,
}

impl RepositoryAddresses {
    /// Reads URLs as `git remote` has them. One that names no host is passed over.
    pub fn of<'u>(urls: impl IntoIterator<Item = &'u str>) -> Self {
        Self(urls.into_iter().filter_map(RepositoryAddress::of).collect())
    }

    /// Whose repository a URL names. One with the name of this one on another host may be its mirror.
    fn origin(&self, url: &str) -> Origin {
        let Some(address) = RepositoryAddress::of(url) else { return Origin::Unknown };
        if self.0.contains(&address) {
            return Origin::This;
        }
        let is_alike = self.0.iter().any(|own| own.name() == address.name());
        if self.0.is_empty() || is_alike { Origin::Unknown } else { Origin::Another }
    }

    /// Where a folder comes from that is taken from all of these.
    pub(super) fn origin_of<'u>(&self, urls: impl IntoIterator<Item = &'u str>) -> Origin {
        let all = urls.into_iter().map(|url| self.origin(url));
        all.reduce(|one, other| if one == other { one } else { Origin::Unknown }).unwrap_or(Origin::Unknown)
    }
}

impl RepositoryAddress {
    /// `https://git@example.com:8443/acme/fleet.git`, `git@example.com:acme/fleet`
    fn of(url: &str) -> Option<Self> {
        let is_filled_in = |text: &str| ["{{", "${", "<<"].iter().any(|begin| text.contains(begin));
        let url = url.trim();
        let (authority, path) = match url.split_once("://") {
            Some(("http" | "https" | "ssh" | "git", rest)) => rest.split_once('/')?,
            Some(_) => return None,
            None => url.split_once(':').filter(|(host, _)| !host.contains('/'))?,
        };
        let host = authority.rsplit('@').next()?.split(':').next()?;
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        if host.is_empty() || path.is_empty() || is_filled_in(url) {
            return None;
        }
        Some(Self { host: host.to_lowercase(), path: path.to_lowercase() })
    }

    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// The name of a source of Flux. `None` is a namespace that something else decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SourceName {
    namespace: Option<String>,
    name: String,
}

impl SourceName {
    /// Whether one object may have both names.
    fn may_be(&self, other: &Self) -> bool {
        let is_elsewhere = || self.namespace.is_some() && other.namespace.is_some();
        self.name == other.name && (self.namespace == other.namespace || !is_elsewhere())
    }
}

/// A Git repository that Flux fetches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitSource {
    pub(super) place: Place,
    name: SourceName,
    url: String,
    /// The folders that it takes; all where there are none. Flux takes nothing that is beside them.
    sparse: Vec<RepoPath>,
}

impl GitSource {
    /// Reads a `GitRepository`.
    pub(super) fn read(object: &Node, place: Place) -> Self {
        let text = |part: &str, key: &str| Some(object.get(part)?.text_at(key)?.to_owned());
        let name = text("metadata", "name").unwrap_or_default();
        let name = SourceName { namespace: text("metadata", "namespace"), name };
        let folders = object.get("spec").and_then(|spec| spec.get("sparseCheckout"));
        let folders = folders.and_then(Node::as_sequence).unwrap_or_default().iter();
        let sparse = folders.filter_map(|folder| RepoPath::root().join(folder.as_str()?).ok()).collect();
        Self { place, name, url: text("spec", "url").unwrap_or_default(), sparse }
    }

    /// Whether it leaves out folders.
    pub(super) const fn is_sparse(&self) -> bool {
        !self.sparse.is_empty()
    }

    /// Whether it takes all of a folder, or a file.
    pub(super) fn takes(&self, path: &RepoPath) -> bool {
        !self.is_sparse() || self.sparse.iter().any(|folder| path == folder || path.is_in(folder))
    }

    /// Whose repository it is.
    pub(super) fn origin(&self, own: &RepositoryAddresses) -> Origin {
        own.origin(&self.url)
    }
}

/// What an object that applies folders says of its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AppliedSource {
    /// The source of Flux that it names.
    Object(SourceName),
    /// URLs of repositories.
    Urls(Vec<String>),
}

impl AppliedSource {
    /// Reads an object that applies folders; `urls` are those that one of Argo CD names. A source of Flux without a
    /// namespace is in that of the object.
    pub(super) fn read(object: &Node, urls: Vec<String>) -> Self {
        let Some(reference) = object.get("spec").and_then(|spec| spec.get("sourceRef")) else {
            return Self::Urls(urls);
        };
        let own = object.get("metadata").and_then(|metadata| metadata.text_at("namespace"));
        let namespace = reference.text_at("namespace").or(own).map(str::to_owned);
        Self::Object(SourceName { namespace, name: reference.text_at("name").unwrap_or_default().to_owned() })
    }

    /// The objects of Flux that it may name.
    pub(super) fn objects<'s>(&self, sources: &'s [GitSource]) -> impl Iterator<Item = &'s GitSource> {
        sources.iter().filter(move |source| matches!(self, Self::Object(name) if source.name.may_be(name)))
    }

    /// Where its folders come from.
    pub(super) fn origin(&self, sources: &[GitSource], own: &RepositoryAddresses) -> Origin {
        match self {
            Self::Urls(urls) => own.origin_of(urls.iter().map(String::as_str)),
            Self::Object(_) => own.origin_of(self.objects(sources).map(|source| source.url.as_str())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_known_by_host_and_path_however_it_is_reached() {
        let own = RepositoryAddresses::of(["git@github.com:acme/fleet.git", "/srv/mirror"]);
        for (url, expected) in [
            ("https://github.com/acme/fleet", Origin::This),
            ("https://robot:word@GitHub.com/Acme/fleet.git/", Origin::This),
            ("ssh://git@github.com:22/acme/fleet.git", Origin::This),
            ("github.com:acme/fleet", Origin::This),
            ("https://github.com/acme/other", Origin::Another),
            ("https://github.com/stefanprodan/podinfo", Origin::Another),
            // A fork, or a mirror on another host: nobody can say from here.
            ("https://github.com/gauss/fleet", Origin::Unknown),
            ("https://git.internal/mirrors/fleet.git", Origin::Unknown),
            ("https://github.com/{{org}}/other", Origin::Unknown),
            ("oci://ghcr.io/acme/other", Origin::Unknown),
            ("here", Origin::Unknown),
            ("", Origin::Unknown),
        ] {
            assert_eq!(own.origin(url), expected, "{url}");
        }
        assert_eq!(RepositoryAddresses::default().origin("https://github.com/acme/other"), Origin::Unknown);
    }

    #[test]
    fn several_sources_are_of_this_repository_if_all_are() {
        let own = RepositoryAddresses::of(["https://github.com/acme/fleet"]);
        let (this, other) = ("git@github.com:acme/fleet", "https://github.com/acme/other");
        assert_eq!(own.origin_of([]), Origin::Unknown);
        assert_eq!(own.origin_of([this, this]), Origin::This);
        assert_eq!(own.origin_of([other, other]), Origin::Another);
        assert_eq!(own.origin_of([this, other]), Origin::Unknown);
    }
}
