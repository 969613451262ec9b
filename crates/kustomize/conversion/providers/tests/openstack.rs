use super::Case;
use crate::conversion::AtHand;

const INFRA: &str = "infrastructure.cluster.x-k8s.io";

fn beta(kind: &'static str) -> Case {
    Case { kind, group: INFRA, versions: ("v1beta1", "v1beta2") }
}

fn alpha7(kind: &'static str) -> Case {
    Case { kind, group: INFRA, versions: ("v1alpha7", "v1beta1") }
}

fn alpha6(kind: &'static str) -> Case {
    Case { kind, group: INFRA, versions: ("v1alpha6", "v1beta1") }
}

const CLUSTER_ROWS: &[(&str, &str)] = &[
    (
        "{apiServerFloatingIP: 1.2.3.4, apiServerFixedIP: 10.0.0.5, apiServerPort: 6443}",
        "{apiServer: {floatingIP: 1.2.3.4, fixedIP: 10.0.0.5, port: 6443}}",
    ),
    ("{disableAPIServerFloatingIP: true}", "{apiServer: {enableFloatingIP: false}}"),
    ("{disableAPIServerFloatingIP: false}", "{apiServer: {enableFloatingIP: true}}"),
    // The default stays one.
    ("{tags: [a]}", "{tags: [a]}"),
    (
        "{apiServerLoadBalancer: {enabled: true, provider: ovn, allowedCIDRs: [10.0.0.0/8]}}",
        "{apiServer: {managedLoadBalancer: {enabled: true, provider: ovn, allowedCIDRs: [10.0.0.0/8]}}}",
    ),
    ("{apiServerLoadBalancer: {}}", "{apiServer: {managedLoadBalancer: {}}}"),
    ("{disableExternalNetwork: true}", "{enableExternalNetwork: false}"),
    ("{disableExternalNetwork: false}", "{enableExternalNetwork: true}"),
    (
        "{networkMTU: 1400, disablePortSecurity: true}",
        "{managedNetwork: {mtu: 1400, enablePortSecurity: false}}",
    ),
    (
        "{externalRouterIPs: [{subnet: {id: a}, fixedIP: 1.1.1.1}]}",
        "{managedRouter: {externalIPs: [{subnet: {id: a}, fixedIP: 1.1.1.1}]}}",
    ),
    ("{tags: [a], externalRouterIPs: []}", "{tags: [a]}"),
    (
        "{managedSecurityGroups: {allowAllInClusterTraffic: true, allNodesSecurityGroupRules: [{name: a, direction: ingress}]}}",
        "{managedSecurityGroups: {allowAllInClusterTraffic: true, clusterNodesSecurityGroupRules: [{name: a, direction: ingress}]}}",
    ),
    (
        "{managedSecurityGroups: {allowAllInClusterTraffic: true, allNodesSecurityGroupRules: []}}",
        "{managedSecurityGroups: {allowAllInClusterTraffic: true}}",
    ),
    ("{tags: [a], controlPlaneEndpoint: {}}", "{tags: [a]}"),
    ("{tags: [a], controlPlaneEndpoint: {host: '', port: 0}}", "{tags: [a]}"),
];

#[test]
fn clusters_of_v1beta1() {
    beta("OpenStackCluster").written("spec", CLUSTER_ROWS);
    beta("OpenStackClusterTemplate").written("spec.template.spec", CLUSTER_ROWS);
    beta("OpenStackCluster").refused(
        "spec",
        &[
            ("{disableAPIServerFloatingIP: '${NO_FIP}'}", "/spec/disableAPIServerFloatingIP"),
            ("{disableExternalNetwork: '${NO_NET}'}", "/spec/disableExternalNetwork"),
            // The server drops a field of the newer version today, and would act on it tomorrow.
            ("{apiServerPort: 6443, apiServer: {port: 1}}", "/spec/apiServer/port"),
        ],
    );
}

const MACHINE_ROWS: &[(&str, &str)] = &[
    ("{flavor: m1.large}", "{flavor: {filter: {name: m1.large}}}"),
    ("{flavor: '${FLAVOR}'}", "{flavor: {filter: {name: '${FLAVOR}'}}}"),
    ("{flavorID: f-1}", "{flavor: {id: f-1}}"),
    (
        "{flavor: a, ports: [{disablePortSecurity: true}, {disablePortSecurity: false}, {trunk: true}]}",
        "{flavor: {filter: {name: a}}, ports: [{enablePortSecurity: false}, {enablePortSecurity: true}, {trunk: true}]}",
    ),
    (
        "{flavor: a, additionalBlockDevices: [{name: d, sizeGiB: 1, storage: {type: Volume}}]}",
        "{flavor: {filter: {name: a}}, additionalBlockDevices: [{name: d, sizeGiB: 1, storage: {type: Volume}}]}",
    ),
];

