//! The ends of proposals' pull requests. A merge by anybody is a line in the history of each cluster that it changed.

use std::collections::BTreeSet;

use capstan_campaign::wording::minute;
use capstan_facts::{AuditEntry, ProposalRecord, PullRequest, PullRequestState};
use jiff::Timestamp;

use crate::effects::Effect;
use crate::facts::Facts;

/// At most this many pull requests are read in a run. The next runs read the others.
const MOST_READ: usize = 20;

/// The pull requests of recorded proposals that are not open any more, and whose end is not noted.
pub fn ended_pulls(facts: &Facts) -> BTreeSet<u64> {
    let unnoted = facts.records.values().filter(|record| record.ended_at.is_none());
    unnoted
        .filter_map(|record| record.pull_request)
        .filter(|number| !is_open(facts, *number))
        .take(MOST_READ)
        .collect()
}

/// What is noted of the end of a pull request, as GitHub shows it now.
pub fn note_end(facts: &Facts, pull: &PullRequest, now: Timestamp) -> Vec<Effect> {
    if pull.state == PullRequestState::Open {
        return Vec::new();
    }
    let records = facts.records.values().filter(|record| record.pull_request == Some(pull.number));
    let effects = records.flat_map(|record| {
        let line = (pull.state == PullRequestState::Merged).then(|| Effect::Audit(merge_line(record, pull)));
        line.into_iter().chain([Effect::SaveProposal(ended(record, Some(now)))])
    });
    effects.collect()
}

/// The records of pull requests that a person opened again: their next end is noted, too.
pub fn reopened(facts: &Facts) -> Vec<Effect> {
    let ended_before = facts.records.values().filter(|record| record.ended_at.is_some());
    let open = ended_before.filter(|record| record.pull_request.is_some_and(|number| is_open(facts, number)));
    open.map(|record| Effect::SaveProposal(ended(record, None))).collect()
}

fn is_open(facts: &Facts, number: u64) -> bool {
    facts.open.iter().any(|pull| pull.number == number)
}

fn ended(record: &ProposalRecord, at: Option<Timestamp>) -> ProposalRecord {
    ProposalRecord { ended_at: at, ..record.clone() }
}

fn merge_line(record: &ProposalRecord, pull: &PullRequest) -> AuditEntry {
    let commit = pull.merge_commit.as_ref().map(|commit| format!(" as {commit}")).unwrap_or_default();
    let at = pull.closed_at.map(|at| format!(", {}", minute(at))).unwrap_or_default();
    AuditEntry {
        proposal: Some(record.proposal.clone()),
        ..AuditEntry::by(
            record.repository,
            pull.merged_by.as_deref().unwrap_or("ghost"),
            "pull-request-merged",
            format!("#{}{commit}{at}", pull.number),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, commit, effects_in_words, id, now, pull};

    fn record(target: &str, number: u64) -> ProposalRecord {
        ProposalRecord {
            repository: 7,
            proposal: id(target),
            pull_request: Some(number),
            source: String::new(),
            plan: String::new(),
            head: commit('a'),
            opened_at: now(),
            ended_at: None,
        }
    }

    fn case(records: &[ProposalRecord]) -> Case {
        Case { records: records.to_vec(), ..Case::new() }
    }

    #[test]
    fn a_merge_is_a_line_for_each_cluster_of_its_pull_request() {
        let all = [record("gauss/peu01", 3), record("gauss/peu02", 3), record("kiel/peu01", 4)];
        let facts = case(&all).facts();
        assert_eq!(ended_pulls(&facts), BTreeSet::from([3, 4]));
        let merged = PullRequest {
            state: PullRequestState::Merged,
            merged_by: Some("ada".to_owned()),
            merge_commit: Some(commit('b')),
            closed_at: Some("2026-11-30T18:55:06Z".parse().unwrap()),
            ..pull(3, "capstan/upgrade/gauss/peu01", 'a')
        };
        let effects = note_end(&facts, &merged, now());
        let line = |target: &str| {
            format!(
                "audit pull-request-merged of {target} by ada: #3 as {}, 2026-11-30 18:55 UTC",
                commit('b')
            )
        };
        let lines: Vec<Effect> =
            effects.iter().filter(|one| matches!(one, Effect::Audit(_))).cloned().collect();
        assert_eq!(effects_in_words(&lines), [line("gauss/peu01"), line("gauss/peu02")]);
        let saved: Vec<&ProposalRecord> = effects
            .iter()
            .filter_map(|one| match one {
                Effect::SaveProposal(record) => Some(record),
                _ => None,
            })
            .collect();
        assert_eq!(saved, [&ended(&all[0], Some(now())), &ended(&all[1], Some(now()))]);
        // Noted once.
        let facts = case(&[ended(&all[0], Some(now())), ended(&all[1], Some(now()))]).facts();
        assert_eq!(ended_pulls(&facts), BTreeSet::new());
    }

    #[test]
    fn one_that_is_closed_has_no_line_and_one_that_is_open_again_is_noted_later() {
        let all = [record("gauss/peu01", 3)];
        let closed =
            PullRequest { state: PullRequestState::Closed, ..pull(3, "capstan/upgrade/gauss/peu01", 'a') };
        let facts = case(&all).facts();
        let saved = Effect::SaveProposal(ended(&all[0], Some(now())));
        assert_eq!(note_end(&facts, &closed, now()), [saved]);
        let open = pull(3, "capstan/upgrade/gauss/peu01", 'a');
        assert_eq!(note_end(&facts, &open, now()), []);

        let again = Case { open: vec![open], ..case(&[ended(&all[0], Some(now()))]) };
        assert_eq!(reopened(&again.facts()), [Effect::SaveProposal(all[0].clone())]);
        assert_eq!(ended_pulls(&again.facts()), BTreeSet::new());
    }
}
