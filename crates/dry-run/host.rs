//! [`DryRun`] as the [`CodeHost`]: reads as they would be, and writes that are told and remembered.

use std::collections::BTreeSet;

use async_trait::async_trait;
use capstan_model::file_change::FileChange;
use capstan_model::tree::{BlobId, CommitId, RepoPath, TreeId};
use capstan_plan::command::{CommentId, Push, Team, Wording};
use capstan_plan::proposal::{Draft, MergeView, Review, Sidebar};
use secrecy::SecretString;

use super::overlay::{OnGitHub, after, shortly};
use super::{DryRun, commit_id, tell, tree_id};
use capstan_ports::{
    BranchHead, CheckRun, CheckState, CodeHost, CodeHostError, Comment, CommitMetadata, CommitStatus,
    CreatedPullRequest, CreatedReference, EarlierPullRequest, Installation, Issue, IssueEdit, IssueText,
    MergeAnswer, MergeCall, MergeQueueState, MovedReference, NewCheckRun, NewIssue, NewPullRequest,
    NewTreeEntry, Permission, PlacedComment, PullRequest, PullRequestEdit, PullRequestState, Reaction,
    Repository, RepositoryName, SidebarPart,
};

pub(super) type Outcome<T> = Result<T, CodeHostError>;

impl DryRun {
    /// With GitHub's test merge, where the head was not written.
    async fn with_test_merge(&self, repository: &Repository, pull: PullRequest) -> Outcome<PullRequest> {
        let is_made_up = self.read(repository, |written| written.is_made_up(&pull.head));
        if !is_made_up || pull.state != PullRequestState::Open {
            return Ok(pull);
        }
        let Some(tip) = self.branch(repository, &pull.base_branch).await? else { return Ok(pull) };
        let id = commit_id(&["merge", pull.head.as_str(), tip.as_str()])?;
        self.note(repository, |written| {
            let merge = written.test_merge(&pull.head, &tip);
            merge.map(|merge| written.commits.insert(id.clone(), merge));
        });
        Ok(PullRequest { base: tip, mergeable: Some(true), merge_commit: Some(id), ..pull })
    }

    /// What GitHub shows of a pull request; `None` of one that was not opened there.
    async fn real(&self, repository: &Repository, number: u64) -> Outcome<Option<PullRequest>> {
        match self.read(repository, |written| written.opened_as(number)) {
            Some(_) => Ok(None),
            None => self.host.pull_request(repository, number).await.map(Some),
        }
    }

    /// Edits a pull request as it is shown now.
    pub(super) async fn edited(
        &self,
        repository: &Repository,
        number: u64,
        edit: impl FnOnce(&PullRequest) -> PullRequest + Send,
    ) -> Outcome<PullRequest> {
        let real = self.real(repository, number).await?;
        let now = edit(&self.pull_request(repository, number).await?);
        self.note(repository, |written| written.edit(now.clone(), real));
        Ok(now)
    }

    /// Where a branch is on GitHub.
    async fn real_branch(&self, repository: &Repository, branch: &str) -> Outcome<Option<CommitId>> {
        self.host.branch(repository, branch).await
    }
}

#[async_trait]
impl CodeHost for DryRun {
    async fn bot_login(&self) -> Outcome<String> {
        self.host.bot_login().await
    }

    async fn installations(&self) -> Outcome<Vec<Installation>> {
        self.host.installations().await
    }

    async fn repositories(&self, installation: u64) -> Outcome<Vec<Repository>> {
        self.host.repositories(installation).await
    }

    async fn repository(&self, installation: u64, name: &RepositoryName) -> Outcome<Repository> {
        self.host.repository(installation, name).await
    }

    async fn git_token(&self, repository: &Repository) -> Outcome<SecretString> {
        self.host.git_token(repository).await
    }

    async fn branch(&self, repository: &Repository, branch: &str) -> Outcome<Option<CommitId>> {
        let real = self.real_branch(repository, branch).await?;
        Ok(self.read(repository, |written| written.branch(branch, real)))
    }

    async fn branches(&self, repository: &Repository, prefix: &str) -> Outcome<Vec<BranchHead>> {
        let real = self.host.branches(repository, prefix).await?;
        Ok(self.read(repository, |written| written.branches(prefix, real)))
    }

