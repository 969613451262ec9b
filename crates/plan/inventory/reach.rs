//! What a change of the inventory reaches: the objects that changed, and the definitions that have other values for it.

use std::collections::{BTreeMap, BTreeSet};

use capstan_inventory::kinds::Object;
use capstan_inventory::origin::LevelKind;
use capstan_inventory::values::Member;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::wording::count;

use super::fleet::FleetInventory;
use crate::settings::InventoryLimits;

/// The definitions that a change concerns.
#[derive(Debug)]
pub struct InventoryReach<'i> {
    /// The objects that are new or other ones, and those that are gone, as they were.
    pub objects: Vec<&'i Object>,
    /// Definitions whose values or wishes are others now, new ones and those that are gone included.
    pub definitions: Vec<&'i Object>,
}

impl<'i> InventoryReach<'i> {
    /// What changed from one inventory to the other.
    pub fn of(before: &'i FleetInventory, after: &'i FleetInventory) -> Self {
        let (old, new) = (&before.inventory.objects, &after.inventory.objects);
        let came =
            new.iter().filter(|(key, object)| !old.get(*key).is_some_and(|old| says_the_same(old, object)));
        let went = old.iter().filter(|(key, _)| !new.contains_key(*key));
        let objects: Vec<&Object> = came.chain(went).map(|(_, object)| object).collect();
        let names: BTreeSet<(LevelKind, &str)> = objects.iter().map(|object| name_of(object)).collect();
        // Only those can have other values that belong to what changed.
        let belongs = |inventory: &FleetInventory, definition: &Object| match inventory.member(definition) {
            Ok(member) => member.objects.iter().any(|own| names.contains(&name_of(own))),
            Err(_) => true,
        };
        let is_other = |definition: &&'i Object| {
            let Some(was) = before.inventory.cluster(&definition.level.name) else { return true };
            (belongs(after, definition) || belongs(before, was))
                && values_of(before, was) != values_of(after, definition)
        };
        let changed = after.inventory.clusters().filter(is_other);
        let gone = before.inventory.clusters();
        let gone = gone.filter(|definition| after.inventory.cluster(&definition.level.name).is_none());
        let definitions = changed.chain(gone).collect();
        Self { objects, definitions }
    }

    /// The object that concerns most: where to look first.
    pub fn place(&self, after: &FleetInventory) -> Option<Place> {
        let mut concerned: BTreeMap<(LevelKind, &str), usize> = BTreeMap::new();
        for member in self.definitions.iter().filter_map(|definition| after.member(definition).ok()) {
            member.objects.iter().for_each(|own| *concerned.entry(name_of(own)).or_default() += 1);
        }
        let count = |object: &&&Object| concerned.get(&name_of(object)).copied().unwrap_or_default();
        let most = self.objects.iter().rev().max_by_key(count)?;
        Some(most.level.place(most.offset))
    }
}

/// The finding that a change reaches more than it may; `None` where it does not. So many clusters change, and so many more
/// may, which nobody planned; `machines` is not known to who has not planned.
pub fn beyond(
    limits: &InventoryLimits,
    [changed, unplanned]: [usize; 2],
    machines: Option<u64>,
    place: Option<Place>,
) -> Option<Finding> {
    let is_beyond = |number: u64, limit: &u32| number > u64::from(*limit);
    let reached = u64::try_from(changed + unplanned).unwrap_or(u64::MAX);
    let mut parts = Vec::new();
    if let Some(limit) = limits.clusters.filter(|limit| is_beyond(reached, limit)) {
        let changes = count(changed, "cluster changes", "clusters change");
        let more = match unplanned {
            0 => String::new(),
            _ => format!(", {} not planned", count(unplanned, "more was", "more were")),
        };
        parts.push(format!("{changes}{more} and {limit} may"));
    }
    let machines = machines.unwrap_or_default();
    if let Some(limit) = limits.machines.filter(|limit| is_beyond(machines, limit)) {
        let number = usize::try_from(machines).unwrap_or(usize::MAX);
        let replaced = count(number, "machine is replaced", "machines are replaced");
        parts.push(format!("{replaced} and {limit} may"));
    }
    if parts.is_empty() {
        return None;
    }
    let message = format!(
        "this change exceeds the limits: {}. Split it, or raise `inventory.limits` in .capstan.yaml",
        parts.join(", ")
    );
    Some(Finding::new(rules::INVENTORY_REACH, message).maybe_place(place))
}

/// What tells objects of an inventory apart.
fn name_of(object: &Object) -> (LevelKind, &str) {
    (object.level.kind, object.level.name.as_str())
}

fn says_the_same(one: &Object, other: &Object) -> bool {
    let values = |object: &Object| object.values.as_ref().map(capstan_yaml::Node::value);
    fn all<T: PartialEq>(
        one: &[capstan_inventory::kinds::PlacedWord<T>],
        other: &[capstan_inventory::kinds::PlacedWord<T>],
    ) -> bool {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.value == other.value)
    }
    fn same<T: PartialEq>(
        one: Option<&capstan_inventory::kinds::PlacedWord<T>>,
        other: Option<&capstan_inventory::kinds::PlacedWord<T>>,
    ) -> bool {
        one.map(|one| &one.value) == other.map(|other| &other.value)
    }
    values(one) == values(other)
        && all(&one.membership, &other.membership)
        && all(&one.components, &other.components)
        && all(&one.finals, &other.finals)
        && same(one.release.as_ref(), other.release.as_ref())
        && same(one.track.as_ref(), other.track.as_ref())
        && same(one.folder.as_ref(), other.folder.as_ref())
        && one.retire.is_some() == other.retire.is_some()
        && one.broken.is_some() == other.broken.is_some()
}

/// Everything that a definition comes to before a release has its say.
fn values_of(inventory: &FleetInventory, definition: &Object) -> Option<String> {
    let member: Member<'_> = inventory.member(definition).ok()?;
    let values = member.values(None);
    let wishes = (
        member.wishes.release.as_ref().map(|(release, _)| release.clone()),
        member.wishes.track.as_ref().map(|(track, _)| *track),
        member.wishes.components.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>(),
    );
    let folder = definition.folder.as_ref().map(|folder| folder.value.clone());
    Some(format!(
        "{} {:?} {wishes:?} {folder:?} {}",
        values.value(),
        member.levels,
        definition.retire.is_some()
    ))
}
