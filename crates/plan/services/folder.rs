//! One service's folder, three ways: what base goes through, with the service's folder in its place.

use super::edits::{Objects, kept};
use super::step::ServicesStep;
use crate::merge::{AppliedBy, ClusterFacts, ReleaseSource, SourceFile};
use crate::settings::ServiceFolder;
use crate::upgrade::{KeptEdit, OldSource, PlannedUpgrade, Retarget, UpgradeRequest, plan};
use capstan_kustomize::render::is_kustomization;
use capstan_model::file_change::FileChange;
use capstan_model::finding::FileError;
use capstan_model::tree::RepoPath;
use capstan_yaml::manifest::{identity, objects};
use capstan_yaml::{Node, YamlFile};

/// A service's folder as an upgrade leaves it.
pub(super) struct FolderPlan {
    pub(super) planned: PlannedUpgrade,
    /// Its objects before.
    pub(super) before: Objects,
    /// The same after.
    pub(super) after: Objects,
    pub(super) kept: Vec<KeptEdit>,
}

/// What becomes of one folder. Where only the cluster has it, nothing does.
///
/// # Errors
/// A file of the cluster that cannot be read as YAML.
pub(super) fn plan_folder(
    step: &ServicesStep<'_>,
    folder: &ServiceFolder,
) -> Result<Option<FolderPlan>, FileError> {
    let old = step.old.and_then(|old| old.folders.get(folder));
    let new = step.new.folders.get(folder);
    if old.is_none() && new.is_none() {
        return Ok(None);
    }
    let facts = facts_of(step, folder);
    let source = new.unwrap_or(&step.new.nothing);
    let before = match step.old {
        Some(release) => OldSource::Known(old.unwrap_or(&release.nothing)),
        None => OldSource::Unknown,
    };
    let mut planned = plan(&request(step, &facts, before, source))?;
    planned.intended.retain(|change| change.path.is_in(&facts.base_folder));
    if new.is_none() {
        empty_kustomizations(&facts, &mut planned);
    }
    let (was, is) = (objects_of(&facts.base, &[]), objects_of(&facts.base, &planned.intended));
    let brought = |source: Option<&ReleaseSource>| match source {
        Some(source) => {
            let empty =
                ClusterFacts { base: Vec::new(), contents: Vec::new(), overlay: Vec::new(), ..facts.clone() };
            let made = plan(&request(step, &empty, OldSource::Unknown, source))?;
            Ok::<_, FileError>(objects_of(&[], &made.intended))
        }
        None => Ok(Objects::new()),
    };
    let kept = match (old, planned.intended.is_empty()) {
        (Some(old), false) => kept([&brought(Some(old))?, &was, &is, &brought(new)?]),
        _ => Vec::new(),
    };
    Ok(Some(FolderPlan { planned, before: was, after: is, kept }))
}

fn request<'r>(
    step: &ServicesStep<'r>,
    cluster: &'r ClusterFacts,
    old: OldSource<'r>,
    new: &'r ReleaseSource,
) -> UpgradeRequest<'r> {
    let (settings, schemas) = (step.settings, step.schemas);
    UpgradeRequest { cluster, old, new, settings, schemas, retarget: Retarget::Refused }
}

fn facts_of(step: &ServicesStep<'_>, folder: &ServiceFolder) -> ClusterFacts {
    let own = step.services.iter().find(|service| service.folder == *folder);
    ClusterFacts {
        base_folder: folder.inside(step.cluster.id.folder()),
        base: own.map(|own| own.base.clone()).unwrap_or_default(),
        contents: own.map(|own| own.contents.clone()).unwrap_or_default(),
        overlay: own.map(|own| own.overlay.clone()).unwrap_or_default(),
        record: None,
        // Nothing in it is of Cluster API: no template gets a new name.
        applied: AppliedBy::Reconciler,
        classes_used_elsewhere: Vec::new(),
        ..step.cluster.clone()
    }
}

/// The objects in files, once these are as they become.
pub(super) fn objects_of(files: &[SourceFile], intended: &[FileChange]) -> Objects {
    let changed = |path: &RepoPath| intended.iter().find(|change| change.path == *path);
    let stay = files.iter().filter(|file| changed(&file.path).is_none());
    let stay = stay.filter(|file| !is_kustomization(&file.path)).filter_map(|file| file.read().ok());
    let becomes = intended.iter().filter(|change| !is_kustomization(&change.path));
    let becomes = becomes.filter_map(|change| YamlFile::read(change.after.as_deref()?).ok());
    let mut found = Objects::new();
    for file in stay.chain(becomes) {
        let roots = file.documents().iter().flat_map(|document| objects(&document.root));
        found.extend(roots.filter_map(|(_, object): (_, &Node)| Some((identity(object)?, object.clone()))));
    }
    found
}

/// A kustomization that lists nothing any more goes with the last file that it listed.
fn empty_kustomizations(facts: &ClusterFacts, planned: &mut PlannedUpgrade) {
    let goes = |path: &RepoPath, planned: &PlannedUpgrade| {
        planned.intended.iter().any(|change| change.path == *path && change.after.is_none())
    };
    let (lists, others): (Vec<&SourceFile>, Vec<&SourceFile>) =
        facts.base.iter().partition(|file| is_kustomization(&file.path));
    if !planned.upgrade.blocked.is_empty()
        || others.iter().any(|file| !goes(&file.path, planned))
        || planned.intended.iter().any(|change| !is_kustomization(&change.path) && change.after.is_some())
    {
        return;
    }
    for list in lists {
        let text = planned.intended.iter().find(|change| change.path == list.path);
        let text = text.map_or(Some(list.text()), |change| change.after.as_deref());
        let Some(Ok(yaml)) = text.map(YamlFile::read) else { continue };
        let says_nothing = yaml.documents().iter().all(|document| {
            document.root.as_mapping().unwrap_or_default().iter().all(|entry| {
                let is_empty = entry.value.as_sequence().is_some_and(<[Node]>::is_empty);
                ["apiVersion", "kind", "metadata"].contains(&entry.key.as_str())
                    || is_empty
                    || entry.value.is_null()
            })
        });
        if says_nothing {
            planned.intended.retain(|change| change.path != list.path);
            let (path, before) = (list.path.clone(), Some(list.text().to_owned()));
            planned.intended.push(FileChange { path, before, after: None });
        }
    }
}
