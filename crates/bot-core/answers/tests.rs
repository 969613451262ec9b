//! When requests are answered, and how: a row is a request with its answer.

use capstan_facts::{PageOrder, Press, PullRequest, PullRequestState, Reaction};
use capstan_plan::command::{Denied, Hearing};
use capstan_report::{Answer, ProposalState, Refusal};

use super::said::without_repeats;
use super::*;
use crate::commands::AnswerContext;
use crate::effects::{AnswerNeed, AnswerOf, Effect};
use crate::proposals::{Outcome, ProposalOutcome};
use crate::requests::{DashboardWrite, Request, RequestOrigin, UnseenBranch};
use crate::testing::{comment, id, now, open, tick, town};

#[test]
fn when_a_request_is_answered() {
    let case = town();
    let on = open(&case, 3);
    let asked = |text: &str| comment(1, "ada", Some(&on), text);
    let ticked = |text: &str| tick(0, "ada", &id("gauss/peu01"), Some(&on), text);
    let named = comment(1, "ada", None, "/capstan hold for kiel/peu01");
    let mut overtaken = Outcome::default();
    overtaken.overtaken.insert(id("gauss/peu01"));
    let mut undecided = Outcome::default();
    undecided.undecided.insert(id("gauss/peu01"));
    let mut postponed = Outcome::default();
    postponed.postponed.insert(asked("/capstan merge").id());
    let writes = Request { rewritten: vec![id("gauss/peu01")], ..asked("/capstan replan") };
    let nothing = Outcome::default();
    let on_page = of_page("/capstan campaign stop");
    for (request, outcome, kept, expected) in [
        (asked("/capstan hold"), &nothing, DashboardWrite::Done, AnswerTurn::Now),
        (asked("/capstan retry"), &nothing, DashboardWrite::Done, AnswerTurn::NowAndAgain),
        (ticked("/capstan hold"), &nothing, DashboardWrite::Done, AnswerTurn::Elsewhere),
        (ticked("/capstan retry"), &nothing, DashboardWrite::Done, AnswerTurn::ElsewhereAndAgain),
        (named.clone(), &nothing, DashboardWrite::Done, AnswerTurn::Now),
        (named, &nothing, DashboardWrite::Later, AnswerTurn::Elsewhere),
        (asked("/capstan hold"), &nothing, DashboardWrite::Later, AnswerTurn::Now),
        (writes.clone(), &nothing, DashboardWrite::Done, AnswerTurn::Now),
        (writes, &overtaken, DashboardWrite::Done, AnswerTurn::Elsewhere),
        // Its answer is in the audit trail, once the dashboard has what was decided.
        (on_page.clone(), &nothing, DashboardWrite::Done, AnswerTurn::Elsewhere),
        (on_page.clone(), &nothing, DashboardWrite::Not("issues are off".to_owned()), AnswerTurn::Elsewhere),
        (on_page.clone(), &nothing, DashboardWrite::Later, AnswerTurn::Later),
        (asked("/capstan hold"), &undecided, DashboardWrite::Done, AnswerTurn::Later),
        (asked("/capstan hold"), &postponed, DashboardWrite::Done, AnswerTurn::Later),
    ] {
        case.heard(std::slice::from_ref(&request), |planned| {
            let turn = turn_of(AnswerContext { planned, outcome, kept: &kept }, &request);
            assert_eq!(turn, expected, "{} {kept:?}", request.commands.len());
        });
    }
}

