//! Reports to GitHub how machines follow merges: the check `capstan/rollout` on the head of each merged pull
//! request that touched a claimed cluster, one commit status on its merge commit, and a comment when machines
//! need a person and when they no longer do.
//!
//! *Expected flow.* The sync run follows a merge; reports are stored as they come. A look here computes the
//! progress, writes what changed, and closes what is done. *Guarantees.* A check is written at most once in
//! [`PACE`], a status only at a turn. Every step first looks at what was reported, so a process may be killed
//! between any two calls. Of several processes one reports.
//!
//! *Assumption.* A report covers a merge if its commit contains the merge. A later commit of the default
//! branch does, so an agent that skips a commit reports on both.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use capstan_bot_core::effects::{CheckOf, Effect};
use capstan_live::agent::{AgentId, RolloutReport, RolloutState};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::settings::ManagementClusterUid;
use capstan_report::{
    ReportId, RolloutSubject, TransitionId, announced_in, mark_announced, news, next_news, rollout_check,
    rollout_comment, rollout_status,
};
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::Reconcilers;
use crate::performing::{NOTHING_REFUSED, Performer, SyncError};
use capstan_ports::{
    Clock, CodeHost, CodeHostError, CommitStatus, FollowedCluster, FollowedMerge, MergeSettled,
    PendingReport, Records, Repository, WatchedRepository,
};

/// Name of the check, and context of the status.
pub const NAME: &str = "capstan/rollout";
/// How often a check is written at most.
pub const PACE: Duration = Duration::from_secs(15);
/// How long a look may take before another process takes over.
const LEASE_SECONDS: u32 = 120;
/// How often the records are read, besides notifications: other processes write too.
const IDLE: Duration = Duration::from_secs(15);
/// How often old records are deleted.
const FORGET_EVERY: Duration = Duration::from_secs(3600);
/// Pairs of commits in memory.
const COMPARED: usize = 10_000;
/// Changes with the texts of checks, so that a newer Capstan reports again.
const EDITION: &str = "1";

/// Reports to GitHub.
pub struct RolloutReporter {
    reconcilers: Reconcilers,
    host: Arc<dyn CodeHost>,
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
    holder: String,
    pace: Duration,
    /// The bot's own address.
    public_url: Option<Url>,
    /// Whether the first commit is contained in the second.
    compared: Mutex<HashMap<(u64, CommitId, CommitId), bool>>,
}

/// What a look leaves to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reporting {
    /// Nothing, until something new arrives.
    AllReported,
    /// A report that has to wait for so long.
    Later(Duration),
}

/// The result of looks: how long the rest has to wait, and the first error.
#[derive(Default)]
struct RolloutLook {
    later: Option<Duration>,
    failure: Option<SyncError>,
}

impl RolloutLook {
    fn note(&mut self, one: Result<Option<Duration>, SyncError>) {
        match one {
            Ok(wait) => self.later = [self.later, wait].into_iter().flatten().min(),
            Err(error) => {
                self.failure.get_or_insert(error);
            }
        }
    }

    fn end(self) -> Result<Option<Duration>, SyncError> {
        self.failure.map_or(Ok(self.later), Err)
    }
}

impl RolloutReporter {
    /// A reporter; `holder` names this process among those that share the database.
    pub fn new(
        reconcilers: Reconcilers,
        (host, records): (Arc<dyn CodeHost>, Arc<dyn Records>),
        clock: Arc<dyn Clock>,
        holder: String,
        pace: Duration,
    ) -> Self {
        Self { reconcilers, host, records, clock, holder, pace, public_url: None, compared: Mutex::default() }
    }

    /// The same, with links to the bot at that address.
    #[must_use]
    pub fn at(self, public_url: Option<Url>) -> Self {
        Self { public_url, ..self }
    }

    /// GitHub's refusals for a rollout are recorded with it.
    fn performer<'a>(&'a self, repository: &'a Repository) -> Performer<'a> {
        let outside = (self.host.as_ref(), self.records.as_ref(), self.clock.as_ref());
        Performer::new(outside, repository, &NOTHING_REFUSED)
    }

