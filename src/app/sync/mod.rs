//! Brings one repository to the state it should have: proposals, checks, answers.
//!
//! *Expected flow.* Read what GitHub shows (pull requests and branches first, the base branch's tip
//! after them, so that a merge is never seen without its content) -> plan every cluster at that tip ->
//! decide each proposal -> publish within the limits -> report a check on every open pull request ->
//! answer commands -> remember.
//!
//! *Guarantees.* Every step looks at what exists first, so it may be run twice, at any time, or be
//! killed between any two calls: the next run does what is missing. Nothing is decided from the order
//! of events, and nothing that is needed stands in the database alone.
//!
//! *Assumption.* One run at a time for each repository: the queue sees to it.

mod answers;
mod checks;
mod elsewhere;
mod facts;
mod heads;
mod outcome;
mod proposals;
mod publish;
mod reconcilers;
mod trees;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use capstan_model::finding::FileError;
use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::tree::{RepoPath, Tree, TreeEntry};
use capstan_plan::proposal::{OutsideTarget, ProposalId, ReleasesOrigin, Scope};
use capstan_plan::settings::REPOSITORY_FILE;
use capstan_plan::upgrade::Upgrade;
use capstan_report::BlockKey;
use jiff::civil::Date;

use self::checks::Compared;
use self::elsewhere::Elsewhere;
pub use self::elsewhere::{Consumers, tell_consumers};
use self::facts::{GitHubFacts, load};
use self::outcome::{Outcome, Wrote};
use self::reconcilers::Met;
use super::agents::Reconcilers;
use super::planner::{OpenFleet, Planner};
use super::ports::{
    CampaignRecord, CampaignTarget, Clock, CodeHost, CodeHostError, Hints, Mirror, MirrorError, Records,
    RecordsError, Repository,
};

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
}

/// What a run could not do yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synced {
    /// All is as it should be.
    Done,
    /// GitHub is still computing, or somebody moved a branch meanwhile: look again soon.
    Again,
}

/// Why a run ended early. What it did stays; the next run goes on.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// GitHub.
    #[error(transparent)]
    Host(#[from] CodeHostError),
    /// Git.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// The database.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// A plan that wants to write outside its target.
    #[error(transparent)]
    Outside(#[from] OutsideTarget),
    /// The planner stopped in the middle: a fault of Capstan's.
    #[error("planning stopped in the middle: {0}")]
    Planning(#[from] tokio::task::JoinError),
}

impl SyncError {
    /// How long GitHub asked to wait.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Host(CodeHostError::RateLimited { retry_after, .. }) => Some(*retry_after),
            _ => None,
        }
    }

    /// A word of a closed set, for metrics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Host(CodeHostError::RateLimited { .. }) => "rate-limited",
            Self::Host(CodeHostError::Unreachable { .. }) => "github-unreachable",
            Self::Host(_) => "github",
            Self::Mirror(_) => "git",
            Self::Records(_) => "database",
            Self::Outside(_) | Self::Planning(_) => "planner",
        }
    }
}

/// The entry of `.capstan.yaml`.
fn settings_file(tree: &dyn Tree) -> Option<&TreeEntry> {
    tree.entry(&RepoPath::parse(REPOSITORY_FILE).ok()?)
}

/// One run over one repository.
struct Run<'a> {
    ports: &'a Ports,
    repository: &'a Repository,
    hints: &'a Hints,
    /// The day in UTC: what holds are judged by.
    today: Date,
    facts: GitHubFacts,
    /// The repository that holds the releases, where that is another one.
    elsewhere: Option<Elsewhere>,
    /// The same in the words of proposals.
    origin: Option<ReleasesOrigin>,
    /// Who has to be told of the new releases here.
    consumers: Option<Consumers>,
    /// Proposals that may edit names of templates in their cluster's overlay.
    retargeted: BTreeSet<ProposalId>,
    /// The reconcilers of this repository.
    met: Met,
    /// What a merge of the head that was looked at last would give: it is asked for once, not by each who
    /// wants to know.
    compared: Mutex<Option<Compared>>,
    /// What the run ends with unless something fails.
    end: Synced,
    /// What went wrong with one cluster or pull request alone: reported once the others are done.
    failure: Option<SyncError>,
}

/// The upgrades of all targets at the tip of the base branch, from each kind of source.
type Plans = BTreeMap<ProposalId, Result<Arc<Upgrade>, String>>;

/// Where each target of a snapshot may be written.
type Scopes = BTreeMap<Target, Scope>;

fn by_target(scopes: Vec<Scope>) -> Scopes {
    scopes.into_iter().map(|scope| (scope.target.clone(), scope)).collect()
}

fn clusters_of(scopes: &Scopes) -> impl Iterator<Item = &ClusterId> {
    scopes.keys().filter_map(Target::cluster)
}

