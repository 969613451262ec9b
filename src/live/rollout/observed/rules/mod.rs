//! What of "done" an owner does not meet.

mod pool;
mod topology;

use jiff::Timestamp;
use serde_json::Value;

use self::pool::pool;
use self::topology::{topology, topology_counts};
use super::machines::Found;
use super::reading::{Contract, Reading, is_version};
use super::scheduled::{PutOff, after};
use super::{Counts, MachineAge, Readiness, Seen, State};
use crate::live_objects::{CLUSTER_NAME_LABEL, annotation, is_terminating, label, text};
use crate::rollout::facts;
use crate::rollout::owner::{Owner, replacing};
use capstan_model::kinds::{self, names, version_fields};
use capstan_model::object::ObjectId;
use capstan_model::wording::count;
use capstan_plan::templates::{Role, references};

/// How an owner stands, before anybody asks whether it is stuck.
pub(super) struct Standing {
    pub(super) state: State,
    pub(super) words: Option<String>,
    pub(super) counts: Counts,
    pub(super) ready: Readiness,
    /// What it waits for besides its own controller.
    pub(super) behind: Option<Behind>,
    /// Until when all is as wished.
    pub(super) until: Option<Timestamp>,
}

/// Something above an owner that has changed, and that nothing shows to have been taken up.
pub(super) struct Behind {
    pub(super) on: ObjectId,
    pub(super) since: Option<Timestamp>,
    pub(super) words: String,
    pub(super) ends: Ends,
}

/// How a wait ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// When somebody looks, who may be away.
    WhenSeen,
    /// After a while.
    ByItself,
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
    let stand =
        |state, words: Option<String>| Standing { state, words, counts, ready, behind: None, until: None };
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
        Owner::Topology => topology(seen, reading, machines, &mut unmet),
        Owner::Kubeadm | Owner::Deployment | Owner::Set => machines_of(seen, reading, machines, &mut unmet),
        Owner::OtherControlPlane | Owner::ManagedControlPlane => {
            other_control_plane(seen, reading, machines, &mut unmet)
        }
        Owner::Pool => pool(seen, reading, machines, &mut unmet),
    };
    let old = yet_to_be_replaced(seen, machines, &mut unmet);
    let by_a_person = || waits_for_a_person(seen, reading, counts, old);
    if let Some(first) = unmet.0.first() {
        if let Some(words) = by_a_person() {
            return stand(State::Waiting, Some(words));
        }
        let nobody_looked = reading.observed.is_some() && !reading.is_observed() && !reading.is_active();
        let state = if nobody_looked { State::Waiting } else { State::Rolling };
        let words = own_words(reading).unwrap_or_else(|| first.clone());
        return stand(state, Some(if nobody_looked { first.clone() } else { words }));
    }
    match tells {
        Tells::Everything => match seen.put_off(reading.object, counts.current) {
            Some(put_off) => until(stand(State::Waiting, None), put_off),
            None => stand(State::Done, None),
        },
        Tells::PutOff(put_off) => until(stand(State::Waiting, None), put_off),
        Tells::TooLittle(words) => stand(State::Unknown, Some(words)),
        Tells::Behind(behind) => match by_a_person() {
            Some(words) => stand(State::Waiting, Some(words)),
            None => {
                let standing = stand(State::Waiting, Some(behind.words.clone()));
                Standing { behind: Some(behind), ..standing }
            }
        },
    }
}

fn until(standing: Standing, put_off: PutOff) -> Standing {
    Standing { until: Some(put_off.until), words: Some(put_off.words), ..standing }
}

/// What an owner shows that lacks nothing.
enum Tells {
    /// Enough to be called done.
    Everything,
    /// Not whether its machines are as wished.
    TooLittle(String),
    /// Not that what stands above it has been taken up.
    Behind(Behind),
    /// That something of it will be replaced later.
    PutOff(PutOff),
}

/// Whether the live object asks for what is rendered.
pub(super) fn is_applied(seen: &Seen<'_>, live: &Value) -> bool {
    not_applied(seen, live).is_none()
}

