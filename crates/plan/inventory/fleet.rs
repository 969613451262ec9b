//! Which definition belongs to which folder, over a whole snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use capstan_inventory::kinds::{InventoryFiles, Object};
use capstan_inventory::origin::LevelKind;
use capstan_inventory::record::{self, ValuesRecord};
use capstan_inventory::templates::Subordinate;
use capstan_inventory::values::Member;
use capstan_model::digest::sha256;
use capstan_model::finding::{Finding, Place, Severities, rules};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{BlobId, RepoPath, Tree, TreeEntry, TreeId};

use super::rendered::RenderPart;
use crate::settings::RepositorySettings;

/// An inventory, and the folders of its clusters.
#[derive(Debug)]
pub struct FleetInventory {
    /// Its objects.
    pub inventory: InventoryFiles,
    /// How bad the settings say what the rules find.
    pub severities: Severities,
    /// The folder that holds it.
    folder: RepoPath,
    /// What its files are.
    files: BTreeMap<RepoPath, BlobId>,
    /// The folders of components that its objects name, as they are.
    components: BTreeMap<RepoPath, Option<TreeId>>,
    /// Why the inventory cannot be used.
    unreadable: Option<(String, Place)>,
    /// Definitions by the folder that they say, that is recorded for them, or that the pattern makes.
    by_folder: BTreeMap<RepoPath, Defined>,
    folders: BTreeMap<String, RepoPath>,
    /// Definitions whose folder is another one's already.
    clashing: BTreeMap<String, RepoPath>,
    /// The definitions of the clusters that a management cluster manages, by its name.
    managed: BTreeMap<String, Vec<String>>,
    /// The folders to which provider objects of management clusters go, by the names of their definitions.
    provider_sets: BTreeMap<String, ProviderSetFolder>,
}

/// The definition of a folder.
#[derive(Debug)]
struct Defined {
    name: String,
    /// The digest of what is said about it, once it was needed.
    digest: OnceLock<String>,
}

impl Defined {
    const fn by(name: String) -> Self {
        Self { name, digest: OnceLock::new() }
    }
}

/// The folder for the provider objects of a management cluster.
#[derive(Debug)]
struct ProviderSetFolder {
    path: RepoPath,
    /// The folder is empty, or its content was made from the inventory. Otherwise the set there was not made by
    /// Capstan.
    is_open: bool,
}

/// The records in clusters' folders, to find a definition whose folder is not the expected one.
struct DefinitionRecords<'t> {
    tree: &'t dyn Tree,
    entries: Vec<&'t TreeEntry>,
}

impl DefinitionRecords<'_> {
    fn folders(&self) -> impl Iterator<Item = (RepoPath, &TreeEntry)> {
        self.entries.iter().filter_map(|entry| Some((entry.path.parent()?, *entry)))
    }

    /// The definitions that are recorded in folders other than these.
    fn beside(&self, known: &BTreeSet<RepoPath>) -> BTreeMap<String, RepoPath> {
        let others = self.folders().filter(|(folder, _)| !known.contains(folder));
        let read = others.filter_map(|(folder, entry)| {
            let record = ValuesRecord::read(&entry.path, &self.tree.read(entry).ok()?).ok()?;
            Some((record.definition, folder))
        });
        read.collect()
    }
}

impl FleetInventory {
    /// Reads the inventory that the settings name; `None` where they name none.
    ///
    /// Of the records of clusters only those are read that no definition would have by its own word or by the pattern.
    pub fn read(tree: &dyn Tree, settings: &RepositorySettings) -> Option<Self> {
        let folder = settings.inventory.as_ref()?.path.path().clone();
        let inventory = InventoryFiles::read_in(tree, &folder);
        let files = InventoryFiles::files(tree, &folder);
        let files = files.map(|entry| (entry.path.clone(), entry.blob.clone())).collect();
        let named = inventory.objects.values().flat_map(|object| &object.components);
        let components = named.map(|said| (said.value.clone(), tree.folder_id(&said.value))).collect();
        let records = DefinitionRecords {
            tree,
            entries: tree
                .entries()
                .iter()
                .filter(|entry| entry.is_file() && entry.path.name() == record::FILE)
                .collect(),
        };
        let mut read = Self {
            inventory,
            severities: settings.severities(),
            folder,
            files,
            components,
            unreadable: None,
            by_folder: BTreeMap::new(),
            folders: BTreeMap::new(),
            clashing: BTreeMap::new(),
            managed: BTreeMap::new(),
            provider_sets: BTreeMap::new(),
        };
        read.find_provider_sets(tree, settings);
        read.find_folders(&records);
        read.find_managed(settings);
        read.unreadable = read.find_unreadable();
        Some(read)
    }

    /// Whether the inventory may be another one where this file is.
    pub fn may_change(&self, file: &RepoPath) -> bool {
        file.is_in(&self.folder)
            || file.name() == record::FILE
            || self.components.keys().any(|component| file.is_in(component))
    }

