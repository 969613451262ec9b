//! What people decide by command: about open proposals, which is read from the folded blocks of their bodies, and about
//! others and the repository, which is read from the dashboard's; changed by what is asked for now, and written back.

mod orders;
mod releases;

use std::collections::{BTreeMap, BTreeSet};

use capstan_campaign::facts::Note;
use capstan_plan::proposal::{
    Approval, Command as Wish, Decisions, Drafted, Means, OnHold, Override, Paused, ProposalId, Skipped,
    find_conflicts, offer_name, short,
};
use capstan_plan::settings::{Mode, RepositorySettings};
use capstan_plan::upgrade::{Conflict, SettledConflict, Side};
use capstan_plan::verbs::{Command, OfCluster, OfCommit, OfConflict, Reason, Verb};
use capstan_report::{
    Answer, BlockPlace, DashboardRecord, Refusal, about, hold_in_words, not_noted, not_settled,
    override_in_words, pause_in_words, refused, room_for, settled as settled_words, shown,
};

pub use self::orders::GivenOrder;
use self::releases::Asked;
use super::request::{Request, RequestId};
use crate::facts::{Facts, Plans, Scopes, part_id};

/// What is decided about a proposal may take so many bytes of its body, which GitHub takes 65,536 characters of: what
/// does not fit would be cut off, and all of it lost.
pub const MOST_BYTES: usize = 16 << 10;

/// And of all proposals that have no pull request so many of the dashboard's body.
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
enum Noted {
    Yes,
    TooMuch,
}

/// What people decided, before and now.
#[derive(Debug, Clone, Default)]
pub struct Decided {
    /// Of each open proposal that has a block.
    decisions: BTreeMap<ProposalId, Decisions>,
    drafted: BTreeMap<ProposalId, Drafted>,
    asked: BTreeMap<ProposalId, Asked>,
    /// Proposals of which something was decided now.
    changed: BTreeSet<ProposalId>,
    /// What is wished of proposals as a whole.
    wishes: BTreeMap<ProposalId, Wish>,
    /// What is said to commands that decide something, by their request and their place in it.
    answers: BTreeMap<(RequestId, usize), Answer>,
    /// Whether Capstan is paused here.
    pause: Option<Paused>,
    /// Why nothing can be noted in the dashboard, where that is so.
    no_dashboard: Option<String>,
    /// What is noted of campaigns.
    notes: Vec<Note>,
    /// What is said to campaigns now.
    orders: Vec<GivenOrder>,
    /// The commands whose outcome is noted there.
    in_dashboard: BTreeSet<(RequestId, usize)>,
}

