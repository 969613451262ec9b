//! What becomes of the services of a cluster between two trees: which are on or off now, and what their folders render.
//! Services whose objects are in base are compared with base.

use std::collections::BTreeSet;

use capstan_kustomize::render::{FieldDifference, RenderedObject, diff, is_kustomization, render};
use capstan_model::tree::Tree;

use super::folders::folders_of_service;
use crate::cluster::Cluster;
use crate::layout::TargetFolder;
use crate::services::{NetworkSwitch, PodNetwork, network_among, network_switch};
use crate::settings::{
    Deletion, Service, ServiceFolder, ServiceRole, ServiceSource, Tombstone, service_place, with_overlay,
};
use capstan_model::finding::Place;

/// The folder of a cluster in one of the trees.
#[derive(Clone, Copy)]
pub struct ClusterState<'a> {
    pub tree: &'a dyn Tree,
    pub folder: &'a TargetFolder,
}

/// What becomes of one service.
#[derive(Debug, Clone)]
pub struct ServiceDifference {
    /// Its name; that of its folder where no settings name it.
    pub name: String,
    /// What it is for.
    pub role: ServiceRole,
    /// Whether it is there now, where that changes.
    pub is_on: Option<bool>,
    /// What its folder renders otherwise.
    pub differences: Vec<FieldDifference>,
    /// What else people should know before they merge it, in sentences.
    pub notes: Vec<String>,
}

/// What becomes of services between two trees, in the order of their roles and names; `None` is a cluster that is not there.
/// `base` are the objects that base renders, before and after.
pub fn compare_services(
    before: Option<ClusterState<'_>>,
    after: Option<ClusterState<'_>>,
    base: [&[RenderedObject]; 2],
) -> Vec<ServiceDifference> {
    let [was, is] = [before, after].map(|state| state.map(declared).unwrap_or_default());
    let folders: BTreeSet<&ServiceFolder> = [before, after]
        .into_iter()
        .flatten()
        .flat_map(|state| state.folder.services.iter().map(|service| &service.folder))
        .collect();
    let mut found: Vec<ServiceDifference> = Vec::new();
    for folder in folders {
        let differences = differences(before, after, folder);
        if !differences.is_empty() {
            let service = [&is, &was].into_iter().flatten().find(|one| is_in(one, folder));
            found.push(ServiceDifference {
                name: service.map_or(folder.name(), |service| service.name.as_str()).to_owned(),
                role: service.map_or(ServiceRole::Other, |service| service.role),
                is_on: None,
                differences,
                notes: Vec::new(),
            });
        }
    }
    let gone = was.iter().filter(|one| !is.iter().any(|other| other.name == one.name));
    for service in is.iter().chain(gone) {
        let is_on = |services: &[Service]| services.iter().any(|one| one.name == service.name && one.enabled);
        let (before, now) = (is_on(&was), is_on(&is));
        if before == now {
            continue;
        }
        match found.iter_mut().find(|known| known.name == service.name.as_str()) {
            Some(known) => known.is_on = Some(now),
            None => found.push(ServiceDifference {
                name: service.name.to_string(),
                role: service.role,
                is_on: Some(now),
                differences: Vec::new(),
                notes: Vec::new(),
            }),
        }
    }
    for service in &is {
        let Some(note) = another_role(service, &was) else { continue };
        match found.iter_mut().find(|known| known.name == service.name.as_str()) {
            Some(known) => known.notes.push(note),
            None => found.push(ServiceDifference {
                name: service.name.to_string(),
                role: service.role,
                is_on: None,
                differences: Vec::new(),
                notes: vec![note],
            }),
        }
    }
    tell(&mut found, &was, after, switched(before, after, base).map(|(switch, _)| switch));
    found.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
    found
}

/// The sentence about a vital service that gets another role.
fn another_role(service: &Service, was: &[Service]) -> Option<String> {
    let before = was.iter().find(|before| before.name == service.name && before.enabled)?;
    let is_other = service.enabled && before.role.is_vital() && before.role != service.role;
    is_other.then(|| {
        format!(
            "it stays the {} of the cluster, under any role, as long as its objects are there",
            before.role
        )
    })
}

/// What comes of a switched network, and of a service that goes without its objects.
fn tell(
    found: &mut [ServiceDifference],
    was: &[Service],
    after: Option<ClusterState<'_>>,
    switch: Option<NetworkSwitch>,
) {
    let settings = after.and_then(|state| Cluster::settings_of(state.tree, state.folder).ok().flatten());
    let delete = settings.map(|settings| settings.delete).unwrap_or_default();
    for one in found.iter_mut().filter(|one| one.is_on == Some(false)) {
        let in_folder = was.iter().any(|service| {
            service.name.as_str() == one.name && matches!(service.from, ServiceSource::Folder(_))
        });
        if in_folder && one.role.is_vital() && delete != Deletion::Cluster && !delete.names_service(&one.name)
        {
            one.notes.push(format!(
                "its objects stay inside the cluster until `delete` in the cluster's capstan.yaml names it: `{}`",
                Tombstone::of_service(&one.name)
            ));
        }
    }
    // What is refused is a finding.
    if let Some(switch) = switch.filter(|switch| !switch.is_refused())
        && let Some(network) =
            found.iter_mut().find(|one| one.role == ServiceRole::Cni && one.is_on != Some(false))
    {
        network.notes.push(switch.words());
    }
}

