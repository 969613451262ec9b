//! Why a credential is not made, renewed or taken away.

use std::time::Duration;

use capstan_ports::{CloudError, LiveError};

/// Why, in a word and a sentence.
#[derive(Debug, Clone)]
pub struct Trouble {
    /// A CamelCase word of a closed set.
    pub kind: &'static str,
    /// What was found and what to do; no byte of a credential.
    pub message: String,
    cause: Cause,
}

/// Who did not do their part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// The cloud does not answer: it passes by itself.
    CloudAway,
    /// The cloud refuses, or what is asked with cannot be used.
    Login,
    /// The management cluster, or an object there.
    Here,
}

impl Trouble {
    /// The management cluster, or an object there, is the cause.
    pub fn here(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), cause: Cause::Here }
    }

    /// What is asked with cannot be used.
    pub fn login(message: impl Into<String>) -> Self {
        Self { kind: "CloudCredentialUnusable", message: message.into(), cause: Cause::Login }
    }

    /// The cloud took longer than it may.
    pub fn too_slow(cloud: &str, bound: Duration) -> Self {
        let message = format!("the cloud `{cloud}` takes longer than {} s", bound.as_secs());
        Self { kind: "CloudNotAnswered", message, cause: Cause::CloudAway }
    }

    /// Whether the cloud was asked in vain, and is to be left alone for a while.
    pub fn is_of_cloud(&self) -> bool {
        self.cause != Cause::Here
    }

    /// Whether it passes without anybody doing something.
    pub fn passes(&self) -> bool {
        self.cause == Cause::CloudAway
    }
}

impl From<LiveError> for Trouble {
    fn from(error: LiveError) -> Self {
        let kind = error.refusal().map_or("NotAnswered", |refusal| refusal.kind.as_str());
        Self::here(kind, error.to_string())
    }
}

impl From<CloudError> for Trouble {
    fn from(error: CloudError) -> Self {
        let (kind, cause) = match &error {
            CloudError::Refused(_) => ("CloudLoginRefused", Cause::Login),
            CloudError::Unusable(_) => ("CloudCredentialUnusable", Cause::Login),
            CloudError::HostNotAllowed { .. } => ("CloudNotAnswered", Cause::Login),
            CloudError::Unanswered(_) => ("CloudNotAnswered", Cause::CloudAway),
        };
        Self { kind, message: error.to_string(), cause }
    }
}
