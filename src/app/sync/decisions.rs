//! What people decide by command: about open proposals, which is read from the folded blocks of their bodies, and about
//! others and the repository, which is read from the dashboard's; changed by what is asked for now, given to the planner,
//! and written back.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::ids::ReleaseName;
use capstan_model::source::SourceId;
use capstan_model::wording::sentence;
use capstan_plan::proposal::{
    Approval, Command as Wish, Decisions, Draft, Drafted, Means, OnHold, Override, Paused, ProposalId,
    RolledBack, find_conflict, short,
};
use capstan_plan::settings::{Mode, RepositorySettings};
use capstan_plan::upgrade::{Conflict, SettledConflict, Side};
use capstan_plan::verbs::{Command, OfCommit, OfConflict, Reason, Verb};
use capstan_report::{
    Block, Refusal, about, decided_body, hold_in_words, not_noted, not_settled, override_in_words,
    pause_in_words, refused, room_for, settled as settled_words,
};

use super::dashboard::Board;
use super::requests::{Origin, Request, RequestId};
use super::rollbacks::RollBacks;
use super::{Plans, Run, SyncError};
use crate::app::planner::OpenFleet;
use crate::app::ports::{PullRequest, PullRequestEdit};

/// What is decided about a proposal may take so many bytes of its body, which GitHub takes 65,536 characters of: what
/// does not fit would be cut off, and all of it lost.
pub(super) const MOST_BYTES: usize = 16 << 10;

/// And of all proposals that have no pull request so many of the dashboard's body.
const MOST_BYTES_WITHOUT: usize = 20 << 10;

/// Whether what was decided is noted.
enum Noted {
    Yes,
    TooMuch,
}

/// Whether GitHub made a pull request a draft, or ready.
pub(super) enum Made {
    Yes,
    Refused,
}

/// A release that is asked for now.
struct Asked {
    request: RequestId,
    at: usize,
    /// What was asked for before.
    before: (Option<ReleaseName>, Option<RolledBack>),
}

/// What people decided, before and now.
#[derive(Default)]
pub(super) struct Decided {
    /// Of each open proposal that has a block.
    decisions: BTreeMap<ProposalId, Decisions>,
    drafted: BTreeMap<ProposalId, Drafted>,
    asked: BTreeMap<ProposalId, Asked>,
    /// Proposals of which something was decided now.
    changed: BTreeSet<ProposalId>,
    /// What is wished of proposals as a whole.
    wishes: BTreeMap<ProposalId, Wish>,
    /// What is said to commands that decide something, by their request and their place in it.
    answers: BTreeMap<(RequestId, usize), String>,
    /// Whether Capstan is paused here.
    pause: Option<Paused>,
    /// Why nothing can be noted in the dashboard, where that is so.
    no_dashboard: Option<String>,
    /// The commands whose outcome is noted there.
    in_dashboard: BTreeSet<(RequestId, usize)>,
}

impl Decided {
    /// What stands in the bodies of open proposals, and of others in the dashboard's.
    pub(super) fn before(run: &Run<'_>, board: &Board) -> Self {
        let mut decided = Self {
            decisions: board.record.decisions.iter().cloned().collect(),
            pause: board.record.pause.clone(),
            no_dashboard: board.why_not(),
            ..Self::default()
        };
        for (proposal, pull) in &run.facts.proposals {
            let key = &run.ports.key;
            if let Some(block) = Block::read(&pull.body, key, run.repository.id, pull.number, proposal) {
                decided.decisions.insert(proposal.clone(), block.decisions);
                decided.drafted.insert(proposal.clone(), block.drafted);
            }
        }
        decided
    }