#[test]
fn what_the_pull_request_shows_needs_no_comment() {
    let case = town();
    let shown = || vec![Answer::shown("Shown.\n")];
    let told = || vec![Answer::info("Told.\n")];
    let mut refused = Outcome::default();
    refused.note(&[id("gauss/peu01")], &ProposalOutcome::refused("a ruleset"));
    let mut elsewhere = Outcome::default();
    elsewhere.proposals.insert(
        id("gauss/peu01"),
        ProposalOutcome { pull: Some(8), ..ProposalOutcome::new(ProposalState::Proposed, "") },
    );
    let closed = PullRequest { state: PullRequestState::Closed, ..open(&case, 3) };
    let nothing = Outcome::default();
    for (on, text, outcome, answers, expected) in [
        (open(&case, 3), "/capstan hold", &nothing, shown(), 0),
        (open(&case, 3), "/capstan hold", &nothing, told(), 1),
        (open(&case, 3), "/capstan preflight", &nothing, shown(), 0),
        (open(&case, 9), "/capstan hold for gauss/peu01", &nothing, shown(), 1),
        (closed, "/capstan hold", &nothing, shown(), 1),
        (open(&case, 3), "/capstan hold", &refused, shown(), 1),
        (open(&case, 3), "/capstan hold", &elsewhere, shown(), 1),
        // What the dashboard notes shows there.
        (open(&case, 3), "/capstan hold for kiel/peu01", &nothing, shown(), 1),
    ] {
        let request = comment(1, "ada", Some(&on), text);
        case.heard(std::slice::from_ref(&request), |planned| {
            let not_shown = not_shown(
                AnswerContext { planned, outcome, kept: &DashboardWrite::Done },
                &request,
                &answers,
            );
            assert_eq!(not_shown.len(), expected, "#{} {text}", on.number);
        });
    }
}

#[test]
fn the_audit_trail_names_what_became_of_each_command() {
    let case = town();
    let facts = case.facts();
    let on = open(&case, 3);
    let asked = |text: &str| comment(5, "ada", Some(&on), text);
    let refusal = Answer::refused(Refusal::State, "No.\n");
    let denied =
        Request { denied: [(0, Denied::ForkAuthor)].into_iter().collect(), ..asked("/capstan hold") };
    let unseen = UnseenBranch { branch: String::new(), pushes: Vec::new() };
    for (request, answers, expected) in [
        (asked("/capstan hold"), vec![], "hold command-carried-out gauss/peu01"),
        (asked("/capstan hold"), vec![refusal], "hold command-not-possible gauss/peu01"),
        (asked("/capstan hold for kiel/peu01"), vec![], "hold command-carried-out kiel/peu01"),
        (denied, vec![], "hold command-refused gauss/peu01"),
        (
            Request { hearing: Hearing::Edited, ..asked("/capstan hold") },
            vec![],
            "hold command-edited gauss/peu01",
        ),
        (
            Request { hearing: Hearing::Refused, ..asked("/capstan hold") },
            vec![],
            "hold command-refused gauss/peu01",
        ),
        (
            Request { unseen: Some(unseen), ..asked("/capstan replan") },
            vec![],
            "replan command-overtaken gauss/peu01",
        ),
        (asked("/capstan nonsense"), vec![], "? command-unknown gauss/peu01"),
        (comment(5, "ada", None, "/capstan help"), vec![], "help command-carried-out -"),
    ] {
        let audited = audited(&facts, &case.scopes, &request, &answers);
        let one = &audited[0];
        let about = one.entries[0].proposal.as_ref().map_or("-".to_owned(), ToString::to_string);
        assert_eq!(format!("{} {} {about}", one.word, one.action), expected);
        assert_eq!(one.entries[0].actor, "ada");
    }
    let one = &audited(&facts, &case.scopes, &asked("/capstan hold"), &[])[0];
    assert_eq!(one.entries[0].detail, format!("hold, comment 5 on #3 at {}", "a".repeat(40)));
    for (text, detail) in [
        ("/capstan campaign stop wrong image", "campaign stop wrong image, a tick in #99"),
        ("/capstan skp", "`skp`, a tick in #99"),
        ("/capstan keep", "`keep`, a tick in #99"),
        ("/capstan create gauss/peu03 TOKEN=abc", "create, a tick in #99"),
    ] {
        let ticked = tick(0, "ada", &id("gauss/peu01"), None, text);
        assert_eq!(audited(&facts, &case.scopes, &ticked, &[])[0].entries[0].detail, detail);
    }
    // Anybody may write a comment on a public repository.
    let long = asked(&format!("/capstan keep Kind/{} /spec", "x".repeat(60_000)));
    let expected = format!("keep Kind/{} …, comment 5 on #3 at {}", "x".repeat(190), "a".repeat(40));
    assert_eq!(audited(&facts, &case.scopes, &long, &[])[0].entries[0].detail, expected);
    let answer = [Answer::refused(Refusal::NothingThere, "There is no campaign `b`.\n")];
    let one = &audited(&facts, &case.scopes, &of_page("/capstan campaign stop"), &answer)[0];
    let expected = "campaign stop, page-1 on Capstan's page: There is no campaign `b`. See `capstan help troubleshooting#on-a-pull-request`.";
    assert_eq!((one.action, one.entries[0].detail.as_str()), ("command-not-possible", expected));
}

