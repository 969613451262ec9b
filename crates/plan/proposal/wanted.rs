//! What a plan asks for.

use std::borrow::Borrow;

use super::{Draft, Offer, PlanDigest, ProposalPlan, SourceState, Writes};
use crate::upgrade::{Basis, Upgrade};
use capstan_model::finding::rules;
use capstan_model::rest::Rest;
use capstan_model::source::SourceKind;

/// What a target's plan from that kind of source asks for; `Err` is why it cannot be planned.
pub fn wanted(kind: &SourceKind, plan: &Result<impl Borrow<Upgrade>, String>) -> ProposalPlan {
    let upgrade: &Upgrade = match plan {
        Ok(upgrade) => upgrade.borrow(),
        Err(why) => return ProposalPlan::Unplannable { why: why.clone() },
    };
    let Some(source) = &upgrade.to else {
        let why = if upgrade.notes.is_empty() {
            format!("There is no newer {kind} for it.")
        } else {
            upgrade.notes.join(" ")
        };
        return ProposalPlan::Nothing { why, rest: upgrade.rest };
    };
    if !upgrade.blocked.is_empty() {
        return ProposalPlan::Blocked { why: upgrade.blocked.clone() };
    }
    if upgrade.files.iter().all(|file| file.before == file.after) {
        return ProposalPlan::Nothing {
            why: format!("It already has all of `{source}`."),
            rest: Rest::Current,
        };
    }
    // A person looks first.
    let holds_back = [rules::KUBERNETES_MINOR_SKIP, rules::SERVICE_KUBERNETES];
    let is_held = upgrade.findings.iter().any(|finding| holds_back.contains(&finding.rule));
    let draft = if upgrade.basis == Basis::Unknown || is_held { Draft::Draft } else { Draft::Ready };
    ProposalPlan::Offer(Offer {
        source: SourceState::new(source.clone(), upgrade.to_content.clone()),
        plan: PlanDigest::of(&upgrade.files),
        draft,
        writes: if upgrade.records_alone() { Writes::RecordAlone } else { Writes::Objects },
        brought_by: upgrade.brought_by(),
    })
}
