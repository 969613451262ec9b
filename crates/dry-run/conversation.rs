//! Comments and reactions.

use async_trait::async_trait;
use capstan_plan::command::{CommentId, Wording};

use super::{DryRun, HostResult, tell};
use capstan_ports::{Comment, Comments, Installations as _, PlacedComment, Reaction, Repository};

#[async_trait]
impl Comments for DryRun {
    async fn recent_comments(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
    ) -> HostResult<Vec<PlacedComment>> {
        let mut comments = self.host.recent_comments(repository, since).await?;
        self.read(repository, |written| {
            let recent = written.comments.iter().filter(|comment| comment.comment.created_at >= since);
            comments.extend(recent.cloned());
        });
        comments.sort_by_key(|comment| comment.comment.created_at);
        Ok(comments)
    }

    async fn wording(&self, repository: &Repository, comment: &Comment) -> HostResult<Wording> {
        let is_own = |written: &PlacedComment| written.comment.id == comment.id;
        if self.read(repository, |written| written.comments.iter().any(is_own)) {
            return Ok(Wording::AsWritten);
        }
        self.host.wording(repository, comment).await
    }

    async fn own_reactions(&self, repository: &Repository, comment: CommentId) -> HostResult<Vec<Reaction>> {
        self.host.own_reactions(repository, comment).await
    }

    async fn create_comment(&self, repository: &Repository, number: u64, body: &str) -> HostResult<Comment> {
        tell(repository, "comment", &format!("#{number}"), body.len());
        let (author, now) = (self.bot_login().await?, self.clock.now());
        Ok(self.note(repository, |written| {
            let id = written.next_id();
            let comment = Comment {
                id: CommentId::Comment(id),
                author,
                by_bot: true,
                body: body.to_owned(),
                created_at: now,
                updated_at: now,
                verdicts: Some(0),
                node_id: format!("dry-run-{id}"),
            };
            // Its place only matters for commands, and Capstan gives itself none.
            let placed = PlacedComment { number, on_pull_request: true, comment: comment.clone() };
            written.comments.push(placed);
            comment
        }))
    }

    async fn react(&self, repository: &Repository, comment: CommentId, reaction: Reaction) -> HostResult<()> {
        let reaction = match reaction {
            Reaction::Eyes => "eyes",
            Reaction::ThumbsUp => "+1",
            Reaction::Confused => "confused",
        };
        tell(repository, "reaction", &format!("{reaction} on {comment}"), 0);
        Ok(())
    }
}
