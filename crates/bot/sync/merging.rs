//! Merges proposals, for people and for the settings; and withdraws requests to GitHub when something
//! prevents them.
//!
//! *Guarantees.* The merged head is the one that this run judged: GitHub gets its SHA and refuses any other.
//! After a death a completed merge is found as merged, and nothing is done twice.

use capstan_bot_core::checks::verdict_of;
use capstan_bot_core::commands::{MergeDue, MergeSeen, ProposalMerge, merges_due, note_unheard};
use capstan_bot_core::effects::CHECK;
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::Outcome;
use capstan_bot_core::requests::Request;

use super::SyncError;
use super::checks::CheckSubjects;
use super::ending::Ending;
use crate::performing::{Performed, Performer};
use capstan_ports::{Clock, MergeAnswer, Merging, Records, Repository};

/// Merges them.
#[derive(Clone, Copy)]
pub(super) struct ProposalMerges<'a> {
    pub(super) host: &'a dyn Merging,
    pub(super) records: &'a dyn Records,
    pub(super) clock: &'a dyn Clock,
    pub(super) repository: &'a Repository,
    pub(super) performer: &'a Performer<'a>,
    pub(super) subjects: CheckSubjects<'a>,
}

impl ProposalMerges<'_> {
    /// Merges the proposals that are to be merged.
    pub(super) async fn merge(
        self,
        planned: PlannedRun<'_>,
        requests: &[Request],
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<(), SyncError> {
        for due in merges_due(planned, requests, outcome) {
            match self.merge_one(planned, &due, (&mut *outcome, &mut *ending)).await {
                Err(error) if error.is_of_one() => {
                    due.failed(&error.to_string(), outcome);
                    tracing::warn!(repository = %self.repository.name, pull_request = due.judged.pull.number, error = %error, "the proposal cannot be merged");
                    ending.fail(error);
                }
                merged => merged?,
            }
        }
        note_unheard(planned, requests, outcome);
        Ok(())
    }

    async fn merge_one(
        self,
        planned: PlannedRun<'_>,
        due: &MergeDue<'_>,
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<(), SyncError> {
        let pull = &due.judged.pull;
        let record = self.records.check(self.repository.id, &pull.head, CHECK).await?;
        let seen = MergeSeen {
            view: self.host.merge_view(self.repository, pull).await?,
            check: verdict_of(record),
            way: self.subjects.way_of(pull).await?,
        };
        let merge = ProposalMerge::new(planned, due, seen, outcome);
        for mut turn in merge.turns(self.clock.now()) {
            let answer = match turn.effect.take() {
                Some(effect) => match self.performer.perform(effect).await? {
                    Performed::Done => Some(MergeAnswer::Done),
                    Performed::Refused(why) => Some(MergeAnswer::Refused(why)),
                },
                None => None,
            };
            let came = merge.came_of(turn, answer, outcome, self.clock.now());
            self.performer.perform_all(came.effects).await?;
            if came.again {
                ending.look_again();
            }
        }
        Ok(())
    }
}
