//! Merging: what reviewers say, what GitHub says of a merge, and merging by call, by queue and by itself.
//!
//! Read by hand: octocrab has no models of GraphQL's answers.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{
    By, Draft, MergeStatus, MergeView, Opinion, Queue, Required, RequiredState, Review, Undo,
};
use capstan_plan::settings::MergeMethod;
use http::StatusCode;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::access::Task;
use super::answer::cut;
use super::call::{CallerIdentity, GitHubCall};
use super::code_host::GitHub;
use super::graphql::{GraphQlError, MutationReply, OfNode, missing_node};
use capstan_ports::{
    CodeHostError, Installations, MergeAnswer, MergeCall, MergeQueueState, Merging, PullRequest,
    PullRequestState, PullRequests, Repository, ReviewDecision,
};

/// Pull requests whose reviews one call reads, with a hundred reviewers each.
const PULLS: usize = 50;

const REVIEWS: &str = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on PullRequest { number \
    latestOpinionatedReviews(first: 100) { nodes { \
        author { __typename login } state submittedAt commit { oid } } } } } }";

/// <https://docs.github.com/en/graphql/reference/objects#pullrequest>
const VIEW: &str = "query($id: ID!) { node(id: $id) { ... on PullRequest { \
    headRefOid isDraft mergeStateStatus reviewDecision isMergeQueueEnabled \
    mergeQueueEntry { enqueuer { __typename login } } \
    autoMergeRequest { enabledBy { __typename login } } \
    baseRepository { mergeCommitAllowed squashMergeAllowed rebaseMergeAllowed autoMergeAllowed } \
    commits(last: 1) { nodes { commit { statusCheckRollup { contexts(first: 100) { nodes { \
        ... on CheckRun { name conclusion isRequired(pullRequestId: $id) } \
        ... on StatusContext { context state isRequired(pullRequestId: $id) } } } } } } } } } }";

