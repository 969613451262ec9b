//! The reconciler's words in those of the wire, within its bounds.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_live::agent::limits::{MACHINES, NAMES, OWNERS, POST_BYTES, REASONS};
use capstan_live::agent::{
    ClusterAnswer, Kubeconfig, KubeconfigFile, KubeconfigForm, KubeconfigPlace, KubeconfigRecipient, Machine,
    MachineAge, PreflightAnswer as WireAnswer, PreflightId, PreflightVerdict as WireVerdict, ReportId,
    RolloutReport, RolloutState, WireReason, Words,
};
use capstan_live::owners::OwnersForm;
use capstan_live::rollout::observed::{self, RolloutProgress, RolloutVerdict};
use capstan_live::services::SummaryState;
use capstan_model::finding::{Place, Severity};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::settings::{PublishedAt, RepositoryName};

use super::{AgentClient, AgentError};
use capstan_reconciler::reconcile::ports::{
    Bot, BotError, ClusterReport, NewAgent, OwnersFile, PendingWork, Preflight, PreflightAnswer,
    PreflightVerdict, ReportOutcome, SourceError, SourceTree, TreeSource,
};
use capstan_reconciler::reconcile::reason::Reason;
use capstan_reconciler::reconcile::resources::{ClusterPhase, KeyRecipient};

/// An agent for the rest of the reconciler: its source of trees, and its bot.
#[derive(Debug, Clone)]
pub struct BotSource(pub Arc<AgentClient>);

#[async_trait]
impl TreeSource for BotSource {
    async fn kept(&self) -> Result<Option<SourceTree>, SourceError> {
        let kept = self.0.kept().await.map_err(|error| self.source_error(error))?;
        Ok(kept.map(|kept| SourceTree { commit: kept.commit, tree: kept.tree }))
    }

    async fn fetch(&self) -> Result<SourceTree, SourceError> {
        let fetched = self.0.fetch().await.map_err(|error| self.source_error(error))?;
        Ok(SourceTree { commit: fetched.commit, tree: fetched.tree })
    }

    async fn keep(&self, commit: &CommitId) -> Result<(), SourceError> {
        self.0.keep(commit).await.map_err(|error| self.source_error(error))
    }

    async fn at(&self, commit: &CommitId) -> Result<SourceTree, SourceError> {
        let tree = self.0.at(commit).await.map_err(|error| self.source_error(error))?;
        Ok(SourceTree { commit: commit.clone(), tree })
    }

    /// The one long poll is [`Bot::work`]'s.
    async fn wait(&self, _after: Option<&CommitId>, patience: Duration) {
        tokio::time::sleep(patience).await;
    }
}

#[async_trait]
impl Bot for BotSource {
    async fn work(&self, after: Option<&CommitId>, patience: Duration) -> Result<PendingWork, BotError> {
        let work = self.0.work(after, patience).await.map_err(|error| self.bot_error(error))?;
        let questions = work.preflights.into_iter().map(|question| Preflight {
            id: question.id.to_string(),
            commit: question.commit,
            clusters: question.clusters,
        });
        let standing = work.standing.map(|all| all.iter().map(ToString::to_string).collect());
        Ok(PendingWork { commit: work.commit, preflights: questions.collect(), standing })
    }

    async fn answer(
        &self,
        preflight: &Preflight,
        answers: &[PreflightAnswer],
        took: Duration,
    ) -> Result<(), BotError> {
        let refused = |reason: String| BotError::Refused { url: self.0.url().to_string(), reason };
        let id = PreflightId::parse(&preflight.id).map_err(|error| refused(error.to_string()))?;
        self.0.answer(&id, &wire_answer(answers, took)).await.map_err(|error| self.bot_error(error))
    }

    async fn report(&self, report: &ClusterReport) -> Result<(), BotError> {
        let report = rollout_report(report, self.0.repository())
            .ok_or_else(|| BotError::Store("the report has no id".to_owned()))?;
        self.0.report(report).await.map_err(|error| self.bot_error(error))
    }

    async fn publish_key(&self, file: &OwnersFile) -> Result<(), BotError> {
        let content = STANDARD.encode(&file.content);
        let file = (&file.cluster, Some(KubeconfigFile { said: kubeconfig(file), content }));
        self.0.publish_kubeconfig(file).await.map_err(|error| self.bot_error(error))
    }

