//! What a webhook delivery says, as far as the intake needs it: which repositories to look at, and a few
//! hints; and the trait that stores deliveries.
//!
//! A payload is only a hint: handlers look at the present state. So no payload is stored, which also keeps
//! other people's texts out of the database. Its id, its kind and the names in it are stored.

mod missed;
mod payload;

use async_trait::async_trait;

pub use missed::{LookError, RedeliveryLook, keep_looking, look_for_missed};
pub use payload::{
    BodyEdit, Delivery, DeliveryHint, DeliveryReading, Event, NamedRepository, PressHint, TickHint,
    UnreadablePayload, read_delivery,
};

use capstan_report::TickedBoxes;

use capstan_ports::{CommentHint, RecordsError};

impl Delivery {
    /// The same without the texts of an edit: only the ticked boxes of the dashboard are stored of those.
    #[must_use]
    pub fn without_texts(mut self) -> Self {
        let BodyEdit { by, before, after } = match self.hint.edit.take() {
            Some(edit) => edit,
            None => return self,
        };
        let boxes = TickedBoxes::between(&before, &after);
        let boxes = boxes.and_then(|boxes| serde_json::to_string(&boxes).ok());
        self.hint.ticks = boxes.map(|boxes| TickHint { by, boxes });
        self
    }
}

impl DeliveryHint {
    /// The comment together with its pull request.
    pub fn comment(&self) -> Option<CommentHint> {
        Some(CommentHint { comment: self.comment?, pull_request: self.pull_request? })
    }
}

/// The result for a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stored {
    /// It was new.
    New,
    /// It was known: only the jobs of its repositories were queued again.
    Known,
}

/// Where deliveries are stored.
#[async_trait]
pub trait DeliveryStore: Send + Sync {
    /// Stores deliveries and queues the jobs of their repositories in one transaction, which is durable
    /// when this returns; answers in the order of `deliveries`. On an error nothing was stored.
    async fn store(&self, deliveries: &[Delivery]) -> Result<Vec<Stored>, RecordsError>;
}
