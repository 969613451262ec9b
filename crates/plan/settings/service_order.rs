//! In which order services begin: cni, ccm, csi, metrics by their roles, and each after those that it names.

use std::collections::BTreeSet;

use super::services::{OptionalService, Service, ServiceRole};

/// Services that wait for one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoOrder {
    /// Their places in the list, each waiting for the one after it, and the last for the first.
    pub circle: Vec<usize>,
}

/// Services in the order in which they begin, by their places in the list: by role and then as they are listed, and each
/// after those that it waits for. A name in `after` that nobody has means nothing here.
///
/// # Errors
/// Some wait for one another: by `after`, or by their roles.
pub fn order(services: &[Service]) -> Result<Vec<usize>, NoOrder> {
    let all: BTreeSet<usize> = (0..services.len()).collect();
    if let Some(circle) = all.iter().find_map(|start| circle_through(services, &all, *start)) {
        return Err(NoOrder { circle });
    }
    let mut by_role: Vec<usize> = all.into_iter().collect();
    by_role.sort_by_key(|at| services[*at].role);
    let mut ordered = Vec::with_capacity(services.len());
    for at in &by_role {
        begin(services, &by_role, *at, &mut ordered);
    }
    Ok(ordered)
}

/// Puts a service behind those that it waits for.
fn begin(services: &[Service], by_role: &[usize], at: usize, ordered: &mut Vec<usize>) {
    if ordered.contains(&at) {
        return;
    }
    for first in by_role.iter().filter(|other| waits_for(services, at, **other).is_some()) {
        begin(services, by_role, *first, ordered);
    }
    ordered.push(at);
}

/// Why a service waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrderReason {
    /// It says so: the place in its `after`.
    After(usize),
    /// By their roles.
    Role,
}

/// Whether one service waits for another, and why.
pub(super) fn waits_for(services: &[Service], one: usize, other: usize) -> Option<OrderReason> {
    let (waiting, first) = (services.get(one)?, services.get(other)?);
    if one != other
        && waiting.role != ServiceRole::Other
        && first.role != ServiceRole::Other
        && first.role < waiting.role
    {
        return Some(OrderReason::Role);
    }
    waiting.after.iter().position(|name| *name == first.name).map(OrderReason::After)
}

/// The services that one waits for, by their places in the list; those that are switched off are waited for by nobody.
pub fn waited_for(services: &[Service], one: usize) -> Vec<usize> {
    let is_on = |other: &usize| services.get(*other).is_some_and(|service| service.enabled);
    (0..services.len()).filter(is_on).filter(|other| waits_for(services, one, *other).is_some()).collect()
}

/// The shortest circle through a service.
fn circle_through(services: &[Service], all: &BTreeSet<usize>, start: usize) -> Option<Vec<usize>> {
    let mut ways = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in &ways {
            let last = *way.last()?;
            for next in all.iter().copied().filter(|next| waits_for(services, last, *next).is_some()) {
                if next == start {
                    return Some(way.clone());
                }
                if seen.insert(next) {
                    longer.push(way.iter().copied().chain([next]).collect());
                }
            }
        }
        ways = longer;
    }
    None
}

/// The services of a cluster as its overlay has them: what is `optional`, on or off as it says there.
pub fn with_overlay(services: &[Service], overlay: &[OptionalService]) -> Vec<Service> {
    let said = |service: &Service| overlay.iter().find(|said| said.name == service.name);
    let of = |service: &Service| match said(service).filter(|_| service.optional) {
        Some(said) => Service { enabled: said.enabled, ..service.clone() },
        None => service.clone(),
    };
    services.iter().map(of).collect()
}