    async fn withdraw_key(&self, cluster: &ClusterId) -> Result<(), BotError> {
        self.0.publish_kubeconfig((cluster, None)).await.map_err(|error| self.bot_error(error))
    }

    async fn recorded_elsewhere(&self, cluster: &ClusterId) -> Result<Option<String>, BotError> {
        let record = self.0.record(cluster).await.map_err(|error| self.bot_error(error))?;
        Ok(record.elsewhere)
    }

    fn newly_enrolled(&self) -> Option<NewAgent> {
        let enrolment = self.0.take_unreported()?;
        Some(NewAgent {
            agent: enrolment.agent.to_string(),
            bot: self.0.url().to_string(),
            key: enrolment.public_key.fingerprint(),
        })
    }
}

impl BotSource {
    fn bot_error(&self, error: AgentError) -> BotError {
        let url = self.0.url().to_string();
        match error {
            AgentError::Away { reason, .. } => BotError::Away { url, reason },
            AgentError::Disk { .. } => BotError::Store(error.to_string()),
            AgentError::Refused { reason, .. } | AgentError::NotThere { reason, .. } => {
                BotError::Refused { url, reason }
            }
            AgentError::Forged { .. } | AgentError::Settings(_) => {
                BotError::Refused { url, reason: error.to_string() }
            }
        }
    }

    fn source_error(&self, error: AgentError) -> SourceError {
        let source_name = self.0.url().to_string();
        match error {
            AgentError::Settings(reason) => SourceError::Settings(reason),
            AgentError::Disk { .. } => SourceError::Disk(error.to_string()),
            AgentError::NotThere { reason, .. } => {
                SourceError::Missing { source_name, what: format!("such content for this agent. {reason}") }
            }
            AgentError::Away { reason, .. } | AgentError::Refused { reason, .. } => {
                SourceError::Away { source_name, reason }
            }
            AgentError::Forged { .. } => SourceError::Away { source_name, reason: error.to_string() },
        }
    }
}

fn reason(reason: &Reason) -> WireReason {
    WireReason {
        severity: reason.severity,
        kind: reason.kind.to_owned(),
        message: Words::new(&reason.message),
        object: reason.object.clone(),
        field: reason.field.as_ref().map(ToString::to_string),
        file: reason.place.as_ref().map(|place| place.file().clone()),
        line: reason.place.as_ref().and_then(Place::line),
        column: reason.place.as_ref().and_then(Place::column),
    }
}

/// The gravest first.
fn reasons(all: &[Reason], most: usize) -> Vec<WireReason> {
    let mut errors_first: Vec<&Reason> = all.iter().collect();
    errors_first.sort_by_key(|reason| std::cmp::Reverse(reason.severity));
    errors_first.into_iter().take(most).map(reason).collect()
}

/// As much as fits into one post. Names go first, with which a prediction is only more exact, then all but the
/// gravest reasons; never a verdict.
fn wire_answer(answers: &[PreflightAnswer], took: Duration) -> WireAnswer {
    let with = |most_reasons: usize, most_names: usize| WireAnswer {
        clusters: answers.iter().map(|answer| cluster_answer(answer, most_reasons, most_names)).collect(),
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    };
    let fits = |answer: &WireAnswer| {
        serde_json::to_vec(answer).is_ok_and(|written| written.len() + (16 << 10) <= POST_BYTES)
    };
    let shorter = [(REASONS, NAMES), (REASONS, 0), (3, 0), (1, 0)].into_iter();
    let mut each = shorter.map(|(reasons, names)| with(reasons, names));
    each.find(fits).unwrap_or_else(|| with(0, 0))
}

fn cluster_answer(answer: &PreflightAnswer, most_reasons: usize, most_names: usize) -> ClusterAnswer {
    ClusterAnswer {
        cluster: answer.cluster.clone(),
        verdict: match answer.verdict {
            PreflightVerdict::Accepted => WireVerdict::Accepted,
            PreflightVerdict::NotVerifiable => WireVerdict::NotVerifiable,
            PreflightVerdict::Rejected => WireVerdict::Rejected,
        },
        reasons: reasons(&answer.reasons, most_reasons),
        names: answer.names.templates().iter().take(most_names).cloned().collect(),
    }
}

