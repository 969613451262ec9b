//! One cluster or provider set of a fleet: its files, its settings, and what it renders to.

use capstan_kustomize::render::{self, Folders, RenderedFolder};
use capstan_model::ids::ClusterId;
use capstan_plan::cluster::Cluster;
use capstan_plan::layout::TargetFolder;
use capstan_plan::merge::AppliedBy;
use capstan_plan::policy;
use capstan_plan::settings::ClusterSettings;

use super::Fleet;
use crate::generator::provider_objects;
use crate::generator::refused::Refused;
use crate::generator::render_reads::RenderReads;

impl Fleet {
    /// The files of a cluster.
    ///
    /// # Errors
    /// There is no such cluster.
    pub fn folder(&self, id: &ClusterId) -> Result<&TargetFolder, Refused> {
        self.layout.target(id.as_str()).ok_or_else(|| Refused {
            message: format!("there is no cluster or provider set `{id}`"),
            place: None,
        })
    }

    /// A cluster's files, settings and current release.
    ///
    /// # Errors
    /// A file of it that cannot be read.
    pub fn read_cluster(&self, id: &ClusterId) -> Result<Cluster, Refused> {
        Ok(Cluster::read(self.tree.as_ref(), self.folder(id)?)?)
    }

    /// What a cluster's own `capstan.yaml` says, without reading its manifests; what an empty one would, where it has
    /// none.
    ///
    /// # Errors
    /// A `capstan.yaml` that cannot be read.
    pub fn own_settings(&self, id: &ClusterId) -> Result<ClusterSettings, Refused> {
        Ok(Cluster::settings_of(self.tree.as_ref(), self.folder(id)?)?.unwrap_or_default())
    }

    /// The folders that a cluster is rendered from.
    ///
    /// # Errors
    /// There is no such cluster.
    pub fn folders(&self, id: &ClusterId) -> Result<Folders, Refused> {
        Ok(policy::folders_of(self.folder(id)?))
    }

    /// A cluster's objects, base and overlay together.
    ///
    /// # Errors
    /// What cannot be rendered, with its place.
    pub fn render(&self, id: &ClusterId) -> Result<RenderedFolder, Refused> {
        let mut rendered = render::render(self.tree.as_ref(), &self.folders(id)?)?;
        provider_objects::in_served_version(&mut rendered)?;
        Ok(rendered)
    }

    /// [`Self::render`]; what it reads is kept.
    ///
    /// # Errors
    /// As [`Self::render`].
    pub fn render_remembering(&self, id: &ClusterId, reads: &RenderReads) -> Result<RenderedFolder, Refused> {
        Ok(reads.render(self.tree.as_ref(), &self.folders(id)?)?)
    }

    /// Who applies a cluster.
    ///
    /// # Errors
    /// Two management clusters claim it.
    pub fn applied_by(&self, id: &ClusterId) -> Result<AppliedBy, Refused> {
        Ok(match self.layout.claimed_by(id, &self.settings)? {
            Some(_) => AppliedBy::Reconciler,
            None => AppliedBy::Others,
        })
    }
}
