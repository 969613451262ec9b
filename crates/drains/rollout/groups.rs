//! Which machines come and leave now: each group has its own surge, and groups roll in the plan's order.

use std::collections::BTreeSet;

use super::SimulatedRollout;
use crate::selector::number;

impl<'a> SimulatedRollout<'a> {
    /// New machines join, and others begin to leave, as far as the groups allow.
    pub(super) fn advance_groups(&mut self, daemon_sets: &BTreeSet<(&'a str, &'a str)>) -> bool {
        let mut active = self.plan.side_by_side.max(1);
        let mut first_new = self.workload.nodes.len();
        let mut moved = false;
        for (at, group) in self.plan.groups.iter().enumerate() {
            let mut progress = self.groups[at];
            if active > 0 && (progress.left < group.leave.len() || progress.come < group.come) {
                active -= 1;
                let (surge, unavailable) = match (group.surge, group.unavailable) {
                    (0, 0) => (1, 0),
                    both => both,
                };
                // There are never more machines than all new ones and the surge. So a surplus of old ones leaves first.
                let places = surge.saturating_add(group.come).saturating_add(progress.left);
                while progress.come < group.come.min(places.saturating_sub(group.leave.len())) {
                    self.join(number(first_new + progress.come));
                    progress.come += 1;
                    moved = true;
                    // The next machine leaves when this one is ready, so pods without a node come first.
                    self.place_all(Vec::new());
                }
                let without = unavailable.saturating_add(group.leave.len() + progress.come);
                let may_start = if progress.come == group.come {
                    group.leave.len()
                } else {
                    without.saturating_sub(group.come)
                };
                while progress.started < may_start.min(group.leave.len()) {
                    let machine = &group.leave[progress.started];
                    self.begin(at, machine, daemon_sets);
                    progress.started += 1;
                    moved = true;
                }
                self.groups[at] = progress;
            }
            first_new += group.come;
        }
        moved
    }

    fn join(&mut self, node: u32) {
        self.places.join(node);
        let daemons = std::mem::take(&mut self.daemons);
        self.places.reserve(node, &daemons);
        self.daemons = daemons;
    }

    pub(super) fn is_over(&self) -> bool {
        let mut groups = self.groups.iter().zip(&self.plan.groups);
        groups.all(|(progress, group)| progress.left == group.leave.len() && progress.come == group.come)
    }
}
