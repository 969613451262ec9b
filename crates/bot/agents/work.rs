//! The work that an agent gets, and the answers and reports that it sends.

use std::time::{Duration, Instant};

use capstan_live::agent::limits::STANDING_PREFLIGHTS;
use capstan_live::agent::wire::{RecordAnswer, ReportsAnswer, WorkAnswer};
use capstan_live::agent::{PreflightAnswer, PreflightId, PreflightQuestion, RolloutReport, is_of_the_future};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;

use super::authentication::revoked;
use super::{Agents, Denied};
use capstan_ports::{Agent, PreflightRecord, ReportReceipt, WatchedRepository};

/// Whether open questions are sent. An agent that only asks for the tip would lose them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Questions {
    /// They are.
    Give,
    /// They wait for a request that answers them.
    Keep,
}

impl Agents {
    /// The work: at once where the tip is not `after` or a question is open, otherwise as soon as that is so,
    /// or after `wait`. A question that was sent is not sent again for a while.
    ///
    /// # Errors
    /// The repository is not the agent's, it polls too often, or it was revoked meanwhile.
    pub async fn work(
        &self,
        agent: &Agent,
        repository: &str,
        after: Option<&CommitId>,
        wait: Duration,
        questions: Questions,
    ) -> Result<WorkAnswer, Denied> {
        let _poll = self
            .limiter
            .poll(&agent.id)
            .map_err(|_| Denied::TooMuch(format!("agent {} has too many polls open", agent.id)))?;
        let deadline = Instant::now() + wait;
        let mut subscription = self.reconcilers.notifier.subscribe();
        loop {
            let watched = self.repository_of(agent, repository).await?;
            let given = match questions {
                Questions::Keep => Vec::new(),
                Questions::Give => {
                    // An agent without a commit has just started: questions to its previous process are lost.
                    let seconds = after.map_or(0, |_| self.limiter.limits.ask_again_seconds);
                    let uid = &agent.management_cluster;
                    self.records().give_preflights(watched.repository.id, uid, seconds).await?
                }
            };
            let preflights: Vec<PreflightQuestion> = given
                .into_iter()
                .map(|preflight| self.question(agent, &watched, preflight))
                .filter(|question| !question.clusters.is_empty())
                .collect();
            let left = deadline.saturating_duration_since(Instant::now());
            if after != Some(&watched.tip) || !preflights.is_empty() || left.is_zero() {
                let standing = match questions {
                    Questions::Keep => None,
                    Questions::Give => Some(self.standing(agent, &watched).await?),
                };
                return Ok(WorkAnswer { commit: Some(watched.tip), preflights, standing });
            }
            let look_again = self.limiter.limits.look_every.min(left);
            tokio::select! {
                () = subscription.notified() => {}
                () = tokio::time::sleep(look_again) => {}
            }
            self.still_trusts(agent).await?;
        }
    }

    /// The bot's questions to the agent about heads that are not merged yet.
    async fn standing(&self, agent: &Agent, watched: &WatchedRepository) -> Result<Vec<PreflightId>, Denied> {
        let most = u32::try_from(STANDING_PREFLIGHTS).unwrap_or(u32::MAX);
        let (id, uid) = (watched.repository.id, &agent.management_cluster);
        Ok(self.records().standing_preflights(id, uid, most).await?)
    }

    fn question(
        &self,
        agent: &Agent,
        watched: &WatchedRepository,
        preflight: PreflightRecord,
    ) -> PreflightQuestion {
        let left = preflight.until.as_second().saturating_sub(self.clock.now().as_second());
        let its_own = |cluster: &ClusterId| watched.managed_by.has(&agent.management_cluster, cluster);
        PreflightQuestion {
            id: preflight.id,
            head: preflight.head,
            commit: preflight.commit,
            clusters: preflight.clusters.into_iter().filter(its_own).collect(),
            timeout_seconds: u32::try_from(left.max(0)).unwrap_or(u32::MAX),
        }
    }

    /// Stores an answer and queues the check. A second answer changes nothing.
    ///
    /// # Errors
    /// The agent has no such question, or was revoked meanwhile.
    pub async fn answer_preflight(
        &self,
        agent: &Agent,
        id: &PreflightId,
        mut answer: PreflightAnswer,
    ) -> Result<(), Denied> {
        let asked = self.records().preflight(id).await?;
        let same =
            |preflight: &PreflightRecord| preflight.management_cluster.is(agent.management_cluster.as_str());
        let asked = asked.filter(same).ok_or_else(|| {
            Denied::NotThere(format!("agent {} answers {id}, which it was not asked", agent.id))
        })?;
        answer.clusters.retain(|one| asked.clusters.contains(&one.cluster));
        match self.records().answer_preflight(id, &agent.id, &answer).await? {
            ReportReceipt::Stored => {
                tracing::info!(preflight = %id, head = %asked.head, agent = %agent.id, duration_ms = answer.duration_ms, "a preflight was answered");
                self.look_at(asked.repository).await
            }
            ReportReceipt::NotAwaited => Ok(()),
            ReportReceipt::Revoked => Err(revoked(agent)),
        }
    }

