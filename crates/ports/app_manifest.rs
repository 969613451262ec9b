//! Making the GitHub App by its manifest: the exchange with the code host, and where the App is kept.

use std::path::PathBuf;

use async_trait::async_trait;
use secrecy::SecretString;
use url::Url;

/// An App that was made.
#[derive(Debug)]
pub struct CreatedApp {
    pub id: u64,
    pub name: String,
    pub page: Url,
    pub client_id: String,
    pub client_secret: SecretString,
    pub webhook_secret: SecretString,
    /// Its private key, in PEM form.
    pub private_key: SecretString,
}

/// Why there is no App for a code.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The code host rejects the code, in its words: it is old, was used, or is not valid.
    #[error("GitHub refuses the code: {0}")]
    Refused(String),
    /// There is no answer; the code may be good still.
    #[error("GitHub does not answer: {0}")]
    Unreachable(String),
    /// The answer lacks something.
    #[error("GitHub's answer is not as documented: {0}")]
    Unexpected(String),
}

/// Gives an App for the code that somebody came back with.
#[async_trait]
pub trait AppManifests: Send + Sync {
    /// The App of that code, which is good once.
    async fn convert(&self, code: &str) -> Result<CreatedApp, ManifestError>;
}

/// Where an App is kept.
pub trait AppKeeper: Send + Sync {
    /// Whether one could be kept now; the error is why not.
    fn try_to_keep(&self) -> std::io::Result<()>;
    /// Keeps one, whole or not at all and never over another one, and says where.
    fn keep(&self, app: &CreatedApp) -> std::io::Result<PathBuf>;
}
