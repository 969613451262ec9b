//! Clusters with a managed topology: the control plane, then the worker groups.

use std::collections::{HashMap, HashSet};

use super::class::{
    ClassSides, GroupComparison, GroupOutcome, MachineGroup, RolloutCause, Strategies, changed_variables,
    groups, machine_template,
};
use super::course::CourseFindings;
use super::facts::{self, CONCURRENCY};
use super::held_back::{GroupTurn, GroupsByName};
use super::numbers::Numbers;
use super::owner::annotation;
use super::pointer::PointerTarget;
use super::pools::{PoolEffect, PoolFacts};
use super::upgrade_course::UpgradeCourse;
use capstan_plan::merge::AppliedBy;
use capstan_plan::upgrade::RolloutPart;
use capstan_yaml::Value;

const VARIABLES: &str = "/spec/topology/variables";

/// What becomes of a Cluster with a topology, given its class before and after.
pub(super) fn topology(
    before: &Value,
    after: &Value,
    sides: &ClassSides<'_>,
    applied: AppliedBy,
) -> CourseFindings {
    let change = TopologyChange::new(before, after, sides, applied);
    let mut verdict = CourseFindings::default();
    // `spec.topology.rolloutAfter` of v1beta1 never had a function.
    if change.upgraded && after.at("/spec/topology/version").is_some() {
        verdict.definitely("/spec/topology/version");
    }
    change.causes_of_unknown_class().iter().for_each(|cause| verdict.perhaps(&cause.path));
    let (old, new) = (groups(before), groups(after));
    let (old_by_name, new_by_name) = (GroupsByName::of(&old), GroupsByName::of(&new));
    let strategies = Strategies::of(sides, &new);
    let mut notes = GroupNotes::default();
    let mut parts = Vec::new();
    for group in &new {
        let earlier = old_by_name.find(group);
        let mut part = match earlier {
            Some(earlier) => {
                let turn = GroupTurn::of([&old_by_name, &new_by_name], group, change.upgraded);
                if change.upgraded && old_by_name.holds(group) {
                    notes.add(group, "An annotation held it back before. If it is behind, Cluster API refuses another version until it has followed.".to_owned());
                }
                change.part(&mut verdict, &mut notes, [earlier, group], turn)
            }
            None => added(&mut verdict, group, change.upgraded.then_some(&mut notes)),
        };
        strategies.say(&mut part, earlier, group, &mut notes);
        parts.push(part);
    }
    for group in old.iter().filter(|old| new_by_name.find(old).is_none()) {
        parts.push(removed(&mut verdict, group));
    }
    change.course.note().into_iter().for_each(|note| verdict.note(note));
    if change.upgraded && new.len() > 1 {
        let concurrency = annotation(after, CONCURRENCY).unwrap_or("1");
        verdict.note(format!(
            "The control plane goes first, then the worker groups, {concurrency} of a kind at a time."
        ));
    }
    notes.write_to(&mut verdict);
    if change.comparison.as_ref().is_some_and(GroupComparison::is_complete) {
        change.say_what_reaches_nothing(&mut verdict, &notes, &old_by_name, &new);
    }
    if verdict.is_unknown() && change.comparison.is_none() {
        let mut unknown = sides.unknown.clone();
        unknown.dedup();
        unknown.into_iter().for_each(|why| verdict.note(why));
    }
    verdict.totals(&parts);
    parts.retain(|part| part.replaced != Some(0) || part.created != Some(0) || part.deleted != Some(0));
    verdict.course.parts = parts;
    verdict
}

/// What concerns every group.
struct TopologyChange<'c, 'v> {
    before: &'c Value,
    after: &'c Value,
    sides: &'c ClassSides<'v>,
    upgraded: bool,
    course: UpgradeCourse,
    /// Where the Cluster names its class.
    class: &'static str,
    /// Where the class is known before and after.
    comparison: Option<GroupComparison<'c, 'v>>,
}

/// Notes on groups, by their names, and which fields of the Cluster reach machines.
#[derive(Default)]
struct GroupNotes {
    entries: Vec<(String, String)>,
    reached: HashSet<String>,
}

