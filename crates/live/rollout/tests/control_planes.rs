//! Control planes.

use capstan_model::kinds::KindReader;
use serde_json::json;

use super::*;

#[test]
fn a_kubeadm_control_plane() {
    check(
        CONTROL_PLANE,
        &[
            (&[], "nothing"),
            (&[("/spec/version", json!("v1.31.1"))], "3 offline [/spec/version] 3/0/0"),
            (
                &[("/spec/machineTemplate/infrastructureRef/name", json!("cp-2"))],
                "3 offline [/spec/machineTemplate/infrastructureRef/name] 3/0/0",
            ),
            (
                &[("/spec/machineTemplate/infrastructureRef/kind", json!("DevMachineTemplate"))],
                "3 offline [/spec/machineTemplate/infrastructureRef/kind] 3/0/0",
            ),
            // The API version of the reference does not count.
            (
                &[(
                    "/spec/machineTemplate/infrastructureRef/apiVersion",
                    json!("infrastructure.cluster.x-k8s.io/v1beta2"),
                )],
                "nothing",
            ),
            // Propagated in place.
            (&[("/spec/machineTemplate/metadata", json!({"labels": {"a": "b"}}))], "nothing"),
            (&[("/spec/machineTemplate/nodeDrainTimeout", json!("10s"))], "nothing"),
            (&[("/spec/machineTemplate/nodeVolumeDetachTimeout", json!("10s"))], "nothing"),
            (&[("/spec/machineTemplate/nodeDeletionTimeout", json!("10s"))], "nothing"),
            (&[("/spec/machineTemplate/readinessGates", json!([{"conditionType": "a"}]))], "nothing"),
            (&[("/spec/remediationStrategy", json!({"maxRetry": 5}))], "nothing"),
            (&[("/spec/machineNamingStrategy", json!({"template": "a"}))], "nothing"),
            (&[("/spec/rolloutStrategy", json!({"rollingUpdate": {"maxSurge": 0}}))], "nothing"),
            // kubeadmConfigSpec
            (
                &[("/spec/kubeadmConfigSpec/clusterConfiguration/imageRepository", json!("example.com"))],
                "3 offline [/spec/kubeadmConfigSpec/clusterConfiguration/imageRepository] 3/0/0",
            ),
            (
                &[("/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/v", json!("4"))],
                "3 offline [/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/v] 3/0/0",
            ),
            // The conversion to v1beta2 alone.
            (
                &[(
                    "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs",
                    json!([{"name": "v", "value": "2"}]),
                )],
                "nothing",
            ),
            (&[("/spec/kubeadmConfigSpec/clusterConfiguration/dns/imageTag", json!("v1.12.0"))], "nothing"),
            (&[("/spec/kubeadmConfigSpec/clusterConfiguration/dns", json!(null))], "nothing"),
            (
                &[("/spec/kubeadmConfigSpec/clusterConfiguration/controlPlaneEndpoint", json!("a:6443"))],
                "nothing",
            ),
            (
                &[(
                    "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/timeoutForControlPlane",
                    json!("9m0s"),
                )],
                "nothing",
            ),
            (
                &[(
                    "/spec/kubeadmConfigSpec/clusterConfiguration/etcd",
                    json!({"local": {"imageTag": "3.5.16-0"}}),
                )],
                "3 offline [/spec/kubeadmConfigSpec/clusterConfiguration/etcd/local/imageTag] 3/0/0",
            ),
            (&[("/spec/kubeadmConfigSpec/clusterConfiguration/etcd", json!({"local": {}}))], "nothing"),
            (
                &[("/spec/kubeadmConfigSpec/joinConfiguration/nodeRegistration/name", json!("b"))],
                "3 offline [/spec/kubeadmConfigSpec/joinConfiguration/nodeRegistration/name] 3/0/0",
            ),
            (
                &[("/spec/kubeadmConfigSpec/joinConfiguration/discovery", json!({"tlsBootstrapToken": "a"}))],
                "nothing",
            ),
            // Only the first machine, if it still lives.
            (
                &[("/spec/kubeadmConfigSpec/initConfiguration/nodeRegistration/name", json!("b"))],
                "? unknown [/spec/kubeadmConfigSpec/initConfiguration/nodeRegistration/name] ?/0/0",
            ),
            (
                &[("/spec/kubeadmConfigSpec/files/0", json!({"path": "/etc/b"}))],
                "3 offline [/spec/kubeadmConfigSpec/files] 3/0/0",
            ),
            (
                &[("/spec/kubeadmConfigSpec/users", json!(null))],
                "3 offline [/spec/kubeadmConfigSpec/users] 3/0/0",
            ),
            (
                &[("/spec/kubeadmConfigSpec/ntp/enabled", json!(true))],
                "3 offline [/spec/kubeadmConfigSpec/ntp/enabled] 3/0/0",
            ),
            (
                &[("/spec/kubeadmConfigSpec/preKubeadmCommands/0", json!("b"))],
                "3 offline [/spec/kubeadmConfigSpec/preKubeadmCommands] 3/0/0",
            ),
            (&[("/spec/kubeadmConfigSpec/postKubeadmCommands", json!([]))], "nothing"),
            (
                &[("/spec/kubeadmConfigSpec/format", json!("ignition"))],
                "3 offline [/spec/kubeadmConfigSpec/format] 3/0/0",
            ),
            // Times.
            (
                &[("/spec/rolloutAfter", json!("2026-12-01T00:00:00Z"))],
                "3 offline [/spec/rolloutAfter] 3/0/0",
            ),
            (
                &[("/spec/rolloutBefore", json!({"certificatesExpiryDays": 21}))],
                "? unknown [/spec/rolloutBefore/certificatesExpiryDays] ?/0/0",
            ),
            // Counts.
            (&[("/spec/replicas", json!(5))], "0 offline [/spec/replicas] 0/2/0"),
            (&[("/spec/replicas", json!(1))], "0 offline [/spec/replicas] 0/0/2"),
            (
                &[("/spec/replicas", json!(5)), ("/spec/version", json!("v1.31.1"))],
                "3 offline [/spec/version] 3/2/0",
            ),
            (
                &[("/spec/replicas", json!(1)), ("/spec/version", json!("v1.31.1"))],
                "1 offline [/spec/version] 1/0/2",
            ),
            (
                &[("/spec/replicas", json!(null)), ("/spec/version", json!("v1.31.1"))],
                "? offline [/spec/version] ?/?/?",
            ),
        ],
    );
}

