//! What has become of a rollout, as live objects show it in one read.
//!
//! *Done* is said only where every field that could tell agrees and was written by a controller that has
//! seen the present generation: Cluster API writes conditions and counters in two patches, and after an
//! edit both are green for a moment because nobody has looked yet. In one read, `metadata.generation` equals
//! `status.observedGeneration` and that of each condition used; `versions` is one entry with the wanted
//! version and all replicas; `replicas`, `upToDateReplicas` and `readyReplicas` equal `spec.replicas`;
//! `RollingOut`, `ScalingUp` and `ScalingDown` are False, `MachinesUpToDate` and `Available` True; the live
//! object asks for what is rendered. A topology also needs `TopologyReconciled`, no `upgradePlan`, the
//! versions of both halves, and the control plane and worker groups that its controller made done by
//! themselves: between them the `Cluster` is green for a second. Its ClusterClass is edited without the `Cluster`
//! getting a new generation: so the class must be observed, what was cloned must be from the templates that it
//! names, and where neither could tell (patches, variables) its last change must be a moment ago. And
//! `rollout.after` outdates machines without anybody editing anything.
//!
//! Objects of v1beta1 carry the same beneath `status.v1beta2`; where they do not, the counters and conditions
//! of that contract are asked. Control planes of other providers must show their version, what counters they
//! have, and be ready. What shows nothing is *unknown*, never done.
//!
//! Cluster API has no deadline and no condition for *stuck*: it is said where something is missing that
//! nobody will bring ([`held_up`]), where nobody looks at the object, or where no machine has moved for as
//! long as [`Patience`] allows.
//!
//! | file | tells |
//! |---|---|
//! | `reading` | conditions and counters, whatever their contract |
//! | `rules` | what of "done" is not met, per kind of owner |
//! | `machines` | machines by owner, old and new, and which were replaced |
//! | `scheduled` | machines that `rollout.after` outdates |
//! | `made` | what the topology controller made of a `Cluster`, and from which templates |
//! | `held_up` | whether, since when and by what a rollout is stuck |
//!
//! `live` must hold the rendered owners, the control planes that rendered `Cluster`s name, and all
//! `MachineDeployment`s, `MachinePool`s, `MachineSet`s and `Machine`s of the clusters, in one read.

mod held_up;
mod machines;
mod made;
mod reading;
mod rules;
mod scheduled;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use self::held_up::HeldUp;
pub use self::machines::{MachineAge, MachineState};
pub use self::made::clones_to_read;
use self::reading::Reading;
use super::owner::{Owner, owner};
use crate::live_objects::LiveObjects;
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::is_cluster;
use capstan_model::object::ObjectId;
use capstan_plan::templates::{Reference, references};

/// How a rollout stands, in a word; the later ones weigh more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Every machine is as wished.
    Done,
    /// Nobody can tell.
    Unknown,
    /// Nothing of it has begun.
    Waiting,
    /// Machines are being replaced.
    Rolling,
    /// It does not go on without somebody doing something.
    Stuck,
}

impl State {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Unknown => "unknown",
            Self::Waiting => "waiting",
            Self::Rolling => "rolling",
            Self::Stuck => "stuck",
        }
    }
}

/// How long nothing may happen before a rollout counts as stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Until a controller looks at an object.
    pub unobserved: SignedDuration,
    /// With something missing that nobody will bring.
    pub blocked: SignedDuration,
    /// Between two steps of machines: as long as a machine may take to boot.
    pub still: SignedDuration,
    /// Until an edit of a ClusterClass shows in what is made of it, if it does. Nothing is stuck then.
    pub settling: SignedDuration,
}

impl Default for Patience {
    /// Five minutes; two; twenty, which bare metal needs; one.
    fn default() -> Self {
        Self {
            unobserved: SignedDuration::from_mins(5),
            blocked: SignedDuration::from_mins(2),
            still: SignedDuration::from_mins(20),
            settling: SignedDuration::from_mins(1),
        }
    }
}

/// How the rollout of a folder stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// In a word: that of the owner that weighs most. Done where nothing owns machines.
    pub state: State,
    /// Owner by owner, ordered by object.
    pub owners: Vec<OwnerVerdict>,
    /// Every machine, ordered by owner and name.
    pub machines: Vec<MachineState>,
}

