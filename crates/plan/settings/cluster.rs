//! `capstan.yaml` in a cluster's, an overlay's and a release's folder.

use std::collections::BTreeMap;
use std::fmt;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::access::OwnersAccess;
use super::fields::Track;
use super::services::{CloudName, OptionalService, Owner, Service};
use super::values::{calendar_date, release_id, release_reads, sha256};
use capstan_model::ids::{ContentId, ReleaseId};
use capstan_model::object::ObjectId;
use capstan_model::tree::{BlobId, OutsidePath, TreeId};

/// `<cluster>/capstan.yaml`: the platform team's record of one cluster or provider set. The bot keeps `release`,
/// `releaseTree`, `releaseReads` and `components` current in its proposals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClusterSettings {
    /// `capstan.dev/v1alpha1`, so that kustomize and Flux read the file as an object.
    #[schemars(extend("const" = "capstan.dev/v1alpha1"))]
    api_version: Option<SettingsApiVersion>,
    /// `ClusterSettings`.
    kind: Option<ClusterSettingsKind>,
    /// Name and the annotation by which kustomize and Flux pass over the file.
    metadata: Option<Metadata>,
    /// The release that the base was made from: `aws/v21.0.0`.
    #[serde(deserialize_with = "release_id")]
    #[schemars(with = "Option<String>")]
    pub release: Option<ReleaseId>,
    /// Git tree id of that release's folder when it was taken.
    #[schemars(with = "Option<String>")]
    pub release_tree: Option<TreeId>,
    /// Files outside of that folder that the release's kustomizations read when it was taken: Git blob ids by
    /// their path from the folder (`../parts/pool.yaml`); at most 1,000.
    #[serde(deserialize_with = "release_reads")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub release_reads: BTreeMap<OutsidePath, BlobId>,
    /// For a provider set: what its providers install, by the label of clusterctl (`infrastructure-aws`), as far as
    /// the repository had it.
    pub components: BTreeMap<String, ComponentsRecord>,
    /// How far the cluster follows new releases; wins over `.capstan.yaml`.
    pub track: Option<Track>,
    /// Values for `${VARIABLES}` of releases.
    pub variables: BTreeMap<String, String>,
    /// Tombstones: what may be deleted from the live cluster.
    pub delete: Deletion,
    /// With `delete: cluster`: whether what outlives the cluster in its cloud is deleted inside it first.
    pub cleanup: bool,
    /// The services inside the cluster.
    pub services: Vec<Service>,
    /// Who gets a key of the cluster.
    pub owners: Vec<Owner>,
    /// What they get, and where they find it.
    pub access: OwnersAccess,
    /// The cloud of the cluster, by its name in the credentials.
    #[schemars(with = "Option<String>")]
    pub cloud: Option<CloudName>,
}

impl ClusterSettings {
    /// The recorded release's content when it was taken, where that is recorded.
    pub fn release_content(&self) -> Option<ContentId> {
        Some(ContentId { tree: self.release_tree.clone()?, reads: self.release_reads.clone() })
    }
}

/// The components of one provider, as a provider set records them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ComponentsRecord {
    /// Their version: `v1.13.4`.
    pub version: String,
    /// SHA-256 of the unpacked components, before variables have values: 64 hex digits in lower case.
    #[serde(deserialize_with = "sha256")]
    #[schemars(extend("pattern" = "^[0-9a-f]{64}$"))]
    pub sha256: String,
}

/// `<cluster>/overlay/capstan.yaml`: the customer's brake. It may hold back, never loosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OverlaySettings {
    /// `capstan.dev/v1alpha1`.
    #[schemars(extend("const" = "capstan.dev/v1alpha1"))]
    api_version: Option<SettingsApiVersion>,
    /// `ClusterSettings`.
    kind: Option<ClusterSettingsKind>,
    /// Name and annotations.
    metadata: Option<Metadata>,
    /// No upgrade is offered while this holds.
    pub hold: Option<Hold>,
    /// A narrower track than the platform team's; a wider one has no effect.
    pub track: Option<Track>,
    /// Services that are `optional`, on or off.
    pub services: Vec<OptionalService>,
}

