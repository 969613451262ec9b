//! One commit of a Fleet's tree: which clusters this management cluster applies, and whose is what.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use capstan_kustomize::render::RenderedFolder;
use capstan_live::applying::{
    AppliedInventory, FolderHome, InventoryObject, OwnerIndex, Scopes, place_in_namespaces,
};
use capstan_model::digest::digest;
use capstan_model::finding::FileError;
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_model::tree::{CommitId, RepoPath, TreeId};
use capstan_plan::boundary::Neighbours;
use capstan_plan::settings::{ClaimedTwice, ProvidersBy, REPOSITORY_FILE};
use capstan_plan::templates::SpecDigest;
use jiff::civil::Date;
use serde_json::Value;

use super::acceptance::is_refused;
use super::kinds::kinds_of;
use super::ports::{SourceTree, TrialFailed};
use super::trial::{Trial, TrialSubject, Untried};
use capstan_fleet::generator::{Fleet, Refused};
use capstan_ports::ApiKind;
use capstan_reconciler_core::reason::Reason;

/// Folders of clusters are some ten thousand bytes long; in memory one is ten times as large.
const LARGE: usize = 1 << 20;

/// A commit, opened.
pub struct Revision {
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
    /// Claimed folders that were not rendered, each with why.
    pub untried: BTreeMap<ClusterId, Untried>,
    /// By cluster: what tells that a folder asks for the same in two commits.
    prints: BTreeMap<ClusterId, Print>,
    /// Folders that are unusually large, or whose size is unknown.
    large: BTreeSet<ClusterId>,
    /// Folders of which everything is known that they render.
    known: BTreeSet<ClusterId>,
    /// What the settings have others do on this management cluster.
    left_out: Option<String>,
    /// Of a head that is judged before the merge, what the default branch has.
    pub before: Option<Arc<Fleet>>,
}

/// What tells that a folder asks for the same in two commits: its files, and what they render to, which
/// other folders may have a part in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Print {
    folder: Option<TreeId>,
    rendered: SpecDigest,
}

impl fmt::Display for Print {
    /// Both, as it is noted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.folder.as_ref().map_or("-", TreeId::as_str), self.rendered)
    }
}

/// Whose point of view a tree is opened from.
#[derive(Debug, Clone, Copy)]
pub struct Viewpoint<'a> {
    /// The management cluster's name in the Fleet.
    pub name: &'a str,
    pub uid: &'a str,
    /// What discovery said.
    pub scopes: &'a Scopes,
    /// What its clusters have applied so far.
    pub recorded: &'a BTreeMap<ClusterId, AppliedInventory>,
    /// The day, in UTC.
    pub today: Date,
    /// What others wrote is tried with that first.
    pub trial: &'a Trial,
}

/// What opening a tree came to.
pub enum OpenedRevision {
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
        "`managementClusters` in {REPOSITORY_FILE} has no entry with the UID {uid}: add `- name: {name}`, `uid: {uid}` and the clusters to apply here"
    )]
    Unknown {
        /// The name in the Fleet.
        name: String,
        /// This management cluster's UID.
        uid: String,
    },
    /// The name is that of another management cluster.
    #[error(
        "the Fleet says `managementCluster: {name}`, but {REPOSITORY_FILE} has the UID {uid} of this one under the name {found}: correct the wrong one"
    )]
    OtherName {
        /// The name in the Fleet.
        name: String,
        /// The name in `.capstan.yaml`.
        found: String,
        /// This management cluster's UID.
        uid: String,
    },
    /// The tree as a whole is not opened.
    #[error("{}", refused(.0))]
    Untried(TrialFailed),
}

impl Unusable {
    /// A CamelCase word for a condition.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Settings(_) => "SettingsUnreadable",
            Self::Unknown { .. } => "UnknownManagementCluster",
            Self::OtherName { .. } => "OtherManagementCluster",
            Self::Untried(failed) => reason(failed),
        }
    }
}

impl Revision {
    /// What the settings have others do on this management cluster, as a part of a sentence.
    pub fn left_out(&self) -> Option<&str> {
        self.left_out.as_deref()
    }

    /// Opens a tree. Reads and renders every claimed folder, each by itself, so it must run where blocking is allowed.
    /// Kinds that discovery does not know are named once; where `settled`, they count as namespaced.
    ///
    /// # Errors
    /// Nothing of this commit may be applied.
    pub fn open(
        source: &SourceTree,
        view: &Viewpoint<'_>,
        settled: bool,
    ) -> Result<OpenedRevision, Unusable> {
        view.trial.open(&source.tree, None, view.today).map_err(Unusable::Untried)?;
        let fleet = Fleet::open(Arc::clone(&source.tree), view.today).map_err(Unusable::Settings)?;
        Self::of(source.commit.clone(), fleet, None, view, settled)
    }

