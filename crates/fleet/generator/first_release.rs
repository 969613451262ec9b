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
use capstan_plan::first_release::{self, CLUSTER_NAME};
use capstan_plan::layout::Layout;
use capstan_plan::settings::{RecordError, RecordedRelease, record_first_release};

use super::plan::{has_release, plan_target};
use super::sources::settings_text;
use super::{Fleet, Refused};
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

/// Makes a release of a cluster's base.
///
/// # Errors
/// The release exists, the cluster is at one already, or what it holds cannot be a release.
pub fn first_release(
    fleet: &Fleet,
    workspace: &dyn Workspace,
    id: &ClusterId,
    release: &str,
) -> Result<MadeRelease, FirstReleaseFailed> {
    let tree = fleet.tree();
    let folder = new_folder(tree.as_ref(), fleet.layout(), release)?;
    let release = ReleaseId::from_path(folder.as_str());
    let cluster = fleet.read_cluster(id)?;
    if let Some(recorded) = &cluster.recorded {
        let known = &recorded.name;
        return Err(FirstReleaseFailed::Usage(format!(
            "{id} is already at {known}: make a first release from a cluster without a release"
        )));
    }
    let made = first_release::first_release(tree.as_ref(), &cluster, &folder)?;
    if let Some(other) = cluster.settings.as_ref().and_then(|settings| settings.variables.get(CLUSTER_NAME))
        && *other != made.name
    {
        return Err(FirstReleaseFailed::Usage(format!(
            "{} gives {CLUSTER_NAME} the value `{other}`, but the name of the cluster is `{}`",
            cluster.folder.settings_path(),
            made.name
        )));
    }
    let with_release = workspace.changed(tree, &made.files)?;
    let content = with_release.folder_id(&folder).map(ContentId::from);
    let path = cluster.folder.settings_path();
    let before = settings_text(tree.as_ref(), &cluster.folder)?;
    let record = RecordedRelease { release: &release, content: content.as_ref() };
    let variable = (CLUSTER_NAME, made.name.as_str());
    let after = record_first_release(&path, before.as_deref(), id.folder().name(), record, variable)?;
    let mut changes = made.files;
    changes.push(FileChange { path, before, after: Some(after) });
    let whole = workspace.changed(tree, &changes)?;
    prove(fleet, whole, id, &release)?;
    Ok(MadeRelease { release, name: made.name, changes, left: made.left })
}

/// The folder of a release that is to be made.
fn new_folder(tree: &dyn Tree, layout: &Layout, release: &str) -> Result<RepoPath, FirstReleaseFailed> {
    let usage = |message: String| FirstReleaseFailed::Usage(message);
    let folder = RepoPath::parse(release.trim_end_matches('/')).map_err(|error| usage(error.to_string()))?;
    let provider = folder.parent().unwrap_or_default();
    if provider.name() == "PROVIDER" {
        return Err(usage(format!(
            "`{release}` has the word PROVIDER where the name of a provider belongs, e.g. aws/v1.0.0"
        )));
    }
    if provider.is_root() || ReleaseVersion::parse(folder.name()).is_none() {
        return Err(usage(format!(
            "`{release}` is not a release: give a provider and a version, e.g. aws/v1.0.0"
        )));
    }
    let id = ReleaseId::from_path(folder.as_str());
    let is_known = layout.releases.iter().any(|known| known.id == id);
    if is_known || !tree.entries_in(&folder).is_empty() || id.as_str() != folder.as_str() {
        return Err(usage(format!("{folder} already exists, and Capstan never overwrites a release")));
    }
    Ok(folder)
}

/// Plans the cluster to its new release as if all were written.
fn prove(
    before: &Fleet,
    whole: Arc<dyn Tree>,
    id: &ClusterId,
    release: &ReleaseId,
) -> Result<(), FirstReleaseFailed> {
    let settings = before.settings().clone();
    let after = Fleet::with_settings(whole, settings, before.has_settings_file(), before.today());
    let name = ReleaseName::Id(release.clone());
    if let Err(missing) = has_release(&after, id, &name)? {
        return Err(FirstReleaseFailed::Differs(format!(
            "{missing}; `releases.paths` in .capstan.yaml may not match its folder"
        )));
    }
    let difference = plan_target(&after, id, Some(&name))?.first_difference();
    difference.map_or(Ok(()), |what| Err(FirstReleaseFailed::Differs(what)))
}

#[cfg(test)]
mod tests {
    use capstan_plan::layout::discover;
    use capstan_plan::settings::RepositorySettings;
    use capstan_test_support::Files;

    use super::*;

    #[test]
    fn a_first_release_has_a_provider_and_a_version_and_overwrites_nothing() {
        const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
        let tree = Files::new(&[("aws/archived/v0.9.0/base/a.yaml", OBJECT), ("aws/v2.0.0/notes.md", "\n")]);
        let layout = discover(&tree, &RepositorySettings::default());
        let exists =
            |folder: &str| format!("{folder} already exists, and Capstan never overwrites a release");
        let no_release = |folder: &str| {
            format!("`{folder}` is not a release: give a provider and a version, e.g. aws/v1.0.0")
        };
        for (typed, answer) in [
            ("aws/v1.0.0", "aws/v1.0.0".to_owned()),
            ("aws/v1.0.0/", "aws/v1.0.0".to_owned()),
            ("v1.0.0", no_release("v1.0.0")),
            ("aws/latest", no_release("aws/latest")),
            ("aws/v2.0.0", exists("aws/v2.0.0")),
            // An archived release has this id.
            ("aws/v0.9.0", exists("aws/v0.9.0")),
            ("aws/archived/v1.0.0", exists("aws/archived/v1.0.0")),
        ] {
            let found = new_folder(&tree, &layout, typed);
            let found = found.map_or_else(|error| error.to_string(), |folder| folder.to_string());
            assert_eq!(found, answer, "{typed}");
        }
    }
}
