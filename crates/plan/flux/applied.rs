//! One Flux Kustomization: which folders it applies, and where its variables come from.

use capstan_kustomize::render::{INCLUDE_FIELDS, KUSTOMIZATION_NAMES, kustomization_field};
use capstan_model::finding::Place;
use capstan_model::tree::{RepoPath, Tree};
use capstan_yaml::{Node, YamlFile};

use super::apply::{Apply, read_apply};
use super::post_build::PlacedVariable;

/// A Flux Kustomization with post-build substitution.
#[derive(Debug)]
pub(super) struct FluxKustomization {
    pub(super) file: RepoPath,
    pub(super) namespace: Option<String>,
    /// Where `spec.path` leads.
    pub(super) path: RepoPath,
    /// Whether its source is a Git repository, so that the path may be one of this one.
    pub(super) from_git: bool,
    /// `substitute`.
    pub(super) inline: Vec<(String, PlacedVariable)>,
    /// `substituteFrom`, in order.
    pub(super) from: Vec<From>,
}

/// One entry of `substituteFrom`.
#[derive(Debug, Clone)]
pub(super) struct From {
    pub(super) kind: FromKind,
    pub(super) name: String,
    pub(super) need: FluxNeed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FromKind {
    ConfigMap,
    Secret,
}

/// Whether Flux stops where the object does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FluxNeed {
    Required,
    Optional,
}

impl FromKind {
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word {
            "ConfigMap" => Some(Self::ConfigMap),
            "Secret" => Some(Self::Secret),
            _ => None,
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }
}

/// Reads a document. `None` if it is not a Kustomization that substitutes, or if its path is itself a template.
pub(super) fn read(path: &RepoPath, file: &YamlFile, root: &Node) -> Option<FluxKustomization> {
    let text = |node: &Node, key: &str| node.text_at(key).map(str::to_owned);
    let Apply { name, namespace, path: applied_path, from_git } = read_apply(root)?;
    let post_build = root.get("spec")?.get("postBuild")?;
    let inline = post_build.get("substitute").and_then(Node::as_mapping).unwrap_or_default();
    let inline = inline.iter().filter_map(|entry| {
        let value = entry.value.as_scalar()?;
        let position = file.position(entry.key_span.start);
        let given = PlacedVariable {
            text: Some(value.text.replace('\n', "")),
            place: Place::at(path.clone(), position),
            by: format!("Kustomization {name}"),
        };
        Some((entry.key.clone(), given))
    });
    let from = post_build.get("substituteFrom").and_then(Node::as_sequence).unwrap_or_default();
    let from = from.iter().filter_map(|item| {
        let optional = item.get("optional").map(Node::value) == Some(capstan_yaml::Value::Bool(true));
        Some(From {
            kind: FromKind::parse(item.get("kind")?.as_str()?)?,
            name: text(item, "name")?,
            need: if optional { FluxNeed::Optional } else { FluxNeed::Required },
        })
    });
    Some(FluxKustomization {
        file: path.clone(),
        namespace,
        path: applied_path,
        from_git,
        inline: inline.collect(),
        from: from.collect(),
    })
}

/// How much of a folder is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AppliedExtent {
    /// The files directly in it.
    Here,
    /// Everything below it: Flux generates a kustomization for it.
    Below,
}

/// The folders that building `start` reaches.
pub(crate) fn reached(tree: &dyn Tree, start: &RepoPath) -> Vec<(RepoPath, AppliedExtent)> {
    /// A kustomization that reaches more is not followed to its end.
    const MOST: usize = 1_000;
    let Some(first) = kustomization(tree, start) else { return vec![(start.clone(), AppliedExtent::Below)] };
    let mut found = vec![(start.clone(), AppliedExtent::Here)];
    let mut open = vec![(start.clone(), first)];
    while let Some((folder, file)) = open.pop() {
        let roots = file.documents().iter().map(|document| &document.root);
        let lists = roots.flat_map(|root| {
            INCLUDE_FIELDS.map(|field| kustomization_field(root, field).map(|entry| &entry.value))
        });
        for item in lists.flatten().flat_map(|list| list.as_sequence().unwrap_or_default()) {
            let Some(path) = item.as_str().and_then(|text| folder.join(text).ok()) else { continue };
            let is_file = tree.entry(&path).is_some();
            let target = if is_file { path.parent().unwrap_or_default() } else { path };
            if found.len() >= MOST || found.iter().any(|(known, _)| *known == target) {
                continue;
            }
            if !is_file && let Some(file) = kustomization(tree, &target) {
                open.push((target.clone(), file));
            }
            found.push((target, AppliedExtent::Here));
        }
    }
    found
}

fn kustomization(tree: &dyn Tree, folder: &RepoPath) -> Option<YamlFile> {
    let entry = KUSTOMIZATION_NAMES.iter().find_map(|name| tree.entry(&folder.join(name).ok()?))?;
    YamlFile::read_bytes(&tree.read(entry).ok()?).ok()
}
