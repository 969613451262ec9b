//! Whether what is needed besides is free.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ask::CloudAsk;
use super::brought::CloudObjectNeeds;
use super::facts::{CloudFacts, MachineType, Resource};
use super::group::{Group, Turn};
use super::machine::Machine;
use super::words::Words;

/// How much of something one folder needs besides what is used, at the moment at which that is most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// Of what.
    pub resource: Resource,
    /// How much; RAM in MiB.
    pub amount: u64,
    /// For what: `3 machines and 1 surge of SCS-4V-16`.
    pub why: String,
}

/// Machines that come, or make room.
#[derive(Debug, Clone, Copy)]
struct QuotaMachines<'a> {
    machine: &'a Machine,
    sort: Sort,
    count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Comes,
    Surges,
    Goes,
}

/// What a folder needs besides what is used; what it needs none of is absent. Machine types that the cloud does not have count
/// no cores and no memory.
pub fn needs(ask: &CloudAsk, facts: &CloudFacts) -> Vec<Need> {
    let none = Vec::new();
    let types = facts.machine_types.as_ref().unwrap_or(&none);
    let count = |resource| Count { types, resource }.need(ask);
    Resource::ALL.into_iter().filter_map(count).collect()
}

/// Counts one thing.
#[derive(Clone, Copy)]
struct Count<'f> {
    types: &'f [MachineType],
    resource: Resource,
}

impl Count<'_> {
    fn need(self, ask: &CloudAsk) -> Option<Need> {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        // While the control plane rolls, workers have not begun to; while they roll, the control plane is done.
        for group in &ask.groups {
            if group.turn == Turn::First {
                first.extend(self.worst(group, Moment::Rolling));
                second.extend(self.worst(group, Moment::Done));
            } else {
                second.extend(self.worst(group, Moment::Rolling));
            }
        }
        let parts = if self.sum(&first) > self.sum(&second) { first } else { second };
        let all = ask.clusters.iter().flat_map(|cluster| &cluster.needs);
        let besides: Vec<(u64, &str)> = all
            .filter(|(resource, ..)| *resource == self.resource)
            .map(|(_, count, what)| (*count, *what))
            .chain(self.brought(ask))
            .collect();
        let amount = self.sum(&parts) + besides.iter().map(|(count, _)| i128::from(*count)).sum::<i128>();
        if amount <= 0 {
            return None;
        }
        // More than can be written is more than any quota.
        let amount = u64::try_from(amount).unwrap_or(u64::MAX);
        let relevant: Vec<QuotaMachines<'_>> =
            parts.into_iter().filter(|part| self.of_each(part.machine) > 0).collect();
        Some(Need { resource: self.resource, amount, why: why(&relevant, &besides, ask.words) })
    }

    /// What objects take that the folder brings.
    fn brought(self, ask: &CloudAsk) -> impl Iterator<Item = (u64, &str)> {
        let of = move |brought: &CloudObjectNeeds| {
            let own = brought.needs.iter().filter(|(resource, _)| *resource == self.resource);
            own.fold(0_u64, |sum, (_, amount)| sum.saturating_add(*amount))
        };
        let all = ask.brought.iter().map(move |brought| (of(brought), brought.what.as_str()));
        all.filter(|(amount, _)| *amount > 0)
    }

    /// The moment at which a group takes most.
    fn worst<'g>(self, group: &'g Group, at: Moment) -> Vec<QuotaMachines<'g>> {
        let mut moments = moments(group, at);
        moments.sort_by_key(|parts| std::cmp::Reverse(self.sum(parts)));
        moments.into_iter().next().unwrap_or_default()
    }

    fn sum(self, parts: &[QuotaMachines<'_>]) -> i128 {
        let of = |part: &QuotaMachines<'_>| {
            let all = i128::from(self.of_each(part.machine)) * i128::from(part.count);
            if part.sort == Sort::Goes { -all } else { all }
        };
        parts.iter().map(of).sum()
    }

    /// How much one machine takes.
    fn of_each(self, machine: &Machine) -> u64 {
        let machine_type = || {
            let (named, _) = machine.machine_type.as_ref()?;
            self.types.iter().find(|one| named.means(&one.id, &one.name, &[]))
        };
        match self.resource {
            Resource::Instances => 1,
            Resource::Cores => machine_type().map_or(0, |one| one.cores),
            Resource::Ram => machine_type().map_or(0, |one| one.ram_mib),
            Resource::Volumes => machine.volumes.len() as u64,
            Resource::Gigabytes => machine.volumes.iter().copied().fold(0, u64::saturating_add),
            Resource::Ports => machine.ports,
            Resource::PublicIps | Resource::SecurityGroups => 0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Rolling,
    Done,
}

/// What a group's machines come to, beside those that there are: at each moment that may be the worst.
fn moments(group: &Group, at: Moment) -> Vec<Vec<QuotaMachines<'_>>> {
    let part = |machine, sort, count| QuotaMachines { machine, sort, count };
    let new = &group.machine;
    let (wanted, there) = (group.wanted, group.there);
    let old = group.was.as_ref().filter(|old| !takes_the_same(old, new));
    let mut done = Vec::new();
    match old {
        // The new machines replace the old ones.
        Some(old) if group.surge.is_some() => {
            done.push(part(new, Sort::Comes, wanted));
            done.push(part(old, Sort::Goes, there));
        }
        _ if wanted >= there => done.push(part(new, Sort::Comes, wanted - there)),
        _ => done.push(part(old.unwrap_or(new), Sort::Goes, there - wanted)),
    }
    let (Some(surge), Moment::Rolling) = (group.surge, at) else { return vec![done] };
    let beyond = (wanted + surge).saturating_sub(there);
    let comes = wanted.saturating_sub(there).min(beyond);
    // At the beginning all old ones run, and as many new ones as may come.
    let begins = vec![part(new, Sort::Comes, comes), part(new, Sort::Surges, beyond - comes)];
    match old {
        None => vec![begins],
        // At the end all new ones run, and the last old ones.
        Some(old) => {
            let left = surge.min(there);
            vec![begins, vec![part(new, Sort::Comes, wanted), part(old, Sort::Goes, there - left)]]
        }
    }
}

