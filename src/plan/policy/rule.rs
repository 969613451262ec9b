//! What a rule is, and what the catalogue says of it.

use super::evidence::{Evidence, Survey};
use capstan_model::finding::{Finding, RuleEntry};

/// One rule: what it stands for, and how it judges.
///
/// A rule whose verdict falls elsewhere (in the middle of the merge, say, or where files are read) only
/// has its entry here; whoever reaches the verdict makes the [`Finding`] with the rule's entry.
pub trait Rule: Sync {
    /// What the catalogue says of it.
    fn about(&self) -> &'static About;

    /// Adds what is wrong with a cluster as it stands. Of an upgrade only what it brings is told: what
    /// the cluster had already is taken out again.
    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        let _ = (cluster, verdicts);
    }

    /// Adds what is wrong with a change.
    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let _ = (change, verdicts);
    }
}

/// A rule's entry in the catalogue.
#[derive(Debug)]
pub struct About {
    /// What it is called and how bad it is.
    pub entry: &'static RuleEntry,
    /// What it finds, in one sentence.
    pub summary: &'static str,
    /// Why that is bad.
    pub reason: &'static str,
    /// The specification, or the documentation that proves it: a URL.
    pub source: &'static str,
    /// What breaks it.
    pub bad: Example,
    /// The same, done right.
    pub good: Example,
}

/// A situation, told in files. The bad one has exactly one finding of its rule, and the good one none:
/// `tests/examples.rs` runs them all as real input.
///
/// In `bad`, a comment `# <--` stands in the line that the finding names. The clusters of examples are
/// below `peu01`, their releases below `aws`.
#[derive(Debug, Clone, Copy)]
pub enum Example {
    /// A tree, for `validate`.
    Tree(Files),
    /// A pull request, or any two revisions.
    Change {
        /// The tree before.
        before: Files,
        /// The tree after.
        after: Files,
    },
    /// A tree whose one cluster is upgraded to its newest release.
    Upgrade(Files),
}

/// Paths from the repository's root, and texts. A path `a -> b` is a symbolic link.
pub type Files = &'static [(&'static str, &'static str)];
