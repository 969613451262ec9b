//! The migration of a renamed folder: what its ManagedCluster knew, and what people had set there, goes to the one of the
//! folder that renders its objects now.
//!
//! *Expected flow*: the folder that has the objects now, the new owner, takes its share before anything else of its
//! reconciliation: first what people set (so a suspended cluster is suspended under its new name before anybody looks at
//! it), then the inventory and the names of templates; then they are taken out of the old ManagedCluster, which
//! goes when nothing is left of it. *Guarantee*: each step is the same when it is done again, and what was set is
//! never in neither: a process that dies in between is followed by one that finds the rest where it was. A folder that
//! is refused takes over nothing: it is tried first, beside what it would take over, and the old ManagedCluster keeps
//! all that it has until a folder passes.
//!
//! *Caveat*: one that has applied nothing yet is known by its folder's content alone. Renamed and changed in one
//! commit it is a new folder, and what was set on the old name (`suspend`) is to be set again: nothing tells such a
//! folder from one that somebody wrote from scratch.
//!
//! Annotations and labels are not carried: they say something of one ManagedCluster, not of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use capstan_live::applying::InventoryObject;
use capstan_model::ids::ClusterId;
use capstan_model::kinds::is_cluster;
use capstan_model::object::ObjectId;
use capstan_model::tree::{RepoPath, TreeId};

use super::in_hand::ReconcileRequest;
use super::ports::{ClusterKey, ClusterRecord, PreflightVerdict};
use super::preflight::{is_for_good, try_one};
use super::revision::Revision;
use super::unclaimed::{report_left_behind, unclaimed};
use capstan_ports::LiveError;
use capstan_reconciler_core::outcome::Interruption;
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::resources::{ManagedClusterSpec, ManagedClusterStatus};

/// What one folder takes over of a ManagedCluster.
struct Share<'r> {
    objects: Vec<&'r InventoryObject>,
    /// The folder has its `Cluster` now (the most of it, where it has none): what was asked of the cluster is asked
    /// there.
    is_the_cluster: bool,
}

/// The shares of all new owners.
fn shares<'r>(record: &'r ClusterRecord, revision: &Revision) -> BTreeMap<ClusterId, Share<'r>> {
    let Ok(folder) = RepoPath::parse(&record.spec.cluster).map(ClusterId::new) else {
        return BTreeMap::new();
    };
    let mut shares: BTreeMap<ClusterId, Share<'r>> = BTreeMap::new();
    let (mut main, mut has_cluster) = (None, false);
    for object in record.status.inventory.objects() {
        let ids = [object.id(), object.logical_id()];
        has_cluster |= is_cluster(&ids[0]);
        let Some(owner) = ids.iter().find_map(|id| revision.owners.new_owner(&folder, id)) else { continue };
        if main.is_none() && is_cluster(&ids[0]) {
            main = Some(owner.clone());
        }
        let share = Share { objects: Vec::new(), is_the_cluster: false };
        shares.entry(owner.clone()).or_insert(share).objects.push(object);
    }
    if record.status.inventory.objects().is_empty() {
        shares.extend(
            by_tree(record, revision)
                .map(|id| (id.clone(), Share { objects: Vec::new(), is_the_cluster: true })),
        );
    }
    if !has_cluster {
        // One that is made by a chart. Of several with as many, the first.
        let most = shares.iter().rev().max_by_key(|(_, share)| share.objects.len());
        main = most.map(|(owner, _)| owner.clone());
    }
    if let Some(share) = main.and_then(|main| shares.get_mut(&main)) {
        share.is_the_cluster = true;
    }
    shares
}

/// One that was suspended before it was ever applied has nothing by which to know it again but its files.
fn by_tree<'r>(record: &'r ClusterRecord, revision: &'r Revision) -> impl Iterator<Item = &'r ClusterId> {
    let tree = record.status.attempted_folder.as_deref();
    let is_same =
        move |id: &&ClusterId| tree.is_some() && revision.folder_id(id).as_ref().map(TreeId::as_str) == tree;
    revision.clusters().filter(is_same)
}

/// By folder, the ManagedClusters that it takes over something of; and those that nobody takes over anything of.
pub fn migration_sources<'r>(
    records: &'r [ClusterRecord],
    revision: &'r Revision,
) -> (BTreeMap<ClusterId, Vec<ClusterKey>>, Vec<&'r ClusterRecord>) {
    let (mut sources, mut alone) = (BTreeMap::<ClusterId, Vec<ClusterKey>>::new(), Vec::new());
    for record in unclaimed(records, revision) {
        let shares = shares(record, revision);
        if shares.is_empty() {
            alone.push(record);
        }
        for owner in shares.into_keys() {
            sources.entry(owner).or_default().push(record.key.clone());
        }
    }
    (sources, alone)
}

/// What a folder came to that has something to take over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Migrated {
    /// It has what is its own; of these ManagedClusters it took nothing yet, since it is refused.
    But(Vec<ClusterKey>),
    /// It was over before that: a newer commit says whose it is.
    Over(Interruption),
}

