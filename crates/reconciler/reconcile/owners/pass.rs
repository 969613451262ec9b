//! A cluster's turn: its owners' key is made, renewed, given to those who stay, or taken away.

use std::time::Duration;

use capstan_live::applying::is_applied_by_capstan;
use capstan_live::owners::Endpoint;
use capstan_live::services::{Problem, ServiceCause, is_initialized};
use capstan_model::ids::ClusterId;
use capstan_model::kinds::is_cluster;
use capstan_model::object::ObjectId;
use capstan_reconciler_core::owners::condition::{self, OwnersCondition};
use capstan_reconciler_core::owners::{
    Handed, OwnersError, OwnersRequest, StoredKubeconfig, TroubleKind, secret,
};
use secrecy::ExposeSecret as _;

use super::asked::asked;
use super::life::{KeyLife, OwnersLook, OwnersSubject};
use crate::life::live;
use crate::reconcile::dependencies::Ports;
use crate::reconcile::in_hand::ClusterInHand;
use crate::reconcile::observation::Observation;
use crate::reconcile::ports::{Note, OwnersFile, Tone};
use crate::reconcile::provider_sets::applied_as;
use crate::reconcile::services::kubeconfig_of;
use capstan_ports::{ApiKind, ApiObject, As, LiveError, ManagementCluster as _};
use capstan_reconciler_core::resources::{ConditionStatus, ConditionType, KeyRecipient, OwnersKeyStatus};

/// The longest that it holds up the reconciliation of its cluster.
const BOUND: Duration = Duration::from_secs(45);

/// Keeps the key of the owners that the folder names up to date. The condition reports the result, and a failure does
/// not stop the rest of the reconciliation.
pub(in crate::reconcile) async fn publish_owners_key(of: &mut ClusterInHand<'_>, observed: &Observation) {
    if observed.set.is_some() {
        return;
    }
    let asked = match asked(of.request.revision, of.request.id).await {
        Ok(asked) => asked,
        Err(refused) => {
            say_of_owners_key(of, (ConditionStatus::False, "RenderFailed", refused.message));
            return;
        }
    };
    let clusters: Vec<&ObjectId> =
        observed.objects.iter().map(|object| &object.id).filter(|id| is_cluster(id)).collect();
    let [cluster] = clusters.as_slice() else {
        of.status.conditions.clear(ConditionType::OwnersKeyPublished);
        return;
    };
    if asked.form().is_none() && of.status.owners_key.is_none() {
        say_of_owners_key(of, condition::condition(cluster, &asked, None, None, of.now));
        return;
    }
    let live = observed.live.get(cluster).cloned();
    let subject = OwnersSubject { cluster: (*cluster).clone(), live, by: observed.wanted.by.clone() };
    KeyTurn { of, subject: &subject, asked: &asked }.take().await;
}

/// The same where nothing of the folder is applied, because it is refused or suspended. Owners who left lose access,
/// and the key of the others is renewed. No new owner gets one. A suspended folder is touched only to take somebody's
/// access away.
pub(in crate::reconcile) async fn guard_owners_key(of: &mut ClusterInHand<'_>) {
    let Some(before) = of.status.owners_key.clone() else { return };
    let read = asked(of.request.revision, of.request.id).await;
    let is_remembered = read.is_err();
    let asked = match read {
        Ok(asked) => asked.narrowed(&before),
        Err(_) => OwnersRequest::remembered(&before),
    };
    let Some(asked) = asked else { return };
    if of.is_suspended() && !asked.lacks_somebody(&before) {
        return;
    }
    match remembered_cluster(of).await {
        Ok(Some(subject)) => {
            if is_remembered && !is_borne_out(of.request.ports, &subject, &before).await {
                tracing::warn!(
                    cluster = %of.request.id,
                    "the owners' key is not renewed: the status names other owners than the Secret, and Git cannot be read"
                );
                return;
            }
            KeyTurn { of, subject: &subject, asked: &asked }.take().await;
        }
        Ok(None) => {}
        Err(error) => {
            tracing::warn!(cluster = %of.request.id, %error, "the owners' key is not up to date");
            of.again = true;
        }
    }
}

/// Whether the Secret that Capstan wrote has every recipient that the status names. Where Git cannot be read, neither
/// the status nor the Secret alone gives anybody a key: others could write the status.
async fn is_borne_out(ports: &Ports, subject: &OwnersSubject, before: &OwnersKeyStatus) -> bool {
    let own = before.file.as_ref().map(|file| file.sha256.clone());
    let Some(kept) = kept_still(ports, subject, own.as_ref()).await else { return false };
    let is_held =
        |named: &KeyRecipient| kept.recipients.iter().any(|one| one.fingerprint == named.fingerprint);
    before.recipients.iter().all(is_held)
}

