//! Planning and rendering in processes of their own: the bot's side.
//!
//! *Guarantee*: whatever a repository contains, planning it ends in an answer. A process that takes more memory or
//! stack than it may dies, and one that says nothing for too long is ended. What it was working on is reported as
//! [beyond the limits](PlannerFailed::Exceeded); another process plans the targets beside it. What was beyond the
//! limits is remembered by the content that it was asked of, and not begun again before `exceeded` lets it. A question
//! has a budget of time as a whole, and ends with the job that asks; no repository ever has all processes. *Expected
//! flow*: a call takes an idle process, the one that knows the repository where there is one, and gives it back. There
//! are at most [`Processes::count`] of them; a call that finds none waits.
//!
//! Deliberately absent: what the processes say ([`process`](capstan_fleet::planner::process)), and planning.

mod budget;
mod child;
mod exceeded;
mod fleet;
mod memory;
mod pool;
mod share;
mod trial;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use capstan_kustomize::render::Folders;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree, TreeId};
use capstan_plan::inventory::InventoryChange;
use capstan_plan::onboarding::Onboarding;
use capstan_plan::proposal::Scope;
use capstan_plan::settings::RepositorySettings;
use capstan_report::{JudgedCluster, JudgedReleases};
use jiff::Timestamp;
use jiff::civil::Date;
use tokio_util::sync::CancellationToken;

use budget::Budget;
use capstan_fleet::planner::process::{FleetRequest, Judging, PlannerRequest, Response, TreeRef};
use capstan_fleet::planner::{JudgedBy, MadeOf, OpenFailed, OpenFleet, Planner, PlannerFailed};
use fleet::RemoteFleet;
use pool::Pool;

pub use memory::share_of_memory;

/// Which program, how many of it, and what each may take.
#[derive(Debug, Clone)]
pub struct Processes {
    /// This program: it is run with [`SUBCOMMAND`].
    pub program: PathBuf,
    /// What it is that they do, as a sentence begins with it: `Planning`.
    pub work: &'static str,
    /// How many run at most.
    pub count: usize,
    /// How many stay when there is nothing to do.
    pub idle: usize,
    /// Memory that one may take, in bytes.
    pub memory: u64,
    /// Memory that one target may take of that, in bytes; `None` where it may take all.
    pub share: Option<u64>,
    /// Stack that each of its threads may use, in bytes: [`STACK`] but where that is tried.
    pub stack: usize,
    /// How long one may work on a target, or say nothing otherwise.
    pub patience: Duration,
    /// How long they may work on all that one question is about.
    pub whole: Duration,
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
    /// What it plans for, where that may end.
    job: Option<Job>,
}

/// One job of the bot's.
#[derive(Clone)]
struct Job {
    ended: CancellationToken,
    /// When what took too long may be begun again.
    pauses: Arc<Mutex<Vec<Timestamp>>>,
}

/// So many targets of one repository may be found beyond the limits in one call: each costs a process and the time that
/// it may take. Those that are known to be cost nothing.
const MOST_EXCEEDED: usize = 20;

impl ProcessPlanner {
    /// A planner; a process is started when it is needed.
    pub fn new(processes: Processes) -> Self {
        Self { pool: Arc::new(Pool::new(processes)), unrendered: Arc::default(), job: None }
    }

    /// Starts a process now: the first call finds it running.
    pub fn start_ahead(&self) {
        self.pool.start_ahead();
    }

    /// What is known of a snapshot's clusters that cannot be rendered.
    fn unrendered(&self, root: Option<&TreeId>) -> BTreeSet<ClusterId> {
        let known = self.unrendered.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter(|(of, _)| Some(of) == root).map(|(_, cluster)| cluster.clone()).collect()
    }

    fn remember_unrendered(&self, root: Option<&TreeId>, clusters: &BTreeSet<ClusterId>) {
        let mut known = self.unrendered.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() > 1_000 {
            known.clear();
        }
        known.extend(clusters.iter().filter_map(|cluster| Some((root?.clone(), cluster.clone()))));
    }

