//! What an object is there for, told by who names it: what decides about kinds that no table lists.

use super::kinds::{Treatment, treatment};
use super::references::Readable;
use crate::object::ObjectId;

/// What an object that others name is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Machines are made from it: the infrastructure of a control plane, MachineDeployment or MachineSet.
    Machines,
    /// Machines are bootstrapped from it.
    Bootstrap,
    /// The instances of a MachinePool are bootstrapped from it.
    PoolBootstrap,
    /// The infrastructure of a MachinePool: edited in place.
    Pool,
    /// A template of a ClusterClass.
    ClassPart,
    /// The class of a Cluster.
    Class,
    /// Part of other templates.
    Data,
    /// Unhealthy machines are remediated from it.
    Remediation,
    /// An object that stands for itself, no template.
    Standing,
}

/// What an edit of an object does, given who names it: the table's word where it lists the kind, else
/// what its role and its shape say. `None` where neither tells, or nothing needs telling.
///
/// A kind that no table lists is a template if it ends in `Template` and holds `spec.template`; named as
/// infrastructure or bootstrap config of machines it is immutable by contract, so it is rotated.
pub fn treatment_in_role<T: Readable>(id: &ObjectId, root: &T, roles: &[Role]) -> Option<Treatment> {
    if !id.group.ends_with("cluster.x-k8s.io") {
        return None;
    }
    if let Some(listed) = treatment(&id.kind) {
        return Some(listed);
    }
    let named_as = |role: Role| roles.contains(&role);
    let is_template = id.kind.ends_with("Template");
    let holds_template = root.field("spec").and_then(|spec| spec.field("template")).is_some();
    let makes_machines =
        is_template && holds_template && (named_as(Role::Machines) || named_as(Role::Bootstrap));
    if makes_machines || !is_template && named_as(Role::PoolBootstrap) {
        Some(Treatment::Rotate)
    } else if named_as(Role::Pool) {
        Some(Treatment::MutableAndRolls)
    } else if is_template && named_as(Role::ClassPart) {
        Some(Treatment::Never)
    } else if is_template && named_as(Role::Remediation) {
        Some(Treatment::MutableSilent)
    } else {
        None
    }
}
