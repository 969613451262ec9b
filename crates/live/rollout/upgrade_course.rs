//! By which versions of Kubernetes a topology goes.

use super::class::{ClassSides, MachineGroup};
use super::pointer::PointerTarget;
use capstan_model::chained_upgrade::{control_plane_steps, worker_steps};
use capstan_model::version::KubernetesVersion;
use capstan_model::wording::list;
use capstan_plan::templates::ClassUpgrade;
use capstan_yaml::Value;

/// How a topology goes from one version to another.
pub(super) enum UpgradeCourse {
    /// In one step.
    Once,
    /// By these versions, which its class lists; `workers` is how often workers follow.
    Chain { versions: Vec<String>, workers: u32 },
    /// A runtime extension decides, over more than one minor.
    Extension,
}

impl UpgradeCourse {
    pub(super) fn of(before: &Value, after: &Value, sides: &ClassSides<'_>) -> Self {
        let version =
            |cluster: &Value| KubernetesVersion::parse(cluster.at("/spec/topology/version")?.as_str()?);
        let class = sides.sides[1].as_ref().map(|side| side.class);
        let (Some(from), Some(to), Some(class)) = (version(before), version(after), class) else {
            return Self::Once;
        };
        if !from.minor().skips(to.minor()) {
            return Self::Once;
        }
        let listed = match ClassUpgrade::of(class) {
            ClassUpgrade::Extension => return Self::Extension,
            ClassUpgrade::Listed(listed) => listed,
        };
        let Some(steps) = control_plane_steps(&listed, &from, &to) else { return Self::Once };
        Self::Chain {
            versions: steps.into_iter().map(ToString::to_string).collect(),
            workers: u32::try_from(worker_steps(from.minor(), to.minor())).unwrap_or(u32::MAX),
        }
    }

    /// How often a group's machines are replaced; `None` = unknown.
    pub(super) fn times(&self, group: &MachineGroup<'_>) -> Option<u32> {
        match self {
            Self::Once => Some(1),
            Self::Chain { versions, .. } if group.list == "controlPlane" => {
                u32::try_from(versions.len()).ok()
            }
            Self::Chain { workers, .. } => Some(*workers),
            Self::Extension => None,
        }
    }

    /// What a person should read of it.
    pub(super) fn note(&self) -> Option<String> {
        match self {
            Self::Once => None,
            Self::Chain { versions, workers } => Some(format!(
                "The class lists its Kubernetes versions, so the control plane upgrades through {} and is replaced {} times; workers are replaced {}.",
                list(versions),
                versions.len(),
                if *workers == 1 { "once, at the end".to_owned() } else { format!("{workers} times") },
            )),
            Self::Extension => Some(
                "A runtime extension of the class chooses the Kubernetes versions between, so it is unknown how often machines are replaced.".to_owned(),
            ),
        }
    }
}
