//! The folders that clusters, and services inside them, are rendered from.

use capstan_kustomize::render::Folders;

use crate::layout::TargetFolder;
use crate::settings::ServiceFolder;

/// The folders that a cluster is rendered from.
pub fn folders_of(folder: &TargetFolder) -> Folders {
    Folders {
        cluster: folder.id.folder().clone(),
        base: folder.base.clone(),
        overlay: folder.overlay.clone(),
    }
}

/// The folders that a service of a cluster is rendered from: its own in the place of base.
pub fn folders_of_service(folder: &TargetFolder, service: &ServiceFolder) -> Folders {
    let (own, overlay) = folder.service_folders(service);
    Folders { cluster: own.clone(), base: own, overlay }
}
