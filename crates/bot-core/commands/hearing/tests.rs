use capstan_facts::{
    AuditEntry, Comment, Hints, PageOrder, Permission, PlacedComment, Press, PullRequest, PullRequestState,
    Reaction, RefusedWrite,
};
use capstan_plan::command::{CommentId, Hearing, Push, Right, Wording};
use capstan_plan::proposal::ResultDigest;
use capstan_plan::settings::{CommandPermission, CommandSettings, Principal};
use capstan_plan::verbs::Verb;
use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::effects::Effect;
use crate::facts::Facts;
use crate::proposals::DecisionStep;
use crate::requests::{Request, RequestOrigin};
use crate::testing::{Case, comment, commit, id, now, open, pull, tick, town, tree};

const OWN: &str = "capstan[bot]";

fn minutes(minutes: i64) -> SignedDuration {
    SignedDuration::from_mins(minutes)
}

/// A comment on #3.
fn placed(author: &str, text: &str) -> PlacedComment {
    let comment = Comment {
        id: CommentId::Comment(5),
        author: author.to_owned(),
        by_bot: author.ends_with("[bot]"),
        body: text.to_owned(),
        created_at: now(),
        updated_at: now(),
        verdicts: Some(0),
        node_id: String::new(),
    };
    PlacedComment { number: 3, on_pull_request: true, comment }
}

/// Ada's issue #8.
fn issue(text: &str) -> PlacedComment {
    let placed = placed("ada", text);
    let comment = Comment { id: CommentId::Issue(8), ..placed.comment };
    PlacedComment { number: 8, on_pull_request: false, comment }
}

/// The facts about a comment that Capstan reads three hours after it was written.
fn of<'a>(
    facts: &'a Facts,
    settings: &'a CommandSettings,
    placed: &'a PlacedComment,
    before: Option<Timestamp>,
) -> CommentFacts<'a> {
    let (since, now) = (now() - minutes(60), now() + minutes(180));
    CommentFacts { facts, settings, placed, own: OWN, since, before, now }
}

/// Everything that may be asked about a comment of that person on #3.
fn known(permission: Permission, wording: Wording) -> CommentAnswers {
    CommentAnswers {
        answered: Some(false),
        verdict: Some(false),
        permission: Some(permission),
        wording: Some(wording),
        pull: Some(Some(Box::new(pull(3, "topic", 'a')))),
    }
}

fn written(permission: Permission) -> CommentAnswers {
    known(permission, Wording::AsWritten)
}

fn effect_in_words(effect: &Effect) -> String {
    match effect {
        Effect::React { comment, reaction } => format!("{reaction:?} on {comment}"),
        Effect::CommentAnswered(comment) => format!("{comment} is answered"),
        Effect::OrderAnswered(id) => format!("order {id} is answered"),
        Effect::Audit(AuditEntry { actor, action, detail, .. }) => format!("{actor} {action}: {detail}"),
        other => format!("{other:?}"),
    }
}

fn in_words(effects: &[Effect]) -> String {
    effects.iter().map(effect_in_words).collect::<Vec<_>>().join(", ")
}

