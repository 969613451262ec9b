//! Publishing a proposal: its branch, then its pull request with what stands beside it; and its end.

use capstan_bot_core::effects::Effect;
use capstan_bot_core::proposals::{Intent, closed_block};
use capstan_plan::proposal::{
    BranchStep, Closer, Decisions, Draft, Drafted, PlanDigest, ProposalId, Sidebar, SidebarStanding,
    TitleDigest, TitleStep,
};
use capstan_plan::upgrade::Retarget;
use capstan_report::{Block, closed_body};
use tracing::Instrument as _;

use super::{Run, SyncError};
use crate::performing::{Branched, Published};
use capstan_ports::{NewPullRequest, PullRequest};

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
        let Some(branch) = intent.desired_branch(self.facts)? else { return Ok(Branched::Stands) };
        let open = intent.pull.map(|pull| pull.number);
        let branched = self.performer.bring_branch_up(&branch, open).await?;
        if let Branched::Written(commit) = &branched {
            let place = (open, commit);
            let noted = intent.noted_in_records(self.facts, place, self.ports.clock.now());
            self.performer.perform_all(noted).await?;
        }
        Ok(branched)
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
        let Some(pull) = self.performer.open(&new).await? else { return Ok(Published::Overtaken) };
        let number = pull.number;
        if intent.holds_decisions() {
            // A decision counts only in a block that names its pull request.
            self.performer.write_text(number, None, body(Some(number), &nothing)).await?;
        }
        let place = (Some(number), &pull.head);
        let noted = intent.noted_in_records(self.facts, place, self.ports.clock.now());
        self.performer.perform_all(noted).await?;
        let detail = format!("offers {} in #{number}", intent.offer.source.source());
        self.performer.audit_each(&intent.members(), "proposal-opened", &detail).await?;
        let asked = Sidebar::asked(&intent.settings.upgrade.proposals);
        let sidebar = self.performer.bring_sidebar(intent.proposal, &pull, &asked, &nothing.done).await?;
        if sidebar != nothing {
            self.performer.write_text(number, None, body(Some(number), &sidebar)).await?;
        }
        Ok(Published::Opened(number))
    }

    /// Rewrites the text only where Capstan has something new to say: what people added stays till then.
    async fn update_text(&self, intent: &Intent<'_>, pull: &PullRequest) -> Result<Published, SyncError> {
        let (drafted, then) = self.performer.note_draft(pull, intent.drafted, intent.offer.draft).await?;
        let block = self.facts.block(intent.proposal, pull.number, &pull.body);
        let asked = Sidebar::asked(&intent.settings.upgrade.proposals);
        // Where a person took the block out, nobody knows what was done: nothing is done again then.
        let done = block.as_ref().map_or(&asked, |block| &block.sidebar);
        let sidebar = self.performer.bring_sidebar(intent.proposal, pull, &asked, done).await?;
        let title = self.title_step(intent, pull, block.as_ref()).await?;
        let current = block.as_ref().is_some_and(|block| intent.is_said(block, drafted, &sidebar, &title));
        let moved = intent.branch != BranchStep::Keep;
        if !current {
            let of = (self.repository.id, Some(pull.number));
            let body = intent.body(of, drafted, &sidebar, &title.written, &self.facts.key);
            self.performer.write_text(pull.number, title.write, body).await?;
        }
        if let Some(to) = then {
            self.performer.make_draft(pull, to).await?;
        }
        if moved || !current {
            let detail = format!("offers {} in #{}", intent.offer.source.source(), pull.number);
            self.performer.audit_each(&intent.members(), "proposal-updated", &detail).await?;
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

    /// Closes a proposal in one call that also says who did and why: a person's close looks different. Of those whose
    /// changes it brought, these are carried nowhere now.
    pub(super) async fn close(
        &self,
        (proposal, members): (&ProposalId, &[ProposalId]),
        pull: &PullRequest,
        why: &str,
        by: Closer,
    ) -> Result<(), SyncError> {
        let Some(now) = self.performer.still_open(pull.number).await? else { return Ok(()) };
        let body = match self.block_of(proposal, &now).await? {
            Some(block) => {
                let block = closed_block(block, by);
                closed_body(&now.body, why, Some((&block, &self.facts.key)))
            }
            None => closed_body(&now.body, why, None),
        };
        self.performer.close(pull.number, body).await?;
        self.performer.perform_all(members.iter().cloned().map(Effect::ForgetProposal)).await?;
        let told = if proposal.target.group().is_none() {
            vec![proposal.clone()]
        } else {
            self.facts.members_of(proposal)
        };
        let detail = format!("#{}: {why}", pull.number);
        self.performer.audit_each(&told, "proposal-closed", &detail).await
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
}