#[test]
fn a_kubeadm_control_plane_in_v1beta2() {
    check(
        CONTROL_PLANE_V1BETA2,
        &[
            (
                &[("/spec/machineTemplate/spec/infrastructureRef/name", json!("cp-2"))],
                "3 offline [/spec/machineTemplate/spec/infrastructureRef/name] 3/0/0",
            ),
            (&[("/spec/machineTemplate/spec/deletion/nodeDrainTimeoutSeconds", json!(20))], "nothing"),
            (&[("/spec/machineTemplate/spec/taints", json!([{"key": "a"}]))], "nothing"),
            (
                &[("/spec/rollout/after", json!("2026-12-01T00:00:00Z"))],
                "3 offline [/spec/rollout/after] 3/0/0",
            ),
            (
                &[("/spec/rollout/before/certificatesExpiryDays", json!(21))],
                "? unknown [/spec/rollout/before/certificatesExpiryDays] ?/0/0",
            ),
            (&[("/spec/remediation", json!({"maxRetry": 5}))], "nothing"),
            (
                &[(
                    "/spec/kubeadmConfigSpec/joinConfiguration/timeouts/controlPlaneComponentHealthCheckSeconds",
                    json!(9),
                )],
                "nothing",
            ),
            (
                &[(
                    "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/0",
                    json!({"name": "z"}),
                )],
                "3 offline [/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs] 3/0/0",
            ),
        ],
    );
}

#[test]
fn the_same_control_plane_in_another_version_of_the_api_rolls_nothing() {
    let (before, after) = (rendered(CONTROL_PLANE), rendered(CONTROL_PLANE_V1BETA2));
    assert_eq!(summary_of(&rollouts(&before, &after, AppliedBy::Others)), "nothing");
    let (before, after) = (rendered(DEPLOYMENT), rendered(DEPLOYMENT_V1BETA2));
    assert_eq!(summary_of(&rollouts(&before, &after, AppliedBy::Others)), "nothing");
}

/// Every kind of the table, and a version that is not in it: the controller decides, and a note says why the effect is
/// unknown.
#[test]
fn the_effect_of_an_unknown_version_is_unknown() {
    for known in KindReader::ControlPlanes.known() {
        for kind in known.kinds {
            let (text, from, to) = match *kind {
                "KubeadmControlPlane" => (CONTROL_PLANE, "content: a", "content: b"),
                "RKE2ControlPlane" => (RKE2, "cni: calico", "cni: cilium"),
                "TalosControlPlane" => (TALOS, "talosVersion: v1.8", "talosVersion: v1.9"),
                "K0sControlPlane" => (K0S, "--enable-worker", "--debug"),
                other => panic!("nobody reads {other}"),
            };
            let found = |version: &str| {
                let (group, kind_line) = (known.group, format!("kind: {kind}"));
                let (_, rest) = text.split_once(&kind_line).unwrap();
                let before = format!("apiVersion: {group}/{version}\n{kind_line}{rest}");
                let after = before.replace(from, to);
                rollouts(&rendered(&before), &rendered(&after), AppliedBy::Others)
            };
            for version in known.versions {
                assert!(
                    summary_of(&found(version)).starts_with("3 offline"),
                    "{kind} {version}: {}",
                    summary_of(&found(version))
                );
            }
            let next = found("v9");
            assert!(summary_of(&next).starts_with("? unknown"), "{kind}: {}", summary_of(&next));
            let why = format!(
                "It is unknown which of its fields replace machines: `{}/v9` is not read here",
                known.group
            );
            assert!(
                next[0].course.notes.iter().any(|note| note.starts_with(&why)),
                "{:?}",
                next[0].course.notes
            );
        }
    }
}

