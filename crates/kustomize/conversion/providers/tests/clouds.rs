use super::Case;

const INFRA: &str = "infrastructure.cluster.x-k8s.io";

fn case(kind: &'static str, from: &'static str, to: &'static str) -> Case {
    Case { kind, group: INFRA, versions: (from, to) }
}

#[test]
fn clusters_of_cloudstack() {
    let zone = "{id: z-1, name: zone, network: {name: nn, type: Shared}}";
    let endpoint = "acsEndpoint: {name: global, namespace: ns}";
    let zones =
        format!("{{controlPlaneEndpoint: {{host: h, port: 6443}}, account: a, domain: d, zones: [{zone}]}}");
    let domains = format!(
        "{{controlPlaneEndpoint: {{host: h, port: 6443}}, failureDomains: [{{name: z-1, zone: {zone}, account: a, domain: d, {endpoint}}}]}}"
    );
    for to in ["v1beta2", "v1beta3"] {
        case("CloudStackCluster", "v1beta1", to).written("spec", &[(&zones, &domains)]);
    }
    case("CloudStackCluster", "v1beta1", "v1beta2").written(
        "spec",
        &[(
            &format!("{{identityRef: {{kind: Secret, name: global}}, zones: [{zone}]}}"),
            &format!("{{failureDomains: [{{name: z-1, zone: {zone}, {endpoint}}}]}}"),
        )],
    );
    case("CloudStackCluster", "v1beta1", "v1beta2").refused(
        "spec",
        &[
            ("{account: a}", "/spec/account"),
            ("{controlPlaneEndpoint: {host: h, port: 6443}}", "/spec/failureDomains"),
            ("{zones: [{name: zone, network: {name: nn}}]}", "/spec/zones/0"),
            ("{zones: [{id: z, network: {id: nn}}]}", "/spec/zones/0"),
            (&format!("{{identityRef: {{kind: Secret, name: mine}}, zones: [{zone}]}}"), "/spec/identityRef"),
        ],
    );
    case("CloudStackCluster", "v1beta2", "v1beta3").written("spec", &[(&domains, &domains)]);
}

#[test]
fn machines_of_cloudstack() {
    let rows = [
        (
            "{offering: {name: o}, affinitygroupids: [a, b]}",
            "{offering: {name: o}, affinityGroupIDs: [a, b]}",
        ),
        ("{cloudstackaffinityref: {kind: K, name: nn}}", "{cloudstackAffinityRef: {kind: K, name: nn}}"),
    ];
    for to in ["v1beta2", "v1beta3"] {
        case("CloudStackMachine", "v1beta1", to).written("spec", &rows);
        case("CloudStackMachineTemplate", "v1beta1", to).written("spec.template.spec", &rows);
    }
    case("CloudStackMachine", "v1beta1", "v1beta3").refused(
        "spec",
        &[
            ("{zoneID: z}", "/spec/zoneID"),
            ("{zoneName: z}", "/spec/zoneName"),
            ("{identityRef: {kind: Secret, name: s}}", "/spec/identityRef"),
        ],
    );
}

#[test]
fn machines_of_aws() {
    let machine = |kind| case(kind, "v1beta1", "v1beta2");
    for (kind, place) in [("AWSMachine", "spec"), ("AWSMachineTemplate", "spec.template.spec")] {
        let path = place.replace('.', "/");
        machine(kind).written(
            place,
            &[(
                "{instanceType: t, additionalSecurityGroups: [{id: s}], subnet: {id: nn}, ignition: {version: '2.3'}}",
                "{instanceType: t, additionalSecurityGroups: [{id: s}], subnet: {id: nn}, ignition: {version: '2.3'}}",
            )],
        );
        machine(kind).said(
            place,
            &[(
                "{instanceType: t, ignition: {}}",
                "{instanceType: t, ignition: {version: '2.3'}}",
                &[&format!("/{path}/ignition/version")],
            )],
        );
        machine(kind).refused(
            place,
            &[
                ("{failureDomain: eu-1a}", &format!("/{path}/failureDomain")),
                (
                    "{additionalSecurityGroups: [{arn: a}]}",
                    &format!("/{path}/additionalSecurityGroups/0/arn"),
                ),
                ("{subnet: {arn: a}}", &format!("/{path}/subnet/arn")),
            ],
        );
    }
    machine("AWSManagedMachinePool").written(
        "spec",
        &[(
            "{updateConfig: {maxUnavailablePrecentage: 20}}",
            "{updateConfig: {maxUnavailablePercentage: 20}}",
        )],
    );
}

