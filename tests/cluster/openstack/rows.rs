//! A folder's objects, and what the services say to them.

use capstan_kustomize::render::{Folders, RenderedObject, render};
use capstan_live::cloud::{CloudFacts, Questions, Weight, asks_of, judge};
use capstan_live::live_objects::LiveObjects;
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

use super::keeper::Cloud;

/// A cluster that fits the cloud.
pub(super) const FOLDER: &str = "
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: peu01, namespace: org}
spec:
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackCluster, name: peu01}
  controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: peu01}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: peu01, namespace: org}
spec:
  identityRef: {name: peu01-cloud-config, cloudName: openstack}
  externalNetwork: {filter: {name: external}}
  managedSubnets: [{cidr: 10.8.0.0/20}]
  managedSecurityGroups: {allowAllInClusterTraffic: true}
  controlPlaneAvailabilityZones: [nova]
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: peu01, namespace: org}
spec:
  replicas: 3
  version: v1.36.3
  kubeadmConfigSpec: {}
  machineTemplate:
    infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackMachineTemplate, name: peu01-cp}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: peu01-cp, namespace: org}
spec:
  template:
    spec:
      flavor: SCS-2V-4-20
      image: {filter: {name: ubuntu-2404-kube-v1.36.3}}
      sshKeyName: ops
      serverGroup: {filter: {name: controller}}
      ports: [{network: {filter: {name: nodes}}}]
";

pub(super) fn rendered(text: &str) -> Vec<RenderedObject> {
    let path = |text: &str| RepoPath::parse(text).unwrap();
    let folders = Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") };
    render(&Files::new(&[("c/base/all.yaml", text)]), &folders).unwrap().objects
}

/// What the cloud says to a folder, each with its kind.
async fn said(cloud: &Cloud, text: &str) -> Vec<(&'static str, String)> {
    let session = cloud.log_in(&cloud.clouds_yaml("gauss", "gauss-pa55word")).await.unwrap();
    let asks = asks_of(&rendered(text), &LiveObjects::default(), &[]);
    let mut questions = Questions::default();
    questions.add(&asks[0]);
    let facts: CloudFacts = session.ask(&questions).await;
    let reasons = judge(&asks[0], &facts, &[]);
    assert!(reasons.iter().all(|one| one.weight == Weight::Impossible), "{reasons:?}");
    reasons.into_iter().map(|one| (one.kind, one.message)).collect()
}

/// Each row of a preflight, once good and once bad.
pub(super) async fn each_row_is_reported(cloud: &mut Cloud) {
    assert_eq!(said(cloud, FOLDER).await, [], "everything is there, and free");
    let image = "{filter: {name: ubuntu-2404-kube-v1.36.3}}";
    let by_id = format!("{{id: {}}}", cloud.text("/images/node"));
    assert_eq!(said(cloud, &FOLDER.replace(image, &by_id)).await, []);
    let mut twice = [cloud.text("/images/twice/0"), cloud.text("/images/twice/1")];
    twice.sort();
    let mut twins = [cloud.text("/networks/twins/0"), cloud.text("/networks/twins/1")];
    twins.sort();
    let rows: [(&str, &str, &str, String); 14] = [
        ("flavor: SCS-2V-4-20", "flavor: none", "FlavorNotThere", "there is no flavor `none` that the project may use".to_owned()),
        ("flavor: SCS-2V-4-20", "flavor: SCS-1V-4", "FlavorTooSmall", "it has 1 vCPU and 4096 MiB, but at least 2 vCPU and 2048 MiB are required".to_owned()),
        ("flavor: SCS-2V-4-20", "flavor: SCS-1V-4", "DiskTooSmall", "the image `ubuntu-2404-kube-v1.36.3` needs a disk of 20 GiB, but the flavor `SCS-1V-4` has 10 GiB".to_owned()),
        ("flavor: SCS-2V-4-20", "flavor: SCS-2V-8", "DiskTooSmall", "the flavor `SCS-2V-8` has no disk".to_owned()),
        ("ubuntu-2404-kube-v1.36.3", "none", "ImageNotThere", "there is no image `none` that the project sees".to_owned()),
        ("ubuntu-2404-kube-v1.36.3", "twice", "ImageAmbiguous", format!("2 images are meant by `twice` (`{}`, `{}`)", twice[0], twice[1])),
        ("ubuntu-2404-kube-v1.36.3", "queued", "ImageNotActive", "the image `queued` is `queued`".to_owned()),
        (image, "{id: 00000000-0000-0000-0000-000000000000}", "ImageNotThere", "there is no image with the id".to_owned()),
        ("{name: nodes}", "{name: none}", "NetworkNotThere", "there is no network `none` that the project sees".to_owned()),
        ("{name: nodes}", "{name: twins}", "NetworkAmbiguous", format!("`{}`", twins[0])),
        ("sshKeyName: ops", "sshKeyName: none", "KeyPairNotThere", "there is no key pair `none`".to_owned()),
        ("[nova]", "[az-9]", "ZoneNotThere", "there is no availability zone `az-9` that can be used now; there is `nova`".to_owned()),
        ("{name: controller}", "{name: none}", "ServerGroupNotThere", "there is no server group `none`".to_owned()),
        ("{name: controller}", "{name: same}", "ServerGroupAmbiguous", "2 server groups match `same`".to_owned()),
    ];
    for (from, to, kind, message) in &rows {
        let found = said(cloud, &FOLDER.replace(from, to)).await;
        let is_there = |one: &(&str, String)| one.0 == *kind && one.1.contains(message.as_str());
        assert!(found.iter().any(is_there), "{to}: {kind} {message}: {found:?}");
    }
    // Quotas: 10 instances, 20 cores and 50 GiB of memory; 20 ports.
    let many = FOLDER.replace("replicas: 3", "replicas: 11");
    let found = said(cloud, &many).await;
    assert_eq!(
        found,
        [
            (
                "QuotaExceeded",
                "instances: 11 more needed (11 machines of SCS-2V-4-20), 10 free of 10".to_owned()
            ),
            ("QuotaExceeded", "cores: 22 more needed (11 machines of SCS-2V-4-20), 20 free of 20".to_owned()),
        ]
    );
    let large = FOLDER.replace("SCS-2V-4-20", "SCS-4V-16-50").replace("replicas: 3", "replicas: 5");
    assert_eq!(
        said(cloud, &large).await,
        [(
            "QuotaExceeded",
            "RAM: 80 GiB more needed (5 machines of SCS-4V-16-50), 50 GiB free of 50 GiB".to_owned()
        )]
    );
    let ports = FOLDER
        .replace(
            "ports: [",
            "ports: [{network: {filter: {name: nodes}}}, {network: {filter: {name: nodes}}}, ",
        )
        .replace("replicas: 3", "replicas: 7");
    assert_eq!(
        said(cloud, &ports).await,
        [(
            "QuotaExceeded",
            "ports: 22 more needed (7 machines of SCS-2V-4-20, 1 for the router), 20 free of 20".to_owned()
        )]
    );
    volumes(cloud).await;
    narrowed(cloud).await;
}

