//! What is there of a provider's objects, beside what is rendered.

use std::collections::BTreeSet;

use capstan_live::applying::{RefusalKind, differs};
use capstan_live::installing::pass::{
    InstallPhase, ObjectFit, ObjectsLook, ProviderFacts, SeenObject, gone_versions, is_definition,
    is_established, is_own, next, tried_definition,
};
use capstan_live::installing::workload;
use capstan_model::object::ObjectId;
use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use serde_json::Value;

use super::migrate;
use super::ports::ProviderPorts;
use capstan_ports::{ApiKind, ApiObject, As, Contested, LiveError, ManagementCluster as _, Run};
use capstan_reconciler_core::providers::member::PassMember;
use capstan_reconciler_core::providers::members::Members;
use capstan_reconciler_core::providers::prepared::AppliedObject;
use capstan_reconciler_core::providers::sights::{Live, SeenProviderObject, SightQuestion, Sights};

/// How many requests are under way at a time for these objects: one of a definition takes some megabytes here, and keeps the
/// API server busy by itself.
pub(super) fn at_a_time<'i>(objects: impl IntoIterator<Item = &'i ObjectId>) -> usize {
    if objects.into_iter().any(is_definition) { 2 } else { 4 }
}

/// Looks at the objects of a provider: at those that what was seen before does not answer for.
async fn look_at(
    ports: &ProviderPorts,
    by: &As,
    members: &Members,
    member: &PassMember,
    sights: &mut Sights,
) -> Result<ObjectsLook, LiveError> {
    let record = member.record().unwrap_or_default();
    let mut ids: BTreeSet<ObjectId> = member.manifests().keys().cloned().collect();
    ids.extend(record.inventory.objects().iter().map(capstan_live::applying::InventoryObject::id));
    let (label, now) = (member.label(), ports.clock.now());
    let brought = brought_kinds(members);
    let mut look = ObjectsLook::new();
    let (definitions, others): (Vec<ObjectId>, Vec<ObjectId>) = ids.into_iter().partition(is_definition);
    for ids in [definitions, others] {
        let at_a_time = at_a_time(&ids);
        let mut looks = Vec::new();
        for id in ids {
            let manifest = member.manifests().get(&id);
            let question = SightQuestion { manifest: manifest.map(|one| one.digest), phase: record.phase };
            if let Some(sight) = sights.answer(&member.id, &id, question, now) {
                look.insert(id, sight.seen.clone());
                continue;
            }
            let (label, brought) = (&label, &brought);
            looks.push(async move {
                let one = One { ports, by, id: &id, manifest, label, brought, question, now };
                one.look().await.or_else(|error| one.forbidden(error)).map(|sight| (id.clone(), sight))
            });
        }
        let mut found = stream::iter(looks).buffered(at_a_time);
        while let Some(one) = found.next().await {
            let (id, sight) = one?;
            look.insert(id.clone(), sight.seen.clone());
            sights.note(&member.id, &id, sight);
        }
    }
    Ok(look)
}

/// What an answer to an apply shows of the object.
pub(super) fn as_applied(
    ports: &ProviderPorts,
    member: &PassMember,
    id: &ObjectId,
    manifest: &AppliedObject,
    answer: &Value,
) -> SeenProviderObject {
    let phase = member.record().unwrap_or_default().phase;
    let seen = SeenObject { fit: ObjectFit::Same, ..seen(id, Some(answer), &member.label()) };
    let question = SightQuestion { manifest: Some(manifest.digest), phase };
    SeenProviderObject { seen, live: Some(Live::of(answer)), refusal: None, question, at: ports.clock.now() }
}

/// What a live object shows by itself.
fn seen(id: &ObjectId, live: Option<&Value>, label: &str) -> SeenObject {
    let mut seen = SeenObject { health: workload(id, live).map(|one| one.health), ..SeenObject::default() };
    let Some(live) = live else { return seen };
    seen.is_own = is_own(live, label);
    seen.is_established = is_definition(id) && is_established(live);
    if id.group == "apps" && id.kind == "Deployment" {
        seen.replicas = Some(live.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1));
    }
    seen
}

/// What is known of all providers, as far as the next step depends on it: looks at the provider in hand, and at the others
/// only where nothing is to be done for it.
pub(super) async fn look(
    ports: &ProviderPorts,
    members: &Members,
    sights: &mut Sights,
) -> Result<Vec<ProviderFacts>, LiveError> {
    let by = ports.by();
    let mut facts: Vec<ProviderFacts> = members.all.iter().map(PassMember::facts).collect();
    let in_hand: Vec<usize> = (0..facts.len())
        .filter(|at| facts[*at].record.as_ref().is_some_and(|record| record.is_under_way()))
        .collect();
    for at in &in_hand {
        facts[*at].look = Some(look_at(ports, &by, members, &members.all[*at], sights).await?);
    }
    if !in_hand.is_empty() && next(&facts, ports.patience()).step.is_some() {
        return Ok(facts);
    }
    for at in (0..facts.len()).filter(|at| !in_hand.contains(at)) {
        facts[at].look = Some(look_at(ports, &by, members, &members.all[at], sights).await?);
    }
    Ok(facts)
}

/// Group and kind of what the definitions of all providers bring.
fn brought_kinds(members: &Members) -> BTreeSet<(String, String)> {
    let manifests = members.all.iter().flat_map(|member| member.manifests().values());
    manifests.filter_map(|manifest| manifest.brings.clone()).collect()
}

