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
//! | `pair`, `by_id` | a value before and after; the objects of one side |
//! | `references` | what machines are made from, as their owners name it |
//! | `cluster_change` | a cluster before and after; whether what its owners name replaces machines |
//! | `control_plane`, `workers`, `pool` | what each sort of owner does about a change |
//! | `pools` | the table of pools: what a change does to instances, by kind of infrastructure |
//! | `numbers` | how many machines are replaced, come and go |
//! | `kubeadm` | whether two `kubeadmConfigSpec` mean the same machine |
//! | `own_fields` | what a control plane's controller makes of its own fields |
//! | `elsewhere` | classes from other folders than the Clusters that name them |
//! | `topology`, `class` | Clusters with a managed topology, and what their classes and variables make |
//! | `groups` | the groups of machines of one topology, as its class makes them |
//! | `held_back` | worker groups that an annotation holds back in upgrades |
//! | `upgrade_course` | by which versions of Kubernetes a topology goes |
//! | `class_sides` | the class of a Cluster before and after, from any folder |
//! | `course` | a verdict in the making |
//! | `predict` | the rollouts of all owners |
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

mod by_id;
mod class;
mod class_sides;
mod cluster_change;
mod control_plane;
mod course;
mod elsewhere;
pub(crate) mod facts;
mod groups;
mod held_back;
mod kubeadm;
mod kubeadm_workers;
mod live;
mod numbers;
pub mod observed;
mod own_fields;
mod owner;
mod pair;
mod pointer;
mod pool;
pub(crate) mod pools;
mod predict;
mod references;
#[cfg(test)]
mod tests;
mod topology;
mod upgrade_course;
mod workers;

pub use self::groups::{TopologyGroup, topology_groups};
pub use self::live::rollouts_live;
pub use self::owner::{most_surge, replicas};
pub use self::predict::rollouts;
