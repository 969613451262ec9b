//! A cluster's turn: its credentials are kept, before anything that needs them is applied, or taken away, after
//! everything else is gone.

use std::time::Duration;

use capstan_model::finding::Severity;
use capstan_reconciler_core::credentials::{
    CredentialError, CredentialRecord, CredentialRequest, CredentialSubject, Purpose, Rest, Turn, Wish,
    WrittenState, opened, remembered, renewal, secret,
};
use jiff::{SignedDuration, Timestamp};

use super::life::{CredentialLife, read_secret};
use crate::life::live_unless;
use crate::reconcile::in_hand::ClusterInHand;
use crate::reconcile::observation::Observation;
use crate::reconcile::owners::remembered_id;
use crate::reconcile::ports::{Note, Tone};
use crate::reconcile::provider_sets::applied_as;
use capstan_ports::{As, ManagementCluster as _};
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::resources::{ConditionStatus, ConditionType, ManagedClusterStatus};

/// The longest that credentials hold up the reconciliation of their cluster.
const BOUND: Duration = Duration::from_secs(60);
/// How often the cloud is asked for what nothing is due of: somebody may have deleted a credential there.
const LOOK: SignedDuration = SignedDuration::from_hours(1);
/// The same while an earlier credential is kept for somebody who works with it.
const LOOK_FOR_EARLIER: SignedDuration = SignedDuration::from_mins(10);

/// Creates and renews the credentials that the folder asks for. The condition reports the result, and a failure does
/// not stop the rest of the reconciliation.
pub(in crate::reconcile) async fn publish_credentials(of: &mut ClusterInHand<'_>, observed: &Observation) {
    match &observed.credentials {
        CredentialRequest::For(subject) => {
            let by = &observed.wanted.by;
            CredentialsTurn { of, subject, by, wish: Wish::Keep }.keep().await;
        }
        CredentialRequest::NotOpened(why) => credentials_not_opened(of, why),
        CredentialRequest::Nothing if of.status.cloud_credentials.is_some() => {
            credentials_not_opened(of, "the folder no longer asks for credentials");
        }
        CredentialRequest::Nothing => of.status.conditions.clear(ConditionType::CredentialsPublished),
    }
}

/// Renews the credentials of an earlier pass where the folder's current request is unknown. A file that cannot be read
/// must not let a cluster's credential expire.
pub(in crate::reconcile) async fn renew_remembered_credentials(of: &mut ClusterInHand<'_>) {
    let request = of.request;
    let Some(status) = of.status.cloud_credentials.clone() else { return };
    let Ok(opened) = opened(&request.fleet.spec, request.id, &status.cloud) else { return };
    if of.is_suspended() {
        return;
    }
    // Others could write the status, so the status alone must not move a credential to another namespace.
    let is_it = match remembered_id(of).await {
        Ok(found) => found.is_some_and(|cluster| {
            cluster.name == status.cluster && cluster.namespace.as_deref() == Some(&status.namespace)
        }),
        Err(error) => {
            tracing::warn!(cluster = %request.id, %error, "credentials are not renewed");
            of.again = true;
            return;
        }
    };
    if !is_it {
        tracing::warn!(
            cluster = %request.id,
            namespace = status.namespace,
            "credentials are not renewed: the Cluster that the status names for them is not the one that was applied from the folder"
        );
        return;
    }
    let account = applied_as(request.revision.fleet.settings(), request.id, request.fleet);
    let by = As::Impersonated(account.of(&status.namespace));
    let subject =
        CredentialSubject { opened: opened.clone(), namespace: status.namespace, cluster: status.cluster };
    CredentialsTurn { of, subject: &subject, by: &by, wish: Wish::Keep }.keep().await;
}

