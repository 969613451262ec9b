//! A cluster that the inventory defines and that has no folder yet, and the proof that its folder is what it defines.

use std::collections::BTreeMap;

use capstan_inventory::record;
use capstan_model::file_change::FileChange;
use capstan_model::ids::{ClusterId, ReleaseName};
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::tree::RepoPath;
use capstan_plan::creation::{FolderShape, NewCluster, make};
use capstan_plan::merge::AppliedBy;
use capstan_plan::upgrade::{ChangeSource, Upgrade, ValuesCourse, ValuesStep};

use super::new_cluster::{own_name, verdict};
use super::plan::plan_target;
use super::to_come::ToCome;
use super::valued::Subject;
use super::valued_folder::plan_folder;
use super::{Fleet, Refused};

/// The plan of its folder; `None` where nothing goes to that folder.
///
/// # Errors
/// What is wrong with its definition, its values, its release or its render; the folder or the name is taken.
pub(super) fn plan_creation(fleet: &Fleet, id: &ClusterId) -> Result<Option<Upgrade>, Refused> {
    let no_longer = || Refused { message: format!("{id} is not defined any more"), place: None };
    let subject = Subject::of(fleet, id.folder())?.ok_or_else(no_longer)?;
    let definition = subject.member.definition;
    let at = |message: String| Refused { message, place: Some(definition.level.place(definition.offset)) };
    let ToCome { release, templates, values, record, source } = ToCome::of(fleet, &subject)?;
    if subject.is_management() && !source.has_objects() {
        return Ok(None);
    }
    let makes = subject.makes(source.has_providers);
    let (tree, settings) = (fleet.tree().as_ref(), fleet.settings());
    fleet.layout().require_free(tree, id).map_err(|why| at(why.to_string()))?;
    let claimed_by = settings.claimed_by(id)?;
    let applied = if claimed_by.is_some() { AppliedBy::Reconciler } else { AppliedBy::Others };
    let made = make(NewCluster {
        id,
        makes,
        base: &settings.clusters.base.inside(id.folder()),
        overlay: &settings.clusters.overlay.inside(id.folder()),
        release: source.as_ref(),
        variables: &BTreeMap::new(),
        flux: &fleet.flux_index().post_build(id),
        applied,
        shape: &FolderShape::of_neighbours(tree, fleet.layout(), id),
        schemas: fleet.schemas(),
    })
    .map_err(|why| at(why.to_string()))?;
    let mut files = made.files.clone();
    if templates.use_values() {
        let path = id.folder().join(record::FILE).unwrap_or_else(|_| RepoPath::root());
        files.push(FileChange { path, before: None, after: Some(record.text()) });
        files.sort_by(|one, other| one.path.cmp(&other.path));
    }
    let after = fleet.with_files(&files);
    let folder = after.layout().require_found(settings, id).map_err(|why| at(why.to_string()))?;
    let notes = own_name(&after, folder, &made).map_err(|why| at(why.to_string()))?;
    let mut upgrade = Upgrade {
        to_content: source.content(),
        kubernetes: source.kubernetes.clone(),
        changes: made.changes.clone(),
        findings: settings.severities().settle(made.findings.clone()),
        notes,
        to: Some((&release).into()),
        ..Upgrade::nothing(Target::new(makes.kind(), id.clone()))
    };
    upgrade.findings.extend(verdict(fleet, &after, id, applied));
    upgrade.findings.dedup();
    if let Some(what) = difference(&after, id, &ReleaseName::Id(release))? {
        return Err(at(format!(
            "the cluster would differ from the inventory, so Capstan does not make it: {what}"
        )));
    }
    upgrade.files = files;
    let values = ValuesStep {
        brought_by: SourceKind::INVENTORY,
        course: ValuesCourse::Comes,
        from: None,
        to: templates.use_values().then(|| record.digest()),
        levels: subject.levels(),
        origins: source.origins(&upgrade, &values, None).0,
        conflict_origins: Vec::new(),
    };
    upgrade.values = Some(Box::new(values));
    Ok(Some(upgrade))
}

/// What the inventory or the release would still change of a folder that was made.
fn difference(after: &Fleet, id: &ClusterId, release: &ReleaseName) -> Result<Option<String>, Refused> {
    let by_release = plan_target(after, id, Some(release))?.first_difference();
    let by_values = plan_folder(after, id).ok().flatten().filter(|more| more.to.is_some());
    Ok(by_values.as_deref().and_then(Upgrade::first_difference).or(by_release))
}
