//! Comments, buttons and orders of the page that have no answer yet: reads them, and what decides about each.
//!
//! *Guarantee.* A problem with comments (issues switched off, one that GitHub does not show) affects only
//! commands, and nothing else of the run.

use std::collections::BTreeSet;

use capstan_bot_core::commands::hearing::{
    BindAnswers, BindFacts, BindNeed, CommentAnswers, CommentFacts, MergeResult, OrderFacts, bind,
    issues_to_read, order, press,
};
use capstan_bot_core::effects::Effect;
use capstan_bot_core::facts::Scopes;
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::{Outcome, Step};
use capstan_bot_core::requests::{DealtWith, Kept, Origin, Request};
use capstan_plan::command::{CommentId, Right};
use capstan_plan::settings::CommandSettings;
use capstan_report::answered_comment;
use jiff::{SignedDuration, Timestamp};

use super::checks::Comparisons;
use super::comments::CommentReader;
use super::rights::RepositoryRights;
use super::{Ending, Run, SyncError};
use capstan_ports::{CodeHostError, PlacedComment, Press};

/// How far back comments are read: longer than the bot is ever down, short enough for a page or two.
const DAYS_BACK: i64 = 3;

impl Run<'_> {
    pub(super) async fn unanswered_commands(
        self,
        settings: &CommandSettings,
        ending: &mut Ending,
    ) -> Result<Vec<Request>, SyncError> {
        let login = self.ports.host.bot_login().await?;
        let since = self.ports.clock.now() - SignedDuration::from_hours(24 * DAYS_BACK);
        let recent = self.ports.host.recent_comments(self.repository, since).await;
        let why = "comments cannot be listed: Capstan executes no command";
        let Some(mut recent) = self.listed(recent, why, ending)? else { return Ok(Vec::new()) };
        let answered: BTreeSet<CommentId> = recent
            .iter()
            .filter(|placed| placed.comment.author == login)
            .filter_map(|placed| answered_comment(&placed.comment.body))
            .collect();
        recent.extend(self.opened_issues(since, ending).await?);
        recent.sort_by_key(|placed| (placed.comment.created_at, placed.comment.id));
        let mut reader = CommentReader::of(self);
        let mut dealt_with = DealtWith::default();
        let mut requests = Vec::new();
        for placed in &recent {
            let comment = &placed.comment;
            let (before, now) = (dealt_with.before(comment), self.ports.clock.now());
            let of = CommentFacts { facts: self.facts, settings, placed, own: &login, since, before, now };
            let is_answered = answered.contains(&comment.id).then_some(true);
            let known = CommentAnswers { answered: is_answered, ..CommentAnswers::default() };
            let done = match reader.hear(of, known).await {
                Ok(None) => {
                    ending.look_again();
                    break;
                }
                Ok(Some(heard)) => {
                    if heard.is_dealt_with {
                        dealt_with.note(comment);
                    }
                    self.performer.perform_all(heard.effects).await.map(|()| heard.request)
                }
                Err(error) => Err(error),
            };
            // If a comment cannot be examined, the next run tries again.
            match done {
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

    async fn opened_issues(
        &self,
        since: Timestamp,
        ending: &mut Ending,
    ) -> Result<Vec<PlacedComment>, SyncError> {
        let Some(few) = issues_to_read(self.hints) else { return Ok(Vec::new()) };
        let opened = self.ports.host.opened_issues(self.repository, since, few).await;
        let why = "issues cannot be read: Capstan executes no command in their text";
        Ok(self.listed(opened, why, ending)?.unwrap_or_default())
    }

    /// What GitHub lists; `None` where it does not, which affects nothing else.
    fn listed(
        &self,
        listed: Result<Vec<PlacedComment>, CodeHostError>,
        why: &str,
        ending: &mut Ending,
    ) -> Result<Option<Vec<PlacedComment>>, SyncError> {
        match listed {
            Ok(listed) => Ok(Some(listed)),
            Err(error @ CodeHostError::RateLimited { .. }) => Err(error.into()),
            Err(error) => {
                tracing::warn!(repository = %self.repository.name, error = %error, "{why}");
                if !error.is_refusal() {
                    ending.fail(error.into());
                }
                Ok(None)
            }
        }
    }

    /// The buttons that people pressed on checks of proposals: commands like any others.
    pub(super) async fn pressed_buttons(
        &self,
        settings: &CommandSettings,
    ) -> Result<Vec<Request>, SyncError> {
        let mut requests = Vec::new();
        for press in &self.hints.presses {
            match self.hear_press(press, settings).await? {
                Ok(request) => requests.push(*request),
                Err(effect) => {
                    tracing::info!(repository = %self.repository.name, actor = press.by, button = press.button, head = press.head, "somebody pressed a button of something that is gone");
                    self.performer.perform(effect).await?;
                }
            }
        }
        Ok(requests)
    }

    /// The request of a pressed button, or what is done instead.
    pub(super) async fn hear_press(
        &self,
        pressed: &Press,
        settings: &CommandSettings,
    ) -> Result<Result<Box<Request>, Effect>, SyncError> {
        let decide = |right| press(self.facts, settings, pressed, right);
        self.with_right_of(&pressed.by, decide).await
    }

    /// The orders of people to campaigns on the page, each if GitHub allows it now. `dashboard` is the number
    /// of the issue that records them.
    pub(super) async fn page_orders(
        &self,
        settings: &CommandSettings,
        dashboard: Option<u64>,
    ) -> Result<Vec<Request>, SyncError> {
        let of = OrderFacts { repository: self.repository.id, settings, began: self.began, dashboard };
        let mut requests = Vec::new();
        for given in &self.hints.orders {
            match self.with_right_of(&given.by, |right| order(of, given, right)).await? {
                Ok(request) => requests.push(*request),
                Err(effects) => self.performer.perform_all(effects).await?,
            }
        }
        Ok(requests)
    }

    /// A decision that may need a person's right.
    async fn with_right_of<T>(
        &self,
        login: &str,
        decide: impl Fn(Option<Right>) -> Step<T, ()>,
    ) -> Result<T, SyncError> {
        let mut right = None;
        loop {
            match decide(right) {
                Step::Decided(decided) => return Ok(decided),
                Step::Ask(()) => right = Some(self.right_now(login).await?),
            }
        }
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
            self.performer.perform(Effect::OrderAnswered(order.id.clone())).await?;
        }
        Ok(())
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
        for request in requests {
            let id = request.id();
            match self.bind(request, &mut rights, scopes, seen).await {
                Ok(Some(request)) => bound.push(*request),
                Ok(None) => ending.look_again(),
                // A problem with one request does not affect the others.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, request = %id, error = %error, "commands are not executed");
                    ending.fail(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(bound)
    }

    async fn bind(
        &self,
        mut request: Request,
        rights: &mut RepositoryRights<'_>,
        scopes: &Scopes,
        seen: &mut Comparisons,
    ) -> Result<Option<Box<Request>>, SyncError> {
        self.judge_rights(&mut request, rights, scopes).await?;
        let own = self.ports.host.bot_login().await?;
        let of = BindFacts { facts: self.facts, scopes, own: &own, now: self.ports.clock.now() };
        let mut known = BindAnswers::default();
        loop {
            match bind(of, &request, &known) {
                Step::Decided(bound) => return Ok(bound),
                Step::Ask(BindNeed::Pushes(branch)) => {
                    let pushes = match self.ports.host.pushes(self.repository, &branch).await {
                        Err(error) if error.is_refusal() => None,
                        pushes => Some(pushes?),
                    };
                    known.pushes.insert(branch, pushes);
                }
                Step::Ask(BindNeed::Result(pull)) => {
                    let result = self.result_of(pull, seen).await?;
                    known.result = Some(result.map_or(MergeResult::NotYet, MergeResult::Is));
                }
                // If it cannot be read nothing is written; the answer says so.
                Step::Ask(BindNeed::Concerned) => {
                    known.concerned = Some(self.concerned_by(&request, scopes).await?.unwrap_or_default());
                }
            }
        }
    }
}
