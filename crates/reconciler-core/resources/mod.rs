//! What people ask of the reconciler and what it answers: the content of `Fleet`, `ManagedCluster` and
//! `VaultSecret`.
//!
//! They are exactly what the custom resources have, so `k8s` embeds them as they are.

mod cloud_credentials;
mod condition;
mod inventory;
mod owners_key;
mod spec;
#[cfg(test)]
mod spec_tests;
mod status;
#[cfg(test)]
mod status_tests;
mod vault_secret;

pub use cloud_credentials::{CloudCredentialsSpec, CloudCredentialsStatus, PublishedSecret, SecretRef};
pub use condition::{Condition, ConditionStatus, ConditionType, Conditions};
pub use inventory::{ClusterDefinitionStatus, LevelStatus};
pub use owners_key::{KeyFile, KeyRecipient, OwnersKeyStatus};
pub use spec::{
    Adopt, CreateClusters, FleetSpec, Guards, ManagedClusterSpec, ReleaseSelector, ServiceAccountSpec,
    SourceSpec,
};
pub use status::{
    ClusterPhase, FleetStatus, KeptTemplate, ManagedClusterStatus, PlaceStatus, RolloutMachine, RolloutState,
    RolloutStatus,
};
pub use vault_secret::{EarlierLease, LeaseStatus, VaultSecretStatus};
