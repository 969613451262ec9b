//! Components of providers from where they are published: OCI registries, releases of GitHub, packages of GitLab.
//!
//! | file | owns |
//! |---|---|
//! | `http` | one bounded way to ask: hosts that are named, redirects, waits, sizes, time |
//! | `oci` | artifacts of registries, fetched and pushed |
//! | `challenge` | what a registry wants of those who ask, and tokens for it |
//! | `github` | releases of GitHub and GitHub Enterprise Servers |
//! | `gitlab` | generic packages of GitLab |
//! | `cache` | what was fetched, on disk |
//!
//! Registries are spoken to by hand: `oci-client` follows redirects to any host and takes answers of any size.
//!
//! Deliberately absent: which provider wants what from where (`capstan_providers`), and what is at hand already.

mod cache;
mod challenge;
mod github;
mod gitlab;
mod http;
mod oci;

use async_trait::async_trait;
use capstan_providers::{ComponentOrigin, OciArtifact, Published, check_metadata};

pub use self::cache::{CacheLimits, FolderCache};
use self::http::RegistryHttp;
use capstan_ports::{
    AllowedHosts, ComponentSource, FetchError, FetchLimits, SourceCredentials, WantedComponents,
};

/// Fetches from hosts that are named. Cheap to share.
pub struct Fetcher {
    http: RegistryHttp,
    limits: FetchLimits,
}

/// Metadata and components of a version.
struct VersionFiles {
    version: String,
    metadata: Vec<u8>,
    components: Vec<u8>,
}

impl Fetcher {
    /// Prepares to speak to these hosts; nothing is sent yet.
    ///
    /// # Errors
    /// No HTTP client can be made.
    pub fn new(hosts: AllowedHosts, limits: FetchLimits) -> Result<Self, FetchError> {
        Ok(Self { http: RegistryHttp::new(hosts, limits.clone())?, limits })
    }

    async fn files(&self, wanted: &WantedComponents) -> Result<VersionFiles, FetchError> {
        let credentials = &wanted.credentials;
        match &wanted.origin {
            ComponentOrigin::Oci(artifact) => oci::fetch(&self.http, artifact, wanted).await,
            ComponentOrigin::GitHub(release) => github::fetch(&self.http, release, credentials).await,
            ComponentOrigin::GitLab(package) => gitlab::fetch(&self.http, package, credentials).await,
        }
    }
}

#[async_trait]
impl ComponentSource for Fetcher {
    async fn fetch(&self, wanted: &WantedComponents) -> Result<Published, FetchError> {
        let address = wanted.origin.to_string();
        let files = tokio::time::timeout(self.limits.whole, self.files(wanted));
        let VersionFiles { version, metadata, components } = files
            .await
            .map_err(|_| FetchError::TooSlow { address: address.clone(), after: self.limits.whole })??;
        let refused = |refusal: capstan_providers::Refusal| FetchError::Refused {
            address: address.clone(),
            reason: refusal.message().to_owned(),
        };
        let published = Published::read(version, metadata, components, &address).map_err(refused)?;
        check_metadata(&published).map_err(refused)?;
        let found = published.sha256();
        match &wanted.recorded {
            Some(recorded) if *recorded != found => Err(FetchError::Moved {
                address,
                version: published.version,
                recorded: recorded.clone(),
                found,
            }),
            _ => Ok(published),
        }
    }

    async fn push(
        &self,
        artifact: &OciArtifact,
        files: &[(String, Vec<u8>)],
        credentials: &SourceCredentials,
    ) -> Result<String, FetchError> {
        let pushed = oci::push(&self.http, artifact, files, credentials);
        tokio::time::timeout(self.limits.whole, pushed)
            .await
            .map_err(|_| FetchError::TooSlow { address: artifact.to_string(), after: self.limits.whole })?
    }
}
