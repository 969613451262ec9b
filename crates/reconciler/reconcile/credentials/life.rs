//! One credential of one cluster: facts, decision, effect, until nothing is left to do.

use std::collections::{BTreeMap, BTreeSet};

use capstan_live::applying::{sent_new, sent_over};
use capstan_live::credentials::{Facts, HandedOut, Step, Wish, Written, WrittenState, next_step};
use capstan_model::digest::sha256;
use capstan_model::object::ObjectId;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde_json::{Map, Value, json};

use super::asked::Subject;
use super::clouds::LoggedIn;
use super::consumers::consumers;
use super::purpose::Purpose;
use super::secret::{self, Found};
use super::trouble::Trouble;
use crate::reconcile::dependencies::Ports;
use capstan_ports::{
    ApiObject, As, Contested, Deleted, ManagementCluster as _, NewCredential, Preconditions, Run,
};

/// Steps that one look takes at most: orphans of as many deaths, and a renewal.
const MOST_STEPS: usize = 64;
/// The longest beginning of a name: Keystone takes 255 characters.
const LONGEST_NAME: usize = 200;

/// A credential, and whoever keeps it.
pub(super) struct Life<'a> {
    pub(super) ports: &'a Ports,
    pub(super) by: &'a As,
    pub(super) subject: &'a Subject,
    pub(super) purpose: Purpose,
    /// UID of the management cluster: two of them may have clusters of one name in one cloud.
    pub(super) uid: &'a str,
    pub(super) now: Timestamp,
    /// Ids that a Secret is remembered to have held.
    pub(super) remembered: BTreeSet<String>,
    /// The one that everybody inside of the cluster was seen to work with.
    pub(super) seen_on: Option<String>,
    /// Whether to stop before the next effect.
    pub(super) is_over: &'a (dyn Fn() -> bool + Sync),
}

/// What is there of a credential at the end of a look.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) written: Option<Written>,
    /// Whether it was made just now.
    pub(super) is_new: bool,
}

/// How a look ended.
pub(super) enum Ended {
    /// There is nothing to do now.
    Done(Kept),
    /// It was to stop.
    Interrupted,
}

fn secret_id(subject: &Subject, purpose: Purpose) -> ObjectId {
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
    subject: &Subject,
    purpose: Purpose,
    wish: Wish,
) -> Result<Option<Value>, Trouble> {
    let id = secret_id(subject, purpose);
    match ports.live.read(by, &ApiObject::from(&id)).await? {
        Some(found) if secret::is_capstans(&found) => Ok(Some(found)),
        Some(_) if wish == Wish::Keep => Err(Trouble::here(
            "SecretNotCapstans",
            format!(
                "{id} is there, and Capstan has not written it: delete it (where the folder brought it, with a \
                 tombstone), and it is made with the cluster's own credential"
            ),
        )),
        Some(_) | None => Ok(None),
    }
}

