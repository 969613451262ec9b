//! What is wrong with the services that the settings of a cluster, its overlay or a release name.

use crate::layout::{ReleaseFolder, TargetFolder};
use crate::settings::{
    ClusterSettings, DeclaredOwners, Deletion, OverlaySettings, ReleaseSettings, Service, ServiceFolder,
    judge_optional_services, judge_owners, judge_services, owners_changed, service_place, services_place,
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
        findings.extend(judge_owners(owners(&entry.path, &text, settings)));
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
            "`delete` names the service {}, which is enabled: remove one of the two. Until then Capstan deletes nothing",
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
        Ok(settings) => {
            let lists = (settings.services.as_slice(), settings.owners.as_slice());
            let mut findings = judge_services((&entry.path, &text), lists, &has);
            let said =
                DeclaredOwners { path: &entry.path, text: &text, owners: &settings.owners, access: None };
            findings.extend(judge_owners(said));
            findings
        }
        // Reading the release reports that.
        Err(_) => Vec::new(),
    }
}

/// The finding that a cluster has services and no management cluster claims it.
pub fn services_not_claimed(
    tree: &dyn Tree,
    folder: &TargetFolder,
    settings: Option<&ClusterSettings>,
) -> Option<Finding> {
    let entry = folder.settings.as_ref()?;
    settings.filter(|settings| !settings.services.is_empty())?;
    let message = "no management cluster claims this cluster, so Capstan does not install these services, and upgrades leave them alone. Claim the cluster under `managementClusters` in .capstan.yaml, or remove the services";
    let place = services_place((&entry.path, &text(tree, entry)?));
    Some(Finding::new(rules::SERVICES_NOT_CLAIMED, message).place(place))
}

/// The owners who come, go or have another key between two trees; `before` is `None` where the cluster is new. Nothing
/// where its settings cannot be read, which another finding says.
pub fn owners_changed_between(
    before: Option<(&dyn Tree, &TargetFolder)>,
    (tree, folder): (&dyn Tree, &TargetFolder),
) -> Vec<Finding> {
    let nothing = ClusterSettings::default();
    let Some((path, text, settings)) = said(tree, folder) else {
        return Vec::new();
    };
    let was = match before {
        Some((tree, folder)) => match said(tree, folder) {
            Some(was) => Some(was),
            None if folder.settings.is_some() => return Vec::new(),
            None => None,
        },
        None => None,
    };
    let (old_path, old_text, old_settings) =
        was.as_ref().map_or((path, "", &nothing), |(path, text, settings)| (*path, text.as_str(), settings));
    owners_changed(Some(owners(old_path, old_text, old_settings)), owners(path, &text, &settings))
}

/// The `capstan.yaml` of a cluster: its path, its text and what it says. One that is not there says nothing.
fn said<'f>(tree: &dyn Tree, folder: &'f TargetFolder) -> Option<(&'f RepoPath, String, ClusterSettings)> {
    let entry = folder.settings.as_ref()?;
    let text = text(tree, entry)?;
    let settings = ClusterSettings::read(&entry.path, &text).ok()?;
    Some((&entry.path, text, settings))
}

fn owners<'s>(path: &'s RepoPath, text: &'s str, settings: &'s ClusterSettings) -> DeclaredOwners<'s> {
    DeclaredOwners { path, text, owners: &settings.owners, access: Some(&settings.access) }
}

fn text(tree: &dyn Tree, entry: &TreeEntry) -> Option<String> {
    let bytes = tree.read(entry).ok()?;
    std::str::from_utf8(&bytes).ok().map(str::to_owned)
}
