//! The settings files: `.capstan.yaml`, and a cluster's, an overlay's and a release's `capstan.yaml`.
//!
//! Everything is optional and has a default; what is written must be right, so unknown keys, wrong
//! types and contradictions are errors that name file, line, column and the nearest right key.
//! [`RepositorySettings::for_target`] says what holds for one cluster or provider set.
//!
//! | file | owner | keys |
//! |---|---|---|
//! | `.capstan.yaml` in the root | platform team | [`RepositorySettings`] |
//! | `capstan.yaml` in a cluster's folder | platform team; the bot keeps the record current | [`ClusterSettings`] |
//! | `capstan.yaml` in its overlay | customer: may hold back, never loosen; optional services on or off | [`OverlaySettings`] |
//! | `capstan.yaml` in a release's folder | platform team | [`ReleaseSettings`] |
//!
//! A key is the field's name in camel case; [`json_schema`] prints all of them.
//!
//! Deliberately absent: where the files are found ([`crate::layout`]), and reading them from a pull
//! request under judgement; the caller passes the text from the tip of the base branch.

mod access;
mod campaign_check;
mod campaign_findings;
mod campaigns;
mod cluster;
mod commands;
mod dashboard;
mod effective;
mod fields;
mod grouping;
mod hosts;
mod inventory;
mod key_path;
mod mends;
mod more_errors;
mod owner_findings;
mod proposals;
mod read;
mod recipient;
mod record;
mod repository;
mod schema;
mod service_findings;
mod service_order;
#[cfg(test)]
mod service_tests;
mod services;
#[cfg(test)]
mod tests;
mod title;
mod values;

pub use access::{
    IssuerUrl, LifetimeDays, OidcLogin, OidcWord, OwnersAccess, OwnersCredentials, PublishedAt,
};
pub use campaign_findings::campaign_candidate;
pub use campaigns::read_campaigns;
pub use capstan_model::glob::{Glob, InvalidGlob};
pub use cluster::{
    ClusterSettings, ComponentsRecord, Deletion, Hold, OverlaySettings, ReleaseSettings, Tombstone, Urgency,
};
pub use commands::{CommandPermission, CommandSettings, Principal};
pub use dashboard::DashboardSettings;
pub use effective::{ClaimedTwice, EffectiveSettings, Wished};
pub use fields::{
    CommandPrefix, FolderName, FolderPath, GitHubLogin, HostName, LabelName, ManagementClusterUid,
    RepositoryName, Reviewer, Track,
};
pub use grouping::{GroupPattern, GroupSettings};
pub use hosts::{OperatorHost, PUBLIC_HOSTS};
pub use inventory::{InlineLimits, InventoryLimits, InventorySettings};
pub use owner_findings::{DeclaredOwners, judge_owners, owners_changed};
pub use proposals::ProposalSettings;
pub use read::RuleIds;
pub(crate) use read::{error_in_list, read_strictly};
pub use recipient::{Recipient, Unusable};
pub(crate) use record::heading;
pub use record::{
    RecordError, RecordedRelease, record_components, record_deletion, record_first_release, record_release,
};
pub use repository::{
    ClusterRule, ClustersSettings, ConflictPolicy, FieldOwner, FieldRule, ManagementCluster, MergeMethod,
    MergeSettings, Mode, OverlayKinds, PreflightMode, PreflightSettings, ProviderSetSettings, ProvidersBy,
    ProvidersSettings, ReleasesSettings, RepositorySettings, UpgradeSettings, WhenReleaseUnknown,
};
pub use schema::json_schema;
pub use service_findings::{judge_optional_services, judge_services, service_place, services_place};
pub use service_order::{NoOrder, order as service_order, waited_for, with_overlay};
pub use services::{
    CloudName, ForceReason, ForcedSwitch, ObjectKind, ObjectName, OptionalService, Owner, OwnerName,
    PublicKey, SERVICES_FOLDER, Service, ServiceCheck, ServiceFolder, ServiceName, ServiceObject,
    ServiceRole, ServiceSource, ServiceTurn,
};
pub use title::{TitleField, TitleTemplate};

/// Name of the file in the repository's root.
pub const REPOSITORY_FILE: &str = ".capstan.yaml";
/// Name of the file in a cluster's, an overlay's and a release's folder.
pub const FOLDER_FILE: &str = "capstan.yaml";
