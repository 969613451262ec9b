//! What the intake reads of the payloads in `webhook-fixtures/`, and what it says of others.

use std::path::Path;

use capstan_bot::intake::{BodyEdit, Delivery, DeliveryHint, DeliveryReading, PressHint, read_delivery};
use capstan_report::{BlockKey, DashboardRecord, TickedBoxes};

fn read(event: &str, body: &[u8]) -> Result<Option<Delivery>, String> {
    match read_delivery("guid-1", event, body, jiff::Timestamp::UNIX_EPOCH) {
        Ok(DeliveryReading::Store(delivery)) => Ok(Some(*delivery)),
        Ok(DeliveryReading::OfNoInterest) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn names(delivery: &Delivery) -> Vec<String> {
    delivery.repositories.iter().map(|one| format!("{} {}", one.id, one.name)).collect()
}

const NOTHING: DeliveryHint = DeliveryHint {
    pull_request: None,
    comment: None,
    issue: None,
    head: None,
    press: None,
    edit: None,
    ticks: None,
};
const PULL: DeliveryHint = DeliveryHint { pull_request: Some(1), ..NOTHING };

fn head(id: &str) -> DeliveryHint {
    DeliveryHint { head: Some(id.to_owned()), ..NOTHING }
}

/// Every fixture: what it names besides its repository; `None` where nothing depends on it.
#[test]
fn every_fixture_is_read() {
    const FLEET: &str = "1004 acme/gitops";
    let expected = [
        ("check_run.completed", None),
        ("check_run.rerequested", Some((FLEET, head("c7027ba3cca9d7421db17a07f889a44f6fb01ec6")))),
        (
            "check_run.requested_action",
            Some((
                FLEET,
                DeliveryHint {
                    press: Some(PressHint { by: "alice".to_owned(), button: "merge".to_owned() }),
                    ..head("c7027ba3cca9d7421db17a07f889a44f6fb01ec6")
                },
            )),
        ),
        ("check_suite.requested", None),
        ("check_suite.rerequested", Some((FLEET, head("c7027ba3cca9d7421db17a07f889a44f6fb01ec6")))),
        ("installation.created", Some((FLEET, NOTHING))),
        ("installation.deleted", None),
        ("installation_repositories.added", Some(("1005 acme/releases", NOTHING))),
        ("installation_repositories.removed", None),
        ("issue_comment.created", Some((FLEET, DeliveryHint { comment: Some(1026), ..PULL }))),
        ("issue_comment.edited", None),
        (
            "issues.edited",
            Some((
                FLEET,
                DeliveryHint {
                    edit: Some(BodyEdit {
                        by: "alice".to_owned(),
                        before: "- [ ] one".to_owned(),
                        after: "- [x] one".to_owned(),
                    }),
                    ..NOTHING
                },
            )),
        ),
        ("issues.opened", Some((FLEET, DeliveryHint { issue: Some(2), ..NOTHING }))),
        ("merge_group.checks_requested", Some((FLEET, head("b5d6d57baa052401b32145e382457068f84e830e")))),
        ("ping", None),
        ("pull_request.auto_merge_disabled", Some((FLEET, PULL))),
        ("pull_request.auto_merge_enabled", Some((FLEET, PULL))),
        ("pull_request.closed", Some((FLEET, PULL))),
        ("pull_request.converted_to_draft", Some((FLEET, PULL))),
        ("pull_request.edited", Some((FLEET, PULL))),
        ("pull_request.enqueued", Some((FLEET, PULL))),
        ("pull_request.labeled", None),
        ("pull_request.opened", Some((FLEET, PULL))),
        ("pull_request.ready_for_review", Some((FLEET, PULL))),
        ("pull_request.reopened", Some((FLEET, PULL))),
        ("pull_request.synchronize", Some((FLEET, PULL))),
        ("pull_request.unlabeled", None),
        ("pull_request_review.dismissed", Some((FLEET, PULL))),
        ("pull_request_review.submitted", Some((FLEET, PULL))),
        ("push", Some((FLEET, NOTHING))),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("webhook-fixtures");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), expected.len(), "a fixture without a row");
    for (name, expected) in expected {
        let body = std::fs::read(folder.join(format!("{name}.json"))).unwrap();
        let (event, action) = name.split_once('.').unwrap_or((name, ""));
        match (read(event, &body).unwrap(), expected) {
            (None, None) => {}
            (Some(found), Some((repository, hint))) => {
                assert_eq!((names(&found), &found.hint), (vec![repository.to_owned()], &hint), "{name}");
                let said = (found.event.as_str(), found.action.as_str(), found.installation);
                assert_eq!(said, (event, action, 1006), "{name}");
            }
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
}

#[test]
fn what_cannot_be_read_says_where_and_shows_no_content() {
    for (event, body, says) in [
        ("push", "{\"ref\": secret}", "the payload is not what GitHub sends: no JSON at line 1, column 9"),
        (
            "push",
            "{\n\"ref\": {\"a\": 1}}",
            "the payload is not what GitHub sends: another type at line 2, column 7",
        ),
        (
            "push",
            r#"{"installation": {"id": "secret"}}"#,
            "the payload is not what GitHub sends: another type at line 1, column 32",
        ),
        ("push", "{", "the payload is not what GitHub sends: an early end at line 1, column 1"),
        ("push", "{}", "the payload of `push` has no `ref`"),
        ("issue_comment", r#"{"action": "created"}"#, "the payload of `issue_comment` has no `issue`"),
        ("check_run", "{}", "the payload of `check_run` has no `action`"),
    ] {
        assert_eq!(read(event, body.as_bytes()), Err(says.to_owned()), "{body}");
    }
}

/// Of issues, those alone that a bot opened and a person touches.
#[test]
fn issues_are_read_where_they_may_be_the_dashboard() {
    let body = |action: &str, author: &str, sender: &str| {
        format!(
            r#"{{"action": "{action}", "issue": {{"number": 1, "user": {{"type": "{author}"}}}},
            "sender": {{"type": "{sender}"}}, "repository": {{"id": 1, "full_name": "a/b"}}, "installation": {{"id": 2}}}}"#
        )
    };
    for (action, author, sender, stored) in [
        ("edited", "Bot", "User", true),
        ("reopened", "Bot", "User", true),
        ("deleted", "Bot", "User", true),
        ("edited", "Bot", "Bot", false),
        ("edited", "User", "User", false),
        ("opened", "Bot", "User", false),
        ("labeled", "Bot", "User", false),
    ] {
        let found = read("issues", body(action, author, sender).as_bytes()).unwrap();
        assert_eq!(found.is_some(), stored, "{action} {author} {sender}");
    }
}

/// Of an edit, Capstan keeps only the boxes that were ticked with it, and no text that a person wrote.
#[test]
fn of_an_edited_dashboard_its_ticks_are_kept_and_no_text() {
    let key = BlockKey::derive(b"secret");
    let text = |pause: &str, words: &str| {
        format!(
            "{words}\n\n- [{pause}] <!-- capstan {{\"do\":\"pause\"}} --> Pause\n- [ ] <!-- capstan {{\"do\":\"replan\",\"of\":\"gauss/peu01\"}} --> Plan\n"
        )
    };
    let record = DashboardRecord { edition: 3, ..DashboardRecord::default() }.with_text(&text(" ", "Fleet."));
    let body = |pause: &str, words: &str| record.body(&text(pause, words), &key, 7);
    let delivered = |before: &str, after: &str, kind: &str| {
        let payload = serde_json::json!({
            "action": "edited",
            "changes": {"body": {"from": before}},
            "issue": {"number": 1, "body": after, "user": {"type": "Bot", "login": "capstan[bot]"}},
            "sender": {"type": kind, "login": "ada"},
            "repository": {"id": 1, "full_name": "a/b"},
            "installation": {"id": 2},
        });
        read("issues", payload.to_string().as_bytes()).unwrap().map(|delivery| delivery.without_texts().hint)
    };
    let (open, ticked) = (body(" ", "Fleet."), body("x", "Fleet."));
    let hint = delivered(&open, &ticked, "User").unwrap();
    assert!(hint.edit.is_none() && !hint.is_nothing());
    let kept = hint.ticks.unwrap();
    assert_eq!(kept.by, "ada");
    let expected = format!(r#"{{"edition":3,"text":"{}","ticked":[{{"do":"pause"}}]}}"#, &record.text[..16]);
    assert_eq!(kept.boxes, expected);
    let boxes: TickedBoxes = serde_json::from_str(&kept.boxes).unwrap();
    assert_eq!((boxes.ticked.len(), boxes.unticked.len()), (1, 0));
    // GitHub's page sends line ends of its own.
    assert_eq!(delivered(&open, &ticked.replace('\n', "\r\n"), "User").unwrap().ticks, Some(kept));
    let back = delivered(&ticked, &open, "User").unwrap().ticks.unwrap().boxes;
    assert!(back.ends_with(r#""unticked":[{"do":"pause"}]}"#), "{back}");
    for (before, after) in [
        (open.clone(), body(" ", "Something else.")),
        (open.clone(), body("x", "Something else.")),
        ("A text.".to_owned(), "Another one.".to_owned()),
        (open.clone(), open.clone()),
    ] {
        let hint = delivered(&before, &after, "User").unwrap();
        assert!(hint.edit.is_none() && hint.ticks.is_none() && hint.is_nothing(), "{after}");
    }
    assert_eq!(delivered(&open, &ticked, "Bot"), None, "Capstan's own, and other bots'");
}

/// What fuzzing found, and what the fixtures hold, through the check of the fuzz target.
#[test]
fn what_fuzzing_once_found_in_payloads_stays_mended() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = |folder: &str| {
        let files = std::fs::read_dir(root.join(folder)).unwrap();
        files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect::<Vec<_>>()
    };
    let found = files("fuzz/regressions/payloads");
    assert!(!found.is_empty(), "there is at least one example");
    // Each fixture under every event's name.
    let fixtures = files("webhook-fixtures").into_iter();
    let under_all = fixtures.flat_map(|body| (0..12).map(move |event| [&[event], body.as_slice()].concat()));
    for data in found.into_iter().chain(under_all) {
        super::fuzzed_payloads::check(&data, |event, body| {
            Ok(read(event, body)?
                .map(|delivery| delivery.repositories.iter().map(|one| one.name.to_string()).collect())
                .unwrap_or_default())
        });
    }
}
