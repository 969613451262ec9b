//! Following a source: each new commit is opened once, and what was kept serves until there is one.
//!
//! *Expected flow*: the source is asked for its tip first; where it does not answer, or where its tip cannot be opened
//! at all, what was kept serves, as far as nobody has applied anything newer ([`capstan_live::kept_tree`]). A commit is
//! kept once it was opened. Where folders of it were not rendered for what may have been the machine's fault, it is opened
//! again after a while: as what it is then.
//!
//! *Guarantee*: a commit counts as confirmed only where the source has just named it as its tip.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use capstan_live::applying::AppliedInventory;
use capstan_live::kept_tree::{TreeOrigin, is_newest};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{CommitId, RepoPath};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::sleep_until;
use capstan_ports::LiveError;
use capstan_reconciler::reconcile::Ports;
use capstan_reconciler::reconcile::ports::{ClusterRecord, FleetRecord, SourceError, SourceTree, TreeSource};
use capstan_reconciler::reconcile::revision::{OpenedRevision, Revision, Unusable, Viewpoint};

/// A source is asked at least that often for a newer commit.
const LOOK: Duration = Duration::from_secs(30);

/// How long the first tip is waited for before what was kept serves.
const FIRST_LOOK: Duration = Duration::from_secs(30);

/// The pause before what was due is due again, where it was not opened then.
const NOT_OPENED: Duration = Duration::from_secs(10);

/// What is known of a source.
#[derive(Clone)]
pub(super) struct Followed {
    /// The newest commit that can be applied from.
    pub(super) revision: Option<Arc<Revision>>,
    /// How it came to be that.
    pub(super) standing: TreeOrigin,
    /// Why there is no newer one.
    pub(super) problem: Option<Problem>,
}

impl Default for Followed {
    fn default() -> Self {
        Self { revision: None, standing: TreeOrigin::Kept, problem: None }
    }
}

/// Why a source gives nothing that can be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    /// A CamelCase word for a condition.
    pub(super) reason: &'static str,
    /// What was found and what to do.
    pub(super) message: String,
    /// Whether the commit itself is at fault: it stays so for as long as it is the newest.
    pub(super) in_commit: bool,
}

/// Why a commit was not opened.
pub(super) enum NotOpened {
    Unusable(Unusable),
    Live(LiveError),
    Died(String),
}

/// What following needs to know of the Fleet.
pub(super) struct Follower {
    pub(super) ports: Ports,
    pub(super) fleet: FleetRecord,
    pub(super) uid: String,
    pub(super) source: Arc<dyn TreeSource>,
    /// Somebody heard of a newer commit.
    pub(super) poke: Arc<Notify>,
}

/// How far a follower is.
#[derive(Default)]
struct FollowProgress {
    /// What is applied from, or found unusable.
    opened: Option<TriedCommit>,
    /// A tip that could not be opened within the limits.
    unopened: Option<TriedCommit>,
    /// The same of what was kept.
    unopened_kept: Option<TriedCommit>,
    /// The commit that is on disk.
    kept: Option<CommitId>,
    /// Whether the source was asked.
    has_looked: bool,
}

/// A commit that was tried to be opened.
struct TriedCommit {
    tree: SourceTree,
    /// What is wrong with it.
    problem: Option<Problem>,
    /// When it is opened once more, for what was not opened or rendered of it.
    again: Option<Instant>,
}

impl TriedCommit {
    fn is_of(tried: Option<&Self>, commit: &CommitId) -> bool {
        tried.is_some_and(|tried| tried.tree.commit == *commit)
    }
}

impl FollowProgress {
    fn tried(&mut self) -> impl Iterator<Item = &mut TriedCommit> {
        [&mut self.opened, &mut self.unopened, &mut self.unopened_kept].into_iter().flatten()
    }

    /// When the next one is opened once more.
    fn next(&mut self) -> Option<Instant> {
        self.tried().filter_map(|tried| tried.again).min()
    }

