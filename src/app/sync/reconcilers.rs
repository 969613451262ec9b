//! What reconcilers have to do with a run: what they may read, whose merges are followed, whom the live
//! cluster is asked for, and which cluster waits for its machines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_kustomize::render::Folders;
use capstan_live::agent::limits::PREFLIGHT_CLUSTERS;
use capstan_live::agent::permission::ManagedBy;
use capstan_live::agent::preflight::{Preflight, Standing};
use capstan_live::agent::{PreflightId, Progress, RolloutState};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{CommitId, Tree};
use capstan_plan::settings::{ManagementClusterUid, PreflightMode, RepositorySettings};
use capstan_plan::templates::TemplateNames;
use capstan_report::{Fingerprint, MergeBasis};
use jiff::{SignedDuration, Timestamp};
use ulid::Ulid;

use super::answers::touched;
use super::checks::{Comparison, Subject};
use super::{Run, Scopes, SyncError};
use crate::app::agents::{Reconcilers, content};
use crate::app::planner::LiveNames;
use crate::app::ports::{
    Agent, ClusterStanding, CodeHostError, FollowedCluster, FollowedMerge, Permission, PreflightRecord,
    PreflightState, PullRequest, PullRequestState, ReportedToGitHub, WatchedRepository,
};

/// A question is not asked again within so long.
const JUST_NOW: SignedDuration = SignedDuration::from_secs(30);
/// A merge that was missed for longer is not followed any more.
const DAYS_BACK: i64 = 7;

/// The reconcilers of a repository.
#[derive(Default)]
pub(super) struct Met {
    managed_by: ManagedBy,
    /// Those that are not revoked and that the settings name.
    enrolled: Vec<Agent>,
    /// What each cluster's own management cluster reported last.
    standings: BTreeMap<ClusterId, ClusterStanding>,
    /// Heads of which GitHub does not say all yet: what is reported on them is looked at again.
    unsettled: BTreeSet<CommitId>,
}

/// What a live cluster is asked.
struct Question<'a> {
    pull: &'a PullRequest,
    /// The commit that is tried.
    commit: CommitId,
    clusters: Vec<ClusterId>,
    /// Digest of what they are made of in that commit.
    content: String,
    /// How their rollouts stand.
    standing: String,
}

impl Question<'_> {
    /// Whether it was asked before. The commit does not count: each push to the default branch gives another
    /// test merge, most of them with the same clusters in it.
    fn is(&self, known: &PreflightRecord) -> bool {
        known.content == self.content && known.clusters == self.clusters
    }
}

impl Met {
    /// The management cluster that applies a cluster and has a reconciler that reports.
    fn reporter(&self, cluster: &ClusterId) -> Option<(&str, &ManagementClusterUid)> {
        let owner = self.managed_by.owner(cluster)?;
        self.is_enrolled(&owner.uid).then_some((owner.name.as_str(), &owner.uid))
    }

    /// How the rollouts of clusters stand, in a few letters.
    fn standing_of(&self, clusters: &[ClusterId]) -> String {
        let one = |digest: Fingerprint, cluster: &ClusterId| {
            let digest = digest.field("cluster", cluster);
            match self.standings.get(cluster) {
                Some(ClusterStanding { report, .. }) => {
                    digest.field("state", report.state.as_str()).field("commit", report.commit())
                }
                None => digest,
            }
        };
        clusters.iter().fold(Fingerprint::of("standing"), one).finish()
    }

    fn is_enrolled(&self, uid: &ManagementClusterUid) -> bool {
        self.enrolled.iter().any(|agent| same(&agent.management_cluster, uid))
    }
}

fn same(a: &ManagementClusterUid, b: &ManagementClusterUid) -> bool {
    a.as_str().eq_ignore_ascii_case(b.as_str())
}

/// Whether a question may be asked.
enum Trust {
    Yes,
    No(String),
    /// Nobody knows yet.
    NotYet(String),
}

