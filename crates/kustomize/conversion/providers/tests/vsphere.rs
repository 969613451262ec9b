use super::Case;

fn govmomi(kind: &'static str) -> Case {
    Case { kind, group: "infrastructure.cluster.x-k8s.io", versions: ("v1beta1", "v1beta2") }
}

fn supervisor(kind: &'static str) -> Case {
    Case { kind, group: "vmware.infrastructure.cluster.x-k8s.io", versions: ("v1beta1", "v1beta2") }
}

#[test]
fn machines() {
    let rows = [
        (
            "{powerOffMode: soft, guestSoftPowerOffTimeout: 1m30.5s}",
            "{powerOffMode: soft, guestSoftPowerOffTimeoutSeconds: 90}",
        ),
        (
            "{powerOffMode: hard, namingStrategy: {template: t}}",
            "{powerOffMode: hard, naming: {template: t}}",
        ),
        (
            "{powerOffMode: hard, numCoresPerSocket: 0, network: {devices: [{networkName: nn, dhcp4: false, dhcp6: true}]}}",
            "{powerOffMode: hard, network: {devices: [{networkName: nn, dhcp6: true}]}}",
        ),
    ];
    govmomi("VSphereMachine").written("spec", &rows);
    govmomi("VSphereMachineTemplate").written("spec.template.spec", &rows);
    govmomi("VSphereVM").written("spec", &rows);
    govmomi("VSphereVM").written(
        "spec",
        &[(
            "{powerOffMode: hard, bootstrapRef: {kind: Secret, name: s}}",
            "{powerOffMode: hard, bootstrapRef: {name: s}}",
        )],
    );
    govmomi("VSphereMachineTemplate").said(
        "spec.template.spec",
        &[(
            "{powerOffMode: soft, guestSoftPowerOffTimeout: 500ms}",
            "{powerOffMode: soft}",
            &["/spec/template/spec/guestSoftPowerOffTimeout"],
        )],
    );
    for case in [govmomi("VSphereMachineTemplate"), supervisor("VSphereMachineTemplate")] {
        case.asked("spec.template.spec", &[("{failureDomain: fd}", "/spec/template/spec/failureDomain")]);
        case.said(
            "spec.template.spec",
            &[("{template: t}", "{template: t, powerOffMode: hard}", &["/spec/template/spec/powerOffMode"])],
        );
    }
    govmomi("VSphereMachine").refused(
        "spec",
        &[
            ("{network: {preferredAPIServerCidr: 10.0.0.0/8}}", "/spec/network/preferredAPIServerCidr"),
            ("{numCPUs: 1}", "/spec/numCPUs"),
            ("{cloneMode: fast}", "/spec/cloneMode"),
            ("{guestSoftPowerOffTimeout: '${T}'}", "/spec/guestSoftPowerOffTimeout"),
            (
                "{network: {devices: [{addressesFromPools: [{kind: k, name: p}]}]}}",
                "/spec/network/devices/0/addressesFromPools/0/apiGroup",
            ),
        ],
    );
}

#[test]
fn the_supervisors_machines() {
    supervisor("VSphereMachineTemplate").written(
        "spec.template.spec",
        &[
            (
                "{powerOffMode: hard, namingStrategy: {template: t}}",
                "{powerOffMode: hard, naming: {template: t}}",
            ),
            (
                "{powerOffMode: hard, network: {interfaces: {primary: {network: {apiVersion: v/v1, kind: K, name: nn}}, secondary: [{name: e1, network: {apiVersion: v/v1, kind: K, name: m}}]}}}",
                "{powerOffMode: hard, network: {interfaces: {primary: {networkRef: {apiVersion: v/v1, kind: K, name: nn}}, secondary: [{name: e1, networkRef: {apiVersion: v/v1, kind: K, name: m}}]}}}",
            ),
        ],
    );
}

#[test]
fn other_kinds() {
    govmomi("VSphereFailureDomain")
        .written("spec", &[("{region: {name: r, autoConfigure: false}}", "{region: {name: r}}")]);
    govmomi("VSphereFailureDomain")
        .refused("spec", &[("{zone: {name: z, autoConfigure: true}}", "/spec/zone/autoConfigure")]);
    govmomi("VSphereFailureDomain").refused(
        "spec",
        &[(
            "{topology: {networkConfigurations: [{networkName: nn, addressesFromPools: [{kind: k, name: p}]}]}}",
            "/spec/topology/networkConfigurations/0/addressesFromPools/0/apiGroup",
        )],
    );
    govmomi("VSphereCluster")
        .written("spec", &[("{server: s, controlPlaneEndpoint: {host: '', port: 0}}", "{server: s}")]);
    govmomi("VSphereCluster").refused("spec", &[("{thumbprint: t}", "/spec/server")]);
    govmomi("VSphereDeploymentZone").refused("spec", &[("{server: s}", "/spec/failureDomain")]);
    govmomi("VSphereClusterIdentity").refused("spec", &[("{allowedNamespaces: {}}", "/spec/secretName")]);
}
