//! `.capstan.yaml` in the repository's root, owned by the platform team.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::commands::CommandSettings;
use super::dashboard::DashboardSettings;
use super::fields::{FolderName, FolderPath, HostName, ManagementClusterUid, RepositoryName, Track};
use super::inventory::InventorySettings;
use super::proposals::ProposalSettings;
use super::values::{field_path, patterns_of_a_right, whole_number};
use capstan_campaign::settings::CampaignSettings;
use capstan_model::finding::{Severities, SeverityLevel};
use capstan_model::glob::Glob;
use capstan_model::object::{FieldPath, ObjectId};

/// `.capstan.yaml`: how Capstan treats this repository. Everything is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RepositorySettings {
    /// What the bot may do here; `propose` by default.
    pub mode: Mode,
    /// Where releases are.
    pub releases: ReleasesSettings,
    /// Where clusters are, and how they follow releases.
    pub clusters: ClustersSettings,
    /// Who applies what; a cluster claimed by none is applied by other tools.
    pub management_clusters: Vec<ManagementCluster>,
    /// How upgrades are computed and offered.
    pub upgrade: UpgradeSettings,
    /// Severity per rule id; `capstan rules` lists the ids. Some rules cannot be off.
    pub policy: BTreeMap<String, SeverityLevel>,
    /// The effect of the reconciler's dry run before a merge.
    pub preflight: PreflightSettings,
    /// Repositories that may use these releases.
    #[schemars(with = "Vec<String>")]
    pub consumers: Vec<RepositoryName>,
    /// Slash-commands.
    pub commands: CommandSettings,
    /// The dashboard issue.
    pub dashboard: DashboardSettings,
    /// Components of providers.
    pub providers: ProvidersSettings,
    /// Where the shared values of clusters are; without it there is no inventory.
    pub inventory: Option<InventorySettings>,
    /// How releases move through the fleet, wave by wave. The first campaign that matches a release applies. A
    /// release without one moves within the limits of `upgrade.proposals` only.
    pub campaigns: Vec<CampaignSettings>,
}

impl RepositorySettings {
    /// Whether the dashboard issue is kept.
    pub fn keeps_dashboard(&self) -> bool {
        self.dashboard.enabled.unwrap_or(self.mode == Mode::Propose)
    }

    /// The severities that `policy:` sets; what the catalogue refuses was refused when reading.
    pub fn severities(&self) -> Severities {
        let mut severities = Severities::default();
        for (id, level) in &self.policy {
            let _refused_when_read = severities.set(id, *level);
        }
        severities
    }
}

/// What the bot may do in a repository.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Opens pull requests (default when the file exists).
    #[default]
    Propose,
    /// Checks, answers and the dashboard; no branch, commit or pull request.
    Observe,
}

/// Where releases are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReleasesSettings {
    /// Patterns over folders; by default the shape decides.
    #[schemars(with = "Option<Vec<String>>")]
    pub paths: Option<Vec<Glob>>,
    /// Another repository that holds the releases; it must list this one under `consumers`.
    #[schemars(with = "Option<String>")]
    pub repository: Option<RepositoryName>,
}

/// Where clusters are, and how they follow releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClustersSettings {
    /// Patterns over folders; by default the shape decides.
    #[schemars(with = "Option<Vec<String>>")]
    pub paths: Option<Vec<Glob>>,
    /// The folder with Capstan's files in a cluster's folder; `.` = directly in it. `base` by default.
    #[schemars(with = "String")]
    pub base: FolderName,
    /// The folder with the customer's files; `overlay` by default.
    #[schemars(with = "String")]
    pub overlay: FolderName,
    /// Rules for clusters; later rules win, and a cluster's own `capstan.yaml` wins over them.
    pub rules: Vec<ClusterRule>,
    /// Kinds that overlays of claimed clusters may add and change, besides those of Cluster API, ConfigMaps and
    /// Secrets. Only a base may add RBAC, webhooks, definitions and namespaces, whatever is written here.
    pub overlay_kinds: Vec<OverlayKinds>,
    /// Patterns over cluster ids: the folders that one pattern matches have one owner. If they share a namespace of a
    /// management cluster, they may select each other's clusters and name each other's Secrets and identities. Other
    /// folders there are kept apart.
    #[serde(deserialize_with = "patterns_of_a_right")]
    #[schemars(with = "Vec<String>")]
    pub one_owner: Vec<Glob>,
}

/// Kinds that overlays may add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OverlayKinds {
    /// Their API group; `""` is the core group.
    pub group: String,
    /// The kinds; all of the group where none is named.
    #[serde(default)]
    pub kinds: Vec<String>,
}

impl OverlayKinds {
    /// Whether an object is of one of them.
    pub fn holds(&self, id: &ObjectId) -> bool {
        self.group == id.group && (self.kinds.is_empty() || self.kinds.contains(&id.kind))
    }
}

impl Default for ClustersSettings {
    fn default() -> Self {
        Self {
            paths: None,
            base: FolderName::named("base"),
            overlay: FolderName::named("overlay"),
            rules: Vec::new(),
            overlay_kinds: Vec::new(),
            one_owner: Vec::new(),
        }
    }
}

/// The rules for the clusters that a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterRule {
    /// Pattern over cluster ids.
    #[serde(rename = "match")]
    #[schemars(with = "String")]
    pub matches: Glob,
    /// How far these clusters follow new releases.
    #[serde(default)]
    pub track: Option<Track>,
    /// The provider whose releases they follow.
    #[serde(default)]
    pub provider: Option<String>,
}

