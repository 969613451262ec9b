//! How many machines are replaced, come and go, and how many there are meanwhile.

use super::course::CourseFindings;
use super::owner::{Replacing, replacing, replicas};
use super::pair::FieldPair;

/// The machines that one owner wants, or one group of a topology, before and after; `None` where Git does not
/// say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    pub(super) before: Option<u32>,
    pub(super) after: Option<u32>,
}

impl Numbers {
    /// Outdated machines that new ones replace. If fewer are wanted than there were, the old ones beyond that number
    /// go, too, but without a successor: they are [`deleted`](Self::deleted).
    pub(super) fn replaced(self) -> Option<u32> {
        match (self.before, self.after) {
            (Some(before), Some(after)) => Some(before.min(after)),
            (_, after) => after,
        }
    }

    /// The same of an upgrade that replaces all machines several times; `None` if it is unknown how often.
    pub(super) fn replaced_in(self, times: Option<u32>) -> Option<u32> {
        let again = times?.saturating_sub(1);
        let first = self.replaced()?;
        if again == 0 { Some(first) } else { Some(first.saturating_add(self.after?.saturating_mul(again))) }
    }

    /// Machines that come beyond those that are replaced.
    pub(super) fn created(self) -> Option<u32> {
        Some(self.after?.saturating_sub(self.before?))
    }

    /// Machines that go without a successor.
    pub(super) fn deleted(self) -> Option<u32> {
        Some(self.before?.saturating_sub(self.after?))
    }

    fn scale(self) -> Option<(u32, u32)> {
        let (before, after) = (self.before?, self.after?);
        (before != after).then_some((before, after))
    }

    /// What a MachineDeployment's machines come to while they are replaced. Its controller scales and replaces
    /// in one go, so that where the number changes too, the bounds are those of both.
    pub(super) fn while_deployment_rolls(self, replacing: &Replacing) -> Option<String> {
        let (surge, unavailable) = (replacing.surge?, replacing.unavailable?);
        Some(match self.scale() {
            None => format!("At most {surge} more and {unavailable} fewer than wanted at a time."),
            Some((before, after)) => {
                let (most, least) = while_rolling(before, after, surge, unavailable);
                bounds(most, least)
            }
        })
    }

    /// The same of a control plane that replaces as KubeadmControlPlane does: below the wanted number and its
    /// surge a machine joins, else an outdated one goes, and only then is anything scaled.
    pub(super) fn while_control_plane_rolls(self, replacing: &Replacing) -> Option<String> {
        let surge = replacing.surge?;
        let order = if surge == 0 {
            "One at a time: an old machine is deleted, then a new one joins."
        } else {
            "One at a time: a new machine joins, then an old one is deleted."
        };
        Some(match self.scale() {
            None => order.to_owned(),
            Some((before, after)) => {
                let wanted = after.saturating_add(surge);
                format!(
                    "One machine at a time joins or is deleted. {}",
                    bounds(before.max(wanted), before.min(wanted.saturating_sub(1)))
                )
            }
        })
    }
}

/// How many machines of a MachineDeployment there are at most and at least while it replaces and scales them, if each new
/// one becomes available. Tests hold it against each look of Cluster API's planner.
pub(super) fn while_rolling(before: u32, after: u32, surge: u32, unavailable: u32) -> (u32, u32) {
    let most = after.saturating_add(surge.min(before));
    (before.max(most), before.min(after.saturating_sub(unavailable)))
}

fn bounds(most: u32, least: u32) -> String {
    format!("At most {most} machines at a time, and at least {least}.")
}

/// The counts of an owner whose outdated machines are replaced, and how it does that.
pub(super) fn rolling(verdict: &mut CourseFindings, pair: FieldPair<'_>) -> (Numbers, Replacing) {
    let numbers = Numbers { before: replicas(pair.before), after: replicas(pair.after) };
    let (created, deleted) = (numbers.created(), numbers.deleted());
    if pair.differs("/spec/replicas") && (created, deleted) != (Some(0), Some(0)) {
        verdict.scales("/spec/replicas");
    }
    let replaced = if verdict.is_definite() {
        numbers.replaced()
    } else if verdict.is_unknown() {
        None
    } else {
        Some(0)
    };
    let replacing = replacing(pair.after, numbers.after);
    verdict.course.created = created;
    verdict.course.deleted = deleted;
    verdict.course.strategy = Some(replacing.strategy.clone());
    verdict.replaces(replaced);
    (numbers, replacing)
}
