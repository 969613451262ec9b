//! Objects of the OpenStack resource controller in a folder, and what the cloud says to them before they are made.

use capstan_kustomize::render::{Folders, RenderedObject, render};
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;
use serde_json::json;

use crate::cloud::{
    CloudFacts, MachineType, OtherProposal, Questions, Quota, Resource, asks_of, exceeded_together, judge,
    needs, unjudged,
};
use crate::live_objects::LiveObjects;

const FOLDER: &str = "
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: peu01, namespace: my-org}
spec:
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackCluster, name: peu01}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: peu01, namespace: my-org}
spec:
  identityRef: {name: peu01-cloud-config, cloudName: openstack}
  disableExternalNetwork: true
  managedSecurityGroups: {allowAllInClusterTraffic: true}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: SecurityGroup
metadata: {name: peu01-cilium, namespace: my-org}
spec: {cloudCredentialsRef: {secretName: peu01-cloud-config, cloudName: openstack}, managementPolicy: managed, resource: {}}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: SecurityGroup
metadata: {name: shared, namespace: my-org}
spec: {cloudCredentialsRef: {secretName: peu01-cloud-config, cloudName: openstack}, managementPolicy: unmanaged, import: {filter: {name: shared}}}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Volume
metadata: {name: etcd, namespace: my-org}
spec: {cloudCredentialsRef: {secretName: peu01-cloud-config, cloudName: openstack}, managementPolicy: managed, resource: {size: 40}}
";

fn rendered(text: &str) -> Vec<RenderedObject> {
    let path = |text: &str| RepoPath::parse(text).unwrap();
    let folders = Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") };
    render(&Files::new(&[("c/base/all.yaml", text)]), &folders).unwrap().objects
}

fn free(groups: u64, gigabytes: u64) -> CloudFacts {
    let quota = |limit| Quota { limit: Some(limit), used: 0 };
    CloudFacts {
        network: Ok([(Resource::SecurityGroups, quota(groups))].into()),
        volume: Ok([(Resource::Volumes, quota(10)), (Resource::Gigabytes, quota(gigabytes))].into()),
        ..CloudFacts::default()
    }
}

fn said(objects: &[RenderedObject], live: &LiveObjects, facts: &CloudFacts) -> Vec<String> {
    let asks = asks_of(objects, live, &[]);
    assert_eq!(asks.len(), 1, "one credential, one ask");
    judge(&asks[0], facts, &[])
        .into_iter()
        .map(|reason| format!("{} {}", reason.object, reason.message))
        .collect()
}

#[test]
fn what_a_folder_brings_itself_counts_in_quotas() {
    let objects = rendered(FOLDER);
    let nothing = LiveObjects::default();
    let asks = asks_of(&objects, &nothing, &[]);
    let mut questions = Questions::default();
    questions.add(&asks[0]);
    assert!(questions.volumes, "a volume is asked about");
    assert_eq!(said(&objects, &nothing, &free(3, 40)), [""; 0]);
    assert_eq!(
        said(&objects, &nothing, &free(2, 39)),
        [
            "OpenStackCluster my-org/peu01 gigabytes of volumes: 40 more needed (40 for Volume etcd), 39 free of 39",
            "OpenStackCluster my-org/peu01 security groups: 3 more needed (2 for control plane and workers, 1 for SecurityGroup peu01-cilium), 2 free of 2",
        ]
    );
    // What the cloud has by now takes nothing besides.
    let mut live: LiveObjects = objects.iter().map(|object| object.value.clone()).collect();
    let made = |kind: &str, name: &str| {
        json!({"apiVersion": "openstack.k-orc.cloud/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": "my-org"}, "status": {"id": "a"}})
    };
    live.insert(made("SecurityGroup", "peu01-cilium"));
    live.insert(made("Volume", "etcd"));
    assert_eq!(asks_of(&objects, &live, &[]).len(), 0);
}

#[test]
fn two_proposals_see_each_others_security_groups() {
    let asks = asks_of(&rendered(FOLDER), &LiveObjects::default(), &[]);
    let facts = free(4, 100);
    let own = needs(&asks[0], &facts);
    let other = OtherProposal { who: "gauss/peu02 at 3f2a91c".to_owned(), needs: own.clone() };
    let said = exceeded_together(&asks[0], &own, &[other], &facts);
    assert_eq!(
        said.iter().map(|reason| reason.message.as_str()).collect::<Vec<_>>(),
        [
            "security groups: 3 more needed (2 for control plane and workers, 1 for SecurityGroup peu01-cilium) besides 3 of gauss/peu02 at 3f2a91c, 4 free of 4: each fits alone, but both together do not"
        ]
    );
}

#[test]
fn what_the_folder_has_made_need_not_be_there_before_the_merge() {
    let machines = "
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: md, namespace: my-org}
spec:
  clusterName: peu01
  replicas: 1
  template:
    spec:
      clusterName: peu01
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackMachineTemplate, name: md}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: md, namespace: my-org}
spec: {template: {spec: {flavor: one, image: {imageRef: {name: ubuntu}}, serverGroup: {filter: {name: c-worker}}}}}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: ServerGroup
metadata: {name: workers, namespace: my-org}
spec: {cloudCredentialsRef: {secretName: peu01-cloud-config, cloudName: openstack}, managementPolicy: managed, resource: {name: c-worker, policy: anti-affinity}}
";
    let flavor =
        MachineType { id: "f".to_owned(), name: "one".to_owned(), cores: 2, ram_mib: 4096, disk_gib: 20 };
    let facts = CloudFacts { machine_types: Ok(vec![flavor]), ..free(9, 99) };
    let text = format!("{FOLDER}{machines}");
    let nothing = LiveObjects::default();
    assert_eq!(said(&rendered(&text), &nothing, &facts), [""; 0]);
    // An import must exist, and so must what no object makes.
    for other in [
        text.replace("name: c-worker, policy", "name: another, policy"),
        text.replace("kind: ServerGroup", "kind: Domain"),
    ] {
        assert_eq!(
            said(&rendered(&other), &nothing, &facts),
            ["OpenStackMachineTemplate my-org/md there is no server group `c-worker` that the project sees"]
        );
    }
}

/// Of another version of the controller's kinds nothing is read: neither what it takes, nor what the cloud will have.
#[test]
fn an_unknown_version_is_reported_by_name_and_never_misread() {
    let next = FOLDER.replace("openstack.k-orc.cloud/v1alpha1", "openstack.k-orc.cloud/v1");
    let objects = rendered(&next);
    let asks = asks_of(&objects, &LiveObjects::default(), &[]);
    let taken = asks.iter().flat_map(|ask| needs(ask, &free(0, 0))).map(|need| need.resource);
    assert!(!taken.into_iter().any(|resource| resource == Resource::Gigabytes), "the volume is not read");
    let said: Vec<String> = unjudged(&objects, &LiveObjects::default(), &[])
        .iter()
        .map(|reason| format!("{}: {}", reason.object, reason.message))
        .collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(
        said.iter().all(|line| line.ends_with(
            "its cloud resources are unknown: `openstack.k-orc.cloud/v1` is not read here (v1alpha1 is)"
        )),
        "{said:?}"
    );
}
