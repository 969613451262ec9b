//! Live guards, which no setting turns off: what the API server accepts and no cluster survives.
//!
//! The API takes a lower Kubernetes version, for control planes and workers alike, and Cluster API carries
//! it out with green conditions. It takes a control plane that jumps two minors where its machines have
//! not caught up with `spec`. It takes references to nothing, and where a control plane's template is
//! missing no condition ever says so. So every render is held against the live cluster before anything of
//! it is sent: first applies, drift repair and reverted merges alike.
//!
//! One broken guard refuses the whole folder, for the reasons given in [`super::boundary()`].
//!
//! | guard | is held against |
//! |---|---|
//! | a version below what is live | the higher of live `spec` and everything that runs (`status.version`, `status.versions`) |
//! | a minor left out | live `spec`; for control planes also the lowest that still runs, which waits instead of failing |
//! | a `Cluster` that somebody is deleting | the live `Cluster`: machines made beneath it would hold it up |
//! | a template, config or class that is neither rendered nor live | rendered names after [`name_templates`](capstan_plan::templates::name_templates), and live objects that are not being deleted |

mod references;
#[cfg(test)]
mod tests;
mod versions;

use std::fmt;

pub use references::named_outside;

use crate::live_objects::{LiveObjects, is_terminating};
use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::Place;
use capstan_model::kinds::is_cluster;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::version::KubernetesVersion;

/// A guard that a render breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardBroken {
    /// The object.
    pub object: ObjectId,
    /// The field.
    pub field: FieldPath,
    /// Where it was written.
    pub written: Place,
    /// What is wrong.
    pub broken: Broken,
}

/// What a render would do to the live cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
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
    /// What the render asks for is no version, so that nobody can tell whether it goes back.
    NoVersion {
        /// What stands there.
        text: String,
        /// What is live.
        live: KubernetesVersion,
    },
    /// A reference to what is neither rendered nor live.
    MissingReference {
        /// Kind of the object named.
        kind: String,
        /// Its name.
        name: String,
    },
    /// Somebody deletes the `Cluster`: what is applied now would be made anew beneath it. Passes by itself.
    ClusterTerminating,
    /// A reference to what is being deleted.
    ReferenceTerminating {
        /// Kind of the object named.
        kind: String,
        /// Its name.
        name: String,
    },
}

impl GuardBroken {
    /// Whether this passes by itself when machines have caught up: no error, but a wait.
    pub const fn is_waiting(&self) -> bool {
        matches!(self.broken, Broken::StillRolling { .. } | Broken::ClusterTerminating)
    }

    /// A word for conditions.
    pub const fn reason(&self) -> &'static str {
        match self.broken {
            Broken::VersionBelowLive { .. } => "VersionBelowLive",
            Broken::SkipsMinor { .. } => "SkipsMinor",
            Broken::StillRolling { .. } => "StillRolling",
            Broken::NoVersion { .. } => "NoVersion",
            Broken::ClusterTerminating => "ClusterTerminating",
            Broken::MissingReference { .. } | Broken::ReferenceTerminating { .. } => "MissingReference",
        }
    }
}

impl fmt::Display for GuardBroken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = &self.object;
        match &self.broken {
            Broken::VersionBelowLive { wanted, live } => write!(
                f,
                "{object} would go back from Kubernetes {live}, which is live, to {wanted}: Kubernetes cannot be downgraded; write {live} or newer"
            ),
            Broken::SkipsMinor { from, to } => write!(
                f,
                "{object} would go from Kubernetes {from}, which is live, to {to}, and Kubernetes is upgraded one minor at a time: go to a version of {} first",
                from.minor().next()
            ),
            Broken::StillRolling { oldest, to } => write!(
                f,
                "{object} waits with Kubernetes {to}: machines of {oldest} still run, and Kubernetes is upgraded one minor at a time"
            ),
            Broken::NoVersion { text, live } => write!(
                f,
                "{object} asks for Kubernetes `{text}`, which is no version, while {live} is live: write a version"
            ),
            Broken::ClusterTerminating => write!(
                f,
                "{object} is being deleted, though Git still has it: nothing is applied until it is gone"
            ),
            Broken::MissingReference { kind, name } => write!(
                f,
                "{object} names {kind} {name}, which is neither rendered here nor live: correct the name or add the object"
            ),
            Broken::ReferenceTerminating { kind, name } => write!(
                f,
                "{object} names {kind} {name}, which is being deleted: name another one, or render it anew once it is gone"
            ),
        }
    }
}

/// The guards that a render breaks, ordered by object and field. With any, nothing of the folder is
/// applied.
///
/// `rendered` has its namespaces and its live names; `live` holds every rendered object that exists, and
/// those of [`named_outside`].
pub fn guards(rendered: &[RenderedObject], live: &LiveObjects) -> Vec<GuardBroken> {
    let mut found = Vec::new();
    for object in rendered {
        let mut broken = |field: FieldPath, broken| {
            let written = object.written_at(&field);
            found.push(GuardBroken { object: object.id.clone(), field, written, broken });
        };
        let going = live.get(&object.id).is_some_and(is_terminating);
        if going && is_cluster(&object.id) {
            broken(FieldPath::root(), Broken::ClusterTerminating);
        }
        versions::check(object, rendered, live, &mut broken);
        references::check(object, rendered, live, &mut broken);
    }
    found.sort_by(|a, b| a.object.cmp(&b.object).then_with(|| a.field.cmp(&b.field)));
    found
}
