//! Reports of Capstan's own failures: a required check is never missing.

use capstan_model::finding::{Finding, rules};
use capstan_report::{CheckReport, Judged, check};

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
        OwnFailure::TooLarge(why) => {
            check(&Judged { findings: vec![Finding::new(rules::TOO_LARGE, why)], ..Judged::default() })
        }
        OwnFailure::Failed { incident, why } => {
            let why = why.map_or_else(String::new, |why| format!(" {why}"));
            let failed = format!(
                "Capstan could not check this pull request. Its log has the reason under `{incident}`.{why}"
            );
            check(&Judged { failed: Some(failed), ..Judged::default() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_report::Conclusion;

    #[test]
    fn a_failure_says_where_its_reason_is_and_a_pull_request_that_is_too_large_what_to_do() {
        let failed = |why: Option<&str>| OwnFailure::Failed {
            incident: "01JQ0000000000000000000000".to_owned(),
            why: why.map(str::to_owned),
        };
        let told = "Its log has the reason under `01JQ0000000000000000000000`.";
        for (failure, expected) in [
            (failed(None), told.to_owned()),
            (failed(Some("Planning took too long.")), format!("{told} Planning took too long.")),
            (OwnFailure::TooLarge("the tree has 2,000,001 files".to_owned()), "2,000,001".to_owned()),
        ] {
            let report = failure_report(failure.clone());
            assert_eq!(report.conclusion, Conclusion::Failure, "{failure:?}");
            assert!(report.summary.contains(&expected), "{}", report.summary);
        }
    }
}
