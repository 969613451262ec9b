//! Whether the kinds of the OpenStack resource controller (ORC) are there that a folder brings objects of.

use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::Scopes;
use capstan_model::kinds::is_of_orc;
use capstan_model::object::FieldPath;

use crate::reason::Reason;

/// The reason of a folder that waits for somebody to install the controller.
pub const CLOUD_CONTROLLER_MISSING: &str = "CloudControllerMissing";

/// Why nothing of a folder with objects of ORC is applied, where the API server does not serve their kinds.
pub fn refuse_unknown(objects: &[RenderedObject], scopes: &Scopes) -> Vec<Reason> {
    let mut told: Vec<&str> = Vec::new();
    let mut reasons = Vec::new();
    for object in objects.iter().filter(|object| is_of_orc(&object.id.group)) {
        let kind = object.id.kind.as_str();
        if scopes.of(&object.id.group, kind).is_some() || told.contains(&kind) {
            continue;
        }
        told.push(kind);
        let message = format!(
            "the management cluster does not serve {kind} of {}: install a version of the OpenStack resource controller (ORC) that has it. Until then, nothing of the folder is applied",
            object.id.group
        );
        reasons.push(Reason::of_object(CLOUD_CONTROLLER_MISSING, message, object, &FieldPath::root()));
    }
    reasons
}
