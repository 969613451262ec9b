//! One credential of one cluster: what is gathered of it, and how its steps are carried out.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use capstan_live::applying::{sent_new, sent_over};
use capstan_model::digest::sha256;
use capstan_model::object::ObjectId;
use capstan_ports::{
    ApiObject, As, CloudSession, Contested, Deleted, ManagementCluster as _, NewCredential, Preconditions,
    Run,
};
use capstan_reconciler_core::credentials::{
    CredentialError, CredentialFacts, CredentialRecord, CredentialSecret, CredentialStep, CredentialSubject,
    HandedOut, Purpose, Wish, WrittenState, secret,
};
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde_json::{Map, Value, json};

use super::consumers::consumers;
use crate::life::Life;
use crate::reconcile::dependencies::Ports;

/// The longest beginning of a name: OpenStack takes 255 characters, with what follows it.
const LONGEST_NAME: usize = 200;

/// A credential, where it is kept, and what it takes to make, renew and revoke it.
pub(super) struct CredentialLife<'a> {
    pub(super) ports: &'a Ports,
    pub(super) by: &'a As,
    pub(super) cloud: &'a dyn CloudSession,
    pub(super) subject: &'a CredentialSubject,
    pub(super) purpose: Purpose,
    pub(super) wish: Wish,
    /// UID of the management cluster: two of them may have clusters of one name in one cloud.
    pub(super) uid: &'a str,
    pub(super) now: Timestamp,
    /// Ids that a Secret is remembered to have held.
    pub(super) remembered: BTreeSet<String>,
    /// The one that everybody inside of the cluster was seen to work with.
    pub(super) seen_on: Option<String>,
    /// Whether one was made in this look.
    pub(super) is_new: bool,
    /// The Secret, as it was last read.
    pub(super) live: Option<Value>,
}

fn secret_id(subject: &CredentialSubject, purpose: Purpose) -> ObjectId {
    ObjectId {
        group: String::new(),
        kind: "Secret".to_owned(),
        namespace: Some(subject.namespace.clone()),
        name: purpose.secret_name(&subject.cluster),
    }
}

/// The Secret of a credential as it is there. One that is somebody else's is not taken away.
///
/// # Errors
/// It cannot be read, or is somebody else's where it is to be kept.
pub(super) async fn read_secret(
    ports: &Ports,
    by: &As,
    subject: &CredentialSubject,
    purpose: Purpose,
    wish: Wish,
) -> Result<Option<Value>, CredentialError> {
    let id = secret_id(subject, purpose);
    match ports.live.read(by, &ApiObject::from(&id)).await? {
        Some(found) if secret::is_capstans(&found) => Ok(Some(found)),
        Some(_) if wish == Wish::Keep => Err(CredentialError::here(
            "SecretNotCapstans",
            format!(
                "{id} exists, and Capstan did not write it: delete it (with a tombstone, if the folder rendered it), and Capstan writes it with the cluster's own credential"
            ),
        )),
        Some(_) | None => Ok(None),
    }
}

#[async_trait]
impl Life for CredentialLife<'_> {
    type Facts = CredentialFacts;
    type Trouble = CredentialError;

    /// Orphans of as many deaths, and a renewal.
    const MOST_STEPS: usize = 64;

    async fn gather(&mut self) -> Result<CredentialFacts, CredentialError> {
        self.live = read_secret(self.ports, self.by, self.subject, self.purpose, self.wish).await?;
        let mut found = self.live.as_ref().and_then(secret::read);
        if let Some(CredentialSecret { written, place, .. }) = &mut found
            && *place != self.cloud.place()
        {
            written.state = WrittenState::Outdated;
        }
        let live = self.ports.live.as_ref();
        let consumers = match &found {
            // Who works with what matters where there is an old one.
            Some(found) if !found.written.previous.is_empty() => {
                consumers(live, self.subject, self.purpose, (found, self.seen_on.as_ref()), self.now).await?
            }
            _ => Vec::new(),
        };
        Ok(CredentialFacts {
            now: self.now,
            wish: self.wish,
            lifetime: SignedDuration::try_from(self.subject.opened.lifetime()).unwrap_or(SignedDuration::MAX),
            user: self.cloud.account().user.clone(),
            issued: self.cloud.credentials(&self.beginning()).await?,
            // A Secret whose content cannot be read counts as empty, and is written again.
            written: found.map(|found| found.written),
            remembered: self.remembered.clone(),
            consumers,
        })
    }

    async fn perform(&mut self, step: CredentialStep, facts: CredentialFacts) -> Result<(), CredentialError> {
        match step {
            CredentialStep::Issue { expires_at, previous } => {
                self.issue(expires_at, previous).await?;
                self.is_new = true;
            }
            CredentialStep::Revoke(credential) => {
                self.ports.check_leading("deleting a credential").await?;
                self.cloud.revoke(&credential).await?;
                tracing::info!(secret = %self.secret(), credential, "a credential of a cloud was deleted");
            }
            CredentialStep::Forget(previous) => {
                if let (Some(live), Some(written)) = (&self.live, facts.written) {
                    let written = CredentialRecord { previous, ..written };
                    let place = self.cloud.place();
                    self.write(Some(live), &written, &place, secret::data(live), Run::Real).await?;
                }
            }
            CredentialStep::RemoveSecret => self.remove().await?,
        }
        Ok(())
    }

    fn restless(&self) -> CredentialError {
        CredentialError::here("Changed", format!("another client keeps writing {}", self.secret()))
    }
}

