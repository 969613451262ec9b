//! What deletes a cluster, and what would go with it.

use capstan_live::rollout;
use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::spelling::suggestion;
use capstan_model::target::TargetKind;
use capstan_plan::classes::ClassesElsewhere;
use capstan_plan::merge::AppliedBy;
use capstan_plan::retirement::RetiredCluster;
use capstan_plan::settings::{Deletion, record_deletion};

use super::not_possible::NotPossible;
use super::sources::settings_text;
use super::{Fleet, Refused};

/// What has the reconciler delete a cluster.
///
/// # Errors
/// There is no such cluster, no reconciler applies it, it is to be deleted already, or its files cannot be read.
pub fn retire_cluster(fleet: &Fleet, id: &ClusterId) -> Result<RetiredCluster, NotPossible> {
    let folder = fleet.layout().target(id.as_str()).filter(|folder| folder.kind == TargetKind::Cluster);
    let Some(folder) = folder else {
        let hint = suggestion(id.as_str(), fleet.clusters().map(ClusterId::as_str));
        return Err(NotPossible::Usage(format!("there is no cluster `{id}`{hint}")));
    };
    let Some(management) = fleet.settings().claimed_by(id).map_err(Refused::from)? else {
        return Err(NotPossible::Usage(format!(
            "no management cluster claims {id} in .capstan.yaml, so another tool applies and deletes it, and a tombstone has no effect. Delete its `Cluster` there, with its machines and infrastructure. Once it is gone, remove the folder. Removing the folder first may delete credentials and templates that the deletion needs, and leave machines behind"
        )));
    };
    let path = folder.settings_path();
    if fleet.own_settings(id)?.delete == Deletion::Cluster {
        return Err(NotPossible::Usage(format!(
            "{path} already says `delete: cluster`. Once the reconciler has reported the cluster gone, remove its folder"
        )));
    }
    let rendered = fleet.render(id)?;
    let before = settings_text(fleet.tree().as_ref(), folder)?;
    let after = record_deletion(&path, before.as_deref(), id.folder().name());
    let after = after.map_err(|error| NotPossible::Failed(format!("{path} cannot be edited: {error}")))?;
    let objects = &rendered.objects;
    let none = ClassesElsewhere::default();
    Ok(RetiredCluster {
        cluster: id.clone(),
        claimed_by: management.name.clone(),
        file: FileChange { path, before, after: Some(after) },
        machines: rollout::rollouts(objects, &[], AppliedBy::Reconciler, &none, fleet.schemas()),
        objects: objects.iter().map(|object| object.id.clone()).collect(),
    })
}
