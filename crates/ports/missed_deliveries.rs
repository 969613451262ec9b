//! Deliveries that GitHub made and that did not arrive.

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{CodeHostError, RecordsError};

/// One attempt of GitHub's to deliver an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// GitHub's id of the attempt.
    pub id: u64,
    /// The event's, the same for each attempt: `X-GitHub-Delivery`.
    pub guid: String,
    /// When, in UTC.
    pub at: Timestamp,
    /// Whether it was answered with 2xx.
    pub arrived: bool,
    /// The kind of event: `push`.
    pub event: String,
}

/// Whether a delivery may be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redelivery {
    /// GitHub makes it soon.
    Accepted,
    /// GitHub has forgotten it, or does not make it again.
    Refused,
}

/// GitHub's record of the deliveries of the App's webhook.
#[async_trait]
pub trait DeliveryLog: Send + Sync {
    /// The attempts since then, newest first
    /// (<https://docs.github.com/rest/apps/webhooks#list-deliveries-for-an-app-webhook>). One call for a hundred.
    async fn delivery_attempts(&self, since: Timestamp) -> Result<Vec<DeliveryAttempt>, CodeHostError>;

    /// Asks for one more attempt.
    async fn redeliver(&self, attempt: u64) -> Result<Redelivery, CodeHostError>;
}

/// What is remembered of looking for them.
#[async_trait]
pub trait MissedDeliveries: Send + Sync {
    /// Which of these events were neither stored nor asked for again before.
    async fn unheard(&self, guids: &[String]) -> Result<BTreeSet<String>, RecordsError>;

    /// Notes that GitHub is asked for an event again; whether nobody had asked before.
    async fn note_redelivery(&self, guid: &str) -> Result<bool, RecordsError>;

    /// Forgets what was asked for before then.
    async fn forget_redeliveries(&self, before: Timestamp) -> Result<u64, RecordsError>;

    /// When all was looked through last, in UTC.
    async fn last_look(&self) -> Result<Option<Timestamp>, RecordsError>;

    /// Notes that all up to then was looked through.
    async fn note_look(&self, until: Timestamp) -> Result<(), RecordsError>;
}
