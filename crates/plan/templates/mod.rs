//! Templates ([U12]): what an edit of one does, who names it, and what it is called when it changes.
//!
//! Owns the paths of references, the canonical form of a spec, and the names of
//! rotated templates: in Git for clusters that others apply ([`crate::upgrade`] writes them), in the
//! render for clusters that a management cluster claims ([`name_templates`]); and what of all that a cluster is built
//! on for good ([`foundations`]).
//!
//! Deliberately absent: reading the live cluster. What it knows comes in as [`TemplateNames`].
//!
//! # U12
//!
//! The table of kinds says what an edit of a template does ([`Treatment`](capstan_model::kinds::Treatment)). For a kind
//! that is not in the table, the objects that name the template decide ([`treatment_in_role`]). A `*Template` that
//! neither decides is `unknown-template`.
//!
//! | treatment | an edit |
//! |---|---|
//! | `Rotate` | needs a new object with a new name; so does a bootstrap config that a MachinePool names |
//! | `MutableAndRolls` | in place; machines roll |
//! | `MutableSilent` | in place; nothing rolls |
//! | `Never` | of what only a ClusterClass names: rotated together with the class, never alone |
//!
//! | | cluster claimed by a management cluster | applied by others |
//! |---|---|---|
//! | Git | keeps the logical name | the upgrade adds the renamed template and rewrites the references in base |
//! | name | the live one, where the live template has that spec ([`TemplateNames`]); else by content | `<base name>-<8 hex of the canonical spec>` ([`rotated_name`]), or the release's own where it counts on (`-v2`, `-v1-34-1`, a date) |
//! | old template | the reconciler prunes it | stays; the next upgrade removes it if nothing here names it |
//! | decided in | [`name_templates`] | `crate::upgrade::rotation` |
//! | edited by a person under its name | the normal way | `template-edited-in-place` (error) |
//!
//! References are the fields that a table knows, and what names a template besides: values of a topology's variables
//! and of a class's patches, and whatever has the shape of a reference ([`naming_values`]). They follow likewise, in
//! Git and in the render. A template that is to change and that nothing in the folder names is not edited in place:
//! the upgrade blocks (`template-edited-in-place`); so it does where a value could name several.
//!
//! The base name is the name without an ending of 8 hex digits that is the hash of the template's own spec
//! ([`base_name`]). A class is rotated with its templates, and the class's name in the folder's Clusters follows; a
//! class that Clusters of other folders use is left as it is, and the upgrade blocks. Patches in the base follow
//! a new name; one in the overlay blocks (`overlay-names-template`), and `retarget` edits just the name there. A
//! new name without a change in meaning is `rollout-without-change`.
//!
//! [U12]: self#u12

mod class_upgrade;
mod control_planes;
mod foundation;
mod live;
mod naming;
mod preflight;
mod references;
mod rename;
mod role;
mod values;

pub use class_upgrade::ClassUpgrade;
pub use control_planes::ControlPlanes;
pub use foundation::{Foundation, ReplacedFoundation, foundations, replaced};
pub use live::{LiveTemplate, MisreadNames, TemplateNames};
pub use naming::{SpecDigest, base_name, rotated_name, spec_hash, split_suffix};
pub use preflight::{checked_kubeadm_template, checked_template, skips_check};
pub use references::{Reference, ReferencePath, reference_paths, references};
pub use rename::{NamedTemplate, Naming, name_templates};
pub use role::{TemplateRole, is_known_in_role, treatment_in_role};
pub use values::{NamingValue, is_named_by_value, naming_values, renamed};
