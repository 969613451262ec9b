//! When a claimed cluster is offered its next step: once its reconciler has reported the last rollout done.

use capstan_model::tree::CommitId;

use super::rollout::{RolloutReport, RolloutState};

/// What is known of a cluster's last rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastRollout<'a> {
    /// No management cluster claims the cluster: other tools apply it, and no reconciler reports.
    Unclaimed,
    /// No reconciler of the one that claims it has enrolled: what is merged is not applied.
    NotEnrolled,
    /// Its reconciler has not reported on it.
    NotReported,
    /// The newest report, and whether it is about the cluster as it is now.
    Reported(&'a RolloutReport, SpeaksOf),
}

/// Of what a report speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpeaksOf {
    /// This was not checked.
    NotKnown,
    /// What the cluster is made of now.
    TheNewest,
    /// What it was made of, or a commit that is not there any more.
    AnOlder,
}

/// Whether the next step is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep<'a> {
    /// It is.
    Offered,
    /// It depends on whether the cluster still is what it is made of in that commit.
    Ask(&'a CommitId),
    Waits(Awaited<'a>),
}

/// What the next step waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited<'a> {
    /// A reconciler that enrols.
    Enrolment,
    /// Its first report.
    Report,
    /// The rollout that it reports on.
    Rollout(&'a RolloutReport),
    /// Its report on the newest change.
    NewestChange,
}

/// Whether a cluster is offered its next step.
pub fn next_step(last: LastRollout<'_>) -> NextStep<'_> {
    match last {
        LastRollout::Unclaimed => NextStep::Offered,
        LastRollout::NotEnrolled => NextStep::Waits(Awaited::Enrolment),
        LastRollout::NotReported => NextStep::Waits(Awaited::Report),
        LastRollout::Reported(report, speaks_of) => match (report.state, speaks_of) {
            (RolloutState::Done, SpeaksOf::NotKnown) => NextStep::Ask(report.commit()),
            (RolloutState::Done, SpeaksOf::TheNewest) => NextStep::Offered,
            (RolloutState::Done, SpeaksOf::AnOlder) => NextStep::Waits(Awaited::NewestChange),
            _ => NextStep::Waits(Awaited::Rollout(report)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(state: RolloutState) -> RolloutReport {
        let (attempted, applied) = ("a".repeat(40), "b".repeat(40));
        serde_json::from_value(serde_json::json!({
            "id": "01JD0000000000000000000000", "repository": "acme/gitops", "cluster": "gauss/peu01",
            "attempted": attempted, "applied": applied, "state": state.as_str(),
            "observed_at": "2026-11-24T10:00:00Z",
        }))
        .unwrap()
    }

    #[test]
    fn the_next_step_waits_for_the_last_rollout() {
        let done = report(RolloutState::Done);
        let applied = CommitId::parse(&"b".repeat(40)).unwrap();
        for (last, next) in [
            (LastRollout::Unclaimed, NextStep::Offered),
            (LastRollout::NotEnrolled, NextStep::Waits(Awaited::Enrolment)),
            (LastRollout::NotReported, NextStep::Waits(Awaited::Report)),
            (LastRollout::Reported(&done, SpeaksOf::NotKnown), NextStep::Ask(&applied)),
            (LastRollout::Reported(&done, SpeaksOf::TheNewest), NextStep::Offered),
            (LastRollout::Reported(&done, SpeaksOf::AnOlder), NextStep::Waits(Awaited::NewestChange)),
        ] {
            assert_eq!(next_step(last), next, "{last:?}");
        }
        for state in [
            RolloutState::Waiting,
            RolloutState::Rolling,
            RolloutState::Stuck,
            RolloutState::Refused,
            RolloutState::Unknown,
        ] {
            let report = report(state);
            // Whatever it is about: this is not checked.
            for speaks_of in [SpeaksOf::NotKnown, SpeaksOf::TheNewest, SpeaksOf::AnOlder] {
                let waits = NextStep::Waits(Awaited::Rollout(&report));
                assert_eq!(next_step(LastRollout::Reported(&report, speaks_of)), waits, "{state:?}");
            }
        }
    }
}
