//! Which folders are releases, and which receive them: clusters and provider sets. The meaning of the settings
//! (DESIGN 5.1).
//!
//! [`discover()`] walks a snapshot once. By default the shape decides: a folder with `base/` or
//! `release.yaml` whose name is a version is a release; any other folder with `base/` is a cluster
//! where a document in it says so, and a provider set where all that it says of Cluster API are provider objects.
//! Patterns in the settings replace the search for the shape; besides, they may name provider sets.
//!
//! Deliberately absent: what the files mean ([`crate::release`], [`crate::cluster`]), and following
//! symbolic links or submodules: those are problems.

mod clusters;
mod crowded;
mod definitions;
mod discover;
mod files;
mod follow;
mod found;
mod new_target;
mod outside;
mod patterns;
mod provider_sets;
mod releases;
mod services;
mod sniff;
#[cfg(test)]
mod tests;
mod unreached;

use crate::settings::{ClaimedTwice, FOLDER_FILE, ManagementCluster, RepositorySettings, ServiceFolder};
use capstan_model::ids::ClusterId;
use capstan_model::target::{Target, TargetKind};
use capstan_model::tree::RepoPath;
use capstan_model::version::ReleaseVersion;

pub use self::found::{Layout, ReleaseFolder, ReleaseShelf, TargetFolder};
pub(crate) use clusters::holder;
pub(crate) use crowded::ClusterName;
pub use crowded::crowded;
pub use definitions::{definitions, may_define, schemas_of};
pub use discover::discover;
pub use files::not_followed;
pub use follow::{Followed, follow};
pub use new_target::{NotFoundAsCluster, NotFree};
pub(crate) use outside::others;
pub use outside::outside;
pub(crate) use patterns::{exact, patterns};
pub use releases::NOTES;
pub use services::{ServiceFiles, services_in};
pub(crate) use sniff::may_hold;
pub(crate) use unreached::is_name;

impl Layout {
    /// The clusters alone.
    pub fn clusters(&self) -> impl Iterator<Item = &TargetFolder> {
        let targets = self.targets.iter().map(AsRef::as_ref);
        targets.filter(|folder| folder.kind == TargetKind::Cluster)
    }

    /// The cluster or provider set of that id.
    pub fn target(&self, id: &str) -> Option<&TargetFolder> {
        let at = self.targets.binary_search_by(|folder| folder.id.as_str().cmp(id)).ok()?;
        self.targets.get(at).map(AsRef::as_ref)
    }

    /// The cluster or provider set whose folder contains a file.
    pub fn target_around(&self, path: &RepoPath) -> Option<&TargetFolder> {
        let mut above = std::iter::successors(path.parent(), RepoPath::parent);
        above.find_map(|folder| self.target(folder.as_str()))
    }

    /// The release whose folder contains a file.
    pub fn release_around(&self, path: &RepoPath) -> Option<&ReleaseFolder> {
        let mut above = std::iter::successors(path.parent(), RepoPath::parent);
        above.find_map(|folder| {
            ReleaseVersion::parse(folder.name())?;
            self.releases.iter().find(|release| release.folder == folder)
        })
    }

    /// The management cluster that applies a folder. `None` if no management cluster claims it.
    ///
    /// # Errors
    /// Two management clusters claim it.
    pub fn claimed_by<'s>(
        &self,
        id: &ClusterId,
        settings: &'s RepositorySettings,
    ) -> Result<Option<&'s ManagementCluster>, ClaimedTwice> {
        match self.target(id.as_str()) {
            Some(folder) => folder.claimed_by(settings),
            None => settings.claimed_by(id),
        }
    }

    /// Whether a file is the `capstan.yaml` of a target: settings of one document, which hold no objects.
    pub fn is_record(&self, path: &RepoPath) -> bool {
        let is = |folder: &TargetFolder| {
            let files = [&folder.settings, &folder.overlay_settings];
            files.into_iter().flatten().any(|entry| entry.path == *path)
        };
        path.name() == FOLDER_FILE && self.target_around(path).is_some_and(is)
    }

    /// Whether a file is in a release, or in a target's base, overlay or services.
    pub fn holds(&self, path: &RepoPath) -> bool {
        self.release_around(path).is_some()
            || self.target_around(path).is_some_and(|folder| {
                path.is_in(&folder.base) || path.is_in(&folder.overlay) || folder.is_of_service(path)
            })
    }
}

impl TargetFolder {
    pub fn target(&self) -> Target {
        Target::new(self.kind, self.id.clone())
    }

    /// The management cluster that applies it; `None` = others.
    ///
    /// # Errors
    /// Two management clusters claim it.
    pub fn claimed_by<'s>(
        &self,
        settings: &'s RepositorySettings,
    ) -> Result<Option<&'s ManagementCluster>, ClaimedTwice> {
        settings.claims(&self.target())
    }

    /// Whether a file is one of its services', beside base.
    pub fn is_of_service(&self, path: &RepoPath) -> bool {
        self.services.iter().any(|service| path.is_in(&service.folder.inside(self.id.folder())))
    }

    /// The folders that a service of it is rendered from.
    pub fn service_folders(&self, service: &ServiceFolder) -> (RepoPath, RepoPath) {
        (service.inside(self.id.folder()), service.inside(&self.overlay))
    }

    /// Where the target's `capstan.yaml` is, or would be.
    pub fn settings_path(&self) -> RepoPath {
        let folder = self.id.folder();
        folder.join(FOLDER_FILE).unwrap_or_else(|_| folder.clone())
    }
}
