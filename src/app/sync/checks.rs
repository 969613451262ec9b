//! The check `capstan` on every open pull request, whoever opened it, and on what a merge queue tries.
//!
//! A report is keyed twice: by what it was made from (base tip, head, remarks), so that nothing is
//! computed again where nothing moved, and by what it says (its `external_id`), so that nothing is sent
//! again where nothing new is to be said, also when the database was lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capstan_domain::cluster::ClusterId;
use capstan_domain::finding::Finding;
use capstan_domain::policy::settings_finding;
use capstan_domain::proposal::Scope;
use capstan_domain::report::{
    self, CheckReport, Conclusion, Judged, JudgedCluster, MergeBasis, check, check_without_settings, digest,
    untouched,
};
use capstan_domain::settings::{REPOSITORY_FILE, RepositorySettings, SettingsError};
use capstan_domain::tree::{CommitId, Tree};

use super::answers::touched;
use super::proposals::{Outcome, Remarks};
use super::trees::differences;
use super::{Run, SyncError};
use crate::app::ports::{
    Annotation, AnnotationLevel, CheckConclusion, CheckRecord, CodeHostError, MirrorError, NewCheckRun,
    PullRequest, Snapshot,
};

const NAME: &str = "capstan";
/// Changes with what reports say, so that a newer Capstan reports again.
const EDITION: &str = "1";
/// How often GitHub is asked for a test merge before the job is put off.
const POLLS: u32 = 4;
const POLL_EVERY: Duration = Duration::from_millis(300);
/// Ends the `external_id` of a run with annotations: GitHub adds to them and never takes one away, so
/// such a run is not updated; a new one of the same name takes its place.
const ANNOTATED: &str = "-annotated";
const LATER: Duration = Duration::from_secs(5);
/// What the branches of GitHub's merge queue begin with: `gh-readonly-queue/main/pr-7-9d1f…`.
const QUEUE_PREFIX: &str = "gh-readonly-queue/";

/// What awaits a check: the head of a pull request, or of a merge group, which is the merge itself.
#[derive(Debug, Clone)]
struct Subject {
    head: CommitId,
    base_branch: String,
    /// The base as the pull request last saw it.
    seen_base: CommitId,
    /// The pull request; `None` for a merge group.
    pull: Option<u64>,
}

impl Subject {
    fn of(pull: &PullRequest) -> Self {
        Self {
            head: pull.head.clone(),
            base_branch: pull.base_branch.clone(),
            seen_base: pull.base.clone(),
            pull: Some(pull.number),
        }
    }
}

/// What a pull request is judged by.
struct Comparison {
    before: Arc<dyn Tree>,
    after: Arc<dyn Tree>,
    basis: MergeBasis,
}

