//! What an upgrade does to what runs inside a cluster.

use crate::settings::{ServiceFolder, ServiceRole};
use capstan_model::object::{FieldPath, ObjectId};
use serde::{Deserialize, Serialize};

/// One service that comes, changes or goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceChange {
    /// Its name; of a folder that no `capstan.yaml` names, that of the folder.
    pub name: String,
    /// What it is for, where `capstan.yaml` says so.
    pub role: ServiceRole,
    /// What becomes of it.
    pub course: ServiceCourse,
    /// Its folder beside base; `None` where objects of base bring it.
    pub folder: Option<ServiceFolder>,
    /// The version of its objects before; `None` where they do not say one.
    pub from: Option<String>,
    /// The same after.
    pub to: Option<String>,
    /// Keys of its entry in `capstan.yaml` that change.
    pub settings: Vec<String>,
    /// What somebody changed of what the old release brought, and what the upgrade leaves so.
    pub kept: Vec<KeptEdit>,
}

/// What becomes of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceCourse {
    /// It comes.
    Add,
    /// It stays, and something of it changes.
    Modify,
    /// It goes.
    Remove,
}

/// A field that is not as the release has it, and stays so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptEdit {
    pub object: ObjectId,
    /// The field, in its place after the upgrade; the root for a whole object that the release does not bring.
    pub path: FieldPath,
}
