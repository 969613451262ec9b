//! The releases of a repository, found by what people write.

use std::collections::{BTreeMap, BTreeSet};

use super::ReleaseError;
use super::parts::Release;
use super::requests::{self, Requests};
use crate::layout::Layout;
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::ids::{ContentId, Provider, ReleaseId};
use capstan_model::spelling::nearest;
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, Tree};
use capstan_model::version::ReleaseVersion;
use capstan_yaml::YamlFile;

/// Every release of a repository that can be read.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Ordered by provider, version, and then those in use before archived ones.
    releases: Vec<Release>,
    /// Those that cannot be read, with the reason.
    unreadable: Vec<(ReleaseId, ReleaseError)>,
    /// What is wrong in the providers' `requests.yaml`.
    requests_problems: Vec<FileError>,
}

/// The release that a text was most likely meant to name: by the beginning of its id, its provider or its version, the
/// newest of several; else by its spelling. `releases` are ordered as [`Catalogue::releases`].
pub fn nearest_release<'r>(
    typed: &str,
    releases: impl Iterator<Item = &'r Release> + Clone,
) -> Option<&'r ReleaseId> {
    let typed = typed.trim_end_matches('/');
    let version = |release: &'r Release| {
        let id = release.id.as_str();
        id.rsplit('/').next().unwrap_or(id)
    };
    let plain = |version: &'r str| version.strip_prefix('v').unwrap_or(version);
    let newest = |is_meant: &dyn Fn(&'r Release) -> bool| {
        releases.clone().filter(|&release| is_meant(release)).last().map(|release| &release.id)
    };
    let begins = |text: &str| text.strip_prefix(typed).is_some_and(|rest| rest.starts_with(['.', '/', '-']));
    let by_beginning = newest(&|release| {
        let version = version(release);
        begins(release.id.as_str()) || begins(version) || begins(plain(version))
    });
    let by_id = || {
        let meant = nearest(typed, releases.clone().map(|release| release.id.as_str()))?;
        newest(&|release| release.id.as_str() == meant)
    };
    let by_version = || {
        let typed = typed.strip_prefix('v').unwrap_or(typed);
        let meant = nearest(typed, releases.clone().map(|release| plain(version(release))))?;
        newest(&|release| plain(version(release)) == meant)
    };
    by_beginning.or_else(by_id).or_else(by_version)
}

impl Catalogue {
    /// Reads the releases of a layout.
    pub fn read(tree: &dyn Tree, layout: &Layout) -> Self {
        let mut catalogue = Self::default();
        for folder in &layout.releases {
            match Release::read(tree, folder) {
                Ok(release) => catalogue.releases.push(release),
                Err(error) => catalogue.unreadable.push((folder.id.clone(), error)),
            }
        }
        let with_manifest = catalogue.releases.iter().filter(|release| release.manifest.is_some());
        let providers: BTreeSet<Provider> = with_manifest.map(|release| release.provider.clone()).collect();
        for provider in providers {
            let Some((file, requests)) = catalogue.read_requests(tree, &provider) else { continue };
            catalogue.ask(&provider, &file, &requests);
        }
        catalogue
    }

    /// A provider's `requests.yaml`, where it has one that can be read.
    fn read_requests(&mut self, tree: &dyn Tree, provider: &Provider) -> Option<(RepoPath, Requests)> {
        let file = RepoPath::parse(provider.as_str()).ok()?.join(requests::FILE).ok()?;
        let entry = tree.entry(&file)?;
        let unusable = |position, message: &str| {
            let message = format!("{message}; until then, {provider}'s releases have no requests");
            FileError::new(rules::INVALID_SETTINGS, Place::maybe_at(file.clone(), position), message)
        };
        let read = match tree.read(entry) {
            Ok(bytes) => {
                YamlFile::read_bytes(&bytes).map_err(|error| unusable(Some(error.position), &error.message))
            }
            Err(error) => Err(unusable(None, &error.reason)),
        };
        match read {
            Ok(yaml) => {
                let (requests, problems) = Requests::read(&file, &yaml);
                self.requests_problems.extend(problems);
                Some((file, requests))
            }
            Err(problem) => {
                self.requests_problems.push(problem);
                None
            }
        }
    }

    /// Notes which of `requests` each of a provider's releases does not meet; `file` is the file of the requests.
    pub fn ask(&mut self, provider: &Provider, file: &RepoPath, requests: &Requests) {
        for release in self.releases.iter_mut().filter(|release| release.provider == *provider) {
            release.unmet = requests.unmet(release, file);
        }
    }

    /// A catalogue of these releases.
    pub fn new(mut releases: Vec<Release>) -> Self {
        releases.sort_by(|a, b| {
            let order =
                |release: &Release| (release.provider.clone(), release.version.clone(), release.state);
            order(a).cmp(&order(b))
        });
        Self { releases, ..Self::default() }
    }

    /// All of them: by provider, oldest first.
    pub fn releases(&self) -> &[Release] {
        &self.releases
    }

    /// Those that cannot be read.
    pub fn unreadable(&self) -> &[(ReleaseId, ReleaseError)] {
        &self.unreadable
    }

