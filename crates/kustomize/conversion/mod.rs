//! Converts an object from its API version to another one of the same kind.
//!
//! Cluster API converts on the server: `v1beta1` objects come back as `v1beta2` with fields moved,
//! durations in seconds, maps of arguments as lists. This room says the same as a list of small steps,
//! one a field, so that they can be replayed on a value ([`apply()`]) and on a text, where comments travel
//! with their values. It may use `yaml`, `object`, `version` and `schema`; it knows nothing of merging
//! and upgrades.
//!
//! | file | idea |
//! |---|---|
//! | `step`, `refusal` | a conversion as a list of steps; why there is none |
//! | `has_variables` | texts that are filled in before a server reads them |
//! | `apply` | steps, replayed on a value |
//! | `paths` | where fields stand before and after |
//! | `text` | steps, replayed on the text of a document |
//! | `rounds` | which steps one reading of a text is enough for |
//! | `rules` | what Cluster API changed between v1beta1 and v1beta2, type by type |
//! | `cluster_api` | its own kinds: the walk with the rules |
//! | `tidy` | what of these says nothing and goes |
//! | `older` | its alpha versions |
//! | `operator` | the Cluster API operator's provider objects |
//! | `providers` | kinds of providers whose shape changes: a table for each, and the engine that reads them |
//! | `definitions` | everybody else's kinds, where definitions show the same shape |
//! | `judge` | what the newer version's definition asks of the result |
//! | `convert` | the steps of any kind |
//! | `newest` | which versions of its kind an object can be brought to |
//! | `ends` | which releases no longer serve an API version |
//!
//! *Guarantees*: the first step sets `apiVersion`; steps are done in order, and a path speaks of the
//! object as the steps before have left it; no step adds or removes an item of a list but one that writes the list
//! as a whole, so indexes never shift. What is not understood is refused by name, never guessed.
//!
//! Deliberately absent: `status` (the controllers' own), defaulting (the server's), and downgrades.

mod apply;
mod cluster_api;
mod convert;
mod definitions;
mod ends;
mod has_variables;
mod judge;
mod newest;
mod older;
mod operator;
mod paths;
mod providers;
mod refusal;
mod rounds;
mod rules;
mod step;
#[cfg(test)]
mod tests;
mod text;
mod tidy;

pub use self::apply::apply;
pub use self::convert::{convert, convert_or_all, is_known};
pub use self::ends::{ServedUntil, served_until};
pub use self::has_variables::has_variables;
pub use self::newest::{served_since, versions_after};
pub use self::providers::ServedSince;
pub use self::refusal::Unconvertible;
pub use self::step::{AtHand, Conversion, ConversionNote, ConversionStep, ItemFields};
pub use self::text::{Replay, in_order_of, replay};