    async fn newest_pull_requests(
        &self,
        repository: &Repository,
        branches: &[String],
        base: Option<&str>,
    ) -> Outcome<Vec<EarlierPullRequest>> {
        let real = self.host.newest_pull_requests(repository, branches, base).await?;
        Ok(self.read(repository, |written| {
            let is_asked = |pull: &&PullRequest| {
                branches.contains(&pull.head_branch) && base.is_none_or(|base| pull.base_branch == base)
            };
            let mut newest: Vec<EarlierPullRequest> = Vec::new();
            let real = real.into_iter().map(|pull| written.shown_earlier(pull));
            for pull in written.opened().filter(is_asked).map(shortly).chain(real) {
                if !newest.iter().any(|known| known.head_branch == pull.head_branch) {
                    newest.push(pull);
                }
            }
            newest
        }))
    }

    async fn pull_requests_since(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
    ) -> Outcome<Vec<PullRequest>> {
        let real = self.host.pull_requests_since(repository, since).await?;
        Ok(self.read(repository, |written| {
            let opened = written.opened().filter(|pull| pull.created_at >= since).cloned();
            opened.chain(real.into_iter().map(|pull| written.shown(pull))).collect()
        }))
    }

    async fn open_pull_requests(&self, repository: &Repository) -> Outcome<Vec<PullRequest>> {
        let real = self.host.open_pull_requests(repository).await?;
        Ok(self.read(repository, |written| {
            let opened = written.opened().cloned().map(|mut pull| {
                // A branch goes on under its pull request.
                pull.head = written.branch(&pull.head_branch, None).unwrap_or(pull.head);
                pull
            });
            let all = opened.chain(real.into_iter().map(|pull| written.shown(pull)));
            all.filter(|pull| pull.state == PullRequestState::Open).collect()
        }))
    }

    async fn pull_request(&self, repository: &Repository, number: u64) -> Outcome<PullRequest> {
        let opened = self.read(repository, |written| {
            let mut pull = written.opened_as(number)?;
            pull.head = written.branch(&pull.head_branch, None).unwrap_or(pull.head);
            Some(pull)
        });
        let pull = match opened {
            Some(pull) => pull,
            None => {
                let real = self.host.pull_request(repository, number).await?;
                self.read(repository, |written| written.shown(real))
            }
        };
        self.with_test_merge(repository, pull).await
    }

    async fn merge_queue_state(
        &self,
        repository: &Repository,
        pull: &PullRequest,
    ) -> Outcome<MergeQueueState> {
        self.state_in_queue(repository, pull).await
    }

    async fn reviews(
        &self,
        repository: &Repository,
        pulls: &[&PullRequest],
    ) -> Outcome<Vec<(u64, Vec<Review>)>> {
        self.reviews_there(repository, pulls).await
    }

    async fn merge_view(&self, repository: &Repository, pull: &PullRequest) -> Outcome<MergeView> {
        self.view_of_merge(repository, pull).await
    }

    async fn belongs_to_team(&self, repository: &Repository, team: &Team, login: &str) -> Outcome<bool> {
        self.host.belongs_to_team(repository, team, login).await
    }

    async fn permission(&self, repository: &Repository, login: &str) -> Outcome<Permission> {
        self.host.permission(repository, login).await
    }

    async fn recent_comments(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
    ) -> Outcome<Vec<PlacedComment>> {
        let mut comments = self.host.recent_comments(repository, since).await?;
        self.read(repository, |written| {
            let recent = written.comments.iter().filter(|comment| comment.comment.created_at >= since);
            comments.extend(recent.cloned());
        });
        comments.sort_by_key(|comment| comment.comment.created_at);
        Ok(comments)
    }

    async fn opened_issues(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
        numbers: &[u64],
    ) -> Outcome<Vec<PlacedComment>> {
        self.host.opened_issues(repository, since, numbers).await
    }

    async fn wording(&self, repository: &Repository, comment: &Comment) -> Outcome<Wording> {
        let is_own = |written: &PlacedComment| written.comment.id == comment.id;
        if self.read(repository, |written| written.comments.iter().any(is_own)) {
            return Ok(Wording::AsWritten);
        }
        self.host.wording(repository, comment).await
    }

