//! Tells GitHub how machines follow merges: the check `capstan/rollout` on the head of each merged pull
//! request that touched a claimed cluster, one commit status on its merge commit, and a comment where machines
//! need somebody and where they no longer do.
//!
//! *Expected flow.* The sync run follows a merge; reports are stored as they come; a look here makes
//! progress of them, writes what is new, and settles what is done. *Guarantees.* A check is written at most
//! once in [`PACE`], a status at each turn alone. Every step looks at what was told first, so a process may
//! be killed between any two calls. Of several processes one tells.
//!
//! *Assumption.* A report speaks of a merge if its commit contains it: a later commit of the default branch
//! does, so whoever skips a commit reports on both.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use capstan_live::agent::{AgentId, RolloutReport, RolloutState};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::settings::ManagementClusterUid;
use capstan_report::{
    CheckReport, Conclusion, ReportId, RolloutSubject, TransitionId, announced_in, mark_announced, news,
    next_news, rollout_check, rollout_comment, rollout_status,
};
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::Reconcilers;
use capstan_ports::{
    CheckConclusion, Clock, CodeHost, CodeHostError, CommitStatus, FollowedCluster, FollowedMerge,
    NewCheckRun, PendingReport, RecordsError, Repository, Settled, WatchedRepository,
};

/// Name of the check, and context of the status.
pub const NAME: &str = "capstan/rollout";
/// How often a check is written at most.
pub const PACE: Duration = Duration::from_secs(15);
/// How long a look may take before another process takes over.
const LEASE_SECONDS: u32 = 120;
/// How often one looks, besides being woken: for what other processes stored.
const IDLE: Duration = Duration::from_secs(15);
/// How often what is old is forgotten.
const FORGET_EVERY: Duration = Duration::from_secs(3600);
/// Pairs of commits that are remembered.
const COMPARED: usize = 10_000;
/// Changes with what checks say, so that a newer Capstan reports again.
const EDITION: &str = "1";

/// Why nothing could be told. What was told stays.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// GitHub.
    #[error(transparent)]
    Host(#[from] CodeHostError),
    /// The database.
    #[error(transparent)]
    Records(#[from] RecordsError),
}

/// Tells GitHub.
pub struct RolloutReporter {
    reconcilers: Reconcilers,
    host: Arc<dyn CodeHost>,
    clock: Arc<dyn Clock>,
    holder: String,
    pace: Duration,
    /// How people reach the bot.
    public_url: Option<Url>,
    /// Whether the first commit is contained in the second.
    compared: Mutex<HashMap<(u64, CommitId, CommitId), bool>>,
}

/// What a look left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reporting {
    /// Nothing, until something new comes.
    AllReported,
    /// Something that may not be told before so long.
    Later(Duration),
}

impl RolloutReporter {
    /// A reporter; `holder` names this process among those that share the database.
    pub fn new(
        reconcilers: Reconcilers,
        host: Arc<dyn CodeHost>,
        clock: Arc<dyn Clock>,
        holder: String,
        pace: Duration,
    ) -> Self {
        Self { reconcilers, host, clock, holder, pace, public_url: None, compared: Mutex::default() }
    }

    /// The same, whose links lead to the bot there.
    #[must_use]
    pub fn at(self, public_url: Option<Url>) -> Self {
        Self { public_url, ..self }
    }

