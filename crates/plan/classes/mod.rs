//! ClusterClasses: which Cluster uses which class, and what a class is that is elsewhere than the Clusters that use
//! it.
//!
//! Most repositories keep their classes in a folder beside the clusters (`clusterclasses/…`), so that a cluster's
//! own render does not have the class that its Cluster names. Here it is found, and with it the templates that it
//! names: what variables and patches do to machines can be computed only with them.
//!
//! | file | tells |
//! |---|---|
//! | `users` | which class a Cluster names, and which of them its own render lacks |
//! | `index` | in which files of a snapshot classes are |
//! | `kustomizations` | which kustomizations bring a file somewhere |
//! | `root` | what may be applied as a whole, and its render |
//! | `found` | what the class is, where all that is applied agrees |
//!
//! Deliberately absent: who applies a root, whether it is applied at all, and what Flux substitutes in it. A
//! repository does not say so. So every root counts, and if two differ the class is not known.

mod found;
mod index;
mod kustomizations;
mod root;
#[cfg(test)]
mod tests;
mod users;

pub use found::{Classes, ClassesElsewhere, FoundClass, look_up};
pub use index::{ClassIndex, has_class};
pub use root::Root;
pub use users::{ClassRef, class_names, classes_used, named_elsewhere};
