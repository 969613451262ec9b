//! Patches that name a rotated template ([U12]): in the base they follow; in the overlay, which belongs to
//! the customer, the upgrade blocks, or edits just that name where `retarget` was asked for.
//!
//! [U12]: crate::templates#u12

use std::collections::BTreeMap;

use regex::Regex;

use super::context::Context;
use super::draft::{Draft, edit_refused};
use super::model::{Change, ChangeReason};
use super::request::Retarget;
use super::said::UpgradeReport;
use crate::merge::cluster_objects::Base;
use crate::templates::naming_values;
use capstan_kustomize::render::{PATCH_FIELDS, is_kustomization};
use capstan_model::file_change::FileChange;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::{FieldPath, ObjectId, api_group};
use capstan_yaml::{DocumentEdit, Edit, Node, NodeKind, Value, YamlFile, edit};

/// Edits of the overlay: by file, then in order.
pub(super) type OverlayEdits = BTreeMap<usize, Vec<DocumentEdit>>;

/// A template that got a new name.
#[derive(Debug, Clone)]
pub(super) struct Rotated {
    pub(super) id: ObjectId,
    pub(super) new: String,
}

/// A place that names a template as the target of a patch or replacement.
#[derive(Debug)]
struct Mention {
    /// Where, in the document.
    path: FieldPath,
    /// The byte of the file that a person looks at.
    at: usize,
    how: How,
    role: MentionRole,
}

/// What a mention is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MentionRole {
    /// It selects what is patched.
    Target,
    /// It is a value that names the template.
    Value,
}

#[derive(Debug)]
enum How {
    /// The scalar is the name.
    Name,
    /// The scalar is YAML, and a document of it names the template.
    Within { document: usize, path: FieldPath },
    /// It selects the old name and not the new one, in a way that no single name replaces.
    Pattern,
}

/// What patches that target a rotated template come to: in the base they follow, in the overlay they block or
/// are edited.
pub(super) fn patches_follow(
    context: Context<'_>,
    rotated: &Rotated,
    draft: &mut Draft,
    overlay_edits: &mut OverlayEdits,
    said: &mut UpgradeReport,
) {
    base_patches_follow(context.base, rotated, draft);
    for (file, yaml) in context.overlay.iter().enumerate() {
        for (document, content) in yaml.documents().iter().enumerate() {
            for mention in mentions(&content.root, rotated) {
                let edits = overlay_edits.entry(file).or_default();
                let place = OverlayDocument { file, document };
                overlay_mention(context, place, &mention, rotated, edits, said);
                if edits.is_empty() {
                    overlay_edits.remove(&file);
                }
            }
        }
    }
}

fn base_patches_follow(base: &Base, rotated: &Rotated, draft: &mut Draft) {
    for object in base.kustomizations.clone() {
        let edits =
            mentions(base.node(object), rotated).into_iter().filter_map(|mention| mention.edit(&rotated.new));
        let edits: Vec<Edit> = edits.collect();
        if !edits.is_empty() {
            draft.edit_object(object, edits);
        }
    }
    for (at, file) in base.files.iter().enumerate() {
        if !base.has_kustomization() || base.counts(at) || is_kustomization(&file.path) {
            continue;
        }
        for (document, content) in file.yaml.documents().iter().enumerate() {
            for edit in
                mentions(&content.root, rotated).iter().filter_map(|mention| mention.edit(&rotated.new))
            {
                draft.edit_document(at, document, edit);
            }
        }
    }
}

/// A document of the overlay: the indices of its file and of itself.
#[derive(Clone, Copy)]
struct OverlayDocument {
    file: usize,
    document: usize,
}

fn overlay_mention(
    context: Context<'_>,
    OverlayDocument { file, document }: OverlayDocument,
    mention: &Mention,
    Rotated { id, new }: &Rotated,
    edits: &mut Vec<DocumentEdit>,
    said: &mut UpgradeReport,
) {
    let path = context.request.cluster.overlay[file].path.clone();
    let position = context.overlay[file].position(mention.at);
    let is_it = |edit: &DocumentEdit| matches!(edit, DocumentEdit::Edit { document: at, edit } if *at == document && *place_of(edit) == mention.path);
    let known = edits.iter().any(is_it);
    let within = matches!(mention.how, How::Within { .. });
    let edit = mention.edit(new).filter(|_| !known || within);
    match (context.request.retarget, edit) {
        (Retarget::Allowed, Some(edit)) => {
            if matches!(mention.how, How::Name) && mention.path == name_path() {
                said.changes.push(Change {
                    object: id.clone(),
                    place: Place::line_of(path, position.line),
                    path: name_path(),
                    old: Some(Value::from(id.name.as_str())),
                    new: Some(Value::from(new.as_str())),
                    from: None,
                    reason: ChangeReason::Reference,
                });
            }
            edits.push(DocumentEdit::Edit { document, edit });
        }
        (_, edit) => {
            let way_out = if edit.is_some() {
                "`/capstan retarget`, or `capstan upgrade --retarget`, edits only this name in the overlay. Or select the target of the patch by kind or label"
            } else {
                "This target is a pattern or selects several objects, so one name cannot replace it: select by kind or label, or name each object"
            };
            let (does, loss) = match mention.role {
                MentionRole::Target => ("patch targets", "the patch would be lost"),
                MentionRole::Value => ("value names", "the value would name the old one"),
            };
            let message = format!(
                "This {does} {} {}, which the upgrade renames to {new}, so {loss}. {way_out}.",
                id.kind, id.name
            );
            let place = Place::at(path, position);
            let reason = format!("The overlay patches {} {}, which gets a new name.", id.kind, id.name);
            said.block(Finding::new(rules::OVERLAY_NAMES_TEMPLATE, message).place(place), reason);
        }
    }
}

