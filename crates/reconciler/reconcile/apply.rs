//! The middle of a reconciliation: guards, take-over, dry runs, and what differs applied phase by phase.

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::{
    ApplyPlan, Changes, GuardBroken, differs, fields_that_go, guards, handed_over, plan, sent, sent_new,
    sent_over, survived, survives_take_over,
};
use capstan_model::finding::Severity;
use capstan_model::kinds::{is_cluster, is_of_orc};
use capstan_model::object::{FieldPath, ObjectId};
use serde_json::Value;

use super::dry_runs::{Trial, try_all};
use super::observation::{Observation, uid};
use super::ownership::Claimed;
use super::reconciliation::Reconciliation;
use super::rolls_later::rolls_later;
use super::secrets::missing_secrets;
use super::take_over::{adopted, is_stranger, preview};
use super::templates::kept_names;
use capstan_ports::{ApiObject, Contested, LiveError, Run};
use capstan_reconciler_core::outcome::{Interruption, ReconcileEnd, ReconcileFailure};
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::resources::{Adopt, CreateClusters, KeptTemplate};
use capstan_reconciler_core::unwanted::Unwanted;

/// How many waiting objects a status names.
const WITHHELD: usize = 20;

/// The reason of a field that Git removed and that stays.
const SURVIVED: &str = "FieldSurvived";

/// What has to be done with an object's fields before it is applied.
struct Hands {
    /// Objects that others applied before, and who.
    adopted: BTreeMap<ObjectId, Vec<String>>,
    /// Counts that Git no longer names and that another manager shall own.
    let_go: BTreeMap<ObjectId, Vec<FieldPath>>,
    /// Objects that could not be tried yet.
    later: BTreeSet<ObjectId>,
}

