//! Clusters with a managed topology.

use serde_json::json;

use super::*;

#[test]
fn a_topology() {
    check(
        TOPOLOGY,
        &[
            (&[("/spec/topology/version", json!("v1.31.1"))], "15 offline [/spec/topology/version] 15/0/0"),
            (
                &[("/spec/topology/variables/0", json!({"name": "b", "value": 1}))],
                "? unknown [/spec/topology/variables] ?/0/0",
            ),
            (&[("/spec/topology/class", json!("other"))], "? unknown [/spec/topology/class] ?/0/0"),
            // A field without a function.
            (&[("/spec/topology/rolloutAfter", json!("2026-12-01T00:00:00Z"))], "nothing"),
            (
                &[("/spec/topology/controlPlane/rollout/after", json!("2026-12-01T00:00:00Z"))],
                "3 offline [/spec/topology/controlPlane/rollout/after] 3/0/0",
            ),
            (
                &[(
                    "/spec/topology/workers/machineDeployments/0/rollout/after",
                    json!("2026-12-01T00:00:00Z"),
                )],
                "4 offline [/spec/topology/workers/machineDeployments/0/rollout/after] 4/0/0",
            ),
            (
                &[("/spec/topology/controlPlane/replicas", json!(5))],
                "0 offline [/spec/topology/controlPlane/replicas] 0/2/0",
            ),
            (&[("/spec/topology/controlPlane/metadata", json!({"labels": {"a": "b"}}))], "nothing"),
            (&[("/spec/topology/controlPlane/nodeDrainTimeout", json!("1m"))], "nothing"),
            (
                &[("/spec/topology/workers/machineDeployments/0/failureDomain", json!("a"))],
                "4 offline [/spec/topology/workers/machineDeployments/0/failureDomain] 4/0/0",
            ),
            (
                &[("/spec/topology/workers/machineDeployments/1/variables", json!({"overrides": []}))],
                "? unknown [/spec/topology/workers/machineDeployments/1/variables] ?/0/0",
            ),
            (
                &[(
                    "/spec/topology/workers/machineDeployments/2",
                    json!({"class": "default", "name": "new", "replicas": 2}),
                )],
                "0 offline [/spec/topology/workers/machineDeployments/2] 0/2/0",
            ),
            (
                &[("/spec/topology/workers/machineDeployments/1", json!(null))],
                "0 offline [/spec/topology/workers/machineDeployments] 0/0/2",
            ),
            (
                &[
                    ("/spec/topology/version", json!("v1.31.1")),
                    (
                        "/spec/topology/workers/machineDeployments/0/metadata",
                        json!({"annotations": {"topology.cluster.x-k8s.io/defer-upgrade": ""}}),
                    ),
                ],
                "11 offline [/spec/topology/version] 11/0/0",
            ),
            // What follows in the list is held too, pools are not.
            (
                &[
                    ("/spec/topology/version", json!("v1.31.1")),
                    (
                        "/spec/topology/workers/machineDeployments/0/metadata",
                        json!({"annotations": {"topology.cluster.x-k8s.io/hold-upgrade-sequence": ""}}),
                    ),
                ],
                "9 offline [/spec/topology/version] 9/0/0",
            ),
            (
                &[
                    ("/spec/topology/version", json!("v1.31.1")),
                    ("/spec/topology/workers/machinePools/0/replicas", json!(null)),
                ],
                "? offline [/spec/topology/version] ?/?/?",
            ),
        ],
    );
}

#[test]
fn a_class_tells_which_groups_roll() {
    let tree = |class: &str, image: &str, patches: &str| {
        let cluster = TOPOLOGY.replace("class: k\n", &format!("class: {class}\n"));
        rendered(&format!(
            "{cluster}---
apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata: {{name: {class}, namespace: org}}
spec:
  controlPlane: {{ref: {{kind: KubeadmControlPlaneTemplate, name: cp}}}}
  workers:
    machineDeployments:
    - class: default
      template: {{infrastructure: {{ref: {{kind: DockerMachineTemplate, name: md-{class}}}}}}}
  patches: {patches}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata: {{name: md-{class}, namespace: org}}
spec: {{template: {{spec: {{customImage: {image}}}}}}}
"
        ))
    };
    for (before, after, expected) in [
        (("k", "a", "[]"), ("l", "b", "[]"), "6 offline [/spec/topology/class] 6/0/0"),
        // Another name for the same content replaces nothing.
        (("k", "a", "[]"), ("l", "a", "[]"), "nothing"),
        // A runtime extension may make anything of another template, or of its first day.
        (
            ("k", "a", "[{name: p, external: {}}]"),
            ("l", "b", "[{name: p, external: {}}]"),
            "? unknown [/spec/topology/class] ?/0/0",
        ),
        (("k", "a", "[]"), ("k", "a", "[{name: p, external: {}}]"), "? unknown [/spec/topology/class] ?/0/0"),
        (("k", "a", "[{name: p, external: {}}]"), ("k", "a", "[{name: p, external: {}}]"), "nothing"),
    ] {
        let (before, after) = (tree(before.0, before.1, before.2), tree(after.0, after.1, after.2));
        assert_eq!(summary_of(&rollouts(&before, &after, AppliedBy::Others)), expected);
    }
}

