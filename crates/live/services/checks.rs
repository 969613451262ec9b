//! What `checks` of a service say of it: [`capstan_plan::services::evaluate_checks`], in words of this room.

use capstan_plan::services::{CheckFacts, CheckFailed, CheckFailure, evaluate_checks};
use capstan_plan::settings::ServiceCheck;

use super::cause::{Problem, ServiceCause};

/// What is not so, or cannot be evaluated: one problem a check, with its place in the list.
pub fn evaluate(checks: &[ServiceCheck], facts: CheckFacts<'_>) -> Vec<Problem> {
    let problem = |CheckFailed { check, how, words }| {
        let cause = match how {
            CheckFailure::False => ServiceCause::CheckFalse,
            CheckFailure::Invalid => ServiceCause::CheckInvalid,
        };
        Problem { check: Some(check), ..Problem::plain(cause, words) }
    };
    evaluate_checks(checks, facts).into_iter().map(problem).collect()
}
