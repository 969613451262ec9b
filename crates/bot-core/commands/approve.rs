//! `approve`: what a pull request changes is approved, at the head that its author means.

use capstan_plan::proposal::{Approval, Means, short};
use capstan_plan::verbs::OfCommit;
use capstan_report::{Answer, Refusal, about, approvals_gate, approvals_in_words, refused, shown};

use super::answering::Answering;
use super::given::{CommandContext, Deciding, NotedIn};
use crate::requests::Request;

pub(super) fn hear(given: &mut CommandContext<'_>, commit: &OfCommit) -> Answer {
    let those = given.those();
    given.decide_each(&those, NotedIn::PullRequest, |one| decide(one, commit))
}

fn decide(one: &mut Deciding<'_, '_>, commit: &OfCommit) -> Answer {
    let approval = match approval(one.given.request, commit) {
        Ok(approval) => approval,
        Err(why) => return refused(one.target(), &why, Refusal::NotApproved),
    };
    let approvals = &mut one.decisions().approvals;
    if !approvals.contains(&approval) {
        let is_theirs =
            |one: &Approval| one.means == Means::Command && one.by.eq_ignore_ascii_case(&approval.by);
        approvals.retain(|one| !is_theirs(one));
        approvals.push(approval);
    }
    Answer::default()
}

/// The approval of what a pull request changes. The error is why there is none, in sentences.
fn approval(request: &Request, commit: &OfCommit) -> Result<Approval, String> {
    let Some(pull) = &request.pull else { return Err("This is not a pull request.".to_owned()) };
    if !commit.means(&pull.head) {
        let head = short(&pull.head);
        return Err(format!("Its head is `{head}`: nothing is approved. Review that commit first."));
    }
    let result = request.result.clone();
    Ok(Approval {
        by: request.by.clone(),
        at: request.given_at,
        head: pull.head.clone(),
        result: result
            .ok_or("It conflicts with its base, so its changes are unknown: nothing is approved.")?,
        means: Means::Command,
        dismissed: None,
    })
}

/// What an approval, or taking it back, came to.
pub(super) fn answer(asked: &Answering<'_>) -> Answer {
    let (planned, said) = (asked.planned, asked.said_at_once());
    let judged =
        planned.facts.carrier_of(asked.request).and_then(|id| Some((asked.outcome.judged.get(&id)?, id)));
    let Some((judged, proposal)) = judged.filter(|_| said.is_empty()) else { return said };
    let approved = &judged.approved;
    let mut words = approvals_in_words(approved);
    words.extend(approvals_gate(approved, asked.prefix().as_str()).map(|gate| gate.why));
    // The description names who approved, the check what is missing; why somebody does not count is said here alone.
    let counts = approved.counted.iter().any(|one| one.by.eq_ignore_ascii_case(&asked.request.by));
    let say = if counts { shown } else { about };
    say(proposal.target.path(), &words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{comment, decided_of, id, open, said_at_once, town, tree};
    use capstan_plan::proposal::ResultDigest;

    #[test]
    fn an_approval_is_of_the_head_that_was_meant_and_of_what_it_changes() {
        let case = town();
        let result = ResultDigest::of(&tree(&[]), &tree(&[("a", "1")]));
        let with = |text: &str, result: Option<ResultDigest>| Request {
            result,
            ..comment(1, "ada", Some(&open(&case, 3)), text)
        };
        let head = "a".repeat(40);
        let conflict =
            "!`gauss/peu01`: It conflicts with its base, so its changes are unknown: nothing is approved.";
        for (request, decided, answer) in [
            (with("/capstan approve", Some(result.clone())), "approved by ada, new", ""),
            (with(&format!("/capstan approve {head}"), Some(result.clone())), "approved by ada, new", ""),
            (
                with(&format!("/capstan approve {}", "b".repeat(40)), Some(result.clone())),
                "",
                "!`gauss/peu01`: Its head is `aaaaaaa`: nothing is approved. Review that commit first.",
            ),
            (with("/capstan approve", None), "", conflict),
        ] {
            case.heard(std::slice::from_ref(&request), |planned| {
                assert_eq!(decided_of(planned.decided, "gauss/peu01"), decided);
                assert_eq!(said_at_once(planned.decided, &request), answer);
            });
        }
        // Approved twice, one counts; taken back, none does.
        let twice =
            [with("/capstan approve", Some(result.clone())), with("/capstan approve", Some(result.clone()))];
        case.heard(&twice, |planned| {
            let approvals = planned.decided.of(&id("gauss/peu01")).approvals;
            assert_eq!(
                approvals.iter().map(|one| (one.means, one.by.as_str())).collect::<Vec<_>>(),
                [(Means::Command, "ada")]
            );
        });
        let back = with("/capstan approve\n/capstan unapprove", Some(result));
        case.heard(std::slice::from_ref(&back), |planned| {
            assert_eq!(decided_of(planned.decided, "gauss/peu01"), "new");
            assert!(
                said_at_once(planned.decided, &back).ends_with("=`gauss/peu01`: Your approval is withdrawn.")
            );
        });
    }
}