#[test]
fn clusters_of_aws() {
    for (kind, place) in [("AWSCluster", "spec"), ("AWSClusterTemplate", "spec.template.spec")] {
        let path = place.replace('.', "/");
        let same = "{network: {subnets: [{id: a}, {id: b}]}}";
        case(kind, "v1beta1", "v1beta2").written(place, &[(same, same)]);
        case(kind, "v1beta1", "v1beta2").refused(
            place,
            &[
                (
                    "{network: {subnets: [{cidrBlock: 10.0.0.0/24}]}}",
                    &format!("/{path}/network/subnets/0/id"),
                ),
                ("{network: {subnets: [{id: a}, {id: a}]}}", &format!("/{path}/network/subnets/1/id")),
            ],
        );
    }
    let plane = Case {
        kind: "AWSManagedControlPlane",
        group: "controlplane.cluster.x-k8s.io",
        versions: ("v1beta1", "v1beta2"),
    };
    plane.written(
        "spec",
        &[(
            "{disableVPCCNI: true, addons: [{name: a, conflictResolution: overwrite}]}",
            "{vpcCni: {disable: true}, addons: [{name: a, conflictResolution: overwrite}]}",
        )],
    );
    plane.said(
        "spec",
        &[(
            "{addons: [{name: a}]}",
            "{addons: [{name: a, conflictResolution: none}]}",
            &["/spec/addons/0/conflictResolution"],
        )],
    );
}

#[test]
fn ibm() {
    let rows = [
        ("{zone: z, image: i-1}", "{zone: z, image: {id: i-1}}"),
        ("{zone: z, imageName: ubuntu}", "{zone: z, image: {name: ubuntu}}"),
        (
            "{image: i, sshKeys: [a, b], sshKeyNames: [c]}",
            "{image: {id: i}, sshKeys: [{id: a}, {id: b}, {name: c}]}",
        ),
        ("{image: i, sshKeyNames: [c]}", "{image: {id: i}, sshKeys: [{name: c}]}"),
    ];
    case("IBMVPCMachine", "v1beta1", "v1beta2").written("spec", &rows);
    case("IBMVPCMachineTemplate", "v1beta1", "v1beta2").written("spec.template.spec", &rows);
    case("IBMVPCMachine", "v1beta1", "v1beta2")
        .said("spec", &[("{image: i, imageName: nn}", "{image: {name: nn}}", &["/spec/image"])]);
    case("IBMVPCMachine", "v1beta1", "v1beta2").refused("spec", &[("{zone: z}", "/spec/image")]);
    case("IBMVPCCluster", "v1beta1", "v1beta2").written("spec", &[("{region: r}", "{region: r}")]);
    for field in [
        "serviceInstanceID: s",
        "serviceInstance: {id: s}",
        "network: {name: nn}",
        "dhcpServer: {name: d}",
        "resourceGroup: {name: g}",
        "vpc: {name: v}",
        "vpcSubnets: [{name: s}]",
        "vpcSecurityGroups: [{name: s}]",
        "transitGateway: {name: t}",
        "loadBalancers: [{name: l}]",
        "cosInstance: {name: c}",
    ] {
        let (name, _) = field.split_once(':').unwrap();
        case("IBMPowerVSCluster", "v1beta2", "v1beta3")
            .refused("spec", &[(&format!("{{topology: VirtualIP, {field}}}"), &format!("/spec/{name}"))]);
    }
    case("IBMPowerVSCluster", "v1beta2", "v1beta3").refused("spec", &[("{zone: z}", "/spec/topology")]);
    for field in
        ["serviceInstanceID: s", "serviceInstance: {id: s}", "image: {name: i}", "imageRef: {name: i}"]
    {
        let (name, _) = field.split_once(':').unwrap();
        case("IBMPowerVSMachine", "v1beta2", "v1beta3")
            .refused("spec", &[(&format!("{{{field}}}"), &format!("/spec/{name}"))]);
    }
    case("IBMPowerVSImage", "v1beta2", "v1beta3")
        .refused("spec", &[("{serviceInstanceID: s}", "/spec/serviceInstanceID")]);
}
