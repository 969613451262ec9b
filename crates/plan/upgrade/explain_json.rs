//! An explanation as JSON: what `plan -o json --explain` adds to an element under `explain`.

use serde_json::json;

use super::explain::{ChangeOrigin, Explanation};
use super::model::Rollout;
use super::provenance::{ListMerged, ValueCompared};
use crate::merge::decision::{Decider, HowMerged};
use capstan_kustomize::schema::SchemaOrigin;
use capstan_model::finding::Place;
use capstan_yaml::Value;

/// `{"changes":[…],"lists":[…],"values":[…],"rollouts":[…]}`, each ordered as in the explanation.
pub fn explanation_to_json(explanation: &Explanation) -> Value {
    json!({
        "changes": explanation.changes.iter().map(change).collect::<Vec<_>>(),
        "lists": explanation.lists.iter().map(list).collect::<Vec<_>>(),
        "values": explanation.values.iter().map(value).collect::<Vec<_>>(),
        "rollouts": explanation.rollouts.iter().map(rollout).collect::<Vec<_>>(),
    })
}

fn change(change: &ChangeOrigin) -> Value {
    json!({
        "object": change.object,
        "path": change.path,
        "because": change.because,
        "old": change.old.as_ref().map(place_of),
        "new": change.new.as_ref().map(place_of),
    })
}

fn place_of(place: &Place) -> Value {
    json!({"file": place.file(), "line": place.line()})
}

fn rollout(rollout: &Rollout) -> Value {
    json!({
        "object": rollout.object,
        "because": rollout.because,
        "replaced": rollout.course.replaced,
        "created": rollout.course.created,
        "deleted": rollout.course.deleted,
        "order": rollout.course.order,
        "strategy": rollout.course.strategy,
        "parts": rollout.course.parts,
        "notes": rollout.course.notes,
    })
}

fn list(list: &ListMerged) -> Value {
    let (how, key) = match &list.how {
        HowMerged::ByKey(key) => ("key", Some(key)),
        HowMerged::ByArgument => ("argument", None),
        HowMerged::AsSet => ("set", None),
        HowMerged::AsSequence => ("sequence", None),
        HowMerged::AsOneValue => ("value", None),
        HowMerged::WithoutKey(key) => ("value", Some(key)),
    };
    json!({
        "object": list.object,
        "file": list.place.file(),
        "line": list.place.line(),
        "path": list.path,
        "merged": how,
        "key": key,
        "decidedBy": decided_by(&list.decided_by),
        "definition": definition(&list.decided_by),
    })
}

fn value(value: &ValueCompared) -> Value {
    json!({
        "object": value.object,
        "file": value.place.file(),
        "line": value.place.line(),
        "path": value.path,
        "kind": value.kind.as_str(),
        "base": value.base,
        "cluster": value.cluster,
        "release": value.release,
        "decidedBy": decided_by(&value.decided_by),
        "definition": definition(&value.decided_by),
    })
}

const fn decided_by(decider: &Decider) -> &'static str {
    match decider {
        Decider::OwnTable => "own-table",
        Decider::Schema(SchemaOrigin::BuiltIn) => "built-in",
        Decider::Schema(SchemaOrigin::Repository(_) | SchemaOrigin::Capstan(_)) => "definition",
        Decider::Name => "name",
        Decider::Nobody => "nobody",
    }
}

fn definition(decider: &Decider) -> Value {
    match decider {
        Decider::Schema(SchemaOrigin::Repository(place) | SchemaOrigin::Capstan(place)) => place_of(place),
        _ => Value::Null,
    }
}
