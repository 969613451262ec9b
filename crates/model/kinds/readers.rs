//! Which versions of other projects' kinds are read field by field, and where.
//!
//! A field of one version may mean something else in the next. Where it is absent, that may even mean the opposite
//! (`disableExternalNetwork`, `enableExternalNetwork`). So every reader of a provider's fields by their paths
//! is in this table, and asks it first. The fields of a version that is not in its row are unknown, and are
//! reported with the version's name.
//!
//! Deliberately absent: shapes that are the same in every version (references, `identityRef`, images,
//! conditions, counters), the versions of Kubernetes and of components (`table`), and kinds that are read
//! from the API server in one version alone (BareMetalHosts, Capstan's own kinds).

use crate::object::api_group;
use crate::wording::list;

use super::{ORC_GROUP, names};

/// A place that reads fields of other projects' kinds by their paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindReader {
    /// What machines and clusters ask of an OpenStack cloud, before the merge (`capstan_live::cloud`).
    CloudPreflight,
    /// For which objects of the cloud machines wait (`capstan_live::applying`).
    CloudObjects,
    /// Who works with a cluster's credential of its cloud (`crates/reconciler/reconcile/credentials`).
    CloudCredentials,
    /// Whether a tenant cluster keeps to its hosts, its load balancer and its issuer (`capstan_hosts::findings`).
    Hosts,
    /// Which fields of a MachinePool's infrastructure replace instances (`capstan_live::rollout`).
    Pools,
    /// Which fields of a control plane replace its machines (`capstan_live::rollout`).
    ControlPlanes,
}

/// What a reader knows.
#[derive(Debug, Clone, Copy)]
pub struct ReaderKinds {
    /// Who reads.
    pub reader: KindReader,
    /// The API group.
    pub group: &'static str,
    /// These kinds of it; all where none is named.
    pub kinds: &'static [&'static str],
    /// In these versions.
    pub versions: &'static [&'static str],
}

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";

/// The provider's definitions at v0.10.0 and v0.15
/// (<https://github.com/kubernetes-sigs/cluster-api-provider-openstack/tree/main/config/crd/bases>).
const OPENSTACK: &[&str] = &["v1alpha5", "v1alpha6", "v1alpha7", "v1beta1", "v1beta2"];
/// Those of Cluster API, and of providers that follow it.
const BETA: &[&str] = &["v1beta1", "v1beta2"];

const KNOWN: &[ReaderKinds] = &[
    ReaderKinds {
        reader: KindReader::CloudPreflight,
        group: INFRASTRUCTURE,
        kinds: &[names::OPENSTACK_CLUSTER, names::OPENSTACK_MACHINE_TEMPLATE],
        versions: OPENSTACK,
    },
    ReaderKinds { reader: KindReader::CloudPreflight, group: ORC_GROUP, kinds: &[], versions: &["v1alpha1"] },
    ReaderKinds {
        reader: KindReader::CloudObjects,
        group: INFRASTRUCTURE,
        kinds: &[names::OPENSTACK_MACHINE_TEMPLATE],
        versions: OPENSTACK,
    },
    ReaderKinds { reader: KindReader::CloudObjects, group: ORC_GROUP, kinds: &[], versions: &["v1alpha1"] },
    ReaderKinds {
        reader: KindReader::CloudCredentials,
        group: INFRASTRUCTURE,
        kinds: &[names::OPENSTACK_CLUSTER, names::OPENSTACK_MACHINE],
        versions: OPENSTACK,
    },
    ReaderKinds {
        reader: KindReader::CloudCredentials,
        group: INFRASTRUCTURE,
        kinds: &[names::OPENSTACK_SERVER],
        versions: &["v1alpha1"],
    },
    ReaderKinds {
        reader: KindReader::Hosts,
        group: INFRASTRUCTURE,
        kinds: &[names::METAL3_CLUSTER, names::METAL3_MACHINE_TEMPLATE],
        versions: BETA,
    },
    ReaderKinds {
        reader: KindReader::Hosts,
        group: CONTROL_PLANE,
        kinds: &[names::KUBEADM_CONTROL_PLANE],
        versions: BETA,
    },
    ReaderKinds {
        reader: KindReader::Pools,
        group: INFRASTRUCTURE,
        kinds: &[
            "AWSMachinePool",
            "AWSManagedMachinePool",
            "DevMachinePool",
            "DockerMachinePool",
            "OCIMachinePool",
            "OCIManagedMachinePool",
        ],
        versions: BETA,
    },
    ReaderKinds {
        reader: KindReader::Pools,
        group: INFRASTRUCTURE,
        kinds: &["AzureMachinePool", "AzureManagedMachinePool", "GCPMachinePool", "GCPManagedMachinePool"],
        versions: &["v1beta1"],
    },
    ReaderKinds {
        reader: KindReader::ControlPlanes,
        group: CONTROL_PLANE,
        kinds: &[names::KUBEADM_CONTROL_PLANE],
        versions: &["v1alpha3", "v1alpha4", "v1beta1", "v1beta2"],
    },
    ReaderKinds {
        reader: KindReader::ControlPlanes,
        group: CONTROL_PLANE,
        kinds: &["RKE2ControlPlane"],
        versions: &["v1alpha1", "v1beta1", "v1beta2"],
    },
    ReaderKinds {
        reader: KindReader::ControlPlanes,
        group: CONTROL_PLANE,
        kinds: &["TalosControlPlane"],
        versions: &["v1alpha3"],
    },
    ReaderKinds {
        reader: KindReader::ControlPlanes,
        group: CONTROL_PLANE,
        kinds: &["K0sControlPlane"],
        versions: BETA,
    },
];

