//! Following a source: each new commit is opened once, and what was kept serves until there is one.
//!
//! *Expected flow*: the source is asked for its tip first; where it does not answer, or where its tip cannot be opened
//! at all, what was kept serves, as far as nobody has applied anything newer ([`capstan_live::kept_tree`]). A commit is
//! kept once it was opened. Where folders of it were not rendered for what may have been the machine's fault, it is opened
//! again after a while.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capstan_live::applying::Inventory;
use capstan_live::kept_tree::{Standing, is_newest};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{CommitId, RepoPath};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::sleep_until;
use crate::app::ports::LiveError;
use crate::app::reconcile::Ports;
use crate::app::reconcile::ports::{
    ClusterRecord, FleetRecord, SourceError, SourceTree, TreeSource, TrialFailed,
};
use crate::app::reconcile::revision::{Opened, Revision, Unusable, Viewpoint};

/// A source is asked at least that often for a newer commit.
const LOOK: Duration = Duration::from_secs(30);

/// How long the first tip is waited for before what was kept serves.
const FIRST_LOOK: Duration = Duration::from_secs(30);

/// What is known of a source.
#[derive(Clone)]
pub(super) struct Followed {
    /// The newest commit that can be applied from.
    pub(super) revision: Option<Arc<Revision>>,
    /// How it came to be that.
    pub(super) standing: Standing,
    /// Why there is no newer one.
    pub(super) problem: Option<Problem>,
}

impl Default for Followed {
    fn default() -> Self {
        Self { revision: None, standing: Standing::Kept, problem: None }
    }
}

/// Why a source gives nothing that can be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    /// A CamelCase word for a condition.
    pub(super) reason: &'static str,
    /// What was found and what to do.
    pub(super) message: String,
    /// Whether the commit itself is at fault: it stays so while it is the newest.
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
struct Progress {
    /// The commit that was opened last, or found unusable.
    opened: Option<CommitId>,
    /// A commit that cannot be opened within the limits.
    unopened: Option<CommitId>,
    /// The commit that is on disk.
    kept: Option<CommitId>,
    /// Whether the source was asked.
    has_looked: bool,
    /// What is to be opened once more.
    again: Option<Again>,
}

/// A commit that is opened once more, for what was not opened or rendered of it.
struct Again {
    at: Instant,
    tree: SourceTree,
}

impl Follower {
    /// Follows until cancelled.
    pub(super) async fn run(self, tell: watch::Sender<Followed>, stop: CancellationToken) {
        let mut progress = Progress::default();
        while !stop.is_cancelled() {
            self.look(&mut progress, &tell).await;
            let patience = LOOK.min(self.fleet.spec.interval);
            let again = progress.again.as_ref().map(|again| again.at);
            tokio::select! {
                () = self.source.wait(progress.opened.as_ref(), patience) => {}
                () = self.poke.notified() => {}
                () = sleep_until(again) => {
                    if let Some(Again { tree, .. }) = progress.again.take() {
                        self.open_again(&tree, &mut progress, &tell).await;
                    }
                }
                () = stop.cancelled() => {}
            }
        }
    }

    /// Opens a commit once more, if it is still the one that is applied from. One that was not opened at all is begun with
    /// anew at the next look, which tells whether it still is the tip.
    async fn open_again(&self, tree: &SourceTree, progress: &mut Progress, tell: &watch::Sender<Followed>) {
        if progress.opened.as_ref() == Some(&tree.commit) {
            let standing = tell.borrow().standing;
            self.open(tree, standing, progress, tell).await;
        } else {
            progress.unopened.take_if(|unopened| *unopened == tree.commit);
        }
    }