    async fn own_reactions(&self, repository: &Repository, comment: CommentId) -> Outcome<Vec<Reaction>> {
        self.host.own_reactions(repository, comment).await
    }

    async fn issue(&self, repository: &Repository, number: u64) -> Outcome<Option<Issue>> {
        self.shown_issue(repository, number).await
    }

    async fn issues_by(&self, repository: &Repository, author: &str) -> Outcome<Vec<Issue>> {
        self.shown_issues_by(repository, author).await
    }

    async fn issue_text(&self, repository: &Repository, issue: &Issue) -> Outcome<IssueText> {
        self.shown_issue_text(repository, issue).await
    }

    async fn check_runs(
        &self,
        repository: &Repository,
        head: &CommitId,
        name: &str,
    ) -> Outcome<Vec<CheckRun>> {
        let real = match self.read(repository, |written| written.is_made_up(head)) {
            true => Vec::new(),
            false => self.host.check_runs(repository, head, name).await?,
        };
        Ok(self.read(repository, |written| written.checks(head, name, real)))
    }

    async fn recently_closed_pull_requests(&self, repository: &Repository) -> Outcome<Vec<PullRequest>> {
        // What was closed here was not merged: nobody follows it.
        self.host.recently_closed_pull_requests(repository).await
    }

    async fn pushes(&self, repository: &Repository, branch: &str) -> Outcome<Vec<Push>> {
        let moved = self.read(repository, |written| written.moved(branch));
        let Some((commit, at, there)) = moved else { return self.host.pushes(repository, branch).await };
        let own = Push { after: commit, actor: Some(self.bot_login().await?), at };
        let earlier = match there {
            OnGitHub::Too => self.host.pushes(repository, branch).await?,
            OnGitHub::Not => Vec::new(),
        };
        Ok([own].into_iter().chain(earlier).collect())
    }

    async fn is_contained(
        &self,
        repository: &Repository,
        earlier: &CommitId,
        later: &CommitId,
    ) -> Outcome<bool> {
        let mut seen = BTreeSet::new();
        let mut to_look_at = vec![later.clone()];
        while let Some(commit) = to_look_at.pop() {
            if commit == *earlier {
                return Ok(true);
            }
            if !seen.insert(commit.to_string()) {
                continue;
            }
            match self.read(repository, |written| written.parents(&commit).map(<[CommitId]>::to_vec)) {
                Some(parents) => to_look_at.extend(parents),
                None if self.read(repository, |written| written.is_made_up(earlier)) => {}
                None if self.host.is_contained(repository, earlier, &commit).await? => return Ok(true),
                None => {}
            }
        }
        Ok(false)
    }

    async fn fork_point(
        &self,
        repository: &Repository,
        one: &CommitId,
        other: &CommitId,
    ) -> Outcome<Option<CommitId>> {
        self.host.fork_point(repository, one, other).await
    }

    async fn stack_below(&self, repository: &Repository, number: u64) -> Outcome<Option<Vec<u64>>> {
        self.host.stack_below(repository, number).await
    }

    async fn verdict(
        &self,
        repository: &Repository,
        commit: &CommitId,
        name: &str,
    ) -> Outcome<Option<CheckState>> {
        // Nobody else reports on what is not there.
        match self.read(repository, |written| written.is_made_up(commit)) {
            true => Ok(None),
            false => self.host.verdict(repository, commit, name).await,
        }
    }

    async fn commit_status(
        &self,
        repository: &Repository,
        commit: &CommitId,
        context: &str,
    ) -> Outcome<Option<CommitStatus>> {
        let (known, is_made_up) =
            self.read(repository, |written| (written.status(commit, context), written.is_made_up(commit)));
        match known {
            None if !is_made_up => self.host.commit_status(repository, commit, context).await,
            known => Ok(known),
        }
    }

    async fn tree(&self, repository: &Repository, tree: &TreeId) -> Outcome<Option<Vec<(RepoPath, BlobId)>>> {
        self.host.tree(repository, tree).await
    }

    async fn blob(&self, repository: &Repository, blob: &BlobId) -> Outcome<Vec<u8>> {
        self.host.blob(repository, blob).await
    }

