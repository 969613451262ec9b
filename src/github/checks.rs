//! Check runs.

use capstan_model::tree::CommitId;
use capstan_report::{Annotation, AnnotationLevel};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::ports::{CheckConclusion, CheckRun, CodeHostError, NewCheckRun, Repository};

use super::access::Task;
use super::answer::cut_to;
use super::call::{Call, Identity};
use super::transport::GitHub;

/// GitHub takes this many annotations a call; further ones are added by updates.
const ANNOTATIONS_PER_CALL: usize = 50;
/// What GitHub takes, in characters (of a message: in bytes, hence the smaller number).
const SUMMARY_CHARACTERS: usize = 65_535;
const TITLE_CHARACTERS: usize = 255;
const MESSAGE_CHARACTERS: usize = 16_000;

#[derive(Deserialize)]
struct CheckPage {
    check_runs: Vec<CheckPayload>,
}

#[derive(Deserialize)]
struct CheckPayload {
    id: u64,
    name: String,
    external_id: Option<String>,
    conclusion: Option<String>,
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
        }
    }
}

fn word(conclusion: CheckConclusion) -> &'static str {
    match conclusion {
        CheckConclusion::Success => "success",
        CheckConclusion::Neutral => "neutral",
        CheckConclusion::Failure => "failure",
        CheckConclusion::ActionRequired => "action_required",
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

fn output(check: &NewCheckRun, annotations: &[Annotation]) -> Value {
    json!({
        "title": cut_to(&check.title, TITLE_CHARACTERS),
        "summary": cut_to(&check.summary, SUMMARY_CHARACTERS),
        "annotations": annotations.iter().map(annotation).collect::<Vec<_>>(),
    })
}

/// Everything but the annotations of later calls.
fn body(check: &NewCheckRun, annotations: &[Annotation]) -> Value {
    let mut body = json!({
        "name": check.name,
        "external_id": check.external_id,
        "output": output(check, annotations),
    });
    match check.conclusion {
        Some(conclusion) => {
            body["status"] = "completed".into();
            body["conclusion"] = word(conclusion).into();
        }
        None => body["status"] = "in_progress".into(),
    }
    body
}

impl GitHub {
    pub(super) async fn list_check_runs(
        &self,
        repository: &Repository,
        head: &CommitId,
        name: &str,
    ) -> Result<Vec<CheckRun>, CodeHostError> {
        let doing = format!("listing checks {name} on {head} of {}", repository.name);
        let identity = Identity::reading(repository);
        let call = Call::get(identity, "/repos/{owner}/{repo}/commits/{ref}/check-runs", doing)
            .in_repository(repository, &["commits", head.as_str(), "check-runs"])
            .query("check_name", name)
            .query("app_id", self.credentials.app_id().to_string())
            .conditional();
        let found = self.pages(call, |page: CheckPage| page.check_runs).await?;
        Ok(found.into_iter().map(CheckPayload::into_check_run).filter(|check| check.name == name).collect())
    }

    pub(super) async fn write_check_run(
        &self,
        repository: &Repository,
        check: &NewCheckRun,
    ) -> Result<CheckRun, CodeHostError> {
        let (first, rest) = check.annotations.split_at(check.annotations.len().min(ANNOTATIONS_PER_CALL));
        let mut body = body(check, first);
        body["head_sha"] = check.head.as_str().into();
        let doing = format!("reporting check {} on {} of {}", check.name, check.head, repository.name);
        let identity = Identity::doing(Task::Report, repository);
        let call = Call::post(identity, "/repos/{owner}/{repo}/check-runs", doing)
            .in_repository(repository, &["check-runs"])
            .body(body);
        let made: CheckPayload = self.send(&call).await?.content()?;
        self.add_annotations(repository, made.id, check, rest).await?;
        Ok(made.into_check_run())
    }

    pub(super) async fn write_check_run_again(
        &self,
        repository: &Repository,
        id: u64,
        check: &NewCheckRun,
    ) -> Result<CheckRun, CodeHostError> {
        let (first, rest) = check.annotations.split_at(check.annotations.len().min(ANNOTATIONS_PER_CALL));
        let made: CheckPayload = self.change_check_run(repository, id, check, body(check, first)).await?;
        self.add_annotations(repository, id, check, rest).await?;
        Ok(made.into_check_run())
    }

    async fn add_annotations(
        &self,
        repository: &Repository,
        id: u64,
        check: &NewCheckRun,
        annotations: &[Annotation],
    ) -> Result<(), CodeHostError> {
        for some in annotations.chunks(ANNOTATIONS_PER_CALL) {
            let _made =
                self.change_check_run(repository, id, check, json!({"output": output(check, some)})).await?;
        }
        Ok(())
    }

    async fn change_check_run(
        &self,
        repository: &Repository,
        id: u64,
        check: &NewCheckRun,
        body: Value,
    ) -> Result<CheckPayload, CodeHostError> {
        let doing = format!("updating check {} on {} of {}", check.name, check.head, repository.name);
        let identity = Identity::doing(Task::Report, repository);
        let call = Call::patch(identity, "/repos/{owner}/{repo}/check-runs/{check_run_id}", doing)
            .in_repository(repository, &["check-runs", &id.to_string()])
            .body(body);
        self.send(&call).await?.content()
    }
}
