//! The first release, made from a cluster, with the cluster's record of it; and the proof that nothing changes by it.
//!
//! *Guarantee*: what is returned was planned as if it were written. The cluster is at the release then, and an upgrade
//! to it changes no field and finds no difference. A release that would differ from the cluster is not made.

use std::sync::Arc;

use capstan_model::file_change::FileChange;
use capstan_model::finding::FileError;
use capstan_model::ids::{ClusterId, ContentId, ReleaseId, ReleaseName};
use capstan_model::tree::{RepoPath, Tree};
use capstan_model::version::ReleaseVersion;
use capstan_plan::first_release::{CLUSTER_NAME, first_release};
use capstan_plan::settings::{RecordError, RecordedRelease, record_first_release};
use capstan_plan::upgrade::Upgrade;

use super::{Fleet, Refused, sources};
use capstan_ports::{Workspace, WorkspaceError};

/// A release, not written yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeRelease {
    pub release: ReleaseId,
    /// The cluster's own name, which the release replaces by a variable.
    pub name: String,
    /// The release's files, and the cluster's `capstan.yaml`.
    pub changes: Vec<FileChange>,
    /// What was not copied, in words.
    pub left: Vec<String>,
}

/// Why no release is made.
#[derive(Debug, thiserror::Error)]
pub enum FirstReleaseFailed {
    /// What was asked for cannot be.
    #[error("{0}")]
    Usage(String),
    /// The cluster's files do not let it.
    #[error(transparent)]
    Files(#[from] FileError),
    /// The cluster cannot be read.
    #[error("{0}")]
    Refused(Refused),
    /// It cannot be recorded.
    #[error("the release cannot be recorded: {0}")]
    Record(#[from] RecordError),
    /// The checkout.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The proof failed: what would change.
    #[error("the release would differ from the cluster, so Capstan writes nothing: {0}")]
    Differs(String),
}

impl From<Refused> for FirstReleaseFailed {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl Fleet {
    /// Makes a release of a cluster's base.
    ///
    /// # Errors
    /// The release exists, the cluster is at one already, or what it holds cannot be a release.
    pub fn first_release(
        &self,
        workspace: &dyn Workspace,
        id: &ClusterId,
        release: &str,
    ) -> Result<MadeRelease, FirstReleaseFailed> {
        let folder = self.new_folder(release)?;
        let release = ReleaseId::from_path(folder.as_str());
        let cluster = self.read_cluster(id)?;
        if let Some(recorded) = &cluster.recorded {
            let known = &recorded.name;
            return Err(FirstReleaseFailed::Usage(format!(
                "{id} is already at {known}: make a first release from a cluster without a release"
            )));
        }
        let made = first_release(self.tree.as_ref(), &cluster, &folder)?;
        if let Some(other) =
            cluster.settings.as_ref().and_then(|settings| settings.variables.get(CLUSTER_NAME))
            && *other != made.name
        {
            return Err(FirstReleaseFailed::Usage(format!(
                "{} gives {CLUSTER_NAME} the value `{other}`, but the name of the cluster is `{}`",
                cluster.folder.settings_path(),
                made.name
            )));
        }
        let with_release = workspace.changed(&self.tree, &made.files)?;
        let content = with_release.folder_id(&folder).map(ContentId::from);
        let path = cluster.folder.settings_path();
        let before = match &cluster.folder.settings {
            Some(entry) => Some(sources::file(self.tree.as_ref(), entry)?.text().to_owned()),
            None => None,
        };
        let record = RecordedRelease { release: &release, content: content.as_ref() };
        let variable = (CLUSTER_NAME, made.name.as_str());
        let after = record_first_release(&path, before.as_deref(), id.folder().name(), record, variable)?;
        let mut changes = made.files;
        changes.push(FileChange { path, before, after: Some(after) });
        let whole = workspace.changed(&self.tree, &changes)?;
        self.prove(whole, id, &release)?;
        Ok(MadeRelease { release, name: made.name, changes, left: made.left })
    }

    /// The folder of a release that is to be made.
    fn new_folder(&self, release: &str) -> Result<RepoPath, FirstReleaseFailed> {
        let usage = |message: String| FirstReleaseFailed::Usage(message);
        let folder =
            RepoPath::parse(release.trim_end_matches('/')).map_err(|error| usage(error.to_string()))?;
        let provider = folder.parent().unwrap_or_default();
        if provider.is_root() || ReleaseVersion::parse(folder.name()).is_none() {
            return Err(usage(format!(
                "`{release}` is not a release: give a provider and a version, e.g. aws/v1.0.0"
            )));
        }
        let id = ReleaseId::from_path(folder.as_str());
        let is_known = self.layout().releases.iter().any(|known| known.id == id);
        if is_known || !self.tree.entries_in(&folder).is_empty() || id.as_str() != folder.as_str() {
            return Err(usage(format!("{folder} already exists, and Capstan never overwrites a release")));
        }
        Ok(folder)
    }

    /// Plans the cluster to its new release as if all were written.
    fn prove(
        &self,
        whole: Arc<dyn Tree>,
        id: &ClusterId,
        release: &ReleaseId,
    ) -> Result<(), FirstReleaseFailed> {
        let after = Self::with_settings(whole, self.settings.clone(), self.has_settings_file, self.today);
        let name = ReleaseName::Id(release.clone());
        if let Err(missing) = after.has_release(id, &name)? {
            return Err(FirstReleaseFailed::Differs(format!(
                "{missing}; `releases.paths` in .capstan.yaml may not match its folder"
            )));
        }
        let upgrade = after.plan(id, Some(&name))?;
        match difference(&upgrade) {
            None => Ok(()),
            Some(what) => Err(FirstReleaseFailed::Differs(what)),
        }
    }
}

/// The first thing that an upgrade would change, or why it could not go ahead.
pub(super) fn difference(upgrade: &Upgrade) -> Option<String> {
    let change = upgrade.changes.first().map(|change| {
        let file = change.place.clone().without_column();
        format!("{file}: {} {}", change.object, change.path)
    });
    let conflict = upgrade.conflicts.first().map(|conflict| format!("{} {}", conflict.object, conflict.path));
    let blocked = upgrade.blocked.first().cloned();
    let file = upgrade.files.first().map(|file| file.path.to_string());
    change.or(conflict).or(blocked).or(file)
}
