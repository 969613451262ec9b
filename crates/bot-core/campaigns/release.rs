//! One release in its campaign: what has to be known of its clusters, and how it continues.
//!
//! Checks on merges are asked up to the first that has not passed, and no more once a wave is verified. A webhook is asked
//! about a wave that waits for nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_campaign::decision::{CampaignDecision, CampaignFacts, decide};
use capstan_campaign::facts::{ClusterProgress, Load, Member, Memory, RolloutFailure, WaveVerdict};
use capstan_campaign::settings::{WaveSettings, Webhook};
use capstan_facts::{CheckState, EarlierPullRequest, PullRequestState, WaveCluster, WebhookQuestion};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{Draft, ProposalId, carrier_of};
use capstan_report::Fingerprint;
use jiff::{SignedDuration, Timestamp};

use super::moving::{Moving, give, note_begun};
use super::releases::{Obeyed, is_urgent, waiting};
use super::standing::{Members, TargetProgress, besides, members};
use super::telling::{progress, standing};
use super::webhooks::{Wave, WebhookAnswerState};
use crate::facts::Scopes;
use crate::planned::PlannedRun;
use crate::proposals::DecisionStep;

/// How often a run polls what has no events.
const POLL: SignedDuration = SignedDuration::from_mins(5);

/// A job that waits for an answer is queued by it; if that is lost, the job looks by itself.
const LOST: SignedDuration = SignedDuration::from_mins(2);

/// A release that moves through its campaign, with its clusters.
pub struct CampaignRelease<'o, 'a> {
    planned: PlannedRun<'a>,
    places: &'o BTreeMap<ProposalId, TargetProgress>,
    moving: Moving<'a>,
    members: Members,
    /// What began in the campaign's waves in this run, for other releases.
    begun: Vec<Load>,
}

/// What could not be read just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadNow;

/// A check on a commit, as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckSeen {
    /// Its state; `None` where it was never reported.
    pub state: Option<CheckState>,
    /// When.
    pub at: Timestamp,
}

/// A wave whose webhook is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedWave {
    /// Its index in the campaign.
    pub at: usize,
    /// The wave in its state.
    pub wave: Wave,
    pub webhook: Webhook,
}

/// What was found out about a release so far.
#[derive(Debug, Clone, Default)]
pub struct ReleaseFound {
    /// Clusters whose newest report is about other inputs than those of now.
    pub stale: Option<BTreeSet<ClusterId>>,
    /// By wave, the newest pull requests of the branches on which its changes may have come.
    pub merges: BTreeMap<usize, Result<Vec<EarlierPullRequest>, UnreadNow>>,
    /// The commits of merges; `None` for a pull request without one.
    pub commits: BTreeMap<u64, Result<Option<CommitId>, UnreadNow>>,
    /// Checks of commits, by their names.
    pub checks: BTreeMap<(CommitId, String), Result<CheckSeen, UnreadNow>>,
    /// By wave, what is known of its webhook's answer.
    pub webhooks: BTreeMap<usize, WebhookAnswerState>,
}

/// What has to be known about a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseNeed {
    /// Which of the clusters that were reported at these commits have other inputs now.
    Stale(BTreeMap<CommitId, Scopes>),
    /// The newest pull requests of these branches, for that wave.
    Merges(usize, Vec<String>),
    /// The commit of the merge of that pull request.
    Commit(u64),
    /// The state of that check on a commit.
    Check(CommitId, String),
    /// What is known of the answer of a wave's webhook.
    Webhook(Box<AskedWave>),
    /// That question is sent to the wave's webhook; what is known until its answer.
    Ask(Box<AskedWave>, Arc<WebhookQuestion>),
}

/// How a release continues.
#[derive(Debug, Clone)]
pub struct ReleaseDecided {
    decision: CampaignDecision,
    memory: Memory,
    members: Vec<(ProposalId, Member)>,
    /// When Capstan checks the release again.
    again: Option<Timestamp>,
}

/// What a webhook says of its wave.
enum WebhookSays {
    Word(capstan_campaign::facts::WebhookWord),
    /// Why it says nothing, and when it is asked again.
    Nothing(String, Option<Timestamp>),
    /// Nothing is known.
    Unknown,
}

impl<'o, 'a> CampaignRelease<'o, 'a> {
    /// A release with people's orders to its campaign carried out.
    pub(super) fn new(
        (planned, places): (PlannedRun<'a>, &'o BTreeMap<ProposalId, TargetProgress>),
        mut moving: Moving<'a>,
        obeyed: &Obeyed,
        now: Timestamp,
    ) -> Self {
        for order in planned.decided.orders() {
            give(order, moving.settings, &mut moving.note, now);
        }
        let (settings, memory) = (moving.settings, &moving.note.memory);
        let members = members(planned, settings, &moving.release, memory, places, now);
        let begun = obeyed.begun.get(&settings.name).cloned().unwrap_or_default();
        Self { planned, places, moving, members, begun }
    }

