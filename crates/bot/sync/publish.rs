//! Publishing a proposal: at most four writes (tree, commit, reference, pull request), in an order in
//! which a death between any two leaves something that the next run recognises and completes.
//!
//! A tree or a commit that no reference names is garbage of no consequence. A branch without its pull
//! request is found by its name and trailers. A branch that was moved under a pull request whose text
//! is old is found by the folded block in that text.

use capstan_bot_core::proposals::{Intent, closed_block};
use capstan_model::tree::{CommitId, EntryKind, TreeId};
use capstan_plan::proposal::{
    BranchStep, Closer, Decisions, Draft, Drafted, Guarded, PlanDigest, ProposalId, Sidebar, SidebarStanding,
    TitleDigest, TitleStep, guard_upgrade,
};
use capstan_plan::upgrade::Retarget;
use capstan_report::{Block, closed_body, sealed_message};
use tracing::Instrument as _;

use super::{Run, SyncError};
use capstan_ports::{
    AuditEntry, CommitMetadata, CreatedPullRequest, CreatedReference, MovedReference, NewPullRequest,
    NewTreeEntry, ProposalRecord, PullRequest, PullRequestEdit, PullRequestState, Snapshot,
};

/// What came of it.
pub(super) enum Published {
    /// A pull request was opened.
    Opened(u64),
    /// The branch or the text of a pull request was brought up to date.
    Updated(u64),
    /// All was as wanted.
    Unchanged(u64),
    /// GitHub's rules refuse it, in its words.
    Refused(String),
    /// Somebody else was quicker: look again.
    Overtaken,
}

/// Whether the branch of a proposal is as wanted.
pub(super) enum Branched {
    /// It is: what is shown of it is next.
    Stands,
    /// Nothing more is done.
    Ends(Published),
}

