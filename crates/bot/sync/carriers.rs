//! Moves open changes to other pull requests.

use std::collections::{BTreeMap, BTreeSet};

use capstan_bot_core::facts::{draft_of, refused_words};
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::{Arranged, Arranging, Outcome, Parting, ProposalFailure, arrange, part};
use capstan_plan::proposal::{Closer, ProposalId, ProposalPlan};

use super::SyncError;
use super::ending::Ending;
use super::proposals::Proposals;

impl Proposals<'_> {
    /// Says which pull request carries which changes.
    pub(super) async fn arrange(
        self,
        planned: PlannedRun<'_>,
        wanted: &BTreeMap<ProposalId, ProposalPlan>,
    ) -> Result<Arranged, SyncError> {
        let mut keep = BTreeMap::new();
        loop {
            match arrange(planned, wanted, &keep) {
                Arranging::Arranged(arranged) => return Ok(arranged),
                Arranging::AskForm(id) => {
                    let keeps = self.decisions.keeps_its_form(planned, &id).await?;
                    keep.insert(id, keeps);
                }
            }
        }
    }

    /// Closes pull requests of the previous grouping whose changes are in others now; new decisions about
    /// those that stay are recorded in them.
    pub(super) async fn let_go(
        self,
        planned: PlannedRun<'_>,
        arranged: &Arranged,
        wanted: &BTreeMap<ProposalId, ProposalPlan>,
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<(), SyncError> {
        // Proposals whose decisions move to the dashboard with a pull request that is closed here.
        let mut noted_there: BTreeSet<ProposalId> = BTreeSet::new();
        for (id, members) in &arranged.leaving {
            let Some(pull) = self.facts.open_proposal(id) else { continue };
            let parting = part(planned, arranged, id, wanted, outcome, &noted_there);
            let Some(write) = parting.write(planned, id) else { continue };
            if let Some(refused) = self.performer.refusal(&write) {
                let why = refused_words(&refused.reason, refused.not_before);
                parting.refused((id, members), &why, outcome);
                continue;
            }
            let written = match &parting {
                Parting::Stays => Ok(()),
                Parting::Notes => {
                    let decisions = planned.decided.of(id);
                    self.publisher.write_decisions(planned, id, pull, decisions, draft_of(pull)).await
                }
                Parting::Closes { why, forgotten, .. } => {
                    self.publisher.close((id, forgotten), pull, why, Closer::Capstan).await
                }
            };
            let failure = match written {
                Ok(()) => {
                    self.performer.taken(&write).await?;
                    None
                }
                Err(error) => Some(self.publisher.failure_of((id, "letting go"), error).await?),
            };
            match failure {
                // What one was to say that is gone is over with it.
                None | Some((ProposalFailure::Gone(_), _)) => parting.done(id, outcome, &mut noted_there),
                Some((ProposalFailure::Refused(why), _)) => {
                    let not_before = self.performer.refused(&write, &why).await?;
                    parting.refused((id, members), &refused_words(&why, not_before), outcome);
                }
                Some((failure, error)) => {
                    ending.keep(&failure, error);
                    parting.failed((id, members), &failure, outcome);
                }
            }
        }
        Ok(())
    }
}
