//! Errors that are exempt for one exact change: the machines of a cluster whose destruction a person asked
//! for, and in a merge group the overrides of its proposals.

use capstan_bot_core::checks::{Subject, overridden, override_exemptions, retirement_exemptions};
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
        let own = self.ports.host.bot_login().await?;
        let mut found = retirement_exemptions(self.facts, subject, open, &own);
        for (pull, said) in overridden(self.facts, subject, &outcome.remarks) {
            let of_pull = self.subject(pull).await?;
            let Some(comparison) = self.comparison(&of_pull, seen).await? else { continue };
            found.extend(override_exemptions(said, &comparison));
        }
        Ok(found)
    }
}