#[test]
fn the_template_of_a_control_plane_may_bring_a_time() {
    let tree = |rollout: &str| {
        rendered(&format!(
            "{TOPOLOGY}---
apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata: {{name: k, namespace: org}}
spec:
  controlPlane: {{ref: {{kind: KubeadmControlPlaneTemplate, name: cp}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {{name: cp, namespace: org}}
spec: {{template: {{spec: {{kubeadmConfigSpec: {{format: cloud-config}}{rollout}}}}}}}
"
        ))
    };
    let after = ", rollout: {after: \"2026-12-01T00:00:00Z\"}";
    for (before, after, expected) in [
        ("", after, "3 offline [/spec/topology/class] 3/0/0"),
        (after, after, "nothing"),
        (after, "", "nothing"),
        ("", ", rollout: {strategy: {type: RollingUpdate}}", "nothing"),
    ] {
        assert_eq!(
            summary_of(&rollouts(&tree(before), &tree(after), AppliedBy::Reconciler)),
            expected,
            "{after}"
        );
    }
}

/// How many machines there are meanwhile is reported where it is known, and never guessed.
#[test]
fn the_strategies_of_a_topology_are_those_of_its_class_unless_it_has_its_own() {
    let class = |control_plane: &str, default: &str, patches: &str| {
        format!(
            "---
apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata: {{name: k, namespace: org}}
spec:
  controlPlane: {{ref: {{kind: KubeadmControlPlaneTemplate, name: cp}}}}
  workers:
    machineDeployments:
    - {{class: default{default}}}
  patches: {patches}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlaneTemplate
metadata: {{name: cp, namespace: org}}
spec: {{template: {{spec: {{{control_plane}}}}}}}
"
        )
    };
    let course = |cluster: &str, class: &str| {
        let tree = |version: &str| rendered(&format!("{}{class}", cluster.replace("v1.30.2", version)));
        let mut found = rollouts(&tree("v1.30.2"), &tree("v1.31.1"), AppliedBy::Others);
        (summary_of(&found), found.remove(0).course.notes)
    };
    let order = "The control plane goes first, then the worker groups, 1 of a kind at a time.".to_owned();
    let all = "15 offline [/spec/topology/version] 15/0/0".to_owned();
    let joins = "`controlPlane`: One at a time: a new machine joins, then an old one is deleted.".to_owned();
    // Without the class they are unknown.
    assert_eq!(course(TOPOLOGY, ""), (all.clone(), vec![order.clone()]));
    // Cluster API's defaults.
    let defaults = "`one`, `two`: At most 1 more and 0 fewer than wanted at a time.".to_owned();
    assert_eq!(
        course(TOPOLOGY, &class("", "", "[]")),
        (all.clone(), vec![order.clone(), joins.clone(), defaults])
    );
    // The class's own; percents are of each group.
    let goes = "`controlPlane`: One at a time: an old machine is deleted, then a new one joins.".to_owned();
    let surge = ", strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 50%, maxUnavailable: 50%}}";
    let zero = "rolloutStrategy: {rollingUpdate: {maxSurge: 0}}";
    assert_eq!(
        course(TOPOLOGY, &class(zero, surge, "[]")),
        (
            all.clone(),
            vec![
                order.clone(),
                goes,
                "`one`: At most 2 more and 2 fewer than wanted at a time.".to_owned(),
                "`two`: At most 1 more and 1 fewer than wanted at a time.".to_owned(),
            ]
        )
    );
    // A topology that says anything of rollouts has all of it: here Cluster API's defaults for `two`.
    let own = TOPOLOGY
        .replace("name: one,", "name: one, strategy: {type: OnDelete},")
        .replace("name: two,", "name: two, rollout: {after: \"2026-12-01T00:00:00Z\"},");
    assert_eq!(
        course(&own, &class("", surge, "[]")),
        (
            "11 offline [/spec/topology/version] 11/0/0".to_owned(),
            vec![
                order.clone(),
                joins,
                "`one`: `OnDelete`: machines are replaced only when somebody deletes them.".to_owned(),
                "`two`: At most 1 more and 0 fewer than wanted at a time.".to_owned(),
            ]
        )
    );
    // What a patch sets counts, where it can be computed.
    let patch = |value: &str| {
        format!(
            "[{{name: p, definitions: [{{selector: {{kind: KubeadmControlPlaneTemplate, matchResources: {{controlPlane: true}}}}, jsonPatches: [{{op: add, path: /spec/template/spec/rolloutStrategy, {value}}}]}}]}}]"
        )
    };
    let of_plane = |patch: &str| {
        let notes = course(TOPOLOGY, &class("", "", patch)).1;
        notes.into_iter().find(|note| note.starts_with("`controlPlane`"))
    };
    let goes = "`controlPlane`: One at a time: an old machine is deleted, then a new one joins.";
    assert_eq!(of_plane(&patch("value: {rollingUpdate: {maxSurge: 0}}")).as_deref(), Some(goes));
    assert_eq!(of_plane(&patch("valueFrom: {template: '{{ toJson .a }}'}")), None);
    assert_eq!(of_plane("[{name: p, external: {generatePatchesExtension: e}}]"), None);
}

#[test]
fn a_group_of_a_topology_that_is_scaled_and_upgraded() {
    for (replicas, expected) in
        [(6, "15 offline [/spec/topology/version] 15/2/0"), (1, "12 offline [/spec/topology/version] 12/0/3")]
    {
        check(
            TOPOLOGY,
            &[(
                &[
                    ("/spec/topology/version", json!("v1.31.1")),
                    ("/spec/topology/workers/machineDeployments/0/replicas", json!(replicas)),
                ],
                expected,
            )],
        );
    }
}

#[test]
fn a_class_that_lists_its_versions_is_gone_through_step_by_step() {
    let course = |listed: &str, to: &str| {
        let tree = |version: &str| {
            rendered(&format!(
                "{}---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {{name: k, namespace: org}}
spec: {{{listed}}}
",
                TOPOLOGY.replace("v1.30.2", version)
            ))
        };
        let mut found = rollouts(&tree("v1.30.2"), &tree(to), AppliedBy::Others);
        (summary_of(&found), found.remove(0).course.notes.remove(0))
    };
    let all = "kubernetesVersions: [v1.30.2, v1.31.1, v1.32.0, v1.32.4, v1.33.1, v1.34.0]";
    let replaced = |count: u32| format!("{count} offline [/spec/topology/version] {count}/0/0");
    let order = "The control plane goes first, then the worker groups, 1 of a kind at a time.";
    assert_eq!(course(all, "v1.31.1"), (replaced(15), order.to_owned()));
    assert_eq!(
        course(all, "v1.32.4"),
        (
            replaced(18),
            "The class lists its Kubernetes versions, so the control plane upgrades through v1.31.1 and v1.32.4 and is replaced 2 times; workers are replaced once, at the end.".to_owned()
        )
    );
    // Workers may be three minors behind: 4 times 3, and 2 times 12.
    assert_eq!(
        course(all, "v1.34.0"),
        (
            replaced(36),
            "The class lists its Kubernetes versions, so the control plane upgrades through v1.31.1, v1.32.4, v1.33.1 and v1.34.0 and is replaced 4 times; workers are replaced 2 times.".to_owned()
        )
    );
    // A list with a gap is refused, so nothing goes through it.
    assert_eq!(course("kubernetesVersions: [v1.30.2, v1.32.4]", "v1.32.4"), (replaced(15), order.to_owned()));
    let extension = course("upgrade: {external: {generateUpgradePlanExtension: e}}", "v1.32.4");
    assert_eq!(extension.0, "? offline [/spec/topology/version] ?/0/0");
    assert!(extension.1.starts_with("A runtime extension of the class chooses"), "{}", extension.1);
}

/// Where a group is behind the topology, Cluster API reconciles nothing of it.
#[test]
fn a_group_that_is_held_back_is_left_as_it_is_until_it_follows() {
    const DEFER: &str = "topology.cluster.x-k8s.io/defer-upgrade";
    const HOLD: &str = "topology.cluster.x-k8s.io/hold-upgrade-sequence";
    let metadata = "/spec/topology/workers/machineDeployments/0/metadata";
    let annotation = |name: &str| (metadata, json!({"annotations": {name: ""}}));
    let replicas = ("/spec/topology/workers/machineDeployments/0/replicas", json!(6));
    let version = ("/spec/topology/version", json!("v1.31.1"));
    let annotated = |name: &str| {
        TOPOLOGY.replace("name: one,", &format!("name: one, metadata: {{annotations: {{{name}: \"\"}}}},"))
    };
    let (plain, deferred, held) = (TOPOLOGY.to_owned(), annotated(DEFER), annotated(HOLD));
    let path = |rest: &str| format!("[/spec/topology/workers/machineDeployments/0/{rest}]");
    let removed = |name: &str| path(&format!("metadata/annotations/topology.cluster.x-k8s.io~1{name}"));
    for (fixture, changes, expected) in [
        // Not now: its count neither.
        (
            &plain,
            vec![version.clone(), annotation(DEFER), replicas.clone()],
            "11 offline [/spec/topology/version] 11/0/0".to_owned(),
        ),
        // The upgrade of a group may be a merge that changes no version.
        (&deferred, vec![(metadata, json!(null))], format!("? unknown {} ?/0/0", removed("defer-upgrade"))),
        (
            &held,
            vec![(metadata, json!(null))],
            format!("? unknown {} ?/0/0", removed("hold-upgrade-sequence")),
        ),
        (
            &held,
            vec![("/spec/topology/workers/machineDeployments/0", json!(null))],
            "? unknown [/spec/topology/workers/machineDeployments] ?/0/4".to_owned(),
        ),
        (&deferred, vec![annotation(HOLD)], "nothing".to_owned()),
        // Whether it is behind, Git does not say.
        (&deferred, vec![replicas], format!("0 unknown {} 0/2/0", path("replicas"))),
        (
            &deferred,
            vec![("/spec/topology/workers/machineDeployments/0/failureDomain", json!("a"))],
            format!("? unknown {} ?/0/0", path("failureDomain")),
        ),
        // One after it in the list is held too, and a pool is not.
        (
            &held,
            vec![("/spec/topology/workers/machineDeployments/1/replicas", json!(3))],
            "0 unknown [/spec/topology/workers/machineDeployments/1/replicas] 0/1/0".to_owned(),
        ),
        (
            &held,
            vec![("/spec/topology/workers/machinePools/0/replicas", json!(7))],
            "0 offline [/spec/topology/workers/machinePools/0/replicas] 0/1/0".to_owned(),
        ),
        (&deferred, vec![version.clone()], "11 offline [/spec/topology/version] 11/0/0".to_owned()),
        (
            &deferred,
            vec![version, (metadata, json!(null))],
            "15 offline [/spec/topology/version] 15/0/0".to_owned(),
        ),
    ] {
        check(fixture, &[(&changes, &expected)]);
    }
}

#[test]
fn it_is_said_what_a_group_that_is_held_back_waits_for() {
    let annotations = "metadata: {annotations: {topology.cluster.x-k8s.io/defer-upgrade: \"\"}},";
    let deferred = TOPOLOGY.replace("name: one,", &format!("name: one, {annotations}"));
    let notes = |fixture: &str, changes: &[(&str, Value)]| {
        let (before, after) = pair(fixture, changes);
        rollouts(&[before], &[after], AppliedBy::Others).remove(0).course.notes
    };
    let order = "The control plane goes first, then the worker groups, 1 of a kind at a time.";
    let version = ("/spec/topology/version", json!("v1.31.1"));
    let replicas = ("/spec/topology/workers/machineDeployments/0/replicas", json!(6));
    assert_eq!(
        notes(&deferred, &[version.clone(), replicas.clone()]),
        [
            order,
            "`one`: An annotation held it back before. If it is behind, Cluster API refuses another version until it has followed.",
            "`one`: Its version stays until somebody removes the annotation `topology.cluster.x-k8s.io/defer-upgrade` of `one`. Cluster API refuses a later version until then.",
            "`one`: Its count stays 4 until it follows, and is 6 then.",
        ]
    );
    assert_eq!(
        notes(&deferred, &[replicas]),
        [
            "`one`: The annotation `topology.cluster.x-k8s.io/defer-upgrade` of `one` holds back its upgrade. If it is behind, nothing of this reaches it until it follows."
        ]
    );
    assert_eq!(
        notes(&deferred, &[("/spec/topology/workers/machineDeployments/0/metadata", json!(null))]),
        [
            "`one`: Nothing holds back its upgrade any more. If its machines are behind, they are replaced now."
        ]
    );
    let new = (
        "/spec/topology/workers/machineDeployments/2",
        json!({"class": "default", "name": "new", "replicas": 2}),
    );
    assert_eq!(
        notes(TOPOLOGY, &[version, new]),
        [order, "`new`: It comes once the control plane is upgraded and stable."]
    );
}
