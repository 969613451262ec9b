//! The words for how a target stands, and what each means: one word, one meaning.
//!
//! The campaign's records hold these words, and pages and the dashboard show them. Why it stands so is a sentence
//! beside the word, and not owned here.

use capstan_model::rest::Rest;

/// A word, and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// The word: lower case, no blanks.
    pub word: &'static str,
    /// Whether anybody has to do something.
    pub mood: Mood,
    /// What it means, a sentence about a cluster.
    pub meaning: &'static str,
}

/// What a state asks of people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mood {
    /// All is well.
    Good,
    /// It goes on by itself, or somebody meant it so.
    Waits,
    /// A pull request is there to be looked at.
    Open,
    /// Somebody has to do something.
    Bad,
}

/// All of them, in the order in which a fleet moves through them.
pub const STATES: &[State] = &[
    state("proposed", Mood::Open, "A pull request carries its upgrade."),
    state(
        "approved",
        Mood::Open,
        "Its pull request is approved, queued or set to merge, and keeps its target.",
    ),
    state("edited", Mood::Open, "A person has written to its branch, which is left alone."),
    state("waiting", Mood::Waits, "It has an upgrade, and its pull request comes later."),
    state("observed", Mood::Waits, "It has an upgrade, and the settings say that nothing is written."),
    state("held", Mood::Waits, "Somebody holds its upgrades back."),
    state("paused", Mood::Waits, "It has an upgrade, and somebody paused Capstan in its repository."),
    state("pinned", Mood::Waits, "Something newer is there, and its track keeps it from that."),
    state("declined", Mood::Waits, "A person closed its pull request: this upgrade is not offered again."),
    state("reverted", Mood::Waits, "Its upgrade was merged and taken back: it is not offered again."),
    state("current", Mood::Good, "It has the newest that there is for it."),
    state("gone", Mood::Waits, "It is no longer on the base branch, or nothing there would change it."),
    state("unknown", Mood::Bad, "Its release or provider is not known, so nothing can be offered."),
    state("blocked", Mood::Bad, "Its upgrade must not be written before somebody has decided something."),
    state("unplannable", Mood::Bad, "Something in it cannot be read, so nothing is known of it."),
    state("refused", Mood::Bad, "GitHub does not take what Capstan writes for it."),
    state("failed", Mood::Bad, "Capstan could not do its work for it; it is tried again."),
];

const fn state(word: &'static str, mood: Mood, meaning: &'static str) -> State {
    State { word, mood, meaning }
}

/// Whether a target's state from one kind of source is told beside those from the others. *Current* is said of the target
/// as a whole, so it is not said where another kind of source has something for it.
pub fn is_told_beside<'w>(word: &str, others: impl IntoIterator<Item = &'w str>) -> bool {
    word != "current" || others.into_iter().all(rests)
}

/// Whether a source has nothing for a target in that state.
pub fn rests(word: &str) -> bool {
    matches!(word, "current" | "gone")
}

/// The word for why nothing is offered.
pub const fn rest_in_a_word(rest: Rest) -> &'static str {
    match rest {
        Rest::Current => "current",
        Rest::Held => "held",
        Rest::Pinned => "pinned",
        Rest::Unknown => "unknown",
        Rest::Gone => "gone",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current_is_said_of_a_target_for_which_no_source_has_anything() {
        for (word, others, told) in [
            ("current", &[][..], true),
            ("current", &["current"], true),
            ("current", &["gone", "current"], true),
            ("current", &["blocked"], false),
            ("current", &["current", "waiting"], false),
            ("current", &["declined"], false),
            ("blocked", &["blocked"], true),
            ("pinned", &["proposed"], true),
        ] {
            assert_eq!(is_told_beside(word, others.iter().copied()), told, "{word} beside {others:?}");
        }
    }
}