impl Reconciliation<'_> {
    /// Applies what differs and may be applied now.
    pub(super) async fn apply(&mut self, observed: &mut Observation) -> Result<ReconcileEnd, Unwanted> {
        let broken = guards(&observed.objects, &observed.live);
        if !broken.is_empty() {
            let waits = broken.iter().all(GuardBroken::is_waiting);
            let reasons = broken.iter().map(Reason::of_guard).collect();
            return Ok(if waits { ReconcileEnd::Waiting(reasons) } else { ReconcileEnd::Refused(reasons) });
        }
        if let Some(ended) = self.check_creation(observed).await {
            return Ok(ended);
        }
        let trial = self.try_unknown(observed).await?;
        if !trial.refused.is_empty() {
            return Ok(ReconcileEnd::Refused(trial.refused));
        }
        if !trial.waiting.is_empty() {
            return Ok(ReconcileEnd::Waiting(trial.waiting));
        }
        let held = match self.of.claim(observed).await? {
            Claimed::Yes(held) => held,
            Claimed::No(ended) => return Ok(ended),
        };
        let adopted = adopted(&self.of.status.inventory, observed);
        let let_go = let_go(observed, &adopted);
        let is_strangers = |id: &ObjectId| is_stranger(&self.of.status.inventory, id);
        if self.of.adopt() == Adopt::Preview && adopted.keys().any(is_strangers) {
            let strangers = adopted.into_iter().filter(|(id, _)| is_strangers(id)).collect();
            return Ok(ReconcileEnd::Waiting(preview(self.of.live(), observed, &strangers, &trial).await?));
        }
        let changes = changes(observed, &trial, &adopted, &let_go);
        if let Some(ended) = self.of.check_cloud_objects(observed, &changes, &adopted).await? {
            return Ok(ended);
        }
        self.remember(observed, &changes);
        self.note_survivors(observed, &trial, &adopted);
        let Some(verdict) = self.verdict.as_ref() else { return Ok(ReconcileEnd::Applied) };
        let mut plan = plan(&observed.objects, &changes, &observed.live, verdict);
        let phase = self.of.status.phase.replace(plan.phase.into());
        let of_services = self.hold_back(observed, &changes, &mut plan).await;
        if let Some(later) = rolls_later(self.of.request, observed, &changes, &plan) {
            self.of.status.phase = phase;
            return Ok(ReconcileEnd::Waiting(vec![later]));
        }
        self.of.status.withheld =
            plan.withheld.iter().map(ToString::to_string).chain(of_services).take(WITHHELD).collect();
        // Objects that wait for OpenStack resources are checked again: Capstan may have no right to watch those.
        self.of.again |= plan.withheld.iter().any(|held| is_of_orc(&held.waits_for.group));
        let hands = Hands { adopted, let_go, later: trial.later };
        self.intend(observed, &plan, &hands).await?;
        if held.is_some() {
            self.of.save().await?;
        }
        drop(held);
        let waits = self.bring_first(observed, &plan).await?;
        if !waits.is_empty() {
            return Ok(ReconcileEnd::Waiting(waits));
        }
        self.perform(observed, &plan, &hands).await
    }

    /// Tries every object but those that were tried before, beside what is there now, without a difference.
    async fn try_unknown(&self, observed: &Observation) -> Result<Trial, LiveError> {
        let dry_run_cache = &self.of.request.ports.dry_run_cache;
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for object in &observed.objects {
            match observed.live.get(&object.id) {
                Some(live) if dry_run_cache.knows(&object.id, &object.value, live, self.of.now) => {
                    known.push((object.id.clone(), live.clone()));
                }
                _ => unknown.push(object),
            }
        }
        let mut trial = try_all(self.of.live(), &observed.wanted.by, &unknown, &observed.objects).await?;
        trial.accepted.extend(known);
        Ok(trial)
    }

    /// Remembers what needs no second try.
    fn remember(&self, observed: &Observation, changes: &Changes) {
        for object in &observed.objects {
            match observed.live.get(&object.id) {
                Some(live) if !changes.contains_key(&object.id) => {
                    self.of.request.ports.dry_run_cache.note_once(
                        &object.id,
                        &object.value,
                        live,
                        self.of.now,
                    );
                }
                _ => self.of.request.ports.dry_run_cache.forget(&object.id),
            }
        }
    }

    /// A `Cluster` that is nowhere is made only where nobody else ever had it.
    async fn check_creation(&self, observed: &Observation) -> Option<ReconcileEnd> {
        let allowed =
            self.of.record.spec.create_cluster.unwrap_or(self.of.request.fleet.spec.guards.create_clusters);
        let missing = observed
            .objects
            .iter()
            .find(|object| is_cluster(&object.id) && observed.live.get(&object.id).is_none())?;
        if allowed == CreateClusters::Always {
            return None;
        }
        let root = FieldPath::root();
        match self.of.request.bot.recorded_elsewhere(self.of.request.id).await {
            Ok(None) => None,
            Ok(Some(other)) => Some(ReconcileEnd::Refused(vec![Reason::of_object(
                "RecordedElsewhere",
                format!(
                    "the Cluster does not exist here, and the management cluster `{other}` has reported it: both would make machines for one cluster. If it is gone there for good, set `spec.createCluster: always` in ManagedCluster {}",
                    self.of.record.key.name
                ),
                missing,
                &root,
            )])),
            Err(error) => Some(ReconcileEnd::Failed(ReconcileFailure {
                kind: "BotAway",
                message: format!(
                    "it is unknown whether another management cluster has {}: {error}",
                    self.of.request.id
                ),
                reasons: Vec::new(),
            })),
        }
    }

    /// Writes down what will be there, before it is.
    async fn intend(
        &mut self,
        observed: &Observation,
        plan: &ApplyPlan,
        hands: &Hands,
    ) -> Result<(), LiveError> {
        let logical: BTreeMap<ObjectId, &str> = observed
            .templates
            .iter()
            .map(|template| {
                let id = ObjectId { name: template.name.clone(), ..template.logical.clone() };
                (id, template.logical.name.as_str())
            })
            .collect();
        let inventory = &mut self.of.status.inventory;
        for object in &observed.objects {
            let name = logical.get(&object.id).copied().unwrap_or(&object.id.name);
            inventory.intend(&object.id, &object.api_version, name);
            // An earlier run may have been killed after it applied the object and before it noted the UID. An object
            // that is yet to be taken over gets no UID here: a run that is killed before the takeover repeats it next
            // time.
            let live = observed.live.get(&object.id).filter(|_| !hands.adopted.contains_key(&object.id));
            if let Some(uid) = live.and_then(uid) {
                inventory.applied(&object.id, uid);
            }
        }
        let names = kept_names(&observed.names, &observed.templates, |id| inventory.get(id).is_some());
        self.of.status.templates = names.templates().iter().map(KeptTemplate::from).collect();
        if plan.steps.is_empty() {
            return Ok(());
        }
        self.of.status.attempted_commit = Some(self.of.request.revision.commit.to_string());
        self.of.save().await
    }

    async fn perform(
        &mut self,
        observed: &mut Observation,
        plan: &ApplyPlan,
        hands: &Hands,
    ) -> Result<ReconcileEnd, Unwanted> {
        for step in &plan.steps {
            if let Some(over) = (self.of.request.is_over)() {
                return Ok(ReconcileEnd::Interrupted(over));
            }
            let due: Vec<&RenderedObject> = step
                .objects
                .iter()
                .filter_map(|id| observed.objects.iter().find(|object| object.id == *id))
                .collect();
            let missing = missing_secrets(self.of.request, observed, step.stage).await?;
            if !missing.is_empty() {
                return Ok(ReconcileEnd::Waiting(missing));
            }
            let untried: Vec<&RenderedObject> =
                due.iter().copied().filter(|object| hands.later.contains(&object.id)).collect();
            if !untried.is_empty() {
                let trial = try_all(self.of.live(), &observed.wanted.by, &untried, &[]).await?;
                if !trial.refused.is_empty() || !trial.waiting.is_empty() {
                    let mut reasons = trial.refused;
                    reasons.extend(trial.waiting);
                    return Ok(ReconcileEnd::Refused(reasons));
                }
            }
            let mut written = Vec::new();
            for object in due {
                // A newer commit waits for the end of the step. A process that is no longer the leader writes nothing
                // more.
                if let Some(Interruption::Stopping) = (self.of.request.is_over)() {
                    return Ok(ReconcileEnd::Interrupted(Interruption::Stopping));
                }
                match self.write(observed, object, hands).await {
                    Ok(value) => written.push(value),
                    Err(LiveError::Refused { refusal, .. }) if refusal.is_waiting() => {
                        return Ok(ReconcileEnd::Waiting(vec![Reason::of_refusal(&refusal, object)]));
                    }
                    Err(error) => {
                        let reasons = error.refusal().map(|refusal| Reason::of_refusal(refusal, object));
                        let failure =
                            ReconcileFailure { reasons: reasons.into_iter().collect(), ..error.into() };
                        return Ok(ReconcileEnd::Failed(failure));
                    }
                }
            }
            written.into_iter().for_each(|value| observed.live.insert(value));
        }
        Ok(ReconcileEnd::Applied)
    }

    /// Notes the fields that Git removed and that stay because another manager holds them, too. The status names them
    /// for as long as they stay.
    fn note_survivors(
        &mut self,
        observed: &Observation,
        trial: &Trial,
        adopted: &BTreeMap<ObjectId, Vec<String>>,
    ) {
        for object in &observed.objects {
            let Some(live) = observed.live.get(&object.id) else { continue };
            let told = self.of.record.status.kept.iter().filter(|kept| {
                kept.reason == SURVIVED && kept.object.as_deref() == Some(&object.id.to_string())
            });
            for kept in told {
                let Some(pointer) = kept.field.as_deref() else { continue };
                let stays = live.pointer(pointer).is_some() && object.value.pointer(pointer).is_none();
                if let Some(field) = FieldPath::parse(pointer).filter(|_| stays) {
                    self.of.kept.push(survivor(object, field, kept.message.clone()));
                }
            }
            let tried = trial.accepted.get(&object.id);
            let dropped = tried.map(|tried| survived(live, tried)).unwrap_or_default();
            let adopted = adopted.get(&object.id);
            let adopted = adopted.map(|from| survives_take_over(live, &object.value, from));
            for found in dropped.into_iter().chain(adopted.unwrap_or_default()) {
                let is_it = |kept: &Reason| {
                    kept.object.as_ref() == Some(&object.id) && kept.field.as_ref() == Some(&found.field)
                };
                if self.of.kept.iter().any(is_it) {
                    continue;
                }
                let message = format!(
                    "Git removed {}, but it stays: {} also manages it",
                    found.field,
                    found.managers.join(", ")
                );
                self.of.kept.push(survivor(object, found.field, message));
            }
        }
    }

    /// Applies one object for real.
    async fn write(
        &mut self,
        observed: &Observation,
        object: &RenderedObject,
        hands: &Hands,
    ) -> Result<Value, LiveError> {
        let by = &observed.wanted.by;
        let from = hands.adopted.get(&object.id).map(Vec::as_slice).unwrap_or_default();
        let fields = hands.let_go.get(&object.id).map(Vec::as_slice).unwrap_or_default();
        if (!from.is_empty() || !fields.is_empty())
            && let Some(object) = ApiObject::of(&object.value)
        {
            self.of.live().take_over(by, &object, from, fields).await?;
        }
        let taken = !from.is_empty() || !fields.is_empty();
        let manifest = match observed.live.get(&object.id) {
            // It was changed just now, by this.
            Some(_) if taken => sent(&object.value),
            // What was deleted since the look is not made again, and no version lowered that was raised.
            Some(live) => sent_over(&object.value, live),
            // What was made since the look is not written over.
            None => sent_new(&object.value),
        };
        let value = self.of.live().apply(by, &manifest, Run::Real, Contested::Take).await?;
        self.of.request.ports.dry_run_cache.note(&object.id, &object.value, &value, self.of.now);
        self.of.applied += 1;
        self.of.status.last_applied_time = Some(self.of.now);
        if let Some(uid) = uid(&value) {
            self.of.status.inventory.applied(&object.id, uid);
        }
        if let Some(version) = value.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
            self.echoes.insert(object.id.clone(), version.to_owned());
        }
        metrics::counter!("capstan_applied_objects_total", "kind" => object.id.kind.clone()).increment(1);
        tracing::info!(cluster = %self.of.request.id, commit = %self.of.request.revision.commit, object = %object.id, "applied");
        Ok(value)
    }
}