#[test]
fn control_planes_of_other_providers() {
    check(
        RKE2,
        &[
            (&[("/spec/version", json!("v1.31.1+rke2r1"))], "3 offline [/spec/version] 3/0/0"),
            (
                &[("/spec/machineTemplate/infrastructureRef/name", json!("b"))],
                "3 offline [/spec/machineTemplate/infrastructureRef/name] 3/0/0",
            ),
            // Its controller compares the configuration of the server and of the node.
            (&[("/spec/serverConfig/cni", json!("cilium"))], "3 offline [/spec/serverConfig/cni] 3/0/0"),
            (&[("/spec/agentConfig", json!({"nodeLabels": ["a=b"]}))], "3 offline [/spec/agentConfig] 3/0/0"),
            (&[("/spec/files", json!([{"path": "/etc/a"}]))], "3 offline [/spec/files] 3/0/0"),
            (&[("/spec/preRKE2Commands", json!(["a"]))], "3 offline [/spec/preRKE2Commands] 3/0/0"),
            (&[("/spec/postRKE2Commands", json!(["a"]))], "3 offline [/spec/postRKE2Commands] 3/0/0"),
            // Nothing is what was there before.
            (&[("/spec/files", json!([]))], "? unknown [/spec/files] ?/0/0"),
            // How nodes register, and what is deployed into the cluster, does not belong to a machine.
            (&[("/spec/registrationMethod", json!("address"))], "nothing"),
            (&[("/spec/manifestsConfigMapReference", json!({"name": "a"}))], "nothing"),
            (&[("/spec/rolloutStrategy", json!({"type": "RollingUpdate"}))], "nothing"),
            // In another version of the API fields may only have moved.
            (
                &[
                    ("/apiVersion", json!("controlplane.cluster.x-k8s.io/v1beta2")),
                    ("/spec/serverConfig/cni", json!("cilium")),
                ],
                "? unknown [/spec/serverConfig/cni] ?/0/0",
            ),
            (
                &[("/spec/replicas", json!(5)), ("/spec/version", json!("v1.31.1+rke2r1"))],
                "3 offline [/spec/version] 3/2/0",
            ),
        ],
    );
    check(
        TALOS,
        &[
            (&[("/spec/version", json!("v1.31.1"))], "3 offline [/spec/version] 3/0/0"),
            (
                &[("/spec/infrastructureTemplate/name", json!("b"))],
                "3 offline [/spec/infrastructureTemplate/name] 3/0/0",
            ),
            (
                &[("/spec/controlPlaneConfig/controlplane/talosVersion", json!("v1.9"))],
                "3 offline [/spec/controlPlaneConfig/controlplane/talosVersion] 3/0/0",
            ),
            (
                &[("/spec/controlPlaneConfig/controlplane/strategicPatches/0", json!("machine: {}"))],
                "3 offline [/spec/controlPlaneConfig/controlplane/strategicPatches] 3/0/0",
            ),
            // Its controller has not compared this one since v0.4.0.
            (&[("/spec/controlPlaneConfig/init", json!({"generateType": "init"}))], "nothing"),
            (
                &[
                    ("/spec/rolloutStrategy", json!({"type": "OnDelete"})),
                    ("/spec/version", json!("v1.31.1")),
                ],
                "0 offline [/spec/version] 0/0/0",
            ),
        ],
    );
    check(
        K0S,
        &[
            // By default k0s updates itself in place.
            (&[("/spec/version", json!("v1.31.1+k0s.0"))], "0 offline [/spec/version] 0/0/0"),
            (
                &[("/spec/version", json!("v1.31.1+k0s.0")), ("/spec/updateStrategy", json!("Recreate"))],
                "3 offline [/spec/version] 3/0/0",
            ),
            (
                &[
                    ("/spec/version", json!("v1.31.1+k0s.0")),
                    ("/spec/machineTemplate/infrastructureRef/name", json!("b")),
                ],
                "3 offline [/spec/machineTemplate/infrastructureRef/name /spec/version] 3/0/0",
            ),
            (
                &[("/spec/k0sConfigSpec/args/0", json!("--debug"))],
                "3 offline [/spec/k0sConfigSpec/args] 3/0/0",
            ),
            // The configuration of k0s itself is written where the machines are, but of older machines.
            (&[("/spec/k0sConfigSpec/k0s/spec/telemetry", json!({"enabled": false}))], "nothing"),
            (
                &[
                    ("/spec/version", json!("v1.31.1+k0s.0")),
                    ("/spec/k0sConfigSpec/k0s/spec/telemetry", json!({"enabled": false})),
                ],
                "0 offline [/spec/version] 0/0/0",
            ),
        ],
    );
    let canonical = ("/metadata/annotations", json!({"v1beta2.k8sd.io/in-place-upgrade-to": "1.34/stable"}));
    check(
        &TALOS.replace("TalosControlPlane", "CK8sControlPlane"),
        &[(&[canonical], "0 offline [/metadata/annotations/v1beta2.k8sd.io~1in-place-upgrade-to] 0/0/0")],
    );
    check(
        EKS,
        &[
            (&[("/spec/version", json!("v1.31.1"))], "0 offline [/spec/version] 0/0/0"),
            (&[("/spec/region", json!("eu-west-2"))], "nothing"),
        ],
    );
}

