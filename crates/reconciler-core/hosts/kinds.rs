//! The kinds that hosts are given by.

use capstan_hosts::selector::HostDeployPolicy;
use capstan_hosts::{cluster, host};
use capstan_model::kinds::names;
use capstan_ports::ApiKind;

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

/// SIPClusters.
pub fn sip_clusters() -> ApiKind {
    ApiKind::of_version(&format!("{}/{}", cluster::GROUP, cluster::VERSION), cluster::KIND)
}

pub fn hosts() -> ApiKind {
    ApiKind::of_version(&format!("{}/{}", host::GROUP, host::VERSION), host::KIND)
}

/// The policies by which hosts are given.
pub fn policies() -> ApiKind {
    ApiKind::of_version(&format!("{}/{}", host::GROUP, host::VERSION), HostDeployPolicy::KIND)
}

/// Templates of machines, in the version that the API server prefers: what is read of them is the same in all.
pub fn templates() -> ApiKind {
    ApiKind::preferred(INFRASTRUCTURE, names::METAL3_MACHINE_TEMPLATE)
}

pub fn machines() -> ApiKind {
    ApiKind::preferred("cluster.x-k8s.io", names::MACHINE)
}
