//! What a plan does when the release gives its objects new namespaces ([U2]): never half of it.
//!
//! The objects stay where they are. Where the release means a place of its own for all of them, that is
//! a note; where it means other objects, the upgrade blocks, and so it does where only references would
//! follow.
//!
//! [U2]: crate::merge::matching#u2

use super::context::Context;
use super::said::UpgradeReport;
use crate::merge::cluster_merge::ClusterMerge;
use crate::merge::cluster_merge::{NamespaceChange, NamespaceMeaning};
use crate::merge::cluster_objects::Base;
use crate::merge::nodes::text;
use capstan_model::file_change::FileChange;
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::names;
use capstan_model::object::{FieldPath, ObjectId, Step};
use capstan_yaml::manifest::identity;
use capstan_yaml::{Node, NodeKind, YamlFile, manifest};

/// Says which namespaces the release adds, changes or drops, and blocks where that means other objects.
pub(super) fn namespaces(context: Context<'_>, merge: &ClusterMerge, said: &mut UpgradeReport) {
    let (placeholders, others): (Vec<&NamespaceChange>, Vec<&NamespaceChange>) =
        merge.namespaces.iter().partition(|change| change.meaning == NamespaceMeaning::Placeholder);
    for change in others {
        let id = context.base.objects[change.object].id.clone();
        let was = change.old.as_ref().map_or_else(
            || "without a namespace before".to_owned(),
            |old| format!("in namespace {old} before"),
        );
        let own = id.namespace.as_ref().map_or_else(
            || "names no namespace in this cluster".to_owned(),
            |own| format!("is in {own} in this cluster"),
        );
        let (kind, name) = (&id.kind, &id.name);
        let (message, blocked) = match &change.new {
            Some(new) => (
                format!(
                    "The release puts {kind} {name} into namespace {new} ({was}); it {own}. In another namespace it is another object, and the existing one would be deleted or left unmanaged. Remove the namespace from the release, or move the object by hand."
                ),
                format!("The release puts {kind} {name} into namespace {new}: that is another object."),
            ),
            None => (
                format!(
                    "The release leaves out the namespace of {kind} {name} ({was}); it {own}, and this cluster's other objects are not. In another namespace it is another object, and the existing one would be deleted or left unmanaged. Add the namespace to the release again, or move the object by hand."
                ),
                format!("The release leaves out the namespace of {kind} {name}: that is another object."),
            ),
        };
        let metadata = FieldPath::root().key("metadata");
        let path = metadata.key("namespace");
        let node = context.base.node(change.object);
        let at = node.at(&path).or_else(|| node.at(&metadata)).unwrap_or(node).span.start;
        let rule = rules::NAMESPACE_CHANGED;
        said.block(context.finding_at(rule, message, change.object, at, &path), blocked);
    }
    if let Some(first) = placeholders.first() {
        let own = context.base.objects[first.object].id.namespace.clone().unwrap_or_default();
        let names: Vec<String> = placeholders
            .iter()
            .map(|change| {
                let id = &context.base.objects[change.object].id;
                format!("{} {}", id.kind, id.name)
            })
            .collect();
        let was = first.old.as_deref().unwrap_or("none");
        said.notes.push(format!(
            "The release writes namespace {} where it wrote {was}. This cluster is in {own}, and its objects stay there: {}.",
            first.new.as_deref().unwrap_or("none"),
            names.join(", ")
        ));
    }
}

/// References that the upgrade would turn to another namespace than the one of the object that they name.
pub(super) fn half_moved(base: &Base, intended: &[FileChange]) -> Vec<(Finding, String)> {
    let mut after: Vec<(ObjectId, Node)> = Vec::new();
    for text in intended.iter().filter_map(|change| change.after.as_ref()) {
        let Ok(file) = YamlFile::read(text.as_str()) else { continue };
        for document in file.documents() {
            let objects = manifest::objects(&document.root).into_iter();
            after.extend(objects.filter_map(|(_, node)| Some((identity(node)?, node.clone()))));
        }
    }
    let mut found = Vec::new();
    for (id, node) in &after {
        let Some(object) = base.objects.iter().position(|object| object.id == *id) else { continue };
        let before = base.node(object);
        let mut named = Vec::new();
        references(node, &FieldPath::root(), &mut named);
        for reference in named {
            let place = reference.path.key("namespace");
            let was = before.at(&place).and_then(Node::as_scalar).map(|scalar| scalar.text.as_str());
            if was == Some(reference.namespace) || id.namespace.as_deref() == Some(reference.namespace) {
                continue;
            }
            let fits = |other: &&ObjectId| other.name == reference.name && reference.may_be(&other.kind);
            let known: Vec<&ObjectId> =
                base.objects.iter().map(|object| &object.id).chain(after.iter().map(|(id, _)| id)).collect();
            let there = |other: &ObjectId| other.namespace.as_deref() == Some(reference.namespace);
            let meant: Vec<&ObjectId> = known.into_iter().filter(fits).collect();
            let Some(left) = meant.first().filter(|_| !meant.iter().any(|other| there(other))) else {
                continue;
            };
            let message = format!(
                "The release changes {} of {id} to namespace {}, but {left} stays where it is, so the reference would name nothing or another object. Remove the namespace from the release, or move the object by hand.",
                reference.path, reference.namespace
            );
            let at = std::iter::successors(Some(reference.path.clone()), FieldPath::parent)
                .find_map(|path| before.at(&path))
                .map_or(before.span.start, |node| node.span.start);
            let finding = Finding::new(rules::NAMESPACE_CHANGED, message)
                .place(base.place(object, at))
                .object(id)
                .path(&place);
            let reason = format!(
                "The release changes {} of {id} to namespace {}, which does not have {} {}.",
                reference.path, reference.namespace, left.kind, left.name
            );
            found.push((finding, reason));
        }
    }
    found
}

/// A field that names an object with its namespace.
struct NamespaceField<'n> {
    path: FieldPath,
    kind: Option<&'n str>,
    name: &'n str,
    namespace: &'n str,
}

impl NamespaceField<'_> {
    /// Whether an object of that kind may be meant. What says no kind names a class, or mostly a Secret.
    fn may_be(&self, kind: &str) -> bool {
        let is_class = || matches!(self.path.steps().last(), Some(Step::Key(key)) if key == "classRef");
        match self.kind {
            Some(named) => named == kind,
            None if is_class() => kind == names::CLUSTER_CLASS,
            None => matches!(kind, "Secret" | "ConfigMap"),
        }
    }
}

fn references<'n>(node: &'n Node, path: &FieldPath, found: &mut Vec<NamespaceField<'n>>) {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let is_metadata = path.steps().len() == 1 && *path == FieldPath::root().key("metadata");
            if let (Some(name), Some(namespace)) = (text(node, "name"), text(node, "namespace"))
                && !is_metadata
            {
                found.push(NamespaceField { path: path.clone(), kind: text(node, "kind"), name, namespace });
            }
            entries.iter().for_each(|entry| references(&entry.value, &path.key(&entry.key), found));
        }
        NodeKind::Sequence(items) => {
            items.iter().enumerate().for_each(|(at, item)| references(item, &path.index(at), found));
        }
        NodeKind::Scalar(_) => {}
    }
}
