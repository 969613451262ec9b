//! What an inventory says of one folder, beside what the folder records.

use capstan_inventory::kinds::Object;
use capstan_inventory::record::{self, ValuesRecord};
use capstan_model::finding::{FileError, Finding, Place, rules};
use capstan_model::tree::{RepoPath, Tree};

use super::fleet::FleetInventory;

/// What an inventory says of a folder.
#[derive(Debug, Clone, Copy)]
pub enum InventoryDefinition<'i> {
    /// Nothing, and it never did.
    Nothing,
    /// This.
    Defined(&'i Object),
}

/// Why nothing is proposed to a cluster that the inventory has, or had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InventoryGap {
    /// The inventory cannot be used. Open pull requests stay as they are.
    Unreadable {
        /// Why, as the beginning of a sentence.
        why: String,
        /// Where.
        place: Place,
    },
    /// It defines the cluster no more.
    Removed(Box<Finding>),
}

/// The record in a cluster's folder; `None` where there is none.
///
/// # Errors
/// It is not what Capstan wrote.
pub fn record_of(tree: &dyn Tree, folder: &RepoPath) -> Result<Option<ValuesRecord>, FileError> {
    let Some(entry) = folder.join(record::FILE).ok().and_then(|path| tree.entry(&path)) else {
        return Ok(None);
    };
    let bytes = tree.read(entry)?;
    ValuesRecord::read(&entry.path, &bytes).map(Some)
}

impl<'i> InventoryDefinition<'i> {
    /// What an inventory says of a folder; without an inventory nothing.
    ///
    /// # Errors
    /// Why nothing is proposed to it: the folder is one of the inventory's, as its record says, and the inventory
    /// cannot be read or says nothing of it any more.
    pub fn of(
        inventory: Option<&'i FleetInventory>,
        folder: &RepoPath,
        record: Option<&ValuesRecord>,
    ) -> Result<Self, InventoryGap> {
        let Some(inventory) = inventory else {
            return match record {
                None => Ok(Self::Nothing),
                Some(record) => Err(removed(folder, record, "`.capstan.yaml` no longer names an inventory")),
            };
        };
        let defined = inventory.definition_in(folder);
        if let Some((why, place)) = inventory.unreadable()
            && (record.is_some() || defined.is_some())
        {
            return Err(InventoryGap::Unreadable { why: why.clone(), place: place.clone() });
        }
        match (defined, record) {
            (Some(definition), record) => match record {
                Some(record) if record.definition != definition.level.name => {
                    let why = format!("{} would be in its folder", definition.level);
                    Err(removed(folder, record, &why))
                }
                _ => Ok(Self::Defined(definition)),
            },
            (None, None) => Ok(Self::Nothing),
            (None, Some(record)) => Err(removed(folder, record, "the inventory no longer defines it")),
        }
    }
}

/// Of a folder that records a definition that is not there.
fn removed(folder: &RepoPath, record: &ValuesRecord, why: &str) -> InventoryGap {
    let message = format!(
        "{folder} was made from the definition {}, but {why}. Capstan proposes nothing and deletes nothing. Restore the definition. To delete the cluster, write `retire: true` in it. To keep it without an inventory, remove {}",
        record.definition,
        record::FILE
    );
    let place = folder.join(record::FILE).unwrap_or_else(|_| folder.clone());
    InventoryGap::Removed(Box::new(
        Finding::new(rules::DEFINITION_REMOVED, message).place(Place::line_of(place, 1).at_first_column()),
    ))
}
