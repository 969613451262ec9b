//! What is said of the key of a cluster's owners: the condition, and what is remembered.

use capstan_live::owners::OwnersForm;
use capstan_model::object::ObjectId;
use jiff::Timestamp;

use super::asked::OwnersRequest;
use super::secret::{self, StoredKubeconfig};
use super::step::{Handed, renewal};
use super::trouble::{OwnersError, TroubleKind};
use crate::resources::{ConditionStatus, KeyFile, KeyRecipient, OwnersKeyStatus};

/// So many owners are named in a condition.
const MOST_NAMED: usize = 10;

/// What is said: status, reason, message.
pub type OwnersCondition = (ConditionStatus, &'static str, String);

/// Without owners.
pub fn nobody() -> OwnersCondition {
    let message = "`owners` in the cluster's capstan.yaml has no key to encrypt to: Capstan publishes no key of the cluster";
    (ConditionStatus::False, "NoOwners", message.to_owned())
}

/// What is said at the end of a look.
pub fn condition(
    cluster: &ObjectId,
    asked: &OwnersRequest,
    kept: Option<&StoredKubeconfig>,
    trouble: Option<&OwnersError>,
    now: Timestamp,
) -> OwnersCondition {
    let is_valid = |kept: &&StoredKubeconfig| kept.file.expires_at.is_none_or(|ends| now < ends);
    match (kept.filter(is_valid), trouble) {
        (Some(kept), Some(trouble)) if trouble.kind == TroubleKind::BotNotReached => {
            let message = format!("{}. {}", trouble.message, published(cluster, kept));
            (ConditionStatus::False, trouble.kind.as_str(), message)
        }
        (Some(kept), Some(trouble)) => {
            let message = format!("not renewed: {}. {}", trouble.message, published(cluster, kept));
            (ConditionStatus::False, trouble.kind.as_str(), message)
        }
        (None, Some(trouble)) => (ConditionStatus::False, trouble.kind.as_str(), trouble.message.clone()),
        (Some(kept), None) if !asked.unusable.is_empty() => {
            let message = format!("no key for {}. {}", asked.unusable.join("; "), published(cluster, kept));
            (ConditionStatus::False, "OwnerKeyUnusable", message)
        }
        (Some(kept), None) => (ConditionStatus::True, "Published", published(cluster, kept)),
        (None, None) if !asked.unusable.is_empty() => {
            let message = format!("no key for {}", asked.unusable.join("; "));
            (ConditionStatus::False, "OwnerKeyUnusable", message)
        }
        (None, None) => nobody(),
    }
}

fn published(cluster: &ObjectId, kept: &StoredKubeconfig) -> String {
    let id = secret::id(cluster);
    let until = kept.file.expires_at.map(|ends| format!(", valid until {ends}")).unwrap_or_default();
    let renewed = renewal(&kept.file).map(|at| format!(", renewed at {at}")).unwrap_or_default();
    let whom = match kept.file.form {
        OwnersForm::Login => "every user who logs in".to_owned(),
        OwnersForm::Certificate | OwnersForm::Admin => {
            let mut names: Vec<String> =
                kept.recipients.iter().take(MOST_NAMED).map(|one| one.name.clone()).collect();
            let more = kept.recipients.len().saturating_sub(MOST_NAMED);
            names.extend((more > 0).then(|| format!("{more} more")));
            names.join(", ")
        }
    };
    format!("{id} holds {} for {whom}{until}{renewed}", secret::file_name(kept.file.form))
}

impl Handed {
    /// What was handed out, as it is remembered.
    pub fn of(status: Option<&OwnersKeyStatus>) -> Self {
        status.map_or_else(Self::default, |status| Self {
            generation: status.generation,
            recipients: status.recipients.iter().map(|one| one.fingerprint.clone()).collect(),
        })
    }
}

/// What is remembered; `None` of a cluster that never had owners.
pub fn status(
    handed: &Handed,
    asked: &OwnersRequest,
    before: Option<&OwnersKeyStatus>,
    cluster: &ObjectId,
    kept: Option<&StoredKubeconfig>,
) -> Option<OwnersKeyStatus> {
    if handed.generation == 0 && kept.is_none() {
        return None;
    }
    let now = asked.named();
    // A person may have had two names: the newest one is used. Only Git gives keys, so the names of a Secret come last.
    let names: Vec<&KeyRecipient> = now
        .iter()
        .chain(before.into_iter().flat_map(|before| &before.recipients))
        .chain(kept.into_iter().flat_map(|kept| &kept.recipients))
        .collect();
    let named = |fingerprint: &String| {
        let known = names.iter().find(|one| one.fingerprint == *fingerprint);
        let unknown = || KeyRecipient { name: String::new(), fingerprint: fingerprint.clone(), key: None };
        known.map_or_else(unknown, |one| (*one).clone())
    };
    let mut recipients: Vec<KeyRecipient> = handed.recipients.iter().map(named).collect();
    recipients.sort();
    Some(OwnersKeyStatus {
        generation: handed.generation,
        recipients,
        file: kept.map(|kept| KeyFile {
            form: kept.file.form,
            generation: kept.file.generation,
            lifetime_days: asked.access.lifetime_days,
            publish: asked.access.publish,
            secret: secret::id(cluster).name,
            sha256: kept.sha256.clone(),
            expires_at: kept.file.expires_at,
        }),
    })
}
