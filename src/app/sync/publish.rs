//! Publishing a proposal: at most four writes (tree, commit, reference, pull request), in an order in
//! which a death between any two leaves something that the next run recognises and completes.
//!
//! A tree or a commit that no reference names is garbage of no consequence. A branch without its pull
//! request is found by its name and trailers. A branch that was moved under a pull request whose text
//! is old is found by the folded block in that text.

use capstan_model::source::SourceKind;
use capstan_model::tree::{CommitId, EntryKind};
use capstan_plan::proposal::{BranchStep, Draft, Offer, ProposalId, ReleasesOrigin, Scope, guard};
use capstan_plan::upgrade::{Retarget, Upgrade};
use capstan_report::{
    Block, ClosedBy, Proposal, closed_body, commit_message, proposal_body, proposal_title, text_digest,
    visible_text,
};

use super::{Run, SyncError};
use crate::app::ports::{
    AuditEntry, CommitMetadata, CreatedPullRequest, CreatedReference, MovedReference, NewPullRequest,
    NewTreeEntry, ProposalRecord, PullRequest, PullRequestEdit, PullRequestState,
};

/// What is published.
pub(super) struct Intent<'a> {
    pub(super) proposal: &'a ProposalId,
    pub(super) scope: &'a Scope,
    pub(super) upgrade: &'a Upgrade,
    pub(super) offer: &'a Offer,
    pub(super) branch: BranchStep,
    /// The open pull request, where there is one.
    pub(super) pull: Option<&'a PullRequest>,
    pub(super) command_prefix: &'a str,
    /// Where what is offered comes from, where that is another repository.
    pub(super) origin: Option<&'a ReleasesOrigin>,
    /// The management cluster whose reconciler reports on the target.
    pub(super) reporter: Option<&'a str>,
}

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

