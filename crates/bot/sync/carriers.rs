//! Moves open changes to other pull requests.

use std::collections::{BTreeMap, BTreeSet};

use capstan_bot_core::facts::{Write, draft_of};
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::{Arranged, Arranging, Carriers, Outcome, Parting, Wrote, arrange, part};
use capstan_plan::proposal::{Closer, ProposalId, Wanted};
use capstan_report::decisions_fingerprint;

use super::{Run, SyncError};
use crate::performing::Performed;

impl Run<'_> {
    /// Says which pull request carries which changes.
    pub(super) async fn arrange(
        self,
        planned: Planned<'_>,
        wanted: &BTreeMap<ProposalId, Wanted>,
    ) -> Result<Arranged, SyncError> {
        let mut keep = BTreeMap::new();
        loop {
            match arrange(planned, wanted, &keep) {
                Arranging::Arranged(arranged) => return Ok(arranged),
                Arranging::AskForm(id) => {
                    let keeps = self.keeps_its_form(planned, &id).await?;
                    keep.insert(id, keeps);
                }
            }
        }
    }

    /// Closes pull requests of the previous grouping whose changes are in others now; new decisions about
    /// those that stay are recorded in them.
    pub(super) async fn let_go(
        self,
        planned: Planned<'_>,
        (leaving, homes): (&Carriers, &BTreeMap<ProposalId, ProposalId>),
        wanted: &BTreeMap<ProposalId, Wanted>,
        outcome: &mut Outcome,
    ) -> Result<(), SyncError> {
        // Proposals whose decisions move to the dashboard with a pull request that is closed here.
        let mut noted_there: BTreeSet<ProposalId> = BTreeSet::new();
        for (id, members) in leaving {
            let Some(pull) = self.facts.open_proposal(id) else { continue };
            let parting = part(planned, (id, members), homes, wanted, (outcome, &noted_there));
            let content = match &parting {
                Parting::Stays => continue,
                Parting::Notes => format!("decided: {}", decisions_fingerprint(&planned.decided.of(id))),
                Parting::Closes { why, .. } => format!("closed: {why}"),
            };
            let write = Write::proposal(id, content);
            if self.performer.refusal(&write).is_some() {
                continue;
            }
            let written = match &parting {
                Parting::Closes { why, forgotten, .. } => {
                    self.close((id, forgotten), pull, why, Closer::Capstan).await
                }
                _ => {
                    let decisions = planned.decided.of(id);
                    self.write_decisions(planned, id, pull, decisions, draft_of(pull)).await
                }
            };
            match written {
                Err(error)
                    if error.is_of_one() && self.performer.is_gone(pull.number).await.unwrap_or(false) => {}
                written => {
                    if self.performer.attempt(&write, written).await? != Performed::Done {
                        continue;
                    }
                }
            }
            outcome.wrote = Wrote::PullRequests;
            if let Parting::Closes { without, .. } = parting {
                noted_there = without;
                outcome.superseded.insert(id.clone());
            }
        }
        Ok(())
    }
}
