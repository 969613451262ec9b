//! Which comments and buttons are requests: those without an answer yet, each with how it is handled.
//!
//! *Guarantee.* A problem with comments (issues switched off, one that GitHub does not show) affects only
//! commands, and nothing else of the run.

use std::collections::{BTreeMap, BTreeSet};

use capstan_bot_core::dashboard::hearing_of;
use capstan_bot_core::effects::Effect;
use capstan_bot_core::facts::{Scopes, Write};
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::Outcome;
use capstan_bot_core::requests::{
    DealtWith, Kept, Origin, Overlooked, Request, address, branches_to_see, meant_by, open_subject,
    readers_of, rewritten_by, right_of,
};
use capstan_model::tree::CommitId;
use capstan_plan::command::{self, CommandError, CommentId, Hearing, Readers, Right, Unseen, hear, unseen};
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::CommandSettings;
use capstan_plan::verbs::{Command, Verb};
use capstan_report::answered_comment;
use jiff::{SignedDuration, Timestamp};

use super::checks::Comparisons;
use super::rights::RepositoryRights;
use super::{Ending, Run, SyncError};
use capstan_ports::{
    CodeHostError, Comment, Hints, PageOrder, Permission, PlacedComment, Press, PullRequest, Reaction,
};

/// How far back comments are read: longer than the bot is ever down, short enough for a page or two.
const DAYS_BACK: i64 = 3;
/// Comments whose reactions are read in one run, which only a run without its database has to do; the others
/// wait for the next one.
const MOST_ASKED: usize = 200;
/// Issues that are read one by one; if there are more, all recent ones are listed.
const ISSUES_ONE_BY_ONE: usize = 5;
/// How long an order on the page is valid. After a longer wait, because runs failed, it was given in another
/// situation.
const ORDER_HOLDS: SignedDuration = SignedDuration::from_hours(1);

/// Whether it is known what a request's author had seen.
enum AuthorCheck {
    /// It is known.
    Now,
    /// GitHub does not report it yet.
    NotYet,
}

