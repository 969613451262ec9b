//! Rotated templates in clusters that others apply ([U12]): a changed template comes as a new object
//! with a new name, references follow, and the old one stays until the next upgrade.
//!
//! [U12]: crate::templates#u12

use std::collections::{BTreeMap, BTreeSet};

use super::plan::Plan;
use super::{Change, Reason};
use crate::merge::AppliedBy;
use crate::merge::cluster_objects::Base;
use crate::templates::{
    Role, base_name, is_known_in_role, references, rotated_name, spec_hash, treatment_in_role,
};
use capstan_model::finding::rules;
use capstan_model::kinds::{KindRole, Treatment, is_class, is_template, role_of, succession, treatment};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::{DocumentEdit, Edit, Node, Value, YamlFile, edit, own_text, write};

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

/// Who names which object of the base, where, and as what.
pub(super) struct Owners {
    of_object: Vec<Vec<(usize, Role)>>,
}

impl Owners {
    pub(super) fn of(base: &Base) -> Self {
        let mut by_name: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for (at, object) in base.objects.iter().enumerate() {
            by_name.entry((&object.id.kind, &object.id.name)).or_default().push(at);
        }
        let mut of_object = vec![Vec::new(); base.objects.len()];
        for (at, owner) in base.objects.iter().enumerate() {
            for reference in references(&owner.id.group, &owner.id.kind, base.node(at)) {
                for named in by_name.get(&(reference.kind, reference.name)).into_iter().flatten() {
                    if reference.means(owner.id.namespace.as_deref(), &base.objects[*named].id) {
                        of_object[*named].push((at, reference.role));
                    }
                }
            }
        }
        Self { of_object }
    }

    fn level(&self, base: &Base, object: usize) -> Option<Level> {
        let id = &base.objects[object].id;
        if is_class(id) {
            return Some(Level::Class);
        }
        let roles: Vec<Role> = self.of_object[object].iter().map(|(_, role)| *role).collect();
        match treatment_in_role(id, base.node(object), &roles)? {
            Treatment::Rotate if roles.contains(&Role::Data) || is_data(id) => Some(Level::Data),
            Treatment::Rotate | Treatment::Never => Some(Level::Template),
            Treatment::MutableAndRolls | Treatment::MutableSilent => None,
        }
    }
}

/// Whether templates name such a template.
fn is_data(id: &ObjectId) -> bool {
    role_of(id) == Some(KindRole::DataTemplate)
}

/// A template that got a new name.
#[derive(Debug, Clone)]
pub(super) struct Rotated {
    pub(super) id: ObjectId,
    pub(super) new: String,
}

