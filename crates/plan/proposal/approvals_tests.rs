//! Whose word counts, and what takes it back.

use super::*;

fn commit(digit: char) -> CommitId {
    CommitId::parse(&digit.to_string().repeat(40)).unwrap()
}

fn result(name: &str) -> ResultDigest {
    ResultDigest(name.to_owned())
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn approval(by: &str, head: char, of: &str) -> Approval {
    let by = by.to_owned();
    Approval { by, at: at(0), head: commit(head), result: result(of), means: Means::Command, dismissed: None }
}

fn reviewed(by: &str, head: char, of: &str) -> Approval {
    Approval { means: Means::Review, ..approval(by, head, of) }
}

fn dismissed(approval: Approval, with: char) -> Approval {
    Approval { dismissed: Some(commit(with)), ..approval }
}

fn review(by: &str, opinion: Opinion, of: char) -> Review {
    Review { by: by.to_owned(), at: at(0), opinion, commit: commit(of) }
}

/// One line of what was decided: who counts, who does not and why, who objects, how many are missing.
fn decided(
    needed: u32,
    head: char,
    now: Option<&str>,
    noted: &[Approval],
    reviews: &[Review],
    voices: &[(&str, Voice)],
) -> String {
    let voices = voices.iter().map(|(login, voice)| ((*login).to_owned(), *voice)).collect();
    let now = now.map(result);
    let facts = ApprovalFacts {
        needed,
        head: &commit(head),
        result: now.as_ref(),
        noted,
        reviews: Some(reviews),
        voices: &voices,
    };
    let judged = judge_approvals(&facts);
    // Decided again with what was noted, it is the same.
    let again = judge_approvals(&ApprovalFacts { noted: &judged.noted, ..facts });
    assert_eq!(again, judged);
    let counted: Vec<&str> = judged.counted.iter().map(|approval| approval.by.as_str()).collect();
    let passed_over = judged.passed_over.iter().map(|(approval, why)| match why {
        PassedOver::Dismissed(head) => format!("{} dismissed by {}", approval.by, &short(head)[..1]),
        PassedOver::Voice(voice) => format!("{} {voice:?}", approval.by),
    });
    format!(
        "{}; {}; {}; {}",
        counted.join(" "),
        passed_over.collect::<Vec<_>>().join(", "),
        judged.objections.join(" "),
        judged.missing
    )
}

#[test]
fn whose_approval_counts_and_what_takes_it_back() {
    use Opinion::{Approved as Yes, ChangesRequested as No};
    use Voice::{Counts, MayNot, OwnWork, Untold};
    let both = [("ada", Counts), ("grace", Counts)];
    let ada = approval("ada", 'a', "one");
    type Row<'a> =
        (&'a str, (u32, char, Option<&'a str>), Vec<Approval>, Vec<Review>, &'a [(&'a str, Voice)], &'a str);
    let rows: Vec<Row<'_>> = vec![
        ("nobody yet", (1, 'a', Some("one")), vec![], vec![], &both, "; ; ; 1"),
        ("the same head", (1, 'a', Some("one")), vec![ada.clone()], vec![], &both, "ada; ; ; 0"),
        (
            "a rebase, or a merge of the base",
            (1, 'b', Some("one")),
            vec![ada.clone()],
            vec![],
            &both,
            "ada; ; ; 0",
        ),
        (
            "another byte",
            (1, 'b', Some("two")),
            vec![ada.clone()],
            vec![],
            &both,
            "; ada dismissed by b; ; 1",
        ),
        (
            "and back: it is not given again by that",
            (1, 'c', Some("one")),
            vec![dismissed(ada.clone(), 'b')],
            vec![],
            &both,
            "; ada dismissed by b; ; 1",
        ),
        (
            "given again",
            (1, 'b', Some("two")),
            vec![dismissed(ada.clone(), 'b'), approval("ada", 'b', "two")],
            vec![],
            &both,
            "ada; ; ; 0",
        ),
        ("in a conflict nothing can be told", (1, 'b', None), vec![ada.clone()], vec![], &both, "ada; ; ; 1"),
        ("one of two", (2, 'a', Some("one")), vec![ada.clone()], vec![], &both, "ada; ; ; 1"),
        (
            "nobody counts twice, by command, by review, in capitals",
            (2, 'a', Some("one")),
            vec![ada.clone(), approval("Ada", 'a', "one")],
            vec![review("ada", Yes, 'a')],
            &both,
            "ada; ; ; 1",
        ),
        (
            "two",
            (2, 'a', Some("one")),
            vec![ada.clone()],
            vec![review("grace", Yes, 'a')],
            &both,
            "ada grace; ; ; 0",
        ),
        (
            "a right that is lost",
            (1, 'a', Some("one")),
            vec![ada.clone()],
            vec![],
            &[("ada", MayNot)],
            "; ada MayNot; ; 1",
        ),
        (
            "commits of one's own",
            (1, 'a', Some("one")),
            vec![ada.clone(), approval("grace", 'a', "one")],
            vec![],
            &[("ada", OwnWork), ("grace", Untold)],
            "; ada OwnWork, grace Untold; ; 1",
        ),
        (
            "a review of the head",
            (1, 'a', Some("one")),
            vec![],
            vec![review("grace", Yes, 'a')],
            &both,
            "grace; ; ; 0",
        ),
        (
            "a review of what nobody saw",
            (1, 'b', Some("one")),
            vec![],
            vec![review("grace", Yes, 'a')],
            &both,
            "; ; ; 1",
        ),
        (
            "a review noted before a rebase",
            (1, 'b', Some("one")),
            vec![reviewed("grace", 'a', "one")],
            vec![review("grace", Yes, 'a')],
            &both,
            "grace; ; ; 0",
        ),
        (
            "a review noted before a push",
            (1, 'b', Some("two")),
            vec![reviewed("grace", 'a', "one")],
            vec![review("grace", Yes, 'a')],
            &both,
            "; grace dismissed by b; ; 1",
        ),
        (
            "a review that was dismissed on GitHub",
            (1, 'a', Some("one")),
            vec![reviewed("grace", 'a', "one")],
            vec![],
            &both,
            "; ; ; 1",
        ),
        (
            "changes requested after an approval",
            (1, 'a', Some("one")),
            vec![ada.clone(), reviewed("grace", 'a', "one")],
            vec![review("grace", No, 'a')],
            &both,
            "ada; ; grace; 0",
        ),
        (
            "changes requested by somebody who may not",
            (1, 'a', Some("one")),
            vec![ada],
            vec![review("mallory", No, 'a')],
            &both,
            "ada; ; ; 0",
        ),
    ];
    for (case, (needed, head, now), noted, reviews, voices, expected) in rows {
        assert_eq!(decided(needed, head, now, &noted, &reviews, voices), expected, "{case}");
    }
}

