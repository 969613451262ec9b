//! What is wrong with the services that the settings of a cluster, its overlay or a release name.

use crate::layout::{ReleaseFolder, TargetFolder};
use crate::settings::{
    ClusterSettings, Deletion, OverlaySettings, ReleaseSettings, Service, ServiceFolder,
    judge_optional_services, judge_services, service_place, services_place,
};
use capstan_model::finding::{Finding, rules};
use capstan_model::tree::{RepoPath, Tree, TreeEntry};

/// What is wrong with those of a cluster, with their places.
pub(super) fn of_cluster(
    tree: &dyn Tree,
    folder: &TargetFolder,
    settings: Option<&ClusterSettings>,
    overlay: Option<&OverlaySettings>,
) -> Vec<Finding> {
    let services = settings.map(|settings| settings.services.as_slice()).unwrap_or_default();
    let has = |wanted: &ServiceFolder| folder.services.iter().any(|service| service.folder == *wanted);
    let mut findings = Vec::new();
    if let (Some(entry), Some(settings)) = (&folder.settings, settings)
        && !(services.is_empty() && settings.owners.is_empty())
        && let Some(text) = text(tree, entry)
    {
        findings.extend(judge_services((&entry.path, &text), (services, &settings.owners), &has));
        findings.extend(still_on((&entry.path, &text), &settings.delete, services));
    }
    if let (Some(entry), Some(overlay)) = (&folder.overlay_settings, overlay)
        && !overlay.services.is_empty()
        && let Some(text) = text(tree, entry)
    {
        findings.extend(judge_optional_services((&entry.path, &text), &overlay.services, services));
    }
    findings
}

/// Tombstones of services that are on.
fn still_on((path, text): (&RepoPath, &str), delete: &Deletion, services: &[Service]) -> Vec<Finding> {
    let on = services.iter().filter(|service| service.enabled && delete.names_service(service.name.as_str()));
    let finding = |service: &Service| {
        let at = services.iter().position(|other| other.name == service.name).unwrap_or_default();
        let message = format!(
            "`delete` names the service {}, which is on: take one of the two out; nothing is deleted until then",
            service.name
        );
        Finding::new(rules::RENDERED_TOMBSTONE, message).place(service_place((path, text), at, None))
    };
    on.map(finding).collect()
}

/// What is wrong with those of a release, with their places.
pub fn judge_release_services(tree: &dyn Tree, folder: &ReleaseFolder) -> Vec<Finding> {
    let has = |wanted: &ServiceFolder| folder.services.iter().any(|service| service.folder == *wanted);
    let Some(entry) = &folder.settings else { return Vec::new() };
    let Some(text) = text(tree, entry) else { return Vec::new() };
    match ReleaseSettings::read(&entry.path, &text) {
        Ok(settings) => judge_services((&entry.path, &text), (&settings.services, &settings.owners), &has),
        // That is said where the release is read.
        Err(_) => Vec::new(),
    }
}

/// That a cluster which nobody claims has services.
pub fn services_not_claimed(
    tree: &dyn Tree,
    folder: &TargetFolder,
    settings: Option<&ClusterSettings>,
) -> Option<Finding> {
    let entry = folder.settings.as_ref()?;
    settings.filter(|settings| !settings.services.is_empty())?;
    let message = "no management cluster claims this cluster, so that nobody brings these services into it and upgrades leave them alone: claim it under `managementClusters` in .capstan.yaml, or take them out";
    let place = services_place((&entry.path, &text(tree, entry)?));
    Some(Finding::new(rules::SERVICES_NOT_CLAIMED, message).place(place))
}

fn text(tree: &dyn Tree, entry: &TreeEntry) -> Option<String> {
    let bytes = tree.read(entry).ok()?;
    std::str::from_utf8(&bytes).ok().map(str::to_owned)
}
