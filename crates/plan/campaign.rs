//! Which targets get a pull request now, and which wait for what.
//!
//! The limits count what GitHub shows: open proposals, and those opened within the last hour. Only new
//! pull requests wait; those that are open are kept current whatever the limits say.

use crate::proposal::{Action, ProposalCommand, ProposalId};
use crate::settings::{Glob, ProposalSettings};

/// What counts against the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProposalLoad {
    /// Proposals that are open now.
    pub open: u32,
    /// Proposals opened within the last hour, closed ones included.
    pub opened_last_hour: u32,
}

/// A proposal that something was decided about.
#[derive(Debug, Clone, Copy)]
pub struct ProposalCandidate<'a> {
    pub proposal: &'a ProposalId,
    /// Whose changes its pull request carries; of one that is closed, carried.
    pub carries: &'a [ProposalId],
    /// What is to be done.
    pub action: &'a Action,
    /// Whether a person asked for it.
    pub command: ProposalCommand,
    /// Whether its target's next step waits for something else.
    pub held: bool,
}

impl ProposalCandidate<'_> {
    /// For how many it counts: a cluster is one, whether or not it shares its pull request.
    fn weight(&self) -> u32 {
        u32::try_from(self.carries.len()).unwrap_or(u32::MAX).max(1)
    }
}

/// Which proposals get what was decided about them, and which of those that want a new pull request wait.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProposalSelection {
    /// These, in this order.
    pub now: Vec<ProposalId>,
    /// These wait, in this order.
    pub waiting: Vec<WaitingProposal>,
}

/// A proposal that waits, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingProposal {
    pub proposal: ProposalId,
    /// Why, as a sentence.
    pub why: String,
}

