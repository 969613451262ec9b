//! `unhold`: a hold is taken back.

use capstan_report::{Answer, about, shown};

use super::given::{CommandContext, NotedIn};
use super::hold;

pub(super) fn hear(given: &mut CommandContext<'_>) -> Answer {
    let those = given.those();
    given.decide_each(&those, NotedIn::Any { instead: hold::INSTEAD }, |one| {
        match one.decisions().hold.take() {
            Some(_) => shown(one.target(), "It is no longer on hold."),
            None => about(one.target(), "It is not on hold."),
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, heard, hears, id, town};
    use capstan_plan::proposal::{Decisions, OnHold};
    use capstan_report::DashboardRecord;

    #[test]
    fn what_is_not_on_hold_cannot_be_taken_back() {
        hears(
            &town(),
            (3, "gauss/peu01"),
            &[
                ("/capstan unhold", "", "`gauss/peu01`: It is not on hold."),
                ("/capstan unhold for kiel/peu01", "", "#`kiel/peu01`: It is not on hold."),
            ],
        );
    }

    #[test]
    fn a_hold_ends_with_it() {
        let hold = OnHold { by: "eve".to_owned(), reason: None, until: None };
        let decisions = vec![(id("kiel/peu01"), Decisions { hold: Some(hold), ..Decisions::default() })];
        let record = DashboardRecord { decisions, ..DashboardRecord::default() };
        let (decided, answer) =
            heard(&Case { record, ..town() }, 9, "/capstan unhold for kiel/peu01", "kiel/peu01");
        assert_eq!((decided.as_str(), answer.as_str()), ("new", "#=`kiel/peu01`: It is no longer on hold."));
    }
}