/// `?` before a question; otherwise the effects, whether the comment is dealt with, and what becomes of the request.
fn heard(step: DecisionStep<HeardComment, CommentNeed>) -> String {
    match step {
        DecisionStep::Ask(need) => format!("? {need:?}"),
        DecisionStep::Decided(HeardComment { request, is_dealt_with, effects }) => {
            let request = request.map(|request| format!("{:?} on #{}", request.hearing, request.number));
            let dealt_with = is_dealt_with.then(|| "dealt with".to_owned());
            let done = (!effects.is_empty()).then(|| in_words(&effects));
            [done, dealt_with, request].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
    }
}

#[test]
fn what_is_known_of_a_comment_is_asked_for_one_after_the_other() {
    let (facts, settings) = (town().facts(), CommandSettings::default());
    let placed = placed("ada", "/capstan hold");
    let all = written(Permission::Write);
    for (known, expected) in [
        (CommentAnswers::default(), "? Answered"),
        (CommentAnswers { answered: Some(true), ..CommentAnswers::default() }, "dealt with"),
        (CommentAnswers { answered: Some(false), ..CommentAnswers::default() }, "? Permission"),
        (CommentAnswers { wording: None, ..all.clone() }, "? Wording"),
        (CommentAnswers { pull: None, ..all.clone() }, "? Pull"),
        // It is gone, or is not shown.
        (CommentAnswers { pull: Some(None), ..all.clone() }, ""),
        (all, "Eyes on comment 5, dealt with, Obeyed on #3"),
    ] {
        assert_eq!(heard(hear(of(&facts, &settings, &placed, None), &known)), expected);
    }
}

#[test]
fn what_an_issue_begins_with_is_a_request_without_a_pull_request() {
    let (facts, settings) = (town().facts(), CommandSettings::default());
    let known = CommentAnswers { pull: None, ..written(Permission::Write) };
    for (text, expected) in
        [("/capstan status", "Eyes on issue 8, dealt with, Obeyed on #8"), ("Please look at this.", "")]
    {
        assert_eq!(heard(hear(of(&facts, &settings, &issue(text), None), &known)), expected, "{text}");
    }
}

#[test]
fn a_verdict_is_looked_for_where_somebody_reacted() {
    let (facts, settings) = (town().facts(), CommandSettings::default());
    for (verdicts, verdict, expected) in [
        (Some(0), None, "Eyes on comment 5, dealt with, Obeyed on #3"),
        (Some(2), None, "? Verdict"),
        (None, None, "? Verdict"),
        (Some(2), Some(false), "Eyes on comment 5, dealt with, Obeyed on #3"),
        (Some(2), Some(true), "comment 5 is answered, dealt with"),
    ] {
        let mut placed = placed("ada", "/capstan hold");
        placed.comment.verdicts = verdicts;
        let known = CommentAnswers { verdict, ..written(Permission::Write) };
        assert_eq!(heard(hear(of(&facts, &settings, &placed, None), &known)), expected, "{verdicts:?}");
    }
}

#[test]
fn a_comment_that_is_not_a_new_request_is_left_alone() {
    let (facts, settings) = (town().facts(), CommandSettings::default());
    let old = |mut placed: PlacedComment| {
        placed.comment.created_at = now() - minutes(61);
        placed
    };
    for placed in [
        placed("ada", "Nice."),
        placed("ada", "What does /capstan hold do?"),
        placed("helper[bot]", "/capstan hold"),
        placed(OWN, "/capstan hold"),
        old(placed("ada", "/capstan hold")),
    ] {
        let step = hear(of(&facts, &settings, &placed, None), &CommentAnswers::default());
        assert_eq!(heard(step), "", "{}: {}", placed.comment.author, placed.comment.body);
    }
}

#[test]
fn a_comment_whose_answer_is_refused_waits() {
    let settings = CommandSettings::default();
    // Capstan reads it at 15:00.
    for (not_before, expected) in [
        ("2026-03-02T15:00:01Z", ""),
        ("2026-03-02T15:00:00Z", "Eyes on comment 5, dealt with, Obeyed on #3"),
    ] {
        let refused = RefusedWrite {
            repository: 7,
            what: "answer 5".to_owned(),
            content: String::new(),
            refusals: 1,
            not_before: not_before.parse().unwrap(),
            reason: "locked".to_owned(),
        };
        let facts = Case { refused: vec![refused], ..town() }.facts();
        let placed = placed("ada", "/capstan hold");
        let step = hear(of(&facts, &settings, &placed, None), &written(Permission::Write));
        assert_eq!(heard(step), expected, "{not_before}");
    }
}

/// A row is a person's permission, how many minutes before they wrote another comment, and what becomes of this one.
#[test]
fn a_person_without_the_right_gets_one_answer_an_hour() {
    let (facts, settings) = (town().facts(), CommandSettings::default());
    let waved =
        "Confused on comment 5, eve command-refused: comment 5 on #3, comment 5 is answered, dealt with";
    for (permission, before, expected) in [
        (Permission::Admin, Some(1), "Eyes on comment 5, dealt with, Obeyed on #3"),
        (Permission::Read, None, "dealt with, Refused on #3"),
        (Permission::Read, Some(59), "comment 5 is answered"),
        (Permission::Read, Some(60), "dealt with, Refused on #3"),
        (Permission::None, None, waved),
        (Permission::None, Some(59), "comment 5 is answered"),
        (Permission::None, Some(60), waved),
    ] {
        let placed = placed("eve", "/capstan hold");
        let before = before.map(|before| now() - minutes(before));
        // How it is worded is asked of those alone who are obeyed.
        let wording = (permission == Permission::Admin).then_some(Wording::AsWritten);
        let known = CommentAnswers { wording, ..written(permission) };
        let step = hear(of(&facts, &settings, &placed, before), &known);
        assert_eq!(heard(step), expected, "{permission:?} {before:?}");
    }
    let known = CommentAnswers { pull: None, ..written(Permission::None) };
    let placed = issue("/capstan hold");
    let step = hear(of(&facts, &settings, &placed, None), &known);
    let expected = "Confused on issue 8, ada command-refused: issue #8, issue 8 is answered, dealt with";
    assert_eq!(heard(step), expected);
}

#[test]
fn words_that_another_person_may_have_written_are_not_obeyed() {
    let (facts, settings) = (town().facts(), CommandSettings::default());
    for (wording, expected, seen) in [
        (Wording::AsWritten, "Eyes on comment 5, dealt with, Obeyed on #3", true),
        (Wording::Edited, "dealt with, Edited on #3", false),
        (Wording::Hidden, "comment 5 is answered", false),
    ] {
        let placed = placed("ada", "/capstan hold");
        let of = of(&facts, &settings, &placed, None);
        assert_eq!(heard(hear(of, &known(Permission::Write, wording))), expected);
        let eyes = eyes(of, &known(Permission::Write, wording));
        let expected =
            seen.then_some(Effect::React { comment: CommentId::Comment(5), reaction: Reaction::Eyes });
        assert_eq!(eyes, DecisionStep::Decided(expected));
    }
}

#[test]
fn readers_are_obeyed_where_the_settings_admit_them() {
    let facts = town().facts();
    let allow = vec![Principal::Read];
    let permission = CommandPermission { matches: None, verbs: vec![Verb::Hold], allow };
    let settings = CommandSettings { permissions: vec![permission], ..CommandSettings::default() };
    let placed = placed("eve", "/capstan hold");
    let step = hear(of(&facts, &settings, &placed, None), &written(Permission::Read));
    assert_eq!(heard(step), "Eyes on comment 5, dealt with, Obeyed on #3");
}

#[test]
fn a_comment_that_arrives_meanwhile_is_seen_where_the_next_run_obeys_it() {
    let (facts, settings) = (town().facts(), CommandSettings::default());
    let [ask, nothing] = [CommentAnswers::default(), written(Permission::Read)];
    let asked = CommentAnswers { permission: Some(Permission::Write), ..CommentAnswers::default() };
    for (text, known, expected) in [
        ("Nice.", &ask, DecisionStep::Decided(None)),
        ("/capstan hold", &ask, DecisionStep::Ask(CommentNeed::Permission)),
        ("/capstan hold", &asked, DecisionStep::Ask(CommentNeed::Wording)),
        // The run that refuses it says so.
        ("/capstan hold", &nothing, DecisionStep::Decided(None)),
    ] {
        let placed = placed("ada", text);
        assert_eq!(eyes(of(&facts, &settings, &placed, None), known), expected, "{text}");
    }
}

#[test]
fn issues_are_read_that_hints_name_and_all_where_hints_may_be_lost() {
    let hinted = |issues: &[u64], pulls: &[u64]| Hints {
        issues: issues.to_vec(),
        pull_requests: pulls.to_vec(),
        ..Hints::default()
    };
    for (hints, expected) in [
        (hinted(&[], &[]), Some(&[][..])),
        (hinted(&[], &[3]), None),
        (hinted(&[8], &[3]), Some(&[8][..])),
        (hinted(&[1, 2, 4, 5, 6], &[]), Some(&[1, 2, 4, 5, 6][..])),
        (hinted(&[1, 2, 4, 5, 6, 7], &[]), Some(&[][..])),
    ] {
        assert_eq!(issues_to_read(&hints), expected);
    }
}

fn pressed(button: &str, head: char) -> Press {
    let [delivery, by] = ["d-1", "ada"].map(str::to_owned);
    Press { at: now(), delivery, by, button: button.to_owned(), head: commit(head).to_string() }
}

#[test]
fn a_button_of_a_head_that_is_gone_is_noted_and_others_are_commands() {
    let (facts, settings) = (town().facts(), CommandSettings::default());
    let gone = |button: &str, head: char| {
        format!("ada command-overtaken: {button}, button at {}", head.to_string().repeat(40))
    };
    for (button, head, right, expected) in [
        ("replan", 'a', None, "?".to_owned()),
        ("replan", 'a', Some(Right::Write), "replan on #3, Obeyed".to_owned()),
        ("replan", 'a', Some(Right::Read), "replan on #3, Refused".to_owned()),
        ("replan", 'a', Some(Right::None), "replan on #3, Waved".to_owned()),
        ("replan", 'b', None, gone("replan", 'b')),
        // A person's pull request has no buttons.
        ("replan", 'f', None, gone("replan", 'f')),
        ("destroy", 'a', None, gone("destroy", 'a')),
        ("nonsense", 'a', None, gone("nonsense", 'a')),
    ] {
        let found = match press(&facts, &settings, &pressed(button, head), right) {
            DecisionStep::Ask(()) => "?".to_owned(),
            DecisionStep::Decided(Err(effect)) => effect_in_words(&effect),
            DecisionStep::Decided(Ok(request)) => {
                let words: Vec<_> =
                    request.commands.iter().flatten().map(|command| command.verb().word()).collect();
                format!("{} on #{}, {:?}", words.join(" "), request.number, request.hearing)
            }
        };
        assert_eq!(found, expected, "{button} at {head}, {right:?}");
    }
}

#[test]
fn a_check_says_at_once_that_its_button_was_pressed_by_somebody_who_may() {
    let (facts, settings) = (town().facts(), CommandSettings::default());
    for (right, expected) in [(Right::Write, Some(commit('a'))), (Right::Read, None)] {
        let DecisionStep::Decided(Ok(request)) =
            press(&facts, &settings, &pressed("replan", 'a'), Some(right))
        else {
            panic!("it is a command");
        };
        let head = line_of_press(&request).map(|effect| match effect {
            Effect::LineAbove { head, .. } => head,
            other => panic!("{other:?}"),
        });
        assert_eq!(head, expected, "{right:?}");
    }
    assert_eq!(line_of_press(&comment(1, "ada", None, "/capstan replan")), None);
}

fn ordered(minutes_ago: i64, given: &str) -> PageOrder {
    let [id, by] = ["page-1", "ada"].map(str::to_owned);
    PageOrder { at: now() - minutes(minutes_ago), id, by, given: given.to_owned() }
}

fn order_facts(settings: &CommandSettings) -> OrderFacts<'_> {
    OrderFacts { repository: 7, settings, began: now(), dashboard: Some(99) }
}

