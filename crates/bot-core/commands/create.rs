//! `create`: a pull request with a new cluster is opened.

use capstan_plan::verbs::ClusterFrom;
use capstan_report::Refusal;

use super::answering::{Asks, ClusterPullAsked};

pub(super) const fn asks(from: &ClusterFrom) -> Asks<'_> {
    Asks::Cluster(ClusterPullAsked { cluster: &from.cluster, reason: None, page: Refusal::NotCreated })
}

#[cfg(test)]
mod tests {
    use super::super::{AnswerContext, CommandAnswer, part};
    use super::*;
    use crate::proposals::Outcome;
    use crate::requests::DashboardWrite;
    use crate::testing::{comment, town};

    #[test]
    fn the_pull_request_is_opened_when_it_is_answered() {
        let request = comment(1, "ada", None, "/capstan create gauss/peu09 from aws/v22.0.0");
        let asked = town().heard(std::slice::from_ref(&request), |planned| {
            let told = AnswerContext { planned, outcome: &Outcome::default(), kept: &DashboardWrite::Done };
            match part(told, &request, 0, None) {
                CommandAnswer::Asks(Asks::Cluster(asked)) => {
                    (asked.cluster.to_string(), asked.reason.map(str::to_owned), asked.page)
                }
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(asked, ("gauss/peu09".to_owned(), None, Refusal::NotCreated));
    }
}
