//! Campaigns: gathers what [`capstan_bot_core::campaigns`] asks about every release that moves, and sends the questions
//! to webhooks.
//!
//! *Expected flow.* Each pull request has its decision. New ones are compared with the campaign of their
//! release. An open one is never closed because of it, and follows a newer release. Results (since when waves
//! are healthy, that it was stopped) are recorded in the folded block of the dashboard issue.
//!
//! *Guarantees.* Everything else is read again from Git, GitHub and the reconcilers' reports, so that a lost
//! database changes no decision. While the dashboard cannot be written nothing new is opened. A person's
//! `upgrade` passes waves and windows, like the other limits, but not a stopped campaign.

use std::collections::{BTreeMap, BTreeSet};

use capstan_bot_core::campaigns::{
    AskedWave, CheckSeen, Obeyed, Obeying, ReleaseFound, ReleaseNeed, UnreadNow, WebhookAnswerState,
    by_folder, new_problems, not_allowed, progress_effects,
};
use capstan_bot_core::facts::{Scopes, settings_file};
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::{Campaigns, DecidedPull, DecisionStep};
use capstan_campaign::settings::Webhook;
use capstan_model::finding::Finding;
use capstan_model::ids::ClusterId;
use capstan_model::target::Target;
use capstan_model::tree::{CommitId, RepoPath, Tree};
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::RepositorySettings;

use super::SyncError;
use super::inputs::ClusterInputs;
use super::planning::wave_candidates;
use crate::performing::Performer;
use crate::wave_webhooks::WaveWebhooks;
use capstan_fleet::planner::OpenFleet;
use capstan_ports::{Clock, CodeHost, CodeHostError, Repository};

/// Says in the audit trail and on the commits of releases which campaigns stopped, once; and that they
/// continue.
pub(super) async fn tell_campaigns(
    performer: &Performer<'_>,
    repository: &Repository,
    campaigns: &Campaigns,
) -> Result<(), SyncError> {
    for (note, stop) in &campaigns.stopped {
        tracing::warn!(repository = %repository.name, campaign = note.campaign, release = note.release, why = stop.why, "campaign-stopped");
    }
    performer.perform_all(progress_effects(campaigns, repository.id)).await
}

/// Reads what campaigns depend on.
#[derive(Clone, Copy)]
pub(super) struct CampaignReader<'a> {
    pub(super) host: &'a dyn CodeHost,
    pub(super) clock: &'a dyn Clock,
    pub(super) repository: &'a Repository,
    /// Which webhooks may be asked, if any may.
    pub(super) webhooks: Option<&'a WaveWebhooks>,
    pub(super) inputs: ClusterInputs<'a>,
}