/// What machines boot from, and what they have besides: 10 volumes and 100 GiB of them.
async fn volumes(cloud: &Cloud) {
    let booting = FOLDER.replace("flavor: SCS-2V-4-20", "flavor: SCS-2V-8\n      rootVolume: {sizeGiB: 30}");
    assert_eq!(said(cloud, &booting).await, [], "90 GiB in 3 volumes");
    let exceeded = |message: &str| [("QuotaExceeded", message.to_owned())];
    assert_eq!(
        said(cloud, &booting.replace("replicas: 3", "replicas: 4")).await,
        exceeded("gigabytes of volumes: 120 more needed (4 machines of SCS-2V-8), 100 free of 100")
    );
    let device = |name: &str| format!("{{name: {name}, sizeGiB: 1, storage: {{type: Volume}}}}");
    let devices = ["a", "b", "c", "d"].map(device).join(", ");
    let many = FOLDER
        .replace("sshKeyName: ops", &format!("sshKeyName: ops\n      additionalBlockDevices: [{devices}]"));
    assert_eq!(
        said(cloud, &many).await,
        exceeded("volumes: 12 more needed (3 machines of SCS-2V-4-20), 10 free of 10")
    );
    // An object of the folder's own.
    let own = format!("{FOLDER}---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Volume
metadata: {{name: etcd, namespace: org}}
spec: {{cloudCredentialsRef: {{secretName: peu01-cloud-config, cloudName: openstack}}, managementPolicy: managed, resource: {{size: 101}}}}
");
    assert_eq!(
        said(cloud, &own).await,
        exceeded("gigabytes of volumes: 101 more needed (101 for Volume etcd), 100 free of 100")
    );
}

/// Floating IPs and security groups, of which a cluster takes few: with less room than they have by default.
async fn narrowed(cloud: &mut Cloud) {
    let project = cloud.text("/projects/gauss");
    cloud.order(&format!("quota {project} {{\"floatingip\": 0, \"security_group\": 2}}"));
    assert_eq!(
        said(cloud, FOLDER).await,
        [
            ("QuotaExceeded", "floating IPs: 1 more needed (1 for the API server), 0 free of 0".to_owned()),
            (
                "QuotaExceeded",
                "security groups: 2 more needed (2 for control plane and workers), 1 free of 2".to_owned()
            ),
        ]
    );
    cloud.order(&format!("quota {project} null"));
    assert_eq!(said(cloud, FOLDER).await, []);
}
