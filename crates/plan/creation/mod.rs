//! A new cluster, made from a release (`capstan create`).
//!
//! It is the upgrade of a cluster that holds nothing yet: every whole object of the release comes ([U4]), with the
//! values of its variables in it ([U3]), and `capstan.yaml` records the release, its content and the values, so that
//! later upgrades know them. Beside that the folder gets what its neighbours have: a kustomization of the base, an
//! overlay that takes the base in ([`FolderShape`]).
//!
//! *Guarantee*: the result was merged once more, without knowledge of its release, and the release has nothing to
//! add.
//!
//! Deliberately absent: who may have a folder where ([`crate::layout`]), and the rules' verdict ([`crate::policy`]).
//!
//! [U3]: crate::substitution#u3
//! [U4]: crate::merge::objects#u4

mod shape;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;

use capstan_kustomize::schema::Schemas;
use capstan_model::file_change::FileChange;
use capstan_model::finding::{FileError, Finding, Severity};
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::ObjectId;
use capstan_model::source::{SourceContent, SourceId};
use capstan_model::target::TargetKind;
use capstan_model::tree::RepoPath;
use capstan_yaml::{Node, write};
use serde::{Deserialize, Serialize};

use crate::flux::PostBuild;
use crate::merge::{AppliedBy, ClusterFacts, SourceFile};
use crate::settings::{FOLDER_FILE, heading};
use crate::upgrade::{self, Change, ChangeSource, MergeSettings, OldSource, PlannedUpgrade, Retarget};

pub use shape::FolderShape;
pub use values::variables;

/// What is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Makes {
    /// A cluster of Cluster API's: nothing without a `Cluster`.
    Cluster,
    /// The folder of a management cluster, which Cluster API did not make.
    ManagementCluster,
    /// The provider set of a management cluster.
    ProviderSet,
}

impl Makes {
    /// What kind of folder it becomes.
    pub const fn kind(self) -> TargetKind {
        match self {
            Self::Cluster | Self::ManagementCluster => TargetKind::Cluster,
            Self::ProviderSet => TargetKind::Providers,
        }
    }
}

/// What a cluster is made from.
#[derive(Debug, Clone, Copy)]
pub struct NewCluster<'a> {
    pub id: &'a ClusterId,
    /// What it is.
    pub makes: Makes,
    /// The folder of its base, as the settings have it.
    pub base: &'a RepoPath,
    /// The folder of its overlay.
    pub overlay: &'a RepoPath,
    pub release: &'a dyn ChangeSource,
    /// Values of the release's variables.
    pub variables: &'a BTreeMap<String, String>,
    /// What Flux substitutes where it applies that folder already.
    pub flux: &'a PostBuild,
    /// Who will apply it.
    pub applied: AppliedBy,
    /// What its folder has besides.
    pub shape: &'a FolderShape,
    /// What is known of objects' fields.
    pub schemas: &'a Schemas,
}

/// A cluster's files, none of them written.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeCluster {
    /// Its files, all of them new; ordered by path.
    pub files: Vec<FileChange>,
    /// Its objects, in the order of its files.
    pub objects: Vec<ObjectId>,
    /// The same as changes.
    pub changes: Vec<Change>,
    /// What is to be said of the release, none of which keeps it from being made.
    pub findings: Vec<Finding>,
}

impl MadeCluster {
    /// Its `Cluster` objects.
    pub fn clusters(&self) -> impl Iterator<Item = &ObjectId> {
        self.objects.iter().filter(|id| role_of(id) == Some(KindRole::Cluster))
    }
}

/// A cluster that is not written yet, with what is known of it among the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedCluster {
    /// Its id.
    pub cluster: ClusterId,
    pub release: ReleaseId,
    pub content: Option<SourceContent>,
    /// Values of its variables.
    pub variables: BTreeMap<String, String>,
    /// Its files, all of them new.
    pub files: Vec<FileChange>,
    pub objects: Vec<ObjectId>,
    /// What the rules say of it.
    pub findings: Vec<Finding>,
    /// The management cluster whose reconciler will apply it; `None` where others do.
    pub claimed_by: Option<String>,
    /// What a person should know besides, a sentence each.
    pub notes: Vec<String>,
}

/// Why no cluster is made. Each text is for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotMade {
    /// The release names versions, and holds no objects.
    #[error(
        "{0} names versions and holds no objects, so no cluster can be made from it: write the App or HelmRelease of its chart instead"
    )]
    NamesVersions(SourceId),
    /// The release has no `Cluster`.
    #[error(
        "{0} holds no complete `Cluster`, so no cluster can be made from it: its objects are for existing clusters"
    )]
    NoCluster(SourceId),
    /// Variables without a value, and values of no variable: a sentence each.
    #[error("{}", .0.join("\n"))]
    Variables(Vec<String>),
    /// What else keeps it from being made: a sentence each.
    #[error("{}", .0.join("\n"))]
    Blocked(Vec<String>),
    /// A file that cannot be read.
    #[error(transparent)]
    Files(#[from] FileError),
    /// What is made would not be what the release says: a fault of Capstan's, found before anything is written.
    #[error("the cluster would differ from {release}, so Capstan does not make it: {what}")]
    Differs {
        release: SourceId,
        /// What differs first.
        what: String,
    },
}

