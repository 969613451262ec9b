//! What Cluster API's MachineSet controller checks before it makes a machine, and who skips it.
//!
//! Read in `core/reconcilers/machineset/machineset_preflight.go` of v1.14.2. Machines that exist are not checked.

/// The annotation that skips checks.
pub const SKIP_PREFLIGHT: &str = "machineset.cluster.x-k8s.io/skip-preflight-checks";

/// The bootstrap template of machines that kubeadm joins.
pub const KUBEADM_TEMPLATE: &str = "KubeadmConfigTemplate";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreflightCheck {
    /// The control plane is neither being made nor upgraded.
    ControlPlaneIsStable,
    /// The machines are of the minor of their control plane, where kubeadm joins them.
    KubeadmVersionSkew,
    /// The machines are not newer than their control plane, nor too old for it.
    KubernetesVersionSkew,
}

impl PreflightCheck {
    /// What the annotation calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ControlPlaneIsStable => "ControlPlaneIsStable",
            Self::KubeadmVersionSkew => "KubeadmVersionSkew",
            Self::KubernetesVersionSkew => "KubernetesVersionSkew",
        }
    }

    /// Whether the annotation skips it: that of the workers, whose MachineSets get it; where they have none, that of
    /// their bootstrap template.
    pub fn is_skipped(self, workers: Option<&str>, template: Option<&str>) -> bool {
        let checks = [workers, template].into_iter().flatten().find(|checks| !checks.is_empty());
        checks.is_some_and(|checks| {
            checks.split(',').map(str::trim).any(|check| check == "All" || check == self.name())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::PreflightCheck::{ControlPlaneIsStable, KubeadmVersionSkew};

    #[test]
    fn the_template_is_asked_only_where_the_workers_say_nothing() {
        for (workers, template, is_skipped) in [
            (None, None, false),
            (Some("All"), None, true),
            (Some("ControlPlaneIsStable, KubeadmVersionSkew"), None, true),
            (Some("ControlPlaneIsStable"), None, false),
            (None, Some("KubeadmVersionSkew"), true),
            (Some(""), Some("All"), true),
            (Some("ControlPlaneIsStable"), Some("All"), false),
        ] {
            let found = KubeadmVersionSkew.is_skipped(workers, template);
            assert_eq!(found, is_skipped, "{workers:?} {template:?}");
        }
        assert!(ControlPlaneIsStable.is_skipped(Some("ControlPlaneIsStable"), None));
    }
}