    /// The commits that are due. What is not opened now is due again.
    fn take_due(&mut self) -> BTreeSet<CommitId> {
        let now = Instant::now();
        let mut due = BTreeSet::new();
        for tried in self.tried().filter(|tried| tried.again.is_some_and(|at| at <= now)) {
            tried.again = Some(now + NOT_OPENED);
            due.insert(tried.tree.commit.clone());
        }
        due
    }
}

impl Follower {
    /// Follows until cancelled.
    pub(super) async fn run(self, tell: watch::Sender<Followed>, stop: CancellationToken) {
        let mut progress = FollowProgress::default();
        while !stop.is_cancelled() {
            self.look(&mut progress, &tell).await;
            let patience = LOOK.min(self.fleet.spec.interval);
            let again = progress.next();
            let known = progress.opened.as_ref().map(|opened| &opened.tree.commit);
            tokio::select! {
                () = self.source.wait(known, patience) => {}
                () = self.poke.notified() => {}
                () = sleep_until(again) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Asks the source for its tip, and opens it where it is new or due.
    async fn look(&self, progress: &mut FollowProgress, tell: &watch::Sender<Followed>) {
        let due = progress.take_due();
        let patience = if progress.has_looked { Duration::MAX } else { FIRST_LOOK };
        let fetched = timeout(patience, self.source.fetch()).await.unwrap_or_else(|_| {
            let reason = format!("no answer within {} s", FIRST_LOOK.as_secs());
            Err(SourceError::Away { source_name: "the source".to_owned(), reason })
        });
        progress.has_looked = true;
        let (tip, mut problem) = match fetched {
            Ok(tip) => {
                let commit = tip.commit.clone();
                (Some(commit), self.go_on_with(tip, &due, progress, tell).await)
            }
            Err(error) => {
                tracing::warn!(fleet = %self.fleet.key, %error, "the source cannot be read");
                (None, Some(of_source(&error)))
            }
        };
        if progress.opened.is_none() {
            self.go_on_with_kept(tip.as_ref(), &mut problem, &due, progress, tell).await;
        } else if let Some(opened) = &progress.opened
            && tip.as_ref() != Some(&opened.tree.commit)
            && due.contains(&opened.tree.commit)
        {
            // The source does not name it as its tip: it is what it was before, and no more.
            let (tree, standing) = (opened.tree.clone(), tell.borrow().standing);
            let _told_when_it_is_the_tip = self.open(&tree, standing, progress, tell).await;
        }
        report_problem(tell, problem);
    }

    /// Continues with the source's new tip. Returns what is wrong with it.
    async fn go_on_with(
        &self,
        tip: SourceTree,
        due: &BTreeSet<CommitId>,
        progress: &mut FollowProgress,
        tell: &watch::Sender<Followed>,
    ) -> Option<Problem> {
        let is_opened = TriedCommit::is_of(progress.opened.as_ref(), &tip.commit);
        if is_opened {
            // The branch may have gone back to it from one that could not be opened.
            progress.unopened = None;
        }
        let unopened = progress.unopened.as_ref().filter(|unopened| unopened.tree.commit == tip.commit);
        match unopened {
            _ if due.contains(&tip.commit) => self.open(&tip, TreeOrigin::Confirmed, progress, tell).await,
            Some(unopened) => unopened.problem.clone(),
            None if is_opened => {
                confirm(tell);
                let problem = progress.opened.as_ref().and_then(|opened| opened.problem.clone());
                match problem {
                    None => self.keep(&tip.commit, progress).await,
                    problem => problem,
                }
            }
            None => self.open(&tip, TreeOrigin::Confirmed, progress, tell).await,
        }
    }

    /// Opens what was kept, where nobody has applied anything else since.
    async fn go_on_with_kept(
        &self,
        tip: Option<&CommitId>,
        problem: &mut Option<Problem>,
        due: &BTreeSet<CommitId>,
        progress: &mut FollowProgress,
        tell: &watch::Sender<Followed>,
    ) {
        match self.source.kept().await {
            // It was tried just now.
            Ok(Some(kept)) if tip == Some(&kept.commit) => {}
            Ok(Some(kept)) if is_newest(&kept.commit, self.fleet.status.commit.as_deref()) => {
                let known = progress.tried().any(|tried| tried.tree.commit == kept.commit);
                if !known || due.contains(&kept.commit) {
                    let found = self.open(&kept, TreeOrigin::Kept, progress, tell).await;
                    *problem = problem.take().or(found);
                }
            }
            Ok(Some(kept)) => {
                if let Some(problem) = problem {
                    let applied_from = self.fleet.status.commit.as_deref();
                    problem.message = format!(
                        "{}. The kept commit is {}, but clusters were last applied from {}: Capstan applies and deletes nothing until it reaches the source",
                        problem.message,
                        short(&kept.commit),
                        applied_from.map_or("an unknown one", |commit| commit.get(..12).unwrap_or(commit)),
                    );
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(fleet = %self.fleet.key, %error, "the kept commit cannot be read"),
        }
    }

    /// Opens a commit. Gives what is wrong with it.
    async fn open(
        &self,
        tree: &SourceTree,
        standing: TreeOrigin,
        progress: &mut FollowProgress,
        tell: &watch::Sender<Followed>,
    ) -> Option<Problem> {
        let opened = self.open_revision(tree).await;
        let tried = |problem: Option<&Problem>, again: Option<Duration>| {
            let again = again.map(|pause| Instant::now() + pause);
            Some(TriedCommit { tree: tree.clone(), problem: problem.cloned(), again })
        };
        let unopened = match standing {
            TreeOrigin::Confirmed => &mut progress.unopened,
            TreeOrigin::Kept => &mut progress.unopened_kept,
        };
        let problem = match opened {
            Ok(revision) => {
                tracing::info!(
                    fleet = %self.fleet.key, commit = %tree.commit, clusters = revision.claims.len(),
                    "a commit was opened"
                );
                *unopened = None;
                progress.opened = tried(None, revision.try_again_after());
                tell.send_modify(|followed| {
                    followed.revision = Some(Arc::new(revision));
                    followed.standing = standing;
                    // A loop that continues with a kept tree has a problem as its reason.
                    followed.problem = followed.problem.take().filter(|_| standing == TreeOrigin::Kept);
                });
                return match standing {
                    TreeOrigin::Confirmed => self.keep(&tree.commit, progress).await,
                    TreeOrigin::Kept => None,
                };
            }
            Err(NotOpened::Unusable(Unusable::Untried(failed))) => {
                let again = failed.try_again_after();
                let problem =
                    Problem { in_commit: again.is_none(), ..of_commit(&Unusable::Untried(failed), tree) };
                *unopened = tried(Some(&problem), again);
                problem
            }
            Err(NotOpened::Died(message)) => {
                let problem = Problem { reason: "InternalError", message, in_commit: true };
                *unopened = tried(Some(&problem), None);
                problem
            }
            Err(NotOpened::Unusable(unusable)) => {
                // Not opened again: only another commit, or another Fleet, helps. Nothing of it is applied,
                // and nothing of an earlier one: the owners of the clusters are unknown now.
                let problem = of_commit(&unusable, tree);
                progress.opened = tried(Some(&problem), None);
                tell.send_replace(Followed { revision: None, standing, problem: Some(problem.clone()) });
                problem
            }
            Err(NotOpened::Live(error)) => {
                Problem { reason: "ManagementClusterAway", message: error.to_string(), in_commit: false }
            }
        };
        tracing::warn!(fleet = %self.fleet.key, commit = %tree.commit, problem = problem.message, "a commit is not opened");
        Some(problem)
    }

    /// Keeps a commit that was opened, once. Gives why that is not done.
    async fn keep(&self, commit: &CommitId, progress: &mut FollowProgress) -> Option<Problem> {
        if progress.kept.as_ref() == Some(commit) {
            return None;
        }
        match self.source.keep(commit).await {
            Ok(()) => {
                progress.kept = Some(commit.clone());
                None
            }
            Err(error) => {
                tracing::warn!(fleet = %self.fleet.key, %error, "a commit that was opened cannot be kept");
                Some(of_source(&error))
            }
        }
    }

    async fn open_revision(&self, tree: &SourceTree) -> Result<Revision, NotOpened> {
        let records = self.ports.status_store.clusters(&self.fleet.key).await.map_err(NotOpened::Live)?;
        // Of a status the inventory is the smaller part: the rest is not held while folders are rendered.
        let recorded = records.into_iter().filter_map(|record| {
            let id = folder_of(&record)?;
            Some((id, record.status.inventory))
        });
        let opening = CommitOpening { ports: &self.ports, fleet: &self.fleet, uid: &self.uid };
        open_revision(&opening, tree, recorded.collect(), None).await
    }
}

/// The folder of a ManagedCluster.
fn folder_of(record: &ClusterRecord) -> Option<ClusterId> {
    RepoPath::parse(&record.spec.cluster).ok().map(ClusterId::new)
}

/// What each folder has applied.
pub(super) fn inventories(records: &[ClusterRecord]) -> BTreeMap<ClusterId, AppliedInventory> {
    records.iter().filter_map(|record| Some((folder_of(record)?, record.status.inventory.clone()))).collect()
}

/// Who opens a commit, and for which Fleet.
#[derive(Clone, Copy)]
pub(super) struct CommitOpening<'a> {
    pub(super) ports: &'a Ports,
    pub(super) fleet: &'a FleetRecord,
    pub(super) uid: &'a str,
}

/// Opens a commit, or a head under the settings of `base`.
pub(super) async fn open_revision(
    opening: &CommitOpening<'_>,
    tree: &SourceTree,
    recorded: BTreeMap<ClusterId, AppliedInventory>,
    base: Option<Arc<Revision>>,
) -> Result<Revision, NotOpened> {
    let CommitOpening { ports, fleet, uid } = *opening;
    let recorded = Arc::new(recorded);
    let mut settled = false;
    loop {
        let (tree, base, recorded) = (tree.clone(), base.clone(), Arc::clone(&recorded));
        let (name, uid) = (fleet.spec.management_cluster.clone(), uid.to_owned());
        let (scopes, trial) = (ports.kinds.known(), Arc::clone(&ports.trial));
        let today = ports.clock.now().to_zoned(jiff::tz::TimeZone::UTC).date();
        let opened = tokio::task::spawn_blocking(move || {
            let view = Viewpoint {
                name: &name,
                uid: &uid,
                scopes: &scopes,
                recorded: &recorded,
                today,
                trial: &trial,
            };
            match base {
                Some(base) => Revision::open_head(&base, &tree, &view, settled),
                None => Revision::open(&tree, &view, settled),
            }
        });
        match opened.await {
            Ok(Ok(OpenedRevision::Ready(revision))) => return Ok(*revision),
            Ok(Ok(OpenedRevision::Unknown(kinds))) => {
                ports.kinds.learn(ports.live.as_ref(), &kinds).await.map_err(NotOpened::Live)?;
                settled = true;
            }
            Ok(Err(unusable)) => return Err(NotOpened::Unusable(unusable)),
            Err(died) => return Err(NotOpened::Died(died.to_string())),
        }
    }
}

/// The source names the commit that is applied from as its tip.
fn confirm(tell: &watch::Sender<Followed>) {
    tell.send_if_modified(|followed| {
        let earlier = std::mem::replace(&mut followed.standing, TreeOrigin::Confirmed);
        earlier != TreeOrigin::Confirmed
    });
}

fn report_problem(tell: &watch::Sender<Followed>, problem: Option<Problem>) {
    tell.send_if_modified(|followed| {
        let is_news = followed.problem != problem;
        followed.problem = problem;
        is_news
    });
}

fn of_source(error: &SourceError) -> Problem {
    Problem { reason: error.kind(), message: error.to_string(), in_commit: false }
}

fn of_commit(unusable: &Unusable, tree: &SourceTree) -> Problem {
    Problem {
        reason: unusable.reason(),
        message: format!("commit {}: {unusable}", short(&tree.commit)),
        in_commit: true,
    }
}

/// The first digits of a commit's id, as people write them.
pub(super) fn short(commit: &CommitId) -> &str {
    commit.as_str().get(..12).unwrap_or(commit.as_str())
}