impl CredentialLife<'_> {
    fn secret(&self) -> ObjectId {
        secret_id(self.subject, self.purpose)
    }

    /// What the names of this one's credentials begin with. No other one's begin so: the digest has always the same
    /// length, and is of everything that tells them apart.
    fn beginning(&self) -> String {
        let CredentialSubject { namespace, cluster, .. } = self.subject;
        let word = self.purpose.word();
        let digest = sha256(json!([self.uid, namespace, cluster, word]).to_string());
        let digest = digest.get(..16).unwrap_or_default();
        let name = format!("capstan-{word}-{digest}-{namespace}-{cluster}");
        name.chars().take(LONGEST_NAME).collect()
    }

    async fn issue(
        &self,
        expires_at: Timestamp,
        previous: BTreeMap<String, HandedOut>,
    ) -> Result<(), CredentialError> {
        let (cloud, live) = (self.cloud, self.live.as_ref());
        let written = |id: String| CredentialRecord {
            current: id,
            user: cloud.account().user.clone(),
            issued_at: self.now,
            expires_at,
            previous: previous.clone(),
            state: WrittenState::AsWished,
        };
        let place = cloud.place();
        // Nothing is made of which it is known that it cannot be written down.
        let nothing = NewCredential { id: "none".to_owned(), secret: SecretString::from("none") };
        let tried = self.purpose.data(cloud.forms(&nothing));
        self.write(live, &written(nothing.id), &place, tried, Run::Dry).await?;
        self.ports.check_leading("making a credential").await?;
        let name = format!("{}-{}", self.beginning(), self.now.strftime("%Y%m%dT%H%M%SZ"));
        let new = cloud.issue(&name, expires_at).await?;
        let data = self.purpose.data(cloud.forms(&new));
        self.write(live, &written(new.id.clone()), &place, data, Run::Real).await?;
        tracing::info!(secret = %self.secret(), credential = new.id, %expires_at, "a new credential of a cloud was made");
        Ok(())
    }

    /// Writes the Secret over the one that was read, or where there was none.
    async fn write(
        &self,
        live: Option<&Value>,
        written: &CredentialRecord,
        place: &str,
        data: Map<String, Value>,
        run: Run,
    ) -> Result<(), CredentialError> {
        let id = self.secret();
        let manifest = secret::manifest(self.purpose, &id, &self.subject.cluster, written, place, data);
        let manifest = match live {
            Some(live) => sent_over(&manifest, live),
            None => sent_new(&manifest),
        };
        self.ports.live.apply(self.by, &manifest, run, Contested::Take).await?;
        Ok(())
    }

    async fn remove(&self) -> Result<(), CredentialError> {
        let text = |key: &str| self.live.as_ref()?.pointer(key)?.as_str();
        let Some(uid) = text("/metadata/uid") else { return Ok(()) };
        let only = Preconditions { uid, resource_version: text("/metadata/resourceVersion") };
        let id = self.secret();
        let deleted = self.ports.live.delete(self.by, &ApiObject::from(&id), only, Run::Real).await?;
        match deleted {
            Deleted::Gone | Deleted::Absent => Ok(()),
            Deleted::Terminating | Deleted::Replaced | Deleted::Changed => Err(CredentialError::here(
                "Changed",
                format!("{id} is being deleted, or was changed meanwhile"),
            )),
        }
    }
}
