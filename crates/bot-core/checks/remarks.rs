//! What the check of a head says besides what its content says.

use std::collections::BTreeMap;

use capstan_facts::{CheckConclusion, CheckRecord};
use capstan_plan::proposal::CheckVerdict;

use super::subject::Subject;
use crate::proposals::Remarks;

/// What is said besides of what awaits a check. `pressed` is what came of the button that was pressed last on its head.
pub fn remarks_of(subject: &Subject, remarks: &BTreeMap<u64, Remarks>, pressed: Option<&String>) -> Remarks {
    let found = subject.pull.and_then(|number| remarks.get(&number));
    let mut all = found.cloned().unwrap_or_default();
    // A merge of it merges all that is below it, whose approvals and blocks count for it, too.
    for (number, below) in subject.below().iter().filter_map(|number| Some((number, remarks.get(number)?))) {
        all.add_below(*number, below);
    }
    // Only proposals have buttons.
    let is_proposal = all.stage.is_some();
    all.notes.extend(pressed.cloned().filter(|_| is_proposal));
    all
}

/// What the check on a head concludes, as it was reported last.
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
