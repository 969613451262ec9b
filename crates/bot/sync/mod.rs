//! Brings one repository to its desired state: proposals, checks, answers.
//!
//! *Expected flow.* Read GitHub (pull requests and branches first, the base branch's tip after them, so that
//! a merge is never seen without its content) -> plan every cluster at that tip -> decide each proposal ->
//! publish within the limits -> judge approvals -> report a check on every open pull request -> merge what is
//! to be merged -> answer commands -> record.
//!
//! *Subjects.* Each file is one subject: a type with only the handles that it needs (`run.rs` gives them), or functions
//! that take them. Facts are gathered (`commits`, `heads`, `inputs`, `people`, `planning`), `bot-core` decides, and the
//! performer writes. Calls go one way, as the imports show.
//!
//! *Guarantees.* Every step looks at what exists first. So it may run twice, at any time, or be killed
//! between any two calls: the next run does the rest. No decision depends on the order of events, or on
//! something that only the database has.
//!
//! *Assumption.* One run at a time for each repository, which the queue guarantees.

mod answers;
mod approvals;
mod binding;
mod campaigns;
mod carriers;
mod carrying_out;
mod checks;
mod clusters;
mod comments;
mod commits;
mod components;
mod dashboard;
mod deciding;
mod earlier;
mod elsewhere;
mod ended;
mod ending;
mod facts;
mod heads;
mod inline;
mod inputs;
mod kubeconfigs;
mod listening;
mod merging;
mod noting;
mod onboarding;
mod people;
mod planning;
mod proposals;
mod publish;
mod reporters;
mod request_subjects;
mod requests;
mod restores;
mod rights;
mod rollbacks;
mod run;
mod trees;

use std::sync::Arc;

use capstan_bot_core::campaigns::records;
use capstan_bot_core::checks::{tree_status, tree_status_without_settings};
use capstan_bot_core::commands::hearing::{orders_of, refuse_order};
use capstan_bot_core::commands::{heads_to_try, retargeted};
use capstan_bot_core::facts::{Refusals, TargetPlans, by_target, settings_file};
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::Wrote;
use capstan_bot_core::requests::{DashboardWrite, Ground, Request, RunDecisions};
use capstan_model::finding::FileError;
use capstan_plan::proposal::ProposalId;
use capstan_report::BlockKey;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use self::campaigns::tell_campaigns;
use self::checks::{Comparisons, Judging, is_reportable};
pub use self::checks::{SetUp, tell_failure};
use self::clusters::make_clusters;
use self::components::SuppliedComponents;
use self::elsewhere::consumers_to_notify;
pub use self::elsewhere::{Consumers, notify_consumers};
use self::ending::Ending;
pub use self::ending::Synced;
use self::facts::{Loaded, load};
use self::listening::while_listening;
use self::planning::{NotOpened, beyond_limits, candidates};
use self::rollbacks::find_rollbacks;
use self::run::Run;
use super::agents::Reconcilers;
use super::performing::Performer;
pub use super::performing::SyncError;
use super::wave_webhooks::WaveWebhooks;
use capstan_budget::{Priority, at_priority};
use capstan_fleet::components::Supplier;
use capstan_fleet::planner::{OpenFleet, Planner};
use capstan_ports::{Clock, CodeHost, Hints, Mirror, PageOrder, Records, Repository};

/// Everything a run needs from outside.
#[derive(Clone)]
pub struct Ports {
    /// GitHub.
    pub host: Arc<dyn CodeHost>,
    /// Git.
    pub mirror: Arc<dyn Mirror>,
    /// The database.
    pub records: Arc<dyn Records>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The generator.
    pub planner: Arc<dyn Planner>,
    /// Capstan's own key for the folded blocks.
    pub key: BlockKey,
    /// The reconcilers, where any can enrol.
    pub reconcilers: Option<Reconcilers>,
    /// Fetches components of providers that are in no repository, if that is allowed.
    pub components: Option<Supplier>,
    /// Asks webhooks whether a wave is healthy, if any may be asked.
    pub webhooks: Option<WaveWebhooks>,
}

