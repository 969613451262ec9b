//! Branches: reading, creating and moving them.
//!
//! Read by hand: octocrab keeps the commit's id in an enumeration of kinds, of which an unknown one fails the whole list.

use async_trait::async_trait;
use capstan_model::tree::CommitId;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use capstan_ports::{BranchHead, Branches, CodeHostError, CreatedReference, MovedReference, Repository};

use super::access::Task;
use super::answer::cut;
use super::call::{CallerIdentity, GitHubCall};
use super::code_host::GitHub;
use super::graphql::MutationReply;
use super::transport::Transport;
use super::words;

#[derive(Deserialize)]
struct ReferencePayload {
    #[serde(rename = "ref")]
    name: String,
    object: TargetPayload,
}

#[derive(Deserialize)]
struct TargetPayload {
    sha: CommitId,
}

#[async_trait]
impl Branches for GitHub {
    async fn branch(&self, repository: &Repository, branch: &str) -> Result<Option<CommitId>, CodeHostError> {
        let doing = format!("reading branch {branch} of {}", repository.name);
        let identity = CallerIdentity::reading(repository);
        let call = GitHubCall::get(identity, "/repos/{owner}/{repo}/git/ref/{ref}", doing)
            .in_repository(repository, &["git", "ref", "heads", branch])
            .conditional();
        let found = self.transport.find::<ReferencePayload>(&call).await?;
        Ok(found.map(|found| found.object.sha))
    }

    async fn branches(
        &self,
        repository: &Repository,
        prefix: &str,
    ) -> Result<Vec<BranchHead>, CodeHostError> {
        let doing = format!("listing branches {prefix}* of {}", repository.name);
        let identity = CallerIdentity::reading(repository);
        let call = GitHubCall::get(identity, "/repos/{owner}/{repo}/git/matching-refs/{ref}", doing)
            .in_repository(repository, &["git", "matching-refs", "heads", prefix])
            .conditional();
        // The one list that GitHub does not page.
        let found: Vec<ReferencePayload> = self.transport.ask(&call).await?;
        Ok(found
            .into_iter()
            .filter_map(|found| {
                let branch = found.name.strip_prefix("refs/heads/")?.to_owned();
                branch.starts_with(prefix).then_some(BranchHead { branch, commit: found.object.sha })
            })
            .collect())
    }

    async fn create_branch(
        &self,
        repository: &Repository,
        branch: &str,
        commit: &CommitId,
    ) -> Result<CreatedReference, CodeHostError> {
        let look = async || {
            let there = self.branch(repository, branch).await?;
            Ok((there.as_ref() == Some(commit)).then_some(CreatedReference::Created))
        };
        self.transport.send_once(|| try_new_branch(&self.transport, repository, branch, commit), look).await
    }

    async fn move_branch(
        &self,
        repository: &Repository,
        branch: &str,
        before: &CommitId,
        after: &CommitId,
    ) -> Result<MovedReference, CodeHostError> {
        let doing = format!("moving branch {branch} of {}", repository.name);
        let answer = self
            .transport
            .mutate::<MutationReply>(
                CallerIdentity::doing(Task::Commit, repository),
                doing,
                "mutation($input: UpdateRefsInput!) { done: updateRefs(input: $input) { clientMutationId } }",
                json!({"input": {
                    "repositoryId": repository.node_id,
                    "refUpdates": [{
                        "name": format!("refs/heads/{branch}"),
                        "beforeOid": before.as_str(),
                        "afterOid": after.as_str(),
                        "force": true,
                    }],
                }}),
            )
            .await?;
        if answer.is_done() {
            return Ok(MovedReference::Moved);
        }
        // GitHub documents no codes for the reason: the present place of the branch shows it.
        let now = self.branch(repository, branch).await?;
        if now.as_ref() == Some(after) {
            return Ok(MovedReference::Moved);
        }
        if now.as_ref() != Some(before) {
            return Ok(MovedReference::Elsewhere);
        }
        let reasons: Vec<&str> = answer.errors.iter().map(|error| error.message.as_str()).collect();
        Ok(MovedReference::Refused(cut(&reasons.join("; "))))
    }
}

async fn try_new_branch(
    transport: &Transport,
    repository: &Repository,
    branch: &str,
    commit: &CommitId,
) -> Result<CreatedReference, CodeHostError> {
    let doing = format!("creating branch {branch} of {}", repository.name);
    let identity = CallerIdentity::doing(Task::Commit, repository);
    let call = GitHubCall::post(identity, "/repos/{owner}/{repo}/git/refs", doing)
        .in_repository(repository, &["git", "refs"])
        .body(json!({"ref": format!("refs/heads/{branch}"), "sha": commit.as_str()}));
    let answer = transport.send(&call).await?;
    let message = answer.message();
    match answer.status() {
        StatusCode::CREATED => Ok(CreatedReference::Created),
        StatusCode::FORBIDDEN => {
            tracing::warn!(github.branch = branch, reason = message, "GitHub refuses to create a branch");
            Ok(CreatedReference::Refused)
        }
        StatusCode::UNPROCESSABLE_ENTITY if words::reference_exists(&message) => Ok(CreatedReference::Exists),
        StatusCode::UNPROCESSABLE_ENTITY if words::breaks_a_rule(&message) => {
            tracing::warn!(github.branch = branch, reason = message, "a ruleset refuses to create a branch");
            Ok(CreatedReference::Refused)
        }
        _ => Err(answer.into_error()),
    }
}
