//! An upgrade as JSON, to the letter of the contract for `plan -o json`.

use serde_json::{Map, json};

use super::model::{Change, Conflict, Rollout, RolloutEffect, Upgrade, ValueOrigin};
use super::redact::redact;
use super::service_change::ServiceChange;
use capstan_model::file_change::FileChange;
use capstan_model::finding::Finding;
use capstan_model::object::ObjectId;
use capstan_model::target::TargetKind;
use capstan_yaml::Value;

/// One element of the array that `plan -o json` prints: an upgrade, with what brings it and the values behind it. Values at
/// secret paths are redacted.
pub fn element_to_json(upgrade: &Upgrade) -> Value {
    let mut out = to_json(upgrade);
    let Value::Object(fields) = &mut out else { return out };
    let values = upgrade.values.as_deref();
    fields.insert("source".into(), json!(upgrade.brought_by().as_str()));
    let digests = json!({
        "from": values.and_then(|values| values.from.as_ref()),
        "to": values.and_then(|values| values.to.as_ref()),
    });
    fields.insert("values".into(), digests);
    if let Some(changes) = fields.get_mut("changes").and_then(Value::as_array_mut) {
        add_origins(changes, values.map(|values| values.origins.as_slice()).unwrap_or_default());
    }
    // Only an inventory's conflicts have any.
    let origins = values.map(|values| values.conflict_origins.as_slice()).unwrap_or_default();
    if let Some(conflicts) = fields.get_mut("conflicts").and_then(Value::as_array_mut)
        && !origins.is_empty()
    {
        add_origins(conflicts, origins);
    }
    out
}

/// An upgrade by itself. Values at secret paths are redacted.
pub fn to_json(upgrade: &Upgrade) -> Value {
    // A rollout replaces machines, and the contract knows no more of it; what only scales, and how
    // machines come and go, is part of the explanation.
    let replacing =
        upgrade.rollouts.iter().filter(|rollout| rollout.course.effect == RolloutEffect::Replaces);
    let mut out = json!({
        "cluster": upgrade.target.path(),
        "from": upgrade.from.as_ref().map(ToString::to_string),
        "to": upgrade.to.as_ref().map(ToString::to_string),
        "basis": upgrade.basis,
        "files": upgrade.files.iter().map(file_json).collect::<Vec<_>>(),
        "changes": upgrade.changes.iter().map(change_json).collect::<Vec<_>>(),
        "conflicts": upgrade.conflicts.iter().map(conflict_json).collect::<Vec<_>>(),
        "findings": upgrade.findings.iter().map(finding_to_json).collect::<Vec<_>>(),
        "rollouts": replacing.map(rollout_json).collect::<Vec<_>>(),
        "notes": upgrade.notes,
    });
    if let (false, Value::Object(fields)) = (upgrade.services.is_empty(), &mut out) {
        fields.insert("services".into(), upgrade.services.iter().map(service_json).collect());
    }
    if let (TargetKind::Providers, Value::Object(fields)) = (upgrade.target.kind(), &mut out) {
        fields.insert("providers".into(), json!(upgrade.providers));
    }
    out
}

/// Where the values stand that a change, or one side of a conflict, comes from: `origin`, or where several made it,
/// `origins`.
fn add_origins(items: &mut [Value], of_items: &[Vec<ValueOrigin>]) {
    let one = |origin: &ValueOrigin| {
        let (file, line, column) = (origin.place.file(), origin.place.line(), origin.place.column());
        json!({"level": origin.level, "name": origin.name, "file": file, "line": line, "column": column})
    };
    for (at, item) in items.iter_mut().enumerate() {
        let Some(fields) = item.as_object_mut() else { continue };
        let origins = of_items.get(at).map(Vec::as_slice).unwrap_or_default();
        let (single, several) = match origins {
            [] => (Value::Null, None),
            [origin] => (one(origin), None),
            several => (Value::Null, Some(several.iter().map(one).collect::<Vec<_>>())),
        };
        fields.insert("origin".into(), single);
        if let Some(several) = several {
            fields.insert("origins".into(), json!(several));
        }
    }
}

fn file_json(file: &FileChange) -> Value {
    let action = match (&file.before, &file.after) {
        (None, _) => "add",
        (Some(_), None) => "remove",
        (Some(_), Some(_)) => "modify",
    };
    json!({"path": file.path, "action": action})
}

fn change_json(change: &Change) -> Value {
    let op = match (&change.old, &change.new) {
        _ if change.from.is_some() => "move",
        (None, _) => "add",
        (Some(_), None) => "remove",
        (Some(_), Some(_)) => "replace",
    };
    let mut out = json!({
        "object": object_json(&change.object),
        "file": change.place.file(),
        "line": change.place.line(),
        "path": change.path,
        "op": op,
        "old": redact(&change.object, &change.path, change.old.as_ref()),
        "new": redact(&change.object, &change.path, change.new.as_ref()),
        "reason": change.reason,
    });
    if let (Some(from), Value::Object(fields)) = (&change.from, &mut out) {
        fields.insert("from".into(), json!(from));
    }
    out
}

fn service_json(service: &ServiceChange) -> Value {
    let kept =
        service.kept.iter().map(|edit| json!({"object": object_json(&edit.object), "path": edit.path}));
    json!({
        "name": service.name,
        "role": service.role,
        "action": service.course,
        "folder": service.folder,
        "from": service.from,
        "to": service.to,
        "settings": service.settings,
        "kept": kept.collect::<Vec<_>>(),
    })
}

fn conflict_json(conflict: &Conflict) -> Value {
    let shown = |value: &Option<Value>| redact(&conflict.object, &conflict.path, value.as_ref());
    json!({
        "object": object_json(&conflict.object),
        "file": conflict.place.file(),
        "line": conflict.place.line(),
        "path": conflict.path,
        "base": shown(&conflict.base),
        "cluster": shown(&conflict.cluster),
        "release": shown(&conflict.release),
        "kept": conflict.kept,
        "blocks": conflict.blocks,
    })
}

/// A finding as in `findings`: also what `validate -o json` prints.
pub fn finding_to_json(finding: &Finding) -> Value {
    let mut out = Map::new();
    out.insert("rule".into(), finding.rule.id().into());
    out.insert("severity".into(), json!(finding.severity()));
    out.insert("message".into(), finding.message.as_str().into());
    out.insert("file".into(), json!(finding.file()));
    out.insert("line".into(), json!(finding.line()));
    out.insert("column".into(), json!(finding.column()));
    Value::Object(out)
}

fn rollout_json(rollout: &Rollout) -> Value {
    json!({
        "object": object_json(&rollout.object),
        "machines": rollout.machines,
        "certainty": rollout.certainty,
        "because": rollout.because,
    })
}

fn object_json(object: &ObjectId) -> Value {
    json!(object)
}