/// A rollout is done once its machines are and what runs inside the cluster is ready.
fn state(report: &ClusterReport) -> RolloutState {
    let services = report.services.as_ref().map(|services| services.state);
    match (state_of_machines(report), services) {
        (RolloutState::Done | RolloutState::Rolling | RolloutState::Waiting, Some(SummaryState::Stuck))
            if report.outcome == ReportOutcome::Applied =>
        {
            RolloutState::Stuck
        }
        (RolloutState::Done, Some(SummaryState::Progressing | SummaryState::Unknown)) => {
            RolloutState::Rolling
        }
        (machines, _) => machines,
    }
}

/// Nothing is done before everything is applied: what is withheld has not even begun.
fn state_of_machines(report: &ClusterReport) -> RolloutState {
    match report.outcome {
        ReportOutcome::Refused => return RolloutState::Refused,
        ReportOutcome::Failed => return RolloutState::Stuck,
        ReportOutcome::Removed => return RolloutState::Done,
        ReportOutcome::Applied | ReportOutcome::Waiting => {}
    }
    let Some(verdict) = &report.verdict else { return RolloutState::Waiting };
    match verdict.state {
        RolloutProgress::Done if report.outcome == ReportOutcome::Waiting => RolloutState::Waiting,
        RolloutProgress::Done if report.phase == Some(ClusterPhase::Done) => RolloutState::Done,
        RolloutProgress::Done | RolloutProgress::Rolling => RolloutState::Rolling,
        RolloutProgress::Unknown => RolloutState::Unknown,
        RolloutProgress::Waiting => RolloutState::Waiting,
        RolloutProgress::Stuck => RolloutState::Stuck,
    }
}

/// The state of a cluster in the protocol's form, with a placeholder as its id; `None` only for an invalid
/// placeholder.
pub fn rollout_report(report: &ClusterReport, repository: &RepositoryName) -> Option<RolloutReport> {
    let verdict = report.verdict.as_ref();
    let counts = verdict.map(RolloutVerdict::counts).unwrap_or_default();
    let decisive = verdict.and_then(RolloutVerdict::decisive);
    let state = state(report);
    let says = |verdict: &RolloutVerdict| Words::new(&verdict.sentence());
    // A state without a machine count is reported in words only.
    let has_words = |verdict: &&RolloutVerdict| match verdict.state {
        RolloutProgress::Stuck | RolloutProgress::Waiting => true,
        RolloutProgress::Rolling => verdict.counts().wanted == 0,
        RolloutProgress::Done | RolloutProgress::Unknown => false,
    };
    let services = report.services.as_ref().filter(|services| services.state != SummaryState::Done);
    let machines_are_done = verdict.is_none_or(|verdict| verdict.state == RolloutProgress::Done);
    let of_services = services.filter(|_| machines_are_done).map(|services| Words::new(&services.words));
    let mut reasons = reasons(&report.refused, REASONS);
    if report.outcome == ReportOutcome::Waiting {
        // A temporary problem is not an error.
        reasons.iter_mut().for_each(|reason| reason.severity = Severity::Warning);
    }
    let (machines, machines_left_out) = machines(verdict);
    Some(RolloutReport {
        // The store gives it its own.
        id: ReportId::parse(&"0".repeat(26)).ok()?,
        repository: repository.clone(),
        cluster: report.cluster.clone(),
        attempted: report.attempted.clone(),
        applied: report.applied.clone(),
        state,
        observed_at: report.at,
        since: decisive.and_then(|owner| owner.since),
        words: verdict.filter(has_words).map(says).or(of_services),
        reasons,
        wanted: counts.wanted,
        ready: counts.up_to_date.min(counts.wanted),
        machines,
        machines_left_out,
        kubeconfig: report.owners_file.as_ref().map(kubeconfig),
        names: report.names.templates().iter().take(NAMES).cloned().collect(),
    })
}

/// What is said of a file for a cluster's owners.
fn kubeconfig(file: &OwnersFile) -> Kubeconfig {
    let recipient = |one: &KeyRecipient| KubeconfigRecipient {
        name: Words::new(&one.name),
        fingerprint: Words::new(&one.fingerprint),
    };
    Kubeconfig {
        form: match file.form {
            OwnersForm::Certificate | OwnersForm::Admin => KubeconfigForm::Age,
            OwnersForm::Login => KubeconfigForm::Plain,
        },
        sha256: file.sha256.clone(),
        recipients: file.recipients.iter().take(OWNERS).map(recipient).collect(),
        expires_at: file.expires_at,
        place: match file.publish {
            PublishedAt::Bot => KubeconfigPlace::Bot,
            PublishedAt::Git => KubeconfigPlace::Git,
        },
    }
}

