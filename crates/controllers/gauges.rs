//! How many clusters of a Fleet stand where, and how reconciliations end, as metrics (`METRICS` of the program).

use std::collections::BTreeMap;
use std::time::Duration;

use capstan_live::services::{SummaryState, summary};
use capstan_model::ids::ClusterId;

use capstan_reconciler::reconcile::ports::FleetKey;
use capstan_reconciler::reconcile::resources::{
    ClusterPhase, ConditionType, ManagedClusterStatus, RolloutState,
};
use capstan_reconciler::reconcile::{ReconcileEnd, ReconcileOutcome};

/// What a cluster is counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountedAs {
    ControlPlane,
    Workers,
    Done,
    Stuck,
    Refused,
    Waiting,
    Suspended,
    Failed,
    Unknown,
}

impl CountedAs {
    /// All of them: a gauge that is not named again would keep its last value.
    const ALL: [Self; 9] = [
        Self::ControlPlane,
        Self::Workers,
        Self::Done,
        Self::Stuck,
        Self::Refused,
        Self::Waiting,
        Self::Suspended,
        Self::Failed,
        Self::Unknown,
    ];

    /// The metric's label.
    const fn as_str(self) -> &'static str {
        match self {
            Self::ControlPlane => "ControlPlane",
            Self::Workers => "Workers",
            Self::Done => "Done",
            Self::Stuck => "Stuck",
            Self::Refused => "Refused",
            Self::Waiting => "Waiting",
            Self::Suspended => "Suspended",
            Self::Failed => "Failed",
            Self::Unknown => "Unknown",
        }
    }
}

/// What clusters of one Fleet are counted as.
#[derive(Debug, Default)]
pub(super) struct FleetCounts {
    states: BTreeMap<ClusterId, CountedAs>,
}

impl FleetCounts {
    /// Notes how a reconciliation ended.
    pub(super) fn note(
        &mut self,
        fleet: &FleetKey,
        id: &ClusterId,
        outcome: &ReconcileOutcome,
        took: Duration,
    ) {
        let (result, cause) = match &outcome.ended {
            ReconcileEnd::Applied => ("applied", None),
            ReconcileEnd::Removed => ("removed", None),
            ReconcileEnd::Refused(reasons) => ("refused", reasons.first().map(|reason| reason.kind)),
            ReconcileEnd::Waiting(_) => ("waiting", None),
            ReconcileEnd::Suspended => ("suspended", None),
            ReconcileEnd::Interrupted(_) => ("over", None),
            ReconcileEnd::Failed(failure) => ("failed", Some(failure.kind)),
        };
        metrics::histogram!("capstan_reconcile_duration_seconds", "result" => result)
            .record(took.as_secs_f64());
        if let Some(cause) = cause {
            metrics::counter!("capstan_reconciler_failures_total", "cause" => cause).increment(1);
        }
        if !matches!(outcome.ended, ReconcileEnd::Interrupted(_)) {
            self.states.insert(id.clone(), state(&outcome.ended, &outcome.status));
            self.show(fleet);
        }
    }

    /// Takes over a cluster's state from before this process began.
    pub(super) fn seed(&mut self, id: &ClusterId, status: &ManagedClusterStatus) {
        if status.conditions.hold(ConditionType::Ready) {
            self.states.entry(id.clone()).or_insert(CountedAs::Done);
        }
    }

    /// Forgets clusters that are the Fleet's no more.
    pub(super) fn keep(&mut self, fleet: &FleetKey, keeps: impl Fn(&ClusterId) -> bool) {
        self.states.retain(|id, _| keeps(id));
        self.show(fleet);
    }

    /// How many are done.
    pub(super) fn done(&self) -> usize {
        self.states.values().filter(|state| **state == CountedAs::Done).count()
    }

    /// Takes the Fleet out of the metrics.
    pub(super) fn clear(&mut self, fleet: &FleetKey) {
        self.keep(fleet, |_| false);
    }

    fn show(&self, fleet: &FleetKey) {
        for state in CountedAs::ALL {
            let count = self.states.values().filter(|counted| **counted == state).count();
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            metrics::gauge!("capstan_clusters", "fleet" => fleet.to_string(), "phase" => state.as_str())
                .set(count);
        }
    }
}

fn state(ended: &ReconcileEnd, status: &ManagedClusterStatus) -> CountedAs {
    match ended {
        ReconcileEnd::Refused(_) => CountedAs::Refused,
        ReconcileEnd::Waiting(_) => CountedAs::Waiting,
        ReconcileEnd::Suspended => CountedAs::Suspended,
        ReconcileEnd::Failed(_) => CountedAs::Failed,
        ReconcileEnd::Applied | ReconcileEnd::Removed | ReconcileEnd::Interrupted(_) => {
            if status.rollout.as_ref().is_some_and(|rollout| rollout.state == RolloutState::Stuck) {
                return CountedAs::Stuck;
            }
            match status.phase {
                Some(ClusterPhase::ControlPlane) => CountedAs::ControlPlane,
                Some(ClusterPhase::Workers) => CountedAs::Workers,
                Some(ClusterPhase::Done) => match summary(&status.services).map(|services| services.state) {
                    None | Some(SummaryState::Done) => CountedAs::Done,
                    Some(SummaryState::Progressing | SummaryState::Unknown) => CountedAs::Waiting,
                    Some(SummaryState::Stuck) => CountedAs::Stuck,
                },
                None => CountedAs::Unknown,
            }
        }
    }
}
