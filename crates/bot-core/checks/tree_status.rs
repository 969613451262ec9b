//! The commit status `capstan/tree`: what cannot be planned on the default branch, as a status of its tip as
//! long as it lasts.
//!
//! A pull request that breaks a cluster has a check that says so; without this status an error on the default
//! branch would only be on the fleet page. Without an error there is no status, unless that very commit has
//! one already.

use capstan_facts::CommitStatus;
use capstan_model::tree::CommitId;
use capstan_report::{Fingerprint, Refusal, StatusState};

use crate::effects::{Effect, FirstStatus, StatusOf, status_text};
use crate::facts::TargetPlans;

/// The context of the status.
const NAME: &str = "capstan/tree";

/// Reports which targets cannot be planned.
pub fn tree_status(tip: &CommitId, plans: &TargetPlans) -> Effect {
    let unplanned = plans.iter().filter(|(_, plan)| plan.is_err());
    let mut targets: Vec<String> = unplanned.map(|(proposal, _)| proposal.target.path().to_owned()).collect();
    targets.dedup();
    status(
        tip,
        match targets.as_slice() {
            [] => None,
            [one] => Some(format!("{one} cannot be planned")),
            several => Some(format!("{} clusters cannot be planned: {}", several.len(), several.join(", "))),
        },
    )
}

/// Reports that nothing can be planned: for example, the settings cannot be read.
pub fn tree_status_without_settings(tip: &CommitId, why: &str) -> Effect {
    status(tip, Some(format!("nothing can be planned: {why}")))
}

/// `None` where there is no error.
fn status(tip: &CommitId, description: Option<String>) -> Effect {
    let content = Fingerprint::of("tree").maybe("description", description.as_ref()).finish();
    let (state, first) = match &description {
        Some(_) => (StatusState::Failure, FirstStatus::Written),
        None => (StatusState::Success, FirstStatus::Nothing),
    };
    let status = CommitStatus {
        context: NAME.to_owned(),
        state,
        description: status_text(description.as_deref().unwrap_or("all clusters can be planned")),
        target_url: description.as_ref().and_then(|_| Refusal::State.link()),
    };
    Effect::Status(StatusOf { commit: tip.clone(), status, content, first })
}
