//! Who owns an object that a folder is about to apply for the first time. The status store is asked at that moment,
//! since other folders and other Fleets continue while a commit is worked on.
//!
//! *Guarantee*: of two Fleets that render one object, at most one applies it. A reconciliation holds
//! [`Ports::claiming`](super::dependencies::Ports) from this check until its inventory is written.

use std::collections::{BTreeMap, BTreeSet};

use capstan_live::applying::{
    AppliedInventory, Beyond, Dispute, ForeignObject, Keep, OrphanedObject, OtherFleet, OwnerIndex, Rival,
    is_new, is_of_ownership, of_other_fleets, settle,
};
use capstan_model::ids::ClusterId;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::tree::{RepoPath, TreeId};
use capstan_plan::settings::Deletion;
use tokio::sync::OwnedMutexGuard;

use super::dependencies::Ports;
use super::in_hand::ClusterInHand;
use super::observation::Observation;
use super::ports::{ClusterRecord, FleetRecord};
use super::revision::Revision;
use capstan_ports::LiveError;
use capstan_reconciler_core::outcome::ReconcileEnd;
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::resources::ConditionType;

/// Whether a folder may apply what it renders.
pub(super) enum Claimed {
    /// It may; to be held until that is written down.
    Yes(Option<OwnedMutexGuard<()>>),
    /// It may not, or not yet.
    No(ReconcileEnd),
}

impl ClusterInHand<'_> {
    /// Looks whether everything that this folder would apply for the first time is its own to apply.
    pub(super) async fn claim(&self, observed: &Observation) -> Result<Claimed, LiveError> {
        let ports = self.request.ports;
        let inventory = &self.status.inventory;
        let (fleet, revision) = (self.request.fleet, self.request.revision);
        let Disputes { mut lost, open } = disputes(ports, fleet, revision, observed, inventory).await?;
        let mut held = None;
        if has_new(observed, inventory) {
            let guard = ports.claiming.clone().lock_owned().await;
            if let Some(found) = of_others(ports, self.request.fleet, observed, inventory).await? {
                lost.extend(found);
                held = Some(guard);
            }
        }
        let reasons =
            |found: &[ForeignObject]| -> Vec<Reason> { found.iter().map(Reason::of_outside).collect() };
        if !lost.is_empty() {
            return Ok(Claimed::No(ReconcileEnd::Refused(reasons(&lost))));
        }
        let mut waits: Vec<Reason> = reasons(&open);
        waits.extend(self.to_be_taken_over(observed).await?);
        if !waits.is_empty() {
            return Ok(Claimed::No(ReconcileEnd::Waiting(waits)));
        }
        Ok(Claimed::Yes(held))
    }

    /// Objects that were applied by a folder that is no longer claimed here. Its record (the names of templates, and
    /// what people had set) is taken over first: without it, the objects would be applied as new ones.
    async fn to_be_taken_over(&self, observed: &Observation) -> Result<Option<Reason>, LiveError> {
        let (request, owners) = (self.request, &self.request.revision.owners);
        let knows = |inventory: &AppliedInventory, id: &ObjectId| {
            inventory.objects().iter().any(|entry| entry.id() == *id || entry.logical_id() == *id)
        };
        let unknown = observed.objects.iter().filter(|object| !knows(&self.status.inventory, &object.id));
        let mut left = unknown.filter_map(|object| {
            let mut recorded = owners.recorded_elsewhere(request.id, &object.id);
            Some((object, recorded.find(|other| !request.revision.claims.contains_key(*other))?))
        });
        let Some((object, gone)) = left.next() else { return Ok(None) };
        let records = request.ports.status_store.clusters(&request.fleet.key).await?;
        if !record_of(gone, &records).is_some_and(|record| knows(&record.status.inventory, &object.id)) {
            return Ok(None);
        }
        let message = format!(
            "was applied from the folder {gone}, which is no longer applied here: this folder takes it over when no other folder renders it and everything in this folder is accepted"
        );
        Ok(Some(Reason::of_object("TakenOverFirst", message, object, &FieldPath::root())))
    }
}

/// The folders that render something which a folder has in its inventory and does not render.
#[derive(Debug, Default)]
pub(super) struct FoldersBeside {
    /// What they have applied by now.
    pub(super) applied: BTreeMap<ClusterId, AppliedInventory>,
    /// Those of them that are refused.
    refused: BTreeSet<ClusterId>,
}

impl FoldersBeside {
    /// As they stand now, where that matters.
    pub(super) async fn of(of: &ClusterInHand<'_>, observed: &Observation) -> Result<Self, LiveError> {
        let mut beside = Self::default();
        let (request, owners) = (of.request, &of.request.revision.owners);
        let neighbours = owners.neighbours(request.id, &of.status.inventory);
        if neighbours.is_empty() {
            return Ok(beside);
        }
        let rendered: BTreeSet<&ObjectId> = observed.objects.iter().map(|object| &object.id).collect();
        let leaves = of.status.inventory.objects().iter().any(|entry| !rendered.contains(&entry.id()));
        if !leaves && !matches!(observed.wanted.tombstones, Deletion::Cluster) {
            return Ok(beside);
        }
        let records = request.ports.status_store.clusters(&request.fleet.key).await?;
        for id in neighbours {
            let Some(record) = record_of(&id, &records) else { continue };
            if record.status.conditions.hold(ConditionType::Refused) {
                beside.refused.insert(id.clone());
            }
            beside.applied.insert(id, record.status.inventory.clone());
        }
        Ok(beside)
    }

