//! One key's life: what is gathered of it, and how its steps are carried out.

use std::time::Duration;

use async_trait::async_trait;
use backon::{BackoffBuilder as _, ExponentialBuilder};
use capstan_live::applying::{sent_new, sent_over};
use capstan_live::owners::{
    CertificateRequest, Endpoint, OwnersForm, REQUEST_KIND, Requested, approval, binding, binding_id, bound,
    request, requested,
};
use capstan_model::digest::sha256;
use capstan_model::object::ObjectId;
use capstan_ports::{
    ApiKind, ApiObject, As, Contested, Deleted, ManagementCluster as _, ObjectPart, Preconditions, Run,
};
use capstan_reconciler_core::owners::{
    Handed, LastOwnersFile, OwnersError, OwnersFacts, OwnersRequest, OwnersStep, StoredKubeconfig,
    TroubleKind, WantedAccess, secret,
};
use capstan_reconciler_core::resources::OwnersKeyStatus;
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::certificate::{NewKey, Signed, validity};
use super::{memory::OwnersKeys, sealed};
use crate::gate::Gate;
use crate::life::Life;
use crate::reconcile::blocking::where_blocking_is_allowed;
use crate::reconcile::in_hand::ClusterInHand;

/// How often it is asked whether a certificate is signed: ever more seldom.
const LOOKS: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(50))
    .with_max_delay(Duration::from_secs(1))
    .without_max_times();
/// What a request's lifetime may be at least (<https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/certificate-signing-request-v1/>).
const SHORTEST_SECONDS: u32 = 600;
const DAY_SECONDS: u32 = 86_400;

/// The cluster that a look is at.
pub(super) struct OwnersSubject {
    pub(super) cluster: ObjectId,
    /// As it is live; `None` where it is not there.
    pub(super) live: Option<Value>,
    /// The folder's account.
    pub(super) by: As,
}

/// What a look came to.
#[derive(Default)]
pub(super) struct OwnersLook {
    pub(super) handed: Handed,
    /// The SHA-256 of the file that Capstan made last: no other one serves.
    pub(super) own: Option<String>,
    pub(super) kept: Option<StoredKubeconfig>,
    pub(super) trouble: Option<OwnersError>,
    /// Another Cluster whose kubeconfig leads to the same API server.
    pub(super) shared_with: Option<ObjectId>,
    /// Whether the cluster was reached, and what is known of its key is what is there.
    pub(super) was_seen: bool,
}

/// Whose key it is, and where it is made.
pub(super) struct KeyLife<'l, 'r> {
    pub(super) of: &'l mut ClusterInHand<'r>,
    pub(super) looked: &'l mut OwnersLook,
    pub(super) subject: &'l OwnersSubject,
    /// The `Cluster`, as it is live.
    pub(super) live: &'l Value,
    /// The cluster itself.
    pub(super) inside: &'l Gate,
    pub(super) asked: &'l OwnersRequest,
    /// Cluster API's own kubeconfig.
    pub(super) kubeconfig: &'l SecretString,
    pub(super) endpoint: &'l Endpoint,
    /// The Secret, as it was last read.
    pub(super) secret: Option<Value>,
    /// The binding, as it was last read.
    pub(super) binding: Option<Value>,
    /// The file that is there, as it was last read.
    pub(super) kept: Option<StoredKubeconfig>,
}

#[async_trait]
impl Life for KeyLife<'_, '_> {
    type Facts = OwnersFacts;
    type Trouble = OwnersError;

    /// Four generations, each of which is counted, bound and issued, and what a file before them takes.
    const MOST_STEPS: usize = 16;

