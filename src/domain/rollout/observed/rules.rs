//! What of "done" an owner does not meet.

use serde_json::Value;

use super::machines::{Found, is_owned_by_topology};
use super::reading::{Contract, Reading, count, is_version, said, version_counts, written};
use super::{Counts, MachineAge, Readiness, Seen, State};
use crate::applying::{CLUSTER_NAME_LABEL, annotation, is_core, is_terminating, label, text};
use crate::policy::version_fields;
use crate::rollout::facts;
use crate::rollout::owner::{Owner, owner, replacing};
use crate::templates::{Role, references};

/// How an owner stands, before anybody asks whether it is stuck.
pub(super) struct Standing {
    pub(super) state: State,
    pub(super) words: Option<String>,
    pub(super) counts: Counts,
    pub(super) ready: Readiness,
}

/// What is missing, the most telling first.
#[derive(Default)]
struct Unmet(Vec<String>);

impl Unmet {
    fn add(&mut self, words: impl Into<String>) {
        self.0.push(words.into());
    }
}

pub(super) fn standing(seen: &Seen<'_>, reading: &Reading<'_>, machines: &[Found<'_>]) -> Standing {
    let counts = if seen.owner == Owner::Topology { topology_counts(reading) } else { reading.counts() };
    let counts = match seen.owner {
        // Counters that say nothing; the machines themselves do.
        Owner::Pool if !machines.is_empty() => {
            let new = machines.iter().filter(|machine| machine.state.age == MachineAge::New).count();
            Counts { up_to_date: u32::try_from(new).unwrap_or(u32::MAX), ..counts }
        }
        _ => counts,
    };
    let ready = readiness(reading);
    let stand = |state, words: Option<String>| Standing { state, words, counts, ready };
    if is_terminating(reading.object) {
        return stand(State::Waiting, Some("is being deleted".to_owned()));
    }
    if let Some(words) = not_applied(seen, reading.object) {
        return stand(State::Waiting, Some(words));
    }
    if !reading.has_status() {
        return stand(State::Waiting, Some("no controller has looked at it yet".to_owned()));
    }
    let mut unmet = Unmet::default();
    let tells = match seen.owner {
        Owner::Topology => topology(seen, reading, &mut unmet),
        Owner::Kubeadm | Owner::Deployment | Owner::Set => machines_of(seen, reading, machines, &mut unmet),
        Owner::OtherControlPlane | Owner::ManagedControlPlane => {
            other_control_plane(seen, reading, machines, &mut unmet)
        }
        Owner::Pool => pool(seen, reading, machines, &mut unmet),
    };
    if let Some(first) = unmet.0.first() {
        if let Some(words) = waits_for_a_person(seen, reading, counts) {
            return stand(State::Waiting, Some(words));
        }
        let nobody_looked = reading.observed.is_some() && !reading.is_observed() && !reading.is_active();
        let state = if nobody_looked { State::Waiting } else { State::Rolling };
        let words = own_words(reading).unwrap_or_else(|| first.clone());
        return stand(state, Some(if nobody_looked { first.clone() } else { words }));
    }
    match tells {
        Tells::Everything => stand(State::Done, None),
        Tells::TooLittle(words) => stand(State::Unknown, Some(words)),
    }
}

/// Whether an owner shows enough to be called done.
enum Tells {
    Everything,
    TooLittle(String),
}

/// Whether the live object asks for what is rendered.
pub(super) fn is_applied(seen: &Seen<'_>, live: &Value) -> bool {
    not_applied(seen, live).is_none()
}

/// Whether no person's word holds the rollout back.
pub(super) fn waits_for_nobody(seen: &Seen<'_>, reading: &Reading<'_>) -> bool {
    waits_for_a_person(seen, reading, reading.counts()).is_none()
}

/// Whether the live object asks for something else than what is rendered: it is withheld, say.
fn not_applied(seen: &Seen<'_>, live: &Value) -> Option<String> {
    let wished = seen.wished?;
    for (_, keys) in version_fields(&seen.id.group, &seen.id.kind) {
        let pointer = format!("/{}", keys.join("/"));
        let (asked, has) = (text(&wished.value, &pointer), text(live, &pointer));
        if let Some(asked) = asked
            && !has.is_some_and(|has| is_version(has, asked))
        {
            return Some(format!(
                "not applied yet: it asks for Kubernetes {}, Git for {asked}",
                has.unwrap_or("none")
            ));
        }
    }
    let machines = |role: Role| {
        matches!(role, Role::Machines | Role::Bootstrap | Role::PoolBootstrap | Role::Pool | Role::Class)
    };
    let named = references(&seen.id.group, &seen.id.kind, live);
    for reference in references(&seen.id.group, &seen.id.kind, &wished.value) {
        let is_there = named.iter().any(|other| {
            other.role == reference.role && other.kind == reference.kind && other.name == reference.name
        });
        if machines(reference.role) && !is_there {
            return Some(format!("not applied yet: Git names {} {}", reference.kind, reference.name));
        }
    }
    None
}

/// The version that the live object asks for.
fn version_asked<'v>(seen: &Seen<'_>, reading: &Reading<'v>) -> Option<&'v str> {
    let fields = version_fields(&seen.id.group, &seen.id.kind);
    fields.iter().find_map(|(_, keys)| text(reading.object, &format!("/{}", keys.join("/"))))
}

/// A control plane or workers of Cluster API's own.
fn machines_of(seen: &Seen<'_>, reading: &Reading<'_>, machines: &[Found<'_>], unmet: &mut Unmet) -> Tells {
    observed(reading, unmet);
    let counts = reading.counts();
    match (seen.owner, reading.contract) {
        (Owner::Set, _) => {
            all_are_there(counts, unmet, &[("ready", counts.ready)]);
            expect(reading, unmet, &[("ScalingUp", "False"), ("ScalingDown", "False")], &[]);
            return Tells::Everything;
        }
        (_, Contract::V1beta2) => expect(
            reading,
            unmet,
            &[("ScalingUp", "False"), ("ScalingDown", "False")],
            &[("RollingOut", "False"), ("MachinesUpToDate", "True"), ("Available", "True")],
        ),
        (_, Contract::V1beta1) => {
            let conditions = [
                ("MachinesSpecUpToDate", "True"),
                ("Resized", "True"),
                ("Ready", "True"),
                ("Available", "True"),
            ];
            expect(reading, unmet, &conditions, &[]);
            let gone = reading.counter(&["unavailableReplicas"]).unwrap_or_default();
            if gone != 0 {
                unmet.add(format!("{gone} machines are unavailable"));
            }
        }
    }
    all_are_there(counts, unmet, &[("as wished", counts.up_to_date), ("ready", counts.ready)]);
    if let Some(wanted) = version_asked(seen, reading) {
        versions(seen, reading, machines, wanted, unmet);
        if let Some(lowest) = text(reading.object, "/status/version")
            && !is_version(lowest, wanted)
        {
            unmet.add(format!("machines of {lowest} still run"));
        }
    }
    Tells::Everything
}

fn observed(reading: &Reading<'_>, unmet: &mut Unmet) {
    if !reading.is_observed() {
        unmet.add(format!(
            "its controller has not looked at generation {} (it has seen {})",
            reading.generation,
            reading.observed.map_or_else(|| "none".to_owned(), |seen| seen.to_string())
        ));
    }
}

/// Conditions that must be so: the first ones where they are there at all, the second ones in any case. One
/// of an older generation says nothing.
fn expect(reading: &Reading<'_>, unmet: &mut Unmet, if_there: &[(&str, &str)], always: &[(&str, &str)]) {
    for (kind, wanted) in if_there.iter().chain(always) {
        let Some(condition) = reading.condition(kind) else {
            if always.contains(&(kind, wanted)) {
                unmet.add(format!("it has no condition {kind} yet"));
            }
            continue;
        };
        if condition.status != *wanted {
            unmet.add(condition.sentence());
        } else if condition.observed.is_some_and(|observed| observed != reading.generation) {
            unmet.add(format!("its condition {kind} is of an older generation"));
        } else if condition.observed.is_none() && reading.contract == Contract::V1beta2 {
            unmet.add(format!("its condition {kind} is of no generation"));
        }
    }
}

fn all_are_there(counts: Counts, unmet: &mut Unmet, parts: &[(&str, u32)]) {
    let Counts { wanted, current, .. } = counts;
    for (words, number) in parts {
        if *number != wanted {
            unmet.add(format!("{number} of {wanted} machines are {words}"));
        }
    }
    if current != wanted {
        unmet.add(format!("there are {current} machines, and there shall be {wanted}"));
    }
}

/// `versions` is one entry: the wanted one, with all replicas. Before Cluster API 1.14 there is no such list:
/// control planes show their lowest version, of workers the machines themselves tell.
fn versions(seen: &Seen<'_>, reading: &Reading<'_>, machines: &[Found<'_>], wanted: &str, unmet: &mut Unmet) {
    let replicas = reading.counts().wanted;
    if let Some(running) = &reading.versions {
        one_version(running, wanted, replicas, "machines", unmet);
        return;
    }
    let old = machines.iter().filter(|machine| machine.state.age == MachineAge::Old).count();
    if old > 0 {
        unmet.add(format!("{old} machines are not up to date"));
    }
    if seen.owner == Owner::Kubeadm && replicas > 0 && text(reading.object, "/status/version").is_none() {
        unmet.add("it does not say which version runs");
    }
}

fn one_version(running: &[(&str, u32)], wanted: &str, replicas: u32, what: &str, unmet: &mut Unmet) {
    match running {
        [] if replicas == 0 => {}
        [] => unmet.add(format!("none of {replicas} {what} runs yet")),
        [(version, number)] if is_version(version, wanted) && *number == replicas => {}
        [(version, number)] if is_version(version, wanted) => {
            unmet.add(format!("{number} of {replicas} {what} run {wanted}"));
        }
        several => {
            let said: Vec<String> =
                several.iter().map(|(version, number)| format!("{number} of {version}")).collect();
            unmet.add(format!("{what} run {}, wanted is {wanted}", said.join(" and ")));
        }
    }
}

/// Control planes of other providers: whatever evidence they show must agree.
fn other_control_plane(
    seen: &Seen<'_>,
    reading: &Reading<'_>,
    machines: &[Found<'_>],
    unmet: &mut Unmet,
) -> Tells {
    if reading.condition("RollingOut").is_some() && reading.versions.is_some() {
        return machines_of(seen, reading, machines, unmet);
    }
    if reading.observed.is_some() {
        observed(reading, unmet);
    }
    for condition in &reading.conditions {
        let works = ["Updating", "Upgrading", "RollingOut", "ScalingUp", "ScalingDown"]
            .iter()
            .any(|word| condition.kind.ends_with(word));
        if works && condition.is_true() {
            unmet.add(condition.sentence());
        }
    }
    let conditions = [("MachinesUpToDate", "True"), ("Available", "True"), ("Ready", "True")];
    for (kind, wanted) in conditions {
        let condition = reading.condition(kind).filter(|condition| condition.status != wanted);
        if let Some(condition) = condition {
            unmet.add(condition.sentence());
        }
    }
    let counts = reading.counts();
    if reading.wanted().is_some() && reading.counter(&["replicas"]).is_some() {
        let up_to_date = reading.up_to_date().unwrap_or(counts.wanted);
        all_are_there(counts, unmet, &[("as wished", up_to_date), ("ready", counts.ready)]);
    }
    if let Some(running) = &reading.versions
        && let Some(wanted) = version_asked(seen, reading)
    {
        one_version(running, wanted, counts.wanted, "machines", unmet);
    }
    let running =
        ["/status/version", "/status/currentVersion"].iter().find_map(|at| text(reading.object, at));
    match (version_asked(seen, reading), running) {
        (Some(wanted), Some(running)) if !is_version(running, wanted) => {
            unmet.add(format!("{running} runs, wanted is {wanted}"));
        }
        (Some(_), None) if reading.versions.is_none() => {
            return Tells::TooLittle(format!("{} does not show which version runs", seen.id.kind));
        }
        _ => {}
    }
    if readiness(reading) == Readiness::NotReady {
        unmet.add("it is not ready");
    }
    Tells::Everything
}

/// Whether an owner says that it is ready, in any contract.
fn readiness(reading: &Reading<'_>) -> Readiness {
    let seen = reading.observed.is_none() || reading.is_observed();
    let said = ["Available", "Ready"].into_iter().find_map(|kind| reading.condition(kind));
    let ready = match said {
        Some(condition) => condition.is_true(),
        None => reading.object.pointer("/status/ready") == Some(&Value::Bool(true)),
    };
    if seen && ready { Readiness::Ready } else { Readiness::NotReady }
}

/// A pool: its provider replaces instances in place, and Cluster API's own counters of pools without
/// `Machine`s are copies of what is wished. Versions are real: they come from the nodes.
fn pool(seen: &Seen<'_>, reading: &Reading<'_>, machines: &[Found<'_>], unmet: &mut Unmet) -> Tells {
    observed(reading, unmet);
    let counts = reading.counts();
    all_are_there(counts, unmet, &[("ready", counts.ready)]);
    let conditions = [
        ("RollingOut", "False"),
        ("ScalingUp", "False"),
        ("ScalingDown", "False"),
        ("MachinesUpToDate", "True"),
    ];
    expect(reading, unmet, &conditions, &[]);
    let old = machines.iter().filter(|machine| machine.state.age == MachineAge::Old).count();
    if old > 0 {
        unmet.add(format!("{old} machines are not up to date"));
    }
    let wanted = version_asked(seen, reading);
    let mut shown = false;
    if let (Some(wanted), Some(running)) = (wanted, &reading.versions) {
        one_version(running, wanted, counts.wanted, "machines", unmet);
        shown = true;
    }
    let parts: Vec<&Value> = references(&seen.id.group, &seen.id.kind, reading.object)
        .iter()
        .filter_map(|reference| seen.live.meant(reference, seen.id.namespace.as_deref()))
        .collect();
    let models = |part: &Value| -> Vec<bool> {
        let instances = part.pointer("/status/instances").and_then(Value::as_array);
        let said = instances.into_iter().flatten().filter_map(|one| one.get("latestModelApplied")?.as_bool());
        said.collect()
    };
    let mut provider_tells = false;
    for part in &parts {
        let models = models(part);
        provider_tells |= !models.is_empty();
        let outdated = models.iter().filter(|latest| !**latest).count();
        if outdated > 0 {
            unmet.add(format!("{outdated} instances are not up to date"));
        }
        if let Some(state) = text(part, "/status/provisioningState").filter(|state| *state != "Succeeded") {
            unmet.add(format!("its infrastructure is {state}"));
        }
        if part.pointer("/status/ready") == Some(&Value::Bool(false)) {
            unmet.add("its infrastructure is not ready");
        }
    }
    // The version was written after the parts, so machines of that version were made from them.
    let last_part = parts.iter().filter_map(|part| written(part)).max();
    let proven = match (last_part, written(reading.object)) {
        (Some(part), Some(pool)) => part <= pool,
        (None, _) => true,
        (Some(_), None) => false,
    };
    let made_since = last_part.is_some_and(|part| {
        !machines.is_empty() && machines.iter().all(|machine| machine.created.is_some_and(|time| time > part))
    });
    if (shown && proven) || provider_tells || made_since {
        Tells::Everything
    } else {
        Tells::TooLittle(
            "its provider does not show whether instances were replaced since the last change".to_owned(),
        )
    }
}

/// A `Cluster` with a topology, and what its controller made of it.
fn topology(seen: &Seen<'_>, reading: &Reading<'_>, unmet: &mut Unmet) -> Tells {
    observed(reading, unmet);
    expect(reading, unmet, &[], &[("TopologyReconciled", "True")]);
    let wanted = version_asked(seen, reading);
    if reading.contract == Contract::V1beta2 {
        expect(
            reading,
            unmet,
            &[
                ("ScalingUp", "False"),
                ("ScalingDown", "False"),
                ("ControlPlaneMachinesUpToDate", "True"),
                ("WorkerMachinesUpToDate", "True"),
            ],
            &[("RollingOut", "False"), ("Available", "True")],
        );
    }
    let halves = ["controlPlane", "workers"];
    for (half, words) in halves.iter().zip(["control plane machines", "workers"]) {
        let Some(status) = half_of(reading.object, half) else { continue };
        let number = |name: &str| count(status.get(name));
        if let Some(desired) = number("desiredReplicas") {
            let parts = ["replicas", "upToDateReplicas", "readyReplicas"];
            for (name, number) in parts.iter().filter_map(|name| Some((name, number(name)?))) {
                if number != desired {
                    unmet.add(format!("{words}: {name} is {number}, and there shall be {desired}"));
                }
            }
            if let (Some(running), Some(wanted)) = (status.get("versions"), wanted) {
                one_version(&version_counts(running), wanted, desired, words, unmet);
            }
        }
        let planned =
            status.get("upgradePlan").and_then(Value::as_array).is_some_and(|plan| !plan.is_empty());
        if planned {
            unmet.add(format!("more upgrades of the {words} are planned"));
        }
    }
    made_by_topology(seen, reading.object, wanted, unmet)
}

/// `status.controlPlane`, which v1beta1 has beneath `status.v1beta2`.
fn half_of<'v>(cluster: &'v Value, half: &str) -> Option<&'v Value> {
    cluster
        .pointer(&format!("/status/v1beta2/{half}"))
        .or_else(|| cluster.pointer(&format!("/status/{half}")))
}

/// The control plane and the worker groups, each by itself: their conditions know their own generation.
fn made_by_topology(seen: &Seen<'_>, cluster: &Value, wanted: Option<&str>, unmet: &mut Unmet) -> Tells {
    let name = seen.id.name.as_str();
    let plane = super::control_plane_reference(seen.id, cluster);
    let namespace = seen.id.namespace.as_deref();
    let mut has_plane = false;
    for (id, value) in seen.live.iter() {
        let is_plane = plane.as_ref().is_some_and(|reference| reference.means(namespace, id));
        let is_group = ["MachineDeployment", "MachinePool"].iter().any(|kind| is_core(id, kind))
            && is_owned_by_topology(value)
            && (label(value, CLUSTER_NAME_LABEL) == Some(name)
                || text(value, "/spec/clusterName") == Some(name));
        if !is_plane && !is_group {
            continue;
        }
        has_plane |= is_plane;
        let Some(kind) = owner(id, value) else { continue };
        let part = Seen { id, owner: kind, wished: None, live: seen.live };
        let asked = version_asked(&part, &Reading::of(value));
        if let (Some(asked), Some(wanted)) = (asked, wanted)
            && !is_version(asked, wanted)
        {
            unmet.add(format!("{id} is still to go from {asked} to {wanted}"));
            continue;
        }
        let standing = standing(&part, &Reading::of(value), &part.machines());
        if !matches!(standing.state, State::Done | State::Unknown) {
            let words = standing.words.unwrap_or_else(|| standing.state.as_str().to_owned());
            unmet.add(format!("{id}: {}", said(&words)));
        }
    }
    if plane.is_some() && has_plane {
        Tells::Everything
    } else if plane.is_none() {
        unmet.add("it has no control plane yet");
        Tells::Everything
    } else {
        Tells::TooLittle("its control plane cannot be seen".to_owned())
    }
}

fn topology_counts(reading: &Reading<'_>) -> Counts {
    let sum = |names: &[&str]| {
        ["controlPlane", "workers"]
            .iter()
            .filter_map(|half| half_of(reading.object, half))
            .filter_map(|status| names.iter().find_map(|name| count(status.get(name))))
            .fold(0_u32, u32::saturating_add)
    };
    Counts {
        wanted: sum(&["desiredReplicas"]),
        current: sum(&["replicas"]),
        up_to_date: sum(&["upToDateReplicas"]),
        ready: sum(&["readyReplicas"]),
    }
}

/// What an owner says of its own rollout.
fn own_words(reading: &Reading<'_>) -> Option<String> {
    let says = |kind: &str, status: &str| {
        reading
            .condition(kind)
            .filter(|condition| condition.status == status && !condition.message.is_empty())
            .map(|condition| condition.message.to_owned())
    };
    says("RollingOut", "True").or_else(|| says("TopologyReconciled", "False"))
}

/// Nothing moves until a person does something, and that was their wish.
fn waits_for_a_person(seen: &Seen<'_>, reading: &Reading<'_>, counts: Counts) -> Option<String> {
    let paused = |value: &Value| {
        annotation(value, facts::PAUSED).is_some()
            || value.pointer("/spec/paused") == Some(&Value::Bool(true))
    };
    let of_cluster =
        label(reading.object, CLUSTER_NAME_LABEL).or_else(|| text(reading.object, "/spec/clusterName"));
    let cluster = seen
        .live
        .core("Cluster")
        .find(|(id, _)| id.namespace == seen.id.namespace && of_cluster == Some(id.name.as_str()));
    if paused(reading.object) || cluster.is_some_and(|(_, cluster)| paused(cluster)) {
        return Some("paused: nothing happens until the pause is taken away".to_owned());
    }
    let on_delete = matches!(seen.owner, Owner::Deployment | Owner::Kubeadm | Owner::OtherControlPlane)
        && replacing(reading.object, None).strategy == "OnDelete";
    if on_delete && reading.is_observed() && counts.current == counts.wanted && counts.ready == counts.wanted
    {
        return Some(format!(
            "`OnDelete`: {} machines are replaced when somebody deletes them",
            counts.wanted.saturating_sub(counts.up_to_date)
        ));
    }
    None
}
