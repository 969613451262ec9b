//! From plans to proposals: what a selection has to know is asked, and what it selects is carried out.

use std::collections::BTreeMap;

use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::{
    Carriers, DecidedPulls, Earlier, Outcome, ProposalFailure, Selected, Selecting, SelectionFacts,
    SelectionNeed, Step, remark, select, wanted_of,
};
use capstan_plan::campaign::ProposalLoad;

use super::{Ending, Run, SyncError};

impl Run<'_> {
    pub(super) async fn bring_proposals_up(
        self,
        planned: Planned<'_>,
        ending: &mut Ending,
    ) -> Result<Outcome, SyncError> {
        let wanted = wanted_of(planned);
        let arranged = self.arrange(planned, &wanted).await?;
        let now = self.ports.clock.now();
        let selecting = Selecting { planned, wanted: &wanted, arranged: &arranged, now };
        let mut found = SelectionFacts::default();
        let Selected { mut outcome, now } = loop {
            match select(&selecting, &found) {
                Step::Decided(selected) => break selected,
                Step::Ask(need) => self.find(selecting, need, &mut found, ending).await?,
            }
        };
        let now = now.iter().filter_map(|id| Some((id, found.decision(id)?)));
        self.carry_out(planned, &now.collect::<Vec<_>>(), (&mut outcome, &mut *ending)).await?;
        let homes = (&arranged.leaving, &arranged.homes);
        self.let_go(planned, homes, &wanted, (&mut outcome, &mut *ending)).await?;
        remark(planned, &mut outcome);
        Ok(outcome)
    }

    /// Finds out what a selection has to know.
    async fn find(
        self,
        selecting: Selecting<'_>,
        need: SelectionNeed,
        found: &mut SelectionFacts,
        ending: &mut Ending,
    ) -> Result<(), SyncError> {
        let Selecting { planned, wanted, arranged, .. } = selecting;
        let earlier = found.earlier.as_ref().and_then(|earlier| earlier.as_ref().ok());
        match need {
            SelectionNeed::Earlier => {
                let earlier = self.earlier(&arranged.carriers, wanted).await;
                found.earlier = Some(self.lone("listing earlier pull requests", earlier, ending)?);
            }
            SelectionNeed::Decided(carriers) => {
                let decided = self.decide_each(selecting, &carriers, earlier, ending).await?;
                for outside in decided.made.values().filter_map(|one| one.outside.clone()) {
                    ending.fail(outside.into());
                }
                found.decided = Some(decided);
            }
            SelectionNeed::Rollouts(proposals) => {
                let mut waiting = BTreeMap::new();
                for proposal in proposals {
                    let why = self.rollout_of(planned, &proposal).await?;
                    waiting.extend(why.map(|why| (proposal, why)));
                }
                found.rollouts = Some(waiting);
            }
            SelectionNeed::Campaigns(held) => {
                let none = BTreeMap::new();
                let decided = found.decided.as_ref().map_or(&none, |decided| &decided.made);
                let obeyed = self.obey_campaigns(planned, decided, &held).await?;
                found.campaigns = Some((obeyed.campaigns, obeyed.waiting));
            }
            SelectionNeed::Again(carriers) => {
                found.again = Some(self.decide_each(selecting, &carriers, earlier, ending).await?);
            }
            SelectionNeed::Load => {
                let load = self.load().await;
                found.load = Some(self.lone("listing what was opened lately", load, ending)?);
            }
        }
        Ok(())
    }

    /// Decides about each of these pull requests. What GitHub or Git does not tell about one costs its neighbours nothing.
    async fn decide_each(
        self,
        Selecting { planned, wanted, .. }: Selecting<'_>,
        carriers: &Carriers,
        earlier: Option<&Earlier>,
        ending: &mut Ending,
    ) -> Result<DecidedPulls, SyncError> {
        let none = Earlier::default();
        let earlier = earlier.unwrap_or(&none);
        let mut decided = DecidedPulls::default();
        for (id, members) in carriers {
            match self.decide_carrier(planned, (id, members), wanted, earlier).await {
                Ok(one) => drop(decided.made.insert(id.clone(), one)),
                Err(error) => {
                    let (failure, error) = self.failure_of((id, "deciding"), error).await?;
                    ending.keep(&failure, error);
                    decided.failed.insert(id.clone(), failure);
                }
            }
        }
        Ok(decided)
    }

    /// Keeps an error that concerns new proposals alone: these are not opened, and everything else continues.
    fn lone<T>(
        self,
        doing: &'static str,
        read: Result<T, SyncError>,
        ending: &mut Ending,
    ) -> Result<Result<T, ProposalFailure>, SyncError> {
        let error = match read {
            Ok(read) => return Ok(Ok(read)),
            Err(error) => error,
        };
        let Some(failure) = error.failure() else { return Err(error) };
        tracing::warn!(repository = %self.repository.name, doing, error = %error, "nothing new is opened");
        ending.keep(&failure, error);
        Ok(Err(failure))
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
