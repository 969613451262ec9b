//! Webhooks that say whether a wave is healthy: sends the question of one wave, and reads its answer.

use std::sync::Arc;

use capstan_bot_core::campaigns::{Moving, by_folder};
use capstan_bot_core::facts::settings_file;
use capstan_bot_core::planned::Planned;
use capstan_campaign::decision::{CampaignDecision, CampaignFacts, decide};
use capstan_campaign::facts::{Load, Member, Memory, Standing};
use capstan_campaign::settings::Webhook;
use capstan_model::finding::Finding;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::RepositorySettings;
use capstan_report::Fingerprint;
use jiff::{SignedDuration, Timestamp};

use super::super::{OpenFleet, Run, SyncError};
use super::POLL;
use crate::wave_webhooks::{Wave, WaveCluster, WebhookAnswerState, WebhookQuestion, refused};

/// A job that waits for an answer is queued by it; if that is lost, the job looks by itself.
const LOST: SignedDuration = SignedDuration::from_mins(2);

/// What is known of the clusters of a campaign.
#[derive(Clone, Copy)]
pub(super) struct CampaignClusters<'a> {
    pub(super) ids: &'a [ProposalId],
    pub(super) members: &'a [Member],
    pub(super) besides: &'a [Load],
    pub(super) urgent: bool,
    pub(super) now: Timestamp,
}