/// The overlay's files with their names edited; a file that cannot be is a finding.
pub(super) fn overlay_files(
    context: Context<'_>,
    overlay_edits: &OverlayEdits,
) -> (Vec<FileChange>, Vec<Finding>) {
    let (mut files, mut findings) = (Vec::new(), Vec::new());
    let none = Vec::new();
    for (file, (yaml, source)) in context.overlay.iter().zip(&context.request.cluster.overlay).enumerate() {
        let (edits, path, before) = (overlay_edits.get(&file).unwrap_or(&none), &source.path, source.text());
        // Its patches may have followed their objects to another version already.
        if edits.is_empty() && yaml.text() == before {
            continue;
        }
        match edit(yaml, edits) {
            Ok(edited) => files.push(FileChange {
                path: path.clone(),
                before: Some(before.to_owned()),
                after: Some(edited.text().to_owned()),
            }),
            Err(refused) => findings.push(edit_refused(path, &refused)),
        }
    }
    (files, findings)
}

fn name_path() -> FieldPath {
    FieldPath::root().key("metadata").key("name")
}

fn place_of(edit: &Edit) -> &FieldPath {
    match edit {
        Edit::Set { path, .. } | Edit::Remove { path } | Edit::Within { path, .. } => path,
        Edit::Insert { parent, .. } => parent,
        Edit::InsertItem { list, .. } => list,
    }
}

impl Mention {
    fn edit(&self, new: &str) -> Option<Edit> {
        let set = |path: &FieldPath| Edit::Set { path: path.clone(), node: Node::string(new) };
        match &self.how {
            How::Name => Some(set(&self.path)),
            How::Within { document, path } => {
                Some(Edit::Within { path: self.path.clone(), document: *document, edits: vec![set(path)] })
            }
            How::Pattern => None,
        }
    }
}

/// Where a document names an object: as a patch of its own, or as a kustomization's patches, replacements
/// and variables do. Fields in another case than kustomize's own are not looked into: the name stays there, and
/// with it what blocks the upgrade.
fn mentions(root: &Node, Rotated { id, new }: &Rotated) -> Vec<Mention> {
    let mut found = Vec::new();
    if is_object(root, id) {
        found.extend(name_at(root, &name_path()));
        return found;
    }
    found.extend(values(root, id).into_iter().filter_map(|(path, is_whole)| {
        let how = if is_whole { How::Name } else { How::Pattern };
        Some(Mention { at: root.at(&path)?.span.start, path, how, role: MentionRole::Value })
    }));
    for key in PATCH_FIELDS {
        for (at, item) in items(root, key).enumerate() {
            let path = FieldPath::root().key(key).index(at);
            if let Some(target) = item.get("target") {
                found.extend(selected(target, &path.key("target"), id, new));
                continue;
            }
            let (inline, path) = match item.get("patch") {
                Some(inline) => (inline, path.key("patch")),
                None => (item, path),
            };
            found.extend(within(inline, &path, id));
        }
    }
    for (at, item) in items(root, "replacements").enumerate() {
        found.extend(replacement(item, &FieldPath::root().key("replacements").index(at), id));
    }
    for (at, item) in items(root, "vars").enumerate() {
        let path = FieldPath::root().key("vars").index(at).key("objref");
        found.extend(item.get("objref").and_then(|object| exactly(object, &path, id)));
    }
    // A file that `replacements` names: one, or a list of them.
    if root.get("source").is_some() && root.get("targets").is_some() {
        found.extend(replacement(root, &FieldPath::root(), id));
    }
    for (at, item) in root.as_sequence().unwrap_or_default().iter().enumerate() {
        if item.get("source").is_some() && item.get("targets").is_some() {
            found.extend(replacement(item, &FieldPath::root().index(at), id));
        }
    }
    found
}