    /// Adds the releases that are asked for now; what is planned then shows whether they are offered
    /// ([`Self::take_back_releases`]).
    pub(super) fn hear_releases(
        &mut self,
        run: &Run<'_>,
        requests: &[Request],
        rollbacks: &RollBacks,
        settings: &RepositorySettings,
    ) {
        if settings.mode == Mode::Observe {
            return;
        }
        for request in requests {
            for (at, command) in request.carried_out() {
                let (proposal, release, rollback) = match command {
                    Command::Upgrade(to) => {
                        let named = to.cluster.clone().map(|id| run.proposal_for(id));
                        let Some(proposal) = named.or_else(|| run.proposal_of(request)) else { continue };
                        self.wishes.insert(proposal.clone(), Wish::Offer);
                        let Some(release) = to.release.clone() else { continue };
                        (proposal, release, None)
                    }
                    Command::Rollback(back) => match rollbacks.of(request, at) {
                        Some(Ok((proposal, back))) => {
                            let leaves = SourceId::from(&back.leaves).to_string();
                            let by = request.by.clone();
                            (proposal.clone(), back.to.clone(), Some(RolledBack { leaves, by }))
                        }
                        Some(Err(why)) => {
                            let named = back.cluster.clone().map(|id| run.proposal_for(id));
                            let proposal = named.or_else(|| run.proposal_of(request));
                            let target = proposal.map(|proposal| proposal.target.path().to_owned());
                            let answer = refused(
                                target.as_deref().unwrap_or("rollback"),
                                &format!("{}.", sentence(why)),
                                Refusal::NotRolledBack,
                            );
                            self.answers.insert((request.id(), at), answer);
                            continue;
                        }
                        None => continue,
                    },
                    _ => continue,
                };
                self.wishes.insert(proposal.clone(), Wish::Offer);
                let decisions = self.decisions.entry(proposal.clone()).or_default();
                let before = (decisions.release.replace(release), decisions.rollback.take());
                decisions.rollback = rollback;
                // Of several the last counts, and none of them stood there before.
                let before = self.asked.remove(&proposal).map_or(before, |earlier| earlier.before);
                self.changed.insert(proposal.clone());
                self.asked.insert(proposal, Asked { request: request.id(), at, before });
            }
        }
    }

    /// Takes back the releases that were asked for now and are not offered: why is the answer. Of these proposals the plans
    /// are others then.
    fn take_back_releases(&mut self, plans: &Plans) -> BTreeSet<ProposalId> {
        let mut taken_back = BTreeSet::new();
        for (proposal, asked) in std::mem::take(&mut self.asked) {
            let why = match plans.get(&proposal) {
                Some(Ok(_)) => continue,
                Some(Err(why)) => why.clone(),
                None => "there is no such cluster on the default branch.".to_owned(),
            };
            let answer = refused(proposal.target.path(), &why, Refusal::State);
            self.answers.insert((asked.request, asked.at), answer);
            let decisions = self.decisions.entry(proposal.clone()).or_default();
            (decisions.release, decisions.rollback) = asked.before;
            self.wishes.remove(&proposal);
            self.changed.remove(&proposal);
            taken_back.insert(proposal);
        }
        taken_back
    }

    /// Adds what is asked for now; `plans` are those of what was decided so far. Of these proposals the plans are others
    /// then.
    pub(super) fn hear(
        &mut self,
        run: &Run<'_>,
        requests: &[Request],
        plans: &Plans,
        settings: &RepositorySettings,
    ) -> BTreeSet<ProposalId> {
        let mut settled = self.take_back_releases(plans);
        for request in requests {
            let proposal = run.proposal_of(request);
            if let Some(proposal) = proposal.clone()
                && request.wish() != Wish::None
            {
                self.wishes.insert(proposal, request.wish());
            }
            for (at, command) in request.carried_out() {
                let key = (request.id(), at);
                if let Some(answer) = self.hear_pause(run, key.clone(), command, &request.by, settings) {
                    self.answers.insert(key, answer);
                    continue;
                }
                if !decides(command.verb()) {
                    continue;
                }
                let named = command.cluster().cloned().map(|id| run.proposal_for(id));
                // What stands beside a box names its cluster, too.
                let names = named.is_some() || matches!(request.origin, Origin::Tick { .. });
                let proposal = named.as_ref().or(proposal.as_ref());
                let is_open = proposal.is_some_and(|proposal| run.facts.proposals.contains_key(proposal));
                let answer = match proposal {
                    _ if settings.mode == Mode::Observe => {
                        Refusal::Observed.after("The settings say `mode: observe`: nothing is decided about proposals.\n")
                    }
                    Some(proposal) if names && !plans.contains_key(proposal) => {
                        let why = "there is no such cluster on the default branch.";
                        refused(proposal.target.path(), why, Refusal::NothingThere)
                    }
                    Some(proposal) if names && !is_open && command.verb() != Verb::Override => {
                        match self.no_dashboard.clone() {
                            Some(why) => not_noted(&written(command, settings), &why, instead_of(command.verb())),
                            None => {
                                self.in_dashboard.insert(key.clone());
                                self.decide_and_note(run, proposal, (request, command), (plans, settings), &mut settled)
                            }
                        }
                    }
                    Some(proposal) if is_open => {
                        self.decide_and_note(run, proposal, (request, command), (plans, settings), &mut settled)
                    }
                    _ => Refusal::NothingThere.after("This pull request is not one of Capstan's open proposals, so there is nothing to decide here; `for CLUSTER` names another one.\n"),
                };
                self.answers.insert(key, answer);
            }
        }
        settled
    }

