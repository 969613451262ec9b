//! Clusters with a managed topology: the control plane, then the worker groups.

use super::class::{ClassChange, Strategies};
use super::course::Verdict;
use super::facts::{self, CONCURRENCY, COUNT_OWNED, DEFER_UPGRADE, HOLD_UPGRADE};
use super::numbers::Numbers;
use super::owner::{annotation, count};
use super::pointer::At;
use crate::upgrade::RolloutPart;
use crate::yaml::Value;

/// One group of machines of a topology, before or after.
struct Group<'v> {
    name: String,
    value: &'v Value,
    replicas: Option<u32>,
    list: &'static str,
}

fn groups(cluster: &Value) -> Vec<Group<'_>> {
    let mut found = Vec::new();
    if let Some(value) = cluster.at("/spec/topology/controlPlane") {
        let replicas = count(value, "/replicas");
        found.push(Group { name: "controlPlane".to_owned(), value, replicas, list: "controlPlane" });
    }
    for list in ["machineDeployments", "machinePools"] {
        let items = cluster.at(&format!("/spec/topology/workers/{list}")).and_then(Value::as_array);
        for value in items.into_iter().flatten() {
            let owned = COUNT_OWNED.iter().any(|name| annotation(value, name).is_some());
            let replicas = count(value, "/replicas").filter(|_| !owned);
            let name = value.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            found.push(Group { name, value, replicas, list });
        }
    }
    found
}

/// What becomes of a Cluster with a topology, given what of its class becomes different and how the class says
/// that machines are replaced.
pub(super) fn topology(
    before: &Value,
    after: &Value,
    class_change: &ClassChange,
    strategies: &Strategies<'_>,
) -> Verdict {
    let mut verdict = Verdict::default();
    let differs = |pointer: &str| before.at(pointer) != after.at(pointer);
    let upgraded = differs("/spec/topology/version");
    // `spec.topology.rolloutAfter` of v1beta1 never had a function.
    if upgraded && after.at("/spec/topology/version").is_some() {
        verdict.definitely("/spec/topology/version");
    }
    let class = ["/spec/topology/class", "/spec/topology/classRef/name"]
        .into_iter()
        .find(|pointer| after.at(pointer).is_some());
    // A rebase replaces machines only where the templates come out different, and which variables end in
    // machines only the class's patches know.
    let class = class.unwrap_or("/spec/topology/class");
    let mut unknown = class_change.unknown;
    if unknown {
        verdict.perhaps(class);
    }
    if differs("/spec/topology/variables") {
        verdict.perhaps("/spec/topology/variables");
        unknown = true;
    }
    let (old, new) = (groups(before), groups(after));
    let mut held = "";
    let mut said: Vec<(&str, String)> = Vec::new();
    let mut parts = Vec::new();
    for (at, group) in new.iter().enumerate() {
        let earlier = old.iter().find(|earlier| earlier.name == group.name && earlier.list == group.list);
        let path = match group.list {
            "controlPlane" => "/spec/topology/controlPlane".to_owned(),
            list => {
                let first = new.iter().position(|other| other.list == list).unwrap_or_default();
                format!("/spec/topology/workers/{list}/{}", at - first)
            }
        };
        if annotation(group.value, HOLD_UPGRADE).is_some() {
            held = group.list;
        }
        let waits =
            (held == group.list && !held.is_empty()) || annotation(group.value, DEFER_UPGRADE).is_some();
        let mut part = part(
            &mut verdict,
            earlier,
            group,
            &path,
            Causes { upgraded: upgraded && !waits, unknown, class, class_change },
        );
        if part.replaced != Some(0)
            && let Some(replacing) = strategies.of_group(group.list, group.value, group.replicas)
        {
            let numbers =
                Numbers { before: earlier.and_then(|earlier| earlier.replicas), after: group.replicas };
            let note = if replacing.strategy == "OnDelete" {
                part.replaced = Some(0);
                Some(facts::ON_DELETE.to_owned())
            } else if group.list == "controlPlane" {
                numbers.while_control_plane_rolls(&replacing)
            } else {
                numbers.while_deployment_rolls(&replacing)
            };
            said.extend(note.map(|note| (group.name.as_str(), note)));
        }
        if waits && upgraded {
            verdict.note(format!(
                "`{}` keeps its version until its annotation is taken away (`{DEFER_UPGRADE}` or `{HOLD_UPGRADE}`).",
                group.name
            ));
        }
        parts.push(part);
    }
    for gone in old.iter().filter(|old| !new.iter().any(|new| new.name == old.name && new.list == old.list)) {
        parts.push(RolloutPart {
            name: gone.name.clone(),
            replaced: Some(0),
            created: Some(0),
            deleted: gone.replicas,
            order: 2,
        });
        verdict.scales(&format!("/spec/topology/workers/{}", gone.list));
    }
    if upgraded && new.len() > 1 {
        let concurrency = annotation(after, CONCURRENCY).unwrap_or("1");
        verdict.note(format!(
            "The control plane goes first, then the worker groups, {concurrency} of a kind at a time."
        ));
    }
    for (at, (_, note)) in said.iter().enumerate() {
        if said[..at].iter().any(|(_, earlier)| earlier == note) {
            continue;
        }
        let groups = said.iter().filter(|(_, other)| other == note);
        let names: Vec<String> = groups.map(|(name, _)| format!("`{name}`")).collect();
        verdict.note(format!("{}: {note}", names.join(", ")));
    }
    verdict.totals(&parts);
    parts.retain(|part| part.replaced != Some(0) || part.created != Some(0) || part.deleted != Some(0));
    verdict.course.parts = parts;
    verdict
}

