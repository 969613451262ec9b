//! Errors that pass where exactly that is changed for which they were to pass: the machines that a cluster takes along
//! whose destruction somebody asked for, and in a merge group what somebody overrode in a proposal that it holds.

use std::collections::BTreeSet;

use capstan_model::finding::{Finding, rules};
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::tree::{RepoPath, Tree, differences};
use capstan_plan::proposal::DESTROY;
use capstan_plan::settings::{ClusterSettings, Deletion, FOLDER_FILE};
use capstan_report::override_in_words;

use super::super::outcome::{Exemption, Outcome};
use super::super::trees::digest_of_changes_in;
use super::super::{Run, SyncError};
use super::judging::Comparison;
use super::subjects::Subject;
use capstan_ports::PullRequest;

impl Run<'_> {
    /// What passes in one of these heads.
    pub(super) async fn exemptions(
        &self,
        subject: &Subject,
        open: &[PullRequest],
        outcome: &Outcome,
    ) -> Result<Vec<Exemption>, SyncError> {
        let mut found = Vec::new();
        for pull in open.iter().filter(|pull| subject.pull.is_none_or(|number| number == pull.number)) {
            if pull.head_in_repository && pull.base_branch == subject.base_branch {
                found.extend(self.exemption_of_retirement(pull).await?);
            }
        }
        // What was overridden in a proposal passes there whoever else has edited it; in a merge group and above it in a
        // stack, with just that.
        if subject.pull.is_none() || !subject.below().is_empty() {
            let is_in =
                |pull: &&PullRequest| subject.pull.is_none() || subject.below().contains(&pull.number);
            for pull in self.facts.proposals.values().filter(is_in) {
                let Some(remarks) = outcome.remarks.get(&pull.number) else { continue };
                if remarks.overrides.is_empty() || !pull.comes_to(&subject.base_branch) {
                    continue;
                }
                let Some(comparison) = self.comparison(&self.subject(pull).await?).await? else { continue };
                let (before, after) = (&*comparison.before, &*comparison.after);
                for (target, overrides) in &remarks.overrides {
                    let folder = target.folder();
                    let plan = folder.and_then(|folder| digest_of_changes_in(folder, before, after));
                    if plan.is_some() {
                        let rules = overrides.iter().map(|one| (one.rule.clone(), override_in_words(one)));
                        found.push(Exemption { target: target.clone(), plan, rules: rules.collect() });
                    }
                }
            }
        }
        Ok(found)
    }

    /// Nobody but Capstan opens one in its name, and it does so for who may destroy the cluster.
    async fn exemption_of_retirement(&self, pull: &PullRequest) -> Result<Option<Exemption>, SyncError> {
        let Some(proposal) = self.facts.proposal_named(&pull.head_branch) else { return Ok(None) };
        let of_inventory = proposal.kind == SourceKind::INVENTORY;
        if !of_inventory && proposal.kind.as_str() != DESTROY
            || pull.author != self.ports.host.bot_login().await?
        {
            return Ok(None);
        }
        let rule = rules::REMOVES_MACHINES.id();
        let asked = if of_inventory {
            "its definition says `retire: true`"
        } else {
            "an owner asked for its destruction"
        };
        let why =
            format!("`{rule}` passes for `{}`: {asked}, and this adds the tombstone alone.", proposal.target);
        Ok(Some(Exemption { target: proposal.target, plan: None, rules: vec![(rule.to_owned(), why)] }))
    }
}

impl Exemption {
    /// Lets the errors pass that are to; says why, where any did.
    pub(super) fn apply(&self, comparison: &Comparison, findings: &mut [Finding]) -> Vec<String> {
        if !self.is_just_that(&*comparison.before, &*comparison.after) {
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

/// Whether all that differs in a cluster's folder is that its settings say `delete: cluster`.
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
