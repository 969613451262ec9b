//! Kustomize components over what templates make: those of all levels, upper ones first.
//!
//! The rendered files of templates are the resources of a kustomization that names the components. Its result
//! is written back into those files, so that comments and order of a template stay where a component changes
//! nothing. New objects of a component go into a file with its name.
//!
//! A component reads nothing outside of its own folder: the record of a cluster names that folder's Git tree, and from it
//! alone the old render is made again.

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::render::{self, Folders, PatchUse, RenderError, RenderedObject as Kustomized};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::FieldPath;
use capstan_model::tree::{MadeTree, RepoPath, Tree, TreeId};
use capstan_yaml::{DocumentEdit, Edit, Node, NodeKind, Value, YamlFile, edit, write};

use super::kinds::SourceText;
use super::origin::InventoryOrigin;
use super::templates::{RenderedFile, RenderedObject, RenderedTemplates};

/// A component, as a snapshot has it.
#[derive(Debug, Clone)]
pub struct InventoryComponent {
    /// Its folder.
    pub path: RepoPath,
    /// That folder's Git tree.
    pub tree: Option<TreeId>,
    files: Vec<SourceText>,
}

impl InventoryComponent {
    /// Reads a component; `None` where there is no such folder.
    pub fn read(tree: &dyn Tree, path: &RepoPath) -> Option<Self> {
        let entries = tree.entries_in(path).iter().filter(|entry| entry.is_file());
        let files: Vec<SourceText> = entries
            .map(|entry| SourceText {
                path: entry.path.clone(),
                bytes: tree.read(entry).map_err(|unreadable| unreadable.reason),
            })
            .collect();
        (!files.is_empty()).then(|| Self { path: path.clone(), tree: tree.folder_id(path), files })
    }

    /// Whether all of its files could be read.
    pub fn is_whole(&self) -> bool {
        self.files.iter().all(|file| file.bytes.is_ok())
    }

    /// Reads a component from its folder alone, as that once was; `None` where it is empty.
    pub fn read_alone(folder: &dyn Tree, path: &RepoPath, tree: &TreeId) -> Option<Self> {
        let entries = folder.entries().iter().filter(|entry| entry.is_file());
        let files: Vec<SourceText> = entries
            .filter_map(|entry| {
                let bytes = folder.read(entry).map_err(|unreadable| unreadable.reason);
                Some(SourceText { path: path.join(entry.path.as_str()).ok()?, bytes })
            })
            .collect();
        (!files.is_empty()).then(|| Self { path: path.clone(), tree: Some(tree.clone()), files })
    }
}

/// The finding that a level names a folder that is not there.
pub fn no_component(path: &RepoPath, said_in: &InventoryOrigin) -> Finding {
    let message = format!(
        "there is no component `{path}`: a component is a folder with a kustomization.yaml of kind Component"
    );
    Finding::new(rules::INVENTORY_REFERENCE, message).place(said_in.place())
}

/// Applies components to a render, in their order.
///
/// # Errors
/// What kustomize says of them, at the component's place or the template's.
pub fn apply(
    mut rendered: RenderedTemplates,
    components: &[&InventoryComponent],
) -> Result<RenderedTemplates, Vec<Finding>> {
    if components.is_empty() {
        return Ok(rendered);
    }
    let folder = free_folder(components);
    let snapshot = snapshot(&folder, &rendered, components);
    let folders = Folders {
        cluster: folder.clone(),
        base: folder.clone(),
        overlay: folder.join("overlay").unwrap_or_default(),
    };
    let made =
        render::render(&snapshot, &folders).map_err(|error| vec![finding_of(&error, &folder, &rendered)])?;
    let lost: Vec<Finding> = made.patches.iter().filter_map(lost).collect();
    if !lost.is_empty() {
        return Err(lost);
    }
    let refused: Vec<Finding> = made.objects.iter().flat_map(Kustomized::refused_names).collect();
    if !refused.is_empty() {
        return Err(refused
            .into_iter()
            .map(|finding| written_in_template(finding, &folder, &rendered))
            .collect());
    }
    let mut made = made.objects;
    for file in &mut rendered.files {
        let Ok(path) = folder.join(&file.name) else { continue };
        let (own, others) = made.into_iter().partition(|object| object.origin().file() == &path);
        made = others;
        carry(file, own);
    }
    for component in components {
        let (own, others): (Vec<Kustomized>, Vec<Kustomized>) =
            made.into_iter().partition(|object| object.origin().file().is_in(&component.path));
        made = others;
        if !own.is_empty() {
            let name = free_name(&rendered, &component.path);
            rendered.files.push(file_of(name, &own));
        }
    }
    rendered.files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(rendered)
}

