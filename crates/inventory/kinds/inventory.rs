//! All objects of an inventory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::{api_group, api_version};
use capstan_model::spelling::hint;
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};
use capstan_yaml::{Entry, Node, YamlFile};

use super::super::fields::Fields;
use super::super::folder::FolderPattern;
use super::super::origin::{InventoryLevel, LevelKind};
use super::metadata::read_metadata;
use super::object::{Object, PlacedWord};
use super::{API_VERSION, SETTINGS, all};

/// A file below `inventory.path`: its path, and its bytes or why they cannot be had.
#[derive(Debug, Clone)]
pub struct SourceText {
    /// From the repository's root.
    pub path: RepoPath,
    /// The content.
    pub bytes: Result<Arc<[u8]>, String>,
}

/// What the `Inventory` object says, or what holds without one.
#[derive(Debug, Clone, PartialEq)]
pub struct InventorySettings {
    /// The levels, upper ones first: a later one overrides an earlier one.
    pub levels: Vec<LevelKind>,
    /// The folder of a new cluster.
    pub folder: FolderPattern,
}

impl Default for InventorySettings {
    fn default() -> Self {
        Self { levels: LevelKind::SHARED.to_vec(), folder: FolderPattern::default() }
    }
}

/// An inventory as its files tell it.
#[derive(Debug, Default)]
pub struct InventoryFiles {
    /// Order of levels, folders.
    pub settings: InventorySettings,
    /// Everything that says values, by kind and name.
    pub objects: BTreeMap<(LevelKind, String), Object>,
    /// What is wrong in the files.
    pub findings: Vec<Finding>,
    /// Why the inventory as a whole cannot be trusted: a file that cannot be read may hold any object, and an
    /// `Inventory` object that is wrong changes what everything means.
    pub unreadable: Option<Place>,
}

impl InventoryFiles {
    /// The files of the inventory in a folder and below it.
    pub fn files<'t>(tree: &'t dyn Tree, folder: &RepoPath) -> impl Iterator<Item = &'t TreeEntry> {
        let is_one = |entry: &&TreeEntry| {
            entry.is_file() && is_manifest(&entry.path) && !entry.path.name().ends_with(".json")
        };
        tree.entries_in(folder).iter().filter(is_one)
    }

    /// Reads the inventory in a folder of a snapshot.
    pub fn read_in(tree: &dyn Tree, folder: &RepoPath) -> Self {
        let text = |entry: &TreeEntry| SourceText {
            path: entry.path.clone(),
            bytes: tree.read(entry).map_err(|unreadable| unreadable.reason),
        };
        Self::read(&Self::files(tree, folder).map(text).collect::<Vec<_>>())
    }

    /// Reads the files of an inventory.
    pub fn read(files: &[SourceText]) -> Self {
        let mut inventory = Self::default();
        let mut settings: Option<Place> = None;
        for source in files {
            let file = match &source.bytes {
                Ok(bytes) => YamlFile::read_bytes(bytes),
                Err(reason) => {
                    let place = Place::whole(source.path.clone());
                    let message = format!("this file cannot be read: {reason}");
                    inventory.lost(Finding::new(rules::UNREADABLE_FILE, message).place(place));
                    continue;
                }
            };
            let file = match file {
                Ok(file) => file,
                Err(error) => {
                    let place = Place::at(source.path.clone(), error.position);
                    inventory.lost(Finding::new(rules::INVALID_YAML, error.message).place(place));
                    continue;
                }
            };
            for document in file.documents() {
                if document.root.is_null() {
                    continue;
                }
                let place = |offset| Place::at(source.path.clone(), file.position(offset));
                if let Some(twice) = &document.duplicate_key {
                    let message = format!("the key `{}` occurs twice", twice.key);
                    let finding = Finding::new(rules::INVALID_YAML, message).place(place(twice.offset));
                    inventory.lost(finding);
                    continue;
                }
                if let Some((offset, message)) = file.misread_key(&document.root) {
                    inventory.lost(Finding::new(rules::INVALID_YAML, message).place(place(offset)));
                    continue;
                }
                inventory.document(source, &file, &document.root, &mut settings);
            }
        }
        inventory
    }

    /// Adds what makes the inventory as a whole unreadable.
    fn lost(&mut self, finding: Finding) {
        self.unreadable = self.unreadable.take().or_else(|| finding.place.clone());
        self.findings.push(finding);
    }

    fn document(&mut self, source: &SourceText, file: &YamlFile, root: &Node, settings: &mut Option<Place>) {
        let place = |node: &Node| Place::at(source.path.clone(), file.position(node.span.start));
        let (api, kind) = (root.text_at("apiVersion"), root.text_at("kind"));
        let level = kind.and_then(LevelKind::of_kind);
        if api != Some(API_VERSION) || level.is_none() && kind != Some(SETTINGS) {
            let at = root.get("kind").or(root.get("apiVersion")).unwrap_or(root);
            let message = unknown_kind(api, kind);
            self.findings.push(Finding::new(rules::INVENTORY_UNKNOWN_KIND, message).place(place(at)));
            return;
        }
        let Some(name) = root.get("metadata").and_then(|metadata| metadata.text_at("name")) else {
            let message =
                format!("this {} has no `metadata.name`, which must be text", kind.unwrap_or_default());
            let at = root.get("metadata").and_then(|metadata| metadata.get("name")).unwrap_or(root);
            return self.lost(Finding::new(rules::INVENTORY_TYPE, message).place(place(at)));
        };
        let Some(kind) = level else {
            if let Some(first) = settings {
                let message = format!("a second Inventory: the first one is in {first}. Keep one");
                return self.lost(Finding::new(rules::DUPLICATE_OBJECT, message).place(place(root)));
            }
            *settings = Some(place(root));
            return self.read_settings(source, file, root, name);
        };
        let level =
            InventoryLevel { kind, name: name.to_owned(), path: source.path.clone(), file: file.clone() };
        let (object, findings) = Object::read(Arc::new(level), root);
        self.findings.extend(findings);
        match self.objects.entry((kind, name.to_owned())) {
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(object);
            }
            std::collections::btree_map::Entry::Occupied(mut first) => {
                let first = first.get_mut();
                let stands = first.level.place(first.offset);
                let message = format!(
                    "a second {} `{name}`: the first one is in {stands}. Kind and name must be unique: rename or remove one",
                    kind.kind()
                );
                first.broken.get_or_insert(place(root));
                self.findings.push(Finding::new(rules::DUPLICATE_OBJECT, message).place(place(root)));
            }
        }
    }

    fn read_settings(&mut self, source: &SourceText, file: &YamlFile, root: &Node, name: &str) {
        // Its places are those of a level's file; what kind it would be says nobody.
        let level = Arc::new(InventoryLevel {
            kind: LevelKind::Default,
            name: name.to_owned(),
            path: source.path.clone(),
            file: file.clone(),
        });
        let mut fields = Fields::new(&level);
        let top = ["apiVersion", "kind", "metadata", "spec"];
        let entries = fields.entries(root, "", &top);
        let at = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
        if let Some(metadata) = at("metadata") {
            read_metadata(&mut fields, metadata, name);
        }
        let spec = at("spec").map(|spec| fields.entries(spec, "spec.", &["levels", "folder"]));
        for Entry { key, value, .. } in spec.unwrap_or_default().iter().filter(|entry| !entry.value.is_null())
        {
            match key.as_str() {
                "levels" => self.settings.levels = read_levels(&mut fields, value),
                "folder" => {
                    let Some(text) = fields.text(value, "spec.folder") else { continue };
                    match FolderPattern::parse(text) {
                        Ok(pattern) => self.settings.folder = pattern,
                        Err(message) => {
                            fields.wrong(rules::INVENTORY_TYPE, value.span.start, message);
                        }
                    }
                }
                _ => {}
            }
        }
        fields.findings.into_iter().for_each(|finding| self.lost(finding));
    }

    /// A level's object.
    pub fn object(&self, kind: LevelKind, name: &str) -> Option<&Object> {
        self.objects.get(&(kind, name.to_owned()))
    }

    /// The definition of a cluster or management cluster of that name.
    pub fn cluster(&self, name: &str) -> Option<&Object> {
        self.object(LevelKind::ClusterDefinition, name)
            .or_else(|| self.object(LevelKind::ManagementClusterDefinition, name))
    }

    /// Every definition of a cluster, management clusters included, ordered by kind and name.
    pub fn clusters(&self) -> impl Iterator<Item = &Object> {
        self.objects.values().filter(|object| object.level.kind.is_cluster())
    }

    /// The names of a kind.
    pub fn names(&self, kind: LevelKind) -> Vec<&str> {
        let of_kind = self.objects.keys().filter(|(other, _)| *other == kind);
        of_kind.map(|(_, name)| name.as_str()).collect()
    }
}

