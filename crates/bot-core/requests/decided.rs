//! What people decide by command: about open proposals, which is read from the folded blocks of their bodies, and about
//! others and the repository, which is read from the dashboard's; changed by what is asked for now, and written back.

use std::collections::{BTreeMap, BTreeSet};

use capstan_campaign::facts::Note;
use capstan_model::ids::ReleaseName;
use capstan_plan::proposal::{Decisions, Drafted, Paused, ProposalCommand as Wish, ProposalId, RolledBack};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::verbs::OrderWhat;
use capstan_report::{Answer, BlockPlace, DashboardRecord, Refusal, refused, room_for};
use jiff::Timestamp;

use super::request::{Request, RequestId};
use crate::facts::{Facts, Scopes, TargetPlans, part_id};

/// The place of a command: its request, and which of its commands it is.
pub type CommandIndex = (RequestId, usize);

/// What is decided about a proposal may take so many bytes of its body, which GitHub takes 65,536 characters of: what
/// does not fit would be cut off, and all of it lost.
pub const MOST_BYTES: usize = 16 << 10;

/// How many bytes of the dashboard's body all decisions about proposals without a pull request may take.
const MOST_BYTES_WITHOUT: usize = 20 << 10;

/// What commands are judged by.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// What a run starts from.
    pub facts: &'a Facts,
    /// The targets of the base branch.
    pub scopes: &'a Scopes,
    /// The settings of the base branch.
    pub settings: &'a RepositorySettings,
}

/// Whether what was decided is noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noted {
    /// It is.
    Yes,
    /// It is not, and not decided: there is no room for it.
    TooMuch,
}

/// What somebody says to campaigns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenOrder {
    /// To these, by their names.
    pub campaigns: Vec<String>,
    pub what: OrderWhat,
    /// Who: a login.
    pub by: String,
    /// When, in UTC.
    pub at: Timestamp,
}

/// A release that is asked for now.
#[derive(Debug, Clone)]
struct AskedRelease {
    place: CommandIndex,
    /// What was asked for before.
    before: (Option<ReleaseName>, Option<RolledBack>),
}

/// What people decided, before and now.
#[derive(Debug, Clone, Default)]
pub struct RunDecisions {
    /// Of each open proposal that has a block.
    decisions: BTreeMap<ProposalId, Decisions>,
    drafted: BTreeMap<ProposalId, Drafted>,
    asked: BTreeMap<ProposalId, AskedRelease>,
    /// Proposals of which something was decided now.
    changed: BTreeSet<ProposalId>,
    /// What is wished of proposals as a whole.
    wishes: BTreeMap<ProposalId, Wish>,
    /// What is said to commands that decide something, by their request and their place in it.
    answers: BTreeMap<CommandIndex, Answer>,
    /// Whether Capstan is paused here.
    pause: Option<Paused>,
    /// Why nothing can be noted in the dashboard, where that is so.
    no_dashboard: Option<String>,
    /// What is noted of campaigns.
    notes: Vec<Note>,
    /// What is said to campaigns now.
    orders: Vec<GivenOrder>,
    /// The commands whose decision is noted there, and what people can do instead if that fails.
    in_dashboard: BTreeMap<CommandIndex, &'static str>,
}

impl RunDecisions {
    /// The decisions in the bodies of open proposals, and those in the dashboard's body about others.
    pub fn before(facts: &Facts, record: &DashboardRecord, no_dashboard: Option<String>) -> Self {
        let mut decided = Self {
            decisions: record.decisions.iter().cloned().collect(),
            pause: record.pause.clone(),
            notes: record.campaigns.clone(),
            no_dashboard,
            ..Self::default()
        };
        // While a proposal moves from one pull request to another, both bodies have its decisions; the newer one has
        // them as they were then.
        let mut by_age: Vec<_> = facts.proposals.iter().collect();
        by_age.sort_by_key(|(_, pull)| pull.number);
        for (proposal, pull) in by_age {
            if let Some(block) = facts.block(proposal, pull.number, &pull.body) {
                for part in block.parts {
                    let member = part_id(proposal, &part);
                    match part.place {
                        BlockPlace::Carried => drop(decided.decisions.insert(member, part.decisions)),
                        BlockPlace::LeftOut => {
                            let known = decided.decisions.entry(member).or_default();
                            let skipped = known.skipped.take().or_else(|| part.decisions.skipped.clone());
                            if known.is_empty() {
                                *known = part.decisions;
                            }
                            known.skipped = skipped;
                        }
                    }
                }
                decided.decisions.insert(proposal.clone(), block.decisions);
                decided.drafted.insert(proposal.clone(), block.drafted);
            }
        }
        decided
    }

