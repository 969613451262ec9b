//! Finds out which Fleet says the account of a VaultSecret.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_reconciler_core::leases::Appliers;
use jiff::{SignedDuration, Timestamp};

use super::memory::VaultSecrets;
use super::subject::VaultSecretSubject;
use crate::reconcile::dependencies::Ports;
use capstan_ports::LiveError;

/// How long it is believed which Fleet a VaultSecret is of.
const FRESH: SignedDuration = SignedDuration::from_secs(60);

impl VaultSecrets {
    /// Which Fleet says the account of these VaultSecrets.
    pub(super) async fn appliers(
        &self,
        ports: &Ports,
        subjects: &[VaultSecretSubject],
        now: Timestamp,
    ) -> Result<Arc<Appliers>, LiveError> {
        let mut fleets = ports.status_store.fleets().await?;
        fleets.sort_by(|one, other| one.key.cmp(&other.key));
        let said: Vec<_> =
            fleets.iter().map(|fleet| (fleet.key.clone(), fleet.spec.service_account.clone())).collect();
        let known: BTreeSet<String> = subjects.iter().map(|subject| subject.uid.clone()).collect();
        let mut kept = self.appliers.lock().await;
        // A new one may be any Fleet's: what it was before that is written down is not believed.
        let serves = |kept: &Appliers| {
            kept.said == said
                && (kept.is_one() || kept.known.is_superset(&known) && now.duration_since(kept.read) < FRESH)
        };
        if let Some(kept) = kept.as_ref().filter(|kept| serves(kept)) {
            return Ok(Arc::clone(kept));
        }
        let (brought, in_namespaces) = (BTreeMap::new(), BTreeMap::new());
        let mut read = Appliers { said, brought, in_namespaces, known, read: now };
        if !read.is_one() {
            for fleet in &fleets {
                read.note(fleet, &ports.status_store.clusters(&fleet.key).await?);
            }
        }
        let read = Arc::new(read);
        *kept = Some(Arc::clone(&read));
        Ok(read)
    }
}
