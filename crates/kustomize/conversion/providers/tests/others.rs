use super::Case;

#[test]
fn k3s() {
    let plane = Case {
        kind: "KThreesControlPlane",
        group: "controlplane.cluster.x-k8s.io",
        versions: ("v1beta1", "v1beta2"),
    };
    let note = "/spec/kthreesConfigSpec/serverConfig/cloudProviderName";
    plane.said(
        "spec",
        &[(
            "{infrastructureTemplate: {apiVersion: i/v1, kind: M, name: m}, nodeDrainTimeout: 2m, upgradeAfter: '2026-01-01T00:00:00Z'}",
            "{machineTemplate: {infrastructureRef: {apiVersion: i/v1, kind: M, name: m}, nodeDrainTimeout: 2m}, rolloutAfter: '2026-01-01T00:00:00Z', kthreesConfigSpec: {serverConfig: {cloudProviderName: external, disableCloudController: true}}}",
            &[note],
        )],
    );
    plane.said(
        "spec.kthreesConfigSpec",
        &[
            (
                "{serverConfig: {disableExternalCloudProvider: true}}",
                "{serverConfig: {disableExternalCloudProvider: true, cloudProviderName: '', disableCloudController: false}}",
                &[note],
            ),
            (
                "{serverConfig: {tlsSan: [a]}}",
                "{serverConfig: {tlsSan: [a], cloudProviderName: external, disableCloudController: true}}",
                &[note],
            ),
        ],
    );
    plane.refused(
        "spec.kthreesConfigSpec",
        &[(
            "{serverConfig: {disableExternalCloudProvider: '${X}'}}",
            "/spec/kthreesConfigSpec/serverConfig/disableExternalCloudProvider",
        )],
    );
}

#[test]
fn pools_of_addresses() {
    let pool =
        Case { kind: "InClusterIPPool", group: "ipam.cluster.x-k8s.io", versions: ("v1alpha1", "v1alpha2") };
    pool.written(
        "spec",
        &[
            (
                "{subnet: 10.0.0.0/24, gateway: 10.0.0.1}",
                "{gateway: 10.0.0.1, addresses: [10.0.0.1-10.0.0.254], prefix: 24}",
            ),
            (
                "{start: 10.0.0.10, end: 10.0.0.20, prefix: 24, addresses: [10.0.0.5]}",
                "{prefix: 24, addresses: [10.0.0.5, 10.0.0.10-10.0.0.20]}",
            ),
            ("{subnet: 'fd00::/120', start: 'fd00::10'}", "{addresses: ['fd00::10-fd00::fe'], prefix: 120}"),
        ],
    );
    pool.refused(
        "spec",
        &[
            ("{start: 10.0.0.10, prefix: 24, addresses: [10.0.0.5]}", "/spec/start"),
            ("{start: 10.0.0.10, end: 10.0.0.20}", "/spec/prefix"),
            ("{subnet: here, addresses: [10.0.0.1], prefix: 24}", "/spec/subnet"),
        ],
    );
    Case { kind: "GlobalInClusterIPPool", ..pool }
        .written("spec", &[("{subnet: 10.0.0.0/24}", "{addresses: [10.0.0.1-10.0.0.254], prefix: 24}")]);
}