/// A cluster on which Cluster API and the reconciler run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ManagementCluster {
    /// Its name.
    pub name: String,
    /// UID of its `kube-system` namespace.
    #[schemars(with = "String")]
    pub uid: ManagementClusterUid,
    /// Patterns over the ids of the clusters that it applies; claimed by two is an error.
    #[serde(default, deserialize_with = "patterns_of_a_right")]
    #[schemars(with = "Vec<String>")]
    pub clusters: Vec<Glob>,
    /// Its provider set; without it the shape alone decides which folders are such.
    #[serde(default)]
    pub providers: Option<ProviderSetSettings>,
}

/// The provider set of a management cluster: the objects of `operator.cluster.x-k8s.io` that install its providers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderSetSettings {
    /// The folder with the set's `base/`, from the repository's root; no two management clusters have one.
    #[schemars(with = "String")]
    pub path: FolderPath,
    /// Who applies the set; `others` by default.
    #[serde(default)]
    pub by: ProvidersBy,
}

/// Who applies a provider set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProvidersBy {
    /// Capstan's reconciler, in place of the operator.
    Capstan,
    /// The reconciler applies the provider objects, the Cluster API operator what they install.
    Operator,
    /// Other tools (default).
    #[default]
    Others,
}

impl ProvidersBy {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Capstan => "capstan",
            Self::Operator => "operator",
            Self::Others => "others",
        }
    }
}

/// How upgrades are computed and offered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UpgradeSettings {
    /// What happens if cluster and release changed the same field; `keep` by default.
    pub conflicts: ConflictPolicy,
    /// What happens if the release of a cluster is unknown; `infer` by default.
    pub when_release_unknown: WhenReleaseUnknown,
    /// Who owns a field, regardless of the merge.
    pub fields: Vec<FieldRule>,
    /// How proposals look, how many there are, how fast, and who comes first.
    pub proposals: ProposalSettings,
    /// What a proposal needs to be merged, and how it is merged.
    pub merge: MergeSettings,
}

/// What a proposal needs to be merged, and how it is merged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MergeSettings {
    /// How many people with the right to `approve` must have approved the changes of a proposal; 0 by default.
    #[serde(deserialize_with = "whole_number::<_, 0, 10>")]
    #[schemars(range(min = 0, max = 10))]
    pub approvals: u32,
    /// How a proposal becomes part of its base; by default the first of merge, squash and rebase that the repository
    /// allows.
    pub method: Option<MergeMethod>,
    /// Patterns over cluster ids: Capstan merges their proposals itself, once `merge` would; none by default.
    #[serde(deserialize_with = "patterns_of_a_right")]
    #[schemars(with = "Vec<String>")]
    pub automatic: Vec<Glob>,
}

/// The way a pull request becomes part of its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MergeMethod {
    /// A merge commit.
    Merge,
    /// One commit with everything.
    Squash,
    /// Its commits again, on top of the base.
    Rebase,
}

impl MergeMethod {
    /// In the order in which they are looked for.
    pub const ALL: [Self; 3] = [Self::Merge, Self::Squash, Self::Rebase];

    /// GitHub's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }
}

/// Components of providers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ProvidersSettings {
    /// Hosts from which components of providers are fetched; none by default. Each has its port if it is not the
    /// default of the scheme. The bot asks only those that its setting `provider-hosts` allows.
    #[schemars(with = "Vec<String>")]
    pub hosts: Vec<HostName>,
}

/// What happens if cluster and release changed the same field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConflictPolicy {
    /// The cluster's value stays, and the conflict is shown (default).
    #[default]
    Keep,
    /// The release's value is taken, and the conflict is shown.
    Take,
    /// The upgrade is blocked until a person decides.
    Block,
}

/// What happens if the release of a cluster is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhenReleaseUnknown {
    /// Capstan takes the release whose fields the base still has (default). If there is none, missing fields are
    /// added, and existing ones stay unless somebody names them.
    #[default]
    Infer,
    /// The new release's fields overwrite the cluster's, which is listed; nothing is removed.
    Overwrite,
    /// The upgrade is blocked until a person records it.
    Block,
}

/// Who owns a field, regardless of the merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FieldRule {
    /// Kind of the objects.
    pub kind: String,
    /// JSON Pointer to the field.
    #[serde(deserialize_with = "field_path")]
    #[schemars(with = "String")]
    pub path: FieldPath,
    /// Its owner.
    pub owner: FieldOwner,
}

/// Whose value of a field counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FieldOwner {
    /// The cluster's value stays.
    Cluster,
    /// The release's value is taken.
    Release,
    /// Something in the live cluster sets it; it is never in Git.
    Live,
}

/// The effect of the reconciler's dry run before a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PreflightSettings {
    /// Whether the check waits for an answer; `advisory` by default.
    pub mode: PreflightMode,
    /// How long an answer may take, in seconds; 60 by default.
    #[serde(deserialize_with = "whole_number::<_, 1, 3_600>")]
    #[schemars(range(min = 1, max = 3_600))]
    pub timeout_seconds: u32,
}

impl Default for PreflightSettings {
    fn default() -> Self {
        Self { mode: PreflightMode::Advisory, timeout_seconds: 60 }
    }
}

/// Whether a merge waits for the preflight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PreflightMode {
    /// No answer makes the check neutral (default).
    #[default]
    Advisory,
    /// No answer makes the check `action_required`.
    Required,
}