impl Run<'_> {
    /// Performs the intention; looks at what exists before each write.
    pub(super) async fn publish(&self, intent: &Intent<'_>) -> Result<Published, SyncError> {
        let branch = intent.proposal.branch();
        let (host, repository) = (&self.ports.host, self.repository);
        if intent.branch != BranchStep::Keep {
            if let Some(pull) = intent.pull
                && host.pull_request(repository, pull.number).await?.state != PullRequestState::Open
            {
                return Ok(Published::Overtaken);
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
                MovedReference::Elsewhere => return Ok(Published::Overtaken),
                MovedReference::Refused(why) => return Ok(Published::Refused(why)),
            }
            self.record(intent, intent.pull.map(|pull| pull.number), commit).await?;
        }
        match intent.pull {
            Some(pull) => self.update_text(intent, pull).await,
            None => self.open(intent, branch).await,
        }
    }

    /// The one place that builds trees: nothing outside the target's scope gets past it.
    async fn write_commit(&self, intent: &Intent<'_>) -> Result<CommitId, SyncError> {
        guard(intent.scope, &intent.upgrade.files)?;
        let base = &self.facts.base;
        let changed = intent.upgrade.files.iter().filter(|file| file.before != file.after);
        let entries: Vec<NewTreeEntry> = changed
            .map(|file| match &file.after {
                Some(text) => NewTreeEntry::Write {
                    path: file.path.clone(),
                    text: text.clone(),
                    executable: base.tree.entry(&file.path).is_some_and(|e| e.kind == EntryKind::Executable),
                },
                None => NewTreeEntry::Delete { path: file.path.clone() },
            })
            .collect();
        let tree = self.ports.host.create_tree(self.repository, &base.root, &entries).await?;
        let offer = intent.offer;
        let message = commit_message(intent.upgrade, &offer.source, &offer.plan, intent.origin_of_offer());
        let commit = CommitMetadata { message, tree, parents: vec![base.commit.clone()] };
        Ok(self.ports.host.create_commit(self.repository, &commit).await?)
    }

    async fn open(&self, intent: &Intent<'_>, branch: String) -> Result<Published, SyncError> {
        let text = intent.proposal();
        let new = NewPullRequest {
            title: proposal_title(&text),
            body: proposal_body(&text, self.repository.id, None, &self.ports.key),
            head_branch: branch,
            base_branch: self.repository.default_branch.clone(),
            draft: intent.offer.draft == Draft::Draft,
        };
        match self.ports.host.create_pull_request(self.repository, &new).await? {
            CreatedPullRequest::Created(pull) => {
                if text.retarget == Retarget::Allowed {
                    // A decision counts only in a block that names its pull request.
                    let body = proposal_body(&text, self.repository.id, Some(pull.number), &self.ports.key);
                    let edit = PullRequestEdit { title: None, body: Some(body), close: false };
                    self.ports.host.edit_pull_request(self.repository, pull.number, &edit).await?;
                }
                self.record(intent, Some(pull.number), pull.head.clone()).await?;
                let detail = format!("offers {} in #{}", intent.offer.source.source(), pull.number);
                self.audit(intent.proposal, "proposal-opened", detail).await?;
                Ok(Published::Opened(pull.number))
            }
            CreatedPullRequest::Exists | CreatedPullRequest::NothingBetween => Ok(Published::Overtaken),
        }
    }

    /// Rewrites the text only where Capstan has something new to say: what people added stays till then.
    async fn update_text(&self, intent: &Intent<'_>, pull: &PullRequest) -> Result<Published, SyncError> {
        let text = intent.proposal();
        let block =
            Block::read(&pull.body, &self.ports.key, self.repository.id, pull.number, intent.proposal);
        let written = text_digest(&visible_text(&text));
        let current = block.as_ref().is_some_and(|block| {
            block.source == intent.offer.source
                && block.plan == intent.offer.plan
                && block.text == written
                && block.retarget == text.retarget
                && block.closed_by.is_none()
        });
        let moved = intent.branch != BranchStep::Keep;
        if !current {
            let same_target = block.is_some_and(|block| block.source == intent.offer.source);
            let edit = PullRequestEdit {
                title: (!same_target).then(|| proposal_title(&text)),
                body: Some(proposal_body(&text, self.repository.id, Some(pull.number), &self.ports.key)),
                close: false,
            };
            self.ports.host.edit_pull_request(self.repository, pull.number, &edit).await?;
        }
        if moved || !current {
            let detail = format!("offers {} in #{}", intent.offer.source.source(), pull.number);
            self.audit(intent.proposal, "proposal-updated", detail).await?;
            return Ok(Published::Updated(pull.number));
        }
        Ok(Published::Unchanged(pull.number))
    }

    /// Closes a proposal in one call that also says who did and why: a person's close looks different.
    pub(super) async fn close(
        &self,
        proposal: &ProposalId,
        pull: &PullRequest,
        why: &str,
    ) -> Result<(), SyncError> {
        let now = self.ports.host.pull_request(self.repository, pull.number).await?;
        if now.state != PullRequestState::Open {
            return Ok(());
        }
        let read = Block::read(&now.body, &self.ports.key, self.repository.id, pull.number, proposal);
        let source = match &read {
            Some(block) => Some(block.source.clone()),
            None => self.source_of_commit(&now.head).await?,
        };
        let body = match (source, read) {
            (Some(source), read) => {
                let plan = read
                    .as_ref()
                    .map_or_else(|| capstan_plan::proposal::PlanDigest::of(&[]), |block| block.plan.clone());
                let block = Block {
                    repository: self.repository.id,
                    pull_request: Some(pull.number),
                    target: proposal.target.clone(),
                    source,
                    plan,
                    retarget: read.as_ref().map(|block| block.retarget).unwrap_or_default(),
                    text: read.map(|block| block.text).unwrap_or_default(),
                    closed_by: Some(ClosedBy::Capstan),
                };
                closed_body(&now.body, why, Some((&block, &self.ports.key)))
            }
            (None, _) => closed_body(&now.body, why, None),
        };
        let edit = PullRequestEdit { title: None, body: Some(body), close: true };
        self.ports.host.edit_pull_request(self.repository, pull.number, &edit).await?;
        self.ports.records.forget_proposal(self.repository.id, proposal).await?;
        self.audit(proposal, "proposal-closed", format!("#{}: {why}", pull.number)).await
    }

    async fn record(
        &self,
        intent: &Intent<'_>,
        pull_request: Option<u64>,
        head: CommitId,
    ) -> Result<(), SyncError> {
        let opened_at = intent.pull.map_or_else(|| self.ports.clock.now(), |pull| pull.created_at);
        let record = ProposalRecord {
            repository: self.repository.id,
            proposal: intent.proposal.clone(),
            pull_request,
            source: intent.offer.source.to_string(),
            plan: intent.offer.plan.to_string(),
            head,
            opened_at,
        };
        Ok(self.ports.records.save_proposal(&record).await?)
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

impl<'a> Intent<'a> {
    /// Where what is offered comes from, where that is another repository: releases alone do.
    fn origin_of_offer(&self) -> Option<&'a ReleasesOrigin> {
        self.origin.filter(|_| *self.offer.source.source().kind() == SourceKind::RELEASE)
    }

    fn proposal(&self) -> Proposal<'a> {
        Proposal {
            upgrade: self.upgrade,
            source: &self.offer.source,
            plan: &self.offer.plan,
            origin: self.origin_of_offer(),
            command_prefix: self.command_prefix,
            retarget: self.scope.retarget,
            reporter: self.reporter,
        }
    }
}
