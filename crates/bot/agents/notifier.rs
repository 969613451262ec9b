//! Wakes those who wait for something new.

use tokio::sync::watch;

/// Notifies everybody at once; nobody misses a notification that came while they were looking.
#[derive(Debug, Clone)]
pub struct Notifier(watch::Sender<u64>);

impl Default for Notifier {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

/// Somebody who waits. What is notified from now on is not missed, even while nobody waits.
#[derive(Debug)]
pub struct Subscription(watch::Receiver<u64>);

impl Notifier {
    /// Wakes all that wait.
    pub fn notify(&self) {
        self.0.send_modify(|notifications| *notifications = notifications.wrapping_add(1));
    }

    /// Begins to wait.
    pub fn subscribe(&self) -> Subscription {
        Subscription(self.0.subscribe())
    }
}

impl Subscription {
    /// Returns at the next notification, or at once where one came since the last call.
    pub async fn notified(&mut self) {
        if self.0.changed().await.is_err() {
            // The notifier is gone: nobody will be notified any more.
            std::future::pending::<()>().await;
        }
    }
}
