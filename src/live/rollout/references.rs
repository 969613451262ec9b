//! What machines are made from, as their owners name it.

use super::course::Verdict;
use super::pointer::At;
use super::reading::{ById, Pair, Reading};
use capstan_model::kinds::{Treatment, treatment};
use capstan_model::object::api_group;
use capstan_plan::merge::AppliedBy;
use capstan_plan::templates::SpecDigest;
use capstan_yaml::Value;

/// Where control planes and workers name what machines are made from.
pub(super) const REFERENCES: &[&str] = &[
    "/spec/machineTemplate/infrastructureRef",
    "/spec/machineTemplate/spec/infrastructureRef",
    "/spec/machineTemplate/infrastructureTemplate",
    "/spec/infrastructureTemplate",
    "/spec/infrastructureRef",
    "/spec/template/spec/bootstrap/configRef",
    "/spec/template/spec/infrastructureRef",
];

impl Reading<'_> {
    pub(super) fn references(&self, verdict: &mut Verdict, pair: Pair<'_>) {
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

    pub(super) fn reference(&self, verdict: &mut Verdict, pair: Pair<'_>, reference: &str) {
        if renamed(pair, reference) || self.content_rolls(pair.before.at(reference)) {
            let kind_alone = pair.before.at(&format!("{reference}/name"))
                == pair.after.at(&format!("{reference}/name"))
                && renamed(pair, reference);
            let field = if kind_alone { "kind" } else { "name" };
            verdict.definitely(&format!("{reference}/{field}"));
        }
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

/// The class that a topology Cluster names.
pub(super) fn class_name(cluster: &Value) -> Option<&str> {
    let name = cluster.at("/spec/topology/class").or_else(|| cluster.at("/spec/topology/classRef/name"));
    name.and_then(Value::as_str)
}

fn is_control_plane_path(path: &str) -> bool {
    !path.starts_with("/spec/template")
}

pub(super) fn text<'v>(node: &'v Value, key: &str) -> Option<&'v str> {
    node.get(key).and_then(Value::as_str)
}

/// Group, kind and name of what a reference names; the API version is not part of it.
pub(super) fn target(reference: Option<&Value>) -> Option<(Option<&str>, &str, &str)> {
    let reference = reference?;
    let group = text(reference, "apiGroup").or_else(|| text(reference, "apiVersion").map(api_group));
    Some((group, text(reference, "kind")?, text(reference, "name")?))
}

pub(super) fn renamed(pair: Pair<'_>, reference: &str) -> bool {
    match (target(pair.before.at(reference)), target(pair.after.at(reference))) {
        (Some((one_group, one_kind, one)), Some((group, kind, other))) => {
            let same_group = one_group.is_none() || group.is_none() || one_group == group;
            !same_group || one_kind != kind || one != other
        }
        (before, after) => before != after,
    }
}

pub(super) fn find_value_in<'a>(objects: &ById<'a>, kind: &str, name: &str) -> Option<&'a Value> {
    let found = objects.iter().find(|((_, other, called), _)| *other == kind && *called == name);
    found.map(|(_, object)| &object.value)
}

fn spec_differs(before: &Value, after: &Value) -> bool {
    match (before.get("spec"), after.get("spec")) {
        // Most templates stay as they are, and a digest is dear.
        (Some(before), Some(after)) => before != after && SpecDigest::of(before) != SpecDigest::of(after),
        _ => false,
    }
}