impl Life<'_> {
    fn secret(&self) -> ObjectId {
        secret_id(self.subject, self.purpose)
    }

    /// Does whatever is to be done.
    pub(super) async fn live(&self, cloud: &LoggedIn, wish: Wish) -> Result<Ended, Trouble> {
        let mut is_new = false;
        for _ in 0..MOST_STEPS {
            if (self.is_over)() {
                return Ok(Ended::Interrupted);
            }
            let secret = read_secret(self.ports, self.by, self.subject, self.purpose, wish).await?;
            let facts = self.facts(cloud, secret.as_ref(), wish).await?;
            let id = self.secret();
            match next_step(&facts) {
                Step::Issue { expires_at, previous } => {
                    self.issue(cloud, secret.as_ref(), expires_at, previous).await?;
                    is_new = true;
                }
                Step::Revoke(credential) => {
                    self.ports.check_leading("deleting an application credential").await?;
                    cloud.session.revoke(&credential).await?;
                    tracing::info!(secret = %id, credential, "an application credential was deleted");
                }
                Step::Forget(previous) => {
                    if let (Some(live), Some(written)) = (&secret, facts.written) {
                        let written = Written { previous, ..written };
                        self.write(Some(live), &written, &cloud.place.print(), secret::data(live), Run::Real)
                            .await?;
                    }
                }
                Step::RemoveSecret => self.remove(secret.as_ref()).await?,
                Step::Wait { behind, .. } => {
                    if !behind.is_empty() {
                        tracing::debug!(secret = %id, behind = behind.join(", "), "an earlier credential is kept");
                    }
                    return Ok(Ended::Done(Kept { written: facts.written, is_new }));
                }
                Step::Gone => return Ok(Ended::Done(Kept { written: None, is_new })),
            }
        }
        Err(Trouble::here("Changed", format!("{} is written by somebody else all the time", self.secret())))
    }

    async fn facts(&self, cloud: &LoggedIn, secret: Option<&Value>, wish: Wish) -> Result<Facts, Trouble> {
        let mut found = secret.and_then(secret::read);
        if let Some(Found { written, place, .. }) = &mut found
            && *place != cloud.place.print()
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
        Ok(Facts {
            now: self.now,
            wish,
            lifetime: SignedDuration::try_from(self.subject.opened.lifetime).unwrap_or(SignedDuration::MAX),
            user: cloud.session.project().user.clone(),
            issued: cloud.session.credentials(&self.beginning()).await?,
            // A Secret that nobody can read any more says nothing, and is written anew.
            written: found.map(|found| found.written),
            remembered: self.remembered.clone(),
            consumers,
        })
    }

    /// What the names of this one's credentials begin with. No other one's begin so: the digest has always the same
    /// length, and is of everything that tells them apart.
    fn beginning(&self) -> String {
        let Subject { namespace, cluster, .. } = self.subject;
        let word = self.purpose.word();
        let digest = sha256(json!([self.uid, namespace, cluster, word]).to_string());
        let digest = digest.get(..16).unwrap_or_default();
        let name = format!("capstan-{word}-{digest}-{namespace}-{cluster}");
        name.chars().take(LONGEST_NAME).collect()
    }

    async fn issue(
        &self,
        cloud: &LoggedIn,
        live: Option<&Value>,
        expires_at: Timestamp,
        previous: BTreeMap<String, HandedOut>,
    ) -> Result<(), Trouble> {
        let written = |id: String| Written {
            current: id,
            user: cloud.session.project().user.clone(),
            issued_at: self.now,
            expires_at,
            previous: previous.clone(),
            state: WrittenState::AsWished,
        };
        let print = cloud.place.print();
        // Nothing is made of which it is known that it cannot be written down.
        let nothing = NewCredential { id: "none".to_owned(), secret: SecretString::from("none") };
        let tried = self.purpose.data(&cloud.place, &nothing);
        self.write(live, &written(nothing.id), &print, tried, Run::Dry).await?;
        self.ports.check_leading("making an application credential").await?;
        let name = format!("{}-{}", self.beginning(), self.now.strftime("%Y%m%dT%H%M%SZ"));
        let new = cloud.session.issue(&name, expires_at).await?;
        let data = self.purpose.data(&cloud.place, &new);
        self.write(live, &written(new.id.clone()), &print, data, Run::Real).await?;
        tracing::info!(secret = %self.secret(), credential = new.id, %expires_at, "a new application credential was made");
        Ok(())
    }

    /// Writes the Secret over the one that was read, or where there was none.
    async fn write(
        &self,
        live: Option<&Value>,
        written: &Written,
        place: &str,
        data: Map<String, Value>,
        run: Run,
    ) -> Result<(), Trouble> {
        let id = self.secret();
        let manifest = secret::manifest(self.purpose, &id, &self.subject.cluster, written, place, data);
        let manifest = match live {
            Some(live) => sent_over(&manifest, live),
            None => sent_new(&manifest),
        };
        self.ports.live.apply(self.by, &manifest, run, Contested::Take).await?;
        Ok(())
    }

    async fn remove(&self, live: Option<&Value>) -> Result<(), Trouble> {
        let text = |key: &str| live?.pointer(key)?.as_str();
        let Some(uid) = text("/metadata/uid") else { return Ok(()) };
        let only = Preconditions { uid, resource_version: text("/metadata/resourceVersion") };
        let id = self.secret();
        let deleted = self.ports.live.delete(self.by, &ApiObject::from(&id), only, Run::Real).await?;
        match deleted {
            Deleted::Gone | Deleted::Absent => Ok(()),
            Deleted::Terminating | Deleted::Replaced | Deleted::Changed => {
                Err(Trouble::here("Changed", format!("{id} is being deleted, or was changed meanwhile")))
            }
        }
    }
}
