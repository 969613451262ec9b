//! The preflight worker: takes work from the bot. New commits are fetched at once, heads are tried as it asks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::follow::{CommitOpening, Followed, NotOpened, inventories, open_revision, short};
use capstan_model::finding::Severity;
use capstan_plan::templates::TemplateNames;
use capstan_reconciler::reconcile::Ports;
use capstan_reconciler::reconcile::ports::{
    FleetRecord, OpenSource, Preflight, PreflightAnswer, PreflightVerdict, SourceError, TrialFailed,
};
use capstan_reconciler::reconcile::preflight::{is_for_good, preflight};
use capstan_reconciler::reconcile::reason::Reason;
use capstan_reconciler::reconcile::resources::SourceSpec;
use capstan_reconciler::reconcile::revision::Unusable;

/// How long one question to the bot may stay open.
const PATIENCE: Duration = Duration::from_secs(50);
/// The pause after the bot did not answer.
const PAUSE: Duration = Duration::from_secs(10);
/// The pause before a question is taken up again that could not be answered yet.
const LATER: Duration = Duration::from_secs(1);
/// Heads that are tried at a time.
const HEADS: usize = 2;

/// What the preflight worker needs to know of the Fleet.
pub(super) struct PreflightWorker {
    pub(super) ports: Ports,
    pub(super) fleet: FleetRecord,
    pub(super) uid: String,
    pub(super) source: OpenSource,
    pub(super) followed: watch::Receiver<Followed>,
    pub(super) poke: Arc<Notify>,
}

impl PreflightWorker {
    /// Takes work from the bot until cancelled.
    pub(super) async fn run(self, stop: CancellationToken) {
        if !matches!(self.fleet.spec.source, SourceSpec::Bot { .. }) {
            return;
        }
        let worker = Arc::new(self);
        let places = Arc::new(Semaphore::new(HEADS));
        let mut after = None;
        while !stop.is_cancelled() {
            let work = tokio::select! {
                work = worker.source.bot.work(after.as_ref(), PATIENCE) => work,
                () = stop.cancelled() => return,
            };
            let work = match work {
                Ok(work) => work,
                Err(error) => {
                    tracing::warn!(fleet = %worker.fleet.key, %error, "the bot has no work to give");
                    metrics::counter!("capstan_reconciler_failures_total", "cause" => "bot").increment(1);
                    tokio::select! {
                        () = tokio::time::sleep(PAUSE) => {}
                        () = stop.cancelled() => {}
                    }
                    continue;
                }
            };
            if work.commit.is_some() && work.commit != after {
                after = work.commit;
                worker.poke.notify_one();
            }
            if let Some(standing) = &work.standing {
                worker.ports.cloud_preflight.keep_only(&worker.fleet.key, standing).await;
            }
            let mut tried = tokio::task::JoinSet::new();
            for question in work.preflights {
                let (worker, places) = (Arc::clone(&worker), Arc::clone(&places));
                tried.spawn(async move {
                    let _place = places.acquire().await;
                    worker.answer(&question).await
                });
            }
            // A question stays open until it is answered: asking again before would bring it twice.
            let mut later = false;
            while let Some(answered) = tried.join_next().await {
                later |= matches!(answered, Ok(QuestionOutcome::NotYet));
            }
            if later {
                tokio::select! {
                    () = tokio::time::sleep(LATER) => {}
                    () = stop.cancelled() => {}
                }
            }
        }
    }

    async fn answer(&self, question: &Preflight) -> QuestionOutcome {
        let started = tokio::time::Instant::now();
        let Some(answers) = self.try_head(question).await else { return QuestionOutcome::NotYet };
        // Who leads no more looks at what another one changes.
        if self.ports.check_leading("answering a preflight").await.is_err() {
            return QuestionOutcome::NotYet;
        }
        let took = started.elapsed();
        metrics::histogram!("capstan_preflight_duration_seconds").record(took.as_secs_f64());
        if let Err(error) = self.source.bot.answer(question, &answers, took).await {
            tracing::warn!(fleet = %self.fleet.key, commit = short(&question.commit), %error, "the bot refused the answer to a preflight");
        }
        QuestionOutcome::Sent
    }

    /// Tries a head. `None` where that is only not possible yet: this process has just begun, or the bot or
    /// the management cluster is away. An answer is for good, so the question stays open.
    async fn try_head(&self, question: &Preflight) -> Option<Vec<PreflightAnswer>> {
        let all = |kind: &'static str, message: String| -> Vec<PreflightAnswer> {
            let reason = Reason { severity: Severity::Warning, ..Reason::plain(kind, message) };
            let clusters = question.clusters.iter();
            clusters
                .map(|cluster| PreflightAnswer {
                    cluster: cluster.clone(),
                    verdict: PreflightVerdict::NotVerifiable,
                    reasons: vec![reason.clone()],
                    names: TemplateNames::default(),
                })
                .collect()
        };
        let followed = self.followed.borrow().clone();
        let base = match (followed.revision, followed.problem) {
            (Some(base), _) => base,
            (None, Some(problem)) if problem.in_commit => {
                return Some(all(
                    "NothingOpened",
                    format!(
                        "the default branch cannot be applied, so no head can be tried with its settings: {}",
                        problem.message
                    ),
                ));
            }
            (None, _) => return None,
        };
        let tree = match self.source.tree.at(&question.commit).await {
            Ok(tree) => tree,
            // The bot restarts, say: what it asked is still open when it is back.
            Err(SourceError::Away { .. }) => return None,
            Err(error) => return Some(all(error.kind(), error.to_string())),
        };
        let Ok(records) = self.ports.status_store.clusters(&self.fleet.key).await else { return None };
        let recorded = inventories(&records);
        let opening = CommitOpening { ports: &self.ports, fleet: &self.fleet, uid: &self.uid };
        match open_revision(&opening, &tree, recorded, Some(base)).await {
            Ok(head) => {
                let answers = preflight(&self.ports, &self.fleet, &head, question, &records).await;
                is_for_good(&answers).then_some(answers)
            }
            // Nothing is known of it yet.
            Err(NotOpened::Unusable(Unusable::Untried(
                TrialFailed::Killed(_) | TrialFailed::Unavailable(_),
            ))) => None,
            Err(NotOpened::Unusable(unusable)) => Some(all(unusable.reason(), unusable.to_string())),
            Err(NotOpened::Live(_)) => None,
            Err(NotOpened::Died(message)) => Some(all("InternalError", message)),
        }
    }
}

/// What became of a question.
enum QuestionOutcome {
    /// It was answered, as far as the bot took it.
    Sent,
    /// It stays open.
    NotYet,
}
