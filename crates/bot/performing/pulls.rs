//! Branches and pull requests, written: at most four writes (tree, commit, reference, pull request), in an order in which a
//! death between any two leaves something that the next run recognises and completes.
//!
//! A tree or a commit that no reference names is garbage of no consequence. A branch without its pull request is found by
//! its name and trailers. A branch that was moved under a pull request whose text is old is found by the folded block in
//! that text.

use capstan_bot_core::effects::{
    Closing, Desired, DesiredBranch, DesiredPull, DesiredSidebar, NewText, Numbered, OpenText, Published,
    PullText, TextEdit,
};
use capstan_bot_core::facts::{Write, draft_of};
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{BranchStep, Draft, Drafted, SidebarStanding};
use capstan_report::sealed_message;

use super::{Performed, Performer, SyncError};
use capstan_ports::{
    CommitMetadata, CreatedPullRequest, CreatedReference, MovedReference, PullRequest, PullRequestEdit,
    PullRequestState,
};

/// The result of bringing a branch up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Branched {
    /// It was as wanted.
    Unchanged,
    /// It is at this commit now.
    Written(CommitId),
    /// Nothing more is done.
    Ends(Published),
}

impl Performer<'_> {
    /// Brings a branch and its pull request to what they should be.
    pub(crate) async fn bring_up(&self, desired: &Desired<'_>) -> Result<Published, SyncError> {
        let open = desired.pull.open().map(|pull| pull.number);
        if let Branched::Ends(published) = self.bring_branch_up(&desired.branch, open).await? {
            return Ok(published);
        }
        self.bring_pull_up(&desired.pull).await
    }

    /// Brings a pull request to what it should be, once its branch is there: the one place that opens pull requests and
    /// writes their text.
    pub(crate) async fn bring_pull_up(&self, desired: &DesiredPull<'_>) -> Result<Published, SyncError> {
        match &desired.text {
            PullText::New(new) => self.open(desired, new).await,
            PullText::Open(open) => self.update(desired, open).await,
        }
    }

    async fn open(&self, desired: &DesiredPull<'_>, new: &NewText<'_>) -> Result<Published, SyncError> {
        let opened = new.opened(&self.repository.default_branch, desired.draft);
        let pull = match self.host.create_pull_request(self.repository, &opened).await? {
            CreatedPullRequest::Created(pull) => pull,
            CreatedPullRequest::Exists | CreatedPullRequest::NothingBetween => {
                return Ok(Published::Overtaken);
            }
        };
        let (number, nothing) = (pull.number, SidebarStanding::default());
        let numbered =
            |sidebar: &SidebarStanding| TextEdit { title: None, body: (new.body)(Some(number), sidebar) };
        if new.numbered == Numbered::AtOnce {
            self.write_text(number, numbered(&nothing)).await?;
        }
        self.perform_all((new.remembered)(&pull)).await?;
        self.perform_all(desired.audited.entries(self.repository.id, desired.audited.opened, number)).await?;
        let sidebar = self.sidebar_of(desired, &pull).await?;
        if sidebar != nothing {
            self.write_text(number, numbered(&sidebar)).await?;
        }
        Ok(Published::Opened(number))
    }

    async fn update(&self, desired: &DesiredPull<'_>, open: &OpenText<'_>) -> Result<Published, SyncError> {
        let (pull, number) = (open.pull, open.pull.number);
        let (drafted, then) = match desired.draft {
            Some(want) => self.note_draft(pull, open.drafted, want).await?,
            None => (open.drafted, None),
        };
        let sidebar = self.sidebar_of(desired, pull).await?;
        let edit = (open.edit)(drafted, &sidebar);
        let is_said = edit.is_none();
        if let Some(edit) = edit {
            self.write_text(number, edit).await?;
        }
        if let Some(to) = then {
            self.make_draft(pull, to).await?;
        }
        if is_said && open.branch == BranchStep::Keep {
            return Ok(Published::Unchanged(number));
        }
        self.perform_all(desired.audited.entries(self.repository.id, desired.audited.updated, number))
            .await?;
        Ok(Published::Updated(number))
    }

    /// Adds the labels, assignees and reviewers that the settings ask for, and says which GitHub took.
    async fn sidebar_of(
        &self,
        desired: &DesiredPull<'_>,
        pull: &PullRequest,
    ) -> Result<SidebarStanding, SyncError> {
        let Some(DesiredSidebar { proposal, asked, done }) = &desired.sidebar else {
            return Ok(SidebarStanding::default());
        };
        self.bring_sidebar(proposal, pull, asked, done).await
    }

    /// Remembers whether GitHub took a pull request, or refused it; `None` is one that a person works on.
    pub(crate) async fn settle(
        &self,
        write: &Write,
        published: Result<Option<Published>, SyncError>,
    ) -> Result<Option<Published>, SyncError> {
        let published = match published {
            Err(SyncError::Host(error)) if error.is_refusal() => Some(Published::Refused(error.to_string())),
            published => published?,
        };
        match &published {
            Some(Published::Refused(why)) => {
                self.refused(write, why).await?;
            }
            Some(Published::Overtaken) => {}
            None | Some(_) => self.taken(write).await?,
        }
        Ok(published)
    }

    /// Brings a branch to what it should be: the one place that makes commits. Each has the seal by which it is known
    /// again. Once its open pull request is closed, nothing is written.
    pub(crate) async fn bring_branch_up(
        &self,
        branch: &DesiredBranch<'_>,
        open: Option<u64>,
    ) -> Result<Branched, SyncError> {
        if branch.step == BranchStep::Keep {
            return Ok(Branched::Unchanged);
        }
        let (host, repository, name) = (self.host, self.repository, branch.name.as_str());
        if let Some(number) = open
            && host.pull_request(repository, number).await?.state != PullRequestState::Open
        {
            return Ok(Branched::Ends(Published::Overtaken));
        }
        let parent = branch.parent;
        let tree = host.create_tree(repository, &parent.root, &branch.entries()).await?;
        let place = (repository.id, name);
        let message = sealed_message(branch.message.clone(), place, (&parent.commit, &tree), branch.key);
        let commit = CommitMetadata { message, tree, parents: vec![parent.commit.clone()] };
        let commit = host.create_commit(repository, &commit).await?;
        let moved = match &branch.step {
            BranchStep::Move { before } => host.move_branch(repository, name, before, &commit).await?,
            BranchStep::Create | BranchStep::Keep => {
                match host.create_branch(repository, name, &commit).await? {
                    CreatedReference::Created => MovedReference::Moved,
                    CreatedReference::Exists => MovedReference::Elsewhere,
                    CreatedReference::Refused => {
                        MovedReference::Refused(format!("the branch {name} may not be created"))
                    }
                }
            }
        };
        Ok(match moved {
            MovedReference::Moved => Branched::Written(commit),
            MovedReference::Elsewhere => Branched::Ends(Published::Overtaken),
            MovedReference::Refused(why) => Branched::Ends(Published::Refused(why)),
        })
    }

    async fn write_text(&self, number: u64, text: TextEdit) -> Result<(), SyncError> {
        let edit = PullRequestEdit { title: text.title, body: Some(text.body), close: false };
        self.host.edit_pull_request(self.repository, number, &edit).await?;
        Ok(())
    }

    /// Closes a pull request with a new body, in one call.
    pub(crate) async fn close(&self, number: u64, closing: Closing) -> Result<(), SyncError> {
        let edit = PullRequestEdit { title: None, body: Some(closing.body), close: true };
        self.host.edit_pull_request(self.repository, number, &edit).await?;
        self.perform_all(closing.then).await
    }

    /// A pull request as it is now.
    pub(crate) async fn read_pull(&self, number: u64) -> Result<PullRequest, SyncError> {
        Ok(self.host.pull_request(self.repository, number).await?)
    }

    /// The same; `None` where it is not open.
    pub(crate) async fn still_open(&self, number: u64) -> Result<Option<PullRequest>, SyncError> {
        let now = self.read_pull(number).await?;
        Ok((now.state == PullRequestState::Open).then_some(now))
    }

    /// What the body records about a pull request that should be a draft or ready, and the change to make once the body
    /// records it. Before Capstan makes a draft, the body records that Capstan does so: nobody takes the draft for a
    /// person's choice, and one that GitHub refuses is not tried again at every turn. When Capstan makes the pull
    /// request ready, it does so first, and the body changes afterwards.
    async fn note_draft(
        &self,
        pull: &PullRequest,
        was: Drafted,
        want: Draft,
    ) -> Result<(Drafted, Option<Draft>), SyncError> {
        let now = draft_of(pull);
        Ok(match was.change(now, want) {
            None => (was.noted(now, want), None),
            Some(Draft::Draft) => (Drafted::ByCapstan, Some(Draft::Draft)),
            Some(Draft::Ready) => match self.make_draft(pull, Draft::Ready).await? {
                Performed::Done => (Drafted::No, None),
                Performed::Refused(_) => (was, None),
            },
        })
    }

    /// Makes a pull request a draft, or ready.
    async fn make_draft(&self, pull: &PullRequest, to: Draft) -> Result<Performed, SyncError> {
        match self.host.set_draft(self.repository, pull, to).await {
            // Some plans of GitHub have no drafts.
            Err(error) if error.is_refusal() => {
                tracing::warn!(repository = %self.repository.name, pull_request = pull.number, error = %error, "GitHub refuses to change whether a pull request is a draft");
                Ok(Performed::Refused(error.to_string()))
            }
            made => Ok(made.map(|()| Performed::Done)?),
        }
    }
}
