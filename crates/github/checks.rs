//! Check runs.
//!
//! Read by hand: octocrab's have no `external_id`, by which Capstan knows its own.

use async_trait::async_trait;
use capstan_model::tree::CommitId;
use capstan_plan::verbs::{Button, Verb};
use capstan_report::{Annotation, AnnotationLevel, StatusState};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use capstan_ports::{
    ANNOTATIONS_PER_CALL, CheckConclusion, CheckRun, CheckState, Checks, CodeHostError, NewCheckRun,
    Repository, Statuses,
};

use super::access::Task;
use super::answer::cut_to;
use super::call::{CallEffect, CallerIdentity, GitHubCall};
use super::code_host::GitHub;
use super::transport::Paged;

/// GitHub shows so many buttons.
const BUTTONS: usize = 3;
/// GitHub's limits, in characters (of a message: in bytes, so the smaller number).
const SUMMARY_CHARACTERS: usize = 65_535;
const TITLE_CHARACTERS: usize = 255;
const MESSAGE_CHARACTERS: usize = 16_000;

/// octocrab's pages know no check runs.
#[derive(Deserialize)]
struct CheckPage<T> {
    check_runs: Vec<T>,
}

impl<T: DeserializeOwned> Paged for CheckPage<T> {
    type Item = T;

    fn items(self) -> Vec<T> {
        self.check_runs
    }
}

#[derive(Deserialize)]
struct CheckPayload {
    id: u64,
    name: String,
    external_id: Option<String>,
    conclusion: Option<String>,
    output: Option<OutputPayload>,
}

#[derive(Deserialize)]
struct VerdictPayload {
    name: String,
    conclusion: Option<String>,
}

impl VerdictPayload {
    /// What branch protection makes of it: <https://docs.github.com/en/pull-requests/collaborating-with-pull-requests/collaborating-on-repositories-with-code-quality-features/about-status-checks>
    fn verdict(&self) -> CheckState {
        match self.conclusion.as_deref() {
            None => CheckState::Pending,
            Some("success" | "neutral" | "skipped") => CheckState::Passed,
            Some(_) => CheckState::Failed,
        }
    }
}

#[derive(Deserialize)]
struct OutputPayload {
    annotations_count: Option<usize>,
}

impl CheckPayload {
    fn into_check_run(self) -> CheckRun {
        let conclusion = self.conclusion.map(|word| match word.as_str() {
            "success" => CheckConclusion::Success,
            "neutral" | "skipped" => CheckConclusion::Neutral,
            "action_required" => CheckConclusion::ActionRequired,
            _ => CheckConclusion::Failure,
        });
        CheckRun {
            id: self.id,
            name: self.name,
            external_id: self.external_id.unwrap_or_default(),
            conclusion,
            annotations: self.output.and_then(|output| output.annotations_count).unwrap_or(0),
        }
    }
}

fn annotation(annotation: &Annotation) -> Value {
    let mut value = json!({
        "path": annotation.path.as_str(),
        "start_line": annotation.line,
        "end_line": annotation.line,
        "annotation_level": match annotation.level {
            AnnotationLevel::Warning => "warning",
            AnnotationLevel::Failure => "failure",
        },
        "title": cut_to(&annotation.title, TITLE_CHARACTERS),
        "message": cut_to(&annotation.message, MESSAGE_CHARACTERS),
    });
    if let Some(column) = annotation.column {
        value["start_column"] = column.into();
        value["end_column"] = column.into();
    }
    value
}

/// A button: GitHub tells which was pressed by its identifier.
fn action(verb: Verb) -> Option<Value> {
    let Button { label, description } = verb.button()?;
    Some(json!({"label": label, "description": description, "identifier": verb.word()}))
}

fn output(check: &NewCheckRun, annotations: &[Annotation]) -> Value {
    json!({
        "title": cut_to(&check.title, TITLE_CHARACTERS),
        "summary": cut_to(&check.summary, SUMMARY_CHARACTERS),
        "annotations": annotations.iter().map(annotation).collect::<Vec<_>>(),
    })
}

/// A run with these annotations more.
#[derive(Clone, Copy)]
enum Body {
    /// More follow.
    Unfinished,
    /// They are the last.
    Whole,
}

