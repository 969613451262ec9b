//! `kustomization.yaml`, a type of its own ([U4]): what it is called, how its lists merge, which files it names.
//! Its fields merge like those of an object ([`super::kustomization_merge`]), and its `resources` follow the files
//! that come and go (`crate::upgrade`).
//!
//! [U4]: crate::merge::objects#u4

use super::knowledge::MergedField;
use super::lists::{DecidedBy, ListKind, ListRule};
use super::nodes::text;
use capstan_model::object::ObjectId;
use capstan_yaml::Node;

/// The kind of kustomizations in reported changes.
pub(crate) const KIND: &str = "Kustomization";

/// And their API group there.
pub(crate) const GROUP: &str = "kustomize.config.k8s.io";

/// Fields that say which files are read; they follow the files.
pub(super) const FOLLOW_FILES: [&str; 2] = ["resources", "bases"];

/// Lists whose items stand for themselves: paths, and patches with their targets.
const SETS: [&str; 10] = [
    "components",
    "configurations",
    "crds",
    "generators",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "replacements",
    "transformers",
    "validators",
];

/// A kustomization has no name of its own: the file's name takes its place.
pub(super) fn identity(root: &Node, file: &str) -> ObjectId {
    let metadata = root.get("metadata").and_then(|metadata| text(metadata, "name"));
    ObjectId {
        group: GROUP.to_owned(),
        kind: KIND.to_owned(),
        namespace: None,
        name: metadata.unwrap_or(file).to_owned(),
    }
}

/// How a list of a kustomization merges, where its own table says.
pub(crate) fn rule(list: &MergedField<'_>) -> Option<ListRule<'static>> {
    let listed = list.is_of_object() && SETS.contains(&list.known.key);
    let rule = ListRule { kind: ListKind::Set, decided_by: DecidedBy::OwnTable, broken_key: None };
    listed.then_some(rule)
}

/// The files that a kustomization names besides resources: patches, configurations and the like.
pub(super) fn files_besides(root: &Node) -> Vec<&str> {
    let entries = root.as_mapping().unwrap_or_default();
    let lists = |keys: &'static [&'static str]| {
        let of_these = entries.iter().filter(move |entry| keys.contains(&entry.key.as_str()));
        of_these.flat_map(|entry| entry.value.as_sequence().unwrap_or_default())
    };
    let generated = generated_from(root, &["configMapGenerator", "secretGenerator"]);
    let named = lists(&SETS)
        .filter_map(|item| item.as_str().or_else(|| item.get("path")?.as_str()))
        .filter(|text| !text.contains('\n'));
    let components: Vec<&str> = lists(&["components"]).filter_map(Node::as_str).collect();
    named.filter(|text| !components.contains(text)).chain(generated).collect()
}

/// The files of which a kustomization makes Secrets.
pub(super) fn files_of_secrets(root: &Node) -> Vec<&str> {
    generated_from(root, &["secretGenerator"])
}

/// The files of which these generators make objects.
fn generated_from<'n>(root: &'n Node, generators: &[&str]) -> Vec<&'n str> {
    let items = generators.iter().filter_map(|key| root.get(key)?.as_sequence()).flatten();
    let paths = items.flat_map(|generator| {
        let files = ["files", "envs"].into_iter().filter_map(|key| generator.get(key)?.as_sequence());
        files.flatten().chain(generator.get("env")).filter_map(Node::as_str)
    });
    // `key=path`
    paths.map(|text| text.split_once('=').map_or(text, |(_, path)| path)).collect()
}
