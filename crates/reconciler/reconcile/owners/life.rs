//! One key's life: facts, decision, effect, until nothing is left to do.

use std::time::Duration;

use capstan_live::applying::{Refusal, RefusalKind, sent_new, sent_over};
use capstan_live::owners::{
    Endpoint, FURTHEST, Facts, File, Form, Handed, REQUEST_KIND, Request, Requested, Step, Wanted, approval,
    binding, binding_id, bound, next_step, request, requested,
};
use capstan_model::digest::sha256;
use capstan_model::object::ObjectId;
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::asked::Asked;
use super::certificate::{NewKey, Signed, validity};
use super::secret::{self, Kept};
use super::trouble::{Trouble, TroubleKind};
use super::{memory::OwnersKeys, sealed};
use crate::gate::Gate;
use crate::reconcile::blocking::where_blocking_is_allowed;
use crate::reconcile::services::problem_of;
use capstan_ports::{
    ApiKind, ApiObject, As, Contested, Deleted, LiveError, ManagementCluster as _, ObjectPart, Preconditions,
    Run,
};

/// Steps that one look takes at most.
const MOST_STEPS: usize = 16;
/// How often it is asked whether a certificate is signed, first; each further time twice as late, up to a second.
const FIRST_LOOK: Duration = Duration::from_millis(50);
/// What a request's lifetime may be at least (<https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/certificate-signing-request-v1/>).
const SHORTEST_SECONDS: u32 = 600;
const DAY_SECONDS: u32 = 86_400;

/// Whose key it is, and where it is made.
pub(super) struct Life<'a> {
    /// The management cluster.
    pub(super) here: &'a Gate,
    /// The cluster itself.
    pub(super) inside: &'a Gate,
    /// The folder's account, here.
    pub(super) by: &'a As,
    pub(super) asked: &'a Asked,
    pub(super) memory: &'a OwnersKeys,
    /// The `Cluster`.
    pub(super) cluster: &'a ObjectId,
    /// The same as it is live.
    pub(super) live: &'a Value,
    /// Cluster API's own kubeconfig.
    pub(super) kubeconfig: &'a SecretString,
    pub(super) endpoint: &'a Endpoint,
    pub(super) now: Timestamp,
}

/// What was found in a look, and what is left to do by whoever can write the status.
pub(super) enum Paused {
    /// Nothing is left: the file that serves, if any.
    Done(Option<Kept>),
    /// This generation begins: to be written down before going on.
    Count(u64),
}

