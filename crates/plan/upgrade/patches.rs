//! Patches of the kustomizations of a cluster: where they are, and which objects they are for.
//!
//! Of labels and annotations by which a patch selects, only those count that the object has in the repository. What a
//! kustomization or an earlier patch adds is not considered.

use super::moved_fields::put;
use super::request::UpgradeRequest;
use super::retarget::{is_object, items, matches, text};
use crate::merge::cluster_objects::Base;
use capstan_kustomize::render::{PATCH_FIELDS, is_kustomization, meets_selector};
use capstan_model::finding::{Place, Position};
use capstan_model::object::{FieldPath, ObjectId, Step};
use capstan_model::tree::RepoPath;
use capstan_yaml::{Node, ScalarStyle, YamlFile};
use std::collections::BTreeSet;

/// Where a patch is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PatchPlace {
    /// Index into the files.
    pub(super) file: usize,
    /// Index into the file's documents.
    pub(super) document: usize,
    /// Of a patch within a kustomization: the field with its text, and the document of that text.
    pub(super) within: Option<(FieldPath, usize)>,
}

/// A patch of an object.
pub(super) struct FoundPatch<'f> {
    pub(super) root: &'f Node,
    pub(super) at: PatchPlace,
    pub(super) by: PatchTarget,
}

/// What says which objects a patch is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchTarget {
    /// The patch itself: version, kind and name.
    Itself,
    /// The `target` beside the patch.
    Selector,
}

/// Whether patches are edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchEdits {
    Written,
    Suggested,
}

/// Which files beside kustomizations count as patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlainFiles {
    /// All: a file that no kustomization names yet may be meant as a patch.
    All,
    /// Those that a kustomization of the folder names, if it has one.
    Applied,
}

/// Files of one folder in which patches are.
pub(super) struct Patches<'p> {
    pub(super) files: Vec<(&'p YamlFile, &'p RepoPath)>,
    /// What each of these files has under the keys of patches, where it is a kustomization.
    pub(super) items: Vec<Option<Vec<PatchItem<'p>>>>,
    /// Files that a kustomization names as patches.
    named: BTreeSet<RepoPath>,
}

/// A patch that a kustomization names or has within it.
pub(super) struct PatchItem<'p> {
    pub(super) selector: Option<&'p Node>,
    /// The document of the kustomization, and the item's field in it.
    pub(super) at: (usize, FieldPath),
    form: PatchForm<'p>,
}

