//! Whether what is applied now has machines replaced that there are.

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{is_cluster, is_control_plane};
use capstan_model::object::{FieldPath, ObjectId};

use super::waiting::{Groups, replaces_machines};
use super::{Changes, Plan};
use crate::live_objects::LiveObjects;

impl Plan {
    /// The first object of the steps for which machines are replaced that there are already; `None` where none is. Counts,
    /// labels and what is new replace none.
    pub fn replaces(
        &self,
        rendered: &[RenderedObject],
        changes: &Changes,
        live: &LiveObjects,
    ) -> Option<ObjectId> {
        let of_groups = Groups::of(rendered, live);
        let rolls = |id: &&ObjectId| {
            let Some(fields) = changes.get(*id).filter(|_| live.get(id).is_some()) else { return false };
            match () {
                () if is_cluster(id) => fields.iter().any(|field| changes_below(field, "/spec/topology")),
                () if is_control_plane(id) => fields.iter().any(|field| changes_below(field, "/spec")),
                () => of_groups.hold(id) && replaces_machines(id, fields),
            }
        };
        self.steps.iter().flat_map(|step| &step.objects).find(rolls).cloned()
    }
}

/// Whether a field lies below a path, and is more than a count.
fn changes_below(field: &FieldPath, path: &str) -> bool {
    let field = field.to_string();
    let is_below = field.is_empty()
        || path.starts_with(&format!("{field}/"))
        || field.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_below && !field.ends_with("/replicas")
}
