//! Clouds: what an account may use, how much of it is free, and credentials with an end.
//!
//! Neutral: an adapter knows what its cloud calls these things, reads its Secrets and words its refusals. Another cloud is
//! a package that implements [`Clouds`] and [`CloudSession`], with a row where the program puts its adapters together.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use capstan_live::cloud::{CloudFacts, CloudKind, Questions};
use jiff::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// A credential as a Secret of the management cluster holds it.
#[derive(Debug, Clone)]
pub struct CloudCredential {
    /// The kind of cloud.
    pub kind: CloudKind,
    /// What the Secret holds, by its keys; values that are not text are left out.
    pub secret: BTreeMap<String, SecretString>,
    /// Which of the clouds that it names.
    pub cloud: String,
    /// The region, where it is not that cloud's own.
    pub region: Option<String>,
}

/// Who gets the same answers: one user of one account in one region.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CloudAccount {
    /// Where it logs in. Notes that an earlier version wrote have the other names of the fields.
    #[serde(alias = "keystone")]
    pub host: String,
    /// The region that is asked.
    pub region: Option<String>,
    /// The id of that whose quotas they are: a project, say.
    #[serde(alias = "project")]
    pub account: String,
    /// The user's id: some things are a user's own.
    pub user: String,
}

impl CloudAccount {
    /// Whether both have the same quotas, for whichever user.
    pub fn shares_quotas_with(&self, other: &Self) -> bool {
        self.host == other.host && self.region == other.region && self.account == other.account
    }
}

/// What those who work with a credential read, by the keys of a Secret.
#[derive(Debug, Clone)]
pub struct CredentialForms {
    /// Cluster API's infrastructure provider.
    pub cluster_api: BTreeMap<String, SecretString>,
    /// The cloud's controller and its storage driver, inside of the cluster.
    pub controllers: BTreeMap<String, SecretString>,
}

/// A credential that the cloud has, of those whose names begin as this one's do and that belong to the user who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// The cloud's id.
    pub id: String,
    /// `None` where it never ends.
    pub expires_at: Option<Timestamp>,
}

/// Why nobody is logged in. No byte of a credential, and nothing that a service wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloudError {
    /// The Secret does not say how to log in, or the credential may not do what was asked; a sentence without a full stop.
    #[error("{0}")]
    Unusable(String),
    /// The host is not named.
    #[error(
        "{host} is not among the hosts that the reconciler may ask ({allowed}): add it to its setting `cloud-hosts`"
    )]
    HostNotAllowed {
        /// Host and port.
        host: String,
        /// Those that are.
        allowed: String,
    },
    /// The cloud knows no such credential, or it has ended; a sentence without a full stop.
    #[error("{0}")]
    Refused(String),
    /// It does not answer: `Keystone at … answers 503`.
    #[error("{0}")]
    Unanswered(String),
}

/// Clouds that may be asked.
#[async_trait]
pub trait Clouds: Send + Sync {
    /// Whether any may be asked at all.
    fn may_ask(&self) -> bool;
    /// Logs in. Bounded in time.
    ///
    /// # Errors
    /// See [`CloudError`].
    async fn log_in(&self, credential: &CloudCredential) -> Result<Arc<dyn CloudSession>, CloudError>;
}

/// Somebody who is logged in.
#[async_trait]
pub trait CloudSession: Send + Sync {
    /// Whose answers these are.
    fn account(&self) -> &CloudAccount;
    /// Asks; what is not answered says why. Bounded in time.
    async fn ask(&self, questions: &Questions) -> CloudFacts;
    /// The user's credentials whose names begin so, and then with `-`.
    ///
    /// # Errors
    /// The cloud refuses, or does not answer.
    async fn credentials(&self, beginning: &str) -> Result<Vec<Issued>, CloudError>;
    /// Makes a credential of that name and end for the session's account. It may do what a cluster's controllers need,
    /// and make no other.
    ///
    /// # Errors
    /// The cloud refuses (this credential makes no other; a name is taken), or does not answer: it may still have been
    /// made.
    async fn issue(&self, name: &str, expires_at: Timestamp) -> Result<NewCredential, CloudError>;
    /// Deletes a credential of the user; one that is not there is no error.
    ///
    /// # Errors
    /// The cloud refuses, or does not answer.
    async fn revoke(&self, id: &str) -> Result<(), CloudError>;
    /// What those who work with such a credential read.
    fn forms(&self, credential: &NewCredential) -> CredentialForms;
    /// What tells the place that those forms name from others: a Secret for another place does not serve.
    fn place(&self) -> String;
}

/// A credential that was just made; its secret cannot be read again.
#[derive(Debug, Clone)]
pub struct NewCredential {
    /// The cloud's id.
    pub id: String,
    /// What logs in with it.
    pub secret: SecretString,
}

/// Several kinds of clouds, each with its adapter.
pub struct CloudsByKind(pub Vec<(CloudKind, Arc<dyn Clouds>)>);

#[async_trait]
impl Clouds for CloudsByKind {
    fn may_ask(&self) -> bool {
        self.0.iter().any(|(_, clouds)| clouds.may_ask())
    }

    async fn log_in(&self, credential: &CloudCredential) -> Result<Arc<dyn CloudSession>, CloudError> {
        let found = self.0.iter().find(|(kind, _)| *kind == credential.kind);
        let (_, clouds) = found.ok_or_else(|| {
            CloudError::Unusable(format!("Capstan cannot ask clouds of the kind `{}`", credential.kind))
        })?;
        clouds.log_in(credential).await
    }
}

/// No cloud is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoClouds;

#[async_trait]
impl Clouds for NoClouds {
    fn may_ask(&self) -> bool {
        false
    }

    async fn log_in(&self, _credential: &CloudCredential) -> Result<Arc<dyn CloudSession>, CloudError> {
        Err(CloudError::Unusable(
            "Capstan may ask no cloud: add hosts to the setting `cloud-hosts` of the reconciler".to_owned(),
        ))
    }
}