#[test]
fn machines_of_v1beta1() {
    beta("OpenStackMachine").written("spec", MACHINE_ROWS);
    beta("OpenStackMachineTemplate").written("spec.template.spec", MACHINE_ROWS);
    beta("OpenStackCluster").written("spec.bastion.spec", MACHINE_ROWS);
    beta("OpenStackClusterTemplate").written("spec.template.spec.bastion.spec", MACHINE_ROWS);
    beta("OpenStackMachine")
        .said("spec", &[("{flavor: a, flavorID: f-1}", "{flavor: {id: f-1}}", &["/spec/flavor"])]);
    beta("OpenStackMachine").refused(
        "spec",
        &[
            ("{sshKeyName: k}", "/spec/flavor"),
            ("{flavor: {filter: {name: a}}}", "/spec/flavor"),
            (
                "{flavor: a, additionalBlockDevices: [{name: d, sizeGiB: 1, storage: {type: volume}}]}",
                "/spec/additionalBlockDevices/0/storage/type",
            ),
        ],
    );
}

/// A patch says what it changes alone.
#[test]
fn parts_of_objects_get_nothing_that_they_do_not_say() {
    let (value, notes) = beta("OpenStackMachineTemplate")
        .convert("spec.template.spec", "{sshKeyName: k}", AtHand::Part)
        .unwrap();
    assert_eq!(value["spec"]["template"]["spec"], serde_json::json!({"sshKeyName": "k"}));
    assert!(notes.is_empty());
    let patch = "{apiServerLoadBalancer: {$patch: delete}, disableExternalNetwork: null}";
    let (value, _) = beta("OpenStackCluster").convert("spec", patch, AtHand::Part).unwrap();
    assert_eq!(
        value["spec"],
        serde_json::json!({"apiServer": {"managedLoadBalancer": {"$patch": "delete"}}, "enableExternalNetwork": null})
    );
}

/// The base may have the range that a patch of the name servers lacks.
#[test]
fn name_servers_without_their_range_are_refused_in_a_part() {
    let part = "{dnsNameservers: [1.1.1.1]}";
    let refused = alpha7("OpenStackCluster").convert("spec", part, AtHand::Part).unwrap_err();
    let fields: Vec<String> = refused.iter().map(|why| why.field.to_string()).collect();
    assert_eq!(fields, ["/spec/dnsNameservers"]);
}

const ID: &str = "0b1c2d3e-0000-1111-2222-333344445555";

