//! Why a proposal is left as it is, in words.

use capstan_model::source::SourceKind;
use capstan_plan::proposal::{Reviewed, SourceState, Standing};

/// A standing in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingInWords {
    /// A word of a closed set: `current`, `blocked`, `unplannable`, `approved`, `edited`, `declined`, `merged`.
    pub word: &'static str,
    /// Why, in sentences.
    pub why: String,
    /// The open pull request whose check says so too.
    pub remarked_on: Option<u64>,
}

/// Why a proposal from that kind of source is left as it is; `prefix` is what commands begin with.
pub fn standing_in_words(standing: &Standing, kind: &SourceKind, prefix: &str) -> StandingInWords {
    let (word, why, remarked_on) = match standing {
        Standing::NothingOffered { why } => ("current", why.clone(), None),
        Standing::Blocked { pull, why } => ("blocked", why.join(" "), *pull),
        Standing::Unplannable { pull, why } => {
            ("unplannable", format!("The cluster cannot be planned: {why}"), *pull)
        }
        Standing::Waits { pull, reviewed, newer } => {
            ("approved", waits(*reviewed, newer.as_ref()), Some(*pull))
        }
        Standing::Edited { pull } => (
            "edited",
            format!(
                "The branch holds a person's work, so Capstan leaves it alone. `{prefix} replan` on the pull request writes it anew."
            ),
            *pull,
        ),
        Standing::Declined { pull } => (
            "declined",
            format!(
                "#{pull} was closed by a person: this {kind} is not offered again. `{prefix} replan` there offers it, and so does a newer {kind}."
            ),
            None,
        ),
        Standing::Merged { pull } => (
            "merged",
            format!(
                "#{pull} was merged and its content is not on the base branch any more: `{prefix} replan` there offers it again."
            ),
            None,
        ),
    };
    StandingInWords { word, why, remarked_on }
}

fn waits(reviewed: Reviewed, newer: Option<&SourceState>) -> String {
    let how = match reviewed {
        Reviewed::Queued => "in the merge queue",
        Reviewed::AutoMerge => "set to merge by itself",
        Reviewed::Approved | Reviewed::Not => "approved",
    };
    match newer {
        Some(newer) => format!(
            "The pull request is {how}, so its target stays: `{}` is offered once it is merged or closed.",
            newer.source()
        ),
        None => format!("The pull request is {how}, so it stays as it is."),
    }
}
