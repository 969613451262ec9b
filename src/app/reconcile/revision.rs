//! One commit of a Fleet's tree: which clusters this management cluster applies, and whose is what.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_kustomize::render::Rendered;
use capstan_live::applying::{Home, Inventory, InventoryObject, OwnerIndex, Scopes, place_in_namespaces};
use capstan_live::quarantine::{Subject, Turn};
use capstan_model::digest::digest;
use capstan_model::finding::FileError;
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_model::tree::{CommitId, RepoPath, TreeId};
use capstan_plan::boundary::Neighbours;
use capstan_plan::settings::{ClaimedTwice, REPOSITORY_FILE};
use capstan_plan::templates::SpecDigest;
use jiff::civil::Date;
use serde_json::Value;

use super::acceptance::is_refused;
use super::judge::{Judge, Unjudged};
use super::kinds::kinds_of;
use super::ports::SourceTree;
use super::reason::Reason;
use crate::app::generator::{Fleet, Refused};
use crate::app::ports::ApiKind;

/// A commit, opened.
pub struct Revision {
    /// The commit.
    pub commit: CommitId,
    /// Settings and layout of its tree.
    pub fleet: Arc<Fleet>,
    /// The clusters that this management cluster applies; the reason where two claim one, and where a folder could
    /// not be judged at all.
    pub claims: BTreeMap<ClusterId, Result<(), Reason>>,
    /// Which folder renders what, and which has applied what.
    pub owners: OwnerIndex,
    /// What the folders bring that others could reach for.
    pub neighbours: Neighbours,
    /// Whether a folder was passed over that is to be tried in the second turn.
    pub is_tried_again: bool,
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
    /// Who judges what others wrote.
    pub judge: &'a Judge,
    /// Whether what is suspected is tried.
    pub turn: Turn,
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
    /// The tree as a whole could not be judged.
    #[error("{0}")]
    Unjudged(Unjudged),
}

impl Unusable {
    /// A CamelCase word for a condition.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Settings(_) => "SettingsUnreadable",
            Self::Unknown { .. } => "UnknownManagementCluster",
            Self::OtherName { .. } => "OtherManagementCluster",
            Self::Unjudged(unjudged) => unjudged.reason(),
        }
    }
}

impl Revision {
    /// Opens a tree. Reads and renders every claimed folder, each by itself: to be called where blocking is allowed.
    /// Kinds of which discovery told nothing are named once; where `settled`, they count as namespaced.
    ///
    /// # Errors
    /// Nothing of this commit may be applied.
    pub fn open(source: &SourceTree, view: &Viewpoint<'_>, settled: bool) -> Result<Opened, Unusable> {
        let (tree, today) = (Arc::clone(&source.tree), view.today);
        let opened = judge_tree(source, view, move || Fleet::open(tree, today))?;
        Self::of(source.commit.clone(), opened.map_err(Unusable::Settings)?, view, settled)
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
        let (tree, today) = (Arc::clone(&source.tree), view.today);
        let opened = judge_tree(source, view, move || Fleet::with_settings(tree, settings, has_file, today))?;
        Self::of(source.commit.clone(), opened, view, settled)
    }

