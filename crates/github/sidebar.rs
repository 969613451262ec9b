//! A pull request's sidebar: labels, assignees, and requested reviews.
//!
//! Read by hand: logins are all that is wanted, and octocrab's assignee fails with `gravatar_id: null`.

use async_trait::async_trait;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use capstan_ports::{CodeHostError, Repository, SidebarPart, Sidebars};

use super::access::Task;
use super::call::{CallerIdentity, GitHubCall};
use super::code_host::GitHub;
use super::pulls::UserPayload;

const LABELS: &str = "/repos/{owner}/{repo}/issues/{issue_number}/labels";
const ONE_LABEL: &str = "/repos/{owner}/{repo}/issues/{issue_number}/labels/{name}";
const ASSIGNEES: &str = "/repos/{owner}/{repo}/issues/{issue_number}/assignees";
const REVIEWERS: &str = "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers";

#[derive(Deserialize)]
struct Assigned {
    #[serde(default)]
    assignees: Vec<UserPayload>,
}

/// GitHub's names for a part: its route, path, items and task.
fn place(part: SidebarPart) -> (&'static str, [&'static str; 2], &'static str, Task) {
    match part {
        SidebarPart::Labels => (LABELS, ["issues", "labels"], "labels", Task::Propose),
        SidebarPart::Assignees => (ASSIGNEES, ["issues", "assignees"], "assignees", Task::Propose),
        SidebarPart::Reviewers => (REVIEWERS, ["pulls", "requested_reviewers"], "reviewers", Task::Propose),
        SidebarPart::TeamReviewers => {
            (REVIEWERS, ["pulls", "requested_reviewers"], "team_reviewers", Task::AskReview)
        }
    }
}

fn body(part: SidebarPart, field: &str, names: &[String]) -> Value {
    let mut body = json!({field: names});
    if part == SidebarPart::TeamReviewers {
        // GitHub wants the other list too, to take teams away.
        body["reviewers"] = json!([]);
    }
    body
}

#[async_trait]
impl Sidebars for GitHub {
    async fn add_to_sidebar(
        &self,
        repository: &Repository,
        number: u64,
        part: SidebarPart,
        names: &[String],
    ) -> Result<Vec<String>, CodeHostError> {
        let (route, [kind, list], field, task) = place(part);
        let doing = format!("adding {field} to pull request {number} of {}", repository.name);
        let call = GitHubCall::post(CallerIdentity::doing(task, repository), route, doing)
            .repeatable()
            .in_repository(repository, &[kind, &number.to_string(), list])
            .body(body(part, field, names));
        let answer = self.transport.send(&call).await?;
        if part != SidebarPart::Assignees {
            return answer.content::<IgnoredAny>().await.map(|_| Vec::new());
        }
        let now: Assigned = answer.content().await?;
        let is_assigned = |name: &str| now.assignees.iter().any(|user| user.login.eq_ignore_ascii_case(name));
        Ok(names.iter().filter(|name| !is_assigned(name)).cloned().collect())
    }

    async fn remove_from_sidebar(
        &self,
        repository: &Repository,
        number: u64,
        part: SidebarPart,
        names: &[String],
    ) -> Result<(), CodeHostError> {
        let (route, [kind, list], field, task) = place(part);
        let doing = format!("taking {field} from pull request {number} of {}", repository.name);
        let identity = CallerIdentity::doing(task, repository);
        let number = number.to_string();
        if part != SidebarPart::Labels {
            let call = GitHubCall::delete(identity, route, doing)
                .in_repository(repository, &[kind, &number, list])
                .body(body(part, field, names));
            return self.transport.find::<IgnoredAny>(&call).await.map(drop);
        }
        for name in names {
            // A name may contain slashes, which do not separate parts of a path.
            let path = ["repos", repository.name.owner(), repository.name.name(), kind, &number, list, name];
            let call = GitHubCall::delete(identity, ONE_LABEL, doing.clone()).path(&path);
            self.transport.find::<IgnoredAny>(&call).await?;
        }
        Ok(())
    }
}