    /// Tells until cancelled.
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
                    tracing::warn!(error = %error, "old records of agents could not be forgotten");
                }
            }
            tokio::select! {
                () = subscription.notified() => {}
                () = tokio::time::sleep(wait) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Makes progress of what was reported, and tells what may be told now.
    ///
    /// # Errors
    /// The records fail, or GitHub does for one merge at least; the others are told all the same.
    pub async fn report_all(&self) -> Result<Reporting, ReportError> {
        let records = &self.reconcilers.records;
        let open = records.open_merges().await?;
        if open.is_empty() || !records.hold_lease("rollouts", &self.holder, LEASE_SECONDS).await? {
            return Ok(Reporting::AllReported);
        }
        let mut by_repository: BTreeMap<u64, (WatchedRepository, Vec<FollowedMerge>)> = BTreeMap::new();
        for (watched, merge) in open {
            by_repository.entry(merge.repository).or_insert_with(|| (watched, Vec::new())).1.push(merge);
        }
        let mut later: Option<Duration> = None;
        let mut failure = None;
        for (watched, merges) in by_repository.into_values() {
            match self.one_repository(&watched.repository, merges).await {
                Ok(Reporting::AllReported) => {}
                Ok(Reporting::Later(wait)) => later = Some(later.map_or(wait, |so_far| so_far.min(wait))),
                Err(error) => {
                    tracing::warn!(repository = %watched.repository.name, error = %error, "a rollout could not be reported");
                    failure.get_or_insert(error);
                }
            }
        }
        match (failure, later) {
            (Some(error), _) => Err(error),
            (None, Some(wait)) => Ok(Reporting::Later(wait)),
            (None, None) => Ok(Reporting::AllReported),
        }
    }

    async fn one_repository(
        &self,
        repository: &Repository,
        merges: Vec<FollowedMerge>,
    ) -> Result<Reporting, ReportError> {
        let records = &self.reconcilers.records;
        let pending = records.pending_reports(repository.id).await?;
        let mut reports = Reports::of(&pending);
        let unheard = merges.iter().flat_map(|merge| &merge.clusters);
        for cluster in unheard.filter(|cluster| cluster.progress.report.is_none()) {
            // What was reported before the merge was followed waits for nobody.
            for standing in records.standings_of(repository.id, &cluster.cluster).await? {
                let one = Reported { agent: standing.agent, report: standing.report };
                reports.add(cluster.cluster.clone(), &standing.management_cluster, one);
            }
        }
        let mut later: Option<Duration> = None;
        let mut failure = None;
        for mut merge in merges {
            let before = merge.clone();
            self.make_progress(repository, &mut merge, &reports).await?;
            let reported = self.report(repository, &mut merge).await;
            let settled = match reported {
                Ok(None) if is_over(&merge) => Settled::Yes,
                Ok(None) => Settled::NotYet,
                Ok(Some(wait)) => {
                    later = Some(later.map_or(wait, |so_far| so_far.min(wait)));
                    Settled::NotYet
                }
                Err(error) => {
                    failure.get_or_insert(error);
                    Settled::NotYet
                }
            };
            if merge != before || settled == Settled::Yes {
                records.save_merge(&merge, settled).await?;
            }
        }
        if !pending.is_empty() {
            records.use_up_reports(&pending).await?;
        }
        match (failure, later) {
            (Some(error), _) => Err(error),
            (None, Some(wait)) => Ok(Reporting::Later(wait)),
            (None, None) => Ok(Reporting::AllReported),
        }
    }

    async fn make_progress(
        &self,
        repository: &Repository,
        merge: &mut FollowedMerge,
        reports: &Reports,
    ) -> Result<(), ReportError> {
        let merge_commit = merge.merge_commit.clone();
        // Once all is told that it brought, only a key is told besides: machines that roll again are another merge's.
        let is_told = merge.reported.completed && is_over(merge);
        for cluster in &mut merge.clusters {
            let told = reports.on(&cluster.cluster, &cluster.management_cluster);
            for Reported { agent, report } in
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
    ) -> Result<bool, ReportError> {
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

    /// Tells what is new; gives how long the rest has to wait.
    async fn report(
        &self,
        repository: &Repository,
        merge: &mut FollowedMerge,
    ) -> Result<Option<Duration>, ReportError> {
        let subjects = subjects_of(merge, repository, self.public_url.as_ref());
        let check = rollout_check(&subjects, &merge.merge_commit, &repository.html_url);
        let id = ReportId::of(EDITION, &check).to_string();
        let mut later = None;
        if id != merge.reported.check {
            let now = self.clock.now();
            match too_early(merge.reported.at, now, self.pace) {
                Some(wait) => later = Some(wait),
                None => self.write_check(repository, merge, &check, id, now).await?,
            }
        }
        self.write_status(repository, merge, &subjects).await?;
        // With the check, or after it: what is told in a comment stands there too.
        if later.is_none() {
            later = self.write_comment(repository, merge, &subjects).await?;
        }
        Ok(later)
    }

    /// Tells people that a rollout needs somebody, and how that ended; gives when to look again whether a
    /// trouble lasts.
    async fn write_comment(
        &self,
        repository: &Repository,
        merge: &mut FollowedMerge,
        subjects: &[RolloutSubject],
    ) -> Result<Option<Duration>, ReportError> {
        let now = self.clock.now();
        let news = news(subjects, now);
        let next = next_news(subjects, now);
        let later = next.map(|seconds| Duration::from_secs(seconds.unsigned_abs()));
        let times = news.iter().map(|(subject, turn)| subjects[*subject].progress.turns[*turn].at);
        let Some(first) = times.min() else { return Ok(later) };
        // A process that died between the call and the record told it already.
        let login = self.host.bot_login().await?;
        let since = first.min(now) - jiff::SignedDuration::from_mins(10);
        let recent = self.host.recent_comments(repository, since).await?;
        let before: BTreeSet<TransitionId> = recent
            .iter()
            .filter(|placed| placed.number == merge.pull_request && placed.comment.author == login)
            .flat_map(|placed| announced_in(&placed.comment.body))
            .collect();
        if let Some(body) = rollout_comment(subjects, &news, &merge.merge_commit, &before) {
            match self.host.create_comment(repository, merge.pull_request, &body).await {
                Ok(_) => {}
                // A conversation that is locked, say: nobody is asked for ever.
                Err(
                    error @ (CodeHostError::NotFound { .. }
                    | CodeHostError::Forbidden { .. }
                    | CodeHostError::Unexpected { .. }),
                ) => {
                    tracing::warn!(repository = %repository.name, pull_request = merge.pull_request, error = %error, "GitHub does not take the comment");
                }
                Err(error) => return Err(error.into()),
            }
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
        check: &CheckReport,
        id: String,
        now: Timestamp,
    ) -> Result<(), ReportError> {
        let completed = check.conclusion != Conclusion::Pending;
        let new = NewCheckRun {
            name: NAME.to_owned(),
            head: merge.head.clone(),
            conclusion: CheckConclusion::of(check.conclusion),
            title: check.title.clone(),
            summary: check.summary.clone(),
            annotations: check.annotations.clone(),
            external_id: id.clone(),
            unfinished_id: id.clone(),
            buttons: check.buttons.clone(),
        };
        if merge.reported.check_run.is_none() {
            // A process that died between the call and the record told it already.
            let runs = self.host.check_runs(repository, &merge.head, NAME).await?;
            if let Some(run) = runs.into_iter().max_by_key(|run| run.id) {
                merge.reported.check_run = Some(run.id);
                merge.reported.completed = run.conclusion.is_some();
                merge.reported.check = run.external_id;
            }
        }
        if merge.reported.check != id {
            // A completed run does not go back to work: another one of the same name takes its place.
            let annotated = ReportId::read(&merge.reported.check).is_annotated();
            let same_run =
                merge.reported.check_run.filter(|_| !annotated && (completed || !merge.reported.completed));
            let reported = match same_run {
                Some(run) => self.host.update_check_run(repository, run, &new).await,
                None => self.host.create_check_run(repository, &new).await,
            };
            match reported {
                Ok(run) => merge.reported.check_run = Some(run.id),
                // The head is gone, with its fork say: it is not asked for ever.
                Err(error @ (CodeHostError::NotFound { .. } | CodeHostError::Unexpected { .. })) => {
                    tracing::warn!(repository = %repository.name, head = %merge.head, error = %error, "GitHub does not take the check");
                }
                Err(error) => return Err(error.into()),
            }
        }
        merge.reported.check = id;
        merge.reported.completed = completed;
        merge.reported.at = Some(now);
        Ok(())
    }

    async fn write_status(
        &self,
        repository: &Repository,
        merge: &mut FollowedMerge,
        subjects: &[RolloutSubject],
    ) -> Result<(), ReportError> {
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
        let stands = self.host.commit_status(repository, &merge.merge_commit, NAME).await?;
        let same =
            |known: &CommitStatus| known.state == status.state && known.description == status.description;
        if !stands.as_ref().is_some_and(same) {
            self.host.create_commit_status(repository, &merge.merge_commit, &status).await?;
        }
        merge.reported.status = says;
        Ok(())
    }
}

/// Where files of a cluster stand at a bot that is reached so.
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

/// A report, and whose it is.
struct Reported {
    agent: Option<AgentId>,
    report: RolloutReport,
}

/// Reports by cluster and management cluster, in the order in which they were taken: each agent's own, oldest
/// first.
struct Reports(BTreeMap<(ClusterId, String), Vec<Reported>>);

impl Reports {
    fn of(pending: &[PendingReport]) -> Self {
        let mut reports = Self(BTreeMap::new());
        for one in pending {
            let reported = Reported { agent: one.agent.clone(), report: one.report.clone() };
            reports.add(one.report.cluster.clone(), &one.management_cluster, reported);
        }
        reports
    }

    fn add(&mut self, cluster: ClusterId, by: &ManagementClusterUid, reported: Reported) {
        self.0.entry((cluster, by.as_str().to_ascii_lowercase())).or_default().push(reported);
    }

    fn on(&self, cluster: &ClusterId, by: &ManagementClusterUid) -> &[Reported] {
        self.0.get(&(cluster.clone(), by.as_str().to_ascii_lowercase())).map_or(&[], Vec::as_slice)
    }
}

/// How long is left of the pace.
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
