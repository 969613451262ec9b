//! From plans to proposals: what a selection has to know is asked, and what it selects is carried out.

use std::collections::BTreeMap;

use capstan_bot_core::facts::Facts;
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::{
    Carriers, DecidedPulls, DecisionStep, Earlier, Outcome, ProposalFailure, Selected, Selecting,
    SelectionFacts, SelectionNeed, remark, select, wanted_of,
};
use capstan_plan::campaign::ProposalLoad;

use super::SyncError;
use super::campaigns::CampaignReader;
use super::deciding::PullDecisions;
use super::earlier::earlier;
use super::ending::Ending;
use super::publish::Publisher;
use crate::performing::Performer;
use capstan_ports::{Clock, PullRequests};

/// Brings the proposals of a repository up to date.
#[derive(Clone, Copy)]
pub(super) struct Proposals<'a> {
    pub(super) host: &'a dyn PullRequests,
    pub(super) clock: &'a dyn Clock,
    pub(super) facts: &'a Facts,
    pub(super) performer: &'a Performer<'a>,
    pub(super) decisions: PullDecisions<'a>,
    pub(super) campaigns: CampaignReader<'a>,
    pub(super) publisher: Publisher<'a>,
}

impl Proposals<'_> {
    /// Decides about every proposal, and carries the decisions out.
    pub(super) async fn bring_up(
        self,
        planned: PlannedRun<'_>,
        ending: &mut Ending,
    ) -> Result<Outcome, SyncError> {
        let wanted = wanted_of(planned);
        let arranged = self.arrange(planned, &wanted).await?;
        let now = self.clock.now();
        let selecting = Selecting { planned, wanted: &wanted, arranged: &arranged, now };
        let mut found = SelectionFacts::default();
        let Selected { mut outcome, now } = loop {
            match select(&selecting, &found) {
                DecisionStep::Decided(selected) => break selected,
                DecisionStep::Ask(need) => self.find(selecting, need, &mut found, ending).await?,
            }
        };
        let now = now.iter().filter_map(|id| Some((id, found.decision(id)?)));
        self.carry_out(planned, &now.collect::<Vec<_>>(), (&mut outcome, &mut *ending)).await?;
        self.let_go(planned, &arranged, &wanted, (&mut outcome, &mut *ending)).await?;
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
        let known = found.earlier.as_ref().and_then(|earlier| earlier.as_ref().ok());
        match need {
            SelectionNeed::Earlier => {
                let read = earlier(self.decisions.heads, &arranged.carriers, wanted).await;
                found.earlier = Some(self.lone("listing earlier pull requests", read, ending)?);
            }
            SelectionNeed::Decided(carriers) => {
                let decided = self.decide_each(selecting, &carriers, known, ending).await?;
                for outside in decided.made.values().filter_map(|one| one.outside.clone()) {
                    ending.fail(outside.into());
                }
                found.decided = Some(decided);
            }
            SelectionNeed::Rollouts(proposals) => {
                let mut waiting = BTreeMap::new();
                for proposal in proposals {
                    let why = self.decisions.rollout_of(planned, &proposal).await?;
                    waiting.extend(why.map(|why| (proposal, why)));
                }
                found.rollouts = Some(waiting);
            }
            SelectionNeed::Campaigns(held) => {
                let none = BTreeMap::new();
                let decided = found.decided.as_ref().map_or(&none, |decided| &decided.made);
                let obeyed = self.campaigns.obey(planned, decided, &held).await?;
                found.campaigns = Some((obeyed.campaigns, obeyed.waiting));
            }
            SelectionNeed::Again(carriers) => {
                found.again = Some(self.decide_each(selecting, &carriers, known, ending).await?);
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
            match self.decisions.decide_carrier(planned, (id, members), wanted, earlier).await {
                Ok(one) => drop(decided.made.insert(id.clone(), one)),
                Err(error) => {
                    let (failure, error) = self.publisher.failure_of((id, "deciding"), error).await?;
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
        tracing::warn!(repository = %self.facts.repository.name, doing, error = %error, "nothing new is opened");
        ending.keep(&failure, error);
        Ok(Err(failure))
    }

    /// What counts against the limits.
    async fn load(self) -> Result<ProposalLoad, SyncError> {
        let hour_ago = self.clock.now() - jiff::SignedDuration::from_hours(1);
        let opened = self.host.pull_requests_since(&self.facts.repository, hour_ago).await?;
        Ok(ProposalLoad {
            open: self.facts.clusters_in(self.facts.proposals.keys()),
            opened_last_hour: self.facts.proposals_among(&opened),
        })
    }
}
