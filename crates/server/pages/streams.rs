//! How many streams of changes are open through one door, and who has them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Streams at a time through one door: fewer than the internal listener has connections.
const STREAMS: usize = 16;
/// Streams at a time of one person.
const OF_ONE: usize = 4;

/// The streams of the pages that one door shows.
#[derive(Clone)]
pub(crate) struct Streams {
    /// Of each that is open, who has it; `None` where nobody signs in.
    open: Arc<Mutex<Vec<Option<String>>>>,
    pub(super) stop: CancellationToken,
}

impl Streams {
    /// They end when that is cancelled.
    pub(crate) fn until(stop: CancellationToken) -> Self {
        Self { open: Arc::default(), stop }
    }

    /// Those of another door, which end at the same time.
    pub(super) fn of_another_door(&self) -> Self {
        Self::until(self.stop.clone())
    }

    /// A slot for one more; `None` where there are enough.
    pub(super) fn slot(&self, login: Option<&str>) -> Option<StreamSlot> {
        let login = login.map(str::to_owned);
        let mut open = self.open();
        let own = open.iter().filter(|one| login.is_some() && **one == login).count();
        if open.len() >= STREAMS || own >= OF_ONE {
            return None;
        }
        open.push(login.clone());
        drop(open);
        Some(StreamSlot { streams: self.clone(), login })
    }

    fn open(&self) -> MutexGuard<'_, Vec<Option<String>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot of a stream that is open.
pub(super) struct StreamSlot {
    pub(super) streams: Streams,
    login: Option<String>,
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut open = self.streams.open();
        if let Some(at) = open.iter().position(|one| *one == self.login) {
            open.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_person_has_four_streams_and_a_door_sixteen() {
        let streams = Streams::until(CancellationToken::new());
        let mut of_ada: Vec<StreamSlot> = (0..4).map(|_| streams.slot(Some("ada")).unwrap()).collect();
        assert!(streams.slot(Some("ada")).is_none());
        let others: Vec<StreamSlot> = (0..12).map(|_| streams.slot(None).unwrap()).collect();
        assert!(streams.slot(None).is_none());
        of_ada.pop();
        let back = streams.slot(Some("ada")).unwrap();
        assert!(streams.slot(Some("wim")).is_none());
        // Another door has room of its own.
        assert!(streams.of_another_door().slot(None).is_some());
        drop((of_ada, others, back));
        assert_eq!(streams.open().len(), 0);
    }
}
