use super::*;
use crate::applying::testing::{live, objects};

const SET: &str = r"
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata: {name: cluster-api, namespace: capi-system}
spec: {version: v1.13.4}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: core-v1.13.4, namespace: capi-system}
";

/// A live provider object: `spec.version`, generation, and status.
fn provider(version: &str, generation: i64, status: &str) -> String {
    format!(
        "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\n\
         metadata: {{name: cluster-api, namespace: capi-system, generation: {generation}}}\n\
         spec: {{version: {version}}}\nstatus: {status}\n"
    )
}

/// A live Deployment of core; how many of its pods are up to date, and its label.
fn deployment(updated: i64, label: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\n\
         metadata: {{name: capi-controller-manager, namespace: capi-system, generation: 2, labels: {{cluster.x-k8s.io/provider: {label}}}}}\n\
         spec: {{replicas: 1}}\n\
         status: {{observedGeneration: 2, replicas: 1, updatedReplicas: {updated}, availableReplicas: 1, \
         conditions: [{{type: Available, status: 'True'}}]}}\n"
    )
}

const NOW: &str = "2026-11-23T12:00:00Z";

fn judged(docs: &[String], installer: Result<(), &str>, applied_at: Option<&str>) -> RolloutVerdict {
    let (rendered, live) = (objects(SET), live(&docs.join("---\n")));
    judge_set(&SetFacts {
        rendered: &rendered,
        live: &live,
        installer,
        applied_at: applied_at.map(|at| at.parse().unwrap()),
        now: NOW.parse().unwrap(),
        still: SignedDuration::from_mins(20),
    })
}

fn words(verdict: &RolloutVerdict) -> (RolloutProgress, &str) {
    let [owner] = verdict.owners.as_slice() else { panic!("{verdict:?}") };
    (verdict.state, owner.words.as_deref().unwrap_or_default())
}

const INSTALLED_OLD: &str = "{observedGeneration: 1, installedVersion: v1.12.8, conditions: [\
    {type: ProviderInstalled, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z'}, \
    {type: Ready, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z'}]}";
const INSTALLED_NEW: &str = "{observedGeneration: 2, installedVersion: v1.13.4, conditions: [\
    {type: ProviderInstalled, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z'}, \
    {type: Ready, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z'}]}";

#[test]
fn a_set_is_done_when_object_and_workloads_say_so() {
    let recent = Some("2026-11-23T11:59:00Z");
    for (docs, expected) in [
        (vec![], (RolloutProgress::Waiting, "not applied yet")),
        (vec![provider("v1.12.8", 1, INSTALLED_OLD)], (RolloutProgress::Waiting, "not applied yet")),
        // Seen of the operator: Ready, although it has not observed the new version.
        (
            vec![provider("v1.13.4", 2, INSTALLED_OLD), deployment(1, "cluster-api")],
            (RolloutProgress::Rolling, "its current generation was not observed yet"),
        ),
        (
            vec![provider("v1.13.4", 1, INSTALLED_OLD), deployment(1, "cluster-api")],
            (RolloutProgress::Rolling, "v1.12.8 is installed, v1.13.4 is requested"),
        ),
        // Ready tells of one Deployment, and of that nothing but its old pod.
        (
            vec![provider("v1.13.4", 2, INSTALLED_NEW), deployment(0, "cluster-api")],
            (
                RolloutProgress::Rolling,
                "Deployment capi-system/capi-controller-manager: 0 of 1 pods are up to date and available",
            ),
        ),
        (
            vec![provider("v1.13.4", 2, INSTALLED_NEW), deployment(0, "infrastructure-aws")],
            (RolloutProgress::Done, ""),
        ),
        (
            vec![provider("v1.13.4", 2, INSTALLED_NEW), deployment(1, "cluster-api")],
            (RolloutProgress::Done, ""),
        ),
        (
            vec![provider(
                "v1.13.4",
                2,
                "{observedGeneration: 1, installedVersion: v1.12.8, conditions: [{type: ProviderUpgraded, status: 'False', \
                 reason: ComponentsUpgradeError, message: refused}]}",
            )],
            (RolloutProgress::Rolling, "ComponentsUpgradeError: refused"),
        ),
        (
            vec![provider(
                "v1.13.4",
                2,
                "{conditions: [{type: PreflightCheckPassed, status: 'False', reason: WaitingForSet, message: first core}]}",
            )],
            (RolloutProgress::Waiting, "WaitingForSet: first core"),
        ),
    ] {
        let verdict = judged(&docs, Ok(()), recent);
        let (state, said) = words(&verdict);
        assert_eq!((state, said), expected);
        assert_eq!(verdict.counts(), Counts::default());
    }
    let done = judged(&[provider("v1.13.4", 2, INSTALLED_NEW)], Ok(()), recent);
    assert_eq!(done.sentence(), "every provider is up to date");
}

#[test]
fn an_unobserved_provider_is_stuck_since_it_was_applied() {
    let docs = [provider("v1.13.4", 2, INSTALLED_OLD)];
    for (applied_at, expected) in [
        ("2026-11-23T11:41:00Z", RolloutProgress::Rolling),
        ("2026-11-23T11:40:00Z", RolloutProgress::Stuck),
        ("2026-11-23T11:39:00Z", RolloutProgress::Stuck),
    ] {
        let verdict = judged(&docs, Ok(()), Some(applied_at));
        assert_eq!(verdict.state, expected, "{applied_at}");
        assert_eq!(verdict.owners[0].since, Some(applied_at.parse().unwrap()));
    }
    let stuck = judged(&docs, Ok(()), Some("2026-11-23T11:39:00Z"));
    assert_eq!(
        stuck.sentence(),
        "CoreProvider capi-system/cluster-api: stuck: its current generation was not observed yet"
    );
}

#[test]
fn a_set_that_nobody_installs_says_so() {
    let recent = Some("2026-11-23T11:59:00Z");
    let nobody = judged(&[provider("v1.13.4", 2, INSTALLED_OLD)], Err("no operator"), recent);
    assert_eq!(words(&nobody), (RolloutProgress::Stuck, "no operator"));
    // An installed set is done, even if no installer is known now.
    assert_eq!(
        judged(&[provider("v1.13.4", 2, INSTALLED_NEW)], Err("no operator"), recent).state,
        RolloutProgress::Done
    );
}