    /// Reports until cancelled.
    pub async fn run(&self, stop: &CancellationToken) {
        let mut subscription = self.reconcilers.notifier.subscribe();
        let mut forgotten_at: Option<std::time::Instant> = None;
        while !stop.is_cancelled() {
            let wait = match self.report_all().await {
                Ok(Reporting::AllReported) => IDLE,
                Ok(Reporting::Later(wait)) => wait.clamp(Duration::from_millis(100), IDLE),
                Err(error) => {
                    tracing::warn!(error = %error, "rollouts could not be reported");
                    IDLE
                }
            };
            if forgotten_at.is_none_or(|at| at.elapsed() >= FORGET_EVERY) {
                forgotten_at = Some(std::time::Instant::now());
                if let Err(error) = self.reconcilers.records.forget_old().await {
                    tracing::warn!(error = %error, "cannot delete old records of agents");
                }
            }
            tokio::select! {
                () = subscription.notified() => {}
                () = tokio::time::sleep(wait) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Computes progress from reports, and writes what may be written now.
    ///
    /// # Errors
    /// The records fail, or GitHub does for at least one merge; the others are reported nevertheless.
    pub async fn report_all(&self) -> Result<Reporting, SyncError> {
        let records = &self.reconcilers.records;
        let open = records.open_merges().await?;
        if open.is_empty() || !records.hold_lease("rollouts", &self.holder, LEASE_SECONDS).await? {
            return Ok(Reporting::AllReported);
        }
        let mut by_repository: BTreeMap<u64, (WatchedRepository, Vec<FollowedMerge>)> = BTreeMap::new();
        for (watched, merge) in open {
            by_repository.entry(merge.repository).or_insert_with(|| (watched, Vec::new())).1.push(merge);
        }
        let mut looked = RolloutLook::default();
        for (watched, merges) in by_repository.into_values() {
            let one = self.one_repository(&watched.repository, merges).await;
            if let Err(error) = &one {
                tracing::warn!(repository = %watched.repository.name, error = %error, "a rollout could not be reported");
            }
            looked.note(one);
        }
        Ok(looked.end()?.map_or(Reporting::AllReported, Reporting::Later))
    }

    /// Returns how long the rest has to wait.
    async fn one_repository(
        &self,
        repository: &Repository,
        merges: Vec<FollowedMerge>,
    ) -> Result<Option<Duration>, SyncError> {
        let records = &self.reconcilers.records;
        let pending = records.pending_reports(repository.id).await?;
        let mut reports = Reports::of(&pending);
        let unheard = merges.iter().flat_map(|merge| &merge.clusters);
        for cluster in unheard.filter(|cluster| cluster.progress.report.is_none()) {
            // Reports that came before the merge was followed count at once.
            for standing in records.standings_of(repository.id, &cluster.cluster).await? {
                let one = AgentReport { agent: standing.agent, report: standing.report };
                reports.add(cluster.cluster.clone(), &standing.management_cluster, one);
            }
        }
        let mut looked = RolloutLook::default();
        for mut merge in merges {
            let before = merge.clone();
            self.make_progress(repository, &mut merge, &reports).await?;
            let reported = self.report(repository, &mut merge).await;
            let is_settled = matches!(reported, Ok(None)) && is_over(&merge);
            looked.note(reported);
            if merge != before || is_settled {
                let settled = if is_settled { MergeSettled::Yes } else { MergeSettled::NotYet };
                records.save_merge(&merge, settled).await?;
            }
        }
        if !pending.is_empty() {
            records.use_up_reports(&pending).await?;
        }
        looked.end()
    }

    async fn make_progress(
        &self,
        repository: &Repository,
        merge: &mut FollowedMerge,
        reports: &Reports,
    ) -> Result<(), SyncError> {
        let merge_commit = merge.merge_commit.clone();
        // Once everything about the merge is reported, only a kubeconfig is added: machines that roll again
        // belong to another merge.
        let is_told = merge.reported.completed && is_over(merge);
        for cluster in &mut merge.clusters {
            let told = reports.on(&cluster.cluster, &cluster.management_cluster);
            for AgentReport { agent, report } in
                told.iter().filter(|one| !is_told || one.report.state == RolloutState::Done)
            {
                let Some(next) = cluster.progress.after(agent.as_ref(), report) else { continue };
                if self.is_contained(repository, &merge_commit, report.commit()).await? {
                    cluster.progress = next;
                }
            }
        }
        Ok(())
    }

    async fn is_contained(
        &self,
        repository: &Repository,
        earlier: &CommitId,
        later: &CommitId,
    ) -> Result<bool, SyncError> {
        let key = (repository.id, earlier.clone(), later.clone());
        if let Some(known) = self.compared.lock().await.get(&key) {
            return Ok(*known);
        }
        let contained = self.host.is_contained(repository, earlier, later).await?;
        let mut compared = self.compared.lock().await;
        if compared.len() >= COMPARED {
            compared.clear();
        }
        compared.insert(key, contained);
        Ok(contained)
    }

    /// Writes what changed; returns how long the rest has to wait.
    async fn report(
        &self,
        repository: &Repository,
        merge: &mut FollowedMerge,
    ) -> Result<Option<Duration>, SyncError> {
        let subjects = subjects_of(merge, repository, self.public_url.as_ref());
        let check = rollout_check(&subjects, &merge.merge_commit, &repository.html_url);
        let last = merge.reported.check_run.map(|run| (run, ReportId::read(&merge.reported.check)));
        let check = CheckOf::after((NAME, &merge.head), EDITION, &check, last);
        let mut later = None;
        if check.says().to_string() != merge.reported.check {
            let now = self.clock.now();
            match too_early(merge.reported.at, now, self.pace) {
                Some(wait) => later = Some(wait),
                None => self.write_check(repository, merge, &check, now).await?,
            }
        }
        self.write_status(repository, merge, &subjects).await?;
        // With the check, or after it: the check shows what a comment says.
        if later.is_none() {
            later = self.write_comment(repository, merge, &subjects).await?;
        }
        Ok(later)
    }

    /// Comments that a rollout needs a person, and how that ended; returns when to look again whether a
    /// problem lasts.
    async fn write_comment(
        &self,
        repository: &Repository,
        merge: &mut FollowedMerge,
        subjects: &[RolloutSubject],
    ) -> Result<Option<Duration>, SyncError> {
        let now = self.clock.now();
        let news = news(subjects, now);
        let next = next_news(subjects, now);
        let later = next.map(|seconds| Duration::from_secs(seconds.unsigned_abs()));
        let times = news.iter().map(|(subject, turn)| subjects[*subject].progress.turns[*turn].at);
        let Some(first) = times.min() else { return Ok(later) };
        // A process that died between the call and the record has written it already.
        let login = self.host.bot_login().await?;
        let since = first.min(now) - jiff::SignedDuration::from_mins(10);
        let recent = self.host.recent_comments(repository, since).await?;
        let before: BTreeSet<TransitionId> = recent
            .iter()
            .filter(|placed| placed.number == merge.pull_request && placed.comment.author == login)
            .flat_map(|placed| announced_in(&placed.comment.body))
            .collect();
        if let Some(body) = rollout_comment(subjects, &news, &merge.merge_commit, &before) {
            let comment = Effect::Comment { number: merge.pull_request, body };
            self.performer(repository).perform(comment).await?;
        }
        for (subject, turn) in news {
            mark_announced(&mut merge.clusters[subject].progress, turn);
        }
        Ok(later)
    }

    async fn write_check(
        &self,
        repository: &Repository,
        merge: &mut FollowedMerge,
        check: &CheckOf,
        now: Timestamp,
    ) -> Result<(), SyncError> {
        match self.performer(repository).say(check).await {
            Ok(run) => merge.reported.check_run = Some(run),
            // The head is gone, for example with its fork: it is not asked for again and again.
            Err(SyncError::Host(
                error @ (CodeHostError::NotFound { .. } | CodeHostError::Unexpected { .. }),
            )) => {
                tracing::warn!(repository = %repository.name, head = %merge.head, error = %error, "GitHub refuses the check");
            }
            Err(error) => return Err(error),
        }
        merge.reported.check = check.says().to_string();
        merge.reported.completed = !check.says().is_pending();
        merge.reported.at = Some(now);
        Ok(())
    }

    async fn write_status(
        &self,
        repository: &Repository,
        merge: &mut FollowedMerge,
        subjects: &[RolloutSubject],
    ) -> Result<(), SyncError> {
        let (state, description) = rollout_status(subjects);
        let says = format!("{}: {description}", state.as_str());
        if says == merge.reported.status {
            return Ok(());
        }
        let status = CommitStatus {
            context: NAME.to_owned(),
            state,
            description,
            target_url: Some(format!(
                "{}/pull/{}/checks",
                repository.html_url.trim_end_matches('/'),
                merge.pull_request
            )),
        };
        self.performer(repository).say_status(&merge.merge_commit, &status).await?;
        merge.reported.status = says;
        Ok(())
    }
}

/// The address of a cluster's files at a bot with this address.
fn files_url(public_url: &Url, repository: &Repository, cluster: &ClusterId) -> Option<String> {
    let mut url = public_url.clone();
    let name = repository.name.to_string();
    let parts = name.split('/').chain(cluster.as_str().split('/'));
    url.path_segments_mut().ok()?.pop_if_empty().push("clusters").extend(parts);
    Some(url.to_string())
}

fn subjects_of(
    merge: &FollowedMerge,
    repository: &Repository,
    public_url: Option<&Url>,
) -> Vec<RolloutSubject> {
    let subject = |cluster: &FollowedCluster| RolloutSubject {
        cluster: cluster.cluster.clone(),
        management_cluster: cluster.name.clone(),
        progress: cluster.progress.clone(),
        files_url: public_url.and_then(|url| files_url(url, repository, &cluster.cluster)),
    };
    merge.clusters.iter().map(subject).collect()
}

struct AgentReport {
    agent: Option<AgentId>,
    report: RolloutReport,
}

/// Reports by cluster and management cluster, in the order in which they arrived: for each agent, oldest
/// first.
struct Reports(BTreeMap<(ClusterId, String), Vec<AgentReport>>);

impl Reports {
    fn of(pending: &[PendingReport]) -> Self {
        let mut reports = Self(BTreeMap::new());
        for one in pending {
            let reported = AgentReport { agent: one.agent.clone(), report: one.report.clone() };
            reports.add(one.report.cluster.clone(), &one.management_cluster, reported);
        }
        reports
    }

    fn add(&mut self, cluster: ClusterId, by: &ManagementClusterUid, reported: AgentReport) {
        self.0.entry((cluster, by.as_str().to_ascii_lowercase())).or_default().push(reported);
    }

    fn on(&self, cluster: &ClusterId, by: &ManagementClusterUid) -> &[AgentReport] {
        self.0.get(&(cluster.clone(), by.as_str().to_ascii_lowercase())).map_or(&[], Vec::as_slice)
    }
}

/// The rest of the pace.
fn too_early(told_at: Option<Timestamp>, now: Timestamp, pace: Duration) -> Option<Duration> {
    let passed = now.as_millisecond().saturating_sub(told_at?.as_millisecond()).max(0);
    let passed = Duration::from_millis(u64::try_from(passed).unwrap_or(u64::MAX));
    pace.checked_sub(passed).filter(|left| !left.is_zero())
}

fn is_over(merge: &FollowedMerge) -> bool {
    merge.clusters.iter().all(|cluster| cluster.progress.done_at().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_waits_for_its_pace() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        assert_eq!(too_early(None, at(100), PACE), None);
        assert_eq!(too_early(Some(at(100)), at(101), PACE), Some(Duration::from_secs(14)));
        assert_eq!(too_early(Some(at(100)), at(115), PACE), None);
        assert_eq!(too_early(Some(at(100)), at(90), PACE), Some(PACE), "a clock that goes back");
    }
}
