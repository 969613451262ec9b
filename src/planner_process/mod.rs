//! Planning and rendering in processes of their own: the bot's side.
//!
//! *Guarantee*: whatever stands in a repository, planning it ends in an answer. A process that takes more memory or
//! stack than it may dies, one that says nothing for too long is ended, and what it was working on is told as
//! [beyond the limits](PlannerFailed::Exceeded); the targets beside it are planned by another process. What was
//! beyond the limits is remembered by the content that it was asked of, and not tried again. *Expected flow*: a call
//! takes an idle process, that which knows the repository where there is one, and gives it back; [`Processes::count`]
//! of them at most, and whoever finds none waits.
//!
//! Deliberately absent: what the processes say ([`process`](crate::app::planner::process)), and planning.

mod child;
mod exceeded;
mod fleet;
mod pool;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use capstan_kustomize::render::Folders;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree, TreeEntry, TreeId};
use capstan_plan::proposal::Scope;
use capstan_plan::settings::RepositorySettings;
use capstan_report::JudgedCluster;
use jiff::civil::Date;

use crate::app::planner::process::{FleetRequest, Judging, Releases, Request, Response, TreeRef};
use crate::app::planner::{LiveNames, MadeOf, OpenFailed, OpenFleet, Planner, PlannerFailed};
use fleet::RemoteFleet;
use pool::Pool;

/// Which program, how many of it, and what each may take.
#[derive(Debug, Clone)]
pub struct Processes {
    /// This program: it is run with [`SUBCOMMAND`].
    pub program: PathBuf,
    /// How many run at most.
    pub count: usize,
    /// Memory that one may take, in bytes.
    pub memory: u64,
    /// How long one may work on a target, or say nothing otherwise.
    pub patience: Duration,
    /// The file in which it is kept what was beyond the limits; `None` where that may be met again by the next bot.
    pub remembered: Option<PathBuf>,
}

/// The subcommand that plans; it is for Capstan itself.
pub const SUBCOMMAND: &str = "planner-process";

/// Stack of its threads, in bytes: budgets bound how deep anything is, this is beyond what they allow.
pub const STACK: usize = 16 << 20;

/// A planner that plans in other processes.
#[derive(Clone)]
pub struct ProcessPlanner {
    pool: Arc<Pool>,
    /// The clusters of snapshots that cannot be rendered within the limits.
    unrendered: Arc<Mutex<BTreeSet<(TreeId, ClusterId)>>>,
}

/// So many targets of one repository may be beyond the limits: each costs a process and the time that it may take.
const MOST_EXCEEDED: usize = 20;

impl ProcessPlanner {
    /// A planner; a process is started when it is needed.
    pub fn new(processes: Processes) -> Self {
        Self { pool: Arc::new(Pool::new(processes)), unrendered: Arc::default() }
    }

    /// What is known of a snapshot's clusters that cannot be rendered.
    fn unrendered(&self, root: Option<&TreeId>) -> BTreeSet<ClusterId> {
        let known = self.unrendered.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter(|(of, _)| Some(of) == root).map(|(_, cluster)| cluster.clone()).collect()
    }

    /// Whether it is asked again without those that it ended at.
    fn may_go_on(ended: &Ended, left_out: usize) -> bool {
        ended.is_theirs && !ended.open.is_empty() && left_out <= MOST_EXCEEDED
    }

    fn remember_unrendered(&self, root: Option<&TreeId>, clusters: &BTreeSet<ClusterId>) {
        let mut known = self.unrendered.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() > 1_000 {
            known.clear();
        }
        known.extend(clusters.iter().filter_map(|cluster| Some((root?.clone(), cluster.clone()))));
    }

    /// How many processes ended in the middle of their work since it was made, for metrics.
    pub fn ended(&self) -> u64 {
        self.pool.ended()
    }

    /// An answer of one part.
    fn ask(&self, request: &Request) -> Result<Response, PlannerFailed> {
        let mut last = None;
        self.pool.call(request, &mut |response| last = Some(response)).map_err(PlannerFailed::from)?;
        match last {
            Some(Response::Unavailable(why)) => Err(PlannerFailed::Unavailable(why)),
            Some(response) => Ok(response),
            None => Err(out_of_turn()),
        }
    }
}

fn out_of_turn() -> PlannerFailed {
    PlannerFailed::Unavailable("the planning process did not answer what it was asked".to_owned())
}

impl Planner for ProcessPlanner {
    fn open(&self, tree: Arc<dyn Tree>, today: Date) -> Result<Box<dyn OpenFleet>, OpenFailed> {
        let request = FleetRequest {
            tree: TreeRef::of(tree.as_ref()),
            today,
            releases: Releases::NotAsked,
            contents: Vec::new(),
            retarget: Vec::new(),
            names: BTreeMap::new(),
        };
        match self.ask(&Request::Open(request.clone()))? {
            Response::Opened(opened) => Ok(Box::new(RemoteFleet::new(self.clone(), request, *opened))),
            Response::BadSettings(problem) => Err(problem.into()),
            _ => Err(out_of_turn().into()),
        }
    }

