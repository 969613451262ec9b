//! What must be gone before a provider goes: objects of the kinds that its definitions bring. They would have no
//! controller, and their conversion webhook would not answer. Before core goes, all other providers must be gone, and
//! before a definition goes, every object of it.
//!
//! The finalizer that holds a provider object meanwhile is the operator's own
//! (`provider.cluster.x-k8s.io`). Definitions stay when a provider goes; they are deleted only on a tombstone of their own.

use capstan_model::object::ObjectId;
use capstan_providers::ProviderKind;
use jiff::Timestamp;
use serde_json::Value;

use super::conditions::ConditionWriter;

/// The condition that a provider object has while it is being deleted and may not go.
pub const DELETION_BLOCKED: &str = "DeletionBlocked";

/// Group and kind of a definition.
pub const DEFINITION: (&str, &str) = ("apiextensions.k8s.io", "CustomResourceDefinition");

/// How many names a message lists; the others are counted.
const NAMED: usize = 5;

/// Objects of one kind that exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InUse {
    /// `ipaddresses.ipam.cluster.x-k8s.io`: the definition's name.
    pub definition: String,
    /// How many there are.
    pub count: usize,
    /// Some of them by name, as the caller read them: `my-org/pool-1`; messages list the first five.
    pub names: Vec<String>,
}

/// What a deletion is judged by.
#[derive(Debug, Clone)]
pub struct DeletionFacts<'a> {
    /// The kind of the provider that is to go.
    pub kind: ProviderKind,
    /// Objects of the kinds of its definitions, a row a definition that has any.
    pub objects: &'a [InUse],
    /// All other provider objects, those that are being deleted too.
    pub others: &'a [ObjectId],
}

/// Whether a provider may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deletion {
    May,
    /// Not while these are there; never empty.
    Blocked(Vec<Blocked>),
}

/// What is in the way of a deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    /// Objects of a kind that it brings.
    Objects(InUse),
    /// Other providers, which work on core's objects.
    Providers(Vec<ObjectId>),
}

/// Whether a provider may go.
pub fn deletion(facts: &DeletionFacts<'_>) -> Deletion {
    let used = facts.objects.iter().filter(|used| used.count > 0).cloned().map(Blocked::Objects);
    let mut blocked: Vec<Blocked> = used.collect();
    if facts.kind == ProviderKind::Core && !facts.others.is_empty() {
        blocked.push(Blocked::Providers(facts.others.to_vec()));
    }
    if blocked.is_empty() { Deletion::May } else { Deletion::Blocked(blocked) }
}

/// Whether a definition may go that a tombstone names: only with no object of it left, and while no provider object asks
/// for it.
///
/// # Errors
/// Why not, in words.
pub fn definition_may_go(used: Option<&InUse>, rendered_by: Option<&ObjectId>) -> Result<(), String> {
    if let Some(provider) = rendered_by {
        return Err(format!("{provider} owns it: delete that first, or remove the tombstone"));
    }
    match used.filter(|used| used.count > 0) {
        Some(used) => Err(format!("{}: delete them first", counted(used))),
        None => Ok(()),
    }
}

impl Blocked {
    const fn reason(&self) -> &'static str {
        match self {
            Self::Objects(_) => "ObjectsExist",
            Self::Providers(_) => "ProvidersExist",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Objects(used) => counted(used),
            Self::Providers(others) => {
                let names: Vec<String> = others.iter().map(ToString::to_string).collect();
                let need = if others.len() == 1 { "provider needs" } else { "providers need" };
                format!("{} other {need} it ({})", others.len(), some_of(&names, others.len()))
            }
        }
    }
}

/// `12 objects of ipaddresses.ipam.cluster.x-k8s.io exist (my-org/a, my-org/b and 10 more)`.
fn counted(used: &InUse) -> String {
    let objects = if used.count == 1 { "object" } else { "objects" };
    let exist = if used.count == 1 { "exists" } else { "exist" };
    let named = some_of(&used.names, used.count);
    format!("{} {objects} of {} {exist} ({named})", used.count, used.definition)
}

fn some_of(names: &[String], count: usize) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    match count.saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more if shown.is_empty() => format!("{more}, none of them named"),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The status of a provider object that is being deleted, with what is in the way; and of one that is not, without the
/// condition.
pub fn with_deletion(status: &Value, generation: i64, deletion: Option<&Deletion>, now: Timestamp) -> Value {
    let mut said = ConditionWriter::over(status, generation, now);
    match deletion {
        Some(Deletion::Blocked(blocked)) => {
            let message: Vec<String> = blocked.iter().map(Blocked::message).collect();
            let reason = blocked.first().map_or("ObjectsExist", Blocked::reason);
            let message = format!("{}: Capstan deletes nothing before they are gone", message.join("; "));
            said.set(DELETION_BLOCKED, "True", reason, &message);
        }
        Some(Deletion::May) | None => said.clear(DELETION_BLOCKED),
    }
    let mut status = status.as_object().cloned().unwrap_or_default();
    if !said.conditions.is_empty() || status.contains_key("conditions") {
        status.insert("conditions".to_owned(), Value::Array(said.conditions));
    }
    Value::Object(status)
}

#[cfg(test)]
#[path = "deletion_tests.rs"]
mod tests;
