//! Which pull request carries which proposals now, and how what is open moves over where the settings say something else.
//!
//! *Guarantees.* What stands in a pull request of the old form stays there until the new one stands; then the old one is
//! closed with a reason. One that people worked on, approved or queued keeps its form until it is merged or closed. What
//! people decided goes with each cluster.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::wording::list;
use capstan_plan::proposal::{Closer, Decisions, Draft, ProposalId, Wanted, carrier_of};
use capstan_plan::settings::Mode;

use super::facts::draft_of;
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
            let draft = match wanted {
                Wanted::Offer(offer) => offer.draft,
                Wanted::Nothing { .. } | Wanted::Blocked { .. } | Wanted::Unplannable { .. } => Draft::Ready,
            };
            let decisions = planned.decided.of(proposal);
            let home = if ends { proposal.clone() } else { carrier_of(proposal, by, (&decisions, draft)) };
            homes.insert(proposal.clone(), home);
        }
        let mut leaving = Carriers::new();
        for id in self.facts.proposals.keys() {
            let members = self.facts.members_of(id);
            let goes = |member: &&ProposalId| homes.get(*member).is_some_and(|home| home != id);
            let going: Vec<ProposalId> = members.iter().filter(goes).cloned().collect();
            let has_some = match id.target.group() {
                None => going.is_empty(),
                Some(_) => homes.values().any(|home| home == id),
            };
            if going.is_empty() && has_some {
                continue;
            }
            let keeps = planned.settings.mode == Mode::Observe || self.keeps_its_form(planned, id).await?;
            let is_asked_for = |member: &ProposalId| planned.decided.of(member).is_asked_for();
            if keeps {
                // Who asks for a release by name gets it, unless nobody else is left in it.
                let stay = going.into_iter().filter(|member| !has_some || !is_asked_for(member));
                homes.extend(stay.map(|member| (member, id.clone())));
            } else if !has_some {
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
        // Whose decisions go to the dashboard with what is closed here.
        let mut without: BTreeSet<ProposalId> = BTreeSet::new();
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
            let mut with_these = without.clone();
            let out = members.iter().filter(|member| !is_carried(member));
            with_these.extend(out.filter(|member| !planned.decided.of(member).is_empty()).cloned());
            let fits = with_these == without || planned.decided.fits_in_dashboard(&self, &with_these);
            let is_settled = |member: &ProposalId| {
                let has_nothing = matches!(wanted.get(member), None | Some(Wanted::Nothing { .. }));
                // What was decided needs a place to stand in, else it would be forgotten here.
                let has_left = !numbers.is_empty() && (fits || planned.decided.of(member).is_empty());
                has_nothing || is_carried(member) || has_left
            };
            if planned.settings.mode == Mode::Observe {
                continue;
            }
            if planned.decided.pause().is_some() || !members.iter().all(is_settled) {
                let decisions = planned.decided;
                if members.iter().chain([id]).any(|one| decisions.is_new(one)) {
                    self.write_decisions(planned, id, pull, decisions.of(id), draft_of(pull)).await?;
                    outcome.wrote = Wrote::PullRequests;
                }
                continue;
            }
            let why = superseded(planned, id, (members, homes), &numbers);
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
            without = with_these;
            outcome.wrote = Wrote::PullRequests;
            outcome.superseded.insert(id.clone());
        }
        Ok(())
    }
}

/// Why a pull request of the old form is closed.
fn superseded(
    planned: Planned<'_>,
    id: &ProposalId,
    (members, homes): (&[ProposalId], &BTreeMap<ProposalId, ProposalId>),
    numbers: &BTreeSet<u64>,
) -> String {
    const KEY: &str = "`upgrade.proposals.group`";
    let numbers: Vec<String> = numbers.iter().take(20).map(|number| format!("#{number}")).collect();
    let now = if numbers.is_empty() {
        "Nothing is left to be offered here.".to_owned()
    } else {
        format!("What this offers stands in {} now.", list(&numbers))
    };
    let is_shared = |member: &ProposalId| homes.get(member).is_some_and(|home| home.target.group().is_some());
    let by = planned.settings.upgrade.proposals.group.as_ref().map(|group| &group.by);
    let is_its = |member: &ProposalId| carrier_of(member, by, (&Decisions::default(), Draft::Ready)) == *id;
    let why = match id.target.group() {
        None => format!("The settings have several clusters share a pull request ({KEY})."),
        Some(_) if members.iter().any(is_its) => {
            "Each of these clusters has a pull request of its own: a draft, or one with a release that somebody asked for by name."
                .to_owned()
        }
        Some(_) if members.iter().any(is_shared) => format!("The settings group clusters otherwise ({KEY})."),
        Some(_) => format!("The settings do not have these clusters share a pull request any more ({KEY})."),
    };
    format!("{now} {why}")
}
