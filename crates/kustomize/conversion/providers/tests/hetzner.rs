use super::Case;

fn case(kind: &'static str) -> Case {
    Case { kind, group: "infrastructure.cluster.x-k8s.io", versions: ("v1beta1", "v1beta2") }
}

#[test]
fn clusters_machines_and_hosts() {
    case("HetznerCluster").written(
        "spec",
        &[(
            "{sshKeys: {robotRescueSecretRef: {name: s}, hcloud: [{name: a}]}, controlPlaneEndpoint: {host: '', port: 0}}",
            "{sshKeys: {rescueSecretRef: {name: s}, hcloud: [{name: a}]}}",
        )],
    );
    case("HetznerCluster").refused(
        "spec",
        &[
            ("{sshKeys: {hcloud: [{name: a}, {name: a}]}}", "/spec/sshKeys/hcloud/1/name"),
            ("{hcloudPlacementGroups: [{name: a}, {name: a}]}", "/spec/hcloudPlacementGroups/1/name"),
            ("{controlPlaneRegions: [fsn1, nbg1, fsn1]}", "/spec/controlPlaneRegions/2"),
        ],
    );
    case("HCloudMachineTemplate").refused(
        "spec.template.spec",
        &[("{sshKeys: [{name: a}, {name: a}]}", "/spec/template/spec/sshKeys/1/name")],
    );
    case("HetznerBareMetalHost").written(
        "spec",
        &[(
            "{serverID: 1, consumerRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: M, name: m, namespace: nn}}",
            "{serverID: 1, consumerRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: M, name: m}}",
        )],
    );
    case("HetznerBareMetalHost").refused("spec", &[("{status: {rebooted: true}}", "/spec/status")]);
}

#[test]
fn remediations() {
    for kind in ["HCloudRemediationTemplate", "HetznerBareMetalRemediationTemplate"] {
        case(kind).written(
            "spec.template.spec",
            &[
                (
                    "{strategy: {timeout: 180s, cooldown: 1h, retryLimit: 0}}",
                    "{strategy: {timeoutSeconds: 180, cooldownSeconds: 3600}}",
                ),
                // Below a second it is one, and below nothing it is nothing.
                ("{strategy: {timeout: 500ms, retryLimit: -1}}", "{strategy: {timeoutSeconds: 1}}"),
                (
                    "{strategy: {timeout: -5s, retryLimit: 2}}",
                    "{strategy: {timeoutSeconds: 0, retryLimit: 2}}",
                ),
            ],
        );
        case(kind).refused(
            "spec.template.spec",
            &[("{strategy: {type: Reboot}}", "/spec/template/spec/strategy/timeoutSeconds")],
        );
    }
    for kind in ["HCloudRemediation", "HetznerBareMetalRemediation"] {
        case(kind).written(
            "spec",
            &[(
                "{strategy: {timeout: 180s, cooldown: 1h, retryLimit: 2}}",
                "{strategy: {timeoutSeconds: 180, cooldownSeconds: 3600, retryLimit: 2}}",
            )],
        );
    }
}
