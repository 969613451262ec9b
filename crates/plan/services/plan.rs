//! The services of a cluster, from one release to another: all of them, as a part of its upgrade.

use std::collections::{BTreeMap, BTreeSet};

use super::checks::{NotAllowed, not_allowing};
use super::declared::{EntryChange, merge_declared};
use super::edits::Objects;
use super::folder::{FolderPlan, objects_of, plan_folder};
use super::network::{PodNetwork, network_among, network_switch};
use super::release::ReleaseServices;
use super::step::ServicesStep;
use super::version::version_of;
use crate::merge::ClusterFacts;
use crate::settings::{
    ClusterSettings, FOLDER_FILE, OptionalService, Service, ServiceFolder, ServiceObject, ServiceRole,
    ServiceSource, Tombstone, service_place, with_overlay,
};
use crate::upgrade::{MergeSettings, PlannedUpgrade, Provenance, ServiceChange, ServiceCourse, Upgrade};
use capstan_kustomize::schema::Schemas;
use capstan_model::file_change::FileChange;
use capstan_model::finding::{FileError, Finding, Place, rules};
use capstan_model::tree::RepoPath;
use capstan_model::version::KubernetesVersion;

/// Adds to an upgrade what it does to services.
///
/// # Errors
/// A file of the cluster that cannot be read as YAML, with its place.
pub fn plan_services(step: &ServicesStep<'_>, planned: &mut PlannedUpgrade) -> Result<(), FileError> {
    let before = declared(step.cluster.record.as_ref().map(crate::merge::SourceFile::text));
    let entries = merge_declared(step, planned)?;
    let after = declared(record_after(step.cluster, planned));
    let mut changes = by_objects(step, planned, &before, &after);
    let of = |release: &ReleaseServices| release.folders.keys().cloned().collect::<BTreeSet<_>>();
    let mut folders = of(step.new);
    folders.extend(step.old.map(of).unwrap_or_default());
    let mut networks = Networks::new(step, planned, &before, &after);
    for folder in folders {
        let Some(plan) = plan_folder(step, &folder)? else { continue };
        networks.take(&folder, &plan);
        let service = service_in(&after, &folder).or_else(|| service_in(&before, &folder));
        changes.extend(service_change(&folder, service, &plan));
        join(planned, service.map_or(folder.name(), |service| service.name.as_str()), plan);
    }
    networks.judge(step, planned);
    stays_inside(&before, &after, planned);
    by_entries(&mut changes, entries, &before, &after);
    changes.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
    planned.upgrade.services = changes;
    planned.intended.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

/// The files of a cluster that is made from a release, with the release's services besides those that it has already.
/// Where they cannot be brought, the upgrade says why it blocks.
///
/// # Errors
/// A file that cannot be read as YAML, with its place.
pub fn bring_services(
    cluster: &ClusterFacts,
    release: &ReleaseServices,
    files: Vec<FileChange>,
    schemas: &Schemas,
) -> Result<PlannedUpgrade, FileError> {
    let (upgrade, settings) = (Upgrade::nothing(cluster.target()), MergeSettings::default());
    let provenance = Provenance::default();
    let mut planned = PlannedUpgrade { upgrade, intended: files, rotated: Vec::new(), provenance };
    let step = ServicesStep { cluster, services: &[], old: None, new: release, settings: &settings, schemas };
    plan_services(&step, &mut planned)?;
    Ok(planned)
}

/// The network of pods before and after, as far as services name it.
struct Networks<'s> {
    services: [Option<&'s Service>; 2],
    found: [Option<PodNetwork>; 2],
}

impl<'s> Networks<'s> {
    /// By what the folders have and the objects of base; what becomes of folders is [taken](Self::take) besides.
    fn new(
        step: &ServicesStep<'_>,
        planned: &PlannedUpgrade,
        before: &'s [Service],
        after: &'s [Service],
    ) -> Self {
        let services = [network_among(before), network_among(after)];
        let base = || [&[][..], &planned.intended].map(|changed| objects_of(&step.cluster.base, changed));
        let is_in_base = |service: &Service| matches!(service.from, ServiceSource::Objects(_));
        let base =
            if services.iter().flatten().any(|one| is_in_base(one)) { base() } else { Default::default() };
        let found = [0, 1].map(|at| {
            let service = services[at]?;
            let objects = match &service.from {
                ServiceSource::Objects(named) => among(&base[at], named),
                ServiceSource::Folder(folder) => {
                    let own = step.services.iter().find(|one| one.folder == *folder);
                    own.map(|own| objects_of(&own.base, &[])).unwrap_or_default()
                }
            };
            Some(PodNetwork::of(service.name.as_str(), objects.values()))
        });
        Self { services, found }
    }

    /// What becomes of a folder.
    fn take(&mut self, folder: &ServiceFolder, plan: &FolderPlan) {
        for (at, objects) in [&plan.before, &plan.after].into_iter().enumerate() {
            let is_it =
                |service: &&Service| matches!(&service.from, ServiceSource::Folder(own) if own == folder);
            if let Some(service) = self.services[at].filter(is_it) {
                self.found[at] = Some(PodNetwork::of(service.name.as_str(), objects.values()));
            }
        }
    }

    /// Refuses a switch of networks that nobody allowed; an allowed one is a note.
    fn judge(self, step: &ServicesStep<'_>, planned: &mut PlannedUpgrade) {
        let [Some(was), Some(is)] = &self.found else { return };
        let force = self.services[1].and_then(|service| service.force.as_ref());
        let Some(switch) = network_switch(was, is, force) else { return };
        if switch.is_refused() {
            let place = step.cluster.id.folder().join(FOLDER_FILE).ok().map(Place::whole);
            planned.upgrade.findings.push(Finding::new(rules::CNI_SWITCH, switch.words()).maybe_place(place));
            planned.upgrade.blocked.push(format!("With this upgrade {}.", switch.words()));
        } else {
            planned.upgrade.notes.push(format!("With this upgrade {}.", switch.words()));
        }
    }
}

/// Tells of services that a cluster cannot do without that their objects outlive them inside the cluster.
fn stays_inside(before: &[Service], after: &[Service], planned: &mut PlannedUpgrade) {
    let is_on = |services: &[Service], name: &str| {
        services.iter().any(|service| service.enabled && service.name.as_str() == name)
    };
    for service in before.iter().filter(|service| service.enabled && service.role.is_vital()) {
        let name = service.name.as_str();
        if !is_on(after, name) && matches!(service.from, ServiceSource::Folder(_)) {
            planned.upgrade.notes.push(format!(
                "What service {name} ({}) brought stays inside the cluster until `delete` in the cluster's capstan.yaml names it: `{}`.",
                service.role,
                Tombstone::of_service(name)
            ));
        }
    }
}

/// That services do not allow a version of Kubernetes, each with the place of its check in a `capstan.yaml`.
pub fn refuse_kubernetes(
    services: &[Service],
    version: &KubernetesVersion,
    (path, text): (&RepoPath, &str),
) -> Vec<Finding> {
    let finding = |one: NotAllowed<'_>| {
        let message = format!(
            "the service {} does not allow Kubernetes {version}: its check `{}` is false for it. First take a version of the service that allows it, or correct the check",
            one.name, one.text
        );
        let place = service_place((path, text), one.service, Some(one.check));
        Finding::new(rules::SERVICE_KUBERNETES, message).place(place)
    };
    not_allowing(services, version).into_iter().map(finding).collect()
}

