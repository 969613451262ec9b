//! One look at the live cluster: everything that a decision about one folder is made from.

use std::collections::BTreeSet;

use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::{
    AppliedInventory, InventoryObject, RefusalKind, clusters_to_read, named_outside,
};
use capstan_live::live_objects::{LiveObjects, identity};
use capstan_live::rollout::observed::clones_to_read;
use capstan_model::kinds::{is_cluster, is_cluster_api, names};
use capstan_model::object::ObjectId;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;

use capstan_ports::{ApiKind, ApiObject, As, LiveError, ManagementCluster};
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::unwanted::Unwanted;

/// How many reads of one cluster are under way at a time.
const READS: usize = 8;

/// Kinds that Cluster API makes of a `Cluster`, and by whose state it is judged.
const OF_A_CLUSTER: [&str; 4] =
    [names::MACHINE_DEPLOYMENT, names::MACHINE_POOL, names::MACHINE_SET, names::MACHINE];

/// The label by which Cluster API marks what belongs to a `Cluster`.
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

/// Reads what is rendered, what is in the inventory, what the render names without rendering it, and what
/// Cluster API made of each `Cluster` that concerns the folder; where the ClusterClass of a rendered one was changed
/// after that time, also what was cloned from it.
pub(super) async fn read_live(
    live: &dyn ManagementCluster,
    by: &As,
    objects: &[RenderedObject],
    inventory: &AppliedInventory,
    class_changed_after: Timestamp,
) -> Result<LiveObjects, Unwanted> {
    let mut wanted: Vec<ApiObject> = Vec::new();
    let mut known = BTreeSet::new();
    for object in objects {
        if known.insert(object.id.clone()) {
            // In the version of the manifest: that is the one that dry runs answer in.
            wanted.push(ApiObject {
                kind: ApiKind::of_version(&object.api_version, &object.id.kind),
                namespace: object.id.namespace.clone(),
                name: object.id.name.clone(),
            });
        }
    }
    let beside = inventory.objects().iter().map(InventoryObject::id).chain(named_outside(objects));
    for id in beside {
        if known.insert(id.clone()) {
            wanted.push(ApiObject::from(&id));
        }
    }
    let mut found = LiveObjects::default();
    let read = |object: ApiObject| async move {
        match live.read(by, &object).await {
            Ok(found) => Ok((object.id(), found)),
            Err(error) => Err(no_right(objects, &object.id(), error)),
        }
    };
    let answers: Vec<_> = stream::iter(wanted).map(read).buffered(READS).try_collect().await?;
    for (id, answer) in answers {
        match answer {
            Some(value) => found.insert(value),
            None => found.absent(id),
        }
    }
    let clusters = clusters_to_read(objects, inventory, &found);
    let is_rendered = |id: &ObjectId| objects.iter().any(|object| object.id == *id);
    let machines = objects.iter().any(|object| may_make_machines(&object.id, &object.value))
        || inventory.objects().iter().any(|object| is_of_cluster_api(&object.id()))
        || clusters.iter().any(|cluster| !is_rendered(cluster));
    if !machines || clusters.is_empty() {
        return Ok(found);
    }
    for cluster in &clusters {
        read_cluster(live, cluster, &mut found).await?;
        read_machines(live, cluster, &mut found).await?;
        if is_rendered(cluster) {
            let clones = clones_to_read(cluster, &found, class_changed_after);
            read_clones(live, cluster, &clones, &mut found).await?;
        }
    }
    // Of none before the last one: what is not there concerns all of them.
    for kind in OF_A_CLUSTER {
        found.listed("cluster.x-k8s.io", kind);
    }
    Ok(found)
}

/// Says which object of the folder its service account has no right to.
fn no_right(objects: &[RenderedObject], id: &ObjectId, error: LiveError) -> Unwanted {
    let refusal = error.refusal().filter(|refusal| refusal.kind == RefusalKind::Forbidden);
    match (refusal, objects.iter().find(|object| object.id == *id)) {
        (Some(refusal), Some(object)) => {
            let reason = Box::new(Reason::of_refusal(refusal, object));
            Unwanted::Forbidden { error, reason }
        }
        _ => Unwanted::Live(error),
    }
}

/// Whether machines may come of an object: a `Cluster` without a topology makes none by itself.
fn may_make_machines(id: &ObjectId, value: &serde_json::Value) -> bool {
    if is_cluster(id) { value.pointer("/spec/topology").is_some() } else { is_of_cluster_api(id) }
}