#[test]
fn a_control_plane_that_goes_back_to_an_older_api_version_is_compared_by_its_meaning() {
    let newer = r#"
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp, namespace: org}
spec:
  replicas: 3
  version: v1.30.2
  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerMachineTemplate, name: cp}
  kubeadmConfigSpec:
    clusterConfiguration: {apiServer: {extraArgs: [{name: v, value: "2"}]}}
"#;
    let older = |verbosity: u32| {
        format!(
            r#"
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {{name: cp, namespace: org}}
spec:
  replicas: 3
  version: v1.30.2
  rolloutStrategy: {{type: RollingUpdate, rollingUpdate: {{maxSurge: 1}}}}
  machineTemplate:
    infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: cp}}
  kubeadmConfigSpec:
    clusterConfiguration: {{apiServer: {{extraArgs: {{v: "{verbosity}"}}}}}}
"#
        )
    };
    let found = |verbosity: u32| {
        summary_of(&rollouts(&rendered(newer), &rendered(&older(verbosity)), AppliedBy::Others))
    };
    assert_eq!(found(2), "nothing");
    let edited = found(4);
    assert!(
        edited.starts_with("3 offline [/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs"),
        "{edited}"
    );
}

#[test]
fn the_api_and_the_storage_of_k0s_may_replace_machines() {
    check(
        K0S,
        &[
            (
                &[("/spec/k0sConfigSpec/k0s", json!({"spec": {"storage": {"type": "kine"}}}))],
                "? unknown [/spec/k0sConfigSpec/k0s] ?/0/0",
            ),
            (&[("/spec/k0sConfigSpec/k0s", json!({"spec": {"telemetry": {"enabled": false}}}))], "nothing"),
        ],
    );
    let fixture =
        K0S.replace("{args: [--enable-worker]}", "{k0s: {spec: {api: {port: 1}, storage: {type: etcd}}}}");
    check(
        &fixture,
        &[
            (
                &[("/spec/k0sConfigSpec/k0s/spec/api/port", json!(2))],
                "? unknown [/spec/k0sConfigSpec/k0s/spec/api/port] ?/0/0",
            ),
            (&[("/spec/k0sConfigSpec/k0s/spec/network", json!({"provider": "calico"}))], "nothing"),
        ],
    );
}

#[test]
fn k0s_goes_about_it_as_its_strategy_says() {
    let notes = |strategy: &str, replicas: u32| {
        let fixture =
            K0S.replace("replicas: 3", &format!("replicas: {replicas}\n  updateStrategy: {strategy}"));
        let (before, after) = pair(&fixture, &[("/spec/k0sConfigSpec/args/0", json!("--debug"))]);
        rollouts(&[before], &[after], AppliedBy::Others).remove(0).course.notes
    };
    let joins = "One at a time: a new machine joins, then an old one is deleted.";
    let goes = "One at a time: an old machine is deleted, then a new one joins.";
    for (strategy, replicas, said) in [
        ("InPlace", 3, joins),
        ("Recreate", 3, joins),
        ("RecreateDeleteFirst", 1, joins),
        ("RecreateDeleteFirst", 3, goes),
    ] {
        assert_eq!(notes(strategy, replicas), [said], "{strategy} {replicas}");
    }
}
