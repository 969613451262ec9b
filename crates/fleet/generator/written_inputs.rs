//! One plan's [inputs](super::inputs) with the contents that they name, as bytes: a process without a repository plans
//! from them. JSON; files as text, or base64 if they are not UTF-8.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_kustomize::schema::Schemas;
use capstan_model::ids::{ClusterId, ContentId, ReleaseId, ReleaseName};
use capstan_model::tree::{OutsidePath, Tree, TreeId};
use capstan_plan::inventory::FleetInventory;
use capstan_plan::layout::{Layout, TargetFolder};
use capstan_plan::release::{Catalogue, ReleaseContent};
use capstan_providers::Supplies;
use capstan_report::Fingerprint;
use serde::{Deserialize, Serialize};

use super::Fleet;
use super::content::Content;
use super::contents::Contents;
use super::gather::{Gathered, fleet_inputs};
use super::inputs::{PlanInputs, Provided};
use super::plan::Planned;
use super::planning::plan;
use super::reading::Unplanned;
use super::refused::Refused;
use super::sources::Sources;
use super::supplement::PastRelease;
use super::written_tree::WrittenTree;

/// All that one plan depends on, contents included.
#[derive(Serialize, Deserialize)]
pub struct WrittenInputs {
    given: PlanInputs,
    folder: TargetFolder,
    repository: WrittenTree,
    /// Of the repository that holds the releases, where that is another one.
    releases: Option<WrittenTree>,
    provided: Option<ProvidedRelease>,
    past: Option<WrittenTree>,
    /// Components of the old render that were found elsewhere, by their trees.
    #[serde(default)]
    components: BTreeMap<TreeId, WrittenTree>,
    #[serde(default)]
    supplies: Supplies,
}

/// Bytes that are not a written plan.
#[derive(Debug, thiserror::Error)]
#[error("these bytes are not the input of a plan: {0}")]
pub struct Misread(#[from] serde_json::Error);

/// An old release's content that was found elsewhere.
#[derive(Serialize, Deserialize)]
struct ProvidedRelease {
    folder: WrittenTree,
    reads: BTreeMap<OutsidePath, Content>,
}

/// All that the plan of a cluster depends on.
///
/// # Errors
/// As [`plan_target`](super::plan_target).
pub fn write_inputs(
    fleet: &Fleet,
    id: &ClusterId,
    asked: Option<&ReleaseName>,
) -> Result<WrittenInputs, Refused> {
    let gathered = Gathered::of(fleet, id, asked)?;
    let given = gathered.inputs(&fleet_inputs(fleet), asked);
    let tree = fleet.tree().as_ref();
    let mut repository = WrittenTree::default();
    repository.take_folder(tree, id.folder());
    if let Some(step) = &given.step {
        repository.take_read_set(tree, &step.outside);
    }
    if let Some(inventory) = &fleet.settings().inventory {
        repository.take_folder(tree, inventory.path.path());
    }
    let named = fleet.inventory().into_iter().flat_map(FleetInventory::components);
    let recorded = given.components.iter().map(|component| &component.path);
    named.chain(recorded).for_each(|component| repository.take_folder(tree, component));
    let mut releases = None;
    match given.fleet.elsewhere {
        None => repository.take_releases(tree, &given.fleet),
        Some(_) => releases.insert(WrittenTree::default()).take_releases(fleet.releases_tree(), &given.fleet),
    }
    let old = given.old.as_ref();
    let provided = old.filter(|old| old.provided == Provided::Yes).and_then(|old| old.content.as_ref());
    let provided = provided.and_then(|content| fleet.supplement().contents.get(content)).map(|content| {
        ProvidedRelease {
            folder: WrittenTree::whole(content.folder.as_ref()),
            reads: content
                .reads
                .iter()
                .map(|(path, bytes)| (path.clone(), Content(Ok(Arc::clone(bytes)))))
                .collect(),
        }
    });
    let past = old.and_then(|old| fleet.supplement().past.get(&old.release));
    let components = given.components.iter().filter_map(|component| {
        let content = fleet.supplement().contents.get(&component.tree.clone().into())?;
        Some((component.tree.clone(), WrittenTree::whole(content.folder.as_ref())))
    });
    Ok(WrittenInputs {
        components: components.collect(),
        past: past.map(|past| WrittenTree::whole(past.content.as_ref())),
        folder: gathered.offered.reading.cluster.folder,
        supplies: match &given.step {
            Some(step) => fleet.supplement().supplies.only(step.components.iter().map(|(wanted, _)| wanted)),
            None => Supplies::default(),
        },
        given,
        repository,
        releases,
        provided,
    })
}

impl WrittenInputs {
    /// Tells one input from another. The same in every process; another release of Capstan may give another one.
    pub fn digest(&self) -> String {
        let PlanInputs { fleet, cluster, folder, asked, old, brought_by, said, components, step } =
            &self.given;
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
            .field("brought by", brought_by)
            .maybe("said", said.as_ref())
            .field("components", json(components))
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

    /// Reads it.
    ///
    /// # Errors
    /// Bytes that are not a written plan.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Misread> {
        Ok(serde_json::from_slice(bytes)?)
    }

    /// Plans from nothing else.
    ///
    /// # Errors
    /// As [`plan_target`](super::plan_target); a file that was not given.
    pub fn plan(self) -> Planned {
        let Self { given, folder, repository, releases, provided, past, components, supplies } = self;
        let tree: &dyn Tree = releases.as_ref().unwrap_or(&repository);
        let layout = Layout { releases: given.fleet.releases.clone(), ..Layout::default() };
        let read = |(path, Content(bytes)): (OutsidePath, Content)| Some((path, bytes.ok()?));
        let release = provided.map(|content| ReleaseContent {
            folder: Arc::new(content.folder),
            reads: content.reads.into_iter().filter_map(read).collect(),
        });
        let old = given.old.as_ref().and_then(|old| old.content.clone());
        let mut provided: BTreeMap<ContentId, ReleaseContent> = old.zip(release).into_iter().collect();
        provided.extend(components.into_iter().map(|(tree, folder)| {
            let folder: Arc<dyn Tree> = Arc::new(folder);
            (tree.into(), folder.into())
        }));
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
            supplies,
            inventory: FleetInventory::read(&repository, &given.fleet.settings),
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
    folder: TargetFolder,
    catalogue: Catalogue,
    sources: Sources,
    schemas: &'a Schemas,
    provided: BTreeMap<ContentId, ReleaseContent>,
    past: Option<PastRelease>,
    supplies: Supplies,
    inventory: Option<FleetInventory>,
}

impl Contents for ReadBack<'_> {
    fn repository(&self) -> &dyn Tree {
        self.repository
    }

    fn releases(&self) -> &dyn Tree {
        self.releases
    }

    fn folder(&self, _: &ClusterId) -> Result<&TargetFolder, Refused> {
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

    fn provided(&self, id: &ContentId) -> Option<&ReleaseContent> {
        self.provided.get(id)
    }

    fn past(&self, _: &ReleaseId) -> Option<&PastRelease> {
        self.past.as_ref()
    }

    fn supplies(&self) -> &Supplies {
        &self.supplies
    }

    fn inventory(&self) -> Option<&FleetInventory> {
        self.inventory.as_ref()
    }
}