fn body(check: &NewCheckRun, annotations: &[Annotation], body: Body) -> Value {
    let (conclusion, external_id) = match body {
        Body::Whole => (check.conclusion, &check.external_id),
        Body::Unfinished => (None, &check.unfinished_id),
    };
    let mut body = json!({
        "name": check.name,
        "external_id": external_id,
        "output": output(check, annotations),
        "actions": check.buttons.iter().filter_map(|verb| action(*verb)).take(BUTTONS).collect::<Vec<_>>(),
    });
    match conclusion {
        Some(conclusion) => {
            body["status"] = "completed".into();
            body["conclusion"] = conclusion.as_str().into();
        }
        None => body["status"] = "in_progress".into(),
    }
    body
}

/// What goes with the first call, and as what.
fn first_part(check: &NewCheckRun) -> (&[Annotation], Body) {
    match check.annotations.split_at_checked(ANNOTATIONS_PER_CALL) {
        Some((first, rest)) if !rest.is_empty() => (first, Body::Unfinished),
        _ => (&check.annotations, Body::Whole),
    }
}

/// Of checks of one name, several Apps may have made one: all of them must have passed.
fn worst(said: &[CheckState]) -> Option<CheckState> {
    [CheckState::Failed, CheckState::Pending, CheckState::Passed]
        .into_iter()
        .find(|verdict| said.contains(verdict))
}

#[async_trait]
impl Checks for GitHub {
    async fn check_runs(
        &self,
        repository: &Repository,
        head: &CommitId,
        name: &str,
    ) -> Result<Vec<CheckRun>, CodeHostError> {
        let found = self.list_check_payloads(repository, head, name).await?;
        Ok(found.into_iter().map(CheckPayload::into_check_run).filter(|check| check.name == name).collect())
    }

    async fn verdict(
        &self,
        repository: &Repository,
        commit: &CommitId,
        name: &str,
    ) -> Result<Option<CheckState>, CodeHostError> {
        let doing = format!("reading checks {name} on {commit} of {}", repository.name);
        let identity = CallerIdentity::reading(repository);
        let call = GitHubCall::get(identity, "/repos/{owner}/{repo}/commits/{ref}/check-runs", doing)
            .in_repository(repository, &["commits", commit.as_str(), "check-runs"])
            .query("check_name", name)
            .query("filter", "latest")
            .conditional();
        let found = self.transport.pages::<CheckPage<VerdictPayload>>(call).await?;
        let said: Vec<CheckState> =
            found.iter().filter(|run| run.name == name).map(VerdictPayload::verdict).collect();
        if let Some(verdict) = worst(&said) {
            return Ok(Some(verdict));
        }
        let status = self.commit_status(repository, commit, name).await?;
        Ok(status.map(|status| match status.state {
            StatusState::Pending => CheckState::Pending,
            StatusState::Success => CheckState::Passed,
            StatusState::Failure => CheckState::Failed,
        }))
    }

    async fn create_check_run(
        &self,
        repository: &Repository,
        check: &NewCheckRun,
    ) -> Result<CheckRun, CodeHostError> {
        let (first, part) = first_part(check);
        let mut body = body(check, first, part);
        body["head_sha"] = check.head.as_str().into();
        let look = async || self.made_check_run(repository, check, &body["external_id"]).await;
        let made = self.transport.send_once(|| self.try_check_run(repository, check, &body), look).await?;
        self.after_first(repository, made, check, first.len(), part).await
    }

    async fn update_check_run(
        &self,
        repository: &Repository,
        id: u64,
        check: &NewCheckRun,
    ) -> Result<CheckRun, CodeHostError> {
        let (first, part) = first_part(check);
        let made = self.change_check_run(repository, id, check, body(check, first, part)).await?;
        self.after_first(repository, made, check, first.len(), part).await
    }

    async fn write_above_check_run(
        &self,
        repository: &Repository,
        id: u64,
        line: &str,
    ) -> Result<(), CodeHostError> {
        const ROUTE: &str = "/repos/{owner}/{repo}/check-runs/{check_run_id}";
        #[derive(Deserialize)]
        struct CheckRunOutput {
            output: Output,
        }
        #[derive(Deserialize)]
        struct Output {
            title: Option<String>,
            summary: Option<String>,
        }
        let path = ["check-runs", &id.to_string()];
        let doing = format!("reading check run {id} of {}", repository.name);
        let call = GitHubCall::get(CallerIdentity::reading(repository), ROUTE, doing)
            .in_repository(repository, &path);
        let CheckRunOutput { output: Output { title, summary } } = self.transport.ask(&call).await?;
        let (title, summary) = (title.unwrap_or_default(), summary.unwrap_or_default());
        // Nothing is above what says nothing, and what was written there once need not be written again.
        if title.is_empty() || summary.starts_with(line) {
            return Ok(());
        }
        let summary = format!("{line}\n\n{summary}");
        let doing = format!("updating check run {id} of {}", repository.name);
        let call = GitHubCall::patch(CallerIdentity::doing(Task::Report, repository), ROUTE, doing)
            .in_repository(repository, &path)
            .body(json!({"output": {"title": title, "summary": cut_to(&summary, SUMMARY_CHARACTERS)}}));
        self.transport.ask::<IgnoredAny>(&call).await.map(drop)
    }

