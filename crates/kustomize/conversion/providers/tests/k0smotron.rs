use super::Case;
use crate::conversion::AtHand;

const VERSIONS: (&str, &str) = ("v1beta1", "v1beta2");

#[test]
fn workers_and_controllers() {
    let worker = |kind| Case { kind, group: "bootstrap.cluster.x-k8s.io", versions: VERSIONS };
    let rows = [
        (
            "{preStartCommands: [a], postStartCommands: [b]}",
            "{preK0sCommands: [a], postK0sCommands: [b], provisioner: {type: cloud-config, platform: linux}}",
        ),
        (
            "{ignition: {variant: fcos, version: 1.4.0}, customUserDataRef: {secretRef: {name: s, key: k}}}",
            "{provisioner: {type: ignition, platform: linux, ignition: {variant: fcos, version: 1.4.0}, customUserDataRef: {secretRef: {name: s, key: k}}}}",
        ),
    ];
    worker("K0sWorkerConfig").written("spec", &rows);
    worker("K0sWorkerConfigTemplate").written("spec.template.spec", &rows);
    let plane = Case { kind: "K0sControlPlane", group: "controlplane.cluster.x-k8s.io", versions: VERSIONS };
    let rows = [
        (
            "{preStartCommands: [a]}",
            "{preK0sCommands: [a], provisioner: {type: cloud-config, platform: linux}}",
        ),
        (
            "{ignition: {variant: fcos, version: 1.4.0}}",
            "{provisioner: {type: ignition, platform: linux, ignition: {variant: fcos, version: 1.4.0}}}",
        ),
    ];
    plane.written("spec.k0sConfigSpec", &rows);
    worker("K0sControllerConfig").written("spec", &rows);
}

#[test]
fn hosted_control_planes() {
    let case = |kind, group| Case { kind, group, versions: VERSIONS };
    let rest = "persistence: {type: pvc}";
    for hosted in
        [case("K0smotronControlPlane", "controlplane.cluster.x-k8s.io"), case("Cluster", "k0smotron.io")]
    {
        for (before, after) in [
            (
                "etcd: {image: i}, controllerPlaneFlags: [f]",
                "controlPlaneFlags: [f], storage: {type: etcd, etcd: {image: i}}",
            ),
            ("kineDataSourceURL: u", "storage: {type: kine, kine: {dataSourceURL: u}}"),
            ("kineDataSourceSecretName: s", "storage: {type: kine, kine: {dataSourceSecretName: s}}"),
            (
                "kubeconfigRef: {name: k, namespace: nn}",
                "remoteHostCluster: {kubeconfigRef: {name: k, namespace: nn}}, storage: {type: etcd}",
            ),
        ] {
            let (before, after) = (format!("{{{rest}, {before}}}"), format!("{{{rest}, {after}}}"));
            hosted.written("spec", &[(&before, &after)]);
        }
        hosted.said(
            "spec",
            &[(
                "{replicas: 1}",
                "{replicas: 1, storage: {type: etcd}, persistence: {type: emptyDir}}",
                &["/spec/persistence"],
            )],
        );
        for field in
            ["annotations: {a: b}", "labels: {a: b}", "externalTrafficPolicy: Local", "loadBalancerClass: c"]
        {
            let (name, _) = field.split_once(':').unwrap();
            let before = format!("{{{rest}, service: {{type: LoadBalancer, {field}}}}}");
            hosted.refused("spec", &[(&before, &format!("/spec/service/{name}"))]);
        }
    }
}

#[test]
fn machines_and_tokens() {
    let machine =
        Case { kind: "RemoteMachine", group: "infrastructure.cluster.x-k8s.io", versions: VERSIONS };
    machine.written(
        "spec",
        &[("{address: a, customCleanUpCommands: [c]}", "{address: a, cleanUpCommands: [c]}")],
    );
    let pooled =
        Case { kind: "PooledRemoteMachine", group: "infrastructure.cluster.x-k8s.io", versions: VERSIONS };
    pooled.written(
        "spec.machine",
        &[("{address: a, customCleanUpCommands: [c]}", "{address: a, cleanUpCommands: [c]}")],
    );
    let token = Case { kind: "JoinTokenRequest", group: "k0smotron.io", versions: VERSIONS };
    token.written("spec", &[("{clusterRef: {name: c, namespace: ns}}", "{clusterName: c}")]);
    token.refused("spec", &[("{clusterRef: {name: c, namespace: other}}", "/spec/clusterRef/namespace")]);
}

/// A part that speaks of etcd may be laid over an object whose state is elsewhere.
#[test]
fn a_part_does_not_guess_where_the_state_is() {
    let hosted =
        Case { kind: "K0smotronControlPlane", group: "controlplane.cluster.x-k8s.io", versions: VERSIONS };
    for (before, after) in [
        ("{etcd: {image: i}}", "{storage: {etcd: {image: i}}}"),
        ("{kineDataSourceURL: u}", "{storage: {kine: {dataSourceURL: u}, type: kine}}"),
    ] {
        let (value, _) = hosted.convert("spec", before, AtHand::Part).unwrap();
        assert_eq!(value, hosted.object("spec", "v1beta2", after).value(), "{before}");
    }
}