    /// The campaign's name.
    pub fn campaign(&self) -> &str {
        &self.moving.settings.name
    }

    /// Decides how it continues, or says what has to be known first. No fact is newer than `now`.
    pub fn decide(&self, found: &ReleaseFound, now: Timestamp) -> DecisionStep<ReleaseDecided, ReleaseNeed> {
        self.decided(found, now).map_or_else(DecisionStep::Ask, DecisionStep::Decided)
    }

    fn decided(&self, found: &ReleaseFound, now: Timestamp) -> Result<ReleaseDecided, ReleaseNeed> {
        let planned = self.planned;
        let (settings, before) = (self.moving.settings, &self.moving.note.memory);
        let reported = self.members.reported(planned);
        let nothing = BTreeSet::new();
        let stale = match &found.stale {
            Some(stale) => stale,
            None if reported.is_empty() => &nothing,
            None => return Err(ReleaseNeed::Stale(reported)),
        };
        let mut all = self.members.clone().settle(planned, stale);
        let polls = self.add_checks(found, &mut all)?;
        let places = (self.places, all.as_slice());
        let mut besides = besides(planned, settings, &self.moving.release, places, &before.skipped);
        for (load, more) in besides.iter_mut().zip(&self.begun) {
            *load = load.and(*more);
        }
        let members: Vec<Member> = all.iter().map(|(_, member)| member.clone()).collect();
        let mut memory = before.clone();
        let urgent = is_urgent(planned, &self.moving.release);
        let with = |memory: &Memory, silence: Option<&str>| {
            let facts = CampaignFacts { members: &members, memory, besides: &besides, silence, urgent, now };
            decide(settings, &facts)
        };
        let (mut decision, mut heard_again) = (with(&memory, None), None);
        // Each answer leads to one further wave at most.
        let mut answers = 0..=settings.waves.len();
        while let Some((at, wave)) = decision.ask_webhook.and_then(|at| Some((at, settings.waves.get(at)?))) {
            let heard = match &wave.verify.webhook {
                Some(webhook) if answers.next().is_some() => {
                    self.hear((at, wave, webhook), found, &all, now)?
                }
                _ => WebhookSays::Unknown,
            };
            match heard {
                WebhookSays::Word(word) => {
                    memory.waves.entry(wave.name.clone()).or_default().webhook = Some(word);
                    decision = with(&memory, None);
                }
                WebhookSays::Nothing(why, again) => {
                    (decision, heard_again) = (with(&memory, Some(why.as_str())), again);
                    break;
                }
                WebhookSays::Unknown => {
                    heard_again = Some(now + POLL);
                    break;
                }
            }
        }
        let mut memory = decision.remembered(settings, &memory);
        memory.note_failed(members.iter().filter_map(|member| match member.standing {
            ClusterProgress::Failed { how: RolloutFailure::RolledBack, at } => {
                Some((member.cluster.clone(), at))
            }
            _ => None,
        }));
        let poll = polls.then(|| now + POLL);
        let again = [decision.look_again, poll, heard_again].into_iter().flatten().min();
        Ok(ReleaseDecided { decision, memory, members: all, again })
    }

    fn is_of_wave(&self, at: usize, member: &Member) -> bool {
        member.wave == at && !self.moving.note.memory.skipped.contains(&member.cluster)
    }

    /// Adds the results of checks on merges whose wave waits for nothing else. Returns whether one is pending, for which
    /// there is no event.
    fn add_checks(
        &self,
        found: &ReleaseFound,
        all: &mut [(ProposalId, Member)],
    ) -> Result<bool, ReleaseNeed> {
        let mut waits = false;
        for (at, wave) in self.moving.settings.waves.iter().enumerate() {
            let names = &wave.verify.checks;
            if names.is_empty() {
                continue;
            }
            let known = self.moving.note.memory.waves.get(&wave.name);
            if let Some(proven) = known.and_then(|known| known.proven) {
                let passed = |name: &String| (name.clone(), WaveVerdict::Passed { at: proven });
                for (_, member) in all.iter_mut().filter(|(_, member)| self.is_of_wave(at, member)) {
                    member.checks = names.iter().map(passed).collect();
                }
                continue;
            }
            let mut of_wave: Vec<_> =
                all.iter_mut().filter(|(_, member)| self.is_of_wave(at, member)).collect();
            if of_wave.iter().all(|(_, member)| matches!(member.standing, ClusterProgress::Done { .. })) {
                // What cannot be read has not passed yet; the other waves and everything else continue.
                waits |= !self.all_passed((at, wave), found, &mut of_wave)?.unwrap_or(false);
            }
        }
        Ok(waits)
    }