fn takes_the_same(one: &Machine, other: &Machine) -> bool {
    let named = |machine: &Machine| machine.machine_type.as_ref().map(|(named, _)| named.clone());
    named(one) == named(other) && one.volumes == other.volumes && one.ports == other.ports
}

/// `3 machines and 1 surge of SCS-4V-16, in place of 2 of SCS-2V-8, 1 for the router`
fn why(parts: &[QuotaMachines<'_>], besides: &[(u64, &str)], words: &Words) -> String {
    let mut coming: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    let mut going: BTreeMap<String, u64> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.count > 0) {
        let of = part.machine.shown(words);
        match part.sort {
            Sort::Comes => coming.entry(of).or_default()[0] += part.count,
            Sort::Surges => coming.entry(of).or_default()[1] += part.count,
            Sort::Goes => *going.entry(of).or_default() += part.count,
        }
    }
    let machines = |count: u64| format!("{count} machine{}", if count == 1 { "" } else { "s" });
    let mut said: Vec<String> = coming
        .into_iter()
        .map(|(of, [comes, surges])| match (comes, surges) {
            (comes, 0) => format!("{} of {of}", machines(comes)),
            (0, surges) => format!("{surges} surge of {of}"),
            (comes, surges) => format!("{} and {surges} surge of {of}", machines(comes)),
        })
        .collect();
    if !going.is_empty() {
        let going: Vec<String> = going.into_iter().map(|(of, count)| format!("{count} of {of}")).collect();
        said.push(format!("in place of {}", going.join(" and ")));
    }
    said.extend(besides.iter().map(|(count, what)| format!("{count} for {what}")));
    said.join(", ")
}
