//! What one machine template asks of a cloud for each machine.

use capstan_model::object::{FieldPath, ObjectId};

use super::identity::Identity;
use super::named::CloudSelector;
use super::words::Words;

/// What a machine of one template is made from, and the fields that say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) template: ObjectId,
    /// Whether its version is known; else all that follows is empty.
    pub(super) is_read: bool,
    /// Its own identity; that of its cluster where `None`.
    pub(super) identity: Option<Identity>,
    pub(super) machine_type: Option<(CloudSelector, FieldPath)>,
    pub(super) image: Option<(CloudSelector, FieldPath)>,
    pub(super) key_pair: Option<(String, FieldPath)>,
    pub(super) placement_group: Option<(CloudSelector, FieldPath)>,
    pub(super) networks: Vec<(CloudSelector, FieldPath)>,
    /// GiB of the volume that it boots from; `None` where it boots from the disk of its machine type.
    pub(super) root_volume: Option<u64>,
    /// GiB of each volume, the root's included.
    pub(super) volumes: Vec<u64>,
    pub(super) ports: u64,
}

impl Machine {
    /// One whose version is not known.
    pub(super) fn unread(template: &ObjectId) -> Self {
        Self {
            template: template.clone(),
            is_read: false,
            identity: None,
            machine_type: None,
            image: None,
            key_pair: None,
            placement_group: None,
            networks: Vec::new(),
            root_volume: None,
            volumes: Vec::new(),
            ports: 0,
        }
    }

    /// What it is called in sentences: by its machine type.
    pub(super) fn shown(&self, words: &Words) -> String {
        match &self.machine_type {
            Some((CloudSelector::Filter { name: Some(name), .. } | CloudSelector::Id(name), _)) => {
                name.clone()
            }
            _ => format!("an unnamed {}", words.machine_type),
        }
    }
}
