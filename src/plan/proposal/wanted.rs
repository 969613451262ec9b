//! What a plan asks for.

use std::borrow::Borrow;

use super::{Draft, Offer, PlanDigest, SourceState, Wanted};
use crate::upgrade::{Basis, Upgrade};
use capstan_model::finding::rules;

/// What a cluster's plan asks for; `Err` is why it cannot be planned.
pub fn wanted(plan: &Result<impl Borrow<Upgrade>, String>) -> Wanted {
    let upgrade: &Upgrade = match plan {
        Ok(upgrade) => upgrade.borrow(),
        Err(why) => return Wanted::Unplannable { why: why.clone() },
    };
    let Some(release) = &upgrade.to else {
        let why = if upgrade.notes.is_empty() {
            "No newer release is offered to it.".to_owned()
        } else {
            upgrade.notes.join(" ")
        };
        return Wanted::Nothing { why };
    };
    if !upgrade.blocked.is_empty() {
        return Wanted::Blocked { why: upgrade.blocked.clone() };
    }
    if upgrade.files.iter().all(|file| file.before == file.after) {
        return Wanted::Nothing { why: format!("It has all of `{release}` already.") };
    }
    let skips = upgrade.findings.iter().any(|finding| finding.rule == rules::KUBERNETES_MINOR_SKIP);
    let draft = if upgrade.basis == Basis::Unknown || skips { Draft::Draft } else { Draft::Ready };
    Wanted::Offer(Offer {
        source: SourceState::new(release.clone(), upgrade.to_content.as_ref()),
        plan: PlanDigest::of(&upgrade.files),
        draft,
    })
}
