//! Tables of facts of one service, and what follows.

use capstan_live::applying::RefusalKind;
use capstan_live::services::{Cause, Problem, ServiceState, ServiceStatus};
use capstan_model::finding::Severity;
use capstan_model::object::ObjectId;
use capstan_plan::settings::ServiceRole;
use capstan_ports::LiveError;

use super::*;
use crate::next::{Basis as _, Next};
use crate::resources::ManagedClusterStatus;

fn problem(cause: Cause) -> Problem {
    Problem::plain(cause, "")
}

fn object(name: &str) -> ObjectId {
    ObjectId {
        group: "apps".to_owned(),
        kind: "DaemonSet".to_owned(),
        namespace: Some("kube-system".to_owned()),
        name: name.to_owned(),
    }
}

fn of(cause: Cause, name: &str) -> Problem {
    Problem::of(cause, &object(name), "")
}

/// What differs, and nothing is in the way of.
fn differs() -> Look {
    Look { differs: true, ..Look::default() }
}

/// A service of a folder that was looked at.
fn looked(look: Look) -> Facts {
    Facts { is_of_folder: true, was_there: true, look: Some(Ok(look)), ..Facts::default() }
}

/// One that is as rendered, and well.
fn well() -> Facts {
    Facts { pruned: Some(Vec::new()), objects: Some(Vec::new()), ..looked(Look::default()) }
}

fn rests(causes: &[Cause]) -> Next<Step, Vec<Problem>> {
    Next::Rest(causes.iter().copied().map(problem).collect())
}

