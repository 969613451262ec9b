//! Upgrades that were sent, so that each travels once.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use capstan_plan::upgrade::Upgrade;

use super::SentUpgrade;

/// The upgrades that the other side knows, by their address in memory. The weak reference keeps that address from being
/// used for another upgrade.
#[derive(Default)]
pub(super) struct Sent {
    known: HashMap<usize, (u64, Weak<Upgrade>)>,
    last: u64,
}

impl Sent {
    /// How an upgrade is to be sent.
    pub(super) fn send(&mut self, upgrade: &Arc<Upgrade>) -> SentUpgrade {
        let place = Arc::as_ptr(upgrade).addr();
        if let Some((number, _)) = self.known.get(&place) {
            return SentUpgrade::Same(*number);
        }
        self.last += 1;
        self.known.insert(place, (self.last, Arc::downgrade(upgrade)));
        SentUpgrade::New(self.last, Arc::clone(upgrade))
    }

    /// It was not sent after all.
    pub(super) fn take_back(&mut self, number: u64) {
        self.known.retain(|_, (known, _)| *known != number);
    }

    /// Forgets those that nothing here holds any more, and names them.
    pub(super) fn forget(&mut self) -> Vec<u64> {
        let mut forgotten = Vec::new();
        self.known.retain(|_, (number, upgrade)| {
            let is_held = upgrade.strong_count() > 0;
            if !is_held {
                forgotten.push(*number);
            }
            is_held
        });
        forgotten
    }
}
