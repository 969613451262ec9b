//! What a rule is, and what it judges.

use jiff::civil::Date;

use super::cluster_api::CoreVersion;
use super::evidence::{Evidence, Survey};
use crate::merge::AppliedBy;
use crate::release::Release;
use capstan_kustomize::render::{Folders, Rendered, RenderedObject};
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::{Finding, Place, RuleEntry};

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

/// What rules judge: one cluster before and after. Plain values; whoever has them asks.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// Where the cluster's files lie.
    pub folders: &'a Folders,
    /// The cluster as it is; empty for a cluster that is new.
    pub before: &'a Rendered,
    /// The cluster as it would be.
    pub after: &'a Rendered,
    /// What the repository applies inside the cluster.
    pub inside: &'a [RenderedObject],
    /// Who applies it.
    pub applied_by: AppliedBy,
    /// What brought the change.
    pub occasion: Occasion,
    /// The releases, where the change goes from one to another.
    pub release: Option<ReleaseStep<'a>>,
    /// What is known of objects' fields.
    pub schemas: &'a Schemas,
    /// The version of Cluster API that manages the cluster, where that is known.
    pub cluster_api: Option<CoreVersion>,
    /// The day (UTC) on which it is judged.
    pub today: Date,
}

/// What brought a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// An upgrade that Capstan plans.
    Upgrade,
    /// Anything in a pull request or between two revisions.
    Revision,
}

/// From one release to another.
#[derive(Debug, Clone)]
pub struct ReleaseStep<'a> {
    /// The release left; `None` where it is unknown.
    pub from: Option<&'a Release>,
    /// The release entered.
    pub to: &'a Release,
    /// Where the cluster names its release.
    pub place: Option<Place>,
}
