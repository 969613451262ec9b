//! Following a source: each new commit is opened once, and what was kept serves until there is one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capstan_live::applying::Inventory;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{CommitId, RepoPath};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::app::ports::LiveError;
use crate::app::reconcile::Ports;
use crate::app::reconcile::ports::{ClusterRecord, FleetRecord, SourceError, SourceTree, TreeSource};
use crate::app::reconcile::revision::{Opened, Revision, Unusable, Viewpoint};

/// A source is asked at least that often for a newer commit.
const LOOK: Duration = Duration::from_secs(30);

/// What is known of a source.
#[derive(Clone, Default)]
pub(super) struct Followed {
    /// The newest commit that can be applied from.
    pub(super) revision: Option<Arc<Revision>>,
    /// Why there is no newer one.
    pub(super) problem: Option<Problem>,
}

/// Why a source gives nothing that can be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    /// A CamelCase word for a condition.
    pub(super) reason: &'static str,
    /// What was found and what to do.
    pub(super) message: String,
    /// Whether the commit itself is at fault: then nothing is applied, from no earlier commit either.
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

impl Follower {
    /// Follows until cancelled.
    pub(super) async fn run(self, tell: watch::Sender<Followed>, stop: CancellationToken) {
        let mut opened: Option<CommitId> = None;
        match self.source.kept().await {
            Ok(Some(kept)) => self.open(&kept, &mut opened, &tell).await,
            Ok(None) => {}
            Err(error) => tracing::warn!(fleet = %self.fleet.key, %error, "what was kept cannot be read"),
        }
        while !stop.is_cancelled() {
            match self.source.fetch().await {
                Ok(tree) if opened.as_ref() == Some(&tree.commit) => report_problem(&tell, None),
                Ok(tree) => self.open(&tree, &mut opened, &tell).await,
                Err(error) => {
                    tracing::warn!(fleet = %self.fleet.key, %error, "the source cannot be read");
                    report_problem(&tell, Some(of_source(&error)));
                }
            }
            let patience = LOOK.min(self.fleet.spec.interval);
            tokio::select! {
                () = self.source.wait(opened.as_ref(), patience) => {}
                () = self.poke.notified() => {}
                () = stop.cancelled() => {}
            }
        }
    }

    async fn open(&self, tree: &SourceTree, opened: &mut Option<CommitId>, tell: &watch::Sender<Followed>) {
        match self.open_revision(tree).await {
            Ok(revision) => {
                tracing::info!(
                    fleet = %self.fleet.key, commit = %tree.commit, clusters = revision.claims.len(),
                    "a commit was opened"
                );
                *opened = Some(tree.commit.clone());
                tell.send_replace(Followed { revision: Some(Arc::new(revision)), problem: None });
            }
            Err(NotOpened::Unusable(unusable)) => {
                // Not opened again: only another commit, or another Fleet, makes it better.
                *opened = Some(tree.commit.clone());
                let problem = of_commit(&unusable, tree);
                tracing::warn!(fleet = %self.fleet.key, commit = %tree.commit, problem = problem.message, "nothing is applied from this commit");
                tell.send_replace(Followed { revision: None, problem: Some(problem) });
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
            Err(NotOpened::Died(message)) => {
                report_problem(tell, Some(Problem { reason: "InternalError", message, in_commit: false }));
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
        open_revision(&self.ports, &self.fleet, &self.uid, tree, recorded.collect(), None).await
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

/// Opens a commit, or a head under the settings of `base`.
pub(super) async fn open_revision(
    ports: &Ports,
    fleet: &FleetRecord,
    uid: &str,
    tree: &SourceTree,
    recorded: BTreeMap<ClusterId, Inventory>,
    base: Option<Arc<Revision>>,
) -> Result<Revision, NotOpened> {
    let recorded = Arc::new(recorded);
    let mut settled = false;
    loop {
        let (tree, base, recorded) = (tree.clone(), base.clone(), Arc::clone(&recorded));
        let (name, uid) = (fleet.spec.management_cluster.clone(), uid.to_owned());
        let scopes = ports.kinds.known();
        let today = ports.clock.now().to_zoned(jiff::tz::TimeZone::UTC).date();
        let opened = tokio::task::spawn_blocking(move || {
            let view = Viewpoint { name: &name, uid: &uid, scopes: &scopes, recorded: &recorded, today };
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
