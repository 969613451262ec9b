//! Live guards, which no setting turns off: what the API server accepts and no cluster survives.
//!
//! The API takes a lower Kubernetes version, for control planes and workers alike, and Cluster API carries
//! it out with green conditions. It takes a control plane that jumps two minors where its machines have
//! not caught up with `spec`. It takes references to nothing, and where a control plane's template is
//! missing no condition ever says so. So every render is held against the live cluster before anything of
//! it is sent: first applies, drift repair and reverted merges alike.
//!
//! One broken guard refuses the whole folder, for the reasons given in [`super::boundary()`].
//!
//! | guard | is held against |
//! |---|---|
//! | a version below what is live | the higher of live `spec` and everything that runs (`status.version`, `status.versions`) |
//! | a minor left out | live `spec`; for control planes also the lowest that still runs, which waits instead of failing |
//! | a control plane that takes another one's place (`succession`) | the machines of the `Cluster`, whatever their control plane is called |
//! | a `Cluster` that somebody is deleting | the live `Cluster`: machines made beneath it would hold it up |
//! | a template, config or class that is neither rendered nor live | rendered names after [`name_templates`](capstan_plan::templates::name_templates), and live objects that are not being deleted |

mod broken;
mod references;
mod succession;
#[cfg(test)]
mod tests;
mod versions;

pub use self::broken::{GuardBreach, GuardBroken};
pub use self::references::named_outside;

use crate::live_objects::{LiveObjects, is_terminating};
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::is_cluster;
use capstan_model::object::FieldPath;
use capstan_plan::templates::ControlPlanes;

/// The guards that a render breaks, ordered by object and field. With any, nothing of the folder is
/// applied.
///
/// `rendered` has its namespaces and its live names; `live` holds every rendered object that exists, and
/// those of [`named_outside`]; of each rendered `Cluster` also its machines and the control plane that it names.
pub fn guards(rendered: &[RenderedObject], live: &LiveObjects) -> Vec<GuardBroken> {
    let planes = ControlPlanes::of(live.iter());
    let mut found = Vec::new();
    for object in rendered {
        let mut broken = |field: FieldPath, broken| {
            let written = object.written_at(&field);
            found.push(GuardBroken { object: object.id.clone(), field, written, broken });
        };
        let terminating = live.get(&object.id).is_some_and(is_terminating);
        if terminating && is_cluster(&object.id) {
            broken(FieldPath::root(), GuardBreach::ClusterTerminating);
        }
        versions::check(object, rendered, (live, &planes), &mut broken);
        succession::check(object, rendered, live, &mut broken);
        references::check(object, rendered, live, &mut broken);
    }
    found.sort_by(|a, b| a.object.cmp(&b.object).then_with(|| a.field.cmp(&b.field)));
    found.dedup();
    found
}
