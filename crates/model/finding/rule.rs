//! A rule's entry in the catalogue: what everybody needs who finds something, and no more.

use super::Severity;

/// What a rule is called and how bad its findings are.
///
/// Only [`rules`](super::rules) makes entries. A finding names its entry by the constant, so that an id that
/// is not in the catalogue, or a severity that differs from the catalogue's, does not compile.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleEntry {
    id: &'static str,
    severity: Severity,
    change: SeverityChange,
}

/// Whether the settings may change a rule's severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SeverityChange {
    /// `error`, `warning` or `off`, as they like.
    Free,
    /// It is an error for ever, whatever settings or commands say: what it finds breaks clusters, or opens one to those
    /// who may write another.
    Never,
}

impl RuleEntry {
    pub(super) const fn new(id: &'static str, severity: Severity, change: SeverityChange) -> Self {
        Self { id, severity, change }
    }

    /// `kubernetes-minor-skip`
    pub const fn id(&self) -> &'static str {
        self.id
    }

    /// The severity where the settings say nothing.
    pub const fn severity(&self) -> Severity {
        self.severity
    }

    /// Whether the settings may change that.
    pub const fn change(&self) -> SeverityChange {
        self.change
    }
}