impl Run<'_> {
    /// Follows new merges, shows the tip to agents, and learns what they reported.
    pub(super) async fn meet_reconcilers(
        &mut self,
        settings: &RepositorySettings,
        scopes: &Scopes,
    ) -> Result<(), SyncError> {
        let Some(Reconcilers { records, notifier }) = self.ports.reconcilers.clone() else { return Ok(()) };
        let managed_by = ManagedBy::of(settings);
        let mut enrolled = Vec::new();
        if !managed_by.is_empty() {
            enrolled = records.agents().await?;
            enrolled
                .retain(|agent| agent.revoked_at.is_none() && managed_by.knows(&agent.management_cluster));
        }
        self.met = Met { managed_by, enrolled, ..Met::default() };
        // Before agents hear of the tip: a report never comes before what it is about is followed.
        self.follow_merges(scopes, settings).await?;
        let watched = WatchedRepository {
            repository: self.repository.clone(),
            tip: self.facts.base.commit.clone(),
            managed_by: self.met.managed_by.clone(),
        };
        if records.watch_repository(&watched).await? {
            notifier.notify();
        }
        let heads: BTreeSet<&CommitId> = self.facts.open.iter().map(|pull| &pull.head).collect();
        records.keep_preflights_of(self.repository.id, &heads).await?;
        if !self.met.enrolled.is_empty() {
            for (cluster, standing) in records.standings(self.repository.id).await? {
                if self.met.managed_by.has(&standing.management_cluster, &cluster) {
                    self.met.standings.insert(cluster, standing);
                }
            }
        }
        Ok(())
    }

    /// The management cluster whose reconciler reports on a cluster, by its name.
    pub(super) fn reporter(&self, cluster: &ClusterId) -> Option<&str> {
        self.met.reporter(cluster).map(|(name, _)| name)
    }

    /// The live names of templates, as the reconcilers reported them last.
    pub(super) fn reported_names(&self) -> BTreeMap<ClusterId, Arc<TemplateNames>> {
        let names = self.met.standings.iter().filter_map(|(cluster, standing)| {
            // What was never applied has no live names.
            standing.report.applied.as_ref()?;
            Some((cluster.clone(), Arc::new(TemplateNames::new(standing.report.names.clone()).ok()?)))
        });
        names.collect()
    }

    /// The live names of templates before and after a merge: those that were reported, and those that the
    /// preflight of it found.
    pub(super) fn live_names(&self, preflights: &[Preflight]) -> BTreeMap<ClusterId, LiveNames> {
        let mut found = BTreeMap::new();
        for preflight in preflights {
            let Standing::Answered(answer) = &preflight.standing else { continue };
            for one in answer.clusters.iter().filter(|one| preflight.clusters.contains(&one.cluster)) {
                found.extend(TemplateNames::new(one.names.clone()).ok().map(|names| (&one.cluster, names)));
            }
        }
        let both = |(cluster, before): (ClusterId, Arc<TemplateNames>)| {
            let before = Arc::unwrap_or_clone(before);
            let after = found.get(&cluster).cloned().unwrap_or_else(|| before.clone());
            (cluster, LiveNames { before, after })
        };
        self.reported_names().into_iter().map(both).collect()
    }

    async fn follow_merges(&self, scopes: &Scopes, settings: &RepositorySettings) -> Result<(), SyncError> {
        let Some(Reconcilers { records, notifier }) = &self.ports.reconcilers else { return Ok(()) };
        let Some(first) = self.met.enrolled.iter().map(|agent| agent.enrolled_at).min() else {
            return Ok(());
        };
        let since = first.max(self.ports.clock.now() - SignedDuration::from_hours(24 * DAYS_BACK));
        let known: BTreeSet<u64> =
            records.followed_pull_requests(self.repository.id).await?.into_iter().collect();
        for pull in self.ports.host.recently_closed_pull_requests(self.repository).await? {
            let merged = pull.state == PullRequestState::Merged
                && pull.base_branch == self.repository.default_branch
                && !known.contains(&pull.number);
            // GitHub tells whole seconds.
            let at = pull.closed_at.filter(|at| *at + SignedDuration::from_secs(1) >= since);
            let (true, Some(merged_at), Some(merge)) = (merged, at, &pull.merge_commit) else { continue };
            let clusters = self.touched_by_merge(&pull, merge, scopes, settings).await?;
            let followed = FollowedMerge {
                repository: self.repository.id,
                pull_request: pull.number,
                head: pull.head.clone(),
                merge_commit: merge.clone(),
                merged_at,
                told: ReportedToGitHub::default(),
                clusters: clusters
                    .into_iter()
                    .filter_map(|cluster| self.followed(cluster, merged_at))
                    .collect(),
            };
            if !followed.clusters.is_empty() {
                tracing::info!(repository = %self.repository.name, pull_request = pull.number, clusters = followed.clusters.len(), "the machines of a merge are followed");
            }
            records.follow_merge(&followed).await?;
            notifier.notify();
        }
        Ok(())
    }

    fn followed(&self, cluster: ClusterId, merged_at: Timestamp) -> Option<FollowedCluster> {
        let (name, uid) = self.met.reporter(&cluster)?;
        Some(FollowedCluster {
            management_cluster: uid.clone(),
            name: name.to_owned(),
            progress: Progress::waiting(merged_at),
            cluster,
        })
    }

    /// The clusters that a merge changed: those that differ from what it stands on; of several rebased
    /// commits, the last alone stands on what came before, so what the head changed and the merge has
    /// counts too.
    async fn touched_by_merge(
        &self,
        pull: &PullRequest,
        merge: &CommitId,
        scopes: &Scopes,
        settings: &RepositorySettings,
    ) -> Result<BTreeSet<ClusterId>, SyncError> {
        let Some(merged) = self.snapshot(merge).await? else { return Ok(BTreeSet::new()) };
        // The tip may have been read before the merge that adds a cluster to it.
        let scopes = &self.scopes_with(scopes, &merged, settings);
        let mut clusters = BTreeSet::new();
        if let Some(parent) = merged.parents.first()
            && let Some(before) = self.snapshot(parent).await?
        {
            clusters.extend(touched(&*before.tree, &*merged.tree, scopes));
        }
        let ends = (self.snapshot(&pull.base).await?, self.snapshot(&pull.head).await?);
        if let (Some(base), Some(head)) = ends {
            let folder = |tree: &dyn Tree, cluster: &ClusterId| tree.folder_id(cluster.folder());
            let arrived =
                |cluster: &ClusterId| folder(&*head.tree, cluster) == folder(&*merged.tree, cluster);
            clusters.extend(touched(&*base.tree, &*head.tree, scopes).into_iter().filter(arrived));
        }
        Ok(clusters)
    }

    /// Why a cluster is not offered its next step yet: its machines still follow the last one.
    pub(super) async fn awaits_rollout(&self, cluster: &ClusterId) -> Result<Option<String>, SyncError> {
        let Some((name, _)) = self.met.reporter(cluster) else { return Ok(None) };
        let Some(standing) = self.met.standings.get(cluster) else {
            return Ok(Some(format!(
                "The reconciler on `{name}` has not reported on this cluster yet: the next step is offered once it reports the last rollout done."
            )));
        };
        let report = &standing.report;
        if report.state != RolloutState::Done {
            let how = match report.state {
                RolloutState::Waiting | RolloutState::Done => {
                    let words = report.words.as_ref().map(ToString::to_string);
                    words.unwrap_or_else(|| "no machine is replaced yet".to_owned())
                }
                RolloutState::Rolling => {
                    format!("{} of {} machines are as wished", report.ready, report.wanted)
                }
                RolloutState::Stuck => "it is stuck".to_owned(),
                RolloutState::Refused => "it was refused".to_owned(),
                RolloutState::Unknown => "nobody can tell about its machines".to_owned(),
            };
            return Ok(Some(format!(
                "The last rollout is not done: {how}, as the reconciler on `{name}` reports. The next step is offered once it is."
            )));
        }
        let here = self.facts.base.tree.folder_id(cluster.folder());
        let reported = self.snapshot(report.commit()).await?;
        if reported.is_some_and(|reported| reported.tree.folder_id(cluster.folder()) == here) {
            return Ok(None);
        }
        Ok(Some(format!(
            "The reconciler on `{name}` has not reported the newest change of this cluster done yet: the next step is offered once it has."
        )))
    }

    /// What the live clusters say to what a merge of a head would give; asks them where they were not asked
    /// that yet. `None` while GitHub computes its test merge.
    ///
    /// Reconcilers apply the default branch alone, so nobody is asked about a pull request to another one. In
    /// a conflict nobody is asked either: there is no merge, and what the head alone would do to the live
    /// cluster is never going to happen.
    pub(super) async fn preflights(
        &mut self,
        subjects: &[Subject],
        settings: &RepositorySettings,
        scopes: &Scopes,
    ) -> Result<Option<Vec<Preflight>>, SyncError> {
        const NONE: Option<Vec<Preflight>> = Some(Vec::new());
        let Some(Reconcilers { records, .. }) = self.ports.reconcilers.clone() else { return Ok(NONE) };
        if self.met.managed_by.is_empty() {
            return Ok(NONE);
        }
        let default_branch = &self.repository.default_branch;
        let to_be_applied =
            |subject: &&Subject| subject.pull.is_some() && subject.base_branch == *default_branch;
        let Some(subject) = subjects.iter().find(to_be_applied) else { return Ok(NONE) };
        let pull = self.facts.open.iter().find(|pull| Some(pull.number) == subject.pull).cloned();
        let Some(pull) = pull else { return Ok(NONE) };
        let Some((touched, merge)) = self.touched_by_merge_of(subject, settings, scopes).await? else {
            return Ok(None);
        };
        let concerned = self.concerned_by_merge(&touched, &merge, settings);
        if concerned.is_empty() {
            return Ok(NONE);
        }
        if merge.basis == MergeBasis::Merge && merge.base != self.facts.base.commit {
            // A test merge with an older tip: GitHub makes another one.
            self.met.unsettled.insert(pull.head.clone());
            self.look_again();
        }
        let known = records.preflights_of_head(self.repository.id, &pull.head).await?;
        let mut preflights = Vec::new();
        for (uid, (name, folders)) in concerned {
            let clusters: Vec<ClusterId> = folders.keys().cloned().collect();
            let standing = if !self.met.is_enrolled(&uid) {
                // Where nobody is, nobody is missed, unless the settings want somebody there.
                (settings.preflight.mode == PreflightMode::Required)
                    .then(|| Standing::NotAsked("No reconciler of it is enrolled.".to_owned()))
            } else if merge.basis == MergeBasis::HeadAlone {
                Some(Standing::NotAsked(format!(
                    "The pull request conflicts with `{default_branch}`, so there is no merge that could be tried. It is asked once the conflict is resolved."
                )))
            } else if clusters.len() > PREFLIGHT_CLUSTERS {
                Some(Standing::NotAsked(format!(
                    "The pull request touches {} clusters, and one preflight is about {PREFLIGHT_CLUSTERS} at most: split it.",
                    clusters.len()
                )))
            } else {
                let tree = Arc::clone(&merge.after);
                let folders: Vec<Folders> = folders.into_values().collect();
                let content = tokio::task::spawn_blocking(move || content(&*tree, &folders)).await?;
                let question = Question {
                    pull: &pull,
                    commit: merge.commit.clone(),
                    standing: self.met.standing_of(&clusters),
                    clusters: clusters.clone(),
                    content,
                };
                let known = known.iter().find(|known| same(&known.management_cluster, &uid));
                Some(self.ask(question, settings, &uid, known).await?)
            };
            preflights.extend(standing.map(|standing| Preflight {
                management_cluster: name,
                clusters,
                standing,
            }));
        }
        if preflights.iter().any(|preflight| preflight.standing == Standing::Asked) {
            self.look_again();
        }
        Ok(Some(preflights))
    }

    /// The claimed clusters among those that a merge touches, by who claims them, with their folders in the
    /// merge. One whose folder goes is not asked about: nothing is applied from a folder that is not there.
    fn concerned_by_merge(
        &self,
        touched: &[ClusterId],
        merge: &Comparison,
        settings: &RepositorySettings,
    ) -> BTreeMap<ManagementClusterUid, (String, BTreeMap<ClusterId, Folders>)> {
        let mut concerned: BTreeMap<ManagementClusterUid, (String, BTreeMap<ClusterId, Folders>)> =
            BTreeMap::new();
        if touched.is_empty() {
            return concerned;
        }
        for scope in self.ports.planner.scopes(Arc::clone(&merge.after), settings) {
            let Some(cluster) = scope.target.cluster().filter(|cluster| touched.contains(cluster)) else {
                continue;
            };
            let Some(owner) = self.met.managed_by.owner(cluster) else { continue };
            let folders =
                Folders { cluster: cluster.folder().clone(), base: scope.base, overlay: scope.overlay };
            let of_owner = concerned.entry(owner.uid.clone());
            let (_, clusters) = of_owner.or_insert_with(|| (owner.name.clone(), BTreeMap::new()));
            clusters.insert(cluster.clone(), folders);
        }
        concerned
    }

    /// What the live clusters' part of a head's report depends on, besides base and head; `None` where that
    /// may change by itself.
    pub(super) async fn live_inputs(&self, head: &CommitId) -> Result<Option<String>, SyncError> {
        let Some(Reconcilers { records, .. }) = &self.ports.reconcilers else {
            return Ok(Some(String::new()));
        };
        if self.met.managed_by.is_empty() {
            return Ok(Some(String::new()));
        }
        if self.met.unsettled.contains(head) {
            return Ok(None);
        }
        let now = self.ports.clock.now();
        let mut enrolled: Vec<String> =
            self.met.enrolled.iter().map(|agent| agent.management_cluster.to_string()).collect();
        enrolled.sort();
        let mut digest = Fingerprint::of("live").each("enrolled", enrolled);
        for known in records.preflights_of_head(self.repository.id, head).await? {
            digest = digest.field("preflight", &known.id);
            digest = match &known.state {
                PreflightState::Asked if known.until > now => return Ok(None),
                PreflightState::Asked => digest.field("state", "unanswered"),
                PreflightState::NotAsked(why) => digest.field("state", "not-asked").field("why", why),
                PreflightState::Answered(answer) => {
                    let machines =
                        answer.may_change_with_machines().then(|| self.met.standing_of(&known.clusters));
                    digest.field("state", "answered").maybe("machines", machines)
                }
            };
        }
        Ok(Some(digest.finish()))
    }

    async fn ask(
        &mut self,
        question: Question<'_>,
        settings: &RepositorySettings,
        uid: &ManagementClusterUid,
        known: Option<&PreflightRecord>,
    ) -> Result<Standing, SyncError> {
        let Some(Reconcilers { records, notifier }) = self.ports.reconcilers.clone() else {
            return Ok(Standing::Unanswered);
        };
        let now = self.ports.clock.now();
        let head = &question.pull.head;
        // A job that is put off is given the same hint again: what was asked just now is not asked anew.
        let asked_again = self.hints.heads.iter().any(|hinted| hinted == head.as_str())
            && known.is_some_and(|known| known.asked_at + JUST_NOW <= now)
            && !self.is_under_way(head).await?;
        if let Some(known) = known.filter(|known| question.is(known)) {
            match &known.state {
                PreflightState::Asked if known.until > now => return Ok(Standing::Asked),
                _ if asked_again => {}
                PreflightState::Asked => return Ok(Standing::Unanswered),
                // Machines that have moved on may have taken away what stood against it.
                PreflightState::Answered(answer)
                    if answer.may_change_with_machines() && known.standing != question.standing => {}
                PreflightState::Answered(answer) => return Ok(Standing::Answered(answer.clone())),
                PreflightState::NotAsked(why) => return Ok(Standing::NotAsked(why.clone())),
            }
        }
        let (state, standing) = match self.trust(question.pull).await? {
            Trust::Yes => (PreflightState::Asked, Standing::Asked),
            Trust::No(why) => (PreflightState::NotAsked(why.clone()), Standing::NotAsked(why)),
            Trust::NotYet(why) => {
                self.met.unsettled.insert(head.clone());
                self.look_again();
                return Ok(Standing::NotAsked(why));
            }
        };
        let Ok(id) = PreflightId::parse(&Ulid::generate().to_string()) else {
            return Ok(Standing::Unanswered);
        };
        let timeout = SignedDuration::from_secs(i64::from(settings.preflight.timeout_seconds));
        let record = PreflightRecord {
            id,
            repository: self.repository.id,
            head: head.clone(),
            commit: question.commit,
            content: question.content,
            standing: question.standing,
            management_cluster: uid.clone(),
            clusters: question.clusters,
            asked_at: now,
            until: now + timeout,
            state,
        };
        records.save_preflight(&record).await?;
        notifier.notify();
        Ok(standing)
    }

    /// Only heads of the repository itself that somebody with write permission pushed: a dry run shows a
    /// live cluster things that nobody has reviewed.
    async fn trust(&self, pull: &PullRequest) -> Result<Trust, SyncError> {
        if !pull.head_in_repository {
            return Ok(Trust::No("Its head stands in another repository.".to_owned()));
        }
        let host = &self.ports.host;
        let pushes = match host.pushes(self.repository, &pull.head_branch).await {
            Ok(pushes) => pushes,
            Err(CodeHostError::NotFound { .. } | CodeHostError::Forbidden { .. }) => {
                return Ok(Trust::No("GitHub does not say who pushed its head.".to_owned()));
            }
            Err(error) => return Err(error.into()),
        };
        let Some(push) = pushes.into_iter().find(|push| push.after == pull.head) else {
            return Ok(Trust::NotYet("GitHub does not say who pushed its head.".to_owned()));
        };
        let Some(actor) = push.actor else {
            return Ok(Trust::No("Whoever pushed its head has no account any more.".to_owned()));
        };
        if actor == host.bot_login().await? {
            return Ok(Trust::Yes);
        }
        let permission = match host.permission(self.repository, &actor).await {
            Ok(permission) => permission,
            Err(CodeHostError::NotFound { .. }) => Permission::None,
            Err(error) => return Err(error.into()),
        };
        if permission >= Permission::Write {
            return Ok(Trust::Yes);
        }
        Ok(Trust::No(format!("`{actor}`, who pushed its head, has no write permission.")))
    }
}