    fn of(commit: CommitId, fleet: Fleet, view: &Viewpoint<'_>, settled: bool) -> Result<Opened, Unusable> {
        let (name, uid) = (view.name, view.uid);
        check_name(&fleet, name, uid)?;
        let fleet = Arc::new(fleet);
        let mut claims = claims(&fleet, uid);
        let mut owners = OwnerIndex::default();
        let mut neighbours = Neighbours::default();
        let mut unknown = BTreeSet::new();
        let mut prints = BTreeMap::new();
        let mut is_tried_again = false;
        let (beside, scopes) = (content_beside(&fleet), Arc::new(view.scopes.clone()));
        for (id, claim) in &mut claims {
            let folder = fleet.tree().folder_id(id.folder());
            let mut print = Print { folder, rendered: SpecDigest::of(&Value::Bool(claim.is_ok())) };
            let judged = match claim {
                Ok(()) => Some(judge_folder(&fleet, id, print.folder.as_ref(), &beside, &scopes, view)),
                Err(_) => None,
            };
            match judged {
                // Nobody says what it still wants of what it has applied.
                None | Some(Ok(Folder::Unreadable)) => owners.unreadable(id),
                Some(Err(unjudged)) => {
                    owners.unreadable(id);
                    is_tried_again |= unjudged.is_tried_again();
                    print.rendered = SpecDigest::of(&Value::from(unjudged.to_string()));
                    *claim = Err(Reason::plain(unjudged.reason(), unjudged.to_string()));
                }
                Some(Ok(Folder::Rendered { digest, kinds, is_refused, placed })) => {
                    print.rendered = digest;
                    let is_unknown = |kind: &ApiKind| view.scopes.of(&kind.group, &kind.kind).is_none();
                    unknown.extend(kinds.into_iter().filter(is_unknown));
                    if is_refused {
                        owners.refused(id);
                    }
                    match placed {
                        Some(placed) => {
                            let (rendered, home) = *placed;
                            neighbours.add(id, &rendered, &home);
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
                        None => owners.unreadable(id),
                    }
                }
            }
            prints.insert(id.clone(), print);
        }
        if !settled && !unknown.is_empty() {
            return Ok(Opened::Unknown(unknown));
        }
        for (id, inventory) in view.recorded {
            owners.records(id, inventory);
        }
        Ok(Opened::Ready(Box::new(Self {
            commit,
            fleet,
            claims,
            owners,
            neighbours,
            is_tried_again,
            prints,
        })))
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

/// What one folder came to.
enum Folder {
    /// It says nothing.
    Unreadable,
    /// What it asks for.
    Rendered {
        digest: SpecDigest,
        kinds: BTreeSet<ApiKind>,
        /// Whether it asks for what it may not have, so that none of it is applied.
        is_refused: bool,
        /// Its objects in their namespaces; `None` where nobody can say where they lie.
        placed: Option<Box<(Rendered, Home)>>,
    },
}

/// Settings and layout of a whole tree: anybody's input too.
fn judge_tree<T: Send + 'static>(
    source: &SourceTree,
    view: &Viewpoint<'_>,
    open: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Unusable> {
    let subject = Subject { name: String::new(), content: source.commit.to_string() };
    view.judge.judge(&subject, view.turn, open).map_err(Unusable::Unjudged)
}

/// Renders one folder. Its content is its files and all that lies in no cluster's folder, which it may refer to:
/// what a neighbour changes does not have it tried anew.
fn judge_folder(
    fleet: &Arc<Fleet>,
    id: &ClusterId,
    folder: Option<&TreeId>,
    beside: &str,
    scopes: &Arc<Scopes>,
    view: &Viewpoint<'_>,
) -> Result<Folder, Unjudged> {
    let content = digest(&[folder.map(TreeId::as_str).unwrap_or_default(), beside]);
    let subject = Subject { name: id.to_string(), content };
    let (fleet, id, scopes) = (Arc::clone(fleet), id.clone(), Arc::clone(scopes));
    view.judge.judge(&subject, view.turn, move || {
        // Read with every reconciliation: what harm it does is to be known before.
        let _told_then = fleet.tombstones(&id);
        let Ok(mut rendered) = fleet.render(&id) else { return Folder::Unreadable };
        let values = rendered.objects.iter().map(|object| object.value.clone()).collect();
        let digest = SpecDigest::of(&Value::Array(values));
        let kinds = kinds_of(&rendered.objects);
        let home = place_in_namespaces(&mut rendered, &scopes).ok();
        let is_refused = home.as_ref().is_some_and(|home| is_refused(&fleet, &id, &rendered, home, &scopes));
        let placed = home.map(|home| Box::new((rendered, home)));
        Folder::Rendered { digest, kinds, is_refused, placed }
    })
}

/// What tells apart the contents of all that lies in no cluster's folder.
fn content_beside(fleet: &Fleet) -> String {
    let folders: BTreeSet<&RepoPath> = fleet.clusters().map(ClusterId::folder).collect();
    let is_beside = |path: &RepoPath| {
        let mut above = path.parent();
        while let Some(folder) = above {
            if folders.contains(&folder) {
                return false;
            }
            above = folder.parent();
        }
        true
    };
    let entries = fleet.tree().entries().iter().filter(|entry| is_beside(&entry.path));
    let parts: Vec<&str> = entries.flat_map(|entry| [entry.path.as_str(), entry.blob.as_str()]).collect();
    digest(&parts)
}

/// The clusters that this management cluster applies, and those that two claim.
fn claims(fleet: &Fleet, uid: &str) -> BTreeMap<ClusterId, Result<(), Reason>> {
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
                let reason = Reason::of_refused("ClaimedTwice", Refused::from(twice));
                claims.insert(id.clone(), Err(reason));
            }
            Err(ClaimedTwice { .. }) => {}
        }
    }
    claims
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
