//! A verdict in the making: why machines change, how sure that is, and what becomes of them.

use capstan_model::object::{FieldPath, ObjectId};
use capstan_plan::upgrade::{Certainty, Course, Rollout, RolloutEffect};

/// What is found about one owner.
#[derive(Debug, Default)]
pub(super) struct CourseFindings {
    because: Vec<String>,
    suspects: Vec<String>,
    scaling: Vec<String>,
    definite: Sureness,
    /// The machines that are replaced, or lost with their owner; `None` = unknown.
    pub(super) machines: Option<u32>,
    pub(super) course: Course,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Sureness {
    #[default]
    Nothing,
    Perhaps,
    Surely,
}

impl CourseFindings {
    /// This field replaces machines.
    pub(super) fn definitely(&mut self, pointer: &str) {
        self.because.push(pointer.to_owned());
        self.definite = Sureness::Surely;
    }

    /// This field may replace machines; only the live cluster could tell.
    pub(super) fn perhaps(&mut self, pointer: &str) {
        self.suspects.push(pointer.to_owned());
        if self.definite == Sureness::Nothing {
            self.definite = Sureness::Perhaps;
        }
    }

    /// This field adds or takes away machines, and replaces none.
    pub(super) fn scales(&mut self, pointer: &str) {
        self.scaling.push(pointer.to_owned());
    }

    /// A sentence that a person should read.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.course.notes.push(note.into());
    }

    /// How many machines are replaced.
    pub(super) fn replaces(&mut self, machines: Option<u32>) {
        self.machines = machines;
        self.course.replaced = machines;
    }

    /// Nothing of it is sure any more; whether there is anything at all.
    pub(super) fn doubt(&mut self) -> bool {
        self.suspects.append(&mut self.because);
        let is_nothing = self.suspects.is_empty() && self.scaling.is_empty();
        self.definite = if is_nothing { Sureness::Nothing } else { Sureness::Perhaps };
        !is_nothing
    }

    /// What is found of a part of the owner; its counts are the caller's.
    pub(super) fn add(&mut self, part: Self) {
        self.because.extend(part.because);
        self.suspects.extend(part.suspects);
        self.scaling.extend(part.scaling);
        self.definite = self.definite.max(part.definite);
        self.course.notes.extend(part.course.notes);
    }

    /// Whether machines are replaced for sure.
    pub(super) fn is_definite(&self) -> bool {
        self.definite == Sureness::Surely
    }

    /// Whether only the live cluster can say.
    pub(super) fn is_unknown(&self) -> bool {
        self.definite == Sureness::Perhaps
    }

    /// Whether this field alone is why, for sure and perhaps.
    pub(super) fn is_because_of(&self, pointer: &str) -> bool {
        self.because.iter().chain(&self.suspects).all(|because| because == pointer)
    }

    /// Whatever was found only adds machines.
    pub(super) fn only_scales(&mut self, pointer: &str) {
        self.because.clear();
        self.suspects.clear();
        self.definite = Sureness::Nothing;
        self.scaling = vec![pointer.to_owned()];
        self.course.notes.clear();
    }

    /// The rollout; `None` where nothing happens to machines.
    pub(super) fn into_rollout(mut self, object: &ObjectId) -> Option<Rollout> {
        // What may replace machines tells nothing where something surely does.
        if self.because.is_empty() {
            self.because = std::mem::take(&mut self.suspects);
        }
        // Scaling replaces no machines: it is the reason only if there is no other.
        if self.because.is_empty() {
            self.because = std::mem::take(&mut self.scaling);
            self.course.effect = RolloutEffect::Scales;
        }
        if self.because.is_empty() {
            return None;
        }
        self.because.sort();
        self.because.dedup();
        let certainty = if self.is_unknown() { Certainty::Unknown } else { Certainty::Offline };
        let because = self.because.iter().filter_map(|pointer| FieldPath::parse(pointer)).collect();
        Some(Rollout {
            object: object.clone(),
            machines: self.machines,
            certainty,
            because,
            course: self.course,
        })
    }
}