    fn open_fleet(&self, request: FleetRequest) -> Result<Box<dyn OpenFleet>, OpenFailed> {
        match self.ask(&PlannerRequest::Open(request.clone()))? {
            Response::Opened(opened) => Ok(Box::new(RemoteFleet::new(self.clone(), request, *opened))),
            Response::BadSettings(problem) => Err(problem.into()),
            _ => Err(out_of_turn().into()),
        }
    }

    /// How many processes ended in the middle of their work since it was made, for metrics.
    pub fn ended(&self) -> u64 {
        self.pool.ended()
    }

    /// What one question may take.
    fn budget(&self) -> Budget {
        Budget::new(self.pool.whole(), self.job.as_ref().map(|job| job.ended.clone()))
    }

    /// Notes for the job when it may be begun again.
    fn note_pause(&self, ended: &FailedCall) {
        if let (Some(job), Some(until)) = (&self.job, ended.until) {
            job.pauses.lock().unwrap_or_else(PoisonError::into_inner).push(until);
        }
    }

    /// The parts of an answer that names no upgrades.
    fn parts(&self, request: &PlannerRequest, budget: &mut Budget) -> Result<Vec<Response>, FailedCall> {
        self.pool.parts(request, budget).inspect_err(|ended| self.note_pause(ended))
    }

    /// An answer of one part.
    fn ask(&self, request: &PlannerRequest) -> Result<Response, PlannerFailed> {
        let mut parts = self.parts(request, &mut self.budget())?;
        match (parts.pop(), parts.is_empty()) {
            (Some(response), true) => Ok(response),
            _ => Err(out_of_turn()),
        }
    }

    /// The end of an answer that has other parts, too.
    fn last_part(&self, request: &PlannerRequest) -> Result<Option<Response>, PlannerFailed> {
        Ok(self.parts(request, &mut self.budget())?.pop())
    }

    /// The parts of an answer that renders clusters of a snapshot: without those of them that are beyond the limits and
    /// `may_be_left_out`.
    fn ask_without(
        &self,
        root: Option<&TreeId>,
        may_be_left_out: impl Fn(&ClusterId) -> bool,
        request: impl Fn(&LeftOut) -> PlannerRequest,
    ) -> Result<Vec<Response>, PlannerFailed> {
        let mut left_out = LeftOut { clusters: self.unrendered(root), one_by_one: false };
        let (mut deaths, mut budget) = (0, self.budget());
        loop {
            let ended = match self.parts(&request(&left_out), &mut budget) {
                Ok(parts) => return Ok(parts),
                Err(ended) => ended,
            };
            let goes_on = ended.cause.is_theirs()
                && ended.extent == Extent::AtOne
                && !ended.open.is_subset(&left_out.clusters)
                && ended.open.iter().all(&may_be_left_out)
                && deaths <= MOST_EXCEEDED;
            if !goes_on {
                return Err(ended.into());
            }
            deaths += usize::from(!ended.is_known);
            if ended.open.len() > 1 && !left_out.one_by_one {
                // Several threads render: which of the clusters it was is seen when each is alone.
                left_out.one_by_one = true;
                continue;
            }
            if ended.cause == FailureCause::Content {
                self.remember_unrendered(root, &ended.open);
            }
            left_out.clusters.extend(ended.open);
        }
    }
}

/// What an answer goes without.
struct LeftOut {
    /// These are not rendered.
    clusters: BTreeSet<ClusterId>,
    /// Whether the others are rendered one after the other.
    one_by_one: bool,
}

fn out_of_turn() -> PlannerFailed {
    PlannerFailed::Unavailable("the planning process did not answer what it was asked".to_owned())
}

impl Planner for ProcessPlanner {
    fn for_job(&self, ended: &CancellationToken) -> Option<Arc<dyn Planner>> {
        let job = Job { ended: ended.clone(), pauses: Arc::default() };
        Some(Arc::new(Self { job: Some(job), ..self.clone() }))
    }

