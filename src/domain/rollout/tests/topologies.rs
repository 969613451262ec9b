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
fn a_class_without_patches_tells_which_groups_roll() {
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
        (("k", "a", "[{name: p}]"), ("l", "b", "[{name: p}]"), "? unknown [/spec/topology/class] ?/0/0"),
        (("k", "a", "[]"), ("k", "a", "[{name: p}]"), "? unknown [/spec/topology/class] ?/0/0"),
    ] {
        let (before, after) = (tree(before.0, before.1, before.2), tree(after.0, after.1, after.2));
        assert_eq!(told(&rollouts(&before, &after, AppliedBy::Others)), expected);
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
        assert_eq!(told(&rollouts(&tree(before), &tree(after), AppliedBy::Reconciler)), expected, "{after}");
    }
}