#[test]
fn an_order_that_waited_for_too_long_or_cannot_be_read_ends() {
    let settings = CommandSettings::default();
    let late = "ada command-overtaken: campaign stop of fleet, page-1 on Capstan's page: it waited for too long: give it again, order page-1 is answered";
    let late_dance = "ada command-overtaken: campaign dance, page-1 on Capstan's page: it waited for too long: give it again, order page-1 is answered";
    let unread = "ada command-not-possible: campaign dance, page-1 on Capstan's page: this version of Capstan cannot read it: give it again, order page-1 is answered";
    for (given, right, expected) in [
        (ordered(60, "stop of fleet"), None, "?"),
        (ordered(60, "stop of fleet"), Some(Right::Write), "Obeyed on #99"),
        (ordered(0, "stop of fleet"), Some(Right::Read), "Refused on #99"),
        (ordered(0, "stop of fleet"), Some(Right::None), "Refused on #99"),
        (ordered(61, "stop of fleet"), None, late),
        (ordered(61, "dance"), None, late_dance),
        (ordered(0, "dance"), None, unread),
    ] {
        let found = match order(order_facts(&settings), &given, right) {
            DecisionStep::Ask(()) => "?".to_owned(),
            DecisionStep::Decided(Err(effects)) => in_words(&effects),
            DecisionStep::Decided(Ok(request)) => format!("{:?} on #{}", request.hearing, request.number),
        };
        assert_eq!(found, expected, "{given:?} {right:?}");
    }
}