enum PatchForm<'p> {
    File(&'p str),
    Inline { node: &'p Node, field: FieldPath, inner: YamlFile },
}

impl<'p> Patches<'p> {
    /// Those of the overlay, and those of the base where the release brings none.
    pub(super) fn of(request: &'p UpgradeRequest<'_>, base: &'p Base, overlay: &'p [YamlFile]) -> [Self; 2] {
        let overlay = overlay.iter().zip(&request.cluster.overlay);
        let overlay = overlay.map(|(file, source)| (file, &source.path)).collect();
        let is_patch = |at: &usize| is_kustomization(&base.files[*at].path) || !base.counts(*at);
        let own =
            (0..base.files.len()).filter(is_patch).map(|at| (&base.files[at].yaml, &base.files[at].path));
        let brings_them = !request.new.documents().kustomizations.is_empty();
        let own = own.filter(|_| !brings_them).collect();
        [overlay, own].map(Self::in_files)
    }

    fn in_files(files: Vec<(&'p YamlFile, &'p RepoPath)>) -> Self {
        let mut named = BTreeSet::new();
        let mut items_of = |(file, path): &(&'p YamlFile, &'p RepoPath)| {
            is_kustomization(path).then(|| {
                let documents = file.documents().iter().enumerate();
                documents.flat_map(|(at, one)| patch_items((at, &one.root), path, &mut named)).collect()
            })
        };
        let items = files.iter().map(&mut items_of).collect();
        Self { files, items, named }
    }

    /// Shows every patch of an object.
    pub(super) fn each_of(
        &self,
        object: (&ObjectId, &Node),
        plain: PlainFiles,
        see: &mut dyn FnMut(&FoundPatch<'_>),
    ) {
        let mut selected = BTreeSet::new();
        for (file, items) in self.items.iter().enumerate() {
            for item in items.iter().flatten() {
                self.each_of_item(file, item, object, &mut |patch| {
                    if selected.insert(patch.at.clone()) {
                        see(patch);
                    }
                });
            }
        }
        let is_built = plain == PlainFiles::Applied && self.items.iter().any(Option::is_some);
        for (file, &(yaml, path)) in self.files.iter().enumerate() {
            if self.items[file].is_some() || is_built && !self.named.contains(path) {
                continue;
            }
            for (document, content) in yaml.documents().iter().enumerate() {
                let at = PatchPlace { file, document, within: None };
                if is_object(&content.root, object.0) && !selected.contains(&at) {
                    see(&FoundPatch { root: &content.root, at, by: PatchTarget::Itself });
                }
            }
        }
    }

    /// Shows what one item of a kustomization has for an object; a file that the item names without a selector has its
    /// patches on its own.
    pub(super) fn each_of_item(
        &self,
        file: usize,
        PatchItem { selector, at: (document, _), form }: &PatchItem<'_>,
        (id, was): (&ObjectId, &Node),
        see: &mut dyn FnMut(&FoundPatch<'_>),
    ) {
        if selector.is_some_and(|selector| !selects(selector, id, was)) {
            return;
        }
        match form {
            PatchForm::File(named) if selector.is_some() => self.of_named_file(file, named, see),
            PatchForm::File(_) => {}
            PatchForm::Inline { field, inner, .. } => {
                let by = if selector.is_some() { PatchTarget::Selector } else { PatchTarget::Itself };
                for (inside, content) in inner.documents().iter().enumerate() {
                    if by == PatchTarget::Selector || is_object(&content.root, id) {
                        let at =
                            PatchPlace { file, document: *document, within: Some((field.clone(), inside)) };
                        see(&FoundPatch { root: &content.root, at, by });
                    }
                }
            }
        }
    }

    /// A patch in a file of its own, for what a selector names.
    fn of_named_file(&self, kustomization: usize, named: &str, see: &mut dyn FnMut(&FoundPatch<'_>)) {
        let path = self.files[kustomization].1.parent().unwrap_or_default().join(named).ok();
        let Some(file) = self.files.iter().position(|(_, own)| Some(*own) == path.as_ref()) else { return };
        for (document, content) in self.files[file].0.documents().iter().enumerate() {
            let at = PatchPlace { file, document, within: None };
            see(&FoundPatch { root: &content.root, at, by: PatchTarget::Selector });
        }
    }

    /// The text of a patch within a kustomization, read.
    pub(super) fn inner(&self, file: usize, field: &FieldPath) -> Option<(&'p Node, &YamlFile)> {
        self.items.get(file)?.iter().flatten().find_map(|item| match &item.form {
            PatchForm::Inline { node, field: own, inner } if own == field => Some((*node, inner)),
            _ => None,
        })
    }

    /// The file or the text that a patch is a document of, and which document.
    pub(super) fn text_of(&self, at: &PatchPlace) -> Option<(&YamlFile, usize)> {
        match &at.within {
            None => Some((self.files.get(at.file)?.0, at.document)),
            Some((field, inside)) => Some((self.inner(at.file, field)?.1, *inside)),
        }
    }

    /// Where a person finds a field of a part of a patch.
    pub(super) fn place(&self, at: &PatchPlace, part: &Node, field: &FieldPath) -> Place {
        let (file, path) = self.files[at.file];
        match at.within.as_ref().and_then(|(of, _)| self.inner(at.file, of)) {
            Some((node, inner)) => Inline { file, path, node, inner }.place(part, field),
            None => place_in(file, path, part, field),
        }
    }
}

/// The patches of a kustomization; the files that it names as such go into `named`.
fn patch_items<'p>(
    (document, root): (usize, &'p Node),
    path: &RepoPath,
    named: &mut BTreeSet<RepoPath>,
) -> Vec<PatchItem<'p>> {
    let mut found = Vec::new();
    for key in PATCH_FIELDS {
        for (index, item) in items(root, key).enumerate() {
            let field = FieldPath::root().key(key).index(index);
            let (selector, at) = (item.get("target"), (document, field.clone()));
            let file = text(item, "path");
            let inline = match item.get("patch") {
                Some(patch) => Some((patch, field.key("patch"))),
                None => item.as_scalar().is_some().then_some((item, field)),
            };
            let inline = inline.and_then(|(node, field)| Some((node, field, node.as_scalar()?)));
            let is_text = |text: &str| text.contains([':', '{']);
            let name = file
                .or_else(|| inline.as_ref().map(|(.., own)| own.text.as_str()).filter(|text| !is_text(text)));
            let folder = path.parent().unwrap_or_default();
            named.extend(name.and_then(|name| folder.join(name).ok()));
            if let Some(file) = file {
                found.push(PatchItem { selector, at, form: PatchForm::File(file) });
            } else if let Some((node, field, scalar)) = inline.filter(|(.., scalar)| is_text(&scalar.text))
                && let Ok(inner) = YamlFile::read(&scalar.text)
            {
                found.push(PatchItem { selector, at, form: PatchForm::Inline { node, field, inner } });
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
    /// The place of a field of the text in the file: the text's own line where it is a block.
    fn place(&self, node: &Node, field: &FieldPath) -> Place {
        let start = self.file.position(self.node.span.start);
        let is_block = self
            .node
            .as_scalar()
            .is_some_and(|scalar| matches!(scalar.style, ScalarStyle::Literal | ScalarStyle::Folded));
        if !is_block {
            return Place::at(self.path.clone(), start);
        }
        let line = position_in(self.inner, node, field).line;
        Place::line_of(self.path.clone(), start.line.saturating_add(line)).at_first_column()
    }
}

/// The place of a field's key in its file, or of its nearest ancestor.
pub(super) fn place_in(file: &YamlFile, path: &RepoPath, root: &Node, field: &FieldPath) -> Place {
    Place::at(path.clone(), position_in(file, root, field))
}

fn position_in(file: &YamlFile, root: &Node, field: &FieldPath) -> Position {
    let key = |path: &FieldPath| {
        let parent = root.at(&path.parent()?)?;
        let Step::Key(key) = path.steps().last()? else { return None };
        parent.entry(key).map(|entry| entry.key_span.start)
    };
    let at = |path: FieldPath| key(&path).or_else(|| root.at(&path).map(|node| node.span.start));
    let found = std::iter::successors(Some(field.clone()), FieldPath::parent).find_map(at);
    file.position(found.unwrap_or(root.span.start))
}

/// Whether a patch's `target`, whose texts are patterns, selects an object.
pub(super) fn selects(selector: &Node, id: &ObjectId, was: &Node) -> bool {
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
        && fits("version", short_version(was))
        && fits("name", &id.name)
        && id.namespace.as_deref().is_none_or(|namespace| fits("namespace", namespace))
}

/// The version of an object without its group.
pub(super) fn short_version(object: &Node) -> &str {
    let version = text(object, "apiVersion").unwrap_or_default();
    version.rsplit_once('/').map_or(version, |(_, short)| short)
}

/// What a strategic patch may leave out, since the `target` beside it says which objects it is for.
pub(super) const LENT: [&str; 2] = ["apiVersion", "kind"];

/// A strategic patch with the version and the kind of the object that it is for.
pub(super) fn lent(patch: &Node, was: &Node) -> Node {
    let mut fragment = patch.clone();
    for key in LENT {
        if let (None, Some(own)) = (patch.get(key), was.get(key)) {
            put(&mut fragment, FieldPath::root().key(key).steps(), own.clone());
        }
    }
    fragment
}