    /// What is wrong in the providers' `requests.yaml`, ordered by file and line.
    pub fn requests_problems(&self) -> &[FileError] {
        &self.requests_problems
    }

    /// The providers that have releases.
    pub fn providers(&self) -> BTreeSet<&Provider> {
        self.releases.iter().map(|release| &release.provider).collect()
    }

    /// The providers that have releases for targets of that kind.
    pub fn providers_for(&self, kind: TargetKind) -> BTreeSet<&Provider> {
        let fitting = self.releases.iter().filter(|release| release.kind == kind);
        fitting.map(|release| &release.provider).collect()
    }

    /// A provider's releases, oldest first. Of a release that exists twice (also archived), only the one in use.
    pub fn of_provider<'c>(&'c self, provider: &Provider) -> impl Iterator<Item = &'c Release> + use<'c> {
        let provider = provider.clone();
        let mut last: Option<&ReleaseVersion> = None;
        self.releases.iter().filter(move |release| {
            let is_first = release.provider == provider && last != Some(&release.version);
            if is_first {
                last = Some(&release.version);
            }
            is_first
        })
    }

    /// The release of that id; of one that exists twice, the one in use. `aws/21.0.0` finds `aws/v21.0.0`.
    pub fn find(&self, id: &ReleaseId) -> Option<&Release> {
        let is_it = |release: &&Release| release.id == *id;
        self.releases
            .iter()
            .find(is_it)
            .or_else(|| self.releases.iter().find(|release| id.names(&release.id)))
    }

    /// Whether no folder has a release, readable or not, though there are releases.
    pub fn lacks(&self, id: &ReleaseId) -> bool {
        let is_unreadable = self.unreadable.iter().any(|(other, _)| id.names(other));
        !is_unreadable && !self.releases.is_empty() && self.find(id).is_none()
    }

    /// The provider's release of that version.
    pub fn find_version(&self, provider: &Provider, version: &ReleaseVersion) -> Option<&Release> {
        self.of_provider(provider).find(|release| release.version == *version)
    }

    /// The release whose content is that, archived ones included.
    pub fn find_content(&self, content: &ContentId) -> Option<&Release> {
        self.releases.iter().find(|release| release.content.as_ref().is_some_and(|now| content.may_be(now)))
    }

    /// The provider that a setting, a chart or a person means: by its path, or by its name where only
    /// one has it.
    pub fn find_provider(&self, written: &Provider) -> Option<&Provider> {
        let providers = self.providers();
        if let Some(exact) = providers.get(written) {
            return Some(exact);
        }
        let mut named = providers.into_iter().filter(|provider| provider.name() == written.as_str());
        named.next().filter(|_| named.next().is_none())
    }

    /// The providers whose releases hold these infrastructure kinds: all of them, or where no provider
    /// does (a release of fragments), some.
    pub fn providers_with(&self, kinds: &BTreeSet<String>) -> BTreeSet<&Provider> {
        let mut held: BTreeMap<&Provider, BTreeSet<&String>> = BTreeMap::new();
        for release in &self.releases {
            let held = held.entry(&release.provider).or_default();
            held.extend(release.infrastructure_kinds.intersection(kinds));
        }
        let most = held.values().map(BTreeSet::len).max().unwrap_or_default();
        let wanted = if most == kinds.len() { kinds.len() } else { 1 };
        held.into_iter()
            .filter(|(_, held)| !held.is_empty() && held.len() >= wanted)
            .map(|(provider, _)| provider)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::layout::discover;
    use crate::settings::RepositorySettings;
    use capstan_model::tree::MadeTree;

    #[test]
    fn a_release_is_suggested_by_its_beginning_or_its_spelling() {
        let text: Arc<[u8]> = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n".as_slice().into();
        let files = ["aws/v20.1.0", "aws/v21.0.0", "aws/v21.0.1", "openstack/v1.0.0", "openstack/v1.1.0"]
            .map(|id| (RepoPath::parse(&format!("{id}/base/a.yaml")).unwrap(), Ok(Arc::clone(&text))));
        let tree = MadeTree::of(files.into());
        let catalogue = Catalogue::read(&tree, &discover(&tree, &RepositorySettings::default()));
        for (typed, meant) in [
            ("openstack/v1.1", Some("openstack/v1.1.0")),
            ("openstack/v1", Some("openstack/v1.1.0")),
            ("openstack", Some("openstack/v1.1.0")),
            ("openstack/", Some("openstack/v1.1.0")),
            ("v1.1", Some("openstack/v1.1.0")),
            ("1.1", Some("openstack/v1.1.0")),
            ("v21", Some("aws/v21.0.1")),
            ("aws/v21.0.3", Some("aws/v21.0.0")),
            ("opnstack/v1.0.0", Some("openstack/v1.0.0")),
            ("v20.1.1", Some("aws/v20.1.0")),
            ("20.1.1", Some("aws/v20.1.0")),
            ("newest", None),
            ("gcp/v77.0.0", None),
            ("", None),
        ] {
            let found = nearest_release(typed, catalogue.releases().iter()).map(ReleaseId::as_str);
            assert_eq!(found, meant, "{typed}");
        }
    }
}
