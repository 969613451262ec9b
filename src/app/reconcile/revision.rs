//! One commit of a Fleet's tree: which clusters this management cluster applies, and whose is what.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_domain::cluster::ClusterId;
use capstan_domain::object::ObjectId;
use capstan_domain::settings::{ClaimedTwice, REPOSITORY_FILE, SettingsError};
use capstan_domain::tree::{CommitId, RepoPath};
use jiff::civil::Date;

use super::ports::SourceTree;
use crate::app::generator::{Fleet, Refused};

/// A commit, opened.
pub struct Revision {
    /// The commit.
    pub commit: CommitId,
    /// Settings and layout of its tree.
    pub fleet: Fleet,
    /// The clusters that this management cluster applies; the error where two claim one.
    pub claims: BTreeMap<ClusterId, Result<(), Refused>>,
    /// Which cluster renders an object, by the identity that Git gives it.
    owners: BTreeMap<ObjectId, ClusterId>,
}

/// Why nothing at all is applied from a commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// `.capstan.yaml` cannot be read.
    #[error("{0}")]
    Settings(SettingsError),
    /// `.capstan.yaml` does not know this management cluster.
    #[error(
        "`managementClusters` in {REPOSITORY_FILE} has no entry with the UID {uid}: add `- name: {name}`, \
         `uid: {uid}` and the clusters that are to be applied here"
    )]
    Unknown {
        /// The name in the Fleet.
        name: String,
        /// This management cluster's UID.
        uid: String,
    },
    /// The name is that of another management cluster.
    #[error(
        "the Fleet says `managementCluster: {name}`, but {REPOSITORY_FILE} has the UID {uid} of this one under \
         the name {found}: correct the one that is wrong"
    )]
    OtherName {
        /// The name in the Fleet.
        name: String,
        /// The name in `.capstan.yaml`.
        found: String,
        /// This management cluster's UID.
        uid: String,
    },
}

impl Unusable {
    /// A CamelCase word for a condition.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Settings(_) => "SettingsUnreadable",
            Self::Unknown { .. } => "UnknownManagementCluster",
            Self::OtherName { .. } => "OtherManagementCluster",
        }
    }
}

impl Revision {
    /// Opens a tree for the management cluster of that name and UID. Reads and renders every claimed
    /// folder: to be called where blocking is allowed.
    ///
    /// # Errors
    /// Nothing of this commit may be applied.
    pub fn open(source: &SourceTree, name: &str, uid: &str, today: Date) -> Result<Self, Unusable> {
        let fleet = Fleet::open(Arc::clone(&source.tree), today).map_err(Unusable::Settings)?;
        Self::of(source.commit.clone(), fleet, name, uid)
    }

    /// The same for a head that is judged before the merge: under the settings of the default branch.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn under_settings_of(
        base: &Self,
        source: &SourceTree,
        name: &str,
        uid: &str,
        today: Date,
    ) -> Result<Self, Unusable> {
        let settings = base.fleet.settings().clone();
        let fleet = Fleet::with_settings(
            Arc::clone(&source.tree),
            settings,
            base.fleet.has_settings_file(),
            today,
        );
        Self::of(source.commit.clone(), fleet, name, uid)
    }

    fn of(commit: CommitId, fleet: Fleet, name: &str, uid: &str) -> Result<Self, Unusable> {
        check_name(&fleet, name, uid)?;
        let ours = |name: &str| {
            let managements = &fleet.settings().management_clusters;
            managements.iter().any(|management| management.name == name && management.uid.as_str().eq_ignore_ascii_case(uid))
        };
        let mut claims = BTreeMap::new();
        for id in fleet.clusters() {
            match fleet.settings().claimed_by(id) {
                Ok(Some(management)) if management.uid.as_str().eq_ignore_ascii_case(uid) => {
                    claims.insert(id.clone(), Ok(()));
                }
                Ok(_) => {}
                Err(twice) if ours(&twice.first) || ours(&twice.second) => {
                    claims.insert(id.clone(), Err(Refused::from(twice)));
                }
                Err(ClaimedTwice { .. }) => {}
            }
        }
        let mut owners = BTreeMap::new();
        for (id, claim) in &claims {
            // One that cannot be rendered says so when its turn comes.
            let Some(rendered) = claim.as_ref().ok().and_then(|()| fleet.render(id).ok()) else { continue };
            for object in rendered.objects {
                owners.entry(object.id).or_insert_with(|| id.clone());
            }
        }
        Ok(Self { commit, fleet, claims, owners })
    }

    /// Clusters that this management cluster applies, and those that two claim.
    pub fn clusters(&self) -> impl Iterator<Item = &ClusterId> {
        self.claims.keys()
    }

    /// What else is rendered where, by the identity that Git gives it.
    pub const fn owners(&self) -> &BTreeMap<ObjectId, ClusterId> {
        &self.owners
    }

    /// Whether a folder of that path is there at all, claimed or not.
    pub fn has_folder(&self, id: &str) -> bool {
        RepoPath::parse(id).is_ok_and(|path| !self.fleet.tree().entries_in(&path).is_empty())
    }
}

fn check_name(fleet: &Fleet, name: &str, uid: &str) -> Result<(), Unusable> {
    let managements = &fleet.settings().management_clusters;
    let with_uid = || managements.iter().filter(|management| management.uid.as_str().eq_ignore_ascii_case(uid));
    if with_uid().any(|management| management.name == name) {
        return Ok(());
    }
    let (name, uid) = (name.to_owned(), uid.to_owned());
    Err(match with_uid().next() {
        Some(found) => Unusable::OtherName { name, found: found.name.clone(), uid },
        None => Unusable::Unknown { name, uid },
    })
}
