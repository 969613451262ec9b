//! One cluster before and after, and whether what its owners name replaces their machines.

use std::collections::BTreeSet;

use super::by_id::{ById, find_value_in};
use super::course::CourseFindings;
use super::elsewhere::Lookup;
use super::pair::FieldPair;
use super::pointer::PointerTarget;
use super::references::{REFERENCES, is_control_plane_path, renamed, target, text};
use capstan_model::kinds::{Treatment, treatment};
use capstan_plan::merge::AppliedBy;
use capstan_plan::templates::SpecDigest;
use capstan_yaml::Value;

/// Kinds and live names.
pub(super) type LiveNames = BTreeSet<(String, String)>;

/// What is known of a cluster before and after a change.
pub(super) struct ClusterChange<'a> {
    pub(super) before: ById<'a>,
    pub(super) after: ById<'a>,
    pub(super) applied: AppliedBy,
    pub(super) live: &'a LiveNames,
    /// Classes that Clusters name and `before` and `after` lack.
    pub(super) elsewhere: [Lookup<'a>; 2],
}

impl ClusterChange<'_> {
    pub(super) fn references(&self, verdict: &mut CourseFindings, pair: FieldPair<'_>) {
        let before =
            REFERENCES.iter().find(|path| pair.before.at(path).is_some() && is_control_plane_path(path));
        let after =
            REFERENCES.iter().find(|path| pair.after.at(path).is_some() && is_control_plane_path(path));
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            // The same reference in another version of the API.
            let (one, other) = (pair.before.at(before), pair.after.at(after));
            if target(one) != target(other) || self.content_rolls(one) {
                verdict.definitely(&format!("{after}/name"));
            }
            return;
        }
        for reference in REFERENCES {
            self.reference(verdict, pair, reference);
        }
    }

    pub(super) fn reference(&self, verdict: &mut CourseFindings, pair: FieldPair<'_>, reference: &str) {
        if let Some(field) = self.reference_field(pair, reference) {
            verdict.definitely(&field);
        }
    }

    /// The field of a reference that replaces machines.
    pub(super) fn reference_field(&self, pair: FieldPair<'_>, reference: &str) -> Option<String> {
        let rolls = renamed(pair, reference) || self.content_rolls(pair.before.at(reference));
        rolls.then(|| {
            let kind_alone = pair.before.at(&format!("{reference}/name"))
                == pair.after.at(&format!("{reference}/name"))
                && renamed(pair, reference);
            let field = if kind_alone { "kind" } else { "name" };
            format!("{reference}/{field}")
        })
    }

    /// Whether the object that a reference names changes under its own name, in a way that replaces
    /// machines.
    pub(super) fn content_rolls(&self, reference: Option<&Value>) -> bool {
        let kind = reference.and_then(|node| text(node, "kind")).unwrap_or_default();
        let rolls = match treatment(None, kind) {
            Some(Treatment::MutableAndRolls) => true,
            Some(Treatment::Rotate) | None => self.applied == AppliedBy::Reconciler,
            Some(Treatment::MutableSilent | Treatment::Never) => false,
        };
        rolls
            && !self.is_live(reference)
            && self.named(reference).is_some_and(|(before, after)| spec_differs(before, after))
    }

    /// Whether a reference names a live object that keeps its spec for as long as it has its name.
    pub(super) fn is_live(&self, reference: Option<&Value>) -> bool {
        target(reference)
            .is_some_and(|(_, kind, name)| self.live.contains(&(kind.to_owned(), name.to_owned())))
    }

    /// What a reference names, before and after.
    pub(super) fn named(&self, reference: Option<&Value>) -> Option<(&Value, &Value)> {
        let (_, kind, name) = target(reference)?;
        Some((find_value_in(&self.before, kind, name)?, find_value_in(&self.after, kind, name)?))
    }
}

fn spec_differs(before: &Value, after: &Value) -> bool {
    match (before.get("spec"), after.get("spec")) {
        // Most templates stay as they are, and a digest is dear.
        (Some(before), Some(after)) => before != after && SpecDigest::of(before) != SpecDigest::of(after),
        _ => false,
    }
}
