//! How many connections are open, and which goes where there are too many.
//!
//! *Expected flow.* A connection takes a place when it is accepted. It counts as a stranger's until what it
//! sent was believed ([`ConnectionSlot::trust`]), and is a stranger's again once the answer was sent.
//!
//! *Guarantee.* Where all places are taken, a newcomer gets the place of the stranger who has kept one longest.
//! So nobody keeps the others out by opening connections and saying nothing, or a byte now and then: what
//! GitHub has to say is said within milliseconds, and never the oldest.
//!
//! *Budgets.* Of the places, agents are granted half and GitHub a quarter; so neither keeps the other out, nor both a
//! newcomer. Who is believed beyond that stays a stranger.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The places of one listener.
#[derive(Clone)]
pub struct Connections(Arc<ConnectionTable>);

struct ConnectionTable {
    places: usize,
    taken: Mutex<TakenSlots>,
    /// Somebody who was believed has gone, or has been answered.
    freed: Notify,
}

#[derive(Default)]
struct TakenSlots {
    next: u64,
    /// Those who were believed.
    github: usize,
    agents: usize,
    /// The others, in the order in which they came or were answered.
    strangers: BTreeMap<u64, CancellationToken>,
}

/// The place of one connection; free again once this is dropped.
pub struct Taking {
    place: ConnectionSlot,
}

/// What a request knows of its connection's place.
#[derive(Clone)]
pub struct ConnectionSlot {
    shared: Arc<ConnectionTable>,
    standing: Arc<Mutex<ConnectionTrust>>,
    gone: CancellationToken,
}

/// Whose words are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustedCaller {
    /// GitHub signed a delivery.
    GitHub,
    /// A reconciler proved its key.
    Agent,
}

#[derive(Clone, Copy)]
enum ConnectionTrust {
    Stranger(u64),
    Trusted(TrustedCaller),
}

/// One more trusted connection of the same kind would take the places of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many authenticated connections are open: `--connections` sets the limit")]
pub struct Crowded;

impl Connections {
    /// As many at a time.
    pub fn new(places: usize) -> Self {
        Self(Arc::new(ConnectionTable {
            places: places.max(1),
            taken: Mutex::default(),
            freed: Notify::new(),
        }))
    }

    /// Takes a place: a free one, or that of the oldest stranger. Waits where there is neither.
    pub async fn take(&self) -> Taking {
        loop {
            if let Some(taking) = self.try_take() {
                return taking;
            }
            self.0.freed.notified().await;
        }
    }

    fn try_take(&self) -> Option<Taking> {
        let mut taken = self.0.lock();
        if taken.github + taken.agents + taken.strangers.len() >= self.0.places {
            let (_, oldest) = taken.strangers.pop_first()?;
            oldest.cancel();
            metrics::counter!("capstan_connections_closed_for_others_total").increment(1);
        }
        let gone = CancellationToken::new();
        let standing = Arc::new(Mutex::new(taken.come(gone.clone())));
        Some(Taking { place: ConnectionSlot { shared: Arc::clone(&self.0), standing, gone } })
    }

    /// Closes the connection of the oldest stranger, where there is one.
    pub fn close_oldest(&self) {
        if let Some((_, oldest)) = self.0.lock().strangers.pop_first() {
            oldest.cancel();
        }
    }
}

impl ConnectionTable {
    fn lock(&self) -> MutexGuard<'_, TakenSlots> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TakenSlots {
    fn trusted(&mut self, known: TrustedCaller) -> &mut usize {
        match known {
            TrustedCaller::GitHub => &mut self.github,
            TrustedCaller::Agent => &mut self.agents,
        }
    }

    fn come(&mut self, gone: CancellationToken) -> ConnectionTrust {
        let number = self.next;
        self.next += 1;
        self.strangers.insert(number, gone);
        ConnectionTrust::Stranger(number)
    }
}

impl Taking {
    /// For the connection's requests.
    pub fn place(&self) -> ConnectionSlot {
        self.place.clone()
    }

