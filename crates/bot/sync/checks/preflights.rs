//! Preflights: the answers of live clusters about a merge, before it is made.

use std::sync::Arc;

use capstan_bot_core::checks::{
    AnsweredQuestion, CheckSubject, Comparison, LiveQuestion, PreflightNeed, Preflights, QuestionAnswers,
    QuestionFacts, QuestionNeed, TouchedClusters, ask, claimed, is_asked, live_inputs, preflights_in_words,
    tried,
};
use capstan_bot_core::effects::{CHECK, KeptReport};
use capstan_bot_core::facts::{Facts, Reporters, Scopes};
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::DecisionStep;
use capstan_bot_core::requests::Request;
use capstan_kustomize::render::Folders;
use capstan_live::agent::PreflightId;
use capstan_live::agent::preflight::{Preflight, PreflightReply};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::command::Push;
use capstan_plan::proposal::Scope;
use capstan_plan::settings::RepositorySettings;
use capstan_report::{Answer, MergeBasis, PreflightAnswered, Refusal, preflight_answer};
use jiff::SignedDuration;
use ulid::Ulid;

use super::super::SyncError;
use super::super::heads::Heads;
use super::super::people::People;
use super::super::planning::TreePlanner;
use super::Judging;
use super::comparing::{Comparisons, TestMerges};
use crate::agents::{Reconcilers, content};
use capstan_fleet::planner::{Planner, PlannerFailed};
use capstan_ports::{Clock, CodeHost, CodeHostError, Hints, PreflightRecord, PullRequest, Records};

/// Asks live clusters.
#[derive(Clone, Copy)]
pub(in super::super) struct LivePreflights<'a> {
    pub(in super::super) host: &'a dyn CodeHost,
    pub(in super::super) records: &'a dyn Records,
    pub(in super::super) clock: &'a dyn Clock,
    pub(in super::super) reconcilers: Option<&'a Reconcilers>,
    pub(in super::super) facts: &'a Facts,
    pub(in super::super) hints: &'a Hints,
    pub(in super::super) heads: Heads<'a>,
    pub(in super::super) planner: TreePlanner<'a>,
    pub(in super::super) merges: TestMerges<'a>,
}

