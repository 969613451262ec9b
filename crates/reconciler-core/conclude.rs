//! What is said of a reconciliation: the status with its conditions, events, and the report to the bot.

use capstan_live::rollout::observed::RolloutVerdict;
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_model::tree::CommitId;
use capstan_model::wording::{count, count_of, fitting};
use jiff::Timestamp;

use crate::outcome::ReconcileEnd;
use crate::reason::{REMOVED, Reason};
use crate::records::{FleetRecord, Note, Tone};
use crate::reports::{ClusterReport, OwnersFile, ReportOutcome};
use crate::resources::{
    ConditionStatus, ConditionType, FleetStatus, ManagedClusterStatus, PlaceStatus, RolloutState,
};
use crate::says::Says;
use crate::services::{self, ServicesFound};

/// How many reasons a status holds.
const REASONS: usize = 20;

/// What a reconciliation found, to be put into words.
pub struct ReconcileFindings<'a> {
    pub cluster: &'a ClusterId,
    /// The commit that it was tried with.
    pub commit: &'a CommitId,
    /// The Git id of the cluster's folder.
    pub folder: Option<&'a str>,
    /// The generation of the ManagedCluster that was reconciled.
    pub generation: i64,
    pub now: Timestamp,
    /// How it ended.
    pub ended: &'a ReconcileEnd,
    /// Objects that Git names no more and that are kept, and why.
    pub kept: &'a [Reason],
    /// What was found of services and of the cloud.
    pub services: &'a ServicesFound,
    /// What the owners can have a key in.
    pub owners_file: Option<&'a OwnersFile>,
    /// How many objects were written.
    pub applied: usize,
    /// How many were deleted.
    pub deleted: usize,
}

/// The status after a reconciliation. `before` is the stored status at its beginning; `status` is what the
/// reconciliation made of it.
pub fn settle(
    before: &ManagedClusterStatus,
    mut status: ManagedClusterStatus,
    found: &ReconcileFindings<'_>,
) -> ManagedClusterStatus {
    if let ReconcileEnd::Interrupted(_) = found.ended {
        return status;
    }
    status.observed_generation = Some(found.generation);
    status.refused = match found.ended {
        ReconcileEnd::Refused(reasons) | ReconcileEnd::Waiting(reasons) => places(reasons),
        ReconcileEnd::Failed(failure) => places(&failure.reasons),
        ReconcileEnd::Applied
        | ReconcileEnd::Removed
        | ReconcileEnd::Suspended
        | ReconcileEnd::Interrupted(_) => Vec::new(),
    };
    status.kept = places(found.kept);
    conditions(&mut status, found);
    if matches!(found.ended, ReconcileEnd::Applied | ReconcileEnd::Removed) && status.withheld.is_empty() {
        status.applied_commit = Some(found.commit.to_string());
        status.folder = found.folder.map(str::to_owned);
    }
    if !matches!(found.ended, ReconcileEnd::Suspended) {
        status.attempted_commit = Some(found.commit.to_string());
    }
    // Also of one that is suspended: by its files it is known again when it moves.
    status.attempted_folder = found.folder.map(str::to_owned);
    // A commit that changed nothing of this cluster is not written: else every push would cost every cluster a write.
    let mut without_news = status.clone();
    without_news.applied_commit.clone_from(&before.applied_commit);
    without_news.attempted_commit.clone_from(&before.attempted_commit);
    let was_applied = before.applied_commit.is_some() || status.applied_commit.is_none();
    if without_news == *before && was_applied { without_news } else { status }
}

fn places(reasons: &[Reason]) -> Vec<PlaceStatus> {
    reasons.iter().take(REASONS).map(Reason::to_status).collect()
}