/// How one owner of machines stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerVerdict {
    /// The control plane, deployment, pool or `Cluster` with a topology.
    pub object: ObjectId,
    /// Whether others wait for it.
    pub turn: Turn,
    /// In a word.
    pub state: State,
    /// Since when, where that is known.
    pub since: Option<Timestamp>,
    /// Where all is as wished until its own `rollout.after` comes: when that is. It waits, and nobody needs to
    /// wait for it.
    pub until: Option<Timestamp>,
    /// The object that holds it up: a machine, say.
    pub on: Option<ObjectId>,
    /// What it says itself, or what is not as it should be. At most 512 characters.
    pub words: Option<String>,
    /// Its machines in numbers.
    pub counts: Counts,
    /// Whether it shows readiness though not whether its machines are as wished: what must do where the
    /// state is unknown.
    pub ready: Readiness,
}

/// Control planes go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Turn {
    /// A control plane, or a topology, which has one.
    ControlPlane,
    /// Workers.
    Workers,
}

/// Whether an owner says that it is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Readiness {
    /// It does, and has seen its present generation.
    Ready,
    /// It does not.
    NotReady,
}

/// Machines in numbers; 0 where nobody says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// That there shall be.
    pub wanted: u32,
    /// That there are, those going included.
    pub current: u32,
    /// That are as wished.
    pub up_to_date: u32,
    /// That are ready.
    pub ready: u32,
}

impl Verdict {
    /// The verdict on one owner.
    pub fn owner(&self, id: &ObjectId) -> Option<&OwnerVerdict> {
        self.owners.iter().find(|owner| owner.object == *id)
    }

    /// The owner that weighs most, where not all is done.
    pub fn decisive(&self) -> Option<&OwnerVerdict> {
        let weighs = |owner: &&OwnerVerdict| owner.state == self.state && owner.state != State::Done;
        self.owners.iter().find(weighs)
    }

    /// When nothing is left but machines that `rollout.after` will replace: the first time at which it does.
    pub fn put_off_until(&self) -> Option<Timestamp> {
        let open = self.owners.iter().filter(|owner| !matches!(owner.state, State::Done | State::Unknown));
        let times: Option<Vec<Timestamp>> = open.map(|owner| owner.until).collect();
        times?.into_iter().min()
    }

    /// In a word, where what is put off until its own time counts as done.
    pub fn state_for_now(&self) -> State {
        let state = |owner: &OwnerVerdict| owner.until.map_or(owner.state, |_| State::Done);
        if self.put_off_until().is_none() {
            return self.state;
        }
        self.owners.iter().map(state).max().unwrap_or(State::Done)
    }

    /// The machines of all owners in numbers.
    pub fn counts(&self) -> Counts {
        self.owners.iter().fold(Counts::default(), |sum, owner| Counts {
            wanted: sum.wanted.saturating_add(owner.counts.wanted),
            current: sum.current.saturating_add(owner.counts.current),
            up_to_date: sum.up_to_date.saturating_add(owner.counts.up_to_date),
            ready: sum.ready.saturating_add(owner.counts.ready),
        })
    }

    /// What a person reads: `KubeadmControlPlane org/cp: 1 of 3 machines as wished: Rolling out …`.
    pub fn sentence(&self) -> String {
        let Some(owner) = self.decisive() else { return "every machine is as wished".to_owned() };
        let Counts { wanted, up_to_date, current, .. } = owner.counts;
        let mut said = format!("{}: {}", owner.object, owner.state.as_str());
        if matches!(owner.state, State::Rolling | State::Stuck) {
            said.push_str(&format!(", {} of {wanted} machines as wished", up_to_date.min(wanted)));
            let old = current.saturating_sub(up_to_date);
            if old > 0 {
                said.push_str(&format!(", {old} to go"));
            }
        }
        if let Some(on) = owner.on.as_ref().filter(|on| **on != owner.object) {
            said.push_str(&format!(", by {on}"));
        }
        if let Some(words) = &owner.words {
            said.push_str(&format!(": {words}"));
        }
        said
    }
}