    /// Asks the source for its tip, and opens it where it is new.
    async fn look(&self, progress: &mut Progress, tell: &watch::Sender<Followed>) {
        let patience = if progress.has_looked { Duration::MAX } else { FIRST_LOOK };
        let fetched = timeout(patience, self.source.fetch()).await.unwrap_or_else(|_| {
            let reason = format!("no answer within {} s", FIRST_LOOK.as_secs());
            Err(SourceError::Away { source_name: "the source".to_owned(), reason })
        });
        match fetched {
            Ok(tree) if progress.unopened.as_ref() == Some(&tree.commit) => {}
            Ok(tree) if progress.opened.as_ref() == Some(&tree.commit) => {
                // The branch went back to it from one that could not be opened.
                let is_back = progress.unopened.take().is_some();
                confirm(tell, is_back);
                self.keep(&tree.commit, progress, tell).await;
            }
            Ok(tree) => {
                self.open(&tree, Standing::Confirmed, progress, tell).await;
                if progress.unopened.is_some() {
                    let problem = tell.borrow().problem.clone();
                    self.go_on_with_kept(problem, progress, tell).await;
                }
            }
            Err(error) => {
                tracing::warn!(fleet = %self.fleet.key, %error, "the source cannot be read");
                self.go_on_with_kept(Some(of_source(&error)), progress, tell).await;
            }
        }
        progress.has_looked = true;
    }