/// Brings a repository to the state it should have.
///
/// # Errors
/// GitHub, Git or the database did not do their part; the run may be repeated at any time.
pub async fn sync_repository(
    ports: &Ports,
    repository: &Repository,
    hints: &Hints,
) -> Result<Synced, SyncError> {
    Ok(sync_and_hear(ports, repository, hints).await?.0)
}

/// The same, with who uses this repository's releases and has not heard of its newest commit.
///
/// # Errors
/// GitHub, Git or the database did not do their part; the run may be repeated at any time.
pub async fn sync_and_hear(
    ports: &Ports,
    repository: &Repository,
    hints: &Hints,
) -> Result<(Synced, Option<Consumers>), SyncError> {
    const NOTHING: (Synced, Option<Consumers>) = (Synced::Done, None);
    if repository.archived {
        return Ok(NOTHING);
    }
    let Some(facts) = load(ports, repository).await? else { return Ok(NOTHING) };
    if settings_file(facts.base.tree.as_ref()).is_none() {
        tracing::debug!(repository = %repository.name, "no .capstan.yaml on the default branch: nothing is written");
        return Ok(NOTHING);
    }
    let today = ports.clock.now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let mut run = Run {
        ports,
        repository,
        hints,
        today,
        facts,
        elsewhere: None,
        origin: None,
        consumers: None,
        retargeted: BTreeSet::new(),
        met: Met::default(),
        compared: Mutex::default(),
        end: Synced::Done,
        failure: None,
    };
    match ports.planner.open(run.facts.base.tree.clone(), today) {
        Ok(fleet) => run.with_settings(fleet).await?,
        Err(problem) => run.without_settings(&problem).await?,
    }
    match run.failure {
        Some(error) => Err(error),
        None => Ok((run.end, run.consumers)),
    }
}

impl Run<'_> {
    async fn with_settings(&mut self, mut fleet: Box<dyn OpenFleet>) -> Result<(), SyncError> {
        let settings = fleet.settings().clone();
        let commands = self.unanswered_commands(&settings.commands.prefix).await?;
        self.consumers = self.consumers_to_tell(&settings).await?;
        self.bring_releases(fleet.as_mut()).await?;
        for id in fleet.missing_contents() {
            if let Some(content) = self.old_release(&id).await? {
                fleet.provide_content(id, content);
            }
        }
        let scopes = by_target(fleet.scopes());
        let asked = self.retargeted(&commands, &scopes).await?;
        self.retargeted = self.retargeted_before().into_iter().chain(asked.iter().cloned()).collect();
        for proposal in &self.retargeted {
            fleet.allow_retarget(proposal);
        }
        self.meet_reconcilers(&settings, &scopes).await?;
        fleet.know_names(self.reported_names());
        let plans: Plans =
            tokio::task::spawn_blocking(move || fleet.plan_all().into_iter().collect()).await?;

        let outcome = self.bring_proposals_up(&settings, &scopes, &plans, &commands, &asked).await?;
        if outcome.wrote == Wrote::PullRequests {
            self.facts.open = self.ports.host.open_pull_requests(self.repository).await?;
        }
        self.report_checks(&settings, &scopes, &outcome).await?;
        self.answer_commands(&settings, &scopes, &plans, &commands, &outcome).await?;
        self.remember(&outcome).await
    }

    /// Nothing is planned under settings that nobody meant; pull requests say so, and one that
    /// corrects the settings is judged under its own.
    async fn without_settings(&mut self, problem: &FileError) -> Result<(), SyncError> {
        tracing::warn!(repository = %self.repository.name, settings.error = %problem, "the settings cannot be read");
        self.report_checks_without_settings(problem).await
    }

    async fn remember(&self, outcome: &Outcome) -> Result<(), SyncError> {
        let campaign = |(kind, source): (&SourceKind, &String)| {
            let own = outcome.proposals.iter().filter(|(proposal, _)| proposal.kind == *kind);
            let targets = own.map(|(proposal, state)| CampaignTarget {
                target: proposal.target.clone(),
                state: state.word.to_owned(),
                reason: state.why.clone(),
            });
            CampaignRecord { kind: kind.clone(), source: source.clone(), targets: targets.collect() }
        };
        let campaigns: Vec<CampaignRecord> = outcome.sources.iter().map(campaign).collect();
        Ok(self.ports.records.save_campaigns(self.repository.id, &campaigns).await?)
    }

    fn look_again(&mut self) {
        self.end = Synced::Again;
    }

    /// Whether GitHub knows nothing of a pull request any more that was listed when the run began: what cannot
    /// be done with it then is no failure.
    async fn is_gone(&self, number: u64) -> Result<bool, SyncError> {
        match self.ports.host.pull_request(self.repository, number).await {
            Ok(_) => Ok(false),
            Err(CodeHostError::NotFound { .. }) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}