    /// What is said to `pause` and `resume`, and what they decide; `None` for other commands.
    fn hear_pause(
        &mut self,
        run: &Run<'_>,
        key: (RequestId, usize),
        command: &Command,
        by: &str,
        settings: &RepositorySettings,
    ) -> Option<String> {
        let (pause, answer) = match command {
            Command::Pause(Reason(reason)) => {
                let pause = Paused { by: by.to_owned(), reason: reason.clone(), since: run.today };
                let answer = format!(
                    "{} Nothing is opened, written or merged in this repository; `{} resume` takes it back.\n",
                    capstan_report::markdown::prose(&pause_in_words(&pause), 600),
                    settings.commands.prefix.as_str()
                );
                (Some(pause), answer)
            }
            Command::Resume if self.pause.is_none() => {
                return Some("Capstan is not paused in this repository.\n".to_owned());
            }
            Command::Resume => (None, "Capstan goes on in this repository.\n".to_owned()),
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
        run: &Run<'_>,
        proposal: &ProposalId,
        (request, command): (&Request, &Command),
        (plans, settings): (&Plans, &RepositorySettings),
        settled: &mut BTreeSet<ProposalId>,
    ) -> String {
        let before = self.of(proposal);
        let answer = self.decide(proposal, command, request, plans, settings.commands.prefix.as_str());
        let replans = before.settled != self.of(proposal).settled;
        match self.noted(run, proposal, before) {
            Noted::Yes => {
                settled.extend(replans.then(|| proposal.clone()));
                answer
            }
            Noted::TooMuch => refused(proposal.target.path(), TOO_MUCH, Refusal::NotNoted),
        }
    }

    /// Notes that something was decided about a proposal, of which that was decided before, unless it is too much.
    fn noted(&mut self, run: &Run<'_>, proposal: &ProposalId, before: Decisions) -> Noted {
        let now = self.of(proposal);
        let without =
            |(proposal, decisions): (&ProposalId, &Decisions)| match run.facts.proposals.get(proposal) {
                Some(_) => 0,
                // Its name stands beside each.
                None => room_for(decisions) + 6 * proposal.to_string().len() + 40,
            };
        let is_open = run.facts.proposals.contains_key(proposal);
        let all: usize = if is_open { 0 } else { self.decisions.iter().map(without).sum() };
        if room_for(&now) > MOST_BYTES || all > MOST_BYTES_WITHOUT {
            self.decisions.insert(proposal.clone(), before);
            return Noted::TooMuch;
        }
        if now != before {
            self.changed.insert(proposal.clone());
        }
        Noted::Yes
    }

    /// What is said to a command that decides something, and what it decides.
    fn decide(
        &mut self,
        proposal: &ProposalId,
        command: &Command,
        request: &Request,
        plans: &Plans,
        prefix: &str,
    ) -> String {
        let (target, by) = (proposal.target.path(), request.by.as_str());
        let decisions = self.decisions.entry(proposal.clone()).or_default();
        let (named, side) = match command {
            Command::Hold(held) => {
                let hold = OnHold::of(held, by);
                let of = held.cluster.as_ref().map_or_else(String::new, |cluster| format!(" for {cluster}"));
                let words = format!("{} `{prefix} unhold{of}` takes it back.", hold_in_words(&hold));
                decisions.hold = Some(hold);
                return about(target, &words);
            }
            Command::Unhold(_) => {
                let words = match decisions.hold.take() {
                    Some(_) => "It is on hold no more.",
                    None => "It is not on hold.",
                };
                return about(target, words);
            }
            Command::Approve(commit) => {
                return match approved(decisions, request, commit) {
                    Ok(()) => String::new(),
                    Err(why) => refused(target, &why, Refusal::NotApproved),
                };
            }
            Command::Unapprove => {
                let own = |approval: &Approval| approval.by.eq_ignore_ascii_case(by);
                let before = decisions.approvals.len();
                decisions.approvals.retain(|one| !own(one) || one.means != Means::Command);
                let words = if decisions.approvals.len() < before {
                    "Your approval is taken back."
                } else if decisions.approvals.iter().any(own) {
                    "Your approval is a review: dismiss it on GitHub."
                } else {
                    "You have not approved it."
                };
                return about(target, words);
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
                    format!("{} It holds as long as `{}` is offered.", override_in_words(&one), one.source);
                decisions.overrule(one);
                return about(target, &words);
            }
            Command::Keep(named) => (named, Side::Cluster),
            Command::Take(named) => (named, Side::Release),
            _ => return String::new(),
        };
        let conflicts: &[Conflict] = match plans.get(proposal) {
            Some(Ok(upgrade)) => &upgrade.conflicts,
            Some(Err(why)) => return refused(target, why, Refusal::State),
            None => &[],
        };
        let written = format!("{prefix} {}{}", command.verb().word(), argument(named));
        match find_conflict(conflicts, named) {
            Ok(conflict) => {
                let one = SettledConflict {
                    object: conflict.object.clone(),
                    path: conflict.path.clone(),
                    side,
                    values: conflict.settling.values.clone(),
                    by: by.to_owned(),
                };
                let words = settled_words(target, &one);
                decisions.settle(one);
                words
            }
            Err(why) => not_settled(&written, target, &why),
        }
    }

    /// What was decided about a proposal.
    pub(super) fn of(&self, proposal: &ProposalId) -> Decisions {
        self.decisions.get(proposal).cloned().unwrap_or_default()
    }

    /// Whether something was decided about it now.
    pub(super) fn is_new(&self, proposal: &ProposalId) -> bool {
        self.changed.contains(proposal)
    }

    /// Whether Capstan made its pull request a draft.
    pub(super) fn drafted(&self, proposal: &ProposalId) -> Drafted {
        self.drafted.get(proposal).copied().unwrap_or_default()
    }

    /// What somebody wishes of it as a whole.
    pub(super) fn wish(&self, proposal: &ProposalId) -> Wish {
        self.wishes.get(proposal).copied().unwrap_or(Wish::None)
    }

    /// Adds a wish that came otherwise; what somebody said in so many words goes before it.
    pub(super) fn also_wish(&mut self, proposal: &ProposalId, wish: Wish) {
        self.wishes.entry(proposal.clone()).or_insert(wish);
    }

    /// The proposals about which something was decided.
    pub(super) fn all(&self) -> impl Iterator<Item = &ProposalId> {
        self.decisions.keys()
    }

    /// Gives the planner what was decided about a proposal.
    pub(super) fn give_to(&self, fleet: &mut dyn OpenFleet, proposal: &ProposalId) {
        let decisions = self.of(proposal);
        fleet.set_versions(proposal, decisions.versions());
        fleet.ask_for(proposal, decisions.release);
        fleet.settle(proposal, decisions.settled);
    }

    /// What is said to a command that decides something.
    pub(super) fn answer(&self, request: &Request, at: usize) -> Option<&String> {
        self.answers.get(&(request.id(), at))
    }

    /// Whether Capstan is paused here, by whom and why.
    pub(super) const fn pause(&self) -> Option<&Paused> {
        self.pause.as_ref()
    }

    /// Whether what a command decides is noted in the dashboard.
    pub(super) fn is_in_dashboard(&self, request: &Request, at: usize) -> bool {
        self.in_dashboard.contains(&(request.id(), at))
    }
}

/// Notes somebody's approval of what a pull request changes. The error is why that is not noted, in sentences.
fn approved(decisions: &mut Decisions, request: &Request, commit: &OfCommit) -> Result<(), String> {
    let Some(pull) = &request.pull else { return Err("This is no pull request.".to_owned()) };
    if !commit.means(&pull.head) {
        return Err(format!(
            "Its head is `{}`: nothing is approved. Have a look at that one.",
            short(&pull.head)
        ));
    }
    let result = request.result.clone().ok_or(
        "It conflicts with its base, so that nobody can tell what it would change: nothing is approved.",
    )?;
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

/// The answer where there is no room for more.
const TOO_MUCH: &str = "So much was decided about it that its description has no room for more: edit the release or the cluster instead.";

/// A command as it is written, without what follows the verb.
fn written(command: &Command, settings: &RepositorySettings) -> String {
    format!("{} {}", settings.commands.prefix.as_str(), command.verb().word())
}

/// What to do where a decision cannot be noted.
pub(super) const fn instead_of(verb: Verb) -> &'static str {
    match verb {
        Verb::Pause | Verb::Resume => "`mode: observe` in `.capstan.yaml` has nothing written",
        Verb::Hold | Verb::Unhold => "`hold` in `overlay/capstan.yaml` of the cluster holds it back",
        _ => "`upgrade.fields` in `.capstan.yaml` says whose value of a field counts",
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
            | Verb::Approve
            | Verb::Unapprove
    )
}

/// Whether a pull request is a draft.
pub(super) const fn now(pull: &PullRequest) -> Draft {
    if pull.draft { Draft::Draft } else { Draft::Ready }
}

fn argument(named: &OfConflict) -> String {
    let object = named.object.as_ref().map(|(kind, name)| format!(" {kind}/{name}"));
    format!("{} {}", object.unwrap_or_default(), named.path)
}

impl Run<'_> {
    /// Writes what was decided about a proposal that is left as it is otherwise, and makes it the draft that it is to be.
    pub(super) async fn write_decisions(
        self,
        proposal: &ProposalId,
        pull: &PullRequest,
        decisions: Decisions,
        want: Draft,
    ) -> Result<(), SyncError> {
        let (host, repository) = (&self.ports.host, self.repository);
        let now = host.pull_request(repository, pull.number).await?;
        let Some(block) = self.block_of(proposal, &now).await? else {
            tracing::warn!(repository = %repository.name, pull_request = pull.number, "neither body nor head tell what a proposal offers: nothing is decided about it");
            return Ok(());
        };
        let (drafted, then) = self.note_draft(&now, block.drafted, want).await?;
        let wanted = Block { pull_request: Some(pull.number), decisions, drafted, ..block.clone() };
        if wanted == block {
            return Ok(());
        }
        let body = decided_body(&now.body, (&wanted, &self.ports.key));
        let edit = PullRequestEdit { title: None, body: Some(body), close: false };
        host.edit_pull_request(repository, pull.number, &edit).await?;
        if let Some(to) = then {
            self.make_draft(&now, to).await?;
        }
        self.audit(proposal, "proposal-decided", format!("#{}", pull.number)).await
    }

