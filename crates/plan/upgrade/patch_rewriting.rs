//! One patch, written for the newer version of the objects that it is for ([U7a]).
//!
//! [U7a]: crate::merge::converted#u7a

use super::class_patch_edits::{Edits, follow_operations};
use super::conversions::{Net, net};
use super::model::{Change, ChangeReason};
use super::patches::{LENT, PatchPlace, Patches, lent};
use super::redact::hide_in;
use super::retarget::text;
use crate::merge::cluster_objects::Base;
use crate::merge::convert::alone;
use crate::merge::converted::steps_to;
use capstan_kustomize::conversion::{AtHand, Conversion, ConversionStep, apply, in_order_of, replay};
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::Place;
use capstan_model::object::FieldPath;
use capstan_yaml::{DocumentEdit, Edit, Entry, Node, NodeKind, Value, edit, flow_text, same_meaning};
use std::collections::BTreeSet;

/// Longer texts are left out of messages.
const LONGEST: usize = 200;

/// The content of a patch for the newer version.
#[derive(Debug, Clone)]
pub(super) struct NewPatch {
    root: Node,
}

impl NewPatch {
    pub(super) const fn new(root: Node) -> Self {
        Self { root }
    }

    /// A field of it, as a person may see it: `/spec/replicas: 3`.
    pub(super) fn field(&self, field: &FieldPath) -> Option<String> {
        let value = hide_in(&self.root, field, self.root.at(field)?.value());
        short(format!("{field}: {}", flow_text(&Node::from_value(&value))))
    }

    /// An operation of it, as a person may see it.
    pub(super) fn operation(&self, at: usize) -> Option<String> {
        let mut operation = self.root.as_sequence()?.get(at)?.value();
        let path = text(self.root.as_sequence()?.get(at)?, "path").and_then(FieldPath::parse)?;
        if let Some(value) = operation.get_mut("value") {
            *value = hide_in(&Node::null(), &path, value.take());
        }
        short(flow_text(&Node::from_value(&operation)))
    }
}

fn short(text: String) -> Option<String> {
    (text.len() <= LONGEST).then_some(text)
}

/// What is read to write a patch.
#[derive(Clone, Copy)]
pub(super) struct Rewriting<'r> {
    pub(super) base: &'r Base,
    pub(super) patches: &'r Patches<'r>,
    pub(super) schemas: &'r Schemas,
}

/// A patch for the newer version.
pub(super) struct Rewritten {
    pub(super) root: Node,
    pub(super) text: String,
    pub(super) changes: Vec<Change>,
}

/// What becomes of a patch.
enum PatchSteps {
    /// A strategic merge patch is converted like an object, and then says this.
    Fragment { conversion: Conversion, new: Node },
    /// Fields of the operations of a JSON patch (RFC 6902).
    Operations(Edits),
}

impl PatchSteps {
    fn is_empty(&self) -> bool {
        match self {
            Self::Fragment { conversion, .. } => conversion.steps.is_empty(),
            Self::Operations(edits) => edits.is_empty(),
        }
    }

    /// Whether the text of the patch comes to the same.
    fn write_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fragment { conversion: own, .. }, Self::Fragment { conversion: other, .. }) => {
                own == other
            }
            (Self::Operations(own), Self::Operations(other)) => own == other,
            _ => false,
        }
    }
}

