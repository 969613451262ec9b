//! Which commits need a check: heads of pull requests, and the commits of a merge queue.

use std::collections::BTreeMap;

use capstan_facts::{BranchHead, PullRequest};
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{Link, Stack, Unclear, Way, way_of};

use crate::facts::Facts;

/// The prefix of GitHub's merge queue branches: `gh-readonly-queue/main/pr-7-9d1f…`.
pub const QUEUE_PREFIX: &str = "gh-readonly-queue/";

/// A commit that needs a check: the head of a pull request, or of a merge group, which is the merge itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSubject {
    /// The commit.
    pub head: CommitId,
    pub base_branch: String,
    /// The tip of that branch.
    pub base_tip: CommitId,
    /// The base as the pull request last saw it.
    pub seen_base: CommitId,
    /// The pull request; `None` for a merge group.
    pub pull: Option<u64>,
    /// The way by which it reaches the default branch. In a stack it is judged with all that is below it, as
    /// if it were for the default branch; of a pull request for another branch, `base_branch` is that branch.
    pub way: Way,
}

impl CheckSubject {
    /// Those below it in a stack, the lowest first.
    pub fn below(&self) -> &[u64] {
        match &self.way {
            Way::Above(below) => below,
            Way::Straight | Way::Aside(_) | Way::Unknown(_) => &[],
        }
    }

    /// Whether everything from the default branch on is judged.
    pub const fn is_prefix(&self) -> bool {
        matches!(self.way, Way::Above(_) | Way::Unknown(_))
    }
}

impl Facts {
    /// The way by which a pull request reaches the default branch.
    pub fn way_of(&self, pull: &PullRequest, stack: Option<&Stack>) -> Way {
        let links: Vec<Link<'_>> = self.open.iter().map(link).collect();
        way_of(link(pull), &links, &self.repository.default_branch, stack)
    }

    /// A head for another branch, as if it were for the default branch.
    pub fn as_for_default(&self, subject: &CheckSubject) -> CheckSubject {
        CheckSubject {
            base_branch: self.repository.default_branch.clone(),
            base_tip: self.base.commit.clone(),
            way: Way::Unknown(Unclear::Disagree),
            ..subject.clone()
        }
    }

    /// The branch that a pull request is judged against: one in a stack is judged with all that is below it.
    pub fn judged_against<'a>(&'a self, pull: &'a PullRequest, way: &Way) -> &'a str {
        match way {
            Way::Above(_) | Way::Unknown(_) => &self.repository.default_branch,
            Way::Straight | Way::Aside(_) => &pull.base_branch,
        }
    }
}

/// A pull request as a subject, on a branch with that tip.
pub fn subject_of(pull: &PullRequest, way: Way, (branch, base_tip): (&str, CommitId)) -> CheckSubject {
    CheckSubject {
        head: pull.head.clone(),
        base_branch: branch.to_owned(),
        base_tip,
        seen_base: pull.base.clone(),
        pull: Some(pull.number),
        way,
    }
}

/// The branch of a merge group.
pub fn base_of_group(group: &BranchHead) -> Option<&str> {
    let name = group.branch.strip_prefix(QUEUE_PREFIX)?;
    Some(name.rsplit_once('/')?.0)
}

/// The commit that a merge group was made on, which GitHub writes at the end of its branch's name.
pub fn base_commit_of_group(group: &BranchHead) -> Option<CommitId> {
    let (_, commit) = group.branch.strip_prefix(QUEUE_PREFIX)?.rsplit_once('-')?;
    CommitId::parse(commit).ok()
}

/// A merge group as a subject, on a branch with that tip.
pub fn subject_of_group(
    facts: &Facts,
    group: &BranchHead,
    (branch, base_tip): (&str, CommitId),
) -> CheckSubject {
    let way =
        if branch == facts.repository.default_branch { Way::Straight } else { Way::Aside(branch.to_owned()) };
    CheckSubject {
        way,
        head: group.commit.clone(),
        base_branch: branch.to_owned(),
        seen_base: base_tip.clone(),
        base_tip,
        pull: None,
    }
}

/// Subjects by head: GitHub shows one check for a commit, for all pull requests with that head.
pub fn by_head(subjects: Vec<CheckSubject>) -> Vec<Vec<CheckSubject>> {
    let mut by_head: BTreeMap<String, Vec<CheckSubject>> = BTreeMap::new();
    for subject in subjects {
        by_head.entry(subject.head.as_str().to_owned()).or_default().push(subject);
    }
    by_head.into_values().collect()
}

/// A pull request as a link of a stack.
fn link(pull: &PullRequest) -> Link<'_> {
    let head = pull.head_in_repository.then_some(pull.head_branch.as_str());
    Link { number: pull.number, head, base: &pull.base_branch }
}