    /// Returns once another connection got this place.
    pub async fn lost(&self) {
        self.place.gone.cancelled().await;
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        let mut taken = self.place.shared.lock();
        match *self.place.standing() {
            // Where another was given the place already, this finds nothing.
            ConnectionTrust::Stranger(number) => {
                taken.strangers.remove(&number);
            }
            ConnectionTrust::Trusted(known) => *taken.trusted(known) -= 1,
        }
        self.place.shared.freed.notify_one();
    }
}

impl ConnectionSlot {
    fn standing(&self) -> MutexGuard<'_, ConnectionTrust> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What this connection sent was believed: it keeps its place until the answer to that is sent.
    pub fn trust(&self, known: TrustedCaller) -> Result<(), Crowded> {
        let mut taken = self.shared.lock();
        let mut standing = self.standing();
        let ConnectionTrust::Stranger(number) = *standing else { return Ok(()) };
        let granted = match known {
            TrustedCaller::GitHub => self.shared.places / 4,
            TrustedCaller::Agent => self.shared.places / 2,
        };
        if *taken.trusted(known) >= granted {
            return Err(Crowded);
        }
        // One whose place is another's already is closed before it could be answered.
        if taken.strangers.remove(&number).is_some() {
            *taken.trusted(known) += 1;
            *standing = ConnectionTrust::Trusted(known);
        }
        Ok(())
    }

    /// The answer to its request was sent: a connection that stays silent from now on is a stranger.
    pub fn answered(&self) {
        let mut taken = self.shared.lock();
        let mut standing = self.standing();
        match *standing {
            ConnectionTrust::Trusted(known) => *taken.trusted(known) -= 1,
            ConnectionTrust::Stranger(number) if taken.strangers.remove(&number).is_some() => {}
            ConnectionTrust::Stranger(_) => return,
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
        assert_eq!(first.place().trust(TrustedCaller::Agent), Ok(()));
        let newcomer = connections.try_take().unwrap();
        assert!(second.place.gone.is_cancelled(), "the oldest of those who were not believed");
        assert!(!first.place.gone.is_cancelled() && !newcomer.place.gone.is_cancelled());
        // Once it is answered it is the youngest stranger.
        first.place().answered();
        drop(connections.try_take().unwrap());
        assert!(!first.place.gone.is_cancelled());
    }

    #[test]
    fn agents_and_github_each_have_places_and_a_quarter_is_for_strangers() {
        let connections = Connections::new(8);
        let taken: Vec<_> = (0..8).map(|_| connections.try_take().unwrap()).collect();
        let trusted = |known| taken.iter().map(|taking| taking.place().trust(known)).collect::<Vec<_>>();
        // Those who are trusted already stay what they are.
        assert_eq!(trusted(TrustedCaller::Agent), [[Ok(()); 4], [Err(Crowded); 4]].concat());
        assert_eq!(trusted(TrustedCaller::GitHub), [[Ok(()); 6].as_slice(), &[Err(Crowded); 2]].concat());
        let newcomer = connections.try_take().unwrap();
        let is_gone = |number: usize| taken[number].place.gone.is_cancelled();
        assert_eq!([5, 6, 7].map(is_gone), [false, true, false], "a newcomer gets a stranger's place");
        drop((taken, newcomer));
        let left = connections.0.lock();
        assert_eq!((left.agents, left.github, left.strangers.len()), (0, 0, 0));
    }

    #[test]
    fn a_place_that_is_anothers_already_is_freed_once() {
        let connections = Connections::new(4);
        let first = connections.try_take().unwrap();
        let _others = [(); 4].map(|()| connections.try_take().unwrap());
        first.place().answered();
        assert_eq!(first.place().trust(TrustedCaller::GitHub), Ok(()));
        drop(first);
        assert_eq!(connections.0.lock().strangers.len(), 4);
        assert_eq!(connections.0.lock().github, 0);
    }
}
