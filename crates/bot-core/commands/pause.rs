//! `pause`: nothing is opened, written or merged in the repository.

use capstan_plan::proposal::Paused;
use capstan_plan::verbs::ReasonArgument;
use capstan_report::markdown::prose;
use capstan_report::{Answer, pause_in_words};

use super::given::CommandContext;

/// What people can do where nothing can be noted.
pub(super) const INSTEAD: &str = "`mode: observe` in `.capstan.yaml` stops all writes";

pub(super) fn hear(given: &mut CommandContext<'_>, ReasonArgument(reason): &ReasonArgument) -> Answer {
    let pause = Paused { by: given.by().to_owned(), reason: reason.clone(), since: given.ground.facts.today };
    if let Err(answer) = given.note_in_dashboard(INSTEAD) {
        return answer;
    }
    let words = prose(&pause_in_words(&pause), 600);
    given.decided.set_pause(Some(pause));
    Answer::info(format!(
        "{words} Nothing is opened, written or merged in this repository; `{} resume` undoes it.\n",
        given.prefix()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, comment, said_at_once, town};
    use capstan_report::DashboardRecord;
    use jiff::civil::date;

    #[test]
    fn a_pause_is_the_repositorys_and_is_noted_in_the_dashboard() {
        let paused = Paused { by: "eve".to_owned(), reason: None, since: date(2026, 1, 5) };
        let before =
            Case { record: DashboardRecord { pause: Some(paused), ..DashboardRecord::default() }, ..town() };
        for (case, text, expected, answer) in [
            (
                town(),
                "/capstan pause the audit",
                Some("ada"),
                "#Paused by `ada` since 2026-03-02: the audit. Nothing is opened, written or merged in this repository; `/capstan resume` undoes it.",
            ),
            (town(), "/capstan help", None, ""),
            (before.clone(), "/capstan help", Some("eve"), ""),
            (
                before,
                "/capstan pause",
                Some("ada"),
                "#Paused by `ada` since 2026-03-02. Nothing is opened, written or merged in this repository; `/capstan resume` undoes it.",
            ),
        ] {
            let request = comment(1, "ada", None, text);
            case.heard(std::slice::from_ref(&request), |planned| {
                assert_eq!(planned.decided.pause().map(|pause| pause.by.as_str()), expected, "{text}");
                assert_eq!(said_at_once(planned.decided, &request), answer, "{text}");
            });
        }
    }
}
