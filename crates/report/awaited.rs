//! What a cluster's next step waits for, in words.

use super::preflight::not_enrolled;
use super::rollout::as_wished;
use capstan_live::agent::{Awaited, RolloutState};

/// Why a cluster is not offered its next step yet, as sentences; `name` and `uid` are its management
/// cluster's.
pub fn awaited_in_words(awaited: Awaited<'_>, name: &str, uid: &str) -> String {
    let report = match awaited {
        Awaited::Enrolment => {
            return format!("{} Capstan offers the next step when one is.", not_enrolled(name, uid));
        }
        Awaited::Report => {
            return format!(
                "The reconciler on `{name}` has not reported on this cluster yet. Capstan offers the next step when it reports that the last rollout is done."
            );
        }
        Awaited::NewestChange => {
            return format!(
                "The reconciler on `{name}` has not yet reported that the newest change of this cluster is done. Capstan offers the next step after that."
            );
        }
        Awaited::Rollout(report) => report,
    };
    let how = match report.state {
        RolloutState::Waiting | RolloutState::Done => {
            let words = report.words.as_ref().map(ToString::to_string);
            words.unwrap_or_else(|| "no machine is replaced yet".to_owned())
        }
        RolloutState::Rolling => as_wished(report),
        RolloutState::Stuck => "it is stuck".to_owned(),
        RolloutState::Refused => "it was refused".to_owned(),
        RolloutState::Unknown => "the state of its machines is unknown".to_owned(),
    };
    format!(
        "The last rollout is not done: {how}, as the reconciler on `{name}` reports. Capstan offers the next step when it is done."
    )
}
