//! The services of a cluster as a reconciler needs them: what the settings say, and what each folder renders to.

use capstan_kustomize::render::{self, RenderedFolder};
use capstan_model::finding::{FileError, Place};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree, TreeEntry};
use capstan_plan::cluster::Cluster;
use capstan_plan::layout::TargetFolder;
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
    /// Reads them, without the cluster's manifests.
    ///
    /// # Errors
    /// Settings that cannot be read.
    pub fn of(fleet: &Fleet, id: &ClusterId) -> Result<Self, Refused> {
        Ok(Self::read(fleet.tree().as_ref(), fleet.folder(id)?)?)
    }

    fn read(tree: &dyn Tree, folder: &TargetFolder) -> Result<Self, FileError> {
        let settings = Cluster::settings_of(tree, folder)?.unwrap_or_default();
        if settings.services.is_empty() {
            return Ok(Self::default());
        }
        let overlay = match &folder.overlay_settings {
            Some(entry) => OverlaySettings::read(&entry.path, &text(tree, entry)?)?.services,
            None => Vec::new(),
        };
        let file = match &folder.settings {
            Some(entry) => Some((entry.path.clone(), text(tree, entry)?)),
            None => None,
        };
        Ok(Self { services: with_overlay(&settings.services, &overlay), file })
    }

    /// The place of a service, or of one of its checks, by the service's name.
    pub fn place(&self, name: &str, check: Option<usize>) -> Option<Place> {
        let (path, text) = self.file.as_ref()?;
        let index = self.services.iter().position(|service| service.name.as_str() == name)?;
        Some(service_place((path, text), index, check))
    }
}

/// What a service's folder renders to, with what the overlay has for it.
///
/// # Errors
/// What cannot be rendered, with its place.
pub fn render_service(
    fleet: &Fleet,
    id: &ClusterId,
    service: &ServiceFolder,
) -> Result<RenderedFolder, Refused> {
    let folders = policy::folders_of_service(fleet.folder(id)?, service);
    Ok(render::render(fleet.tree().as_ref(), &folders)?)
}

fn text(tree: &dyn Tree, entry: &TreeEntry) -> Result<String, FileError> {
    Ok(String::from_utf8_lossy(&tree.read(entry)?).into_owned())
}
