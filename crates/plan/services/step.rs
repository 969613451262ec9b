//! What the services of a cluster are planned from.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::release::{ReleaseServices, files};
use crate::layout::{ServiceFiles, TargetFolder};
use crate::merge::{ClusterFacts, OtherFile, SourceFile};
use crate::settings::ServiceFolder;
use crate::upgrade::MergeSettings;
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::FileError;
use capstan_model::tree::Tree;

/// The files of one service of a cluster.
#[derive(Debug, Clone)]
pub struct ServiceFacts {
    /// Its folder below the cluster's.
    pub folder: ServiceFolder,
    /// Its manifests, ordered by path.
    pub base: Vec<SourceFile>,
    /// Its files that are not manifests, as far as a release has files of those names.
    pub contents: Vec<OtherFile>,
    /// What the overlay has for it.
    pub overlay: Vec<SourceFile>,
}

impl ServiceFacts {
    /// The services of a cluster. Of the files that are not manifests, only those whose names a release has.
    ///
    /// # Errors
    /// A file that cannot be read, with its place.
    pub fn read(
        tree: &dyn Tree,
        cluster: &TargetFolder,
        releases: &[&ReleaseServices],
    ) -> Result<Vec<Self>, FileError> {
        let of = |service: &ServiceFiles| {
            let names: BTreeSet<&str> =
                releases.iter().flat_map(|release| release.contents(&service.folder)).collect();
            let (own, _) = cluster.service_folders(&service.folder);
            let mut contents = Vec::new();
            for entry in &service.files {
                let Some(below) = entry.path.below(&own).filter(|below| names.contains(below)) else {
                    continue;
                };
                let bytes = tree.read(entry)?;
                let text = std::str::from_utf8(&bytes).ok().map(Arc::from);
                contents.push(OtherFile { below: below.to_owned(), blob: entry.blob.clone(), text });
            }
            let (base, overlay) = (files(tree, &service.files)?, files(tree, &service.overlay_files)?);
            Ok(Self { folder: service.folder.clone(), base, contents, overlay })
        };
        cluster.services.iter().map(of).collect()
    }
}

/// What the step of a cluster's services is planned from.
#[derive(Debug, Clone, Copy)]
pub struct ServicesStep<'a> {
    /// The cluster, as its base is planned.
    pub cluster: &'a ClusterFacts,
    /// Its services, ordered by folder.
    pub services: &'a [ServiceFacts],
    /// What the release that it comes from brings; `None` where that is not known.
    pub old: Option<&'a ReleaseServices>,
    /// What the release that it goes to brings.
    pub new: &'a ReleaseServices,
    pub settings: &'a MergeSettings,
    /// What is known of objects' fields.
    pub schemas: &'a Schemas,
}
