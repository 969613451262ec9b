//! GitHub's side of the world.

use async_trait::async_trait;
use capstan_model::tree::{CommitId, TreeId};
use capstan_plan::command::{CommentId, Push, Team, Wording};
use capstan_plan::proposal::{Draft, MergeStatus, MergeView, Queue, Review};
use capstan_plan::settings::MergeMethod;
use capstan_ports::*;

use super::{Moment, World, id, repository};

type Outcome<T> = Result<T, CodeHostError>;

/// It has no stacks, no statuses, and gives out no file by its id.
impl CodeHost for World {}

#[async_trait]
impl Installations for World {
    async fn installations(&self) -> Outcome<Vec<Installation>> {
        Ok(vec![Installation { id: 1, account: "acme".to_owned(), suspended: false }])
    }
    async fn repositories(&self, _: u64) -> Outcome<Vec<Repository>> {
        Ok(vec![repository()])
    }
    async fn repository(&self, _: u64, _: &RepositoryName) -> Outcome<Repository> {
        Ok(repository())
    }
    async fn git_token(&self, _: &Repository) -> Outcome<secrecy::SecretString> {
        Ok("t".into())
    }
    async fn bot_login(&self) -> Outcome<String> {
        Ok("capstan[bot]".to_owned())
    }
}

#[async_trait]
impl PermissionLookup for World {
    async fn permission(&self, _: &Repository, login: &str) -> Outcome<Permission> {
        Ok(self.state().permissions.get(login).copied().unwrap_or(Permission::Read))
    }
    async fn belongs_to_team(&self, _: &Repository, team: &Team, login: &str) -> Outcome<bool> {
        Ok(self.state().teams.contains(&(team.slug.clone(), login.to_owned())))
    }
}

#[async_trait]
impl Branches for World {
    async fn branch(&self, _: &Repository, branch: &str) -> Outcome<Option<CommitId>> {
        self.meanwhile(Moment::Tip);
        Ok(self.state().branches.get(branch).cloned())
    }
    async fn branches(&self, _: &Repository, prefix: &str) -> Outcome<Vec<BranchHead>> {
        let state = self.state();
        let heads = state.branches.iter().filter(|(branch, _)| branch.starts_with(prefix));
        Ok(heads
            .map(|(branch, commit)| BranchHead { branch: branch.clone(), commit: commit.clone() })
            .collect())
    }
    async fn create_branch(
        &self,
        _: &Repository,
        branch: &str,
        commit: &CommitId,
    ) -> Outcome<CreatedReference> {
        self.write("reference", || {
            // With `refs/heads/` GitHub takes 255 bytes.
            if branch.len() > 244 {
                return CreatedReference::Refused;
            }
            if self.state().branches.contains_key(branch) {
                return CreatedReference::Exists;
            }
            self.move_to(branch, commit, "capstan[bot]");
            CreatedReference::Created
        })
    }
    async fn move_branch(
        &self,
        _: &Repository,
        branch: &str,
        before: &CommitId,
        after: &CommitId,
    ) -> Outcome<MovedReference> {
        self.meanwhile(Moment::Reference);
        self.write("reference", || {
            if self.state().branches.get(branch) != Some(before) {
                return MovedReference::Elsewhere;
            }
            self.move_to(branch, after, "capstan[bot]");
            MovedReference::Moved
        })
    }
}

#[async_trait]
impl History for World {
    async fn pushes(&self, _: &Repository, branch: &str) -> Outcome<Vec<Push>> {
        let state = self.state();
        let pushes = state.pushes.iter().rev().filter(|(moved, _)| moved == branch);
        Ok(pushes.map(|(_, push)| push.clone()).collect())
    }
    async fn is_contained(&self, _: &Repository, earlier: &CommitId, later: &CommitId) -> Outcome<bool> {
        Ok(earlier == later)
    }
    async fn fork_point(
        &self,
        _: &Repository,
        one: &CommitId,
        other: &CommitId,
    ) -> Outcome<Option<CommitId>> {
        Ok((one == other).then(|| one.clone()))
    }
}