fn conditions(status: &mut ManagedClusterStatus, found: &ReconcileFindings<'_>) {
    use ConditionStatus::{False, True, Unknown};
    use ConditionType::{Applied, Ready, Reconciling, Refused, RolledOut, Stalled};

    let rollout = status.rollout.as_ref().map(|rollout| rollout.state);
    let words = status.rollout.as_ref().and_then(|rollout| rollout.message.clone()).unwrap_or_default();
    let mut says = Says { conditions: &mut status.conditions, now: found.now, generation: found.generation };
    match rollout {
        Some(RolloutState::Done) => says.that(RolledOut, True, "Done", ""),
        Some(RolloutState::Rolling) => says.that(RolledOut, False, "Rolling", &words),
        Some(RolloutState::Waiting) => says.that(RolledOut, False, "Waiting", &words),
        Some(RolloutState::Stuck) => says.that(RolledOut, False, "Stuck", &words),
        Some(RolloutState::Unknown) => says.that(RolledOut, Unknown, "Unknown", &words),
        None => says.conditions.clear(RolledOut),
    }
    services::conditions(&mut says, found.services, &status.services);
    let withheld = !status.withheld.is_empty();
    let hindrance = services::hindrance(found.services, &status.services);
    match found.ended {
        ReconcileEnd::Applied => {
            says.that(Refused, False, "Accepted", "");
            if withheld {
                says.that(Applied, False, "WorkersWithheld", &status.withheld.join("\n"));
            } else {
                says.that(Applied, True, "Applied", "");
            }
            match rollout {
                Some(RolloutState::Stuck) => {
                    says.that(Stalled, True, "Stuck", &words);
                    says.conditions.clear(Reconciling);
                    says.that(Ready, False, "Stuck", &words);
                }
                None | Some(RolloutState::Done | RolloutState::Unknown)
                    if let Some(hindrance) = &hindrance =>
                {
                    let (going, gone) =
                        if hindrance.passes { (Reconciling, Stalled) } else { (Stalled, Reconciling) };
                    says.that(going, True, hindrance.reason, &hindrance.message);
                    says.conditions.clear(gone);
                    says.that(Ready, False, hindrance.reason, &hindrance.message);
                }
                None | Some(RolloutState::Done) if !withheld => {
                    says.conditions.clear(Stalled);
                    says.conditions.clear(Reconciling);
                    says.that(Ready, True, "Done", "");
                }
                Some(RolloutState::Unknown) if !withheld => {
                    says.conditions.clear(Stalled);
                    says.conditions.clear(Reconciling);
                    says.that(Ready, Unknown, "RolloutUnknown", &words);
                }
                rollout => {
                    let reason = if rollout == Some(RolloutState::Waiting) { "Waiting" } else { "Rolling" };
                    says.conditions.clear(Stalled);
                    says.that(Reconciling, True, reason, &words);
                    says.that(Ready, False, reason, &words);
                }
            }
        }
        ReconcileEnd::Removed => {
            says.that(Refused, False, "Accepted", "");
            says.that(Applied, True, REMOVED, "the cluster was deleted, as its capstan.yaml says");
            says.conditions.clear(Stalled);
            says.conditions.clear(Reconciling);
            says.that(Ready, True, REMOVED, "its folder can be removed from Git");
        }
        ReconcileEnd::Refused(reasons) => {
            let (reason, message) = (first(reasons), lines(reasons));
            says.that(Refused, True, reason, &message);
            says.that(Applied, False, "Refused", &message);
            says.that(Stalled, True, "Refused", &message);
            says.conditions.clear(Reconciling);
            says.that(Ready, False, "Refused", &message);
        }
        ReconcileEnd::Waiting(reasons) => {
            let (reason, message) = (first(reasons), lines(reasons));
            says.that(Refused, False, "Waiting", "");
            says.that(Applied, False, reason, &message);
            says.conditions.clear(Stalled);
            says.that(Reconciling, True, reason, &message);
            says.that(Ready, False, reason, &message);
        }
        ReconcileEnd::Failed(failure) => {
            says.that(Applied, False, failure.kind, &failure.message);
            says.conditions.clear(Stalled);
            says.that(Reconciling, True, "Retrying", &failure.message);
            says.that(Ready, False, failure.kind, &failure.message);
        }
        ReconcileEnd::Suspended => {
            says.conditions.clear(Reconciling);
            says.conditions.clear(Stalled);
            says.that(
                Ready,
                False,
                "Suspended",
                "`suspend` is set, here or in the Fleet: nothing is applied",
            );
        }
        ReconcileEnd::Interrupted(_) => {}
    }
}

fn first(reasons: &[Reason]) -> &'static str {
    reasons.first().map_or("Refused", |reason| reason.kind)
}

