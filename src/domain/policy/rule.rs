//! What a rule is, and what it judges.

use jiff::civil::Date;

use super::cluster_api::CoreVersion;
use super::evidence::{Evidence, Survey};
use crate::finding::{Finding, Severity};
use crate::merge::AppliedBy;
use crate::object::{FieldPath, ObjectId};
use crate::release::Release;
use crate::render::{Folders, Place, Rendered, RenderedObject};
use crate::schema::Schemas;
use crate::tree::RepoPath;
use crate::yaml::Position;

/// One rule: what it stands for, and how it judges.
///
/// A rule whose verdict falls elsewhere (in the middle of the merge, say, or where files are read) only
/// has its entry here; whoever reaches the verdict makes the [`Finding`] with the rule's id.
pub trait Rule: Sync {
    /// What the catalogue says of it.
    fn about(&self) -> &'static About;

    /// Adds what is wrong with a cluster as it stands. Of an upgrade only what it brings is told: what
    /// the cluster had already is taken out again.
    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Verdict>) {
        let _ = (cluster, verdicts);
    }

    /// Adds what is wrong with a change.
    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Verdict>) {
        let _ = (change, verdicts);
    }
}

/// A rule's entry in the catalogue.
#[derive(Debug)]
pub struct About {
    /// `kubernetes-minor-skip`
    pub id: &'static str,
    /// The severity where the settings say nothing.
    pub severity: Severity,
    /// Whether the settings may change that.
    pub change: Change,
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

/// Whether the settings may change a rule's severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// `error`, `warning` or `off`, as they like.
    Free,
    /// It is an error for ever: what it finds breaks clusters.
    Never,
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

/// What a rule finds, before its severity is settled.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The rule.
    pub rule: &'static About,
    /// What was found and what to do. No secret values.
    pub message: String,
    /// Where; `None` where no single file is to blame.
    pub place: Option<Spot>,
    /// The object.
    pub object: Option<ObjectId>,
    /// The field.
    pub path: Option<FieldPath>,
    /// How bad it is where the settings say nothing; `None`: as bad as the rule's findings are.
    pub severity: Option<Severity>,
}

/// A place as findings name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The file.
    pub file: RepoPath,
    /// Line and column; `None` where the whole file is meant.
    pub position: Option<Position>,
}

impl From<&Place> for Spot {
    fn from(place: &Place) -> Self {
        Self { file: place.file().clone(), position: Some(place.position()) }
    }
}

impl Verdict {
    /// A verdict with nothing but its message.
    pub fn new(rule: &'static About, message: impl Into<String>) -> Self {
        Self { rule, message: message.into(), place: None, object: None, path: None, severity: None }
    }

    /// Of this object.
    #[must_use]
    pub fn object(self, object: &ObjectId) -> Self {
        Self { object: Some(object.clone()), ..self }
    }

    /// Of this field.
    #[must_use]
    pub fn path(self, path: &FieldPath) -> Self {
        Self { path: Some(path.clone()), ..self }
    }

    /// Less bad than the rule's findings are: not certain, say.
    #[must_use]
    pub fn warning(self) -> Self {
        Self { severity: Some(Severity::Warning), ..self }
    }

    /// There, where that is known.
    #[must_use]
    pub fn maybe_place(self, place: Option<Spot>) -> Self {
        Self { place: place.or(self.place), ..self }
    }

    /// There.
    #[must_use]
    pub fn place(self, place: impl Into<Spot>) -> Self {
        Self { place: Some(place.into()), ..self }
    }

    /// As a finding of that severity.
    pub(super) fn into_finding(self, severity: Severity) -> Finding {
        let position = self.place.as_ref().and_then(|place| place.position);
        Finding {
            rule: self.rule.id,
            severity,
            message: self.message,
            file: self.place.map(|place| place.file),
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
            object: self.object,
            path: self.path,
        }
    }
}

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
    pub place: Option<Spot>,
}
