//! One commit of a Fleet's tree: which clusters this management cluster applies, and whose is what.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_live::applying::{Inventory, InventoryObject, OwnerIndex, Scopes, place_in_namespaces};
use capstan_model::finding::FileError;
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_model::tree::{CommitId, RepoPath, TreeId};
use capstan_plan::settings::{ClaimedTwice, REPOSITORY_FILE};
use capstan_plan::templates::SpecDigest;
use jiff::civil::Date;
use serde_json::Value;

use super::kinds::kinds_of;
use super::ports::SourceTree;
use crate::app::generator::{Fleet, Refused};
use crate::app::ports::ApiKind;

/// A commit, opened.
pub struct Revision {
    /// The commit.
    pub commit: CommitId,
    /// Settings and layout of its tree.
    pub fleet: Fleet,
    /// The clusters that this management cluster applies; the error where two claim one.
    pub claims: BTreeMap<ClusterId, Result<(), Refused>>,
    /// Which folder renders what, and which has applied what.
    pub owners: OwnerIndex,
    /// By cluster: what tells that a folder asks for the same in two commits.
    prints: BTreeMap<ClusterId, Print>,
}

/// What tells that a folder asks for the same in two commits: its files, and what they render to, which
/// other folders may have a part in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Print {
    folder: Option<TreeId>,
    rendered: SpecDigest,
}

/// Whose eyes a tree is looked at with.
#[derive(Debug, Clone, Copy)]
pub struct Viewpoint<'a> {
    /// The management cluster's name in the Fleet.
    pub name: &'a str,
    /// Its UID.
    pub uid: &'a str,
    /// What discovery told.
    pub scopes: &'a Scopes,
    /// What its clusters have applied so far.
    pub recorded: &'a BTreeMap<ClusterId, Inventory>,
    /// The day, in UTC.
    pub today: Date,
}

/// What opening a tree came to.
pub enum Opened {
    /// It can be worked with.
    Ready(Box<Revision>),
    /// Discovery has to say first where objects of these kinds lie.
    Unknown(BTreeSet<ApiKind>),
}

/// Why nothing at all is applied from a commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// `.capstan.yaml` cannot be read.
    #[error("{0}")]
    Settings(FileError),
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
    /// Opens a tree. Reads and renders every claimed folder: to be called where blocking is allowed.
    /// Kinds of which discovery told nothing are named once; where `settled`, they count as namespaced.
    ///
    /// # Errors
    /// Nothing of this commit may be applied.
    pub fn open(source: &SourceTree, view: &Viewpoint<'_>, settled: bool) -> Result<Opened, Unusable> {
        let fleet = Fleet::open(Arc::clone(&source.tree), view.today).map_err(Unusable::Settings)?;
        Self::of(source.commit.clone(), fleet, view, settled)
    }

    /// The same for a head that is judged before the merge: under the settings of the default branch.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_head(
        base: &Self,
        source: &SourceTree,
        view: &Viewpoint<'_>,
        settled: bool,
    ) -> Result<Opened, Unusable> {
        let settings = base.fleet.settings().clone();
        let has_file = base.fleet.has_settings_file();
        let fleet = Fleet::with_settings(Arc::clone(&source.tree), settings, has_file, view.today);
        Self::of(source.commit.clone(), fleet, view, settled)
    }

    fn of(commit: CommitId, fleet: Fleet, view: &Viewpoint<'_>, settled: bool) -> Result<Opened, Unusable> {
        let (name, uid) = (view.name, view.uid);
        check_name(&fleet, name, uid)?;
        let ours = |name: &str| {
            let managements = &fleet.settings().management_clusters;
            managements.iter().any(|management| management.name == name && management.uid.is(uid))
        };
        let mut claims = BTreeMap::new();
        for id in fleet.clusters() {
            match fleet.settings().claimed_by(id) {
                Ok(Some(management)) if management.uid.is(uid) => {
                    claims.insert(id.clone(), Ok(()));
                }
                Ok(_) => {}
                Err(twice) if ours(&twice.first) || ours(&twice.second) => {
                    claims.insert(id.clone(), Err(Refused::from(twice)));
                }
                Err(ClaimedTwice { .. }) => {}
            }
        }
        let mut owners = OwnerIndex::default();
        let mut unknown = BTreeSet::new();
        let mut prints = BTreeMap::new();
        for (id, claim) in &claims {
            let folder = fleet.tree().folder_id(id.folder());
            let mut print = Print { folder, rendered: SpecDigest::of(&Value::Bool(claim.is_ok())) };
            if claim.is_err() {
                // Nobody says what it still wants of what it has applied.
                owners.unreadable(id);
                prints.insert(id.clone(), print);
                continue;
            }
            let Ok(mut rendered) = fleet.render(id) else {
                owners.unreadable(id);
                prints.insert(id.clone(), print);
                continue;
            };
            let values = rendered.objects.iter().map(|object| object.value.clone()).collect();
            print.rendered = SpecDigest::of(&Value::Array(values));
            prints.insert(id.clone(), print);
            let kinds = kinds_of(&rendered.objects);
            unknown
                .extend(kinds.into_iter().filter(|kind| view.scopes.of(&kind.group, &kind.kind).is_none()));
            match place_in_namespaces(&mut rendered, view.scopes) {
                Ok(_) => {
                    let named: BTreeSet<&ObjectId> =
                        rendered.objects.iter().map(|object| &object.id).collect();
                    // Templates live under names of their own.
                    let recorded = view.recorded.get(id).map(Inventory::objects).unwrap_or_default();
                    let live: Vec<ObjectId> = recorded
                        .iter()
                        .filter(|object| named.contains(&object.logical_id()))
                        .map(InventoryObject::id)
                        .collect();
                    owners.renders(id, named.into_iter().chain(&live));
                }
                Err(_) => owners.unreadable(id),
            }
        }
        if !settled && !unknown.is_empty() {
            return Ok(Opened::Unknown(unknown));
        }
        for (id, inventory) in view.recorded {
            owners.records(id, inventory);
        }
        Ok(Opened::Ready(Box::new(Self { commit, fleet, claims, owners, prints })))
    }

    /// Clusters that this management cluster applies, and those that two claim.
    pub fn clusters(&self) -> impl Iterator<Item = &ClusterId> {
        self.claims.keys()
    }

    /// What tells that a folder asks for the same in two commits.
    pub fn print(&self, id: &ClusterId) -> Option<&Print> {
        self.prints.get(id)
    }

    /// The Git id of a cluster's folder.
    pub fn folder_id(&self, id: &ClusterId) -> Option<TreeId> {
        self.fleet.tree().folder_id(id.folder())
    }

    /// Whether a folder of that path is there at all, claimed or not.
    pub fn has_folder(&self, id: &str) -> bool {
        RepoPath::parse(id).is_ok_and(|path| !self.fleet.tree().entries_in(&path).is_empty())
    }
}

fn check_name(fleet: &Fleet, name: &str, uid: &str) -> Result<(), Unusable> {
    let managements = &fleet.settings().management_clusters;
    let with_uid = || managements.iter().filter(|management| management.uid.is(uid));
    if with_uid().any(|management| management.name == name) {
        return Ok(());
    }
    let (name, uid) = (name.to_owned(), uid.to_owned());
    Err(match with_uid().next() {
        Some(found) => Unusable::OtherName { name, found: found.name.clone(), uid },
        None => Unusable::Unknown { name, uid },
    })
}
