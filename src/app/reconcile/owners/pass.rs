//! A cluster's turn: its owners' key is made, renewed, given to those who stay, or taken away.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_live::owners::{Endpoint, Handed};
use capstan_live::services::{Cause, Problem, is_initialized};
use capstan_model::ids::ClusterId;
use capstan_model::kinds::is_cluster;
use capstan_model::object::ObjectId;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::asked::Asked;
use super::life::{Life, Paused};
use super::secret::{self, Kept};
use super::told::{self, Said};
use super::trouble::Trouble;
use crate::app::ports::{ApiKind, ApiObject, As, ManagementCluster as _};
use crate::app::reconcile::observation::Observation;
use crate::app::reconcile::ports::{Note, OwnersFile, Tone};
use crate::app::reconcile::reconciliation::Reconciliation;
use crate::app::reconcile::resources::{ConditionStatus, ConditionType, OwnersKeyStatus};
use crate::app::reconcile::says::Says;

/// The longest that it holds up the reconciliation of its cluster.
const BOUND: Duration = Duration::from_secs(45);
/// Generations that one look begins at most.
const MOST_COUNTS: usize = 4;

/// What does not pass by itself within minutes.
const LASTING: [&str; 4] =
    ["CertificateRefused", "KubeconfigRefused", "SecretNotCapstans", "SignerNotServed"];

/// What a look came to.
#[derive(Default)]
struct Looked {
    handed: Handed,
    kept: Option<Kept>,
    trouble: Option<Trouble>,
    /// Whether the cluster was reached, and what is known of its key is what is there.
    was_seen: bool,
}

