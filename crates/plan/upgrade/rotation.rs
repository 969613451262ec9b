//! Rotated templates in clusters that others apply ([U12]): a changed template comes as a new object
//! with a new name, references follow, and the old one stays until the next upgrade.
//!
//! [U12]: crate::templates#u12

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use super::follow::follow;
use super::generations::{counts_on, is_generation};
use super::model::{Change, ChangeReason};
use super::object_text::document_text;
use super::owners::{ObjectOwners, TemplateLevel, is_data};
use super::removal::Reduced;
use super::retarget::{OverlayEdits, Rotated, patches_follow};
use super::said::UpgradeReport;
use crate::merge::AppliedBy;
use crate::templates::{base_name, references, rotated_name, spec_hash};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{KindRole, Treatment, is_class, is_template, role_of, treatment};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::{DocumentEdit, Edit, Node, Value, YamlFile, edit};

/// Turns edits of templates into new templates, and lets the references follow. `names` are those that the
/// release gives objects which it called otherwise before, and so does the cluster.
pub(super) fn rotate(
    context: Context<'_>,
    owners: &ObjectOwners,
    reduced: Reduced,
    names: &BTreeMap<usize, String>,
    said: &mut UpgradeReport,
) -> Rotation {
    let done = Rotation { reduced, rotated: Vec::new(), overlay_edits: OverlayEdits::new() };
    if context.request.cluster.applied == AppliedBy::Reconciler {
        return done;
    }
    let mut rotating = Rotating { context, owners, names, done, said };
    rotating.rotate();
    rotating.done
}

/// An upgrade whose templates have their new names.
#[derive(Debug)]
pub(super) struct Rotation {
    pub(super) reduced: Reduced,
    pub(super) rotated: Vec<Rotated>,
    pub(super) overlay_edits: OverlayEdits,
}

/// What the rotation reads, and its result so far.
struct Rotating<'r> {
    context: Context<'r>,
    owners: &'r ObjectOwners,
    names: &'r BTreeMap<usize, String>,
    done: Rotation,
    said: &'r mut UpgradeReport,
}

