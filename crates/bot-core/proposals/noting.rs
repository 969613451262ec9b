//! Whether people's decisions are written into pull requests that are otherwise not updated.

use capstan_facts::PullRequest;
use capstan_plan::proposal::{Closer, Decisions, Draft, Leaving, ProposalId, Standing, Wanted};
use capstan_plan::settings::Mode;
use capstan_plan::upgrade::Retarget;
use capstan_report::{Block, BlockPart, BlockPlace, ClosedBy, decisions_fingerprint};

use super::approvals::still_decided;
use super::deciding::DecidedPull;
use crate::facts::{Write, draft_of};
use crate::planned::Planned;

/// The block to write into an open pull request that is not updated, and whether it should be a draft: it is
/// one while it is held or blocked. `None` where nothing changes.
pub fn kept_decisions<'a>(
    planned: Planned<'a>,
    proposal: &ProposalId,
    (standing, DecidedPull { wanted, leaving, .. }): (&Standing, &DecidedPull),
) -> Option<(&'a PullRequest, Draft, Decisions, Write)> {
    let (facts, decided) = (planned.facts, planned.decided);
    let pull = facts.open_proposal(proposal).filter(|_| planned.settings.mode != Mode::Observe)?;
    let want = match (standing, wanted) {
        (Standing::Held { .. } | Standing::Blocked { .. }, _) => Draft::Draft,
        // A member that has to leave cannot: people worked on the branch, or GitHub is about to merge it.
        (Standing::Edited { .. } | Standing::Waits { .. }, _) if *leaving == Leaving::Somebody => {
            Draft::Draft
        }
        (Standing::Paused { .. }, _) => draft_of(pull),
        (_, Wanted::Offer(offer)) => offer.draft,
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
    let content = match proposal.target.group() {
        None => decisions_fingerprint(&decisions),
        Some(_) => {
            let all = members.iter().chain([proposal]);
            all.map(|one| decisions_fingerprint(&decided.of(one))).collect::<Vec<_>>().join(" ")
        }
    };
    let write = Write::proposal(proposal, format!("decided: {content}"));
    Some((pull, want, decisions, write))
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
