//! OpenStack clouds: what a project may use, and how much of it is free.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use capstan_live::cloud::{CloudFacts, Questions};
use jiff::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// A credential as it lies in a Secret of the management cluster.
#[derive(Debug, Clone)]
pub struct CloudCredential {
    /// The content of `clouds.yaml`.
    pub clouds_yaml: SecretString,
    /// The certificates that are trusted, as PEM; those of this machine where `None`.
    pub ca: Option<String>,
    /// Which entry of it.
    pub cloud: String,
    /// The region, where it is not the entry's own.
    pub region: Option<String>,
}

/// Whoever gets the same answers: one user in one project of one region.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CloudProject {
    /// Where Keystone is.
    pub keystone: String,
    /// The region that is asked.
    pub region: Option<String>,
    /// The project's id.
    pub project: String,
    /// The user's id: key pairs are a user's own.
    pub user: String,
}

impl fmt::Display for CloudProject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "project {} of {}", self.project, self.keystone)
    }
}

/// How somebody else comes to the same project with a credential of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudEntrance {
    /// Keystone's address, with `/v3`.
    pub auth_url: String,
    /// The region, where one is named.
    pub region: Option<String>,
    /// `public`, `internal`, `admin`
    pub interface: String,
}

/// A credential that Keystone has, of those whose names begin as this one's do and that belong to the user who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// Keystone's id.
    pub id: String,
    /// `None` where it never ends.
    pub expires_at: Option<Timestamp>,
}

/// Why nobody is logged in. No byte of a credential, and nothing that a service wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloudError {
    /// The Secret does not say how to log in.
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
    /// Keystone knows no such credential, or it has ended.
    #[error(
        "Keystone at {host} refuses the login ({status}): the credential is wrong, has expired or was deleted"
    )]
    Refused {
        /// Host and port.
        host: String,
        /// Its status.
        status: u16,
    },
    /// It does not answer.
    #[error("Keystone at {host} {reason}")]
    Unanswered {
        /// Host and port.
        host: String,
        /// `answers 503`, `cannot be reached: …`
        reason: String,
    },
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
    fn project(&self) -> &CloudProject;
    /// How others come to it.
    fn entrance(&self) -> &CloudEntrance;
    /// Asks; what is not answered says why. Bounded in time.
    async fn ask(&self, questions: &Questions) -> CloudFacts;
    /// The user's application credentials whose names begin so, and then with `-`.
    ///
    /// # Errors
    /// Keystone refuses, or does not answer.
    async fn credentials(&self, beginning: &str) -> Result<Vec<Issued>, CloudError>;
    /// Makes an application credential of that name for the session's project: restricted, with the role `member` alone.
    ///
    /// # Errors
    /// Keystone refuses (a restricted credential makes no other; a name is taken), or does not answer: then it may have
    /// been made all the same.
    async fn issue(&self, name: &str, expires_at: Timestamp) -> Result<NewCredential, CloudError>;
    /// Deletes an application credential of the user; one that is not there is no error.
    ///
    /// # Errors
    /// Keystone refuses, or does not answer.
    async fn revoke(&self, id: &str) -> Result<(), CloudError>;
}

/// An application credential that was just made; nobody is told its secret again.
#[derive(Debug, Clone)]
pub struct NewCredential {
    /// Keystone's id.
    pub id: String,
    /// What logs in with it.
    pub secret: SecretString,
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
