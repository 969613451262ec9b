//! The tombstone of a cluster whose definition says `retire: true`.

use capstan_model::digest::sha256;
use capstan_model::ids::ClusterId;
use capstan_model::source::{SourceContent, SourceId, SourceKind};
use capstan_model::target::{Target, TargetKind};
use capstan_model::wording::count;
use capstan_plan::inventory::record_of;
use capstan_plan::settings::Deletion;
use capstan_plan::upgrade::{Upgrade, ValuesCourse, ValuesStep};

use super::not_possible::NotPossible;
use super::retirement::retire_cluster;
use super::{Fleet, Refused};

/// The plan of it; `None` if the tombstone exists already, or there is no such cluster.
///
/// # Errors
/// What cannot be read or rendered.
pub(super) fn plan_retirement(
    fleet: &Fleet,
    id: &ClusterId,
    definition: &str,
) -> Result<Option<Upgrade>, Refused> {
    if fleet.layout().target(id.as_str()).is_none() || fleet.own_settings(id)?.delete == Deletion::Cluster {
        return Ok(None);
    }
    let cluster = fleet.read_cluster(id)?;
    let release = cluster.settings.as_ref().and_then(|settings| settings.release.clone());
    let record = record_of(fleet.tree().as_ref(), id.folder()).ok().flatten();
    let digest = record.map(|record| record.digest());
    let content = cluster.settings.as_ref().and_then(|settings| settings.release_content());
    let content = content.as_ref().map(SourceContent::from);
    let inventory = || SourceId::new(SourceKind::INVENTORY, definition);
    let values = ValuesStep {
        brought_by: SourceKind::INVENTORY,
        course: ValuesCourse::Goes,
        from: digest.clone(),
        to: None,
        levels: Vec::new(),
        origins: Vec::new(),
        conflict_origins: Vec::new(),
    };
    let mut upgrade = Upgrade {
        from: release.as_ref().map(SourceId::from),
        // That the cluster goes is another matter than any of its values.
        to_content: content
            .map(|content| content.with_values(&sha256(format!("retire {}", digest.unwrap_or_default())))),
        values: Some(Box::new(values)),
        to: Some(release.as_ref().map_or_else(inventory, SourceId::from)),
        ..Upgrade::nothing(Target::new(TargetKind::Cluster, id.clone()))
    };
    match retire_cluster(fleet, id) {
        Ok(retired) => {
            upgrade.files = vec![retired.file];
            upgrade.rollouts = retired.machines;
            upgrade.notes.push(format!(
                "The inventory says `retire: true` for it: {} deletes it with {} once this is merged.",
                retired.claimed_by,
                count(retired.objects.len(), "object", "objects")
            ));
        }
        Err(NotPossible::Usage(why)) => {
            upgrade.blocked.push(format!("The inventory says `retire: true` for it, but {why}."));
        }
        Err(NotPossible::Failed(why)) => return Err(Refused { message: why, place: None }),
    }
    Ok(Some(upgrade))
}