#[test]
fn an_order_ends_once() {
    let settings = CommandSettings::default();
    let given = [ordered(61, "stop of fleet"), ordered(0, "stop of fleet")];
    let mut requests = vec![comment(1, "ada", None, "/capstan help")];
    for one in &given {
        if let DecisionStep::Decided(Ok(request)) = order(order_facts(&settings), one, Some(Right::Write)) {
            requests.push(*request);
        }
    }
    // The first one has ended: it is not refused as well.
    let left: Vec<&PageOrder> = orders_of(&requests).collect();
    assert_eq!(left, [&given[1]]);
    let expected = "ada command-not-possible: campaign stop of fleet, page-1 on Capstan's page: nothing can be planned, order page-1 is answered";
    assert_eq!(in_words(&refuse_order(7, left[0], "nothing can be planned")), expected);
}

/// The state of a request: whether it is bound, what its author had not seen, and what it rewrites.
fn bound(case: &Case, request: &Request, known: &BindAnswers) -> String {
    let facts = case.facts();
    let of = BindFacts { facts: &facts, scopes: &case.scopes, own: OWN, now: now() + minutes(180) };
    match bind(of, request, known) {
        DecisionStep::Ask(BindNeed::Pushes(branch)) => format!("? pushes to {branch}"),
        DecisionStep::Ask(BindNeed::Result(pull)) => format!("? result of #{}", pull.number),
        DecisionStep::Ask(BindNeed::Concerned) => "? concerned".to_owned(),
        DecisionStep::Decided(None) => "later".to_owned(),
        DecisionStep::Decided(Some(request)) => {
            let overlooked =
                |what: &str, pushes: usize, branch: &str| format!("{what} {branch} ({pushes} pushes)");
            let moved = request.moved.map(|one| overlooked("moved", one.pushes.len(), &one.branch));
            let unseen = request.unseen.map(|one| overlooked("unseen", one.pushes.len(), &one.branch));
            let result = request.result.map(|_| "with a result".to_owned());
            let rewritten = (!request.rewritten.is_empty()).then(|| {
                format!(
                    "rewrites {}",
                    request.rewritten.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
                )
            });
            let parts = [moved, unseen, result, rewritten].into_iter().flatten().collect::<Vec<_>>();
            if parts.is_empty() { "bound".to_owned() } else { parts.join(", ") }
        }
    }
}