/// The values of a patch that name a template, and whether they are the name and nothing else.
fn values(root: &Node, id: &ObjectId) -> Vec<(FieldPath, bool)> {
    let group = text(root, "apiVersion").map(api_group).unwrap_or_default();
    let of_object = naming_values(group, text(root, "kind").unwrap_or_default(), root);
    let of_object = of_object.into_iter().filter(|value| value.means(id));
    let mut found: Vec<_> = of_object.map(|value| (value.path, value.text == id.name)).collect();
    for (at, operation) in root.as_sequence().unwrap_or_default().iter().enumerate() {
        let path = text(operation, "path").unwrap_or_default();
        let names = path.ends_with("/name") || path.contains("/variables/");
        if names && text(operation, "op").is_some() && text(operation, "value") == Some(&id.name) {
            found.push((FieldPath::root().index(at).key("value"), true));
        }
    }
    found
}

pub(super) fn items<'n>(root: &'n Node, key: &str) -> impl Iterator<Item = &'n Node> {
    root.get(key).and_then(Node::as_sequence).unwrap_or_default().iter()
}

pub(super) fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key).and_then(Node::as_scalar).map(|scalar| scalar.text.as_str())
}

pub(super) fn is_object(root: &Node, id: &ObjectId) -> bool {
    let metadata = root.get("metadata");
    text(root, "kind") == Some(&id.kind)
        && metadata.and_then(|metadata| text(metadata, "name")) == Some(&id.name)
        && text(root, "apiVersion").is_none_or(|version| api_group(version) == id.group)
        && match (metadata.and_then(|metadata| text(metadata, "namespace")), &id.namespace) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
}

fn name_at(root: &Node, path: &FieldPath) -> Option<Mention> {
    let node = root.at(path)?;
    Some(Mention { path: path.clone(), at: node.span.start, how: How::Name, role: MentionRole::Target })
}

/// A patch's `target`, whose texts are patterns.
fn selected(target: &Node, path: &FieldPath, id: &ObjectId, new: &str) -> Option<Mention> {
    let name = target.get("name")?;
    let pattern = name.as_scalar()?.text.as_str();
    let fits = |key: &str, value: &str| text(target, key).is_none_or(|pattern| matches(pattern, value));
    if !fits("kind", &id.kind) || !fits("group", &id.group) {
        return None;
    }
    let how = if pattern == id.name && text(target, "kind").is_some() {
        How::Name
    } else if matches(pattern, &id.name) && !matches(pattern, new) {
        How::Pattern
    } else {
        return None;
    };
    Some(Mention { path: path.key("name"), at: name.span.start, how, role: MentionRole::Target })
}

/// As kustomize reads selectors: anchored at both ends. A text that is not a pattern is taken literally.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(&format!("^(?:{pattern})$")).map_or(pattern == text, |regex| regex.is_match(text))
}

/// A source, target or variable, whose texts are meant literally.
fn exactly(selector: &Node, path: &FieldPath, id: &ObjectId) -> Option<Mention> {
    let fits = |key: &str, value: &str| text(selector, key).is_none_or(|found| found == value);
    let name = selector.get("name")?;
    let names = name.as_scalar()?.text == id.name && fits("group", &id.group) && fits("kind", &id.kind);
    let how = if text(selector, "kind").is_some() { How::Name } else { How::Pattern };
    names.then(|| Mention { path: path.key("name"), at: name.span.start, how, role: MentionRole::Target })
}

fn replacement(item: &Node, path: &FieldPath, id: &ObjectId) -> Vec<Mention> {
    let mut found = Vec::new();
    found.extend(item.get("source").and_then(|source| exactly(source, &path.key("source"), id)));
    for (at, target) in items(item, "targets").enumerate() {
        let path = path.key("targets").index(at);
        found.extend(target.get("select").and_then(|select| exactly(select, &path.key("select"), id)));
        for (at, reject) in items(target, "reject").enumerate() {
            found.extend(exactly(reject, &path.key("reject").index(at), id));
        }
    }
    found
}

/// A patch written as text inside of the kustomization.
fn within(inline: &Node, path: &FieldPath, id: &ObjectId) -> Vec<Mention> {
    let NodeKind::Scalar(scalar) = &inline.kind else { return Vec::new() };
    if !scalar.text.contains('\n') && !scalar.text.starts_with('{') {
        return Vec::new();
    }
    let Ok(file) = YamlFile::read(&scalar.text) else { return Vec::new() };
    let mut found = Vec::new();
    for (document, content) in file.documents().iter().enumerate() {
        let mention = |within: FieldPath, role: MentionRole| Mention {
            path: path.clone(),
            at: inline.span.start,
            how: How::Within { document, path: within },
            role,
        };
        if is_object(&content.root, id) {
            found.push(mention(name_path(), MentionRole::Target));
        }
        let whole = values(&content.root, id).into_iter().filter(|(_, is_whole)| *is_whole);
        found.extend(whole.map(|(within, _)| mention(within, MentionRole::Value)));
    }
    found
}
