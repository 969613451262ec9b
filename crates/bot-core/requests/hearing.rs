//! Whose words are commands here, and what their authors had seen.

use std::collections::BTreeMap;

use capstan_facts::{Comment, Permission, Press, PullRequest, PullRequestState};
use capstan_model::tree::CommitId;
use capstan_plan::command::{Address, Hearing, Readers, Right, Unseen, is_just_after};
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::CommandSettings;
use capstan_plan::verbs::{Command, Verb};
use jiff::Timestamp;

use super::request::{Request, UnseenBranch};
use crate::facts::{Facts, Scopes};

/// Who was dealt with, and for which of their comments.
#[derive(Debug, Clone, Default)]
pub struct DealtWith(BTreeMap<String, Timestamp>);

impl DealtWith {
    /// The author's comment before this one that had commands and was dealt with.
    pub fn before(&self, comment: &Comment) -> Option<Timestamp> {
        self.0.get(&comment.author).copied().filter(|before| *before <= comment.created_at)
    }

    /// Notes that a comment was dealt with. An ignored comment does not restart the one-hour window.
    pub fn note(&mut self, comment: &Comment) {
        if !self.before(comment).is_some_and(|before| is_just_after(comment.created_at, before)) {
            self.0.insert(comment.author.clone(), comment.created_at);
        }
    }
}

/// What somebody may do, as the heart calls it.
pub const fn right_of(permission: Permission) -> Right {
    match permission {
        Permission::None => Right::None,
        Permission::Read => Right::Read,
        Permission::Write => Right::Write,
        Permission::Admin => Right::Admin,
    }
}

/// The names that commands are addressed to: the prefix of the settings, or the App by the name of its bot.
pub(crate) fn address<'a>(settings: &'a CommandSettings, login: &'a str) -> Address<'a> {
    let app = login.strip_suffix("[bot]").unwrap_or(login);
    Address { prefix: &settings.prefix, app: Some(app) }
}

/// Whether people who may only read are admitted.
pub(crate) fn readers_of(settings: &CommandSettings) -> Readers {
    if settings.admits_readers() { Readers::Admitted } else { Readers::Refused }
}

/// What becomes of a request by somebody who ticks a box or presses a button of the page.
pub(crate) fn hearing_of(right: Right, settings: &CommandSettings) -> Hearing {
    let admitted = right >= Right::Read && settings.admits_readers();
    if right >= Right::Write || admitted { Hearing::Obeyed } else { Hearing::Refused }
}

/// What a button asks for, and the open proposal whose check it is on.
pub(crate) fn meant_by<'a>(facts: &'a Facts, press: &Press) -> Option<(Command, &'a PullRequest)> {
    let verb = Verb::named(&press.button).filter(|verb| verb.button().is_some())?;
    let pull = facts.proposals.values().find(|pull| pull.head.as_str() == press.head)?;
    Some((verb.with("").ok()?, pull))
}

/// What the author of a request had not seen of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Overlooked {
    Nothing,
    /// GitHub has not recorded it yet: it is read again.
    NotYetNoted,
    Commits(UnseenBranch),
}

impl Overlooked {
    /// The same in the words of requests.
    pub(crate) fn of(unseen: Unseen, branch: &str) -> Self {
        let branch = branch.to_owned();
        match unseen {
            Unseen::Nothing => Self::Nothing,
            Unseen::NotYetNoted => Self::NotYetNoted,
            Unseen::Pushes(pushes) => Self::Commits(UnseenBranch { branch, pushes }),
            Unseen::NotLogged => Self::Commits(UnseenBranch { branch, pushes: Vec::new() }),
        }
    }
}

/// The open proposal whose head a request may mean, and its pull request.
pub(crate) fn open_subject<'r>(facts: &Facts, request: &'r Request) -> Option<(ProposalId, &'r PullRequest)> {
    let proposal = facts.carrier_of(request)?;
    let pull = request.pull.as_ref().filter(|pull| pull.state == PullRequestState::Open)?;
    facts.proposals.contains_key(&proposal).then_some((proposal, pull))
}

/// The proposals that a request rewrites, as far as they are named; `None` where what its pull request concerns has to
/// be found out first.
pub(crate) fn rewritten_by(facts: &Facts, scopes: &Scopes, request: &Request) -> Option<Vec<ProposalId>> {
    let retarget = request.carried_out().find(|(_, command)| command.verb() == Verb::Retarget);
    match retarget {
        Some((_, command)) if command.cluster().is_some() => {
            Some(facts.proposals_of(scopes, request, command))
        }
        Some(_) => None,
        None => Some(facts.carrier_of(request).into_iter().collect()),
    }
}

/// The branches that a request writes, with their heads: its author must have seen all of their commits. A branch with
/// only Capstan's work needs no look, and is left out.
pub(crate) fn branches_to_see(facts: &Facts, request: &Request) -> Vec<(String, CommitId)> {
    let own = own_branch(request).map(|pull| (pull.head_branch.clone(), pull.head.clone()));
    let of = |proposal: &ProposalId| {
        let proposal = facts.carrier(proposal).unwrap_or(proposal);
        let head = facts.branches.get(proposal)?;
        let is_own = facts.record_of(proposal, head).is_some_and(|record| record.head == *head);
        (!is_own).then(|| (proposal.branch(), head.clone()))
    };
    own.into_iter().chain(request.rewritten.iter().filter_map(of)).collect()
}

/// The pull request on whose own branch something is to be put.
fn own_branch(request: &Request) -> Option<&PullRequest> {
    let is_open = |pull: &&PullRequest| pull.state == PullRequestState::Open && pull.head_in_repository;
    request.pull.as_ref().filter(is_open).filter(|_| request.carries_out(Verb::Render))
}