    /// Records the results of a wave's checks, up to the first that has not passed; whether all have.
    fn all_passed(
        &self,
        (at, wave): (usize, &WaveSettings),
        found: &ReleaseFound,
        of_wave: &mut [&mut (ProposalId, Member)],
    ) -> Result<Result<bool, UnreadNow>, ReleaseNeed> {
        let ids: Vec<&ProposalId> = of_wave.iter().map(|one| &one.0).collect();
        let Ok(merges) = self.merges(at, &ids, found)? else { return Ok(Err(UnreadNow)) };
        for (id, member) in of_wave.iter_mut().map(|one| (&one.0, &mut one.1)) {
            let Ok(commit) = merge_commit(merges.get(id).copied(), found)? else { return Ok(Err(UnreadNow)) };
            // A change that no pull request of Capstan's merged is judged at the tip of the branch.
            let commit = commit.unwrap_or(&self.planned.facts.base.commit);
            for name in &wave.verify.checks {
                let check = (commit.clone(), name.clone());
                let verdict = match found.checks.get(&check) {
                    None => return Err(ReleaseNeed::Check(check.0, check.1)),
                    Some(Err(UnreadNow)) => return Ok(Err(UnreadNow)),
                    Some(Ok(CheckSeen { state, at })) => match state {
                        None | Some(CheckState::Pending) => WaveVerdict::Pending,
                        Some(CheckState::Passed) => WaveVerdict::Passed { at: *at },
                        Some(CheckState::Failed) => WaveVerdict::Failed { at: *at },
                    },
                };
                member.checks.insert(name.clone(), verdict);
                if !matches!(verdict, WaveVerdict::Passed { .. }) {
                    return Ok(Ok(false));
                }
            }
        }
        Ok(Ok(true))
    }

    /// The pull requests that brought these changes, if they were Capstan's.
    fn merges(
        &self,
        at: usize,
        those: &[&ProposalId],
        found: &ReleaseFound,
    ) -> Result<Result<BTreeMap<ProposalId, u64>, UnreadNow>, ReleaseNeed> {
        let branches = branches_of(self.planned, those);
        let names = || branches.iter().map(|(branch, _)| branch.clone()).collect::<BTreeSet<String>>();
        let newest = found.merges.get(&at);
        let newest = newest.ok_or_else(|| ReleaseNeed::Merges(at, names().into_iter().collect()))?;
        let Ok(newest) = newest else { return Ok(Err(UnreadNow)) };
        let mut by_branch: BTreeMap<&str, u64> = BTreeMap::new();
        for pull in newest.iter().filter(|pull| pull.state == PullRequestState::Merged) {
            let newest = by_branch.entry(&pull.head_branch).or_default();
            *newest = pull.number.max(*newest);
        }
        let mut merges: BTreeMap<ProposalId, u64> = BTreeMap::new();
        for (branch, id) in &branches {
            if let Some(number) = by_branch.get(branch.as_str()) {
                let newest = merges.entry((*id).clone()).or_default();
                *newest = (*number).max(*newest);
            }
        }
        Ok(Ok(merges))
    }

    /// What a wave's webhook says.
    fn hear(
        &self,
        (at, wave, webhook): (usize, &WaveSettings, &Webhook),
        found: &ReleaseFound,
        all: &[(ProposalId, Member)],
        now: Timestamp,
    ) -> Result<WebhookSays, ReleaseNeed> {
        let of_wave: Vec<&(ProposalId, Member)> =
            all.iter().filter(|(_, member)| self.is_of_wave(at, member)).collect();
        let wave = self.wave_in_its_state(wave, webhook, &of_wave);
        let asked = |wave| Box::new(AskedWave { at, wave, webhook: webhook.clone() });
        let question = match found.webhooks.get(&at) {
            None => return Err(ReleaseNeed::Webhook(asked(wave))),
            Some(WebhookAnswerState::Said(word)) => return Ok(WebhookSays::Word(word.clone())),
            Some(WebhookAnswerState::Refused(why)) => return Ok(WebhookSays::Nothing(why.clone(), None)),
            Some(WebhookAnswerState::Silent { why, again }) => {
                return Ok(WebhookSays::Nothing(why.clone(), Some(again.unwrap_or(now + LOST))));
            }
            Some(WebhookAnswerState::Due(Some(question))) => Arc::clone(question),
            Some(WebhookAnswerState::Due(None)) => match self.question(at, &wave, &of_wave, found)? {
                Ok(question) => Arc::new(question),
                Err(UnreadNow) => {
                    let why = "the webhook is not asked yet: GitHub does not list the merges of the wave"
                        .to_owned();
                    return Ok(WebhookSays::Nothing(why, Some(now + POLL)));
                }
            },
        };
        Err(ReleaseNeed::Ask(asked(wave), question))
    }

