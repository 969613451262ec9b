//! A guard that a render breaks, in a value and in words.

use std::fmt;

use capstan_model::finding::Place;
use capstan_model::kinds::preflight::{PreflightCheck, SKIP_PREFLIGHT};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::version::KubernetesVersion;

/// A guard that a render breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardBroken {
    pub object: ObjectId,
    pub field: FieldPath,
    /// Where it was written.
    pub written: Place,
    /// What is wrong.
    pub broken: GuardBreach,
}

/// What a render would do to the live cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardBreach {
    /// Kubernetes would go back.
    VersionBelowLive {
        /// What the render asks for.
        wanted: KubernetesVersion,
        /// What is live.
        live: KubernetesVersion,
    },
    /// A minor would be left out.
    SkipsMinor {
        /// What the live object asks for.
        from: KubernetesVersion,
        /// What the render asks for.
        to: KubernetesVersion,
    },
    /// The step is one minor, but machines of an older one still run: passes by itself.
    StillRolling {
        /// The oldest that runs.
        oldest: KubernetesVersion,
        /// What the render asks for.
        to: KubernetesVersion,
    },
    /// The render asks for a text that is not a version, so it cannot be compared with the live one.
    NoVersion {
        text: String,
        /// What is live.
        live: KubernetesVersion,
    },
    /// The `Cluster` would be pointed away from the control plane of its machines.
    ControlPlaneReplaced {
        /// Kind of that control plane.
        kind: String,
        name: String,
        /// How many machines of it are seen; a provider's are not seen.
        machines: u32,
    },
    /// The `Cluster` would be pointed at another one's control plane.
    ControlPlaneOfAnother {
        /// Kind of the control plane.
        kind: String,
        name: String,
        /// The name of the other Cluster.
        cluster: String,
    },
    /// Workers would be older than a control plane of that version bears.
    LeavesWorkersBehind {
        /// The oldest that runs.
        oldest: KubernetesVersion,
        /// What the render asks for.
        to: KubernetesVersion,
    },
    /// kubeadm would join workers to a control plane of a newer minor: Cluster API makes no machine of them.
    CannotJoin {
        /// What the render asks for.
        wanted: KubernetesVersion,
        /// What the control plane runs, or is to run.
        control_plane: KubernetesVersion,
    },
    /// A reference to what is neither rendered nor live.
    MissingReference {
        /// Kind of the object named.
        kind: String,
        name: String,
    },
    /// The `Cluster` is being deleted: what is applied now would be created again beneath it. Passes by itself.
    ClusterTerminating,
    /// A reference to what is being deleted.
    ReferenceTerminating {
        /// Kind of the object named.
        kind: String,
        name: String,
    },
}

impl GuardBroken {
    /// Whether this passes by itself when machines have caught up: no error, but a wait.
    pub const fn is_waiting(&self) -> bool {
        matches!(self.broken, GuardBreach::StillRolling { .. } | GuardBreach::ClusterTerminating)
    }

    /// A word for conditions.
    pub const fn reason(&self) -> &'static str {
        match self.broken {
            GuardBreach::VersionBelowLive { .. } => "VersionBelowLive",
            GuardBreach::SkipsMinor { .. } => "SkipsMinor",
            GuardBreach::StillRolling { .. } => "StillRolling",
            GuardBreach::NoVersion { .. } => "NoVersion",
            GuardBreach::ClusterTerminating => "ClusterTerminating",
            GuardBreach::ControlPlaneReplaced { .. } => "ControlPlaneReplaced",
            GuardBreach::ControlPlaneOfAnother { .. } => "ControlPlaneOfAnother",
            GuardBreach::LeavesWorkersBehind { .. } => "LeavesWorkersBehind",
            GuardBreach::CannotJoin { .. } => "CannotJoin",
            GuardBreach::MissingReference { .. } | GuardBreach::ReferenceTerminating { .. } => {
                "MissingReference"
            }
        }
    }
}

impl fmt::Display for GuardBroken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = &self.object;
        match &self.broken {
            GuardBreach::VersionBelowLive { wanted, live } => write!(
                f,
                "{object} would go back from the live Kubernetes {live} to {wanted}. Kubernetes cannot be downgraded: write {live} or newer"
            ),
            GuardBreach::SkipsMinor { from, to } => write!(
                f,
                "{object} would go from the live Kubernetes {from} to {to}, but Kubernetes must be upgraded one minor at a time: first upgrade to {}",
                from.minor().next()
            ),
            GuardBreach::StillRolling { oldest, to } => write!(
                f,
                "{object} waits with Kubernetes {to}: machines of {oldest} still run, and Kubernetes must be upgraded one minor at a time"
            ),
            GuardBreach::NoVersion { text, live } => write!(
                f,
                "{object} asks for Kubernetes `{text}`, which is not a version, while {live} is live: write a version"
            ),
            GuardBreach::ClusterTerminating => write!(
                f,
                "{object} is being deleted, although Git still has it: Capstan applies nothing until it is gone"
            ),
            GuardBreach::ControlPlaneReplaced { kind, name, machines } => {
                let standing = match machines {
                    0 => "it is unknown whether its machines are gone".to_owned(),
                    1 => "1 machine depends on it".to_owned(),
                    several => format!("{several} machines depend on it"),
                };
                write!(
                    f,
                    "{object} would leave {kind} {name}, and {standing}. Another control plane starts without them: name {kind} {name} again"
                )
            }
            GuardBreach::ControlPlaneOfAnother { kind, name, cluster } => write!(
                f,
                "{object} names {kind} {name}, which belongs to the Cluster {cluster}: name one of its own"
            ),
            GuardBreach::LeavesWorkersBehind { oldest, to } => write!(
                f,
                "{object} asks for Kubernetes {to}, but workers of {oldest} run, and a worker may be at most three minors older than its control plane: use a version of {} at most",
                oldest.minor().next().next().next()
            ),
            GuardBreach::CannotJoin { wanted, control_plane } => write!(
                f,
                "{object} would go to Kubernetes {wanted}, but kubeadm joins no machine of that minor to a control plane of {control_plane}: ask for a version of {}, or skip that check with the annotation `{SKIP_PREFLIGHT}: {}`",
                control_plane.minor(),
                PreflightCheck::KubeadmVersionSkew.name()
            ),
            GuardBreach::MissingReference { kind, name } => write!(
                f,
                "{object} names {kind} {name}, which is neither rendered here nor live: correct the name or add the object"
            ),
            GuardBreach::ReferenceTerminating { kind, name } => write!(
                f,
                "{object} names {kind} {name}, which is being deleted: name another one, or add it again when it is gone"
            ),
        }
    }
}
