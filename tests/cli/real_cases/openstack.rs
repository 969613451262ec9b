//! A cluster made from the OpenStack provider's template of v0.8.0 goes to the one of v0.10.8: the
//! infrastructure API moves from v1alpha7 to v1beta1, and several fields change their shape.

use serde_json::{Value, json};

use super::{object, shared_data};
use capstan_test_parts::sandbox::Sandbox;

const FILE: &str = "acme/dus1/base/cluster.yaml";
/// By the canonical JSON of the new specs, worked out apart.
const CONTROL_PLANE: &str = "dus1-control-plane-d4dfbc8b";
const WORKERS: &str = "dus1-md-0-8d6d22fb";

const VARIABLES: [(&str, &str); 14] = [
    ("CLUSTER_NAME", "dus1"),
    ("OPENSTACK_CLOUD_CACERT_B64", "Y2VydA=="),
    ("OPENSTACK_CLOUD_YAML_B64", "Y2xvdWRz"),
    ("WORKER_MACHINE_COUNT", "5"),
    ("CONTROL_PLANE_MACHINE_COUNT", "3"),
    ("OPENSTACK_FAILURE_DOMAIN", "nova"),
    ("KUBERNETES_VERSION", "v1.29.2"),
    ("OPENSTACK_CLOUD", "dus"),
    ("OPENSTACK_DNS_NAMESERVERS", "10.1.1.53"),
    ("OPENSTACK_EXTERNAL_NETWORK_ID", "8f2e5b1c-4a6d-4c1e-9b7f-2d3c4e5f6a7b"),
    ("OPENSTACK_CONTROL_PLANE_MACHINE_FLAVOR", "m1.medium"),
    ("OPENSTACK_NODE_MACHINE_FLAVOR", "m1.large"),
    ("OPENSTACK_IMAGE_NAME", "ubuntu-2204-kube-v1.29.2"),
    ("OPENSTACK_SSH_KEY_NAME", "ops"),
];

/// What a person did to the base since: one line each, so that line numbers stay the template's.
const EDITS: [(&str, &str); 3] = [
    ("      - 192.168.0.0/16\n", "      - 10.244.0.0/16   # 192.168 is the office\n"),
    ("  nodeCidr: 10.6.0.0/24\n", "  nodeCidr: 10.20.0.0/16\n"),
    ("  name: dus1-md-0\nspec:\n  clusterName", "  name: dus1-md-0 # web and batch\nspec:\n  clusterName"),
];

fn replaced(mut text: String, replacements: &[(&str, &str)]) -> String {
    for (old, new) in replacements {
        assert!(text.contains(old), "the template lacks {old:?}");
        text = text.replace(old, new);
    }
    text
}

fn of_cluster(template: &str) -> String {
    let bound = VARIABLES
        .iter()
        .fold(template.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value));
    assert!(!bound.contains("${"), "{bound}");
    replaced(bound, &EDITS)
}

