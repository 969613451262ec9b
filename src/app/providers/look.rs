//! What is there of a provider's objects, beside what is rendered.

use std::collections::{BTreeMap, BTreeSet};

use capstan_live::applying::{RefusalKind, differs};
use capstan_live::installing::pass::{
    Fit, Look, Phase, ProviderFacts, Seen, gone_versions, is_definition, is_established, is_own, next,
    tried_definition,
};
use capstan_live::installing::workload;
use capstan_model::object::ObjectId;
use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use super::member::Member;
use super::members::Members;
use super::migrate;
use super::ports::Ports;
use crate::app::ports::{ApiKind, ApiObject, As, Contested, LiveError, ManagementCluster as _, Run};

/// How many requests of one look are under way at a time.
const AT_A_TIME: usize = 8;

/// What is known of all providers, as far as the next step depends on it.
pub(super) struct Facts {
    pub(super) facts: Vec<ProviderFacts>,
    pub(super) looking: Looking,
}

/// What was looked at, besides what a decision needs.
#[derive(Debug, Default)]
pub(super) struct Looking {
    /// Live objects.
    pub(super) live: BTreeMap<ObjectId, Value>,
    /// What sort of answer a refusal was.
    pub(super) refusals: BTreeMap<ObjectId, RefusalKind>,
}

impl Looking {
    /// Looks at the objects of a provider. While one is applied, nothing is tried: what is not known to be as rendered is
    /// applied.
    pub(super) async fn look(
        &mut self,
        ports: &Ports,
        by: &As,
        members: &Members,
        member: &Member,
    ) -> Result<Look, LiveError> {
        let record = member.record().unwrap_or_default();
        let tries = !matches!(record.phase, Phase::Applying | Phase::Pruning | Phase::Removing);
        let mut ids: BTreeSet<ObjectId> = member.manifests.keys().cloned().collect();
        ids.extend(record.inventory.objects().iter().map(capstan_live::applying::InventoryObject::id));
        let label = member.label();
        let brought = brought_kinds(members);
        let looks = ids.into_iter().map(|id| {
            let manifest = member.manifests.get(&id);
            let (label, brought) = (&label, &brought);
            async move {
                let one = One { ports, by, id: &id, manifest, label, brought, tries, phase: record.phase };
                one.look().await.or_else(forbidden).map(|found| (id.clone(), found))
            }
        });
        let found: Vec<_> = stream::iter(looks.collect::<Vec<_>>()).buffered(AT_A_TIME).collect().await;
        let mut look = Look::new();
        for one in found {
            let (id, Found { seen, live, refusal }) = one?;
            self.live.extend(live.map(|live| (id.clone(), live)));
            self.refusals.extend(refusal.map(|kind| (id.clone(), kind)));
            look.insert(id, seen);
        }
        Ok(look)
    }
}

/// Looks at the provider in hand, and at the others only where nothing is to be done for it.
pub(super) async fn look(ports: &Ports, members: &Members) -> Result<Facts, LiveError> {
    let by = ports.by();
    let mut looking = Looking::default();
    let mut facts: Vec<ProviderFacts> = members.all.iter().map(Member::facts).collect();
    let in_hand: Vec<usize> = (0..facts.len())
        .filter(|at| facts[*at].record.as_ref().is_some_and(|record| record.is_under_way()))
        .collect();
    for at in &in_hand {
        facts[*at].look = Some(looking.look(ports, &by, members, &members.all[*at]).await?);
    }
    if !in_hand.is_empty() && next(&facts, ports.patience()).step.is_some() {
        return Ok(Facts { facts, looking });
    }
    for at in (0..facts.len()).filter(|at| !in_hand.contains(at)) {
        facts[at].look = Some(looking.look(ports, &by, members, &members.all[at]).await?);
    }
    Ok(Facts { facts, looking })
}

/// Group and kind of what the definitions of all providers bring.
fn brought_kinds(members: &Members) -> BTreeSet<(String, String)> {
    let definitions = members.all.iter().flat_map(|member| &member.manifests);
    definitions
        .filter(|(id, _)| is_definition(id))
        .filter_map(|(_, definition)| {
            let text = |pointer: &str| definition.pointer(pointer)?.as_str().map(str::to_owned);
            Some((text("/spec/group")?, text("/spec/names/kind")?))
        })
        .collect()
}