impl Reconciliation<'_> {
    /// Sees to the key of the owners whom the folder names. Whatever comes of it stands in the condition, and holds up
    /// nothing else.
    pub(in crate::app::reconcile) async fn publish_owners_key(&mut self, observed: &Observation) {
        if observed.set.is_some() {
            return;
        }
        let asked = match Asked::read(self.request.revision, self.request.id).await {
            Ok(asked) => asked,
            Err(refused) => {
                self.say_of_owners_key((ConditionStatus::False, "RenderFailed", refused.message));
                return;
            }
        };
        let clusters: Vec<&ObjectId> =
            observed.objects.iter().map(|object| &object.id).filter(|id| is_cluster(id)).collect();
        let [cluster] = clusters.as_slice() else {
            self.status.conditions.clear(ConditionType::OwnersKeyPublished);
            return;
        };
        let cluster = (*cluster).clone();
        let before = self.status.owners_key.clone();
        if asked.form().is_none() && before.is_none() {
            self.say_of_owners_key(told::condition(&cluster, &asked, None, None, self.now));
            return;
        }
        let mut looked = Looked::default();
        let took =
            tokio::time::timeout(BOUND, self.look_after_key(observed, &cluster, &asked, &mut looked)).await;
        looked.trouble = match took {
            Ok(Ok(())) => None,
            Ok(Err(trouble)) => Some(trouble),
            Err(_) => Some(Trouble::new(
                "WorkloadUnreachable",
                format!("what it takes to make a key takes longer than {} s", BOUND.as_secs()),
            )),
        };
        if looked.trouble.is_some() && looked.kept.is_none() {
            looked.kept = self.kept_still(&observed.wanted.by, &cluster).await;
        }
        self.tell_of_key(&cluster, &asked, before.as_ref(), &looked).await;
    }

    /// The cluster is gone, and the Secret with it: so is what the bot has.
    pub(in crate::app::reconcile) async fn forget_owners_key(&mut self) {
        if self.status.owners_key.is_none() {
            return;
        }
        match self.request.bot.withdraw_key(self.request.id).await {
            Ok(()) => self.status.owners_key = None,
            Err(error) => {
                tracing::warn!(cluster = %self.request.id, %error, "the key of a cluster that is gone is published still");
            }
        }
    }

    async fn tell_of_key(
        &mut self,
        cluster: &ObjectId,
        asked: &Asked,
        before: Option<&OwnersKeyStatus>,
        looked: &Looked,
    ) {
        if looked.was_seen {
            let remembered = self.status.owners_key.clone();
            let known = told::status(&looked.handed, remembered.as_ref(), cluster, looked.kept.as_ref());
            // That there is none any more counts once the bot knows it.
            if known.is_some() || looked.trouble.is_none() {
                self.status.owners_key = known;
            }
        }
        // What the bot has not taken is nowhere to be found.
        let is_there = looked.trouble.as_ref().is_none_or(|trouble| trouble.kind != "BotNotReached");
        self.owners_file = looked.kept.as_ref().filter(|_| is_there).map(|kept| {
            let file = owners_file(self.request.id, asked, kept);
            OwnersFile { content: Vec::new(), ..file }
        });
        let said = told::condition(cluster, asked, looked.kept.as_ref(), looked.trouble.as_ref(), self.now);
        let known = self.status.conditions.of(ConditionType::OwnersKeyPublished).cloned();
        let is_news = known.is_none_or(|known| known.status != said.0 || known.reason != said.1);
        if let Some(trouble) = &looked.trouble {
            self.again |= !LASTING.contains(&trouble.kind);
            metrics::counter!("capstan_reconciler_failures_total", "cause" => trouble.kind).increment(1);
            if is_news {
                tracing::warn!(cluster = %self.request.id, cause = trouble.kind, error = trouble.message, "the owners' key is not seen to");
                let message = said.2.clone();
                self.note_of_key(Note { tone: Tone::Warning, reason: "OwnersKeyFailed", message }).await;
            }
        }
        let digest = |status: Option<&OwnersKeyStatus>| {
            status.and_then(|one| one.file.as_ref()).map(|file| file.sha256.clone())
        };
        if digest(before) != digest(self.status.owners_key.as_ref()) && looked.kept.is_some() {
            let message = said.2.clone();
            self.note_of_key(Note { tone: Tone::Normal, reason: "OwnersKeyPublished", message }).await;
        }
        self.say_of_owners_key(said);
    }

    /// The cluster is reached, its key is seen to, and the bot has what is there.
    async fn look_after_key(
        &mut self,
        observed: &Observation,
        cluster: &ObjectId,
        asked: &Asked,
        looked: &mut Looked,
    ) -> Result<(), Trouble> {
        let live = observed.live.get(cluster).filter(|live| is_initialized(live));
        let Some(live) = live.cloned() else {
            let words = "its control plane has not come up yet";
            return Err(Problem::of(Cause::ControlPlaneNotInitialized, cluster, words).into());
        };
        let by = observed.wanted.by.clone();
        let ports = self.request.ports;
        let workload = ports.workloads.open(cluster, &ports.live, &by, self.now).await??;
        let secret = ApiObject {
            kind: ApiKind::of_version("v1", "Secret"),
            namespace: cluster.namespace.clone(),
            name: format!("{}-kubeconfig", cluster.name),
        };
        let found = ports.live.read(&by, &secret).await?;
        let refused = |why: &str| Trouble::from(Problem::of(Cause::KubeconfigRefused, &secret.id(), why));
        let text = found.as_ref().and_then(|found| found.pointer("/data/value")).and_then(Value::as_str);
        let decoded =
            text.and_then(|text| STANDARD.decode(text).ok()).and_then(|bytes| String::from_utf8(bytes).ok());
        let kubeconfig = decoded
            .map(SecretString::from)
            .ok_or_else(|| refused("it has no kubeconfig under the key `value`"))?;
        let endpoint = { Endpoint::read(kubeconfig.expose_secret()) };
        let endpoint = endpoint.ok_or_else(|| refused("its current context names no https server"))?;
        let life = Life {
            here: &ports.live,
            inside: &workload.live,
            by: &by,
            asked,
            memory: ports.owners_keys.as_ref(),
            cluster,
            live: &live,
            kubeconfig: &kubeconfig,
            endpoint: &endpoint,
            now: self.now,
        };
        looked.handed = self.handed();
        looked.was_seen = true;
        for _ in 0..MOST_COUNTS {
            match life.live(&mut looked.handed).await {
                Ok(Paused::Done(kept)) => {
                    looked.kept = kept;
                    return self.tell_bot(cluster, asked, looked).await;
                }
                Ok(Paused::Count(generation)) => {
                    looked.handed = Handed { generation, ..Handed::default() };
                    let file = self.status.owners_key.as_ref().and_then(|status| status.file.clone());
                    self.status.owners_key =
                        Some(OwnersKeyStatus { generation, file, ..OwnersKeyStatus::default() });
                    self.save().await?;
                }
                Err(trouble) => {
                    if let Some(problem) = &trouble.of_cluster {
                        ports.workloads.away(cluster, problem, self.now);
                    }
                    return Err(trouble);
                }
            }
        }
        Err(Trouble::new("Changed", "its owners change all the time"))
    }

    /// The file that is there where nothing could be done about it; none where that cannot be read either.
    async fn kept_still(&self, by: &As, cluster: &ObjectId) -> Option<Kept> {
        let found = self.request.ports.live.read(by, &ApiObject::from(&secret::id(cluster))).await;
        secret::read(&found.ok().flatten()?)
    }

    fn handed(&self) -> Handed {
        let status = self.status.owners_key.clone().unwrap_or_default();
        let recipients = status.recipients.into_iter().map(|one| one.fingerprint).collect();
        Handed { generation: status.generation, recipients }
    }

    /// What was handed out is remembered before anybody can fetch it.
    async fn tell_bot(&mut self, cluster: &ObjectId, asked: &Asked, looked: &Looked) -> Result<(), Trouble> {
        let (request, id) = (self.request, self.request.id);
        let publishing = "publishing the key of a cluster's owners";
        if looked.kept.is_none() {
            // First: of what is remembered nowhere nobody would take it back.
            request.ports.check_leading(publishing).await?;
            request.bot.withdraw_key(id).await?;
        }
        let remembered = self.status.owners_key.clone();
        self.status.owners_key =
            told::status(&looked.handed, remembered.as_ref(), cluster, looked.kept.as_ref());
        if self.status.owners_key != remembered {
            self.save().await?;
        }
        if let Some(kept) = &looked.kept {
            request.ports.check_leading(publishing).await?;
            request.bot.publish_key(&owners_file(id, asked, kept)).await?;
        }
        Ok(())
    }

    fn say_of_owners_key(&mut self, (status, reason, message): Said) {
        let (now, generation) = (self.now, self.record.generation);
        let mut says = Says { conditions: &mut self.status.conditions, now, generation };
        says.that(ConditionType::OwnersKeyPublished, status, reason, &message);
    }

    async fn note_of_key(&self, note: Note) {
        self.request.ports.status_store.note_cluster(&self.record, &note).await;
    }
}

fn owners_file(id: &ClusterId, asked: &Asked, kept: &Kept) -> OwnersFile {
    OwnersFile {
        cluster: id.clone(),
        form: kept.file.form,
        content: kept.content.clone(),
        sha256: kept.sha256.clone(),
        recipients: kept.recipients.clone(),
        expires_at: kept.file.expires_at,
        publish: asked.access.publish,
    }
}
