//! Merging proposals: for who asks, and for the settings; and taking back what was asked of GitHub, where something came
//! up since.
//!
//! *Guarantees.* What is merged is the head that was judged in this run: it is named to GitHub, which refuses any other.
//! A merge that was made before a death is found as one that is merged, and nothing is done twice.

use capstan_plan::proposal::{MergeFacts, MergeStep, Obstacle, ProposalId, decide_merge, decide_undo};
use capstan_plan::settings::Mode;
use capstan_plan::verbs::{Command, OfCommit};
use capstan_report::{
    Answer, Refusal, about, merge_in_words, merge_refused_in_words, refused, undo_in_words,
};

use super::approvals::is_automatic;
use super::checks::NAME;
use super::outcome::{JudgedProposal, Outcome, Whose};
use super::refusals::Write;
use super::request::{Request, RequestId};
use super::{Planned, Run, SyncError};
use capstan_ports::{MergeAnswer, MergeCall, PullRequestState};

/// Who wants a merge.
enum Wish<'a> {
    /// Somebody, by command or button.
    Of(&'a Request),
    /// The settings.
    Settings,
}

impl Wish<'_> {
    fn id(&self) -> Option<RequestId> {
        match self {
            Self::Of(request) => Some(request.id()),
            Self::Settings => None,
        }
    }
}

