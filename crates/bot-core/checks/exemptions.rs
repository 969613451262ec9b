//! Errors that are exempt for one exact change: the machines of a cluster whose destruction a person asked
//! for, and in a merge group the overrides of its proposals.

use std::collections::{BTreeMap, BTreeSet};

use capstan_facts::PullRequest;
use capstan_model::finding::{Finding, rules};
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::tree::{RepoPath, Tree, differences};
use capstan_plan::proposal::{DESTROY, Override};
use capstan_plan::settings::{ClusterSettings, Deletion, FOLDER_FILE};
use capstan_report::override_in_words;

use super::judging::Comparison;
use super::subject::CheckSubject;
use crate::facts::{BranchNames, Facts, digest_of_changes_in};
use crate::proposals::{Exemption, Remarks};

/// The exemptions of the pull requests that a head merges and that destroy a cluster. Only Capstan, whose login is `own`,
/// opens one in its name, and it does so for people who may destroy the cluster.
pub fn retirement_exemptions(
    facts: &Facts,
    subject: &CheckSubject,
    open: &[PullRequest],
    own: &str,
) -> Vec<Exemption> {
    let is_merged = |pull: &&PullRequest| {
        subject.pull.is_none_or(|number| number == pull.number)
            && pull.head_in_repository
            && pull.base_branch == subject.base_branch
            && pull.author == own
    };
    open.iter().filter(is_merged).filter_map(|pull| retirement_exemption(&facts.names, pull)).collect()
}

/// The open proposals whose overrides count for a head, with what their checks say. An override counts in its proposal
/// itself, even if people edited that; in a merge group and above it in a stack, only for exactly its change.
pub fn overridden<'a>(
    facts: &'a Facts,
    subject: &CheckSubject,
    remarks: &'a BTreeMap<u64, Remarks>,
) -> Vec<(&'a PullRequest, &'a Remarks)> {
    if subject.pull.is_some() && subject.below().is_empty() {
        return Vec::new();
    }
    let of_it = |pull: &'a PullRequest| {
        let is_in = subject.pull.is_none() || subject.below().contains(&pull.number);
        let said = remarks.get(&pull.number).filter(|said| !said.overrides.is_empty())?;
        (is_in && pull.comes_to(&subject.base_branch)).then_some((pull, said))
    };
    facts.proposals.values().filter_map(of_it).collect()
}

/// The overrides of a proposal, each with exactly the change that a merge of it makes in its cluster.
pub fn override_exemptions(said: &Remarks, comparison: &Comparison) -> Vec<Exemption> {
    let (before, after) = (&*comparison.before, &*comparison.after);
    let of =
        |(target, overrides): (&Target, &Vec<Override>)| override_exemption(target, overrides, before, after);
    said.overrides.iter().filter_map(of).collect()
}

/// The exemptions of a pull request that destroys a cluster, if Capstan opened it.
pub(super) fn retirement_exemption(names: &BranchNames, pull: &PullRequest) -> Option<Exemption> {
    let proposal = names.find(&pull.head_branch)?;
    let of_inventory = proposal.kind == SourceKind::INVENTORY;
    if !of_inventory && proposal.kind.as_str() != DESTROY {
        return None;
    }
    let rule = rules::REMOVES_MACHINES.id();
    let asked = if of_inventory {
        "its definition says `retire: true`"
    } else {
        "an owner requested its destruction"
    };
    let why = format!(
        "`{rule}` passes for `{}`: {asked}, and this pull request only adds the tombstone.",
        proposal.target
    );
    Some(Exemption { target: proposal.target, plan: None, rules: vec![(rule.to_owned(), why)] })
}

/// The overrides of a cluster in a proposal, with exactly its changes there; `None` where it changes nothing
/// that could be named.
pub(super) fn override_exemption(
    target: &Target,
    overrides: &[Override],
    before: &dyn Tree,
    after: &dyn Tree,
) -> Option<Exemption> {
    let plan = target.folder().and_then(|folder| digest_of_changes_in(folder, before, after))?;
    let rules = overrides.iter().map(|one| (one.rule.clone(), override_in_words(one)));
    Some(Exemption { target: target.clone(), plan: Some(plan), rules: rules.collect() })
}

impl Exemption {
    /// Exempts the errors; says why, if there were any.
    pub fn apply(&self, before: &dyn Tree, after: &dyn Tree, findings: &mut [Finding]) -> Vec<String> {
        if !self.is_just_that(before, after) {
            return Vec::new();
        }
        let mut why = BTreeSet::new();
        for finding in findings {
            let rule = self.rules.iter().find(|(rule, _)| rule == finding.rule.id());
            if let Some((_, reason)) = rule {
                *finding = finding.clone().warning();
                why.insert(reason.clone());
            }
        }
        why.into_iter().collect()
    }

    fn is_just_that(&self, before: &dyn Tree, after: &dyn Tree) -> bool {
        match &self.plan {
            Some(plan) => {
                let folder = self.target.folder();
                folder.and_then(|folder| digest_of_changes_in(folder, before, after)).as_ref() == Some(plan)
            }
            None => adds_tombstone_alone(&self.target, before, after),
        }
    }
}

/// Whether the only difference in a cluster's folder is that its settings say `delete: cluster`.
fn adds_tombstone_alone(target: &Target, before: &dyn Tree, after: &dyn Tree) -> bool {
    let Some(folder) = target.folder() else { return false };
    let Ok(path) = folder.join(FOLDER_FILE) else { return false };
    let settings = |tree: &dyn Tree| {
        let Some(entry) = tree.entry(&path) else { return Some(ClusterSettings::default()) };
        ClusterSettings::read(&path, std::str::from_utf8(&tree.read(entry).ok()?).ok()?).ok()
    };
    let differs: Vec<RepoPath> =
        differences(before, after).into_iter().map(|difference| difference.path.clone()).collect();
    let within = differs.iter().filter(|differing| differing.is_in(folder));
    let (Some(mut was), Some(is)) = (settings(before), settings(after)) else { return false };
    let marked = was.delete != Deletion::Cluster && is.delete == Deletion::Cluster;
    was.delete = Deletion::Cluster;
    marked && was == is && within.eq([&path])
}
