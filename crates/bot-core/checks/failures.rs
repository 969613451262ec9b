//! Reports of Capstan's own failures: a required check is never missing.

use capstan_model::finding::{Finding, rules};
use capstan_report::{CheckReport, PullJudgement, check};

/// Why a head could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnFailure {
    /// It is too large to be read: how.
    TooLarge(String),
    /// Capstan failed.
    Failed {
        /// The id under which its log has the reason.
        incident: String,
        /// What people may know of the reason.
        why: Option<String>,
    },
}

/// The report on a head that could not be judged.
pub fn failure_report(failure: OwnFailure) -> CheckReport {
    match failure {
        OwnFailure::TooLarge(why) => check(&PullJudgement {
            findings: vec![Finding::new(rules::TOO_LARGE, why)],
            ..PullJudgement::default()
        }),
        OwnFailure::Failed { incident, why } => {
            let why = why.map_or_else(String::new, |why| format!(" {why}"));
            let failed = format!(
                "Capstan could not check this pull request. Its log has the reason under `{incident}`.{why}"
            );
            check(&PullJudgement { failed: Some(failed), ..PullJudgement::default() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_report::Conclusion;

    #[test]
    fn a_failure_of_capstans_names_its_entry_in_the_log_and_asks_a_person_to_act() {
        for (why, expected) in [(None, false), (Some("Planning took too long."), true)] {
            let (incident, why) = ("01JQ0000000000000000000000".to_owned(), why.map(str::to_owned));
            let report = failure_report(OwnFailure::Failed { incident, why });
            assert_eq!(report.conclusion, Conclusion::ActionRequired);
            assert!(report.summary.contains("01JQ0000000000000000000000"), "{}", report.summary);
            let is_said = report.summary.contains("Planning took too long");
            assert_eq!(is_said, expected, "{}", report.summary);
        }
    }
}
