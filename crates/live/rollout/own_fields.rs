//! What a control plane's controller makes of its own fields: of the object's, or of those that a template gives it.

use super::pair::{FieldPair, differing, some};
use super::pointer::{PointerTarget, is_below};
use super::references::REFERENCES;
use super::{facts, kubeadm};
use capstan_model::kinds::KindReader;
use capstan_yaml::Value;

/// The fields of a control plane that differ, by what they do to its machines.
#[derive(Debug, Default)]
pub(super) struct OwnFields {
    /// They replace machines.
    pub(super) surely: Vec<String>,
    /// Only the live machines, or the controller's code, could tell.
    pub(super) perhaps: Vec<String>,
    /// Why.
    pub(super) notes: Vec<String>,
}

/// Compares two states of a control plane of this kind, without its machine template and its version, whose paths are
/// `versions`.
pub(super) fn own_fields(pair: FieldPair<'_>, kind: &str, versions: &[&str]) -> OwnFields {
    let unread = |object: &Value| {
        let api_version = object.at("/apiVersion").and_then(Value::as_str);
        Some(
            KindReader::ControlPlanes
                .describe_unread(kind, KindReader::ControlPlanes.unread(kind, api_version)?),
        )
    };
    let why = unread(pair.before).or_else(|| unread(pair.after));
    let mut found = match (kind, &why) {
        (facts::KUBEADM, None) => kubeadm_fields(pair),
        (_, None) => of_others(pair, facts::own_fields_that_roll(kind), versions),
        (_, Some(_)) => of_others(pair, None, versions),
    };
    if let Some(why) = why.filter(|_| KindReader::ControlPlanes.knows(kind) && !found.perhaps.is_empty()) {
        found.notes.push(format!("It is unknown which of its fields replace machines: {why}."));
    }
    found
}

fn kubeadm_fields(pair: FieldPair<'_>) -> OwnFields {
    let differences = kubeadm::differences(pair.before, pair.after, "/spec/kubeadmConfigSpec");
    let mut found = OwnFields {
        surely: differences.rolls,
        perhaps: differences.first_machine_only,
        ..OwnFields::default()
    };
    if found.surely.is_empty() && !found.perhaps.is_empty() {
        found.notes.push("Only the machine that `kubeadm init` made is compared with `initConfiguration`, if it still lives.".to_owned());
    }
    for pointer in facts::ROLLOUT_BEFORE {
        if pair.differs(pointer) && some(pair.after.at(pointer)).is_some() {
            found.perhaps.push((*pointer).to_owned());
            found
                .notes
                .push("Machines whose certificates end within that time are replaced at once.".to_owned());
        }
    }
    found
}

/// A control plane of another provider. If it is known from its code which of its fields make machines outdated
/// ([`facts::own_fields_that_roll`]), the others do nothing; else Git alone does not tell.
fn of_others(pair: FieldPair<'_>, rolling: Option<&[&str]>, versions: &[&str]) -> OwnFields {
    let mut found = OwnFields::default();
    let below = |path: &str, fields: &[&str]| fields.iter().any(|field| is_below(path, field));
    let mut leaves = Vec::new();
    differing(pair.before.at("/spec"), pair.after.at("/spec"), "/spec", &mut leaves);
    // Between versions of an API fields move, and what only moves replaces nothing.
    let same_version = pair.before.at("/apiVersion") == pair.after.at("/apiVersion");
    for path in leaves {
        if [facts::CONTROL_PLANE_IN_PLACE, REFERENCES, versions].iter().any(|known| below(&path, known)) {
            continue;
        }
        match rolling {
            Some(fields) if !below(&path, fields) => {}
            Some(_) if is_below(&path, facts::K0S_IN_PLACE) => {
                // What comes or goes as a whole may hold such a field.
                let may_roll = |field: &&&str| is_below(&path, field) || is_below(field, &path);
                if facts::K0S_MAY_ROLL.iter().filter(may_roll).any(|field| pair.differs(field)) {
                    found.perhaps.push(path);
                }
            }
            Some(_) if same_version && !means_nothing(pair, &path) => found.surely.push(path),
            Some(_) | None => found.perhaps.push(path),
        }
    }
    found
}

/// Whether a field is empty on one side and absent on the other.
fn means_nothing(pair: FieldPair<'_>, path: &str) -> bool {
    kubeadm::is_empty(pair.before.at(path).unwrap_or(&Value::Null))
        && kubeadm::is_empty(pair.after.at(path).unwrap_or(&Value::Null))
}
