//! Pull requests.

use async_trait::async_trait;
use capstan_plan::proposal::{Draft, Sidebar};

use super::overlay::{after, shortly};
use super::{DryRun, HostResult, commit_id, tell};
use capstan_ports::{
    Branches as _, CodeHostError, CreatedPullRequest, EarlierPullRequest, History as _, Installations as _,
    NewPullRequest, PullRequest, PullRequestEdit, PullRequestState, PullRequests, Repository,
};

impl DryRun {
    /// With GitHub's test merge, where the head was not written.
    async fn with_test_merge(&self, repository: &Repository, pull: PullRequest) -> HostResult<PullRequest> {
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
    async fn real(&self, repository: &Repository, number: u64) -> HostResult<Option<PullRequest>> {
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
    ) -> HostResult<PullRequest> {
        let real = self.real(repository, number).await?;
        let now = edit(&self.pull_request(repository, number).await?);
        self.note(repository, |written| written.edit(now.clone(), real));
        Ok(now)
    }
}

#[async_trait]
impl PullRequests for DryRun {
    async fn newest_pull_requests(
        &self,
        repository: &Repository,
        branches: &[String],
        base: Option<&str>,
    ) -> HostResult<Vec<EarlierPullRequest>> {
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
    ) -> HostResult<Vec<PullRequest>> {
        let real = self.host.pull_requests_since(repository, since).await?;
        Ok(self.read(repository, |written| {
            let opened = written.opened().filter(|pull| pull.created_at >= since).cloned();
            opened.chain(real.into_iter().map(|pull| written.shown(pull))).collect()
        }))
    }

    async fn open_pull_requests(&self, repository: &Repository) -> HostResult<Vec<PullRequest>> {
        let real = self.host.open_pull_requests(repository).await?;
        Ok(self.read(repository, |written| {
            let opened = written.opened().cloned().map(|mut pull| {
                // A branch moves with its pull request.
                pull.head = written.branch(&pull.head_branch, None).unwrap_or(pull.head);
                pull
            });
            let all = opened.chain(real.into_iter().map(|pull| written.shown(pull)));
            all.filter(|pull| pull.state == PullRequestState::Open).collect()
        }))
    }

    async fn recently_closed_pull_requests(&self, repository: &Repository) -> HostResult<Vec<PullRequest>> {
        // What was closed here was not merged: nobody follows it.
        self.host.recently_closed_pull_requests(repository).await
    }

    async fn pull_request(&self, repository: &Repository, number: u64) -> HostResult<PullRequest> {
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

    async fn create_pull_request(
        &self,
        repository: &Repository,
        pull: &NewPullRequest,
    ) -> HostResult<CreatedPullRequest> {
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
                merged_by: None,
                html_url: format!("{}/pulls", repository.html_url),
                node_id: format!("dry-run-{number}"),
            };
            written.open(opened.clone());
            opened
        });
        Ok(CreatedPullRequest::Created(Box::new(opened)))
    }

    async fn edit_pull_request(
        &self,
        repository: &Repository,
        number: u64,
        edit: &PullRequestEdit,
    ) -> HostResult<PullRequest> {
        let bytes = [&edit.title, &edit.body].into_iter().flatten().map(String::len).sum();
        let write = if edit.close { "pull-request-close" } else { "pull-request-edit" };
        tell(repository, write, &format!("#{number}"), bytes);
        let at = self.clock.now();
        self.edited(repository, number, |pull| after(pull, edit, at)).await
    }

    async fn set_draft(&self, repository: &Repository, pull: &PullRequest, draft: Draft) -> HostResult<()> {
        tell(repository, "draft", &format!("#{}", pull.number), 0);
        let draft = draft == Draft::Draft;
        self.edited(repository, pull.number, |pull| PullRequest { draft, ..pull.clone() }).await.map(drop)
    }
}