fn lines(reasons: &[Reason]) -> String {
    let shown: Vec<String> = reasons.iter().take(5).map(Reason::line).collect();
    match reasons.len().saturating_sub(5) {
        0 => shown.join("\n"),
        more => format!("{}\n… and {more} more", shown.join("\n")),
    }
}

/// The events on the ManagedCluster: each change of state once.
pub fn notes(
    before: &ManagedClusterStatus,
    after: &ManagedClusterStatus,
    found: &ReconcileFindings<'_>,
) -> Vec<Note> {
    let mut notes = services::notes(before, after);
    let commit = found.commit.as_str().get(..12).unwrap_or_default();
    if found.applied > 0 {
        notes.push(Note {
            tone: Tone::Normal,
            reason: "Applied",
            message: format!("{} of commit {commit}", count(found.applied, "object", "objects")),
        });
    }
    if found.deleted > 0 {
        notes.push(Note {
            tone: Tone::Normal,
            reason: "Deleted",
            message: format!("{} that commit {commit} lacks", count(found.deleted, "object", "objects")),
        });
    }
    match found.ended {
        ReconcileEnd::Refused(reasons) if before.refused != after.refused => {
            notes.push(Note { tone: Tone::Warning, reason: "Refused", message: lines(reasons) });
        }
        ReconcileEnd::Waiting(reasons) if before.refused != after.refused => {
            notes.push(Note { tone: Tone::Normal, reason: "Waiting", message: lines(reasons) });
        }
        ReconcileEnd::Failed(failure) => {
            notes.push(Note { tone: Tone::Warning, reason: "Failed", message: failure.message.clone() });
        }
        _ => {}
    }
    let state = |status: &ManagedClusterStatus| status.rollout.as_ref().map(|rollout| rollout.state);
    if state(before) != state(after)
        && let Some(rollout) = &after.rollout
    {
        let message = rollout.message.clone().unwrap_or_default();
        let (tone, reason, message) = match rollout.state {
            RolloutState::Waiting => return notes,
            RolloutState::Unknown => return notes,
            RolloutState::Rolling => (Tone::Normal, "RolloutBegun", message),
            RolloutState::Done => (Tone::Normal, "RolloutDone", "every machine is up to date".to_owned()),
            RolloutState::Stuck => (Tone::Warning, "RolloutStuck", message),
        };
        notes.push(Note { tone, reason, message });
    }
    notes
}

/// What the bot hears. Whether it is news to the bot, the bot's own adapter knows: it may have heard nothing
/// of a status that was written long ago, or just before a death.
pub fn report(
    after: &ManagedClusterStatus,
    found: &ReconcileFindings<'_>,
    object: Option<ObjectId>,
    verdict: Option<&RolloutVerdict>,
) -> Option<ClusterReport> {
    let (outcome, refused) = match found.ended {
        ReconcileEnd::Interrupted(_) | ReconcileEnd::Suspended => return None,
        // Git is not the cause: it is tried again, and the status says so.
        ReconcileEnd::Failed(failure) if failure.reasons.is_empty() => return None,
        ReconcileEnd::Failed(failure) => (ReportOutcome::Failed, failure.reasons.clone()),
        ReconcileEnd::Refused(reasons) => (ReportOutcome::Refused, reasons.clone()),
        ReconcileEnd::Waiting(reasons) => (ReportOutcome::Waiting, reasons.clone()),
        ReconcileEnd::Removed => (ReportOutcome::Removed, Vec::new()),
        // Why services are not ready, and what the cloud does not give.
        ReconcileEnd::Applied => (ReportOutcome::Applied, found.services.reasons()),
    };
    let parse = |text: &Option<String>| text.as_deref().and_then(|text| CommitId::parse(text).ok());
    Some(ClusterReport {
        cluster: found.cluster.clone(),
        attempted: found.commit.clone(),
        applied: parse(&after.applied_commit),
        object,
        outcome,
        refused,
        phase: after.phase,
        services: capstan_live::services::summary(&after.services),
        verdict: verdict.cloned(),
        owners_file: found.owners_file.cloned(),
        names: after.names(),
        at: found.now,
    })
}

