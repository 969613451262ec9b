//! Comments on a merged pull request: its rollout needs a person, and how that ended.
//!
//! GitHub sends no notification for a check that turns red on a merged pull request, but it sends one to all
//! participants for a comment. So a rollout that stops gets one comment, and another when it continues or
//! ends. A rollout that goes well gets none, and neither does a problem that ends within a minute: a restart
//! of an API server notifies nobody.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::markdown::{MAX_BODY, Page, code, prose_cell};
use super::rollout::{RolloutSubject, transition_word};
use capstan_campaign::wording::minute;
use capstan_live::agent::{Announced, Progress, Transition, TransitionKind};
use capstan_model::digest::digest;
use capstan_model::tree::CommitId;

/// How long a problem lasts before it gets a comment.
const PATIENCE_SECONDS: i64 = 60;
/// Turns of one cluster that get comments; of a rollout that stops again and again only the end is reported
/// after these.
const MOST: usize = 12;
/// Turns that one comment's marker names.
const MARKED: usize = 500;
const MARKER: &str = "<!-- capstan-rollout:";

/// Identifies one turn of one merge.
pub type TransitionId = String;

/// The turns to report in a comment now, by subject and turn.
pub fn news(subjects: &[RolloutSubject], now: Timestamp) -> Vec<(usize, usize)> {
    let each = subjects.iter().enumerate();
    each.flat_map(|(subject, one)| due_turns(&one.progress, now).into_iter().map(move |turn| (subject, turn)))
        .filter(|(subject, turn)| subjects[*subject].progress.turns[*turn].announced == Announced::No)
        .collect()
}

/// In how many seconds a problem is old enough, if it lasts.
pub fn next_news(subjects: &[RolloutSubject], now: Timestamp) -> Option<i64> {
    let last = subjects.iter().filter_map(|subject| subject.progress.turns.last());
    last.filter(|turn| is_trouble(turn.kind))
        .map(|turn| PATIENCE_SECONDS - seconds(turn.at, now))
        .filter(|left| *left > 0)
        .min()
}

fn due_turns(progress: &Progress, now: Timestamp) -> Vec<usize> {
    let mut worth = Vec::new();
    // Whether a comment reported a problem that has not ended yet.
    let mut told = false;
    for (at, turn) in progress.turns.iter().enumerate() {
        let room = worth.len() < MOST;
        match turn.kind {
            kind if is_trouble(kind) => {
                let until = progress.turns.get(at + 1).map_or(now, |next| next.at);
                let lasts = seconds(turn.at, until) >= PATIENCE_SECONDS;
                // After a comment about a problem its end is reported too, whatever clocks say of its length.
                if turn.announced == Announced::Yes || (lasts && room) {
                    told = true;
                    worth.push(at);
                }
            }
            TransitionKind::Freed if told && room => worth.push(at),
            TransitionKind::Done if told => {
                told = false;
                worth.push(at);
            }
            _ => {}
        }
    }
    worth
}

const fn is_trouble(kind: TransitionKind) -> bool {
    matches!(kind, TransitionKind::Stuck | TransitionKind::Refused)
}

fn seconds(from: Timestamp, to: Timestamp) -> i64 {
    to.as_second().saturating_sub(from.as_second())
}

/// The comment that reports these turns, except those that `before` reports. `None` where it reports all.
pub fn rollout_comment(
    subjects: &[RolloutSubject],
    news: &[(usize, usize)],
    merge: &CommitId,
    before: &BTreeSet<TransitionId>,
) -> Option<String> {
    let mut rows = Vec::new();
    let mut ids: Vec<TransitionId> = Vec::new();
    for (subject, turn) in news {
        let Some(subject) = subjects.get(*subject) else { continue };
        let Some(turn) = subject.progress.turns.get(*turn) else { continue };
        let id = transition_id(subject, turn, merge);
        if !before.contains(&id) {
            ids.push(id);
            rows.push(row(subject, turn));
        }
    }
    if rows.is_empty() {
        return None;
    }
    ids.truncate(MARKED);
    let marker = format!("\n{MARKER}{} -->\n", ids.join(" "));
    let mut page = Page::new(MAX_BODY.saturating_sub(marker.len()));
    page.push("What this merge does to machines:\n\n");
    page.section("", &rows, MAX_BODY / 2, |left| format!("- … and {left} more\n"));
    page.push("\nThe check `capstan/rollout` of this pull request lists the machines by name.\n");
    Some(page.finish() + &marker)
}

fn row(subject: &RolloutSubject, turn: &Transition) -> String {
    let words = turn.words.as_ref();
    let words = words.map_or_else(String::new, |words| format!(": {}", prose_cell(words.as_str(), 600)));
    format!(
        "- {} on {}: {} since {}{words}\n",
        code(subject.cluster.as_str(), 200),
        code(&subject.management_cluster, 100),
        transition_word(turn.kind),
        minute(turn.at)
    )
}

/// Comments contain these ids, and a turn with a known id is not reported again: they stay the same in every
/// release.
fn transition_id(subject: &RolloutSubject, turn: &Transition, merge: &CommitId) -> TransitionId {
    let at = turn.at.as_millisecond().to_string();
    digest(&[merge.as_str(), subject.cluster.as_str(), turn.kind.as_str(), &at])
}

/// The turns that a comment reports. Only for comments that Capstan wrote.
pub fn announced_in(body: &str) -> Vec<TransitionId> {
    let Some((_, rest)) = body.rsplit_once(MARKER) else { return Vec::new() };
    let ids = rest.split_once(" -->").map_or("", |(ids, _)| ids);
    ids.split_whitespace().map(str::to_owned).collect()
}