    async fn gather(&mut self) -> Result<OwnersFacts, OwnersError> {
        let name = &self.subject.cluster.name;
        let wanted = self.asked.wanted(name, self.endpoint, self.kubeconfig.expose_secret());
        self.secret = self.read_secret().await?;
        let kept = self.secret.as_ref().and_then(secret::read);
        if let Some(kept) = &kept {
            self.looked.handed.remember(kept);
        }
        let binding = self.inside.read(&As::Reconciler, &ApiObject::from(&binding_id())).await;
        self.binding = binding.map_err(OwnersError::inside)?;
        let own = self.looked.own.as_ref();
        // Where there is to be none, anybody's goes.
        let there = kept.filter(|kept| wanted.is_none() || own == Some(&kept.sha256));
        let file = there.as_ref().map(|kept| kept.file.clone());
        self.kept = there;
        Ok(OwnersFacts {
            now: self.of.now,
            wanted,
            handed: self.looked.handed.clone(),
            file,
            bound: bound(self.binding.as_ref()),
        })
    }

    async fn perform(&mut self, step: OwnersStep, facts: OwnersFacts) -> Result<(), OwnersError> {
        match (step, &facts.wanted) {
            (OwnersStep::Count(generation), _) => self.count(generation).await?,
            (OwnersStep::Bind(generation), _) => self.bind(generation).await?,
            (OwnersStep::Unbind, _) => self.unbind().await?,
            (OwnersStep::Issue(generation), Some(wanted)) => {
                self.looked.own = Some(self.issue(generation, wanted).await?);
            }
            (OwnersStep::Make(form, generation), Some(wanted)) => {
                self.looked.own = self.make(form, generation, wanted).await?;
            }
            (OwnersStep::Issue(_) | OwnersStep::Make(..), None) => {}
            (OwnersStep::RemoveFile, _) => self.remove().await?,
        }
        Ok(())
    }

    fn restless(&self) -> OwnersError {
        OwnersError::new(TroubleKind::Changed, format!("another client keeps writing {}", self.secret_id()))
    }
}

impl KeyLife<'_, '_> {
    /// The management cluster.
    fn here(&self) -> &Gate {
        &self.of.request.ports.live
    }

    fn memory(&self) -> &OwnersKeys {
        &self.of.request.ports.owners_keys
    }

    /// Writes down that a generation begins.
    async fn count(&mut self, generation: u64) -> Result<(), OwnersError> {
        let file = self.of.status.owners_key.as_ref().and_then(|status| status.file.clone());
        // Those who stay are remembered from now on: nobody might be able to read who they are later.
        let recipients = self.asked.named();
        self.of.status.owners_key = Some(OwnersKeyStatus { generation, recipients, file });
        self.looked.handed = Handed::of(self.of.status.owners_key.as_ref());
        self.of.save().await?;
        Ok(())
    }

    fn secret_id(&self) -> ObjectId {
        secret::id(&self.subject.cluster)
    }

    async fn read_secret(&self) -> Result<Option<Value>, OwnersError> {
        let id = self.secret_id();
        match self.here().read(&self.subject.by, &ApiObject::from(&id)).await? {
            Some(found) if !secret::is_capstans(&found) => Err(OwnersError::new(
                TroubleKind::SecretNotCapstans,
                format!(
                    "{id} exists, and Capstan did not write it: delete it, or remove it from the folder that renders it"
                ),
            )),
            found => Ok(found),
        }
    }

    /// Over the binding that was read: one that leads no more brings no earlier group back.
    async fn bind(&self, generation: u64) -> Result<(), OwnersError> {
        let manifest = match &self.binding {
            Some(live) => sent_over(&binding(generation), live),
            None => sent_new(&binding(generation)),
        };
        self.inside
            .apply(&As::Reconciler, &manifest, Run::Real, Contested::Take)
            .await
            .map_err(OwnersError::inside)?;
        tracing::info!(cluster = %self.subject.cluster, generation, "the owners of the cluster are this group from now on");
        Ok(())
    }

    async fn unbind(&self) -> Result<(), OwnersError> {
        let text = |key: &str| self.binding.as_ref()?.pointer(key)?.as_str();
        let Some(uid) = text("/metadata/uid") else { return Ok(()) };
        let only = Preconditions { uid, resource_version: text("/metadata/resourceVersion") };
        let id = binding_id();
        let deleted = self.inside.delete(&As::Reconciler, &ApiObject::from(&id), only, Run::Real).await;
        match deleted.map_err(OwnersError::inside)? {
            Deleted::Gone | Deleted::Absent => {
                tracing::info!(cluster = %self.subject.cluster, "no group owns the cluster any more");
                Ok(())
            }
            Deleted::Terminating | Deleted::Replaced | Deleted::Changed => Err(OwnersError::new(
                TroubleKind::Changed,
                format!("{id} is being deleted, or was changed meanwhile"),
            )),
        }
    }

