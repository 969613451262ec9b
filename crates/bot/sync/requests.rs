//! Comments, buttons and orders of the page that have no answer yet.
//!
//! *Guarantee.* A problem with comments (issues switched off, one that GitHub does not show) affects only
//! commands, and nothing else of the run.

use std::collections::BTreeSet;

use capstan_bot_core::commands::hearing::{
    CommentAnswers, CommentFacts, OrderFacts, issues_to_read, order, press,
};
use capstan_bot_core::effects::Effect;
use capstan_bot_core::facts::Facts;
use capstan_bot_core::proposals::DecisionStep;
use capstan_bot_core::requests::{DealtWith, Request};
use capstan_plan::command::{CommentId, Right};
use capstan_plan::settings::CommandSettings;
use capstan_report::answered_comment;
use jiff::{SignedDuration, Timestamp};

use super::SyncError;
use super::comments::CommentReader;
use super::ending::Ending;
use super::people::People;
use crate::performing::Performer;
use capstan_ports::{Clock, CodeHost, CodeHostError, Hints, PlacedComment, Press, Records};

/// How far back comments are read: longer than the bot is ever down, short enough for a page or two.
const DAYS_BACK: i64 = 3;

/// Reads them.
#[derive(Clone, Copy)]
pub(super) struct Inbox<'a> {
    pub(super) host: &'a dyn CodeHost,
    pub(super) records: &'a dyn Records,
    pub(super) clock: &'a dyn Clock,
    pub(super) facts: &'a Facts,
    pub(super) hints: &'a Hints,
    /// When the run began.
    pub(super) began: Timestamp,
    pub(super) performer: &'a Performer<'a>,
}

impl<'a> Inbox<'a> {
    pub(super) fn reader(self) -> CommentReader<'a> {
        CommentReader::of(self.host, self.records, &self.facts.repository)
    }

    /// The comments and new issues with commands.
    pub(super) async fn unanswered_commands(
        self,
        settings: &CommandSettings,
        ending: &mut Ending,
    ) -> Result<Vec<Request>, SyncError> {
        let login = self.host.bot_login().await?;
        let since = self.clock.now() - SignedDuration::from_hours(24 * DAYS_BACK);
        let recent = self.host.recent_comments(&self.facts.repository, since).await;
        let why = "comments cannot be listed: Capstan executes no command";
        let Some(mut recent) = self.listed(recent, why, ending)? else { return Ok(Vec::new()) };
        let answered: BTreeSet<CommentId> = recent
            .iter()
            .filter(|placed| placed.comment.author == login)
            .filter_map(|placed| answered_comment(&placed.comment.body))
            .collect();
        recent.extend(self.opened_issues(since, ending).await?);
        recent.sort_by_key(|placed| (placed.comment.created_at, placed.comment.id));
        let mut reader = self.reader();
        let mut dealt_with = DealtWith::default();
        let mut requests = Vec::new();
        for placed in &recent {
            let comment = &placed.comment;
            let (before, now) = (dealt_with.before(comment), self.clock.now());
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
                    tracing::warn!(repository = %self.facts.repository.name, comment = %comment.id, error = %error, "the commands of a comment are not executed");
                }
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.facts.repository.name, comment = %comment.id, error = %error, "the commands of a comment are not executed yet");
                    ending.fail(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(requests)
    }

    async fn opened_issues(
        self,
        since: Timestamp,
        ending: &mut Ending,
    ) -> Result<Vec<PlacedComment>, SyncError> {
        let Some(few) = issues_to_read(self.hints) else { return Ok(Vec::new()) };
        let opened = self.host.opened_issues(&self.facts.repository, since, few).await;
        let why = "issues cannot be read: Capstan executes no command in their text";
        Ok(self.listed(opened, why, ending)?.unwrap_or_default())
    }

    /// What GitHub lists; `None` where it does not, which affects nothing else.
    fn listed(
        self,
        listed: Result<Vec<PlacedComment>, CodeHostError>,
        why: &str,
        ending: &mut Ending,
    ) -> Result<Option<Vec<PlacedComment>>, SyncError> {
        match listed {
            Ok(listed) => Ok(Some(listed)),
            Err(error @ CodeHostError::RateLimited { .. }) => Err(error.into()),
            Err(error) => {
                tracing::warn!(repository = %self.facts.repository.name, error = %error, "{why}");
                if !error.is_refusal() {
                    ending.fail(error.into());
                }
                Ok(None)
            }
        }
    }

    /// The buttons that people pressed on checks of proposals: commands like any others.
    pub(super) async fn pressed_buttons(self, settings: &CommandSettings) -> Result<Vec<Request>, SyncError> {
        let mut requests = Vec::new();
        for press in &self.hints.presses {
            match self.hear_press(press, settings).await? {
                Ok(request) => requests.push(*request),
                Err(effect) => {
                    tracing::info!(repository = %self.facts.repository.name, actor = press.by, button = press.button, head = press.head, "somebody pressed a button of something that is gone");
                    self.performer.perform(effect).await?;
                }
            }
        }
        Ok(requests)
    }

    /// The request of a pressed button, or what is done instead.
    pub(super) async fn hear_press(
        self,
        pressed: &Press,
        settings: &CommandSettings,
    ) -> Result<Result<Box<Request>, Effect>, SyncError> {
        let decide = |right| press(self.facts, settings, pressed, right);
        self.with_right_of(&pressed.by, decide).await
    }

    /// The orders of people to campaigns on the page, each if GitHub allows it now. `dashboard` is the number
    /// of the issue that records them.
    pub(super) async fn page_orders(
        self,
        settings: &CommandSettings,
        dashboard: Option<u64>,
    ) -> Result<Vec<Request>, SyncError> {
        let of = OrderFacts { repository: self.facts.repository.id, settings, began: self.began, dashboard };
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
        self,
        login: &str,
        decide: impl Fn(Option<Right>) -> DecisionStep<T, ()>,
    ) -> Result<T, SyncError> {
        let (mut people, mut right) = (People::of(self.host, &self.facts.repository), None);
        loop {
            match decide(right) {
                DecisionStep::Decided(decided) => return Ok(decided),
                DecisionStep::Ask(()) => right = Some(people.right(login).await?),
            }
        }
    }
}