/// Those that are yet to be replaced first.
fn machines(verdict: Option<&RolloutVerdict>) -> (Vec<Machine>, u32) {
    let all = verdict.map(|verdict| verdict.machines.as_slice()).unwrap_or_default();
    let mut old_first: Vec<&observed::MachineState> = all.iter().collect();
    old_first.sort_by_key(|machine| machine.age != observed::MachineAge::Old);
    let left_out = u32::try_from(all.len().saturating_sub(MACHINES)).unwrap_or(u32::MAX);
    let machine = |machine: &observed::MachineState| Machine {
        name: Words::new(&machine.name),
        owner: Words::new(&machine.owner.to_string()),
        state: Words::new(&machine.state),
        age: match machine.age {
            observed::MachineAge::New => MachineAge::New,
            observed::MachineAge::Old => MachineAge::Old,
        },
        created_at: machine.created_at,
    };
    (old_first.into_iter().take(MACHINES).map(machine).collect(), left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_live::rollout::observed::MachineState;
    use capstan_model::object::ObjectId;
    use capstan_model::tree::RepoPath;
    use capstan_plan::templates::TemplateNames;

    fn object(name: &str) -> ObjectId {
        ObjectId {
            group: "cluster.x-k8s.io".to_owned(),
            kind: "MachineDeployment".to_owned(),
            namespace: Some("org".to_owned()),
            name: name.to_owned(),
        }
    }

    fn machine(number: usize, age: observed::MachineAge) -> MachineState {
        MachineState {
            name: format!("md-{number}"),
            owner: object("md"),
            state: "Running".to_owned(),
            age,
            created_at: Some(jiff::Timestamp::UNIX_EPOCH),
            version: None,
            words: None,
        }
    }

    fn said(
        state: Option<RolloutProgress>,
        phase: Option<ClusterPhase>,
        outcome: ReportOutcome,
    ) -> ClusterReport {
        ClusterReport {
            cluster: ClusterId::new(RepoPath::parse("gauss/peu01").unwrap()),
            attempted: CommitId::parse(&"a".repeat(40)).unwrap(),
            applied: None,
            object: None,
            outcome,
            refused: vec![],
            phase,
            services: None,
            verdict: state.map(|state| RolloutVerdict { state, owners: vec![], machines: vec![] }),
            owners_file: None,
            names: TemplateNames::default(),
            at: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn nothing_is_done_before_everything_is_applied() {
        use ReportOutcome::{Applied, Failed, Refused, Removed, Waiting};
        for (report, wanted) in [
            (said(None, None, Applied), RolloutState::Waiting),
            (said(None, None, Removed), RolloutState::Done),
            (said(Some(RolloutProgress::Done), Some(ClusterPhase::Done), Applied), RolloutState::Done),
            (
                said(Some(RolloutProgress::Done), Some(ClusterPhase::ControlPlane), Applied),
                RolloutState::Rolling,
            ),
            (said(Some(RolloutProgress::Done), Some(ClusterPhase::Workers), Applied), RolloutState::Rolling),
            (said(Some(RolloutProgress::Stuck), Some(ClusterPhase::Workers), Applied), RolloutState::Stuck),
            (
                said(Some(RolloutProgress::Unknown), Some(ClusterPhase::Workers), Applied),
                RolloutState::Unknown,
            ),
            (said(Some(RolloutProgress::Done), Some(ClusterPhase::Done), Waiting), RolloutState::Waiting),
            (
                said(Some(RolloutProgress::Rolling), Some(ClusterPhase::Workers), Waiting),
                RolloutState::Rolling,
            ),
            (said(Some(RolloutProgress::Done), Some(ClusterPhase::Done), Refused), RolloutState::Refused),
            (said(Some(RolloutProgress::Done), Some(ClusterPhase::Done), Failed), RolloutState::Stuck),
        ] {
            assert_eq!(state(&report), wanted, "{report:?}");
        }
    }

    #[test]
    fn what_is_waited_for_is_said_in_words_and_what_rolls_by_its_machines() {
        let waits = observed::OwnerVerdict {
            object: object("md"),
            kind: observed::OwnerKind::Workers,
            state: RolloutProgress::Waiting,
            since: None,
            until: Some(jiff::Timestamp::UNIX_EPOCH),
            on: None,
            words: Some("rollout.after: its machines are replaced later".to_owned()),
            counts: observed::Counts::default(),
            ready: observed::Readiness::Ready,
        };
        let after = "rollout.after: its machines are replaced later";
        for (state, wanted, words) in [
            (RolloutProgress::Waiting, 3, Some(format!("waiting: {after}"))),
            (RolloutProgress::Stuck, 3, Some(format!("stuck, 0 of 3 machines up to date: {after}"))),
            (RolloutProgress::Rolling, 3, None),
            (RolloutProgress::Rolling, 0, Some(format!("rolling: {after}"))),
            (RolloutProgress::Done, 3, None),
        ] {
            let mut report = said(Some(state), Some(ClusterPhase::Done), ReportOutcome::Applied);
            let counts = observed::Counts { wanted, ..observed::Counts::default() };
            let owners = vec![observed::OwnerVerdict { state, counts, ..waits.clone() }];
            report.verdict = Some(RolloutVerdict { state, owners, machines: vec![] });
            let wire = rollout_report(&report, &RepositoryName::parse("acme/gitops").unwrap()).unwrap();
            let wanted = words.map(|words| format!("{}: {words}", object("md")));
            assert_eq!(wire.words.map(|words| words.to_string()), wanted);
        }
    }

    #[test]
    fn an_answer_about_many_clusters_fits_into_one_post_and_loses_no_verdict() {
        let answer = |number: usize| PreflightAnswer {
            cluster: ClusterId::new(RepoPath::parse(&format!("gauss/c{number}")).unwrap()),
            verdict: PreflightVerdict::Rejected,
            reasons: (0..30).map(|_| Reason::plain("Invalid", "x".repeat(600))).collect(),
            names: TemplateNames::default(),
        };
        let (few, many) = (vec![answer(0)], (0..500).map(answer).collect::<Vec<_>>());
        assert_eq!(wire_answer(&few, Duration::ZERO).clusters[0].reasons.len(), 20);
        let wire = wire_answer(&many, Duration::from_millis(1_200));
        assert_eq!((wire.clusters.len(), wire.clusters[499].reasons.len()), (500, 3));
        assert_eq!(wire.duration_ms, 1_200);
        assert!(serde_json::to_vec(&wire).unwrap().len() < POST_BYTES);
        assert!(wire.clusters.iter().all(|one| one.verdict == WireVerdict::Rejected));
    }

    #[test]
    fn a_report_stays_within_what_the_bot_takes() {
        let mut report =
            said(Some(RolloutProgress::Rolling), Some(ClusterPhase::Workers), ReportOutcome::Applied);
        report.refused = (0..50).map(|_| Reason::plain("X", "x".repeat(5_000))).collect();
        let mut machines: Vec<_> =
            (0..700).map(|number| machine(number, observed::MachineAge::New)).collect();
        machines.push(machine(900, observed::MachineAge::Old));
        report.verdict = Some(RolloutVerdict { state: RolloutProgress::Rolling, owners: vec![], machines });
        let wire = rollout_report(&report, &RepositoryName::parse("acme/gitops").unwrap()).unwrap();
        assert_eq!((wire.machines.len(), wire.machines_left_out), (500, 201));
        assert_eq!(wire.machines[0].name.as_str(), "md-900", "what is yet to be replaced comes first");
        assert_eq!((wire.reasons.len(), wire.reasons[0].message.as_str().chars().count()), (20, 512));
        let text = serde_json::to_string(&wire).unwrap();
        let read: RolloutReport = serde_json::from_str(&text).unwrap();
        assert_eq!(read, wire);
        // A reconciler of before says nothing of it.
        let told = r#","created_at":"1970-01-01T00:00:00Z""#;
        let older: RolloutReport = serde_json::from_str(&text.replace(told, "")).unwrap();
        assert_eq!(text.matches(told).count(), 500);
        assert!(older.machines.iter().all(|machine| machine.created_at.is_none()));
        assert_eq!(older.machines.len(), 500);
    }
}