/// Takes them away with their Secrets; why they are not gone, where they are not.
pub(in crate::reconcile) async fn remove_credentials(
    of: &mut ClusterInHand<'_>,
    observed: &Observation,
) -> Option<Reason> {
    let known = of.request.ports.cloud_credentials.as_ref();
    let (fleet, id) = (&of.request.fleet.key, of.request.id);
    let CredentialRequest::For(subject) = &observed.credentials else {
        if let Some(ends) = credentials_end(&of.status) {
            let message = format!(
                "the Fleet no longer allows its cloud: its cloud credentials and their Secrets stay, and the last one expires at {ends}"
            );
            let reason = Reason::plain("CloudNotOpened", message);
            of.kept.push(Reason { severity: Severity::Warning, ..reason });
        }
        return None;
    };
    if of.status.cloud_credentials.is_none() && !known.is_to_look(fleet, id, LOOK, of.now) {
        return None;
    }
    let turn = CredentialsTurn { of, subject, by: &observed.wanted.by, wish: Wish::Remove }.take().await;
    match turn.trouble {
        Some(trouble) => Some(Reason::plain(trouble.kind, trouble.message)),
        None if turn.is_due => Some(Reason::plain("Deleting", "its cloud credentials are not deleted")),
        None => {
            of.status.cloud_credentials = None;
            of.status.conditions.clear(ConditionType::CredentialsPublished);
            None
        }
    }
}

/// Says that what is there, if anything, is renewed no more.
fn credentials_not_opened(of: &mut ClusterInHand<'_>, why: &str) {
    let ends = credentials_end(&of.status);
    if ends.is_some_and(|ends| ends <= of.now) {
        of.status.cloud_credentials = None;
    }
    let after = ends.map(|ends| format!(". Earlier ones are not renewed: the last one expires at {ends}"));
    let message = format!("{why}{}", after.unwrap_or_default());
    of.says(ConditionType::CredentialsPublished, ConditionStatus::False, "CloudNotOpened", &message);
}

/// When the last of what was made ends.
fn credentials_end(status: &ManagedClusterStatus) -> Option<Timestamp> {
    let status = status.cloud_credentials.as_ref()?;
    status.secrets.iter().map(|secret| secret.expires_at).max()
}

/// One turn at a cluster's credentials: whose, by which account, and whether they are kept or taken away.
struct CredentialsTurn<'r, 'a> {
    of: &'r mut ClusterInHand<'a>,
    subject: &'r CredentialSubject,
    by: &'r As,
    wish: Wish,
}

impl CredentialsTurn<'_, '_> {
    /// Creates or renews the credentials, and reports the result in the status, the condition and Events.
    async fn keep(&mut self) {
        let turn = self.take().await;
        let subject = self.subject;
        self.of.status.cloud_credentials = turn.status(subject, self.of.status.cloud_credentials.as_ref());
        let before = self.of.status.conditions.of(ConditionType::CredentialsPublished).cloned();
        let told = turn.condition(subject, self.of.now);
        for purpose in &turn.new {
            let written = turn.kept.iter().find(|(known, _)| known == purpose);
            let Some((_, Some(written))) = written else { continue };
            let message = format!(
                "Secret {}/{} holds a new cloud credential, valid until {}",
                subject.namespace,
                purpose.secret_name(&subject.cluster),
                written.expires_at
            );
            self.of.note(Note { tone: Tone::Normal, reason: "CredentialIssued", message }).await;
        }
        self.of.again |= turn.trouble.is_some() && turn.valid_until(self.of.now).is_none();
        let Some((status, reason, message)) = told else { return };
        let is_news = before.is_none_or(|before| before.status != status || before.reason != reason);
        if let Some(trouble) = turn.trouble.filter(|_| is_news) {
            tracing::warn!(cluster = %self.of.request.id, cause = trouble.kind, error = trouble.message, "credentials are not made");
            self.of
                .note(Note { tone: Tone::Warning, reason: "CredentialsFailed", message: message.clone() })
                .await;
        }
        self.of.says(ConditionType::CredentialsPublished, status, reason, &message);
    }

