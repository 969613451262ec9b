//! The proof that a move changes nothing of what is applied.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::Moving;
use capstan_kustomize::render::{KUSTOMIZATION_NAMES, is_kustomization, kustomized};
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::{RepoPath, Tree, is_manifest};
use capstan_yaml::manifest::{identity, objects};
use capstan_yaml::{Value, YamlFile};

/// Objects by what they are called; several of one identity are several.
type AppliedObjects = BTreeMap<String, Vec<Value>>;

/// What would be applied in another way than before. Each kustomization that names what moves, and each folder that
/// is applied as it is, must render the same objects. A folder that could not be rendered before cannot be
/// compared, and is refused.
pub fn differences(before: &dyn Tree, after: &dyn Tree, moving: &Moving) -> Vec<FileError> {
    let mut found = Vec::new();
    for folder in &moving.rendered {
        let message = match (applied(before, folder), applied(after, folder)) {
            (Err(why), _) => format!(
                "Capstan cannot render this, so it cannot prove that the move changes nothing here: {why}. Move the clusters by hand"
            ),
            (Ok(was), is) => {
                let told = match is {
                    Ok(is) => first_difference(&was, &is),
                    Err(why) => Some(format!("it could not be rendered any more: {why}")),
                };
                let Some(told) = told else { continue };
                format!("after the move, what is applied from here would differ, so nothing is moved: {told}")
            }
        };
        let at = kustomization_of(before, folder).unwrap_or_else(|| folder.clone());
        found.push(FileError::new(rules::CLUSTER_OUTSIDE, Place::whole(at), message));
    }
    found
}

fn first_difference(was: &AppliedObjects, is: &AppliedObjects) -> Option<String> {
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    names.into_iter().find_map(|name| {
        let (one, other) = (was.get(name), is.get(name));
        match (one, other) {
            (Some(_), None) => Some(format!("{name} would be missing")),
            (None, _) => Some(format!("{name} would be added")),
            (Some(one), Some(other)) if same(one, other) => None,
            (Some(one), Some(other)) if one.len() != other.len() => {
                Some(format!("{name} would be there {} times", other.len()))
            }
            (Some(_), Some(_)) => Some(format!("{name} would be another object")),
        }
    })
}

/// Whether both hold the same values, in any order.
fn same(one: &[Value], other: &[Value]) -> bool {
    let mut left: Vec<&Value> = other.iter().collect();
    let taken = |value: &Value| {
        let at = left.iter().position(|other| *other == value)?;
        Some(left.swap_remove(at))
    };
    one.len() == other.len() && one.iter().filter_map(taken).count() == other.len()
}

/// The file of a folder's kustomization.
pub(super) fn kustomization_of(tree: &dyn Tree, folder: &RepoPath) -> Option<RepoPath> {
    let paths = KUSTOMIZATION_NAMES.iter().filter_map(|name| folder.join(name).ok());
    paths.into_iter().find(|path| tree.entry(path).is_some())
}

/// What is applied of a folder: what its kustomization renders, else all manifests below it, as with Flux.
fn applied(tree: &dyn Tree, folder: &RepoPath) -> Result<AppliedObjects, String> {
    let mut all = AppliedObjects::new();
    if add_kustomized(tree, folder, &mut all)? {
        return Ok(all);
    }
    let built: BTreeSet<RepoPath> = tree
        .entries_in(folder)
        .iter()
        .filter(|entry| entry.is_file() && is_kustomization(&entry.path))
        .filter_map(|entry| entry.path.parent())
        .collect();
    let is_inside = |path: &RepoPath| {
        std::iter::successors(path.parent(), RepoPath::parent).any(|above| built.contains(&above))
    };
    for folder in built.iter().filter(|folder| !is_inside(folder)) {
        if let Err(why) = add_kustomized(tree, folder, &mut all) {
            // What could not be built has to stay what it is.
            all.entry(format!("the kustomization of {folder}")).or_default().push(Value::String(why));
        }
    }
    let plain = |path: &RepoPath| is_manifest(path) && !is_kustomization(path) && !is_inside(path);
    for entry in tree.entries_in(folder).iter().filter(|entry| entry.is_file() && plain(&entry.path)) {
        let file = match tree.read(entry) {
            Ok(bytes) => {
                YamlFile::read_bytes(&bytes).map_err(|_| String::from_utf8_lossy(&bytes).into_owned())
            }
            Err(_) => Err(entry.blob.to_string()),
        };
        let file = match file {
            Ok(file) => file,
            // No manifest, a broken one, or one too large: it has to stay as it is.
            Err(content) => {
                all.entry(entry.path.to_string()).or_default().push(Value::String(content));
                continue;
            }
        };
        for (_, object) in file.documents().iter().flat_map(|document| objects(&document.root)) {
            let name =
                identity(object).map_or_else(|| "a document without a name".to_owned(), |id| id.to_string());
            if !object.is_null() {
                all.entry(name).or_default().push(object.value());
            }
        }
    }
    Ok(all)
}

/// Adds what a folder's kustomization gives; whether there is one.
fn add_kustomized(tree: &dyn Tree, folder: &RepoPath, all: &mut AppliedObjects) -> Result<bool, String> {
    let Some(rendered) = kustomized(tree, folder).map_err(|error| error.to_string())? else {
        return Ok(false);
    };
    for object in rendered {
        all.entry(object.id.to_string()).or_default().push(object.value);
    }
    Ok(true)
}