fn survivor(object: &RenderedObject, field: FieldPath, message: String) -> Reason {
    let reason = Reason::of_object(SURVIVED, message, object, &field);
    Reason { severity: Severity::Warning, ..reason }
}

/// Counts that Git names no more: let go of, so that they do not fall to their default for a moment.
fn let_go(
    observed: &Observation,
    adopted: &BTreeMap<ObjectId, Vec<String>>,
) -> BTreeMap<ObjectId, Vec<FieldPath>> {
    let mut found = BTreeMap::new();
    for object in &observed.objects {
        let Some(live) = observed.live.get(&object.id) else { continue };
        let from = adopted.get(&object.id).map(Vec::as_slice).unwrap_or_default();
        let fields = handed_over(live, &object.value, from);
        if !fields.is_empty() {
            found.insert(object.id.clone(), fields);
        }
    }
    found
}

/// What differs between what is there and what would be.
fn changes(
    observed: &Observation,
    trial: &Trial,
    adopted: &BTreeMap<ObjectId, Vec<String>>,
    let_go: &BTreeMap<ObjectId, Vec<FieldPath>>,
) -> Changes {
    let mut changes = Changes::default();
    for object in &observed.objects {
        let live = observed.live.get(&object.id);
        let mut fields = match trial.accepted.get(&object.id) {
            Some(tried) => differs(live, tried),
            None => vec![FieldPath::root()],
        };
        if let (Some(live), Some(from)) = (live, adopted.get(&object.id)) {
            fields.extend(fields_that_go(live, &object.value, from));
        }
        let handed = let_go.get(&object.id).map(Vec::as_slice).unwrap_or_default();
        fields.retain(|field| !handed.contains(field));
        if fields.is_empty() && (adopted.contains_key(&object.id) || !handed.is_empty()) {
            // Equal in every field, and only the owner changes.
            fields.push(FieldPath::root().key("metadata").key("managedFields"));
        }
        if !fields.is_empty() {
            changes.insert(object.id.clone(), fields);
        }
    }
    changes
}