impl Run<'_> {
    /// The first half of an intention, which the second one builds upon: its commit and its branch. Looks at what exists
    /// before each write.
    pub(super) async fn bring_branch_up(&self, intent: &Intent<'_>) -> Result<Branched, SyncError> {
        self.write_branch(intent).instrument(self.span_of(intent)).await
    }

    /// The second half: the pull request.
    pub(super) async fn publish(&self, intent: &Intent<'_>) -> Result<Published, SyncError> {
        let span = self.span_of(intent);
        let published = match intent.pull {
            Some(pull) => self.update_text(intent, pull).instrument(span.clone()).await,
            None => self.open(intent, intent.proposal.branch()).instrument(span.clone()).await,
        };
        if let Ok(Published::Opened(number)) = &published {
            span.record("pull_request", number);
        }
        published
    }

    fn span_of(&self, intent: &Intent<'_>) -> tracing::Span {
        tracing::info_span!(
            "proposal",
            repository = %self.repository.name,
            cluster = intent.proposal.target.path(),
            pull_request = intent.pull.map(|pull| pull.number),
        )
    }

    async fn write_branch(&self, intent: &Intent<'_>) -> Result<Branched, SyncError> {
        if intent.branch == BranchStep::Keep {
            return Ok(Branched::Stands);
        }
        let branch = intent.proposal.branch();
        let (host, repository) = (&self.ports.host, self.repository);
        if let Some(pull) = intent.pull
            && host.pull_request(repository, pull.number).await?.state != PullRequestState::Open
        {
            return Ok(Branched::Ends(Published::Overtaken));
        }
        let commit = self.write_commit(intent).await?;
        let moved = match &intent.branch {
            BranchStep::Move { before } => host.move_branch(repository, &branch, before, &commit).await?,
            BranchStep::Create | BranchStep::Keep => {
                match host.create_branch(repository, &branch, &commit).await? {
                    CreatedReference::Created => MovedReference::Moved,
                    CreatedReference::Exists => MovedReference::Elsewhere,
                    CreatedReference::Refused => {
                        MovedReference::Refused(format!("the branch {branch} may not be created"))
                    }
                }
            }
        };
        match moved {
            MovedReference::Moved => {}
            MovedReference::Elsewhere => return Ok(Branched::Ends(Published::Overtaken)),
            MovedReference::Refused(why) => return Ok(Branched::Ends(Published::Refused(why))),
        }
        self.record(intent, intent.pull.map(|pull| pull.number), commit).await?;
        self.forget_those_without(intent).await?;
        Ok(Branched::Stands)
    }

    async fn write_commit(&self, intent: &Intent<'_>) -> Result<CommitId, SyncError> {
        let mut guarded = Vec::with_capacity(intent.parts.len());
        for part in &intent.parts {
            guarded.push(guard_upgrade(&part.scope, self.facts.base.tree.as_ref(), part.upgrade)?);
        }
        self.commit_on_base(&intent.proposal.branch(), Guarded::together(guarded), intent.commit_message())
            .await
    }

    /// A commit of files on the tip of the base branch, for a branch.
    pub(super) async fn commit_on_base(
        &self,
        branch: &str,
        files: Guarded<'_>,
        message: String,
    ) -> Result<CommitId, SyncError> {
        self.commit_on((branch, &self.facts.base), files, message).await
    }

    /// The one place that builds trees of clusters: of files alone that were let past the gate.
    pub(super) async fn commit_on(
        &self,
        (branch, parent): (&str, &Snapshot),
        files: Guarded<'_>,
        message: String,
    ) -> Result<CommitId, SyncError> {
        let is_executable = |path| parent.tree.entry(path).is_some_and(|e| e.kind == EntryKind::Executable);
        let changed = files.files().filter(|file| file.before != file.after);
        let entries: Vec<NewTreeEntry> = changed
            .map(|file| match &file.after {
                Some(text) => NewTreeEntry::Write {
                    path: file.path.clone(),
                    text: text.clone(),
                    executable: is_executable(&file.path),
                },
                None => NewTreeEntry::Delete { path: file.path.clone() },
            })
            .collect();
        let tree = self.ports.host.create_tree(self.repository, &parent.root, &entries).await?;
        self.write_sealed(branch, &parent.commit, tree, message).await
    }

    /// The one place that makes commits: each has the seal by which it is known again.
    pub(super) async fn write_sealed(
        &self,
        branch: &str,
        parent: &CommitId,
        tree: TreeId,
        message: String,
    ) -> Result<CommitId, SyncError> {
        let place = (self.repository.id, branch);
        let message = sealed_message(message, place, (parent, &tree), &self.facts.key);
        let commit = CommitMetadata { message, tree, parents: vec![parent.clone()] };
        Ok(self.ports.host.create_commit(self.repository, &commit).await?)
    }

    async fn open(&self, intent: &Intent<'_>, branch: String) -> Result<Published, SyncError> {
        let nothing = SidebarStanding::default();
        let drafted = Drafted::made(intent.offer.draft);
        let title = intent.wanted_title();
        let written = TitleDigest::of(&title);
        let body = |number: Option<u64>, sidebar: &SidebarStanding| {
            intent.body((self.repository.id, number), drafted, sidebar, &written, &self.facts.key)
        };
        let new = NewPullRequest {
            title,
            body: body(None, &nothing),
            head_branch: branch,
            base_branch: self.repository.default_branch.clone(),
            draft: intent.offer.draft == Draft::Draft,
        };
        match self.ports.host.create_pull_request(self.repository, &new).await? {
            CreatedPullRequest::Created(pull) => {
                if intent.holds_decisions() {
                    // A decision counts only in a block that names its pull request.
                    self.write_body(pull.number, body(Some(pull.number), &nothing)).await?;
                }
                self.record(intent, Some(pull.number), pull.head.clone()).await?;
                let detail = format!("offers {} in #{}", intent.offer.source.source(), pull.number);
                self.audit_parts(intent, "proposal-opened", &detail).await?;
                let asked = Sidebar::asked(&intent.settings.upgrade.proposals);
                let sidebar = self.bring_sidebar(intent.proposal, &pull, &asked, &nothing.done).await?;
                if sidebar != nothing {
                    self.write_body(pull.number, body(Some(pull.number), &sidebar)).await?;
                }
                Ok(Published::Opened(pull.number))
            }
            CreatedPullRequest::Exists | CreatedPullRequest::NothingBetween => Ok(Published::Overtaken),
        }
    }

    /// Rewrites the text only where Capstan has something new to say: what people added stays till then.
    async fn update_text(&self, intent: &Intent<'_>, pull: &PullRequest) -> Result<Published, SyncError> {
        let (drafted, then) = self.note_draft(pull, intent.drafted, intent.offer.draft).await?;
        let block = self.facts.block(intent.proposal, pull.number, &pull.body);
        let asked = Sidebar::asked(&intent.settings.upgrade.proposals);
        // Where a person took the block out, nobody knows what was done: nothing is done again then.
        let done = block.as_ref().map_or(&asked, |block| &block.sidebar);
        let sidebar = self.bring_sidebar(intent.proposal, pull, &asked, done).await?;
        let title = self.title_step(intent, pull, block.as_ref()).await?;
        let current = block.as_ref().is_some_and(|block| intent.is_said(block, drafted, &sidebar, &title));
        let moved = intent.branch != BranchStep::Keep;
        if !current {
            let of = (self.repository.id, Some(pull.number));
            let body = intent.body(of, drafted, &sidebar, &title.written, &self.facts.key);
            let edit = PullRequestEdit { title: title.write, body: Some(body), close: false };
            self.ports.host.edit_pull_request(self.repository, pull.number, &edit).await?;
        }
        if let Some(to) = then {
            self.make_draft(pull, to).await?;
        }
        if moved || !current {
            let detail = format!("offers {} in #{}", intent.offer.source.source(), pull.number);
            self.audit_parts(intent, "proposal-updated", &detail).await?;
            return Ok(Published::Updated(pull.number));
        }
        Ok(Published::Unchanged(pull.number))
    }

    /// What becomes of the title of an open pull request.
    async fn title_step(
        &self,
        intent: &Intent<'_>,
        pull: &PullRequest,
        block: Option<&Block>,
    ) -> Result<TitleStep, SyncError> {
        let offered = match block {
            Some(block) => Some(block.source.clone()),
            None => self.source_of_commit(&pull.head).await?,
        };
        Ok(intent.title_step(&pull.title, block, offered.as_ref()))
    }

    async fn write_body(&self, number: u64, body: String) -> Result<(), SyncError> {
        let edit = PullRequestEdit { title: None, body: Some(body), close: false };
        self.ports.host.edit_pull_request(self.repository, number, &edit).await?;
        Ok(())
    }

    /// Closes a proposal in one call that also says who did and why: a person's close looks different. Of those whose
    /// changes it brought, these are carried nowhere now.
    pub(super) async fn close(
        &self,
        (proposal, members): (&ProposalId, &[ProposalId]),
        pull: &PullRequest,
        why: &str,
        by: Closer,
    ) -> Result<(), SyncError> {
        let now = self.ports.host.pull_request(self.repository, pull.number).await?;
        if now.state != PullRequestState::Open {
            return Ok(());
        }
        let body = match self.block_of(proposal, &now).await? {
            Some(block) => {
                let block = closed_block(block, by);
                closed_body(&now.body, why, Some((&block, &self.facts.key)))
            }
            None => closed_body(&now.body, why, None),
        };
        let edit = PullRequestEdit { title: None, body: Some(body), close: true };
        self.ports.host.edit_pull_request(self.repository, pull.number, &edit).await?;
        for member in members {
            self.ports.records.forget_proposal(self.repository.id, member).await?;
        }
        let told = if proposal.target.group().is_none() {
            vec![proposal.clone()]
        } else {
            self.facts.members_of(proposal)
        };
        for one in &told {
            self.audit(one, "proposal-closed", format!("#{}: {why}", pull.number)).await?;
        }
        Ok(())
    }

    /// The block of a proposal's body; where a person took it out, one of what the head says, if Capstan wrote that.
    pub(super) async fn block_of(
        &self,
        proposal: &ProposalId,
        pull: &PullRequest,
    ) -> Result<Option<Block>, SyncError> {
        let repository = self.repository.id;
        let pull_request = Some(pull.number);
        if let Some(block) = self.facts.block(proposal, pull.number, &pull.body) {
            return Ok(Some(Block { pull_request, ..block }));
        }
        let source = self.source_of_commit(&pull.head).await?;
        Ok(source.map(|source| Block {
            repository,
            pull_request,
            target: proposal.target.clone(),
            source,
            plan: PlanDigest::of(&[]),
            retarget: Retarget::default(),
            text: String::new(),
            decisions: Decisions::default(),
            drafted: Drafted::No,
            title: None,
            sidebar: Sidebar::default(),
            closed_by: None,
            parts: Vec::new(),
            after: None,
            previous: Vec::new(),
        }))
    }

    /// Remembers what stands on a branch, for each of those whose changes it brings.
    async fn record(
        &self,
        intent: &Intent<'_>,
        pull_request: Option<u64>,
        head: CommitId,
    ) -> Result<(), SyncError> {
        let opened_at = intent.pull.map_or_else(|| self.ports.clock.now(), |pull| pull.created_at);
        for part in &intent.parts {
            let record = ProposalRecord {
                repository: self.repository.id,
                proposal: part.proposal.clone(),
                pull_request,
                source: intent.offer.source.to_string(),
                plan: intent.offer.plan.to_string(),
                head: head.clone(),
                opened_at,
            };
            self.ports.records.save_proposal(&record).await?;
        }
        Ok(())
    }

    /// Forgets those whose changes the pull request brings no more.
    async fn forget_those_without(&self, intent: &Intent<'_>) -> Result<(), SyncError> {
        let (Some(pull), Some(_)) = (intent.pull, intent.proposal.target.group()) else { return Ok(()) };
        for (proposal, record) in &self.facts.records {
            let is_in = intent.parts.iter().any(|part| part.proposal == proposal);
            if record.pull_request == Some(pull.number) && !is_in {
                self.ports.records.forget_proposal(self.repository.id, proposal).await?;
            }
        }
        Ok(())
    }

    async fn audit_parts(
        &self,
        intent: &Intent<'_>,
        action: &'static str,
        detail: &str,
    ) -> Result<(), SyncError> {
        for part in &intent.parts {
            self.audit(part.proposal, action, detail.to_owned()).await?;
        }
        Ok(())
    }

    /// What was done about a pull request, for the history of each cluster whose changes it brings.
    pub(super) async fn audit_each(
        &self,
        members: &[ProposalId],
        action: &'static str,
        detail: &str,
    ) -> Result<(), SyncError> {
        for member in members {
            self.audit(member, action, detail.to_owned()).await?;
        }
        Ok(())
    }

    pub(super) async fn audit(
        &self,
        proposal: &ProposalId,
        action: &'static str,
        detail: String,
    ) -> Result<(), SyncError> {
        let entry = AuditEntry {
            repository: self.repository.id,
            proposal: Some(proposal.clone()),
            actor: "capstan".to_owned(),
            action,
            detail,
        };
        Ok(self.ports.records.audit(&entry).await?)
    }
}
