//! In which order the objects of a provider are applied, and which of them are never deleted.

use capstan_model::object::ObjectId;

/// When an object is applied. Ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstallStage {
    /// Definitions: everything else may be of their kinds.
    Definitions,
    /// Service accounts, roles and bindings: without them a manager cannot start.
    Rights,
    /// cert-manager's objects: webhooks are called with what they come to.
    Certificates,
    /// Services, ConfigMaps, Secrets and whatever else there is.
    Others,
    /// Webhook configurations.
    Webhooks,
    /// What runs pods.
    Workloads,
}

impl InstallStage {
    /// When an object is applied.
    pub fn of(id: &ObjectId) -> Self {
        match (id.group.as_str(), id.kind.as_str()) {
            ("apiextensions.k8s.io", _) => Self::Definitions,
            ("rbac.authorization.k8s.io", _) | ("", "ServiceAccount") => Self::Rights,
            ("cert-manager.io", _) => Self::Certificates,
            ("admissionregistration.k8s.io", _) => Self::Webhooks,
            ("apps" | "batch", _) => Self::Workloads,
            _ => Self::Others,
        }
    }

    /// In people's words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Definitions => "definitions",
            Self::Rights => "service accounts, roles and bindings",
            Self::Certificates => "certificates",
            Self::Others => "services and other objects",
            Self::Webhooks => "webhook configurations",
            Self::Workloads => "workloads",
        }
    }
}

/// Whether an object is a definition: with it all objects of its kind would go.
pub fn is_definition(id: &ObjectId) -> bool {
    InstallStage::of(id) == InstallStage::Definitions
}

/// Whether an object is never deleted with its provider.
pub fn is_kept(id: &ObjectId) -> bool {
    is_definition(id) || (id.group.is_empty() && id.kind == "Namespace")
}