impl ReaderKinds {
    /// What all readers know.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        KNOWN.iter()
    }
}

impl KindReader {
    /// What it knows.
    pub fn known(self) -> impl Iterator<Item = &'static ReaderKinds> {
        KNOWN.iter().filter(move |known| known.reader == self)
    }

    /// Whether it reads objects of a kind, in some version.
    pub fn knows(self, kind: &str) -> bool {
        self.known().any(|known| known.kinds.contains(&kind))
    }

    /// The `apiVersion` of an object whose fields it does not read. `None` where it does: a version that it knows, or a part of
    /// an object that says none.
    pub fn unread<'v>(self, kind: &str, api_version: Option<&'v str>) -> Option<&'v str> {
        let api_version = api_version?;
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let is_read =
            |known: &ReaderKinds| known.group == api_group(api_version) && known.versions.contains(&version);
        (!self.of_kind(kind, api_version).any(is_read)).then_some(api_version)
    }

    /// Says that fields of such an object are not read: it ends a sentence that names the object.
    pub fn describe_unread(self, kind: &str, api_version: &str) -> String {
        let versions = self.of_kind(kind, api_version).flat_map(|known| known.versions);
        let versions: Vec<String> = versions.map(|version| (*version).to_owned()).collect();
        let known = match versions.as_slice() {
            [] => "no version of it is".to_owned(),
            [one] => format!("{one} is"),
            all => format!("{} are", list(all)),
        };
        format!("`{api_version}` is not read here ({known})")
    }

    fn of_kind(self, kind: &str, api_version: &str) -> impl Iterator<Item = &'static ReaderKinds> {
        let by_name = self.knows(kind);
        let group = api_group(api_version);
        self.known().filter(move |known| {
            if by_name { known.kinds.contains(&kind) } else { known.kinds.is_empty() && known.group == group }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_reads_the_versions_it_knows() {
        use KindReader::{CloudCredentials, CloudPreflight, ControlPlanes, Hosts};
        for (reader, kind, api_version, unread) in [
            (CloudPreflight, "OpenStackCluster", "infrastructure.cluster.x-k8s.io/v1beta2", false),
            (CloudPreflight, "OpenStackCluster", "infrastructure.cluster.x-k8s.io/v1beta3", true),
            // Another project's kind of that name.
            (CloudPreflight, "OpenStackCluster", "acme.example/v1beta2", true),
            (CloudPreflight, "Volume", "openstack.k-orc.cloud/v1alpha1", false),
            (CloudPreflight, "Volume", "openstack.k-orc.cloud/v1", true),
            (CloudCredentials, "OpenStackServer", "infrastructure.cluster.x-k8s.io/v1alpha1", false),
            (CloudCredentials, "OpenStackServer", "infrastructure.cluster.x-k8s.io/v1beta1", true),
            (Hosts, "Metal3Cluster", "infrastructure.cluster.x-k8s.io/v1alpha5", true),
            (ControlPlanes, "RKE2ControlPlane", "controlplane.cluster.x-k8s.io/v1alpha1", false),
            (ControlPlanes, "KubeadmControlPlane", "controlplane.cluster.x-k8s.io/v1alpha1", true),
        ] {
            let found = reader.unread(kind, Some(api_version));
            assert_eq!(found, unread.then_some(api_version), "{reader:?} {kind} {api_version}");
            assert_eq!(reader.unread(kind, None), None, "a part says no version");
        }
        assert_eq!(
            Hosts.describe_unread("Metal3Cluster", "infrastructure.cluster.x-k8s.io/v1"),
            "`infrastructure.cluster.x-k8s.io/v1` is not read here (v1beta1 and v1beta2 are)"
        );
        assert_eq!(
            CloudPreflight.describe_unread("Volume", "openstack.k-orc.cloud/v1"),
            "`openstack.k-orc.cloud/v1` is not read here (v1alpha1 is)"
        );
    }

    #[test]
    fn every_row_names_a_kind_once() {
        for (at, one) in KNOWN.iter().enumerate() {
            assert!(!one.versions.is_empty() && one.group.contains('.'), "{one:?}");
            for other in &KNOWN[at + 1..] {
                let is_same = one.reader == other.reader
                    && one.group == other.group
                    && one.kinds.iter().any(|kind| other.kinds.contains(kind));
                assert!(!is_same, "{one:?} and {other:?}");
            }
        }
    }
}