    /// What is decided of a proposal, to be changed. [`Self::note`] notes it.
    pub(crate) fn entry(&mut self, proposal: &ProposalId) -> &mut Decisions {
        self.decisions.entry(proposal.clone()).or_default()
    }

    /// Somebody wishes that of a proposal as a whole.
    pub(crate) fn wish_of(&mut self, proposal: ProposalId, wish: Wish) {
        self.wishes.insert(proposal, wish);
    }

    /// Somebody asks for what was skipped: else it would be skipped again with the next run.
    pub(crate) fn forget_skip(&mut self, proposal: &ProposalId) {
        if let Some(decisions) = self.decisions.get_mut(proposal)
            && decisions.skipped.take().is_some()
        {
            self.changed.insert(proposal.clone());
        }
    }

    /// Somebody asks for a release of each of these proposals; `rollback` where it leaves another one.
    pub(crate) fn ask_release(
        &mut self,
        proposals: Vec<ProposalId>,
        (release, rollback): (&ReleaseName, Option<&RolledBack>),
        place: &CommandIndex,
    ) {
        for proposal in proposals {
            self.wishes.insert(proposal.clone(), Wish::Offer);
            let decisions = self.decisions.entry(proposal.clone()).or_default();
            decisions.skipped = None;
            let before = (decisions.release.replace(release.clone()), decisions.rollback.take());
            decisions.rollback = rollback.cloned();
            // If several commands ask for a release, the last one counts. What is restored is the state before the
            // first.
            let before = self.asked.remove(&proposal).map_or(before, |earlier| earlier.before);
            self.changed.insert(proposal.clone());
            self.asked.insert(proposal, AskedRelease { place: place.clone(), before });
        }
    }

    /// Takes back the releases that were asked for now and are not offered: why is the answer. Of these proposals the plans
    /// are others then.
    pub(crate) fn take_back_releases(&mut self, plans: &TargetPlans) -> BTreeSet<ProposalId> {
        let mut taken_back = BTreeSet::new();
        for (proposal, AskedRelease { place, before }) in std::mem::take(&mut self.asked) {
            let why = match plans.get(&proposal) {
                Some(Ok(_)) => continue,
                Some(Err(why)) => why.clone(),
                None => "there is no such cluster on the default branch.".to_owned(),
            };
            let answer = refused(proposal.target.path(), &why, Refusal::State);
            let earlier = self.answers.remove(&place).unwrap_or_default();
            self.answers.insert(place, earlier.and(answer));
            let decisions = self.decisions.entry(proposal.clone()).or_default();
            (decisions.release, decisions.rollback) = before;
            self.wishes.remove(&proposal);
            self.changed.remove(&proposal);
            taken_back.insert(proposal);
        }
        taken_back
    }

    /// Pauses Capstan here, or lets it continue.
    pub(crate) fn set_pause(&mut self, pause: Option<Paused>) {
        self.pause = pause;
    }

    /// Somebody says that to campaigns.
    pub(crate) fn order(&mut self, order: GivenOrder) {
        self.orders.push(order);
        // Of two orders the later one holds, wherever people gave them.
        self.orders.sort_by_key(|order| order.at);
    }

    /// Says that to a command.
    pub(crate) fn say(&mut self, place: CommandIndex, answer: Answer) {
        self.answers.insert(place, answer);
    }

    /// What a command decides is noted in the dashboard; `instead` is what people can do where that fails.
    pub(crate) fn note_in_dashboard(&mut self, place: CommandIndex, instead: &'static str) {
        self.in_dashboard.insert(place, instead);
    }