/// The identity of the one `Cluster` that the folder had last, if it still exists.
pub(in crate::reconcile) async fn remembered_id(
    of: &ClusterInHand<'_>,
) -> Result<Option<ObjectId>, LiveError> {
    Ok(remembered_cluster(of).await?.map(|subject| subject.cluster))
}

/// The one `Cluster` that the folder had last, if it still exists. The inventory names it, but others could write the
/// inventory. So the object itself and the inventories of the other folders have to confirm that it is this folder's.
async fn remembered_cluster(of: &ClusterInHand<'_>) -> Result<Option<OwnersSubject>, LiveError> {
    let request = of.request;
    let entries = of.status.inventory.objects().iter().filter(|entry| is_cluster(&entry.id()));
    let [entry] = entries.collect::<Vec<_>>()[..] else { return Ok(None) };
    let cluster = entry.id();
    let Some(namespace) = &cluster.namespace else { return Ok(None) };
    let account = applied_as(request.revision.fleet.settings(), request.id, request.fleet);
    let by = As::Impersonated(account.of(namespace));
    let object = ApiObject {
        kind: ApiKind::of_version(&entry.api_version(), &entry.kind),
        ..ApiObject::from(&cluster)
    };
    let live = request.ports.live.read(&by, &object).await?;
    let uid = live.as_ref().and_then(|live| live.pointer("/metadata/uid")?.as_str());
    let others = &request.revision.owners;
    let is_it = uid.is_some()
        && uid == entry.uid.as_deref()
        && live.as_ref().is_some_and(is_applied_by_capstan)
        && others.recorded_elsewhere(request.id, &cluster).next().is_none();
    Ok(is_it.then_some(OwnersSubject { cluster, live, by }))
}

/// The cluster is gone, and the Secret with it: so is what the bot has.
pub(in crate::reconcile) async fn forget_owners_key(of: &mut ClusterInHand<'_>) {
    if of.status.owners_key.is_none() {
        return;
    }
    match of.request.bot.withdraw_key(of.request.id).await {
        Ok(()) => of.status.owners_key = None,
        Err(error) => {
            tracing::warn!(cluster = %of.request.id, %error, "the key of a deleted cluster is still published");
        }
    }
}

/// The file that is there where nothing could be done about it; none where that cannot be read either.
async fn kept_still(
    ports: &Ports,
    OwnersSubject { cluster, by, .. }: &OwnersSubject,
    own: Option<&String>,
) -> Option<StoredKubeconfig> {
    let found = ports.live.read(by, &ApiObject::from(&secret::id(cluster))).await;
    secret::read(&found.ok().flatten()?).filter(|kept| own == Some(&kept.sha256))
}

fn say_of_owners_key(of: &mut ClusterInHand<'_>, (status, reason, message): OwnersCondition) {
    of.says(ConditionType::OwnersKeyPublished, status, reason, &message);
}

/// One turn at the key of a cluster's owners: where it is made, and who is asked for.
struct KeyTurn<'r, 'a> {
    of: &'r mut ClusterInHand<'a>,
    subject: &'r OwnersSubject,
    asked: &'r OwnersRequest,
}

impl KeyTurn<'_, '_> {
    /// Keeps the key up to date, for at most [`BOUND`], and reports the result.
    async fn take(mut self) {
        let before = self.of.status.owners_key.clone();
        let file = before.as_ref().and_then(|before| before.file.as_ref());
        let mut looked = OwnersLook { own: file.map(|file| file.sha256.clone()), ..OwnersLook::default() };
        let took = tokio::time::timeout(BOUND, self.look_after_key(&mut looked)).await;
        looked.trouble = match took {
            Ok(Ok(())) => None,
            Ok(Err(trouble)) => Some(trouble),
            Err(_) => Some(OwnersError::new(
                TroubleKind::Said(ServiceCause::WorkloadUnreachable),
                format!("making a key takes longer than {} s", BOUND.as_secs()),
            )),
        };
        if looked.trouble.is_some() && looked.kept.is_none() {
            looked.kept = kept_still(self.of.request.ports, self.subject, looked.own.as_ref()).await;
        }
        self.tell_of_key(before.as_ref(), &looked).await;
    }

