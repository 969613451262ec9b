//! The checks on merges that waves require, by name.

use std::collections::{BTreeMap, BTreeSet};

use capstan_bot_core::planned::Planned;
use capstan_campaign::facts::{Member, Memory, Standing, WaveVerdict};
use capstan_campaign::settings::CampaignSettings;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::ProposalId;

use super::super::{Run, SyncError};
use capstan_ports::{CheckState, CodeHostError, PullRequestState};

impl Run<'_> {
    /// Adds the results of checks on merges whose wave waits for nothing else. They are read up to the first
    /// that has not passed, and no more once the wave is verified. Returns whether one is pending, for which
    /// there is no event.
    pub(super) async fn add_checks(
        self,
        planned: Planned<'_>,
        settings: &CampaignSettings,
        memory: &Memory,
        (ids, members): (&[ProposalId], &mut [Member]),
    ) -> Result<bool, SyncError> {
        let mut waits = false;
        for (at, wave) in settings.waves.iter().enumerate() {
            if wave.verify.checks.is_empty() {
                continue;
            }
            let is_of_wave = |member: &Member| member.wave == at && !memory.skipped.contains(&member.cluster);
            let known = memory.waves.get(&wave.name);
            if let Some(proven) = known.and_then(|known| known.proven) {
                let passed = || {
                    wave.verify.checks.iter().map(|name| (name.clone(), WaveVerdict::Passed { at: proven }))
                };
                for member in members.iter_mut().filter(|member| is_of_wave(member)) {
                    member.checks = passed().collect();
                }
                continue;
            }
            let is_done = |member: &Member| matches!(member.standing, Standing::Done { .. });
            if !members.iter().filter(|member| is_of_wave(member)).all(is_done) {
                continue;
            }
            let those: Vec<&ProposalId> = ids
                .iter()
                .zip(members.iter())
                .filter(|(_, member)| is_of_wave(member))
                .map(|(id, _)| id)
                .collect();
            let of_wave = ids.iter().zip(members.iter_mut()).filter(|(_, one)| is_of_wave(one));
            let all_passed = match self.merges_of(planned, &those).await {
                Ok(merges) => self.ask_checks(&wave.verify.checks, &merges, of_wave).await,
                Err(error) => Err(error),
            };
            waits |= match all_passed {
                Ok(all_passed) => !all_passed,
                // Then they have not passed yet; the other waves and everything else continue.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, campaign = settings.name, wave = wave.name, error = %error, "checks of merges cannot be read");
                    true
                }
                Err(error) => return Err(error),
            };
        }
        Ok(waits)
    }

    /// Records the results of these, up to the first that has not passed; returns whether all have.
    async fn ask_checks<'m>(
        self,
        names: &BTreeSet<String>,
        merges: &BTreeMap<ProposalId, u64>,
        of_wave: impl Iterator<Item = (&'m ProposalId, &'m mut Member)>,
    ) -> Result<bool, SyncError> {
        let now = self.ports.clock.now();
        for (id, member) in of_wave {
            let commit = match merges.get(id) {
                Some(number) => self.merge_commit(*number).await?,
                None => None,
            };
            // A change that no pull request of Capstan's merged is judged at the tip of the branch.
            let commit = commit.unwrap_or_else(|| self.facts.base.commit.clone());
            for name in names {
                let verdict = match self.ports.host.verdict(self.repository, &commit, name).await? {
                    None | Some(CheckState::Pending) => WaveVerdict::Pending,
                    Some(CheckState::Passed) => WaveVerdict::Passed { at: now },
                    Some(CheckState::Failed) => WaveVerdict::Failed { at: now },
                };
                member.checks.insert(name.clone(), verdict);
                if !matches!(verdict, WaveVerdict::Passed { .. }) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The pull requests that brought these changes, if they were Capstan's.
    pub(super) async fn merges_of(
        self,
        planned: Planned<'_>,
        those: &[&ProposalId],
    ) -> Result<BTreeMap<ProposalId, u64>, SyncError> {
        let by = planned.settings.upgrade.proposals.group.as_ref().map(|group| &group.by);
        let branches = those.iter().flat_map(|id| {
            let decisions = planned.decided.of(id);
            let home = capstan_plan::proposal::carrier_of(
                id,
                by,
                (&decisions, capstan_plan::proposal::Draft::Ready),
            );
            [((*id).clone(), id.branch()), ((*id).clone(), home.branch())]
        });
        let branches: Vec<(ProposalId, String)> = branches.collect();
        let mut names: Vec<String> = branches.iter().map(|(_, branch)| branch.clone()).collect();
        names.sort();
        names.dedup();
        let (host, base) = (&self.ports.host, &self.repository.default_branch);
        let found = host.newest_pull_requests(self.repository, &names, Some(base)).await?;
        let mut merges: BTreeMap<ProposalId, u64> = BTreeMap::new();
        for pull in found.iter().filter(|pull| pull.state == PullRequestState::Merged) {
            for (id, _) in branches.iter().filter(|(_, branch)| *branch == pull.head_branch) {
                let newest = merges.entry(id.clone()).or_default();
                *newest = pull.number.max(*newest);
            }
        }
        Ok(merges)
    }

    pub(super) async fn merge_commit(self, number: u64) -> Result<Option<CommitId>, SyncError> {
        match self.ports.host.pull_request(self.repository, number).await {
            Ok(pull) => Ok(pull.merge_commit),
            Err(CodeHostError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
