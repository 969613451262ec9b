//! `upgrade`: a release is offered to a cluster, or what is offered to it anyway, now.

use capstan_model::ids::ReleaseName;
use capstan_plan::proposal::{ProposalId, RolledBack};
use capstan_plan::verbs::To;
use capstan_report::{Answer, Refusal};

use super::answering::Answering;

/// A release that somebody asks for.
pub(super) struct ReleaseAsked {
    /// For these.
    pub proposals: Vec<ProposalId>,
    /// Which; what is offered anyway where there is none.
    pub release: Option<ReleaseName>,
    /// The release that it leaves, where it goes back.
    pub rollback: Option<RolledBack>,
}

pub(super) fn release(to: &To, proposals: Vec<ProposalId>) -> ReleaseAsked {
    ReleaseAsked { proposals, release: to.release.clone(), rollback: None }
}

pub(super) fn answer(asked: &Answering<'_>) -> Answer {
    asked_for(asked).map_or_else(|refused| refused, |proposals| asked.texts(&proposals))
}

/// The proposals of which a release was asked for; a refusal where that was not possible.
pub(super) fn asked_for(asked: &Answering<'_>) -> Result<Vec<ProposalId>, Answer> {
    if let Some(refused) = asked.planned.decided.answer(asked.request, asked.at) {
        return Err(refused.clone());
    }
    let proposals = asked.proposals();
    if proposals.is_empty() {
        let text = "Name the cluster: this pull request is not a proposal for one.\n";
        return Err(Answer::refused(Refusal::NothingThere, text));
    }
    Ok(proposals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposals::{Outcome, ProposalOutcome};
    use crate::testing::{Case, V22, answered, comment, decided_of, hears, id, said_at_once, town};
    use capstan_plan::proposal::{Decisions, Skipped};
    use capstan_report::{DashboardRecord, ProposalState};

    #[test]
    fn a_release_is_asked_for_or_what_is_offered_anyway() {
        hears(
            &town(),
            (3, "gauss/peu01"),
            &[
                ("/capstan upgrade", "wished Offer", ""),
                ("/capstan upgrade to aws/v22.0.0", "wished Offer, asked for aws/v22.0.0, new", ""),
            ],
        );
    }

    #[test]
    fn a_release_that_is_not_offered_is_taken_back() {
        let refused = Case::new().plan("gauss/peu01", Err("there is no release `aws/v99.0.0`."));
        let request = comment(1, "ada", None, "/capstan upgrade gauss/peu01 to aws/v99.0.0");
        refused.heard(std::slice::from_ref(&request), |planned| {
            assert_eq!(decided_of(planned.decided, "gauss/peu01"), "");
            assert_eq!(
                said_at_once(planned.decided, &request),
                "!`gauss/peu01`: there is no release `aws/v99.0.0`."
            );
        });
        let nowhere = comment(1, "ada", None, "/capstan upgrade gauss/peu09 to aws/v22.0.0");
        town().heard(std::slice::from_ref(&nowhere), |planned| {
            assert_eq!(decided_of(planned.decided, "gauss/peu09"), "");
            let expected = "!`gauss/peu09`: there is no such cluster on the default branch.";
            assert_eq!(said_at_once(planned.decided, &nowhere), expected);
        });
        // An earlier request for a release remains.
        let before = Decisions { release: ReleaseName::parse(V22), ..Decisions::default() };
        let record =
            DashboardRecord { decisions: vec![(id("gauss/peu01"), before)], ..DashboardRecord::default() };
        Case { record, ..refused }.heard(&[request], |planned| {
            assert_eq!(decided_of(planned.decided, "gauss/peu01"), "asked for aws/v22.0.0");
        });
    }

    #[test]
    fn asking_for_a_release_ends_that_it_was_skipped() {
        let skipped = Skipped { source: V22.to_owned(), by: "eve".to_owned() };
        let before = Decisions { skipped: Some(skipped), ..Decisions::default() };
        let record =
            DashboardRecord { decisions: vec![(id("kiel/peu01"), before)], ..DashboardRecord::default() };
        let case = Case { record, ..town() };
        for (text, expected) in [
            ("/capstan help", "skipped aws/v22.0.0 by eve"),
            ("/capstan upgrade kiel/peu01 to aws/v22.0.0", "wished Offer, asked for aws/v22.0.0, new"),
        ] {
            case.heard(&[comment(1, "ada", None, text)], |planned| {
                assert_eq!(decided_of(planned.decided, "kiel/peu01"), expected, "{text}");
            });
        }
    }

    #[test]
    fn what_became_of_it_is_said() {
        let mut outcome = Outcome::default();
        outcome.note(&[id("gauss/peu01")], &ProposalOutcome::new(ProposalState::Proposed, "So it is."));
        let answer = answered(&town(), 3, "/capstan upgrade", &outcome);
        assert_eq!(answer, "=`gauss/peu01`: So it is.");
        let unnamed = "!Name the cluster: this pull request is not a proposal for one.";
        assert_eq!(answered(&town(), 9, "/capstan upgrade", &Outcome::default()), unnamed);
    }
}
