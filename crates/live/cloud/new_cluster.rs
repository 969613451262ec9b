//! A cluster that is not there yet.

use capstan_model::object::{FieldPath, ObjectId};

use super::facts::Resource;
use super::named::CloudSelector;

/// A cluster that is not there yet: what it needs besides machines.
#[derive(Debug, Clone)]
pub(super) struct NewCluster {
    pub(super) object: ObjectId,
    pub(super) networks: Vec<(CloudSelector, FieldPath)>,
    /// Whether the provider looks for the one external network by itself.
    pub(super) finds_external: bool,
    pub(super) zones: Vec<(String, FieldPath)>,
    pub(super) needs: Vec<(Resource, u64, &'static str)>,
}
