//! Capstan's own kinds as the API server knows them: their types, and the definitions printed from them. And those of the
//! providers (`providers`), for where nobody else brings them.
//!
//! Those of the inventory (`inventory`) take and refuse what `capstan_inventory::kinds` takes and refuses in files.
//!
//! The documentation of a field is what `kubectl explain` shows. Rules that a schema can state (bounds, CEL)
//! are in the type that has the schema and nowhere else; what they mean for a pass is decided in [`capstan_reconciler::reconcile`].

#[expect(clippy::duplicated_attributes, reason = "each column of a table says its type")]
mod fleet;
mod inventory;
#[expect(clippy::duplicated_attributes, reason = "each column of a table says its type")]
mod managed_cluster;
#[expect(clippy::duplicated_attributes, reason = "each column of a table says its type")]
mod managed_provider;
mod parts;
mod providers;
mod schema;
#[expect(clippy::duplicated_attributes, reason = "each column of a table says its type")]
mod vault;

use kube::CustomResourceExt;
use serde_json::Value;

pub use fleet::{Fleet, FleetSpec};
pub use managed_cluster::{ManagedCluster, ManagedClusterSpec};
pub use managed_provider::{ManagedProvider, ManagedProviderSpec};
pub use providers::provider_definitions;
pub use vault::{VaultSecret, VaultStore};

/// Capstan's API group.
pub const GROUP: &str = "capstan.dev";
pub const VERSION: &str = "v1alpha1";

/// The definitions of Capstan's kinds, as they are installed: what `capstan crds` prints and `deploy/crds`
/// holds.
///
/// # Errors
/// A type whose schema cannot be written as JSON: a bug.
pub fn definitions() -> Result<Vec<(String, Value)>, serde_json::Error> {
    let all = [
        (Fleet::crd_name(), Fleet::crd()),
        (ManagedCluster::crd_name(), ManagedCluster::crd()),
        (ManagedProvider::crd_name(), ManagedProvider::crd()),
        (VaultStore::crd_name(), VaultStore::crd()),
        (VaultSecret::crd_name(), VaultSecret::crd()),
    ];
    let mut definitions = all
        .into_iter()
        .map(|(name, definition)| {
            let mut definition = serde_json::to_value(definition)?;
            schema::tidy(&mut definition);
            Ok((name.to_owned(), definition))
        })
        .collect::<Result<Vec<_>, serde_json::Error>>()?;
    definitions.extend(inventory::definitions());
    Ok(definitions)
}
