//! Vault: who logs in, what is read, and what is kept alive there.

use std::sync::Arc;

use async_trait::async_trait;
use capstan_live::applying::RefusalKind;
use capstan_live::secrets::{KvRead, LeaseMethod, ResolvedReason};
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Map, Value};

use super::management_cluster::{LiveError, ServiceAccount};

/// The address of a Vault, and the authority of its certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultAddress {
    /// `https://vault.example.com:8200`; without TLS only on this machine and within the cluster.
    pub url: String,
    /// The authorities of its certificates, as PEM; those of this machine where `None`.
    pub ca: Option<String>,
    /// Vault's own namespace.
    pub namespace: Option<String>,
}

/// What somebody logs in with.
#[derive(Debug, Clone)]
pub enum VaultLogin {
    /// A signed token of a service account, by the methods `jwt` and `kubernetes`.
    Jwt {
        /// Where the method is mounted.
        path: String,
        role: String,
        /// The token.
        jwt: SecretString,
    },
    /// By the method `approle`.
    AppRole {
        /// Where the method is mounted.
        path: String,
        /// Who.
        role_id: SecretString,
        secret_id: SecretString,
    },
    /// With a token that somebody made.
    Token(SecretString),
}

/// A token of Vault's.
#[derive(Debug, Clone)]
pub struct VaultToken {
    pub token: SecretString,
    /// Identifies it; grants no access.
    pub accessor: String,
    /// How long it lives from now on, in seconds; `None` where it never ends.
    pub seconds: Option<i64>,
    /// Whether Vault renews it.
    pub is_renewable: bool,
}

/// A secret of the key-value engine.
#[derive(Clone)]
pub struct KvSecret {
    /// Its fields. Never shown.
    pub fields: Map<String, Value>,
    /// Which version they are of.
    pub version: u64,
}

/// A lease that was given just now.
#[derive(Clone)]
pub struct NewLease {
    /// Vault's id; empty where what was given has no lease.
    pub id: String,
    /// How long it lives, in seconds.
    pub seconds: i64,
    /// Whether Vault renews it.
    pub is_renewable: bool,
    /// What was given. Never shown.
    pub fields: Map<String, Value>,
}

/// Why there is no answer, or not the wished one. Nothing that a server wrote, and no byte of a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct VaultError {
    /// In a word.
    pub why: ResolvedReason,
    /// What was asked, what was found, what to do.
    pub message: String,
}

impl VaultError {
    /// In a word and a sentence.
    pub fn new(why: ResolvedReason, message: impl Into<String>) -> Self {
        Self { why, message: message.into() }
    }
}

/// The API server, or an object there, prevents it.
impl From<LiveError> for VaultError {
    fn from(error: LiveError) -> Self {
        let why = match &error {
            LiveError::Unreachable { .. } | LiveError::NotLeading { .. } => ResolvedReason::Away,
            LiveError::Refused { refusal, .. } if refusal.kind == RefusalKind::Forbidden => {
                ResolvedReason::NotAllowed
            }
            LiveError::Refused { refusal, .. } if refusal.worth_retrying() => ResolvedReason::Away,
            LiveError::Refused { .. } | LiveError::Malformed { .. } | LiveError::TooMuch { .. } => {
                ResolvedReason::BadData
            }
        };
        Self::new(why, error.to_string())
    }
}

/// Vaults that can be asked.
pub trait Vaults: Send + Sync {
    /// Gets ready to ask one; nothing is sent yet.
    ///
    /// # Errors
    /// The address or the certificates cannot be used ([`ResolvedReason::NotAllowed`], [`ResolvedReason::BadData`]).
    fn open(&self, address: &VaultAddress) -> Result<Arc<dyn Vault>, VaultError>;
}

/// One Vault. Every call is bounded in time and size.
#[async_trait]
pub trait Vault: Send + Sync {
    async fn log_in(&self, login: &VaultLogin) -> Result<VaultToken, VaultError>;
    /// Whether a token is one still: a refusal may mean the path or the token.
    async fn is_alive(&self, token: &SecretString) -> Result<bool, VaultError>;
    /// Reads a secret of the key-value engine, version 2.
    async fn read(&self, token: &SecretString, read: &KvRead) -> Result<KvSecret, VaultError>;
    /// Requests a lease. Without an answer, it may still have been granted.
    async fn lease(
        &self,
        token: &SecretString,
        path: &str,
        method: LeaseMethod,
        parameters: &Map<String, Value>,
    ) -> Result<NewLease, VaultError>;
    /// Whether Vault knows a lease still: somebody may have revoked it.
    async fn knows(&self, token: &SecretString, lease: &str) -> Result<bool, VaultError>;
    /// Renews a lease; how long it lives from now on, in seconds.
    async fn renew(&self, token: &SecretString, lease: &str, seconds: i64) -> Result<i64, VaultError>;
    /// Ends a lease; one that is not there is no error.
    async fn revoke(&self, token: &SecretString, lease: &str) -> Result<(), VaultError>;
    /// Renews the token; how long it lives from now on, in seconds.
    async fn renew_self(&self, token: &SecretString) -> Result<i64, VaultError>;
    /// Revokes the token and every lease of it; a token that has ended is not an error.
    async fn revoke_self(&self, token: &SecretString) -> Result<(), VaultError>;
}

/// Short tokens of service accounts, as the API server signs them.
#[async_trait]
pub trait ServiceAccountTokens: Send + Sync {
    /// One for that audience (the API server's own where `None`), asked for with the account's own rights.
    ///
    /// # Errors
    /// The API server refuses, or does not answer.
    async fn token(
        &self,
        account: &ServiceAccount,
        audience: Option<&str>,
    ) -> Result<SecretString, LiveError>;
}

/// No Vault is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoVaults;

impl Vaults for NoVaults {
    fn open(&self, _address: &VaultAddress) -> Result<Arc<dyn Vault>, VaultError> {
        Err(VaultError::new(ResolvedReason::NotAllowed, "this reconciler asks no Vault"))
    }
}

#[async_trait]
impl ServiceAccountTokens for NoVaults {
    async fn token(
        &self,
        _account: &ServiceAccount,
        _audience: Option<&str>,
    ) -> Result<SecretString, LiveError> {
        Err(LiveError::Malformed {
            doing: "asking for a token".to_owned(),
            reason: "this reconciler asks no Vault".to_owned(),
        })
    }
}

/// When what lives so many seconds from now on ends.
pub fn ends_at(now: Timestamp, seconds: i64) -> Timestamp {
    now.saturating_add(jiff::SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}