#[async_trait]
impl Trees for World {
    async fn create_tree(&self, _: &Repository, base: &TreeId, entries: &[NewTreeEntry]) -> Outcome<TreeId> {
        let mut files = self.state().trees[base.as_str()].clone();
        for entry in entries {
            match entry {
                NewTreeEntry::Write { path, text, .. } => files.insert(path.to_string(), text.clone()),
                NewTreeEntry::Delete { path } => files.remove(path.as_str()),
            };
        }
        self.write("tree", || {
            let tree = TreeId::parse(&id(&format!("{files:?}"))).unwrap();
            self.state().trees.insert(tree.to_string(), files);
            tree
        })
    }
    async fn create_commit(&self, _: &Repository, commit: &CommitMetadata) -> Outcome<CommitId> {
        let files = self.state().trees[commit.tree.as_str()].clone();
        self.write("commit", || self.commit(files, commit.parents.clone(), &commit.message))
    }
}

#[async_trait]
impl PullRequests for World {
    async fn newest_pull_requests(
        &self,
        _: &Repository,
        branches: &[String],
        base: Option<&str>,
    ) -> Outcome<Vec<EarlierPullRequest>> {
        let pulls = self.pulls();
        let newest = |branch: &String| {
            let is_it = |pull: &&PullRequest| {
                pull.head_branch == *branch && base.is_none_or(|base| pull.base_branch == base)
            };
            let pull = pulls.iter().rfind(is_it)?;
            Some(EarlierPullRequest {
                number: pull.number,
                state: pull.state,
                body: pull.body.clone(),
                head_branch: pull.head_branch.clone(),
                head: pull.head.clone(),
                base: pull.base.clone(),
            })
        };
        Ok(branches.iter().filter_map(newest).collect())
    }
    async fn pull_requests_since(&self, _: &Repository, since: jiff::Timestamp) -> Outcome<Vec<PullRequest>> {
        Ok(self.pulls().into_iter().filter(|pull| pull.created_at >= since).rev().collect())
    }
    async fn open_pull_requests(&self, _: &Repository) -> Outcome<Vec<PullRequest>> {
        Ok(self.open_pulls())
    }
    async fn recently_closed_pull_requests(&self, _: &Repository) -> Outcome<Vec<PullRequest>> {
        Ok(self.pulls().into_iter().filter(|pull| pull.state != PullRequestState::Open).collect())
    }
    async fn pull_request(&self, _: &Repository, number: u64) -> Outcome<PullRequest> {
        self.meanwhile(Moment::PullRequest);
        self.reach(number)?;
        Ok(self.shown(usize::try_from(number).unwrap() - 1))
    }
    async fn create_pull_request(
        &self,
        _: &Repository,
        pull: &NewPullRequest,
    ) -> Outcome<CreatedPullRequest> {
        self.write("pull request", || {
            if self.open_pulls().iter().any(|open| open.head_branch == pull.head_branch) {
                return CreatedPullRequest::Exists;
            }
            let new = self.insert_pull(
                "capstan[bot]",
                &pull.head_branch,
                &pull.base_branch,
                &pull.title,
                &pull.body,
                pull.draft,
            );
            CreatedPullRequest::Created(Box::new(new))
        })
    }
    async fn edit_pull_request(
        &self,
        _: &Repository,
        number: u64,
        edit: &PullRequestEdit,
    ) -> Outcome<PullRequest> {
        self.reach(number)?;
        self.write("pull request", || {
            let index = usize::try_from(number).unwrap() - 1;
            let mut pull = self.shown(index);
            pull.title = edit.title.clone().unwrap_or(pull.title);
            pull.body = edit.body.clone().unwrap_or(pull.body);
            if edit.close {
                pull.state = PullRequestState::Closed;
            }
            self.state().pulls[index] = pull.clone();
            pull
        })
    }
    async fn set_draft(&self, _: &Repository, pull: &PullRequest, draft: Draft) -> Outcome<()> {
        self.reach(pull.number)?;
        self.write("draft", || {
            let index = usize::try_from(pull.number).unwrap() - 1;
            self.state().pulls[index].draft = draft == Draft::Draft;
        })
    }
}