    async fn create_tree(
        &self,
        repository: &Repository,
        base: &TreeId,
        entries: &[NewTreeEntry],
    ) -> Outcome<TreeId> {
        let changes: Vec<FileChange> = entries
            .iter()
            .map(|entry| {
                let (path, after) = match entry {
                    NewTreeEntry::Write { path, text, .. } => (path, Some(text.clone())),
                    NewTreeEntry::Delete { path } => (path, None),
                };
                FileChange { path: path.clone(), before: None, after }
            })
            .collect();
        let mut parts = vec!["tree", base.as_str()];
        for change in &changes {
            parts.extend([change.path.as_str(), change.after.as_deref().unwrap_or("deleted")]);
        }
        let id = tree_id(&parts)?;
        let bytes = changes.iter().filter_map(|change| change.after.as_ref()).map(String::len).sum();
        let files = match changes.len() {
            1 => "1 file".to_owned(),
            many => format!("{many} files"),
        };
        tell(repository, "tree", &files, bytes);
        self.note(repository, |written| written.trees.insert(id.clone(), (base.clone(), changes)));
        Ok(id)
    }

    async fn create_commit(&self, repository: &Repository, commit: &CommitMetadata) -> Outcome<CommitId> {
        let mut parts = vec!["commit", commit.tree.as_str(), &commit.message];
        parts.extend(commit.parents.iter().map(CommitId::as_str));
        let id = commit_id(&parts)?;
        let on = commit.parents.first().map_or("no parent", CommitId::as_str);
        tell(repository, "commit", on, commit.message.len());
        self.note(repository, |written| written.commits.insert(id.clone(), commit.clone()));
        Ok(id)
    }

    async fn create_branch(
        &self,
        repository: &Repository,
        branch: &str,
        commit: &CommitId,
    ) -> Outcome<CreatedReference> {
        let real = self.real_branch(repository, branch).await?;
        if self.read(repository, |written| written.branch(branch, real.clone())).is_some() {
            return Ok(CreatedReference::Exists);
        }
        tell(repository, "branch", branch, 0);
        let at = self.clock.now();
        self.note(repository, |written| written.move_branch(branch, real, commit, at));
        Ok(CreatedReference::Created)
    }

    async fn move_branch(
        &self,
        repository: &Repository,
        branch: &str,
        before: &CommitId,
        after: &CommitId,
    ) -> Outcome<MovedReference> {
        let real = self.real_branch(repository, branch).await?;
        if self.read(repository, |written| written.branch(branch, real.clone())).as_ref() != Some(before) {
            return Ok(MovedReference::Elsewhere);
        }
        tell(repository, "branch-move", branch, 0);
        let at = self.clock.now();
        self.note(repository, |written| written.move_branch(branch, real, after, at));
        Ok(MovedReference::Moved)
    }

    async fn create_pull_request(
        &self,
        repository: &Repository,
        pull: &NewPullRequest,
    ) -> Outcome<CreatedPullRequest> {
        let branches = [pull.head_branch.clone()];
        let newest = self.newest_pull_requests(repository, &branches, Some(&pull.base_branch)).await?;
        if newest.iter().any(|known| known.state == PullRequestState::Open) {
            return Ok(CreatedPullRequest::Exists);
        }
        let (head, base) = (
            self.branch(repository, &pull.head_branch).await?,
            self.branch(repository, &pull.base_branch).await?,
        );
        let (Some(head), Some(base)) = (head, base) else {
            let doing = format!("opening a pull request of {}", pull.head_branch);
            return Err(CodeHostError::NotFound { doing });
        };
        if self.is_contained(repository, &head, &base).await? {
            return Ok(CreatedPullRequest::NothingBetween);
        }
        tell(repository, "pull-request", &pull.head_branch, pull.title.len() + pull.body.len());
        let (author, created_at) = (self.bot_login().await?, self.clock.now());
        let opened = self.note(repository, |written| {
            let number = written.next_id();
            let opened = PullRequest {
                number,
                state: PullRequestState::Open,
                title: pull.title.clone(),
                body: pull.body.clone(),
                author,
                draft: pull.draft,
                head_branch: pull.head_branch.clone(),
                head,
                head_in_repository: true,
                base_branch: pull.base_branch.clone(),
                base,
                stack: None,
                merge_commit: None,
                mergeable: None,
                auto_merge: false,
                sidebar: Sidebar::default(),
                created_at,
                closed_at: None,
                html_url: format!("{}/pulls", repository.html_url),
                node_id: format!("dry-run-{number}"),
            };
            written.open(opened.clone());
            opened
        });
        Ok(CreatedPullRequest::Created(Box::new(opened)))
    }