const BRANCH: &str = "capstan/upgrade/gauss/peu01";

fn push(head: char, actor: &str, minute: i64) -> Push {
    Push { after: commit(head), actor: Some(actor.to_owned()), at: now() + minutes(minute) }
}

fn pushes(pushes: Option<Vec<Push>>) -> BindAnswers {
    BindAnswers { pushes: [(BRANCH.to_owned(), pushes)].into_iter().collect(), ..BindAnswers::default() }
}

/// A command that means the head is bound to the head that its author saw. Capstan's newer commits they did not see either.
#[test]
fn an_approval_means_the_head_that_its_author_saw() {
    let case = town();
    let on = open(&case, 3);
    let request = comment(5, "ada", Some(&on), "/capstan approve");
    let seen = || pushes(Some(vec![push('a', OWN, -1)]));
    let digest = ResultDigest::of(&tree(&[("a.yaml", "a: 1")]), &tree(&[("a.yaml", "a: 2")]));
    let with = |result| BindAnswers { result: Some(result), ..seen() };
    let moved = |count: usize| format!("moved {BRANCH} ({count} pushes)");
    for (known, expected) in [
        (BindAnswers::default(), format!("? pushes to {BRANCH}")),
        (seen(), "? result of #3".to_owned()),
        (with(MergeResult::NotYet), "later".to_owned()),
        (with(MergeResult::Is(None)), "bound".to_owned()),
        (with(MergeResult::Is(Some(digest))), "with a result".to_owned()),
        (pushes(Some(vec![push('a', "bob", 1)])), moved(1)),
        (pushes(Some(vec![push('a', OWN, 1)])), moved(1)),
        (pushes(None), moved(0)),
    ] {
        assert_eq!(bound(&case, &request, &known), expected);
    }
    // A tick or a closed pull request mean no head.
    let ticked = tick(0, "ada", &id("gauss/peu01"), Some(&on), "/capstan hold");
    let closed = PullRequest { state: PullRequestState::Closed, ..on };
    for request in [ticked, comment(5, "ada", Some(&closed), "/capstan approve")] {
        assert_eq!(bound(&case, &request, &BindAnswers::default()), "bound");
    }
}

