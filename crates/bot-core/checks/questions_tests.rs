//! Whether a live cluster is asked: a row is what is known of the question, and what becomes of it.

use capstan_facts::{Permission, PreflightRecord, PullRequest};
use capstan_live::agent::preflight::{ClusterAnswer, PreflightAnswer, PreflightReply, PreflightVerdict};
use capstan_live::agent::{PreflightId, PreflightState};
use capstan_model::ids::ClusterId;
use capstan_plan::command::Push;
use capstan_plan::proposal::Way;
use capstan_plan::settings::{ManagementClusterUid, PreflightMode};
use jiff::SignedDuration;

use super::*;
use crate::facts::Reporters;
use crate::proposals::DecisionStep;
use crate::testing::{Case, commit, now, pull};

const OWN: &str = "capstan[bot]";
const PROD: &str = "6e3a3c9e-52a3-4c39-9c58-1d1b5d1ae0b0";

fn uid(uid: &str) -> ManagementClusterUid {
    serde_json::from_value(serde_json::json!(uid)).unwrap()
}

fn cluster(id: &str) -> ClusterId {
    ClusterId::new(capstan_model::tree::RepoPath::parse(id).unwrap())
}

fn preflight_id(last: char) -> PreflightId {
    PreflightId::parse(&format!("01JQ000000000000000000000{last}")).unwrap()
}

/// A question that was asked about the head so many seconds ago, and waits for its answer for a minute.
fn asked(seconds: i64, state: PreflightState) -> PreflightRecord {
    let asked_at = now() - SignedDuration::from_secs(seconds);
    PreflightRecord {
        id: preflight_id('0'),
        repository: 7,
        head: commit('a'),
        commit: commit('b'),
        content: "made of".to_owned(),
        standing: "machines".to_owned(),
        management_cluster: uid(PROD),
        clusters: vec![cluster("gauss/peu01")],
        asked_at,
        until: asked_at + SignedDuration::from_secs(60),
        state,
    }
}

fn answered(verdict: PreflightVerdict) -> PreflightAnswer {
    let one =
        ClusterAnswer { cluster: cluster("gauss/peu01"), verdict, reasons: Vec::new(), names: Vec::new() };
    PreflightAnswer { clusters: vec![one], duration_ms: 5 }
}

/// The state of a question about a test merge `c`, and what is remembered.
fn become_of(
    tried: PreflightHead<'_>,
    known: Option<&PreflightRecord>,
    is_asked_again: bool,
    answers: &QuestionAnswers,
) -> String {
    let (id, uid, clusters, commit) = (preflight_id('1'), uid(PROD), [cluster("gauss/peu01")], commit('c'));
    let question = LiveQuestion {
        id: &id,
        repository: 7,
        tried,
        commit: &commit,
        uid: &uid,
        clusters: &clusters,
        content: "made of",
        standing: "machines",
        timeout: SignedDuration::from_secs(60),
    };
    match ask(QuestionFacts { question, known, is_asked_again, own: OWN, now: now() }, answers) {
        DecisionStep::Ask(need) => format!("? {need:?}"),
        DecisionStep::Decided(AnsweredQuestion { standing, is_settled, record }) => {
            let standing = match standing {
                PreflightReply::Answered(_) => "answered".to_owned(),
                PreflightReply::NotAsked(why) => format!("not asked: {why}"),
                other => format!("{other:?}"),
            };
            let noted = record.map(|record| {
                assert_eq!((&record.commit, record.asked_at), (&commit, now()));
                format!(", noted until {}", record.until)
            });
            format!("{standing}{}{}", if is_settled { "" } else { ", unsettled" }, noted.unwrap_or_default())
        }
    }
}

const NOTED: &str = ", noted until 2026-03-02T12:01:00Z";

fn group(known: Option<&PreflightRecord>, is_asked_again: bool, under_way: Option<bool>) -> String {
    let answers = QuestionAnswers { under_way, ..QuestionAnswers::default() };
    become_of(PreflightHead::MergeGroup(&commit('a')), known, is_asked_again, &answers)
}

#[test]
fn a_question_that_was_asked_is_not_asked_again_while_nothing_changes() {
    let accepted = || PreflightState::Answered(answered(PreflightVerdict::Accepted));
    let unsure = || PreflightState::Answered(answered(PreflightVerdict::NotVerifiable));
    let moved_on = |record: PreflightRecord| PreflightRecord { standing: "other".to_owned(), ..record };
    for (known, expected) in [
        (None, format!("Asked{NOTED}")),
        (Some(asked(10, PreflightState::Asked)), "Asked".to_owned()),
        (Some(asked(60, PreflightState::Asked)), "Unanswered".to_owned()),
        (Some(asked(10, accepted())), "answered".to_owned()),
        (Some(asked(10, PreflightState::NotAsked("a fork".to_owned()))), "not asked: a fork".to_owned()),
        // The clusters' inputs are others, or other clusters are touched.
        (
            Some(PreflightRecord { content: "else".to_owned(), ..asked(10, accepted()) }),
            format!("Asked{NOTED}"),
        ),
        (
            Some(PreflightRecord { clusters: vec![cluster("kiel/peu01")], ..asked(10, accepted()) }),
            format!("Asked{NOTED}"),
        ),
        // After machines moved on, the same question may get another answer.
        (Some(moved_on(asked(10, unsure()))), format!("Asked{NOTED}")),
        (Some(moved_on(asked(10, accepted()))), "answered".to_owned()),
        (Some(asked(10, unsure())), "answered".to_owned()),
    ] {
        assert_eq!(group(known.as_ref(), false, None), expected, "{known:?}");
    }
}

