//! Which targets get a pull request now, and which wait for what.
//!
//! The limits count what GitHub shows: open proposals, and those opened within the last hour. Only new
//! pull requests wait; those that are open are kept current whatever the limits say.

use crate::proposal::ProposalId;
use crate::settings::ProposalLimits;

/// What counts against the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Proposals that are open now.
    pub open: u32,
    /// Proposals opened within the last hour, closed ones included.
    pub opened_last_hour: u32,
}

/// Which of the proposals that want a new pull request get one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// These, in this order.
    pub now: Vec<ProposalId>,
    /// These wait, in this order.
    pub waiting: Vec<Waiting>,
}

/// A proposal that waits, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The proposal.
    pub proposal: ProposalId,
    /// Why, as a sentence.
    pub why: String,
}

/// Chooses.
pub fn select(candidates: Vec<ProposalId>, limits: &ProposalLimits, load: Load) -> Selection {
    let mut queue = candidates;
    queue.sort_by_cached_key(|proposal| {
        let first = limits.order.iter().position(|glob| glob.matches(proposal.target.as_str()));
        (first.unwrap_or(limits.order.len()), proposal.clone())
    });
    let by_open = limits.open.saturating_sub(load.open);
    let by_hour = limits.per_hour.saturating_sub(load.opened_last_hour);
    let places = usize::try_from(by_open.min(by_hour)).unwrap_or(usize::MAX);
    let later = queue.split_off(places.min(queue.len()));
    let why = if by_open <= by_hour {
        format!(
            "{} of at most {} proposals are open (`upgrade.proposals.open`): it waits until one is merged or closed.",
            load.open.saturating_add(to_u32(queue.len())),
            limits.open
        )
    } else {
        format!(
            "{} of at most {} proposals were opened within the last hour (`upgrade.proposals.perHour`): it waits for the next hour.",
            load.opened_last_hour.saturating_add(to_u32(queue.len())),
            limits.per_hour
        )
    };
    let waiting = later.into_iter().map(|proposal| Waiting { proposal, why: why.clone() }).collect();
    Selection { now: queue, waiting }
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Glob;
    use capstan_model::target::Target;

    fn clusters(ids: &[&str]) -> Vec<ProposalId> {
        ids.iter().map(|id| ProposalId::of_release(Target::parse(id).unwrap())).collect()
    }

    fn limits(open: u32, per_hour: u32) -> ProposalLimits {
        let order = ["*/canary*"].iter().map(|glob| Glob::parse(glob).unwrap()).collect();
        ProposalLimits { open, per_hour, order }
    }

    #[test]
    fn canaries_go_first_then_the_others_by_name() {
        let chosen = select(clusters(&["b/x", "a/y", "b/canary1"]), &limits(20, 20), Load::default());
        assert_eq!(chosen.now, clusters(&["b/canary1", "a/y", "b/x"]));
        assert_eq!(chosen.waiting, vec![]);
    }

    #[test]
    fn what_exceeds_the_limit_of_open_proposals_waits_and_says_so() {
        let chosen =
            select(clusters(&["a/1", "a/2", "a/3"]), &limits(3, 20), Load { open: 2, opened_last_hour: 0 });
        assert_eq!(chosen.now, clusters(&["a/1"]));
        assert_eq!(chosen.waiting.len(), 2);
        assert_eq!(
            chosen.waiting[0].why,
            "3 of at most 3 proposals are open (`upgrade.proposals.open`): it waits until one is merged or closed."
        );
    }

    #[test]
    fn what_exceeds_the_hourly_limit_waits_for_the_next_hour() {
        let chosen = select(clusters(&["a/1", "a/2"]), &limits(20, 5), Load { open: 4, opened_last_hour: 5 });
        assert_eq!(chosen.now, vec![]);
        assert!(chosen.waiting[0].why.contains("5 of at most 5 proposals were opened within the last hour"));
    }

    #[test]
    fn more_open_than_allowed_opens_none() {
        let chosen = select(clusters(&["a/1"]), &limits(1, 20), Load { open: 7, opened_last_hour: 0 });
        assert_eq!(chosen.now, vec![]);
    }
}