#[test]
fn a_command_that_writes_over_a_branch_is_bound_to_what_its_author_saw_of_it() {
    let case = town();
    let on = open(&case, 3);
    let replan = comment(5, "ada", Some(&on), "/capstan replan");
    let rewrites = "rewrites gauss/peu01";
    for (known, expected) in [
        (BindAnswers::default(), format!("? pushes to {BRANCH}")),
        (pushes(Some(vec![push('a', "bob", -1)])), rewrites.to_owned()),
        (pushes(Some(vec![push('a', OWN, 1)])), rewrites.to_owned()),
        (pushes(Some(vec![push('a', "bob", 1)])), format!("unseen {BRANCH} (1 pushes), {rewrites}")),
        (pushes(None), format!("unseen {BRANCH} (0 pushes), {rewrites}")),
    ] {
        assert_eq!(bound(&case, &replan, &known), expected);
    }
    let refused = Request { hearing: Hearing::Refused, ..replan };
    assert_eq!(bound(&case, &refused, &BindAnswers::default()), "bound");
}

#[test]
fn what_github_does_not_report_yet_is_waited_for() {
    let case = town();
    let on = open(&case, 3);
    // Written just before Capstan reads it.
    for text in ["/capstan approve", "/capstan replan"] {
        let request = Request { given_at: now() + minutes(180), ..comment(5, "ada", Some(&on), text) };
        assert_eq!(bound(&case, &request, &pushes(Some(Vec::new()))), "later", "{text}");
        let later = Request { given_at: now(), ..request };
        assert_ne!(bound(&case, &later, &pushes(Some(Vec::new()))), "later", "{text}");
    }
}

#[test]
fn a_retarget_concerns_what_it_rewrites() {
    let case = town();
    let on = open(&case, 3);
    let retarget = comment(5, "ada", Some(&on), "/capstan retarget");
    let concerned = |those: &[&str]| BindAnswers {
        concerned: Some(those.iter().map(|one| id(one)).collect()),
        ..pushes(Some(vec![push('a', OWN, -1)]))
    };
    for (known, expected) in [
        (BindAnswers::default(), "? concerned"),
        (concerned(&["gauss/peu01", "kiel/peu01"]), "rewrites gauss/peu01 kiel/peu01"),
        // It cannot be read: nothing is written.
        (concerned(&[]), "bound"),
    ] {
        assert_eq!(bound(&case, &retarget, &known), expected);
    }
    assert!(matches!(retarget.origin, RequestOrigin::Comment(_)));
}