#[test]
fn clusters_of_v1alpha7() {
    let who = "identityRef: {name: s, kind: Secret}, cloudName: c";
    let is = "identityRef: {name: s, cloudName: c}";
    for (before, after) in [
        (format!("externalNetworkId: {ID}"), format!("externalNetwork: {{id: {ID}}}")),
        (
            "subnet: {name: a, gateway_ip: 10.0.0.1, ipv6RaMode: slaac}".to_owned(),
            "subnets: [{filter: {name: a, gatewayIP: 10.0.0.1, ipv6RAMode: slaac}}]".to_owned(),
        ),
        (
            "network: {tags: 'a,b,,', notTagsAny: c, projectId: p}".to_owned(),
            "network: {filter: {tags: [a, b], notTagsAny: [c], projectID: p}}".to_owned(),
        ),
        (format!("router: {{id: {ID}}}"), format!("router: {{id: {ID}}}")),
        ("networkMtu: 1400".to_owned(), "networkMTU: 1400".to_owned()),
        (
            "apiServerLoadBalancer: {enabled: true, allowedCidrs: [10.0.0.0/8]}".to_owned(),
            "apiServerLoadBalancer: {enabled: true, allowedCIDRs: [10.0.0.0/8]}".to_owned(),
        ),
        (
            "bastion: {enabled: true, instance: {flavor: f, image: i, floatingIP: 1.2.3.4}}".to_owned(),
            "bastion: {enabled: true, floatingIP: 1.2.3.4, spec: {flavor: f, image: {filter: {name: i}}}}"
                .to_owned(),
        ),
        (
            "nodeCidr: 10.6.0.0/24, dnsNameservers: [1.1.1.1]".to_owned(),
            "managedSubnets: [{cidr: 10.6.0.0/24, dnsNameservers: [1.1.1.1]}]".to_owned(),
        ),
        (
            "managedSecurityGroups: true, allowAllInClusterTraffic: true".to_owned(),
            "managedSecurityGroups: {allowAllInClusterTraffic: true}".to_owned(),
        ),
        ("managedSecurityGroups: false, tags: [a]".to_owned(), "tags: [a]".to_owned()),
        (
            "externalRouterIPs: [{subnet: {name: a}}]".to_owned(),
            "externalRouterIPs: [{subnet: {filter: {name: a}}}]".to_owned(),
        ),
    ] {
        let (before, after) = (format!("{{{who}, {before}}}"), format!("{{{is}, {after}}}"));
        alpha7("OpenStackCluster").written("spec", &[(&before, &after)]);
    }
    let with = |more: &str| format!("{{{who}, {more}}}");
    alpha7("OpenStackCluster").said(
        "spec",
        &[
            (&with("dnsNameservers: [1.1.1.1]"), &format!("{{{is}}}"), &["/spec/dnsNameservers"]),
            (
                &with("managedSecurityGroups: true"),
                &format!("{{{is}, managedSecurityGroups: {{allNodesSecurityGroupRules: [{{name: BGP (calico), description: Created by cluster-api-provider-openstack - BGP (calico), direction: ingress, etherType: IPv4, portRangeMin: 179, portRangeMax: 179, protocol: tcp, remoteManagedGroups: [controlplane, worker]}}, {{name: IP-in-IP (calico), description: Created by cluster-api-provider-openstack - IP-in-IP (calico), direction: ingress, etherType: IPv4, protocol: '4', remoteManagedGroups: [controlplane, worker]}}]}}}}"),
                &["/spec/managedSecurityGroups"],
            ),
            (
                &with(&format!("network: {{id: {ID}, name: a}}")),
                &format!("{{{is}, network: {{id: {ID}}}}}"),
                &["/spec/network/name"],
            ),
            (
                &with("apiServerLoadBalancer: {provider: ovn}"),
                &format!("{{{is}, apiServerLoadBalancer: {{provider: ovn, enabled: false}}}}"),
                &["/spec/apiServerLoadBalancer/enabled"],
            ),
        ],
    );
    alpha7("OpenStackCluster").refused(
        "spec",
        &[
            ("{cloudName: c}", "/spec/cloudName"),
            ("{identityRef: {name: s, kind: Secret}}", "/spec/identityRef"),
            ("{tags: [a]}", "/spec/identityRef"),
            (&with("externalNetworkId: public"), "/spec/externalNetworkId"),
            (&with("managedSecurityGroups: '${MSG}'"), "/spec/managedSecurityGroups"),
        ],
    );
}