impl Run<'_> {
    pub(super) async fn unanswered_commands(
        self,
        settings: &CommandSettings,
        ending: &mut Ending,
    ) -> Result<Vec<Request>, SyncError> {
        let login = self.ports.host.bot_login().await?;
        let address = address(settings, &login);
        let since = self.ports.clock.now() - SignedDuration::from_hours(24 * DAYS_BACK);
        let mut recent = match self.ports.host.recent_comments(self.repository, since).await {
            Ok(recent) => recent,
            Err(error @ CodeHostError::RateLimited { .. }) => return Err(error.into()),
            Err(error) => {
                tracing::warn!(repository = %self.repository.name, error = %error, "comments cannot be listed: Capstan executes no command");
                if !error.is_refusal() {
                    ending.fail(error.into());
                }
                return Ok(Vec::new());
            }
        };
        let answered: BTreeSet<CommentId> = recent
            .iter()
            .filter(|placed| placed.comment.author == login)
            .filter_map(|placed| answered_comment(&placed.comment.body))
            .collect();
        recent.extend(self.opened_issues(since, ending).await?);
        recent.sort_by_key(|placed| (placed.comment.created_at, placed.comment.id));
        let mut dealt_with = DealtWith::default();
        let mut permissions = BTreeMap::new();
        let mut requests = Vec::new();
        let mut asked = 0;
        for placed in recent {
            let comment = &placed.comment;
            // GitHub lists by the last edit: an edit of an old comment does not make it a new request.
            if comment.by_bot || comment.author == login || comment.created_at < since {
                continue;
            }
            let commands = match comment.id {
                CommentId::Comment(_) => command::parse(address, &comment.body),
                CommentId::Issue(_) => command::parse_issue(address, &comment.body),
            };
            if commands.is_empty() {
                continue;
            }
            if answered.contains(&comment.id) || self.is_answered(comment.id).await? {
                dealt_with.note(comment);
                continue;
            }
            if comment.verdicts != Some(0) {
                if asked == MOST_ASKED {
                    ending.look_again();
                    break;
                }
                asked += 1;
                let bears = match self.bears_verdict(comment).await {
                    // Unknown, it is neither handled nor forgotten.
                    Err(error) if error.is_of_one() => {
                        ending.fail(error);
                        continue;
                    }
                    bears => bears?,
                };
                if bears {
                    self.ports.records.save_comment_answered(self.repository.id, comment.id).await?;
                    dealt_with.note(comment);
                    continue;
                }
            }
            if self.performer.refusal(&Write::answer(comment.id)).is_some() {
                continue;
            }
            let readers = readers_of(settings);
            let heard = self.hear(&placed, commands, readers, &mut dealt_with, &mut permissions).await;
            // If a comment cannot be examined, the next run tries again.
            match heard {
                Ok(request) => requests.extend(request),
                Err(SyncError::Host(error)) if error.is_refusal() => {
                    tracing::warn!(repository = %self.repository.name, comment = %comment.id, error = %error, "the commands of a comment are not executed");
                }
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, comment = %comment.id, error = %error, "the commands of a comment are not executed yet");
                    ending.fail(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(requests)
    }

    /// The texts of new issues that hints name; all recent ones where there is no hint at all, because one
    /// may have been lost.
    async fn opened_issues(
        &self,
        since: Timestamp,
        ending: &mut Ending,
    ) -> Result<Vec<PlacedComment>, SyncError> {
        if self.hints.issues.is_empty() && *self.hints != Hints::default() {
            return Ok(Vec::new());
        }
        let few =
            if self.hints.issues.len() > ISSUES_ONE_BY_ONE { &[] } else { self.hints.issues.as_slice() };
        match self.ports.host.opened_issues(self.repository, since, few).await {
            Ok(opened) => Ok(opened),
            Err(error @ CodeHostError::RateLimited { .. }) => Err(error.into()),
            Err(error) => {
                tracing::warn!(repository = %self.repository.name, error = %error, "issues cannot be read: Capstan executes no command in their text");
                if !error.is_refusal() {
                    ending.fail(error.into());
                }
                Ok(Vec::new())
            }
        }
    }

    async fn is_answered(&self, comment: CommentId) -> Result<bool, SyncError> {
        Ok(self.ports.records.is_comment_answered(self.repository.id, comment).await?)
    }

    /// How a comment is handled; `None` where it gets no answer.
    async fn hear(
        &self,
        placed: &PlacedComment,
        commands: Vec<Result<Command, CommandError>>,
        readers: Readers,
        dealt_with: &mut DealtWith,
        permissions: &mut BTreeMap<String, Permission>,
    ) -> Result<Option<Request>, SyncError> {
        let (host, comment) = (&self.ports.host, &placed.comment);
        let permission = self.permission_of(&comment.author, permissions).await?;
        let right = right_of(permission);
        let mut hearing = hear(right, readers, comment.created_at, dealt_with.before(comment));
        if hearing == Hearing::Obeyed {
            hearing = hearing.worded(host.wording(self.repository, comment).await?);
        }
        match hearing {
            Hearing::PassedOver | Hearing::Waved => {
                if hearing == Hearing::Waved {
                    dealt_with.note(comment);
                    self.performer
                        .perform(Effect::React { comment: comment.id, reaction: Reaction::Confused })
                        .await?;
                    let detail = match comment.id {
                        CommentId::Comment(id) => format!("comment {id} on #{}", placed.number),
                        CommentId::Issue(number) => format!("issue #{number}"),
                    };
                    self.performer.audit_by(&comment.author, "command-refused", detail).await?;
                }
                self.ports.records.save_comment_answered(self.repository.id, comment.id).await?;
                return Ok(None);
            }
            Hearing::Obeyed | Hearing::Refused | Hearing::Edited => {}
        }
        let number = placed.number;
        let pull = if placed.on_pull_request {
            match host.pull_request(self.repository, number).await {
                // It was deleted between the two reads, or this installation may not see it.
                Err(CodeHostError::NotFound { .. }) => return Ok(None),
                pull => Some(pull?),
            }
        } else {
            None
        };
        dealt_with.note(comment);
        if hearing == Hearing::Obeyed {
            // Planning may take long: the author sees at once that the comment was read.
            self.performer.perform(Effect::React { comment: comment.id, reaction: Reaction::Eyes }).await?;
        }
        let by = (comment.author.as_str(), comment.created_at);
        let origin = Origin::Comment(comment.clone());
        Ok(Some(Request::new(origin, (number, pull), by, commands, (right, hearing))))
    }

    /// Whether Capstan's own reaction shows the result of a comment that the database does not know. Only a
    /// comment that has such reactions at all, by anybody, costs a call.
    async fn bears_verdict(&self, comment: &Comment) -> Result<bool, SyncError> {
        if comment.verdicts == Some(0) {
            return Ok(false);
        }
        let own = match self.ports.host.own_reactions(self.repository, comment.id).await {
            Err(error) if error.is_refusal() => {
                tracing::debug!(repository = %self.repository.name, comment = %comment.id, error = %error, "GitHub lists no reactions");
                return Ok(false);
            }
            own => own?,
        };
        Ok(own.iter().any(|reaction| reaction.is_verdict()))
    }

    /// The buttons that people pressed on checks of proposals: commands like any others.
    pub(super) async fn pressed_buttons(
        &self,
        settings: &CommandSettings,
    ) -> Result<Vec<Request>, SyncError> {
        let mut requests = Vec::new();
        for press in &self.hints.presses {
            let Some((command, pull)) = meant_by(self.facts, press) else {
                // Its head has changed, or it is closed: the button is gone.
                tracing::info!(repository = %self.repository.name, actor = press.by, button = press.button, head = press.head, "somebody pressed a button of something that is gone");
                let detail = format!("{}, button at {}", press.button, press.head);
                self.performer.audit_by(&press.by, "command-overtaken", detail).await?;
                continue;
            };
            let (right, hearing) = self.hear_press(press, settings).await?;
            let (origin, place) = (Origin::Button(press.clone()), (pull.number, Some(pull.clone())));
            let by = (press.by.as_str(), press.at);
            requests.push(Request::new(origin, place, by, vec![Ok(command)], (right, hearing)));
        }
        Ok(requests)
    }

    /// The orders of people to campaigns on the page, each if GitHub allows it now. `dashboard` is the number
    /// of the issue that records them.
    pub(super) async fn page_orders(
        &self,
        settings: &CommandSettings,
        dashboard: Option<u64>,
    ) -> Result<Vec<Request>, SyncError> {
        let mut requests = Vec::new();
        for order in &self.hints.orders {
            if self.began.duration_since(order.at) > ORDER_HOLDS {
                self.end_order(order, "command-overtaken", "it waited for too long: give it again").await?;
                continue;
            }
            let Ok(command) = Verb::Campaign.with(&order.given) else {
                let why = "this version of Capstan cannot read it: give it again";
                self.end_order(order, "command-not-possible", why).await?;
                continue;
            };
            let right = self.right_now(&order.by).await?;
            let (origin, place) = (Origin::Page(order.clone()), (dashboard.unwrap_or_default(), None));
            let (by, said) = ((order.by.as_str(), order.at), (right, hearing_of(right, settings)));
            requests.push(Request::new(origin, place, by, vec![Ok(command)], said));
        }
        Ok(requests)
    }

    /// Says in the audit trail why an order on the page is not carried out, which ends it.
    pub(super) async fn end_order(
        &self,
        order: &PageOrder,
        action: &'static str,
        why: &str,
    ) -> Result<(), SyncError> {
        let detail = format!("{}, {} on Capstan's page: {why}", Verb::Campaign.word(), order.id);
        self.performer.audit_by(&order.by, action, detail).await?;
        Ok(self.ports.records.save_order_answered(&order.id).await?)
    }

    /// Answers orders on the page in the audit trail. That ends them: after a failure the next run does not
    /// carry them out again.
    pub(super) async fn answer_orders(
        self,
        planned: Planned<'_>,
        requests: &[Request],
        outcome: &Outcome,
        kept: &Kept,
    ) -> Result<(), SyncError> {
        if *kept == Kept::Later {
            return Ok(());
        }
        for request in requests {
            let Origin::Page(order) = &request.origin else { continue };
            let parts = self.parts(request, planned, outcome, kept).await?;
            self.audit_commands(request, &parts, planned.scopes).await?;
            self.ports.records.save_order_answered(&order.id).await?;
        }
        Ok(())
    }

    /// The rights of the person who pressed a button, and whether it counts.
    pub(super) async fn hear_press(
        &self,
        press: &Press,
        settings: &CommandSettings,
    ) -> Result<(Right, Hearing), SyncError> {
        let right = self.right_now(&press.by).await?;
        Ok((right, hear(right, readers_of(settings), press.at, None)))
    }

    /// Checks commands against the rights of their authors, and those that overwrite branches against what
    /// their authors had seen. If GitHub does not report that yet, they are left for the next run.
    pub(super) async fn bind_commands(
        &self,
        requests: Vec<Request>,
        settings: &CommandSettings,
        scopes: &Scopes,
        (ending, seen): (&mut Ending, &mut Comparisons),
    ) -> Result<Vec<Request>, SyncError> {
        let mut rights = RepositoryRights::of(*self, settings);
        let mut bound = Vec::new();
        for mut request in requests {
            match self.bind(&mut request, &mut rights, scopes, seen).await {
                Ok(AuthorCheck::Now) => bound.push(request),
                Ok(AuthorCheck::NotYet) => ending.look_again(),
                // A problem with one request does not affect the others.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, request = %request.id(), error = %error, "commands are not executed");
                    ending.fail(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(bound)
    }

    async fn bind(
        &self,
        request: &mut Request,
        rights: &mut RepositoryRights<'_>,
        scopes: &Scopes,
        seen: &mut Comparisons,
    ) -> Result<AuthorCheck, SyncError> {
        self.judge_rights(request, rights, scopes).await?;
        if let Some((proposal, pull)) = open_subject(self.facts, request) {
            let pull = pull.clone();
            if request.means_the_head() {
                match self.moved_under(request, &proposal, &pull).await? {
                    Overlooked::NotYetNoted => return Ok(AuthorCheck::NotYet),
                    Overlooked::Nothing => request.moved = None,
                    Overlooked::Commits(moved) => request.moved = Some(moved),
                }
            }
            if request.carries_out(Verb::Approve) {
                let Some(result) = self.result_of(&pull, seen).await? else { return Ok(AuthorCheck::NotYet) };
                request.result = result;
            }
        }
        if !request.may_overwrite() {
            return Ok(AuthorCheck::Now);
        }
        request.rewritten = match rewritten_by(self.facts, scopes, request) {
            Some(rewritten) => rewritten,
            // If it cannot be read nothing is written; the answer says so.
            None => self.concerned_by(request, scopes).await?.unwrap_or_default(),
        };
        match self.unseen_by(request).await? {
            Overlooked::NotYetNoted => return Ok(AuthorCheck::NotYet),
            Overlooked::Nothing => request.unseen = None,
            Overlooked::Commits(unseen) => request.unseen = Some(unseen),
        }
        Ok(AuthorCheck::Now)
    }

    /// Pushes to a proposal's branch after the head that the request is about, by anybody. A button belongs
    /// to one commit's check.
    async fn moved_under(
        &self,
        request: &Request,
        proposal: &ProposalId,
        pull: &PullRequest,
    ) -> Result<Overlooked, SyncError> {
        match &request.origin {
            // The author did not see Capstan's newer commits either.
            Origin::Comment(_) => self.unseen_on(request, &proposal.branch(), &pull.head, "").await,
            Origin::Tick { .. } | Origin::Button(_) | Origin::Page(_) => Ok(Overlooked::Nothing),
        }
    }

    /// The first branch with pushes that the author of a request had not seen.
    async fn unseen_by(&self, request: &Request) -> Result<Overlooked, SyncError> {
        let own = self.ports.host.bot_login().await?;
        for (branch, head) in branches_to_see(self.facts, request) {
            match self.unseen_on(request, &branch, &head, &own).await? {
                Overlooked::Nothing => {}
                found => return Ok(found),
            }
        }
        Ok(Overlooked::Nothing)
    }

    /// Pushes to a branch that the author of a request had not seen; those by `own` count as seen.
    async fn unseen_on(
        &self,
        request: &Request,
        branch: &str,
        head: &CommitId,
        own: &str,
    ) -> Result<Overlooked, SyncError> {
        let found = match self.ports.host.pushes(self.repository, branch).await {
            Ok(pushes) => unseen(&pushes, head, request.given_at, own, self.ports.clock.now()),
            Err(error) if error.is_refusal() => Unseen::NotTold,
            Err(error) => return Err(error.into()),
        };
        Ok(Overlooked::of(found, branch))
    }
}