impl LivePreflights<'_> {
    /// The live clusters' answers about the merge result of a head; asks them if they were not asked yet.
    /// `None` while GitHub computes its test merge.
    ///
    /// Heads of merge groups are handled as those of pull requests are. Reconcilers apply only the default
    /// branch, so they are not asked about changes of another one. They are not asked about a conflict
    /// either: there is no merge, and the head alone will never be applied.
    pub(super) async fn of_subjects(
        self,
        subjects: &[CheckSubject],
        open: &[PullRequest],
        judging: Judging<'_>,
        seen: &mut Comparisons,
    ) -> Result<Option<Preflights>, SyncError> {
        const NONE: Option<Preflights> = Some(Preflights::NONE);
        let Judging { settings, scopes, reporters, .. } = judging;
        let Some(Reconcilers { records, notifier }) = self.reconcilers else { return Ok(NONE) };
        if reporters.managed_by.is_empty() {
            return Ok(NONE);
        }
        let default_branch = &self.facts.repository.default_branch;
        let Some((subject, tried)) = tried(subjects, open, default_branch) else { return Ok(NONE) };
        let touched = self.touched_by_merge_of(subject, (settings, scopes), seen).await?;
        let Some((touched, merge)) = touched else {
            return Ok(None);
        };
        if touched.is_empty() {
            return Ok(NONE);
        }
        let claimed = claimed(self.planner.scopes_of(&merge.after, settings).await?, &touched, reporters);
        if claimed.is_empty() {
            return Ok(NONE);
        }
        // A test merge with an older tip: GitHub makes another one.
        let is_older = merge.basis == MergeBasis::Merge && merge.base != self.facts.base.commit;
        let mut preflights = Preflights { all: Vec::new(), is_settled: !is_older };
        let known = records.preflights_of_head(self.facts.repository.id, tried.head()).await?;
        for (uid, (name, scopes)) in claimed {
            let clusters: Vec<ClusterId> = scopes.keys().cloned().collect();
            let touched = TouchedClusters { name: &name, uid: &uid, clusters: &clusters };
            let asked = is_asked(reporters, touched, default_branch, merge.basis, settings.preflight.mode);
            let standing = match (asked, PreflightId::parse(&Ulid::generate().to_string())) {
                (PreflightNeed::Silently, _) => None,
                (PreflightNeed::No(why), _) => Some(PreflightReply::NotAsked(why)),
                (PreflightNeed::Yes, Err(_)) => Some(PreflightReply::Unanswered),
                (PreflightNeed::Yes, Ok(id)) => {
                    let tree = Arc::clone(&merge.after);
                    let folders: Vec<Folders> = scopes.values().map(Scope::folders).collect();
                    let made_of = move |planner: &dyn Planner| {
                        let made_of = planner.made_of(tree, &folders)?;
                        Ok::<_, PlannerFailed>(content(&folders.into_iter().zip(made_of).collect::<Vec<_>>()))
                    };
                    let content = self.planner.ask(made_of).await??;
                    let question = LiveQuestion {
                        id: &id,
                        repository: self.facts.repository.id,
                        tried,
                        commit: &merge.commit,
                        uid: &uid,
                        clusters: &clusters,
                        content: &content,
                        standing: &reporters.standing_of(&clusters),
                        timeout: SignedDuration::from_secs(i64::from(settings.preflight.timeout_seconds)),
                    };
                    let known = known.iter().find(|known| known.management_cluster.is(uid.as_str()));
                    let AnsweredQuestion { standing, is_settled, record } = self.ask(question, known).await?;
                    if let Some(record) = record {
                        records.save_preflight(&record).await?;
                        notifier.notify();
                    }
                    preflights.is_settled &= is_settled;
                    Some(standing)
                }
            };
            preflights.all.extend(standing.map(|standing| Preflight {
                management_cluster: name,
                clusters,
                standing,
            }));
        }
        Ok(Some(preflights))
    }

    /// The clusters that a merge of a head would change, including those that it adds, and their inputs after
    /// it. Changes of the default branch since the head was made do not count. `None` while GitHub computes
    /// its test merge.
    async fn touched_by_merge_of(
        self,
        pull: &CheckSubject,
        (settings, scopes): (&RepositorySettings, &Scopes),
        seen: &mut Comparisons,
    ) -> Result<Option<(Vec<ClusterId>, Comparison)>, SyncError> {
        let base = self.heads.commits.required_snapshot(&pull.base_tip).await?;
        let head = self.heads.commits.required_snapshot(&pull.head).await?;
        let there = self.planner.scopes_with(scopes, &head.tree, settings).await?;
        if self.planner.touched(&base.tree, &head.tree, &there).await?.is_empty() {
            let basis = MergeBasis::Merge;
            let commit = pull.head.clone();
            let (before, after) = (base.tree, head.tree);
            let nothing = Comparison { before, base: base.commit, after, commit, basis };
            return Ok(Some((Vec::new(), nothing)));
        }
        let Some(comparison) = self.merges.comparison(pull, seen).await? else { return Ok(None) };
        let clusters = self.planner.touched(&comparison.before, &comparison.after, &there).await?;
        Ok(Some((clusters, comparison)))
    }

    /// What the live clusters' part of a head's report depends on, besides base and head; `None` where that
    /// may change by itself.
    pub(super) async fn live_inputs(
        self,
        reporters: &Reporters,
        head: &CommitId,
    ) -> Result<Option<String>, SyncError> {
        let Some(Reconcilers { records, .. }) = self.reconcilers else {
            return Ok(Some(String::new()));
        };
        if reporters.managed_by.is_empty() {
            return Ok(Some(String::new()));
        }
        let known = records.preflights_of_head(self.facts.repository.id, head).await?;
        Ok(live_inputs(reporters, &known, self.clock.now()))
    }

    /// The answer to `preflight`: who is asked for which clusters, and why the others have nobody to ask.
    pub(in super::super) async fn answer(
        self,
        request: &Request,
        planned: PlannedRun<'_>,
    ) -> Result<Answer, SyncError> {
        let Some(pull) = &request.pull else {
            let text = "This is an issue: comment on a pull request.\n";
            return Ok(Answer::refused(Refusal::NothingThere, text));
        };
        let default_branch = &self.facts.repository.default_branch;
        let PlannedRun { settings, scopes, plans, reporters, .. } = planned;
        let subject = self.merges.subjects.subject(pull).await?;
        if subject.base_branch != *default_branch {
            return Ok(preflight_answer(&PreflightAnswered::OtherBranch { default_branch }));
        }
        let mut seen = Comparisons::default();
        let touched = self.touched_by_merge_of(&subject, (settings, scopes), &mut seen).await?;
        let Some((touched, _)) = touched else {
            return Ok(preflight_answer(&PreflightAnswered::NotYet));
        };
        let judging = Judging { settings, scopes, reporters, plans: Some(plans) };
        let asked = self.of_subjects(&[subject], &self.facts.open, judging, &mut seen).await?;
        let Some(asked) = asked else {
            return Ok(preflight_answer(&PreflightAnswered::NotYet));
        };
        Ok(preflights_in_words(&asked, touched, (reporters, scopes), settings.preflight.mode))
    }

    /// What becomes of a question to a live cluster.
    async fn ask(
        self,
        question: LiveQuestion<'_>,
        known: Option<&PreflightRecord>,
    ) -> Result<AnsweredQuestion, SyncError> {
        let head = question.tried.head();
        let own = self.host.bot_login().await?;
        let (is_asked_again, now) = (self.hints.wants_check(head), self.clock.now());
        let of = QuestionFacts { question, known, is_asked_again, own: &own, now };
        let mut answers = QuestionAnswers::default();
        loop {
            let need = match ask(of, &answers) {
                DecisionStep::Decided(answered) => return Ok(answered),
                DecisionStep::Ask(need) => need,
            };
            match need {
                QuestionNeed::UnderWay => {
                    let record = self.records.check(self.facts.repository.id, head, CHECK).await?;
                    let kept = record.map(|record| KeptReport::read(&record.content));
                    answers.under_way = Some(kept.is_some_and(|kept| kept.output.is_pending()));
                }
                QuestionNeed::Pushes(branch) => {
                    answers.pushes = Some(self.pushes(branch).await?);
                }
                QuestionNeed::Permission(actor) => {
                    let mut people = People::of(self.host, &self.facts.repository);
                    answers.permission = Some(people.permission(&actor).await?);
                }
            }
        }
    }

    /// Who pushed to a branch. An answer that makes no sense is an error and is asked for again: what is found here is
    /// remembered for the head.
    async fn pushes(self, branch: &str) -> Result<Option<Vec<Push>>, SyncError> {
        match self.host.pushes(&self.facts.repository, branch).await {
            Err(CodeHostError::NotFound { .. } | CodeHostError::Forbidden { .. }) => Ok(None),
            pushes => Ok(Some(pushes?)),
        }
    }
}