    fn pauses(&self) -> Vec<Timestamp> {
        let pauses = self.job.as_ref().map(|job| job.pauses.lock().unwrap_or_else(PoisonError::into_inner));
        pauses.map_or_else(Vec::new, |pauses| pauses.clone())
    }

    fn open(&self, tree: Arc<dyn Tree>, today: Date) -> Result<Box<dyn OpenFleet>, OpenFailed> {
        self.open_fleet(FleetRequest::of(TreeRef::of(tree.as_ref()), today))
    }

    fn open_under(
        &self,
        tree: Arc<dyn Tree>,
        settings: &RepositorySettings,
        today: Date,
    ) -> Result<Box<dyn OpenFleet>, OpenFailed> {
        let request = FleetRequest::of(TreeRef::of(tree.as_ref()), today);
        self.open_fleet(FleetRequest { settings: Some(settings.clone()), ..request })
    }

    fn judge_releases(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
        today: Date,
    ) -> Result<JudgedReleases, PlannerFailed> {
        let request = PlannerRequest::JudgeReleases {
            before: TreeRef::of(before.as_ref()),
            after: TreeRef::of(after.as_ref()),
            settings: settings.clone(),
            today,
        };
        match self.ask(&request)? {
            Response::JudgedReleases(judged) => Ok(*judged),
            _ => Err(out_of_turn()),
        }
    }

    fn inventory_change(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
        today: Date,
    ) -> Result<Option<InventoryChange>, PlannerFailed> {
        let request = PlannerRequest::InventoryChange {
            before: TreeRef::of(before.as_ref()),
            after: TreeRef::of(after.as_ref()),
            settings: settings.clone(),
            today,
        };
        match self.ask(&request)? {
            Response::InventoryChanged(change) => Ok(change.map(|change| *change)),
            _ => Err(out_of_turn()),
        }
    }

    fn judge(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        by: JudgedBy<'_>,
    ) -> Result<Vec<JudgedCluster>, PlannerFailed> {
        let JudgedBy { settings, clusters, live, supplies, today } = by;
        let root = before.folder_id(&RepoPath::root());
        let judging = Judging {
            before: TreeRef::of(before.as_ref()),
            after: TreeRef::of(after.as_ref()),
            settings: settings.clone(),
            clusters: clusters.to_vec(),
            live: live.clone(),
            supplies: Arc::clone(supplies),
            unrendered: BTreeSet::new(),
            today,
        };
        // A neighbour that cannot be rendered is not their trouble.
        let is_neighbour = |cluster: &ClusterId| !clusters.contains(cluster);
        let parts = self.ask_without(root.as_ref(), is_neighbour, |left_out| {
            PlannerRequest::Judge(Judging { unrendered: left_out.clusters.clone(), ..judging.clone() })
        })?;
        let judged = parts.into_iter().filter_map(|part| match part {
            Response::Judged(judged) => Some(judged),
            _ => None,
        });
        let judged: Vec<JudgedCluster> = judged.collect();
        if judged.len() == clusters.len() { Ok(judged) } else { Err(out_of_turn()) }
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
        let parts = self.ask_without(
            root.as_ref(),
            |_| true,
            |left_out| PlannerRequest::Touched {
                before: earlier.clone(),
                after: later.clone(),
                scopes: scopes.to_vec(),
                unrendered: left_out.clusters.clone(),
                one_by_one: left_out.one_by_one,
            },
        )?;
        match parts.into_iter().last() {
            Some(Response::Clusters(clusters)) => Ok(clusters),
            _ => Err(out_of_turn()),
        }
    }