#[test]
fn what_is_remembered_is_bounded_and_loses_what_was_taken_back_first() {
    let mut noted: Vec<Approval> =
        (0..50).map(|n| dismissed(approval(&format!("p{n}"), 'a', "one"), 'b')).collect();
    noted.push(approval("ada", 'b', "two"));
    let now = result("two");
    let facts = ApprovalFacts {
        needed: 1,
        head: &commit('b'),
        result: Some(&now),
        noted: &noted,
        reviews: None,
        voices: &BTreeMap::from([("ada".to_owned(), Voice::Counts)]),
    };
    let judged = judge_approvals(&facts);
    assert_eq!((judged.noted.len(), judged.missing), (40, 0));
}

#[test]
fn an_approval_is_one_line_that_later_releases_of_capstan_read() {
    let one = approval("ada", 'a', "one");
    let json = serde_json::to_string(&one).unwrap();
    let expected =
        format!(r#"{{"by":"ada","at":"2027-01-15T08:00:00Z","head":"{}","result":"one"}}"#, "a".repeat(40));
    assert_eq!(json, expected);
    let full = dismissed(reviewed("ada", 'a', "one"), 'b');
    let read: Approval = serde_json::from_str(&serde_json::to_string(&full).unwrap()).unwrap();
    assert_eq!(read, full);
}
