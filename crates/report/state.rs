//! The state of a target for one kind of source: one state, one word, one meaning.
//!
//! The campaign's records hold the words; pages and the dashboard show them. The reason for a state is a
//! sentence beside it, which this room does not own.

use capstan_model::rest::Rest;
use capstan_plan::proposal::Stage;

/// What people have to do in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mood {
    /// All is well.
    Good,
    /// It continues by itself, or a person stopped it on purpose.
    Waits,
    /// A pull request waits for review.
    Open,
    /// A person has to act.
    Bad,
}

/// Declares each state with its word, its mood, and its meaning.
macro_rules! states {
    ($($variant:ident = $word:literal, $mood:ident: $meaning:literal;)*) => {
        /// The state of a proposal, or of a target that has none. States that need a person come first:
        /// people see them in the order of the variants.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ProposalState {
            $(#[doc = $meaning] $variant,)*
        }

        impl ProposalState {
            /// How many there are.
            const COUNT: usize = [$($word),*].len();

            /// The word: lower case, no blanks.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// Whether a person has to act.
            pub const fn mood(self) -> Mood {
                match self {
                    $(Self::$variant => Mood::$mood,)*
                }
            }

            /// What it means, a sentence about a cluster.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)*
                }
            }
        }
    };
}

states! {
    Blocked = "blocked", Bad: "Somebody must decide something before Capstan can write its upgrade.";
    Refused = "refused", Bad: "GitHub refuses what Capstan writes for it.";
    Edited = "edited", Open: "A person has pushed to its branch, so Capstan leaves the branch alone.";
    Unplannable = "unplannable", Bad: "Capstan cannot read something in it, so it cannot plan its upgrade.";
    Unknown = "unknown", Bad: "Its release or provider is unknown, so Capstan can offer nothing.";
    Failed = "failed", Bad: "Capstan failed on it and tries again.";
    Proposed = "proposed", Open: "A pull request carries its upgrade.";
    Approved = "approved", Open: "Its pull request is approved, queued or set to merge, and keeps its target.";
    Paused = "paused", Waits: "It has an upgrade, but somebody paused Capstan in its repository.";
    Waiting = "waiting", Waits: "It has an upgrade. Capstan opens its pull request later.";
    Observed = "observed", Waits: "It has an upgrade, but the settings say that Capstan writes nothing.";
    Held = "held", Waits: "Somebody holds its upgrades back.";
    Declined = "declined", Waits: "A person closed its pull request. Capstan does not offer this upgrade again.";
    Reverted = "reverted", Waits: "Its upgrade was merged, and then reverted or rolled back. Capstan does not offer it again.";
    Pinned = "pinned", Waits: "There is a newer release, but its track does not allow it.";
    Gone = "gone", Waits: "It is no longer on the base branch, or nothing there would change it.";
    Current = "current", Good: "It has the newest release for it.";
}

impl ProposalState {
    /// All of them, in the order in which a fleet moves through them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Proposed,
        Self::Approved,
        Self::Edited,
        Self::Waiting,
        Self::Observed,
        Self::Held,
        Self::Paused,
        Self::Pinned,
        Self::Declined,
        Self::Reverted,
        Self::Current,
        Self::Gone,
        Self::Unknown,
        Self::Blocked,
        Self::Unplannable,
        Self::Refused,
        Self::Failed,
    ];

    /// Reads the word. A record may hold one that this version does not know.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether a source has nothing for a target in that state.
    pub const fn rests(self) -> bool {
        match self {
            Self::Current | Self::Gone => true,
            Self::Blocked
            | Self::Refused
            | Self::Edited
            | Self::Unplannable
            | Self::Unknown
            | Self::Failed
            | Self::Proposed
            | Self::Approved
            | Self::Paused
            | Self::Waiting
            | Self::Observed
            | Self::Held
            | Self::Declined
            | Self::Reverted
            | Self::Pinned => false,
        }
    }

    /// Whether there is no offer until a new one appears: an open pull request is not shown beside this
    /// state.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Declined | Self::Reverted | Self::Pinned | Self::Gone | Self::Current => true,
            Self::Blocked
            | Self::Refused
            | Self::Edited
            | Self::Unplannable
            | Self::Unknown
            | Self::Failed
            | Self::Proposed
            | Self::Approved
            | Self::Paused
            | Self::Waiting
            | Self::Observed
            | Self::Held => false,
        }
    }

    /// Whether a target's state for one kind of source is shown beside its states for the others. *Current*
    /// is a state of the whole target, so it is not shown where another kind of source has an offer.
    pub fn is_shown_beside(self, others: impl IntoIterator<Item = Self>) -> bool {
        self != Self::Current || others.into_iter().all(Self::rests)
    }

    /// The stage of an open pull request whose proposal is in that state.
    pub const fn stage(self) -> Stage {
        match self {
            Self::Held => Stage::Held,
            Self::Paused => Stage::Paused,
            Self::Refused => Stage::Refused,
            Self::Blocked
            | Self::Edited
            | Self::Unplannable
            | Self::Unknown
            | Self::Failed
            | Self::Proposed
            | Self::Approved
            | Self::Waiting
            | Self::Observed
            | Self::Declined
            | Self::Reverted
            | Self::Pinned
            | Self::Gone
            | Self::Current => Stage::Offered,
        }
    }
}

