//! Tables of facts of one service, and what follows.

use capstan_live::applying::RefusalKind;
use capstan_live::services::{Problem, ServiceCause, ServiceState, ServiceStatus};
use capstan_model::finding::Severity;
use capstan_model::object::ObjectId;
use capstan_plan::settings::ServiceRole;
use capstan_ports::LiveError;

use super::*;
use crate::next::{Basis as _, Next};
use crate::resources::ManagedClusterStatus;

fn problem(cause: ServiceCause) -> Problem {
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

fn of(cause: ServiceCause, name: &str) -> Problem {
    Problem::of(cause, &object(name), "")
}

/// What differs, and nothing is in the way of.
fn differs() -> ServiceLook {
    ServiceLook { differs: true, ..ServiceLook::default() }
}

/// A service of a folder whose objects were read.
fn looked(look: ServiceLook) -> ServiceStepFacts {
    ServiceStepFacts {
        is_of_folder: true,
        was_there: true,
        look: Some(Ok(look)),
        ..ServiceStepFacts::default()
    }
}

/// One that is as rendered, and well.
fn well() -> ServiceStepFacts {
    ServiceStepFacts { pruned: Some(Vec::new()), objects: Some(Vec::new()), ..looked(ServiceLook::default()) }
}

fn rests(causes: &[ServiceCause]) -> Next<ServiceStep, Vec<Problem>> {
    Next::Rest(causes.iter().copied().map(problem).collect())
}

fn hold(rows: impl IntoIterator<Item = (&'static str, ServiceStepFacts, Next<ServiceStep, Vec<Problem>>)>) {
    for (when, facts, expected) in rows {
        assert_eq!(facts.next(), expected, "{when}");
    }
}

#[test]
fn a_service_is_checked_once_its_cluster_answers_and_its_turn_has_come() {
    let unknown = ServiceStepFacts { is_of_folder: true, ..ServiceStepFacts::default() };
    let unreached = Some(problem(ServiceCause::WorkloadUnreachable));
    let held = Some(problem(ServiceCause::WaitsForService));
    hold([
        ("nothing is known", unknown.clone(), Next::Step(ServiceStep::Look)),
        (
            "its cluster does not answer",
            ServiceStepFacts { unreached: unreached.clone(), ..unknown.clone() },
            rests(&[ServiceCause::WorkloadUnreachable]),
        ),
        (
            "its cluster does not answer, and it waits",
            ServiceStepFacts { unreached: unreached.clone(), held: held.clone(), ..unknown.clone() },
            rests(&[ServiceCause::WorkloadUnreachable]),
        ),
        (
            "it waits, and was never there",
            ServiceStepFacts { held: held.clone(), ..unknown.clone() },
            rests(&[ServiceCause::WaitsForService]),
        ),
        (
            "it waits, and is there",
            ServiceStepFacts { held: held.clone(), was_there: true, ..unknown.clone() },
            Next::Step(ServiceStep::Look),
        ),
        (
            "it cannot be rendered",
            ServiceStepFacts {
                look: Some(Err(problem(ServiceCause::ServiceNotRendered))),
                ..unknown.clone()
            },
            rests(&[ServiceCause::ServiceNotRendered]),
        ),
        (
            "one of base is looked at, whether or not its cluster answers",
            ServiceStepFacts { unreached, ..ServiceStepFacts::default() },
            Next::Step(ServiceStep::Look),
        ),
        (
            "one of base is looked at, whatever it waits for",
            ServiceStepFacts { held, ..ServiceStepFacts::default() },
            Next::Step(ServiceStep::Look),
        ),
    ]);
}

#[test]
fn what_is_wrong_with_a_folder_is_said_before_anything_is_applied() {
    let hindrances = vec![of(ServiceCause::AdoptionNeeded, "cilium")];
    let network = Some(problem(ServiceCause::CniSwitchRefused));
    let wrong = vec![of(ServiceCause::TwoServices, "cilium")];
    hold([
        (
            "something is not remembered",
            looked(ServiceLook { is_unremembered: true, ..differs() }),
            Next::Step(ServiceStep::Remember),
        ),
        (
            "something is not remembered, and another service has it",
            looked(ServiceLook { is_unremembered: true, wrong: wrong.clone(), ..differs() }),
            Next::Rest(wrong.clone()),
        ),
        (
            "others applied it",
            looked(ServiceLook { hindrances: hindrances.clone(), ..differs() }),
            Next::Rest(hindrances.clone()),
        ),
        (
            "others applied it, and another service has it",
            looked(ServiceLook { wrong: wrong.clone(), hindrances: hindrances.clone(), ..differs() }),
            Next::Rest([wrong, hindrances.clone()].concat()),
        ),
        (
            "another network is there",
            looked(ServiceLook { network: network.clone(), ..differs() }),
            rests(&[ServiceCause::CniSwitchRefused]),
        ),
        (
            "another network is there, and others applied it",
            looked(ServiceLook { network, hindrances: hindrances.clone(), ..differs() }),
            Next::Rest(hindrances),
        ),
    ]);
}

#[test]
fn what_differs_is_applied_once_its_turn_has_come_and_then_pruned_and_judged() {
    let held = Some(problem(ServiceCause::WaitsForService));
    let unchanged = Some(problem(ServiceCause::WaitsForRollout));
    let failed = vec![of(ServiceCause::Refused(RefusalKind::Invalid), "cilium")];
    let absent = of(ServiceCause::ObjectMissing, "cilium");
    let other = of(ServiceCause::ObjectNotReady, "hubble");
    let applied = || ServiceStepFacts { applied: Some(Vec::new()), ..looked(differs()) };
    let refused = || ServiceStepFacts { applied: Some(failed.clone()), ..looked(differs()) };
    hold([
        ("something differs", looked(differs()), Next::Step(ServiceStep::Apply)),
        (
            "it waits for another",
            ServiceStepFacts { held: held.clone(), ..looked(differs()) },
            rests(&[ServiceCause::WaitsForService]),
        ),
        (
            "machines roll",
            ServiceStepFacts { unchanged: unchanged.clone(), ..looked(differs()) },
            rests(&[ServiceCause::WaitsForRollout]),
        ),
        (
            "it waits for another, and machines roll",
            ServiceStepFacts { held: held.clone(), unchanged: unchanged.clone(), ..looked(differs()) },
            rests(&[ServiceCause::WaitsForService]),
        ),
        ("nothing differs", looked(ServiceLook::default()), Next::Step(ServiceStep::Prune)),
        (
            "nothing differs, and machines roll",
            ServiceStepFacts { held, unchanged, ..looked(ServiceLook::default()) },
            Next::Step(ServiceStep::Prune),
        ),
        ("it was applied", applied(), Next::Step(ServiceStep::Prune)),
        ("something was refused: nothing is taken away", refused(), Next::Step(ServiceStep::JudgeObjects)),
        (
            "it was pruned",
            ServiceStepFacts { pruned: Some(Vec::new()), ..applied() },
            Next::Step(ServiceStep::JudgeObjects),
        ),
        (
            "what was refused is not told a second time for not being there",
            ServiceStepFacts { objects: Some(vec![absent.clone(), other.clone()]), ..refused() },
            Next::Rest([failed.clone(), vec![other.clone()]].concat()),
        ),
        (
            "what goes is told, and what is not well",
            ServiceStepFacts {
                pruned: Some(vec![of(ServiceCause::ServiceGoes, "old")]),
                objects: Some(vec![other.clone()]),
                ..applied()
            },
            Next::Rest(vec![of(ServiceCause::ServiceGoes, "old"), other]),
        ),
        (
            "its cluster stopped to answer while it was applied: nobody asks it again",
            ServiceStepFacts {
                applied: Some(vec![problem(ServiceCause::WorkloadUnreachable)]),
                unreached: Some(problem(ServiceCause::WorkloadUnreachable)),
                ..looked(differs())
            },
            rests(&[ServiceCause::WorkloadUnreachable]),
        ),
        (
            "its cluster stopped to answer while it was pruned",
            ServiceStepFacts {
                pruned: Some(vec![problem(ServiceCause::WorkloadUnreachable)]),
                unreached: Some(problem(ServiceCause::WorkloadUnreachable)),
                ..applied()
            },
            rests(&[ServiceCause::WorkloadUnreachable]),
        ),
        ("all is well", well(), rests(&[])),
        (
            "it was applied, and all is well",
            ServiceStepFacts { applied: Some(Vec::new()), ..well() },
            rests(&[]),
        ),
    ]);
}

#[test]
fn a_service_of_base_is_judged_by_what_base_brought() {
    let held = Some(problem(ServiceCause::WaitsForService));
    let seen = |look: ServiceLook| ServiceStepFacts { look: Some(Ok(look)), ..ServiceStepFacts::default() };
    let base = || ServiceStepFacts { objects: Some(Vec::new()), ..seen(ServiceLook::default()) };
    let network = Some(problem(ServiceCause::CniSwitchRefused));
    let wrong = vec![problem(ServiceCause::ServiceNotRendered)];
    let missing = || vec![of(ServiceCause::ObjectMissing, "cilium")];
    hold([
        ("it is there", seen(ServiceLook::default()), Next::Step(ServiceStep::JudgeObjects)),
        ("it is there and well", base(), rests(&[])),
        (
            "it is not there, since it waits",
            ServiceStepFacts {
                held: held.clone(),
                ..seen(ServiceLook { is_absent: true, ..ServiceLook::default() })
            },
            rests(&[ServiceCause::WaitsForService]),
        ),
        (
            "it is not there, and waits for nothing",
            ServiceStepFacts {
                objects: Some(missing()),
                ..seen(ServiceLook { is_absent: true, ..ServiceLook::default() })
            },
            Next::Rest(missing()),
        ),
        (
            "another network is there",
            seen(ServiceLook { network: network.clone(), ..ServiceLook::default() }),
            rests(&[ServiceCause::CniSwitchRefused]),
        ),
        (
            "base does not bring it, whatever network is there",
            ServiceStepFacts {
                objects: Some(Vec::new()),
                ..seen(ServiceLook { network, wrong: wrong.clone(), ..ServiceLook::default() })
            },
            rests(&[ServiceCause::ServiceNotRendered]),
        ),
        (
            "base brings a part, and that is not well",
            ServiceStepFacts {
                objects: Some(missing()),
                ..seen(ServiceLook { wrong: wrong.clone(), ..ServiceLook::default() })
            },
            Next::Rest([wrong, missing()].concat()),
        ),
        (
            "it is there, waits, and was never ready",
            ServiceStepFacts { held: held.clone(), ..base() },
            rests(&[ServiceCause::WaitsForService]),
        ),
        (
            "it is there, waits, and was ready",
            ServiceStepFacts { held, was_ready: true, ..base() },
            rests(&[]),
        ),
        (
            "it is of the management cluster: that its own does not answer is no matter",
            ServiceStepFacts {
                unreached: Some(problem(ServiceCause::WorkloadUnreachable)),
                ..seen(ServiceLook::default())
            },
            Next::Step(ServiceStep::JudgeObjects),
        ),
    ]);
}

#[test]
fn promises_and_checks_of_a_service_are_checked_once_its_objects_are_well() {
    let unreached = Some(problem(ServiceCause::WorkloadUnreachable));
    let promises = || ServiceStepFacts { promises: true, ..well() };
    let checked = || ServiceStepFacts { has_checks: true, ..well() };
    let unmet = Some(vec![problem(ServiceCause::RoleNotMet)]);
    let sick = Some(vec![of(ServiceCause::ObjectNotReady, "cilium")]);
    hold([
        ("its role promises something", promises(), Next::Step(ServiceStep::JudgeRole)),
        ("it was ready before", ServiceStepFacts { was_ready: true, ..promises() }, rests(&[])),
        ("what it promises is so", ServiceStepFacts { role: Some(Vec::new()), ..promises() }, rests(&[])),
        (
            "what it promises is not so",
            ServiceStepFacts { role: unmet.clone(), ..promises() },
            rests(&[ServiceCause::RoleNotMet]),
        ),
        (
            "its objects are not well",
            ServiceStepFacts { objects: sick, ..promises() },
            Next::Rest(vec![of(ServiceCause::ObjectNotReady, "cilium")]),
        ),
        ("it has checks", checked(), Next::Step(ServiceStep::JudgeChecks)),
        ("its checks are true", ServiceStepFacts { checks: Some(Vec::new()), ..checked() }, rests(&[])),
        (
            "a check is false",
            ServiceStepFacts { checks: Some(vec![problem(ServiceCause::CheckFalse)]), ..checked() },
            rests(&[ServiceCause::CheckFalse]),
        ),
        (
            "a check needs the cluster",
            ServiceStepFacts { unreached: unreached.clone(), ..checked() },
            rests(&[ServiceCause::WorkloadUnreachable]),
        ),
        ("without checks nobody needs it", ServiceStepFacts { unreached, ..well() }, rests(&[])),
        (
            "what is promised comes before checks",
            ServiceStepFacts { role: unmet, has_checks: true, ..promises() },
            rests(&[ServiceCause::RoleNotMet]),
        ),
        (
            "what is promised is so, and then its checks",
            ServiceStepFacts { role: Some(Vec::new()), has_checks: true, ..promises() },
            Next::Step(ServiceStep::JudgeChecks),
        ),
    ]);
}

#[test]
fn errors_of_a_workload_cluster_become_problems_of_it_or_of_an_object() {
    let unreachable =
        |reason: &str| LiveError::Unreachable { doing: String::new(), reason: reason.to_owned() };
    let (doing, what) = (String::new(), "more than is read".to_owned());
    for (error, expected, is_clusters) in [
        (unreachable("timed out"), Some(ServiceCause::WorkloadUnreachable), true),
        (
            unreachable("invalid peer certificate: UnknownIssuer"),
            Some(ServiceCause::WorkloadCertificate),
            true,
        ),
        (LiveError::NotLeading { doing: String::new() }, None, false),
        (
            LiveError::Malformed { doing: String::new(), reason: "no name".to_owned() },
            Some(ServiceCause::ServiceNotRendered),
            false,
        ),
        (LiveError::TooMuch { doing, what }, Some(ServiceCause::TooManyObjects), false),
    ] {
        let found = problem_of(&error, Some(&object("cilium")));
        assert_eq!(found.as_ref().map(|problem| problem.cause), expected, "{error}");
        assert_eq!(found.as_ref().is_some_and(is_of_cluster), is_clusters, "{error}");
        // A problem of the cluster names no object.
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
fn each_change_of_a_service_emits_one_event_and_failures_are_counted() {
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
fn a_problem_that_services_share_is_reported_once_with_their_names() {
    let mut found = ServicesFound::default();
    let nowhere = |_: &Problem| None;
    let shared = || vec![problem(ServiceCause::WorkloadUnreachable)];
    found.tell_problems(("cni", ServiceState::Unknown), shared(), nowhere);
    found.tell_problems(("ccm", ServiceState::Unknown), shared(), nowhere);
    found.tell_problems(("metrics", ServiceState::Stuck), vec![problem(ServiceCause::CheckFalse)], nowhere);
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
