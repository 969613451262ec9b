//! What the rules look at, and how they name a provider.

use capstan_model::finding::{Finding, RuleEntry};
use capstan_model::version::ReleaseVersion;

use super::super::comparison::SetChanges;
use super::super::kind::ProviderKind;
use super::super::state::{RenderedSet, SetMember};
use super::facts::ProviderRuleFacts;

/// What the rules look at.
pub(super) struct RuleCase<'c> {
    pub(super) before: Option<&'c RenderedSet>,
    pub(super) after: &'c RenderedSet,
    pub(super) facts: &'c ProviderRuleFacts<'c>,
    pub(super) compared: &'c SetChanges,
}

impl<'c> RuleCase<'c> {
    /// The same provider before; `None` where it is new, or nothing is known of before.
    pub(super) fn before(&self, member: &SetMember) -> Option<&'c SetMember> {
        self.before?.members.iter().find(|old| old.kind == member.kind && old.name == member.name)
    }
}

/// Of a provider of the set.
pub(super) fn found(rule: &'static RuleEntry, member: &SetMember, message: impl Into<String>) -> Finding {
    Finding::new(rule, message).object(&member.id()).maybe_place(member.place.clone())
}

pub(super) fn parsed(member: &SetMember) -> Option<ReleaseVersion> {
    member.version().and_then(ReleaseVersion::parse)
}

/// `cluster-api v1.12.8`
pub(super) fn named(member: &SetMember) -> String {
    match member.version() {
        Some(version) => format!("{} {version}", member.label()),
        None => member.label(),
    }
}

/// The three that Cluster API releases and tests together.
pub(super) fn is_cluster_api(member: &SetMember) -> bool {
    match member.kind {
        ProviderKind::Core => true,
        ProviderKind::Bootstrap | ProviderKind::ControlPlane => member.name == "kubeadm",
        _ => false,
    }
}
