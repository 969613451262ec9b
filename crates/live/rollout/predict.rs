//! Which rollouts a change begins: owner by owner, then what waits for what.

use super::by_id::{by_id, key};
use super::class::ClassSides;
use super::cluster_change::{ClusterChange, LiveNames};
use super::control_plane::managed_control_plane;
use super::course::CourseFindings;
use super::elsewhere::InOneVersion;
use super::facts;
use super::kubeadm_workers::{skips, wait_for_minor};
use super::owner::{MachineOwner, annotation, replicas};
use super::pair::FieldPair;
use super::pointer::PointerTarget;
use super::topology::topology;
use capstan_kustomize::render::{RenderedObject, in_versions_of};
use capstan_kustomize::schema::Schemas;
use capstan_model::kinds::preflight::PreflightCheck;
use capstan_model::kinds::{KindRole, Workers, is_cluster, role_of};
use capstan_plan::classes::ClassesElsewhere;
use capstan_plan::merge::AppliedBy;
use capstan_plan::upgrade::Rollout;
use capstan_yaml::Value;

/// What becomes of machines when `after` is applied over `before`, ordered by object.
///
/// Who applies decides what an edited template means: the reconciler gives it a new name, so machines
/// roll; under its old name, applied by others, it is refused or rolls nothing. `elsewhere` is what is known of
/// classes that the Clusters name and these objects lack: they are looked up, and nothing becomes of them here.
/// `schemas` bring both to one API version: they are those by which the files were, so that only what differs besides
/// counts.
pub fn rollouts(
    before: &[RenderedObject],
    after: &[RenderedObject],
    applied: AppliedBy,
    elsewhere: &ClassesElsewhere,
    schemas: &Schemas,
) -> Vec<Rollout> {
    predict(before, after, applied, &LiveNames::default(), elsewhere, schemas)
}

/// What [`rollouts`] gives, where objects of these kinds and names are one live object each: the same name, the same spec.
pub(super) fn predict(
    before: &[RenderedObject],
    after: &[RenderedObject],
    applied: AppliedBy,
    live: &LiveNames,
    elsewhere: &ClassesElsewhere,
    schemas: &Schemas,
) -> Vec<Rollout> {
    // What one API version only spells otherwise than another replaces nothing. A change may go back to an older
    // one, to which no steps are known: then both are compared in the newer.
    let before: &[RenderedObject] = &in_versions_of(before, after, schemas);
    let after: &[RenderedObject] = &in_versions_of(after, before, schemas);
    let elsewhere = InOneVersion::of(elsewhere, schemas);
    let change = ClusterChange {
        before: by_id(before),
        after: by_id(after),
        applied,
        live,
        elsewhere: elsewhere.sides(),
    };
    let mut found: Vec<Rollout> = before.iter().filter_map(|object| change.of(object)).collect();
    found.extend(after.iter().filter_map(|object| change.of_new(object)));
    found.sort_by(|a, b| a.object.cmp(&b.object));
    let upgrades = |rollout: &Rollout| gets_version(rollout) && rollout.course.order == Some(1);
    let control_plane_upgrades = found.iter().any(upgrades);
    for rollout in &mut found {
        let replaced = rollout.course.replaced != Some(0) && !is_cluster(&rollout.object);
        if control_plane_upgrades && rollout.course.order == Some(2) && replaced {
            rollout.course.notes.extend(change.beside_control_plane(rollout).map(str::to_owned));
        }
    }
    wait_for_minor(&mut found, &change);
    found
}

fn gets_version(rollout: &Rollout) -> bool {
    rollout.because.iter().any(|path| path.to_string().ends_with("/version"))
}

