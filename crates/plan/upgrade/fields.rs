//! The plan of a source that sets fields of objects that the target has already.
//!
//! The source says which fields become what; the edits, the gate before them, the record and what blocks are as in
//! any other upgrade.

use super::change_source::FieldSource;
use super::draft::Draft;
use super::model::{Basis, Change, ChangeReason, Upgrade};
use super::planned::PlannedUpgrade;
use super::provenance::Provenance;
use super::record::{TombstoneChanges, record};
use super::request::{OldSource, UpgradeRequest};
use crate::merge::cluster_objects::Base;
use capstan_model::finding::{FileError, rules};
use capstan_model::source::SourceId;
use capstan_yaml::Value;

/// Plans what such a source sets.
pub(super) fn plan(
    request: &UpgradeRequest<'_>,
    base: &Base,
    source: &dyn FieldSource,
) -> Result<PlannedUpgrade, FileError> {
    let cluster = request.cluster;
    let old = match request.old {
        OldSource::Known(source) => Some(source),
        OldSource::Infer(_) | OldSource::Unknown => None,
    };
    let recorded = || cluster.release.as_ref().map(SourceId::from);
    let mut upgrade = Upgrade {
        from: old.map(|source| source.id().clone()).or_else(recorded),
        to: Some(request.new.id().clone()),
        to_content: request.new.content(),
        basis: if old.is_some() { Basis::Known } else { Basis::Unknown },
        ..Upgrade::nothing(cluster.target())
    };
    let changes = match source.changes(base, old, request.settings.conflicts) {
        Ok(changes) => changes,
        Err(obstacle) => {
            upgrade.findings.extend(obstacle.finding.map(|finding| finding.stopping(&obstacle.sentence)));
            upgrade.blocked.push(obstacle.sentence);
            let provenance = Provenance::default();
            return Ok(PlannedUpgrade { upgrade, intended: Vec::new(), rotated: Vec::new(), provenance });
        }
    };
    let mut draft = Draft::default();
    for set in changes.sets {
        upgrade.changes.push(Change {
            object: base.objects[set.object].id.clone(),
            place: set.place,
            path: set.path,
            old: Some(Value::from(set.old)),
            new: Some(Value::from(set.new)),
            from: None,
            reason: ChangeReason::Release,
        });
        draft.edit_object(set.object, [set.edit]);
    }
    upgrade.notes = changes.notes;
    upgrade.components = changes.components;
    upgrade.rollouts = changes.rollouts;
    let mut stay = Vec::new();
    for (finding, conflict) in changes.stays {
        if conflict.as_ref().is_some_and(|conflict| conflict.blocks) {
            upgrade.blocked.push(finding.message.clone());
        }
        upgrade.conflicts.extend(conflict);
        stay.push(finding);
    }
    let (mut intended, refused) = draft.into_files(base, &cluster.base_folder);
    upgrade.findings.extend(refused);
    match record(cluster, request.new, &TombstoneChanges::default())? {
        Ok(change) => intended.extend(change),
        Err(finding) => upgrade.findings.push(finding),
    }
    if let Some(finding) = upgrade.findings.iter_mut().find(|finding| finding.rule == rules::EDIT_REFUSED) {
        let file = finding.file().map(ToString::to_string).unwrap_or_default();
        let reason = format!("{file} cannot be edited as planned.");
        finding.stops = Some(reason.clone());
        upgrade.blocked.push(reason);
    }
    upgrade.findings.extend(stay);
    let (because, place) = source.origin();
    let provenance = Provenance::of_source(because, place);
    Ok(PlannedUpgrade { upgrade, intended, rotated: Vec::new(), provenance })
}
