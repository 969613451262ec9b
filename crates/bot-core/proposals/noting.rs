//! What is written into pull requests that are otherwise not updated: people's decisions, and the end of a pull request.

use capstan_facts::PullRequest;
use capstan_plan::proposal::{
    BranchStep, Closer, Decisions, Draft, Drafted, LeaveReason, Leaving, PlanDigest, ProposalId,
    ProposalPlan, Sidebar, SidebarStanding, SourceState,
};
use capstan_plan::settings::Mode;
use capstan_plan::upgrade::Retarget;
use capstan_report::{
    Block, BlockPart, BlockPlace, ClosedBy, closed_body, decided_body, decisions_fingerprint,
};

use super::approvals::still_decided;
use super::deciding::DecidedPull;
use crate::effects::{Audited, Closing, DesiredPull, OpenText, PullText, TextEdit, audits};
use crate::facts::{Facts, Write, draft_of, part_id};
use crate::planned::PlannedRun;

/// The block to write into an open pull request that is not updated, and whether it should be a draft: it is
/// one while it is held or blocked. `None` where nothing changes.
pub fn kept_decisions<'a>(
    planned: PlannedRun<'a>,
    proposal: &ProposalId,
    (standing, DecidedPull { wanted, leaving, .. }): (&LeaveReason, &DecidedPull),
) -> Option<(&'a PullRequest, Draft, Decisions, Write)> {
    let (facts, decided) = (planned.facts, planned.decided);
    let pull = facts.open_proposal(proposal).filter(|_| planned.settings.mode != Mode::Observe)?;
    let want = match (standing, wanted) {
        (LeaveReason::Held { .. } | LeaveReason::Blocked { .. }, _) => Draft::Draft,
        // A member that has to leave cannot: people worked on the branch, or GitHub is about to merge it.
        (LeaveReason::Edited { .. } | LeaveReason::Waits { .. }, _) if *leaving == Leaving::Somebody => {
            Draft::Draft
        }
        (LeaveReason::Paused { .. }, _) => draft_of(pull),
        (_, ProposalPlan::Offer(offer)) => offer.draft,
        _ => draft_of(pull),
    };
    let changes = decided.drafted(proposal).change(draft_of(pull), want).is_some();
    let members = facts.members_of(proposal);
    let is_over = |member: &ProposalId| {
        let before = decided.of(member);
        before.hold.is_some() && before.hold_on(facts.today).is_none()
    };
    let is_new = members.iter().chain([proposal]).any(|one| decided.is_new(one) || is_over(one));
    if !is_new && !changes {
        return None;
    }
    let decisions = still_decided(planned, proposal);
    let write = decided_write(planned, proposal, &decisions);
    Some((pull, want, decisions, write))
}

/// The write of these decisions into a proposal's pull request. That of a group has the decisions of its members, too.
pub fn decided_write(planned: PlannedRun<'_>, proposal: &ProposalId, decisions: &Decisions) -> Write {
    if proposal.target.group().is_none() {
        return Write::decisions(proposal, decisions);
    }
    let members = planned.facts.members_of(proposal);
    let all = members.iter().chain([proposal]);
    let all: Vec<String> = all.map(|one| decisions_fingerprint(&planned.decided.of(one))).collect();
    Write::proposal(proposal, format!("decided: {}", all.join(" ")))
}

/// The block of a pull request that is closed. Its decisions end with it; an earlier decline is looked up
/// there.
pub fn closed_block(block: Block, by: Closer) -> Block {
    let closed_by = Some(match by {
        Closer::Capstan => ClosedBy::Capstan,
        Closer::Person => ClosedBy::Person,
    });
    let parts = block.parts.iter().map(|part| BlockPart {
        decisions: Decisions {
            skipped: part.decisions.skipped.clone().filter(|_| part.place == BlockPlace::LeftOut),
            ..Decisions::default()
        },
        retarget: Retarget::default(),
        ..part.clone()
    });
    let parts = parts.collect();
    Block { closed_by, decisions: Decisions::default(), parts, ..block }
}

/// The open pull request of a proposal that is left as it is otherwise, with what was decided about it, and as the draft
/// that it is to be. `now` is it as it is now, and `block` what its body says.
pub fn pull_with_decisions<'a>(
    planned: PlannedRun<'a>,
    proposal: &ProposalId,
    (now, block): (&'a PullRequest, Block),
    (decisions, draft): (Decisions, Draft),
) -> DesiredPull<'a> {
    let facts = planned.facts;
    let parts = block.parts.iter().map(|part| {
        let decisions = still_decided(planned, &part_id(proposal, part));
        BlockPart { decisions, ..part.clone() }
    });
    let wanted = Block { decisions, parts: parts.collect(), ..block.clone() };
    let drafted = block.drafted;
    let edit = move |drafted: Drafted, _: &SidebarStanding| {
        let wanted = Block { drafted, ..wanted.clone() };
        let body = || decided_body(&now.body, (&wanted, &facts.key));
        (wanted != block).then(|| TextEdit { title: None, body: body() })
    };
    DesiredPull {
        text: PullText::Open(OpenText { pull: now, drafted, edit: Box::new(edit), branch: BranchStep::Keep }),
        draft: Some(draft),
        sidebar: None,
        audited: Audited {
            of: Some(facts.members_of(proposal)),
            opened: "proposal-decided",
            updated: "proposal-decided",
            around: ("noted in ".to_owned(), String::new()),
        },
    }
}

/// The block of a pull request from which a person removed it, made from the source that its head names.
pub fn block_of_head(facts: &Facts, proposal: &ProposalId, pull: &PullRequest, source: SourceState) -> Block {
    Block {
        repository: facts.repository.id,
        pull_request: Some(pull.number),
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
    }
}

/// The end of a proposal's pull request, which also says who closed it and why: a person's close looks different. `block` is
/// what its body says, as far as that is known.
pub fn closing(
    facts: &Facts,
    proposal: &ProposalId,
    (now, block): (&PullRequest, Option<Block>),
    (why, by): (&str, Closer),
) -> Closing {
    let block = block.map(|block| closed_block(block, by));
    let told = match proposal.target.group() {
        None => vec![proposal.clone()],
        Some(_) => facts.members_of(proposal),
    };
    let detail = format!("#{}: {why}", now.number);
    Closing {
        body: closed_body(&now.body, why, block.as_ref().map(|block| (block, &facts.key))),
        then: audits(facts.repository.id, Some(&told), "proposal-closed", &detail),
    }
}