impl ClusterChange<'_> {
    /// What the upgrade of the control plane in the same change does to these workers.
    ///
    /// The preflight checks are those of the MachineSet controller: they do not hold back a MachinePool outside of a
    /// topology.
    fn beside_control_plane(&self, rollout: &Rollout) -> Option<&'static str> {
        let is_pool = role_of(&rollout.object) == Some(KindRole::Workers(Workers::Pool));
        match self.applied {
            AppliedBy::Reconciler => Some("Waits until the control plane is done."),
            AppliedBy::Others if !is_pool => {
                let checks = [PreflightCheck::ControlPlaneIsStable, PreflightCheck::KubernetesVersionSkew];
                let is_free = checks.into_iter().all(|check| skips(&self.after, &rollout.object, check));
                Some(if is_free {
                    "Applied together with the control plane, and an annotation skips the preflight checks that would hold back new workers. Their kubelets may be newer than the API server: change the control plane first."
                } else {
                    "Applied together with the control plane. If Cluster API's preflight checks are enabled, they hold back new workers until it is stable."
                })
            }
            AppliedBy::Others if gets_version(rollout) => Some(
                "Applied together with the control plane, but nothing holds back a MachinePool. Its kubelets may be newer than the API server: change the control plane first.",
            ),
            AppliedBy::Others => None,
        }
    }

    fn of(&self, old: &RenderedObject) -> Option<Rollout> {
        let owner = MachineOwner::of(&old.id, &old.value)?;
        let Some(new) = self.after.get(&key(&old.id)) else {
            return removed(old, owner).into_rollout(&old.id);
        };
        let pair = FieldPair { before: &old.value, after: &new.value };
        let mut verdict = match owner {
            MachineOwner::Topology => topology(pair.before, pair.after, &self.classes(pair), self.applied),
            MachineOwner::ManagedControlPlane => managed_control_plane(&old.id, pair),
            MachineOwner::Kubeadm | MachineOwner::OtherControlPlane => self.control_plane(&old.id, pair),
            MachineOwner::Deployment | MachineOwner::Set => self.workers(owner, pair),
            MachineOwner::Pool => self.pool(pair),
        };
        verdict.course.order = Some(owner.turn());
        if self.is_paused(new) {
            verdict.note("Paused: nothing happens until somebody removes the pause.");
        }
        verdict.into_rollout(&old.id)
    }

    /// An owner that comes: machines are made, none is replaced.
    fn of_new(&self, new: &RenderedObject) -> Option<Rollout> {
        let owner = MachineOwner::of(&new.id, &new.value)?;
        if self.before.is_empty()
            || self.before.contains_key(&key(&new.id))
            || owner == MachineOwner::ManagedControlPlane
        {
            return None;
        }
        let mut verdict = if owner == MachineOwner::Topology {
            let nothing = serde_json::json!({"spec": {"topology": {}}});
            let mut verdict = topology(&nothing, &new.value, &ClassSides::default(), self.applied);
            verdict.only_scales("/spec/topology");
            verdict
        } else {
            let mut verdict = CourseFindings::default();
            verdict.scales("/spec/replicas");
            verdict.course.created = replicas(&new.value);
            let after = facts::ROLLOUT_AFTER.iter().find_map(|pointer| new.value.at(pointer)?.as_str());
            if let Some(time) = after {
                let is_deployment = owner == MachineOwner::Deployment;
                let said = if is_deployment { facts::set_made_before } else { facts::made_before };
                verdict.note(said("Machines", time));
            }
            verdict
        };
        verdict.machines = Some(0);
        verdict.course.replaced = Some(0);
        verdict.course.deleted = Some(0);
        verdict.course.order = Some(owner.turn());
        verdict.into_rollout(&new.id)
    }

    fn is_paused(&self, object: &RenderedObject) -> bool {
        let paused = |value: &Value| {
            annotation(value, facts::PAUSED).is_some() || value.at("/spec/paused") == Some(&Value::Bool(true))
        };
        let named = object.value.at("/spec/clusterName").and_then(Value::as_str);
        let cluster = self
            .after
            .values()
            .find(|other| is_cluster(&other.id) && named.is_none_or(|name| other.id.name == name));
        annotation(&object.value, facts::PAUSED).is_some()
            || cluster.is_some_and(|cluster| paused(&cluster.value))
    }
}

/// An owner that goes takes its machines along.
fn removed(old: &RenderedObject, owner: MachineOwner) -> CourseFindings {
    let mut verdict = CourseFindings::default();
    verdict.definitely("");
    let machines = match owner {
        MachineOwner::ManagedControlPlane => Some(0),
        MachineOwner::Topology => {
            let nothing = serde_json::json!({"spec": {"topology": {}}});
            topology(&old.value, &nothing, &ClassSides::default(), AppliedBy::Others).course.deleted
        }
        _ => replicas(&old.value),
    };
    verdict.machines = machines;
    verdict.course.replaced = Some(0);
    verdict.course.created = Some(0);
    verdict.course.deleted = machines;
    verdict.course.order = Some(owner.turn());
    verdict
}