impl Run<'_> {
    /// Decides, with the answers of webhooks; returns the new record, and when a webhook is asked again.
    pub(super) async fn decide(
        self,
        planned: Planned<'_>,
        moving: &Moving<'_>,
        known: CampaignClusters<'_>,
    ) -> Result<(CampaignDecision, Memory, Option<Timestamp>), SyncError> {
        let settings = moving.settings;
        let CampaignClusters { members, besides, urgent, now, .. } = known;
        let mut memory = moving.note.memory.clone();
        // Each answer leads to one further wave at most.
        for _ in 0..=settings.waves.len() {
            let facts = CampaignFacts { members, memory: &memory, besides, silence: None, urgent, now };
            let decision = decide(settings, &facts);
            let asked = decision.ask_webhook.and_then(|at| Some((at, settings.waves.get(at)?)));
            let Some((at, wave)) = asked else {
                let after = decision.remembered(settings, &memory);
                return Ok((decision, after, None));
            };
            let Some(webhook) = &wave.verify.webhook else { break };
            match self.ask_webhook(planned, moving, (at, webhook), known).await? {
                WebhookAnswerState::Said(word) => {
                    memory.waves.entry(wave.name.clone()).or_default().webhook = Some(word);
                }
                WebhookAnswerState::Silent { why, again } => {
                    let decision = decide(settings, &CampaignFacts { silence: Some(&why), ..facts });
                    let after = decision.remembered(settings, &memory);
                    return Ok((decision, after, again));
                }
                WebhookAnswerState::Due(_) => break,
            }
        }
        let decision = decide(
            settings,
            &CampaignFacts { members, memory: &memory, besides, silence: None, urgent, now },
        );
        let after = decision.remembered(settings, &memory);
        Ok((decision, after, Some(now + POLL)))
    }

    /// The answer of a wave's webhook; asks it if it is due.
    async fn ask_webhook(
        self,
        planned: Planned<'_>,
        moving: &Moving<'_>,
        (at, webhook): (usize, &Webhook),
        known: CampaignClusters<'_>,
    ) -> Result<WebhookAnswerState, SyncError> {
        let Some(webhooks) = &self.ports.webhooks else {
            return Ok(WebhookAnswerState::Silent { why: refused(&webhook.url), again: None });
        };
        if let Err(why) = webhooks.allows(&self.repository.name, &webhook.url) {
            return Ok(WebhookAnswerState::Silent { why, again: None });
        }
        let is_asked_about =
            |member: &Member| member.wave == at && !moving.note.memory.skipped.contains(&member.cluster);
        let of_wave: Vec<(&ProposalId, &Member)> =
            known.ids.iter().zip(known.members).filter(|(_, member)| is_asked_about(member)).collect();
        let name = moving.settings.waves.get(at).map(|wave| wave.name.clone()).unwrap_or_default();
        let state = of_wave.iter().fold(
            Fingerprint::of("wave").field("url", webhook.url.url()),
            |state, (_, member)| match member.standing {
                Standing::Done { at } => state.field("cluster", &member.cluster).field("since", at),
                _ => state.field("cluster", &member.cluster),
            },
        );
        let wave = Wave {
            repository: self.repository.id,
            campaign: moving.settings.name.clone(),
            release: moving.release.to_string(),
            wave: name,
            state: state.finish(),
        };
        let question = match webhooks.heard(&wave, &webhook.url) {
            WebhookAnswerState::Due(Some(question)) => question,
            WebhookAnswerState::Due(None) => match self.question(planned, &wave, &of_wave).await {
                Ok(question) => Arc::new(question),
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, campaign = wave.campaign, wave = wave.wave, error = %error, "a webhook is not asked yet: the merges of the wave cannot be read");
                    let why = "the webhook is not asked yet: GitHub does not list the merges of the wave"
                        .to_owned();
                    return Ok(WebhookAnswerState::Silent { why, again: Some(known.now + POLL) });
                }
                Err(error) => return Err(error),
            },
            heard => return Ok(woken(heard, known.now)),
        };
        Ok(woken(webhooks.ask(wave, webhook, question, self.repository), known.now))
    }

    async fn question(
        self,
        planned: Planned<'_>,
        wave: &Wave,
        of_wave: &[(&ProposalId, &Member)],
    ) -> Result<WebhookQuestion, SyncError> {
        let ids: Vec<&ProposalId> = of_wave.iter().map(|(id, _)| *id).collect();
        let merges = self.merges_of(planned, &ids).await?;
        let mut clusters = Vec::with_capacity(of_wave.len());
        for (id, member) in of_wave {
            let pull_request = merges.get(id).copied();
            let merge_commit = match pull_request {
                Some(number) => self.merge_commit(number).await?,
                None => None,
            };
            clusters.push(WaveCluster {
                cluster: member.cluster.to_string(),
                pull_request,
                merge_commit: merge_commit.map(|commit| commit.to_string()),
            });
        }
        let Wave { campaign, release, wave, state, .. } = wave;
        let question = Fingerprint::of("question")
            .field("repository", self.repository.id)
            .field("campaign", campaign)
            .field("release", release)
            .field("wave", wave)
            .field("state", state)
            .finish();
        Ok(WebhookQuestion {
            question,
            repository: self.repository.name.to_string(),
            campaign: campaign.clone(),
            wave: wave.clone(),
            release: release.clone(),
            clusters,
        })
    }

    /// Problems of campaigns under new settings, except those that the old ones have too.
    pub(in super::super) async fn judge_campaigns(
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
        let (fleet, candidates) = self.wave_candidates(fleet, &new).await?;
        let ids = fleet.scopes().into_iter().filter_map(|scope| scope.target.id().cloned());
        let all: Vec<_> =
            ids.map(|id| candidates.get(&id).cloned().unwrap_or_else(|| by_folder(&id))).collect();
        let file: &RepoPath = &entry.path;
        let now = self.ports.clock.now();
        let allowed = |webhook: &Webhook| match &self.ports.webhooks {
            Some(webhooks) => webhooks.allows(&self.repository.name, &webhook.url).map(drop),
            None => Err(refused(&webhook.url)),
        };
        let judge = |settings: &RepositorySettings| {
            let mut findings = settings.judge_campaigns((file, text), &all, now);
            findings.extend(settings.judge_webhooks((file, text), allowed));
            findings
        };
        let was = judge(old);
        let is_new = |finding: &Finding| {
            !was.iter().any(|one| one.rule == finding.rule && one.message == finding.message)
        };
        Ok(old.severities().settle(judge(&new).into_iter().filter(is_new).collect()))
    }
}

/// When a run looks again for an answer.
fn woken(heard: WebhookAnswerState, now: Timestamp) -> WebhookAnswerState {
    match heard {
        WebhookAnswerState::Silent { why, again: None } => {
            WebhookAnswerState::Silent { why, again: Some(now + LOST) }
        }
        heard => heard,
    }
}