/// Whether an object is of Cluster API, and more than the `Cluster` itself.
fn is_of_cluster_api(id: &ObjectId) -> bool {
    is_cluster_api(&id.group) && !is_cluster(id)
}

/// Reads a `Cluster` that is neither rendered nor in the inventory. It belongs to another folder or to none, so it is
/// listed with the reconciler's own rights.
async fn read_cluster(
    live: &dyn ManagementCluster,
    cluster: &ObjectId,
    found: &mut LiveObjects,
) -> Result<(), LiveError> {
    if found.get(cluster).is_some() || found.is_absent(cluster) {
        return Ok(());
    }
    let kind = ApiKind::preferred(&cluster.group, &cluster.kind);
    let listed = live.list(&As::Reconciler, &kind, cluster.namespace.as_deref(), &[]).await?;
    match listed.into_iter().find(|object| identity(object).as_ref() == Some(cluster)) {
        Some(object) => found.insert(object),
        None => found.absent(cluster.clone()),
    }
    Ok(())
}

/// Reads what Cluster API made of a `Cluster`, with the reconciler's own rights: no folder contains these objects.
async fn read_machines(
    live: &dyn ManagementCluster,
    cluster: &ObjectId,
    found: &mut LiveObjects,
) -> Result<(), LiveError> {
    let labels = [(CLUSTER_NAME, cluster.name.as_str())];
    for kind in OF_A_CLUSTER {
        let kind = ApiKind::preferred("cluster.x-k8s.io", kind);
        let listed = live.list(&As::Reconciler, &kind, cluster.namespace.as_deref(), &labels).await?;
        for object in listed {
            // What is rendered was read in its manifest's version: another one would differ from its dry run.
            if identity(&object).is_some_and(|id| found.get(&id).is_none()) {
                found.insert(object);
            }
        }
    }
    // A topology's control plane is made by Cluster API too.
    let named = found.get(cluster).and_then(|object| control_plane_of(object, cluster));
    if let Some(control_plane) = named.filter(|id| found.get(id).is_none()) {
        match live.read(&As::Reconciler, &ApiObject::from(&control_plane)).await? {
            Some(object) => found.insert(object),
            None => found.absent(control_plane),
        }
    }
    Ok(())
}

/// Reads what was cloned for a `Cluster`: one list of each kind, for a topology may have many groups. Without the
/// right to it, rollouts are judged without.
async fn read_clones(
    live: &dyn ManagementCluster,
    cluster: &ObjectId,
    clones: &[ObjectId],
    found: &mut LiveObjects,
) -> Result<(), LiveError> {
    let kinds: BTreeSet<(&str, &str)> =
        clones.iter().map(|id| (id.group.as_str(), id.kind.as_str())).collect();
    let labels = [(CLUSTER_NAME, cluster.name.as_str())];
    for (group, kind) in kinds {
        let kind = ApiKind::preferred(group, kind);
        let listed = match live.list(&As::Reconciler, &kind, cluster.namespace.as_deref(), &labels).await {
            Ok(listed) => listed,
            Err(error) if error.refusal().is_some_and(|refusal| refusal.kind == RefusalKind::Forbidden) => {
                tracing::debug!(%cluster, %error, "the objects cloned from its class are not checked");
                continue;
            }
            Err(error) => return Err(error),
        };
        let named = |object: &serde_json::Value| identity(object).is_some_and(|id| clones.contains(&id));
        listed.into_iter().filter(named).for_each(|object| found.insert(object));
    }
    Ok(())
}

/// The control plane that a live `Cluster` names, in v1beta1 or v1beta2.
fn control_plane_of(cluster: &serde_json::Value, id: &ObjectId) -> Option<ObjectId> {
    let reference = cluster.pointer("/spec/controlPlaneRef")?;
    let text = |key: &str| reference.get(key).and_then(serde_json::Value::as_str);
    let group = text("apiGroup")
        .or_else(|| text("apiVersion").map(capstan_model::object::api_group))
        .unwrap_or("controlplane.cluster.x-k8s.io");
    Some(ObjectId {
        group: group.to_owned(),
        kind: text("kind")?.to_owned(),
        namespace: text("namespace").map(str::to_owned).or_else(|| id.namespace.clone()),
        name: text("name")?.to_owned(),
    })
}