#[test]
fn a_template_of_the_openstack_provider_over_two_versions() {
    let release = |version: &str| {
        let path =
            format!("manifests/cluster-api-provider-openstack/{version}/templates/cluster-template.yaml");
        shared_data(&path)
    };
    let (Some(old), Some(new)) = (release("v0.8.0"), release("v0.10.8")) else { return };
    // The record has one of the variables: the values of the others are the cluster's text where v1alpha7 has them.
    let cluster = of_cluster(&old);
    let sandbox = Sandbox::with(&[
        ("openstack/v0.8.0/base/cluster-template.yaml", &old),
        ("openstack/v0.10.8/base/cluster-template.yaml", &new),
        (FILE, &cluster),
        ("acme/dus1/capstan.yaml", "release: openstack/v0.8.0\nvariables:\n  CLUSTER_NAME: dus1\n"),
    ]);

    let plan = sandbox.capstan(&["plan", "acme/dus1", "-o", "json"]).json(0);
    let plan = &plan[0];
    assert_eq!(plan["from"], "openstack/v0.8.0");
    assert_eq!(plan["to"], "openstack/v0.10.8");
    assert_eq!(plan["basis"], "known");
    assert_eq!(plan["findings"], json!([]));
    let changes: Vec<&Value> = plan["changes"].as_array().unwrap().iter().collect();
    let told: Vec<Value> = changes
        .iter()
        .map(|change| {
            json!([change["line"], change["object"]["kind"], change["path"], change["op"], change["reason"]])
        })
        .collect();
    assert_eq!(
        told,
        [
            json!([41, "Cluster", "/spec/infrastructureRef/apiVersion", "replace", "release"]),
            json!([
                64,
                "MachineDeployment",
                "/spec/template/spec/infrastructureRef/apiVersion",
                "replace",
                "release"
            ]),
            json!([
                66,
                "MachineDeployment",
                "/spec/template/spec/infrastructureRef/name",
                "replace",
                "reference"
            ]),
            json!([
                97,
                "KubeadmControlPlane",
                "/spec/machineTemplate/infrastructureRef/apiVersion",
                "replace",
                "release"
            ]),
            json!([
                99,
                "KubeadmControlPlane",
                "/spec/machineTemplate/infrastructureRef/name",
                "replace",
                "reference"
            ]),
            json!([103, "OpenStackCluster", "/apiVersion", "replace", "release"]),
            json!([110, "OpenStackCluster", "/spec/identityRef/cloudName", "move", "release"]),
            json!([111, "OpenStackCluster", "/spec/dnsNameservers", "remove", "release"]),
            json!([113, "OpenStackCluster", "/spec/externalNetwork/id", "move", "release"]),
            json!([115, "OpenStackCluster", "/spec/identityRef/kind", "remove", "release"]),
            json!([117, "OpenStackCluster", "/spec/managedSecurityGroups", "replace", "release"]),
            json!([
                117,
                "OpenStackCluster",
                "/spec/managedSecurityGroups/allNodesSecurityGroupRules/0",
                "remove",
                "release"
            ]),
            json!([118, "OpenStackCluster", "/spec/managedSubnets", "move", "release"]),
            json!([120, "OpenStackMachineTemplate", "/apiVersion", "replace", "release"]),
            json!([123, "OpenStackMachineTemplate", "/metadata/name", "replace", "rotation"]),
            json!([
                127,
                "OpenStackMachineTemplate",
                "/spec/template/spec/identityRef/cloudName",
                "move",
                "release"
            ]),
            json!([129, "OpenStackMachineTemplate", "/spec/template/spec/identityRef", "remove", "release"]),
            json!([
                130,
                "OpenStackMachineTemplate",
                "/spec/template/spec/identityRef/kind",
                "remove",
                "release"
            ]),
            json!([132, "OpenStackMachineTemplate", "/spec/template/spec/image", "replace", "release"]),
            json!([135, "OpenStackMachineTemplate", "/apiVersion", "replace", "release"]),
            json!([138, "OpenStackMachineTemplate", "/metadata/name", "replace", "rotation"]),
            json!([
                142,
                "OpenStackMachineTemplate",
                "/spec/template/spec/identityRef/cloudName",
                "move",
                "release"
            ]),
            json!([144, "OpenStackMachineTemplate", "/spec/template/spec/identityRef", "remove", "release"]),
            json!([
                145,
                "OpenStackMachineTemplate",
                "/spec/template/spec/identityRef/kind",
                "remove",
                "release"
            ]),
            json!([147, "OpenStackMachineTemplate", "/spec/template/spec/image", "replace", "release"]),
            json!([
                null,
                "OpenStackCluster",
                "/spec/managedSecurityGroups/allNodesSecurityGroupRules/-",
                "add",
                "release"
            ]),
        ]
    );
    let new_value = |line: u32| &changes.iter().find(|change| change["line"] == line).unwrap()["new"];
    assert_eq!(new_value(66), WORKERS);
    assert_eq!(new_value(99), CONTROL_PLANE);
    assert_eq!(new_value(132), &json!({"filter": {"name": "ubuntu-2204-kube-v1.29.2"}}));
    // The person's range goes along with the release's name servers.
    assert_eq!(new_value(118), &json!([{"cidr": "10.20.0.0/16", "dnsNameservers": ["10.1.1.53"]}]));
    assert_eq!(plan["conflicts"], json!([]));
    assert_eq!(
        plan["rollouts"],
        json!([
            {"object": object("cluster.x-k8s.io", "MachineDeployment", None, "dus1-md-0"), "machines": 5,
             "certainty": "offline", "because": ["/spec/template/spec/infrastructureRef/name"]},
            {"object": object("controlplane.cluster.x-k8s.io", "KubeadmControlPlane", None, "dus1-control-plane"),
             "machines": 3, "certainty": "offline", "because": ["/spec/machineTemplate/infrastructureRef/name"]},
        ])
    );

    sandbox.capstan(&["upgrade", "acme/dus1", "--to", "openstack/v0.10.8", "--write"]).ended(0);
    let tree = sandbox.tree_id("openstack/v0.10.8");
    assert_eq!(
        sandbox.read("acme/dus1/capstan.yaml"),
        format!("release: openstack/v0.10.8\nreleaseTree: {tree}\nvariables:\n  CLUSTER_NAME: dus1\n")
    );
    // A person's comments, edits and every line that nothing spoke of are where they were.
    let written = sandbox.read(FILE);
    for line in cluster
        .lines()
        .take(40)
        .chain(["      - 10.244.0.0/16   # 192.168 is the office", "  name: dus1-md-0 # web and batch"])
    {
        assert!(written.lines().any(|other| other == line), "{line:?} is gone from\n{written}");
    }

    let rendered = sandbox.capstan(&["render", "acme/dus1", "-o", "json"]).json(0);
    let rendered = rendered.as_array().unwrap();
    let find = |kind: &str, name: &str| {
        let is = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name;
        rendered.iter().find(is).unwrap_or_else(|| panic!("no {kind} {name}"))
    };
    assert_eq!(rendered.len(), 10, "eight objects, and two templates under new names");
    assert_eq!(
        find("OpenStackCluster", "dus1"),
        &json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "OpenStackCluster",
            "metadata": {"name": "dus1"},
            "spec": {
                "apiServerLoadBalancer": {"enabled": true},
                "externalNetwork": {"id": "8f2e5b1c-4a6d-4c1e-9b7f-2d3c4e5f6a7b"},
                "identityRef": {"cloudName": "dus", "name": "dus1-cloud-config"},
                "managedSecurityGroups": {"allNodesSecurityGroupRules": [
                    {"description": "Created by cluster-api-provider-openstack - BGP (calico)", "direction": "ingress",
                     "etherType": "IPv4", "name": "BGP (Calico)", "portRangeMax": 179, "portRangeMin": 179,
                     "protocol": "tcp", "remoteManagedGroups": ["controlplane", "worker"]},
                    {"description": "Created by cluster-api-provider-openstack - IP-in-IP (calico)",
                     "direction": "ingress", "etherType": "IPv4", "name": "IP-in-IP (calico)", "protocol": "4",
                     "remoteManagedGroups": ["controlplane", "worker"]},
                ]},
                "managedSubnets": [{"cidr": "10.20.0.0/16", "dnsNameservers": ["10.1.1.53"]}],
            },
        })
    );
    let template = |name: &str, flavor: &str| {
        json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "OpenStackMachineTemplate",
            "metadata": {"name": name},
            "spec": {"template": {"spec": {
                "flavor": flavor, "image": {"filter": {"name": "ubuntu-2204-kube-v1.29.2"}}, "sshKeyName": "ops",
            }}},
        })
    };
    assert_eq!(find("OpenStackMachineTemplate", CONTROL_PLANE), &template(CONTROL_PLANE, "m1.medium"));
    assert_eq!(find("OpenStackMachineTemplate", WORKERS), &template(WORKERS, "m1.large"));
    assert_eq!(find("OpenStackMachineTemplate", "dus1-md-0")["spec"]["template"]["spec"]["cloudName"], "dus");
    let deployment = find("MachineDeployment", "dus1-md-0");
    assert_eq!(deployment["spec"]["replicas"], 5);
    assert_eq!(
        deployment["spec"]["template"]["spec"]["infrastructureRef"],
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackMachineTemplate", "name": WORKERS})
    );
    assert_eq!(
        find("Cluster", "dus1")["spec"]["clusterNetwork"]["pods"]["cidrBlocks"],
        json!(["10.244.0.0/16"]),
        "the customer's range stays"
    );
}