#[async_trait]
impl Merging for World {
    async fn merge_queue_state(&self, _: &Repository, pull: &PullRequest) -> Outcome<MergeQueueState> {
        self.reach(pull.number)?;
        let none = MergeQueueState { review: ReviewDecision::None, queued: false, auto_merge: false };
        Ok(self.state().reviews.get(&pull.number).copied().unwrap_or(none))
    }
    async fn reviews(&self, _: &Repository, pulls: &[&PullRequest]) -> Outcome<Vec<(u64, Vec<Review>)>> {
        let reviews = |pull: &&PullRequest| {
            (pull.number, self.state().opinions.get(&pull.number).cloned().unwrap_or_default())
        };
        Ok(pulls.iter().map(reviews).collect())
    }
    async fn merge_view(&self, _: &Repository, pull: &PullRequest) -> Outcome<MergeView> {
        self.reach(pull.number)?;
        let now = self.shown(usize::try_from(pull.number).unwrap() - 1);
        Ok(MergeView {
            head: now.head,
            draft: if now.draft { Draft::Draft } else { Draft::Ready },
            status: MergeStatus::Ready,
            reviews_missing: false,
            queue: Queue::None,
            auto_merge: None,
            auto_merge_allowed: false,
            methods: vec![MergeMethod::Merge],
            required: vec![],
        })
    }
    async fn merge(
        &self,
        _: &Repository,
        pull: &PullRequest,
        head: &CommitId,
        _: MergeCall,
    ) -> Outcome<MergeAnswer> {
        let index = usize::try_from(pull.number).unwrap() - 1;
        let now = self.shown(index);
        if now.head != *head || now.state != PullRequestState::Open {
            return Ok(MergeAnswer::Refused("Head branch was modified.".to_owned()));
        }
        self.write("merge", || {
            let files = self.state().commits[head.as_str()].files.clone();
            let base = self.state().branches["main"].clone();
            let merge = self.commit(files, vec![base, head.clone()], "Merge");
            self.move_to("main", &merge, "capstan[bot]");
            self.state().pulls[index].state = PullRequestState::Merged;
            MergeAnswer::Done
        })
    }
}

#[async_trait]
impl Sidebars for World {
    async fn add_to_sidebar(
        &self,
        _: &Repository,
        number: u64,
        part: SidebarPart,
        names: &[String],
    ) -> Outcome<Vec<String>> {
        self.reach(number)?;
        self.write("sidebar", || {
            let mut state = self.state();
            let list = sidebar_list(&mut state.pulls[usize::try_from(number).unwrap() - 1], part);
            for name in names.iter().map(|name| listed(part, name)) {
                if !list.contains(&name) {
                    list.push(name);
                }
            }
            Vec::new()
        })
    }
    async fn remove_from_sidebar(
        &self,
        _: &Repository,
        number: u64,
        part: SidebarPart,
        names: &[String],
    ) -> Outcome<()> {
        self.reach(number)?;
        self.write("sidebar", || {
            let mut state = self.state();
            let list = sidebar_list(&mut state.pulls[usize::try_from(number).unwrap() - 1], part);
            list.retain(|listed_name| !names.iter().any(|name| listed(part, name) == *listed_name));
        })
    }
}

#[async_trait]
impl Comments for World {
    async fn recent_comments(&self, _: &Repository, _: jiff::Timestamp) -> Outcome<Vec<PlacedComment>> {
        let state = self.state();
        let counted = state.comments.iter().map(|placed| {
            let verdict =
                |(on, reaction): &&(CommentId, Reaction)| *on == placed.comment.id && reaction.is_verdict();
            let verdicts = u32::try_from(state.reactions.iter().filter(verdict).count()).unwrap();
            let comment = Comment { verdicts: Some(verdicts), ..placed.comment.clone() };
            PlacedComment { comment, ..placed.clone() }
        });
        Ok(counted.collect())
    }
    async fn wording(&self, _: &Repository, comment: &Comment) -> Outcome<Wording> {
        let edited = self.state().edited.contains(&comment.id);
        Ok(if edited { Wording::Edited } else { Wording::AsWritten })
    }
    async fn own_reactions(&self, _: &Repository, comment: CommentId) -> Outcome<Vec<Reaction>> {
        let mut state = self.state();
        state.reactions_read += 1;
        let own = state.reactions.iter().filter(|(on, _)| *on == comment);
        Ok(own.map(|(_, reaction)| *reaction).collect())
    }
    async fn create_comment(&self, _: &Repository, number: u64, body: &str) -> Outcome<Comment> {
        self.reach(number)?;
        self.write("comment", || {
            self.comment(number, "capstan[bot]", body);
            self.state().comments.last().unwrap().comment.clone()
        })
    }
    async fn react(&self, _: &Repository, comment: CommentId, reaction: Reaction) -> Outcome<()> {
        self.write("reaction", || self.state().reactions.push((comment, reaction)))
    }
}

