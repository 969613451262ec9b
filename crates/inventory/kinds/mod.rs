//! The kinds of an inventory, `capstan.dev/v1alpha1`, read strictly from the files below `inventory.path`.
//!
//! What is wrong is a finding with its place. An object with an error stays, and whoever names it is refused: of
//! one wrong file only the clusters that it concerns are lost.

mod inventory;
mod metadata;
mod object;

pub use inventory::{Inventory, InventorySettings, SourceText};
pub use object::{Object, Placed};

use super::origin::LevelKind;

/// Group and version of all kinds.
pub const API_VERSION: &str = "capstan.dev/v1alpha1";

/// The kind of the object that says the order of levels.
pub const SETTINGS: &str = "Inventory";

/// All kinds of an inventory.
pub fn all() -> impl Iterator<Item = &'static str> {
    std::iter::once(SETTINGS).chain(LevelKind::OF_OBJECTS.map(LevelKind::kind))
}
