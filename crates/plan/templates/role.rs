//! What an object is there for, which follows from the objects that name it. It decides about kinds that no table
//! lists.

use capstan_model::kinds::{Treatment, is_cluster_api, is_template, treatment};
use capstan_model::object::ObjectId;
use capstan_yaml::Readable;

/// What an object that others name is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TemplateRole {
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
    /// Machines are made from it as another template says: that of a control plane.
    Part,
    /// Unhealthy machines are remediated from it.
    Remediation,
    /// An object of its own, not a template.
    Standing,
}

/// What an edit of an object does, given who names it: the table's word where it lists the kind, else
/// what its role and its shape say. `None` where neither tells, or nothing needs telling.
///
/// A kind that no table lists is a template if it ends in `Template` and holds `spec.template`, or if its kind
/// and group have the shape that Cluster API's contracts give it ([`has_contract_shape`]); named as infrastructure
/// or bootstrap config of machines it is immutable by contract, so it is rotated.
pub fn treatment_in_role<T: Readable>(id: &ObjectId, root: &T, roles: &[TemplateRole]) -> Option<Treatment> {
    if !is_cluster_api(&id.group) {
        return None;
    }
    if let Some(listed) = treatment(Some(&id.group), &id.kind) {
        return Some(listed);
    }
    let named_as = |role: TemplateRole| roles.contains(&role);
    let is_template = is_template(id);
    let holds_template = root.field("spec").and_then(|spec| spec.field("template")).is_some();
    let makes_machines = [TemplateRole::Machines, TemplateRole::Part, TemplateRole::Bootstrap]
        .into_iter()
        .any(|role| is_template && named_as(role) && (holds_template || has_contract_shape(id, role)));
    if makes_machines || !is_template && named_as(TemplateRole::PoolBootstrap) {
        Some(Treatment::Rotate)
    } else if named_as(TemplateRole::Pool) {
        Some(Treatment::MutableAndRolls)
    } else if is_template && named_as(TemplateRole::ClassPart) {
        Some(Treatment::Never)
    } else if is_template && named_as(TemplateRole::Remediation) {
        Some(Treatment::MutableSilent)
    } else {
        None
    }
}

/// Whether Capstan knows what an edit of an object does: its kind is listed, or it is named as what its kind and
/// group say by Cluster API's contracts. Else a `*Template` is the finding `unknown-template`.
pub fn is_known_in_role(id: &ObjectId, roles: &[TemplateRole]) -> bool {
    treatment(Some(&id.group), &id.kind).is_some() || roles.iter().any(|role| has_contract_shape(id, *role))
}

/// Whether kind and group are as the contracts of providers want them of what is named in this role:
/// `infrastructure…/*MachineTemplate`, `bootstrap…/*ConfigTemplate`, and so on
/// (<https://cluster-api.sigs.k8s.io/developer/providers/contracts/overview>).
fn has_contract_shape(id: &ObjectId, role: TemplateRole) -> bool {
    let of = |group: &str, ending: &str| {
        let own = id.group.strip_suffix("cluster.x-k8s.io").and_then(|rest| rest.strip_suffix('.'));
        let own = own.and_then(|rest| rest.rsplit('.').next());
        own == Some(group) && id.kind.ends_with(ending)
    };
    match role {
        TemplateRole::Machines | TemplateRole::Part => of("infrastructure", "MachineTemplate"),
        TemplateRole::Bootstrap => of("bootstrap", "ConfigTemplate"),
        TemplateRole::ClassPart => {
            of("infrastructure", "MachineTemplate")
                || of("infrastructure", "MachinePoolTemplate")
                || of("infrastructure", "ClusterTemplate")
                || of("bootstrap", "ConfigTemplate")
                || of("controlplane", "ControlPlaneTemplate")
        }
        TemplateRole::Remediation => of("infrastructure", "RemediationTemplate"),
        TemplateRole::PoolBootstrap
        | TemplateRole::Pool
        | TemplateRole::Class
        | TemplateRole::Data
        | TemplateRole::Standing => false,
    }
}