    /// Stores reports. Reports on clusters or commits that are not the agent's are refused, one by one.
    ///
    /// # Errors
    /// The records fail, or the agent was revoked meanwhile: no report on the current repository was stored.
    pub async fn take_reports(
        &self,
        agent: &Agent,
        reports: Vec<RolloutReport>,
    ) -> Result<ReportsAnswer, Denied> {
        let mut answer = ReportsAnswer::default();
        let mut by_repository: Vec<(WatchedRepository, Vec<RolloutReport>)> = Vec::new();
        for report in reports {
            let name = report.repository.as_str();
            let known = by_repository
                .iter()
                .position(|(watched, _)| watched.repository.name.to_string().eq_ignore_ascii_case(name));
            let at = match known {
                Some(at) => at,
                None => match self.repository_of(agent, name).await {
                    Ok(watched) => {
                        by_repository.push((watched, Vec::new()));
                        by_repository.len() - 1
                    }
                    Err(Denied::NotThere(why)) => {
                        refuse(&mut answer, agent, &report, &why);
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            let Some((watched, taken)) = by_repository.get_mut(at) else { continue };
            if is_of_the_future(&report.id, self.clock.now()) {
                refuse(&mut answer, agent, &report, "the time in its id is in the future");
            } else if !watched.managed_by.has(&agent.management_cluster, &report.cluster) {
                refuse(&mut answer, agent, &report, "the agent does not manage the cluster");
            } else if !self.may_report_on(watched, &report).await? {
                refuse(&mut answer, agent, &report, "the commit was never on the default branch");
            } else {
                answer.taken.push(report.id.clone());
                taken.push(report);
            }
        }
        for (watched, mut taken) in by_repository {
            if taken.is_empty() {
                continue;
            }
            taken.sort_by(|a, b| a.id.cmp(&b.id));
            let id = watched.repository.id;
            let name = watched.managed_by.name_of(&agent.management_cluster).unwrap_or(&agent.name);
            let before = self.states(id, &taken).await?;
            if self.records().take_reports(id, agent, name, &taken).await? == ReportReceipt::Revoked {
                return Err(revoked(agent));
            }
            // A cluster that becomes done may be offered its next step; one that no longer is may not.
            if self.states(id, &taken).await? != before {
                self.look_at(id).await?;
            }
        }
        self.reconcilers.notifier.notify();
        Ok(answer)
    }

    /// Only commits of the default branch; those that are refused were tried there too.
    async fn may_report_on(
        &self,
        watched: &WatchedRepository,
        report: &RolloutReport,
    ) -> Result<bool, Denied> {
        let id = watched.repository.id;
        for commit in [Some(&report.attempted), report.applied.as_ref()].into_iter().flatten() {
            if *commit != watched.tip && !self.records().was_tip(id, commit).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The states of the clusters that reports are about, for comparison.
    async fn states(&self, repository: u64, reports: &[RolloutReport]) -> Result<Vec<String>, Denied> {
        let mut clusters: Vec<&ClusterId> = reports.iter().map(|report| &report.cluster).collect();
        clusters.sort();
        clusters.dedup();
        let mut states = Vec::new();
        for cluster in clusters {
            for standing in self.records().standings_of(repository, cluster).await? {
                states.push(format!(
                    "{cluster} {} {}",
                    standing.report.state.as_str(),
                    standing.report.commit()
                ));
            }
        }
        Ok(states)
    }

    /// Whether another management cluster ever reported on a cluster of the agent's.
    ///
    /// # Errors
    /// The cluster is not the agent's.
    pub async fn recorded_elsewhere(
        &self,
        agent: &Agent,
        repository: &str,
        cluster: &ClusterId,
    ) -> Result<RecordAnswer, Denied> {
        let watched = self.repository_of(agent, repository).await?;
        if !watched.managed_by.has(&agent.management_cluster, cluster) {
            return Err(Denied::NotThere(format!(
                "agent {} asks for {cluster}, which is not its own",
                agent.id
            )));
        }
        let standings = self.records().standings_of(watched.repository.id, cluster).await?;
        let other = standings.into_iter().find(|standing| {
            // A management cluster that never applied it has no live cluster of it.
            standing.report.applied.is_some()
                && !standing.management_cluster.is(agent.management_cluster.as_str())
        });
        Ok(RecordAnswer { elsewhere: other.map(|standing| standing.name) })
    }
}

fn refuse(answer: &mut ReportsAnswer, agent: &Agent, report: &RolloutReport, why: &str) {
    tracing::warn!(agent = %agent.id, report = %report.id, cluster = %report.cluster, "a report was refused: {why}");
    answer.refused.push(report.id.clone());
}
