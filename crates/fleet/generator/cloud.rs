//! A cluster's cloud and its owners.

use capstan_model::ids::ClusterId;
use capstan_plan::cluster::Cluster;
use capstan_plan::settings::{CloudName, Owner, OwnersAccess};

use super::Fleet;
use super::refused::Refused;

impl Fleet {
    /// The cloud that a cluster names, without reading its manifests.
    ///
    /// # Errors
    /// A `capstan.yaml` that cannot be read.
    pub fn cloud(&self, id: &ClusterId) -> Result<Option<CloudName>, Refused> {
        let settings = Cluster::settings_of(self.tree.as_ref(), self.folder(id)?)?;
        Ok(settings.and_then(|settings| settings.cloud))
    }

    /// The owners that a cluster names, and what they are given, likewise.
    ///
    /// # Errors
    /// As [`Self::cloud`].
    pub fn owners(&self, id: &ClusterId) -> Result<(Vec<Owner>, OwnersAccess), Refused> {
        let settings = Cluster::settings_of(self.tree.as_ref(), self.folder(id)?)?;
        Ok(settings.map(|settings| (settings.owners, settings.access)).unwrap_or_default())
    }
}
