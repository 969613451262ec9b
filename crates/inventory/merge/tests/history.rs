//! Defaults, levels that may set a value, and what is final.

use super::schema;
use crate::testing::{inventory, lines};
use crate::values::Member;

const SCHEMA: &str = "\
type: object
properties:
  size: {type: integer, default: 3}
  network:
    type: object
    default: {cidr: 10.0.0.0/8, dns: [1.1.1.1]}
    properties:
      cidr: {type: string}
      mtu: {type: integer, default: 1500}
      dns: {type: array, items: {type: string}}
  proxy: {type: object, properties: {port: {type: integer, default: 3128}, host: {type: string}}}
  zone: {type: string, x-capstan-levels: [site, cluster]}
  pools:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items: {type: object, properties: {name: {type: string, default: main}, replicas: {type: integer, default: 2}}}
";

/// The values of the cluster `c`, or what is wrong.
fn values(objects: &str) -> Result<String, Vec<String>> {
    let inventory = inventory(objects);
    assert_eq!(lines(&inventory.findings), [""; 0]);
    let member = Member::of(&inventory, inventory.cluster("c").unwrap()).unwrap();
    let values = member.values(Some(&schema(SCHEMA)));
    if values.findings.is_empty() { Ok(values.value().to_string()) } else { Err(lines(&values.findings)) }
}

#[test]
fn defaults_are_the_first_level() {
    const NETWORK: &str = r#""network":{"cidr":"10.0.0.0/8","dns":["1.1.1.1"],"mtu":1500}"#;
    for (said, expected) in [
        ("{}", format!(r#"{{"size":3,{NETWORK}}}"#)),
        ("{size: ~, network: ~}", "{}".to_owned()),
        (
            "{size: 5, network: {mtu: 9000, dns: ~}}",
            r#"{"size":5,"network":{"cidr":"10.0.0.0/8","mtu":9000}}"#.to_owned(),
        ),
        (
            "{size: ~, network: {$patch: replace, cidr: 192.168.0.0/16}}",
            r#"{"network":{"cidr":"192.168.0.0/16","mtu":1500}}"#.to_owned(),
        ),
        ("{network: ~, proxy: {}}", r#"{"size":3,"proxy":{"port":3128}}"#.to_owned()),
        (
            "{size: ~, network: ~, pools: [{}, {name: b, replicas: 5}]}",
            r#"{"pools":[{"name":"main","replicas":2},{"name":"b","replicas":5}]}"#.to_owned(),
        ),
    ] {
        assert_eq!(values(&format!("ClusterDefinition c: {{values: {said}}}\n")), Ok(expected), "{said}");
    }
}

#[test]
fn a_default_of_a_key_tells_items_apart() {
    let objects = "ClusterDefinition c: {in: {site: s}, values: {size: ~, network: ~, pools: [{name: main, replicas: 7}]}}\nSite s: {values: {pools: [{replicas: 5}]}}\n";
    assert_eq!(values(objects), Ok(r#"{"pools":[{"replicas":7,"name":"main"}]}"#.to_owned()));
}

#[test]
fn only_the_levels_that_the_schema_names_may_set_a_value() {
    let site = "ClusterDefinition c: {in: {site: s}, values: {zone: b}}\nSite s: {values: {zone: a}}\n";
    assert!(values(site).is_ok());
    let customer = "ClusterDefinition c: {in: {customer: a}}\nCustomer a: {values: {zone: b}}\n";
    assert_eq!(
        values(customer),
        Err(vec![
            "inventory-level i/1.yaml:4:23 `/zone` may be set by Site, ClusterDefinition and ManagementClusterDefinition alone (aws/v1.0.0/schema.yaml:12:9): Customer a sets it".to_owned()
        ])
    );
}

#[test]
fn what_is_final_stays_as_it_is() {
    let all = |environment: &str, own: &str| {
        values(&format!(
            "ClusterDefinition c: {{in: {{environment: e}}, values: {own}}}\nEnvironment e: {{values: {environment}}}\n"
        ))
    };
    let e = "{network: {cidr: a, dns: [x]}}, final: [/network, /size]";
    assert!(all(e, "{}").is_ok());
    assert!(all(e, "{network: {cidr: a}, size: 3}").is_ok(), "the same again");
    for (own, expected) in [
        (
            "{network: {cidr: b}}",
            vec![
                "inventory-final i/0.yaml:4:55 `/network` is final since Environment e, i/1.yaml:4:56, where it is in aws/v1.0.0/schema.yaml:6:14: ClusterDefinition c sets it to something else. Take it out here, or out of `final`",
            ],
        ),
        (
            "{network: ~}",
            vec![
                "inventory-final i/0.yaml:4:48 `/network` is final since Environment e, i/1.yaml:4:56, where it is in aws/v1.0.0/schema.yaml:6:14: ClusterDefinition c sets it to something else. Take it out here, or out of `final`",
            ],
        ),
        (
            "{network: {mtu: 9}, size: 4}",
            vec![
                "inventory-final i/0.yaml:4:54 `/network` is final since Environment e, i/1.yaml:4:56, where it is in aws/v1.0.0/schema.yaml:6:14: ClusterDefinition c sets it to something else. Take it out here, or out of `final`",
                "inventory-final i/0.yaml:4:64 `/size` is final since Environment e, i/1.yaml:4:66, where it is in aws/v1.0.0/schema.yaml:3:34: ClusterDefinition c sets it to something else. Take it out here, or out of `final`",
            ],
        ),
    ] {
        assert_eq!(all(e, own), Err(expected.into_iter().map(str::to_owned).collect()), "{own}");
    }
}