    /// Both credentials, within their bound.
    async fn take(&self) -> Turn {
        let mut turn = Turn::default();
        let took = tokio::time::timeout(BOUND, self.try_take(&mut turn)).await;
        let trouble = match took {
            Ok(Ok(())) => return turn,
            Ok(Err(trouble)) => trouble,
            Err(_) => {
                let trouble = CredentialError::too_slow(&self.subject.opened.cloud, BOUND);
                self.of.request.ports.cloud_credentials.failed(&self.subject.opened, self.of.now, &trouble);
                trouble
            }
        };
        // A failure that passes by itself is reported only if something is due; a refused credential always is.
        let is_told = turn.is_due || !trouble.passes();
        metrics::counter!("capstan_reconciler_failures_total", "cause" => trouble.kind).increment(1);
        turn.trouble = Some(trouble).filter(|_| is_told);
        // Something may have been done before; what cannot be read is as it was read before.
        let _unread = self.read_secrets(&mut turn).await;
        turn
    }

    async fn read_secrets(&self, turn: &mut Turn) -> Result<(), CredentialError> {
        let Self { subject, by, wish, .. } = *self;
        for purpose in Purpose::ALL {
            let secret = read_secret(self.of.request.ports, by, subject, purpose, wish).await?;
            turn.set(purpose, secret.as_ref().and_then(secret::read).map(|found| found.written));
        }
        Ok(())
    }

    async fn try_take(&self, turn: &mut Turn) -> Result<(), CredentialError> {
        let Self { subject, by, wish, .. } = *self;
        let (request, now) = (self.of.request, self.of.now);
        let (ports, known) = (request.ports, request.ports.cloud_credentials.as_ref());
        let is_over = || (request.is_over)().is_some();
        turn.is_due = true;
        self.read_secrets(turn).await?;
        turn.is_due =
            wish == Wish::Remove || turn.kept.iter().any(|(_, written)| is_due(written.as_ref(), now));
        let keeps_earlier = |written: &CredentialRecord| !written.previous.is_empty();
        let keeps_earlier = turn.kept.iter().any(|(_, written)| written.as_ref().is_some_and(keeps_earlier));
        let interval = if keeps_earlier { LOOK_FOR_EARLIER } else { LOOK };
        if !turn.is_due && !known.is_to_look(&request.fleet.key, request.id, interval, now) {
            return Ok(());
        }
        let cloud = known.log_in(ports.status_store.as_ref(), &subject.opened, now).await?;
        let uid = ports.live.uid().await?;
        for purpose in Purpose::ALL {
            let known_of =
                remembered(self.of.status.cloud_credentials.as_ref(), &purpose.secret_name(&subject.cluster));
            let mut life = CredentialLife {
                ports,
                by,
                cloud: cloud.as_ref(),
                subject,
                purpose,
                wish,
                uid: &uid,
                now,
                remembered: known_of
                    .map(|secret| secret.previous.iter().chain([&secret.credential]).cloned().collect())
                    .unwrap_or_default(),
                seen_on: known_of.and_then(|secret| secret.in_use.clone()),
                is_new: false,
                live: None,
            };
            match live_unless(&mut life, &is_over).await {
                Ok(Some((rest, facts))) => {
                    if let Rest::Wait { behind, .. } = &rest
                        && !behind.is_empty()
                    {
                        tracing::debug!(cluster = %request.id, behind = behind.join(", "), "an earlier credential is kept");
                    }
                    turn.new.extend(life.is_new.then_some(purpose));
                    turn.set(purpose, facts.written);
                }
                Ok(None) => {}
                Err(trouble) => {
                    if trouble.is_of_cloud() {
                        known.failed(&subject.opened, now, &trouble);
                    }
                    return Err(trouble);
                }
            }
        }
        if !is_over() {
            turn.is_due = false;
            known.looked(&request.fleet.key, request.id, now);
        }
        Ok(())
    }
}

/// Whether something is to be done by what the Secret says alone.
fn is_due(written: Option<&CredentialRecord>, now: Timestamp) -> bool {
    written.is_none_or(|written| written.state == WrittenState::Outdated || now >= renewal(written))
}