/// How the rollout of what is rendered stands. `rendered` has its namespaces and its live names.
pub fn judge(rendered: &[RenderedObject], live: &LiveObjects, now: Timestamp, patience: Patience) -> Verdict {
    let mut owners = Vec::new();
    let mut all = Vec::new();
    let mut add = |id: &ObjectId, owner, wished: Option<&RenderedObject>| {
        let seen = Seen { id, owner, wished, live, now, patience };
        let machines = seen.machines();
        owners.push(seen.judge(&machines));
        all.extend(machines.into_iter().map(|machine| machine.state));
    };
    for object in rendered {
        if let Some(kind) = owner(&object.id, &object.value) {
            add(&object.id, kind, Some(object));
        }
    }
    for (id, kind) in unrendered_control_planes(rendered, live) {
        add(id, kind, None);
    }
    owners.sort_by(|a, b| a.object.cmp(&b.object));
    all.sort_by(|a, b| (&a.owner, &a.name).cmp(&(&b.owner, &b.name)));
    let state = owners.iter().map(|owner| owner.state).max().unwrap_or(State::Done);
    Verdict { state, owners, machines: all }
}

/// The control plane that a rendered `Cluster` without a topology names, where it is live and another tool's.
fn unrendered_control_planes<'a>(
    rendered: &[RenderedObject],
    live: &'a LiveObjects,
) -> Vec<(&'a ObjectId, Owner)> {
    let clusters = rendered.iter().filter(|object| is_cluster(&object.id));
    let named = clusters.filter_map(|cluster| {
        let topology = cluster.value.pointer("/spec/topology").is_some();
        let reference = control_plane_reference(&cluster.id, &cluster.value).filter(|_| !topology)?;
        let namespace = cluster.id.namespace.as_deref();
        if rendered.iter().any(|object| reference.means(namespace, &object.id)) {
            return None;
        }
        let (id, value) = live.iter().find(|(id, _)| reference.means(namespace, id))?;
        Some((id, owner(id, value)?))
    });
    named.collect()
}

/// Which control plane a `Cluster` names.
pub(crate) fn control_plane_reference<'v>(id: &ObjectId, cluster: &'v Value) -> Option<Reference<'v>> {
    let named = references(&id.group, &id.kind, cluster);
    named.into_iter().find(|reference| reference.path.to_string() == "/spec/controlPlaneRef/name")
}

/// One owner of machines, and what is known of it.
struct Seen<'a> {
    id: &'a ObjectId,
    owner: Owner,
    /// What Git wants of it; `None` for a control plane that another tool applies.
    wished: Option<&'a RenderedObject>,
    live: &'a LiveObjects,
    now: Timestamp,
    patience: Patience,
}

impl Seen<'_> {
    fn judge(&self, machines: &[machines::Found<'_>]) -> OwnerVerdict {
        let turn = if self.owner.turn() == 1 { Turn::ControlPlane } else { Turn::Workers };
        let mut verdict = OwnerVerdict {
            object: self.id.clone(),
            turn,
            state: State::Waiting,
            since: None,
            until: None,
            on: None,
            words: None,
            counts: Counts::default(),
            ready: Readiness::NotReady,
        };
        let Some(object) = self.live.get(self.id) else {
            verdict.words = Some("not applied yet".to_owned());
            return verdict;
        };
        let reading = Reading::of(object);
        let standing = rules::standing(self, &reading, machines);
        verdict.counts = standing.counts;
        verdict.ready = standing.ready;
        verdict.state = standing.state;
        verdict.until = standing.until;
        verdict.words = standing.words.as_deref().map(reading::said);
        verdict.since = match standing.state {
            State::Done | State::Unknown => None,
            State::Waiting | State::Rolling | State::Stuck => {
                let behind = standing.behind.as_ref().and_then(|behind| behind.since);
                behind.or_else(|| reading.rolling_since()).or_else(|| reading.written())
            }
        };
        if let Some(HeldUp { since, on, words }) = held_up::held_up(self, &reading, machines, &standing) {
            verdict.state = State::Stuck;
            verdict.since = Some(since);
            verdict.on = Some(on);
            verdict.words = Some(reading::said(&words));
        }
        verdict
    }
}
