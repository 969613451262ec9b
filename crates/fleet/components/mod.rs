//! Components of a set's providers: those that are not at hand are fetched, and all can be packed as a ConfigMap that
//! the operator reads, as files of clusterctl's local repository, or as layers of an artifact.
//!
//! The command line fetches on request ([`fetch`]); the bot whenever a plan lacks something ([`Supplier`]); the
//! reconciler whenever a provider of its management cluster does ([`Downloads`]).

mod downloads;
mod fetches;
mod packing;
mod supplier;

pub use downloads::{Download, DownloadLimits, Downloads, NotHere, Sort};
pub use packing::{config_map, files, layers};
pub use supplier::{Connect, HostCredentials, Supplier, SupplierLimits, SupplierPorts};

use capstan_providers::{Provider, ProviderSet, Published, Refusal, VariableValues};

use capstan_ports::{ComponentSource, FetchError, SourceCredentials, WantedComponents};

/// Why a provider's components cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum NotFetched {
    /// Something in the repository is wrong, or says nothing of where they are.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Fetching failed.
    #[error("{subject}: {error}")]
    Failed {
        /// The provider object.
        subject: String,
        /// Why.
        error: FetchError,
    },
}

/// Fetches the components of a provider from where its object says they are published. `environment` gives
/// credentials that its config Secret has not.
///
/// # Errors
/// What the provider object says wrong, or why fetching failed. A provider whose components are in ConfigMaps alone
/// is refused: there is nothing to fetch.
pub async fn fetch(
    source: &dyn ComponentSource,
    set: &ProviderSet,
    provider: &Provider,
    variables: &VariableValues,
    recorded: Option<String>,
) -> Result<Published, NotFetched> {
    let origin = provider.origin()?.ok_or_else(|| {
        Refusal::new("its components are in ConfigMaps alone, so there is nothing to fetch")
            .of(provider.subject())
            .at(provider.place.clone())
    })?;
    let values = set.values(provider, variables)?;
    let credentials = SourceCredentials::read(|name| values.get(name).map(str::to_owned));
    let wanted = WantedComponents {
        kind: provider.kind,
        name: provider.name.clone(),
        version: provider.version().map(str::to_owned),
        origin,
        credentials,
        recorded,
    };
    let failed = |error| NotFetched::Failed { subject: provider.subject(), error };
    source.fetch(&wanted).await.map_err(failed)
}
