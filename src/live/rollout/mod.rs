//! Which machines an upgrade replaces, adds and takes away ([U15](self#u15)), read from the rendered objects before
//! and after.
//!
//! Owns the reading of what makes Cluster API's controllers replace a machine ([`facts`] holds what is
//! known of each kind). Does not know the live cluster, but for the names of its templates where a reconciler
//! reports them ([`rollouts_live`], `certainty: exact`): every other answer is `certainty: offline`, or `unknown`
//! where only the live cluster, the topology controller or a provider could tell. What the live cluster
//! shows of a rollout is read in [`observed`].
//!
//! | file | tells |
//! |---|---|
//! | `facts` | the table: fields that roll, fields changed in place, who runs what |
//! | `owner` | what owns machines, how many, by which strategy |
//! | `reading`, `references` | a cluster before and after; what its owners name |
//! | `control_plane`, `workers`, `pool` | what each sort of owner does about a change |
//! | `numbers` | how many machines are replaced, come and go |
//! | `kubeadm` | whether two `kubeadmConfigSpec` mean the same machine |
//! | `own_fields` | what a control plane's controller makes of its own fields |
//! | `elsewhere` | classes that lie elsewhere than the Clusters that name them |
//! | `topology`, `class` | Clusters with a managed topology, and what their classes and variables make |
//! | `course` | a verdict in the making |
//! | `live` | the same with the live names of templates |
//! | `pointer` | fields by their JSON Pointers |
//! | [`observed`] | what has become of it, as the live cluster shows |
//!
//! # U15
//!
//! | | |
//! |---|---|
//! | compared | the rendered objects before and after, in one API version |
//! | a rollout | a change of version, of a template or bootstrap config that is named, of fields that the controller of their owner compares with machines ([`facts`]), of `rollout.after` |
//! | no rollout | scaling alone; what controllers change in place; `spec.topology.rolloutAfter`, which Cluster API does not read |
//! | machines | from `replicas`; `null` where Git does not say |
//! | machines lost with their owner | a rollout whose `because` is `[""]` |
//! | `certainty` | `exact` with the live names of templates, `offline` without, `unknown` where only the live cluster, the topology controller or a provider could tell |

mod class;
mod control_plane;
mod course;
mod elsewhere;
pub(crate) mod facts;
mod kubeadm;
mod live;
mod numbers;
pub mod observed;
mod own_fields;
mod owner;
mod pointer;
mod pool;
mod reading;
mod references;
#[cfg(test)]
mod tests;
mod topology;
mod workers;

use self::elsewhere::InOneVersion;
pub use self::live::rollouts_live;
use self::reading::{LiveNames, Reading, by_id};
use capstan_kustomize::render::{RenderedObject, in_versions_of};
use capstan_kustomize::schema::Schemas;
use capstan_model::kinds::is_cluster;
use capstan_plan::classes::Elsewhere;
use capstan_plan::merge::AppliedBy;
use capstan_plan::upgrade::Rollout;

/// What becomes of machines when `after` is applied over `before`, ordered by object.
///
/// Who applies decides what an edited template means: the reconciler gives it a new name, so machines
/// roll; under its old name, applied by others, it is refused or rolls nothing. `elsewhere` is what is known of
/// classes that the Clusters name and these objects lack: they are looked up, and nothing becomes of them here.
pub fn rollouts(
    before: &[RenderedObject],
    after: &[RenderedObject],
    applied: AppliedBy,
    elsewhere: &Elsewhere,
) -> Vec<Rollout> {
    predict(before, after, applied, &LiveNames::default(), elsewhere)
}

/// The same, where objects of these kinds and names are one live object each: the same name, the same spec.
fn predict(
    before: &[RenderedObject],
    after: &[RenderedObject],
    applied: AppliedBy,
    live: &LiveNames,
    elsewhere: &Elsewhere,
) -> Vec<Rollout> {
    // What one API version only spells otherwise than another replaces nothing. A change may go back to an older
    // one, to which no steps are known: then both are compared in the newer.
    let before: &[RenderedObject] = &in_versions_of(before, after, Schemas::built_in());
    let after: &[RenderedObject] = &in_versions_of(after, before, Schemas::built_in());
    let elsewhere = InOneVersion::of(elsewhere);
    let reading =
        Reading { before: by_id(before), after: by_id(after), applied, live, elsewhere: elsewhere.sides() };
    let mut found: Vec<Rollout> = before.iter().filter_map(|object| reading.of(object)).collect();
    found.extend(after.iter().filter_map(|object| reading.of_new(object)));
    found.sort_by(|a, b| a.object.cmp(&b.object));
    let upgrades = |rollout: &Rollout| {
        rollout.because.iter().any(|path| path.to_string().ends_with("/version"))
            && rollout.course.order == Some(1)
    };
    let control_plane_upgrades = found.iter().any(upgrades);
    for rollout in &mut found {
        let replaced = rollout.course.replaced != Some(0) && !is_cluster(&rollout.object);
        if control_plane_upgrades && rollout.course.order == Some(2) && replaced {
            rollout.course.notes.push(
                match applied {
                    AppliedBy::Reconciler => "Waits until the control plane is done.",
                    AppliedBy::Others => {
                        "Applied together with the control plane: Cluster API's preflight checks hold new workers back until it is stable, where they are on."
                    }
                }
                .to_owned(),
            );
        }
    }
    found
}
