use capstan_model::object::ObjectId;

use super::*;
use crate::installing::workload;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

const EARLIER: &str = "2026-11-23T00:00:00Z";
const NOW: &str = "2026-11-23T01:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn deployment(name: &str, health: WorkloadHealth) -> ProviderWorkload {
    let id = ObjectId {
        group: "apps".into(),
        kind: "Deployment".into(),
        namespace: Some("capi-system".into()),
        name: name.into(),
    };
    ProviderWorkload { id, health }
}

fn available() -> WorkloadHealth {
    WorkloadHealth::Available {
        reason: "MinimumReplicasAvailable".into(),
        message: "Deployment has minimum availability.".into(),
    }
}

fn installed(version: &str) -> Option<Installed> {
    Some(Installed { version: version.into(), contract: "v1beta2".into() })
}

fn standing(course: ProviderCourse) -> ProviderCondition {
    ProviderCondition {
        generation: 2,
        version: Some("v1.13.4".into()),
        installed: installed("v1.13.4"),
        course,
        workloads: vec![deployment("capi-controller-manager", available())],
    }
}

/// A condition as it is written.
fn one(kind: &str, status: &str, since: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": status, "observedGeneration": 2, "lastTransitionTime": since,
        "reason": reason, "message": message,
    })
}

fn found<'v>(status: &'v Value, kind: &str) -> &'v Value {
    let conditions = status["conditions"].as_array().unwrap();
    conditions.iter().find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

/// What the operator writes after an install: its conditions, and no others.
#[test]
fn an_installed_provider_says_what_the_operator_says() {
    let said = status(&standing(ProviderCourse::Installed), &json!({}), now());
    let expected = json!({
        "conditions": [
            one("PreflightCheckPassed", "True", NOW, "PreflightChecksPassed", "All preflight checks passed"),
            one("ProviderInstalled", "True", NOW, "ProviderInstalled", "Provider installed successfully"),
            one("Ready", "True", NOW, "MinimumReplicasAvailable", "Deployment has minimum availability."),
        ],
        "observedGeneration": 2,
        "installedVersion": "v1.13.4",
        "contract": "v1beta2",
    });
    assert_eq!(said, expected);
    assert_eq!(status(&standing(ProviderCourse::Installed), &said, at(0)), said, "nothing new is no write");
}

#[test]
fn an_upgrade_reports_that_it_is_one_and_its_progress() {
    let before = json!({
        "conditions": [one("ProviderInstalled", "True", EARLIER, "ProviderInstalled", "Provider installed successfully")],
        "installedVersion": "v1.12.8", "contract": "v1beta2", "observedGeneration": 1,
    });
    let underway = ProviderCondition {
        installed: installed("v1.12.8"),
        ..standing(ProviderCourse::Underway("2 of 4: its old manager ends".into()))
    };
    let said = status(&underway, &before, now());
    assert_eq!(
        found(&said, "ProviderUpgraded"),
        &one("ProviderUpgraded", "False", NOW, "Upgrading", "2 of 4: its old manager ends")
    );
    assert_eq!(found(&said, "ProviderInstalled")["status"], "True", "the version before is installed still");
    assert_eq!(
        found(&said, "Ready"),
        &one("Ready", "False", NOW, "VersionNotInstalled", "v1.12.8 is installed, v1.13.4 is requested")
    );
    assert_eq!((&said["installedVersion"], &said["observedGeneration"]), (&json!("v1.12.8"), &json!(2)));

    let failed = ProviderCondition {
        course: ProviderCourse::Failed {
            failure: InstallFailure::Apply,
            message: "Service x: refused".into(),
        },
        ..underway
    };
    let stuck = status(&failed, &said, at(0));
    assert_eq!(
        found(&stuck, "ProviderUpgraded"),
        &one("ProviderUpgraded", "False", NOW, "ComponentsUpgradeError", "Service x: refused")
    );

    let done = status(&standing(ProviderCourse::Installed), &stuck, now());
    assert_eq!(
        found(&done, "ProviderUpgraded"),
        &one("ProviderUpgraded", "True", NOW, "ProviderUpgraded", "Provider upgraded successfully")
    );
    assert_eq!(found(&done, "ProviderInstalled")["lastTransitionTime"], EARLIER);
    assert_eq!(done["installedVersion"], "v1.13.4");
}