impl Ports {
    /// The same for one job: its plans are cancelled when it ends.
    #[must_use]
    pub fn for_job(&self, ended: &CancellationToken) -> Self {
        let planner = self.planner.for_job(ended).unwrap_or_else(|| Arc::clone(&self.planner));
        Self { planner, ..self.clone() }
    }

    /// Performs effects on a repository.
    fn performer<'a>(&'a self, repository: &'a Repository, refusals: &'a Refusals) -> Performer<'a> {
        let outside = (self.host.as_ref(), self.records.as_ref(), self.clock.as_ref());
        Performer::new(outside, repository, refusals)
    }
}

/// What to do after a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Afterwards {
    /// Repositories that use this one's releases and were not notified of its newest commit.
    pub consumers: Option<Consumers>,
    /// When the repository changes without any event: a window opens, a soak ends, a plan that took too long
    /// may be repeated.
    pub look_again: Option<Timestamp>,
}

/// Brings a repository to the state it should have.
///
/// # Errors
/// GitHub, Git or the database failed; the run may be repeated at any time.
pub async fn sync_repository(
    ports: &Ports,
    repository: &Repository,
    hints: &Hints,
) -> Result<Synced, SyncError> {
    Ok(sync_and_consumers(ports, repository, hints).await?.0)
}

/// The same, with what to do afterwards.
///
/// # Errors
/// GitHub, Git or the database failed; the run may be repeated at any time.
pub async fn sync_and_consumers(
    ports: &Ports,
    repository: &Repository,
    hints: &Hints,
) -> Result<(Synced, Afterwards), SyncError> {
    let nothing = || Ok((Synced::Done, Afterwards::default()));
    if repository.archived {
        return nothing();
    }
    let began = ports.clock.now();
    let Loaded { facts, token, ending: loaded } = match load(ports, repository).await {
        Ok(Some(loaded)) => loaded,
        Ok(None) => return nothing(),
        Err(error) => {
            if is_reportable(&error) {
                tell_failure(ports, repository, SetUp::NotLooked, &error.to_string()).await;
            }
            return Err(error);
        }
    };
    let performer = ports.performer(repository, &facts.refusals);
    let run = Run { ports, hints, began, facts: &facts, token: &token, performer: &performer };
    // Of those that were noted before and of those that began in this run.
    let pauses_end = |ending: &Ending| ports.planner.pauses().into_iter().chain(ending.pause_ends).min();
    if settings_file(facts.base.tree.as_ref()).is_none() {
        // Without settings only the onboarding pull request is written.
        run.refuse_orders(&hints.orders, "the default branch has no settings").await?;
        let ending = run.onboarding().bring_up().await?;
        let afterwards = Afterwards { consumers: None, look_again: pauses_end(&ending) };
        return Ok((loaded.and(ending).synced(), afterwards));
    }
    let done = run.set_up().await;
    if let Err(error) = &done
        && is_reportable(error)
    {
        tell_failure(ports, repository, SetUp::Seen, &error.to_string()).await;
    }
    let (ending, mut afterwards) = done?;
    afterwards.look_again = [afterwards.look_again, pauses_end(&ending)].into_iter().flatten().min();
    Ok((loaded.and(ending).synced(), afterwards))
}

/// Gives the planner the decisions about a proposal.
fn give_to(decided: &RunDecisions, fleet: &mut dyn OpenFleet, proposal: &ProposalId) {
    let decisions = decided.of(proposal);
    fleet.set_versions(proposal, decisions.versions());
    fleet.ask_for(proposal, decisions.release);
    fleet.settle(proposal, decisions.settled);
}

