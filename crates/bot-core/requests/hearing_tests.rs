//! Whose words count: rights, names of Apps, and the edge of the hour.

use capstan_plan::command::{Hearing, Right};
use capstan_plan::settings::{CommandPermission, CommandSettings, Principal};
use capstan_plan::verbs::Verb;
use jiff::SignedDuration;

use super::hearing::{DealtWith, address, hearing_of};
use super::request::RequestOrigin;
use crate::testing::{comment, now};

fn admits(allow: Principal) -> CommandSettings {
    let permission = CommandPermission { matches: None, verbs: vec![Verb::Hold], allow: vec![allow] };
    CommandSettings { permissions: vec![permission], ..CommandSettings::default() }
}

#[test]
fn a_tick_counts_by_write_permission_or_where_the_settings_admit_readers() {
    let (strict, open) = (CommandSettings::default(), admits(Principal::Read));
    for (settings, right, expected) in [
        (&strict, Right::None, Hearing::Refused),
        (&strict, Right::Read, Hearing::Refused),
        (&strict, Right::Write, Hearing::Obeyed),
        (&strict, Right::Admin, Hearing::Obeyed),
        (&open, Right::None, Hearing::Refused),
        (&open, Right::Read, Hearing::Obeyed),
        (&open, Right::Write, Hearing::Obeyed),
    ] {
        assert_eq!(hearing_of(right, settings), expected, "{right:?}");
    }
}

#[test]
fn of_the_name_of_an_app_one_ending_is_taken_away() {
    let settings = CommandSettings::default();
    for (login, app) in [("[bot]", ""), ("a[bot][bot]", "a[bot]"), ("a[BOT]", "a[BOT]"), ("[bot]a", "[bot]a")]
    {
        assert_eq!(address(&settings, login).app, Some(app));
    }
}

#[test]
fn a_comment_begins_another_hour_once_sixty_minutes_are_over() {
    let request = comment(1, "ada", None, "/capstan help");
    let RequestOrigin::Comment(first) = request.origin else { panic!("a comment") };
    for (seconds, begins) in [(0, false), (3_599, false), (3_600, true), (3_601, true)] {
        let mut dealt_with = DealtWith::default();
        dealt_with.note(&first);
        let mut next = first.clone();
        next.created_at = now() + SignedDuration::from_secs(seconds);
        dealt_with.note(&next);
        assert_eq!(dealt_with.before(&next), Some(if begins { next.created_at } else { now() }), "{seconds}");
    }
}

#[test]
fn the_hour_of_one_author_is_not_that_of_another() {
    let request = comment(1, "ada", None, "/capstan help");
    let RequestOrigin::Comment(first) = request.origin else { panic!("a comment") };
    let mut dealt_with = DealtWith::default();
    dealt_with.note(&first);
    let mut other = first;
    other.author = "Ada".to_owned();
    assert_eq!(dealt_with.before(&other), None);
}