fn read_levels(fields: &mut Fields<'_>, node: &Node) -> Vec<LevelKind> {
    let mut levels = Vec::new();
    let mut seen = BTreeSet::new();
    for (text, at) in fields.texts(node, "spec.levels") {
        match LevelKind::of_kind(text).filter(|level| !level.is_cluster()) {
            Some(level) if seen.insert(level) => levels.push(level),
            Some(_) => fields.wrong(rules::INVENTORY_TYPE, at, format!("`{text}` occurs twice")),
            None => {
                let known = LevelKind::SHARED.map(LevelKind::kind);
                let message = format!("`{text}` is not a level{}", hint(text, &known));
                fields.wrong(rules::INVENTORY_TYPE, at, message);
            }
        }
    }
    levels
}

/// Says what else might have been meant.
fn unknown_kind(api: Option<&str>, kind: Option<&str>) -> String {
    let known: Vec<&str> = all().collect();
    let Some(kind) = kind else {
        return format!("a document without `kind`: an inventory has only objects of {API_VERSION}");
    };
    let group = api_group(API_VERSION);
    match api {
        Some(api) if api == API_VERSION => {
            format!("`{kind}` is not a kind of an inventory{}", hint(kind, &known))
        }
        Some(api) if api_group(api) == group => {
            format!("`{api}` is not a version of these kinds: write `apiVersion: {API_VERSION}`")
        }
        Some(api) => format!(
            "{kind} of `{}` is not a kind of an inventory: move it out of this folder, which has only {API_VERSION}",
            api_version(api_group(api), api.rsplit('/').next().unwrap_or_default())
        ),
        None => format!("this {kind} has no `apiVersion`: write `apiVersion: {API_VERSION}`"),
    }
}

impl<T> PlacedWord<T> {
    /// Its place in a level's file.
    pub fn place(&self, level: &InventoryLevel) -> Place {
        level.place(self.offset)
    }
}