    /// A certificate of their own: the SHA-256 of the file.
    async fn issue(&self, generation: u64, wanted: &WantedAccess) -> Result<String, OwnersError> {
        if let Some(trouble) = self.memory().is_away(&self.subject.cluster, &wanted.input, self.of.now) {
            return Err(trouble);
        }
        // Nothing is made of which it is known that it cannot be written down.
        self.write(&self.kept(generation, wanted, Vec::new(), (self.of.now, None)), Run::Dry).await?;
        let key = where_blocking_is_allowed(move || NewKey::make(generation)).await?;
        let signed = match self.sign(generation, &key).await {
            Ok(signed) => signed,
            Err(trouble) => {
                // Of a cluster that does not answer, others remember that.
                if trouble.kind.is_of_signer() {
                    self.memory().failed(&self.subject.cluster, &wanted.input, self.of.now, &trouble);
                }
                return Err(trouble);
            }
        };
        let private = key.pem()?;
        let plain =
            self.endpoint.with_certificate(&self.subject.cluster.name, &signed.pem, private.expose_secret());
        let content = self.seal(SecretString::from(plain)).await?;
        let valid = (signed.not_before, Some(signed.not_after));
        let kept = self.kept(generation, wanted, content, valid);
        self.write(&kept, Run::Real).await?;
        tracing::info!(cluster = %self.subject.cluster, generation, expires_at = %signed.not_after, "a new key was made for the owners of the cluster");
        Ok(kept.sha256)
    }

    /// What needs no certificate: the SHA-256 of the file.
    async fn make(
        &self,
        form: OwnersForm,
        generation: u64,
        wanted: &WantedAccess,
    ) -> Result<Option<String>, OwnersError> {
        let (content, valid) = match (form, &self.asked.access.oidc) {
            (OwnersForm::Login, Some(login)) => (
                self.endpoint.with_login(&self.subject.cluster.name, login).into_bytes(),
                (self.of.now, None),
            ),
            (OwnersForm::Admin, _) => {
                let valid = self.endpoint.certificate.as_deref().and_then(validity);
                let (from, until) = valid.map_or((self.of.now, None), |(from, until)| (from, Some(until)));
                (self.seal(self.kubeconfig.clone()).await?, (from, until))
            }
            (OwnersForm::Certificate | OwnersForm::Login, _) => return Ok(None),
        };
        let kept = self.kept(generation, wanted, content, valid);
        self.write(&kept, Run::Real).await?;
        Ok(Some(kept.sha256))
    }

    fn kept(
        &self,
        generation: u64,
        wanted: &WantedAccess,
        content: Vec<u8>,
        (issued_at, expires_at): (Timestamp, Option<Timestamp>),
    ) -> StoredKubeconfig {
        let input = wanted.input.clone();
        StoredKubeconfig {
            file: LastOwnersFile { generation, form: wanted.form, input, issued_at, expires_at },
            recipients: self.asked.named(),
            sha256: sha256(&content),
            content,
        }
    }

    async fn seal(&self, plain: SecretString) -> Result<Vec<u8>, OwnersError> {
        let recipients: Vec<_> = self.asked.recipients().cloned().collect();
        where_blocking_is_allowed(move || sealed::seal(&plain, &recipients)).await
    }

