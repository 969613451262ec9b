//! Which credentials a folder asks for, as Git says.

use std::sync::Arc;

use capstan_kustomize::render::RenderedObject;
use capstan_model::ids::ClusterId;
use capstan_reconciler_core::credentials::{self, CredentialRequest};
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::resources::FleetSpec;

use crate::reconcile::blocking::where_blocking_is_allowed;
use crate::reconcile::revision::Revision;

/// What a folder that renders these objects asks for.
pub(in crate::reconcile) async fn asked(
    fleet: &FleetSpec,
    revision: &Revision,
    id: &ClusterId,
    objects: &[RenderedObject],
) -> Result<CredentialRequest, Reason> {
    if fleet.cloud_credentials.is_empty() {
        return Ok(CredentialRequest::Nothing);
    }
    let (tree, of) = (Arc::clone(&revision.fleet), id.clone());
    let cloud = where_blocking_is_allowed(move || tree.own_settings(&of)).await;
    let cloud = cloud.map_err(|refused| Reason::of_refused("RenderFailed", refused))?.cloud;
    Ok(cloud
        .map_or(CredentialRequest::Nothing, |cloud| credentials::asked(fleet, id, cloud.as_str(), objects)))
}
