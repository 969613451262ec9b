//! Reacts at once to comments, new issues and presses of buttons during a run; the next run handles them.
//!
//! Deliveries show that there is a new request, and only then GitHub is asked for it. What no delivery shows,
//! the next run finds.
//!
//! Deliberately absent: every other answer. A refusal is written by the run that decides it. Ticks of the
//! dashboard are visible by themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capstan_bot_core::effects::Effect;
use capstan_bot_core::requests::{address, meant_by, readers_of, right_of};
use capstan_plan::command::{self, CommentId, Hearing, hear};
use capstan_plan::settings::CommandSettings;
use capstan_report::pressed_meanwhile;
use jiff::Timestamp;

use super::{Run, SyncError};
use capstan_budget::{Priority, at_priority};
use capstan_ports::{Arrivals, CodeHostError, Comment, Permission, PlacedComment, Press, Reaction};

/// How often a run looks for deliveries that other processes stored; its own process notifies it at once.
const EVERY: Duration = Duration::from_secs(1);
/// Issues that are read one by one; people do not open more during a run.
const MOST_ISSUES: usize = 10;

/// What was seen during a run.
#[derive(Default)]
struct Heard {
    comments: BTreeSet<CommentId>,
    /// Deliveries.
    presses: BTreeSet<String>,
    /// Permissions of people in the repository, as far as they were read.
    permissions: BTreeMap<String, Permission>,
}

impl Run<'_> {
    /// Runs `work`, and reacts meanwhile to requests that are newer than its beginning.
    pub(super) async fn while_listening<T>(
        self,
        settings: &CommandSettings,
        work: impl Future<Output = T>,
    ) -> T {
        // The run itself lists the comments that exist now.
        let since = self.ports.clock.now();
        tokio::select! {
            done = work => done,
            never = self.listen(settings, since) => match never {},
        }
    }

    async fn listen(self, settings: &CommandSettings, since: Timestamp) -> std::convert::Infallible {
        let mut heard = Heard::default();
        loop {
            self.ports.records.wait_for_arrivals(EVERY).await;
            let hearing = self.hear_newcomers(settings, since, &mut heard);
            match at_priority(Priority::Command, hearing).await {
                Ok(()) => {}
                // The run needs the rest of the rate limit.
                Err(SyncError::Host(CodeHostError::RateLimited { .. })) => std::future::pending().await,
                Err(error) => {
                    tracing::debug!(repository = %self.repository.name, error = %error, "the next run reads comments that are made meanwhile");
                    tokio::time::sleep(EVERY).await;
                }
            }
        }
    }

    async fn hear_newcomers(
        self,
        settings: &CommandSettings,
        since: Timestamp,
        heard: &mut Heard,
    ) -> Result<(), SyncError> {
        let Arrivals { comments, mut issues, presses, .. } =
            self.ports.records.arrivals(self.repository.id, self.began).await?;
        let host = &self.ports.host;
        let mut said = Vec::new();
        if comments.iter().any(|id| !heard.comments.contains(&CommentId::Comment(*id))) {
            said = host.recent_comments(self.repository, since).await?;
            said.retain(|placed| placed.comment.created_at >= since);
            // Comments that the run itself has listed, or that are gone.
            let known = comments.iter().map(|id| CommentId::Comment(*id));
            let listed: BTreeSet<CommentId> = said.iter().map(|placed| placed.comment.id).collect();
            heard.comments.extend(known.filter(|id| !listed.contains(id)));
        }
        issues.retain(|number| !heard.comments.contains(&CommentId::Issue(*number)));
        issues.truncate(MOST_ISSUES);
        if !issues.is_empty() {
            let from = self.began - jiff::SignedDuration::from_secs(1);
            said.extend(host.opened_issues(self.repository, from, &issues).await?);
        }
        let login = host.bot_login().await?;
        for PlacedComment { comment, .. } in said {
            if !heard.comments.contains(&comment.id) {
                self.hear_comment(settings, &comment, &login, heard).await?;
                heard.comments.insert(comment.id);
            }
        }
        heard.comments.extend(issues.into_iter().map(CommentId::Issue));
        for press in presses {
            if !heard.presses.contains(&press.delivery) {
                self.hear_button(settings, &press).await?;
                heard.presses.insert(press.delivery);
            }
        }
        Ok(())
    }

    async fn hear_comment(
        self,
        settings: &CommandSettings,
        comment: &Comment,
        login: &str,
        heard: &mut Heard,
    ) -> Result<(), SyncError> {
        let address = address(settings, login);
        let commands = match comment.id {
            CommentId::Comment(_) => command::parse(address, &comment.body),
            CommentId::Issue(_) => command::parse_issue(address, &comment.body),
        };
        let is_addressed = !comment.by_bot && comment.author != login && !commands.is_empty();
        if is_addressed && self.is_obeyed(settings, comment, &mut heard.permissions).await? {
            self.performer.perform(Effect::React { comment: comment.id, reaction: Reaction::Eyes }).await?;
        }
        Ok(())
    }

    /// Whether the next run will handle its commands, as far as is known now.
    async fn is_obeyed(
        self,
        settings: &CommandSettings,
        comment: &Comment,
        permissions: &mut BTreeMap<String, Permission>,
    ) -> Result<bool, SyncError> {
        let host = &self.ports.host;
        let permission = self.permission_of(&comment.author, permissions).await?;
        let hearing = hear(right_of(permission), readers_of(settings), comment.created_at, None);
        Ok(hearing == Hearing::Obeyed
            && hearing.worded(host.wording(self.repository, comment).await?) == Hearing::Obeyed)
    }

    /// Says on the check that its button was pressed; the next run writes that check again.
    async fn hear_button(self, settings: &CommandSettings, press: &Press) -> Result<(), SyncError> {
        let Some((_, pull)) = meant_by(self.facts, press) else { return Ok(()) };
        let (_, hearing) = self.hear_press(press, settings).await?;
        if hearing != Hearing::Obeyed {
            return Ok(());
        }
        let line = pressed_meanwhile(&press.button, &press.by);
        let above = Effect::LineAbove { head: pull.head.clone(), line };
        self.performer.perform(above).await.map(drop)
    }
}
