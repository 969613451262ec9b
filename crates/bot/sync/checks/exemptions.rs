//! Errors that are exempt for one exact change: the machines of a cluster whose destruction a person asked
//! for, and in a merge group the overrides of its proposals.

use capstan_bot_core::checks::{Subject, override_exemption, retirement_exemption};
use capstan_bot_core::proposals::{Exemption, Outcome};

use super::super::{Run, SyncError};
use super::judging::Comparisons;
use capstan_ports::PullRequest;

impl Run<'_> {
    /// The exemptions of one of these heads.
    pub(super) async fn exemptions(
        &self,
        subject: &Subject,
        open: &[PullRequest],
        outcome: &Outcome,
        seen: &mut Comparisons,
    ) -> Result<Vec<Exemption>, SyncError> {
        let mut found = Vec::new();
        for pull in open.iter().filter(|pull| subject.pull.is_none_or(|number| number == pull.number)) {
            if pull.head_in_repository && pull.base_branch == subject.base_branch {
                found.extend(self.exemption_of_retirement(pull).await?);
            }
        }
        // An override of a proposal counts in the proposal itself, even if people edited it; in a merge
        // group and above it in a stack, only for exactly its change.
        if subject.pull.is_none() || !subject.below().is_empty() {
            let is_in =
                |pull: &&PullRequest| subject.pull.is_none() || subject.below().contains(&pull.number);
            for pull in self.facts.proposals.values().filter(is_in) {
                let Some(remarks) = outcome.remarks.get(&pull.number) else { continue };
                if remarks.overrides.is_empty() || !pull.comes_to(&subject.base_branch) {
                    continue;
                }
                let of_pull = self.subject(pull).await?;
                let Some(comparison) = self.comparison(&of_pull, seen).await? else { continue };
                let (before, after) = (&*comparison.before, &*comparison.after);
                for (target, overrides) in &remarks.overrides {
                    found.extend(override_exemption(target, overrides, before, after));
                }
            }
        }
        Ok(found)
    }

    /// Only Capstan opens one in its name, and it does so for people who may destroy the cluster.
    async fn exemption_of_retirement(&self, pull: &PullRequest) -> Result<Option<Exemption>, SyncError> {
        let Some(exemption) = retirement_exemption(&self.facts.names, pull) else { return Ok(None) };
        Ok((pull.author == self.ports.host.bot_login().await?).then_some(exemption))
    }
}