impl Rotating<'_> {
    fn rotate(&mut self) {
        self.remove_stale();
        for wanted in
            [TemplateLevel::Data, TemplateLevel::Part, TemplateLevel::Template, TemplateLevel::Class]
        {
            for object in 0..self.context.base.objects.len() {
                let is_edited = self.done.reduced.draft.has_edits(object);
                if is_edited && self.owners.level(self.context.base, object) == Some(wanted) {
                    self.rotate_one(object, wanted);
                }
            }
        }
    }

    fn rotate_one(&mut self, object: usize, level: TemplateLevel) {
        let id = &self.context.base.objects[object].id;
        let named_by = self.named_by(object);
        let applies = self.applies(object, level, &named_by);
        let is_immutable = treatment(Some(&id.group), &id.kind) == Some(Treatment::Rotate);
        if !applies && !is_immutable {
            return;
        }
        let edits = self.done.reduced.draft.edits_of(object).to_vec();
        let Some(document) = document_text(self.context.base, object) else { return };
        let Some(edited) = apply(&document, edits) else { return };
        let spec = |root: &Node| root.get("spec").map_or(Value::Null, Node::value);
        let (before, after) = (spec(self.context.base.node(object)), spec(&edited.documents()[0].root));
        if spec_hash(&before) == spec_hash(&after) {
            return;
        }
        if !applies || self.owners.doubtful.contains_key(&object) {
            return self.refuse(object);
        }
        if is_class(id) && self.context.request.cluster.classes_used_elsewhere.contains(&id.name) {
            self.said.blocked.push(format!(
                "Clusters of other folders use the {id}, so Capstan does not change it: upgrade it where all of them can follow."
            ));
            return;
        }
        let new = self.new_name(object, &after);
        if self.bring(object, &edited, &new).is_none() {
            return;
        }
        let Rotation { reduced: Reduced { draft, .. }, overlay_edits, rotated } = &mut self.done;
        let template = Rotated { id: id.clone(), new };
        patches_follow(self.context, &template, draft, overlay_edits, self.said);
        for owner in 0..self.context.base.objects.len() {
            if named_by.contains(&owner) || (draft.has_edits(owner) && !draft.removes(owner)) {
                self.said.changes.extend(follow(self.context.base, draft, owner, (id, &template.new)));
            }
        }
        rotated.push(template);
    }

    /// Blocks the upgrade: a template is to change, and it is unclear what has to follow its new name.
    fn refuse(&mut self, object: usize) {
        let base = self.context.base;
        let id = &base.objects[object].id;
        let (message, place) = match self.owners.doubtful.get(&object) {
            Some((owner, path)) => {
                let at = base.node(*owner).at(path).map_or(0, |node| node.span.start);
                let message = format!(
                    "{path} of {} could name {id} or another template with that name. A changed template gets a new name, and the reference must follow it: give the templates different names.",
                    base.objects[*owner].id
                );
                (message, base.place(*owner, at))
            }
            None => {
                let message = format!(
                    "The release changes {id}, which is immutable, but nothing in this folder names it, so nothing would follow its new name. Add its owner to base and name the template in a field, a topology variable or a class patch. Or remove the template from base."
                );
                (message, base.place(object, base.node(object).span.start))
            }
        };
        let finding = Finding::new(rules::TEMPLATE_EDITED_IN_PLACE, message).place(place).object(id);
        let reason = format!("It is unknown what names {id}, which would get a new name.");
        self.said.block(finding.path(&FieldPath::root()).blocking(), reason);
    }

    /// Whether an edited template of that level is to be another one.
    fn applies(&self, object: usize, level: TemplateLevel, named_by: &[usize]) -> bool {
        let base = self.context.base;
        let id = &base.objects[object].id;
        match level {
            TemplateLevel::Class => {
                let own = references(&id.group, &id.kind, base.node(object));
                let names = |rotated: &Rotated| {
                    own.iter().any(|reference| reference.means(id.namespace.as_deref(), &rotated.id))
                };
                self.done.rotated.iter().any(names)
            }
            _ if treatment(Some(&id.group), &id.kind) == Some(Treatment::Never) => {
                named_by.iter().any(|at| is_class(&base.objects[*at].id))
            }
            _ => !named_by.is_empty(),
        }
    }

    /// The name of a template whose spec becomes another: a release that counts in its name has rotated it itself.
    fn new_name(&self, object: usize, spec: &Value) -> String {
        let base = self.context.base;
        let id = &base.objects[object].id;
        let named = base.spec_as_named(object).map_or(Value::Null, Node::value);
        let logical = base_name(&id.name, &named);
        let is_free = |name: &&String| {
            let renamed = ObjectId { name: (*name).clone(), ..id.clone() };
            counts_on(logical, name) && !base.objects.iter().any(|other| other.id == renamed)
        };
        self.names.get(&object).filter(is_free).cloned().unwrap_or_else(|| rotated_name(logical, spec))
    }

    /// Brings the template under its new name, where it is not there already, and leaves the old one as it is;
    /// `None` where its text cannot be edited.
    fn bring(&mut self, object: usize, edited: &YamlFile, new: &str) -> Option<()> {
        let base = self.context.base;
        let id = &base.objects[object].id;
        self.done.reduced.draft.take_edits(object);
        self.done.reduced.draft.leave_version(object);
        let renamed = ObjectId { name: new.to_owned(), ..id.clone() };
        let path = FieldPath::root().key("metadata").key("name");
        if let Some(earlier) = base.objects.iter().position(|other| other.id == renamed) {
            self.keep_after_all(earlier);
        } else {
            let renamed =
                apply(edited.text(), vec![Edit::Set { path: path.clone(), node: Node::string(new) }])?;
            let below = &base.file_of(object).below;
            self.done.reduced.draft.add_document(base, below, renamed.text().to_owned());
        }
        let at = base.node(object).at(&path).map_or(0, |node| node.span.start);
        self.said.changes.push(Change {
            object: id.clone(),
            place: base.line(object, Some(at)),
            path,
            old: Some(Value::from(id.name.as_str())),
            new: Some(Value::from(new)),
            from: None,
            reason: ChangeReason::Rotation,
        });
        Some(())
    }

    /// Keeps an earlier rotation's template whose spec comes back, so that it is not a leftover.
    fn keep_after_all(&mut self, object: usize) {
        if self.done.reduced.draft.removes(object) {
            self.done.reduced.draft.keep_object(object);
            let id = &self.context.base.objects[object].id;
            self.said.changes.retain(|change| !(change.object == *id && change.path.is_root()));
        }
    }

    /// The base's objects that name an object, each once, but for those that go.
    fn named_by(&self, object: usize) -> Vec<usize> {
        let mut named_by: Vec<usize> =
            self.owners.of_object[object].iter().map(|(owner, _)| *owner).collect();
        named_by.dedup();
        named_by.retain(|owner| !self.done.reduced.draft.removes(*owner));
        named_by
    }

    /// Takes out what an earlier rotation left behind and nothing names any more: first classes, which
    /// themselves name templates.
    fn remove_stale(&mut self) {
        for wanted in
            [TemplateLevel::Class, TemplateLevel::Template, TemplateLevel::Part, TemplateLevel::Data]
        {
            let own_base = |at: usize| {
                let id = &self.context.base.objects[at].id;
                let spec = self.context.base.spec_as_named(at).map_or(Value::Null, Node::value);
                base_name(&id.name, &spec).to_owned()
            };
            let of_level: Vec<usize> = (0..self.context.base.objects.len())
                .filter(|at| may_be_of(wanted, &self.context.base.objects[*at].id))
                .filter(|at| !self.done.reduced.draft.removes(*at))
                .collect();
            let named: BTreeSet<usize> =
                of_level.iter().copied().filter(|at| !self.named_by(*at).is_empty()).collect();
            let mut stale = Vec::new();
            for at in of_level.iter().copied().filter(|at| !named.contains(at)) {
                let id = &self.context.base.objects[at].id;
                let generation_of = |other: &usize| {
                    let other_id = &self.context.base.objects[*other].id;
                    is_generation((id, &own_base(at)), (other_id, &own_base(*other)))
                };
                let used = self.overlay_mentions(&id.name)
                    || self.context.request.cluster.classes_used_elsewhere.contains(&id.name);
                if !used && named.iter().any(generation_of) {
                    stale.push(at);
                }
            }
            for at in stale {
                self.done.reduced.remove_leftover(self.context, at, self.said);
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
        self.context
            .overlay
            .iter()
            .flat_map(YamlFile::documents)
            .any(|document| mentions(&document.root, name))
    }
}

fn apply(text: &str, edits: Vec<Edit>) -> Option<YamlFile> {
    let file = YamlFile::read(text).ok()?;
    let edits: Vec<_> = edits.into_iter().map(|edit| DocumentEdit::Edit { document: 0, edit }).collect();
    edit(&file, &edits).ok()
}

/// Whether an object that nothing names any more could be what a rotation on this level left behind: who
/// named it is gone, so its kind alone must tell.
fn may_be_of(level: TemplateLevel, id: &ObjectId) -> bool {
    let of_cluster_api = id.group.ends_with("cluster.x-k8s.io");
    match level {
        TemplateLevel::Class => is_class(id),
        TemplateLevel::Data => is_data(id),
        // Gone with what named it, its kind is a template's like any other.
        TemplateLevel::Part | TemplateLevel::Template => {
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