    async fn finish_check_run(
        &self,
        repository: &Repository,
        run: &CheckRun,
        check: &NewCheckRun,
    ) -> Result<CheckRun, CodeHostError> {
        self.send_rest_of_check_run(repository, run.id, run.annotations, check).await
    }
}

impl GitHub {
    async fn list_check_payloads(
        &self,
        repository: &Repository,
        head: &CommitId,
        name: &str,
    ) -> Result<Vec<CheckPayload>, CodeHostError> {
        let doing = format!("listing checks {name} on {head} of {}", repository.name);
        let identity = CallerIdentity::reading(repository);
        let call = GitHubCall::get(identity, "/repos/{owner}/{repo}/commits/{ref}/check-runs", doing)
            .in_repository(repository, &["commits", head.as_str(), "check-runs"])
            .query("check_name", name)
            .query("app_id", self.app_id.to_string())
            .conditional();
        self.transport.pages::<CheckPage<CheckPayload>>(call).await
    }

    /// The newest check run of that name and content on the head.
    async fn made_check_run(
        &self,
        repository: &Repository,
        check: &NewCheckRun,
        external_id: &Value,
    ) -> Result<Option<CheckPayload>, CodeHostError> {
        let found = self.list_check_payloads(repository, &check.head, &check.name).await?;
        let own = found
            .into_iter()
            .filter(|known| known.name == check.name && known.external_id.as_deref() == external_id.as_str());
        Ok(own.max_by_key(|known| known.id))
    }

    async fn try_check_run(
        &self,
        repository: &Repository,
        check: &NewCheckRun,
        body: &Value,
    ) -> Result<CheckPayload, CodeHostError> {
        let doing = format!("reporting check {} on {} of {}", check.name, check.head, repository.name);
        let identity = CallerIdentity::doing(Task::Report, repository);
        let call = GitHubCall::post(identity, "/repos/{owner}/{repo}/check-runs", doing)
            .in_repository(repository, &["check-runs"])
            .body(body.clone());
        self.transport.ask(&call).await
    }

    async fn after_first(
        &self,
        repository: &Repository,
        made: CheckPayload,
        check: &NewCheckRun,
        sent: usize,
        part: Body,
    ) -> Result<CheckRun, CodeHostError> {
        match part {
            Body::Whole => Ok(made.into_check_run()),
            Body::Unfinished => self.send_rest_of_check_run(repository, made.id, sent, check).await,
        }
    }

    /// Adds what comes after the first `sent` annotations; the last call concludes the run, so that a run with a
    /// conclusion has all of them.
    pub(super) async fn send_rest_of_check_run(
        &self,
        repository: &Repository,
        id: u64,
        sent: usize,
        check: &NewCheckRun,
    ) -> Result<CheckRun, CodeHostError> {
        let mut rest = check.annotations.get(sent..).unwrap_or_default();
        loop {
            let (some, more) = rest.split_at(rest.len().min(ANNOTATIONS_PER_CALL));
            let part = if more.is_empty() { Body::Whole } else { Body::Unfinished };
            let made = self.change_check_run(repository, id, check, body(check, some, part)).await?;
            if more.is_empty() {
                return Ok(made.into_check_run());
            }
            rest = more;
        }
    }

    async fn change_check_run(
        &self,
        repository: &Repository,
        id: u64,
        check: &NewCheckRun,
        body: Value,
    ) -> Result<CheckPayload, CodeHostError> {
        let doing = format!("updating check {} on {} of {}", check.name, check.head, repository.name);
        let identity = CallerIdentity::doing(Task::Report, repository);
        let mut call = GitHubCall::patch(identity, "/repos/{owner}/{repo}/check-runs/{check_run_id}", doing);
        // GitHub adds annotations to the existing ones: the next run counts them, and continues.
        if body["output"]["annotations"].as_array().is_some_and(|annotations| !annotations.is_empty()) {
            call.terms.effect = CallEffect::Writes;
        }
        let call = call.in_repository(repository, &["check-runs", &id.to_string()]).body(body);
        self.transport.ask(&call).await
    }
}
