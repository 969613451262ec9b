//! Conditions, as they are said: bounded, with reasons as Kubernetes has them.

use capstan_model::wording::sentence;
use jiff::Timestamp;

use crate::resources::{ConditionStatus, ConditionType, Conditions};

/// The longest message of a condition, in characters.
const LONGEST: usize = 1024;

/// Conditions that are being said at a time, of a generation.
pub struct Says<'a> {
    /// What was said before, and is said now.
    pub conditions: &'a mut Conditions,
    pub now: Timestamp,
    /// The generation of the object that they speak of.
    pub generation: i64,
}

impl Says<'_> {
    /// Takes a condition away that has nothing to say any more.
    pub fn clear(&mut self, kind: ConditionType) {
        self.conditions.clear(kind);
    }

    /// Says what holds.
    pub fn that(&mut self, kind: ConditionType, status: ConditionStatus, reason: &str, message: &str) {
        let message: String = message.chars().take(LONGEST).collect();
        self.conditions.set(self.now, self.generation, kind, status, &camel(reason), message);
    }
}

/// A rule's id as a condition's reason has to be written: `overlay-loses-target` -> `OverlayLosesTarget`.
fn camel(reason: &str) -> String {
    reason.split('-').map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_makes_a_reason_by_kubernetes_conventions() {
        assert_eq!(camel("overlay-loses-target"), "OverlayLosesTarget");
        assert_eq!(camel("VersionBelowLive"), "VersionBelowLive");
    }
}
