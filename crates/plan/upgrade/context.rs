//! What every step of a plan may look at. Nothing of it changes while an upgrade is planned.

use super::request::UpgradeRequest;
use crate::merge::cluster_objects::Base;
use capstan_model::finding::{Finding, RuleEntry};
use capstan_model::object::FieldPath;
use capstan_yaml::YamlFile;

/// What was asked, and the cluster's files, read.
#[derive(Clone, Copy)]
pub(super) struct Context<'p> {
    pub(super) request: &'p UpgradeRequest<'p>,
    /// The base, in the API versions of the new release.
    pub(super) base: &'p Base,
    /// The overlay's files, in the order of the request's.
    pub(super) overlay: &'p [YamlFile],
}

impl Context<'_> {
    /// A finding about a byte of one of the base's objects.
    pub(super) fn finding_at(
        &self,
        rule: &'static RuleEntry,
        message: String,
        object: usize,
        at: usize,
        path: &FieldPath,
    ) -> Finding {
        let id = &self.base.objects[object].id;
        Finding::new(rule, message).place(self.base.place(object, at)).object(id).path(path)
    }
}
