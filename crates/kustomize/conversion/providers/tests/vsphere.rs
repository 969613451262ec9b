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
        ("{guestSoftPowerOffTimeout: 1m30.5s}", "{guestSoftPowerOffTimeoutSeconds: 90}"),
        ("{namingStrategy: {template: t}}", "{naming: {template: t}}"),
        (
            "{template: t, numCoresPerSocket: 0, network: {devices: [{networkName: nn, dhcp4: false, dhcp6: true}]}}",
            "{template: t, network: {devices: [{networkName: nn, dhcp6: true}]}}",
        ),
    ];
    govmomi("VSphereMachine").written("spec", &rows);
    govmomi("VSphereMachineTemplate").written("spec.template.spec", &rows);
    govmomi("VSphereVM").written("spec", &rows);
    govmomi("VSphereVM")
        .written("spec", &[("{bootstrapRef: {kind: Secret, name: s}}", "{bootstrapRef: {name: s}}")]);
    govmomi("VSphereMachineTemplate").said(
        "spec.template.spec",
        &[(
            "{template: t, guestSoftPowerOffTimeout: 500ms}",
            "{template: t}",
            &["/spec/template/spec/guestSoftPowerOffTimeout"],
        )],
    );
    for case in [govmomi("VSphereMachineTemplate"), supervisor("VSphereMachineTemplate")] {
        case.asked("spec.template.spec", &[("{failureDomain: fd}", "/spec/template/spec/failureDomain")]);
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
            ("{namingStrategy: {template: t}}", "{naming: {template: t}}"),
            (
                "{network: {interfaces: {primary: {network: {apiVersion: v/v1, kind: K, name: nn}}, secondary: [{name: e1, network: {apiVersion: v/v1, kind: K, name: m}}]}}}",
                "{network: {interfaces: {primary: {networkRef: {apiVersion: v/v1, kind: K, name: nn}}, secondary: [{name: e1, networkRef: {apiVersion: v/v1, kind: K, name: m}}]}}}",
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
    govmomi("VSphereCluster")
        .written("spec", &[("{server: s, controlPlaneEndpoint: {host: '', port: 0}}", "{server: s}")]);
    govmomi("VSphereCluster").refused("spec", &[("{thumbprint: t}", "/spec/server")]);
    govmomi("VSphereDeploymentZone").refused("spec", &[("{server: s}", "/spec/failureDomain")]);
    govmomi("VSphereClusterIdentity").refused("spec", &[("{allowedNamespaces: {}}", "/spec/secretName")]);
}