fn hold(rows: impl IntoIterator<Item = (&'static str, Facts, Next<Step, Vec<Problem>>)>) {
    for (when, facts, expected) in rows {
        assert_eq!(facts.next(), expected, "{when}");
    }
}

#[test]
fn a_service_is_looked_at_where_its_cluster_answers_and_its_turn_has_come() {
    let unknown = Facts { is_of_folder: true, ..Facts::default() };
    let unreached = Some(problem(Cause::WorkloadUnreachable));
    let held = Some(problem(Cause::WaitsForService));
    hold([
        ("nothing is known", unknown.clone(), Next::Step(Step::Look)),
        (
            "its cluster does not answer",
            Facts { unreached: unreached.clone(), ..unknown.clone() },
            rests(&[Cause::WorkloadUnreachable]),
        ),
        (
            "its cluster does not answer, and it waits",
            Facts { unreached: unreached.clone(), held: held.clone(), ..unknown.clone() },
            rests(&[Cause::WorkloadUnreachable]),
        ),
        (
            "it waits, and was never there",
            Facts { held: held.clone(), ..unknown.clone() },
            rests(&[Cause::WaitsForService]),
        ),
        (
            "it waits, and is there",
            Facts { held: held.clone(), was_there: true, ..unknown.clone() },
            Next::Step(Step::Look),
        ),
        (
            "it cannot be rendered",
            Facts { look: Some(Err(problem(Cause::ServiceNotRendered))), ..unknown.clone() },
            rests(&[Cause::ServiceNotRendered]),
        ),
        (
            "one of base is looked at, whether or not its cluster answers",
            Facts { unreached, ..Facts::default() },
            Next::Step(Step::Look),
        ),
        (
            "one of base is looked at, whatever it waits for",
            Facts { held, ..Facts::default() },
            Next::Step(Step::Look),
        ),
    ]);
}

#[test]
fn what_is_wrong_with_a_folder_is_said_before_anything_is_applied() {
    let hindrances = vec![of(Cause::AdoptionNeeded, "cilium")];
    let network = Some(problem(Cause::CniSwitchRefused));
    let wrong = vec![of(Cause::TwoServices, "cilium")];
    hold([
        (
            "something is not remembered",
            looked(Look { is_unremembered: true, ..differs() }),
            Next::Step(Step::Remember),
        ),
        (
            "something is not remembered, and another service has it",
            looked(Look { is_unremembered: true, wrong: wrong.clone(), ..differs() }),
            Next::Rest(wrong.clone()),
        ),
        (
            "others applied it",
            looked(Look { hindrances: hindrances.clone(), ..differs() }),
            Next::Rest(hindrances.clone()),
        ),
        (
            "others applied it, and another service has it",
            looked(Look { wrong: wrong.clone(), hindrances: hindrances.clone(), ..differs() }),
            Next::Rest([wrong, hindrances.clone()].concat()),
        ),
        (
            "another network is there",
            looked(Look { network: network.clone(), ..differs() }),
            rests(&[Cause::CniSwitchRefused]),
        ),
        (
            "another network is there, and others applied it",
            looked(Look { network, hindrances: hindrances.clone(), ..differs() }),
            Next::Rest(hindrances),
        ),
    ]);
}

#[test]
fn what_differs_is_applied_once_its_turn_has_come_and_then_pruned_and_judged() {
    let held = Some(problem(Cause::WaitsForService));
    let unchanged = Some(problem(Cause::WaitsForRollout));
    let failed = vec![of(Cause::Refused(RefusalKind::Invalid), "cilium")];
    let absent = of(Cause::ObjectMissing, "cilium");
    let other = of(Cause::ObjectNotReady, "hubble");
    let applied = || Facts { applied: Some(Vec::new()), ..looked(differs()) };
    let refused = || Facts { applied: Some(failed.clone()), ..looked(differs()) };
    hold([
        ("something differs", looked(differs()), Next::Step(Step::Apply)),
        (
            "it waits for another",
            Facts { held: held.clone(), ..looked(differs()) },
            rests(&[Cause::WaitsForService]),
        ),
        (
            "machines roll",
            Facts { unchanged: unchanged.clone(), ..looked(differs()) },
            rests(&[Cause::WaitsForRollout]),
        ),
        (
            "it waits for another, and machines roll",
            Facts { held: held.clone(), unchanged: unchanged.clone(), ..looked(differs()) },
            rests(&[Cause::WaitsForService]),
        ),
        ("nothing differs", looked(Look::default()), Next::Step(Step::Prune)),
        (
            "nothing differs, and machines roll",
            Facts { held, unchanged, ..looked(Look::default()) },
            Next::Step(Step::Prune),
        ),
        ("it was applied", applied(), Next::Step(Step::Prune)),
        ("something was refused: nothing is taken away", refused(), Next::Step(Step::JudgeObjects)),
        ("it was pruned", Facts { pruned: Some(Vec::new()), ..applied() }, Next::Step(Step::JudgeObjects)),
        (
            "what was refused is not told a second time for not being there",
            Facts { objects: Some(vec![absent.clone(), other.clone()]), ..refused() },
            Next::Rest([failed.clone(), vec![other.clone()]].concat()),
        ),
        (
            "what goes is told, and what is not well",
            Facts {
                pruned: Some(vec![of(Cause::ServiceGoes, "old")]),
                objects: Some(vec![other.clone()]),
                ..applied()
            },
            Next::Rest(vec![of(Cause::ServiceGoes, "old"), other]),
        ),
        (
            "its cluster stopped to answer while it was applied: nobody asks it again",
            Facts {
                applied: Some(vec![problem(Cause::WorkloadUnreachable)]),
                unreached: Some(problem(Cause::WorkloadUnreachable)),
                ..looked(differs())
            },
            rests(&[Cause::WorkloadUnreachable]),
        ),
        (
            "its cluster stopped to answer while it was pruned",
            Facts {
                pruned: Some(vec![problem(Cause::WorkloadUnreachable)]),
                unreached: Some(problem(Cause::WorkloadUnreachable)),
                ..applied()
            },
            rests(&[Cause::WorkloadUnreachable]),
        ),
        ("all is well", well(), rests(&[])),
        ("it was applied, and all is well", Facts { applied: Some(Vec::new()), ..well() }, rests(&[])),
    ]);
}

#[test]
fn a_service_of_base_is_judged_by_what_base_brought() {
    let held = Some(problem(Cause::WaitsForService));
    let seen = |look: Look| Facts { look: Some(Ok(look)), ..Facts::default() };
    let base = || Facts { objects: Some(Vec::new()), ..seen(Look::default()) };
    let network = Some(problem(Cause::CniSwitchRefused));
    let wrong = vec![problem(Cause::ServiceNotRendered)];
    let missing = || vec![of(Cause::ObjectMissing, "cilium")];
    hold([
        ("it is there", seen(Look::default()), Next::Step(Step::JudgeObjects)),
        ("it is there and well", base(), rests(&[])),
        (
            "it is not there, since it waits",
            Facts { held: held.clone(), ..seen(Look { is_absent: true, ..Look::default() }) },
            rests(&[Cause::WaitsForService]),
        ),
        (
            "it is not there, and waits for nothing",
            Facts { objects: Some(missing()), ..seen(Look { is_absent: true, ..Look::default() }) },
            Next::Rest(missing()),
        ),
        (
            "another network is there",
            seen(Look { network: network.clone(), ..Look::default() }),
            rests(&[Cause::CniSwitchRefused]),
        ),
        (
            "base does not bring it, whatever network is there",
            Facts {
                objects: Some(Vec::new()),
                ..seen(Look { network, wrong: wrong.clone(), ..Look::default() })
            },
            rests(&[Cause::ServiceNotRendered]),
        ),
        (
            "base brings a part, and that is not well",
            Facts { objects: Some(missing()), ..seen(Look { wrong: wrong.clone(), ..Look::default() }) },
            Next::Rest([wrong, missing()].concat()),
        ),
        (
            "it is there, waits, and was never ready",
            Facts { held: held.clone(), ..base() },
            rests(&[Cause::WaitsForService]),
        ),
        ("it is there, waits, and was ready", Facts { held, was_ready: true, ..base() }, rests(&[])),
        (
            "it is of the management cluster: that its own does not answer is no matter",
            Facts { unreached: Some(problem(Cause::WorkloadUnreachable)), ..seen(Look::default()) },
            Next::Step(Step::JudgeObjects),
        ),
    ]);
}

#[test]
fn what_a_service_promises_and_its_checks_are_looked_at_once_its_objects_are_well() {
    let unreached = Some(problem(Cause::WorkloadUnreachable));
    let promises = || Facts { promises: true, ..well() };
    let checked = || Facts { has_checks: true, ..well() };
    let unmet = Some(vec![problem(Cause::RoleNotMet)]);
    let sick = Some(vec![of(Cause::ObjectNotReady, "cilium")]);
    hold([
        ("its role promises something", promises(), Next::Step(Step::JudgeRole)),
        ("it was ready before", Facts { was_ready: true, ..promises() }, rests(&[])),
        ("what it promises is so", Facts { role: Some(Vec::new()), ..promises() }, rests(&[])),
        (
            "what it promises is not so",
            Facts { role: unmet.clone(), ..promises() },
            rests(&[Cause::RoleNotMet]),
        ),
        (
            "its objects are not well",
            Facts { objects: sick, ..promises() },
            Next::Rest(vec![of(Cause::ObjectNotReady, "cilium")]),
        ),
        ("it has checks", checked(), Next::Step(Step::JudgeChecks)),
        ("its checks are true", Facts { checks: Some(Vec::new()), ..checked() }, rests(&[])),
        (
            "a check is false",
            Facts { checks: Some(vec![problem(Cause::CheckFalse)]), ..checked() },
            rests(&[Cause::CheckFalse]),
        ),
        (
            "a check needs the cluster",
            Facts { unreached: unreached.clone(), ..checked() },
            rests(&[Cause::WorkloadUnreachable]),
        ),
        ("without checks nobody needs it", Facts { unreached, ..well() }, rests(&[])),
        (
            "what is promised comes before checks",
            Facts { role: unmet, has_checks: true, ..promises() },
            rests(&[Cause::RoleNotMet]),
        ),
        (
            "what is promised is so, and then its checks",
            Facts { role: Some(Vec::new()), has_checks: true, ..promises() },
            Next::Step(Step::JudgeChecks),
        ),
    ]);
}

#[test]
fn an_answer_of_a_workload_cluster_is_a_problem_of_its_services_or_nobodys() {
    let unreachable =
        |reason: &str| LiveError::Unreachable { doing: String::new(), reason: reason.to_owned() };
    let (doing, what) = (String::new(), "more than is read".to_owned());
    for (error, expected, is_clusters) in [
        (unreachable("timed out"), Some(Cause::WorkloadUnreachable), true),
        (unreachable("invalid peer certificate: UnknownIssuer"), Some(Cause::WorkloadCertificate), true),
        (LiveError::NotLeading { doing: String::new() }, None, false),
        (
            LiveError::Malformed { doing: String::new(), reason: "no name".to_owned() },
            Some(Cause::ServiceNotRendered),
            false,
        ),
        (LiveError::TooMuch { doing, what }, Some(Cause::TooManyObjects), false),
    ] {
        let found = problem_of(&error, Some(&object("cilium")));
        assert_eq!(found.as_ref().map(|problem| problem.cause), expected, "{error}");
        assert_eq!(found.as_ref().is_some_and(is_of_cluster), is_clusters, "{error}");
        // What is the cluster's is no object's.
        let has_object = found.is_some_and(|problem| problem.object.is_some());
        assert_eq!(has_object, expected.is_some() && !is_clusters, "{error}");
    }
}

fn status(services: &[(&str, ServiceState, &str)]) -> ManagedClusterStatus {
    let one = |(name, state, reason): &(&str, ServiceState, &str)| ServiceStatus {
        state: *state,
        reason: Some((*reason).to_owned()).filter(|reason| !reason.is_empty()),
        message: Some("why".to_owned()),
        ..ServiceStatus::new(name, ServiceRole::Other)
    };
    ManagedClusterStatus { services: services.iter().map(one).collect(), ..ManagedClusterStatus::default() }
}

#[test]
fn people_are_told_of_each_change_of_a_service_once_and_failures_are_counted() {
    use ServiceState::{Failed, Progressing, Ready, Removing, Stuck, Unknown, Waiting};
    type Said = (&'static str, ServiceState, &'static str);
    type Counted = Option<(&'static str, &'static str)>;
    type Row = (&'static [Said], &'static [Said], &'static [&'static str], Counted);
    let rows: [Row; 12] = [
        (&[], &[("cni", Ready, "")], &["ServiceReady"], None),
        (&[("cni", Ready, "")], &[("cni", Ready, "")], &[], None),
        (&[("cni", Progressing, "ObjectNotReady")], &[("cni", Ready, "")], &["ServiceReady"], None),
        (&[("cni", Ready, "")], &[("cni", Progressing, "ObjectNotReady")], &[], None),
        (&[], &[("cni", Waiting, "WaitsForService")], &[], None),
        (
            &[("cni", Progressing, "ObjectNotReady")],
            &[("cni", Stuck, "ObjectNotReady")],
            &["ServiceNotReady"],
            Some(("cni", "ObjectNotReady")),
        ),
        (&[("cni", Stuck, "ObjectNotReady")], &[("cni", Stuck, "ObjectNotReady")], &[], None),
        (
            &[("cni", Failed, "ObjectFailed")],
            &[("cni", Failed, "TwoServices")],
            &[],
            Some(("cni", "TwoServices")),
        ),
        (
            &[("cni", Ready, "")],
            &[("cni", Unknown, "WorkloadUnreachable")],
            &["ServiceNotReady"],
            Some(("cni", "WorkloadUnreachable")),
        ),
        (&[("cni", Ready, "")], &[("cni", Removing, "ServiceGoes")], &[], None),
        (&[("cni", Removing, "ServiceGoes")], &[], &["ServiceRemoved"], None),
        (&[("old", Ready, "")], &[("new", Ready, "")], &["ServiceReady", "ServiceRemoved"], None),
    ];
    for (before, after, told, counted) in rows {
        let (before, after) = (status(before), status(after));
        let reasons: Vec<&str> = notes(&before, &after).iter().map(|note| note.reason).collect();
        assert_eq!(reasons, told, "{:?} to {:?}", before.services, after.services);
        let failed = failures(&before, &after);
        let failed: Vec<(&str, &str)> =
            failed.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect();
        assert_eq!(failed.first().copied(), counted, "{:?} to {:?}", before.services, after.services);
    }
}

#[test]
fn what_all_services_wait_for_is_told_once_with_their_names() {
    let mut found = ServicesFound::default();
    let nowhere = |_: &Problem| None;
    let shared = || vec![problem(Cause::WorkloadUnreachable)];
    found.tell_problems(("cni", ServiceState::Unknown), shared(), nowhere);
    found.tell_problems(("ccm", ServiceState::Unknown), shared(), nowhere);
    found.tell_problems(("metrics", ServiceState::Stuck), vec![problem(Cause::CheckFalse)], nowhere);
    let told = |found: &ServicesFound| -> Vec<(Severity, String)> {
        found.reasons().into_iter().map(|reason| (reason.severity, reason.message)).collect()
    };
    assert_eq!(
        told(&found),
        [
            (Severity::Error, "service metrics: ".to_owned()),
            (Severity::Warning, "services cni, ccm: ".to_owned()),
        ]
    );
    found.again();
    assert!(told(&found).is_empty());
}