    fn touched_through_classes(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Vec<ClusterId>, PlannerFailed> {
        let request = PlannerRequest::TouchedThroughClasses {
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
        let root = tree.folder_id(&RepoPath::root());
        let tree = TreeRef::of(tree.as_ref());
        // One that cannot be rendered is refused where it is to be applied; its folder is enough for that.
        let parts = self.ask_without(
            root.as_ref(),
            |_| true,
            |left_out| PlannerRequest::MadeOf {
                tree: tree.clone(),
                clusters: clusters.to_vec(),
                unrendered: left_out.clusters.clone(),
            },
        )?;
        let made = parts.into_iter().filter_map(|part| match part {
            Response::Made(_, entries) => {
                Some(entries.into_iter().map(|entry| (entry.path.clone(), entry)).collect())
            }
            _ => None,
        });
        let made: Vec<MadeOf> = made.collect();
        if made.len() == clusters.len() { Ok(made) } else { Err(out_of_turn()) }
    }

    fn scopes(
        &self,
        tree: Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Vec<Scope>, PlannerFailed> {
        let request = PlannerRequest::Scopes { tree: TreeRef::of(tree.as_ref()), settings: settings.clone() };
        match self.ask(&request)? {
            Response::Scopes(scopes) => Ok(scopes),
            _ => Err(out_of_turn()),
        }
    }

    fn onboard(&self, tree: Arc<dyn Tree>, today: Date) -> Result<Option<Onboarding>, PlannerFailed> {
        let root = tree.folder_id(&RepoPath::root());
        let tree = TreeRef::of(tree.as_ref());
        // A cluster that is beyond the limits is reported as such; the others are still inspected.
        let parts = self.ask_without(
            root.as_ref(),
            |_| true,
            |left_out| PlannerRequest::Onboard {
                tree: tree.clone(),
                today,
                unplanned: left_out.clusters.clone(),
            },
        )?;
        match parts.into_iter().last() {
            Some(Response::Onboarded(onboarding)) => Ok(onboarding.map(|onboarding| *onboarding)),
            _ => Err(out_of_turn()),
        }
    }
}

/// A call that ended without its answer.
#[derive(Debug, Clone)]
struct FailedCall {
    /// How, as a sentence.
    why: String,
    /// When it is begun again, as a sentence; empty where nobody remembers it.
    again: String,
    /// The same as a point in time, where that comes by itself.
    until: Option<Timestamp>,
    /// The targets that were begun and not answered.
    open: BTreeSet<ClusterId>,
    /// Those among them whose release was answered: their values were worked on.
    released: Box<[ClusterId]>,
    cause: FailureCause,
    extent: Extent,
    /// Whether it was known before it was asked: no process died of it this time.
    is_known: bool,
}

/// What of a question was beyond the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// A target that was open, or whatever was worked on then.
    AtOne,
    /// All of it together.
    InAll,
}

impl FailedCall {
    fn of(cause: FailureCause, why: String, open: BTreeSet<ClusterId>) -> Self {
        Self {
            why,
            again: String::new(),
            until: None,
            open,
            released: Box::default(),
            cause,
            extent: Extent::AtOne,
            is_known: false,
        }
    }

    /// The job that asked has ended.
    fn cancelled() -> Self {
        let why = "The job that asked for it has ended: the next one asks again.".to_owned();
        Self::of(FailureCause::Others, why, BTreeSet::new())
    }

    fn remembered(&self) -> Self {
        Self { is_known: true, ..self.clone() }
    }

    /// What is said of it: how it ended, what `more` there is to say, and when it is begun again.
    fn describe(&self, more: &str) -> String {
        let said = [self.why.as_str(), more, self.again.as_str()];
        said.into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// What ended a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureCause {
    /// What was asked about: it would do so again.
    Content,
    /// It was not done in time.
    Slow,
    /// The process was killed, perhaps because the machine has no memory left.
    Killed,
    /// Something else than what was asked about.
    Others,
}

impl FailureCause {
    /// Whether what was asked about may be to blame.
    const fn is_theirs(self) -> bool {
        matches!(self, Self::Content | Self::Slow | Self::Killed)
    }
}

impl From<FailedCall> for PlannerFailed {
    fn from(ended: FailedCall) -> Self {
        if !ended.cause.is_theirs() {
            return Self::Unavailable(ended.why);
        }
        let open: Vec<String> = ended.open.iter().map(|cluster| format!("`{cluster}`")).collect();
        let at = if open.is_empty() { String::new() } else { format!("It was at {}.", open.join(" and ")) };
        Self::Exceeded(ended.describe(&at))
    }
}