    /// What is noted of a pull request that is to be a draft or ready, and what is to be made of it once that stands in
    /// its body. That Capstan made it a draft is noted before it does, and no longer noted after it was taken back: so
    /// nobody takes it for a person's wish in between, and what GitHub refuses is not tried at every turn.
    pub(super) async fn note_draft(
        self,
        pull: &PullRequest,
        was: Drafted,
        want: Draft,
    ) -> Result<(Drafted, Option<Draft>), SyncError> {
        let now = now(pull);
        Ok(match was.change(now, want) {
            None => (was.noted(now, want), None),
            Some(Draft::Draft) => (Drafted::ByCapstan, Some(Draft::Draft)),
            Some(Draft::Ready) => match self.make_draft(pull, Draft::Ready).await? {
                Made::Yes => (Drafted::No, None),
                Made::Refused => (was, None),
            },
        })
    }

    /// Makes a pull request a draft, or ready.
    pub(super) async fn make_draft(self, pull: &PullRequest, to: Draft) -> Result<Made, SyncError> {
        match self.ports.host.set_draft(self.repository, pull, to).await {
            Ok(()) => Ok(Made::Yes),
            // Some plans of GitHub have no drafts.
            Err(error) if error.is_refusal() => {
                tracing::warn!(repository = %self.repository.name, pull_request = pull.number, error = %error, "GitHub does not change whether a pull request is a draft");
                Ok(Made::Refused)
            }
            Err(error) => Err(error.into()),
        }
    }
}
