//! Moves open changes to other pull requests.

use std::collections::{BTreeMap, BTreeSet};

use capstan_bot_core::facts::{Write, draft_of, refused_words};
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::{
    Arranged, Arranging, Carriers, Outcome, Parting, ProposalFailure, ProposalOutcome, Wrote, arrange,
    decided_write, part,
};
use capstan_plan::proposal::{Closer, ProposalId, Wanted};

use super::{Ending, Run, SyncError};

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
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<(), SyncError> {
        // Proposals whose decisions move to the dashboard with a pull request that is closed here.
        let mut noted_there: BTreeSet<ProposalId> = BTreeSet::new();
        for (id, members) in leaving {
            let Some(pull) = self.facts.open_proposal(id) else { continue };
            let parting = part(planned, (id, members), homes, wanted, (outcome, &noted_there));
            let (write, written) = match &parting {
                Parting::Stays => continue,
                Parting::Notes => {
                    let decisions = planned.decided.of(id);
                    let write = decided_write(planned, id, &decisions);
                    if let Some(refused) = self.performer.refusal(&write) {
                        let why = refused_words(&refused.reason, refused.not_before);
                        outcome.note_not_noted((id, members), &ProposalOutcome::refused(why));
                        continue;
                    }
                    (write, self.write_decisions(planned, id, pull, decisions, draft_of(pull)).await)
                }
                Parting::Closes { why, forgotten, .. } => {
                    let write = Write::proposal(id, format!("closed: {why}"));
                    if self.performer.refusal(&write).is_some() {
                        continue;
                    }
                    (write, self.close((id, forgotten), pull, why, Closer::Capstan).await)
                }
            };
            match written {
                Ok(()) => self.performer.taken(&write).await?,
                Err(error) => {
                    let (failure, error) = self.failure_of((id, "letting go"), error).await?;
                    let state = match failure {
                        // What it was to say is over with it.
                        ProposalFailure::Gone(_) => None,
                        ProposalFailure::Refused(why) => {
                            let not_before = self.performer.refused(&write, &why).await?;
                            Some(ProposalOutcome::refused(refused_words(&why, not_before)))
                        }
                        failure => {
                            ending.keep(&failure, error);
                            let left = outcome.not_carried((id, members));
                            Some(outcome.fail(&left, &failure))
                        }
                    };
                    if let Some(state) = state {
                        if matches!(parting, Parting::Notes) {
                            outcome.note_not_noted((id, members), &state);
                        }
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
