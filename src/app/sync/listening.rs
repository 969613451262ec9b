//! Whoever comments while a run is at work sees at once that they were heard; the next run obeys them.
//!
//! Deliberately absent: every other answer. Who is refused, or only waved at, hears that from the run that decides it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capstan_plan::command::{self, CommentId, Hearing, Readers, hear};
use capstan_plan::settings::CommandSettings;
use jiff::Timestamp;

use super::rights::{address, right_of};
use super::{Run, SyncError};
use crate::app::ports::{CodeHostError, Comment, Permission, PlacedComment, Reaction};

/// How often a run that is still at work listens. What is shorter has heard everybody when it began.
const EVERY: Duration = Duration::from_secs(3);

impl Run<'_> {
    /// Does the work of a run, and listens meanwhile to whoever comments after its beginning.
    pub(super) async fn while_listening<T>(
        self,
        settings: &CommandSettings,
        work: impl Future<Output = T>,
    ) -> T {
        let since = self.ports.clock.now();
        tokio::select! {
            done = work => done,
            never = self.listen(settings, since) => match never {},
        }
    }

    async fn listen(self, settings: &CommandSettings, since: Timestamp) -> std::convert::Infallible {
        let mut heard = BTreeSet::new();
        let mut permissions = BTreeMap::new();
        loop {
            tokio::time::sleep(EVERY).await;
            match self.hear_newcomers(settings, since, &mut heard, &mut permissions).await {
                Ok(()) => {}
                // The work itself wants what is left of the limit.
                Err(SyncError::Host(CodeHostError::RateLimited { .. })) => std::future::pending().await,
                Err(error) => {
                    tracing::debug!(repository = %self.repository.name, error = %error, "who comments meanwhile is heard by the next run");
                }
            }
        }
    }

    async fn hear_newcomers(
        self,
        settings: &CommandSettings,
        since: Timestamp,
        heard: &mut BTreeSet<CommentId>,
        permissions: &mut BTreeMap<String, Permission>,
    ) -> Result<(), SyncError> {
        let host = &self.ports.host;
        let login = host.bot_login().await?;
        let address = address(settings, &login);
        for PlacedComment { comment, .. } in host.recent_comments(self.repository, since).await? {
            let is_new = comment.created_at >= since && !comment.by_bot && comment.author != login;
            if !is_new || heard.contains(&comment.id) {
                continue;
            }
            if command::parse(address, &comment.body).is_empty() {
                heard.insert(comment.id);
                continue;
            }
            if self.is_obeyed(settings, &comment, permissions).await? {
                self.react(&comment, Reaction::Eyes).await?;
            }
            heard.insert(comment.id);
        }
        Ok(())
    }

    /// Whether the next run will look into its commands, as far as can be told now.
    async fn is_obeyed(
        self,
        settings: &CommandSettings,
        comment: &Comment,
        permissions: &mut BTreeMap<String, Permission>,
    ) -> Result<bool, SyncError> {
        let host = &self.ports.host;
        let permission = self.permission_of(&comment.author, permissions).await?;
        let readers = if settings.admits_readers() { Readers::Admitted } else { Readers::Refused };
        let hearing = hear(right_of(permission), readers, comment.created_at, None);
        Ok(hearing == Hearing::Obeyed
            && hearing.worded(host.wording(self.repository, comment).await?) == Hearing::Obeyed)
    }
}
