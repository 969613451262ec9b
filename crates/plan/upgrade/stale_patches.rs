//! Patches of kustomizations that name a field of an API version which the upgrade leaves ([U7a], [U11]). The
//! overlay is the customer's and is never written: each such field is named, with what it is in the newer
//! version. So are those of the base, where the release has no kustomization that brings its patches.
//!
//! Of labels and annotations by which a patch selects, only those count that the object has in the repository. What a
//! kustomization or an earlier patch adds is not considered.
//!
//! [U7a]: crate::merge::converted#u7a
//! [U11]: crate::policy#u11

use super::context::Context;
use super::moved_fields::{MovedField, There, fate_of, moved_fields, put};
use super::retarget::{is_object, items, matches, text};
use crate::merge::cluster_merge::ClusterMerge;
use capstan_kustomize::render::{is_kustomization, meets_selector};
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::{Finding, Place, Position, rules};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::tree::RepoPath;
use capstan_yaml::{Node, NodeKind, ScalarStyle, YamlFile};

/// An object that comes to another API version.
struct ConvertedObject<'p> {
    id: &'p ObjectId,
    /// As it is in the repository.
    was: &'p Node,
    version: &'p str,
}

/// A field that a patch names, and where a person finds it.
struct Mention {
    moved: MovedField,
    place: Place,
}

/// Names what patches of the overlay say in the words of the version before, and patches of the base.
pub(super) fn stale_patches(context: Context<'_>, merge: &ClusterMerge) -> Vec<Finding> {
    let (base, mut findings) = (context.base, Vec::new());
    let schemas = context.request.schemas;
    let overlay = context.overlay.iter().zip(&context.request.cluster.overlay);
    let overlay = Patches { files: overlay.map(|(file, source)| (file, &source.path)).collect(), schemas };
    let is_patch = |at: &usize| is_kustomization(&base.files[*at].path) || !base.counts(*at);
    let own = (0..base.files.len()).filter(is_patch).map(|at| (&base.files[at].yaml, &base.files[at].path));
    let brings_them = !context.request.new.documents().kustomizations.is_empty();
    let own = Patches { files: own.filter(|_| !brings_them).collect(), schemas };
    let converted = base.converted.iter().filter(|(object, _)| !merge.drops(**object));
    for (object, converted) in converted {
        let Some(version) = text(base.node(*object), "apiVersion") else { continue };
        let target = ConvertedObject { id: &base.objects[*object].id, was: &converted.was, version };
        let says = |field: &FieldPath, there: &There| {
            format!(
                "This patch is for {field} of {}, which the upgrade converts to {version}. There the field {there}, so the patch fails or has no effect after the upgrade. Write it for {version} in the same change.",
                target.id
            )
        };
        let finding = |rule, Mention { moved: MovedField { field, there }, place }: Mention| {
            Finding::new(rule, says(&field, &there)).place(place).object(target.id).path(&field)
        };
        let of_overlay = overlay.mentions_of(&target).into_iter();
        findings.extend(of_overlay.map(|mention| finding(rules::OVERLAY_LOSES_TARGET, mention)));
        let of_base = own.mentions_of(&target).into_iter();
        findings.extend(of_base.map(|mention| finding(rules::API_VERSION_LEAVES_FIELD, mention).blocking()));
    }
    findings
}

/// Files of one folder in which patches are.
struct Patches<'p> {
    files: Vec<(&'p YamlFile, &'p RepoPath)>,
    schemas: &'p Schemas,
}

