//! What a folder of manifests comes to. Knows Kubernetes and kustomize, and nothing of releases and upgrades.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`schema`] | what is known of objects' fields: types, lists, values | nothing |
//! | [`conversion`] | steps from one API version of a kind to another | `schema` |
//! | [`render`] | base + overlay -> objects | `conversion`, `schema` |

#![warn(missing_docs)]

pub mod conversion;
pub mod render;
pub mod schema;