/// One object that is looked at.
struct One<'a> {
    ports: &'a Ports,
    by: &'a As,
    id: &'a ObjectId,
    /// What is rendered; `None` where it is in the inventory alone.
    manifest: Option<&'a Value>,
    label: &'a str,
    brought: &'a BTreeSet<(String, String)>,
    tries: bool,
    phase: Phase,
}

struct Found {
    seen: Seen,
    live: Option<Value>,
    refusal: Option<RefusalKind>,
}

/// Somebody may not even look: that is said of the object, like a refusal of what is rendered.
fn forbidden(error: LiveError) -> Result<Found, LiveError> {
    match error {
        LiveError::Refused { refusal, .. } if refusal.kind == RefusalKind::Forbidden => {
            let seen = Seen { fit: Fit::Refused(refusal.to_string()), ..Seen::default() };
            Ok(Found { seen, live: None, refusal: Some(RefusalKind::Forbidden) })
        }
        error => Err(error),
    }
}

impl One<'_> {
    async fn look(&self) -> Result<Found, LiveError> {
        let object = self.manifest.and_then(ApiObject::of).unwrap_or_else(|| ApiObject::from(self.id));
        let live = self.ports.live.read(self.by, &object).await?;
        let mut seen =
            Seen { health: workload(self.id, live.as_ref()).map(|one| one.health), ..Seen::default() };
        let mut refusal = None;
        if let Some(live) = &live {
            seen.is_own = is_own(live, self.label);
            if is_definition(self.id) {
                seen.is_established = is_established(live);
                if let Some(manifest) = self.manifest.filter(|_| self.phase == Phase::Preparing) {
                    seen.going = migrate::going(self.ports, self.by, manifest, live).await?;
                }
            }
            if self.id.group == "apps" && self.id.kind == "Deployment" {
                seen.replicas = Some(live.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1));
                if self.phase == Phase::Preparing && seen.replicas == Some(0) {
                    seen.pods = self.pods(live).await?;
                }
            }
        }
        seen.fit = match (self.manifest, &live) {
            (_, Some(live)) if live.pointer("/metadata/deletionTimestamp").is_some() => Fit::Terminating,
            (None, Some(_)) => Fit::Same,
            (None, None) => Fit::Absent,
            (Some(manifest), live) => self.fit(manifest, live.as_ref(), &mut refusal).await?,
        };
        Ok(Found { seen, live, refusal })
    }

    /// What is there beside what is rendered, tried where that is needed.
    async fn fit(
        &self,
        manifest: &Value,
        live: Option<&Value>,
        refusal: &mut Option<RefusalKind>,
    ) -> Result<Fit, LiveError> {
        let now = self.ports.clock.now();
        if let Some(live) = live
            && self.ports.tried.knows(self.id, manifest, live, now)
        {
            return Ok(Fit::Same);
        }
        if !self.tries {
            let is_brought = self.brought.contains(&(self.id.group.clone(), self.id.kind.clone()));
            return Ok(match live {
                Some(_) => Fit::Differs,
                None if is_brought => Fit::Later,
                None => Fit::Absent,
            });
        }
        let loses_versions =
            live.filter(|live| is_definition(self.id) && !gone_versions(manifest, live).is_empty());
        let tried = match loses_versions {
            // What is stored in them goes before; nothing can be tried that drops them.
            Some(live) => tried_definition(manifest, live),
            None => manifest.clone(),
        };
        match self.ports.live.apply(self.by, &tried, Run::Dry, Contested::Take).await {
            Ok(_) if loses_versions.is_some() => Ok(Fit::Differs),
            Ok(answer) => {
                if !differs(live, &answer).is_empty() {
                    return Ok(if live.is_some() { Fit::Differs } else { Fit::Absent });
                }
                if let Some(live) = live {
                    self.ports.tried.note(self.id, manifest, live, now);
                }
                Ok(Fit::Same)
            }
            Err(LiveError::Refused { refusal: answer, .. }) => {
                let is_brought = self.brought.contains(&(self.id.group.clone(), self.id.kind.clone()));
                match answer.kind {
                    RefusalKind::MissingKind if is_brought => Ok(Fit::Later),
                    RefusalKind::Terminating => Ok(Fit::Terminating),
                    kind => {
                        *refusal = Some(kind);
                        Ok(Fit::Refused(answer.to_string()))
                    }
                }
            }
            Err(LiveError::Malformed { reason, .. }) => Ok(Fit::Refused(reason)),
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
