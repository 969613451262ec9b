//! Why an upgrade is what it is: where in the release each change comes from, and how lists and texts
//! were told to be the same or not.
//!
//! Computed beside the plan, only where somebody asks (`--explain`).

use super::change_source::OwnFields;
use super::fields::FieldSource;
use super::plan::{Facts, facts, merge_input};
use super::{Change, Reason, Request, Rollout, Upgrade};
use crate::merge::cluster_objects::Base;
use crate::merge::explain::{Document, ObjectExplained, Stands, explain_cluster};
use capstan_kustomize::schema::ValueKind;
use capstan_model::finding::{FileError, Place};
use capstan_model::object::{FieldPath, ObjectId, Step};
use capstan_model::tree::RepoPath;
use capstan_yaml::Value;

pub use crate::merge::explain::{Decider, HowMerged};

/// Why an upgrade is what it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explanation {
    /// Of each change of the upgrade, in its order.
    pub changes: Vec<ChangeOrigin>,
    /// Lists on which cluster and releases differ, ordered by file, line and path.
    pub lists: Vec<ListMerged>,
    /// Texts that differ and are one value, ordered likewise.
    pub values: Vec<ValueCompared>,
    /// How machines come and go, those that only come or go by number included.
    pub rollouts: Vec<Rollout>,
}

/// Where one change comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeOrigin {
    /// The object.
    pub object: ObjectId,
    /// The field.
    pub path: FieldPath,
    /// Why, in a sentence without a full stop.
    pub because: &'static str,
    /// Where the old release has the field (a whole object: its document): file, from the root of the
    /// repository or of the tree in which the release was found, and line; of a value out of a wrapped or
    /// overlaid document, the document's.
    pub old: Option<Place>,
    /// Where the new release has it.
    pub new: Option<Place>,
}

/// How one list was merged, and who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListMerged {
    /// The object.
    pub object: ObjectId,
    /// The cluster's file.
    pub file: RepoPath,
    /// The cluster's line; `None` where it has no such list.
    pub line: Option<u32>,
    /// The list.
    pub path: FieldPath,
    /// How.
    pub how: HowMerged,
    /// Who said so.
    pub decided_by: Decider,
}

/// Texts that differ and are one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueCompared {
    /// The object.
    pub object: ObjectId,
    /// The cluster's file.
    pub file: RepoPath,
    /// The cluster's line.
    pub line: Option<u32>,
    /// The field.
    pub path: FieldPath,
    /// What the texts stand for.
    pub kind: ValueKind,
    /// Who said so.
    pub decided_by: Decider,
    /// The old release's text.
    pub base: Option<String>,
    /// The cluster's.
    pub cluster: Option<String>,
    /// The new release's.
    pub release: Option<String>,
}

/// Explains an upgrade that was planned from these facts.
///
/// # Errors
/// As [`plan`](super::plan()).
pub fn explain(request: &Request<'_>, upgrade: &Upgrade) -> Result<Explanation, FileError> {
    let base = Base::read(request.cluster)?;
    if let Some(OwnFields(source)) = request.new.fields() {
        return Ok(of_fields(source, upgrade));
    }
    let Facts { base, old, .. } = facts(request, base);
    let told = explain_cluster(&merge_input(request, &base, old));
    let mut explanation = Explanation { rollouts: upgrade.rollouts.clone(), ..Explanation::default() };
    for object in &told.objects {
        explanation.add(&base, object);
    }
    explanation.lists.sort_by_cached_key(|list| (list.file.clone(), list.line, list.path.to_string()));
    explanation.values.sort_by_cached_key(|value| (value.file.clone(), value.line, value.path.to_string()));
    let of_object = |id: &ObjectId| told.objects.iter().find(|told| base.objects[told.object].id == *id);
    explanation.changes = upgrade
        .changes
        .iter()
        .map(|change| {
            let (old, new) = match of_object(&change.object) {
                Some(told) if !change.path.is_root() => (
                    place(&told.old, &change.path, change.old.as_ref()),
                    place(&told.new, &change.path, change.new.as_ref()),
                ),
                _ => (document(&told.old, &change.object), document(&told.added, &change.object)),
            };
            origin(change, old, new)
        })
        .collect();
    Ok(explanation)
}

