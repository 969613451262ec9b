//! One plan's [given](super::given) with the contents that it names, as bytes: what a process plans from that has no
//! repository. JSON; files as text, or base64 where they are no UTF-8.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_kustomize::schema::Schemas;
use capstan_model::ids::{ClusterId, ContentId, ReleaseId};
use capstan_model::tree::{OutsidePath, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_plan::cluster::ReleaseName;
use capstan_plan::layout::{ClusterFolder, Layout};
use capstan_plan::release::{Catalogue, ReleaseContent};
use capstan_report::Fingerprint;
use serde::{Deserialize, Serialize};

use super::Fleet;
use super::content::Content;
use super::gather::Gathered;
use super::inputs::{FleetInputs, PlanInputs, Provided};
use super::plan::Planned;
use super::planning::{Contents, Unplanned, plan};
use super::read_set::ReadSet;
use super::refused::Refused;
use super::releases::PastRelease;
use super::sources::Sources;

/// All that one plan depends on, contents included.
#[derive(Serialize, Deserialize)]
pub struct WrittenInputs {
    given: PlanInputs,
    folder: ClusterFolder,
    repository: Part,
    /// Of the repository that holds the releases, where that is another one.
    releases: Option<Part>,
    provided: Option<ProvidedRelease>,
    past: Option<Part>,
}

/// Bytes that are no written plan.
#[derive(Debug, thiserror::Error)]
#[error("these bytes are no plan's input: {0}")]
pub struct Misread(#[from] serde_json::Error);

/// An old release's content that was found elsewhere.
#[derive(Serialize, Deserialize)]
struct ProvidedRelease {
    folder: Part,
    reads: BTreeMap<OutsidePath, Content>,
}

/// Some files of a snapshot, and the ids of some folders.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(from = "WrittenPart", into = "WrittenPart")]
struct Part {
    entries: Vec<TreeEntry>,
    contents: BTreeMap<RepoPath, Content>,
    folders: BTreeMap<RepoPath, TreeId>,
}

#[derive(Serialize, Deserialize)]
struct WrittenPart {
    files: Vec<(TreeEntry, Content)>,
    folders: BTreeMap<RepoPath, TreeId>,
}

impl From<WrittenPart> for Part {
    fn from(written: WrittenPart) -> Self {
        let mut part = Self { folders: written.folders, ..Self::default() };
        for (entry, content) in written.files {
            part.contents.insert(entry.path.clone(), content);
            part.entries.push(entry);
        }
        part.entries.sort_by(|one, other| one.path.cmp(&other.path));
        part
    }
}

impl From<Part> for WrittenPart {
    fn from(part: Part) -> Self {
        let Part { entries, mut contents, folders } = part;
        let file = |entry: TreeEntry| {
            let content = contents.remove(&entry.path)?;
            Some((entry, content))
        };
        Self { files: entries.into_iter().filter_map(file).collect(), folders }
    }
}

impl Part {
    /// Takes a folder with all below it.
    fn take_folder(&mut self, tree: &dyn Tree, folder: &RepoPath) {
        tree.entries_in(folder).iter().for_each(|entry| self.take(tree, entry));
        self.folders.extend(tree.folder_id(folder).map(|id| (folder.clone(), id)));
    }

    /// Takes what was looked at.
    fn take_read_set(&mut self, tree: &dyn Tree, looked: &ReadSet) {
        looked.entries(tree).into_iter().for_each(|entry| self.take(tree, entry));
        self.folders.extend(looked.folder_ids().map(|(path, id)| (path.clone(), id.clone())));
    }

    /// Takes the releases of a fleet.
    fn take_releases(&mut self, tree: &dyn Tree, fleet: &FleetInputs) {
        self.take_read_set(tree, &fleet.looked);
        fleet.releases.iter().for_each(|release| self.take_folder(tree, &release.folder));
    }

    fn take(&mut self, tree: &dyn Tree, entry: &TreeEntry) {
        if self.contents.contains_key(&entry.path) {
            return;
        }
        let content = Content(tree.read(entry).map_err(|error| error.reason));
        self.contents.insert(entry.path.clone(), content);
        let at = self.entries.partition_point(|known| known.path < entry.path);
        self.entries.insert(at, entry.clone());
    }

    fn whole(tree: &dyn Tree) -> Self {
        let mut part = Self::default();
        part.take_folder(tree, &RepoPath::root());
        part
    }
}

impl Tree for Part {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        let unreadable = |reason: &str| Unreadable { path: entry.path.clone(), reason: reason.to_owned() };
        match self.contents.get(&entry.path) {
            Some(Content(Ok(bytes))) => Ok(Arc::clone(bytes)),
            Some(Content(Err(reason))) => Err(unreadable(reason)),
            None => Err(unreadable("this file was not given")),
        }
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.folders.get(folder).cloned()
    }
}

impl Fleet {
    /// All that the plan of a cluster depends on.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub fn write_inputs(
        &self,
        id: &ClusterId,
        asked: Option<&ReleaseName>,
    ) -> Result<WrittenInputs, Refused> {
        let Gathered { offered, step, .. } = self.gather(id, asked)?;
        let given = PlanInputs {
            fleet: self.fleet_inputs(),
            cluster: id.clone(),
            folder: self.tree.folder_id(id.folder()),
            asked: asked.cloned(),
            old: offered.old,
            step,
        };
        let tree = self.tree.as_ref();
        let mut repository = Part::default();
        repository.take_folder(tree, id.folder());
        if let Some(step) = &given.step {
            repository.take_read_set(tree, &step.outside);
        }
        let mut releases = None;
        match given.fleet.elsewhere {
            None => repository.take_releases(tree, &given.fleet),
            Some(_) => releases.insert(Part::default()).take_releases(self.releases_tree(), &given.fleet),
        }
        let old = given.old.as_ref();
        let provided = old.filter(|old| old.provided == Provided::Yes).and_then(|old| old.content.as_ref());
        let provided =
            provided.and_then(|content| self.provided.get(content)).map(|content| ProvidedRelease {
                folder: Part::whole(content.folder.as_ref()),
                reads: content
                    .reads
                    .iter()
                    .map(|(path, bytes)| (path.clone(), Content(Ok(Arc::clone(bytes)))))
                    .collect(),
            });
        let past = old.and_then(|old| self.past.get(&old.release));
        Ok(WrittenInputs {
            past: past.map(|past| Part::whole(past.content.as_ref())),
            folder: offered.reading.cluster.folder,
            given,
            repository,
            releases,
            provided,
        })
    }
}

