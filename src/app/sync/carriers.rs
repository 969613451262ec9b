//! Which pull request carries which proposals now, and how what is open moves over where the settings say something else.
//!
//! *Guarantees.* What stands in a pull request of the old form stays there until the new one stands; then the old one is
//! closed with a reason. One that people worked on, approved or queued keeps its form until it is merged or closed. What
//! people decided goes with each cluster.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::wording::list;
use capstan_plan::proposal::{Closer, ProposalId, Wanted, carrier_of};
use capstan_plan::settings::Mode;

use super::noting::now;
use super::outcome::{Outcome, Wrote};
use super::refusals::Write;
use super::{Planned, Run, SyncError};

/// Pull requests, open or not, each with the proposals that it may carry.
pub(super) type Carriers = BTreeMap<ProposalId, Vec<ProposalId>>;

/// Where proposals stand, and where they go.
pub(super) struct Arranged {
    pub(super) carriers: Carriers,
    /// Open pull requests of a form that the settings do not want any more, and whose changes each brings.
    pub(super) leaving: Carriers,
    /// Which pull request may carry each proposal.
    pub(super) homes: BTreeMap<ProposalId, ProposalId>,
}

impl Run<'_> {
    /// Says which pull request carries what is wanted.
    pub(super) async fn arrange(
        self,
        planned: Planned<'_>,
        wanted: &BTreeMap<ProposalId, Wanted>,
    ) -> Result<Arranged, SyncError> {
        let by = planned.settings.upgrade.proposals.group.as_ref().map(|group| &group.by);
        let mut homes: BTreeMap<ProposalId, ProposalId> = BTreeMap::new();
        for (proposal, wanted) in wanted {
            // One that is to end is closed as ever.
            let ends = matches!(wanted, Wanted::Nothing { .. }) && self.is_open(proposal);
            let home =
                if ends { proposal.clone() } else { carrier_of(proposal, by, &planned.decided.of(proposal)) };
            homes.insert(proposal.clone(), home);
        }
        let mut leaving = Carriers::new();
        for id in self.facts.proposals.keys() {
            let stays = match id.target.group() {
                None => homes.get(id).is_none_or(|home| home == id),
                Some(_) => homes.values().any(|home| home == id),
            };
            if stays {
                continue;
            }
            let members = self.facts.members_of(id);
            if planned.settings.mode == Mode::Observe || self.keeps_its_form(planned, id).await? {
                for member in members {
                    homes.insert(member, id.clone());
                }
            } else {
                leaving.insert(id.clone(), members);
            }
        }
        let mut carriers = Carriers::new();
        for (proposal, home) in &homes {
            carriers.entry(home.clone()).or_default().push(proposal.clone());
        }
        Ok(Arranged { carriers, leaving, homes })
    }

    /// Closes pull requests of the old form whose changes stand in others now; what people decided meanwhile about those
    /// that stay is noted in them.
    pub(super) async fn let_go(
        self,
        planned: Planned<'_>,
        (leaving, homes): (&Carriers, &BTreeMap<ProposalId, ProposalId>),
        wanted: &BTreeMap<ProposalId, Wanted>,
        outcome: &mut Outcome,
    ) -> Result<(), SyncError> {
        for (id, members) in leaving {
            let Some(pull) = self.open_proposal(id) else { continue };
            // The pull request that stands where one would be carried, whether or not that one is.
            let stands_for = |member: &ProposalId| {
                let carried = outcome.carried.get(homes.get(member)?)?;
                carried.first().and_then(|first| outcome.proposals.get(first)?.pull)
            };
            let is_carried = |member: &ProposalId| {
                let carried = homes.get(member).and_then(|home| outcome.carried.get(home));
                carried.is_some_and(|all| all.contains(member))
            };
            let numbers: BTreeSet<u64> = members.iter().filter_map(stands_for).collect();
            let is_settled = |member: &ProposalId| {
                let has_nothing = matches!(wanted.get(member), None | Some(Wanted::Nothing { .. }));
                // What was decided needs a place to stand in, else it would be forgotten here.
                let has_left = !numbers.is_empty()
                    && (planned.decided.is_dashboard_kept() || planned.decided.of(member).is_empty());
                has_nothing || is_carried(member) || has_left
            };
            if planned.settings.mode == Mode::Observe {
                continue;
            }
            if planned.decided.pause().is_some() || !members.iter().all(is_settled) {
                let decisions = planned.decided;
                if members.iter().chain([id]).any(|one| decisions.is_new(one)) {
                    self.write_decisions(planned, id, pull, decisions.of(id), now(pull)).await?;
                    outcome.wrote = Wrote::PullRequests;
                }
                continue;
            }
            let why = superseded(id, &numbers);
            let write = Write::proposal(id, format!("closed: {why}"));
            if self.refusal(&write).is_some() {
                continue;
            }
            let forgotten: Vec<ProposalId> =
                members.iter().filter(|member| !is_carried(member)).cloned().collect();
            let closed = self.close((id, &forgotten), pull, &why, Closer::Capstan).await;
            match closed {
                Err(error) if error.is_of_one() && self.is_gone(pull.number).await.unwrap_or(false) => {}
                closed => {
                    if self.attempt(&write, closed).await?.is_some() {
                        continue;
                    }
                }
            }
            outcome.wrote = Wrote::PullRequests;
            outcome.superseded.insert(id.clone());
        }
        Ok(())
    }
}

/// Why a pull request of the old form is closed.
fn superseded(id: &ProposalId, numbers: &BTreeSet<u64>) -> String {
    let numbers: Vec<String> = numbers.iter().take(20).map(|number| format!("#{number}")).collect();
    let now = if numbers.is_empty() {
        "Nothing is left to be offered here.".to_owned()
    } else {
        format!("What this offers stands in {} now.", list(&numbers))
    };
    match id.target.group() {
        None => format!(
            "{now} The settings have several clusters share a pull request (`upgrade.proposals.group`)."
        ),
        Some(_) => format!(
            "{now} The settings do not have these clusters share a pull request any more (`upgrade.proposals.group`)."
        ),
    }
}
