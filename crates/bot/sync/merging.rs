//! Merges proposals, for people and for the settings; and withdraws requests to GitHub when something
//! prevents them.
//!
//! *Guarantees.* The merged head is the one that this run judged: GitHub gets its SHA and refuses any other.
//! After a death a completed merge is found as merged, and nothing is done twice.

use capstan_bot_core::commands::{
    MergeWish, merge_answer, merge_call, merge_failed, merge_wishes, merges_nothing, note_unheard, step_for,
};
use capstan_bot_core::effects::CHECK;
use capstan_bot_core::facts::Write;
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::{JudgedProposal, Outcome, held_in};
use capstan_bot_core::requests::{Request, RequestId};
use capstan_plan::proposal::{MergeFacts, MergeStep, ProposalId, decide_merge, decide_undo};
use capstan_plan::verbs::Verb;
use capstan_report::undo_in_words;

use super::{Ending, Run, SyncError};
use capstan_ports::{MergeAnswer, MergeCall};

impl Run<'_> {
    /// Merges the proposals that are to be merged.
    pub(super) async fn merge_proposals(
        self,
        planned: Planned<'_>,
        requests: &[Request],
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<(), SyncError> {
        if let Some(words) = merges_nothing(planned) {
            let asked = requests.iter().filter(|request| request.carries_out(Verb::Merge));
            outcome.merges.extend(asked.map(|request| (request.id(), words.clone())));
            return Ok(());
        }
        for (proposal, judged) in outcome.judged.clone() {
            let Some(wishes) = merge_wishes(planned, requests, (&proposal, &judged), outcome) else {
                continue;
            };
            let asked: Vec<RequestId> = wishes.iter().filter_map(MergeWish::id).collect();
            match self.merge_one(planned, (&proposal, &judged), wishes, (&mut *outcome, &mut *ending)).await {
                Err(error) if error.is_of_one() => {
                    let words = merge_failed(&proposal, &error.to_string());
                    outcome.merges.extend(asked.into_iter().map(|id| (id, words.clone())));
                    tracing::warn!(repository = %self.repository.name, pull_request = judged.pull.number, error = %error, "the proposal cannot be merged");
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
        planned: Planned<'_>,
        (proposal, judged): (&ProposalId, &JudgedProposal),
        wishes: Vec<MergeWish<'_>>,
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<(), SyncError> {
        let JudgedProposal { pull, approved, .. } = judged;
        let view = self.ports.host.merge_view(self.repository, pull).await?;
        let check = self.check_verdict(&pull.head).await?;
        let hold = held_in(planned, outcome, proposal);
        let members = outcome.members_of(self.facts, proposal);
        let way = self.way_of(pull).await?;
        let facts = MergeFacts {
            meant: &pull.head,
            check: &check,
            check_name: CHECK,
            approved,
            hold: hold.as_ref(),
            pause: planned.decided.pause(),
            method: planned.settings.upgrade.merge.method,
            way: &way,
            view: &view,
        };
        let (base, prefix) = (pull.base_branch.as_str(), planned.settings.commands.prefix.as_str());
        if let Some((undo, obstacles)) = decide_undo(&facts) {
            let words = undo_in_words(undo, &obstacles, base, prefix);
            let call = MergeCall::TakeBack(undo);
            match self.ports.host.merge(self.repository, pull, &view.head, call).await? {
                MergeAnswer::Done => {
                    tracing::info!(repository = %self.repository.name, pull_request = pull.number, why = words, "Capstan withdraws its merge request");
                    let detail = format!("#{}: {words}", pull.number);
                    self.performer.audit_each(&members, "merge-taken-back", &detail).await?;
                }
                MergeAnswer::Refused(reason) => {
                    tracing::warn!(repository = %self.repository.name, pull_request = pull.number, reason, "GitHub does not withdraw the merge request");
                    ending.look_again();
                }
            }
            outcome.remarks.entry(pull.number).or_default().notes.push(words);
        }
        for wish in wishes {
            let request = match wish {
                MergeWish::Of(request) => request,
                MergeWish::Settings => {
                    self.merge_by_settings(proposal, judged, &facts, (&*outcome, &mut *ending)).await?;
                    continue;
                }
            };
            let step = step_for(request, &facts, &view.head);
            if step == MergeStep::LookAgain {
                outcome.postponed.insert(request.id());
                continue;
            }
            let answer = self.take_merge_step(judged, &step).await?;
            if answer == MergeAnswer::Done && merge_call(&step).is_some() {
                let detail = format!("#{} at {}, for {}", pull.number, pull.head, request.by);
                self.performer.audit_each(&members, "proposal-merged", &detail).await?;
            }
            let words = merge_answer(proposal, (&step, &answer), (&pull.head, base, prefix));
            outcome.merges.insert(request.id(), words);
        }
        Ok(())
    }

    /// Merges or enables automerge as the settings ask, once nothing prevents it. What GitHub refuses is not
    /// repeated for a while.
    async fn merge_by_settings(
        self,
        proposal: &ProposalId,
        judged: &JudgedProposal,
        facts: &MergeFacts<'_>,
        (outcome, ending): (&Outcome, &mut Ending),
    ) -> Result<(), SyncError> {
        let pull = &judged.pull;
        let step = decide_merge(facts);
        match &step {
            MergeStep::Refuse(_) | MergeStep::Stands(_) => return Ok(()),
            MergeStep::LookAgain => {
                ending.look_again();
                return Ok(());
            }
            MergeStep::Now(_) | MergeStep::Enqueue | MergeStep::WhenReady { .. } => {}
        }
        let write = Write::merge(proposal, pull.head.as_str());
        if self.performer.refusal(&write).is_some() {
            return Ok(());
        }
        match self.take_merge_step(judged, &step).await? {
            MergeAnswer::Done => {
                self.performer.taken(&write).await?;
                let detail = format!("#{} at {}, as the settings say", pull.number, pull.head);
                let members = outcome.members_of(self.facts, proposal);
                self.performer.audit_each(&members, "proposal-merged", &detail).await
            }
            MergeAnswer::Refused(reason) => self.performer.refused(&write, &reason).await.map(drop),
        }
    }

    async fn take_merge_step(
        self,
        judged: &JudgedProposal,
        step: &MergeStep,
    ) -> Result<MergeAnswer, SyncError> {
        let Some(call) = merge_call(step) else { return Ok(MergeAnswer::Done) };
        let pull = &judged.pull;
        tracing::info!(repository = %self.repository.name, pull_request = pull.number, head = %pull.head, step = ?call, "merging");
        Ok(self.ports.host.merge(self.repository, pull, &pull.head, call).await?)
    }
}
