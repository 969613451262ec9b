//! What goes when less is wanted, when a role is gone, or when a broken host is replaced. Nothing that somebody uses.

use capstan_model::wording;

use super::ownership::Had;
use super::{Choice, Released, RoleHosts};
use crate::cluster::NotedHost;
use crate::host::Host;

/// A role's hosts from here on.
pub(super) struct SettledRole {
    pub(super) hosts: Vec<NotedHost>,
    pub(super) released: Vec<Released>,
    pub(super) cannot_go: Option<String>,
}

/// `new` are the hosts that come to the role.
pub(super) fn settle(role: &RoleHosts<'_>, new: &[&Host]) -> SettledRole {
    let wanted = role.wish.count.wanted();
    let mut stay: Vec<&Had<'_>> = role.steady.clone();
    let mut go: Vec<&Had<'_>> = Vec::new();
    // Broken ones go where no place is left for them, and where a new one has come into their domain.
    let mut broken: Vec<&Had<'_>> = role.broken.clone();
    broken.sort_by_key(|had| (!is_crowded_out(role, new, had), had.host.named()));
    let crowded_out = broken.iter().filter(|had| is_crowded_out(role, new, had)).count();
    let places = wanted.saturating_sub(stay.len() + new.len());
    let replaced = crowded_out.max(broken.len().saturating_sub(places));
    go.extend(broken.drain(..replaced));
    stay.extend(broken);
    let surplus = stay.len().saturating_sub(wanted);
    let mut idle: Vec<&Had<'_>> = stay
        .iter()
        .copied()
        .filter(|had| had.host.is_idle() || !had.is_labelled && !had.host.is_used())
        .collect();
    idle.sort_by_key(|had| {
        let crowd = role
            .wish
            .topology_key()
            .and_then(|key| had.host.domain(key))
            .map_or(0, |domain| role.in_domains().get(domain).copied().unwrap_or(0));
        (!had.was_standby, std::cmp::Reverse(crowd), std::cmp::Reverse(had.host.named()))
    });
    idle.truncate(surplus);
    let too_many = surplus - idle.len();
    stay.retain(|had| !idle.iter().any(|gone| std::ptr::eq(*gone, *had)));
    go.extend(idle);
    let cannot_go = (too_many > 0).then(|| describe_excess(role, too_many, &stay));
    let released = go.into_iter().filter(|had| had.is_labelled).map(release).collect();
    SettledRole { hosts: noted(role, &stay, new), released, cannot_go }
}

/// A host of a role that nobody wishes any more.
pub(super) fn without_role(had: &Had<'_>, choice: &mut Choice) {
    if !had.is_labelled && !had.host.is_used() {
        return;
    }
    if had.host.is_idle() {
        choice.released.push(release(had));
        return;
    }
    choice.hosts.push(note(had.host, &had.role, false));
    let name = &had.host.metadata.name;
    choice.cannot_go.push(format!(
        "{}: this role no longer exists, but {name} is {}: delete the machines of this role first",
        if had.role.is_empty() { "no role" } else { &had.role },
        words_of_use(had.host)
    ));
}

/// Whether a host's domain has its full number without it, since a new one came.
fn is_crowded_out(role: &RoleHosts<'_>, new: &[&Host], had: &Had<'_>) -> bool {
    let Some(key) = role.wish.topology_key() else { return false };
    let Some(domain) = had.host.domain(key) else { return false };
    let new = new.iter().filter(|host| host.domain(key) == Some(domain)).count();
    new > 0 && role.in_domains().get(domain).copied().unwrap_or(0) + new >= role.wish.most_per_domain()
}

/// Which are standby: what is used is active first, then what was active, then by name.
fn noted(role: &RoleHosts<'_>, stay: &[&Had<'_>], new: &[&Host]) -> Vec<NotedHost> {
    let mut ranked: Vec<&Had<'_>> = stay.to_vec();
    ranked.sort_by_key(|had| {
        (!had.host.is_used(), had.host.fault().is_some(), had.was_standby, had.host.named())
    });
    // New ones come behind: active ones first, as they were picked.
    let hosts = ranked.iter().map(|had| had.host).chain(new.iter().copied());
    let active = role.wish.count.active();
    hosts.enumerate().map(|(at, host)| note(host, role.name, at >= active)).collect()
}

fn note(host: &Host, role: &str, standby: bool) -> NotedHost {
    let metadata = &host.metadata;
    NotedHost {
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
        role: role.to_owned(),
        standby,
    }
}

fn release(had: &Had<'_>) -> Released {
    Released { host: had.host.named(), uid: had.host.metadata.uid.clone(), role: had.role.clone() }
}

fn describe_excess(role: &RoleHosts<'_>, too_many: usize, stay: &[&Had<'_>]) -> String {
    let mut names: Vec<String> = stay
        .iter()
        .filter(|had| had.is_labelled && !had.host.is_idle())
        .map(|had| had.host.metadata.name.clone())
        .collect();
    names.sort();
    let named = wording::few(names, super::words::NAMED, "more").join(", ");
    let more = wording::count(too_many, "host", "hosts");
    format!(
        "{}: {more} more than wanted, but in use: {named}; scale down the MachineDeployment or control plane first",
        role.name
    )
}

fn words_of_use(host: &Host) -> String {
    host.why_not_free().unwrap_or_else(|| "in use".to_owned())
}
