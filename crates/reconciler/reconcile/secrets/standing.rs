//! Gives one VaultSecret its turn at once, because something waits for its Secret.

use capstan_reconciler_core::leases::Accounts;

use super::asking::Asking;
use super::memory::VaultSecrets;
use super::subject::VaultSecretSubject;
use super::turn::take_turn;
use crate::reconcile::dependencies::Ports;
use crate::reconcile::ports::FleetRecord;
use capstan_ports::{LiveError, ManagementCluster as _};
use capstan_reconciler_core::resources::ConditionType;

pub(in crate::reconcile) struct VaultSecretState {
    /// The name of its Secret.
    pub(in crate::reconcile) secret: String,
    /// The reason of its condition.
    pub(in crate::reconcile) reason: String,
    /// The sentence of its condition.
    pub(in crate::reconcile) message: String,
}

impl VaultSecrets {
    /// Gives a VaultSecret of a Fleet its turn at once, where it is due; its state then.
    pub(in crate::reconcile) async fn resolve(
        &self,
        ports: &Ports,
        fleet: &FleetRecord,
        (namespace, name): (&str, &str),
    ) -> Result<Option<VaultSecretState>, LiveError> {
        let accounts = Accounts::of(&fleet.spec.service_account, namespace);
        let Accounts { by, account } = &accounts;
        let object = super::subject::object(namespace, name);
        let Some(found) = ports.live.read(by, &object).await? else { return Ok(None) };
        let mut subject = VaultSecretSubject::read(&found);
        let is_due = |subject: &VaultSecretSubject| {
            self.is_due(subject.store_name(), &subject.key, &subject.seen(), ports.clock.now())
                && !subject.is_deleting
        };
        if is_due(&subject) {
            let key = accounts.group(subject.store_name());
            let group = self.group(&key);
            let mut group = group.lock().await;
            // Somebody may have given it its turn meanwhile.
            if let Some(found) = ports.live.read(by, &object).await? {
                subject = VaultSecretSubject::read(&found);
            }
            if is_due(&subject) && subject.store_name() == key.store {
                let asking = Asking { vault: self, ports, by, account, now: ports.clock.now() };
                self.begins(&subject.key);
                let turn = take_turn(asking, &mut subject, &mut group).await;
                self.looked(&key.store, &subject.key, (subject.seen(), &subject.resource_version), turn.next);
            }
        }
        Ok(Some(VaultSecretState::of(&subject)))
    }
}

impl VaultSecretState {
    fn of(subject: &VaultSecretSubject) -> Self {
        let resolved = subject.status.conditions.of(ConditionType::Resolved);
        let name =
            subject.spec.as_ref().map_or(subject.key.1.as_str(), |spec| spec.secret_name(&subject.key.1));
        Self {
            secret: name.to_owned(),
            reason: resolved.map(|one| one.reason.clone()).unwrap_or_default(),
            message: resolved.map(|one| one.message.clone()).unwrap_or_default(),
        }
    }
}