impl Run<'_> {
    /// Merges what is to be merged.
    pub(super) async fn merge_proposals(
        self,
        planned: Planned<'_>,
        requests: &[Request],
        outcome: &mut Outcome,
    ) -> Result<(), SyncError> {
        if planned.settings.mode == Mode::Observe {
            let words = "The settings say `mode: observe`: nothing is merged.\n";
            let words = Answer::refused(Refusal::Observed, words);
            let asked = requests.iter().filter(|request| Self::asks_to_merge(request));
            outcome.merges.extend(asked.map(|request| (request.id(), words.clone())));
            return Ok(());
        }
        for (proposal, judged) in outcome.judged.clone() {
            let of_it = |request: &&Request| self.carrier_of(request).as_ref() == Some(&proposal);
            let said = requests.iter().any(|request| of_it(&request) && request.carried_out().count() > 0);
            let asked: Vec<&Request> =
                requests.iter().filter(of_it).filter(|request| Self::asks_to_merge(request)).collect();
            let automatic = is_automatic(planned.settings, &outcome.members_of(self.facts, &proposal))
                && judged.whose == Whose::Capstans;
            let held = self.held_in(planned, outcome, &proposal).is_some();
            let paused = planned.decided.pause().is_some();
            if !(said || automatic || held || paused || judged.pull.auto_merge) {
                continue;
            }
            let mut wishes: Vec<Wish<'_>> = asked.into_iter().map(Wish::Of).collect();
            if wishes.is_empty() && automatic {
                wishes.push(Wish::Settings);
            }
            let asked: Vec<RequestId> = wishes.iter().filter_map(Wish::id).collect();
            match self.merge_one(planned, &proposal, &judged, wishes, outcome).await {
                Err(error) if error.is_of_one() => {
                    let words = merge_refused_in_words(&error.to_string());
                    let words = refused(proposal.target.path(), &words, Refusal::NotMerged);
                    outcome.merges.extend(asked.into_iter().map(|id| (id, words.clone())));
                    tracing::warn!(repository = %self.repository.name, pull_request = judged.pull.number, error = %error, "the proposal cannot be merged");
                    outcome.ending.fail(error);
                }
                merged => merged?,
            }
        }
        // What was merged by an earlier run that died before it answered is merged.
        for request in requests.iter().filter(|request| Self::asks_to_merge(request)) {
            let is_merged = request.pull.as_ref().is_some_and(|pull| pull.state == PullRequestState::Merged);
            if is_merged {
                let words = Answer::told(format!("#{} is merged.\n", request.number));
                outcome.merges.entry(request.id()).or_insert(words);
            } else if self.carrier_of(request).is_some_and(|id| self.facts.proposals.contains_key(&id))
                && !outcome.merges.contains_key(&request.id())
            {
                outcome.postponed.insert(request.id());
            }
        }
        Ok(())
    }

    async fn merge_one(
        self,
        planned: Planned<'_>,
        proposal: &ProposalId,
        judged: &JudgedProposal,
        wishes: Vec<Wish<'_>>,
        outcome: &mut Outcome,
    ) -> Result<(), SyncError> {
        let JudgedProposal { pull, approved, .. } = judged;
        let view = self.ports.host.merge_view(self.repository, pull).await?;
        let check = self.check_verdict(&pull.head).await?;
        let hold = self.held_in(planned, outcome, proposal);
        let members = outcome.members_of(self.facts, proposal);
        let way = self.way_of(pull).await?;
        let facts = MergeFacts {
            meant: &pull.head,
            check: &check,
            check_name: NAME,
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
                    tracing::info!(repository = %self.repository.name, pull_request = pull.number, why = words, "what was asked of GitHub is taken back");
                    let detail = format!("#{}: {words}", pull.number);
                    self.audit_each(&members, "merge-taken-back", &detail).await?;
                }
                MergeAnswer::Refused(reason) => {
                    tracing::warn!(repository = %self.repository.name, pull_request = pull.number, reason, "GitHub does not take back what was asked of it");
                    outcome.ending.look_again();
                }
            }
            outcome.remarks.entry(pull.number).or_default().notes.push(words);
        }
        for wish in wishes {
            match wish {
                Wish::Settings => self.merge_by_settings(proposal, judged, &facts, outcome).await?,
                Wish::Of(request) => {
                    let meant = request.pull.as_ref().map_or(&pull.head, |pull| &pull.head);
                    let named = request.carried_out().find_map(|(_, command)| match command {
                        Command::Merge(OfCommit(named)) => Some(OfCommit(named.clone())),
                        _ => None,
                    });
                    // One that names another commit means another one.
                    let step = if named.is_none_or(|named| named.means(meant)) {
                        decide_merge(&MergeFacts { meant, ..facts })
                    } else {
                        let moved = Obstacle::HeadMoved(view.head.clone());
                        MergeStep::Refuse(vec![moved])
                    };
                    if step == MergeStep::LookAgain {
                        outcome.postponed.insert(request.id());
                        continue;
                    }
                    let target = proposal.target.path();
                    let words = match self.take_merge_step(judged, &step).await? {
                        MergeAnswer::Done => {
                            if !matches!(step, MergeStep::Refuse(_) | MergeStep::Stands(_)) {
                                let detail = format!("#{} at {}, for {}", pull.number, pull.head, request.by);
                                self.audit_each(&members, "proposal-merged", &detail).await?;
                            }
                            let words = merge_in_words(&step, &pull.head, base, prefix);
                            match step {
                                MergeStep::Refuse(_) => refused(target, &words, Refusal::NotMerged),
                                _ => about(target, &words),
                            }
                        }
                        MergeAnswer::Refused(reason) => {
                            refused(target, &merge_refused_in_words(&reason), Refusal::NotMerged)
                        }
                    };
                    outcome.merges.insert(request.id(), words);
                }
            }
        }
        Ok(())
    }

    /// Does what the settings want once nothing stands against it. What GitHub refuses is left alone for a while.
    async fn merge_by_settings(
        self,
        proposal: &ProposalId,
        judged: &JudgedProposal,
        facts: &MergeFacts<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), SyncError> {
        let pull = &judged.pull;
        let step = decide_merge(facts);
        match &step {
            MergeStep::Refuse(_) | MergeStep::Stands(_) => return Ok(()),
            MergeStep::LookAgain => {
                outcome.ending.look_again();
                return Ok(());
            }
            MergeStep::Now(_) | MergeStep::Enqueue | MergeStep::WhenReady { .. } => {}
        }
        let write = Write::merge(proposal, pull.head.as_str());
        if self.refusal(&write).is_some() {
            return Ok(());
        }
        match self.take_merge_step(judged, &step).await? {
            MergeAnswer::Done => {
                self.taken(&write).await?;
                let detail = format!("#{} at {}, as the settings say", pull.number, pull.head);
                let members = outcome.members_of(self.facts, proposal);
                self.audit_each(&members, "proposal-merged", &detail).await
            }
            MergeAnswer::Refused(reason) => self.refused(&write, &reason).await.map(drop),
        }
    }

    async fn take_merge_step(
        self,
        judged: &JudgedProposal,
        step: &MergeStep,
    ) -> Result<MergeAnswer, SyncError> {
        let call = match step {
            MergeStep::Refuse(_) | MergeStep::Stands(_) | MergeStep::LookAgain => {
                return Ok(MergeAnswer::Done);
            }
            MergeStep::Now(method) => MergeCall::Now(*method),
            MergeStep::Enqueue => MergeCall::Enqueue,
            MergeStep::WhenReady { method, .. } => MergeCall::WhenReady(*method),
        };
        let pull = &judged.pull;
        tracing::info!(repository = %self.repository.name, pull_request = pull.number, head = %pull.head, step = ?call, "merging");
        Ok(self.ports.host.merge(self.repository, pull, &pull.head, call).await?)
    }
}