    async fn tell_of_key(&mut self, before: Option<&OwnersKeyStatus>, looked: &OwnersLook) {
        let (cluster, asked) = (&self.subject.cluster, self.asked);
        if looked.was_seen {
            let remembered = self.of.status.owners_key.clone();
            let (remembered, kept) = (remembered.as_ref(), looked.kept.as_ref());
            let mut known = condition::status(&looked.handed, asked, remembered, cluster, kept);
            // If the file could not be read, the status keeps what it said of it.
            if let (Some(known), Some(_), None) = (&mut known, &looked.trouble, kept) {
                known.file = remembered.and_then(|remembered| remembered.file.clone());
            }
            // That there is none any more counts once the bot knows it.
            if known.is_some() || looked.trouble.is_none() {
                self.of.status.owners_key = known;
            }
        }
        // What the bot has not taken is nowhere to be found.
        let is_there =
            looked.trouble.as_ref().is_none_or(|trouble| trouble.kind != TroubleKind::BotNotReached);
        self.of.owners_file = looked.kept.as_ref().filter(|_| is_there).map(|kept| {
            let file = owners_file(self.of.request.id, asked, kept);
            OwnersFile { content: Vec::new(), ..file }
        });
        let mut said =
            condition::condition(cluster, asked, looked.kept.as_ref(), looked.trouble.as_ref(), self.of.now);
        if let Some(other) = &looked.shared_with {
            said.2.push_str(&format!(
                "; the kubeconfig of {other} names the same API server, so Capstan does nothing there for that one"
            ));
        }
        let known = self.of.status.conditions.of(ConditionType::OwnersKeyPublished).cloned();
        let is_news = known.is_none_or(|known| known.status != said.0 || known.reason != said.1);
        if let Some(trouble) = &looked.trouble {
            self.of.again |= !trouble.kind.lasts();
            metrics::counter!("capstan_reconciler_failures_total", "cause" => trouble.kind.as_str())
                .increment(1);
            if is_news {
                tracing::warn!(cluster = %self.of.request.id, cause = trouble.kind.as_str(), error = trouble.message, "the owners' key is not up to date");
                let message = said.2.clone();
                self.of.note(Note { tone: Tone::Warning, reason: "OwnersKeyFailed", message }).await;
            }
        }
        let digest = |status: Option<&OwnersKeyStatus>| {
            status.and_then(|one| one.file.as_ref()).map(|file| file.sha256.clone())
        };
        if digest(before) != digest(self.of.status.owners_key.as_ref()) && looked.kept.is_some() {
            let message = said.2.clone();
            self.of.note(Note { tone: Tone::Normal, reason: "OwnersKeyPublished", message }).await;
        }
        say_of_owners_key(self.of, said);
    }

    /// The cluster is reached, its key is seen to, and the bot has what is there.
    async fn look_after_key(&mut self, looked: &mut OwnersLook) -> Result<(), OwnersError> {
        let (subject, asked) = (self.subject, self.asked);
        let OwnersSubject { cluster, live: there, by } = subject;
        let Some(of_cluster) = there.as_ref().filter(|there| is_initialized(there)) else {
            let words = "its control plane is not up yet";
            return Err(Problem::of(ServiceCause::ControlPlaneNotInitialized, cluster, words).into());
        };
        let ports = self.of.request.ports;
        let opened = ports.workloads.open_with_kubeconfig(cluster, &ports.live, by, self.of.now).await??;
        let (workload, kubeconfig) = opened;
        looked.shared_with = workload.shared_with;
        let endpoint = { Endpoint::read(kubeconfig.expose_secret()) };
        let refused =
            |why: &str| Problem::of(ServiceCause::KubeconfigRefused, &kubeconfig_of(cluster).id(), why);
        let endpoint = endpoint.ok_or_else(|| refused("its current context names no https server"))?;
        looked.handed = Handed::of(self.of.status.owners_key.as_ref());
        looked.was_seen = true;
        let mut life = KeyLife {
            of: &mut *self.of,
            looked: &mut *looked,
            subject,
            live: of_cluster,
            inside: &workload.live,
            asked,
            kubeconfig: &kubeconfig,
            endpoint: &endpoint,
            secret: None,
            binding: None,
            kept: None,
        };
        let lived = live(&mut life).await;
        let kept = life.kept;
        if let Err(trouble) = lived {
            if let Some(problem) = &trouble.of_cluster {
                ports.workloads.away(cluster, problem, self.of.now);
            }
            return Err(trouble);
        }
        looked.kept = kept;
        self.tell_bot(looked).await
    }

    /// What was handed out is remembered before anybody can fetch it.
    async fn tell_bot(&mut self, looked: &OwnersLook) -> Result<(), OwnersError> {
        let (cluster, asked) = (&self.subject.cluster, self.asked);
        let (request, id) = (self.of.request, self.of.request.id);
        let publishing = "publishing the key of a cluster's owners";
        if looked.kept.is_none() {
            // First: of what is remembered nowhere nobody would take it back.
            request.ports.check_leading(publishing).await?;
            request.bot.withdraw_key(id).await?;
        }
        let remembered = self.of.status.owners_key.clone();
        self.of.status.owners_key =
            condition::status(&looked.handed, asked, remembered.as_ref(), cluster, looked.kept.as_ref());
        if self.of.status.owners_key != remembered {
            self.of.save().await?;
        }
        if let Some(kept) = &looked.kept {
            request.ports.check_leading(publishing).await?;
            request.bot.publish_key(&owners_file(id, asked, kept)).await?;
        }
        Ok(())
    }
}

fn owners_file(id: &ClusterId, asked: &OwnersRequest, kept: &StoredKubeconfig) -> OwnersFile {
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
