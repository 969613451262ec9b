//! Worker groups of a topology that an annotation holds back in upgrades.
//!
//! Cluster API reconciles nothing of a group that is behind the topology's version: not its count, its templates, its
//! labels (`reconcile_state.go`). Whether a group is behind, only the live cluster tells.

use super::class::MachineGroup;
use super::facts::{DEFER_UPGRADE, HOLD_UPGRADE};
use super::owner::annotation;

/// What holds a group back.
struct Hold<'g> {
    holder: &'g MachineGroup<'g>,
    annotation: &'static str,
}

/// Whether a group that is there before and after takes part in what happens.
pub(super) enum GroupTurn {
    /// It follows at once.
    Takes,
    /// It is left as it is, for this annotation.
    Waits(String),
    /// It was held back before, and still is by this annotation: where it is behind, it is left as it is.
    MayWait(String),
    /// Nothing holds it back any more. Where it is behind, it follows: this field tells it.
    Released(String),
}

impl GroupTurn {
    /// Of the group in these lists.
    pub(super) fn of(groups: [&[MachineGroup<'_>]; 2], group: &MachineGroup<'_>, is_upgraded: bool) -> Self {
        match (hold(groups[0], group), hold(groups[1], group)) {
            (_, Some(is)) if is_upgraded => Self::Waits(is.words()),
            (Some(_), Some(is)) => Self::MayWait(is.words()),
            (Some(was), None) if !is_upgraded => Self::Released(was.field(groups[1])),
            _ => Self::Takes,
        }
    }
}

/// Whether the group is held back in this list.
pub(super) fn is_held_back(groups: &[MachineGroup<'_>], group: &MachineGroup<'_>) -> bool {
    hold(groups, group).is_some()
}

/// A group is held back by itself, or by one before it in its list.
fn hold<'g>(groups: &'g [MachineGroup<'g>], group: &MachineGroup<'_>) -> Option<Hold<'g>> {
    let of_list: Vec<&MachineGroup<'_>> = groups.iter().filter(|other| other.list == group.list).collect();
    let at = of_list.iter().position(|other| other.name == group.name)?;
    let has = |holder: &&MachineGroup<'_>, name: &str| annotation(holder.value, name).is_some();
    if has(&of_list[at], DEFER_UPGRADE) {
        return Some(Hold { holder: of_list[at], annotation: DEFER_UPGRADE });
    }
    let holder = of_list[..=at].iter().find(|other| has(other, HOLD_UPGRADE))?;
    Some(Hold { holder, annotation: HOLD_UPGRADE })
}

impl Hold<'_> {
    fn words(&self) -> String {
        format!("annotation `{}` of `{}`", self.annotation, self.holder.name)
    }

    /// Where its annotation stood; its list, where the group that had it is gone.
    fn field(&self, after: &[MachineGroup<'_>]) -> String {
        let holder = after.iter().find(|o| o.list == self.holder.list && o.name == self.holder.name);
        holder.map_or_else(
            || format!("/spec/topology/workers/{}", self.holder.list),
            |holder| format!("{}/metadata/annotations/{}", holder.path, self.annotation.replace('/', "~1")),
        )
    }
}
