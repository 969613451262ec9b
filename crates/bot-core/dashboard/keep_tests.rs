//! Which answers to ticks the dashboard shows, and for how long.

use capstan_report::{DashboardRecord, Notice};
use jiff::SignedDuration;

use super::keep::notices;
use super::tests::board;
use crate::testing::{id, now, tick};

fn notice(seconds_ago: i64) -> Notice {
    Notice { at: now() - SignedDuration::from_secs(seconds_ago), text: seconds_ago.to_string() }
}

fn shown(ages: impl IntoIterator<Item = i64>) -> usize {
    let record =
        DashboardRecord { notices: ages.into_iter().map(notice).collect(), ..DashboardRecord::default() };
    notices(&board(record), &[], now()).len()
}

#[test]
fn an_answer_is_shown_for_less_than_a_day() {
    for (seconds, expected) in [(0, 1), (86_399, 1), (86_400, 0), (86_401, 0)] {
        assert_eq!(shown([seconds]), expected, "{seconds}");
    }
}

#[test]
fn a_login_cannot_leave_its_code_span() {
    let request = tick(0, "eve`@all", &id("gauss/peu01"), None, "/capstan hold");
    let told = notices(&board(DashboardRecord::default()), &[(&request, Vec::new())], now());
    assert_eq!(told[0].text, "``eve`@all`` ticked `hold`: ");
    let unread = tick(0, "eve", &id("gauss/peu01"), None, "/capstan nonsense");
    let told = notices(&board(DashboardRecord::default()), &[(&unread, Vec::new())], now());
    assert_eq!(told[0].text, "`eve` ticked `?`: ");
}