impl CampaignReader<'_> {
    /// Applies the campaigns to the decisions about pull requests. `held` are those that wait for something
    /// else.
    pub(super) async fn obey(
        self,
        planned: PlannedRun<'_>,
        decided: &BTreeMap<ProposalId, DecidedPull>,
        held: &BTreeMap<ProposalId, String>,
    ) -> Result<Obeyed, SyncError> {
        let obeying = Obeying::new(planned, decided, held, self.clock.now());
        let mut obeyed = obeying.begin();
        for moving in obeying.releases() {
            let release = obeying.release(moving, &obeyed);
            let mut found = ReleaseFound::default();
            let decided = loop {
                match release.decide(&found, self.clock.now()) {
                    DecisionStep::Decided(decided) => break decided,
                    DecisionStep::Ask(need) => {
                        self.find_of_release(release.campaign(), need, &mut found).await?
                    }
                }
            };
            release.conclude(decided, &mut obeyed);
        }
        Ok(obeying.end(obeyed))
    }

    /// Finds out what a release in its campaign has to know.
    async fn find_of_release(
        self,
        campaign: &str,
        need: ReleaseNeed,
        found: &mut ReleaseFound,
    ) -> Result<(), SyncError> {
        let (host, repository) = (self.host, self.repository);
        match need {
            ReleaseNeed::Stale(reported) => found.stale = Some(self.speak_of_older(&reported).await?),
            ReleaseNeed::Merges(wave, branches) => {
                let base = Some(repository.default_branch.as_str());
                let newest = host.newest_pull_requests(repository, &branches, base).await;
                found.merges.insert(wave, self.read_now(campaign, newest)?);
            }
            ReleaseNeed::Commit(number) => {
                let commit = match host.pull_request(repository, number).await {
                    Err(CodeHostError::NotFound { .. }) => Ok(None),
                    pull => pull.map(|pull| pull.merge_commit),
                };
                found.commits.insert(number, self.read_now(campaign, commit)?);
            }
            ReleaseNeed::Check(commit, name) => {
                let state = host.verdict(repository, &commit, &name).await;
                let state = state.map(|state| CheckSeen { state, at: self.clock.now() });
                found.checks.insert((commit, name), self.read_now(campaign, state)?);
            }
            ReleaseNeed::Webhook(asked) => {
                let AskedWave { at, wave, webhook } = *asked;
                let state = self.webhooks.map_or_else(
                    || WebhookAnswerState::Refused(not_allowed(&webhook.url)),
                    |webhooks| webhooks.heard(&repository.name, &wave, &webhook),
                );
                found.webhooks.insert(at, state);
            }
            ReleaseNeed::Ask(asked, question) => {
                let AskedWave { at, wave, webhook } = *asked;
                let state = self.webhooks.map_or_else(
                    || WebhookAnswerState::Refused(not_allowed(&webhook.url)),
                    |webhooks| webhooks.ask(wave, &webhook, question, repository),
                );
                found.webhooks.insert(at, state);
            }
        }
        Ok(())
    }

    /// What cannot be read of one wave alone affects nothing else.
    fn read_now<T>(
        self,
        campaign: &str,
        read: Result<T, CodeHostError>,
    ) -> Result<Result<T, UnreadNow>, SyncError> {
        match read {
            Ok(read) => Ok(Ok(read)),
            Err(error) if SyncError::is_lone(&error) => {
                tracing::warn!(repository = %self.repository.name, campaign, error = %error, "the merges of a wave, or their checks, cannot be read");
                Ok(Err(UnreadNow))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Of these clusters, those whose inputs differ from the commit of their newest report, or are unknown.
    /// Reports on one commit are examined together.
    async fn speak_of_older(
        self,
        reported: &BTreeMap<CommitId, Scopes>,
    ) -> Result<BTreeSet<ClusterId>, SyncError> {
        let mut stale = BTreeSet::new();
        for (commit, scopes) in reported {
            let changed = match self.inputs.changed_since(commit, scopes).await {
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, commit = %commit, error = %error, "the commit of a report cannot be read");
                    None
                }
                changed => changed?,
            };
            match changed {
                Some(clusters) => stale.extend(clusters),
                // Unknown: it does not count as done.
                None => stale.extend(scopes.keys().filter_map(Target::id).cloned()),
            }
        }
        Ok(stale)
    }
}

/// Judges the campaigns of new settings.
#[derive(Clone, Copy)]
pub(super) struct CampaignProblems<'a> {
    pub(super) clock: &'a dyn Clock,
    pub(super) repository: &'a Repository,
    /// Which webhooks may be asked, if any may.
    pub(super) webhooks: Option<&'a WaveWebhooks>,
}

impl CampaignProblems<'_> {
    /// Problems of campaigns under new settings, except those that the old ones have too.
    pub(super) async fn judge(
        self,
        tree: &dyn Tree,
        fleet: Box<dyn OpenFleet>,
        old: &RepositorySettings,
    ) -> Result<Vec<Finding>, SyncError> {
        let new = fleet.settings().clone();
        let (true, Some(entry)) = (!new.campaigns.is_empty(), settings_file(tree)) else {
            return Ok(Vec::new());
        };
        let text = tree.read(entry).ok();
        let text = text.as_deref().and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
        let (fleet, candidates) = wave_candidates(fleet, &new, &self.repository.name).await?;
        let ids = fleet.scopes().into_iter().filter_map(|scope| scope.target.id().cloned());
        let all: Vec<_> =
            ids.map(|id| candidates.get(&id).cloned().unwrap_or_else(|| by_folder(&id))).collect();
        let file: &RepoPath = &entry.path;
        let now = self.clock.now();
        let allowed = |webhook: &Webhook| match self.webhooks {
            Some(webhooks) => webhooks.allows(&self.repository.name, &webhook.url).map(drop),
            None => Err(not_allowed(&webhook.url)),
        };
        let judge = |settings: &RepositorySettings| {
            let mut findings = settings.judge_campaigns((file, text), &all, now);
            findings.extend(settings.judge_webhooks((file, text), allowed));
            findings
        };
        Ok(new_problems(old, &judge(old), judge(&new)))
    }
}