impl GroupNotes {
    fn add(&mut self, group: &MachineGroup<'_>, note: String) {
        self.entries.push((group.name.clone(), note));
    }

    /// One note for all groups that have the same.
    fn write_to(&self, verdict: &mut CourseFindings) {
        let mut at = HashMap::new();
        let mut notes: Vec<(&str, Vec<String>)> = Vec::new();
        for (name, note) in &self.entries {
            let at = *at.entry(note.as_str()).or_insert(notes.len());
            if at == notes.len() {
                notes.push((note, Vec::new()));
            }
            notes[at].1.push(format!("`{name}`"));
        }
        for (note, names) in notes {
            verdict.note(format!("{}: {note}", names.join(", ")));
        }
    }
}

impl<'c, 'v> TopologyChange<'c, 'v> {
    fn new(before: &'c Value, after: &'c Value, sides: &'c ClassSides<'v>, applied: AppliedBy) -> Self {
        let class = ["/spec/topology/class", "/spec/topology/classRef/name"]
            .into_iter()
            .find(|pointer| after.at(pointer).is_some())
            .unwrap_or("/spec/topology/class");
        let comparison = sides.both().map(|sides| GroupComparison::new(sides, applied, class));
        let upgraded = before.at("/spec/topology/version") != after.at("/spec/topology/version");
        let course = UpgradeCourse::of(before, after, sides);
        Self { before, after, sides, upgraded, course, class, comparison }
    }

    /// What may concern all groups where the class is not known: which variables end in machines only its patches
    /// know, and what another class makes its templates.
    fn causes_of_unknown_class(&self) -> Vec<RolloutCause> {
        if self.comparison.is_some() {
            return Vec::new();
        }
        let other_class = self.sides.renamed || self.sides.differs;
        let renamed = other_class.then_some(self.class);
        let variables = (self.before.at(VARIABLES) != self.after.at(VARIABLES)).then_some(VARIABLES);
        renamed
            .into_iter()
            .chain(variables)
            .map(|path| RolloutCause { path: path.to_owned(), note: None })
            .collect()
    }