impl From<Rest> for ProposalState {
    /// The state of a target that has no offer.
    fn from(rest: Rest) -> Self {
        match rest {
            Rest::Current => Self::Current,
            Rest::Held => Self::Held,
            Rest::Pinned => Self::Pinned,
            Rest::Unknown => Self::Unknown,
            Rest::Gone => Self::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ProposalState::{
        Approved, Blocked, Current, Declined, Edited, Failed, Gone, Held, Observed, Paused, Pinned, Proposed,
        Refused, Reverted, Unknown, Unplannable, Waiting,
    };
    use super::*;

    /// Records and pages contain these words: changing a word requires a migration.
    #[test]
    fn each_state_has_its_word_and_says_what_it_asks() {
        for (state, word, mood, rests, is_over, stage) in [
            (Proposed, "proposed", Mood::Open, false, false, Stage::Offered),
            (Approved, "approved", Mood::Open, false, false, Stage::Offered),
            (Edited, "edited", Mood::Open, false, false, Stage::Offered),
            (Waiting, "waiting", Mood::Waits, false, false, Stage::Offered),
            (Observed, "observed", Mood::Waits, false, false, Stage::Offered),
            (Held, "held", Mood::Waits, false, false, Stage::Held),
            (Paused, "paused", Mood::Waits, false, false, Stage::Paused),
            (Pinned, "pinned", Mood::Waits, false, true, Stage::Offered),
            (Declined, "declined", Mood::Waits, false, true, Stage::Offered),
            (Reverted, "reverted", Mood::Waits, false, true, Stage::Offered),
            (Current, "current", Mood::Good, true, true, Stage::Offered),
            (Gone, "gone", Mood::Waits, true, true, Stage::Offered),
            (Unknown, "unknown", Mood::Bad, false, false, Stage::Offered),
            (Blocked, "blocked", Mood::Bad, false, false, Stage::Offered),
            (Unplannable, "unplannable", Mood::Bad, false, false, Stage::Offered),
            (Refused, "refused", Mood::Bad, false, false, Stage::Refused),
            (Failed, "failed", Mood::Bad, false, false, Stage::Offered),
        ] {
            assert_eq!(state.as_str(), word);
            assert_eq!(ProposalState::parse(word), Some(state));
            assert_eq!((state.mood(), state.rests(), state.is_over()), (mood, rests, is_over), "{word}");
            assert_eq!(state.stage(), stage, "{word}");
            assert!(state.meaning().ends_with('.'), "{word}");
        }
        for word in ["", "Held", "held ", "done"] {
            assert_eq!(ProposalState::parse(word), None, "{word}");
        }
    }

    #[test]
    fn each_state_is_listed_once_and_those_that_need_a_person_are_first() {
        let mut all = ProposalState::ALL.to_vec();
        all.sort();
        let words: Vec<&str> = all.iter().map(|state| state.as_str()).collect();
        assert_eq!(
            words.join(" "),
            "blocked refused edited unplannable unknown failed proposed approved paused waiting observed held declined \
             reverted pinned gone current"
        );
        all.dedup();
        assert_eq!(all.len(), ProposalState::COUNT);
    }

    #[test]
    fn current_is_shown_only_for_a_target_without_offers() {
        for (state, others, told) in [
            (Current, &[][..], true),
            (Current, &[Current], true),
            (Current, &[Gone, Current], true),
            (Current, &[Blocked], false),
            (Current, &[Current, Waiting], false),
            (Current, &[Declined], false),
            (Blocked, &[Blocked], true),
            (Pinned, &[Proposed], true),
        ] {
            assert_eq!(state.is_shown_beside(others.iter().copied()), told, "{state:?} beside {others:?}");
        }
    }
}
