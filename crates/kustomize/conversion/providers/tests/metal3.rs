use super::Case;

fn case(kind: &'static str) -> Case {
    Case { kind, group: "infrastructure.cluster.x-k8s.io", versions: ("v1beta1", "v1beta2") }
}

const CLUSTER_ROWS: &[(&str, &str)] = &[
    (
        "{cloudProviderEnabled: true, failureDomains: {b: {controlPlane: false}, a: {controlPlane: true, attributes: {x: y}}}}",
        "{cloudProviderEnabled: true, failureDomains: [{name: a, controlPlane: true, attributes: {x: y}}, {name: b}]}",
    ),
    ("{noCloudProvider: true}", "{cloudProviderEnabled: false}"),
    ("{noCloudProvider: false}", "{cloudProviderEnabled: true}"),
    ("{noCloudProvider: true, cloudProviderEnabled: false}", "{cloudProviderEnabled: false}"),
    ("{cloudProviderEnabled: false, controlPlaneEndpoint: {}}", "{cloudProviderEnabled: false}"),
];

#[test]
fn clusters() {
    case("Metal3Cluster").written("spec", CLUSTER_ROWS);
    // The object as a whole is spoken of: the provider does not convert it.
    let rows: Vec<(&str, &str, &[&str])> =
        CLUSTER_ROWS.iter().map(|(before, after)| (*before, *after, &[""][..])).collect();
    case("Metal3ClusterTemplate").said("spec.template.spec", &rows);
    case("Metal3Cluster").said(
        "spec",
        &[(
            "{controlPlaneEndpoint: {host: h, port: 6443}}",
            "{controlPlaneEndpoint: {host: h, port: 6443}, cloudProviderEnabled: true}",
            &["/spec/cloudProviderEnabled"],
        )],
    );
    case("Metal3Cluster").refused(
        "spec",
        &[
            ("{noCloudProvider: true, cloudProviderEnabled: true}", "/spec/noCloudProvider"),
            ("{noCloudProvider: '${NCP}'}", "/spec/noCloudProvider"),
        ],
    );
}

#[test]
fn machines() {
    let rows = [
        ("{image: {url: u, format: qcow2}}", "{image: {url: u, diskFormat: qcow2}}"),
        (
            "{dataTemplate: {name: d, namespace: nn, apiVersion: v, kind: k, uid: u, fieldPath: f, resourceVersion: r}}",
            "{dataTemplate: {name: d, namespace: nn}}",
        ),
    ];
    case("Metal3Machine").written("spec", &rows);
    case("Metal3MachineTemplate").written("spec.template.spec", &rows);
    case("Metal3MachineTemplate").written(
        "spec",
        &[(
            "{nodeReuse: false, template: {spec: {automatedCleaningMode: disabled}}}",
            "{template: {spec: {automatedCleaningMode: disabled}}}",
        )],
    );
    case("Metal3Machine").refused(
        "spec",
        &[
            ("{image: {url: u, format: iso}}", "/spec/image/format"),
            (
                "{hostSelector: {matchExpressions: [{key: a, operator: in}, {key: a, operator: notin}]}}",
                "/spec/hostSelector/matchExpressions/1/key",
            ),
        ],
    );
}