fn of_page(text: &str) -> Request {
    let given = "stop of b".to_owned();
    let order = PageOrder { at: now(), id: "page-1".to_owned(), by: "ada".to_owned(), given };
    Request { origin: RequestOrigin::Page(order), ..comment(1, "ada", None, text) }
}

#[test]
fn an_answer_in_one_line_is_cut_between_words_and_outside_of_code() {
    let answers = |texts: &[&str]| texts.iter().map(|text| Answer::info(*text)).collect::<Vec<_>>();
    for (texts, most, expected) in [
        (&["One.\n"][..], 20, "One."),
        (&["One\ntwo.\n", "Three.\n"][..], 20, "One two. Three."),
        (&["One two three four.\n"][..], 10, "One two …"),
        (&["One `two three` four.\n"][..], 12, "One …"),
        (&["Onetwothree.\n"][..], 5, " …"),
        (&[][..], 5, ""),
    ] {
        assert_eq!(in_one_line(&answers(texts), most), expected, "{texts:?}");
    }
}

/// A row is an answer, the part of it that is shown nowhere else, and the expected reply.
#[test]
fn an_answer_is_a_reaction_where_the_rest_is_to_be_seen() {
    let case = town();
    let on = open(&case, 3);
    let request = comment(5, "ada", Some(&on), "/capstan hold");
    let (told, refused) = (Answer::info("Held.\n"), Answer::refused(Refusal::State, "Not now.\n"));
    for (parts, not_shown, need, text, verdict) in [
        (&told, vec![], AnswerNeed::Reaction, "Held.", Reaction::ThumbsUp),
        (&told, vec![told.clone()], AnswerNeed::Comment, "Held.", Reaction::ThumbsUp),
        (&refused, vec![refused.clone()], AnswerNeed::Comment, "Not now.", Reaction::Confused),
    ] {
        let Some(Effect::Answer(AnswerOf { comment, number, body, need: needs, verdict: ends })) =
            said(&request, std::slice::from_ref(parts), &not_shown)
        else {
            panic!("a comment is answered");
        };
        assert_eq!((comment.to_string().as_str(), number, needs, ends), ("comment 5", 3, need, verdict));
        assert!(body.contains(text), "{body}");
    }
    // A button is answered in its check, a tick in the dashboard.
    let press = Press {
        delivery: "d-1".to_owned(),
        head: on.head.to_string(),
        button: "hold".to_owned(),
        by: "ada".to_owned(),
        at: now(),
    };
    let pressed = Request { origin: RequestOrigin::Button(press), ..request };
    let words = "`hold`, pressed by `ada`: Held.".to_owned();
    let expected = Effect::Pressed { head: on.head.clone(), words };
    assert_eq!(said(&pressed, std::slice::from_ref(&told), &[]), Some(expected));
    let ticked = tick(0, "ada", &id("gauss/peu01"), None, "/capstan hold");
    assert_eq!(said(&ticked, &[told], &[]), None);
}

#[test]
fn equal_answers_in_a_row_are_posted_once() {
    let answers = |texts: &[&str]| texts.iter().map(|text| Answer::info(*text)).collect::<Vec<_>>();
    for (texts, expected) in
        [(&["a\n", "a\n"][..], 1), (&["a\n", "b\n", "a\n"][..], 3), (&["", "a\n", ""][..], 1), (&[][..], 0)]
    {
        assert_eq!(without_repeats(&answers(texts)).len(), expected, "{texts:?}");
    }
}
