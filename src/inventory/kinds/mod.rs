//! The kinds of an inventory, `capstan.dev/v1alpha1`, read strictly from the files below `inventory.path`.
//!
//! What is wrong is a finding with its place. An object with an error stays, and whoever names it is refused: of
//! one wrong file only the clusters that it concerns are lost.

mod inventory;
mod metadata;
mod object;

pub use inventory::{Inventory, InventorySettings, SourceText};
pub use object::{Object, Placed};

/// Group and version of all kinds.
pub const API_VERSION: &str = "capstan.dev/v1alpha1";
