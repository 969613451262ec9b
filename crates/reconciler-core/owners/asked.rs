//! Who the owners of a cluster are, and what they are to have.

use capstan_live::owners::{Endpoint, OwnersForm};
use capstan_model::digest::digest;
use capstan_plan::settings::{OwnersAccess, OwnersCredentials, PublicKey, Recipient};
use serde_json::json;

use super::step::WantedAccess;
use crate::resources::{KeyFile, KeyRecipient, OwnersKeyStatus};

/// Raised to make all files again, although nothing in Git or in the cluster changes.
const EDITION: &str = "1";

/// What a cluster's `capstan.yaml` says of its owners.
#[derive(Debug, Clone, Default)]
pub struct OwnersRequest {
    /// Those that something can be encrypted to, by their names.
    pub owners: Vec<(KeyRecipient, Recipient)>,
    /// Why nothing can be encrypted to the others: a sentence each.
    pub unusable: Vec<String>,
    /// What they are given.
    pub access: OwnersAccess,
}

impl OwnersRequest {
    /// What remains where nothing new is given: the owners who have a key and are still named in Git, and the form that
    /// the file has. `None` where nothing remains: nobody can be kept out of a login.
    pub fn narrowed(mut self, before: &OwnersKeyStatus) -> Option<Self> {
        keep_form(&mut self.access, before)?;
        let had =
            |named: &KeyRecipient| before.recipients.iter().any(|one| one.fingerprint == named.fingerprint);
        self.owners.retain(|(named, _)| had(named));
        Some(self)
    }

    /// The same where Git cannot be read: all owners who have a key, as Git named them last.
    pub fn remembered(before: &OwnersKeyStatus) -> Option<Self> {
        let mut asked = Self::default();
        keep_form(&mut asked.access, before)?;
        if let Some(file) = &before.file {
            (asked.access.lifetime_days, asked.access.publish) = (file.lifetime_days, file.publish);
        }
        let known = |one: &KeyRecipient| {
            let recipient = Recipient::parse(&PublicKey::parse(one.key.as_deref()?).ok()?).ok()?;
            (recipient.fingerprint() == one.fingerprint).then(|| (one.clone(), recipient))
        };
        asked.owners = before.recipients.iter().map(known).collect::<Option<_>>()?;
        Some(asked)
    }

    /// Whether somebody who left is not kept out yet, by what is remembered.
    pub fn lacks_somebody(&self, before: &OwnersKeyStatus) -> bool {
        let stays =
            |one: &KeyRecipient| self.owners.iter().any(|(named, _)| named.fingerprint == one.fingerprint);
        let is_earlier = |file: &KeyFile| file.generation < before.generation || self.form().is_none();
        !before.recipients.iter().all(stays) || before.file.as_ref().is_some_and(is_earlier)
    }

    /// What they are given; `None` without owners.
    pub fn form(&self) -> Option<OwnersForm> {
        if self.access.oidc.is_some() {
            return Some(OwnersForm::Login);
        }
        (!self.owners.is_empty()).then_some(match self.access.credentials {
            OwnersCredentials::Certificate => OwnersForm::Certificate,
            OwnersCredentials::Admin => OwnersForm::Admin,
        })
    }

    /// What they are to have, of the cluster that a kubeconfig of Cluster API is for.
    pub fn wanted(&self, cluster: &str, endpoint: &Endpoint, kubeconfig: &str) -> Option<WantedAccess> {
        let form = self.form()?;
        let mut keys: Vec<&str> = self.recipients().map(Recipient::key).collect();
        keys.sort_unstable();
        let of_form = match form {
            OwnersForm::Certificate => json!(self.access.lifetime_days),
            // If Cluster API makes a new kubeconfig, owners are given that one.
            OwnersForm::Admin => json!(digest(&[kubeconfig])),
            OwnersForm::Login => json!(self.access.oidc),
        };
        let place = json!([endpoint.server, endpoint.authority, endpoint.tls_server_name]);
        let input = json!([EDITION, form, cluster, place, keys, of_form]).to_string();
        let fingerprints = self.recipients().map(|recipient| recipient.fingerprint().to_owned());
        Some(WantedAccess { form, recipients: fingerprints.collect(), input: digest(&[&input]) })
    }

    /// The keys that the file is encrypted to; none where it needs no encryption.
    pub fn recipients(&self) -> impl Iterator<Item = &Recipient> {
        let is_secret = self.access.oidc.is_none();
        self.owners.iter().filter(move |_| is_secret).map(|(_, recipient)| recipient)
    }

    /// The same, by name.
    pub fn named(&self) -> Vec<KeyRecipient> {
        let is_secret = self.access.oidc.is_none();
        self.owners.iter().filter(|_| is_secret).map(|(named, _)| named.clone()).collect()
    }
}

/// Gives `access` the form of the file that is there; `None` of a login.
fn keep_form(access: &mut OwnersAccess, before: &OwnersKeyStatus) -> Option<()> {
    access.credentials = match before.file.as_ref().map(|file| file.form) {
        Some(OwnersForm::Login) => return None,
        Some(OwnersForm::Admin) => OwnersCredentials::Admin,
        Some(OwnersForm::Certificate) | None => OwnersCredentials::Certificate,
    };
    access.oidc = None;
    Some(())
}