    /// The same for a head that is judged before the merge: under the settings of the default branch. Of a folder that
    /// is there as it is on the default branch all is known: it is not rendered again.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_head(
        base: &Self,
        source: &SourceTree,
        view: &Viewpoint<'_>,
        settled: bool,
    ) -> Result<OpenedRevision, Unusable> {
        let settings = base.fleet.settings().clone();
        let has_file = base.fleet.has_settings_file();
        view.trial.open(&source.tree, Some(&settings), view.today).map_err(Unusable::Untried)?;
        let fleet = Fleet::with_settings(Arc::clone(&source.tree), settings, has_file, view.today);
        Self::of(source.commit.clone(), fleet, Some(base), view, settled)
    }

    fn of(
        commit: CommitId,
        mut fleet: Fleet,
        base: Option<&Self>,
        view: &Viewpoint<'_>,
        settled: bool,
    ) -> Result<OpenedRevision, Unusable> {
        let (name, uid) = (view.name, view.uid);
        check_name(&fleet, name, uid)?;
        let mut claims = claims(&fleet, uid);
        let same = base.map(|base| base.same(&claims, &fleet, view.trial)).unwrap_or_default();
        let mut owners = base.map(|base| base.owners.rendered_by(&same)).unwrap_or_default();
        let mut neighbours = base.map(|base| base.neighbours.clone()).unwrap_or_default();
        for changed in base.into_iter().flat_map(Self::clusters).filter(|id| !same.contains(id)) {
            neighbours.remove(changed);
        }
        let mut known = BTreeSet::new();
        let mut unknown = BTreeSet::new();
        let mut prints = BTreeMap::new();
        let mut large = BTreeSet::new();
        let claimed = claims.iter().filter(|(id, claim)| claim.is_ok() && !same.contains(*id));
        let subjects = subjects(&fleet, claimed.map(|(id, _)| id));
        let untried = view.trial.try_all(&fleet, subjects).map_err(Unusable::Untried)?;
        // A folder that names templates asks who else uses its classes.
        fleet.supplement_mut().unread.extend(untried.keys().cloned());
        let fleet = Arc::new(fleet);
        // Templates live under names of their own.
        let live_of = |id: &ClusterId, is_rendered: &dyn Fn(&ObjectId) -> bool| -> Vec<ObjectId> {
            let recorded = view.recorded.get(id).map(AppliedInventory::objects).unwrap_or_default();
            let rendered = recorded.iter().filter(|object| is_rendered(&object.logical_id()));
            rendered.map(InventoryObject::id).collect()
        };
        for (id, claim) in &mut claims {
            if let Some(print) = base.and_then(|base| base.prints.get(id)).filter(|_| same.contains(id)) {
                let live = live_of(id, &|object| owners.is_rendered_by(id, object));
                owners.renders(id, &live);
                known.insert(id.clone());
                if base.is_some_and(|base| base.is_large(id)) {
                    large.insert(id.clone());
                }
                prints.insert(id.clone(), print.clone());
                continue;
            }
            let folder = fleet.tree().folder_id(id.folder());
            let mut print = Print { folder, rendered: SpecDigest::of(&Value::Bool(claim.is_ok())) };
            if let Some(Untried { why, .. }) = untried.get(id) {
                print.rendered = SpecDigest::of(&Value::from(why.to_string()));
                *claim = Err(Reason::plain(reason(why), refused(why)));
            }
            let rendered = match claim {
                Ok(()) => render_folder(&fleet, id, view),
                Err(_) => OpenedFolder::Unreadable,
            };
            match rendered {
                // Nobody says what it still wants of what it has applied, nor what it took until it failed.
                OpenedFolder::Unreadable => {
                    if claim.is_ok() {
                        large.insert(id.clone());
                    }
                    owners.unreadable(id);
                }
                OpenedFolder::Rendered { digest, kinds, is_refused, is_large, placed } => {
                    print.rendered = digest;
                    if is_large {
                        large.insert(id.clone());
                    }
                    let is_unknown = |kind: &ApiKind| view.scopes.of(&kind.group, &kind.kind).is_none();
                    if placed.is_some() && !kinds.iter().any(is_unknown) {
                        known.insert(id.clone());
                    }
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
                            let live = live_of(id, &|object| named.contains(object));
                            owners.renders(id, named.into_iter().chain(&live));
                        }
                        None => owners.unreadable(id),
                    }
                }
            }
            prints.insert(id.clone(), print);
        }
        if !settled && !unknown.is_empty() {
            return Ok(OpenedRevision::Unknown(unknown));
        }
        for (id, inventory) in view.recorded {
            owners.records(id, inventory);
        }
        let left_out = left_out(&fleet, uid);
        Ok(OpenedRevision::Ready(Box::new(Self {
            left_out,
            commit,
            fleet,
            claims,
            owners,
            neighbours,
            untried,
            prints,
            large,
            known,
            before: base.map(|base| Arc::clone(&base.fleet)),
        })))
    }

    /// Whether a folder is larger than folders are, or nobody can say: one such is worked on at a time.
    pub fn is_large(&self, id: &ClusterId) -> bool {
        self.large.contains(id)
    }

    /// After how long folders that were not rendered may come to something else; `None` where none will.
    pub fn try_again_after(&self) -> Option<Duration> {
        self.untried.values().filter_map(|untried| untried.again_after).min()
    }

    /// Clusters that this management cluster applies, and those that two claim.
    pub fn clusters(&self) -> impl Iterator<Item = &ClusterId> {
        self.claims.keys()
    }

    /// What tells that a folder asks for the same in two commits.
    pub fn print(&self, id: &ClusterId) -> Option<&Print> {
        self.prints.get(id)
    }

    /// The folders of another commit of which all is known here: what they are made of is the same.
    fn same(
        &self,
        claims: &BTreeMap<ClusterId, Result<(), Reason>>,
        head: &Fleet,
        trial: &Trial,
    ) -> BTreeSet<ClusterId> {
        let is_same = |id: &ClusterId| self.known.contains(id) && trial.is_same(&self.fleet, head, id);
        claims.iter().filter(|(id, claim)| claim.is_ok() && is_same(id)).map(|(id, _)| id.clone()).collect()
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
enum OpenedFolder {
    /// It gives no reason.
    Unreadable,
    /// What it asks for.
    Rendered {
        digest: SpecDigest,
        kinds: BTreeSet<ApiKind>,
        /// Whether it asks for what it may not have, so that none of it is applied.
        is_refused: bool,
        /// Whether it is larger than folders are.
        is_large: bool,
        /// Its objects in their namespaces; `None` where nobody can say where they lie.
        placed: Option<Box<(RenderedFolder, FolderHome)>>,
    },
}

/// Folders by a digest of their content: their own files, and the files outside of all cluster folders, which they may
/// refer to.
fn subjects<'a>(fleet: &Fleet, clusters: impl Iterator<Item = &'a ClusterId>) -> Vec<TrialSubject> {
    let beside = content_beside(fleet);
    let content = |id: &ClusterId| {
        let folder = fleet.tree().folder_id(id.folder());
        digest(&[folder.as_ref().map(TreeId::as_str).unwrap_or_default(), &beside])
    };
    clusters.map(|id| (id.clone(), content(id))).collect()
}