/// Records that a turn was reported.
pub fn mark_announced(progress: &mut Progress, turn: usize) {
    if let Some(turn) = progress.turns.get_mut(turn) {
        turn.announced = Announced::Yes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_live::agent::Words;
    use capstan_model::ids::ClusterId;
    use capstan_model::tree::RepoPath;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_262_400 + second).unwrap()
    }

    fn merge() -> CommitId {
        CommitId::parse(&"a".repeat(40)).unwrap()
    }

    fn subject(turns: &[(i64, TransitionKind)]) -> RolloutSubject {
        let mut progress = Progress::waiting(at(0));
        for (second, kind) in turns {
            let words = is_trouble(*kind).then(|| Words::new("no IP addresses left, says @ipam"));
            progress.turns.push(Transition { at: at(*second), kind: *kind, words, announced: Announced::No });
        }
        let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
        RolloutSubject { cluster, management_cluster: "mc-eu".to_owned(), progress, files_url: None }
    }

    #[test]
    fn a_problem_that_lasts_gets_comments_and_a_good_rollout_none() {
        use TransitionKind::{Began, Done, Freed, Refused, Stuck, Unknown};
        type Turns<'a> = &'a [(i64, TransitionKind)];
        let cases: [(Turns<'_>, i64, &[usize]); 9] = [
            (&[(0, Began), (90, Done)], 900, &[]),
            (&[(0, Began), (30, Stuck)], 89, &[]),
            (&[(0, Began), (30, Stuck)], 90, &[1]),
            (&[(30, Stuck), (89, Freed), (95, Done)], 900, &[]),
            (&[(30, Stuck), (90, Freed), (95, Done)], 900, &[0, 1, 2]),
            (&[(0, Refused), (100, Stuck), (200, Done)], 900, &[0, 1, 2]),
            // Time after the end does not count as part of the problem.
            (&[(0, Stuck), (100, Done), (200, Began), (300, Done)], 900, &[0, 1]),
            (&[(0, Stuck), (100, Unknown), (200, Done)], 900, &[0, 2]),
            (&[(0, Refused), (10, Freed), (20, Stuck), (100, Freed)], 900, &[2, 3]),
        ];
        for (turns, now, told) in cases {
            let told: Vec<(usize, usize)> = told.iter().map(|turn| (0, *turn)).collect();
            assert_eq!(news(&[subject(turns)], at(now)), told, "{turns:?}");
        }
    }

    #[test]
    fn a_problem_that_may_last_is_examined_again_in_time() {
        use TransitionKind::{Freed, Stuck};
        assert_eq!(next_news(&[subject(&[(30, Stuck)])], at(50)), Some(40));
        assert_eq!(next_news(&[subject(&[(30, Stuck)])], at(90)), None);
        assert_eq!(next_news(&[subject(&[(30, Stuck), (40, Freed)])], at(50)), None);
    }

    #[test]
    fn a_rollout_that_stops_again_and_again_gets_a_limited_number_of_comments() {
        let mut turns = Vec::new();
        for round in 0..20 {
            turns.push((round * 1_000, TransitionKind::Stuck));
            turns.push((round * 1_000 + 500, TransitionKind::Freed));
        }
        turns.push((30_000, TransitionKind::Done));
        let told: Vec<usize> =
            news(&[subject(&turns)], at(40_000)).into_iter().map(|(_, turn)| turn).collect();
        assert_eq!(told, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 40]);
    }

    /// Comments on GitHub contain them: with another id the same turn would be reported again.
    #[test]
    fn the_ids_of_turns_are_the_same_in_every_release() {
        let ids = [
            (TransitionKind::Began, "ebc159ba464b196960d75646"),
            (TransitionKind::Stuck, "783d1511d1cc44e1b102319a"),
            (TransitionKind::Refused, "51afd8bbb615a4615bc2ac9f"),
            (TransitionKind::Freed, "e35a052c393c088b13070fcd"),
            (TransitionKind::Done, "aa4afa7009c584f3b7cc9801"),
            (TransitionKind::Unknown, "b3235b6f3417fa216388b9fb"),
        ];
        for (kind, id) in ids {
            let subject = subject(&[(0, kind)]);
            assert_eq!(transition_id(&subject, &subject.progress.turns[0], &merge()), id, "{kind:?}");
        }
    }

    #[test]
    fn a_comment_names_turn_and_time_and_has_a_marker() {
        let mut subjects = [subject(&[(0, TransitionKind::Stuck), (120, TransitionKind::Freed)])];
        let all = news(&subjects, at(200));
        let text = rollout_comment(&subjects, &all, &merge(), &BTreeSet::new()).unwrap();
        assert!(
            text.starts_with(
                "What this merge does to machines:\n\n\
                 - `gauss/peu01` on `mc-eu`: **stuck** since 2026-11-21 12:00 UTC: no IP addresses left, says "
            ),
            "{text}"
        );
        assert!(text.contains("continues since 2026-11-21 12:02 UTC\n"), "{text}");
        assert!(!text.contains("@ipam"), "nobody is mentioned: {text}");
        let told: BTreeSet<TransitionId> = announced_in(&text).into_iter().collect();
        assert_eq!(told.len(), 2);
        assert_eq!(rollout_comment(&subjects, &all, &merge(), &told), None);
        for (subject, turn) in all {
            mark_announced(&mut subjects[subject].progress, turn);
        }
        assert_eq!(news(&subjects, at(200)), []);
        // The clock of the management cluster was slow: a reported problem still gets its end.
        subjects[0].progress.turns[1].at = at(3);
        subjects[0].progress.turns[1].announced = Announced::No;
        assert_eq!(news(&subjects, at(200)), [(0, 1)]);
        assert_eq!(announced_in("hello"), Vec::<TransitionId>::new());
    }
}