#[derive(Debug)]
pub struct FleetState<'a> {
    /// UID of the management cluster.
    pub uid: &'a str,
    /// The commit that clusters are applied from.
    pub commit: Option<&'a str>,
    /// Clusters that the Fleet applies; counts with a commit alone.
    pub clusters: u32,
    /// Clusters of them that are done; counts with a commit alone.
    pub done: u32,
    /// What Git wants of this management cluster and the reconciler does not do, in a sentence's part; `None` = nothing.
    pub left_out: Option<&'a str>,
    /// Why there is no newer commit: reason and message.
    pub problem: Option<(&'a str, &'a str)>,
}

/// The status of a Fleet, from the one that was written last.
pub fn fleet_status(
    fleet: &FleetRecord,
    before: &FleetStatus,
    state: &FleetState<'_>,
    now: Timestamp,
) -> FleetStatus {
    use ConditionStatus::{False, True};
    use ConditionType::{Ready, SourceReady};

    let mut status = before.clone();
    status.observed_generation = Some(fleet.generation);
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    status.management_cluster_uid = Some(state.uid.to_owned());
    // A process that has opened no commit yet knows of no cluster: what the one before it counted stays.
    if let Some(commit) = state.commit {
        status.commit = Some(commit.to_owned());
        status.clusters = state.clusters;
        status.ready = state.done;
    }
    let mut says = Says { conditions: &mut status.conditions, now, generation: fleet.generation };
    match state.problem {
        Some((reason, message)) => says.that(SourceReady, False, reason, message),
        None if state.commit.is_some() => says.that(SourceReady, True, "Fetched", ""),
        None => {}
    }
    if fleet.spec.suspend {
        says.that(Ready, False, "Suspended", "`spec.suspend` is set: nothing is applied");
    } else if let (None, Some((reason, message))) = (state.commit, state.problem) {
        says.that(Ready, False, reason, message);
    } else if state.commit.is_some() {
        let left_out = state.left_out.map(|what| format!("; {what}")).unwrap_or_default();
        if state.done == state.clusters {
            says.that(Ready, True, "Done", &format!("every cluster matches Git{left_out}"));
        } else {
            let [done, all] = [state.done, state.clusters].map(|number| number as usize);
            let clusters = count_of(done, all, "cluster", "clusters");
            let are = fitting(all, "is", "are");
            let message = format!("{clusters} {are} up to date with Git{left_out}");
            says.that(Ready, False, "Reconciling", &message);
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use capstan_live::services::{ServiceState, ServiceStatus};
    use capstan_model::tree::RepoPath;
    use capstan_plan::settings::ServiceRole;

    use super::*;
    use crate::outcome::{Interruption, ReconcileFailure};
    use crate::resources::RolloutStatus;

    const COMMIT: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn rollout(state: RolloutState) -> Option<RolloutStatus> {
        let message = Some("1 of 3".to_owned());
        Some(RolloutStatus { state, ready: 1, wanted: 3, message, since: None, machines: Vec::new() })
    }

    fn status(state: Option<RolloutState>) -> ManagedClusterStatus {
        ManagedClusterStatus { rollout: state.and_then(rollout), ..ManagedClusterStatus::default() }
    }

    fn failed(reasons: Vec<Reason>) -> ReconcileEnd {
        ReconcileEnd::Failed(ReconcileFailure {
            kind: "Unreachable",
            message: "it does not answer".to_owned(),
            reasons,
        })
    }

    fn waits(kind: &'static str) -> ReconcileEnd {
        ReconcileEnd::Waiting(vec![Reason::plain(kind, "it waits")])
    }

    fn refused(kind: &'static str) -> ReconcileEnd {
        ReconcileEnd::Refused(vec![Reason::plain(kind, "no")])
    }

    /// What follows from an end, for a cluster without an earlier status.
    fn with<T>(ended: &ReconcileEnd, judge: impl FnOnce(&ReconcileFindings<'_>) -> T) -> T {
        let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
        let commit = CommitId::parse(COMMIT).unwrap();
        let services = ServicesFound::default();
        judge(&ReconcileFindings {
            cluster: &cluster,
            commit: &commit,
            folder: Some("f1"),
            generation: 3,
            now: Timestamp::from_second(1_800_000_000).unwrap(),
            ended,
            kept: &[],
            services: &services,
            owners_file: None,
            applied: 0,
            deleted: 0,
        })
    }

    fn said(status: &ManagedClusterStatus, kind: ConditionType) -> String {
        let condition = status.conditions.of(kind);
        condition.map_or_else(
            || "-".to_owned(),
            |condition| {
                let mark = match condition.status {
                    ConditionStatus::True => '+',
                    ConditionStatus::False => '!',
                    ConditionStatus::Unknown => '?',
                };
                format!("{mark}{}", condition.reason)
            },
        )
    }

    #[test]
    fn the_conditions_follow_from_the_end_and_from_how_machines_stand() {
        use ConditionType::{Applied, Ready, Reconciling, Refused, Stalled};
        use RolloutState::{Done, Rolling, Stuck, Unknown, Waiting};
        // Ready, Applied, Refused, Reconciling, Stalled: + is true, ! is false, ? is unknown, - is not set.
        let applied = || ReconcileEnd::Applied;
        for (ended, rollout, expected) in [
            (applied(), None, ["+Done", "+Applied", "!Accepted", "-", "-"]),
            (applied(), Some(Done), ["+Done", "+Applied", "!Accepted", "-", "-"]),
            (applied(), Some(Rolling), ["!Rolling", "+Applied", "!Accepted", "+Rolling", "-"]),
            (applied(), Some(Waiting), ["!Waiting", "+Applied", "!Accepted", "+Waiting", "-"]),
            (applied(), Some(Stuck), ["!Stuck", "+Applied", "!Accepted", "-", "+Stuck"]),
            (applied(), Some(Unknown), ["?RolloutUnknown", "+Applied", "!Accepted", "-", "-"]),
            (ReconcileEnd::Removed, None, ["+Removed", "+Removed", "!Accepted", "-", "-"]),
            (refused("Invalid"), Some(Done), ["!Refused", "!Refused", "+Invalid", "-", "+Refused"]),
            (
                refused("overlay-loses-target"),
                None,
                ["!Refused", "!Refused", "+OverlayLosesTarget", "-", "+Refused"],
            ),
            (ReconcileEnd::Refused(Vec::new()), None, ["!Refused", "!Refused", "+Refused", "-", "+Refused"]),
            (waits("RollsLater"), Some(Done), ["!RollsLater", "!RollsLater", "!Waiting", "+RollsLater", "-"]),
            (failed(Vec::new()), Some(Done), ["!Unreachable", "!Unreachable", "-", "+Retrying", "-"]),
            (ReconcileEnd::Suspended, Some(Rolling), ["!Suspended", "-", "-", "-", "-"]),
            (ReconcileEnd::Interrupted(Interruption::Stopping), Some(Stuck), ["-", "-", "-", "-", "-"]),
        ] {
            let after =
                with(&ended, |found| settle(&ManagedClusterStatus::default(), status(rollout), found));
            let all = [Ready, Applied, Refused, Reconciling, Stalled].map(|kind| said(&after, kind));
            assert_eq!(all, expected, "{ended:?} {rollout:?}");
        }
    }

    #[test]
    fn a_withheld_cluster_is_neither_applied_nor_ready() {
        use ConditionType::{Applied, Ready, Reconciling};
        for rollout in
            [None, Some(RolloutState::Done), Some(RolloutState::Unknown), Some(RolloutState::Rolling)]
        {
            let withheld = vec!["MachineDeployment my-org/md waits".to_owned()];
            let before = ManagedClusterStatus { withheld, ..status(rollout) };
            let after = with(&ReconcileEnd::Applied, |found| {
                settle(&ManagedClusterStatus::default(), before.clone(), found)
            });
            let all = [Ready, Applied, Reconciling].map(|kind| said(&after, kind));
            assert_eq!(all, ["!Rolling", "!WorkersWithheld", "+Rolling"], "{rollout:?}");
            assert_eq!((after.applied_commit, after.attempted_commit.as_deref()), (None, Some(COMMIT)));
        }
    }

    #[test]
    fn a_service_that_is_not_ready_keeps_a_cluster_from_being_ready_whose_machines_are_done() {
        use ConditionType::{Ready, Reconciling, ServicesReady, Stalled};
        use RolloutState::{Done, Rolling, Stuck};
        for (state, rollout, expected) in [
            (ServiceState::Ready, Some(Done), ["+Done", "-", "-", "+Ready"]),
            (
                ServiceState::Progressing,
                Some(Done),
                ["!ServicesNotReady", "+ServicesNotReady", "-", "!Progressing"],
            ),
            (
                ServiceState::Unknown,
                Some(Done),
                ["!ServicesNotReady", "+ServicesNotReady", "-", "?WorkloadUnreachable"],
            ),
            (
                ServiceState::Stuck,
                Some(Done),
                ["!ServicesNotReady", "-", "+ServicesNotReady", "!ServicesNotReady"],
            ),
            (
                ServiceState::Failed,
                None,
                ["!ServicesNotReady", "-", "+ServicesNotReady", "!ServicesNotReady"],
            ),
            (ServiceState::Removing, Some(Done), ["+Done", "-", "-", "+Ready"]),
            // Machines come first.
            (ServiceState::Stuck, Some(Rolling), ["!Rolling", "+Rolling", "-", "!ServicesNotReady"]),
            (ServiceState::Progressing, Some(Stuck), ["!Stuck", "-", "+Stuck", "!Progressing"]),
        ] {
            let service = ServiceStatus { state, ..ServiceStatus::new("cni", ServiceRole::Cni) };
            let before = ManagedClusterStatus { services: vec![service], ..status(rollout) };
            let after = with(&ReconcileEnd::Applied, |found| {
                settle(&ManagedClusterStatus::default(), before.clone(), found)
            });
            let all = [Ready, Reconciling, Stalled, ServicesReady].map(|kind| said(&after, kind));
            assert_eq!(all, expected, "{state:?} {rollout:?}");
        }
    }

    #[test]
    fn a_commit_without_changes_to_a_cluster_adds_no_report() {
        let first = with(&ReconcileEnd::Applied, |found| {
            settle(&ManagedClusterStatus::default(), status(None), found)
        });
        assert_eq!(first.applied_commit.as_deref(), Some(COMMIT));
        let ended = ReconcileEnd::Applied;
        let again = with(&ended, |found| {
            let later = CommitId::parse("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb").unwrap();
            settle(&first, first.clone(), &ReconcileFindings { commit: &later, ..*found })
        });
        assert_eq!(again, first);
        // What failed in between is news.
        let ended = failed(Vec::new());
        let after = with(&ended, |found| settle(&first, first.clone(), found));
        assert_ne!(after, first);
    }

    #[test]
    fn the_bot_hears_what_somebody_may_have_to_answer_for() {
        let blamed = || vec![Reason::plain("Invalid", "no")];
        for (ended, expected) in [
            (ReconcileEnd::Applied, Some(ReportOutcome::Applied)),
            (ReconcileEnd::Removed, Some(ReportOutcome::Removed)),
            (refused("Invalid"), Some(ReportOutcome::Refused)),
            (waits("RollsLater"), Some(ReportOutcome::Waiting)),
            (failed(blamed()), Some(ReportOutcome::Failed)),
            (failed(Vec::new()), None),
            (ReconcileEnd::Suspended, None),
            (ReconcileEnd::Interrupted(Interruption::Superseded), None),
        ] {
            let told = with(&ended, |found| report(&ManagedClusterStatus::default(), found, None, None));
            assert_eq!(told.map(|told| told.outcome), expected, "{ended:?}");
        }
    }

    #[test]
    fn each_turn_of_a_rollout_emits_one_event() {
        use RolloutState::{Done, Rolling, Stuck, Unknown, Waiting};
        for (before, after, expected) in [
            (None, Some(Rolling), Some("RolloutBegun")),
            (Some(Rolling), Some(Rolling), None),
            (Some(Rolling), Some(Stuck), Some("RolloutStuck")),
            (Some(Stuck), Some(Rolling), Some("RolloutBegun")),
            (Some(Rolling), Some(Done), Some("RolloutDone")),
            (Some(Done), Some(Waiting), None),
            (Some(Done), Some(Unknown), None),
            (Some(Rolling), None, None),
        ] {
            let told = with(&ReconcileEnd::Applied, |found| notes(&status(before), &status(after), found));
            let told: Vec<&str> = told.iter().map(|note| note.reason).collect();
            assert_eq!(told, expected.into_iter().collect::<Vec<_>>(), "{before:?} to {after:?}");
        }
    }
}
