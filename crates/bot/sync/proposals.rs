//! From plans to proposals: the facts of each, the decision, and their order within the limits.

use std::collections::{BTreeMap, BTreeSet};

use capstan_bot_core::campaigns::Obeyed;
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::{
    Arranged, Carriers, DecidedPull, Earlier, Outcome, ProposalOutcome, held_by_refusals, leave, may_join,
    offered, remark, wanted_of, without_those_that_wait,
};
use capstan_model::wording::sentence;
use capstan_plan::campaign::{ProposalCandidate, ProposalLoad, turn};
use capstan_plan::proposal::{Action, Command, ProposalId, Wanted, WhyLeftOut};
use capstan_plan::settings::Mode;

use super::{Ending, Run, SyncError, fail};

impl Run<'_> {
    pub(super) async fn bring_proposals_up(
        self,
        planned: Planned<'_>,
        ending: &mut Ending,
    ) -> Result<Outcome, SyncError> {
        let Planned { settings, plans, .. } = planned;
        let mut outcome = Outcome { sources: offered(&self.facts.names.kinds, plans), ..Outcome::default() };
        let mut decided: BTreeMap<ProposalId, DecidedPull> = BTreeMap::new();
        let wanted = wanted_of(planned);
        let Arranged { mut carriers, leaving, homes } = self.arrange(planned, &wanted).await?;
        let earlier = match self.earlier(&carriers, &wanted).await {
            // Open proposals continue without it.
            Err(error) if error.is_of_one() => {
                tracing::warn!(repository = %self.repository.name, error = %error, "earlier pull requests cannot be found: nothing new is opened");
                let mut unopened: Vec<ProposalId> = Vec::new();
                carriers.retain(|id, members| {
                    let opens = |member: &&ProposalId| may_join(self.facts, id, member, &wanted);
                    let new: Vec<ProposalId> = members.iter().filter(opens).cloned().collect();
                    members.retain(|member| !new.contains(member));
                    let stays = new.is_empty() || self.facts.is_open(id);
                    unopened.extend(new);
                    stays
                });
                let state = fail(&mut outcome, ending, &unopened, error);
                for member in unopened {
                    outcome.proposals.insert(member, state.clone());
                }
                Earlier::default()
            }
            earlier => earlier?,
        };
        for (id, members) in &carriers {
            match self.decide_carrier(planned, (id, members), &wanted, &earlier).await {
                Ok(one) => {
                    decided.insert(id.clone(), one);
                }
                Err(error) => {
                    let state = match self.unless_gone(id, error, ending).await {
                        // An error of GitHub or Git about one does not affect the others.
                        Err(error) if error.is_of_one() => {
                            tracing::warn!(repository = %self.repository.name, cluster = %id, error = %error, "the proposal cannot be decided");
                            fail(&mut outcome, ending, members, error)
                        }
                        state => state?,
                    };
                    outcome.note(members, &state);
                }
            }
        }
        let mut stopped: BTreeSet<ProposalId> = BTreeSet::new();
        let mut held = self.held_by_rollouts(planned, &decided).await?;
        for (id, why) in &held {
            outcome.note(&decided[id].carried, &ProposalOutcome::waiting(why.clone()));
        }
        for (id, why) in held_by_refusals(planned, &decided, self.ports.clock.now()) {
            outcome.note(&decided[&id].carried, &ProposalOutcome::refused(why.clone()));
            held.insert(id, why);
        }
        for (id, one) in &mut decided {
            if let Some(error) = one.outside.take() {
                ending.fail(error.into());
            }
            for (member, why) in &one.left_out {
                let state = match why {
                    WhyLeftOut::Waits(why) => ProposalOutcome::waiting(why.clone()),
                    WhyLeftOut::Stands(standing) => leave(&id.kind, standing, settings, &mut outcome),
                };
                outcome.proposals.insert(member.clone(), state);
            }
        }
        let campaigns = self
            .hold_by_campaigns(
                planned,
                (&carriers, &wanted, &earlier),
                &mut decided,
                &held,
                (&mut outcome, &mut *ending),
            )
            .await?;
        for (id, waits) in &campaigns.waiting {
            outcome.note(std::slice::from_ref(id), &ProposalOutcome::waiting(waits.why.clone()));
        }
        outcome.campaigns = campaigns.campaigns;
        for (id, one) in decided.iter().filter(|(_, one)| one.opens()) {
            if let Some(waits) = one.carried.iter().find_map(|member| campaigns.waiting.get(member)) {
                held.insert(id.clone(), waits.why.clone());
                if waits.for_all {
                    stopped.insert(id.clone());
                }
            }
        }
        decided.retain(|id, one| !stopped.contains(id) && (!held.contains_key(id) || one.opens()));
        let limits = (settings.mode != Mode::Observe).then_some(&settings.upgrade.proposals);
        let opens = decided.values().any(DecidedPull::opens);
        let loaded = if opens && limits.is_some() { self.load().await } else { Ok(ProposalLoad::default()) };
        let mut shown = match loaded {
            // Without it nothing may be opened; everything else continues.
            Err(error) if error.is_of_one() => {
                tracing::warn!(repository = %self.repository.name, error = %error, "what was opened lately cannot be listed: nothing new is opened");
                let state = ProposalOutcome::waiting(sentence(&error.to_string()));
                let opening = decided.values().filter(|one| one.opens());
                let unopened: Vec<ProposalId> = opening.flat_map(|one| one.carried.clone()).collect();
                fail(&mut outcome, ending, &unopened, error);
                outcome.note(&unopened, &state);
                decided.retain(|_, one| !one.opens());
                ProposalLoad::default()
            }
            shown => shown?,
        };
        // A proposal that moves to another pull request makes room for it.
        shown.open = shown.open.saturating_sub(self.facts.clusters_in(leaving.keys()));
        let closing: BTreeMap<&ProposalId, Vec<ProposalId>> = decided
            .iter()
            .filter(|(_, one)| matches!(one.action, Action::Close { .. }))
            .map(|(id, _)| (id, self.facts.members_of(id)))
            .collect();
        let candidates: Vec<ProposalCandidate<'_>> = decided
            .iter()
            .map(|(id, one)| ProposalCandidate {
                held: held.contains_key(id),
                carries: closing.get(id).unwrap_or(&one.carried),
                action: &one.action,
                command: one.command,
                proposal: id,
            })
            .collect();
        let selection = turn(&candidates, limits, shown);
        for waiting in selection.waiting {
            let Some(one) = decided.get(&waiting.proposal) else { continue };
            outcome.note(&one.carried, &ProposalOutcome::waiting(waiting.why));
        }
        self.carry_out(planned, &decided, &selection.now, (&mut outcome, &mut *ending)).await?;
        self.let_go(planned, (&leaving, &homes), &wanted, &mut outcome).await?;
        remark(planned, &mut outcome);
        Ok(outcome)
    }

    /// What campaigns say. Each member of a group pull request waits by itself: the others go without it.
    async fn hold_by_campaigns(
        self,
        planned: Planned<'_>,
        (carriers, wanted, earlier): (&Carriers, &BTreeMap<ProposalId, Wanted>, &Earlier),
        decided: &mut BTreeMap<ProposalId, DecidedPull>,
        held: &BTreeMap<ProposalId, String>,
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<Obeyed, SyncError> {
        let obeyed = self.obey_campaigns(planned, decided, held).await?;
        for (id, members) in carriers.iter().filter(|(id, _)| id.target.group().is_some()) {
            let Some(one) = decided.get(id) else { continue };
            let waits = |member: &ProposalId| obeyed.waiting.get(member).map(|waits| waits.for_all);
            let Some(going) = without_those_that_wait(planned, (one, members), waits) else { continue };
            match self.decide_carrier(planned, (id, &going), wanted, earlier).await {
                Ok(without) => drop(decided.insert(id.clone(), without)),
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, cluster = %id, error = %error, "the proposal cannot be decided");
                    let state = fail(outcome, ending, &going, error);
                    outcome.note(&going, &state);
                    decided.remove(id);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(obeyed)
    }

    /// Proposals whose cluster's next step waits for its machines. A person's command does not wait. Each
    /// member of a group pull request was examined by itself.
    async fn held_by_rollouts(
        self,
        planned: Planned<'_>,
        decided: &BTreeMap<ProposalId, DecidedPull>,
    ) -> Result<BTreeMap<ProposalId, String>, SyncError> {
        let mut held = BTreeMap::new();
        for (proposal, one) in decided {
            if one.opens() && one.command == Command::None && proposal.target.group().is_none() {
                let why = self.rollout_of(planned, proposal).await?;
                held.extend(why.map(|why| (proposal.clone(), why)));
            }
        }
        Ok(held)
    }

    /// What counts against the limits.
    async fn load(self) -> Result<ProposalLoad, SyncError> {
        let hour_ago = self.ports.clock.now() - jiff::SignedDuration::from_hours(1);
        let opened = self.ports.host.pull_requests_since(self.repository, hour_ago).await?;
        Ok(ProposalLoad {
            open: self.facts.clusters_in(self.facts.proposals.keys()),
            opened_last_hour: self.facts.proposals_among(&opened),
        })
    }
}