/// Chooses whose turn it is: those with something open and those that a person asked for, then new ones within the
/// limits, in their order. `shown` is what GitHub shows. Without limits nobody waits.
pub fn turn(
    candidates: &[ProposalCandidate<'_>],
    limits: Option<&ProposalSettings>,
    shown: ProposalLoad,
) -> ProposalSelection {
    let opens = |one: &ProposalCandidate<'_>| matches!(one.action, Action::Open { .. });
    let is_asked =
        |one: &ProposalCandidate<'_>| matches!(one.command, ProposalCommand::Replan | ProposalCommand::Offer);
    let ids = |which: &dyn Fn(&ProposalCandidate<'_>) -> bool| -> Vec<ProposalId> {
        candidates.iter().filter(|one| which(one)).map(|one| one.proposal.clone()).collect()
    };
    let mut now = ids(&|one| !opens(one) || is_asked(one));
    let is_new = |one: &ProposalCandidate<'_>| opens(one) && !is_asked(one) && !one.held;
    let Some(limits) = limits else {
        now.extend(ids(&is_new));
        return ProposalSelection { now, waiting: Vec::new() };
    };
    let new: Vec<&ProposalCandidate<'_>> = candidates.iter().filter(|one| is_new(one)).collect();
    let count = |which: &dyn Fn(&ProposalCandidate<'_>) -> bool| {
        candidates.iter().filter(|one| which(one)).fold(0_u32, |sum, one| sum.saturating_add(one.weight()))
    };
    let closing = count(&|one| matches!(one.action, Action::Close { .. }));
    let asked = count(&|one| opens(one) && is_asked(one));
    let load = ProposalLoad {
        open: (shown.open.saturating_add(asked)).saturating_sub(closing),
        opened_last_hour: shown.opened_last_hour.saturating_add(asked),
    };
    let selection = select(&new, limits, load);
    now.extend(selection.now);
    ProposalSelection { now, waiting: selection.waiting }
}

fn select(
    candidates: &[&ProposalCandidate<'_>],
    limits: &ProposalSettings,
    load: ProposalLoad,
) -> ProposalSelection {
    let mut queue = candidates.to_vec();
    queue.sort_by_cached_key(|one| {
        let is_of_any = |glob: &Glob| one.carries.iter().any(|it| glob.matches(it.target.path()));
        let first = limits.order.iter().position(is_of_any);
        // A group has the place of the first of its clusters.
        (first.unwrap_or(limits.order.len()), one.carries.iter().min().unwrap_or(one.proposal).clone())
    });
    let by_open = limits.open.saturating_sub(load.open);
    let by_hour = limits.per_hour.saturating_sub(load.opened_last_hour);
    let places = by_open.min(by_hour);
    let (mut taken, mut now, mut later) = (0_u32, Vec::new(), Vec::new());
    for one in queue {
        // A group goes whole, else one of more clusters than there are places would never go.
        if later.is_empty() && taken < places {
            taken = taken.saturating_add(one.weight());
            now.push(one.proposal.clone());
        } else {
            later.push(one.proposal.clone());
        }
    }
    let none = |key: &str| {
        format!("Capstan opens no proposals by itself (`{key}` is 0). The command `upgrade` opens this one.")
    };
    let why = if limits.open == 0 {
        none("upgrade.proposals.open")
    } else if limits.per_hour == 0 {
        none("upgrade.proposals.perHour")
    } else if by_open <= by_hour {
        format!(
            "{} of at most {} proposals are open (`upgrade.proposals.open`). It waits until one is merged or closed.",
            load.open.saturating_add(taken),
            limits.open
        )
    } else {
        format!(
            "{} of at most {} proposals were opened in the last hour (`upgrade.proposals.perHour`). It waits for the next hour.",
            load.opened_last_hour.saturating_add(taken),
            limits.per_hour
        )
    };
    let waiting = later.into_iter().map(|proposal| WaitingProposal { proposal, why: why.clone() }).collect();
    ProposalSelection { now, waiting }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::BranchStep;
    use capstan_model::rest::Rest;
    use capstan_model::target::Target;

    fn clusters(ids: &[&str]) -> Vec<ProposalId> {
        ids.iter().map(|id| ProposalId::of_release(Target::parse(id).unwrap())).collect()
    }

    fn limits(open: u32, per_hour: u32) -> ProposalSettings {
        let order = ["*/canary*"].iter().map(|glob| Glob::parse(glob).unwrap()).collect();
        ProposalSettings { open, per_hour, order, ..ProposalSettings::default() }
    }

    fn select(ids: &[ProposalId], limits: &ProposalSettings, load: ProposalLoad) -> ProposalSelection {
        let open = Action::Open { branch: BranchStep::Create };
        let candidate = |proposal| ProposalCandidate {
            proposal,
            carries: std::slice::from_ref(proposal),
            action: &open,
            command: ProposalCommand::None,
            held: false,
        };
        let all: Vec<ProposalCandidate<'_>> = ids.iter().map(candidate).collect();
        turn(&all, Some(limits), load)
    }

    #[test]
    fn a_group_goes_where_the_first_of_its_clusters_would_and_counts_as_many_as_it_has() {
        let ids = clusters(&["group://b", "a/y", "c/z"]);
        let of_b = clusters(&["b/x", "b/canary1"]);
        let open = Action::Open { branch: BranchStep::Create };
        let candidate = |proposal| ProposalCandidate {
            proposal,
            carries: if proposal == &ids[0] { &of_b } else { std::slice::from_ref(proposal) },
            action: &open,
            command: ProposalCommand::None,
            held: false,
        };
        let all: Vec<ProposalCandidate<'_>> = ids.iter().map(candidate).collect();
        let chosen = turn(&all, Some(&limits(3, 20)), ProposalLoad::default());
        assert_eq!(chosen.now, clusters(&["group://b", "a/y"]), "its canary leads");
        assert_eq!(chosen.waiting.len(), 1);
        assert!(chosen.waiting[0].why.starts_with("3 of at most 3 proposals are open"));
        let chosen = turn(&all, Some(&limits(1, 20)), ProposalLoad::default());
        assert_eq!(chosen.now, clusters(&["group://b"]), "it goes whole");
        assert!(chosen.waiting[0].why.starts_with("2 of at most 1 proposals are open"));
        let chosen = turn(&all, Some(&limits(3, 20)), ProposalLoad { open: 3, opened_last_hour: 0 });
        assert_eq!(chosen.now, vec![]);
    }

    #[test]
    fn canaries_go_first_then_the_others_by_name() {
        let chosen =
            select(&clusters(&["b/x", "a/y", "b/canary1"]), &limits(20, 20), ProposalLoad::default());
        assert_eq!(chosen.now, clusters(&["b/canary1", "a/y", "b/x"]));
        assert_eq!(chosen.waiting, vec![]);
    }

    #[test]
    fn what_exceeds_the_limit_of_open_proposals_waits_and_says_so() {
        let chosen = select(
            &clusters(&["a/1", "a/2", "a/3"]),
            &limits(3, 20),
            ProposalLoad { open: 2, opened_last_hour: 0 },
        );
        assert_eq!(chosen.now, clusters(&["a/1"]));
        assert_eq!(chosen.waiting.len(), 2);
        assert_eq!(
            chosen.waiting[0].why,
            "3 of at most 3 proposals are open (`upgrade.proposals.open`). It waits until one is merged or closed."
        );
    }

    #[test]
    fn where_none_is_opened_by_itself_nobody_waits_for_one_to_be_closed() {
        for (limits, key) in [
            (limits(0, 20), "upgrade.proposals.open"),
            (limits(20, 0), "upgrade.proposals.perHour"),
            (limits(0, 0), "upgrade.proposals.open"),
        ] {
            let chosen = select(&clusters(&["a/1"]), &limits, ProposalLoad::default());
            assert_eq!(chosen.now, vec![]);
            let why = format!(
                "Capstan opens no proposals by itself (`{key}` is 0). The command `upgrade` opens this one."
            );
            assert_eq!(chosen.waiting[0].why, why);
        }
    }

    #[test]
    fn what_exceeds_the_hourly_limit_waits_for_the_next_hour() {
        let chosen =
            select(&clusters(&["a/1", "a/2"]), &limits(20, 5), ProposalLoad { open: 4, opened_last_hour: 5 });
        assert_eq!(chosen.now, vec![]);
        assert!(chosen.waiting[0].why.contains("5 of at most 5 proposals were opened in the last hour"));
    }

    #[test]
    fn what_is_open_and_what_a_person_asked_for_never_waits_and_what_closes_makes_room() {
        use crate::proposal::Closer;
        let ids = clusters(&["a/1", "a/2", "a/3", "a/4", "a/5"]);
        let open = Action::Open { branch: BranchStep::Create };
        let update = Action::Update { pull: 7, branch: BranchStep::Keep };
        let (by, rest) = (Closer::Capstan, Rest::Current);
        let close = Action::Close { pull: 8, why: "done".to_owned(), by, rest };
        let actions = [&open, &update, &close, &open, &open];
        let candidate = |(at, proposal)| ProposalCandidate {
            proposal,
            carries: std::slice::from_ref(proposal),
            action: actions[at],
            command: if at == 3 { ProposalCommand::Replan } else { ProposalCommand::None },
            held: at == 4,
        };
        let all: Vec<ProposalCandidate<'_>> = ids.iter().enumerate().map(candidate).collect();
        let (shown, three) = (ProposalLoad { open: 2, opened_last_hour: 0 }, limits(3, 20));
        let chosen = turn(&all, Some(&three), shown);
        assert_eq!(chosen.now, clusters(&["a/2", "a/3", "a/4", "a/1"]));
        assert_eq!(chosen.waiting, vec![]);
        let two = limits(2, 20);
        let chosen = turn(&all, Some(&two), shown);
        assert_eq!(chosen.now, clusters(&["a/2", "a/3", "a/4"]));
        assert_eq!(chosen.waiting.len(), 1, "what is held waits for something else");
        assert_eq!(turn(&all, None, shown).now, clusters(&["a/2", "a/3", "a/4", "a/1"]));
    }

    #[test]
    fn more_open_than_allowed_opens_none() {
        let chosen =
            select(&clusters(&["a/1"]), &limits(1, 20), ProposalLoad { open: 7, opened_last_hour: 0 });
        assert_eq!(chosen.now, vec![]);
    }
}