fn render_folder(fleet: &Fleet, id: &ClusterId, view: &Viewpoint<'_>) -> OpenedFolder {
    let (trial, scopes) = (view.trial, view.scopes);
    let Ok(mut rendered) = trial.render(fleet, id) else { return OpenedFolder::Unreadable };
    let digests =
        rendered.objects.iter().map(|object| Value::from(SpecDigest::of(&object.value).to_string()));
    let digest = SpecDigest::of(&Value::Array(digests.collect()));
    let is_large = rendered.objects.iter().map(|object| size(&object.value)).sum::<usize>() > LARGE;
    let kinds = kinds_of(&rendered.objects);
    let home = place_in_namespaces(&mut rendered, scopes).ok();
    let is_refused = home.as_ref().is_some_and(|home| is_refused(fleet, id, &rendered, home, scopes));
    let placed = home.map(|home| Box::new((rendered, home)));
    OpenedFolder::Rendered { digest, kinds, is_refused, is_large, placed }
}

/// About how many bytes a value is long, where each value in it counts with 64 besides its text.
fn size(value: &Value) -> usize {
    64 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.iter().map(|(key, field)| key.len() + size(field)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// A CamelCase word for a condition.
const fn reason(failed: &TrialFailed) -> &'static str {
    match failed {
        TrialFailed::TooLarge(_) => "TooLarge",
        TrialFailed::TooSlow { .. } => "TooSlow",
        TrialFailed::Killed(_) | TrialFailed::Unavailable(_) => "NotRendered",
    }
}

/// What is said of what is not opened or rendered.
fn refused(failed: &TrialFailed) -> String {
    match failed {
        TrialFailed::TooLarge(why) => {
            format!(
                "{why} Capstan applies none of its objects and deletes none: revert the last change, or make it smaller"
            )
        }
        TrialFailed::TooSlow { why, .. } => format!(
            "{why} Capstan applies none of its objects and deletes none: make it smaller, or allow more time in the reconciler's setting `render-timeout-seconds`"
        ),
        TrialFailed::Killed(why) | TrialFailed::Unavailable(why) => {
            format!(
                "{why} Until then, Capstan applies none of its objects and deletes none: it retries in a moment"
            )
        }
    }
}

/// The provider set of this management cluster that the settings leave to others.
fn left_out(fleet: &Fleet, uid: &str) -> Option<String> {
    let own = fleet.settings().management_clusters.iter().find(|management| management.uid.is(uid))?;
    let providers = own.providers.as_ref().filter(|providers| providers.by == ProvidersBy::Others)?;
    Some(format!("the provider set {} is left to others (`by: others`)", providers.path))
}

/// A digest of the files outside of all cluster folders.
fn content_beside(fleet: &Fleet) -> String {
    let folders: BTreeSet<&RepoPath> = fleet.targets().map(ClusterId::folder).collect();
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
    for id in fleet.targets() {
        // A provider set is not a cluster, whatever pattern its folder fits.
        match fleet.layout().claimed_by(id, fleet.settings()) {
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