impl Run<'_> {
    pub(super) async fn report_checks(
        &mut self,
        settings: &RepositorySettings,
        scopes: &BTreeMap<ClusterId, Scope>,
        outcome: &Outcome,
    ) -> Result<(), SyncError> {
        for subjects in self.subjects().await? {
            let result = self.check_head(&subjects, settings, scopes, outcome).await;
            self.alone(result)?;
        }
        Ok(())
    }

    pub(super) async fn report_checks_without_settings(
        &mut self,
        problem: &SettingsError,
    ) -> Result<(), SyncError> {
        for subjects in self.subjects().await? {
            for subject in subjects.iter().take(1) {
                let result = self.check_without_settings(subject, problem).await;
                self.alone(result)?;
            }
        }
        Ok(())
    }

    /// What awaits a check, by head: GitHub shows one check for a commit, however many pull requests
    /// have it as their head.
    async fn subjects(&self) -> Result<Vec<Vec<Subject>>, SyncError> {
        let mut subjects: Vec<Subject> = self.facts.open.iter().map(Subject::of).collect();
        subjects.sort_by_key(|subject| subject.pull);
        for group in self.ports.host.branches(self.repository, QUEUE_PREFIX).await? {
            let base = group.branch.strip_prefix(QUEUE_PREFIX).and_then(|name| name.rsplit_once('/'));
            let Some((base_branch, _)) = base else { continue };
            subjects.push(Subject {
                head: group.commit,
                base_branch: base_branch.to_owned(),
                seen_base: self.facts.base.commit.clone(),
                pull: None,
            });
        }
        let mut by_head: BTreeMap<String, Vec<Subject>> = BTreeMap::new();
        for subject in subjects {
            by_head.entry(subject.head.as_str().to_owned()).or_default().push(subject);
        }
        Ok(by_head.into_values().collect())
    }

    /// What goes wrong with one head alone is not its neighbours' trouble, nor that of commands: the run
    /// goes on, and fails at its end.
    fn alone(&mut self, result: Result<(), SyncError>) -> Result<(), SyncError> {
        match result {
            Err(
                error @ (SyncError::Host(CodeHostError::Unexpected { .. } | CodeHostError::NotFound { .. })
                | SyncError::Mirror(MirrorError::Fetch { .. })),
            ) => {
                tracing::warn!(repository = %self.repository.name, error = %error, "a head could not be checked");
                self.failure.get_or_insert(error);
                Ok(())
            }
            result => result,
        }
    }

    /// Reports on one commit the gravest of what is to be said of it: a second pull request of the same
    /// head, to a branch where it changes nothing, must not take a failure back.
    async fn check_head(
        &mut self,
        subjects: &[Subject],
        settings: &RepositorySettings,
        scopes: &BTreeMap<ClusterId, Scope>,
        outcome: &Outcome,
    ) -> Result<(), SyncError> {
        let Some(first) = subjects.first() else { return Ok(()) };
        let nothing = Remarks::default();
        let remarks = |subject: &Subject| {
            subject.pull.and_then(|number| outcome.remarks.get(&number)).unwrap_or(&nothing)
        };
        let base = &self.facts.base.commit;
        let keys: Vec<String> = subjects.iter().map(|one| inputs(base, one, remarks(one))).collect();
        let inputs = match keys.as_slice() {
            [only] => only.clone(),
            several => digest(&several.iter().map(String::as_str).collect::<Vec<_>>()),
        };
        if self.is_reported(first, &inputs).await? {
            return Ok(());
        }
        let mut gravest: Option<CheckReport> = None;
        for subject in subjects {
            let report = match self.judge(subject, settings, scopes, remarks(subject)).await {
                Ok(Some(report)) => report,
                Ok(None) => {
                    self.look_again(LATER);
                    return Ok(());
                }
                Err(
                    error @ (SyncError::Planning(_) | SyncError::Mirror(MirrorError::NoSuchCommit { .. })),
                ) => self.own_failure(subject, &error),
                Err(error) => return Err(error),
            };
            let graver = |so_far: &CheckReport| gravity(report.conclusion) > gravity(so_far.conclusion);
            if gravest.as_ref().is_none_or(graver) {
                gravest = Some(report);
            }
        }
        match gravest {
            Some(report) => self.report(first, &inputs, &report).await,
            None => Ok(()),
        }
    }

    async fn check_without_settings(
        &mut self,
        subject: &Subject,
        problem: &SettingsError,
    ) -> Result<(), SyncError> {
        let problems = [problem.to_string()];
        let remarks = Remarks { notes: problems.to_vec(), ..Remarks::default() };
        let inputs = inputs(&self.facts.base.commit, subject, &remarks);
        if self.is_reported(subject, &inputs).await? {
            return Ok(());
        }
        let Some(comparison) = self.comparison(subject).await? else {
            self.look_again(LATER);
            return Ok(());
        };
        let report = match self.ports.planner.open(comparison.after.clone(), self.today) {
            Err(_) => check_without_settings(&problems),
            Ok(fleet) => {
                let settings = fleet.settings().clone();
                let scopes = by_cluster(fleet.scopes());
                let note = format!(
                    "The settings on the base branch cannot be read ({problem}): this pull request was checked under its own."
                );
                let remarks = Remarks { notes: vec![note], ..Remarks::default() };
                self.judge_comparison(comparison, &settings, &scopes, &remarks).await?
            }
        };
        self.report(subject, &inputs, &report).await
    }

    /// Judges a head; `None` while GitHub computes its test merge.
    async fn judge(
        &self,
        pull: &Subject,
        settings: &RepositorySettings,
        scopes: &BTreeMap<ClusterId, Scope>,
        remarks: &Remarks,
    ) -> Result<Option<CheckReport>, SyncError> {
        let base = self.base_of(pull).await?;
        let head = self.required_snapshot(&pull.head).await?;
        let settings_file = |tree: &dyn Tree| {
            tree.entries().iter().find(|e| e.path.as_str() == REPOSITORY_FILE).map(|e| e.blob.clone())
        };
        // What the head changes against the tip is more than what a merge would change, never less.
        let there = self.scopes_with(scopes, &head, settings);
        let same_settings = settings_file(&*base.tree) == settings_file(&*head.tree);
        if same_settings
            && remarks.notes.is_empty()
            && remarks.blocked.is_empty()
            && touched(&*base.tree, &*head.tree, there.keys()).is_empty()
        {
            return Ok(Some(untouched()));
        }
        let Some(comparison) = self.comparison(pull).await? else { return Ok(None) };
        Ok(Some(self.judge_comparison(comparison, settings, &there, remarks).await?))
    }

    async fn judge_comparison(
        &self,
        comparison: Comparison,
        settings: &RepositorySettings,
        scopes: &BTreeMap<ClusterId, Scope>,
        remarks: &Remarks,
    ) -> Result<CheckReport, SyncError> {
        let clusters = touched(&*comparison.before, &*comparison.after, scopes.keys());
        let mut judged = Judged {
            basis: comparison.basis,
            notes: remarks.notes.clone(),
            blocked: remarks.blocked.clone(),
            ..Judged::default()
        };
        let changes_settings = differences(&*comparison.before, &*comparison.after)
            .iter()
            .any(|difference| difference.path.as_str() == REPOSITORY_FILE);
        let mut both = vec![settings.clone()];
        if changes_settings {
            match self.ports.planner.open(comparison.after.clone(), self.today) {
                Ok(fleet) => {
                    if fleet.settings() != settings {
                        both.push(fleet.settings().clone());
                    }
                    judged.notes.push(
                        "This pull request changes the settings: it was checked under those of the base branch and under its own.".to_owned(),
                    );
                }
                Err(problem) => judged.findings.push(settings_finding(&problem)),
            }
        }
        if clusters.is_empty() && !changes_settings && judged.notes.is_empty() && judged.blocked.is_empty() {
            return Ok(untouched());
        }
        let planner = self.ports.planner.clone();
        let today = self.today;
        let mut by_settings: Vec<Vec<JudgedCluster>> = tokio::task::spawn_blocking(move || {
            let one = |settings: &RepositorySettings| {
                planner.judge(comparison.before.clone(), comparison.after.clone(), settings, &clusters, today)
            };
            both.iter().map(one).collect()
        })
        .await?;
        judged.clusters = by_settings.remove(0);
        for more in by_settings {
            add_findings(&mut judged.clusters, more);
        }
        if let [only] = judged.clusters.as_mut_slice() {
            for finding in &remarks.findings {
                add_finding(&mut only.judgement.after, finding.clone());
            }
        }
        Ok(check(&judged))
    }

    /// What a merge would change: the head itself where it stands on the tip of its base, else GitHub's
    /// own test merge; in a conflict the head alone. `None` while GitHub computes.
    async fn comparison(&self, pull: &Subject) -> Result<Option<Comparison>, SyncError> {
        let base = self.base_of(pull).await?;
        let head = self.required_snapshot(&pull.head).await?;
        let Some(number) = pull.pull.filter(|_| !head.parents.contains(&base.commit)) else {
            return Ok(Some(Comparison { before: base.tree, after: head.tree, basis: MergeBasis::Merge }));
        };
        for poll in 0..POLLS {
            if poll > 0 {
                tokio::time::sleep(POLL_EVERY).await;
            }
            let now = self.ports.host.pull_request(self.repository, number).await?;
            // Another head's merge must never be taken for this one's.
            if now.head != pull.head {
                return Ok(None);
            }
            match (now.mergeable, &now.merge_commit) {
                (Some(true), Some(merge)) => {
                    let merged = self.required_snapshot(merge).await?;
                    if !merged.parents.contains(&pull.head) {
                        continue;
                    }
                    // A test merge is of the base as it was: each is compared with its own.
                    let before = match merged.parents.first() {
                        Some(parent) if *parent != base.commit => self.required_snapshot(parent).await?.tree,
                        _ => base.tree,
                    };
                    return Ok(Some(Comparison { before, after: merged.tree, basis: MergeBasis::Merge }));
                }
                (Some(false), _) => {
                    let before = match self.snapshot(&pull.seen_base).await? {
                        Some(seen) => seen.tree,
                        None => base.tree,
                    };
                    return Ok(Some(Comparison { before, after: head.tree, basis: MergeBasis::HeadAlone }));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The tip of the branch that a pull request aims at.
    async fn base_of(&self, pull: &Subject) -> Result<Snapshot, SyncError> {
        if pull.base_branch == self.repository.default_branch {
            return Ok(self.facts.base.clone());
        }
        let tip = self.ports.host.branch(self.repository, &pull.base_branch).await?;
        self.required_snapshot(tip.as_ref().unwrap_or(&pull.seen_base)).await
    }

    async fn required_snapshot(&self, commit: &CommitId) -> Result<Snapshot, SyncError> {
        self.snapshot(commit).await?.ok_or_else(|| {
            SyncError::Mirror(MirrorError::NoSuchCommit {
                url: self.repository.clone_url.clone(),
                commit: commit.clone(),
            })
        })
    }

    /// The clusters of the base branch, and those that a head adds.
    fn scopes_with(
        &self,
        scopes: &BTreeMap<ClusterId, Scope>,
        head: &Snapshot,
        settings: &RepositorySettings,
    ) -> BTreeMap<ClusterId, Scope> {
        let mut all = by_cluster(self.ports.planner.scopes(head.tree.clone(), settings));
        all.extend(scopes.iter().map(|(cluster, scope)| (cluster.clone(), scope.clone())));
        all
    }

    async fn is_reported(&self, pull: &Subject, inputs: &str) -> Result<bool, SyncError> {
        if self.hints.heads.iter().any(|head| head == pull.head.as_str()) {
            return Ok(false);
        }
        let record = self.ports.records.check(self.repository.id, &pull.head, NAME).await?;
        Ok(record.is_some_and(|record| record.content.split(':').next() == Some(inputs)))
    }

    async fn report(&self, pull: &Subject, inputs: &str, report: &CheckReport) -> Result<(), SyncError> {
        let (host, records) = (&self.ports.host, &self.ports.records);
        let mut output = digest(&[
            EDITION,
            &format!("{:?}", report.conclusion),
            &report.title,
            &report.summary,
            &format!("{:?}", report.annotations),
        ]);
        if !report.annotations.is_empty() {
            output.push_str(ANNOTATED);
        }
        let new = NewCheckRun {
            name: NAME.to_owned(),
            head: pull.head.clone(),
            conclusion: Some(conclusion(report.conclusion)),
            title: report.title.clone(),
            summary: report.summary.clone(),
            annotations: report.annotations.iter().map(annotation).collect(),
            external_id: output.clone(),
        };
        let known = records.check(self.repository.id, &pull.head, NAME).await?;
        let said_already =
            known.as_ref().is_some_and(|record| record.content.ends_with(&format!(":{output}")));
        let asked_again = self.hints.heads.iter().any(|head| head == pull.head.as_str());
        let id = match known {
            Some(record) if said_already && !asked_again => record.check_run,
            Some(record) if !record.content.ends_with(ANNOTATED) => {
                host.update_check_run(self.repository, record.check_run, &new).await?.id
            }
            Some(_) => host.create_check_run(self.repository, &new).await?.id,
            None => {
                let runs = host.check_runs(self.repository, &pull.head, NAME).await?;
                match runs.into_iter().max_by_key(|run| run.id) {
                    Some(run) if run.external_id == output && !asked_again => run.id,
                    Some(run) if !run.external_id.ends_with(ANNOTATED) => {
                        host.update_check_run(self.repository, run.id, &new).await?.id
                    }
                    _ => host.create_check_run(self.repository, &new).await?.id,
                }
            }
        };
        let record = CheckRecord {
            repository: self.repository.id,
            head: pull.head.clone(),
            name: NAME.to_owned(),
            check_run: id,
            content: format!("{inputs}:{output}"),
        };
        Ok(records.save_check(&record).await?)
    }

    fn own_failure(&self, pull: &Subject, error: &SyncError) -> CheckReport {
        let id = ulid::Ulid::generate().to_string();
        tracing::error!(repository = %self.repository.name, head = %pull.head, incident = %id, error = %error, "the pull request could not be judged");
        check(&Judged {
            failed: Some(format!(
                "Capstan could not judge this pull request; its log knows why under `{id}`."
            )),
            ..Judged::default()
        })
    }
}

fn by_cluster(scopes: Vec<Scope>) -> BTreeMap<ClusterId, Scope> {
    scopes.into_iter().map(|scope| (scope.cluster.clone(), scope)).collect()
}

/// What a report is made from, in a few letters.
fn inputs(base: &CommitId, pull: &Subject, remarks: &Remarks) -> String {
    let findings = format!("{:?}", remarks.findings);
    let notes = [remarks.notes.join("\n"), remarks.blocked.join("\n"), findings].join("\u{0}");
    digest(&[EDITION, base.as_str(), pull.head.as_str(), &pull.base_branch, &notes])
}

fn add_findings(clusters: &mut [JudgedCluster], more: Vec<JudgedCluster>) {
    for other in more {
        let Some(cluster) = clusters.iter_mut().find(|cluster| cluster.cluster == other.cluster) else {
            continue;
        };
        for finding in other.judgement.after {
            add_finding(&mut cluster.judgement.after, finding);
        }
    }
}

fn add_finding(findings: &mut Vec<Finding>, more: Finding) {
    let same = |finding: &Finding| {
        finding.rule == more.rule && finding.object == more.object && finding.path == more.path
    };
    if !findings.iter().any(same) {
        findings.push(more);
    }
}

const fn gravity(conclusion: Conclusion) -> u8 {
    match conclusion {
        Conclusion::Success => 0,
        Conclusion::ActionRequired => 1,
        Conclusion::Failure => 2,
    }
}

const fn conclusion(conclusion: Conclusion) -> CheckConclusion {
    match conclusion {
        Conclusion::Success => CheckConclusion::Success,
        Conclusion::Failure => CheckConclusion::Failure,
        Conclusion::ActionRequired => CheckConclusion::ActionRequired,
    }
}

fn annotation(annotation: &report::Annotation) -> Annotation {
    Annotation {
        path: annotation.path.clone(),
        line: annotation.line,
        column: annotation.column,
        level: match annotation.level {
            report::AnnotationLevel::Warning => AnnotationLevel::Warning,
            report::AnnotationLevel::Failure => AnnotationLevel::Failure,
        },
        title: annotation.title.clone(),
        message: annotation.message.clone(),
    }
}
