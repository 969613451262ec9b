//! Reviews, the merge queue and merges: what GitHub says of them, with what this process wrote laid over it.

use async_trait::async_trait;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{Draft, MergeStatus, MergeView, Queue, Review, Undo};
use capstan_plan::settings::MergeMethod;

use super::{DryRun, HostResult, tell};
use capstan_ports::{
    MergeAnswer, MergeCall, MergeQueueState, Merging, PullRequest, PullRequests as _, Repository,
    ReviewDecision,
};

#[async_trait]
impl Merging for DryRun {
    async fn merge_queue_state(
        &self,
        repository: &Repository,
        pull: &PullRequest,
    ) -> HostResult<MergeQueueState> {
        if self.read(repository, |written| written.opened_as(pull.number)).is_some() {
            return Ok(MergeQueueState { review: ReviewDecision::None, queued: false, auto_merge: false });
        }
        self.host.merge_queue_state(repository, pull).await
    }

    async fn reviews(
        &self,
        repository: &Repository,
        pulls: &[&PullRequest],
    ) -> HostResult<Vec<(u64, Vec<Review>)>> {
        let there: Vec<&PullRequest> = self.read(repository, |written| {
            pulls.iter().filter(|pull| written.opened_as(pull.number).is_none()).copied().collect()
        });
        match there.is_empty() {
            true => Ok(Vec::new()),
            false => self.host.reviews(repository, &there).await,
        }
    }

    async fn merge_view(&self, repository: &Repository, pull: &PullRequest) -> HostResult<MergeView> {
        let shown = self.pull_request(repository, pull.number).await?;
        let draft = if shown.draft { Draft::Draft } else { Draft::Ready };
        // GitHub does not know a head that was not written, so nothing prevents its merge.
        let made_up = MergeView {
            head: shown.head.clone(),
            draft,
            status: MergeStatus::Ready,
            reviews_missing: false,
            queue: Queue::None,
            auto_merge: None,
            auto_merge_allowed: true,
            methods: MergeMethod::ALL.to_vec(),
            required: Vec::new(),
        };
        let is_opened = self.read(repository, |written| written.opened_as(pull.number).is_some());
        let view = if is_opened {
            made_up
        } else {
            let real = self.host.merge_view(repository, pull).await?;
            match self.read(repository, |written| written.is_made_up(&shown.head)) {
                true => MergeView {
                    queue: real.queue,
                    auto_merge: real.auto_merge,
                    auto_merge_allowed: real.auto_merge_allowed,
                    methods: real.methods,
                    ..made_up
                },
                false => MergeView { draft, ..real },
            }
        };
        Ok(self.read(repository, |written| written.merge_view(pull.number, view)))
    }

    async fn merge(
        &self,
        repository: &Repository,
        pull: &PullRequest,
        head: &CommitId,
        call: MergeCall,
    ) -> HostResult<MergeAnswer> {
        let write = match call {
            MergeCall::Now(_) => "merge",
            MergeCall::Enqueue => "merge-queue",
            MergeCall::WhenReady(_) => "auto-merge",
            MergeCall::TakeBack(Undo::AutoMerge) => "no-auto-merge",
            MergeCall::TakeBack(Undo::Queue) => "no-merge-queue",
        };
        tell(repository, write, &format!("#{} at {head}", pull.number), 0);
        self.note(repository, |written| written.merge(pull.number, head, call));
        Ok(MergeAnswer::Done)
    }
}
