//! What a cluster's next step waits for, in words.

use super::preflight::not_enrolled;
use super::rollout::as_wished;
use capstan_live::agent::{Awaited, RolloutState};

/// Why a cluster that the management cluster of that name and UID claims is not offered its next step yet, as sentences.
pub fn awaited_in_words(awaited: Awaited<'_>, name: &str, uid: &str) -> String {
    let report = match awaited {
        Awaited::Enrolment => return format!("{} It is offered once one is.", not_enrolled(name, uid)),
        Awaited::Report => {
            return format!(
                "The reconciler on `{name}` has not reported on this cluster yet: the next step is offered once it reports the last rollout done."
            );
        }
        Awaited::NewestChange => {
            return format!(
                "The reconciler on `{name}` has not reported the newest change of this cluster done yet: the next step is offered once it has."
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
        RolloutState::Unknown => "nobody can tell about its machines".to_owned(),
    };
    format!(
        "The last rollout is not done: {how}, as the reconciler on `{name}` reports. The next step is offered once it is."
    )
}
