//! One folder beside one look at the live cluster: everything that is decided on.

use capstan_kustomize::render::RenderedObject;
use capstan_live::live_objects::LiveObjects;
use capstan_model::ids::ClusterId;
use capstan_plan::templates::{NamedTemplate, TemplateNames};
use capstan_reconciler_core::credentials::{CredentialRequest, bears_mark, reserved};
use capstan_reconciler_core::owners;
use capstan_reconciler_core::resources::ManagedClusterStatus;
use jiff::Timestamp;
use serde_json::Value;

use super::credentials::asked;
use super::dependencies::Ports;
use super::gather::read_live;
use super::ports::FleetRecord;
use super::provider_sets::{self, ObservedSet};
use super::revision::Revision;
use super::templates::{Namer, NamingError};
use super::wanted::{self, FolderRequests};
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::unwanted::Unwanted;

/// Everything that a folder asks for under its live names, beside everything that is there.
pub(super) struct Observation {
    /// What the folder asks for, under the names in Git.
    pub(super) wanted: FolderRequests,
    /// Its objects under their live names.
    pub(super) objects: Vec<RenderedObject>,
    /// The templates among them.
    pub(super) templates: Vec<NamedTemplate>,
    /// The names that were known, and those that were found out.
    pub(super) names: TemplateNames,
    /// What is there.
    pub(super) live: LiveObjects,
    /// Who installs what the folder asks for, where it is a provider set.
    pub(super) set: Option<ObservedSet>,
    /// Which credentials of a cloud it asks for.
    pub(super) credentials: CredentialRequest,
}

/// Renders, checks the boundary, names templates, and reads what is there. Writes nothing. `status` is what was
/// noted last. Where a class was changed after `class_changed_after`, the objects that were cloned from it show how
/// far the rollout is.
pub(super) async fn observe(
    ports: &Ports,
    fleet: &FleetRecord,
    revision: &Revision,
    id: &ClusterId,
    status: &ManagedClusterStatus,
    class_changed_after: Timestamp,
) -> Result<Observation, Unwanted> {
    let live = ports.live.as_ref();
    let settings = revision.fleet.settings();
    let account = provider_sets::applied_as(settings, id, fleet);
    let wanted = wanted::read(revision, id, &account, live, &ports.kinds).await?;
    let credentials = asked(&fleet.spec, revision, id, &wanted.rendered.objects).await;
    let credentials = credentials.map_err(|reason| Unwanted::Refused(vec![reason]))?;
    let refused = reserved(&credentials, &wanted.rendered.objects);
    if !refused.is_empty() {
        return Err(Unwanted::Refused(refused));
    }
    let namer = Namer { fleet: &revision.fleet, cluster: id, live, by: &wanted.by };
    let named = namer.name(&wanted.rendered, &status.names()).await.map_err(|error| match error {
        NamingError::Refused(refused) => Unwanted::Refused(vec![Reason::of_refused("RenderFailed", refused)]),
        NamingError::Live(error) => Unwanted::Live(error),
    })?;
    let objects = named.rendered.objects;
    let mut found = read_live(live, &wanted.by, &objects, &status.inventory, class_changed_after).await?;
    let marked = |object: &RenderedObject| {
        let live = found.get(&object.id)?;
        bears_mark(object, live).or_else(|| owners::secret::bears_mark(object, live))
    };
    let refused: Vec<Reason> = objects.iter().filter_map(marked).collect();
    if !refused.is_empty() {
        return Err(Unwanted::Refused(refused));
    }
    let set = match provider_sets::by(settings, id) {
        Some(by) => {
            let operators = ports.operators.as_ref();
            Some(provider_sets::observe(operators, live, &wanted.by, by, &objects, &mut found).await?)
        }
        None => None,
    };
    Ok(Observation {
        wanted,
        objects,
        templates: named.templates,
        names: named.names,
        live: found,
        set,
        credentials,
    })
}

/// The UID of a live object.
pub(super) fn uid(object: &Value) -> Option<&str> {
    object.pointer("/metadata/uid").and_then(Value::as_str)
}
