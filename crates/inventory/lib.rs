//! The inventory: values that clusters share, said once, and templates that make clusters' bases of them.
//!
//! Files go in as texts, values and objects come out, each with the place that it comes from. Knows nothing of
//! upgrades and proposals.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`bootstrap`] | a management cluster's objects, in order | nothing |
//! | [`engine`] | the template engine and its bounds | nothing |
//! | [`braces`] | which texts are expressions (I8) | `engine` |
//! | [`origin`] | the kinds of levels, and the place of a value | nothing |
//! | [`fields`] | reading an object's fields strictly | `origin` |
//! | [`folder`] | the folder of a new cluster | `origin` |
//! | [`kinds`] | the objects of an inventory, read from its files | `fields`, `folder`, `origin` |
//! | [`membership`] | which objects a cluster belongs to (I10) | `kinds`, `origin` |
//! | [`schema`] | a release's `schema.yaml` | `fields`, `origin` |
//! | [`merge`] | what levels say together (I1 to I7) | `braces`, `fields`, `kinds`, `origin`, `schema` |
//! | [`context`] | values as templates and expressions see them | `braces`, `engine` |
//! | [`credentials`] | which variables are credentials | nothing |
//! | [`import`] | flat files of variables, as values | `context`, `credentials` |
//! | [`expression`] | expressions in values | `braces`, `context`, `engine`, `merge`, `origin` |
//! | [`check`] | values against the schema | `fields`, `merge`, `origin`, `schema` |
//! | [`unknown`] | values that no release knows | `kinds`, `origin`, `schema` |
//! | [`values`] | the values of one cluster | `check`, `expression`, `kinds`, `membership`, `merge`, `origin`, `schema` |
//! | [`templates`] | a release's templates, and what they come to (T1 to T8) | `context`, `engine`, `kinds`, `merge`, `origin`, `values` |
//! | [`components`] | kustomize components over what templates come to | `kinds`, `origin`, `templates` |
//! | [`record`] | the values that a base was made from (I9) | `kinds`, `merge`, `origin`, `values` |
//! | [`steps`] | the steps that a whole inventory may take | nothing |
//! | [`survey`] | a whole inventory over a snapshot | `components`, `kinds`, `membership`, `origin`, `record`, `schema`, `steps`, `templates`, `unknown`, `values` |
//! | [`examples`] | releases tried on examples | `kinds`, `origin`, `schema`, `steps`, `survey`, `templates`, `unknown`, `values` |
//! | [`trace`] | where a value comes from, and who has it | `merge`, `origin`, `values` |

pub mod bootstrap;
mod braces;
mod check;
pub mod components;
mod context;
mod credentials;
mod engine;
pub mod examples;
pub mod expression;
mod fields;
mod folder;
pub mod import;
pub mod kinds;
pub mod membership;
pub mod merge;
pub mod origin;
pub mod record;
pub mod schema;
mod steps;
pub mod survey;
pub mod templates;
#[cfg(test)]
mod testing;
pub mod trace;
mod unknown;
pub mod values;

pub use folder::FolderPattern;
pub use unknown::{ReleasesBelow, unknown_values};
