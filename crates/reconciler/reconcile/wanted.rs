//! What one cluster folder asks for: its render with namespaces filled in, its tombstones, and the rights
//! with which it is applied.

use std::sync::Arc;

use capstan_kustomize::render::{RenderedFolder, RenderedObject};
use capstan_live::applying::{
    Beyond, FolderHome, ForeignObject, LiveCluster, Surroundings, boundary, overlay_selects,
    place_in_namespaces, strangers,
};
use capstan_model::ids::ClusterId;
use capstan_model::kinds::names;
use capstan_plan::boundary::left_over;
use capstan_plan::settings::Deletion;

use super::acceptance::unusable;
use super::blocking::where_blocking_is_allowed;
use super::kinds::{Kinds, kinds_of};
use super::provider_sets;
use super::revision::Revision;
use capstan_fleet::generator::Fleet;
use capstan_ports::{ApiKind, As, ManagementCluster, ServiceAccount};
use capstan_reconciler_core::cloud_kinds::refuse_unknown;
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::resources::ServiceAccountSpec;
use capstan_reconciler_core::unwanted::Unwanted;

/// What one cluster folder asks for.
#[derive(Debug)]
pub(super) struct FolderRequests {
    /// Its objects under the names in Git.
    pub(super) rendered: RenderedFolder,
    /// Where they lie.
    pub(super) home: FolderHome,
    /// What may be deleted.
    pub(super) tombstones: Deletion,
    /// With the whole cluster: whether what outlives it in its cloud goes first.
    pub(super) cleanup: bool,
    /// With whose rights it is applied.
    pub(super) by: As,
    /// What a provider set has still of providers that it dropped: neither applied nor deleted.
    pub(super) left_over: Vec<RenderedObject>,
    /// Objects that another folder renders too, and that nobody had applied when the commit was opened.
    pub(super) disputed: Vec<ForeignObject>,
}

/// Renders a folder and checks its boundary, also against Clusters that only the management cluster knows.
pub(super) async fn read(
    revision: &Revision,
    id: &ClusterId,
    account: &ServiceAccountSpec,
    live: &dyn ManagementCluster,
    kinds: &Kinds,
) -> Result<FolderRequests, Unwanted> {
    if let Some(Err(reason)) = revision.claims.get(id) {
        return Err(Unwanted::Refused(vec![reason.clone()]));
    }
    let (fleet, of) = (Arc::clone(&revision.fleet), id.clone());
    let rendered = where_blocking_is_allowed(move || render(&fleet, &of)).await;
    let (mut rendered, tombstones, cleanup) = rendered.map_err(Unwanted::Refused)?;
    if let Some(reason) = provider_sets::by(revision.fleet.settings(), id)
        .and_then(|_| provider_sets::refuse_tombstones(&tombstones))
    {
        return Err(Unwanted::Refused(vec![reason]));
    }
    let scopes = kinds.learn(live, &kinds_of(&rendered.objects)).await?;
    let unknown = refuse_unknown(&rendered.objects, &scopes);
    if !unknown.is_empty() {
        return Err(Unwanted::Refused(unknown));
    }
    let outside = |outside: ForeignObject| Reason::of_outside(&outside);
    let home = place_in_namespaces(&mut rendered, &scopes)
        .map_err(|found| Unwanted::Refused(vec![outside(*found)]))?;
    let clusters = if overlay_selects(&rendered) { clusters_in(live, &home).await? } else { Vec::new() };
    let around = Surroundings {
        folder: id,
        settings: revision.fleet.settings(),
        scopes: &scopes,
        neighbours: Some(&revision.neighbours),
    };
    let beyond = boundary(&rendered, &home, &around, &revision.owners);
    let (disputed, mut beyond): (Vec<_>, Vec<_>) =
        beyond.into_iter().partition(|outside| matches!(outside.why, Beyond::TwoFolders(_)));
    if beyond.is_empty() {
        beyond = strangers(&rendered, &home, &around, &clusters);
    }
    if !beyond.is_empty() {
        return Err(Unwanted::Refused(beyond.into_iter().map(outside).collect()));
    }
    let left_over = match provider_sets::by(revision.fleet.settings(), id) {
        Some(_) => {
            let left = left_over(&rendered, &home);
            rendered.objects.extract_if(.., |object| left.contains(&object.id)).collect()
        }
        None => Vec::new(),
    };
    // After the boundary: nobody else sets such a mark.
    provider_sets::note_components(&revision.fleet, id, &mut rendered.objects)
        .map_err(|refused| Unwanted::Refused(vec![Reason::of_refused("RenderFailed", refused)]))?;
    let by = applier(account, &home)?;
    Ok(FolderRequests { rendered, home, tombstones, cleanup, by, left_over, disputed })
}

/// The Clusters in a folder's namespaces, its own and others', with the reconciler's own rights: some belong to no
/// folder.
async fn clusters_in(live: &dyn ManagementCluster, home: &FolderHome) -> Result<Vec<LiveCluster>, Unwanted> {
    let kind = ApiKind::preferred("cluster.x-k8s.io", names::CLUSTER);
    let mut found = Vec::new();
    for namespace in home.namespaces() {
        let listed = live.list(&As::Reconciler, &kind, Some(namespace), &[]).await?;
        found.extend(listed.iter().filter_map(LiveCluster::of));
    }
    Ok(found)
}

/// With whose rights a folder is applied: those of the account in its own namespace, where the Fleet names
/// no other.
fn applier(account: &ServiceAccountSpec, home: &FolderHome) -> Result<As, Unwanted> {
    let namespace = account.namespace.as_deref().or_else(|| home.namespace()).ok_or_else(|| {
        let namespaces: Vec<&str> = home.namespaces().collect();
        Unwanted::Refused(vec![Reason::plain(
            "NoServiceAccount",
            format!(
                "the folder's objects are in several namespaces ({}), so it is unclear which one has the service account `{}`: set `spec.serviceAccount.namespace` of the Fleet",
                namespaces.join(", "),
                account.name
            ),
        )])
    })?;
    Ok(As::Impersonated(ServiceAccount { namespace: namespace.to_owned(), name: account.name.clone() }))
}

/// Renders a folder, or says why not.
fn render(fleet: &Fleet, id: &ClusterId) -> Result<(RenderedFolder, Deletion, bool), Vec<Reason>> {
    let failed = |refused| vec![Reason::of_refused("RenderFailed", refused)];
    let settings = fleet.own_settings(id).map_err(failed)?;
    let rendered = fleet.render(id).map_err(failed)?;
    let unusable = unusable(fleet, id, &rendered);
    if unusable.is_empty() { Ok((rendered, settings.delete, settings.cleanup)) } else { Err(unusable) }
}
