//! Notifies those that wait for something new.

use tokio::sync::watch;

/// Notifies everybody at once. A notification during a look is not missed.
#[derive(Debug, Clone)]
pub struct Notifier(watch::Sender<u64>);

impl Default for Notifier {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

/// A waiter. It gets every notification from now on, even one that comes while it does not wait.
#[derive(Debug)]
pub struct Subscription(watch::Receiver<u64>);

impl Notifier {
    /// Notifies all that wait.
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
            // The notifier is gone: there will be no notification.
            std::future::pending::<()>().await;
        }
    }
}
