//! A server-side dry run of every object that the components of a head's provider set come to, and what the refused ones mean
//! before a merge.

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::RefusalKind;
use capstan_live::installing::DEFINITION;
use capstan_live::installing::pass::{applied, gone_versions, is_definition, tried_definition};
use capstan_live::live_objects::identity;
use capstan_model::finding::Severity;
use capstan_model::object::ObjectId;
use capstan_model::wording::{count, fitting};
use capstan_providers::{RenderedSet, SetMember, Variable};
use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use capstan_ports::{As, Contested, LiveError, ManagementCluster, Run};
use capstan_reconciler_core::reason::Reason;

/// How many refused objects are named one by one.
const MOST_REASONS: usize = 20;
/// Dry runs that are under way at a time.
const TRIALS: usize = 4;

/// The result of trying the objects of a set's components.
#[derive(Default)]
struct TriedObjects {
    reasons: Vec<Reason>,
    /// How many more objects are refused.
    more: usize,
    /// Namespaces that come with the same commit.
    namespaces: BTreeSet<String>,
    /// The first of cert-manager's objects that it does not take: why, and whether it is not there at all.
    cert_manager: Option<(String, bool)>,
}

/// Tries every object of the components, as they would be applied.
pub(super) async fn try_all(
    live: &dyn ManagementCluster,
    by: &As,
    rendered: &RenderedSet,
    defined: &BTreeMap<String, Value>,
    objects: &[RenderedObject],
    knows_rights: bool,
) -> Result<Vec<Reason>, LiveError> {
    let mut tried = TriedObjects::default();
    let brought: BTreeSet<(&str, &str)> = rendered
        .members
        .iter()
        .filter_map(SetMember::rendered)
        .flat_map(|rendered| &rendered.objects)
        .filter(|object| object["kind"] == DEFINITION.1)
        .filter_map(|definition| {
            let text = |pointer: &str| definition.pointer(pointer)?.as_str();
            Some((text("/spec/group")?, text("/spec/names/kind")?))
        })
        .collect();
    for member in &rendered.members {
        let Some(components) = member.rendered() else { continue };
        let open = components
            .variables
            .iter()
            .filter(|(_, state)| matches!(state, Variable::Unseen | Variable::Unbound));
        let open: Vec<&str> = open.map(|(name, _)| name.as_str()).collect();
        if !open.is_empty() {
            let message = format!(
                "the objects of {} are not tried, because these variables are unknown here: {}",
                member.id(),
                open.join(", ")
            );
            tried
                .reasons
                .push(Reason { severity: Severity::Warning, ..Reason::plain("VariablesUnknown", message) });
            continue;
        }
        let attempts = components.objects.iter().map(|object| async move {
            let id = identity(object)?;
            let there = defined.get(&id.name).filter(|_| is_definition(&id));
            let manifest = match there.filter(|there| !gone_versions(object, there).is_empty()) {
                // What is stored in them goes before; nothing can be tried that drops them.
                Some(there) => tried_definition(object, there),
                None => applied(object),
            };
            Some((id, live.apply(by, &manifest, Run::Dry, Contested::Take).await))
        });
        let answers: Vec<_> = stream::iter(attempts.collect::<Vec<_>>()).buffered(TRIALS).collect().await;
        for (id, answer) in answers.into_iter().flatten() {
            let is_brought = brought.contains(&(id.group.as_str(), id.kind.as_str()));
            tried.hear(member, id, answer, is_brought, objects, knows_rights)?;
        }
    }
    Ok(tried.into_reasons())
}

impl TriedObjects {
    fn hear(
        &mut self,
        member: &SetMember,
        id: ObjectId,
        answer: Result<Value, LiveError>,
        is_brought: bool,
        objects: &[RenderedObject],
        knows_rights: bool,
    ) -> Result<(), LiveError> {
        let (kind, why, waits) = match answer {
            Ok(_) => return Ok(()),
            Err(LiveError::Refused { refusal, .. }) => {
                (refusal.kind, refusal.message.clone(), refusal.is_waiting())
            }
            Err(LiveError::Malformed { reason, .. }) => (RefusalKind::Invalid, reason, false),
            Err(error) => return Err(error),
        };
        let is_certificate = id.group == "cert-manager.io";
        match kind {
            RefusalKind::MissingKind if is_brought => {}
            RefusalKind::MissingKind if is_certificate => {
                self.cert_manager = Some((format!("{id}: {why}"), true))
            }
            RefusalKind::Webhook | RefusalKind::Server if is_certificate => {
                self.cert_manager.get_or_insert_with(|| (format!("{id}: {why}"), false));
            }
            RefusalKind::MissingNamespace if brings_namespace(&id, objects) => {
                self.namespaces.extend(id.namespace);
            }
            // The missing rights are reported by rule and verb.
            RefusalKind::Forbidden if knows_rights => {}
            RefusalKind::Conflict | RefusalKind::TooManyRequests | RefusalKind::Server => {
                let doing = format!("trying {id}");
                return Err(LiveError::Unreachable { doing, reason: why });
            }
            _ if self.reasons.len() >= MOST_REASONS => self.more += 1,
            kind => {
                let may_pass = waits || kind == RefusalKind::Webhook;
                let severity = if may_pass { Severity::Warning } else { Severity::Error };
                let message = format!("of {}: {why}", member.label());
                self.reasons.push(Reason {
                    severity,
                    object: Some(id),
                    place: member.place.clone(),
                    ..Reason::plain(kind.as_str(), message)
                });
            }
        }
        Ok(())
    }

    fn into_reasons(mut self) -> Vec<Reason> {
        match self.cert_manager {
            Some((why, true)) => {
                let message =
                    format!("cert-manager's definitions are not there ({why}): install cert-manager first");
                self.reasons.push(Reason::plain("CertManagerMissing", message));
            }
            Some((why, false)) => {
                let message = format!("cert-manager does not answer ({why})");
                self.reasons.push(Reason {
                    severity: Severity::Warning,
                    ..Reason::plain("CertManagerNotReady", message)
                });
            }
            None => {}
        }
        for namespace in &self.namespaces {
            let message = format!(
                "the objects in namespace {namespace} cannot be tried before the merge: the namespace comes with the same commit"
            );
            self.reasons
                .push(Reason { severity: Severity::Warning, ..Reason::plain("NamespaceNotThere", message) });
        }
        if self.more > 0 {
            let message = format!(
                "{} of components {} refused, too",
                count(self.more, "more object", "more objects"),
                fitting(self.more, "is", "are")
            );
            self.reasons.push(Reason::plain(RefusalKind::Other.as_str(), message));
        }
        self.reasons
    }
}

fn brings_namespace(id: &ObjectId, objects: &[RenderedObject]) -> bool {
    objects.iter().any(|other| {
        other.id.group.is_empty()
            && other.id.kind == "Namespace"
            && Some(&other.id.name) == id.namespace.as_ref()
    })
}