    /// Whether an object is kept until a folder has applied it that may do so any moment.
    pub(super) fn passes_soon(&self, kept: &OrphanedObject, owners: &OwnerIndex) -> bool {
        let Keep::RenderedElsewhere(other) = &kept.why else { return false };
        !owners.is_refused(other) && !self.refused.contains(other)
    }
}

/// Objects that another folder renders too, and that nobody had applied when the commit was opened.
#[derive(Debug, Default)]
pub(super) struct Disputes {
    /// They are not this folder's.
    pub(super) lost: Vec<ForeignObject>,
    /// Whose they are is not known yet.
    pub(super) open: Vec<ForeignObject>,
}

/// Settles them, by how the folders stand now.
pub(super) async fn disputes(
    ports: &Ports,
    fleet: &FleetRecord,
    revision: &Revision,
    observed: &Observation,
    inventory: &AppliedInventory,
) -> Result<Disputes, LiveError> {
    let mut disputes = Disputes::default();
    let is_own = |found: &&ForeignObject| {
        inventory.objects().iter().any(|own| own.uid.is_some() && own.logical_id() == found.object)
    };
    let disputed: Vec<&ForeignObject> =
        observed.wanted.disputed.iter().filter(|found| !is_own(found)).collect();
    if disputed.is_empty() {
        return Ok(disputes);
    }
    let records = ports.status_store.clusters(&fleet.key).await?;
    for found in disputed {
        match settle(found.clone(), rival(found, &records, revision)) {
            Dispute::Won => {}
            Dispute::Lost(found) => disputes.lost.push(found),
            Dispute::Open(found) => disputes.open.push(found),
        }
    }
    Ok(disputes)
}

/// The objects of a render that folders of other Fleets have; `None` where there is no other Fleet.
pub(super) async fn of_others(
    ports: &Ports,
    fleet: &FleetRecord,
    observed: &Observation,
    inventory: &AppliedInventory,
) -> Result<Option<Vec<ForeignObject>>, LiveError> {
    if !has_new(observed, inventory) {
        return Ok(None);
    }
    let fleets = ports.status_store.fleets().await?;
    let others: Vec<_> = fleets.into_iter().filter(|other| other.key != fleet.key).collect();
    if others.is_empty() {
        return Ok(None);
    }
    let mut elsewhere = Vec::new();
    for other in others {
        for record in ports.status_store.clusters(&other.key).await? {
            let Some(folder) = folder_of(&record) else { continue };
            let inventory = record.status.inventory;
            elsewhere.push(OtherFleet { fleet: record.spec.fleet, folder, inventory });
        }
    }
    // Under the names in Git, by which a template is the same whatever its live name, and under the live ones.
    let plain = of_other_fleets(&observed.wanted.rendered.objects, inventory, &elsewhere);
    let live = of_other_fleets(&observed.objects, inventory, &elsewhere);
    let all: BTreeMap<ObjectId, ForeignObject> =
        plain.into_iter().chain(live).map(|found| (found.object.clone(), found)).collect();
    Ok(Some(all.into_values().collect()))
}

fn has_new(observed: &Observation, inventory: &AppliedInventory) -> bool {
    observed.objects.iter().any(|object| is_new(object, inventory))
}

/// The state of the other folder that renders an object.
fn rival(found: &ForeignObject, records: &[ClusterRecord], revision: &Revision) -> Rival {
    let Beyond::TwoFolders(other) = &found.why else { return Rival::Able };
    let Some(record) = record_of(other, records) else { return Rival::Untried };
    let status = &record.status;
    if status.inventory.objects().iter().any(|entry| entry.logical_id() == found.object) {
        return Rival::HasApplied;
    }
    let folder = revision.folder_id(other);
    if status.attempted_folder.as_deref() != folder.as_ref().map(TreeId::as_str) {
        return Rival::Untried;
    }
    let is_refused = status.conditions.hold(ConditionType::Refused)
        && !status.refused.iter().all(|reason| is_of_ownership(&reason.reason));
    if is_refused { Rival::Refused } else { Rival::Able }
}

fn record_of<'r>(id: &ClusterId, records: &'r [ClusterRecord]) -> Option<&'r ClusterRecord> {
    records.iter().find(|record| record.spec.cluster == id.as_str())
}

fn folder_of(record: &ClusterRecord) -> Option<ClusterId> {
    RepoPath::parse(&record.spec.cluster).ok().map(ClusterId::new)
}