    fn judge(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
        clusters: &[ClusterId],
        live: &BTreeMap<ClusterId, LiveNames>,
        today: Date,
    ) -> Result<Vec<JudgedCluster>, PlannerFailed> {
        let root = before.folder_id(&RepoPath::root());
        let mut judging = Judging {
            before: TreeRef::of(before.as_ref()),
            after: TreeRef::of(after.as_ref()),
            settings: settings.clone(),
            clusters: clusters.to_vec(),
            live: live.clone(),
            unrendered: self.unrendered(root.as_ref()),
            today,
        };
        loop {
            let mut judged = Vec::with_capacity(clusters.len());
            let mut unavailable = None;
            let answered = self.pool.call(&Request::Judge(judging.clone()), &mut |response| match response {
                Response::Judged(cluster) => judged.push(cluster),
                Response::Unavailable(why) => unavailable = Some(why),
                _ => {}
            });
            match (answered, unavailable) {
                (Ok(()), Some(why)) => return Err(PlannerFailed::Unavailable(why)),
                (Ok(()), None) if judged.len() == clusters.len() => return Ok(judged),
                (Ok(()), None) => return Err(out_of_turn()),
                // A neighbour that cannot be rendered is not their trouble.
                (Err(ended), _)
                    if Self::may_go_on(&ended, judging.unrendered.len())
                        && ended.open.iter().all(|open| !clusters.contains(open)) =>
                {
                    self.remember_unrendered(root.as_ref(), &ended.open);
                    judging.unrendered.extend(ended.open);
                }
                (Err(ended), _) => return Err(ended.into()),
            }
        }
    }

    fn touched(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        scopes: &[Scope],
    ) -> Result<Vec<ClusterId>, PlannerFailed> {
        let (earlier, later) = (TreeRef::of(before.as_ref()), TreeRef::of(after.as_ref()));
        let root = before.folder_id(&RepoPath::root());
        // Of a cluster that cannot be rendered, the folder alone is compared: it is not its neighbours' trouble.
        let mut unrendered = self.unrendered(root.as_ref());
        loop {
            let request = Request::Touched {
                before: earlier.clone(),
                after: later.clone(),
                scopes: scopes.to_vec(),
                unrendered: unrendered.clone(),
            };
            let mut last = None;
            match self.pool.call(&request, &mut |response| last = Some(response)) {
                Ok(()) => {
                    return match last {
                        Some(Response::Clusters(clusters)) => Ok(clusters),
                        Some(Response::Unavailable(why)) => Err(PlannerFailed::Unavailable(why)),
                        _ => Err(out_of_turn()),
                    };
                }
                Err(ended) if Self::may_go_on(&ended, unrendered.len()) => {
                    self.remember_unrendered(root.as_ref(), &ended.open);
                    unrendered.extend(ended.open);
                }
                Err(ended) => return Err(ended.into()),
            }
        }
    }

    fn touched_through_classes(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Vec<ClusterId>, PlannerFailed> {
        let request = Request::TouchedThroughClasses {
            before: TreeRef::of(before.as_ref()),
            after: TreeRef::of(after.as_ref()),
            settings: settings.clone(),
        };
        match self.ask(&request)? {
            Response::Clusters(clusters) => Ok(clusters),
            _ => Err(out_of_turn()),
        }
    }

    fn made_of(&self, tree: Arc<dyn Tree>, clusters: &[Folders]) -> Result<Vec<MadeOf>, PlannerFailed> {
        let request = Request::MadeOf { tree: TreeRef::of(tree.as_ref()), clusters: clusters.to_vec() };
        let by_path = |entries: Vec<TreeEntry>| {
            entries.into_iter().map(|entry| (entry.path.clone(), entry)).collect::<MadeOf>()
        };
        match self.ask(&request)? {
            Response::MadeOf(made) if made.len() == clusters.len() => {
                Ok(made.into_iter().map(by_path).collect())
            }
            _ => Err(out_of_turn()),
        }
    }

    fn scopes(
        &self,
        tree: Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Vec<Scope>, PlannerFailed> {
        let request = Request::Scopes { tree: TreeRef::of(tree.as_ref()), settings: settings.clone() };
        match self.ask(&request)? {
            Response::Scopes(scopes) => Ok(scopes),
            _ => Err(out_of_turn()),
        }
    }
}

/// A call that ended without its answer.
#[derive(Debug, Clone)]
struct Ended {
    /// How, as a sentence.
    why: String,
    /// The targets that were begun and not answered.
    open: BTreeSet<ClusterId>,
    /// Whether what was asked about may be to blame.
    is_theirs: bool,
}

impl From<Ended> for PlannerFailed {
    fn from(ended: Ended) -> Self {
        if !ended.is_theirs {
            return Self::Unavailable(ended.why);
        }
        let open: Vec<String> = ended.open.iter().map(|cluster| format!("`{cluster}`")).collect();
        let at = if open.is_empty() { String::new() } else { format!(" It was at {}.", open.join(" and ")) };
        Self::Exceeded(format!("{}{at}", ended.why))
    }
}