#[test]
fn a_check_that_fails_says_so_and_leaves_the_rest() {
    let before = json!({
        "conditions": [
            one("Ready", "True", EARLIER, "MinimumReplicasAvailable", "Deployment has minimum availability."),
            {"type": "Own", "status": "True"},
        ],
        "installedVersion": "v1.13.4", "contract": "v1beta2", "own": 1,
    });
    let check = FailedCheck::WaitingForSet("CoreProvider capi-system/cluster-api is refused".into());
    let said = status(&standing(ProviderCourse::Halted(check)), &before, now());
    assert_eq!(
        said["conditions"],
        json!([
            one("Ready", "True", EARLIER, "MinimumReplicasAvailable", "Deployment has minimum availability."),
            {"type": "Own", "status": "True"},
            one(
                "PreflightCheckPassed", "False", NOW, "WaitingForSet",
                "CoreProvider capi-system/cluster-api is refused"
            ),
        ])
    );
    assert_eq!(said["own"], 1);
}

#[test]
fn each_failure_has_the_condition_and_reason_of_the_operator() {
    use InstallFailure::*;
    for (failure, condition, reason) in [
        (UnknownProvider, "ProviderInstalled", "UnknownProvider"),
        (ComponentsFetch, "ProviderInstalled", "ComponentsFetchError"),
        (CapiVersion, "ProviderInstalled", "CAPIVersionIncompatibility"),
        (ComponentsCustomization, "ProviderInstalled", "ComponentsCustomizationError"),
        (ComponentsPatch, "ProviderInstalled", "ComponentsPatchError"),
        (ComponentsImageOverride, "ProviderInstalled", "ComponentsImageOverrideError"),
        (Apply, "ProviderInstalled", "InstallFailed"),
        (Timeout, "ProviderInstalled", "TimedOutWaitingForDeployment"),
        (OldComponentsDeletion, "ProviderInstalled", "OldComponentsDeletionError"),
    ] {
        let course = ProviderCourse::Failed { failure, message: "why".into() };
        let new = ProviderCondition { installed: None, workloads: vec![], ..standing(course) };
        let said = status(&new, &Value::Null, now());
        assert_eq!(found(&said, condition), &one(condition, "False", NOW, reason, "why"));
        assert_eq!(found(&said, "PreflightCheckPassed")["status"], "True");
        assert_eq!(
            found(&said, "Ready"),
            &one("Ready", "False", NOW, "ProviderNotInstalled", "No version is completely installed")
        );
        assert_eq!((said.get("installedVersion"), said.get("contract")), (None, None));
    }
}

/// The operator tells of the Deployment that changed last, of no other kind, and of no version.
#[test]
fn ready_is_of_every_workload() {
    let missing = |name| deployment(name, WorkloadHealth::Absent);
    let unavailable = |name, reason: &str| {
        let message = "Deployment does not have minimum availability.".to_owned();
        deployment(name, WorkloadHealth::Unavailable { reason: reason.into(), message })
    };
    for (workloads, reason, message) in [
        (
            vec![deployment("a", available()), unavailable("b", "MinimumReplicasUnavailable")],
            "MinimumReplicasUnavailable",
            "Deployment capi-system/b: Deployment does not have minimum availability.",
        ),
        (
            vec![unavailable("b", "MinimumReplicasUnavailable")],
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        ),
        // A reason that the API would refuse.
        (
            vec![unavailable("b", "not a reason")],
            "DeploymentUnavailable",
            "Deployment does not have minimum availability.",
        ),
        (
            vec![deployment("a", WorkloadHealth::Unknown)],
            "NoDeploymentAvailableConditionReason",
            "No minimum availability condition found on the provider deployment",
        ),
        (
            vec![deployment("a", available()), missing("b")],
            "WorkloadAbsent",
            "Deployment capi-system/b is not there",
        ),
        (
            vec![deployment("a", WorkloadHealth::Unobserved)],
            "GenerationNotObserved",
            "Deployment capi-system/a was changed, but its controller has not observed it",
        ),
        (
            vec![deployment("a", WorkloadHealth::RollingOut { ready: 1, wanted: 2 })],
            "RollingOut",
            "Deployment capi-system/a: 1 of 2 pods are up to date and available",
        ),
    ] {
        let standing = ProviderCondition { workloads, ..standing(ProviderCourse::Installed) };
        let said = status(&standing, &Value::Null, now());
        assert_eq!(found(&said, "Ready"), &one("Ready", "False", NOW, reason, message));
    }
    let nothing = ProviderCondition { workloads: vec![], ..standing(ProviderCourse::Installed) };
    let said = status(&nothing, &Value::Null, now());
    assert_eq!(found(&said, "Ready"), &one("Ready", "True", NOW, "NoWorkloads", "It runs nothing"));
}