/// The switch of the cluster's pod network to another one, if there is one, and the place that declares it.
pub(super) fn switched(
    before: Option<ClusterState<'_>>,
    after: Option<ClusterState<'_>>,
    base: [&[RenderedObject]; 2],
) -> Option<(NetworkSwitch, Option<Place>)> {
    let (before, after) = (before?, after?);
    let (was, is) = (declared(before), declared(after));
    let (old, new) = (network_among(&was)?, network_among(&is)?);
    let folder = |state: ClusterState<'_>, service: &Service| match &service.from {
        ServiceSource::Folder(folder) => {
            let (own, overlay) = state.folder.service_folders(folder);
            Some((state.tree.folder_id(&own), state.tree.folder_id(&overlay)))
        }
        ServiceSource::Objects(_) => None,
    };
    // Most pull requests leave it alone.
    if old.name == new.name
        && old.from == new.from
        && folder(before, old).is_some_and(|id| Some(id) == folder(after, new))
    {
        return None;
    }
    let network = |state: ClusterState<'_>, service: &Service, base: &[RenderedObject]| {
        let name = service.name.as_str();
        let rendered = match &service.from {
            ServiceSource::Folder(folder) => {
                render(state.tree, &folders_of_service(state.folder, folder)).ok()?.objects
            }
            ServiceSource::Objects(named) => {
                let means = |object: &&RenderedObject| {
                    named
                        .iter()
                        .any(|one| object.id.kind == one.kind.as_str() && object.id.name == one.name.as_str())
                };
                base.iter().filter(means).cloned().collect()
            }
        };
        Some(PodNetwork::of_values(name, rendered.iter().map(|object| &object.value)))
    };
    let (was, becomes) = (network(before, old, base[0])?, network(after, new, base[1])?);
    let switch = network_switch(&was, &becomes, new.force.as_ref())?;
    let at = is.iter().position(|service| service.name == new.name);
    let entry = after.folder.settings.as_ref();
    let place = entry.zip(at).and_then(|(entry, at)| {
        let text = String::from_utf8(after.tree.read(entry).ok()?.to_vec()).ok()?;
        Some(service_place((&entry.path, &text), at, None))
    });
    Some((switch, place))
}

/// The services of a cluster as its overlay has them; none where its settings cannot be read, which a finding says.
fn declared(state: ClusterState<'_>) -> Vec<Service> {
    let Ok(Some(settings)) = Cluster::settings_of(state.tree, state.folder) else { return Vec::new() };
    let overlay = Cluster::overlay_settings_of(state.tree, state.folder).ok().flatten();
    with_overlay(&settings.services, &overlay.map(|overlay| overlay.services).unwrap_or_default())
}

fn is_in(service: &Service, folder: &ServiceFolder) -> bool {
    matches!(&service.from, ServiceSource::Folder(own) if own == folder)
}

/// What a service's folder renders otherwise, with what the overlay makes of it; nothing where either cannot be rendered,
/// which a finding says.
fn differences(
    before: Option<ClusterState<'_>>,
    after: Option<ClusterState<'_>>,
    folder: &ServiceFolder,
) -> Vec<FieldDifference> {
    let content = |state: Option<ClusterState<'_>>| {
        let state = state?;
        let (own, overlay) = state.folder.service_folders(folder);
        Some((state.tree.folder_id(&own), state.tree.folder_id(&overlay)))
    };
    // A kustomization may read files outside the folder, so its result may change although the folder does not.
    let reads_elsewhere = |state: Option<ClusterState<'_>>| {
        state.is_some_and(|state| {
            let services = state.folder.services.iter().filter(|service| service.folder == *folder);
            let mut files = services.flat_map(|service| service.files.iter().chain(&service.overlay_files));
            files.any(|entry| is_kustomization(&entry.path))
        })
    };
    if content(before) == content(after) && !reads_elsewhere(after) {
        return Vec::new();
    }
    let objects = |state: Option<ClusterState<'_>>| -> Option<Vec<RenderedObject>> {
        let has = |state: &ClusterState<'_>| state.folder.services.iter().any(|one| one.folder == *folder);
        let Some(state) = state.filter(has) else { return Some(Vec::new()) };
        Some(render(state.tree, &folders_of_service(state.folder, folder)).ok()?.objects)
    };
    match (objects(before), objects(after)) {
        (Some(was), Some(is)) => diff(&was, &is),
        _ => Vec::new(),
    }
}