#[test]
fn data() {
    case("Metal3Data").written(
        "spec",
        &[(
            "{claim: {name: c, kind: k}, template: {name: t, uid: u}}",
            "{claim: {name: c}, template: {name: t}}",
        )],
    );
    case("Metal3DataClaim")
        .written("spec", &[("{template: {name: t, apiVersion: v}}", "{template: {name: t}}")]);
    case("Metal3DataTemplate").written(
        "spec",
        &[
            (
                "{metaData: {ipAddressesFromIPPool: [{key: a}], prefixesFromIPPool: [{key: a}], gatewaysFromIPPool: [{key: a}], dnsServersFromIPPool: [{key: a}]}}",
                "{metaData: {ipAddressesFromPool: [{key: a}], prefixesFromPool: [{key: a}], gatewaysFromPool: [{key: a}], dnsServersFromPool: [{key: a}]}}",
            ),
            (
                "{networkData: {links: {bonds: [{id: b, parameters: {z: '1', a: 2}}]}}}",
                "{networkData: {links: {bonds: [{id: b, parameters: [{name: a, value: 2}, {name: z, value: '1'}]}]}}}",
            ),
            // What another part of the name has stays.
            (
                "{networkData: {networks: {ipv4: [{id: nn, ipAddressFromIPPool: p, fromPoolRef: {name: q}}]}}}",
                "{networkData: {networks: {ipv4: [{id: nn, ipAddressFromIPPool: p, fromPoolRef: {name: q}}]}}}",
            ),
        ],
    );
    let rest = "clusterName: c";
    case("Metal3DataTemplate").said(
        "spec",
        &[(
            // Its own name.
            &format!("{{{rest}, templateReference: x}}"),
            &format!("{{{rest}}}"),
            &["/spec/templateReference"],
        )],
    );
    case("Metal3DataTemplate").written(
        "spec",
        &[
            ("{metaData: {indexes: [{key: a, offset: 0}]}}", "{metaData: {indexes: [{key: a}]}}"),
            (
                "{networkData: {networks: {ipv4: [{id: a, routes: [{network: 10.0.0.0, prefix: 0}]}]}}}",
                "{networkData: {networks: {ipv4: [{id: a, routes: [{network: 10.0.0.0}]}]}}}",
            ),
        ],
    );
    for list in ["ipv4", "ipv4DHCP", "ipv6", "ipv6DHCP", "ipv6SLAAC"] {
        let twins = format!("{{networkData: {{networks: {{{list}: [{{id: a}}, {{id: a}}]}}}}}}");
        let second = format!("/spec/networkData/networks/{list}/1/id");
        case("Metal3DataTemplate").refused("spec", &[(&twins, &second)]);
    }
    case("Metal3DataTemplate").refused(
        "spec",
        &[
            ("{templateReference: shared}", "/spec/templateReference"),
            ("{templateReference: '${TEMPLATE}'}", "/spec/templateReference"),
            (
                "{networkData: {links: {vlans: [{id: a, vlanID: 5}, {id: b, vlanID: 5}]}}}",
                "/spec/networkData/links/vlans/1/vlanID",
            ),
            (
                "{networkData: {networks: {ipv4: [{id: a, routes: [{network: 0.0.0.0}, {network: 0.0.0.0}]}]}}}",
                "/spec/networkData/networks/ipv4/0/routes/1/network",
            ),
            ("{metaData: {strings: [{key: a}, {key: a}]}}", "/spec/metaData/strings/1/key"),
            (
                "{metaData: {ipAddressesFromIPPool: [{key: a}, {key: a}]}}",
                "/spec/metaData/ipAddressesFromIPPool/1/key",
            ),
            (
                "{networkData: {links: {ethernets: [{id: a, mtu: 1000}]}}}",
                "/spec/networkData/links/ethernets/0/mtu",
            ),
            ("{networkData: {links: {bonds: [{id: b}]}}}", "/spec/networkData/links/bonds/0/parameters"),
        ],
    );
}

#[test]
fn remediations() {
    let (rest, kind) = ("type: Reboot, retryLimit: 1", "Metal3RemediationTemplate");
    let of = |more: &str| format!("{{strategy: {{{rest}{more}}}}}");
    case(kind).written("spec.template.spec", &[(&of(", timeout: 5m"), &of(", timeoutSeconds: 300"))]);
    case(kind).said(
        "spec.template.spec",
        &[(&of(", timeout: 0s"), &of(""), &["/spec/template/spec/strategy/timeout"])],
    );
    case(kind).refused(
        "spec.template.spec",
        &[
            (&of(", timeout: 99s"), "/spec/template/spec/strategy/timeout"),
            (&of(", timeout: '${T}'"), "/spec/template/spec/strategy/timeout"),
            ("{strategy: {retryLimit: 0}}", "/spec/template/spec/strategy/retryLimit"),
            ("{strategy: {type: PowerOff}}", "/spec/template/spec/strategy/type"),
        ],
    );
}
