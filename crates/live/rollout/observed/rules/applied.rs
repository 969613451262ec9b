//! Whether a live object asks for what is rendered.

use serde_json::Value;

use crate::live_objects::text;
use crate::rollout::facts;
use crate::rollout::observed::observed_owner::ObservedOwner;
use crate::rollout::observed::reading::is_version;
use crate::rollout::observed::scheduled::after;
use capstan_model::kinds::{self, version_fields};
use capstan_plan::templates::{TemplateRole, references};

/// Whether the live object asks for what is rendered.
pub(in crate::rollout::observed) fn is_applied(owner: &ObservedOwner<'_>, live: &Value) -> bool {
    not_applied(owner, live).is_none()
}

/// Whether the live object asks for something else than what is rendered: it is withheld, say.
pub(super) fn not_applied(owner: &ObservedOwner<'_>, live: &Value) -> Option<String> {
    let desired = owner.desired?;
    for (_, keys) in version_fields(&owner.id.group, &owner.id.kind) {
        let pointer = kinds::pointer(keys);
        let (asked, has) = (text(&desired.value, &pointer), text(live, &pointer));
        if let Some(asked) = asked
            && !has.is_some_and(|has| is_version(has, asked))
        {
            return Some(format!(
                "not applied yet: it has Kubernetes {}, but Git has {asked}",
                has.unwrap_or("none")
            ));
        }
    }
    let machines = |role: TemplateRole| {
        matches!(
            role,
            TemplateRole::Machines
                | TemplateRole::Bootstrap
                | TemplateRole::PoolBootstrap
                | TemplateRole::Pool
                | TemplateRole::Class
        )
    };
    let named = references(&owner.id.group, &owner.id.kind, live);
    for reference in references(&owner.id.group, &owner.id.kind, &desired.value) {
        let is_there = named.iter().any(|other| {
            other.role == reference.role && other.kind == reference.kind && other.name == reference.name
        });
        if machines(reference.role) && !is_there {
            return Some(format!("not applied yet: Git names {} {}", reference.kind, reference.name));
        }
    }
    for pointer in facts::WORKER_ROLLS {
        let asked = text(&desired.value, pointer).filter(|asked| text(live, pointer) != Some(asked));
        if let Some(asked) = asked.filter(|_| !is_version_field(owner, pointer)) {
            return Some(format!("not applied yet: Git has {asked} in {pointer}"));
        }
    }
    // The API server writes times its own way.
    let asked = after(&desired.value).filter(|asked| after(live) != Some(*asked));
    asked.map(|asked| format!("not applied yet: Git has {asked} as rollout.after"))
}

fn is_version_field(owner: &ObservedOwner<'_>, pointer: &str) -> bool {
    version_fields(&owner.id.group, &owner.id.kind).any(|(_, keys)| kinds::pointer(keys) == pointer)
}