impl Explanation {
    fn add(&mut self, base: &Base, told: &ObjectExplained) {
        let object = &base.objects[told.object].id;
        let file = &base.file_of(told.object).path;
        let line = |at: Option<usize>| at.map(|at| base.position(told.object, at).line);
        self.lists.extend(told.lists.iter().map(|list| ListMerged {
            object: object.clone(),
            file: file.clone(),
            line: line(list.at),
            path: list.path.clone(),
            how: list.how.clone(),
            decided_by: list.decided_by.clone(),
        }));
        self.values.extend(told.values.iter().map(|value| {
            let [base, cluster, release] = value.texts.clone();
            ValueCompared {
                object: object.clone(),
                file: file.clone(),
                line: line(value.at),
                path: value.path.clone(),
                kind: value.kind,
                decided_by: value.decided_by.clone(),
                base,
                cluster,
                release,
            }
        }));
    }
}

fn origin(change: &Change, old: Option<Place>, new: Option<Place>) -> ChangeOrigin {
    let because = match (change.reason, &old, &new) {
        (Reason::Rotation, ..) => {
            "a template is never edited: what changes in it makes a new one with a new name"
        }
        (Reason::Reference, ..) => "it names a template that has a new name",
        (Reason::Release, ..) if change.from.is_some() => "the new API version has it there",
        (Reason::Release | Reason::Object, _, None) if change.new.is_none() => {
            "the new release no longer has it"
        }
        (Reason::Release | Reason::Object, None, Some(_)) => {
            "the new release has it, and the old one did not"
        }
        (Reason::Release | Reason::Object, ..) => "the new release says so",
    };
    let (old, new) = match change.reason {
        Reason::Reference => (None, None),
        // What moves is the cluster's own value: no release need have it.
        _ if change.from.is_some() => (None, None),
        _ => (old, new),
    };
    ChangeOrigin { object: change.object.clone(), path: change.path.clone(), because, old, new }
}

/// Where a release has the value of a field: at that path with that value, else among the items of its
/// list, else whatever holds it.
fn place(values: &[Stands], path: &FieldPath, value: Option<&Value>) -> Option<Place> {
    let value = value?;
    let items = path.parent().map(|list| list.join(Step::New));
    let at = |path: &FieldPath, value: Option<&Value>| {
        let fits = |stands: &&Stands| {
            stands.path == *path && value.is_none_or(|value| stands.value.value() == *value)
        };
        values.iter().find(fits)
    };
    let around = || std::iter::successors(path.parent(), FieldPath::parent).find_map(|path| at(&path, None));
    let found = at(path, Some(value))
        .or_else(|| at(items.as_ref()?, Some(value)))
        .or_else(|| at(path, None))
        .or_else(around)?;
    Some(found.place.clone())
}

fn document(documents: &[Document], id: &ObjectId) -> Option<Place> {
    let is_it = |document: &&Document| {
        document.kind.as_ref() == Some(&id.kind) && document.name.as_ref() == Some(&id.name)
    };
    let found = documents.iter().find(is_it)?;
    Some(found.place.clone())
}

/// Fields that the source sets by itself.
fn of_fields(source: &dyn FieldSource, upgrade: &Upgrade) -> Explanation {
    let (because, place) = source.origin();
    let changes = upgrade.changes.iter().map(|change| ChangeOrigin {
        object: change.object.clone(),
        path: change.path.clone(),
        because,
        old: None,
        new: Some(place.clone()),
    });
    Explanation { changes: changes.collect(), rollouts: upgrade.rollouts.clone(), ..Explanation::default() }
}