/// What concerns every group.
#[derive(Clone, Copy)]
struct Causes<'c> {
    upgraded: bool,
    unknown: bool,
    /// Where the Cluster names its class.
    class: &'static str,
    class_change: &'c ClassChange,
}

/// What `rollout.after` does.
pub(super) fn made_before(machines: &str, time: &str) -> String {
    format!("{machines} made before {time} are replaced once that time has come.")
}

/// One group that is there after the change.
fn part(
    verdict: &mut Verdict,
    earlier: Option<&Group<'_>>,
    group: &Group<'_>,
    path: &str,
    causes: Causes<'_>,
) -> RolloutPart {
    let order = if group.list == "controlPlane" { 1 } else { 2 };
    let name = group.name.clone();
    let Some(earlier) = earlier else {
        verdict.scales(path);
        return RolloutPart { name, replaced: Some(0), created: group.replicas, deleted: Some(0), order };
    };
    let differs = |pointer: &str| earlier.value.at(pointer) != group.value.at(pointer);
    let mut rolls = causes.upgraded;
    let mut perhaps = causes.unknown;
    if causes.class_change.concerns(group.list, group.value.get("class").and_then(Value::as_str)) {
        if causes.unknown {
            perhaps = true;
        } else {
            verdict.definitely(causes.class);
            rolls = true;
        }
    }
    for field in ["/failureDomain", "/rollout/after"] {
        if let Some(value) = group.value.at(field).filter(|_| differs(field)) {
            verdict.definitely(&format!("{path}{field}"));
            rolls = true;
            if let Some(time) = value.as_str().filter(|_| field == "/rollout/after") {
                verdict.note(made_before(&format!("Machines of `{name}`"), time));
            }
        }
    }
    for field in ["/class", "/variables"] {
        if differs(field) {
            verdict.perhaps(&format!("{path}{field}"));
            perhaps = true;
        }
    }
    let numbers = Numbers { before: earlier.replicas, after: group.replicas };
    let (created, deleted) = (numbers.created(), numbers.deleted());
    if created != Some(0) && created.is_some() || deleted != Some(0) && deleted.is_some() {
        verdict.scales(&format!("{path}/replicas"));
    }
    let replaced = if rolls {
        numbers.replaced()
    } else if perhaps {
        None
    } else {
        Some(0)
    };
    RolloutPart { name, replaced, created, deleted, order }
}

impl Verdict {
    /// Sums what becomes of the parts.
    fn totals(&mut self, parts: &[RolloutPart]) {
        let sum = |of: fn(&RolloutPart) -> Option<u32>| {
            parts.iter().try_fold(0_u32, |sum, part| Some(sum.saturating_add(of(part)?)))
        };
        self.course.replaced = sum(|part| part.replaced);
        self.course.created = sum(|part| part.created);
        self.course.deleted = sum(|part| part.deleted);
        self.machines = self.course.replaced;
        if self.is_unknown() {
            self.machines = None;
        }
    }
}
