//! Finds out which Fleet says the account of a VaultSecret.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::accounts::Appliers;
use super::key::kind;
use super::memory::VaultSecrets;
use super::subject::Subject;
use crate::reconcile::dependencies::Ports;
use crate::reconcile::ports::FleetRecord;
use capstan_ports::LiveError;

/// How long it is believed which Fleet a VaultSecret is of.
const FRESH: SignedDuration = SignedDuration::from_secs(60);

impl VaultSecrets {
    /// Which Fleet says the account of these VaultSecrets.
    pub(super) async fn appliers(
        &self,
        ports: &Ports,
        subjects: &[Subject],
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
            read.ask(ports, &fleets).await?;
        }
        let read = Arc::new(read);
        *kept = Some(Arc::clone(&read));
        Ok(read)
    }
}

impl Appliers {
    /// An object is written down before it is applied: so whoever brought one is known as soon as it is there.
    async fn ask(&mut self, ports: &Ports, fleets: &[FleetRecord]) -> Result<(), LiveError> {
        let is_secret = kind();
        for fleet in fleets {
            let account = &fleet.spec.service_account;
            for record in ports.status_store.clusters(&fleet.key).await? {
                for object in record.status.inventory.objects() {
                    let Some(namespace) = object.namespace.clone() else { continue };
                    if object.group == is_secret.group && object.kind == is_secret.kind {
                        let key = (namespace.clone(), object.name.clone());
                        self.brought.entry(key).or_insert_with(|| account.clone());
                    }
                    self.in_namespaces.entry(namespace).or_insert_with(|| account.clone());
                }
            }
        }
        Ok(())
    }
}
