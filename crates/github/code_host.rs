//! [`GitHub`] as the [`CodeHost`] of the use cases. The calls themselves stand by subject in the
//! neighbouring files.

use async_trait::async_trait;
use capstan_model::tree::{BlobId, CommitId, RepoPath, TreeId};
use capstan_plan::command::{CommentId, Push, Team, Wording};
use capstan_plan::proposal::{Draft, MergeView, Review};
use secrecy::SecretString;

use capstan_ports::{
    BranchHead, CheckRun, CheckState, CodeHost, CodeHostError, Comment, CommitMetadata, CommitStatus,
    CreatedPullRequest, CreatedReference, EarlierPullRequest, Installation, Issue, IssueEdit, IssueText,
    MergeAnswer, MergeCall, MergeQueueState, MovedReference, NewCheckRun, NewIssue, NewPullRequest,
    NewTreeEntry, Permission, PlacedComment, PullRequest, PullRequestEdit, Reaction, Repository,
    RepositoryName, SidebarPart,
};

use super::transport::GitHub;

type Outcome<T> = Result<T, CodeHostError>;

#[async_trait]
impl CodeHost for GitHub {
    async fn bot_login(&self) -> Outcome<String> {
        self.read_bot_login().await
    }

    async fn installations(&self) -> Outcome<Vec<Installation>> {
        self.list_installations().await
    }

    async fn repositories(&self, installation: u64) -> Outcome<Vec<Repository>> {
        self.list_repositories(installation).await
    }

    async fn repository(&self, installation: u64, name: &RepositoryName) -> Outcome<Repository> {
        self.read_repository(installation, name).await
    }

    async fn git_token(&self, repository: &Repository) -> Outcome<SecretString> {
        self.fetch_token(repository).await
    }

    async fn branch(&self, repository: &Repository, branch: &str) -> Outcome<Option<CommitId>> {
        self.read_branch(repository, branch).await
    }

    async fn branches(&self, repository: &Repository, prefix: &str) -> Outcome<Vec<BranchHead>> {
        self.list_branches(repository, prefix).await
    }

    async fn newest_pull_requests(
        &self,
        repository: &Repository,
        branches: &[String],
        base: Option<&str>,
    ) -> Outcome<Vec<EarlierPullRequest>> {
        self.list_newest_pull_requests(repository, branches, base).await
    }

    async fn pull_requests_since(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
    ) -> Outcome<Vec<PullRequest>> {
        self.list_pull_requests_since(repository, since).await
    }

    async fn open_pull_requests(&self, repository: &Repository) -> Outcome<Vec<PullRequest>> {
        self.list_open_pull_requests(repository).await
    }

    async fn pull_request(&self, repository: &Repository, number: u64) -> Outcome<PullRequest> {
        self.read_pull_request(repository, number).await
    }

    async fn merge_queue_state(
        &self,
        repository: &Repository,
        pull: &PullRequest,
    ) -> Outcome<MergeQueueState> {
        self.read_merge_queue_state(repository, pull).await
    }

    async fn reviews(
        &self,
        repository: &Repository,
        pulls: &[&PullRequest],
    ) -> Outcome<Vec<(u64, Vec<Review>)>> {
        self.read_reviews(repository, pulls).await
    }

    async fn merge_view(&self, repository: &Repository, pull: &PullRequest) -> Outcome<MergeView> {
        self.read_merge_view(repository, pull).await
    }

    async fn merge(
        &self,
        repository: &Repository,
        pull: &PullRequest,
        head: &CommitId,
        call: MergeCall,
    ) -> Outcome<MergeAnswer> {
        self.write_merge(repository, pull, head, call).await
    }

    async fn belongs_to_team(&self, repository: &Repository, team: &Team, login: &str) -> Outcome<bool> {
        self.read_membership(repository, team, login).await
    }

    async fn set_draft(&self, repository: &Repository, pull: &PullRequest, draft: Draft) -> Outcome<()> {
        self.write_draft(repository, pull, draft).await
    }

    async fn add_to_sidebar(
        &self,
        repository: &Repository,
        number: u64,
        part: SidebarPart,
        names: &[String],
    ) -> Outcome<Vec<String>> {
        self.write_sidebar(repository, number, part, names).await
    }

    async fn remove_from_sidebar(
        &self,
        repository: &Repository,
        number: u64,
        part: SidebarPart,
        names: &[String],
    ) -> Outcome<()> {
        self.clear_sidebar(repository, number, part, names).await
    }

    async fn permission(&self, repository: &Repository, login: &str) -> Outcome<Permission> {
        self.read_permission(repository, login).await
    }

    async fn recent_comments(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
    ) -> Outcome<Vec<PlacedComment>> {
        self.list_recent_comments(repository, since).await
    }

    async fn opened_issues(
        &self,
        repository: &Repository,
        since: jiff::Timestamp,
        numbers: &[u64],
    ) -> Outcome<Vec<PlacedComment>> {
        self.list_opened_issues(repository, since, numbers).await
    }

    async fn wording(&self, repository: &Repository, comment: &Comment) -> Outcome<Wording> {
        self.read_wording(repository, comment).await
    }

    async fn own_reactions(&self, repository: &Repository, comment: CommentId) -> Outcome<Vec<Reaction>> {
        self.read_own_reactions(repository, comment).await
    }

