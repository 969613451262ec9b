//! The kinds of an inventory, `capstan.dev/v1alpha1`, read strictly from the files below `inventory.path`.
//!
//! An error is a finding with its place. An object with an error stays, and an object that names it is
//! refused: a wrong file only affects the clusters that it concerns.

mod inventory;
mod metadata;
mod object;

pub use inventory::{InventoryFiles, InventorySettings, SourceText};
pub use object::{Object, PlacedWord};

use super::origin::LevelKind;

/// Group and version of all kinds.
pub const API_VERSION: &str = "capstan.dev/v1alpha1";

/// The kind of the object that says the order of levels.
pub const SETTINGS: &str = "Inventory";

/// All kinds of an inventory.
pub fn all() -> impl Iterator<Item = &'static str> {
    std::iter::once(SETTINGS).chain(LevelKind::OF_OBJECTS.map(LevelKind::kind))
}
