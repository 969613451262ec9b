//! `destroy`: a pull request with the tombstone of a cluster is opened.

use capstan_plan::verbs::DestroyArguments;
use capstan_report::Refusal;

use super::answering::{Asks, ClusterPullAsked};

pub(super) fn asks(gone: &DestroyArguments) -> Asks<'_> {
    let reason = gone.reason.as_deref();
    Asks::Cluster(ClusterPullAsked { cluster: &gone.cluster, reason, page: Refusal::NotRetired })
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
        let request = comment(1, "ada", None, "/capstan destroy gauss/peu09 no more");
        let asked = town().heard(std::slice::from_ref(&request), |planned| {
            let told = AnswerContext { planned, outcome: &Outcome::default(), kept: &DashboardWrite::Done };
            match part(told, &request, 0, None) {
                CommandAnswer::Asks(Asks::Cluster(asked)) => {
                    (asked.cluster.to_string(), asked.reason.map(str::to_owned), asked.page)
                }
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(asked, ("gauss/peu09".to_owned(), Some("no more".to_owned()), Refusal::NotRetired));
    }
}