    /// Tells a problem with the tip; opens what was kept where nothing else is open, and nobody has applied anything
    /// else since.
    async fn go_on_with_kept(
        &self,
        mut problem: Option<Problem>,
        progress: &mut Progress,
        tell: &watch::Sender<Followed>,
    ) {
        let kept = if progress.opened.is_none() { self.source.kept().await } else { Ok(None) };
        match kept {
            Ok(Some(kept)) if progress.unopened.as_ref() == Some(&kept.commit) => {}
            Ok(Some(kept)) if is_newest(&kept.commit, self.fleet.status.commit.as_deref()) => {
                self.open(&kept, Standing::Kept, progress, tell).await;
            }
            Ok(Some(kept)) => {
                if let Some(problem) = &mut problem {
                    let applied_from = self.fleet.status.commit.as_deref();
                    problem.message = format!(
                        "{}. What was kept is commit {}, and clusters were applied from {} last: nothing is applied or \
                         deleted before the source was reached",
                        problem.message,
                        short(&kept.commit),
                        applied_from
                            .map_or("one that nobody knows", |commit| commit.get(..12).unwrap_or(commit)),
                    );
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(fleet = %self.fleet.key, %error, "what was kept cannot be read"),
        }
        report_problem(tell, problem);
    }

    async fn open(
        &self,
        tree: &SourceTree,
        standing: Standing,
        progress: &mut Progress,
        tell: &watch::Sender<Followed>,
    ) {
        let mut try_again_after = None;
        match self.open_revision(tree).await {
            Ok(revision) => {
                tracing::info!(
                    fleet = %self.fleet.key, commit = %tree.commit, clusters = revision.claims.len(),
                    "a commit was opened"
                );
                try_again_after = revision.try_again_after();
                progress.opened = Some(tree.commit.clone());
                tell.send_modify(|followed| {
                    followed.revision = Some(Arc::new(revision));
                    followed.standing = standing;
                    // Whoever goes on with what was kept does so because of a problem.
                    followed.problem = followed.problem.take().filter(|_| standing == Standing::Kept);
                });
                if standing == Standing::Confirmed {
                    progress.unopened = None;
                    self.keep(&tree.commit, progress, tell).await;
                }
            }
            Err(NotOpened::Unusable(Unusable::Untried(TrialFailed::Unavailable(message)))) => {
                tracing::warn!(fleet = %self.fleet.key, commit = %tree.commit, problem = message, "a commit is not opened yet");
                report_problem(tell, Some(Problem { reason: "NotRendered", message, in_commit: false }));
            }
            Err(NotOpened::Unusable(unusable @ Unusable::Untried(_))) => {
                if let Unusable::Untried(failed) = &unusable {
                    try_again_after = failed.try_again_after();
                }
                self.leave(tree, of_commit(&unusable, tree), progress, tell);
            }
            Err(NotOpened::Died(message)) => {
                let problem = Problem { reason: "InternalError", message, in_commit: true };
                self.leave(tree, problem, progress, tell);
            }
            Err(NotOpened::Unusable(unusable)) => {
                // Not opened again: only another commit, or another Fleet, makes it better. Nothing of it is applied,
                // and nothing of an earlier one: nobody knows whose the clusters are now.
                progress.opened = Some(tree.commit.clone());
                let problem = of_commit(&unusable, tree);
                tracing::warn!(fleet = %self.fleet.key, commit = %tree.commit, problem = problem.message, "nothing is applied from this commit");
                tell.send_replace(Followed { revision: None, standing, problem: Some(problem) });
            }
            Err(NotOpened::Live(error)) => {
                report_problem(
                    tell,
                    Some(Problem {
                        reason: "ManagementClusterAway",
                        message: error.to_string(),
                        in_commit: false,
                    }),
                );
            }
        }
        let again = try_again_after.map(|pause| Again { at: Instant::now() + pause, tree: tree.clone() });
        match standing {
            Standing::Confirmed => progress.again = again,
            // The tip may have one already.
            Standing::Kept => progress.again = progress.again.take().or(again),
        }
    }

    /// A commit that cannot be opened: what was opened before it stays.
    fn leave(
        &self,
        tree: &SourceTree,
        problem: Problem,
        progress: &mut Progress,
        tell: &watch::Sender<Followed>,
    ) {
        tracing::warn!(fleet = %self.fleet.key, commit = %tree.commit, problem = problem.message, "a commit is not opened");
        progress.unopened = Some(tree.commit.clone());
        report_problem(tell, Some(problem));
    }

    /// Keeps a commit that was opened, once.
    async fn keep(&self, commit: &CommitId, progress: &mut Progress, tell: &watch::Sender<Followed>) {
        if progress.kept.as_ref() == Some(commit) {
            return;
        }
        match self.source.keep(commit).await {
            Ok(()) => progress.kept = Some(commit.clone()),
            Err(error) => {
                tracing::warn!(fleet = %self.fleet.key, %error, "a commit that was opened cannot be kept");
                report_problem(tell, Some(of_source(&error)));
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
        let opening = Opening { ports: &self.ports, fleet: &self.fleet, uid: &self.uid };
        open_revision(&opening, tree, recorded.collect(), None).await
    }
}

/// The folder that a ManagedCluster stands for.
fn folder_of(record: &ClusterRecord) -> Option<ClusterId> {
    RepoPath::parse(&record.spec.cluster).ok().map(ClusterId::new)
}

/// What each folder has applied.
pub(super) fn inventories(records: &[ClusterRecord]) -> BTreeMap<ClusterId, Inventory> {
    records.iter().filter_map(|record| Some((folder_of(record)?, record.status.inventory.clone()))).collect()
}

/// Who opens a commit, and for whom.
#[derive(Clone, Copy)]
pub(super) struct Opening<'a> {
    pub(super) ports: &'a Ports,
    pub(super) fleet: &'a FleetRecord,
    pub(super) uid: &'a str,
}

/// Opens a commit, or a head under the settings of `base`.
pub(super) async fn open_revision(
    opening: &Opening<'_>,
    tree: &SourceTree,
    recorded: BTreeMap<ClusterId, Inventory>,
    base: Option<Arc<Revision>>,
) -> Result<Revision, NotOpened> {
    let Opening { ports, fleet, uid } = *opening;
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
            Ok(Ok(Opened::Ready(revision))) => return Ok(*revision),
            Ok(Ok(Opened::Unknown(kinds))) => {
                ports.kinds.learn(ports.live.as_ref(), &kinds).await.map_err(NotOpened::Live)?;
                settled = true;
            }
            Ok(Err(unusable)) => return Err(NotOpened::Unusable(unusable)),
            Err(died) => return Err(NotOpened::Died(died.to_string())),
        }
    }
}

/// The source names the commit that is applied from as its tip.
fn confirm(tell: &watch::Sender<Followed>, is_back: bool) {
    tell.send_if_modified(|followed| {
        let is_news = followed.standing != Standing::Confirmed || is_back;
        followed.standing = Standing::Confirmed;
        followed.problem = followed.problem.take().filter(|_| !is_back);
        is_news
    });
    report_problem(tell, None);
}

fn report_problem(tell: &watch::Sender<Followed>, problem: Option<Problem>) {
    tell.send_if_modified(|followed| {
        // What is wrong with a commit stays wrong while it is the newest.
        let keeps = problem.is_none() && followed.problem.as_ref().is_some_and(|earlier| earlier.in_commit);
        if keeps || followed.problem == problem {
            return false;
        }
        followed.problem.clone_from(&problem);
        true
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
