//! The services of a cluster as a reconciler needs them: what the settings say, and what each folder renders to.

use capstan_kustomize::render::{self, RenderedFolder};
use capstan_model::finding::{FileError, Place};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, TreeEntry, Unreadable};
use capstan_plan::cluster::Cluster;
use capstan_plan::policy;
use capstan_plan::settings::{OverlaySettings, Service, ServiceFolder, service_place, with_overlay};

use super::{Fleet, Refused};

/// The services of a cluster, as its overlay has them.
#[derive(Debug, Clone, Default)]
pub struct ClusterServices {
    /// In the order of `capstan.yaml`.
    pub services: Vec<Service>,
    /// The cluster's `capstan.yaml`: its path and its text.
    file: Option<(RepoPath, String)>,
}

impl ClusterServices {
    /// The place of a service, or of one of its checks, by the service's name.
    pub fn place(&self, name: &str, check: Option<usize>) -> Option<Place> {
        let (path, text) = self.file.as_ref()?;
        let index = self.services.iter().position(|service| service.name.as_str() == name)?;
        Some(service_place((path, text), index, check))
    }
}

impl Fleet {
    /// The services of a cluster, without reading its manifests.
    ///
    /// # Errors
    /// Settings that cannot be read.
    pub fn services(&self, id: &ClusterId) -> Result<ClusterServices, Refused> {
        let folder = self.folder(id)?;
        let Some(settings) = Cluster::settings_of(self.tree().as_ref(), folder)? else {
            return Ok(ClusterServices::default());
        };
        if settings.services.is_empty() {
            return Ok(ClusterServices::default());
        }
        let overlay = match &folder.overlay_settings {
            Some(entry) => OverlaySettings::read(&entry.path, &self.text(entry)?)?.services,
            None => Vec::new(),
        };
        let file = match &folder.settings {
            Some(entry) => Some((entry.path.clone(), self.text(entry)?)),
            None => None,
        };
        Ok(ClusterServices { services: with_overlay(&settings.services, &overlay), file })
    }

    /// Whether what outlives a cluster in its cloud is deleted before it.
    ///
    /// # Errors
    /// A `capstan.yaml` that cannot be read.
    pub fn cleans_up(&self, id: &ClusterId) -> Result<bool, Refused> {
        let settings = Cluster::settings_of(self.tree().as_ref(), self.folder(id)?)?;
        Ok(settings.is_some_and(|settings| settings.cleanup))
    }

    /// What a service's folder renders to, with what the overlay has for it.
    ///
    /// # Errors
    /// What cannot be rendered, with its place.
    pub fn render_service(&self, id: &ClusterId, service: &ServiceFolder) -> Result<RenderedFolder, Refused> {
        let folders = policy::folders_of_service(self.folder(id)?, service);
        Ok(render::render(self.tree().as_ref(), &folders)?)
    }

    fn text(&self, entry: &TreeEntry) -> Result<String, Refused> {
        let bytes = self.tree().read(entry).map_err(|error: Unreadable| FileError::from(error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