#[test]
fn oracle_and_scaleway() {
    let oracle =
        |kind| Case { kind, group: "infrastructure.cluster.x-k8s.io", versions: ("v1beta1", "v1beta2") };
    oracle("OCICluster").written(
        "spec.networkSpec.vcn",
        &[(
            "{internetGatewayId: i, natGatewayId: nn, serviceGatewayId: s, privateRouteTableId: p, publicRouteTableId: q, networkSecurityGroups: [{name: g}]}",
            "{internetGateway: {id: i}, natGateway: {id: nn}, serviceGateway: {id: s}, routeTable: {privateRouteTableId: p, publicRouteTableId: q}, networkSecurityGroup: {list: [{name: g}]}}",
        )],
    );
    oracle("OCIMachine").written("spec", &[("{nsgName: g}", "{networkDetails: {nsgNames: [g]}}")]);
    oracle("OCIMachine").said(
        "spec",
        &[(
            "{nsgName: g, networkDetails: {nsgNames: [h]}}",
            "{networkDetails: {nsgNames: [h]}}",
            &["/spec/nsgName"],
        )],
    );
    oracle("OCIMachinePool").written(
        "spec.instanceConfiguration",
        &[("{isPvEncryptionInTransitEnabled: false}", "{isPvEncryptionInTransitEnabled: false}")],
    );
    oracle("OCIMachinePool").said(
        "spec.instanceConfiguration",
        &[(
            "{shape: s}",
            "{shape: s, isPvEncryptionInTransitEnabled: true}",
            &["/spec/instanceConfiguration/isPvEncryptionInTransitEnabled"],
        )],
    );
    let scaleway = Case {
        kind: "ScalewayCluster",
        group: "infrastructure.cluster.x-k8s.io",
        versions: ("v1alpha1", "v1alpha2"),
    };
    scaleway.written(
        "spec.network",
        &[(
            "{controlPlaneLoadBalancer: {private: true}, controlPlanePrivateDNS: {name: nn}}",
            "{controlPlaneLoadBalancer: {private: true}, controlPlaneDNS: {name: nn}}",
        )],
    );
    scaleway.refused(
        "spec.network",
        &[(
            "{controlPlaneLoadBalancer: {private: true}, controlPlaneDNS: {name: nn, domain: d.org}}",
            "/spec/network/controlPlaneDNS",
        )],
    );
    let machines = Case { kind: "ScalewayMachineTemplate", ..scaleway };
    machines.written("spec.template.spec", &[("{commercialType: GP1-M}", "{commercialType: GP1-M}")]);
    machines.said(
        "spec.template.spec",
        &[("{image: {}}", "{image: {}, commercialType: PRO2-S}", &["/spec/template/spec/commercialType"])],
    );
}

#[test]
fn kinds_of_which_the_version_alone_changes() {
    for (kind, group, from, to, place) in [
        ("AzureASOManagedCluster", "infrastructure.cluster.x-k8s.io", "v1alpha1", "v1beta1", "spec"),
        ("TalosConfigTemplate", "bootstrap.cluster.x-k8s.io", "v1alpha3", "v1beta1", "spec.template.spec"),
        ("HarvesterCluster", "infrastructure.cluster.x-k8s.io", "v1alpha1", "v1beta1", "spec"),
        ("AgentMachineTemplate", "capi-provider.agent-install.openshift.io", "v1alpha1", "v1beta1", "spec"),
        ("ExtensionConfig", "runtime.cluster.x-k8s.io", "v1alpha1", "v1beta2", "spec"),
        ("EKSConfig", "bootstrap.cluster.x-k8s.io", "v1beta1", "v1beta2", "spec"),
    ] {
        Case { kind, group, versions: (from, to) }.written(place, &[("{a: b}", "{a: b}")]);
    }
    let kamaji = Case {
        kind: "KamajiControlPlane",
        group: "controlplane.cluster.x-k8s.io",
        versions: ("v1alpha1", "v1alpha2"),
    };
    kamaji.said("spec", &[("{a: b}", "{a: b}", &[""])]);
    let talos = Case {
        kind: "TalosConfigTemplate",
        group: "bootstrap.cluster.x-k8s.io",
        versions: ("v1alpha3", "v1beta1"),
    };
    talos.written("spec.template.spec", &[("{generateType: worker}", "{generateType: worker}")]);
    talos.refused("spec.template.spec", &[("{generateType: join}", "/spec/template/spec/generateType")]);
    let harvester = Case {
        kind: "HarvesterMachineTemplate",
        group: "infrastructure.cluster.x-k8s.io",
        versions: ("v1alpha1", "v1beta1"),
    };
    harvester.written(
        "spec.template.spec",
        &[("{volumes: [{volumeType: image}]}", "{volumes: [{volumeType: image}]}")],
    );
    harvester.refused(
        "spec.template.spec",
        &[("{volumes: [{volumeType: disk}]}", "/spec/template/spec/volumes/0/volumeType")],
    );
}
