//! What a person holds back.

use serde_json::Value;

use crate::live_objects::{CLUSTER_NAME_LABEL, annotation, label, text};
use crate::rollout::facts;
use crate::rollout::observed::observed_owner::ObservedOwner;
use crate::rollout::observed::reading::OwnerReading;
use crate::rollout::observed::verdict::Counts;
use crate::rollout::owner::{MachineOwner, replacing};
use capstan_model::kinds::names;

/// Whether no person's word holds the rollout back.
pub(in crate::rollout::observed) fn waits_for_nobody(
    owner: &ObservedOwner<'_>,
    reading: &OwnerReading<'_>,
) -> bool {
    waits_for_a_person(owner, reading, reading.counts(), 0).is_none()
}

/// Nothing moves until a person does something, and that was their wish.
pub(super) fn waits_for_a_person(
    owner: &ObservedOwner<'_>,
    reading: &OwnerReading<'_>,
    counts: Counts,
    old: usize,
) -> Option<String> {
    let paused = |value: &Value| {
        annotation(value, facts::PAUSED).is_some()
            || value.pointer("/spec/paused") == Some(&Value::Bool(true))
    };
    let of_cluster =
        label(reading.object, CLUSTER_NAME_LABEL).or_else(|| text(reading.object, "/spec/clusterName"));
    let cluster = owner
        .live
        .core(names::CLUSTER)
        .find(|(id, _)| id.namespace == owner.id.namespace && of_cluster == Some(id.name.as_str()));
    if paused(reading.object) || cluster.is_some_and(|(_, cluster)| paused(cluster)) {
        return Some("paused: nothing happens until somebody removes the pause".to_owned());
    }
    let on_delete = matches!(
        owner.kind,
        MachineOwner::Deployment | MachineOwner::Kubeadm | MachineOwner::OtherControlPlane
    ) && replacing(reading.object, None).strategy == "OnDelete";
    if on_delete && reading.is_observed() && counts.current == counts.wanted && counts.ready == counts.wanted
    {
        let uncounted =
            usize::try_from(counts.wanted.saturating_sub(counts.up_to_date)).unwrap_or(usize::MAX);
        return Some(format!(
            "`OnDelete`: {} machines are replaced when somebody deletes them",
            old.max(uncounted)
        ));
    }
    None
}
