//! Trees of kustomizations, with every field that Capstan renders, in any combination.
//!
//! What is made is meant to render: objects have identities of their own, sources and targets exist, values
//! fit. A little is spoilt on purpose, and combinations that kustomize refuses still come up. Names come from
//! a small pool, so that references find several objects, one, or none.

mod changes;
mod folder;
mod generators;
mod patches;
mod plugins;
mod replacements;
mod vars;

use std::collections::{BTreeMap, BTreeSet};

use self::folder::Folder;
use super::objects::Object;
use super::write::{Yaml, text};
use capstan_test_support::random::Random;

/// What a tree may be made of; each of them is to be seen in trees that both sides render.
pub(super) const FEATURES: [&str; 48] = [
    "bases",
    "buildMetadata",
    "commonAnnotations",
    "commonLabels",
    "components",
    "configMapGenerator",
    "configMapGenerator: merge or replace",
    "configurations",
    "generated names: hash",
    "generated names: referred to",
    "generatorOptions",
    "images",
    "keys in another case",
    "labels",
    "labels: fields",
    "labels: selectors",
    "labels: templates",
    "namePrefix",
    "nameSuffix",
    "namespace",
    "namespaces: objects of one name",
    "openapi",
    "patches: JSON 6902",
    "patches: deletes an object",
    "patches: end in a block",
    "patches: end in a block that keeps its newlines",
    "patches: in a file",
    "patches: inline",
    "patches: list of a custom resource",
    "patches: other name or kind",
    "patches: strategic merge",
    "patches: target by annotations",
    "patches: target by labels",
    "patches: target by name",
    "patches: target by namespace",
    "patchesJson6902",
    "patchesStrategicMerge",
    "replacements",
    "replacements: create",
    "replacements: in a file",
    "replacements: parts of a text",
    "replicas",
    "resources: List",
    "secretGenerator",
    "sortOptions",
    "transformers",
    "vars",
    "vars: fields of a configuration",
];

/// A tree that was made; `top` is what is rendered.
pub(super) struct Generated {
    /// By path.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// Which of [`FEATURES`] it has.
    pub(super) uses: BTreeSet<&'static str>,
}

/// Makes one.
pub(super) fn tree(random: &mut Random) -> Generated {
    let namespaces = if random.percent(70) { Namespaces::Moved } else { Namespaces::Kept };
    let mut tree = Tree {
        files: BTreeMap::new(),
        uses: BTreeSet::new(),
        namespaces,
        taken: BTreeSet::new(),
        made: 0,
        variables: BTreeSet::new(),
    };
    let mut known = tree.kustomization(random, "base", &[], Vec::new());
    let mut below = vec!["../base"];
    if random.percent(30) {
        known.extend(tree.kustomization(random, "more", &[], Vec::new()));
        below.push("../more");
    }
    if random.percent(30) {
        known = tree.kustomization(random, "mid", &below, known);
        below = vec!["../mid"];
    }
    tree.kustomization(random, "top", &below, known);
    Generated { files: tree.files, uses: tree.uses }
}

/// What happens to namespaces in a tree: objects of one kind and name either are in several, or are moved to one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Namespaces {
    Kept,
    Moved,
}

/// The tree being made.
struct Tree {
    files: BTreeMap<String, Vec<u8>>,
    uses: BTreeSet<&'static str>,
    namespaces: Namespaces,
    /// Kind, name and namespace of its objects.
    taken: BTreeSet<(String, String, String)>,
    /// How many names were made up.
    made: usize,
    /// The variables that are defined.
    variables: BTreeSet<&'static str>,
}

impl Tree {
    /// Makes a folder; gives back the objects that are known above it. The order is kustomize's, so that
    /// each step knows what those before it have left.
    fn kustomization(
        &mut self,
        random: &mut Random,
        name: &str,
        below: &[&str],
        known: Vec<Object>,
    ) -> Vec<Object> {
        let mut folder = Folder::new(self, name, known);
        folder.resources(random, below);
        folder.generate(random);
        if random.percent(15) && name != "base" {
            folder.component(random);
        }
        folder.change(random);
        folder.write(random)
    }

    fn uses(&mut self, feature: &'static str) {
        assert!(FEATURES.contains(&feature), "{feature}");
        self.uses.insert(feature);
    }

    /// Whether an identity was free, and is taken now.
    fn takes(&mut self, object: &Object) -> bool {
        let namespace = match (self.namespaces, object.namespace.as_str()) {
            (Namespaces::Moved, _) => "",
            (Namespaces::Kept, "default") => "",
            (Namespaces::Kept, namespace) => namespace,
        };
        let is_free = self.taken.insert((object.kind.clone(), object.name.clone(), namespace.to_owned()));
        let named = |other: &(String, String, String)| other.0 == object.kind && other.1 == object.name;
        if is_free && self.taken.iter().filter(|other| named(other)).count() > 1 {
            self.uses("namespaces: objects of one name");
        }
        is_free
    }

    /// A name that nothing else has.
    fn new_name(&mut self, stem: &str) -> String {
        self.made += 1;
        format!("{stem}-{}", self.made)
    }
}

/// The text of a value that is one.
fn text_of(yaml: Option<&Yaml>) -> Option<&str> {
    match yaml {
        Some(Yaml::Text(text)) => Some(text),
        _ => None,
    }
}

/// Names an object: its kind, name and namespace.
fn named(object: &Object) -> Vec<(&'static str, Yaml)> {
    let mut fields = vec![("kind", text(&object.kind)), ("name", text(&object.name))];
    if !object.namespace.is_empty() {
        fields.push(("namespace", text(&object.namespace)));
    }
    fields
}
