//! Folders and live objects out of YAML, for the tests of this room.

use serde_json::Value;

use super::{FolderHome, Scopes, place_in_namespaces};
use crate::live_objects::LiveObjects;
use capstan_kustomize::render::{Folders, RenderedFolder, RenderedObject, render};
use capstan_model::object::ObjectId;
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;
use capstan_yaml::YamlFile;

/// The render of `c/base/a.yaml` and, unless it is empty, `c/overlay/a.yaml`.
pub(crate) fn rendered(base: &str, overlay: &str) -> RenderedFolder {
    let path = |text: &str| RepoPath::parse(text).unwrap();
    let folders = Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") };
    let mut files = vec![("c/base/a.yaml", base)];
    if !overlay.is_empty() {
        files.push(("c/overlay/a.yaml", overlay));
    }
    render(&Files::new(&files), &folders).unwrap()
}

/// The same with its namespaces.
pub(crate) fn placed(base: &str, overlay: &str) -> (RenderedFolder, FolderHome) {
    let mut rendered = rendered(base, overlay);
    let home = place_in_namespaces(&mut rendered, &Scopes::default()).unwrap();
    (rendered, home)
}

/// Objects of a base alone, with their namespaces.
pub(crate) fn objects(base: &str) -> Vec<RenderedObject> {
    placed(base, "").0.objects
}

/// The documents of a YAML text.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    let file = YamlFile::read(text).unwrap();
    file.documents().iter().map(|document| document.root.value()).filter(|value| !value.is_null()).collect()
}

/// Live objects out of YAML.
pub(crate) fn live(text: &str) -> LiveObjects {
    documents(text).into_iter().collect()
}

/// An identity: `group/Kind namespace/name`, the group left out for the core group.
pub(crate) fn id(text: &str) -> ObjectId {
    let (kind, name) = text.split_once(' ').unwrap();
    let (group, kind) = kind.rsplit_once('/').unwrap_or(("", kind));
    let (namespace, name) =
        name.split_once('/').map_or((None, name), |(namespace, name)| (Some(namespace.to_owned()), name));
    ObjectId { group: group.to_owned(), kind: kind.to_owned(), namespace, name: name.to_owned() }
}
