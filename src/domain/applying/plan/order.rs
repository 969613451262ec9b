//! In which order objects are applied: what is named comes before what names it.

use std::collections::BTreeMap;

use crate::applying::boundary::is_identity;
use crate::applying::live::is_core;
use crate::object::ObjectId;
use crate::render::RenderedObject;
use crate::templates::{Role, references};

/// A part of a cluster, in the order of applying.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Namespaces.
    Namespaces,
    /// Identities, Secrets, ConfigMaps, service accounts and their rights.
    Credentials,
    /// Templates, classes, and the cluster's own infrastructure.
    Templates,
    /// The `Cluster` and its control plane.
    ControlPlane,
    /// Everything that is no machine: health checks, add-ons, apps.
    AddOns,
    /// Machines beside the control plane.
    Workers,
}

/// What others name an object for decides its place where its kind does not.
pub(super) struct Order<'a> {
    roles: BTreeMap<&'a ObjectId, Vec<Role>>,
}

impl<'a> Order<'a> {
    pub(super) fn of(rendered: &'a [RenderedObject]) -> Self {
        let mut roles: BTreeMap<&ObjectId, Vec<Role>> = BTreeMap::new();
        for owner in rendered {
            for reference in references(&owner.id.group, &owner.id.kind, &owner.value) {
                let named = rendered
                    .iter()
                    .filter(|object| reference.means(owner.id.namespace.as_deref(), &object.id));
                for object in named {
                    roles.entry(&object.id).or_default().push(reference.role);
                }
            }
        }
        Self { roles }
    }

    /// The stage of an object, and its turn in it.
    pub(super) fn place(&self, object: &RenderedObject) -> (Stage, u8) {
        let id = &object.id;
        let named_as = |role: Role| self.roles.get(id).is_some_and(|roles| roles.contains(&role));
        let kind = id.kind.as_str();
        let provider = id.group.ends_with(".cluster.x-k8s.io");
        match id.group.as_str() {
            "" if kind == "Namespace" => (Stage::Namespaces, 0),
            "" if ["Secret", "ConfigMap", "ServiceAccount"].contains(&kind) => (Stage::Credentials, 0),
            "rbac.authorization.k8s.io" => (Stage::Credentials, 1),
            _ if is_identity(id) => (Stage::Credentials, 2),
            _ if SECRETS.contains(&kind) => (Stage::Credentials, 1),
            _ if is_core(id, "Cluster") => (Stage::ControlPlane, 0),
            _ if is_core(id, "ClusterClass") => (Stage::Templates, 3),
            _ if WORKERS.iter().any(|worker| is_core(id, worker)) => (Stage::Workers, 2),
            _ if provider && (named_as(Role::PoolBootstrap) || named_as(Role::Pool)) => (Stage::Workers, 1),
            _ if provider && named_as(Role::Data) => (Stage::Templates, 0),
            _ if provider && kind.ends_with("Template") => (Stage::Templates, 1),
            _ if provider && kind.ends_with("ControlPlane") => (Stage::ControlPlane, 1),
            "controlplane.cluster.x-k8s.io" => (Stage::ControlPlane, 1),
            "bootstrap.cluster.x-k8s.io" => (Stage::Templates, 1),
            "infrastructure.cluster.x-k8s.io"
                if kind.ends_with("MachinePool") || kind.ends_with("Machine") =>
            {
                (Stage::Workers, 1)
            }
            "infrastructure.cluster.x-k8s.io" => (Stage::Templates, 2),
            _ if named_as(Role::Standing) => (Stage::Templates, 2),
            _ => (Stage::AddOns, 0),
        }
    }
}

/// Kinds that become Secrets.
const SECRETS: &[&str] = &["ClusterSecretStore", "ExternalSecret", "SealedSecret", "SecretStore"];

const WORKERS: &[&str] = &["Machine", "MachineDeployment", "MachinePool", "MachineSet"];