/// A folder for the kustomization that belongs to no component.
fn free_folder(components: &[&InventoryComponent]) -> RepoPath {
    let mut name = ".capstan-render".to_owned();
    loop {
        let folder = RepoPath::parse(&name).unwrap_or_default();
        let taken = |path: &RepoPath| *path == folder || path.is_in(&folder);
        if !components.iter().any(|component| taken(&component.path)) {
            return folder;
        }
        name.push('_');
    }
}

fn free_name(rendered: &RenderedTemplates, component: &RepoPath) -> String {
    let taken = |name: &str| rendered.files.iter().any(|file| file.name == name);
    let mut name = component.name().to_owned();
    while taken(&format!("{name}.yaml")) {
        name.push_str("-component");
    }
    format!("{name}.yaml")
}

/// The render and the components, and nothing else.
fn snapshot(folder: &RepoPath, rendered: &RenderedTemplates, components: &[&InventoryComponent]) -> MadeTree {
    let mut contents = BTreeMap::new();
    let with_objects = || rendered.files.iter().filter(|file| !file.objects.is_empty());
    let resources: Vec<&str> = with_objects().map(|file| file.name.as_str()).collect();
    let up = "../".repeat(folder.parts().count());
    let named: Vec<String> = components.iter().map(|component| format!("{up}{}", component.path)).collect();
    let kustomization = serde_json::json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
        "components": named,
    });
    let mut add = |path: RepoPath, bytes| drop(contents.insert(path, bytes));
    if let Ok(path) = folder.join("kustomization.yaml") {
        add(path, Ok(kustomization.to_string().into_bytes().into()));
    }
    for file in with_objects() {
        if let Ok(path) = folder.join(&file.name) {
            add(path, Ok(file.text.as_bytes().into()));
        }
    }
    for file in components.iter().flat_map(|component| &component.files) {
        add(file.path.clone(), file.bytes.clone());
    }
    MadeTree::of(contents)
}

/// A patch that could not be applied.
fn lost(patch: &PatchUse) -> Option<Finding> {
    let why = patch.lost.as_deref()?;
    let message = format!("this patch of {} is not applied: {why}", patch.target);
    Some(Finding::new(rules::RENDER_FAILED, message).place(Place::from(&patch.place)))
}

/// What kustomize says, where people can mend it.
fn finding_of(error: &RenderError, folder: &RepoPath, rendered: &RenderedTemplates) -> Finding {
    written_in_template(Finding::from(error), folder, rendered)
}

/// A finding in a file that a template came to, at the template's object.
fn written_in_template(finding: Finding, folder: &RepoPath, rendered: &RenderedTemplates) -> Finding {
    let Some(place) = finding.place.clone() else { return finding };
    let Some(name) = place.file().below(folder) else { return finding };
    let Some(file) = rendered.files.iter().find(|file| file.name == name) else { return finding };
    let read = YamlFile::read(&file.text).ok();
    let line_of = |object: &RenderedObject| {
        let start = read.as_ref()?.documents().get(object.document)?.root.span.start;
        Some(read.as_ref()?.position(start).line)
    };
    let line = place.line().unwrap_or(1);
    let before = file.objects.iter().rfind(|object| line_of(object).is_some_and(|start| start <= line));
    match before.or(file.objects.first()) {
        Some(object) => finding.place(object.template.clone()),
        None => finding,
    }
}