impl Run<'_> {
    /// A run over a repository that has settings, valid or not.
    async fn set_up(self) -> Result<(Ending, Afterwards), SyncError> {
        let mut ending = Ending::default();
        ending.isolate(
            self.repository(),
            "closing the pull request that added settings",
            self.onboarding().end().await,
        )?;
        let opened = match &self.facts.beyond_limits {
            Some(problem) => Err(NotOpened::Settings(problem.clone())),
            None => self.planner().open(&self.facts.base.tree).await,
        };
        let (rest, afterwards) = match opened {
            Ok(fleet) => {
                let commands = fleet.settings().commands.clone();
                // A run's future is large: on the heap it is neither moved nor on the caller's stack.
                let work = Box::pin(self.with_settings(fleet));
                while_listening(self.inbox(), &commands, work).await?
            }
            Err(NotOpened::Settings(problem)) => {
                (self.without_settings(&problem, &self.hints.orders).await?, Afterwards::default())
            }
            Err(NotOpened::Failed(error)) => return Err(error),
        };
        Ok((ending.and(rest), afterwards))
    }

    async fn with_settings(self, fleet: Box<dyn OpenFleet>) -> Result<(Ending, Afterwards), SyncError> {
        let settings = fleet.settings().clone();
        let mut seen = Comparisons::with(SuppliedComponents::under(&settings));
        let mut ending = Ending::default();
        ending.isolate(self.repository(), "noting merges", self.ended_pulls().note().await)?;
        let (inbox, dashboard) = (self.inbox(), self.dashboard());
        let listed = inbox.unanswered_commands(&settings.commands, &mut ending);
        let mut commands = at_priority(Priority::Command, listed).await?;
        let (board, ticks) = dashboard.read(&settings, &mut ending).await?;
        commands.extend(ticks);
        commands.extend(inbox.pressed_buttons(&settings.commands).await?);
        let noted_in = board.issue.as_ref().map(|issue| issue.number);
        commands.extend(inbox.page_orders(&settings.commands, noted_in).await?);
        let consumers = consumers_to_notify((self.host(), self.records()), self.facts, &settings).await;
        let consumers =
            ending.isolate(self.repository(), "finding who uses its releases", consumers)?.flatten();
        let mut afterwards = Afterwards { consumers, look_again: None };
        let (mut fleet, elsewhere) = self.outside().supply(fleet).await?;
        let mut scopes = by_target(fleet.scopes());
        // The folder of a target that is still to be created may exist by now: then it counts.
        for scope in fleet.scopes_to_come() {
            scopes.entry(scope.target.clone()).or_insert(scope);
        }
        let bound = self.binder().bind_all(commands, &settings.commands, &scopes, (&mut ending, &mut seen));
        let commands = bound.await?;
        let mut hints = self.hints.clone();
        hints.heads.extend(heads_to_try(&commands));
        let asked = retargeted(&commands);
        let retargeted = self.facts.retargeted().into_iter().chain(asked.iter().cloned()).collect();
        for proposal in &retargeted {
            fleet.allow_retarget(proposal);
        }
        let reporters = self.reports().meet_reconcilers(&settings, &scopes, &mut ending).await?;
        fleet.know_names(reporters.names());
        let (fleet, clusters) = make_clusters(fleet, &commands, &settings).await?;
        let mut decided = RunDecisions::before(self.facts, &board.record, board.why_not());
        let ground = Ground { facts: self.facts, scopes: &scopes, settings: &settings };
        let rollbacks = find_rollbacks(self.heads(), &commands, ground).await?;
        decided.hear_releases(ground, &commands, &rollbacks);
        let (fleet, candidates) = candidates(fleet, &settings, &self.repository().name).await?;
        let plans = match self.plan(fleet, &commands, ground, (&mut decided, &mut seen.components)).await? {
            Ok(plans) => plans,
            Err(why) => {
                let orders = orders_of(&commands);
                return Ok((self.without_settings(&beyond_limits(why), orders).await?, afterwards));
            }
        };
        decided.hear_retargets(self.facts, &asked);

        let planned = PlannedRun {
            facts: self.facts,
            settings: &settings,
            scopes: &scopes,
            plans: &plans,
            retargeted: &retargeted,
            origin: elsewhere.as_ref().map(|elsewhere| &elsewhere.origin),
            reporters: &reporters,
            decided: &decided,
            clusters: &clusters,
            candidates: &candidates,
        };
        let mut later = Ending::default();
        let mut outcome = Box::pin(self.proposals().bring_up(planned, &mut later)).await?;
        // The next run tries again; the results of this one are kept.
        let told = tell_campaigns(self.performer, self.repository(), &outcome.campaigns).await;
        later.isolate(self.repository(), "reporting stopped campaigns", told)?;
        let answers = self.answers();
        let kept = dashboard.keep((planned, &outcome), &board, &commands, answers).await;
        let kept =
            later.isolate(self.repository(), "keeping the dashboard", kept)?.unwrap_or(DashboardWrite::Later);
        answers.answer_orders(planned, &commands, &outcome, &kept).await?;
        let open = match outcome.wrote {
            Wrote::PullRequests => &self.host().open_pull_requests(self.repository()).await?,
            Wrote::Nothing => &self.facts.open,
        };
        let plans_at_tip = Some(&plans);
        let judging =
            Judging { settings: &settings, scopes: &scopes, reporters: &reporters, plans: plans_at_tip };
        Box::pin(self.approvals().judge(planned, &commands, open, (&mut outcome, &mut later), &mut seen))
            .await?;
        let checks = Run { hints: &hints, ..self }.checks();
        let checked = Box::pin(checks.report(judging, open, &outcome, &mut seen)).await?;
        Box::pin(self.proposal_merges().merge(planned, &commands, (&mut outcome, &mut later))).await?;
        let answering = answers.answer_all(planned, &commands, &outcome, &kept);
        let answered = at_priority(Priority::Command, answering).await?;
        let answered = answered.and(self.checks().report_pressed(judging, open, &outcome, &mut seen).await?);
        self.performer.perform_all(records(planned, &outcome)).await?;
        let brought = self.owner_files().bring_up(planned).await;
        let brought = ending.isolate(self.repository(), "adding keys for owners to Git", brought)?;
        ending = brought.into_iter().fold(ending, Ending::and);
        ending.isolate(
            self.repository(),
            "reporting what cannot be planned",
            self.performer.perform(tree_status(&self.facts.base.commit, &plans)).await,
        )?;
        afterwards.look_again = outcome.campaigns.look_again;
        Ok((ending.and(later).and(checked).and(answered), afterwards))
    }

    /// Plans every target with the decisions, and once more if a decision depends on a plan. The inner error
    /// says why the repository as a whole exceeds the limits.
    async fn plan(
        self,
        mut fleet: Box<dyn OpenFleet>,
        commands: &[Request],
        ground: Ground<'_>,
        (decided, components): (&mut RunDecisions, &mut SuppliedComponents),
    ) -> Result<Result<TargetPlans, String>, SyncError> {
        for proposal in decided.all() {
            give_to(decided, fleet.as_mut(), proposal);
        }
        let (planned, mut fleet) = self.components().plan(fleet, components).await?;
        let Ok(plans) = &planned else { return Ok(planned) };
        let settled = decided.hear(ground, commands, plans);
        if settled.is_empty() {
            return Ok(planned);
        }
        for proposal in settled {
            give_to(decided, fleet.as_mut(), &proposal);
        }
        Ok(self.components().plan(fleet, components).await?.0)
    }

    /// Nothing is planned with invalid settings; pull requests say so, and one that corrects the settings is
    /// judged with its own.
    async fn without_settings(
        self,
        problem: &FileError,
        orders: impl IntoIterator<Item = &PageOrder> + Send,
    ) -> Result<Ending, SyncError> {
        tracing::warn!(repository = %self.repository().name, settings.error = %problem, "the base branch cannot be read, or its settings cannot");
        let mut ending = self.checks().report_without_settings(problem).await?;
        let told = self
            .performer
            .perform(tree_status_without_settings(&self.facts.base.commit, &problem.to_string()))
            .await;
        ending.isolate(self.repository(), "reporting what cannot be planned", told)?;
        self.refuse_orders(orders, &format!("nothing can be planned: {problem}")).await?;
        let told = self.dashboard().tell(&problem.to_string()).await;
        ending.isolate(self.repository(), "keeping the dashboard", told)?;
        Ok(ending)
    }

    /// Ends orders of the page with the reason why none is carried out.
    async fn refuse_orders(
        self,
        orders: impl IntoIterator<Item = &PageOrder> + Send,
        why: &str,
    ) -> Result<(), SyncError> {
        let refuse = |order| refuse_order(self.repository().id, order, why);
        self.performer.perform_all(orders.into_iter().flat_map(refuse).collect::<Vec<_>>()).await
    }
}
