//! Errors that are exempt for one exact change: the machines of a cluster whose destruction a person asked
//! for, and in a merge group the overrides of its proposals.

use std::collections::BTreeSet;

use capstan_facts::PullRequest;
use capstan_model::finding::{Finding, rules};
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::tree::{RepoPath, Tree, differences};
use capstan_plan::proposal::{DESTROY, Override};
use capstan_plan::settings::{ClusterSettings, Deletion, FOLDER_FILE};
use capstan_report::override_in_words;

use crate::facts::{BranchNames, digest_of_changes_in};
use crate::proposals::Exemption;

/// The exemptions of a pull request that destroys a cluster, if Capstan opened it.
pub fn retirement_exemption(names: &BranchNames, pull: &PullRequest) -> Option<Exemption> {
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
pub fn override_exemption(
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
