//! Whether what is applied now has machines replaced that there are.

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{is_class, is_cluster, is_control_plane};
use capstan_model::object::{FieldPath, ObjectId};

use super::waiting::{Groups, replaces_machines};
use super::{ApplyPlan, Changes};
use crate::live_objects::LiveObjects;

impl ApplyPlan {
    /// The first object of the steps for which machines are replaced that there are already; `None` where none is. Counts,
    /// labels and what is new replace none.
    pub fn replaces(
        &self,
        rendered: &[RenderedObject],
        changes: &Changes,
        live: &LiveObjects,
    ) -> Option<ObjectId> {
        let of_groups = Groups::of(rendered, live);
        let rolls = |id: &&ObjectId| {
            let Some(fields) = changes.get(*id).filter(|_| live.get(id).is_some()) else { return false };
            match () {
                () if is_cluster(id) => fields.iter().any(|field| changes_below(field, "/spec/topology")),
                () if is_control_plane(id) => fields.iter().any(|field| changes_below(field, "/spec")),
                () if is_class(id) => class_changes(id, rendered, changes, live),
                () => of_groups.object(id).is_some_and(|object| replaces_machines(object, fields)),
            }
        };
        self.steps.iter().flat_map(|step| &step.objects).find(rolls).cloned()
    }
}

/// Whether a class changes that is there already, and with it the machines of the topologies beside it, which may not change
/// themselves.
pub(super) fn class_changes(
    id: &ObjectId,
    rendered: &[RenderedObject],
    changes: &Changes,
    live: &LiveObjects,
) -> bool {
    let is_topology = |object: &RenderedObject| {
        is_cluster(&object.id)
            && object.value.pointer("/spec/topology").is_some()
            && live.get(&object.id).is_some()
    };
    is_class(id)
        && live.get(id).is_some()
        && rendered.iter().any(is_topology)
        && changes.get(id).is_some_and(|fields| fields.iter().any(|field| changes_below(field, "/spec")))
}

/// Whether a field is at, above or below a path, and not a count.
fn changes_below(field: &FieldPath, path: &str) -> bool {
    let field = field.to_string();
    let is_below = field.is_empty()
        || path.starts_with(&format!("{field}/"))
        || field.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_below && !field.ends_with("/replicas")
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{id, live, objects};
    use super::super::{ApplyPhase, plan};
    use super::*;
    use crate::rollout::observed::{
        Counts, OwnerKind, OwnerVerdict, Readiness, RolloutProgress, RolloutVerdict,
    };

    const FOLDER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: org}
spec: {topology: {classRef: {name: fast}, version: v1.35.1}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: fast, namespace: org}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp, namespace: org}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: md, namespace: org}
";
    const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io/KubeadmControlPlane org/cp";
    const CLASS: &str = "cluster.x-k8s.io/ClusterClass org/fast";

    /// The object for which machines are replaced, and how far the cluster is then.
    fn outcome_of(object: &str, field: &str, there: &str) -> (Option<String>, ApplyPhase) {
        let changes = Changes::from([(id(object), vec![FieldPath::parse(field).unwrap()])]);
        let (rendered, live) = (objects(FOLDER), live(there));
        let control_plane = OwnerVerdict {
            object: id(CONTROL_PLANE),
            kind: OwnerKind::ControlPlane,
            state: RolloutProgress::Done,
            since: None,
            until: None,
            on: None,
            words: None,
            counts: Counts::default(),
            ready: Readiness::Ready,
        };
        let verdict = RolloutVerdict {
            state: RolloutProgress::Done,
            owners: vec![control_plane],
            machines: Vec::new(),
        };
        let plan = plan(&rendered, &changes, &live, &verdict);
        (plan.replaces(&rendered, &changes, &live).map(|id| id.kind), plan.phase)
    }

    #[test]
    fn machines_are_replaced_by_what_they_are_made_from_and_by_no_count() {
        for (object, field, expected) in [
            ("cluster.x-k8s.io/Cluster org/c", "/spec/topology/version", Some("Cluster")),
            ("cluster.x-k8s.io/Cluster org/c", "/spec/topology/controlPlane/replicas", None),
            ("cluster.x-k8s.io/Cluster org/c", "/metadata/labels/a", None),
            (CONTROL_PLANE, "/spec/version", Some("KubeadmControlPlane")),
            (CONTROL_PLANE, "/spec/replicas", None),
            (
                "cluster.x-k8s.io/MachineDeployment org/md",
                "/spec/template/spec/version",
                Some("MachineDeployment"),
            ),
            ("cluster.x-k8s.io/MachineDeployment org/md", "/spec/replicas", None),
            (CLASS, "/spec/patches", Some("ClusterClass")),
            (CLASS, "/metadata/labels/a", None),
        ] {
            assert_eq!(outcome_of(object, field, FOLDER).0.as_deref(), expected, "{object} {field}");
            assert_eq!(outcome_of(object, field, "").0, None, "it is new: {object} {field}");
        }
    }

    #[test]
    fn a_class_that_changes_has_its_topologies_before_it() {
        assert_eq!(outcome_of(CLASS, "/spec/patches", FOLDER).1, ApplyPhase::ControlPlane);
        assert_eq!(outcome_of(CLASS, "/metadata/labels/a", FOLDER).1, ApplyPhase::Done);
        let class_alone = FOLDER.split_once("---\n").unwrap().1;
        assert_eq!(outcome_of(CLASS, "/spec/patches", class_alone), (None, ApplyPhase::Done));
    }
}