#[test]
fn a_workload_is_available_when_all_its_pods_are_of_its_generation() {
    let id = |kind: &str| ObjectId {
        group: "apps".into(),
        kind: kind.into(),
        namespace: Some("capi-system".into()),
        name: "a".into(),
    };
    let yes = json!([{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "m"}]);
    let named = WorkloadHealth::Available { reason: "MinimumReplicasAvailable".into(), message: "m".into() };
    let plain = WorkloadHealth::Available { reason: String::new(), message: String::new() };
    let rolling = |ready, wanted| WorkloadHealth::RollingOut { ready, wanted };
    for (kind, live, expected) in [
        (
            "Deployment",
            json!({"metadata": {"generation": 3}, "spec": {"replicas": 1}, "status": {
                "observedGeneration": 3, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "conditions": yes}}),
            named.clone(),
        ),
        // Seen of the operator: True while the controller has not looked.
        (
            "Deployment",
            json!({"metadata": {"generation": 4}, "spec": {"replicas": 1}, "status": {
                "observedGeneration": 3, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "conditions": yes}}),
            WorkloadHealth::Unobserved,
        ),
        // The old pod keeps it available while the new one does not start.
        (
            "Deployment",
            json!({"metadata": {"generation": 3}, "spec": {"replicas": 1}, "status": {
                "observedGeneration": 3, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 1, "conditions": yes}}),
            rolling(1, 1),
        ),
        (
            "Deployment",
            json!({"metadata": {"generation": 3}, "status": {"observedGeneration": 3, "conditions": yes}}),
            rolling(0, 1),
        ),
        // At 0, as asked for.
        (
            "Deployment",
            json!({"metadata": {"generation": 3}, "spec": {"replicas": 0}, "status": {
                "observedGeneration": 3, "conditions": yes}}),
            named,
        ),
        ("Deployment", json!({"metadata": {"generation": 1}}), WorkloadHealth::Unobserved),
        (
            "Deployment",
            json!({"metadata": {"generation": 1}, "status": {"observedGeneration": 1}}),
            WorkloadHealth::Unknown,
        ),
        (
            "DaemonSet",
            json!({"metadata": {"generation": 1}, "status": {"observedGeneration": 1, "desiredNumberScheduled": 3,
                "updatedNumberScheduled": 3, "numberAvailable": 2}}),
            rolling(2, 3),
        ),
        (
            "DaemonSet",
            json!({"metadata": {"generation": 1}, "status": {"observedGeneration": 1, "desiredNumberScheduled": 3,
                "updatedNumberScheduled": 3, "numberAvailable": 3}}),
            plain.clone(),
        ),
        (
            "StatefulSet",
            json!({"metadata": {"generation": 1}, "spec": {"replicas": 2}, "status": {"observedGeneration": 1,
                "replicas": 2, "updatedReplicas": 1, "availableReplicas": 2}}),
            rolling(1, 2),
        ),
        // Some of its pods are meant to stay old.
        (
            "StatefulSet",
            json!({"metadata": {"generation": 1},
                "spec": {"replicas": 2, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}},
                "status": {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 2}}),
            plain,
        ),
    ] {
        assert_eq!(workload(&id(kind), Some(&live)).unwrap().health, expected, "{live}");
    }
    assert_eq!(workload(&id("Deployment"), None).unwrap().health, WorkloadHealth::Absent);
    assert_eq!(workload(&id("ReplicaSet"), None), None);
}

#[test]
fn what_is_waited_for_of_an_operator_that_stopped_is_said_and_nothing_else_changes() {
    let now = "2026-11-23T00:00:00Z".parse().unwrap();
    let previous = serde_json::json!({"installedVersion": "v1.12.8", "observedGeneration": 3, "conditions": [
        {"type": "Ready", "status": "True", "reason": "MinimumReplicasAvailable", "message": "all runs"},
        {"type": "PreflightCheckPassed", "status": "True", "reason": "PreflightChecksPassed", "message": "yes"}]});
    let said = with_wait(&previous, 4, "its Lease runs out", now);
    assert_eq!(
        (&said["installedVersion"], &said["observedGeneration"]),
        (&previous["installedVersion"], &previous["observedGeneration"])
    );
    assert_eq!(said["conditions"][0], previous["conditions"][0]);
    let told = &said["conditions"][1];
    assert_eq!((told["status"].as_str(), told["reason"].as_str()), (Some("False"), Some("WaitingForLease")));
    assert_eq!(told["message"], "its Lease runs out");
    assert_eq!(with_wait(&said, 4, "its Lease runs out", now), said);
}