#[derive(Deserialize)]
struct Nodes<T> {
    nodes: Vec<Option<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reviewed {
    number: u64,
    latest_opinionated_reviews: Option<Nodes<ReviewPayload>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewPayload {
    author: Option<ActorPayload>,
    state: String,
    submitted_at: Option<jiff::Timestamp>,
    commit: Option<CommitPayload>,
}

#[derive(Deserialize)]
struct CommitPayload {
    oid: CommitId,
}

#[derive(Deserialize)]
struct ActorPayload {
    #[serde(rename = "__typename")]
    kind: String,
    login: String,
}

impl ReviewPayload {
    /// A person's review that counts.
    fn into_review(self) -> Option<Review> {
        let author = self.author.filter(|author| author.kind != "Bot")?;
        let opinion = match self.state.as_str() {
            "APPROVED" => Opinion::Approved,
            "CHANGES_REQUESTED" => Opinion::ChangesRequested,
            _ => return None,
        };
        Some(Review { by: author.login, at: self.submitted_at?, opinion, commit: self.commit?.oid })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ViewPayload {
    head_ref_oid: CommitId,
    is_draft: bool,
    merge_state_status: String,
    review_decision: Option<String>,
    is_merge_queue_enabled: Option<bool>,
    merge_queue_entry: Option<EntryPayload>,
    auto_merge_request: Option<AutoMergePayload>,
    base_repository: Option<AllowedPayload>,
    commits: Nodes<HeadPayload>,
}

#[derive(Deserialize)]
struct EntryPayload {
    enqueuer: Option<ActorPayload>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AutoMergePayload {
    enabled_by: Option<ActorPayload>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AllowedPayload {
    merge_commit_allowed: bool,
    squash_merge_allowed: bool,
    rebase_merge_allowed: bool,
    auto_merge_allowed: bool,
}

#[derive(Deserialize)]
struct HeadPayload {
    commit: HeadCommitPayload,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadCommitPayload {
    status_check_rollup: Option<RollupPayload>,
}

#[derive(Deserialize)]
struct RollupPayload {
    contexts: Nodes<ContextPayload>,
}

/// A check run, or a commit status.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContextPayload {
    name: Option<String>,
    conclusion: Option<String>,
    context: Option<String>,
    state: Option<String>,
    is_required: Option<bool>,
}

impl ContextPayload {
    fn into_required(self) -> Option<Required> {
        if self.is_required != Some(true) {
            return None;
        }
        let state = match (self.conclusion.as_deref(), self.state.as_deref()) {
            (Some("SUCCESS" | "NEUTRAL" | "SKIPPED"), _) | (None, Some("SUCCESS")) => RequiredState::Passed,
            (None, None | Some("PENDING" | "EXPECTED")) => RequiredState::Pending,
            _ => RequiredState::Failed,
        };
        Some(Required { name: self.name.or(self.context)?, state })
    }
}

impl ViewPayload {
    fn into_view(self, own: &str) -> MergeView {
        // GraphQL names a bot without the suffix that REST adds.
        let by = |actor: Option<ActorPayload>| match actor {
            Some(actor) if actor.kind == "Bot" && own.trim_end_matches("[bot]") == actor.login => By::Capstan,
            Some(actor) => By::Other(actor.login),
            None => By::Other("ghost".to_owned()),
        };
        let queue = match (self.merge_queue_entry, self.is_merge_queue_enabled) {
            (Some(entry), _) => Queue::Entered(by(entry.enqueuer)),
            (None, Some(true)) => Queue::Outside,
            (None, _) => Queue::None,
        };
        let allowed = self.base_repository.as_ref();
        let allows = |method: &MergeMethod| {
            allowed.is_some_and(|allowed| match method {
                MergeMethod::Merge => allowed.merge_commit_allowed,
                MergeMethod::Squash => allowed.squash_merge_allowed,
                MergeMethod::Rebase => allowed.rebase_merge_allowed,
            })
        };
        let rollup = self.commits.nodes.into_iter().flatten().next_back();
        let contexts =
            rollup.and_then(|head| head.commit.status_check_rollup).map(|rollup| rollup.contexts.nodes);
        MergeView {
            head: self.head_ref_oid,
            draft: if self.is_draft { Draft::Draft } else { Draft::Ready },
            status: match self.merge_state_status.as_str() {
                "CLEAN" | "HAS_HOOKS" | "UNSTABLE" => MergeStatus::Ready,
                "BEHIND" => MergeStatus::Behind,
                "DIRTY" => MergeStatus::Conflicts,
                "UNKNOWN" => MergeStatus::Unknown,
                _ => MergeStatus::Blocked,
            },
            reviews_missing: matches!(
                self.review_decision.as_deref(),
                Some("REVIEW_REQUIRED" | "CHANGES_REQUESTED")
            ),
            queue,
            auto_merge: self.auto_merge_request.map(|request| by(request.enabled_by)),
            auto_merge_allowed: allowed.is_some_and(|allowed| allowed.auto_merge_allowed),
            methods: MergeMethod::ALL.into_iter().filter(allows).collect(),
            required: contexts
                .into_iter()
                .flatten()
                .flatten()
                .filter_map(ContextPayload::into_required)
                .collect(),
        }
    }
}

#[async_trait]
impl Merging for GitHub {
    async fn reviews(
        &self,
        repository: &Repository,
        pulls: &[&PullRequest],
    ) -> Result<Vec<(u64, Vec<Review>)>, CodeHostError> {
        let mut found = Vec::new();
        for pulls in pulls.chunks(PULLS) {
            let doing = format!("reading reviews of {} pull requests of {}", pulls.len(), repository.name);
            let ids: Vec<&str> = pulls.iter().map(|pull| pull.node_id.as_str()).collect();
            let answer = self
                .transport
                .query::<Nodes<Reviewed>>(
                    CallerIdentity::reading(repository),
                    doing.clone(),
                    REVIEWS,
                    json!({"ids": ids}),
                )
                .await?;
            let Some(data) = answer.data else { return Err(missing_node(doing, answer.errors)) };
            found.extend(data.nodes.into_iter().flatten().map(|pull| {
                let reviews = pull.latest_opinionated_reviews.into_iter().flat_map(|reviews| reviews.nodes);
                (pull.number, reviews.flatten().filter_map(ReviewPayload::into_review).collect())
            }));
        }
        Ok(found)
    }

    async fn merge_view(
        &self,
        repository: &Repository,
        pull: &PullRequest,
    ) -> Result<MergeView, CodeHostError> {
        let doing = format!("reading how pull request {} of {} merges", pull.number, repository.name);
        let own = self.bot_login().await?;
        let view: ViewPayload =
            self.transport.read_node(repository, doing, VIEW, json!({"id": pull.node_id})).await?;
        Ok(view.into_view(&own))
    }

    async fn merge(
        &self,
        repository: &Repository,
        pull: &PullRequest,
        head: &CommitId,
        call: MergeCall,
    ) -> Result<MergeAnswer, CodeHostError> {
        let id = &pull.node_id;
        let (mutation, input) = match call {
            MergeCall::Now(method) => return self.merge_now(repository, pull, head, method).await,
            MergeCall::Enqueue => (
                "mutation($input: EnqueuePullRequestInput!) { done: enqueuePullRequest(input: $input) { clientMutationId } }",
                json!({"pullRequestId": id, "expectedHeadOid": head.as_str()}),
            ),
            MergeCall::WhenReady(method) => {
                let mut input = json!({"pullRequestId": id, "expectedHeadOid": head.as_str()});
                if let Some(method) = method {
                    input["mergeMethod"] = method.as_str().to_uppercase().into();
                }
                (
                    "mutation($input: EnablePullRequestAutoMergeInput!) { done: enablePullRequestAutoMerge(input: $input) { clientMutationId } }",
                    input,
                )
            }
            MergeCall::TakeBack(Undo::AutoMerge) => (
                "mutation($input: DisablePullRequestAutoMergeInput!) { done: disablePullRequestAutoMerge(input: $input) { clientMutationId } }",
                json!({"pullRequestId": id}),
            ),
            MergeCall::TakeBack(Undo::Queue) => (
                "mutation($input: DequeuePullRequestInput!) { done: dequeuePullRequest(input: $input) { clientMutationId } }",
                json!({"id": id}),
            ),
        };
        self.ask_to_merge(repository, pull, mutation, input).await
    }

    async fn merge_queue_state(
        &self,
        repository: &Repository,
        pull: &PullRequest,
    ) -> Result<MergeQueueState, CodeHostError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct PullNode {
            review_decision: Option<String>,
            is_in_merge_queue: Option<bool>,
            auto_merge_request: Option<IgnoredAny>,
        }
        let doing =
            format!("reading reviews and queue of pull request {} of {}", pull.number, repository.name);
        let ask = async |queue: &str| {
            let query = format!(
                "query($id: ID!) {{ node(id: $id) {{ ... on PullRequest {{ \
                 reviewDecision {queue} autoMergeRequest {{ enabledAt }} }} }} }}"
            );
            let (identity, variables) = (CallerIdentity::reading(repository), json!({"id": pull.node_id}));
            self.transport.query::<OfNode<PullNode>>(identity, doing.clone(), &query, variables).await
        };
        let answer = if self.lacks_merge_queues.load(Ordering::Relaxed) {
            ask("").await?
        } else {
            let answer = ask("isInMergeQueue").await?;
            if answer.data.is_none() && answer.errors.iter().any(GraphQlError::is_undefined_field) {
                if !self.lacks_merge_queues.swap(true, Ordering::Relaxed) {
                    tracing::info!(
                        "this GitHub Enterprise Server has no merge queues: Capstan does not ask for them"
                    );
                }
                ask("").await?
            } else {
                answer
            }
        };
        let Some(node) = answer.data.and_then(|data| data.node) else {
            return Err(missing_node(doing, answer.errors));
        };
        Ok(MergeQueueState {
            review: match node.review_decision.as_deref() {
                Some("APPROVED") => ReviewDecision::Approved,
                Some("CHANGES_REQUESTED") => ReviewDecision::ChangesRequested,
                _ => ReviewDecision::None,
            },
            queued: node.is_in_merge_queue.unwrap_or(false),
            auto_merge: node.auto_merge_request.is_some(),
        })
    }
}

impl GitHub {
    async fn ask_to_merge(
        &self,
        repository: &Repository,
        pull: &PullRequest,
        mutation: &str,
        input: serde_json::Value,
    ) -> Result<MergeAnswer, CodeHostError> {
        let doing = format!("having pull request {} of {} merged", pull.number, repository.name);
        let identity = CallerIdentity::doing(Task::Merge, repository);
        let answer = self
            .transport
            .mutate::<MutationReply>(identity, doing, mutation, json!({"input": input}))
            .await?;
        if answer.is_done() {
            return Ok(MergeAnswer::Done);
        }
        let reasons: Vec<&str> = answer.errors.iter().map(|error| error.message.as_str()).collect();
        let reason = if reasons.is_empty() { "it gives no reason".to_owned() } else { reasons.join("; ") };
        Ok(MergeAnswer::Refused(cut(&reason)))
    }

    async fn merge_now(
        &self,
        repository: &Repository,
        pull: &PullRequest,
        head: &CommitId,
        method: MergeMethod,
    ) -> Result<MergeAnswer, CodeHostError> {
        let look = async || {
            let now = self.pull_request(repository, pull.number).await?;
            Ok((now.state == PullRequestState::Merged).then_some(MergeAnswer::Done))
        };
        self.transport.send_once(|| self.try_merge(repository, pull, head, method), look).await
    }

    async fn try_merge(
        &self,
        repository: &Repository,
        pull: &PullRequest,
        head: &CommitId,
        method: MergeMethod,
    ) -> Result<MergeAnswer, CodeHostError> {
        let doing = format!("merging pull request {} of {}", pull.number, repository.name);
        let identity = CallerIdentity::doing(Task::Merge, repository);
        let call = GitHubCall::put(identity, "/repos/{owner}/{repo}/pulls/{pull_number}/merge", doing)
            .in_repository(repository, &["pulls", &pull.number.to_string(), "merge"])
            .body(json!({"sha": head.as_str(), "merge_method": method.as_str()}));
        let answer = self.transport.send(&call).await?;
        match answer.status() {
            status if status.is_success() => Ok(MergeAnswer::Done),
            // It may not, the head is another one, the branch's rules say no: GitHub says which.
            StatusCode::FORBIDDEN
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::CONFLICT
            | StatusCode::UNPROCESSABLE_ENTITY => Ok(MergeAnswer::Refused(answer.message())),
            _ => Err(answer.into_error()),
        }
    }
}
