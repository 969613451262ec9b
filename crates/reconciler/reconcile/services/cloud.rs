//! What the management cluster says of a cluster's cloud: infrastructure, and what Events warn of.

use std::collections::BTreeSet;

use capstan_live::rollout::observed::{RolloutProgress, RolloutVerdict};
use capstan_live::services::{CloudState, cloud_state, infrastructure_of, last_warnings};
use capstan_model::finding::Severity;
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_reconciler_core::services::CLOUD_NOT_READY;
use serde_json::Value;

use crate::reconcile::in_hand::ClusterInHand;
use crate::reconcile::observation::Observation;
use capstan_ports::As;
use capstan_reconciler_core::reason::Reason;

/// The reason of what an Event warns of.
const WARNING: &str = "WarningEvent";

impl ClusterInHand<'_> {
    /// Checks whether the cloud provides what the cluster asks for. Where the rollout is not done or the cloud is not
    /// ready, it also reports the warnings of Events. Events that cannot be read are left out.
    pub(in crate::reconcile) async fn look_at_cloud(
        &mut self,
        observed: &Observation,
        cluster: &ObjectId,
        verdict: Option<&RolloutVerdict>,
    ) {
        let Some(live) = observed.live.get(cluster) else { return };
        let infrastructure = infrastructure_of(live).map(|(id, _)| id);
        let of_cluster = infrastructure.as_ref().and_then(|id| observed.live.get(id));
        let machines: Vec<(&ObjectId, &Value)> = observed
            .live
            .iter()
            .filter(|(id, _)| role_of(id) == Some(KindRole::Machine) && id.namespace == cluster.namespace)
            .collect();
        let cloud = cloud_state(live, of_cluster, machines.iter().map(|(_, machine)| *machine));
        let is_done = verdict.is_none_or(|verdict| {
            matches!(verdict.state_for_now(), RolloutProgress::Done | RolloutProgress::Unknown)
        });
        if let Some(CloudState::Failed { object, words }) = &cloud {
            self.services.tell(warning_about(observed, CLOUD_NOT_READY, object, words));
        }
        let is_well = matches!(cloud, None | Some(CloudState::Ready));
        self.services.cloud = cloud;
        if is_done && is_well {
            return;
        }
        let mut about: BTreeSet<ObjectId> = infrastructure.into_iter().collect();
        for (id, machine) in machines {
            about.insert(id.clone());
            about.extend(infrastructure_of(machine).map(|(id, _)| id));
        }
        let Some(namespace) = cluster.namespace.as_deref() else { return };
        match self.live().warnings(&As::Reconciler, namespace).await {
            Ok(events) => {
                for warning in last_warnings(&events, &about) {
                    self.services.tell(warning_about(observed, WARNING, &warning.object, &warning.words));
                }
            }
            Err(error) => tracing::debug!(cluster = %self.request.id, %error, "Events are not shown"),
        }
    }
}

/// A warning about an object, at its place where Git brings it.
fn warning_about(observed: &Observation, kind: &'static str, object: &ObjectId, words: &str) -> Reason {
    let rendered = observed.objects.iter().find(|rendered| rendered.id == *object);
    let place = rendered.map(|rendered| rendered.written_at(&FieldPath::root()));
    let reason = Reason { object: Some(object.clone()), place, ..Reason::plain(kind, words) };
    Reason { severity: Severity::Warning, ..reason }
}
