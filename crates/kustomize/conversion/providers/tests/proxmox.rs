use super::Case;

fn case(kind: &'static str) -> Case {
    Case { kind, group: "infrastructure.cluster.x-k8s.io", versions: ("v1alpha1", "v1alpha2") }
}

#[test]
fn machines() {
    let source = "sourceNode: nn, templateID: 1";
    let net0 = "{name: net0, defaultIPv4: true, defaultIPv6: true, bridge: vmbr1, model: virtio}";
    let pool =
        |name: &str| format!("{{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: {name}}}");
    let (p, q) = (pool("p"), pool("q"));
    for (before, after) in [
        (
            "network: {default: {bridge: vmbr1, model: virtio}}".to_owned(),
            format!("network: {{networkDevices: [{net0}]}}"),
        ),
        (
            format!(
                "network: {{default: {{bridge: vmbr1, model: virtio}}, additionalDevices: [{{name: net1, bridge: vmbr2, ipv6PoolRef: {q}, ipv4PoolRef: {p}}}], vrfs: [{{name: vrf, table: 5}}]}}"
            ),
            format!(
                "network: {{vrfs: [{{name: vrf, table: 5}}], networkDevices: [{net0}, {{name: net1, bridge: vmbr2, ipPoolRef: [{p}, {q}]}}]}}"
            ),
        ),
        (
            "network: {default: {bridge: vmbr1, model: virtio}}, target: a".to_owned(),
            format!("network: {{networkDevices: [{net0}]}}, allowedNodes: [a]"),
        ),
    ] {
        let (before, after) = (format!("{{{source}, {before}}}"), format!("{{{source}, {after}}}"));
        case("ProxmoxMachine").written("spec", &[(&before, &after)]);
        case("ProxmoxMachineTemplate").written("spec.template.spec", &[(&before, &after)]);
    }
    case("ProxmoxMachine").said(
        "spec",
        &[
            (
                &format!("{{{source}}}"),
                &format!("{{{source}, network: {{networkDevices: [{{name: net0, bridge: vmbr0, defaultIPv4: true, defaultIPv6: true}}]}}}}"),
                &["/spec/network/networkDevices"],
            ),
            (
                &format!("{{{source}, network: {{default: {{bridge: vmbr1, model: virtio}}}}, target: a, allowedNodes: [b]}}"),
                &format!("{{{source}, network: {{networkDevices: [{net0}]}}, allowedNodes: [a]}}"),
                &["/spec/allowedNodes"],
            ),
        ],
    );
    let network = "network: {default: {bridge: b}}";
    case("ProxmoxMachine").refused(
        "spec",
        &[
            (&format!("{{{network}, templateID: 1}}"), "/spec/sourceNode"),
            (
                &format!("{{{network}, {source}, metadataSettings: {{}}}}"),
                "/spec/metadataSettings/providerIDInjection",
            ),
            (
                &format!(
                    "{{{source}, network: {{default: {{bridge: b}}, vrfs: [{{name: vrf, table: 0}}]}}}}"
                ),
                "/spec/network/vrfs/0/table",
            ),
        ],
    );
}

#[test]
fn clusters() {
    case("ProxmoxCluster").written(
        "spec",
        &[(
            "{externalManagedControlPlane: false, ipv4Config: {prefix: 24, gateway: g}, controlPlaneEndpoint: {}}",
            "{ipv4Config: {prefix: 24, gateway: g}}",
        )],
    );
    case("ProxmoxCluster")
        .asked("spec", &[("{cloneSpec: {machineSpec: {controlPlane: {numCores: 2}}}}", "/spec/cloneSpec")]);
    case("ProxmoxCluster")
        .asked("spec", &[("{cloneSpec: {machineSpec: {controlPlane: {full: false}}}}", "/spec/cloneSpec")]);
    case("ProxmoxCluster")
        .written("spec", &[("{cloneSpec: {machineSpec: {}}, dnsServers: [d]}", "{dnsServers: [d]}")]);
    case("ProxmoxCluster").refused("spec", &[("{ipv4Config: {prefix: 24}}", "/spec/ipv4Config/gateway")]);
}