    /// The folders of components that its objects name.
    pub fn components(&self) -> impl Iterator<Item = &RepoPath> {
        self.components.keys()
    }

    /// The folder that holds it.
    pub const fn home(&self) -> &RepoPath {
        &self.folder
    }

    fn find_provider_sets(&mut self, tree: &dyn Tree, settings: &RepositorySettings) {
        for management in &settings.management_clusters {
            let definition = self.inventory.cluster(&management.name);
            if let Some(providers) = &management.providers
                && definition.is_some_and(|one| one.level.kind == LevelKind::ManagementClusterDefinition)
            {
                let path = providers.path.path().clone();
                let is_recorded = path.join(record::FILE).is_ok_and(|file| tree.entry(&file).is_some());
                let is_open = is_recorded || tree.entries_in(&path).is_empty();
                self.provider_sets.insert(management.name.clone(), ProviderSetFolder { path, is_open });
            }
        }
    }

    fn find_folders(&mut self, records: &DefinitionRecords<'_>) {
        let mut said: Vec<(String, RepoPath)> = Vec::new();
        let mut made: Vec<(String, Option<RepoPath>)> = Vec::new();
        for definition in self.inventory.clusters() {
            let name = definition.level.name.clone();
            if let Some(folder) = &definition.folder {
                said.push((name, folder.value.clone()));
                continue;
            }
            let pattern = Member::of(&self.inventory, definition)
                .ok()
                .and_then(|member| self.inventory.settings.folder.folder(&name, &member.levels).ok());
            made.push((name, pattern));
        }
        let patterns = made.iter().filter_map(|(_, folder)| folder.clone());
        let said_folders = said.iter().map(|(_, folder)| folder.clone());
        let known: BTreeSet<RepoPath> = said_folders
            .chain(patterns)
            .chain(self.provider_sets.values().map(|set| set.path.clone()))
            .collect();
        let recorded = records.beside(&known);
        let made = made.into_iter().filter_map(|(name, pattern)| {
            let folder = recorded.get(&name).cloned().or(pattern)?;
            Some((name, folder))
        });
        for (name, folder) in said.into_iter().chain(made) {
            if self.by_folder.contains_key(&folder) {
                self.clashing.insert(name, folder);
                continue;
            }
            self.by_folder.insert(folder.clone(), Defined::by(name.clone()));
            self.folders.insert(name, folder);
        }
        // A folder that belongs to a definition does not become the provider set of another.
        for (name, set) in self.provider_sets.iter().filter(|(_, set)| set.is_open) {
            self.by_folder.entry(set.path.clone()).or_insert_with(|| Defined::by(name.clone()));
        }
    }

    fn find_managed(&mut self, settings: &RepositorySettings) {
        for (folder, Defined { name, .. }) in &self.by_folder {
            let claim = settings.claimed_by(&ClusterId::new(folder.clone()));
            if let Ok(Some(management)) = claim
                && management.name != *name
            {
                self.managed.entry(management.name.clone()).or_default().push(name.clone());
            }
        }
    }

    /// Why the inventory cannot be used: a file cannot be read, or it defines no cluster at all.
    pub const fn unreadable(&self) -> Option<&(String, Place)> {
        self.unreadable.as_ref()
    }

    fn find_unreadable(&self) -> Option<(String, Place)> {
        if let Some(place) = &self.inventory.unreadable {
            let why = self.inventory.findings.iter().find(|finding| finding.place.as_ref() == Some(place));
            let why = why.map_or_else(String::new, |finding| format!(": {}", finding.message));
            return Some((format!("the inventory cannot be read as a whole{why}"), place.clone()));
        }
        self.inventory.clusters().next().is_none().then(|| {
            let why = format!("the inventory in `{}` defines no cluster at all", self.folder);
            (why, Place::whole(self.folder.clone()))
        })
    }

    /// The definition of the cluster in a folder.
    pub fn definition_in(&self, folder: &RepoPath) -> Option<&Object> {
        self.inventory.cluster(&self.by_folder.get(folder)?.name)
    }

    /// What of a definition's objects goes to a folder of it.
    pub fn part_in(&self, definition: &Object, folder: &RepoPath) -> RenderPart {
        let set = self.provider_sets.get(&definition.level.name).map(|set| &set.path);
        match set {
            Some(set) if set != folder => RenderPart::Others,
            Some(set) if self.own_folder(definition) != Some(set) => RenderPart::Providers,
            _ => RenderPart::All,
        }
    }

    /// The folder for a management cluster's provider objects, if it has a provider set that was not made from the
    /// inventory.
    pub fn set_of_others(&self, definition: &Object) -> Option<&RepoPath> {
        let set = self.provider_sets.get(&definition.level.name)?;
        (!set.is_open).then_some(&set.path)
    }

    /// The folder that a definition calls its own; its provider objects may go to another one.
    pub fn own_folder(&self, definition: &Object) -> Option<&RepoPath> {
        self.folders.get(&definition.level.name)
    }

