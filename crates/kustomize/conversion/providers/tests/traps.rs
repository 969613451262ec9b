//! What the providers' sources show to be traps, and what a text looks like afterwards.

use super::read;
use crate::conversion::{convert, in_order_of, replay};
use crate::schema::Schemas;
use capstan_model::object::FieldPath;
use capstan_yaml::YamlFile;

const V1BETA2: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

#[test]
fn an_export_with_the_servers_own_note_is_refused() {
    let object = read(
        "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackCluster, metadata: {annotations: {cluster.x-k8s.io/conversion-data: '{}'}}, spec: {}}",
    );
    let refused = convert(&object, V1BETA2, Schemas::built_in()).unwrap_err();
    assert_eq!(refused.field.to_string(), "/metadata/annotations/cluster.x-k8s.io~1conversion-data");
}

#[test]
fn the_state_of_an_object_goes() {
    let object = read(
        "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackCluster, spec: {tags: [a]}, status: {ready: true}}",
    );
    let conversion = convert(&object, V1BETA2, Schemas::built_in()).unwrap();
    let mut after = object.clone();
    crate::conversion::apply(&mut after, &conversion);
    assert_eq!(
        after.value(),
        read(
            "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: OpenStackCluster, spec: {tags: [a]}}"
        )
        .value()
    );
}

/// A claim's cluster is a label in v1alpha1, and a field besides later.
#[test]
fn a_claim_of_an_address_names_its_cluster() {
    let claim = |version: &str, more: &str| {
        read(&format!(
            "{{apiVersion: ipam.cluster.x-k8s.io/{version}, kind: IPAddressClaim, metadata: {{name: x, labels: {{cluster.x-k8s.io/cluster-name: c}}}}, spec: {{poolRef: {{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: p}}{more}}}}}"
        ))
    };
    for version in ["v1beta1", "v1beta2"] {
        let object = claim("v1alpha1", "");
        let to = format!("ipam.cluster.x-k8s.io/{version}");
        let conversion = convert(&object, &to, Schemas::built_in()).unwrap();
        let mut after = object.clone();
        crate::conversion::apply(&mut after, &conversion);
        assert_eq!(after.value(), claim(version, ", clusterName: c").value());
    }
}

#[test]
fn a_message_says_both_meanings_and_what_to_write() {
    let object = read(
        "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereMachineTemplate, spec: {template: {spec: {failureDomain: fd-1}}}}",
    );
    let refused = convert(&object, V1BETA2, Schemas::built_in()).unwrap_err();
    assert!(refused.asks);
    assert_eq!(
        refused.to_string(),
        "VSphereMachineTemplate cannot be converted from infrastructure.cluster.x-k8s.io/v1beta1 to infrastructure.cluster.x-k8s.io/v1beta2 at /spec/template/spec/failureDomain (\"fd-1\"): v1beta1 places the machine in this failure domain; v1beta2 has no such field, takes that of the Machine, and drops this without a word; take it out, and write `spec.template.spec.failureDomain` of the MachineDeployment, if the machines are to stay there"
    );
}

/// Comments, order and quotes stay where they are.
#[test]
fn a_text_keeps_its_comments() {
    let before = "\
# our cluster
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata:
  name: \"c\" # as its Cluster
spec:
  # no address of its own
  disableAPIServerFloatingIP: true # behind a VPN
  # the balancer
  apiServerLoadBalancer:
    enabled: true # needed
    provider: 'ovn'
  tags: # ours
  - a
";
    let after = "\
# our cluster
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackCluster
metadata:
  name: \"c\" # as its Cluster
spec:
  apiServer:
    # no address of its own
    enableFloatingIP: false # behind a VPN
    # the balancer
    managedLoadBalancer:
      enabled: true # needed
      provider: 'ovn'
  tags: # ours
  - a
";
    let file = YamlFile::read(before).unwrap();
    let object = file.documents()[0].root.clone();
    let conversion = convert(&object, V1BETA2, Schemas::built_in()).unwrap();
    let conversion = in_order_of(&object, conversion);
    let done = replay(&file, &FieldPath::root(), &conversion).unwrap();
    assert_eq!(done.text(), after);
}

/// Items of a list that was a mapping were its entries; items of a list that was one had no name.
#[test]
fn items_were_the_entries_of_their_names() {
    let group = "infrastructure.cluster.x-k8s.io";
    for (kind, from, to, spec, after, before) in [
        (
            "Metal3Cluster",
            "v1beta1",
            "v1beta2",
            "{failureDomains: {az2: {controlPlane: true}, az1: {attributes: {rack: r}}}}",
            "/spec/failureDomains/0/attributes/rack",
            "/spec/failureDomains/az1/attributes/rack",
        ),
        (
            "OpenStackMachine",
            "v1alpha7",
            "v1beta1",
            "{cloudName: c, identityRef: {name: n}, image: i, flavor: f, serverMetadata: {role: worker}}",
            "/spec/serverMetadata/0/value",
            "/spec/serverMetadata/role",
        ),
        (
            "ProxmoxMachine",
            "v1alpha1",
            "v1alpha2",
            "{sourceNode: a, network: {default: {bridge: b}, additionalDevices: [{name: net1, bridge: c}]}}",
            "/spec/network/networkDevices/1/bridge",
            "/spec/network/networkDevices/1/bridge",
        ),
    ] {
        let object = read(&format!("{{apiVersion: {group}/{from}, kind: {kind}, spec: {spec}}}"));
        let conversion = match convert(&object, &format!("{group}/{to}"), Schemas::built_in()) {
            Ok(conversion) => conversion,
            Err(why) => panic!("{kind}: {why:?}"),
        };
        let mut now = object.clone();
        crate::conversion::apply(&mut now, &conversion);
        let path = FieldPath::parse(after).unwrap();
        assert!(now.at(&path).is_some(), "{kind}: {}", now.value());
        assert_eq!(conversion.before(&path).to_string(), before, "{kind}");
    }
}