impl Life<'_> {
    /// Does whatever is to be done, until something is to be remembered first. `handed` gets those whom a new file is for;
    /// `own` is the SHA-256 of the file that Capstan made last, and gets that of a new one: no other one serves.
    pub(super) async fn live(
        &self,
        handed: &mut Handed,
        own: &mut Option<String>,
    ) -> Result<Paused, Trouble> {
        let wanted = self.asked.wanted(&self.cluster.name, self.endpoint, self.kubeconfig.expose_secret());
        for _ in 0..MOST_STEPS {
            let secret = self.read_secret().await?;
            let kept = secret.as_ref().and_then(secret::read);
            remember(handed, kept.as_ref());
            let binding_there = self.inside.read(&As::Reconciler, &ApiObject::from(&binding_id())).await;
            let binding_there = binding_there.map_err(inside)?;
            let is_own = |kept: &&Kept| own.as_ref() == Some(&kept.sha256);
            // Where there is to be none, anybody's goes.
            let there = kept.as_ref().filter(|kept| wanted.is_none() || is_own(kept));
            let facts = Facts {
                now: self.now,
                wanted: wanted.clone(),
                handed: handed.clone(),
                file: there.map(|kept| kept.file.clone()),
                bound: bound(binding_there.as_ref()),
            };
            match next_step(&facts) {
                Step::Count(generation) => return Ok(Paused::Count(generation)),
                Step::Bind(generation) => self.bind(generation, binding_there.as_ref()).await?,
                Step::Unbind => self.unbind(binding_there.as_ref()).await?,
                Step::Issue(generation) => {
                    let Some(wanted) = &wanted else { continue };
                    *own = Some(self.issue(generation, wanted, secret.as_ref()).await?);
                }
                Step::Make(form, generation) => {
                    let Some(wanted) = &wanted else { continue };
                    *own = self.make(form, generation, wanted, secret.as_ref()).await?;
                }
                Step::RemoveFile => self.remove(secret.as_ref()).await?,
                Step::Wait(_) | Step::Nobody => return Ok(Paused::Done(there.cloned())),
            }
        }
        Err(Trouble::new(
            TroubleKind::Changed,
            format!("{} is written by somebody else all the time", self.secret_id()),
        ))
    }

    fn secret_id(&self) -> ObjectId {
        secret::id(self.cluster)
    }

    async fn read_secret(&self) -> Result<Option<Value>, Trouble> {
        let id = self.secret_id();
        match self.here.read(self.by, &ApiObject::from(&id)).await? {
            Some(found) if !secret::is_capstans(&found) => Err(Trouble::new(
                TroubleKind::SecretNotCapstans,
                format!(
                    "{id} is there, and Capstan has not written it: delete it, or take it out of the folder that brings it"
                ),
            )),
            found => Ok(found),
        }
    }

    /// Over the binding that was read: one that leads no more brings no earlier group back.
    async fn bind(&self, generation: u64, live: Option<&Value>) -> Result<(), Trouble> {
        let manifest = match live {
            Some(live) => sent_over(&binding(generation), live),
            None => sent_new(&binding(generation)),
        };
        self.inside.apply(&As::Reconciler, &manifest, Run::Real, Contested::Take).await.map_err(inside)?;
        tracing::info!(cluster = %self.cluster, generation, "the owners of the cluster are this group from now on");
        Ok(())
    }

    async fn unbind(&self, live: Option<&Value>) -> Result<(), Trouble> {
        let text = |key: &str| live?.pointer(key)?.as_str();
        let Some(uid) = text("/metadata/uid") else { return Ok(()) };
        let only = Preconditions { uid, resource_version: text("/metadata/resourceVersion") };
        let id = binding_id();
        let deleted = self.inside.delete(&As::Reconciler, &ApiObject::from(&id), only, Run::Real).await;
        match deleted.map_err(inside)? {
            Deleted::Gone | Deleted::Absent => {
                tracing::info!(cluster = %self.cluster, "no group owns the cluster any more");
                Ok(())
            }
            Deleted::Terminating | Deleted::Replaced | Deleted::Changed => Err(Trouble::new(
                TroubleKind::Changed,
                format!("{id} is being deleted, or was changed meanwhile"),
            )),
        }
    }

    /// A certificate of their own: the SHA-256 of the file.
    async fn issue(
        &self,
        generation: u64,
        wanted: &Wanted,
        secret: Option<&Value>,
    ) -> Result<String, Trouble> {
        if let Some(trouble) = self.memory.is_away(self.cluster, &wanted.input, self.now) {
            return Err(trouble);
        }
        // Nothing is made of which it is known that it cannot be written down.
        self.write(secret, &self.kept(generation, wanted, Vec::new(), (self.now, None)), Run::Dry).await?;
        let key = where_blocking_is_allowed(move || NewKey::make(generation)).await?;
        let signed = match self.sign(generation, &key).await {
            Ok(signed) => signed,
            Err(trouble) => {
                // Of a cluster that does not answer, others remember that.
                if trouble.kind.is_of_signer() {
                    self.memory.failed(self.cluster, &wanted.input, self.now, &trouble);
                }
                return Err(trouble);
            }
        };
        let private = key.pem()?;
        let plain = self.endpoint.with_certificate(&self.cluster.name, &signed.pem, private.expose_secret());
        let content = self.seal(SecretString::from(plain)).await?;
        let valid = (signed.not_before, Some(signed.not_after));
        let kept = self.kept(generation, wanted, content, valid);
        self.write(secret, &kept, Run::Real).await?;
        tracing::info!(cluster = %self.cluster, generation, expires_at = %signed.not_after, "a new key was made for the owners of the cluster");
        Ok(kept.sha256)
    }

    /// What needs no certificate: the SHA-256 of the file.
    async fn make(
        &self,
        form: Form,
        generation: u64,
        wanted: &Wanted,
        secret: Option<&Value>,
    ) -> Result<Option<String>, Trouble> {
        let (content, valid) = match (form, &self.asked.access.oidc) {
            (Form::Login, Some(login)) => {
                (self.endpoint.with_login(&self.cluster.name, login).into_bytes(), (self.now, None))
            }
            (Form::Admin, _) => {
                let valid = self.endpoint.certificate.as_deref().and_then(validity);
                let (from, until) = valid.map_or((self.now, None), |(from, until)| (from, Some(until)));
                (self.seal(self.kubeconfig.clone()).await?, (from, until))
            }
            (Form::Certificate | Form::Login, _) => return Ok(None),
        };
        let kept = self.kept(generation, wanted, content, valid);
        self.write(secret, &kept, Run::Real).await?;
        Ok(Some(kept.sha256))
    }

    fn kept(
        &self,
        generation: u64,
        wanted: &Wanted,
        content: Vec<u8>,
        (issued_at, expires_at): (Timestamp, Option<Timestamp>),
    ) -> Kept {
        let input = wanted.input.clone();
        Kept {
            file: File { generation, form: wanted.form, input, issued_at, expires_at },
            recipients: self.asked.named(),
            sha256: sha256(&content),
            content,
        }
    }

    async fn seal(&self, plain: SecretString) -> Result<Vec<u8>, Trouble> {
        let recipients: Vec<_> = self.asked.recipients().cloned().collect();
        where_blocking_is_allowed(move || sealed::seal(&plain, &recipients)).await
    }

    /// Has a certificate signed inside of the cluster: asked for, approved, and waited for.
    async fn sign(&self, generation: u64, key: &NewKey) -> Result<Signed, Trouble> {
        let print = sha256(&key.request);
        let name = format!("capstan-owners-{generation}-{}", print.get(..16).unwrap_or_default());
        let days = u32::from(self.asked.access.lifetime_days.days());
        let lifetime_seconds = days.saturating_mul(DAY_SECONDS).max(SHORTEST_SECONDS);
        let manifest = request(Request { name: &name, pem: &key.request, lifetime_seconds });
        let made =
            self.inside.apply(&As::Reconciler, &sent_new(&manifest), Run::Real, Contested::Refuse).await;
        let made = made.map_err(unserved)?;
        let (api_version, kind) = REQUEST_KIND;
        let object = ApiObject { kind: ApiKind::of_version(api_version, kind), namespace: None, name };
        let uid = made.pointer("/metadata/uid").and_then(Value::as_str);
        let uid =
            uid.ok_or_else(|| Trouble::new(TroubleKind::NotAnswered, "the cluster's API names no UID"))?;
        let signed = self.approve_and_wait(&object, uid, key).await;
        // Whatever came of it, nobody needs the request any more; what stays of one goes by itself, an hour later.
        let only = Preconditions { uid, resource_version: None };
        let deleted = self.inside.delete(&As::Reconciler, &object, only, Run::Real).await;
        if let Err(error) = deleted {
            tracing::debug!(cluster = %self.cluster, %error, "a request for a certificate is left");
        }
        signed
    }

    async fn approve_and_wait(&self, object: &ApiObject, uid: &str, key: &NewKey) -> Result<Signed, Trouble> {
        let approval = approval(uid);
        let approved =
            self.inside.patch(&As::Reconciler, object, ObjectPart::Approval, &approval, Run::Real).await;
        approved.map_err(unserved)?;
        let begun = tokio::time::Instant::now();
        let mut pause = FIRST_LOOK;
        loop {
            let found = self.inside.read(&As::Reconciler, object).await.map_err(inside)?;
            match found.as_ref().map(requested) {
                Some(Requested::Signed(pem)) => return key.signed(pem),
                Some(Requested::Refused(why)) => {
                    let message = format!("the cluster's signer refuses the certificate: {why}");
                    return Err(Trouble::new(TroubleKind::CertificateRefused, message));
                }
                None => {
                    let message = "the request for a certificate was deleted before it was signed";
                    return Err(Trouble::new(TroubleKind::Changed, message));
                }
                Some(Requested::Open) if begun.elapsed() >= self.memory.patience => {
                    return Err(Trouble::new(
                        TroubleKind::SignerNotServed,
                        "nobody in the cluster signs certificates of clients (signer \
                         kubernetes.io/kube-apiserver-client of its kube-controller-manager): have it served, or, \
                         where that cannot be, write `access: {credentials: admin}`, which gives a key that nobody can \
                         take back",
                    ));
                }
                Some(Requested::Open) => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }

    /// Writes the Secret over the one that was read, or where there was none.
    async fn write(&self, live: Option<&Value>, kept: &Kept, run: Run) -> Result<(), Trouble> {
        let manifest = secret::manifest(self.cluster, self.live, kept);
        let manifest = match live {
            Some(live) => sent_over(&manifest, live),
            None => sent_new(&manifest),
        };
        self.here.apply(self.by, &manifest, run, Contested::Take).await?;
        Ok(())
    }

    async fn remove(&self, live: Option<&Value>) -> Result<(), Trouble> {
        let text = |key: &str| live?.pointer(key)?.as_str();
        let Some(uid) = text("/metadata/uid") else { return Ok(()) };
        let only = Preconditions { uid, resource_version: text("/metadata/resourceVersion") };
        let id = self.secret_id();
        match self.here.delete(self.by, &ApiObject::from(&id), only, Run::Real).await? {
            Deleted::Gone | Deleted::Absent => Ok(()),
            Deleted::Terminating | Deleted::Replaced | Deleted::Changed => Err(Trouble::new(
                TroubleKind::Changed,
                format!("{id} is being deleted, or was changed meanwhile"),
            )),
        }
    }
}

/// What lies in the Secret was handed out, whether or not anybody wrote that down elsewhere.
fn remember(handed: &mut Handed, kept: Option<&Kept>) {
    let Some(kept) = kept else { return };
    if (handed.generation + 1..FURTHEST).contains(&kept.file.generation) {
        *handed = Handed { generation: kept.file.generation, ..Handed::default() };
    }
    if kept.file.generation == handed.generation {
        handed.recipients.extend(kept.recipients.iter().map(|one| one.fingerprint.clone()));
    }
}

/// What an answer of the cluster itself means.
fn inside(error: LiveError) -> Trouble {
    problem_of(&error, None).map_or_else(|| Trouble::from(error), Trouble::from)
}

/// The same of what it takes to have a certificate signed: a cluster that does not serve it says so at once.
fn unserved(error: LiveError) -> Trouble {
    let is_for_good = |refusal: &Refusal| {
        refusal.kind == RefusalKind::MissingKind || !error.worth_retrying() && !error.is_conflict()
    };
    match error.refusal() {
        Some(refusal) if is_for_good(refusal) => Trouble::new(
            TroubleKind::SignerNotServed,
            format!("the cluster takes no request for a certificate: {error}"),
        ),
        _ => inside(error),
    }
}
