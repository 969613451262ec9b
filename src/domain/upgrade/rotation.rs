//! Rotated templates in clusters that others apply (U12): a changed template comes as a new object
//! with a new name, references follow, and the old one stays until the next upgrade.

use std::collections::BTreeSet;

use super::plan::Plan;
use super::{AppliedBy, Change, Reason};
use crate::finding::Severity;
use crate::object::{FieldPath, Step};
use crate::templates::{Treatment, base_name, references, rotated_name, spec_hash, treatment};
use crate::tree::RepoPath;
use crate::yaml::{DocumentEdit, Edit, Node, Position, Value, YamlFile, edit, write};

/// Templates name templates: what is named rotates before what names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// Named by other templates.
    Data,
    /// Named by owners and classes.
    Template,
    /// Named by Clusters.
    Class,
}

fn level(kind: &str) -> Option<Level> {
    match (kind, treatment(kind)) {
        ("ClusterClass", _) => Some(Level::Class),
        ("Metal3DataTemplate", _) => Some(Level::Data),
        ("KubeadmConfig", _) | (_, Some(Treatment::Rotate | Treatment::Never)) => Some(Level::Template),
        _ => None,
    }
}

/// A template that got a new name.
#[derive(Debug, Clone)]
pub(super) struct Rotated {
    pub(super) kind: String,
    pub(super) old: String,
    pub(super) new: String,
}