/// A release's own `capstan.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReleaseSettings {
    /// Variables that belong to the release: substituted with these values, never bound from a cluster.
    pub variables: BTreeMap<String, String>,
    /// `now`: it passes soaks and windows of a campaign that allows that (`allowUrgent`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urgency: Option<Urgency>,
    /// Services that it brings: they go into the `capstan.yaml` of a cluster that takes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<Service>,
    /// Owners of every cluster that takes it, likewise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<Owner>,
    /// The cloud of every cluster that takes it, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub cloud: Option<CloudName>,
}

/// How soon a release moves through the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Urgency {
    /// At once: an emergency.
    Now,
}

/// Why and how long no upgrade is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hold {
    /// Why, in the customer's words.
    pub reason: String,
    /// The first day on which upgrades are offered again; without it the hold lasts until it is removed.
    #[serde(default, deserialize_with = "calendar_date")]
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub until: Option<Date>,
}

impl Hold {
    /// Whether upgrades are held back on that day (UTC).
    pub fn is_in_force(&self, today: Date) -> bool {
        self.until.is_none_or(|until| today < until)
    }
}

/// What may be deleted from the live cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Deletion {
    #[default]
    Nothing,
    /// These objects.
    Objects(Vec<Tombstone>),
    /// The whole cluster.
    Cluster,
}

/// One object that may be deleted from the live cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tombstone {
    /// API group, if the kind is ambiguous.
    #[serde(default)]
    pub group: Option<String>,
    /// Kind.
    pub kind: String,
    /// Namespace, if it is not the cluster's own.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

/// The group and kind by which a tombstone names a service of the cluster, whose objects lie inside it.
const SERVICE: (&str, &str) = ("capstan.dev", "Service");

impl Tombstone {
    /// The service that it names; `None` where it names an object.
    pub fn service(&self) -> Option<&str> {
        let of = (self.group.as_deref().unwrap_or_default(), self.kind.as_str());
        (of == SERVICE).then_some(self.name.as_str())
    }

    /// The tombstone of a service, as it is written.
    pub fn of_service(name: &str) -> String {
        let (group, kind) = SERVICE;
        format!("- {{group: {group}, kind: {kind}, name: {name}}}")
    }

    /// Whether it means that object. Without a namespace it means one in `home` (`None`: in any), or one that has
    /// no namespace.
    pub fn means(&self, id: &ObjectId, home: Option<&str>) -> bool {
        let namespace = match (self.namespace.as_deref(), id.namespace.as_deref()) {
            (Some(wanted), has) => has == Some(wanted),
            (None, has) => has.is_none() || home.is_none() || has == home,
        };
        self.kind == id.kind
            && self.name == id.name
            && self.group.as_ref().is_none_or(|group| *group == id.group)
            && namespace
    }
}

impl Deletion {
    /// Whether a tombstone names that service of the cluster.
    pub fn names_service(&self, name: &str) -> bool {
        matches!(self, Self::Objects(tombstones) if tombstones.iter().any(|one| one.service() == Some(name)))
    }
}

impl<'de> Deserialize<'de> for Deletion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DeletionVisitor;

        impl<'de> Visitor<'de> for DeletionVisitor {
            type Value = Deletion;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of tombstones (`- {kind: MachineDeployment, name: peu01-md-0}`) or the word `cluster`")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Deletion, E> {
                if word == "cluster" {
                    Ok(Deletion::Cluster)
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(word), &self))
                }
            }

            fn visit_unit<E: de::Error>(self) -> Result<Deletion, E> {
                Ok(Deletion::Nothing)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Deletion, A::Error> {
                let mut tombstones = Vec::new();
                while let Some(tombstone) = items.next_element()? {
                    tombstones.push(tombstone);
                }
                Ok(if tombstones.is_empty() { Deletion::Nothing } else { Deletion::Objects(tombstones) })
            }
        }

        deserializer.deserialize_any(DeletionVisitor)
    }
}

impl Serialize for Deletion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.collect_seq(std::iter::empty::<Tombstone>()),
            Self::Objects(tombstones) => serializer.collect_seq(tombstones),
            Self::Cluster => serializer.serialize_str("cluster"),
        }
    }
}

impl JsonSchema for Deletion {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Deletion".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let tombstones = generator.subschema_for::<Vec<Tombstone>>();
        schemars::json_schema!({
            "description": "What may be deleted from the live cluster: tombstones, or the whole cluster.",
            "anyOf": [tombstones, {"const": "cluster"}]
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
enum SettingsApiVersion {
    #[serde(rename = "capstan.dev/v1alpha1")]
    V1alpha1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
enum ClusterSettingsKind {
    ClusterSettings,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}