/// Adds to an upgrade to another minor of Kubernetes which services, as they are then, do not allow it. `overlay` is what
/// the cluster's overlay says of them.
pub fn judge_coming_kubernetes(
    cluster: &ClusterFacts,
    planned: &mut PlannedUpgrade,
    overlay: &[OptionalService],
    coming: &KubernetesVersion,
) {
    let Some(text) = record_after(cluster, planned).map(str::to_owned) else { return };
    let Ok(path) = cluster.id.folder().join(FOLDER_FILE) else { return };
    let after = with_overlay(&declared(Some(&text)), overlay);
    planned.upgrade.findings.extend(refuse_kubernetes(&after, coming, (&path, &text)));
}

/// The services that a `capstan.yaml` names; none where it cannot be read as settings, which is reported elsewhere.
fn declared(text: Option<&str>) -> Vec<Service> {
    let read = text.and_then(|text| ClusterSettings::read(&Default::default(), text).ok());
    read.map(|settings| settings.services).unwrap_or_default()
}

fn record_after<'p>(cluster: &'p ClusterFacts, planned: &'p PlannedUpgrade) -> Option<&'p str> {
    let path = cluster.id.folder().join(FOLDER_FILE).ok()?;
    match planned.intended.iter().find(|change| change.path == path) {
        Some(change) => change.after.as_deref(),
        None => cluster.record.as_ref().map(crate::merge::SourceFile::text),
    }
}