    /// Notes that something was decided about a proposal, of which that was decided before, unless it is too much.
    pub(crate) fn note(&mut self, facts: &Facts, proposal: &ProposalId, before: Decisions) -> Noted {
        let now = self.of(proposal);
        let carrier = facts.carrier(proposal);
        let all: usize = if carrier.is_some() { 0 } else { self.room_without(facts, &BTreeSet::new()) };
        // Those who share a pull request share its room.
        let sharing = carrier.filter(|id| id.target.group().is_some()).map(|id| facts.members_of(id));
        let in_pull: usize = match sharing {
            Some(members) => members.iter().chain(carrier).map(|one| room_for(&self.of(one))).sum(),
            None => room_for(&now),
        };
        if in_pull > MOST_BYTES || all > MOST_BYTES_WITHOUT {
            self.decisions.insert(proposal.clone(), before);
            return Noted::TooMuch;
        }
        if now != before {
            self.changed.insert(proposal.clone());
        }
        Noted::Yes
    }

    /// How many bytes of the dashboard's body the decisions about proposals without a pull request take, and those
    /// about these proposals.
    fn room_without(&self, facts: &Facts, besides: &BTreeSet<ProposalId>) -> usize {
        let one = |(proposal, decisions): (&ProposalId, &Decisions)| {
            let is_there = facts.carrier(proposal).is_none() || besides.contains(proposal);
            // The name of the proposal is beside each.
            if is_there { room_for(decisions) + 6 * proposal.to_string().len() + 40 } else { 0 }
        };
        self.decisions.iter().map(one).sum()
    }

    /// Whether the dashboard can take what was decided about these, too.
    pub fn fits_in_dashboard(&self, facts: &Facts, besides: &BTreeSet<ProposalId>) -> bool {
        self.is_dashboard_kept() && self.room_without(facts, besides) <= MOST_BYTES_WITHOUT
    }

    /// What was decided about a proposal.
    pub fn of(&self, proposal: &ProposalId) -> Decisions {
        self.decisions.get(proposal).cloned().unwrap_or_default()
    }

    /// Whether something was decided about it now.
    pub fn is_new(&self, proposal: &ProposalId) -> bool {
        self.changed.contains(proposal)
    }

    /// Whether Capstan made its pull request a draft.
    pub fn drafted(&self, proposal: &ProposalId) -> Drafted {
        self.drafted.get(proposal).copied().unwrap_or_default()
    }

    /// What somebody wishes of it as a whole.
    pub fn wish(&self, proposal: &ProposalId) -> Wish {
        self.wishes.get(proposal).copied().unwrap_or(Wish::None)
    }

    /// Hears that people want names of templates to be followed: they want the upgrade now, whether or not it was offered
    /// before. An open proposal keeps people's commits. Another wish for the proposal takes precedence.
    pub fn hear_retargets<'p>(&mut self, facts: &Facts, asked: impl IntoIterator<Item = &'p ProposalId>) {
        for proposal in asked.into_iter().filter(|proposal| facts.carrier(proposal).is_none()) {
            self.wishes.entry(proposal.clone()).or_insert(Wish::Replan);
        }
    }

    /// The proposals about which something was decided.
    pub fn all(&self) -> impl Iterator<Item = &ProposalId> {
        self.decisions.keys().filter(|proposal| proposal.target.group().is_none())
    }

    /// Whether decisions about proposals without a pull request can be recorded.
    pub const fn is_dashboard_kept(&self) -> bool {
        self.no_dashboard.is_none()
    }

    /// What is said to a command that decides something.
    pub fn answer(&self, request: &Request, at: usize) -> Option<&Answer> {
        self.answers.get(&(request.id(), at))
    }

    /// Whether Capstan is paused here, by which user and why.
    pub const fn pause(&self) -> Option<&Paused> {
        self.pause.as_ref()
    }

    /// What people can do instead if the dashboard cannot note a command's decision; `None` where it is not noted there.
    pub fn instead_of_dashboard(&self, request: &Request, at: usize) -> Option<&'static str> {
        self.in_dashboard.get(&(request.id(), at)).copied()
    }

    /// Whether what a command decides is noted in the dashboard.
    pub fn is_in_dashboard(&self, request: &Request, at: usize) -> bool {
        self.instead_of_dashboard(request, at).is_some()
    }

    /// What was noted of campaigns before.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// What is said to campaigns now.
    pub fn orders(&self) -> &[GivenOrder] {
        &self.orders
    }

    /// Why nothing can be noted in the dashboard, where that is so.
    pub fn why_no_dashboard(&self) -> Option<&str> {
        self.no_dashboard.as_deref()
    }
}
