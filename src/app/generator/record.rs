//! What a cluster records of its release, read alone.

use capstan_model::ids::{ContentId, ReleaseId};
use capstan_model::tree::Tree;
use capstan_plan::layout::TargetFolder;
use capstan_plan::settings::ClusterSettings;

/// What a cluster records of its release in its own settings.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    pub(super) release: Option<ReleaseId>,
    pub(super) content: Option<ContentId>,
}

impl Record {
    pub(super) fn of(settings: Option<&ClusterSettings>) -> Self {
        settings.map_or_else(Self::default, |settings| Self {
            release: settings.release.clone(),
            content: settings.release_content(),
        })
    }
}

/// A cluster's own settings, where they can be read.
pub(super) fn settings_of(tree: &dyn Tree, folder: &TargetFolder) -> Option<ClusterSettings> {
    let entry = folder.settings.as_ref()?;
    let bytes = tree.read(entry).ok()?;
    ClusterSettings::read(&entry.path, std::str::from_utf8(&bytes).ok()?).ok()
}
