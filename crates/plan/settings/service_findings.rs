//! What of services and owners cannot be meant together: findings with their place in `capstan.yaml`.

use super::key_path::{KeyPath, find};
use super::service_order::{NoOrder, OrderReason, order, waits_for, with_overlay};
use super::services::{OptionalService, Owner, Service, ServiceFolder, ServiceRole, ServiceSource};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::spelling::hint;
use capstan_model::tree::RepoPath;
use capstan_model::wording::count;

/// So many services a cluster has at most.
const MOST_SERVICES: usize = 100;
/// So many services or objects one names at most.
const MOST_NAMED: usize = 100;
/// So many checks a service has at most.
const MOST_CHECKS: usize = 20;
/// So many owners a cluster has at most.
const MOST_OWNERS: usize = 50;

/// A `capstan.yaml`: its path and its text.
#[derive(Debug, Clone, Copy)]
struct SettingsFile<'f>(&'f RepoPath, &'f str);

impl SettingsFile<'_> {
    fn finding(self, place: &KeyPath, message: String) -> Finding {
        let position = find(self.1, place).map(|found| found.key.unwrap_or(found.value));
        Finding::new(rules::INVALID_SERVICES, message).place(Place::maybe_at(self.0.clone(), position))
    }

    fn at(self, index: usize, key: &str, message: String) -> Finding {
        self.finding(&service(index).key(key), message)
    }
}

fn service(index: usize) -> KeyPath {
    KeyPath::root().key("services").index(index)
}

/// What is wrong with the services and owners of a cluster's or a release's `capstan.yaml`, at the places in its text.
/// `has_folder` says whether a service's folder is there, beside base.
pub fn judge_services(
    (path, text): (&RepoPath, &str),
    (services, owners): (&[Service], &[Owner]),
    has_folder: &dyn Fn(&ServiceFolder) -> bool,
) -> Vec<Finding> {
    let file = SettingsFile(path, text);
    let mut findings = too_many(file, services, owners);
    if !findings.is_empty() {
        return findings;
    }
    for (index, one) in services.iter().enumerate() {
        let (name, earlier) = (&one.name, &services[..index]);
        if earlier.iter().any(|other| other.name == *name) {
            findings.push(file.at(index, "name", format!("two services have the name `{name}`: rename one")));
        }
        if one.role == ServiceRole::Cni
            && one.enabled
            && let Some(other) = earlier.iter().find(|other| other.role == ServiceRole::Cni && other.enabled)
        {
            findings.push(file.at(index, "role", two_networks(other, one)));
        }
        if let Some(message) = useless_force(one) {
            findings.push(file.at(index, "force", message));
        }
        findings.extend(source(file, index, services, has_folder));
        for (at, wanted) in one.after.iter().enumerate() {
            let known: Vec<&str> = services.iter().map(|other| other.name.as_str()).collect();
            if !known.contains(&wanted.as_str()) {
                let message = format!(
                    "`{name}` starts after `{wanted}`, but there is no such service{}",
                    hint(wanted.as_str(), &known)
                );
                findings.push(file.finding(&service(index).key("after").index(at), message));
            }
        }
    }
    if let Err(NoOrder { circle }) = order(services) {
        findings.extend(no_order(file, services, &circle));
    }
    for (index, owner) in owners.iter().enumerate() {
        if owners[..index].iter().any(|other| other.name == owner.name) {
            let place = KeyPath::root().key("owners").index(index).key("name");
            findings
                .push(file.finding(&place, format!("two owners have the name `{}`: rename one", owner.name)));
        }
    }
    findings
}

/// Where the services of a `capstan.yaml` stand.
pub fn services_place((path, text): (&RepoPath, &str)) -> Place {
    let position = find(text, &KeyPath::root().key("services"));
    Place::maybe_at(path.clone(), position.map(|found| found.key.unwrap_or(found.value)))
}

/// The place of one of the services of a `capstan.yaml`, by its index in the list, or of one of its checks.
pub fn service_place((path, text): (&RepoPath, &str), index: usize, check: Option<usize>) -> Place {
    let place = match check {
        Some(check) => service(index).key("checks").index(check),
        None => service(index),
    };
    let position = find(text, &place);
    Place::maybe_at(path.clone(), position.map(|found| found.key.unwrap_or(found.value)))
}

