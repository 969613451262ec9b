//! Which comments ask for something: those that are not answered yet, each with what becomes of it.
//!
//! *Guarantee.* Whatever is wrong with comments (issues switched off, one that GitHub does not show) costs the
//! commands, and nothing else of the run.

use std::collections::{BTreeMap, BTreeSet};

use capstan_plan::command::{self, CommandError, Hearing, Push, Right, Unseen, hear, is_just_after, unseen};
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::CommandPrefix;
use capstan_report::answered_comment;
use jiff::Timestamp;

use super::refusals::Write;
use super::{Ending, Run, Scopes, SyncError};
use crate::app::ports::{CodeHostError, Comment, Permission, PlacedComment, PullRequest, Reaction};

/// How far back comments are read: longer than the bot is ever down, short enough for a page or two.
const DAYS_BACK: i64 = 3;

/// A comment with commands that awaits its answer.
pub(super) struct Request {
    pub(super) pull: PullRequest,
    pub(super) comment: Comment,
    pub(super) commands: Vec<Result<command::Command, CommandError>>,
    pub(super) hearing: Hearing,
    /// The proposals that its commands may write anew.
    pub(super) rewritten: Vec<ProposalId>,
    /// What its author had not seen of a branch that would be written anew, where there is such a one.
    pub(super) unseen: Option<UnseenBranch>,
}

/// The proposals for which somebody asks for `retarget`.
pub(super) fn retargeted(requests: &[Request]) -> BTreeSet<ProposalId> {
    let asked = requests.iter().filter(|request| request.carries_out(command::Command::Retarget));
    asked.flat_map(|request| request.rewritten.iter().cloned()).collect()
}

/// Whether it can be told what a request's author had seen.
enum Bound {
    /// It is.
    Now,
    /// GitHub has not noted it yet.
    NotYet,
}

/// A branch with commits that the author of a command had not seen.
pub(super) struct UnseenBranch {
    pub(super) branch: String,
    /// Newest first; empty where GitHub does not tell.
    pub(super) pushes: Vec<Push>,
}

impl Request {
    /// The pull request of the proposal that is to be written anew.
    pub(super) fn replans(&self) -> Option<&PullRequest> {
        self.carries_out(command::Command::Replan).then_some(&self.pull)
    }

    /// Whether that command stands there, and is carried out.
    pub(super) fn carries_out(&self, command: command::Command) -> bool {
        self.commands.contains(&Ok(command))
            && self.hearing == Hearing::Obeyed
            && !(command.rewrites() && self.unseen.is_some())
    }

    fn may_rewrite(&self) -> bool {
        let rewrites =
            |command: &Result<command::Command, _>| command.as_ref().is_ok_and(|one| one.rewrites());
        self.hearing == Hearing::Obeyed && self.commands.iter().any(rewrites)
    }
}

/// Who was dealt with, and for which of their comments.
#[derive(Default)]
struct DealtWith(BTreeMap<String, Timestamp>);

impl DealtWith {
    /// The author's comment before this one that had commands and was dealt with.
    fn before(&self, comment: &Comment) -> Option<Timestamp> {
        self.0.get(&comment.author).copied().filter(|before| *before <= comment.created_at)
    }

    /// One that was passed over, as far as can be told, begins no new hour.
    fn note(&mut self, comment: &Comment) {
        if !self.before(comment).is_some_and(|before| is_just_after(comment.created_at, before)) {
            self.0.insert(comment.author.clone(), comment.created_at);
        }
    }
}