/// The objects of base that a service names.
fn among(all: &Objects, named: &[ServiceObject]) -> Objects {
    let means = |kind: &str, name: &str| {
        named.iter().any(|object| object.kind.as_str() == kind && object.name.as_str() == name)
    };
    let own = all.iter().filter(|(id, _)| means(&id.kind, &id.name));
    own.map(|(id, node)| (id.clone(), node.clone())).collect()
}

fn service_in<'s>(services: &'s [Service], folder: &ServiceFolder) -> Option<&'s Service> {
    services.iter().find(|service| matches!(&service.from, ServiceSource::Folder(own) if own == folder))
}

/// The change of a service that the plan of its folder brings; `None` where the plan changes nothing.
fn service_change(
    folder: &ServiceFolder,
    service: Option<&Service>,
    plan: &FolderPlan,
) -> Option<ServiceChange> {
    let FolderPlan { planned, before, after, kept } = plan;
    let course = match (before.is_empty(), after.is_empty()) {
        _ if planned.intended.is_empty() && planned.upgrade.conflicts.is_empty() => return None,
        (true, false) => ServiceCourse::Add,
        (false, true) => ServiceCourse::Remove,
        _ => ServiceCourse::Modify,
    };
    Some(ServiceChange {
        name: service.map_or(folder.name(), |service| service.name.as_str()).to_owned(),
        role: service.map_or(ServiceRole::Other, |service| service.role),
        course,
        folder: Some(folder.clone()),
        from: version_of(before.values()),
        to: version_of(after.values()),
        settings: Vec::new(),
        kept: kept.clone(),
    })
}

/// Services that objects of base bring, where one of those changes.
fn by_objects(
    step: &ServicesStep<'_>,
    planned: &PlannedUpgrade,
    before: &[Service],
    after: &[Service],
) -> Vec<ServiceChange> {
    let (was, is) = (objects_of(&step.cluster.base, &[]), objects_of(&step.cluster.base, &planned.intended));
    let mut changes = Vec::new();
    let gone = before.iter().filter(|service| !after.iter().any(|other| other.name == service.name));
    for service in after.iter().chain(gone) {
        let ServiceSource::Objects(named) = &service.from else { continue };
        let (was, is) = (among(&was, named), among(&is, named));
        let course = match (was.is_empty(), is.is_empty()) {
            (true, true) => continue,
            (true, false) => ServiceCourse::Add,
            (false, true) => ServiceCourse::Remove,
            (false, false) if was.keys().eq(is.keys()) && same(&was, &is) => continue,
            (false, false) => ServiceCourse::Modify,
        };
        changes.push(ServiceChange {
            name: service.name.to_string(),
            role: service.role,
            course,
            folder: None,
            from: version_of(was.values()),
            to: version_of(is.values()),
            settings: Vec::new(),
            kept: Vec::new(),
        });
    }
    changes
}

fn same(one: &Objects, other: &Objects) -> bool {
    one.values().zip(other.values()).all(|(one, other)| capstan_yaml::same_meaning(one, other))
}

/// Adds the changes of entries in `capstan.yaml` to the changes of their services.
fn by_entries(
    changes: &mut Vec<ServiceChange>,
    entries: BTreeMap<String, EntryChange>,
    before: &[Service],
    after: &[Service],
) {
    for (name, EntryChange { course, keys }) in entries {
        if let Some(known) = changes.iter_mut().find(|change| change.name == name) {
            known.settings = keys;
            continue;
        }
        let service = after.iter().chain(before).find(|service| service.name.as_str() == name);
        let folder = service.and_then(|service| match &service.from {
            ServiceSource::Folder(folder) => Some(folder.clone()),
            ServiceSource::Objects(_) => None,
        });
        changes.push(ServiceChange {
            role: service.map_or(ServiceRole::Other, |service| service.role),
            name,
            course,
            folder,
            from: None,
            to: None,
            settings: keys,
            kept: Vec::new(),
        });
    }
}

/// Adds the plan of a folder to the whole upgrade.
fn join(planned: &mut PlannedUpgrade, name: &str, plan: FolderPlan) {
    let of_service = |sentence: String| format!("Service {name}: {sentence}");
    let PlannedUpgrade { upgrade, intended, rotated: _, provenance: _ } = plan.planned;
    planned.intended.extend(intended);
    planned.upgrade.changes.extend(upgrade.changes);
    planned.upgrade.conflicts.extend(upgrade.conflicts);
    planned.upgrade.findings.extend(upgrade.findings);
    planned.upgrade.blocked.extend(upgrade.blocked.into_iter().map(of_service));
    planned.upgrade.notes.extend(upgrade.notes.into_iter().map(of_service));
}
