//! `plan`: each cluster's plan at length, whether or not it is offered.

use capstan_plan::proposal::{Drafted, ProposalId, ProposalPlan, SidebarStanding, wanted};
use capstan_report::{Answer, Proposal, Refusal, plan_answer, refused, standing_answer};

use super::answering::{Answering, Asks, Each, MAX_PLANS};

pub(super) fn answer<'a>(asked: &Answering<'a>) -> Result<Answer, Asks<'a>> {
    let each = Each {
        none: ", so there is nothing to plan",
        most: MAX_PLANS,
        more: ": `capstan plan` in a checkout shows their plans",
    };
    asked.of_each(&each, |proposal, plans| of_one(asked, proposal, plans))
}

fn of_one(asked: &Answering<'_>, proposal: &ProposalId, plans: usize) -> Answer {
    let planned = asked.planned;
    let target = proposal.target.path();
    let Some(plan) = planned.plans.get(proposal) else { return asked.missing(proposal) };
    match (wanted(&proposal.kind, plan), plan) {
        (ProposalPlan::Offer(offer), Ok(upgrade)) => plan_answer(
            &Proposal {
                upgrade,
                source: &offer.source,
                plan: &offer.plan,
                origin: planned.origin_of(&offer.source),
                command_prefix: asked.prefix().as_str(),
                retarget: planned.retarget_of(proposal),
                decisions: &planned.decided.of(proposal),
                drafted: Drafted::No,
                reporter: None,
                sidebar: &SidebarStanding::default(),
                previous: &[],
            },
            plans,
        ),
        (ProposalPlan::Blocked { why }, _) => {
            let why = format!("the upgrade is blocked. {}", why.join(" "));
            refused(target, &why, Refusal::Blocked)
        }
        (ProposalPlan::Nothing { why, rest }, _) => standing_answer(target, rest.into(), &why),
        (ProposalPlan::Unplannable { why }, _) => refused(target, &why, Refusal::State),
        (ProposalPlan::Offer(_), Err(why)) => refused(target, why, Refusal::State),
    }
}
