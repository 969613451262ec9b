//! What a cloud says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a cloud was asked and did not say, and why: a sentence's end, without any credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered(pub String);

/// What was found out, or why not.
pub type Answer<T> = Result<T, Unanswered>;

/// What a project's cloud says to [`Questions`](super::Questions). What was not asked is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudFacts {
    /// Every flavor that the project may use.
    pub flavors: Answer<Vec<Flavor>>,
    /// Images that a question means; where none is meant by a name, others too.
    pub images: Answer<Vec<Image>>,
    /// Every network that the project sees.
    pub networks: Answer<Vec<Network>>,
    /// Names of the user's key pairs.
    pub key_pairs: Answer<Vec<String>>,
    /// Names of availability zones for machines that can be used.
    pub zones: Answer<Vec<String>>,
    /// The project's server groups.
    pub server_groups: Answer<Vec<ServerGroup>>,
    /// Instances, cores, RAM.
    pub compute: Answer<Quotas>,
    /// Volumes and their size.
    pub volume: Answer<Quotas>,
    /// Ports, floating IPs, security groups.
    pub network: Answer<Quotas>,
}

impl Default for CloudFacts {
    fn default() -> Self {
        Self {
            flavors: Ok(Vec::new()),
            images: Ok(Vec::new()),
            networks: Ok(Vec::new()),
            key_pairs: Ok(Vec::new()),
            zones: Ok(Vec::new()),
            server_groups: Ok(Vec::new()),
            compute: Ok(Quotas::new()),
            volume: Ok(Quotas::new()),
            network: Ok(Quotas::new()),
        }
    }
}

/// What a machine may be made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flavor {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// vCPUs.
    pub cores: u64,
    /// MiB.
    pub ram_mib: u64,
    /// GiB of the disk that it brings; 0 where it brings none.
    pub disk_gib: u64,
}

/// What a machine may boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Its id.
    pub id: String,
    /// Its name, which others may have too.
    pub name: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// `active`, `queued`, …
    pub status: String,
    /// GiB that its disk must have.
    pub min_disk_gib: u64,
    /// MiB that its machine must have.
    pub min_ram_mib: u64,
}

/// A network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Its id.
    pub id: String,
    /// Its name, which others may have too.
    pub name: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Whether it leads out.
    pub external: bool,
}

/// A server group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerGroup {
    /// Its id.
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
    /// Volumes.
    Volumes,
    /// GiB of volumes.
    Gigabytes,
    /// Ports.
    Ports,
    /// Floating IPs.
    FloatingIps,
    /// Security groups.
    SecurityGroups,
}

impl Resource {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 8] = [
        Self::Instances,
        Self::Cores,
        Self::Ram,
        Self::Volumes,
        Self::Gigabytes,
        Self::Ports,
        Self::FloatingIps,
        Self::SecurityGroups,
    ];

    /// As people call it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Instances => "instances",
            Self::Cores => "cores",
            Self::Ram => "RAM",
            Self::Volumes => "volumes",
            Self::Gigabytes => "gigabytes of volumes",
            Self::Ports => "ports",
            Self::FloatingIps => "floating IPs",
            Self::SecurityGroups => "security groups",
        }
    }

    /// A number of it with its unit, where it has one.
    pub(super) fn amount(self, number: u64) -> String {
        match self {
            Self::Ram if number > 0 && number.is_multiple_of(1024) => format!("{} GiB", number / 1024),
            Self::Ram => format!("{number} MiB"),
            _ => number.to_string(),
        }
    }
}

/// A quota.
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
            Resource::Ports | Resource::FloatingIps | Resource::SecurityGroups => &self.network,
        };
        quotas.as_ref().map(|quotas| quotas.get(&resource).copied())
    }
}
