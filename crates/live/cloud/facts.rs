//! What a cloud says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a cloud was asked and did not say, and why: a sentence's end, without any credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered(pub String);

/// What was found out, or why not.
pub type CloudAnswer<T> = Result<T, Unanswered>;

/// What an account's cloud says to [`Questions`](super::Questions). What was not asked is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudFacts {
    /// Every machine type that the account may use.
    pub machine_types: CloudAnswer<Vec<MachineType>>,
    /// Images that a question means; where none is meant by a name, others too.
    pub images: CloudAnswer<Vec<Image>>,
    /// Every network that the account sees.
    pub networks: CloudAnswer<Vec<Network>>,
    /// Names of the user's key pairs.
    pub key_pairs: CloudAnswer<Vec<String>>,
    /// Names of availability zones for machines that can be used.
    pub zones: CloudAnswer<Vec<String>>,
    /// The account's placement groups, which keep machines apart.
    pub placement_groups: CloudAnswer<Vec<PlacementGroup>>,
    /// Instances, cores, RAM.
    pub compute: CloudAnswer<Quotas>,
    /// Volumes and their size.
    pub volume: CloudAnswer<Quotas>,
    /// Ports, public addresses, security groups.
    pub network: CloudAnswer<Quotas>,
}

impl Default for CloudFacts {
    fn default() -> Self {
        Self {
            machine_types: Ok(Vec::new()),
            images: Ok(Vec::new()),
            networks: Ok(Vec::new()),
            key_pairs: Ok(Vec::new()),
            zones: Ok(Vec::new()),
            placement_groups: Ok(Vec::new()),
            compute: Ok(Quotas::new()),
            volume: Ok(Quotas::new()),
            network: Ok(Quotas::new()),
        }
    }
}

/// What a machine may be made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineType {
    pub id: String,
    pub name: String,
    /// vCPUs.
    pub cores: u64,
    pub ram_mib: u64,
    /// GiB of the disk that it brings; 0 where it brings none.
    pub disk_gib: u64,
}

/// What a machine may boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub id: String,
    /// Its name, which others may have too.
    pub name: String,
    pub tags: Vec<String>,
    /// What the cloud says of one that no machine boots yet, or any more: `queued`; `None` where machines boot it.
    pub not_bootable: Option<String>,
    /// GiB that its disk must have.
    pub min_disk_gib: u64,
    /// MiB that its machine must have.
    pub min_ram_mib: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    pub id: String,
    /// Its name, which others may have too.
    pub name: String,
    pub tags: Vec<String>,
    /// Whether it leads out.
    pub external: bool,
}

/// What keeps machines apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementGroup {
    pub id: String,
    /// Its name, which others may have too.
    pub name: String,
}

/// What a quota is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Machines.
    Instances,
    /// vCPUs.
    Cores,
    /// MiB of memory.
    Ram,
    Volumes,
    /// GiB of volumes.
    Gigabytes,
    Ports,
    /// Addresses outside of the cloud. Notes that an earlier version wrote call them otherwise.
    #[serde(alias = "floating-ips")]
    PublicIps,
    SecurityGroups,
}

impl Resource {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::Instances,
        Self::Cores,
        Self::Ram,
        Self::Volumes,
        Self::Gigabytes,
        Self::Ports,
        Self::PublicIps,
        Self::SecurityGroups,
    ];

    /// A number of it with its unit, where it has one.
    pub(super) fn amount(self, number: u64) -> String {
        match self {
            Self::Ram if number > 0 && number.is_multiple_of(1024) => format!("{} GiB", number / 1024),
            Self::Ram => format!("{number} MiB"),
            _ => number.to_string(),
        }
    }
}

/// What a folder may name, and may make itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thing {
    MachineType,
    Image,
    Network,
    KeyPair,
    PlacementGroup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// `None` where there is none.
    pub limit: Option<u64>,
    /// What is used and reserved.
    pub used: u64,
}

impl Quota {
    /// What is free; `None` where there is no limit.
    pub const fn free(self) -> Option<u64> {
        match self.limit {
            Some(limit) => Some(limit.saturating_sub(self.used)),
            None => None,
        }
    }
}

/// Quotas of one service; one that it does not know is absent.
pub type Quotas = BTreeMap<Resource, Quota>;

impl CloudFacts {
    /// The quota of something; `Ok(None)` where the service knows none.
    pub(super) fn quota(&self, resource: Resource) -> Result<Option<Quota>, &Unanswered> {
        let quotas = match resource {
            Resource::Instances | Resource::Cores | Resource::Ram => &self.compute,
            Resource::Volumes | Resource::Gigabytes => &self.volume,
            Resource::Ports | Resource::PublicIps | Resource::SecurityGroups => &self.network,
        };
        quotas.as_ref().map(|quotas| quotas.get(&resource).copied())
    }
}
