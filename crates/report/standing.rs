//! Why a proposal is not updated, or has nothing to offer any more, in words.

use crate::state::ProposalState;
use capstan_model::source::SourceKind;
use capstan_plan::proposal::{LeaveReason, OnHold, Override, Paused, ProposalId, Reviewed, SourceState};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingInWords {
    /// The state that follows from it.
    pub state: ProposalState,
    /// Why, in sentences.
    pub why: String,
    /// The open pull request whose check says so too.
    pub remarked_on: Option<u64>,
}

/// Why a proposal from that kind of source is not updated; `prefix` is that of commands.
pub fn standing_in_words(standing: &LeaveReason, kind: &SourceKind, prefix: &str) -> StandingInWords {
    let (state, why, remarked_on) = match standing {
        LeaveReason::NothingOffered { why, rest } => (ProposalState::from(*rest), why.clone(), None),
        LeaveReason::Blocked { pull, why } => (ProposalState::Blocked, why.join(" "), *pull),
        LeaveReason::Unplannable { pull, why } => {
            (ProposalState::Unplannable, format!("The cluster cannot be planned: {why}"), *pull)
        }
        LeaveReason::Waits { pull, reviewed, newer } => {
            (ProposalState::Approved, waits(*reviewed, newer.as_ref()), Some(*pull))
        }
        LeaveReason::Held { pull, hold } => {
            let of = if pull.is_some() { "unhold" } else { "unhold for CLUSTER" };
            (ProposalState::Held, format!("{} `{prefix} {of}` undoes it.", hold_in_words(hold)), *pull)
        }
        LeaveReason::Paused { pull, pause } => {
            (ProposalState::Paused, format!("{} `{prefix} resume` undoes it.", pause_in_words(pause)), *pull)
        }
        LeaveReason::Edited { pull } => (
            ProposalState::Edited,
            format!(
                "The branch has commits of a person, so Capstan leaves it alone. `{prefix} replan` on the pull request rewrites it."
            ),
            *pull,
        ),
        LeaveReason::Skipped { by } => (
            ProposalState::Declined,
            format!(
                "Skipped by `{by}`: Capstan does not offer this {kind} again, only a newer one. `{prefix} unskip for CLUSTER` undoes it."
            ),
            None,
        ),
        LeaveReason::Declined { pull } => (
            ProposalState::Declined,
            format!(
                "#{pull} was closed by a person: Capstan does not offer this {kind} again. `{prefix} unskip` there offers it again; a newer {kind} is offered by itself."
            ),
            None,
        ),
        LeaveReason::RolledBack { pull } => (
            ProposalState::Reverted,
            format!(
                "#{pull} rolled back from it: Capstan does not offer this {kind} again, only a newer one. `{prefix} upgrade CLUSTER to RELEASE` offers it."
            ),
            None,
        ),
        LeaveReason::Merged { pull } => (
            ProposalState::Reverted,
            format!(
                "#{pull} was merged, but its content is no longer on the base branch. `{prefix} replan` there offers it again."
            ),
            None,
        ),
    };
    StandingInWords { state, why, remarked_on }
}

/// Who holds a proposal, why, and until when: a sentence.
pub fn hold_in_words(hold: &OnHold) -> String {
    let until = hold.until.map_or_else(String::new, |until| format!(" until {until}"));
    let reason =
        hold.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", reason.trim_end_matches('.')));
    format!("On hold by `{}`{until}{reason}.", hold.by)
}

/// Who paused Capstan in a repository, why, and since when: a sentence.
pub fn pause_in_words(pause: &Paused) -> String {
    let reason = pause
        .reason
        .as_ref()
        .map_or_else(String::new, |reason| format!(": {}", reason.trim_end_matches('.')));
    format!("Paused by `{}` since {}{reason}.", pause.by, pause.since)
}

/// Which rule is overridden, who overrides it, and why: a sentence.
pub fn override_in_words(one: &Override) -> String {
    let Override { rule, by, reason, .. } = one;
    let reason = reason.trim_end_matches('.');
    if one.is_void() {
        return format!(
            "`{rule}` was overridden by `{by}` ({reason}), which no longer counts: its findings are always errors."
        );
    }
    format!("`{rule}` is overridden by `{by}`: {reason}.")
}

/// What the base branch no longer has of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The target, and all changes of it with it.
    Target,
    /// The proposal's kind of source no longer changes the target, which still exists.
    Source,
}

/// Says that a proposal has no plan any more: a sentence that begins with a small letter.
pub fn missing_in_words(proposal: &ProposalId, missing: Missing) -> String {
    let ProposalId { target, kind } = proposal;
    match missing {
        Missing::Target => format!("the base branch no longer has this {}.", target.noun()),
        Missing::Source => format!("the base branch no longer has a {kind} for this {}.", target.noun()),
    }
}

fn waits(reviewed: Reviewed, newer: Option<&SourceState>) -> String {
    let how = match reviewed {
        Reviewed::Queued => "in the merge queue",
        Reviewed::AutoMerge => "set to auto-merge",
        Reviewed::Approved | Reviewed::Not => "approved",
    };
    match newer {
        Some(newer) => format!(
            "The pull request is {how}, so its target stays. Capstan offers `{}` when it is merged or closed.",
            newer.source()
        ),
        None => format!("The pull request is {how}, so it stays as it is."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_model::target::Target;

    #[test]
    fn what_is_missing_is_called_by_its_kind() {
        let target = Target::parse("gauss/peu01").unwrap();
        let release = ProposalId::of_release(target.clone());
        let values = ProposalId { target, kind: SourceKind::parse("values").unwrap() };
        for (proposal, missing, words) in [
            (&release, Missing::Target, "the base branch no longer has this cluster."),
            (&values, Missing::Target, "the base branch no longer has this cluster."),
            (&release, Missing::Source, "the base branch no longer has a release for this cluster."),
            (&values, Missing::Source, "the base branch no longer has a values for this cluster."),
        ] {
            assert_eq!(missing_in_words(proposal, missing), words);
        }
    }
}
