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
    /// The name of the Secret that has it. If another name is requested, this Secret is deleted once the new one
    /// exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    /// The lease whose fields the Secret has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseStatus>,
    /// The accessor of the login with which a lease was about to be requested. If it is here without that lease,
    /// Vault may have given an unrecorded one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_with: Option<String>,
    /// The VaultStore that was asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_of: Option<String>,
    /// Leases that are no longer wanted: they end now that there are others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub earlier: Vec<EarlierLease>,
    /// When the lease ends, unless it is renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub lease_expires: Option<Timestamp>,
    /// When the content of the Secret was read. Reads that found nothing new do not change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub last_read: Option<Timestamp>,
    /// Its conditions: Resolved, with the reasons Resolved, Denied, Missing, Sealed, Away, BadData and NotAllowed.
    pub conditions: Conditions,
}

/// A lease of Vault. Its id opens nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseStatus {
    /// Vault's id.
    pub id: String,
    /// The accessor of the login that it depends on.
    pub login: String,
    /// Its VaultStore.
    #[serde(default)]
    pub store: String,
    /// When it was given or last renewed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub since: Timestamp,
    /// Its first duration.
    pub first_seconds: i64,
    /// Whether Vault renews it.
    pub renewable: bool,
    /// SHA-256 of its request.
    pub request: String,
}

impl VaultSecretStatus {
    /// So many earlier leases are remembered, as the definition has it.
    const MOST_EARLIER: usize = 20;

    /// Keeps the newest ones up to a bound, since others may write a status: the oldest run out by themselves.
    pub fn bound_earlier(&mut self) {
        let beyond = self.earlier.len().saturating_sub(Self::MOST_EARLIER);
        self.earlier.drain(..beyond);
    }
}

/// A lease that is no longer wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EarlierLease {
    /// Vault's id; absent if it is unknown whether Vault gave the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The accessor of the login that it depends on.
    pub login: String,
    /// Its VaultStore.
    pub store: String,
    /// When it ends at the latest.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub expires: Timestamp,
}
