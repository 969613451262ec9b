//! The template of the Sovereign Cloud Stack's Cluster API provider, with a schema and five levels over it: what comes out
//! is what clusterctl's substitution gives.

use std::collections::BTreeMap;

use capstan_yaml::{Value, YamlFile};

use super::shared_data;
use capstan_test_parts::sandbox::Sandbox;

/// What clusterctl would be given. Of each, what an inventory says and the text that clusterctl substitutes.
const VALUES: [(&str, &str, &str); 21] = [
    // Of an environment.
    ("KUBERNETES_VERSION", "v1.25.6", "v1.25.6"),
    ("ETCD_UNSAFE_FS", "false", "false"),
    ("OPENSTACK_IMAGE_NAME", "ubuntu-capi-image-v1.25.6", "ubuntu-capi-image-v1.25.6"),
    ("CONTROL_PLANE_MACHINE_COUNT", "3", "3"),
    // Of a customer.
    ("PREFIX", "capi", "capi"),
    ("OPENSTACK_SSH_KEY_NAME", "acme-ops", "acme-ops"),
    ("OPENSTACK_CLOUD", "acme", "acme"),
    // Of a site.
    ("OPENSTACK_DNS_NAMESERVERS", "[5.1.66.255, 185.150.99.255]", "[ 5.1.66.255, 185.150.99.255 ]"),
    ("OPENSTACK_FAILURE_DOMAIN", "nova", "nova"),
    (
        "OPENSTACK_EXTERNAL_NETWORK_ID",
        "ebfe5546-f09f-4f42-ab54-094e457d42ec",
        "ebfe5546-f09f-4f42-ab54-094e457d42ec",
    ),
    // Of an infrastructure provider.
    ("OPENSTACK_CONTROL_PLANE_MACHINE_FLAVOR", "SCS-2V-4-20s", "SCS-2V-4-20s"),
    ("OPENSTACK_NODE_MACHINE_FLAVOR", "SCS-4V-16", "SCS-4V-16"),
    ("NODE_CIDR", "10.8.0.0/20", "10.8.0.0/20"),
    // Of the cluster.
    ("CLUSTER_NAME", "\"{{ cluster_name }}\"", "dus1"),
    ("WORKER_MACHINE_COUNT", "5", "5"),
    ("CONTROL_PLANE_MACHINE_GEN", "genc01", "genc01"),
    ("WORKER_MACHINE_GEN", "genw01", "genw01"),
    ("OPENSTACK_SRVGRP_CONTROLLER", "\"0644\"", "\"0644\""),
    ("OPENSTACK_SRVGRP_WORKER", "e3b0c442-98fc", "e3b0c442-98fc"),
    ("OPENSTACK_CLOUD_YAML_B64", "Y2xvdWRz", "Y2xvdWRz"),
    ("OPENSTACK_CLOUD_CACERT_B64", "Y2VydA==", "Y2VydA=="),
];

/// The type of each that is not text.
const TYPES: [(&str, &str); 5] = [
    ("CONTROL_PLANE_MACHINE_COUNT", "{type: integer, minimum: 1}"),
    ("WORKER_MACHINE_COUNT", "{type: integer, default: 1}"),
    ("ETCD_UNSAFE_FS", "{type: boolean, default: true}"),
    ("OPENSTACK_DNS_NAMESERVERS", "{type: array, items: {type: string}}"),
    ("PREFIX", "{type: string, default: none, pattern: '^[a-z]+$', x-capstan-levels: [customer]}"),
];

/// As clusterctl substitutes: `${NAME}` by text, `$$` is a dollar.
fn substituted(template: &str) -> String {
    let bound = VALUES.iter().fold(template.replace("$$", "\u{1}"), |text, (name, _, value)| {
        text.replace(&format!("${{{name}}}"), value)
    });
    assert!(!bound.contains("${"), "{bound}");
    bound.replace('\u{1}', "$")
}

/// As a template of a release is written: braces are braces, variables are values.
fn as_template(template: &str) -> String {
    let mut text = template.replace("$$", "\u{1}").replace("{{ local_hostname }}", "\u{2}");
    for (name, _, _) in VALUES {
        text = text.replace(&format!("${{{name}}}"), &format!("{{{{ {name} }}}}"));
    }
    assert!(!text.contains("${"), "{text}");
    text.replace('\u{1}', "$").replace('\u{2}', "{{ '{{ local_hostname }}' }}")
}

fn objects(text: &str) -> BTreeMap<String, Value> {
    let file = YamlFile::read(text).unwrap();
    let values = file.documents().iter().map(|document| document.root.value());
    let named = values.filter(|value| !value.is_null());
    let all: Vec<(String, Value)> =
        named.map(|value| (format!("{} {}", value["kind"], value["metadata"]["name"]), value)).collect();
    let count = all.len();
    let all: BTreeMap<String, Value> = all.into_iter().collect();
    assert_eq!(all.len(), count);
    all
}

#[test]
fn a_template_of_the_sovereign_cloud_stack_under_five_levels() {
    let path = "manifests/scs-k8s-cluster-api-provider/v4.0.0/terraform/files/template/cluster-template.yaml";
    let Some(template) = shared_data(path) else { return };
    let level = |kind: &str, name: &str, spec: &str, values: &[(&str, &str, &str)]| {
        let values: String = values.iter().map(|(name, said, _)| format!("    {name}: {said}\n")).collect();
        format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n{spec}  values:\n{values}---\n"
        )
    };
    let inventory = [
        level("Environment", "prod", "  release: scs/v4.0.0\n", &VALUES[..4]),
        level("Customer", "acme", "", &VALUES[4..7]),
        level("Site", "dus", "  in: {infraProvider: os}\n", &VALUES[7..10]),
        level("InfraProvider", "os", "  final: [/NODE_CIDR]\n", &VALUES[10..13]),
        level(
            "ClusterDefinition",
            "dus1",
            "  in: {environment: prod, customer: acme, site: dus}\n",
            &VALUES[13..],
        )
        .replace("{{ cluster_name }}", "{{ OPENSTACK_SSH_KEY_NAME[:0] ~ 'dus1' }}"),
    ]
    .concat();
    let properties: String = VALUES
        .iter()
        .map(|(name, _, _)| {
            let kind =
                TYPES.iter().find(|(typed, _)| typed == name).map_or("{type: string}", |(_, kind)| kind);
            format!("  {name}: {kind}\n")
        })
        .collect();
    let checkout = Sandbox::with(&[
        (".capstan.yaml", "inventory: {path: inventory}\n"),
        ("inventory/all.yaml", &inventory),
        (
            "scs/v4.0.0/schema.yaml",
            &format!("type: object\nrequired: [KUBERNETES_VERSION]\nproperties:\n{properties}"),
        ),
        ("scs/v4.0.0/templates/cluster-template.yaml", &as_template(&template)),
    ]);
    checkout.capstan(&["validate"]).ended(0);
    let rendered = checkout.capstan(&["inventory", "render", "dus1"]);
    let (made, expected) = (objects(&rendered.ended(0).out), objects(&substituted(&template)));
    assert_eq!(made.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    assert_eq!(expected.len(), 8);
    for (name, object) in &expected {
        assert_eq!(
            &made[name], object,
            "{name}: what Capstan renders on the left, what clusterctl gives on the right"
        );
    }
    // The template's comments are there too.
    assert!(rendered.out.contains("# CIDR block used by Calico."), "{}", rendered.out);
}