    async fn issue(&self, repository: &Repository, number: u64) -> Outcome<Option<Issue>> {
        self.read_issue(repository, number).await
    }

    async fn issues_by(&self, repository: &Repository, author: &str) -> Outcome<Vec<Issue>> {
        self.list_issues_by(repository, author).await
    }

    async fn issue_text(&self, repository: &Repository, issue: &Issue) -> Outcome<IssueText> {
        self.read_issue_text(repository, issue).await
    }

    async fn create_issue(&self, repository: &Repository, issue: &NewIssue) -> Outcome<Issue> {
        self.open_issue(repository, issue).await
    }

    async fn edit_issue(&self, repository: &Repository, number: u64, edit: &IssueEdit) -> Outcome<()> {
        self.change_issue(repository, number, edit).await
    }

    async fn check_runs(
        &self,
        repository: &Repository,
        head: &CommitId,
        name: &str,
    ) -> Outcome<Vec<CheckRun>> {
        self.list_check_runs(repository, head, name).await
    }

    async fn recently_closed_pull_requests(&self, repository: &Repository) -> Outcome<Vec<PullRequest>> {
        self.list_recently_closed_pull_requests(repository).await
    }

    async fn pushes(&self, repository: &Repository, branch: &str) -> Outcome<Vec<Push>> {
        self.list_pushes(repository, branch).await
    }

    async fn is_contained(
        &self,
        repository: &Repository,
        earlier: &CommitId,
        later: &CommitId,
    ) -> Outcome<bool> {
        self.compare_commits(repository, earlier, later).await
    }

    async fn fork_point(
        &self,
        repository: &Repository,
        one: &CommitId,
        other: &CommitId,
    ) -> Outcome<Option<CommitId>> {
        self.read_fork_point(repository, one, other).await
    }

    async fn stack_below(&self, repository: &Repository, number: u64) -> Outcome<Option<Vec<u64>>> {
        self.read_stack_below(repository, number).await
    }

    async fn verdict(
        &self,
        repository: &Repository,
        commit: &CommitId,
        name: &str,
    ) -> Outcome<Option<CheckState>> {
        self.read_verdict(repository, commit, name).await
    }

    async fn commit_status(
        &self,
        repository: &Repository,
        commit: &CommitId,
        context: &str,
    ) -> Outcome<Option<CommitStatus>> {
        self.read_commit_status(repository, commit, context).await
    }

    async fn tree(&self, repository: &Repository, tree: &TreeId) -> Outcome<Option<Vec<(RepoPath, BlobId)>>> {
        self.read_tree(repository, tree).await
    }

    async fn blob(&self, repository: &Repository, blob: &BlobId) -> Outcome<Vec<u8>> {
        self.read_blob(repository, blob).await
    }

    async fn create_tree(
        &self,
        repository: &Repository,
        base: &TreeId,
        entries: &[NewTreeEntry],
    ) -> Outcome<TreeId> {
        self.write_tree(repository, base, entries).await
    }

    async fn create_commit(&self, repository: &Repository, commit: &CommitMetadata) -> Outcome<CommitId> {
        self.write_commit(repository, commit).await
    }

    async fn create_branch(
        &self,
        repository: &Repository,
        branch: &str,
        commit: &CommitId,
    ) -> Outcome<CreatedReference> {
        self.write_new_branch(repository, branch, commit).await
    }

    async fn move_branch(
        &self,
        repository: &Repository,
        branch: &str,
        before: &CommitId,
        after: &CommitId,
    ) -> Outcome<MovedReference> {
        self.write_moved_branch(repository, branch, before, after).await
    }

    async fn create_pull_request(
        &self,
        repository: &Repository,
        pull: &NewPullRequest,
    ) -> Outcome<CreatedPullRequest> {
        self.open_pull_request(repository, pull).await
    }

    async fn edit_pull_request(
        &self,
        repository: &Repository,
        number: u64,
        edit: &PullRequestEdit,
    ) -> Outcome<PullRequest> {
        self.change_pull_request(repository, number, edit).await
    }

    async fn create_check_run(&self, repository: &Repository, check: &NewCheckRun) -> Outcome<CheckRun> {
        self.write_check_run(repository, check).await
    }

    async fn update_check_run(
        &self,
        repository: &Repository,
        id: u64,
        check: &NewCheckRun,
    ) -> Outcome<CheckRun> {
        self.write_check_run_again(repository, id, check).await
    }

    async fn finish_check_run(
        &self,
        repository: &Repository,
        run: &CheckRun,
        check: &NewCheckRun,
    ) -> Outcome<CheckRun> {
        self.send_rest_of_check_run(repository, run.id, run.annotations, check).await
    }

    async fn write_above_check_run(&self, repository: &Repository, id: u64, line: &str) -> Outcome<()> {
        self.write_line_above_check_run(repository, id, line).await
    }

    async fn create_commit_status(
        &self,
        repository: &Repository,
        commit: &CommitId,
        status: &CommitStatus,
    ) -> Outcome<()> {
        self.write_commit_status(repository, commit, status).await
    }

    async fn create_comment(&self, repository: &Repository, number: u64, body: &str) -> Outcome<Comment> {
        self.write_comment(repository, number, body).await
    }

    async fn react(&self, repository: &Repository, comment: CommentId, reaction: Reaction) -> Outcome<()> {
        self.write_reaction(repository, comment, reaction).await
    }
}
