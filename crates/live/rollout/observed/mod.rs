//! What has become of a rollout, as live objects show it in one read.
//!
//! A rollout is *done* only if every field that could tell agrees and was written by a controller that has seen the
//! present generation. Cluster API writes conditions and counters in two patches, and after an edit both are green for
//! a moment because no controller has observed it yet. In one read, `metadata.generation` equals
//! `status.observedGeneration` and that of each condition used; `versions` is one entry with the wanted version and all
//! replicas; `replicas`, `upToDateReplicas` and `readyReplicas` equal `spec.replicas`; `RollingOut`, `ScalingUp` and
//! `ScalingDown` are False, `MachinesUpToDate` and `Available` True; the live object asks for what is rendered. A
//! topology also needs `TopologyReconciled`, no `upgradePlan`, the versions of both halves, and each control plane and
//! worker group that its controller made must be done. Between them the `Cluster` is green for a second. Its
//! ClusterClass is edited without the `Cluster` getting a new generation. So the class must be observed, and what was
//! cloned must be from the templates that it names. Where neither could tell (patches, variables), its last change must
//! not be recent. And `rollout.after` outdates machines without any edit.
//!
//! Objects of v1beta1 have the same below `status.v1beta2`; if they do not, the counters and conditions of that
//! contract count. Control planes of other providers must show their version, what counters they have, and be ready.
//! What shows nothing is *unknown*, never done.
//!
//! Cluster API has no deadline and no condition for *stuck*. A rollout is stuck if something is missing that will not
//! come ([`held_up`]), if no controller observes the object, or if no machine has changed for as long as
//! [`RolloutPatience`] allows.
//!
//! | file | tells |
//! |---|---|
//! | `verdict`, `patience` | what is said of a rollout; how long it may stand still |
//! | `observed_owner` | an owner of machines with all that was read of its cluster |
//! | `reading` | conditions and counters, whatever their contract |
//! | `rules` | what of "done" is not met, per kind of owner |
//! | `machines` | machines by owner, old and new, and which were replaced |
//! | `scheduled` | machines that `rollout.after` outdates |
//! | `made` | what the topology controller made of a `Cluster`, and from which templates |
//! | `held_up` | whether, since when and by what a rollout is stuck |
//! | `judge` | the state of a folder's rollout |
//!
//! `live` must hold the rendered owners, the control planes that rendered `Cluster`s name, and all
//! `MachineDeployment`s, `MachinePool`s, `MachineSet`s and `Machine`s of the clusters, in one read.

mod held_up;
mod judge;
mod machines;
mod made;
mod observed_owner;
mod patience;
mod reading;
mod rules;
mod scheduled;
#[cfg(test)]
mod tests;
mod verdict;

pub use self::judge::judge;
pub use self::made::clones_to_read;
pub(crate) use self::observed_owner::control_plane_reference;
pub use self::patience::RolloutPatience;
pub use self::verdict::{
    Counts, MachineAge, MachineState, OwnerKind, OwnerVerdict, Readiness, RolloutProgress, RolloutVerdict,
};