impl Rewriting<'_> {
    /// A patch for the newer version of all of these objects; `None` where nothing changes, where no counterpart is known,
    /// or where it is another one for each of them.
    pub(super) fn patch(&self, at: &PatchPlace, targets: &[usize]) -> Option<Rewritten> {
        let (file, document) = self.patches.text_of(at)?;
        let own = file.documents().get(document)?;
        let first = *targets.first()?;
        let steps = self.steps(&own.root, first).filter(|steps| !steps.is_empty())?;
        let is_same = |other: PatchSteps| other.write_the_same(&steps);
        if !targets.iter().all(|other| self.steps(&own.root, *other).is_some_and(is_same)) {
            return None;
        }
        let before = alone(file.text().get(own.span.clone())?).ok()?;
        let after = match &steps {
            PatchSteps::Fragment { conversion, .. } => replay(&before, &FieldPath::root(), conversion),
            PatchSteps::Operations(edits) => {
                let set = |(path, node): &(FieldPath, Node)| DocumentEdit::Edit {
                    document: 0,
                    edit: Edit::Set { path: path.clone(), node: node.clone() },
                };
                edit(&before, &edits.iter().map(set).collect::<Vec<_>>())
            }
        };
        let after = after.ok()?;
        let root = after.documents().first()?.root.clone();
        if let PatchSteps::Fragment { new, .. } = &steps
            && !same_meaning(&lent(&root, self.base.node(first)), new)
        {
            return None;
        }
        let change = |field: &FieldPath, part: &Node, change: FieldMove| Change {
            object: self.base.objects[first].id.clone(),
            place: self.line(at, part, field),
            path: change.path,
            from: change.from,
            old: change.old,
            new: change.new,
            reason: ChangeReason::Release,
        };
        let changes = match &steps {
            PatchSteps::Fragment { conversion, .. } => {
                let moves = fields_that_move(conversion, &own.root, &root).into_iter();
                moves.map(|(field, one)| change(&field, &own.root, one)).collect()
            }
            PatchSteps::Operations(_) => {
                let pairs = own.root.as_sequence()?.iter().zip(root.as_sequence()?);
                let moves = pairs.filter_map(|(old, new)| Some((old, operation_that_moves(old, new)?)));
                let pointer = FieldPath::root().key("path");
                moves.map(|(old, one)| change(&pointer, old, one)).collect()
            }
        };
        Some(Rewritten { root, text: after.text().to_owned(), changes })
    }

    fn line(&self, at: &PatchPlace, part: &Node, field: &FieldPath) -> Place {
        let place = self.patches.place(at, part, field);
        Place::known(place.file().clone(), place.line(), None)
    }

    fn steps(&self, root: &Node, object: usize) -> Option<PatchSteps> {
        // For an object that stays in its version, the patch stays too.
        let Some(converted) = self.base.converted.get(&object) else {
            return Some(PatchSteps::Operations(Vec::new()));
        };
        let (was, now) = (&converted.was, self.base.node(object));
        let version = text(now, "apiVersion")?;
        if root.as_sequence().is_some() {
            return follow_operations(root, (was, now), version, self.schemas).map(PatchSteps::Operations);
        }
        let fragment = lent(root, was);
        if text(&fragment, "apiVersion") != text(was, "apiVersion") {
            return None;
        }
        let (conversion, refused) = steps_to(&fragment, version, AtHand::Part, self.schemas)?;
        if !refused.is_empty() {
            return None;
        }
        let mut conversion = in_order_of(&fragment, conversion);
        let mut new = fragment.clone();
        apply(&mut new, &conversion);
        let mut patched = was.clone();
        merge(&mut patched, &fragment)?;
        // What the release or other patches say of the object does not matter here.
        let (mut expected, left) = self.whole(was, version)?;
        let (patched, left_of_patched) = self.whole(&patched, version)?;
        merge(&mut expected, &new)?;
        if !left_of_patched.is_subset(&left) || !same_meaning(&patched, &expected) {
            return None;
        }
        let lent =
            LENT.into_iter().filter(|key| root.get(key).is_none()).map(|key| FieldPath::root().key(key));
        let lent: Vec<FieldPath> = lent.collect();
        let is_lent =
            |step: &ConversionStep| matches!(step, ConversionStep::Replace { at, .. } if lent.contains(at));
        conversion.steps.retain(|step| !is_lent(step));
        conversion.notes.clear();
        Some(PatchSteps::Fragment { conversion, new })
    }

    /// An object in that version, and its fields that have no counterpart there or are required there.
    fn whole(&self, object: &Node, version: &str) -> Option<(Node, BTreeSet<FieldPath>)> {
        let (conversion, refused) = steps_to(object, version, AtHand::Whole, self.schemas)?;
        let mut converted = object.clone();
        apply(&mut converted, &in_order_of(object, conversion));
        Some((converted, refused.into_iter().map(|why| why.field).collect()))
    }
}

/// What becomes of a field of a patch.
struct FieldMove {
    path: FieldPath,
    from: Option<FieldPath>,
    old: Option<Value>,
    new: Option<Value>,
}

/// The fields of a strategic patch that a conversion touches, with where each is in the patch before.
fn fields_that_move(conversion: &Conversion, old: &Node, new: &Node) -> Vec<(FieldPath, FieldMove)> {
    let value = |node: &Node, path: &Option<FieldPath>| {
        let path = path.as_ref()?;
        Some(hide_in(node, path, node.at(path)?.value()))
    };
    let mut found = Vec::new();
    for Net { from, to } in net(conversion) {
        let (was, is) = (value(old, &from), value(new, &to));
        let Some(path) = to.clone().or_else(|| from.clone()) else { continue };
        if was == is && from == to {
            continue;
        }
        let field = from.clone().unwrap_or_else(|| path.clone());
        let from = from.filter(|from| to.is_some() && *from != path);
        found.push((field, FieldMove { path, from, old: was, new: is }));
    }
    found
}

/// An operation of a JSON patch that is another one now.
fn operation_that_moves(old: &Node, new: &Node) -> Option<FieldMove> {
    if same_meaning(old, new) {
        return None;
    }
    let field = |operation: &Node| text(operation, "path").and_then(FieldPath::parse);
    let (from, path) = (field(old)?, field(new)?);
    let value = |operation: &Node, path: &FieldPath| {
        Some(hide_in(&Node::null(), path, operation.get("value")?.value()))
    };
    let (was, is) = (value(old, &from), value(new, &path));
    Some(FieldMove { from: (from != path).then_some(from), path, old: was, new: is })
}

/// Merges a strategic patch into a custom resource, whose lists kustomize replaces. `None` where the patch has a directive
/// that is not read here.
fn merge(object: &mut Node, patch: &Node) -> Option<()> {
    let NodeKind::Mapping(fields) = &patch.kind else {
        *object = patch.clone();
        return Some(());
    };
    if object.as_mapping().is_none() {
        object.kind = NodeKind::Mapping(Vec::new());
    }
    for Entry { key, value, .. } in fields {
        let NodeKind::Mapping(entries) = &mut object.kind else { return None };
        if key.starts_with('$') {
            return None;
        }
        let directive = value.get("$patch").map(|directive| directive.as_str().unwrap_or_default());
        if value.is_null() || directive == Some("delete") {
            entries.retain(|entry| entry.key != *key);
            continue;
        }
        let at = entries.iter().position(|entry| entry.key == *key).unwrap_or_else(|| {
            entries.push(Entry { key: key.clone(), key_span: 0..0, value: Node::null() });
            entries.len() - 1
        });
        let field = &mut entries.get_mut(at)?.value;
        match directive {
            None => merge(field, value)?,
            Some("replace") => {
                let mut whole = value.clone();
                if let NodeKind::Mapping(entries) = &mut whole.kind {
                    entries.retain(|entry| entry.key != "$patch");
                }
                *field = whole;
            }
            Some(_) => return None,
        }
    }
    Some(())
}