/// What is wrong with what an overlay says of the services of its cluster.
pub fn judge_optional_services(
    (path, text): (&RepoPath, &str),
    overlay: &[OptionalService],
    services: &[Service],
) -> Vec<Finding> {
    let file = SettingsFile(path, text);
    if let Some(message) = over("services", overlay.len(), MOST_SERVICES) {
        return vec![file.finding(&KeyPath::root().key("services"), message)];
    }
    // That is said where the cluster's own are judged.
    if services.len() > MOST_SERVICES {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let known: Vec<&str> = services.iter().filter(|one| one.optional).map(|one| one.name.as_str()).collect();
    for (index, said) in overlay.iter().enumerate() {
        let name = &said.name;
        let of_cluster = services.iter().find(|one| one.name == *name);
        let message = match of_cluster {
            _ if overlay[..index].iter().any(|other| other.name == *name) => {
                format!("`{name}` is here twice: remove one")
            }
            None => format!("the cluster has no service `{name}`{}", hint(name.as_str(), &known)),
            Some(one) if !one.optional => format!(
                "`{name}` is not `optional`: only the platform team may switch it off, in the cluster's capstan.yaml; remove this"
            ),
            Some(_) => continue,
        };
        findings.push(file.at(index, "name", message));
    }
    let before = |one: &&Service| one.role == ServiceRole::Cni && one.enabled;
    let after = with_overlay(services, overlay);
    let networks: Vec<&Service> = after.iter().filter(before).collect();
    if let [one, other, ..] = networks.as_slice()
        && services.iter().filter(before).count() < 2
        && let Some(index) = overlay.iter().rposition(|said| {
            said.enabled && networks.iter().any(|network| network.optional && network.name == said.name)
        })
    {
        findings.push(file.at(index, "enabled", two_networks(one, other)));
    }
    findings
}

fn over(what: &str, found: usize, most: usize) -> Option<String> {
    (found > most).then(|| format!("{found} {what} exceed the limit of {most}: remove some"))
}

/// Lists beyond their limits. They are reported first, and nothing else is checked then.
fn too_many(file: SettingsFile<'_>, services: &[Service], owners: &[Owner]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(message) = over("services", services.len(), MOST_SERVICES) {
        findings.push(file.finding(&KeyPath::root().key("services"), message));
    }
    if let Some(message) = over("owners", owners.len(), MOST_OWNERS) {
        findings.push(file.finding(&KeyPath::root().key("owners"), message));
    }
    for (index, one) in services.iter().enumerate().take(MOST_SERVICES) {
        if let Some(message) = over("services", one.after.len(), MOST_NAMED) {
            findings.push(file.at(index, "after", message));
        }
        if let ServiceSource::Objects(objects) = &one.from
            && let Some(message) = over("objects", objects.len(), MOST_NAMED)
        {
            findings.push(file.at(index, "from", message));
        }
        if let Some(message) = over("checks", one.checks.len(), MOST_CHECKS) {
            findings.push(file.at(index, "checks", message));
        }
    }
    findings
}

fn two_networks(one: &Service, other: &Service) -> String {
    format!(
        "`{}` and `{}` both have the role cni, but a cluster has one network: remove one, or set `enabled: false` on it",
        one.name, other.name
    )
}

/// A `force` that allows nothing.
fn useless_force(one: &Service) -> Option<String> {
    let force = one.force.as_ref()?;
    if one.role != ServiceRole::Cni {
        return Some(format!(
            "`force` allows a change of the pod network, but `{}` has the role {}: remove it",
            one.name, one.role
        ));
    }
    (force.to != one.name).then(|| {
        format!("`force` belongs to the new network: write `to: {}`, or move it to `{}`", one.name, force.to)
    })
}

/// What is wrong with where a service's objects stand.
fn source(
    file: SettingsFile<'_>,
    index: usize,
    services: &[Service],
    has_folder: &dyn Fn(&ServiceFolder) -> bool,
) -> Option<Finding> {
    let Service { name, from, .. } = &services[index];
    let at = |key: &str, message: String| file.finding(&service(index).key("from").key(key), message);
    match from {
        ServiceSource::Folder(folder) => {
            let earlier = services[..index].iter().find(|other| other.from == *from);
            if let Some(other) = earlier {
                let message = format!(
                    "`{}` and `{name}` are both in {folder}, but an object belongs to one service: give each its own folder",
                    other.name
                );
                return Some(at("folder", message));
            }
            (!has_folder(folder)).then(|| {
                let message = format!(
                    "there is no folder {folder} beside base: put the objects of `{name}` there, or correct the name"
                );
                at("folder", message)
            })
        }
        ServiceSource::Objects(objects) if objects.is_empty() => Some(at(
            "objects",
            format!("`{name}` names no object that installs it: name one of base, or a `folder`"),
        )),
        ServiceSource::Objects(objects) => {
            let earlier = |object| {
                let of = |other: &&Service| match &other.from {
                    ServiceSource::Objects(others) => others.contains(object),
                    ServiceSource::Folder(_) => false,
                };
                services[..index].iter().find(of)
            };
            objects.iter().find_map(|object| {
                let message = format!(
                    "`{}` and `{name}` both name {} {}, but an object belongs to one service",
                    earlier(object)?.name,
                    object.kind,
                    object.name
                );
                Some(at("objects", message))
            })
        }
    }
}

/// That services wait for one another, said where one of them says so.
fn no_order(file: SettingsFile<'_>, services: &[Service], circle: &[usize]) -> Option<Finding> {
    let next = |at: usize| circle[(at + 1) % circle.len()];
    let steps: Vec<(usize, OrderReason)> =
        (0..circle.len()).filter_map(|at| Some((at, waits_for(services, circle[at], next(at))?))).collect();
    let (place, _) = steps.iter().find_map(|(at, because)| match because {
        OrderReason::After(index) => Some((service(circle[*at]).key("after").index(*index), at)),
        OrderReason::Role => None,
    })?;
    let told = steps.iter().map(|(at, because)| {
        let (one, other) = (&services[circle[*at]], &services[next(*at)]);
        match because {
            OrderReason::After(_) => format!("`{}` begins after `{}`", one.name, other.name),
            OrderReason::Role => {
                format!("`{}` ({}) after `{}` ({})", one.name, one.role, other.name, other.role)
            }
        }
    });
    let told: Vec<String> = told.collect();
    let message = match told.as_slice() {
        [only] => format!("{only}: none of them would ever start"),
        several => format!(
            "{} wait for one another, so none of them would ever start: {}",
            count(several.len(), "service", "services"),
            several.join(", ")
        ),
    };
    Some(file.finding(&place, message))
}
