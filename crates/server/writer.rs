//! Group commit: deliveries that arrive together share one transaction, and with it one wait for the disk.
//!
//! *Flow.* Requests hand their delivery to one task and wait. The task takes all that wait, stores them in
//! one transaction, answers each, and begins again.
//!
//! *Guarantee.* A request is answered only after the transaction that holds its delivery is durable.
//!
//! *Why it lingers.* A client that was just answered often has the next delivery ready. Starting at once with
//! the few that wait would split the requests into two groups that wait for each other's commit. So the task
//! waits until as many have come as were under way before, but at most half of what the last commit took: a
//! lone delivery does not wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use capstan_bot::intake::{Delivery, DeliveryStore, Stored};

/// Deliveries that may wait; further ones are refused with 503, and GitHub shows them as failed.
const WAITING: usize = 4096;
/// Deliveries in one transaction.
const BATCH: usize = 256;
/// The longest wait for more deliveries.
const LINGER: Duration = Duration::from_millis(2);

/// Why a delivery was not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotStored {
    /// Too many wait already.
    #[error("{WAITING} deliveries are already waiting to be stored")]
    Full,
    /// The database failed; the writer has logged how.
    #[error("the database failed")]
    Failed,
}

struct WaitingWrite {
    delivery: Delivery,
    answer: oneshot::Sender<Result<Stored, NotStored>>,
}

/// Hands deliveries to the task that stores them.
#[derive(Clone)]
pub(super) struct Writer(mpsc::Sender<WaitingWrite>);

impl Writer {
    /// Starts the task; it ends when all writers are gone and everything is stored.
    pub(super) fn start(store: Arc<dyn DeliveryStore>) -> (Self, JoinHandle<()>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), tokio::spawn(write_all(store, receiver)))
    }

    /// Returns once the delivery is durable.
    pub(super) async fn store(&self, delivery: Delivery) -> Result<Stored, NotStored> {
        let (answer, answered) = oneshot::channel();
        self.0.try_send(WaitingWrite { delivery, answer }).map_err(|_| NotStored::Full)?;
        answered.await.unwrap_or(Err(NotStored::Failed))
    }
}

async fn write_all(store: Arc<dyn DeliveryStore>, mut receiver: mpsc::Receiver<WaitingWrite>) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut expected = 0;
    let mut linger = Duration::ZERO;
    while receiver.recv_many(&mut batch, BATCH).await > 0 {
        let deadline = tokio::time::Instant::now() + linger;
        while batch.len() < expected.min(BATCH) {
            let room = BATCH - batch.len();
            match tokio::time::timeout_at(deadline, receiver.recv_many(&mut batch, room)).await {
                Ok(1..) => {}
                // Time is up, or no more will come.
                Ok(0) | Err(_) => break,
            }
        }
        let size = batch.len();
        let began = Instant::now();
        write_batch(store.as_ref(), &mut batch).await;
        let took = began.elapsed();
        metrics::histogram!("capstan_webhook_store_duration_seconds").record(took);
        metrics::histogram!("capstan_webhook_batch_deliveries")
            .record(u32::try_from(size).unwrap_or(u32::MAX));
        expected = size + receiver.len();
        linger = (took / 2).min(LINGER);
    }
}

async fn write_batch(store: &dyn DeliveryStore, batch: &mut Vec<WaitingWrite>) {
    let (deliveries, answers): (Vec<_>, Vec<_>) =
        batch.drain(..).map(|waiting| (waiting.delivery, waiting.answer)).unzip();
    let stored = match store.store(&deliveries).await {
        Ok(stored) => stored.into_iter().map(Ok).collect(),
        Err(error) => {
            tracing::error!(deliveries = deliveries.len(), "cannot store deliveries: {error}");
            vec![Err(NotStored::Failed); deliveries.len()]
        }
    };
    for (answer, stored) in answers.into_iter().zip(stored) {
        // A client that hung up delivers again, and the delivery is known then.
        answer.send(stored).ok();
    }
}
