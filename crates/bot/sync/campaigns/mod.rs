//! Campaigns: gathers the facts of every cluster that a release concerns, the heart decides
//! ([`capstan_campaign::decision`]), and clusters that may not begin yet wait.
//!
//! *Expected flow.* Each pull request has its decision. New ones are compared with the campaign of their
//! release. An open one is never closed because of it, and follows a newer release. Results (since when waves
//! are healthy, that it was stopped) are recorded in the folded block of the dashboard issue.
//!
//! *Guarantees.* Everything else is read again from Git, GitHub and the reconcilers' reports, so that a lost
//! database changes no decision. While the dashboard cannot be written nothing new is opened. A person's
//! `upgrade` passes waves and windows, like the other limits, but not a stopped campaign.

mod checks;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};

use capstan_bot_core::campaigns::{
    Moving, Obeyed, Place, besides, give, in_no_wave, is_urgent, members, moving, note_begun, places,
    progress, standing, told, unnoted, waiting,
};
use capstan_bot_core::facts::Scopes;
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::{Campaigns, DecidedPull, Waits};
use capstan_campaign::facts::{Failure, Member, Standing};
use capstan_campaign::membership::Candidate;
use capstan_model::ids::ClusterId;
use capstan_model::target::Target;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::{Mode, RepositorySettings};
use jiff::SignedDuration;

use self::webhooks::CampaignClusters;
use super::{OpenFleet, Run, SyncError};

/// How often a run polls what has no events.
const POLL: SignedDuration = SignedDuration::from_mins(5);

impl Run<'_> {
    /// Says in the audit trail and on the commits of releases which campaigns stopped, once; and that they
    /// continue.
    pub(super) async fn tell_campaigns(self, campaigns: &Campaigns) -> Result<(), SyncError> {
        for (note, stop) in &campaigns.stopped {
            tracing::warn!(repository = %self.repository.name, campaign = note.campaign, release = note.release, why = stop.why, "campaign-stopped");
        }
        self.performer.perform_all(told(campaigns, self.repository.id)).await
    }

    /// What selectors of waves need besides folders, if there are such selectors.
    pub(super) async fn candidates(
        self,
        fleet: Box<dyn OpenFleet>,
        settings: &RepositorySettings,
    ) -> Result<(Box<dyn OpenFleet>, BTreeMap<ClusterId, Candidate>), SyncError> {
        if settings.mode == Mode::Observe {
            return Ok((fleet, BTreeMap::new()));
        }
        self.wave_candidates(fleet, settings).await
    }

    /// Applies the campaigns to the decisions about pull requests. `held` are those that wait for something
    /// else.
    pub(super) async fn obey_campaigns(
        self,
        planned: Planned<'_>,
        decided: &BTreeMap<ProposalId, DecidedPull>,
        held: &BTreeMap<ProposalId, String>,
    ) -> Result<Obeyed, SyncError> {
        let settings = planned.settings;
        let mut obeyed = Obeyed::default();
        if settings.campaigns.is_empty() {
            return Ok(obeyed);
        }
        if settings.mode == Mode::Observe {
            obeyed.campaigns.notes = planned.decided.notes().to_vec();
            return Ok(obeyed);
        }
        let places = places(planned, decided, held, self.ports.clock.now());
        for (proposal, why) in in_no_wave(planned, &places) {
            obeyed.waiting.insert(proposal, Waits { why, for_all: false });
        }
        for mut moving in moving(planned, &places) {
            self.obey_one(planned, &mut moving, &places, &mut obeyed).await?;
        }
        obeyed.waiting.extend(unnoted(planned, &places));
        Ok(obeyed)
    }

    /// Decides about one release.
    async fn obey_one(
        self,
        planned: Planned<'_>,
        moving: &mut Moving<'_>,
        places: &BTreeMap<ProposalId, Place>,
        obeyed: &mut Obeyed,
    ) -> Result<(), SyncError> {
        let settings = moving.settings;
        for order in planned.decided.orders() {
            give(order, settings, &mut moving.note, self.ports.clock.now());
        }
        let before = moving.note.memory.clone();
        let now = self.ports.clock.now();
        let members = members(planned, settings, &moving.release, &before, places, now);
        let stale = self.speak_of_older(&members.reported(planned)).await?;
        let members = members.settle(planned, &stale);
        let all = (places, members.as_slice());
        let mut besides = besides(planned, settings, &moving.release, all, &before.skipped);
        let begun = obeyed.begun.entry(settings.name.clone()).or_default();
        for (load, more) in besides.iter_mut().zip(begun.iter()) {
            *load = load.and(*more);
        }
        let (ids, mut members): (Vec<ProposalId>, Vec<Member>) = members.into_iter().unzip();
        let polls = self.add_checks(planned, settings, &before, (&ids, &mut members)).await?;
        // Last: a fact that was just seen, such as a passed check, must not be later than this time.
        let now = self.ports.clock.now();
        let urgent = is_urgent(planned, &moving.release);
        let known = CampaignClusters { ids: &ids, members: &members, besides: &besides, urgent, now };
        let (decision, mut memory, heard_again) = self.decide(planned, moving, known).await?;
        memory.note_failed(members.iter().filter_map(|member| match member.standing {
            Standing::Failed { how: Failure::RolledBack, at } => Some((member.cluster.clone(), at)),
            _ => None,
        }));
        moving.note.memory = memory;
        note_begun(obeyed.begun.entry(settings.name.clone()).or_default(), &decision.open, &members);
        let all: Vec<(&ProposalId, &Member)> = ids.iter().zip(&members).collect();
        obeyed.waiting.extend(waiting(planned, (settings, &moving.release), &decision, &all, places));
        if before.stopped.is_none()
            && let Some(stop) = &decision.stopped
        {
            obeyed.campaigns.stopped.push((moving.note.clone(), stop.clone()));
        }
        let poll = polls.then(|| now + POLL);
        let again = [obeyed.campaigns.look_again, decision.look_again, poll, heard_again];
        let again = again.into_iter().flatten().min();
        obeyed.campaigns.look_again = again;
        obeyed.campaigns.standings.push(standing(moving, &decision, &members));
        let commands = &planned.settings.commands;
        obeyed.campaigns.progress.push(progress(moving, &decision, &members, commands));
        obeyed.campaigns.notes.push(moving.note.clone());
        Ok(())
    }

    /// Of these clusters, those whose inputs differ from the commit of their newest report, or are unknown.
    /// Reports on one commit are examined together.
    async fn speak_of_older(
        self,
        reported: &BTreeMap<CommitId, Scopes>,
    ) -> Result<BTreeSet<ClusterId>, SyncError> {
        let mut stale = BTreeSet::new();
        for (commit, scopes) in reported {
            match self.snapshot(commit).await {
                Ok(Some(reported)) => {
                    stale.extend(self.touched(&reported.tree, &self.facts.base.tree, scopes).await?);
                }
                // Unknown: it does not count as done.
                Ok(None) => stale.extend(scopes.keys().filter_map(Target::id).cloned()),
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, commit = %commit, error = %error, "the commit of a report cannot be read");
                    stale.extend(scopes.keys().filter_map(Target::id).cloned());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(stale)
    }
}
