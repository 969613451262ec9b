//! `resume`: a pause is taken back.

use capstan_report::Answer;

use super::given::CommandContext;
use super::pause;

pub(super) fn hear(given: &mut CommandContext<'_>) -> Answer {
    if given.decided.pause().is_none() {
        return Answer::info("Capstan is not paused in this repository.\n");
    }
    if let Err(answer) = given.note_in_dashboard(pause::INSTEAD) {
        return answer;
    }
    given.decided.set_pause(None);
    Answer::info("Capstan continues in this repository.\n")
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, comment, said_at_once, town};
    use capstan_plan::proposal::Paused;
    use capstan_report::DashboardRecord;
    use jiff::civil::date;

    #[test]
    fn a_pause_ends_where_there_is_one() {
        let pause = Paused { by: "eve".to_owned(), reason: None, since: date(2026, 1, 5) };
        let record = DashboardRecord { pause: Some(pause), ..DashboardRecord::default() };
        for (case, answer) in [
            (town(), "Capstan is not paused in this repository."),
            (Case { record, ..town() }, "#Capstan continues in this repository."),
        ] {
            let request = comment(1, "ada", None, "/capstan resume");
            case.heard(std::slice::from_ref(&request), |planned| {
                assert!(planned.decided.pause().is_none());
                assert_eq!(said_at_once(planned.decided, &request), answer);
            });
        }
    }
}