    /// The folders of its clusters, with their definitions. A management cluster's provider objects may have one of their own.
    pub fn clusters(&self) -> impl Iterator<Item = (&RepoPath, &Object)> {
        self.by_folder.iter().filter_map(|(folder, of)| Some((folder, self.inventory.cluster(&of.name)?)))
    }

    /// How many folders a definition has: a provider set that is made from it has one of its own, and counts as a cluster.
    pub fn folders_of(&self, definition: &Object) -> usize {
        let name = &definition.level.name;
        let is_own = |set: &&ProviderSetFolder| {
            set.is_open
                && self.by_folder.get(&set.path).is_some_and(|of| of.name == *name)
                && self.folders.get(name) != Some(&set.path)
        };
        1 + usize::from(self.provider_sets.get(name).filter(is_own).is_some())
    }

    /// How many clusters it defines.
    pub fn defined(&self) -> usize {
        self.inventory.clusters().map(|definition| self.folders_of(definition)).sum()
    }

    /// Definitions without a folder, because what they belong to is wrong or incomplete, and what is wrong.
    pub fn homeless(&self) -> Vec<(&Object, Vec<Finding>)> {
        let is_homeless = |definition: &&Object| {
            let name = &definition.level.name;
            !self.folders.contains_key(name) && !self.clashing.contains_key(name)
        };
        let why = |definition: &Object| match self.member(definition) {
            Err(findings) => findings,
            Ok(member) => match self.inventory.settings.folder.folder(member.name(), &member.levels) {
                Ok(_) => Vec::new(),
                Err(message) => {
                    let place = definition.level.place(definition.offset);
                    vec![Finding::new(rules::INVENTORY_REFERENCE, message).place(place)]
                }
            },
        };
        let homeless = self.inventory.clusters().filter(is_homeless);
        homeless.map(|definition| (definition, why(definition))).collect()
    }

    /// Definitions whose folder is another one's, and that folder.
    pub fn clashing(&self) -> impl Iterator<Item = (&str, &RepoPath)> {
        self.clashing.iter().map(|(name, folder)| (name.as_str(), folder))
    }

    /// A definition with what it belongs to.
    ///
    /// # Errors
    /// What is wrong with that.
    pub fn member<'i>(&'i self, definition: &'i Object) -> Result<Member<'i>, Vec<Finding>> {
        Member::of(&self.inventory, definition)
    }

    /// The clusters that a management cluster manages.
    pub fn subordinates(&self, definition: &Object) -> Vec<Subordinate> {
        let one = |name: &String| {
            let member = self.member(self.inventory.cluster(name)?).ok()?;
            let folder = self.folders.get(name)?.clone();
            Some(Subordinate { name: name.clone(), folder, namespace: None, levels: member.levels })
        };
        self.managed.get(&definition.level.name).into_iter().flatten().filter_map(one).collect()
    }

    /// Tells what it says of the definition in a folder from anything else that it might say: the files of all objects
    /// that have a say, the components that they name, and the folders that it gives. `None` where it says nothing.
    pub fn digest_in(&self, folder: &RepoPath) -> Option<&str> {
        let of = self.by_folder.get(folder)?;
        let definition = self.inventory.cluster(&of.name)?;
        Some(of.digest.get_or_init(|| self.digest_of(definition)))
    }

    /// What tells all that it says of a folder from anything else; `None` where it says nothing. Of an inventory that
    /// cannot be used it is why.
    pub fn said_of(&self, folder: &RepoPath) -> Option<String> {
        match &self.unreadable {
            Some((why, place)) => Some(format!("{place}: {why}")),
            None => self.digest_in(folder).map(str::to_owned),
        }
    }

    fn digest_of(&self, definition: &Object) -> String {
        let levels: Vec<&str> = self.inventory.settings.levels.iter().map(|level| level.kind()).collect();
        let mut text = format!("{}\n", levels.join(" "));
        let mut add = |object: &Object| {
            let blob = self.files.get(&object.level.path).map(BlobId::as_str).unwrap_or_default();
            text.push_str(&format!("{} {} {blob}\n", object.level, object.level.path));
            for component in &object.components {
                let tree = self.components.get(&component.value).and_then(Option::as_ref);
                text.push_str(&format!("with {} {}\n", component.value, tree.map_or("", TreeId::as_str)));
            }
        };
        match self.member(definition) {
            Ok(member) => member.objects.iter().for_each(|object| add(object)),
            // The error may be anywhere.
            Err(_) => self.inventory.objects.values().for_each(add),
        }
        if let Some(folder) = self.folders.get(&definition.level.name) {
            text.push_str(&format!("in {folder}\n"));
        }
        if let Some(set) = self.provider_sets.get(&definition.level.name) {
            text.push_str(&format!("providers in {} {}\n", set.path, set.is_open));
        }
        for one in self.subordinates(definition) {
            let levels = one.levels.iter().map(|(level, name)| format!(" {}={name}", level.kind()));
            text.push_str(&format!("{} {}{}\n", one.name, one.folder, levels.collect::<String>()));
        }
        sha256(text)
    }
}
