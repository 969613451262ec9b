//! Patches of kustomizations that name a field of an API version which the upgrade leaves ([U7a], [U11]). The
//! overlay is the customer's and is never written: each such field is named, with what it is in the newer
//! version. So are those of the base, where the release has no kustomization that brings its patches.
//!
//! Of labels and annotations by which a patch selects, only those count that the object has in the repository. What a
//! kustomization or an earlier patch adds is not considered.
//!
//! [U7a]: crate::merge::converted#u7a
//! [U11]: crate::policy#u11

use std::collections::BTreeSet;

use super::context::Context;
use super::moved_fields::{MovedField, There, fate_of, moved_fields, put};
use super::request::Request;
use super::retarget::{is_object, items, matches, text};
use crate::merge::cluster_merge::ClusterMerge;
use crate::merge::cluster_objects::Base;
use capstan_kustomize::render::{PATCH_FIELDS, is_kustomization, meets_selector};
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
    if base.converted.is_empty() {
        return findings;
    }
    let [overlay, own] = Patches::of(context.request, base, context.overlay);
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

/// What the patches of the overlay and of the base say: it is there, whatever the base's files say.
pub(super) struct SaidByPatches<'p>([Patches<'p>; 2]);

impl<'p> SaidByPatches<'p> {
    pub(super) fn of(request: &'p Request<'_>, base: &'p Base, overlay: &'p [YamlFile]) -> Self {
        Self(Patches::of(request, base, overlay))
    }

    /// The fields that they say of an object.
    pub(super) fn fields(&self, base: &Base, object: usize) -> BTreeSet<FieldPath> {
        let mut said = BTreeSet::new();
        for patches in &self.0 {
            let id = &base.objects[object].id;
            patches.each_of((id, base.node(object)), PlainFiles::Applied, &mut |patch, _| {
                said_in(patch, &mut said)
            });
        }
        said
    }
}

fn said_in(patch: &Node, said: &mut BTreeSet<FieldPath>) {
    let Some(operations) = patch.as_sequence() else {
        return fields_of(&FieldPath::root(), patch, said);
    };
    for operation in operations.iter().filter(|one| matches!(text(one, "op"), Some("add" | "replace"))) {
        let Some(path) = text(operation, "path").and_then(FieldPath::parse) else { continue };
        if let Some(value) = operation.get("value") {
            fields_of(&path, value, said);
        }
    }
}

/// A field and those below it that are said. A list is said as a whole.
fn fields_of(path: &FieldPath, node: &Node, said: &mut BTreeSet<FieldPath>) {
    if node.is_null() || node.get("$patch").is_some() {
        return;
    }
    said.insert(path.clone());
    for entry in node.as_mapping().unwrap_or_default() {
        fields_of(&path.key(&entry.key), &entry.value, said);
    }
}

/// What a patch is shown with: where one of its fields is.
type PlaceOf<'p> = &'p dyn Fn(&Node, &MovedField) -> Place;

/// Which files beside kustomizations count as patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlainFiles {
    /// All: a file that no kustomization names yet may be meant as a patch.
    All,
    /// Those that a kustomization of the folder names, if it has one.
    Applied,
}

/// Files of one folder in which patches are.
struct Patches<'p> {
    files: Vec<(&'p YamlFile, &'p RepoPath)>,
    /// What each of these files has under the keys of patches, where it is a kustomization.
    items: Vec<Option<Vec<PatchItem<'p>>>>,
    /// Files that a kustomization names as patches.
    named: BTreeSet<RepoPath>,
    schemas: &'p Schemas,
}

/// A patch that a kustomization names or has within it.
struct PatchItem<'p> {
    selector: Option<&'p Node>,
    form: PatchForm<'p>,
}