/// Makes a cluster.
///
/// # Errors
/// What keeps it from being made; all of it, where it is about variables.
pub fn make(new: NewCluster<'_>) -> Result<MadeCluster, NotMade> {
    let release = || new.release.id().clone();
    if new.release.fields().is_some() {
        return Err(NotMade::NamesVersions(release()));
    }
    let record = record_path(new.id)?;
    let facts = new.facts(Vec::new(), record_text(new.id, new.variables), &record);
    let troubles = values::troubles(&new, &facts)?;
    if !troubles.is_empty() {
        return Err(NotMade::Variables(troubles));
    }
    let PlannedUpgrade { upgrade, intended, .. } = new.plan(&facts)?;
    if !upgrade.blocked.is_empty() {
        return Err(NotMade::Blocked(reasons(&upgrade.blocked, &upgrade.findings)));
    }
    let objects: Vec<ObjectId> = upgrade.changes.iter().map(|change| change.object.clone()).collect();
    let mut files: Vec<FileChange> =
        intended.into_iter().map(|file| FileChange { before: None, ..file }).collect();
    let added = new.shape.files(new.base, new.overlay, &files);
    files.extend(added);
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let made = MadeCluster { files, objects, changes: upgrade.changes, findings: upgrade.findings };
    if new.makes == Makes::Cluster && made.clusters().next().is_none() {
        return Err(NotMade::NoCluster(release()));
    }
    new.prove(&made, &record)?;
    Ok(made)
}

impl NewCluster<'_> {
    fn facts(&self, base: Vec<SourceFile>, record: String, path: &RepoPath) -> ClusterFacts {
        ClusterFacts {
            id: self.id.clone(),
            kind: self.makes.kind(),
            base_folder: self.base.clone(),
            base,
            contents: Vec::new(),
            overlay: Vec::new(),
            record: Some(SourceFile::new(path.clone(), record)),
            variables: self.variables.clone(),
            flux: self.flux.clone(),
            release: None,
            applied: self.applied,
            classes_used_elsewhere: Vec::new(),
        }
    }

    /// Plans the upgrade from these files to the release. The plan does not know which release the files came from.
    fn plan(&self, facts: &ClusterFacts) -> Result<PlannedUpgrade, FileError> {
        upgrade::plan(&upgrade::UpgradeRequest {
            cluster: facts,
            old: OldSource::Unknown,
            new: self.release,
            settings: &MergeSettings::default(),
            schemas: self.schemas,
            retarget: Retarget::Refused,
        })
    }

    /// Checks that the release changes nothing in the files that were made from it.
    fn prove(&self, made: &MadeCluster, record: &RepoPath) -> Result<(), NotMade> {
        let is_base = |file: &&FileChange| {
            file.path != *record && file.path.is_in(self.base) && !file.path.is_in(self.overlay)
        };
        let base = made.files.iter().filter(is_base).filter_map(|file| {
            let text = file.after.as_deref()?;
            Some(SourceFile::new(file.path.clone(), text))
        });
        let facts = self.facts(base.collect(), record_text(self.id, self.variables), record);
        let PlannedUpgrade { upgrade, intended, .. } = self.plan(&facts)?;
        let change = upgrade.changes.first().map(|change| format!("{} {}", change.object, change.path));
        let conflict = upgrade.conflicts.first().map(|one| format!("{} {}", one.object, one.path));
        let file = intended.iter().find(|file| file.path != *record).map(|file| file.path.to_string());
        match change.or(conflict).or(upgrade.blocked.first().cloned()).or(file) {
            None => Ok(()),
            Some(what) => Err(NotMade::Differs { release: self.release.id().clone(), what }),
        }
    }
}

/// The settings before a release is recorded in them.
fn record_text(id: &ClusterId, variables: &BTreeMap<String, String>) -> String {
    let mut text = write(&heading(id.folder().name()));
    if !variables.is_empty() {
        let values = variables.iter().map(|(name, value)| (name.as_str(), Node::string(value.as_str())));
        text.push_str(&write(&Node::mapping([("variables", Node::mapping(values))])));
    }
    text
}

fn record_path(id: &ClusterId) -> Result<RepoPath, NotMade> {
    id.folder().join(FOLDER_FILE).map_err(|error| NotMade::Blocked(vec![error.to_string()]))
}

/// Why an upgrade blocks: the errors that say so with their place, or else its own words.
fn reasons(blocked: &[String], findings: &[Finding]) -> Vec<String> {
    let errors = findings.iter().filter(|finding| finding.severity() == Severity::Error);
    let said: Vec<String> = errors
        .map(|finding| match &finding.place {
            Some(place) => format!("{place}: {}", finding.message),
            None => finding.message.clone(),
        })
        .collect();
    if said.is_empty() { blocked.to_vec() } else { said }
}