/// Carries what kustomize made of a file's objects back into the file.
fn carry(file: &mut RenderedFile, mut made: Vec<Kustomized>) {
    let Ok(read) = YamlFile::read(&file.text) else { return };
    let mut edits = Vec::new();
    let mut kept: Vec<(RenderedObject, Node)> = Vec::new();
    let mut removed = 0_usize;
    for mut object in std::mem::take(&mut file.objects) {
        let Some(root) = read.documents().get(object.document).map(|document| &document.root) else {
            continue;
        };
        let inside = |one: &Kustomized| root.span.contains(&one.origin().offset());
        let Some(at) = made.iter().position(inside) else {
            edits.push(DocumentEdit::RemoveDocument { document: object.document });
            removed += 1;
            continue;
        };
        let one = made.swap_remove(at);
        let node = one.placed.to_node();
        let mut changes = Vec::new();
        changes_of(root, &node, &FieldPath::root(), &mut changes);
        let document = object.document;
        edits.extend(changes.into_iter().map(|edit| DocumentEdit::Edit { document, edit }));
        // A field that a component set holds no value any more.
        object.placements.retain(|placed| {
            let value = |node: &Node| node.at(&placed.path).map(Node::value);
            value(root) == value(&node)
        });
        object.document -= removed;
        (object.id, object.api_version) = (one.id, one.api_version);
        kept.push((object, node));
    }
    let edited = match (kept.is_empty(), edits.is_empty()) {
        (true, _) => None,
        (_, true) => Some(read),
        _ => edit(&read, &edits).ok(),
    };
    let fits = |edited: &YamlFile| {
        kept.iter().all(|(object, node)| {
            let document = edited.documents().get(object.document);
            document.is_some_and(|document| document.root.value() == node.value())
        })
    };
    match edited.filter(fits) {
        Some(edited) => file.text = edited.text().to_owned(),
        // A node that cannot be edited in place, for example because of anchors, is written again.
        None => {
            for (at, (object, _)) in kept.iter_mut().enumerate() {
                object.document = at;
            }
            file.text = documents(kept.iter().map(|(_, node)| node));
        }
    }
    let read = YamlFile::read(&file.text).ok();
    file.objects = kept
        .into_iter()
        .map(|(object, node)| {
            let document = read.as_ref().and_then(|read| read.documents().get(object.document));
            let node = document.map_or(node, |document| document.root.clone());
            RenderedObject { node, ..object }
        })
        .collect();
}

fn documents<'n>(nodes: impl Iterator<Item = &'n Node>) -> String {
    nodes.map(write).collect::<Vec<_>>().join("---\n")
}

/// The edits that make one node of another.
fn changes_of(old: &Node, new: &Node, path: &FieldPath, edits: &mut Vec<Edit>) {
    if old.value() == new.value() {
        return;
    }
    match (&old.kind, &new.kind) {
        (NodeKind::Mapping(before), NodeKind::Mapping(after)) => {
            let keys: BTreeSet<&str> = after.iter().map(|entry| entry.key.as_str()).collect();
            for entry in before {
                let below = path.key(&entry.key);
                match new.get(&entry.key) {
                    Some(value) if keys.contains(entry.key.as_str()) => {
                        changes_of(&entry.value, value, &below, edits);
                    }
                    _ => edits.push(Edit::Remove { path: below }),
                }
            }
            for entry in after.iter().filter(|entry| old.get(&entry.key).is_none()) {
                edits.push(Edit::Insert {
                    parent: path.clone(),
                    key: entry.key.clone(),
                    node: entry.value.clone(),
                    after: None,
                });
            }
        }
        (NodeKind::Sequence(before), NodeKind::Sequence(after)) => {
            let values = |items: &[Node]| items.iter().map(Node::value).collect::<Vec<Value>>();
            let (was, is) = (values(before), values(after));
            let same = was.iter().zip(&is).take_while(|(one, other)| one == other).count();
            if before.len() == after.len() {
                for (at, (one, other)) in before.iter().zip(after).enumerate() {
                    changes_of(one, other, &path.index(at), edits);
                }
            } else if same == before.len() {
                edits.extend(after.iter().skip(same).map(|node| Edit::InsertItem {
                    list: path.clone(),
                    index: before.len(),
                    node: node.clone(),
                }));
            } else {
                edits.push(Edit::Set { path: path.clone(), node: new.clone() });
            }
        }
        _ => edits.push(Edit::Set { path: path.clone(), node: new.clone() }),
    }
}

/// A file of what a component brings.
fn file_of(name: String, made: &[Kustomized]) -> RenderedFile {
    let nodes: Vec<Node> = made.iter().map(|object| object.placed.to_node()).collect();
    let text = documents(nodes.iter());
    let read = YamlFile::read(&text).ok();
    let objects = made.iter().zip(nodes).enumerate().map(|(document, (object, node))| RenderedObject {
        id: object.id.clone(),
        api_version: object.api_version.clone(),
        document,
        node: read
            .as_ref()
            .and_then(|read| read.documents().get(document))
            .map_or(node, |document| document.root.clone()),
        template: Place::from(object.origin()),
        placements: Vec::new(),
    });
    let objects = objects.collect();
    RenderedFile { name, text, objects }
}

#[cfg(test)]
#[path = "components_tests.rs"]
mod tests;
