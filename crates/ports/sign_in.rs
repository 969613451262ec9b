//! Who somebody is, and what they may do: asked of the code host in their own name.

use std::collections::BTreeMap;

use async_trait::async_trait;
use capstan_facts::Permission;
use secrecy::SecretString;
use url::Url;

use super::CodeHostError;

/// Why somebody is not known.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The code host refuses: in its word, which names no secret.
    #[error("the sign-in is refused: {0}")]
    Refused(String),
    /// The code host does not answer as it should.
    #[error(transparent)]
    Host(#[from] CodeHostError),
}

impl SignInError {
    /// Whether what was shown is good no longer: they have to sign in again.
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Host(CodeHostError::Unauthenticated { .. }))
    }
}

/// Signing in by OAuth's web flow, with a proof key (PKCE).
#[async_trait]
pub trait SignIn: Send + Sync {
    /// Where somebody says that they are who they are. `challenge` is the SHA-256 of the proof key, in base64url.
    fn authorize_url(&self, state: &str, challenge: &str) -> Url;
    /// Their token, for the code that they came back with.
    async fn exchange(&self, code: &str, proof_key: &SecretString) -> Result<SecretString, SignInError>;
    /// Their login.
    async fn login_of(&self, token: &SecretString) -> Result<String, SignInError>;
    /// What they may do in the repositories that the App is installed on, by GitHub's id; those where they may do
    /// nothing are left out.
    async fn rights_of(&self, token: &SecretString) -> Result<BTreeMap<u64, Permission>, SignInError>;
}