#[async_trait]
impl Issues for World {
    async fn issue(&self, _: &Repository, number: u64) -> Outcome<Option<Issue>> {
        Ok(self
            .state()
            .issues
            .iter()
            .find(|(issue, _)| issue.number == number)
            .map(|(issue, _)| issue.clone()))
    }
    async fn opened_issues(
        &self,
        _: &Repository,
        _: jiff::Timestamp,
        _: &[u64],
    ) -> Outcome<Vec<PlacedComment>> {
        Ok(vec![])
    }
    async fn issues_by(&self, _: &Repository, author: &str) -> Outcome<Vec<Issue>> {
        let state = self.state();
        let found = state.issues.iter().filter(|(issue, _)| issue.author == author);
        Ok(found.map(|(issue, _)| issue.clone()).collect())
    }
    async fn issue_text(&self, _: &Repository, issue: &Issue) -> Outcome<IssueText> {
        let state = self.state();
        let (issue, edits) = state.issues.iter().find(|(known, _)| known.number == issue.number).unwrap();
        Ok(IssueText { body: issue.body.clone(), edits: edits.iter().rev().cloned().collect() })
    }
    async fn create_issue(&self, _: &Repository, issue: &NewIssue) -> Outcome<Issue> {
        self.meanwhile(Moment::Issue);
        self.write("issue", || {
            let mut state = self.state();
            // Far from the numbers of pull requests, which are places in a list here.
            let number = 1_000 + state.issues.len() as u64;
            let issue = Issue {
                number,
                state: IssueState::Open,
                title: issue.title.clone(),
                body: issue.body.clone(),
                author: "capstan[bot]".to_owned(),
                node_id: format!("I_{number}"),
            };
            state.issues.push((issue.clone(), vec![]));
            issue
        })
    }
    async fn edit_issue(&self, _: &Repository, number: u64, edit: &IssueEdit) -> Outcome<()> {
        self.meanwhile(Moment::IssueEdit);
        self.write("issue", || self.change_issue(number, "capstan[bot]", edit))
    }
}

#[async_trait]
impl Checks for World {
    async fn check_runs(&self, _: &Repository, head: &CommitId, _: &str) -> Outcome<Vec<CheckRun>> {
        let state = self.state();
        Ok(state.checks.iter().filter(|(check, _)| check.head == *head).map(|(c, id)| run(c, *id)).collect())
    }
    async fn verdict(&self, _: &Repository, _: &CommitId, _: &str) -> Outcome<Option<CheckState>> {
        Ok(None)
    }
    async fn create_check_run(&self, _: &Repository, check: &NewCheckRun) -> Outcome<CheckRun> {
        self.write("check", || {
            let mut state = self.state();
            let id = state.checks.len() as u64 + 1;
            state.checks.push((check.clone(), id));
            run(check, id)
        })
    }
    async fn update_check_run(&self, _: &Repository, id: u64, check: &NewCheckRun) -> Outcome<CheckRun> {
        self.write("check", || {
            self.state().checks[usize::try_from(id).unwrap() - 1] = (check.clone(), id);
            run(check, id)
        })
    }
    async fn finish_check_run(
        &self,
        repository: &Repository,
        started: &CheckRun,
        check: &NewCheckRun,
    ) -> Outcome<CheckRun> {
        self.update_check_run(repository, started.id, check).await
    }
    async fn write_above_check_run(&self, _: &Repository, _: u64, _: &str) -> Outcome<()> {
        self.write("check", || ())
    }
}

fn sidebar_list(pull: &mut PullRequest, part: SidebarPart) -> &mut Vec<String> {
    match part {
        SidebarPart::Labels => &mut pull.sidebar.labels,
        SidebarPart::Assignees => &mut pull.sidebar.assignees,
        SidebarPart::Reviewers | SidebarPart::TeamReviewers => &mut pull.sidebar.reviewers,
    }
}

fn listed(part: SidebarPart, name: &str) -> String {
    if part == SidebarPart::TeamReviewers { format!("acme/{name}") } else { name.to_owned() }
}

fn run(check: &NewCheckRun, id: u64) -> CheckRun {
    CheckRun {
        id,
        name: check.name.clone(),
        external_id: check.external_id.clone(),
        conclusion: check.conclusion,
        annotations: check.annotations.len(),
    }
}