impl WrittenInputs {
    /// Tells one input from another. The same in every process; another release of Capstan may give another one.
    pub fn digest(&self) -> String {
        let PlanInputs { fleet, cluster, folder, asked, old, step } = &self.given;
        // Values that are written out can be written: JSON has all their shapes.
        fn json(value: &impl Serialize) -> String {
            serde_json::to_string(value).unwrap_or_default()
        }
        Fingerprint::of("plan")
            .field("fleet", json(fleet))
            .field("cluster", cluster)
            .maybe("folder", folder.as_ref())
            .field("asked", json(asked))
            .field("old", json(old))
            .field("step", json(step))
            .finish()
    }

    /// Writes it.
    ///
    /// # Errors
    /// None of a plan's own: the writer's.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Misread> {
        Ok(serde_json::to_vec(self)?)
    }

    /// RecordingTree it.
    ///
    /// # Errors
    /// Bytes that are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Misread> {
        Ok(serde_json::from_slice(bytes)?)
    }

    /// Plans from nothing else.
    ///
    /// # Errors
    /// As [`Fleet::plan`]; a file that was not given.
    pub fn plan(self) -> Planned {
        let Self { given, folder, repository, releases, provided, past } = self;
        let tree: &dyn Tree = releases.as_ref().unwrap_or(&repository);
        let layout = Layout { releases: given.fleet.releases.clone(), ..Layout::default() };
        let read = |(path, Content(bytes)): (OutsidePath, Content)| Some((path, bytes.ok()?));
        let provided = provided.map(|content| ReleaseContent {
            folder: Arc::new(content.folder),
            reads: content.reads.into_iter().filter_map(read).collect(),
        });
        let past = past.zip(given.old.as_ref().and_then(|old| old.past.clone()));
        let contents = ReadBack {
            catalogue: Catalogue::read(tree, &layout),
            sources: Sources::default(),
            past: past.map(|(content, (tree, found_in))| PastRelease {
                content: Arc::new(content),
                tree,
                found_in,
            }),
            schemas: given.fleet.definitions.schemas(),
            releases: tree,
            repository: &repository,
            provided,
            folder,
        };
        match plan(&given, &contents) {
            Ok(made) => Ok(made.upgrade),
            Err(Unplanned::Refused(refused)) => Err(refused),
            Err(Unplanned::Needs(needs)) => Err(Refused {
                message: format!("{} cannot be planned without what was not given: {needs}", given.cluster),
                place: None,
            }),
        }
    }
}

/// What was read back.
struct ReadBack<'a> {
    repository: &'a dyn Tree,
    releases: &'a dyn Tree,
    folder: ClusterFolder,
    catalogue: Catalogue,
    sources: Sources,
    schemas: &'a Schemas,
    provided: Option<ReleaseContent>,
    past: Option<PastRelease>,
}

impl Contents for ReadBack<'_> {
    fn repository(&self) -> &dyn Tree {
        self.repository
    }

    fn releases(&self) -> &dyn Tree {
        self.releases
    }

    fn folder(&self, _: &ClusterId) -> Result<&ClusterFolder, Refused> {
        Ok(&self.folder)
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn sources(&self) -> &Sources {
        &self.sources
    }

    fn schemas(&self) -> &Schemas {
        self.schemas
    }

    fn provided(&self, _: &ContentId) -> Option<&ReleaseContent> {
        self.provided.as_ref()
    }

    fn past(&self, _: &ReleaseId) -> Option<&PastRelease> {
        self.past.as_ref()
    }
}
