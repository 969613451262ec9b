//! Components of a set's providers: those that are not at hand are fetched, and all can be packed as a ConfigMap that
//! the operator reads, as files of clusterctl's local repository, or as layers of an artifact.

mod packing;

pub use packing::{config_map, files, layers};

use capstan_model::tree::Tree;
use capstan_providers::{Provider, ProviderSet, Published, Refusal, Values, at_hand};

use super::ports::{ComponentSource, FetchError, SourceCredentials, WantedComponents};

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
    variables: &Values,
    recorded: Option<String>,
) -> Result<Published, NotFetched> {
    let origin = provider.origin()?.ok_or_else(|| {
        Refusal::new("its components are in ConfigMaps alone, so there is nothing to fetch")
            .of(provider.subject())
            .at(provider.place.clone())
    })?;
    let values = set.values(provider, variables)?;
    let credentials = SourceCredentials::read(|name| values.get(name).map(str::to_owned));
    let wanted = WantedComponents { provider, origin, credentials, recorded };
    let failed = |error| NotFetched::Failed { subject: provider.subject(), error };
    source.fetch(&wanted).await.map_err(failed)
}

/// Gives the set the components of all providers that have none at hand. Those that cannot be had are told.
pub async fn complete(
    source: &dyn ComponentSource,
    set: &mut ProviderSet,
    tree: &dyn Tree,
    variables: &Values,
    recorded: impl Fn(&Provider) -> Option<String>,
) -> Vec<NotFetched> {
    let (mut fetched, mut failed) = (Vec::new(), Vec::new());
    for provider in set.providers() {
        match at_hand(tree, set, provider) {
            Ok(Some(_)) => {}
            Ok(None) => match fetch(source, set, provider, variables, recorded(provider)).await {
                Ok(published) => fetched.push((provider.label(), published)),
                Err(error) => failed.push(error),
            },
            Err(refusal) => failed.push(refusal.into()),
        }
    }
    for (label, published) in fetched {
        set.provide(label, published);
    }
    failed
}