    fn outcome(&self, both: [&MachineGroup<'_>; 2]) -> GroupOutcome {
        if let Some(comparison) = &self.comparison {
            return comparison.of_group(both);
        }
        let mut causes = self.causes_of_unknown_class();
        for field in ["/class", "/variables"] {
            if both[0].value.at(field) != both[1].value.at(field) {
                causes.push(RolloutCause { path: format!("{}{field}", both[1].path), note: None });
            }
        }
        if causes.is_empty() { GroupOutcome::Nothing } else { GroupOutcome::Perhaps(causes) }
    }

    /// One group that is there before and after.
    fn part(
        &self,
        verdict: &mut CourseFindings,
        notes: &mut GroupNotes,
        both: [&MachineGroup<'_>; 2],
        turn: GroupTurn,
    ) -> RolloutPart {
        let group = both[1];
        let numbers = Numbers { before: both[0].replicas, after: group.replicas };
        let outcome = self.outcome(both);
        if let GroupOutcome::Surely(causes) | GroupOutcome::Perhaps(causes) = &outcome {
            notes.reached.extend(causes.iter().map(|cause| cause.path.clone()));
        }
        let (mut created, mut deleted) = (numbers.created(), numbers.deleted());
        let is_scaled = created.is_some_and(|some| some > 0) || deleted.is_some_and(|some| some > 0);
        let mut of_group = CourseFindings::default();
        let replaced = if let GroupTurn::Waits(holder) = &turn {
            (created, deleted) = (Some(0), Some(0));
            notes.add(group, format!("Its version stays until somebody removes the {holder}. Cluster API refuses a later version until then."));
            if let (true, Some(before), Some(after)) = (is_scaled, numbers.before, numbers.after) {
                notes.add(group, format!("Its count stays {before} until it follows, and is {after} then."));
            }
            Some(0)
        } else {
            if is_scaled {
                of_group.scales(&format!("{}/replicas", group.path));
            }
            let own = self.own_fields(&mut of_group, both);
            let (rolls, mut perhaps) = take(&mut of_group, notes, group, outcome);
            if let GroupTurn::Released(field) = &turn {
                of_group.perhaps(field);
                notes.add(group, "Nothing holds back its upgrade any more. If its machines are behind, they are replaced now.".to_owned());
                perhaps = true;
            }
            let upgraded = match self.version_effect(group) {
                _ if !self.upgraded => false,
                PoolEffect::Replaces => true,
                PoolEffect::ProviderDecides => {
                    perhaps = true;
                    false
                }
                PoolEffect::OnlyNew | PoolEffect::InPlace | PoolEffect::NotYet => {
                    notes.add(group, "The new version alone replaces no instance of this pool.".to_owned());
                    false
                }
            };
            match (upgraded || own || rolls, perhaps) {
                (true, _) => numbers.replaced_in(self.course.times(group)),
                (false, true) => None,
                (false, false) => Some(0),
            }
        };
        let may_wait = if let GroupTurn::MayWait(holder) = &turn {
            if of_group.doubt() {
                notes.add(group, format!("The {holder} holds back its upgrade. If it is behind, nothing of this reaches it until it follows."));
            }
            true
        } else {
            false
        };
        verdict.add(of_group);
        let replaced = replaced.filter(|replaced| !may_wait || *replaced == 0);
        let name = group.name.clone();
        RolloutPart { name, replaced, created, deleted, order: order(group) }
    }

    /// What another version does to the machines of a group: to those of a pool by its infrastructure, where the class is
    /// known.
    fn version_effect(&self, group: &MachineGroup<'_>) -> PoolEffect {
        let sides = self.sides.both().filter(|_| group.list == "machinePools");
        let made = sides.and_then(|sides| machine_template(sides[1], group));
        let kind = made.as_ref().and_then(|made| made.get("kind")?.as_str());
        kind.map_or(PoolEffect::Replaces, |kind| PoolFacts::of(kind, made.as_ref()).version())
    }

    /// Fields of the group itself that replace its machines.
    fn own_fields(&self, verdict: &mut CourseFindings, both: [&MachineGroup<'_>; 2]) -> bool {
        let group = both[1];
        let differs = |pointer: &str| both[0].value.at(pointer) != group.value.at(pointer);
        let mut rolls = false;
        if self.failure_domain(0, both[0]) != self.failure_domain(1, group) {
            let own = format!("{}/failureDomain", group.path);
            verdict.definitely(if differs("/failureDomain") { &own } else { self.class });
            rolls = true;
        }
        let field = "/rollout/after";
        if let Some(value) = group.value.at(field).filter(|_| differs(field)) {
            verdict.definitely(&format!("{}{field}", group.path));
            rolls = true;
            if let Some(time) = value.as_str() {
                let of_plane = group.list == "controlPlane";
                let said = if of_plane { facts::made_before } else { facts::set_made_before };
                verdict.note(said(&format!("Machines of `{}`", group.name), time));
            }
        }
        rolls
    }

    /// The failure domain of a group, else that of its class.
    fn failure_domain<'g>(&'g self, side: usize, group: &MachineGroup<'g>) -> Option<&'g Value> {
        let of_class = || self.sides.both()?[side].class_of(group)?.get("failureDomain");
        group.value.get("failureDomain").or_else(of_class)
    }

    /// Notes which changed variables reach no machine.
    fn say_what_reaches_nothing(
        &self,
        verdict: &mut CourseFindings,
        notes: &GroupNotes,
        old: &GroupsByName<'_>,
        new: &[MachineGroup<'_>],
    ) {
        let of_cluster = [self.before, self.after].map(|cluster| cluster.at(VARIABLES));
        let mut changed = changed_variables(of_cluster, VARIABLES);
        for group in new {
            let Some(earlier) = old.find(group) else { continue };
            let lists = [earlier, group].map(|group| group.value.at("/variables/overrides"));
            changed.extend(changed_variables(lists, &format!("{}/variables/overrides", group.path)));
        }
        changed.retain(|(path, _)| !notes.reached.contains(path));
        if changed.is_empty() {
            return;
        }
        let mut names: Vec<String> = changed.iter().map(|(_, name)| format!("`{name}`")).collect();
        names.dedup();
        changed.iter().for_each(|(path, _)| verdict.scales(path));
        verdict.note(match names.as_slice() {
            [one] => format!("Variable {one} reaches no machines that exist: nothing is replaced for it."),
            all => format!(
                "Variables {} reach no machines that exist: nothing is replaced for them.",
                all.join(", ")
            ),
        });
    }
}

/// Takes over what becomes of a group: whether it rolls, for sure and perhaps.
fn take(
    verdict: &mut CourseFindings,
    notes: &mut GroupNotes,
    group: &MachineGroup<'_>,
    outcome: GroupOutcome,
) -> (bool, bool) {
    let (causes, sure) = match outcome {
        GroupOutcome::Nothing => return (false, false),
        GroupOutcome::Surely(causes) => (causes, true),
        GroupOutcome::Perhaps(causes) => (causes, false),
    };
    for RolloutCause { path, note } in causes {
        if sure {
            verdict.definitely(&path);
        } else {
            verdict.perhaps(&path);
        }
        if let Some(note) = note {
            notes.add(group, note);
        }
    }
    (sure, !sure)
}

fn order(group: &MachineGroup<'_>) -> u32 {
    if group.list == "controlPlane" { 1 } else { 2 }
}

/// One group that comes; in an upgrade not at once.
fn added(
    verdict: &mut CourseFindings,
    group: &MachineGroup<'_>,
    upgraded: Option<&mut GroupNotes>,
) -> RolloutPart {
    verdict.scales(&group.path);
    if let Some(notes) = upgraded {
        notes.add(group, "It comes once the control plane is upgraded and stable.".to_owned());
    }
    let name = group.name.clone();
    RolloutPart { name, replaced: Some(0), created: group.replicas, deleted: Some(0), order: order(group) }
}

/// One that goes.
fn removed(verdict: &mut CourseFindings, group: &MachineGroup<'_>) -> RolloutPart {
    verdict.scales(&format!("/spec/topology/workers/{}", group.list));
    let name = group.name.clone();
    RolloutPart { name, replaced: Some(0), created: Some(0), deleted: group.replicas, order: 2 }
}

impl Strategies<'_> {
    /// What the machines of a group that rolls come to meanwhile.
    fn say(
        &self,
        part: &mut RolloutPart,
        earlier: Option<&MachineGroup<'_>>,
        group: &MachineGroup<'_>,
        notes: &mut GroupNotes,
    ) {
        if part.replaced == Some(0) {
            return;
        }
        let Some(replacing) = self.of_group(group.list, group.value, group.replicas) else { return };
        let numbers = Numbers { before: earlier.and_then(|earlier| earlier.replicas), after: group.replicas };
        let note = if replacing.strategy == "OnDelete" {
            part.replaced = Some(0);
            Some(facts::ON_DELETE.to_owned())
        } else if group.list == "controlPlane" {
            numbers.while_control_plane_rolls(&replacing)
        } else {
            numbers.while_deployment_rolls(&replacing)
        };
        if let Some(note) = note {
            notes.add(group, note);
        }
    }
}

impl CourseFindings {
    /// Sums what becomes of the parts.
    fn totals(&mut self, parts: &[RolloutPart]) {
        let sum = |of: fn(&RolloutPart) -> Option<u32>| {
            parts.iter().try_fold(0_u32, |sum, part| Some(sum.saturating_add(of(part)?)))
        };
        self.course.replaced = sum(|part| part.replaced);
        self.course.created = sum(|part| part.created);
        self.course.deleted = sum(|part| part.deleted);
        self.machines = self.course.replaced;
        // What perhaps happens may be a count alone.
        if self.is_unknown() && self.course.replaced != Some(0) {
            self.machines = None;
        }
    }
}
