//! `services:`, `owners:` and `cloud:` of a cluster's and of a release's `capstan.yaml`: what runs inside a cluster
//! beside what people bring there, who owns it, and which of its clouds it is in.
//!
//! Deliberately absent: how several services fit together ([`super::service_findings`]), and which keys an owner may
//! have, which the code that encrypts to them checks.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::text_type;
use capstan_model::dns_name::{is_label, is_subdomain};
use capstan_model::tree::RepoPath;
use capstan_model::wording::is_of_no_line;

pub use capstan_kustomize::render::SERVICES_FOLDER;

text_type!(
    /// The name of a service: `cilium`.
    ServiceName,
    is_label,
    "the name of a service (lower-case letters, digits and `-`, at most 63)"
);

text_type!(
    /// The name of an owner: `ada`.
    OwnerName,
    |text| is_subdomain(text),
    "the name of an owner (lower-case letters, digits, `-` and `.`)"
);

text_type!(
    /// The name of a cloud, as `clouds.yaml` calls it.
    CloudName,
    |text| text.trim() == text && (1..=100).contains(&text.chars().count()) && !text.chars().any(is_of_no_line),
    "the name of a cloud (1 to 100 characters on one line, no blank at its ends)"
);

text_type!(
    /// A public key, on one line.
    PublicKey,
    |text| {
        text.trim() == text && (1..=8_192).contains(&text.len()) && text.bytes().all(|b| (b' '..0x7f).contains(&b))
    },
    "a public key (one line of at most 8192 characters)"
);

text_type!(
    /// A [CEL](https://cel.dev) expression that is true once a service is well.
    ServiceCheck,
    |text| !text.trim().is_empty() && text.len() <= 4_096,
    "a CEL expression (1 to 4096 bytes)"
);

text_type!(
    /// The reason for an exception, on one line.
    ForceReason,
    |text| text.trim() == text && (1..=500).contains(&text.chars().count()) && !text.chars().any(is_of_no_line),
    "a reason (1 to 500 characters on one line, no blank at its ends)"
);

text_type!(
    ObjectKind,
    |text| {
        (1..=63).contains(&text.len())
            && text.starts_with(|first: char| first.is_ascii_uppercase())
            && text.bytes().all(|b| b.is_ascii_alphanumeric())
    },
    "a kind (`HelmChartProxy`)"
);

text_type!(ObjectName, is_subdomain, "the name of an object (lower-case letters, digits, `-` and `.`)");

/// The folder of one service in a cluster's folder: `services/cilium`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct ServiceFolder(String);

impl ServiceFolder {
    /// Reads `services/cilium`; a slash at the end does not count.
    pub fn parse(text: &str) -> Result<Self, String> {
        let below = text.strip_prefix(SERVICES_FOLDER).and_then(|below| below.strip_prefix('/'));
        match below.map(|below| below.strip_suffix('/').unwrap_or(below)).filter(|name| is_label(name)) {
            Some(name) => Ok(Self(name.to_owned())),
            None => Err(format!("`{text}` is not a folder of a service (`services/cilium`, beside base)")),
        }
    }

    /// Its own name: `cilium`.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Its path below a folder.
    pub fn inside(&self, folder: &RepoPath) -> RepoPath {
        folder.join(&self.to_string()).unwrap_or_else(|_| folder.clone())
    }
}

impl fmt::Display for ServiceFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SERVICES_FOLDER}/{}", self.0)
    }
}

impl Serialize for ServiceFolder {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl TryFrom<String> for ServiceFolder {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

/// A program inside a cluster that the platform team is responsible for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Service {
    /// Its name, unique in a cluster.
    #[schemars(with = "String")]
    pub name: ServiceName,
    /// What it is for.
    #[serde(default)]
    pub role: ServiceRole,
    /// Where its objects are.
    pub from: ServiceSource,
    /// Whether it is wanted.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Whether the overlay may decide that.
    #[serde(default)]
    pub optional: bool,
    /// Services that must be healthy before it begins.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub after: Vec<ServiceName>,
    /// Its turn while machines roll.
    #[serde(default)]
    pub when: ServiceTurn,
    /// What is true once it is healthy, in addition to the state of its objects: at most 20.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub checks: Vec<ServiceCheck>,
    /// For role cni: that it may replace another network, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<ForcedSwitch>,
}

const fn yes() -> bool {
    true
}

/// That one pod network may replace another. It names both, so it allows no other switch if it stays in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForcedSwitch {
    /// The service that the network is now.
    #[schemars(with = "String")]
    pub from: ServiceName,
    /// The service that replaces it: the one with this field.
    #[schemars(with = "String")]
    pub to: ServiceName,
    /// Why.
    #[schemars(with = "String")]
    pub reason: ForceReason,
}

/// What a service is for. The first four begin in this order.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ServiceRole {
    /// The pod network.
    Cni,
    /// The cloud's controller.
    Ccm,
    /// Storage.
    Csi,
    /// `metrics.k8s.io`.
    Metrics,
    /// Anything else.
    #[default]
    Other,
}

impl ServiceRole {
    /// Whether a cluster cannot do without a service of that role, so that it does not go by being switched off.
    pub const fn is_vital(self) -> bool {
        matches!(self, Self::Cni | Self::Ccm | Self::Csi)
    }
}

impl fmt::Display for ServiceRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cni => "cni",
            Self::Ccm => "ccm",
            Self::Csi => "csi",
            Self::Metrics => "metrics",
            Self::Other => "other",
        })
    }
}

/// Where a service's objects stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ServiceSource {
    /// In a folder beside base, rendered like base: Capstan applies them inside the cluster.
    Folder(#[schemars(with = "String")] ServiceFolder),
    /// Among the objects of base: another controller acts on them.
    Objects(Vec<ServiceObject>),
}

/// An object of base that defines a service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceObject {
    /// Its kind: `HelmChartProxy`.
    #[schemars(with = "String")]
    pub kind: ObjectKind,
    /// Its name.
    #[schemars(with = "String")]
    pub name: ObjectName,
}

/// When a service may change while machines roll.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum ServiceTurn {
    /// Before the control plane does.
    BeforeControlPlane,
    /// Once the control plane has.
    #[default]
    AfterControlPlane,
    /// Once the workers have.
    AfterWorkers,
}

impl fmt::Display for ServiceTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeControlPlane => "beforeControlPlane",
            Self::AfterControlPlane => "afterControlPlane",
            Self::AfterWorkers => "afterWorkers",
        })
    }
}

/// A person who gets a key of the cluster that only they can open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// Their name.
    #[schemars(with = "String")]
    pub name: OwnerName,
    /// Their public key: `age1…`, `ssh-ed25519 AAAA…`, `ssh-rsa AAAA…`.
    #[schemars(with = "String")]
    pub key: PublicKey,
}

/// What an overlay sets for a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionalService {
    /// The name of a service that is `optional`.
    #[schemars(with = "String")]
    pub name: ServiceName,
    /// Whether it is wanted.
    pub enabled: bool,
}