impl Decided {
    /// What stands in the bodies of open proposals, and of others in the dashboard's.
    pub fn before(facts: &Facts, record: &DashboardRecord, no_dashboard: Option<String>) -> Self {
        let mut decided = Self {
            decisions: record.decisions.iter().cloned().collect(),
            pause: record.pause.clone(),
            notes: record.campaigns.clone(),
            no_dashboard,
            ..Self::default()
        };
        // While one moves from a pull request to another it stands in both, and in the newer as it was then.
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

    /// Adds what is asked for now; `plans` are those of what was decided so far. Of these proposals the plans are others
    /// then.
    pub fn hear(&mut self, ground: Ground<'_>, requests: &[Request], plans: &Plans) -> BTreeSet<ProposalId> {
        let settings = ground.settings;
        let mut settled = self.take_back_releases(plans);
        for request in requests {
            // One cluster of several is skipped by itself.
            let is_tick = request.is_tick();
            let ended = ground.facts.ended_shared(request);
            let wish = request.wish();
            if let Some(proposal) = ground.facts.proposal_asked(request)
                && wish != Wish::None
                && !((is_tick || ended.is_some()) && wish == Wish::Skip)
            {
                // On a shared one that is not open any more it is said of those whose changes that brought: another one
                // may be open by now, with others in it.
                let those = ended.clone().filter(|members| !members.is_empty());
                for one in those.unwrap_or_else(|| vec![proposal]) {
                    if wish == Wish::Replan {
                        self.forget_skip(&one);
                    }
                    self.wishes.insert(one, wish);
                }
            }
            for (at, command) in request.carried_out() {
                let key = (request.id(), at);
                if let Some(answer) = self.hear_pause(ground, key.clone(), command, &request.by) {
                    self.answers.insert(key, answer);
                    continue;
                }
                if let Command::Campaign(order) = command {
                    let answer = self.hear_order(ground, &key, (order, request), plans);
                    self.answers.insert(key, answer);
                    continue;
                }
                let named = match command {
                    Command::Unskip(_) => {
                        self.unskip(ground, request, command);
                        continue;
                    }
                    Command::Skip(OfCluster(None)) if !is_tick && ended.is_none() => continue,
                    command if decides(command.verb()) => command.cluster(),
                    _ => continue,
                };
                if settings.mode == Mode::Observe {
                    let answer =
                        "The settings say `mode: observe`: there are no proposals to decide about.\n";
                    self.answers.insert(key, Answer::refused(Refusal::Observed, answer));
                    continue;
                }
                // What stands beside a box names its cluster, too; and so does what is said where none is open.
                let names = named.is_some() || is_tick || (ended.is_some() && command.verb() == Verb::Skip);
                let those = meant(ground.facts.decided_by(ground.scopes, request, command), command, plans);
                let mut answer = if those.is_empty() { no_open_proposal() } else { Answer::default() };
                for proposal in those {
                    let how = (names, &key, plans);
                    answer = answer.and(self.hear_of_one(
                        ground,
                        &proposal,
                        (request, command),
                        how,
                        &mut settled,
                    ));
                }
                self.answers.insert(key, answer);
            }
        }
        // Of two orders the later one holds, wherever people gave them.
        self.orders.sort_by_key(|order| order.at);
        settled
    }

    /// What is said to a command that decides something about one proposal.
    fn hear_of_one(
        &mut self,
        ground: Ground<'_>,
        proposal: &ProposalId,
        (request, command): (&Request, &Command),
        (names, key, plans): (bool, &(RequestId, usize), &Plans),
        settled: &mut BTreeSet<ProposalId>,
    ) -> Answer {
        let carrier = ground.facts.carrier(proposal);
        // Who leaves a shared pull request alone has nothing to stand in but the dashboard.
        let leaves = matches!(command.verb(), Verb::Hold | Verb::Skip)
            && names
            && carrier.is_some_and(|id| id.target.group().is_some() && ground.facts.members_of(id).len() > 1);
        if names && !plans.contains_key(proposal) && proposal.target.group().is_none() {
            let why = "there is no such cluster on the default branch.";
            return refused(proposal.target.path(), why, Refusal::NothingThere);
        }
        // Of one that brings nothing else the pull request itself is declined.
        let alone =
            carrier.filter(|id| ground.facts.members_of(id).as_slice() == std::slice::from_ref(proposal));
        if command.verb() == Verb::Skip
            && let Some(id) = alone
        {
            self.wishes.insert(id.clone(), Wish::Skip);
            return Answer::default();
        }
        let is_open = carrier.is_some();
        if leaves || (names && !is_open && command.verb() != Verb::Override) {
            if let Some(why) = self.no_dashboard.clone() {
                return not_noted(&written(command, ground.settings), &why, instead_of(command.verb()));
            }
            self.in_dashboard.insert(key.clone());
            return self.decide_and_note(ground, proposal, (request, command), plans, settled);
        }
        if is_open {
            return self.decide_and_note(ground, proposal, (request, command), plans, settled);
        }
        no_open_proposal()
    }

    /// What was skipped is offered again.
    fn unskip(&mut self, ground: Ground<'_>, request: &Request, command: &Command) {
        for proposal in ground.facts.proposals_of(ground.scopes, request, command) {
            self.forget_skip(&proposal);
            self.wishes.insert(proposal, Wish::Offer);
        }
    }

    /// Somebody asks for what was skipped: else it would be skipped again with the next run.
    fn forget_skip(&mut self, proposal: &ProposalId) {
        if let Some(decisions) = self.decisions.get_mut(proposal)
            && decisions.skipped.take().is_some()
        {
            self.changed.insert(proposal.clone());
        }
    }

    /// What is said to `pause` and `resume`, and what they decide; `None` for other commands.
    fn hear_pause(
        &mut self,
        ground: Ground<'_>,
        key: (RequestId, usize),
        command: &Command,
        by: &str,
    ) -> Option<Answer> {
        let settings = ground.settings;
        let (pause, answer) = match command {
            Command::Pause(Reason(reason)) => {
                let pause = Paused { by: by.to_owned(), reason: reason.clone(), since: ground.facts.today };
                let answer = format!(
                    "{} Nothing is opened, written or merged in this repository; `{} resume` undoes it.\n",
                    capstan_report::markdown::prose(&pause_in_words(&pause), 600),
                    settings.commands.prefix.as_str()
                );
                (Some(pause), Answer::told(answer))
            }
            Command::Resume if self.pause.is_none() => {
                return Some(Answer::told("Capstan is not paused in this repository.\n"));
            }
            Command::Resume => (None, Answer::told("Capstan continues in this repository.\n")),
            _ => return None,
        };
        if let Some(why) = &self.no_dashboard {
            return Some(not_noted(&written(command, settings), why, instead_of(command.verb())));
        }
        self.pause = pause;
        self.in_dashboard.insert(key);
        Some(answer)
    }

    fn decide_and_note(
        &mut self,
        ground: Ground<'_>,
        proposal: &ProposalId,
        (request, command): (&Request, &Command),
        plans: &Plans,
        settled: &mut BTreeSet<ProposalId>,
    ) -> Answer {
        let before = self.of(proposal);
        let answer = self.decide(proposal, command, request, plans, ground.settings.commands.prefix.as_str());
        let replans = before.settled != self.of(proposal).settled;
        match self.noted(ground, proposal, before) {
            Noted::Yes => {
                settled.extend(replans.then(|| proposal.clone()));
                answer
            }
            Noted::TooMuch => refused(proposal.target.path(), TOO_MUCH, Refusal::NotNoted),
        }
    }

    /// Notes that something was decided about a proposal, of which that was decided before, unless it is too much.
    fn noted(&mut self, ground: Ground<'_>, proposal: &ProposalId, before: Decisions) -> Noted {
        let now = self.of(proposal);
        let carrier = ground.facts.carrier(proposal);
        let all: usize =
            if carrier.is_some() { 0 } else { self.room_without(ground.facts, &BTreeSet::new()) };
        // Those who share a pull request share its room.
        let sharing = carrier.filter(|id| id.target.group().is_some()).map(|id| ground.facts.members_of(id));
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

    /// So many bytes of the dashboard's body takes what was decided about proposals that have no pull request, and about
    /// these.
    fn room_without(&self, facts: &Facts, besides: &BTreeSet<ProposalId>) -> usize {
        let one = |(proposal, decisions): (&ProposalId, &Decisions)| {
            let is_there = facts.carrier(proposal).is_none() || besides.contains(proposal);
            // Its name stands beside each.
            if is_there { room_for(decisions) + 6 * proposal.to_string().len() + 40 } else { 0 }
        };
        self.decisions.iter().map(one).sum()
    }

    /// Whether the dashboard can take what was decided about these, too.
    pub fn fits_in_dashboard(&self, facts: &Facts, besides: &BTreeSet<ProposalId>) -> bool {
        self.is_dashboard_kept() && self.room_without(facts, besides) <= MOST_BYTES_WITHOUT
    }

    /// What is said to a command that decides something, and what it decides.
    fn decide(
        &mut self,
        proposal: &ProposalId,
        command: &Command,
        request: &Request,
        plans: &Plans,
        prefix: &str,
    ) -> Answer {
        let (target, by) = (proposal.target.path(), request.by.as_str());
        let decisions = self.decisions.entry(proposal.clone()).or_default();
        let (named, side) = match command {
            Command::Hold(held) => {
                let hold = OnHold::of(held, by);
                let of = held.cluster.as_ref().map_or_else(String::new, |cluster| format!(" for {cluster}"));
                let words = format!("{} `{prefix} unhold{of}` undoes it.", hold_in_words(&hold));
                decisions.hold = Some(hold);
                return shown(target, &words);
            }
            Command::Unhold(_) => {
                return match decisions.hold.take() {
                    Some(_) => shown(target, "It is no longer on hold."),
                    None => about(target, "It is not on hold."),
                };
            }
            Command::Skip(_) => {
                let Some(Ok(upgrade)) = plans.get(proposal) else {
                    let why = "It has no plan now, so there is nothing to skip.";
                    return refused(target, why, Refusal::NothingThere);
                };
                let Some(source) = offer_name(upgrade) else {
                    let why = "Nothing is offered to it, so there is nothing to skip.";
                    return refused(target, why, Refusal::NothingThere);
                };
                let words = format!(
                    "Capstan does not offer `{source}` to it again, only a newer one. `{prefix} unskip for {}` undoes it.",
                    for_word(target)
                );
                decisions.skipped = Some(Skipped { source, by: by.to_owned() });
                return about(target, &words);
            }
            Command::Approve(commit) => {
                return match approved(decisions, request, commit) {
                    Ok(()) => Answer::default(),
                    Err(why) => refused(target, &why, Refusal::NotApproved),
                };
            }
            Command::Unapprove => {
                let own = |approval: &Approval| approval.by.eq_ignore_ascii_case(by);
                let before = decisions.approvals.len();
                decisions.approvals.retain(|one| !own(one) || one.means != Means::Command);
                return if decisions.approvals.len() < before {
                    shown(target, "Your approval is withdrawn.")
                } else if decisions.approvals.iter().any(own) {
                    about(target, "Your approval is a review: dismiss it on GitHub.")
                } else {
                    about(target, "You have not approved it.")
                };
            }
            Command::Override(overruled) => {
                let Some(Ok(upgrade)) = plans.get(proposal) else {
                    let why = "It has no plan now, so there is nothing to override.";
                    return refused(target, why, Refusal::State);
                };
                let one = Override {
                    rule: overruled.rule.0.id().to_owned(),
                    reason: overruled.reason.clone(),
                    by: by.to_owned(),
                    source: upgrade.to.as_ref().map(ToString::to_string).unwrap_or_default(),
                };
                let words =
                    format!("{} It applies as long as `{}` is offered.", override_in_words(&one), one.source);
                decisions.overrule(one);
                return shown(target, &words);
            }
            Command::Keep(named) => (named, Side::Cluster),
            Command::Take(named) => (named, Side::Release),
            _ => return Answer::default(),
        };
        let conflicts: &[Conflict] = match plans.get(proposal) {
            Some(Ok(upgrade)) => &upgrade.conflicts,
            Some(Err(why)) => return refused(target, why, Refusal::State),
            None => &[],
        };
        let written = format!("{prefix} {}{}", command.verb().word(), argument(named));
        match find_conflicts(conflicts, named) {
            Ok(found) => {
                let settle = |conflict: &Conflict| {
                    let one = SettledConflict {
                        object: conflict.object.clone(),
                        path: conflict.path.clone(),
                        side,
                        values: conflict.settling.values.clone(),
                        by: by.to_owned(),
                    };
                    decisions.settle(one.clone());
                    one
                };
                let settled: Vec<SettledConflict> = found.into_iter().map(settle).collect();
                settled_words(target, &proposal.kind, &settled)
            }
            Err(why) => not_settled(&written, target, &why),
        }
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

    /// Adds a wish that came otherwise; what somebody said in so many words goes before it.
    pub fn also_wish(&mut self, proposal: &ProposalId, wish: Wish) {
        self.wishes.entry(proposal.clone()).or_insert(wish);
    }

    /// The proposals about which something was decided.
    pub fn all(&self) -> impl Iterator<Item = &ProposalId> {
        self.decisions.keys().filter(|proposal| proposal.target.group().is_none())
    }

    /// Whether what is decided about proposals without a pull request has a place to stand in.
    pub const fn is_dashboard_kept(&self) -> bool {
        self.no_dashboard.is_none()
    }

    /// What is said to a command that decides something.
    pub fn answer(&self, request: &Request, at: usize) -> Option<&Answer> {
        self.answers.get(&(request.id(), at))
    }

    /// Whether Capstan is paused here, by whom and why.
    pub const fn pause(&self) -> Option<&Paused> {
        self.pause.as_ref()
    }

    /// Whether what a command decides is noted in the dashboard.
    pub fn is_in_dashboard(&self, request: &Request, at: usize) -> bool {
        self.in_dashboard.contains(&(request.id(), at))
    }
}

/// Notes somebody's approval of what a pull request changes. The error is why that is not noted, in sentences.
fn approved(decisions: &mut Decisions, request: &Request, commit: &OfCommit) -> Result<(), String> {
    let Some(pull) = &request.pull else { return Err("This is not a pull request.".to_owned()) };
    if !commit.means(&pull.head) {
        return Err(format!(
            "Its head is `{}`: nothing is approved. Review that commit first.",
            short(&pull.head)
        ));
    }
    let result = request
        .result
        .clone()
        .ok_or("It conflicts with its base, so its changes are unknown: nothing is approved.")?;
    let approval = Approval {
        by: request.by.clone(),
        at: request.given_at,
        head: pull.head.clone(),
        result,
        means: Means::Command,
        dismissed: None,
    };
    if !decisions.approvals.contains(&approval) {
        let is_theirs =
            |one: &Approval| one.means == Means::Command && one.by.eq_ignore_ascii_case(&approval.by);
        decisions.approvals.retain(|one| !is_theirs(one));
        decisions.approvals.push(approval);
    }
    Ok(())
}

/// The answer where a command is about the proposal of the pull request, and there is none.
fn no_open_proposal() -> Answer {
    Answer::refused(
        Refusal::NothingThere,
        "This pull request is not one of Capstan's open proposals, so there is nothing to decide here; `for CLUSTER` names another one.\n",
    )
}

/// Of several clusters those that a command can mean: a conflict is settled where there is one. What is wrong with it is
/// told of one of them.
fn meant(mut all: Vec<ProposalId>, command: &Command, plans: &Plans) -> Vec<ProposalId> {
    let (Command::Keep(named) | Command::Take(named)) = command else { return all };
    let has = |proposal: &ProposalId| {
        let conflicts = plans.get(proposal).and_then(|plan| plan.as_ref().ok()).map(|plan| &plan.conflicts);
        conflicts.is_some_and(|conflicts| find_conflicts(conflicts, named).is_ok())
    };
    if all.iter().any(has) {
        all.retain(has);
    } else {
        all.truncate(1);
    }
    all
}

/// A cluster's folder as `for` takes it.
fn for_word(target: &str) -> String {
    if target.contains('/') { target.to_owned() } else { format!("./{target}") }
}

/// The answer where there is no room for more.
const TOO_MUCH: &str =
    "Its description has no room for more decisions: edit the release or the cluster instead.";

/// A command as it is written, without what follows the verb.
fn written(command: &Command, settings: &RepositorySettings) -> String {
    format!("{} {}", settings.commands.prefix.as_str(), command.verb().word())
}

/// What to do where a decision cannot be noted.
pub const fn instead_of(verb: Verb) -> &'static str {
    match verb {
        Verb::Pause | Verb::Resume | Verb::Campaign => "`mode: observe` in `.capstan.yaml` stops all writes",
        Verb::Hold | Verb::Unhold => "`hold` in `overlay/capstan.yaml` of the cluster holds it back",
        _ => "`upgrade.fields` in `.capstan.yaml` sets who owns a field",
    }
}

/// Whether a verb's answer is known once it is decided.
const fn decides(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::Hold
            | Verb::Unhold
            | Verb::Keep
            | Verb::Take
            | Verb::Override
            | Verb::Skip
            | Verb::Approve
            | Verb::Unapprove
    )
}

fn argument(named: &OfConflict) -> String {
    let object = named.object.as_ref().map(|(kind, name)| format!(" {kind}/{name}"));
    let path = if named.means_all() { "all".to_owned() } else { named.path.to_string() };
    format!("{} {path}", object.unwrap_or_default())
}