impl Plan<'_> {
    /// Turns edits of templates into new templates, and lets the references follow.
    pub(super) fn rotate(&mut self) {
        if self.request.cluster.applied == AppliedBy::Reconciler {
            return;
        }
        self.remove_stale();
        for wanted in [Level::Data, Level::Template, Level::Class] {
            for object in 0..self.base.objects.len() {
                let id = &self.base.objects[object].id;
                if level(&id.kind) == Some(wanted) && self.draft.has_edits(object) {
                    self.rotate_one(object, wanted);
                }
            }
        }
    }

    fn rotate_one(&mut self, object: usize, level: Level) {
        let id = self.base.objects[object].id.clone();
        let named_by: Vec<usize> = self.named_by(&id.kind, &id.name);
        let class_only = treatment(&id.kind) == Some(Treatment::Never);
        let by_class = |at: &usize| self.base.objects[*at].id.kind == "ClusterClass";
        let bootstrap_of_pool = |at: &usize| self.base.objects[*at].id.kind == "MachinePool";
        let renamed_parts = self.rotated.iter().any(|rotated| {
            let own = references(&id.group, &id.kind, self.base.node(object));
            own.iter().any(|reference| reference.kind == rotated.kind && reference.name == rotated.old)
        });
        let applies = match level {
            Level::Class => renamed_parts,
            _ if id.kind == "KubeadmConfig" => named_by.iter().any(bootstrap_of_pool),
            _ if class_only => named_by.iter().any(by_class),
            _ => !named_by.is_empty(),
        };
        if !applies {
            return;
        }
        let edits = self.draft.edits_of(object).to_vec();
        let Some(document) = self.document_text(object) else { return };
        let Some(edited) = apply(&document, edits) else { return };
        let spec = |root: &Node| root.get("spec").map_or(Value::Null, Node::value);
        let (before, after) = (spec(self.base.node(object)), spec(&edited.documents()[0].root));
        if spec_hash(&before) == spec_hash(&after) {
            return;
        }
        if id.kind == "ClusterClass" && self.request.cluster.classes_used_elsewhere.contains(&id.name) {
            self.blocked.push(format!(
                "Clusters of other folders use the {id}, so it is left as it is: upgrade it where all of them can follow."
            ));
            return;
        }
        let new_name = rotated_name(base_name(&id.name, &before), &after);
        self.draft.take_edits(object);
        let exists =
            self.base.objects.iter().any(|other| other.id.kind == id.kind && other.id.name == new_name);
        let name_path = FieldPath::root().key("metadata").key("name");
        if !exists {
            let set = vec![Edit::Set { path: name_path.clone(), node: Node::string(new_name.as_str()) }];
            let Some(renamed) = apply(edited.text(), set) else { return };
            let below = self.base.file_of(object).below.clone();
            self.draft.add_document(self.base, &below, renamed.text().to_owned());
        }
        let name = self.base.node(object).at(&name_path);
        let at = name.map_or(0, |node| node.span.start);
        self.changes.push(Change {
            object: id.clone(),
            file: self.base.file_of(object).path.clone(),
            line: Some(self.base.position(object, at).line),
            path: name_path,
            old: Some(Value::from(id.name.as_str())),
            new: Some(Value::from(new_name.as_str())),
            reason: Reason::Rotation,
        });
        self.overlay_must_not_name(&id.kind, &id.name);
        for owner in named_by {
            self.follow(owner, &id.kind, &id.name, &new_name);
        }
        self.rotated.push(Rotated { kind: id.kind, old: id.name, new: new_name });
    }

    /// The owner's references follow the new name.
    fn follow(&mut self, owner: usize, kind: &str, old: &str, new: &str) {
        let id = &self.base.objects[owner].id;
        let node = self.base.node(owner);
        for reference in references(&id.group, &id.kind, node) {
            if reference.kind != kind || reference.name != old {
                continue;
            }
            let at = node.at(&reference.path).map_or(0, |node| node.span.start);
            self.changes.push(Change {
                object: id.clone(),
                file: self.base.file_of(owner).path.clone(),
                line: Some(self.base.position(owner, at).line),
                path: reference.path.clone(),
                old: Some(Value::from(old)),
                new: Some(Value::from(new)),
                reason: Reason::Reference,
            });
            let edit = Edit::Set { path: reference.path, node: Node::string(new) };
            self.draft.edit_object(owner, [edit]);
        }
    }

    /// The base's objects that name an object, but for those that go.
    fn named_by(&self, kind: &str, name: &str) -> Vec<usize> {
        let names = |at: &usize| {
            let id = &self.base.objects[*at].id;
            let found = references(&id.group, &id.kind, self.base.node(*at));
            found.iter().any(|reference| reference.kind == kind && reference.name == name)
        };
        let stays = |at: &usize| !self.draft.removes(*at);
        (0..self.base.objects.len()).filter(stays).filter(names).collect()
    }

    /// Takes out what an earlier rotation left behind and nothing names any more: first classes, which
    /// themselves name templates.
    fn remove_stale(&mut self) {
        for wanted in [Level::Class, Level::Template, Level::Data] {
            let own_base = |at: usize| {
                let id = &self.base.objects[at].id;
                let spec = self.base.node(at).get("spec").map_or(Value::Null, Node::value);
                base_name(&id.name, &spec).to_owned()
            };
            let of_level: Vec<usize> = (0..self.base.objects.len())
                .filter(|at| level(&self.base.objects[*at].id.kind) == Some(wanted))
                .filter(|at| !self.draft.removes(*at))
                .collect();
            let named: BTreeSet<usize> = of_level
                .iter()
                .copied()
                .filter(|at| {
                    let id = &self.base.objects[*at].id;
                    !self.named_by(&id.kind, &id.name).is_empty()
                })
                .collect();
            let mut stale = Vec::new();
            for at in of_level.iter().copied().filter(|at| !named.contains(at)) {
                let id = &self.base.objects[at].id;
                let generation_of = |other: &usize| {
                    self.base.objects[*other].id.kind == id.kind
                        && self.base.objects[*other].id.name != id.name
                        && own_base(*other) == own_base(at)
                };
                let used = self.overlay_mentions(&id.name)
                    || self.request.cluster.classes_used_elsewhere.contains(&id.name);
                if !used && named.iter().any(generation_of) {
                    stale.push(at);
                }
            }
            for at in stale {
                self.remove(at);
            }
        }
    }

    /// Whether any scalar of the overlay is this name.
    fn overlay_mentions(&self, name: &str) -> bool {
        fn mentions(node: &Node, name: &str) -> bool {
            match &node.kind {
                crate::yaml::NodeKind::Scalar(scalar) => scalar.text.contains(name),
                crate::yaml::NodeKind::Mapping(entries) => {
                    entries.iter().any(|entry| mentions(&entry.value, name))
                }
                crate::yaml::NodeKind::Sequence(items) => items.iter().any(|item| mentions(item, name)),
            }
        }
        self.overlay.iter().flat_map(YamlFile::documents).any(|document| mentions(&document.root, name))
    }

    /// A patch of the overlay that targets the old name would be lost: the upgrade blocks.
    fn overlay_must_not_name(&mut self, kind: &str, name: &str) {
        let Some((file, position)) = self.overlay_target(kind, name) else { return };
        self.blocked.push(format!("The overlay patches {kind} {name}, which gets a new name."));
        let message = format!(
            "This patch targets {kind} {name}, which the upgrade gives a new name, so the patch would be lost. Let the patch select its target by kind or label instead of by this name, and the upgrade goes ahead."
        );
        let place = (file, position.line, position.column);
        self.finding("overlay-names-template", Severity::Error, message, place, None, None);
    }

    fn overlay_target(&self, kind: &str, name: &str) -> Option<(RepoPath, Position)> {
        for (file, yaml) in self.request.cluster.overlay.iter().zip(self.overlay) {
            for document in yaml.documents() {
                if let Some(node) = names_target(&document.root, kind, name) {
                    return Some((file.path.clone(), yaml.position(node.span.start)));
                }
            }
        }
        None
    }

    /// One object's own text, without the comments around it.
    fn document_text(&self, object: usize) -> Option<String> {
        if !self.base.objects[object].path.is_root() {
            return Some(write(self.base.node(object)));
        }
        let span = &self.base.node(object).span;
        let text = self.base.file_of(object).yaml.text();
        let rest = text.get(span.end..)?;
        let line_end = if text[..span.end].ends_with('\n') {
            0
        } else {
            rest.find('\n').map_or(rest.len(), |at| at + 1)
        };
        let mut own = text.get(span.start..span.end + line_end)?.to_owned();
        if !own.ends_with('\n') {
            own.push('\n');
        }
        Some(own)
    }
}

