//! Which buttons a proposal's check has: GitHub shows three at most.

use super::Approved;
use crate::verbs::Verb;

/// The stage of a proposal, as far as its buttons depend on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Stage {
    #[default]
    Offered,
    /// Somebody holds it.
    Held,
    /// Somebody paused Capstan in the repository.
    Paused,
    /// GitHub does not take something of it.
    Refused,
}

/// The buttons of a check, those that people will want first before the others. `passes`: the conclusion lets it pass.
pub fn buttons(stage: Stage, approved: Option<&Approved>, passes: bool) -> Vec<Verb> {
    let missing = approved.is_some_and(|approved| approved.missing > 0);
    match stage {
        Stage::Held => vec![Verb::Unhold],
        // Nothing is written or merged; people may approve.
        Stage::Paused if missing => vec![Verb::Approve],
        Stage::Paused => Vec::new(),
        Stage::Refused => vec![Verb::Retry, Verb::Replan],
        Stage::Offered if missing => vec![Verb::Approve, Verb::Replan],
        Stage::Offered if passes => vec![Verb::Merge, Verb::Replan],
        Stage::Offered => vec![Verb::Replan],
    }
}