impl Run<'_> {
    pub(super) async fn unanswered_commands(
        self,
        prefix: &CommandPrefix,
        ending: &mut Ending,
    ) -> Result<Vec<Request>, SyncError> {
        let login = self.ports.host.bot_login().await?;
        let since = self.ports.clock.now() - jiff::SignedDuration::from_hours(24 * DAYS_BACK);
        let mut recent = match self.ports.host.recent_comments(self.repository, since).await {
            Ok(recent) => recent,
            Err(error @ CodeHostError::RateLimited { .. }) => return Err(error.into()),
            Err(error) => {
                tracing::warn!(repository = %self.repository.name, error = %error, "comments cannot be listed: no command is obeyed");
                if !error.is_refusal() {
                    ending.fail(error.into());
                }
                return Ok(Vec::new());
            }
        };
        let answered: BTreeSet<u64> = recent
            .iter()
            .filter(|placed| placed.comment.author == login)
            .filter_map(|placed| answered_comment(&placed.comment.body))
            .collect();
        recent.sort_by_key(|placed| (placed.comment.created_at, placed.comment.id));
        let mut dealt_with = DealtWith::default();
        let mut permissions = BTreeMap::new();
        let mut requests = Vec::new();
        for placed in recent {
            let comment = &placed.comment;
            // GitHub lists by the last edit: an old comment that somebody edits is not asked anew.
            if !placed.on_pull_request
                || comment.by_bot
                || comment.author == login
                || comment.created_at < since
            {
                continue;
            }
            let commands = command::parse(prefix, &comment.body);
            if commands.is_empty() {
                continue;
            }
            if answered.contains(&comment.id) || self.is_answered(comment.id).await? {
                dealt_with.note(comment);
                continue;
            }
            if self.refusal(&Write::answer(comment.id)).is_some() {
                continue;
            }
            let heard = self.hear(&placed, commands, &mut dealt_with, &mut permissions).await;
            // What cannot be found out about one comment is looked for again with the next run.
            match heard {
                Ok(request) => requests.extend(request),
                Err(SyncError::Host(error)) if error.is_refusal() => {
                    tracing::warn!(repository = %self.repository.name, comment = comment.id, error = %error, "a comment's commands are not obeyed");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(requests)
    }

    async fn is_answered(&self, comment: u64) -> Result<bool, SyncError> {
        Ok(self.ports.records.is_comment_answered(self.repository.id, comment).await?)
    }

    /// What becomes of a comment; `None` where it gets no answer.
    async fn hear(
        &self,
        placed: &PlacedComment,
        commands: Vec<Result<command::Command, CommandError>>,
        dealt_with: &mut DealtWith,
        permissions: &mut BTreeMap<String, Permission>,
    ) -> Result<Option<Request>, SyncError> {
        let (host, comment) = (&self.ports.host, &placed.comment);
        let permission = match permissions.get(&comment.author) {
            Some(known) => *known,
            None => {
                let found = host.permission(self.repository, &comment.author).await?;
                permissions.insert(comment.author.clone(), found);
                found
            }
        };
        let right = match permission {
            Permission::None => Right::None,
            Permission::Read => Right::Read,
            Permission::Write | Permission::Admin => Right::Write,
        };
        let mut hearing = hear(right, comment.created_at, dealt_with.before(comment));
        if hearing == Hearing::Obeyed {
            hearing = hearing.worded(host.wording(self.repository, comment).await?);
        }
        match hearing {
            Hearing::PassedOver | Hearing::Waved => {
                if hearing == Hearing::Waved {
                    dealt_with.note(comment);
                    self.react(comment, Reaction::Confused).await?;
                    self.audit_command(comment, placed.number, "command-refused", None).await?;
                }
                self.ports.records.save_comment_answered(self.repository.id, comment.id).await?;
                return Ok(None);
            }
            Hearing::Obeyed | Hearing::Refused | Hearing::Edited => {}
        }
        let pull = match host.pull_request(self.repository, placed.number).await {
            // It went between the two reads, or is not for this installation to see.
            Err(CodeHostError::NotFound { .. }) => return Ok(None),
            pull => pull?,
        };
        dealt_with.note(comment);
        let comment = comment.clone();
        Ok(Some(Request { pull, comment, commands, hearing, rewritten: Vec::new(), unseen: None }))
    }

    /// Binds commands that write branches anew to what their authors had seen of them. Those of which GitHub does not
    /// tell yet are left for the next run.
    pub(super) async fn bind_to_what_was_seen(
        &self,
        requests: Vec<Request>,
        scopes: &Scopes,
        ending: &mut Ending,
    ) -> Result<Vec<Request>, SyncError> {
        let mut bound = Vec::new();
        for mut request in requests {
            match self.bind(&mut request, scopes).await {
                Ok(Bound::Now) => bound.push(request),
                Ok(Bound::NotYet) => ending.look_again(),
                // What is wrong with one request is not the others' trouble.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, comment = request.comment.id, error = %error, "a comment's commands are not obeyed");
                    ending.fail(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(bound)
    }

    async fn bind(&self, request: &mut Request, scopes: &Scopes) -> Result<Bound, SyncError> {
        if !request.may_rewrite() {
            return Ok(Bound::Now);
        }
        request.rewritten = self.rewritten_by(request, scopes).await?;
        let Some(unseen) = self.unseen_by(request).await? else { return Ok(Bound::NotYet) };
        request.unseen = unseen;
        Ok(Bound::Now)
    }

    async fn rewritten_by(&self, request: &Request, scopes: &Scopes) -> Result<Vec<ProposalId>, SyncError> {
        if request.carries_out(command::Command::Retarget) {
            // Of what nobody can read nothing is written; the answer says so.
            return Ok(self.concerned(&request.pull, scopes).await?.unwrap_or_default());
        }
        Ok(self.facts.proposal_of(&request.pull).into_iter().collect())
    }

    /// The first branch of which the author of a request had not seen all; `None` where that cannot be told yet.
    async fn unseen_by(&self, request: &Request) -> Result<Option<Option<UnseenBranch>>, SyncError> {
        let own = self.ports.host.bot_login().await?;
        for proposal in &request.rewritten {
            let Some(head) = self.facts.branches.get(proposal) else { continue };
            // Nobody's work stands there but Capstan's.
            if self.facts.records.get(proposal).is_some_and(|record| record.head == *head) {
                continue;
            }
            let branch = proposal.branch();
            let found = match self.ports.host.pushes(self.repository, &branch).await {
                Ok(pushes) => unseen(&pushes, head, request.comment.created_at, &own, self.ports.clock.now()),
                Err(error) if error.is_refusal() => Unseen::NotTold,
                Err(error) => return Err(error.into()),
            };
            match found {
                Unseen::Nothing => {}
                Unseen::NotYetNoted => return Ok(None),
                Unseen::Pushes(pushes) => return Ok(Some(Some(UnseenBranch { branch, pushes }))),
                Unseen::NotTold => return Ok(Some(Some(UnseenBranch { branch, pushes: Vec::new() }))),
            }
        }
        Ok(Some(None))
    }
}
