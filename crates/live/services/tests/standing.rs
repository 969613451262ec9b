//! The health of single objects, and what becomes of a service's status.

use capstan_plan::settings::ServiceRole;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::id;
use crate::applying::RefusalKind;
use crate::services::{
    ObjectHealth, Problem, RemovalBlocker, RoleFacts, RoleNeeds, ServiceCause, ServiceState, ServiceStatus,
    SummaryState, defines, failing_pod, health, held, is_later, stage, summary, unmet,
};

fn object(api_version: &str, kind: &str, status: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": "a", "namespace": "kube-system", "generation": 2}, "status": status})
}

#[test]
fn objects_stand_as_their_controllers_say_of_this_generation() {
    let progressing = |words: &str| ObjectHealth::Progressing(words.to_owned());
    let failed = |words: &str| ObjectHealth::Failed(words.to_owned());
    let unseen = || progressing("its controller has not observed it yet");
    let says = |kind: &str, status: &str, reason: &str, message: &str| json!({"type": kind, "status": status, "reason": reason, "message": message});
    let rows = [
        ("v1", "ConfigMap", json!(null), ObjectHealth::Healthy),
        (
            "apps/v1",
            "DaemonSet",
            json!({"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 1}),
            progressing("1 of 3 pods are ready"),
        ),
        (
            "apps/v1",
            "DaemonSet",
            json!({"observedGeneration": 1, "desiredNumberScheduled": 1, "updatedNumberScheduled": 1, "numberAvailable": 1}),
            unseen(),
        ),
        (
            "apps/v1",
            "Deployment",
            json!({"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1,
                "conditions": [says("Available", "True", "MinimumReplicasAvailable", "")]}),
            ObjectHealth::Healthy,
        ),
        (
            "apps/v1",
            "Deployment",
            json!({"observedGeneration": 2, "conditions": [
                says("Progressing", "False", "ProgressDeadlineExceeded", "it has timed out progressing")]}),
            failed("ProgressDeadlineExceeded: it has timed out progressing"),
        ),
        (
            "batch/v1",
            "Job",
            json!({"conditions": [says("Failed", "True", "BackoffLimitExceeded", "6 times")]}),
            failed("BackoffLimitExceeded: 6 times"),
        ),
        ("batch/v1", "Job", json!({"conditions": [says("Complete", "True", "", "")]}), ObjectHealth::Healthy),
        ("batch/v1", "Job", json!({}), progressing("it has not completed yet")),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", json!({}), unseen()),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            json!({"conditions": [says("NamesAccepted", "False", "PluralConflict", "taken"), says("Established", "True", "", "")]}),
            failed("PluralConflict: taken"),
        ),
        (
            "addons.cluster.x-k8s.io/v1alpha1",
            "HelmChartProxy",
            json!({"observedGeneration": 2, "matchingClusters": [{}], "conditions": [
                says("HelmReleaseProxySpecsUpToDate", "True", "", ""),
                {"type": "HelmReleaseProxiesReady", "status": "False", "severity": "Error",
                 "reason": "HelmInstallOrUpgradeFailed", "message": "chart not found"}]}),
            failed("HelmInstallOrUpgradeFailed: chart not found"),
        ),
        (
            "addons.cluster.x-k8s.io/v1alpha1",
            "HelmChartProxy",
            json!({"observedGeneration": 2, "matchingClusters": [], "conditions": [
                says("HelmReleaseProxySpecsUpToDate", "True", "", ""), says("HelmReleaseProxiesReady", "True", "", "")]}),
            progressing("its clusterSelector selects no cluster"),
        ),
        (
            "helm.toolkit.fluxcd.io/v2",
            "HelmRelease",
            json!({"observedGeneration": 2, "conditions": [says("Ready", "False", "InstallFailed", "no such chart")]}),
            failed("InstallFailed: no such chart"),
        ),
        (
            "helm.toolkit.fluxcd.io/v2",
            "HelmRelease",
            json!({"observedGeneration": 1, "conditions": [says("Ready", "True", "", "")]}),
            unseen(),
        ),
        (
            "helm.toolkit.fluxcd.io/v2",
            "HelmRelease",
            json!({"observedGeneration": 2, "conditions": [
                {"type": "Ready", "status": "True", "observedGeneration": 1}]}),
            unseen(),
        ),
        (
            "example.org/v1",
            "Widget",
            json!({"conditions": [says("Ready", "False", "Later", "not now")]}),
            progressing("Later: not now"),
        ),
        (
            "example.org/v1",
            "Widget",
            json!({"conditions": [says("Stalled", "True", "Broken", "for good")]}),
            failed("Broken: for good"),
        ),
    ];
    for (api_version, kind, status, wanted) in rows {
        let object = object(api_version, kind, status);
        assert_eq!(health(&id(&object), &object), wanted, "{object}");
    }
}

#[test]
fn a_pod_tells_what_keeps_it() {
    let pod = |name: &str, reason: &str, message: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "kube-system"},
            "status": {"containerStatuses": [{"name": "agent", "state": {"waiting": {"reason": reason, "message": message}}}]}})
    };
    let on_its_way = pod("a", "ContainerCreating", "");
    assert_eq!(failing_pod(std::slice::from_ref(&on_its_way)), None);
    let pods =
        [on_its_way, pod("c", "CrashLoopBackOff", "again"), pod("b", "ImagePullBackOff", "no such image")];
    let (pod, why) = failing_pod(&pods).unwrap();
    assert_eq!(pod.to_string(), "Pod kube-system/b");
    assert_eq!(why, "container agent: ImagePullBackOff: no such image");
    let unscheduled = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "d"}, "status": {"conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}]}});
    assert_eq!(failing_pod(&[unscheduled]).unwrap().1, "Unschedulable: 0/3 nodes");
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn what_is_not_well_for_long_is_stuck_until_it_is() {
    let still = SignedDuration::from_mins(10);
    let unwell = [Problem::plain(ServiceCause::ObjectNotReady, "0 of 3 pods are ready")];
    let mut status = ServiceStatus::new("cilium", ServiceRole::Cni);
    let mut told = Vec::new();
    for (second, problems) in
        [(0, &unwell[..]), (300, &unwell), (600, &unwell), (900, &unwell), (960, &[]), (1000, &unwell)]
    {
        status.settle(problems, at(second), still);
        told.push((status.state, status.since.unwrap().as_second()));
    }
    assert_eq!(
        told,
        [
            (ServiceState::Progressing, 0),
            (ServiceState::Progressing, 0),
            (ServiceState::Stuck, 600),
            (ServiceState::Stuck, 600),
            (ServiceState::Ready, 960),
            (ServiceState::Progressing, 1000),
        ]
    );
    assert_eq!(status.reason.as_deref(), Some("ObjectNotReady"));
    assert_eq!(status.message.as_deref(), Some("0 of 3 pods are ready"));
}

#[test]
fn the_gravest_problem_decides() {
    let mut status = ServiceStatus::new("a", ServiceRole::Other);
    let problems = [
        Problem::plain(ServiceCause::CheckFalse, "false"),
        Problem::plain(ServiceCause::Refused(RefusalKind::Forbidden), "forbidden"),
        Problem::plain(ServiceCause::Refused(RefusalKind::TooManyRequests), "later"),
    ];
    status.settle(&problems, at(0), SignedDuration::from_mins(10));
    assert_eq!((status.state, status.reason.as_deref()), (ServiceState::Failed, Some("Forbidden")));
    status.settle(&problems[2..], at(1), SignedDuration::from_mins(10));
    assert_eq!(status.state, ServiceState::Progressing, "it passes by itself");
}

#[test]
fn all_services_together_stand_as_the_worst_that_nobody_else_explains() {
    assert_eq!(summary(&[]), None);
    let mut cilium = ServiceStatus::new("cilium", ServiceRole::Cni);
    let mut ingress = ServiceStatus::new("ingress", ServiceRole::Other);
    let still = SignedDuration::from_mins(10);
    ingress.settle(
        &[Problem::plain(ServiceCause::WaitsForService, "it waits for service cilium")],
        at(0),
        still,
    );
    cilium.settle(&[Problem::plain(ServiceCause::ObjectNotReady, "0 of 1 pods are ready")], at(0), still);
    let found = summary(&[ingress.clone(), cilium.clone()]).unwrap();
    assert_eq!(found.state, SummaryState::Progressing);
    assert_eq!(found.words, "service cilium: 0 of 1 pods are ready");
    cilium.settle(&[], at(0), still);
    ingress.settle(&[], at(0), still);
    assert_eq!(summary(&[ingress, cilium]).unwrap().state, SummaryState::Done);
}

#[test]
fn what_a_role_promises_is_looked_for() {
    let node = |taints: Value| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": taints}});
    let words = |what, objects: &[Value]| unmet(RoleFacts { what, objects }).map(|problem| problem.line());
    let tainted =
        node(json!([{"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}]));
    assert_eq!(
        words(RoleNeeds::Nodes, &[node(json!([])), tainted]).unwrap(),
        "Node n: the cloud controller has not initialized it: it has the taint node.cloudprovider.kubernetes.io/uninitialized"
    );
    assert_eq!(words(RoleNeeds::Nodes, &[node(json!(null))]), None);
    let class = |default: &str| {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "c",
            "annotations": {"storageclass.kubernetes.io/is-default-class": default}}})
    };
    assert!(words(RoleNeeds::StorageClasses, &[class("false")]).unwrap().starts_with("no StorageClass"));
    assert_eq!(words(RoleNeeds::StorageClasses, &[class("false"), class("true")]), None);
    assert_eq!(words(RoleNeeds::MetricsApi, &[]).unwrap(), "metrics.k8s.io is not served");
}

#[test]
fn objects_go_in_stages_and_wait_for_what_their_service_defines() {
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.org"}, "spec": {"group": "example.org", "names": {"kind": "Widget"}}});
    let widget = json!({"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "a", "namespace": "b"}});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}});
    assert!(defines(&definition, "example.org", "Widget") && !defines(&widget, "example.org", "Widget"));
    assert_eq!([&definition, &namespace, &widget].map(|object| stage(&id(object))), [0, 0, 2]);
    let all = [(id(&definition), definition), (id(&namespace), namespace)];
    let later = |kind, brought: usize| {
        is_later(&id(&widget), kind, all.iter().skip(brought).map(|(id, value)| (id, value)))
    };
    assert!(later(RefusalKind::MissingKind, 0) && later(RefusalKind::MissingNamespace, 0));
    assert!(!later(RefusalKind::MissingKind, 1) && !later(RefusalKind::MissingNamespace, 2));
    assert!(!later(RefusalKind::Invalid, 0));
}

#[test]
fn data_and_what_others_applied_stays() {
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}});
    assert_eq!(held(&id(&claim), &claim), Some(RemovalBlocker::Data));
    let map = |manager: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "managedFields": [
            {"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}]}})
    };
    assert_eq!(held(&id(&map("capstan")), &map("capstan")), None);
    assert_eq!(held(&id(&map("helm")), &map("helm")), Some(RemovalBlocker::AlsoOf(vec!["helm".to_owned()])));
}
