//! `unapprove`: somebody withdraws their own approval by command.

use capstan_plan::proposal::{Approval, Means};
use capstan_report::{Answer, about, shown};

use super::given::{CommandContext, NotedIn};

pub(super) fn hear(given: &mut CommandContext<'_>) -> Answer {
    let those = given.those();
    given.decide_each(&those, NotedIn::PullRequest, |one| {
        let (target, by) = (one.target(), one.given.by());
        let own = |approval: &Approval| approval.by.eq_ignore_ascii_case(by);
        let approvals = &mut one.decisions().approvals;
        let before = approvals.len();
        approvals.retain(|one| !own(one) || one.means != Means::Command);
        if approvals.len() < before {
            shown(target, "Your approval is withdrawn.")
        } else if approvals.iter().any(own) {
            about(target, "Your approval is a review: dismiss it on GitHub.")
        } else {
            about(target, "You have not approved it.")
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{hears, town};

    #[test]
    fn a_person_without_an_approval_gets_that_answer() {
        hears(
            &town(),
            (3, "gauss/peu01"),
            &[("/capstan unapprove", "", "`gauss/peu01`: You have not approved it.")],
        );
    }
}
