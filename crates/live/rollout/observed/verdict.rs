//! The state of rollouts: in a word, owner by owner, machine by machine.

use jiff::Timestamp;

use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::ObjectId;

/// The state of a rollout, in a word; the later ones weigh more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RolloutProgress {
    /// Every machine is up to date.
    Done,
    Unknown,
    /// Nothing of it has begun.
    Waiting,
    /// Machines are being replaced.
    Rolling,
    /// It does not go on until somebody does something.
    Stuck,
}

impl RolloutProgress {
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

/// The state of a folder's rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutVerdict {
    /// In a word: that of the owner that weighs most. Done where nothing owns machines.
    pub state: RolloutProgress,
    /// Owner by owner, ordered by object.
    pub owners: Vec<OwnerVerdict>,
    /// Every machine, ordered by owner and name.
    pub machines: Vec<MachineState>,
}

/// The state of one owner of machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerVerdict {
    /// The control plane, deployment, pool or `Cluster` with a topology.
    pub object: ObjectId,
    /// Whether others wait for it.
    pub kind: OwnerKind,
    /// In a word.
    pub state: RolloutProgress,
    /// Since when, where that is known.
    pub since: Option<Timestamp>,
    /// If all is up to date until its own `rollout.after` comes: when that is. It waits, and nothing needs to wait for
    /// it.
    pub until: Option<Timestamp>,
    /// The object that holds it up: a machine, say.
    pub on: Option<ObjectId>,
    /// What it says itself, or what is not as it should be. At most 512 characters.
    pub words: Option<String>,
    /// Its machines in numbers.
    pub counts: Counts,
    /// Whether it shows readiness though not whether its machines are up to date: what must do where the
    /// state is unknown.
    pub ready: Readiness,
}

/// Control planes go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnerKind {
    /// A control plane, or a topology, which has one.
    ControlPlane,
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

/// Machines in numbers; 0 if a number is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// That there shall be.
    pub wanted: u32,
    /// That there are, those going included.
    pub current: u32,
    pub up_to_date: u32,
    pub ready: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineState {
    /// Name of the `Machine`.
    pub name: String,
    /// The rendered owner.
    pub owner: ObjectId,
    /// Its phase in Cluster API's word: `Running`, `Provisioning`, `Deleting`.
    pub state: String,
    /// Whether it is yet to be replaced.
    pub age: MachineAge,
    /// When its `Machine` was created, where that is known.
    pub created_at: Option<Timestamp>,
    /// The version of Kubernetes that it is made with.
    pub version: Option<String>,
    /// What keeps it from being ready, in its own words.
    pub words: Option<String>,
}

/// Whether a machine is up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MachineAge {
    /// As wished.
    New,
    /// Yet to be replaced.
    Old,
}

impl RolloutVerdict {
    /// The verdict on one owner.
    pub fn owner(&self, id: &ObjectId) -> Option<&OwnerVerdict> {
        self.owners.iter().find(|owner| owner.object == *id)
    }

    /// The owner that weighs most, where not all is done.
    pub fn decisive(&self) -> Option<&OwnerVerdict> {
        let weighs =
            |owner: &&OwnerVerdict| owner.state == self.state && owner.state != RolloutProgress::Done;
        self.owners.iter().find(weighs)
    }

    /// When nothing is left but machines that `rollout.after` will replace: the first time at which it does.
    pub fn put_off_until(&self) -> Option<Timestamp> {
        let open = self
            .owners
            .iter()
            .filter(|owner| !matches!(owner.state, RolloutProgress::Done | RolloutProgress::Unknown));
        let times: Option<Vec<Timestamp>> = open.map(|owner| owner.until).collect();
        times?.into_iter().min()
    }

    /// In a word, where what is put off until its own time counts as done.
    pub fn state_for_now(&self) -> RolloutProgress {
        let state = |owner: &OwnerVerdict| owner.until.map_or(owner.state, |_| RolloutProgress::Done);
        if self.put_off_until().is_none() {
            return self.state;
        }
        self.owners.iter().map(state).max().unwrap_or(RolloutProgress::Done)
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

    /// What a person reads: `KubeadmControlPlane org/cp: 1 of 3 machines up to date: Rolling out …`.
    pub fn sentence(&self) -> String {
        let are_providers =
            self.owners.iter().any(|owner| role_of(&owner.object) == Some(KindRole::Provider));
        let all_done = || {
            let what = if are_providers { "provider" } else { "machine" };
            format!("every {what} is up to date")
        };
        let Some(owner) = self.decisive() else { return all_done() };
        let Counts { wanted, up_to_date, current, .. } = owner.counts;
        let mut said = format!("{}: {}", owner.object, owner.state.as_str());
        if matches!(owner.state, RolloutProgress::Rolling | RolloutProgress::Stuck) && !are_providers {
            // Where all are counted as they are wished and something is open still, the words say what: a number beside them
            // would say the contrary.
            if up_to_date < wanted || owner.words.is_none() {
                said.push_str(&format!(", {} of {wanted} machines up to date", up_to_date.min(wanted)));
            }
            let old = current.saturating_sub(up_to_date);
            if old > 0 {
                said.push_str(&format!(", {old} to replace"));
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