#[test]
fn a_person_who_wants_the_check_again_gets_the_question_asked_again_once() {
    let accepted = || PreflightState::Answered(answered(PreflightVerdict::Accepted));
    for (known, under_way, expected) in [
        (None, None, format!("Asked{NOTED}")),
        (Some(asked(31, accepted())), None, "? UnderWay".to_owned()),
        (Some(asked(31, accepted())), Some(false), format!("Asked{NOTED}")),
        // The check was reported without a conclusion since: this is the same wish.
        (Some(asked(31, accepted())), Some(true), "answered".to_owned()),
        (Some(asked(29, accepted())), None, "answered".to_owned()),
        (Some(asked(31, PreflightState::Asked)), Some(false), "Asked".to_owned()),
    ] {
        assert_eq!(group(known.as_ref(), true, under_way), expected, "{known:?} {under_way:?}");
    }
}

#[test]
fn a_live_cluster_is_sent_only_what_a_writer_pushed() {
    let on = pull(3, "topic", 'a');
    let fork = PullRequest { head_in_repository: false, ..on.clone() };
    let pushed = |after: char, actor: &str| {
        vec![Push { after: commit(after), actor: Some(actor.to_owned()), at: now() }]
    };
    let with = |pushes: Option<Vec<Push>>, permission| QuestionAnswers {
        pushes: Some(pushes),
        permission,
        ..QuestionAnswers::default()
    };
    let untold = "GitHub does not say who pushed its head.";
    for (pull, answers, expected) in [
        (&on, QuestionAnswers::default(), "? Pushes(\"topic\")".to_owned()),
        (&fork, QuestionAnswers::default(), format!("not asked: Its head is in another repository.{NOTED}")),
        (&on, with(None, None), format!("not asked: {untold}{NOTED}")),
        // GitHub has not noted the push yet: nothing is remembered.
        (&on, with(Some(pushed('b', "ada")), None), format!("not asked: {untold}, unsettled")),
        (&on, with(Some(pushed('a', OWN)), None), format!("Asked{NOTED}")),
        (&on, with(Some(pushed('a', "ada")), None), "? Permission(\"ada\")".to_owned()),
        (&on, with(Some(pushed('a', "ada")), Some(Permission::Write)), format!("Asked{NOTED}")),
        (
            &on,
            with(Some(pushed('a', "eve")), Some(Permission::Read)),
            format!("not asked: `eve`, who pushed its head, has no write permission.{NOTED}"),
        ),
    ] {
        assert_eq!(become_of(PreflightHead::Pull(pull), None, false, &answers), expected);
    }
}

#[test]
fn live_clusters_are_asked_about_heads_for_the_default_branch() {
    let open = [pull(3, "topic", 'a'), pull(4, "other", 'a')];
    let of = |pull: &PullRequest, branch: &str| subject_of(pull, Way::Straight, (branch, commit('0')));
    let group = CheckSubject { pull: None, ..of(&open[0], "main") };
    let gone = CheckSubject { pull: Some(5), ..of(&open[0], "main") };
    for (subjects, expected) in [
        (vec![], None),
        (vec![of(&open[0], "release")], None),
        (vec![of(&open[0], "release"), of(&open[1], "main")], Some(PreflightHead::Pull(&open[1]))),
        (vec![of(&open[0], "main"), of(&open[1], "main")], Some(PreflightHead::Pull(&open[0]))),
        (vec![group], Some(PreflightHead::MergeGroup(&open[0].head))),
        (vec![gone], None),
    ] {
        assert_eq!(tried(&subjects, &open, "main").map(|(_, tried)| tried), expected);
    }
}

/// `prod` applies the clusters of gauss; nobody applies the others.
fn reporters() -> Reporters {
    let managed_by = serde_json::from_value(serde_json::json!([
        {"name": "prod", "uid": PROD, "clusters": ["gauss/*"]},
    ]));
    Reporters { managed_by: managed_by.unwrap(), ..Reporters::default() }
}

#[test]
fn the_owner_of_each_touched_cluster_that_is_in_the_merge_is_asked() {
    let case = Case::new().offered("gauss/peu01").offered("gauss/peu02").offered("kiel/peu01");
    let scopes = || case.scopes.values().cloned().collect::<Vec<_>>();
    for (touched, expected) in [
        (&[][..], &[][..]),
        (&["gauss/peu01", "kiel/peu01"][..], &["gauss/peu01"][..]),
        (&["gauss/peu01", "gauss/peu02"][..], &["gauss/peu01", "gauss/peu02"][..]),
        // Its folder is removed: nothing is applied from it.
        (&["gauss/peu09"][..], &[][..]),
    ] {
        let touched: Vec<ClusterId> = touched.iter().map(|id| cluster(id)).collect();
        let found = claimed(scopes(), &touched, &reporters());
        let clusters: Vec<&str> =
            found.values().flat_map(|(_, clusters)| clusters.keys().map(ClusterId::as_str)).collect();
        assert_eq!(clusters, expected);
        assert!(found.iter().all(|(of, (name, _))| of.is(PROD) && name == "prod"));
    }
}

#[test]
fn the_answer_to_preflight_names_clusters_without_a_reconciler() {
    let case = Case::new().offered("gauss/peu01").offered("kiel/peu01");
    let touched = vec![cluster("gauss/peu01"), cluster("kiel/peu01")];
    let (reporters, mode) = (reporters(), PreflightMode::Advisory);
    let answer = preflights_in_words(&Preflights::NONE, touched, (&reporters, &case.scopes), mode);
    for part in ["`prod`", PROD, "`kiel/peu01`"] {
        assert!(answer.text().contains(part), "{part} in {}", answer.text());
    }
    assert!(!answer.text().contains("gauss/peu01"), "{}", answer.text());
}