    /// Has a certificate signed inside of the cluster: asked for, approved, and waited for.
    async fn sign(&self, generation: u64, key: &NewKey) -> Result<Signed, OwnersError> {
        let print = sha256(&key.request);
        let name = format!("capstan-owners-{generation}-{}", print.get(..16).unwrap_or_default());
        let days = u32::from(self.asked.access.lifetime_days.days());
        let lifetime_seconds = days.saturating_mul(DAY_SECONDS).max(SHORTEST_SECONDS);
        let manifest = request(CertificateRequest { name: &name, pem: &key.request, lifetime_seconds });
        let made =
            self.inside.apply(&As::Reconciler, &sent_new(&manifest), Run::Real, Contested::Refuse).await;
        let made = made.map_err(OwnersError::unserved)?;
        let (api_version, kind) = REQUEST_KIND;
        let object = ApiObject { kind: ApiKind::of_version(api_version, kind), namespace: None, name };
        let uid = made.pointer("/metadata/uid").and_then(Value::as_str);
        let uid =
            uid.ok_or_else(|| OwnersError::new(TroubleKind::NotAnswered, "the cluster's API names no UID"))?;
        let signed = self.approve_and_wait(&object, uid, key).await;
        // Whatever came of it, nobody needs the request any more; what stays of one goes by itself, an hour later.
        let only = Preconditions { uid, resource_version: None };
        let deleted = self.inside.delete(&As::Reconciler, &object, only, Run::Real).await;
        if let Err(error) = deleted {
            tracing::debug!(cluster = %self.subject.cluster, %error, "a request for a certificate is not deleted");
        }
        signed
    }

    async fn approve_and_wait(
        &self,
        object: &ApiObject,
        uid: &str,
        key: &NewKey,
    ) -> Result<Signed, OwnersError> {
        let approval = approval(uid);
        let approved =
            self.inside.patch(&As::Reconciler, object, ObjectPart::Approval, &approval, Run::Real).await;
        approved.map_err(OwnersError::unserved)?;
        let look = || async {
            let found = self.inside.read(&As::Reconciler, object).await.map_err(OwnersError::inside)?;
            match found.as_ref().map(requested) {
                Some(Requested::Signed(pem)) => key.signed(pem).map(Some),
                Some(Requested::Refused(why)) => {
                    let message = format!("the cluster's signer refuses the certificate: {why}");
                    Err(OwnersError::new(TroubleKind::CertificateRefused, message))
                }
                None => {
                    let message = "the request for a certificate was deleted before it was signed";
                    Err(OwnersError::new(TroubleKind::Changed, message))
                }
                Some(Requested::Open) => Ok(None),
            }
        };
        // The last look is when the time is over: what the looks themselves take counts too.
        let until = tokio::time::Instant::now() + self.memory().patience;
        let mut pauses = LOOKS.build();
        loop {
            if let Some(signed) = look().await? {
                return Ok(signed);
            }
            let Some(pause) = pauses.next().filter(|_| tokio::time::Instant::now() < until) else {
                return Err(OwnersError::new(
                    TroubleKind::SignerNotServed,
                    "the cluster does not sign client certificates (signer kubernetes.io/kube-apiserver-client of its kube-controller-manager): enable the signer. If that is not possible, write `access: {credentials: admin}`, whose key cannot be revoked",
                ));
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Writes the Secret over the one that was read, or where there was none.
    async fn write(&self, kept: &StoredKubeconfig, run: Run) -> Result<(), OwnersError> {
        let manifest = secret::manifest(&self.subject.cluster, self.live, kept);
        let manifest = match &self.secret {
            Some(live) => sent_over(&manifest, live),
            None => sent_new(&manifest),
        };
        self.here().apply(&self.subject.by, &manifest, run, Contested::Take).await?;
        Ok(())
    }

    async fn remove(&self) -> Result<(), OwnersError> {
        let text = |key: &str| self.secret.as_ref()?.pointer(key)?.as_str();
        let Some(uid) = text("/metadata/uid") else { return Ok(()) };
        let only = Preconditions { uid, resource_version: text("/metadata/resourceVersion") };
        let id = self.secret_id();
        match self.here().delete(&self.subject.by, &ApiObject::from(&id), only, Run::Real).await? {
            Deleted::Gone | Deleted::Absent => Ok(()),
            Deleted::Terminating | Deleted::Replaced | Deleted::Changed => Err(OwnersError::new(
                TroubleKind::Changed,
                format!("{id} is being deleted, or was changed meanwhile"),
            )),
        }
    }
}