enum PatchForm<'p> {
    File(&'p str),
    Inline { node: &'p Node, inner: YamlFile },
}

impl<'p> Patches<'p> {
    /// Those of the overlay, and those of the base where the release brings none.
    fn of(request: &'p Request<'_>, base: &'p Base, overlay: &'p [YamlFile]) -> [Self; 2] {
        let overlay = overlay.iter().zip(&request.cluster.overlay);
        let overlay = overlay.map(|(file, source)| (file, &source.path)).collect();
        let is_patch = |at: &usize| is_kustomization(&base.files[*at].path) || !base.counts(*at);
        let own =
            (0..base.files.len()).filter(is_patch).map(|at| (&base.files[at].yaml, &base.files[at].path));
        let brings_them = !request.new.documents().kustomizations.is_empty();
        let own = own.filter(|_| !brings_them).collect();
        [overlay, own].map(|files| Self::in_files(files, request.schemas))
    }

    fn in_files(files: Vec<(&'p YamlFile, &'p RepoPath)>, schemas: &'p Schemas) -> Self {
        let mut named = BTreeSet::new();
        let mut items_of = |(file, path): &(&'p YamlFile, &'p RepoPath)| {
            is_kustomization(path).then(|| {
                let roots = file.documents().iter().map(|document| &document.root);
                roots.flat_map(|root| patch_items(root, path, &mut named)).collect()
            })
        };
        let items = files.iter().map(&mut items_of).collect();
        Self { files, items, named, schemas }
    }

    fn mentions_of(&self, target: &ConvertedObject<'_>) -> Vec<Mention> {
        let mut found = Vec::new();
        self.each_of((target.id, target.was), PlainFiles::All, &mut |patch, place| {
            found.extend(self.of_patch(patch, target, place))
        });
        found
    }

    /// Shows every patch of an object, with what tells where its fields are.
    fn each_of(
        &self,
        (id, was): (&ObjectId, &Node),
        plain: PlainFiles,
        see: &mut dyn FnMut(&Node, PlaceOf<'_>),
    ) {
        let is_built = plain == PlainFiles::Applied && self.items.iter().any(Option::is_some);
        for ((file, path), items) in self.files.iter().zip(&self.items) {
            let Some(items) = items else {
                let counts = !is_built || self.named.contains(*path);
                for document in file.documents().iter().filter(|_| counts) {
                    if is_object(&document.root, id) {
                        see(&document.root, &|node, moved| place_in(file, path, node, &moved.field));
                    }
                }
                continue;
            };
            for PatchItem { selector, form } in items {
                if selector.is_some_and(|selector| !selects(selector, id, was)) {
                    continue;
                }
                match form {
                    PatchForm::File(named) if selector.is_some() => self.of_named_file(path, named, id, see),
                    PatchForm::File(_) => {}
                    PatchForm::Inline { node, inner } => {
                        let within = Inline { file, path, node, inner };
                        within.each_of(id, selector.is_some(), see);
                    }
                }
            }
        }
    }

    /// A patch in a file of its own, for what a selector names.
    fn of_named_file(
        &self,
        kustomization: &RepoPath,
        named: &str,
        id: &ObjectId,
        see: &mut dyn FnMut(&Node, PlaceOf<'_>),
    ) {
        let path = kustomization.parent().unwrap_or_default().join(named).ok();
        let is_it = |(_, own): &&(&YamlFile, &RepoPath)| Some(*own) == path.as_ref();
        let Some((file, path)) = self.files.iter().find(is_it).copied() else { return };
        // What names the object itself is found as a patch of its own.
        for document in file.documents().iter().filter(|document| !is_object(&document.root, id)) {
            see(&document.root, &|node, moved| place_in(file, path, node, &moved.field));
        }
    }

    fn of_patch(&self, root: &Node, target: &ConvertedObject<'_>, place: PlaceOf<'_>) -> Vec<Mention> {
        match &root.kind {
            NodeKind::Sequence(operations) => {
                operations.iter().flat_map(|operation| self.of_operation(operation, target, place)).collect()
            }
            _ => self.of_fragment(root, target, place),
        }
    }

    /// A strategic merge patch, whose fields are those of the object.
    fn of_fragment(&self, root: &Node, target: &ConvertedObject<'_>, place: PlaceOf<'_>) -> Vec<Mention> {
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
        place: PlaceOf<'_>,
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

/// The patches of a kustomization; the files that it names as such go into `named`.
fn patch_items<'p>(root: &'p Node, path: &RepoPath, named: &mut BTreeSet<RepoPath>) -> Vec<PatchItem<'p>> {
    let mut found = Vec::new();
    for key in PATCH_FIELDS {
        for item in items(root, key) {
            let selector = item.get("target");
            let file = text(item, "path");
            let inline = item.get("patch").or_else(|| item.as_scalar().is_some().then_some(item));
            let inline = inline.and_then(|node| Some((node, node.as_scalar()?)));
            let is_text = |text: &str| text.contains([':', '{']);
            let name =
                file.or_else(|| inline.map(|(_, scalar)| scalar.text.as_str()).filter(|text| !is_text(text)));
            let folder = path.parent().unwrap_or_default();
            named.extend(name.and_then(|name| folder.join(name).ok()));
            if let Some(file) = file {
                found.push(PatchItem { selector, form: PatchForm::File(file) });
            } else if let Some((node, scalar)) = inline.filter(|(_, scalar)| is_text(&scalar.text))
                && let Ok(inner) = YamlFile::read(&scalar.text)
            {
                found.push(PatchItem { selector, form: PatchForm::Inline { node, inner } });
            }
        }
    }
    found
}

/// A patch written as text inside of a kustomization.
struct Inline<'p> {
    file: &'p YamlFile,
    path: &'p RepoPath,
    node: &'p Node,
    inner: &'p YamlFile,
}

impl Inline<'_> {
    fn each_of(&self, id: &ObjectId, is_selected: bool, see: &mut dyn FnMut(&Node, PlaceOf<'_>)) {
        for document in self.inner.documents() {
            if is_selected || is_object(&document.root, id) {
                see(&document.root, &|node, moved| self.place(self.inner, node, &moved.field));
            }
        }
    }

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
fn selects(selector: &Node, id: &ObjectId, was: &Node) -> bool {
    let fits = |key: &str, value: &str| text(selector, key).is_none_or(|pattern| matches(pattern, value));
    let meets = |key: &str, field: &str| {
        let marks = was.get("metadata").and_then(|metadata| metadata.get(field));
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