impl Plan<'_> {
    /// Turns edits of templates into new templates, and lets the references follow.
    pub(super) fn rotate(&mut self) {
        if self.request.cluster.applied == AppliedBy::Reconciler {
            return;
        }
        let owners = Owners::of(self.base);
        self.remove_stale(&owners);
        for wanted in [Level::Data, Level::Template, Level::Class] {
            for object in 0..self.base.objects.len() {
                if self.draft.has_edits(object) && owners.level(self.base, object) == Some(wanted) {
                    self.rotate_one(&owners, object, wanted);
                }
            }
        }
    }

    /// Of what the release drops, templates whose owners stay: machine sets made from them may name them
    /// until the rollout is done, so that the next upgrade takes them out, where nothing here names them.
    pub(super) fn templates_that_stay(&mut self, removed: &[usize]) {
        if self.request.cluster.applied == AppliedBy::Reconciler || removed.is_empty() {
            return;
        }
        let owners = Owners::of(self.base);
        for object in removed.iter().copied() {
            let is_named = owners.of_object[object].iter().any(|(owner, _)| !removed.contains(owner));
            if is_named && owners.level(self.base, object).is_some() {
                self.staying.insert(object);
                self.notes.push(format!(
                    "{} stays in this upgrade, because machine sets may still name it; the next upgrade removes it if nothing here names it.",
                    self.base.objects[object].id
                ));
            }
        }
    }

    /// Templates of kinds that no table lists, which the upgrade changes.
    pub(super) fn unknown_templates(&mut self) {
        let owners = Owners::of(self.base);
        for object in 0..self.base.objects.len() {
            if self.draft.has_edits(object) {
                let roles: Vec<Role> = owners.of_object[object].iter().map(|(_, role)| *role).collect();
                if !is_known_in_role(&self.base.objects[object].id, &roles) {
                    self.unknown_template(object, owners.level(self.base, object));
                }
            }
        }
    }

    /// A template of a kind that no table lists, which the upgrade changes.
    fn unknown_template(&mut self, object: usize, level: Option<Level>) {
        let id = self.base.objects[object].id.clone();
        if !is_template(&id) {
            return;
        }
        let message = if level.is_some() {
            format!(
                "{id} is of a kind that Capstan does not know. Machines are made from it, so it gets a new name like every machine template."
            )
        } else {
            format!(
                "{id} is of a kind that Capstan does not know, and nothing here makes machines from it, so it is changed under its name. Whether that is refused or replaces machines cannot be told."
            )
        };
        let at = self.base.node(object).span.start;
        self.finding_at(rules::UNKNOWN_TEMPLATE, message, object, at, &FieldPath::root());
    }

    fn rotate_one(&mut self, owners: &Owners, object: usize, level: Level) {
        let id = self.base.objects[object].id.clone();
        let named_by = self.named_by(owners, object);
        let by_class = |at: &usize| is_class(&self.base.objects[*at].id);
        let own = references(&id.group, &id.kind, self.base.node(object));
        let renamed_parts = self
            .rotated
            .iter()
            .any(|rotated| own.iter().any(|reference| reference.means(id.namespace.as_deref(), &rotated.id)));
        let applies = match level {
            Level::Class => renamed_parts,
            _ if treatment(Some(&id.group), &id.kind) == Some(Treatment::Never) => {
                named_by.iter().any(by_class)
            }
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
        if is_class(&id) && self.request.cluster.classes_used_elsewhere.contains(&id.name) {
            self.blocked.push(format!(
                "Clusters of other folders use the {id}, so it is left as it is: upgrade it where all of them can follow."
            ));
            return;
        }
        // A release that counts in the template's name has rotated it itself.
        let named = self.base.spec_as_named(object).map_or(Value::Null, Node::value);
        let base = base_name(&id.name, &named);
        let is_free = |name: &&String| {
            let renamed = ObjectId { name: (*name).clone(), ..id.clone() };
            let ((old_stem, old_count), (new_stem, new_count)) = (counted(base), counted(name));
            old_stem == new_stem
                && old_count < new_count
                && !self.base.objects.iter().any(|other| other.id == renamed)
        };
        let new_name =
            self.renamed.get(&object).filter(is_free).cloned().unwrap_or_else(|| rotated_name(base, &after));
        self.draft.take_edits(object);
        self.draft.leave_version(object);
        let renamed = ObjectId { name: new_name.clone(), ..id.clone() };
        let exists = self.base.objects.iter().position(|other| other.id == renamed);
        let name_path = FieldPath::root().key("metadata").key("name");
        if let Some(earlier) = exists {
            self.keep_after_all(earlier);
        } else {
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
            from: None,
            reason: Reason::Rotation,
        });
        self.patches_follow(&id, &new_name);
        for owner in 0..self.base.objects.len() {
            if named_by.contains(&owner) || (self.draft.has_edits(owner) && !self.draft.removes(owner)) {
                self.follow(owner, &id, &new_name);
            }
        }
        self.rotated.push(Rotated { id, new: new_name });
    }

    /// An earlier rotation's template whose spec comes back is no leftover.
    fn keep_after_all(&mut self, object: usize) {
        if self.draft.removes(object) {
            self.draft.keep_object(object);
            let id = &self.base.objects[object].id;
            self.changes.retain(|change| !(change.object == *id && change.path.is_root()));
        }
    }

    /// The base's objects that name an object, each once, but for those that go.
    fn named_by(&self, owners: &Owners, object: usize) -> Vec<usize> {
        let mut named_by: Vec<usize> = owners.of_object[object].iter().map(|(owner, _)| *owner).collect();
        named_by.dedup();
        named_by.retain(|owner| !self.draft.removes(*owner));
        named_by
    }

    /// Takes out what an earlier rotation left behind and nothing names any more: first classes, which
    /// themselves name templates.
    fn remove_stale(&mut self, owners: &Owners) {
        for wanted in [Level::Class, Level::Template, Level::Data] {
            let own_base = |at: usize| {
                let id = &self.base.objects[at].id;
                let spec = self.base.spec_as_named(at).map_or(Value::Null, Node::value);
                base_name(&id.name, &spec).to_owned()
            };
            let of_level: Vec<usize> = (0..self.base.objects.len())
                .filter(|at| may_be_of(wanted, &self.base.objects[*at].id))
                .filter(|at| !self.draft.removes(*at))
                .collect();
            let named: BTreeSet<usize> =
                of_level.iter().copied().filter(|at| !self.named_by(owners, *at).is_empty()).collect();
            let mut stale = Vec::new();
            for at in of_level.iter().copied().filter(|at| !named.contains(at)) {
                let id = &self.base.objects[at].id;
                let generation_of = |other: &usize| {
                    let other_id = &self.base.objects[*other].id;
                    is_generation((id, &own_base(at)), (other_id, &own_base(*other)))
                };
                let used = self.overlay_mentions(&id.name)
                    || self.request.cluster.classes_used_elsewhere.contains(&id.name);
                if !used && named.iter().any(generation_of) {
                    stale.push(at);
                }
            }
            for at in stale {
                self.remove_leftover(at);
            }
        }
    }

    /// Whether any scalar of the overlay is this name.
    fn overlay_mentions(&self, name: &str) -> bool {
        fn mentions(node: &Node, name: &str) -> bool {
            match &node.kind {
                capstan_yaml::NodeKind::Scalar(scalar) => scalar.text.contains(name),
                capstan_yaml::NodeKind::Mapping(entries) => {
                    entries.iter().any(|entry| mentions(&entry.value, name))
                }
                capstan_yaml::NodeKind::Sequence(items) => items.iter().any(|item| mentions(item, name)),
            }
        }
        self.overlay.iter().flat_map(YamlFile::documents).any(|document| mentions(&document.root, name))
    }

    /// One object's own text as a document, with the comments that are its own. That of an item of a `List`
    /// is moved to the margin; where that changes what it says (it names an anchor, for one), it is written
    /// anew.
    fn document_text(&self, object: usize) -> Option<String> {
        if self.base.objects[object].path.is_root() {
            let yaml = &self.base.file_of(object).yaml;
            let mut own = own_text(yaml, self.base.objects[object].document)?.to_owned();
            if !own.ends_with('\n') {
                own.push('\n');
            }
            return Some(own);
        }
        let own = self.item_text(object)?;
        let node = self.base.node(object);
        let margin = self.base.position(object, node.span.start).column.saturating_sub(1);
        let moved = at_margin(&own, usize::try_from(margin).ok()?).filter(|text| {
            let read = YamlFile::read(text.as_str());
            read.is_ok_and(|file| match file.documents() {
                [document] => document.root.value() == node.value(),
                _ => false,
            })
        });
        Some(moved.unwrap_or_else(|| write(node)))
    }

    /// The text of an item of a `List`, as it stands.
    fn item_text(&self, object: usize) -> Option<String> {
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

/// Lines of which all but the first stand so far from the margin, without that distance.
fn at_margin(text: &str, margin: usize) -> Option<String> {
    let mut moved = String::with_capacity(text.len());
    for (at, line) in text.split_inclusive('\n').enumerate() {
        moved.push_str(match line.get(..margin).filter(|_| at > 0) {
            _ if at == 0 || line.trim().is_empty() => line.trim_start_matches(' '),
            Some(blank) if blank.bytes().all(|byte| byte == b' ') => line.get(margin..)?,
            _ => return None,
        });
    }
    Some(moved)
}

/// Whether the second template, with its base name, came in the place of the first: after a rotation, by a
/// release that counts in its names (`-v1`, `-v2`), or as another kind of the same role.
fn is_generation((old, old_base): (&ObjectId, &str), (new, new_base): (&ObjectId, &str)) -> bool {
    let ((old_stem, old_count), (new_stem, new_count)) = (counted(old_base), counted(new_base));
    let is_kind = (&old.group, &old.kind) == (&new.group, &new.kind);
    old.namespace == new.namespace
        && old_stem == new_stem
        && if is_kind {
            old.name != new.name && (old_base == new_base || old_count < new_count)
        } else {
            succession(&old.kind) == succession(&new.kind) && old_count <= new_count
        }
}

/// `workers-v2` is the second of `workers`.
fn counted(name: &str) -> (&str, Option<u32>) {
    match name.rsplit_once("-v").map(|(stem, count)| (stem, count.parse())) {
        Some((stem, Ok(count))) => (stem, Some(count)),
        _ => (name, None),
    }
}

fn apply(text: &str, edits: Vec<Edit>) -> Option<YamlFile> {
    let file = YamlFile::read(text).ok()?;
    let edits: Vec<_> = edits.into_iter().map(|edit| DocumentEdit::Edit { document: 0, edit }).collect();
    edit(&file, &edits).ok()
}

/// Whether an object that nothing names any more could be what a rotation on this level left behind: who
/// named it is gone, so its kind alone must tell.
fn may_be_of(level: Level, id: &ObjectId) -> bool {
    let of_cluster_api = id.group.ends_with("cluster.x-k8s.io");
    match level {
        Level::Class => is_class(id),
        Level::Data => is_data(id),
        Level::Template => {
            of_cluster_api
                && !is_data(id)
                && match treatment(Some(&id.group), &id.kind) {
                    Some(Treatment::Rotate | Treatment::Never) => true,
                    Some(Treatment::MutableAndRolls | Treatment::MutableSilent) => false,
                    None => is_template(id) || role_of(id) == Some(KindRole::BootstrapConfig),
                }
        }
    }
}
