//! Worker groups of a topology that an annotation holds back in upgrades.
//!
//! Cluster API reconciles nothing of a group that is behind the topology's version: not its count, its templates, its
//! labels (`reconcile_state.go`). Whether a group is behind, only the live cluster tells.

use std::collections::HashMap;

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
    /// Of a group in what there is before and after.
    pub(super) fn of(sides: [&GroupsByName<'_>; 2], group: &MachineGroup<'_>, is_upgraded: bool) -> Self {
        match sides.map(|side| side.hold(group)) {
            [_, Some(is)] if is_upgraded => Self::Waits(is.words()),
            [Some(_), Some(is)] => Self::MayWait(is.words()),
            [Some(was), None] if !is_upgraded => Self::Released(was.field(sides[1])),
            _ => Self::Takes,
        }
    }
}

/// The groups of one side by list and name, each with what holds it back.
pub(super) struct GroupsByName<'g>(
    HashMap<(&'static str, &'g str), (&'g MachineGroup<'g>, Option<Hold<'g>>)>,
);

impl<'g> GroupsByName<'g> {
    /// Of these groups; of several of one name the first. A group is held back by itself, or by one before it in its list.
    pub(super) fn of(groups: &'g [MachineGroup<'g>]) -> Self {
        let mut found = HashMap::with_capacity(groups.len());
        let mut holders: HashMap<&'static str, &'g MachineGroup<'g>> = HashMap::new();
        for group in groups {
            let has = |name: &str| annotation(group.value, name).is_some();
            if has(HOLD_UPGRADE) {
                holders.entry(group.list).or_insert(group);
            }
            let hold = if has(DEFER_UPGRADE) {
                Some(Hold { holder: group, annotation: DEFER_UPGRADE })
            } else {
                holders.get(group.list).map(|holder| Hold { holder, annotation: HOLD_UPGRADE })
            };
            found.entry((group.list, group.name.as_str())).or_insert((group, hold));
        }
        Self(found)
    }

    /// The group of that list and name on this side.
    pub(super) fn find(&self, group: &MachineGroup<'_>) -> Option<&'g MachineGroup<'g>> {
        self.0.get(&(group.list, group.name.as_str())).map(|(found, _)| *found)
    }

    /// Whether the group is held back on this side.
    pub(super) fn holds(&self, group: &MachineGroup<'_>) -> bool {
        self.hold(group).is_some()
    }

    fn hold<'s>(&'s self, group: &'s MachineGroup<'_>) -> Option<&'s Hold<'g>> {
        self.0.get(&(group.list, group.name.as_str()))?.1.as_ref()
    }
}

impl Hold<'_> {
    fn words(&self) -> String {
        format!("annotation `{}` of `{}`", self.annotation, self.holder.name)
    }

    /// The field of its annotation; the list of the group if the group is gone.
    fn field(&self, after: &GroupsByName<'_>) -> String {
        after.find(self.holder).map_or_else(
            || format!("/spec/topology/workers/{}", self.holder.list),
            |holder| format!("{}/metadata/annotations/{}", holder.path, self.annotation.replace('/', "~1")),
        )
    }
}
