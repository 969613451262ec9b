//! What the comparison of an object has found, and what explains a difference.

use capstan_model::object::FieldPath;
use capstan_yaml::Node;

use crate::merge::knowledge::MergedField;
use crate::settings::{FieldOwner, FieldRule};
use crate::upgrade::model::Conflict;

/// What one object is compared with: everything that may explain a difference.
pub(super) struct FieldComparison<'c> {
    /// Whether the old release is known: then what it had and the new one has not is gone.
    pub(super) knows_old: bool,
    /// The new release speaks in fragments: `null` removes, and what it leaves out is the cluster's.
    pub(super) partial: bool,
    /// Owner rules of the object's kind, the last that fits wins.
    pub(super) owners: Vec<FieldRule>,
    /// What is listed as a conflict of the object.
    pub(super) conflicts: Vec<&'c Conflict>,
    /// Fields that findings of their own name.
    pub(super) named: Vec<&'c FieldPath>,
    /// The object is a kustomization, which has a table of lists of its own.
    pub(super) is_kustomization: bool,
    pub(super) lacks: Vec<Lack>,
}

/// A field of the release that does not stand, and that nothing explains.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lack {
    /// The field, with the indexes of the cluster's lists before the upgrade.
    pub(super) path: FieldPath,
    /// What the release has; `None` where it dropped the field.
    pub(super) wanted: Option<Node>,
    /// What the result of the upgrade has.
    pub(super) found: Option<Node>,
}

impl FieldComparison<'_> {
    pub(super) fn lacks(&mut self, path: &MergedField<'_>, wanted: Option<&Node>, found: Option<&Node>) {
        self.lacks.push(Lack { path: path.path(), wanted: wanted.cloned(), found: found.cloned() });
    }

    /// Whether a conflict that is listed, or a finding of its own, names this very field. Fields above it are checked
    /// before, on the way down.
    pub(super) fn is_reported(&self, path: &FieldPath) -> bool {
        self.conflicts.iter().any(|conflict| conflict.path == *path && !lists_items(conflict))
            || self.named.contains(&path)
    }

    /// The conflicts of a list in which only some of its items are at stake.
    pub(super) fn item_conflicts(&self, path: &FieldPath) -> impl Iterator<Item = &Conflict> {
        self.conflicts.iter().copied().filter(move |conflict| conflict.path == *path && lists_items(conflict))
    }

    pub(super) fn owner(&self, path: &FieldPath) -> Option<FieldOwner> {
        self.owners.iter().rev().find(|rule| rule.path == *path).map(|rule| rule.owner)
    }
}

/// Where a list is not a single value, a conflict about its items says which ones, as arrays.
fn lists_items(conflict: &Conflict) -> bool {
    [&conflict.base, &conflict.cluster, &conflict.release]
        .into_iter()
        .flatten()
        .all(serde_json::Value::is_array)
}
