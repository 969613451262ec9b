//! Provider objects as they are applied: in the version that the operator's API has, whatever Git says.
//!
//! v1alpha1 is gone from that API since v0.20.0, and people's Git still has it. Their files stay as they are until a release
//! says v1alpha2.

use capstan_kustomize::conversion::{apply, convert};
use capstan_kustomize::render::{RenderedFolder, RenderedObject};
use capstan_kustomize::schema::Schemas;
use capstan_model::kinds::is_provider;
use capstan_providers::{GROUP, VERSION};
use capstan_yaml::Node;

use super::Refused;

/// Brings provider objects to v1alpha2.
///
/// # Errors
/// One that says what has no place there, with the place where that is written.
pub(super) fn in_served_version(rendered: &mut RenderedFolder) -> Result<(), Refused> {
    let served = format!("{GROUP}/{VERSION}");
    let is_older = |object: &&mut RenderedObject| {
        is_provider(&object.id.group, &object.id.kind) && object.api_version != served
    };
    for object in rendered.objects.iter_mut().filter(is_older) {
        let mut node = Node::from_value(&object.value);
        let conversion = convert(&node, &served, Schemas::built_in()).map_err(|error| Refused {
            message: format!("{}: {error}", object.id),
            place: Some(object.written_at(&error.field)),
        })?;
        apply(&mut node, &conversion);
        object.value = node.value();
        object.api_version.clone_from(&served);
    }
    Ok(())
}
