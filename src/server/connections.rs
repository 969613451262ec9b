//! How many connections are open, and which goes where there are too many.
//!
//! *Expected flow.* A connection takes a place when it is accepted. It counts as a stranger's until what it
//! sent was believed ([`Place::trust`]), and is a stranger's again once that was answered.
//!
//! *Guarantee.* Where all places are taken, a newcomer gets the place of the stranger who has kept one longest.
//! So nobody keeps the others out by opening connections and saying nothing, or a byte now and then: what
//! GitHub has to say is said within milliseconds, and never the oldest.
//!
//! *Caveat.* Those who are believed never take the last quarter of the places.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The places of one listener.
#[derive(Clone)]
pub(super) struct Connections(Arc<Shared>);

struct Shared {
    places: usize,
    taken: Mutex<Taken>,
    /// Somebody who was believed has gone, or has been answered.
    freed: Notify,
}

#[derive(Default)]
struct Taken {
    next: u64,
    /// Those who were believed.
    trusted: usize,
    /// The others, in the order in which they came or were answered.
    strangers: BTreeMap<u64, CancellationToken>,
}

/// The place of one connection; free again once this is dropped.
pub(super) struct Taking {
    place: Place,
}

/// What a request knows of its connection's place.
#[derive(Clone)]
pub(super) struct Place {
    shared: Arc<Shared>,
    standing: Arc<Mutex<Standing>>,
    gone: CancellationToken,
}

#[derive(Clone, Copy)]
enum Standing {
    Stranger(u64),
    Trusted,
}

/// So many are believed already that one more would leave too few places for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many connections of those who are known are open: `--connections` says how many there may be")]
pub(super) struct Crowded;

impl Connections {
    pub(super) fn new(places: usize) -> Self {
        Self(Arc::new(Shared { places: places.max(1), taken: Mutex::default(), freed: Notify::new() }))
    }

    /// Takes a place: a free one, or that of the oldest stranger. Waits where there is neither.
    pub(super) async fn take(&self) -> Taking {
        loop {
            if let Some(taking) = self.try_take() {
                return taking;
            }
            self.0.freed.notified().await;
        }
    }

    fn try_take(&self) -> Option<Taking> {
        let mut taken = self.0.lock();
        if taken.trusted + taken.strangers.len() >= self.0.places {
            let (_, oldest) = taken.strangers.pop_first()?;
            oldest.cancel();
            metrics::counter!("capstan_connections_closed_for_others_total").increment(1);
        }
        let gone = CancellationToken::new();
        let standing = Arc::new(Mutex::new(taken.come(gone.clone())));
        Some(Taking { place: Place { shared: Arc::clone(&self.0), standing, gone } })
    }

    /// Closes the connection of the oldest stranger, where there is one.
    pub(super) fn close_oldest(&self) {
        if let Some((_, oldest)) = self.0.lock().strangers.pop_first() {
            oldest.cancel();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn come(&mut self, gone: CancellationToken) -> Standing {
        let number = self.next;
        self.next += 1;
        self.strangers.insert(number, gone);
        Standing::Stranger(number)
    }
}

impl Taking {
    /// For the connection's requests.
    pub(super) fn place(&self) -> Place {
        self.place.clone()
    }

    /// Returns once somebody else was given this place.
    pub(super) async fn lost(&self) {
        self.place.gone.cancelled().await;
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        let mut taken = self.place.shared.lock();
        match *self.place.standing() {
            // Where another was given the place already, this finds nothing.
            Standing::Stranger(number) => {
                taken.strangers.remove(&number);
            }
            Standing::Trusted => taken.trusted -= 1,
        }
        self.place.shared.freed.notify_one();
    }
}

impl Place {
    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What this connection sent was believed: it keeps its place until that is answered.
    pub(super) fn trust(&self) -> Result<(), Crowded> {
        let mut taken = self.shared.lock();
        let mut standing = self.standing();
        let Standing::Stranger(number) = *standing else { return Ok(()) };
        if taken.trusted >= self.shared.places - self.shared.places / 4 {
            return Err(Crowded);
        }
        // One whose place is another's already is closed before it could be answered.
        if taken.strangers.remove(&number).is_some() {
            taken.trusted += 1;
            *standing = Standing::Trusted;
        }
        Ok(())
    }

    /// What it asked was answered: whoever says nothing from now on is a stranger.
    pub(super) fn answered(&self) {
        let mut taken = self.shared.lock();
        let mut standing = self.standing();
        match *standing {
            Standing::Trusted => taken.trusted -= 1,
            Standing::Stranger(number) if taken.strangers.remove(&number).is_some() => {}
            Standing::Stranger(_) => return,
        }
        *standing = taken.come(self.gone.clone());
        self.shared.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newcomer_gets_the_place_of_the_oldest_stranger() {
        let connections = Connections::new(4);
        let first = connections.try_take().unwrap();
        let second = connections.try_take().unwrap();
        let _others = [connections.try_take().unwrap(), connections.try_take().unwrap()];
        assert_eq!(first.place().trust(), Ok(()));
        let newcomer = connections.try_take().unwrap();
        assert!(second.place.gone.is_cancelled(), "the oldest of those who were not believed");
        assert!(!first.place.gone.is_cancelled() && !newcomer.place.gone.is_cancelled());
        // Once it is answered it is the youngest stranger.
        first.place().answered();
        drop(connections.try_take().unwrap());
        assert!(!first.place.gone.is_cancelled());
    }

    #[test]
    fn the_last_quarter_is_for_strangers() {
        let connections = Connections::new(4);
        let taken: Vec<_> = (0..4).map(|_| connections.try_take().unwrap()).collect();
        let believed = taken.iter().filter(|taking| taking.place().trust().is_ok()).count();
        assert_eq!(believed, 3);
        assert_eq!(taken[3].place().trust(), Err(Crowded));
        drop(taken);
        assert_eq!(connections.0.lock().trusted, 0);
        assert!(connections.0.lock().strangers.is_empty());
    }

    #[test]
    fn a_place_that_is_anothers_already_is_freed_once() {
        let connections = Connections::new(1);
        let first = connections.try_take().unwrap();
        let _second = connections.try_take().unwrap();
        first.place().answered();
        assert_eq!(first.place().trust(), Ok(()));
        drop(first);
        assert_eq!(connections.0.lock().strangers.len(), 1);
        assert_eq!(connections.0.lock().trusted, 0);
    }
}