fn apply(text: &str, edits: Vec<Edit>) -> Option<YamlFile> {
    let file = YamlFile::read(text).ok()?;
    let edits: Vec<_> = edits.into_iter().map(|edit| DocumentEdit::Edit { document: 0, edit }).collect();
    edit(&file, &edits).ok()
}

/// Where a document of an overlay targets an object: as a patch of its own, or as a kustomization's
/// `patches`, with a `target`, or as text.
fn names_target<'n>(root: &'n Node, kind: &str, name: &str) -> Option<&'n Node> {
    let text = |node: Option<&'n Node>| node.and_then(Node::as_scalar).map(|scalar| scalar.text.as_str());
    let is_object = |root: &Node| {
        let found = root.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Node::as_scalar);
        root.get("kind").and_then(Node::as_scalar).is_some_and(|scalar| scalar.text == kind)
            && found.is_some_and(|scalar| scalar.text == name)
    };
    if is_object(root) {
        return root.at(&[Step::Key("metadata".into()), Step::Key("name".into())].into_iter().collect());
    }
    for key in ["patches", "patchesJson6902", "patchesStrategicMerge"] {
        for item in root.get(key).and_then(Node::as_sequence).unwrap_or_default() {
            if let Some(target) = item.get("target") {
                let same_kind = text(target.get("kind")).is_none_or(|found| found == kind);
                if same_kind && text(target.get("name")) == Some(name) {
                    return target.get("name");
                }
            }
            let inline = item.get("patch").unwrap_or(item);
            let parsed = inline.as_str().and_then(|text| YamlFile::read(text).ok());
            if parsed.is_some_and(|file| file.documents().iter().any(|document| is_object(&document.root))) {
                return Some(inline);
            }
        }
    }
    None
}