impl Patches<'_> {
    fn mentions_of(&self, target: &ConvertedObject<'_>) -> Vec<Mention> {
        let mut found = Vec::new();
        for (file, path) in &self.files {
            for document in file.documents() {
                if is_kustomization(path) {
                    self.of_kustomization(file, path, &document.root, target, &mut found);
                } else if is_object(&document.root, target.id) {
                    let place = |node: &Node, moved: &MovedField| place_in(file, path, node, &moved.field);
                    found.extend(self.of_fragment(&document.root, target, &place));
                }
            }
        }
        found
    }

    fn of_kustomization(
        &self,
        file: &YamlFile,
        path: &RepoPath,
        root: &Node,
        target: &ConvertedObject<'_>,
        found: &mut Vec<Mention>,
    ) {
        for key in ["patches", "patchesJson6902", "patchesStrategicMerge"] {
            for item in items(root, key) {
                let selector = item.get("target");
                if selector.is_some_and(|selector| !selects(selector, target)) {
                    continue;
                }
                let inline = item.get("patch").or_else(|| (item.as_scalar().is_some()).then_some(item));
                if let Some(named) = text(item, "path") {
                    if selector.is_some() {
                        found.extend(self.of_named_file(path, named, target));
                    }
                } else if let Some(inline) = inline {
                    let within = Inline { file, path, node: inline };
                    found.extend(self.of_inline(&within, selector.is_some(), target));
                }
            }
        }
    }

    /// A patch in a file of its own, for what a selector names.
    fn of_named_file(
        &self,
        kustomization: &RepoPath,
        named: &str,
        target: &ConvertedObject<'_>,
    ) -> Vec<Mention> {
        let path = kustomization.parent().unwrap_or_default().join(named).ok();
        let is_it = |(_, own): &&(&YamlFile, &RepoPath)| Some(*own) == path.as_ref();
        let Some((file, path)) = self.files.iter().find(is_it).copied() else { return Vec::new() };
        let mut found = Vec::new();
        for document in file.documents() {
            let place = |node: &Node, moved: &MovedField| place_in(file, path, node, &moved.field);
            // What names the object itself is found as a patch of its own.
            if !is_object(&document.root, target.id) {
                found.extend(self.of_patch(&document.root, target, &place));
            }
        }
        found
    }

    fn of_inline(
        &self,
        within: &Inline<'_>,
        is_selected: bool,
        target: &ConvertedObject<'_>,
    ) -> Vec<Mention> {
        let Some(scalar) = within.node.as_scalar().filter(|scalar| scalar.text.contains([':', '{'])) else {
            return Vec::new();
        };
        let Ok(inner) = YamlFile::read(&scalar.text) else { return Vec::new() };
        let mut found = Vec::new();
        for document in inner.documents() {
            let place = |node: &Node, moved: &MovedField| within.place(&inner, node, &moved.field);
            if is_selected || is_object(&document.root, target.id) {
                found.extend(self.of_patch(&document.root, target, &place));
            }
        }
        found
    }

    fn of_patch(
        &self,
        root: &Node,
        target: &ConvertedObject<'_>,
        place: &dyn Fn(&Node, &MovedField) -> Place,
    ) -> Vec<Mention> {
        match &root.kind {
            NodeKind::Sequence(operations) => {
                operations.iter().flat_map(|operation| self.of_operation(operation, target, place)).collect()
            }
            _ => self.of_fragment(root, target, place),
        }
    }

    /// A strategic merge patch, whose fields are those of the object.
    fn of_fragment(
        &self,
        root: &Node,
        target: &ConvertedObject<'_>,
        place: &dyn Fn(&Node, &MovedField) -> Place,
    ) -> Vec<Mention> {
        let mut fragment = root.clone();
        for key in ["apiVersion", "kind"] {
            if let (None, Some(own)) = (root.get(key), target.was.get(key)) {
                put(&mut fragment, FieldPath::root().key(key).steps(), own.clone());
            }
        }
        let moved = moved_fields(&fragment, target.version, self.schemas);
        moved.into_iter().map(|moved| Mention { place: place(root, &moved), moved }).collect()
    }

    /// One operation of a JSON patch (RFC 6902).
    fn of_operation(
        &self,
        operation: &Node,
        target: &ConvertedObject<'_>,
        place: &dyn Fn(&Node, &MovedField) -> Place,
    ) -> Vec<Mention> {
        let Some(field) = text(operation, "path").and_then(FieldPath::parse) else { return Vec::new() };
        let mut object = target.was.clone();
        if let Some(value) = operation.get("value") {
            put(&mut object, field.steps(), value.clone());
        }
        let pointer = MovedField { field: FieldPath::root().key("path"), there: There::Otherwise };
        let place = place(operation, &pointer);
        let moved = fate_of(&field, &object, target.version, self.schemas);
        moved.into_iter().map(|moved| Mention { moved, place: place.clone() }).collect()
    }
}

/// A patch written as text inside of a kustomization.
struct Inline<'p> {
    file: &'p YamlFile,
    path: &'p RepoPath,
    node: &'p Node,
}

impl Inline<'_> {
    /// The place of a field of the text in the file: the text's own line where it is a block.
    fn place(&self, inner: &YamlFile, node: &Node, field: &FieldPath) -> Place {
        let start = self.file.position(self.node.span.start);
        let is_block = self
            .node
            .as_scalar()
            .is_some_and(|scalar| matches!(scalar.style, ScalarStyle::Literal | ScalarStyle::Folded));
        if !is_block {
            return Place::at(self.path.clone(), start);
        }
        let line = position_in(inner, node, field).line;
        Place::line_of(self.path.clone(), start.line.saturating_add(line)).at_first_column()
    }
}

/// The place of a field's key in its file, or of its nearest ancestor.
fn place_in(file: &YamlFile, path: &RepoPath, root: &Node, field: &FieldPath) -> Place {
    Place::at(path.clone(), position_in(file, root, field))
}

fn position_in(file: &YamlFile, root: &Node, field: &FieldPath) -> Position {
    let key = |path: &FieldPath| {
        let parent = root.at(&path.parent()?)?;
        let capstan_model::object::Step::Key(key) = path.steps().last()? else { return None };
        parent.entry(key).map(|entry| entry.key_span.start)
    };
    let at = |path: FieldPath| key(&path).or_else(|| root.at(&path).map(|node| node.span.start));
    let found = std::iter::successors(Some(field.clone()), FieldPath::parent).find_map(at);
    file.position(found.unwrap_or(root.span.start))
}

/// Whether a patch's `target`, whose texts are patterns, selects an object.
fn selects(selector: &Node, target: &ConvertedObject<'_>) -> bool {
    let id = target.id;
    let fits = |key: &str, value: &str| text(selector, key).is_none_or(|pattern| matches(pattern, value));
    let meets = |key: &str, field: &str| {
        let marks = target.was.get("metadata").and_then(|metadata| metadata.get(field));
        let value = |key: &str| Some(marks?.get(key)?.as_scalar()?.text.clone());
        text(selector, key).is_none_or(|selector| meets_selector(selector, &value) == Some(true))
    };
    meets("labelSelector", "labels")
        && meets("annotationSelector", "annotations")
        && fits("kind", &id.kind)
        && fits("group", &id.group)
        && fits("name", &id.name)
        && id.namespace.as_deref().is_none_or(|namespace| fits("namespace", namespace))
}