    fn wave_in_its_state(
        &self,
        wave: &WaveSettings,
        webhook: &Webhook,
        of_wave: &[&(ProposalId, Member)],
    ) -> Wave {
        let state = Fingerprint::of("wave").field("url", webhook.url.url());
        let state = of_wave.iter().fold(state, |state, (_, member)| match member.standing {
            ClusterProgress::Done { at } => state.field("cluster", &member.cluster).field("since", at),
            _ => state.field("cluster", &member.cluster),
        });
        Wave {
            repository: self.planned.facts.repository.id,
            campaign: self.moving.settings.name.clone(),
            release: self.moving.release.to_string(),
            wave: wave.name.clone(),
            state: state.finish(),
        }
    }

    fn question(
        &self,
        at: usize,
        wave: &Wave,
        of_wave: &[&(ProposalId, Member)],
        found: &ReleaseFound,
    ) -> Result<Result<WebhookQuestion, UnreadNow>, ReleaseNeed> {
        let ids: Vec<&ProposalId> = of_wave.iter().map(|(id, _)| id).collect();
        let Ok(merges) = self.merges(at, &ids, found)? else { return Ok(Err(UnreadNow)) };
        let mut clusters = Vec::with_capacity(of_wave.len());
        for (id, member) in of_wave {
            let pull_request = merges.get(id).copied();
            let Ok(merge_commit) = merge_commit(pull_request, found)? else { return Ok(Err(UnreadNow)) };
            clusters.push(WaveCluster {
                cluster: member.cluster.to_string(),
                pull_request,
                merge_commit: merge_commit.map(ToString::to_string),
            });
        }
        let Wave { campaign, release, wave, state, .. } = wave;
        let repository = &self.planned.facts.repository;
        let question = Fingerprint::of("question")
            .field("repository", repository.id)
            .field("campaign", campaign)
            .field("release", release)
            .field("wave", wave)
            .field("state", state)
            .finish();
        Ok(Ok(WebhookQuestion {
            question,
            repository: repository.name.to_string(),
            campaign: campaign.clone(),
            wave: wave.clone(),
            release: release.clone(),
            clusters,
        }))
    }

    /// Adds how it continues to the result of all campaigns.
    pub fn conclude(mut self, decided: ReleaseDecided, obeyed: &mut Obeyed) {
        let ReleaseDecided { decision, memory, members: all, again } = decided;
        let planned = self.planned;
        let settings = self.moving.settings;
        let was_stopped = self.moving.note.memory.stopped.is_some();
        self.moving.note.memory = memory;
        let members: Vec<Member> = all.iter().map(|(_, member)| member.clone()).collect();
        note_begun(obeyed.begun.entry(settings.name.clone()).or_default(), &decision.open, &members);
        let of_all: Vec<(&ProposalId, &Member)> = all.iter().map(|(id, member)| (id, member)).collect();
        obeyed.waiting.extend(waiting(
            planned,
            (settings, &self.moving.release),
            &decision,
            &of_all,
            self.places,
        ));
        let campaigns = &mut obeyed.campaigns;
        if let Some(stop) = decision.stopped.as_ref().filter(|_| !was_stopped) {
            campaigns.stopped.push((self.moving.note.clone(), stop.clone()));
        }
        campaigns.look_again = [campaigns.look_again, again].into_iter().flatten().min();
        campaigns.standings.push(standing(&self.moving, &decision, &members));
        campaigns.progress.push(progress(&self.moving, &decision, &members, &planned.settings.commands));
        campaigns.notes.push(self.moving.note);
    }
}

/// The branches on which changes may have come, each with the proposal that it may have brought.
fn branches_of<'i>(planned: PlannedRun<'_>, those: &[&'i ProposalId]) -> Vec<(String, &'i ProposalId)> {
    let by = planned.settings.upgrade.proposals.group.as_ref().map(|group| &group.by);
    let of_one = |id: &'i ProposalId| {
        let home = carrier_of(id, by, (&planned.decided.of(id), Draft::Ready));
        [(id.branch(), id), (home.branch(), id)]
    };
    those.iter().copied().flat_map(of_one).collect()
}

/// The commit of a merge, where there is one.
fn merge_commit(
    pull_request: Option<u64>,
    found: &ReleaseFound,
) -> Result<Result<Option<&CommitId>, UnreadNow>, ReleaseNeed> {
    let Some(number) = pull_request else { return Ok(Ok(None)) };
    let commit = found.commits.get(&number).ok_or(ReleaseNeed::Commit(number))?;
    Ok(commit.as_ref().map(Option::as_ref).map_err(|unread| *unread))
}