/// Takes over, for the cluster of a reconciliation that has not begun, what these ManagedClusters have of it.
///
/// # Errors
/// A ManagedCluster cannot be read or written, or nobody answers what the folder is tried for; nothing may be applied
/// before.
pub async fn migrate(
    request: &ReconcileRequest<'_>,
    key: &ClusterKey,
    sources: &[ClusterKey],
) -> Result<Migrated, LiveError> {
    let status_store = &request.ports.status_store;
    let mut left = Vec::new();
    for source in sources {
        if let Some(over) = (request.is_over)() {
            return Ok(Migrated::Over(over));
        }
        let Some(from) = status_store.cluster(source).await? else { continue };
        let is_claimed = request.revision.clusters().any(|id| id.as_str() == from.spec.cluster);
        if is_claimed || from.spec.fleet != request.fleet.key.name {
            continue;
        }
        if let Some(share) = shares(&from, request.revision).remove(request.id)
            && !take(request, key, &from, &share).await?
        {
            report_left_behind(
                request.ports,
                &request.fleet.spec.source,
                request.revision,
                &from,
                &BTreeSet::new(),
            )
            .await?;
            left.push(source.clone());
        }
    }
    Ok(Migrated::But(left))
}

/// Whether the folder would be applied with what it takes over. What waits passes by itself.
async fn passes(request: &ReconcileRequest<'_>, status: &ManagedClusterStatus) -> Result<bool, LiveError> {
    let (ports, fleet) = (request.ports, request.fleet);
    if let Some(Err(_)) = request.revision.claims.get(request.id) {
        return Ok(false);
    }
    let tried = try_one(ports, fleet, request.revision, request.id, status);
    let doing = || format!("trying the folder {}, which was renamed", request.id);
    let answer = tokio::time::timeout(fleet.spec.timeout, tried).await.map_err(|_| {
        let reason = format!("no answer for {} s", fleet.spec.timeout.as_secs());
        LiveError::Unreachable { doing: doing(), reason }
    })?;
    let answers = [answer];
    if !is_for_good(&answers) {
        let reason = answers[0].reasons.first().map(Reason::line).unwrap_or_default();
        return Err(LiveError::Unreachable { doing: doing(), reason });
    }
    Ok(answers[0].verdict != PreflightVerdict::Rejected)
}

/// Takes over a share; `false` where the folder is refused, and takes nothing.
async fn take(
    request: &ReconcileRequest<'_>,
    key: &ClusterKey,
    from: &ClusterRecord,
    share: &Share<'_>,
) -> Result<bool, LiveError> {
    let status_store = &request.ports.status_store;
    let found = status_store.cluster(key).await?;
    let bare = ManagedClusterSpec::of(request.id, &request.fleet.key.name);
    let is_new = found.is_none();
    let earlier = found.as_ref().map_or(&bare, |found| &found.spec);
    if earlier.cluster != bare.cluster || earlier.fleet != bare.fleet {
        // Somebody made it for another folder: the reconciliation says so.
        return Ok(true);
    }
    let known = found.as_ref().map(|found| found.status.clone()).unwrap_or_default();
    if !share.objects.is_empty() && !passes(request, &with_share(&known, &from.status, share)).await? {
        return Ok(false);
    }
    let spec = wishes(earlier, &from.spec, share.is_the_cluster, is_new);
    let target = match found {
        Some(found) => found,
        None => status_store.create_cluster(key, &spec).await?,
    };
    // Another client may have made it meanwhile, with another spec.
    let target = if target.spec == spec {
        target
    } else {
        status_store.change_cluster(key, &spec).await?;
        let changed = status_store.cluster(key).await?.filter(|changed| changed.uid == target.uid);
        changed.unwrap_or(target)
    };
    let status = with_share(&target.status, &from.status, share);
    if status != target.status {
        status_store.write_cluster(&target, &status).await?;
    }
    tracing::info!(
        cluster = %request.id, from = from.spec.cluster, objects = share.objects.len(), suspend = spec.suspend,
        "its folder was renamed: the state of its ManagedCluster moves to the new one"
    );
    let gone: BTreeSet<ObjectId> = share.objects.iter().map(|object| object.id()).collect();
    report_left_behind(request.ports, &request.fleet.spec.source, request.revision, from, &gone).await?;
    Ok(true)
}

/// What is asked of the new owner. Who takes over a part of another cluster takes over nothing that was asked of that;
/// but a new folder with parts of one that is suspended waits for a person too.
fn wishes(
    target: &ManagedClusterSpec,
    from: &ManagedClusterSpec,
    is_the_cluster: bool,
    is_new: bool,
) -> ManagedClusterSpec {
    let mut wishes = target.clone();
    if is_the_cluster || is_new {
        wishes.suspend |= from.suspend;
    }
    if is_the_cluster {
        wishes.adopt = wishes.adopt.or(from.adopt);
        wishes.create_cluster = wishes.create_cluster.or(from.create_cluster);
    }
    wishes
}

/// The new owner's status with what it takes over.
fn with_share(
    target: &ManagedClusterStatus,
    from: &ManagedClusterStatus,
    share: &Share<'_>,
) -> ManagedClusterStatus {
    let mut status = target.clone();
    for object in &share.objects {
        let id = object.id();
        if status.inventory.get(&id).is_some_and(|known| known.uid.is_some()) {
            continue;
        }
        let logical = object.logical.as_deref().unwrap_or(&object.name);
        status.inventory.intend(&id, &object.api_version(), logical);
        if let Some(uid) = &object.uid {
            status.inventory.applied(&id, uid);
        }
        let of_object = from.templates.iter().filter(|template| template.live_id() == id);
        for template in of_object {
            if !status.templates.contains(template) {
                status.templates.push(template.clone());
            }
        }
    }
    status
}
