//! Reacts at once to comments, new issues and presses of buttons during a run; the next run handles them.
//!
//! Deliveries show that there is a new request, and only then GitHub is asked for it. What no delivery shows,
//! the next run finds.
//!
//! Deliberately absent: every other answer. A refusal is written by the run that decides it. Ticks of the
//! dashboard are visible by themselves.

use std::collections::BTreeSet;
use std::time::Duration;

use capstan_bot_core::commands::hearing::{CommentFacts, line_of_press};
use capstan_plan::command::CommentId;
use capstan_plan::settings::CommandSettings;
use jiff::Timestamp;

use super::SyncError;
use super::comments::CommentReader;
use super::requests::Inbox;
use capstan_budget::{Priority, at_priority};
use capstan_ports::{Arrivals, CodeHostError, Press};

/// How often a run looks for deliveries that other processes stored; its own process notifies it at once.
const EVERY: Duration = Duration::from_secs(1);
/// Issues that are read one by one; people do not open more during a run.
const MOST_ISSUES: usize = 10;

/// What was seen during a run.
struct Listener<'a> {
    inbox: Inbox<'a>,
    settings: &'a CommandSettings,
    reader: CommentReader<'a>,
    /// The run itself lists the comments that exist at its beginning.
    since: Timestamp,
    comments: BTreeSet<CommentId>,
    /// Deliveries.
    presses: BTreeSet<String>,
}

/// Runs `work`, and reacts meanwhile to requests that are newer than its beginning.
pub(super) async fn while_listening<T>(
    inbox: Inbox<'_>,
    settings: &CommandSettings,
    work: impl Future<Output = T>,
) -> T {
    let (since, reader) = (inbox.clock.now(), inbox.reader());
    let (comments, presses) = (BTreeSet::new(), BTreeSet::new());
    let listener = Listener { inbox, settings, reader, since, comments, presses };
    tokio::select! {
        done = work => done,
        never = listener.listen() => match never {},
    }
}

impl Listener<'_> {
    async fn listen(mut self) -> std::convert::Infallible {
        loop {
            self.inbox.records.wait_for_arrivals(EVERY).await;
            match at_priority(Priority::Command, self.hear_newcomers()).await {
                Ok(()) => {}
                // The run needs the rest of the rate limit.
                Err(SyncError::Host(CodeHostError::RateLimited { .. })) => std::future::pending().await,
                Err(error) => {
                    tracing::debug!(repository = %self.inbox.facts.repository.name, error = %error, "the next run reads comments that are made meanwhile");
                    tokio::time::sleep(EVERY).await;
                }
            }
        }
    }

    async fn hear_newcomers(&mut self) -> Result<(), SyncError> {
        let Inbox { host, records, clock, began, facts, performer, .. } = self.inbox;
        let repository = &facts.repository;
        let Arrivals { comments, mut issues, presses, .. } = records.arrivals(repository.id, began).await?;
        let mut said = Vec::new();
        if comments.iter().any(|id| !self.comments.contains(&CommentId::Comment(*id))) {
            said = host.recent_comments(repository, self.since).await?;
            said.retain(|placed| placed.comment.created_at >= self.since);
            // Comments that the run itself has listed, or that are gone.
            let known = comments.iter().map(|id| CommentId::Comment(*id));
            let listed: BTreeSet<CommentId> = said.iter().map(|placed| placed.comment.id).collect();
            self.comments.extend(known.filter(|id| !listed.contains(id)));
        }
        issues.retain(|number| !self.comments.contains(&CommentId::Issue(*number)));
        issues.truncate(MOST_ISSUES);
        let from = began - jiff::SignedDuration::from_secs(1);
        if !issues.is_empty() {
            said.extend(host.opened_issues(repository, from, &issues).await?);
        }
        let own = host.bot_login().await?;
        said.retain(|placed| !self.comments.contains(&placed.comment.id));
        for placed in &said {
            let (settings, since, now) = (self.settings, from, clock.now());
            let of = CommentFacts { facts, settings, placed, own: &own, since, before: None, now };
            performer.perform_all(self.reader.eyes(of).await?).await?;
            self.comments.insert(placed.comment.id);
        }
        self.comments.extend(issues.into_iter().map(CommentId::Issue));
        for press in presses {
            if !self.presses.contains(&press.delivery) {
                self.hear_button(&press).await?;
                self.presses.insert(press.delivery);
            }
        }
        Ok(())
    }

    /// Says on the check that its button was pressed.
    async fn hear_button(&self, press: &Press) -> Result<(), SyncError> {
        let Ok(request) = self.inbox.hear_press(press, self.settings).await? else { return Ok(()) };
        self.inbox.performer.perform_all(line_of_press(&request)).await
    }
}