    async fn set_draft(&self, repository: &Repository, pull: &PullRequest, draft: Draft) -> Outcome<()> {
        tell(repository, "draft", &format!("#{}", pull.number), 0);
        let draft = draft == Draft::Draft;
        self.edited(repository, pull.number, |pull| PullRequest { draft, ..pull.clone() }).await.map(drop)
    }

    async fn merge(
        &self,
        repository: &Repository,
        pull: &PullRequest,
        head: &CommitId,
        call: MergeCall,
    ) -> Outcome<MergeAnswer> {
        self.remember_merge(repository, pull, head, call).await
    }

    async fn add_to_sidebar(
        &self,
        repository: &Repository,
        number: u64,
        part: SidebarPart,
        names: &[String],
    ) -> Outcome<Vec<String>> {
        self.list_beside(repository, number, part, names).await
    }

    async fn remove_from_sidebar(
        &self,
        repository: &Repository,
        number: u64,
        part: SidebarPart,
        names: &[String],
    ) -> Outcome<()> {
        self.unlist_beside(repository, number, part, names).await
    }

    async fn edit_pull_request(
        &self,
        repository: &Repository,
        number: u64,
        edit: &PullRequestEdit,
    ) -> Outcome<PullRequest> {
        let bytes = [&edit.title, &edit.body].into_iter().flatten().map(String::len).sum();
        let write = if edit.close { "pull-request-close" } else { "pull-request-edit" };
        tell(repository, write, &format!("#{number}"), bytes);
        let at = self.clock.now();
        self.edited(repository, number, |pull| after(pull, edit, at)).await
    }

    async fn create_issue(&self, repository: &Repository, issue: &NewIssue) -> Outcome<Issue> {
        self.open_issue(repository, issue).await
    }

    async fn edit_issue(&self, repository: &Repository, number: u64, edit: &IssueEdit) -> Outcome<()> {
        self.change_issue(repository, number, edit).await
    }

    async fn create_check_run(&self, repository: &Repository, check: &NewCheckRun) -> Outcome<CheckRun> {
        tell(repository, "check-run", check.head.as_str(), check.title.len() + check.summary.len());
        Ok(self.note(repository, |written| {
            let id = written.next_id();
            written.check(id, check)
        }))
    }

    async fn update_check_run(
        &self,
        repository: &Repository,
        id: u64,
        check: &NewCheckRun,
    ) -> Outcome<CheckRun> {
        tell(repository, "check-run-update", check.head.as_str(), check.title.len() + check.summary.len());
        Ok(self.note(repository, |written| written.check(id, check)))
    }

    async fn finish_check_run(
        &self,
        repository: &Repository,
        run: &CheckRun,
        check: &NewCheckRun,
    ) -> Outcome<CheckRun> {
        self.update_check_run(repository, run.id, check).await
    }

    async fn write_above_check_run(&self, repository: &Repository, id: u64, line: &str) -> Outcome<()> {
        tell(repository, "check-run-update", &id.to_string(), line.len());
        Ok(())
    }

    async fn create_commit_status(
        &self,
        repository: &Repository,
        commit: &CommitId,
        status: &CommitStatus,
    ) -> Outcome<()> {
        tell(repository, "status", commit.as_str(), status.description.len());
        self.note(repository, |written| written.set_status(commit, status));
        Ok(())
    }

    async fn create_comment(&self, repository: &Repository, number: u64, body: &str) -> Outcome<Comment> {
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
            // Where it stands matters for commands alone, and Capstan gives itself none.
            let placed = PlacedComment { number, on_pull_request: true, comment: comment.clone() };
            written.comments.push(placed);
            comment
        }))
    }

    async fn react(&self, repository: &Repository, comment: CommentId, reaction: Reaction) -> Outcome<()> {
        let reaction = match reaction {
            Reaction::Eyes => "eyes",
            Reaction::ThumbsUp => "+1",
            Reaction::Confused => "confused",
        };
        tell(repository, "reaction", &format!("{reaction} on {comment}"), 0);
        Ok(())
    }
}
