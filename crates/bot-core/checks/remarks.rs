//! What the check of a head says besides its content.

use std::collections::BTreeMap;

use capstan_facts::{CheckConclusion, CheckRecord};
use capstan_plan::proposal::CheckVerdict;

use super::subject::CheckSubject;
use crate::proposals::Remarks;

/// The remarks on a commit that needs a check. `pressed` is the result of the last button pressed on its
/// head.
pub fn remarks_of(
    subject: &CheckSubject,
    remarks: &BTreeMap<u64, Remarks>,
    pressed: Option<&String>,
) -> Remarks {
    let found = subject.pull.and_then(|number| remarks.get(&number));
    let mut all = found.cloned().unwrap_or_default();
    // Merging it merges all pull requests below it, so their approvals and blocks count for it, too.
    for (number, below) in subject.below().iter().filter_map(|number| Some((number, remarks.get(number)?))) {
        all.add_below(*number, below);
    }
    // Only proposals have buttons.
    let is_proposal = all.stage.is_some();
    all.notes.extend(pressed.cloned().filter(|_| is_proposal));
    all
}

/// The conclusion of the check on a head, as it was last reported.
pub fn verdict_of(record: Option<CheckRecord>) -> CheckVerdict {
    match record.and_then(|record| record.verdict) {
        None => CheckVerdict::Pending,
        Some(verdict) => match CheckConclusion::parse(&verdict.conclusion) {
            Some(CheckConclusion::Success | CheckConclusion::Neutral) => CheckVerdict::Passes,
            Some(CheckConclusion::Failure | CheckConclusion::ActionRequired) | None => {
                CheckVerdict::Against(verdict.title)
            }
        },
    }
}
