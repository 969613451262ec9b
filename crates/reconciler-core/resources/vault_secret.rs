//! What is remembered of a `VaultSecret`: which versions its Secret holds, and its lease. Never a value.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::condition::Conditions;

/// `VaultSecret.status`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct VaultSecretStatus {
    /// The version of the secret in Vault that each key of the Secret was read from.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub version: BTreeMap<String, i64>,
    /// The name of the Secret that holds it. Where another one is asked for, this one goes once that stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    /// The lease that the Secret holds the fields of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseStatus>,
    /// The accessor of the login with which a lease was about to be asked for: where it stands here without that lease, one
    /// may have been given that nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_with: Option<String>,
    /// The VaultStore that it was to be asked of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_of: Option<String>,
    /// Leases that are asked for no more: they end now that others stand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub earlier: Vec<EarlierLease>,
    /// When the lease ends, if nobody renews it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub lease_expires: Option<Timestamp>,
    /// When what the Secret holds was read. Looks that found nothing new do not move it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub last_read: Option<Timestamp>,
    /// What is said of it: Resolved, with the reasons Resolved, Denied, Missing, Sealed, Away, BadData and NotAllowed.
    pub conditions: Conditions,
}

/// A lease of Vault. Its id opens nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseStatus {
    /// Vault's id.
    pub id: String,
    /// The accessor of the login that it hangs on.
    pub login: String,
    /// The VaultStore that it is of.
    #[serde(default)]
    pub store: String,
    /// When it was given, or renewed last.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub since: Timestamp,
    /// How long it was given for at first.
    pub first_seconds: i64,
    /// Whether Vault renews it.
    pub renewable: bool,
    /// SHA-256 of what it was asked for with.
    pub request: String,
}

impl VaultSecretStatus {
    /// So many earlier leases are remembered, as the definition has it.
    const MOST_EARLIER: usize = 20;

    /// No more than that are looked at, whoever wrote them: the oldest run out by themselves.
    pub fn bound_earlier(&mut self) {
        let beyond = self.earlier.len().saturating_sub(Self::MOST_EARLIER);
        self.earlier.drain(..beyond);
    }
}

/// A lease that is asked for no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EarlierLease {
    /// Vault's id; absent where nobody knows it, nor whether it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The accessor of the login that it hangs on.
    pub login: String,
    /// The VaultStore that it is of.
    pub store: String,
    /// When it ends, whatever happens.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub expires: Timestamp,
}