/// One object to read, and what its sight needs besides.
struct One<'a> {
    ports: &'a ProviderPorts,
    by: &'a As,
    id: &'a ObjectId,
    /// What is rendered; `None` where it is in the inventory alone.
    manifest: Option<&'a AppliedObject>,
    label: &'a str,
    brought: &'a BTreeSet<(String, String)>,
    question: SightQuestion,
    now: Timestamp,
}

impl One<'_> {
    async fn look(&self) -> Result<SeenProviderObject, LiveError> {
        let object = self.manifest.map_or_else(|| ApiObject::from(self.id), |one| one.object.clone());
        let live = self.ports.live.read(self.by, &object).await?;
        let mut seen = seen(self.id, live.as_ref(), self.label);
        let mut refusal = None;
        if let Some(live) = live.as_ref().filter(|_| self.question.phase == InstallPhase::Preparing) {
            if let Some(manifest) = self.manifest.filter(|_| is_definition(self.id)) {
                seen.going = migrate::going(self.ports, self.by, &manifest.value(), live).await?;
            }
            if seen.replicas == Some(0) {
                seen.pods = self.pods(live).await?;
            }
        }
        seen.fit = match (self.manifest, &live) {
            (_, Some(live)) if live.pointer("/metadata/deletionTimestamp").is_some() => {
                ObjectFit::Terminating
            }
            (None, Some(_)) => ObjectFit::Same,
            (None, None) => ObjectFit::Absent,
            (Some(manifest), live) => self.fit(manifest, live.as_ref(), &mut refusal).await?,
        };
        Ok(self.sight(seen, live.as_ref(), refusal))
    }

    fn sight(
        &self,
        seen: SeenObject,
        live: Option<&Value>,
        refusal: Option<RefusalKind>,
    ) -> SeenProviderObject {
        SeenProviderObject { seen, live: live.map(Live::of), refusal, question: self.question, at: self.now }
    }

    /// Somebody may not even look: that is said of the object, like a refusal of what is rendered.
    fn forbidden(&self, error: LiveError) -> Result<SeenProviderObject, LiveError> {
        match error {
            LiveError::Refused { refusal, .. } if refusal.kind == RefusalKind::Forbidden => {
                let seen =
                    SeenObject { fit: ObjectFit::Refused(refusal.to_string()), ..SeenObject::default() };
                Ok(self.sight(seen, None, Some(RefusalKind::Forbidden)))
            }
            error => Err(error),
        }
    }

    /// What is there beside what is rendered, tried where that is needed.
    async fn fit(
        &self,
        manifest: &AppliedObject,
        live: Option<&Value>,
        refusal: &mut Option<RefusalKind>,
    ) -> Result<ObjectFit, LiveError> {
        if let Some(live) = live
            && self.ports.tried.knows_digest(self.id, manifest.digest, live, self.now)
        {
            return Ok(ObjectFit::Same);
        }
        let is_brought = || self.brought.contains(&(self.id.group.clone(), self.id.kind.clone()));
        if !self.question.tries() {
            return Ok(match live {
                Some(_) => ObjectFit::Differs,
                None if is_brought() => ObjectFit::Later,
                None => ObjectFit::Absent,
            });
        }
        let whole = manifest.value();
        let loses_versions =
            live.filter(|live| is_definition(self.id) && !gone_versions(&whole, live).is_empty());
        let tried = match loses_versions {
            // What is stored in them goes before; nothing can be tried that drops them.
            Some(live) => tried_definition(&whole, live),
            None => whole,
        };
        match self.ports.live.apply(self.by, &tried, Run::Dry, Contested::Take).await {
            Ok(_) if loses_versions.is_some() => Ok(ObjectFit::Differs),
            Ok(answer) => {
                if !differs(live, &answer).is_empty() {
                    return Ok(if live.is_some() { ObjectFit::Differs } else { ObjectFit::Absent });
                }
                if let Some(live) = live {
                    self.ports.tried.note_digest(self.id, manifest.digest, live, self.now);
                }
                Ok(ObjectFit::Same)
            }
            Err(LiveError::Refused { refusal: answer, .. }) => match answer.kind {
                RefusalKind::MissingKind if is_brought() => Ok(ObjectFit::Later),
                RefusalKind::Terminating => Ok(ObjectFit::Terminating),
                kind => {
                    *refusal = Some(kind);
                    Ok(ObjectFit::Refused(answer.to_string()))
                }
            },
            Err(LiveError::Malformed { reason, .. }) => Ok(ObjectFit::Refused(reason)),
            Err(error) => Err(error),
        }
    }

    /// How many pods of a Deployment there are.
    async fn pods(&self, deployment: &Value) -> Result<usize, LiveError> {
        let labels = deployment.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
        let labels: Vec<(&str, &str)> = labels
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
            .collect();
        let kind = ApiKind::of_version("v1", "Pod");
        let pods = self.ports.live.list(self.by, &kind, self.id.namespace.as_deref(), &labels).await?;
        let counted = deployment.pointer("/status/replicas").and_then(Value::as_u64).unwrap_or(0);
        Ok(pods.len().max(usize::try_from(counted).unwrap_or(usize::MAX)))
    }
}
