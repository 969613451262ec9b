//! The contents that the ids in a plan's inputs name.

use capstan_kustomize::schema::Schemas;
use capstan_model::ids::{ClusterId, ContentId, ReleaseId};
use capstan_model::tree::Tree;
use capstan_plan::inventory::FleetInventory;
use capstan_plan::layout::TargetFolder;
use capstan_plan::release::{Catalogue, ReleaseContent};
use capstan_providers::Supplies;

use super::refused::Refused;
use super::sources::Sources;
use super::supplement::PastRelease;

/// The contents that the ids in inputs name.
pub(super) trait Contents {
    /// The repository that holds the clusters.
    fn repository(&self) -> &dyn Tree;
    /// The one that holds the releases.
    fn releases(&self) -> &dyn Tree;
    /// A cluster's files.
    ///
    /// # Errors
    /// There is no such cluster.
    fn folder(&self, cluster: &ClusterId) -> Result<&TargetFolder, Refused>;
    /// The releases that there are.
    fn catalogue(&self) -> &Catalogue;
    /// The same, read as sources of change.
    fn sources(&self) -> &Sources;
    /// What is known of objects' fields.
    fn schemas(&self) -> &Schemas;
    /// The content of an old release that was found elsewhere.
    fn provided(&self, id: &ContentId) -> Option<&ReleaseContent>;
    /// A release that is in no folder any more.
    fn past(&self, id: &ReleaseId) -> Option<&PastRelease>;
    /// The components that were requested because the repository lacks them, or why they are missing.
    fn supplies(&self) -> &Supplies;
    /// The inventory, where the settings name one.
    fn inventory(&self) -> Option<&FleetInventory>;
}
