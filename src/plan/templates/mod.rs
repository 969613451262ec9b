//! Templates (U12): what an edit of one does, who names it, and what it is called when it changes.
//!
//! Owns the paths of references, the canonical form of a spec, and the names of
//! rotated templates: in Git for clusters that others apply ([`crate::upgrade`] writes them), in the
//! render for clusters that a management cluster claims ([`name_templates`]); and what of all that a cluster is built
//! on for good ([`foundations`]).
//!
//! Deliberately absent: reading the live cluster. What it knows comes in as [`TemplateNames`].

mod foundation;
mod live;
mod naming;
mod references;
mod rename;
mod role;

pub use foundation::{Foundation, Replaced, foundations, replaced};
pub use live::{LiveTemplate, MisreadNames, TemplateNames};
pub use naming::{SpecDigest, base_name, rotated_name, spec_hash, split_suffix};
pub use references::{Reference, ReferencePath, reference_paths, references};
pub use rename::{NamedTemplate, Naming, name_templates};
pub use role::{Role, is_known_in_role, treatment_in_role};
