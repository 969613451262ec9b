//! Wakes those who wait for something new.

use tokio::sync::watch;

/// Rings for everybody at once; nobody misses a ring that came while they were looking.
#[derive(Debug, Clone)]
pub struct Bell(watch::Sender<u64>);

impl Default for Bell {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

/// Somebody who listens. Whatever rings from now on is heard, even while nobody waits.
#[derive(Debug)]
pub struct Ear(watch::Receiver<u64>);

impl Bell {
    /// Wakes all that wait.
    pub fn ring(&self) {
        self.0.send_modify(|rings| *rings = rings.wrapping_add(1));
    }

    /// Begins to listen.
    pub fn listen(&self) -> Ear {
        Ear(self.0.subscribe())
    }
}

impl Ear {
    /// Returns at the next ring, or at once where it rang since the last call.
    pub async fn heard(&mut self) {
        if self.0.changed().await.is_err() {
            // The bell is gone: nothing will ring any more.
            std::future::pending::<()>().await;
        }
    }
}