/// Whether no person's word holds the rollout back.
pub(super) fn waits_for_nobody(seen: &Seen<'_>, reading: &Reading<'_>) -> bool {
    waits_for_a_person(seen, reading, reading.counts(), 0).is_none()
}

/// Whether the live object asks for something else than what is rendered: it is withheld, say.
fn not_applied(seen: &Seen<'_>, live: &Value) -> Option<String> {
    let wished = seen.wished?;
    for (_, keys) in version_fields(&seen.id.group, &seen.id.kind) {
        let pointer = kinds::pointer(keys);
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
    for pointer in facts::WORKER_ROLLS {
        let asked = text(&wished.value, pointer).filter(|asked| text(live, pointer) != Some(asked));
        if let Some(asked) = asked.filter(|_| !is_version_field(seen, pointer)) {
            return Some(format!("not applied yet: Git has {asked} in {pointer}"));
        }
    }
    // The API server writes times its own way.
    let asked = after(&wished.value).filter(|asked| after(live) != Some(*asked));
    asked.map(|asked| format!("not applied yet: Git has {asked} as rollout.after"))
}

fn is_version_field(seen: &Seen<'_>, pointer: &str) -> bool {
    version_fields(&seen.id.group, &seen.id.kind).any(|(_, keys)| kinds::pointer(keys) == pointer)
}

/// The version that the live object asks for.
fn version_asked<'v>(seen: &Seen<'_>, reading: &Reading<'v>) -> Option<&'v str> {
    version_fields(&seen.id.group, &seen.id.kind)
        .find_map(|(_, keys)| text(reading.object, &kinds::pointer(keys)))
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

/// Machines that are old, whatever is counted of them; of providers that are not known only those whose time has
/// come. Gives how many.
fn yet_to_be_replaced(seen: &Seen<'_>, machines: &[Found<'_>], unmet: &mut Unmet) -> usize {
    let tells = |machine: &&Found<'_>| match seen.owner {
        Owner::Kubeadm | Owner::Deployment | Owner::Topology => machine.state.age == MachineAge::Old,
        Owner::OtherControlPlane => machine.overdue.is_some(),
        Owner::ManagedControlPlane | Owner::Set | Owner::Pool => false,
    };
    let old: Vec<&Found<'_>> = machines.iter().filter(tells).collect();
    if !old.is_empty() {
        let time = old.iter().filter_map(|machine| machine.overdue).max();
        let why = time.map_or_else(String::new, |time| format!(": {}", seen.has_come(time)));
        let number = count(old.len(), "machine is", "machines are");
        unmet.add(format!("{number} yet to be replaced{why}"));
    }
    old.len()
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
        unmet.add(format!("there are {current} machines, and there should be {wanted}"));
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
fn waits_for_a_person(seen: &Seen<'_>, reading: &Reading<'_>, counts: Counts, old: usize) -> Option<String> {
    let paused = |value: &Value| {
        annotation(value, facts::PAUSED).is_some()
            || value.pointer("/spec/paused") == Some(&Value::Bool(true))
    };
    let of_cluster =
        label(reading.object, CLUSTER_NAME_LABEL).or_else(|| text(reading.object, "/spec/clusterName"));
    let cluster = seen
        .live
        .core(names::CLUSTER)
        .find(|(id, _)| id.namespace == seen.id.namespace && of_cluster == Some(id.name.as_str()));
    if paused(reading.object) || cluster.is_some_and(|(_, cluster)| paused(cluster)) {
        return Some("paused: nothing happens until the pause is taken away".to_owned());
    }
    let on_delete = matches!(seen.owner, Owner::Deployment | Owner::Kubeadm | Owner::OtherControlPlane)
        && replacing(reading.object, None).strategy == "OnDelete";
    if on_delete && reading.is_observed() && counts.current == counts.wanted && counts.ready == counts.wanted
    {
        let uncounted =
            usize::try_from(counts.wanted.saturating_sub(counts.up_to_date)).unwrap_or(usize::MAX);
        return Some(format!(
            "`OnDelete`: {} machines are replaced when somebody deletes them",
            old.max(uncounted)
        ));
    }
    None
}