#[test]
fn machines_of_v1alpha7() {
    let case = alpha7("OpenStackMachineTemplate");
    let image = format!("imageUUID: {ID}");
    let is = format!("image: {{id: {ID}}}");
    for (before, after) in [
        ("instanceID: i".to_owned(), "tags: [a]".to_owned()),
        (format!("serverGroupID: {ID}"), format!("serverGroup: {{id: {ID}}}")),
        (
            "serverMetadata: {b: '2', a: '1'}".to_owned(),
            "serverMetadata: [{key: a, value: '1'}, {key: b, value: '2'}]".to_owned(),
        ),
        (
            "rootVolume: {diskSize: 30, volumeType: ssd, availabilityZone: z}".to_owned(),
            "rootVolume: {sizeGiB: 30, type: ssd, availabilityZone: {from: Name, name: z}}".to_owned(),
        ),
        (
            "rootVolume: {diskSize: 30}".to_owned(),
            "rootVolume: {sizeGiB: 30, availabilityZone: {from: Machine}}".to_owned(),
        ),
        (
            "additionalBlockDevices: [{name: d, sizeGiB: 1, storage: {type: Volume, volume: {type: ssd}}}]".to_owned(),
            "additionalBlockDevices: [{name: d, sizeGiB: 1, storage: {type: Volume, volume: {type: ssd, availabilityZone: {from: Machine}}}}]".to_owned(),
        ),
        (
            "ports: [{securityGroupFilters: [{name: g}], hostId: h, allowedAddressPairs: [{ipAddress: 10.0.0.1}], network: {name: nn}, fixedIPs: [{subnet: {name: s}}]}]".to_owned(),
            "ports: [{securityGroups: [{filter: {name: g}}], hostID: h, allowedAddressPairs: [{ipAddress: 10.0.0.1}], network: {filter: {name: nn}}, fixedIPs: [{subnet: {filter: {name: s}}}]}]".to_owned(),
        ),
        ("securityGroups: [{name: g}]".to_owned(), "securityGroups: [{filter: {name: g}}]".to_owned()),
    ] {
        let tags = if after.starts_with("tags") { "tags: [a], " } else { "" };
        let (before, after) = (format!("{{{image}, {tags}{before}}}"), format!("{{{is}, {after}}}"));
        case.written("spec.template.spec", &[(&before, &after)]);
    }
    case.written("spec.template.spec", &[("{image: ubuntu}", "{image: {filter: {name: ubuntu}}}")]);
    case.said(
        "spec.template.spec",
        &[(&format!("{{image: ubuntu, {image}}}"), &format!("{{{is}}}"), &["/spec/template/spec/image"])],
    );
    case.said(
        "spec.template.spec",
        &[("{image: i, cloudName: c}", "{image: {filter: {name: i}}}", &["/spec/template/spec/cloudName"])],
    );
    case.refused(
        "spec.template.spec",
        &[("{image: i, identityRef: {kind: Secret, name: s}}", "/spec/template/spec/identityRef")],
    );
    case.asked(
        "spec.template.spec",
        &[("{image: i, floatingIP: 1.2.3.4}", "/spec/template/spec/floatingIP")],
    );
    let long = format!("{{image: i, serverMetadata: {{a: {}}}}}", "x".repeat(256));
    case.refused(
        "spec.template.spec",
        &[
            ("{imageUUID: ubuntu}", "/spec/template/spec/imageUUID"),
            ("{image: i, serverGroupID: ours}", "/spec/template/spec/serverGroupID"),
            (&long, "/spec/template/spec/serverMetadata/a"),
            (
                "{image: i, ports: [{allowedAddressPairs: [{macAddress: m}]}]}",
                "/spec/template/spec/ports/0/allowedAddressPairs/0/ipAddress",
            ),
            ("{image: i, rootVolume: {diskSize: 0}}", "/spec/template/spec/rootVolume/diskSize"),
        ],
    );
}

#[test]
fn machines_of_v1alpha6() {
    let case = alpha6("OpenStackMachine");
    let is = "image: {filter: {name: i}}";
    let networks = format!("networks: [{{uuid: {ID}, subnets: [{{uuid: {ID}}}]}}], ports: [{{trunk: true}}]");
    let ports =
        format!("ports: [{{network: {{id: {ID}}}, fixedIPs: [{{subnet: {{id: {ID}}}}}]}}, {{trunk: true}}]");
    let group = format!(
        "securityGroups: [{{uuid: {ID}}}, {{filter: {{name: g, limit: 1, sortKey: k, tenantId: t}}}}]"
    );
    let groups = format!("securityGroups: [{{id: {ID}}}, {{filter: {{name: g, projectID: t}}}}]");
    let port = format!(
        "ports: [{{securityGroups: [{ID}], tenantId: t, projectId: p, profile: {{capabilities: '[\"switchdev\"]', trusted: 'true'}}}}]"
    );
    let after_port = format!(
        "ports: [{{securityGroups: [{{id: {ID}}}], profile: {{ovsHWOffload: true, trustedVF: true}}}}]"
    );
    for (before, after) in [(&networks, &ports), (&group, &groups), (&port, &after_port)] {
        let (before, after) = (format!("{{image: i, {before}}}"), format!("{{{is}, {after}}}"));
        case.written("spec", &[(&before, &after)]);
    }
    case.said("spec", &[("{image: i, subnet: s}", &format!("{{{is}}}"), &["/spec/subnet"])]);
    let fixed = format!("{{image: i, networks: [{{uuid: {ID}, fixedIP: 10.0.0.9}}]}}");
    let after = format!("{{{is}, ports: [{{network: {{id: {ID}}}}}]}}");
    case.said("spec", &[(&fixed, &after, &["/spec/networks/0/fixedIP"])]);
    case.asked("spec", &[("{image: i, networks: [{filter: {name: nn}}]}", "/spec/networks/0")]);
    case.refused("spec", &[("{image: i, ports: [{profile: {other: x}}]}", "/spec/ports/0/profile/other")]);
    let who = "identityRef: {name: s, kind: Secret}, cloudName: c";
    let routers = format!("{{{who}, externalRouterIPs: [{{subnet: {{uuid: {ID}}}}}]}}");
    let after =
        format!("{{identityRef: {{name: s, cloudName: c}}, externalRouterIPs: [{{subnet: {{id: {ID}}}}}]}}");
    alpha6("OpenStackCluster").written("spec", &[(&routers, &after)]);
}
