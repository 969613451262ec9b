//! Why a credential is not made, renewed or taken away.

use std::time::Duration;

use capstan_ports::{CloudError, LiveError};

/// Why, in a word and a sentence.
#[derive(Debug, Clone)]
pub struct CredentialError {
    /// A CamelCase word of a closed set.
    pub kind: &'static str,
    /// What was found and what to do; no byte of a credential.
    pub message: String,
    cause: CredentialCause,
}

/// Who did not do their part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CredentialCause {
    /// The cloud does not answer: it passes by itself.
    CloudAway,
    /// The cloud refuses, or what is asked with cannot be used.
    Login,
    /// The management cluster, or an object there.
    Here,
}

impl CredentialError {
    /// The management cluster, or an object there, is the cause.
    pub fn here(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), cause: CredentialCause::Here }
    }

    /// What is asked with cannot be used.
    pub fn login(message: impl Into<String>) -> Self {
        Self { kind: "CloudCredentialUnusable", message: message.into(), cause: CredentialCause::Login }
    }

    /// The cloud took longer than it may.
    pub fn too_slow(cloud: &str, bound: Duration) -> Self {
        let message = format!("the cloud `{cloud}` takes longer than {} s", bound.as_secs());
        Self { kind: "CloudNotAnswered", message, cause: CredentialCause::CloudAway }
    }

    /// Whether the cloud was asked in vain, and is to be left alone for a while.
    pub fn is_of_cloud(&self) -> bool {
        self.cause != CredentialCause::Here
    }

    /// Whether it passes without anybody doing something.
    pub fn passes(&self) -> bool {
        self.cause == CredentialCause::CloudAway
    }
}

impl From<LiveError> for CredentialError {
    fn from(error: LiveError) -> Self {
        let kind = error.refusal().map_or("NotAnswered", |refusal| refusal.kind.as_str());
        Self::here(kind, error.to_string())
    }
}

impl From<CloudError> for CredentialError {
    fn from(error: CloudError) -> Self {
        let (kind, cause) = match &error {
            CloudError::Refused(_) => ("CloudLoginRefused", CredentialCause::Login),
            CloudError::Unusable(_) => ("CloudCredentialUnusable", CredentialCause::Login),
            CloudError::HostNotAllowed { .. } => ("CloudNotAnswered", CredentialCause::Login),
            CloudError::Unanswered(_) => ("CloudNotAnswered", CredentialCause::CloudAway),
        };
        Self { kind, message: error.to_string(), cause }
    }
}
