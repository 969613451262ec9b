//! How a ClusterClass leads its Clusters over more than one minor of Kubernetes.

use capstan_model::chained_upgrade::control_plane_steps;
use capstan_model::version::KubernetesVersion;
use capstan_yaml::Value;

/// What a ClusterClass says of upgrades over more than one minor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClassUpgrade {
    /// A runtime extension plans them.
    Extension,
    /// By the versions that the class lists, which may be none.
    Listed(Vec<KubernetesVersion>),
}

impl ClassUpgrade {
    /// Of a class.
    pub fn of(class: &Value) -> Self {
        if class.pointer("/spec/upgrade/external/generateUpgradePlanExtension").is_some() {
            return Self::Extension;
        }
        let listed = class.pointer("/spec/kubernetesVersions").and_then(Value::as_array);
        let parsed = |version: &Value| KubernetesVersion::parse(version.as_str()?);
        Self::Listed(listed.into_iter().flatten().filter_map(parsed).collect())
    }

    /// Whether Cluster API goes through the minors between these versions by itself.
    pub fn leads(&self, from: &KubernetesVersion, to: &KubernetesVersion) -> bool {
        match self {
            Self::Extension => true,
            Self::Listed(listed) => control_plane_steps(listed, from, to).is_some(),
        }
    }
}
