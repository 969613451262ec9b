//! The Secret that is written: whose it is, what it holds, and nothing of it anywhere else.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_live::applying::{sent_new, sent_over};
use capstan_live::secrets::{ResolvedReason, SECRET_LABEL, VaultSecretSpec};
use capstan_model::digest::sha256;
use capstan_reconciler_core::leases::VaultSecretKey;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value, json};

use super::asking::Asking;
use super::subject::VaultSecretSubject;
use crate::reconcile::dependencies::Ports;
use capstan_ports::{
    ApiKind, ApiObject, As, Contested, Deleted, ManagementCluster as _, Preconditions, Run, VaultError,
};

/// Which lease the content is of, and SHA-256 of the content by keys: Vault does not give the content of a lease again.
const LEASE: &str = "capstan.dev/vault-lease";
const CONTENT: &str = "capstan.dev/vault-content";
/// The largest Secret that an API server takes, by its own rule.
const MOST_BYTES: usize = 1 << 20;

/// What a Secret holds, by keys.
pub(super) type SecretEntries = BTreeMap<String, SecretString>;

/// The Secret of a VaultSecret.
pub(super) struct OutputSecret<'s> {
    pub(super) owner: &'s VaultSecretKey,
    pub(super) spec: &'s VaultSecretSpec,
}

/// A value as a Secret holds it: text as it is, anything else as JSON.
pub(super) fn as_text(value: &Value) -> SecretString {
    SecretString::from(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// Whether a Secret may have this key.
pub(super) fn is_key(key: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.');
    !key.is_empty() && key.len() <= 253 && !matches!(key, "." | "..") && key.chars().all(is_sign)
}

impl OutputSecret<'_> {
    fn object(&self) -> ApiObject {
        secret(&self.owner.0, self.spec.secret_name(&self.owner.1))
    }

    /// As it is there, where it is this one's.
    ///
    /// # Errors
    /// It cannot be read, or is somebody else's.
    pub(super) async fn read(&self, asking: Asking<'_>) -> Result<Option<Value>, VaultError> {
        let object = self.object();
        let Some(found) = asking.ports.live.read(asking.by, &object).await? else { return Ok(None) };
        match label(&found) {
            Some(owner) if owner == self.owner.1 => {
                self.note(asking, &found);
                Ok(Some(found))
            }
            Some(owner) => Err(VaultError::new(
                ResolvedReason::NotAllowed,
                format!(
                    "{object} belongs to the VaultSecret {owner}: give one of them another `secret.name`"
                ),
            )),
            None => Err(VaultError::new(
                ResolvedReason::NotAllowed,
                format!(
                    "{object} exists, and was not written for a VaultSecret: delete it (with a tombstone, if the folder rendered it), or label it {SECRET_LABEL}={}",
                    self.owner.1
                ),
            )),
        }
    }

    /// Whether it holds that already, all of it, and no key that it held before besides.
    pub(super) fn holds(&self, live: &Value, content: &SecretEntries, before: &[&str]) -> bool {
        let data = live.get("data").and_then(Value::as_object);
        let same = |(key, value): (&String, &SecretString)| {
            let held = data.and_then(|data| data.get(key)).and_then(Value::as_str);
            held == Some(STANDARD.encode(value.expose_secret()).as_str())
        };
        let labels = live.pointer("/metadata/labels");
        let labelled = |(key, value): (&String, &String)| {
            labels.and_then(|labels| labels.get(key)).and_then(Value::as_str) == Some(value)
        };
        content.iter().all(same)
            && self.spec.secret.labels.iter().all(labelled)
            && text(live, "/type") == self.spec.secret_type()
            && before.iter().all(|key| content.contains_key(*key))
    }

    /// Whether it holds what that lease gave.
    pub(super) fn holds_lease(&self, live: &Value, lease: &str) -> bool {
        let annotation = |key: &str| live.pointer("/metadata/annotations")?.get(key)?.as_str();
        let data = live.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
        let then: Option<BTreeMap<String, String>> =
            annotation(CONTENT).and_then(|text| serde_json::from_str(text).ok());
        let now = digests(&data);
        annotation(LEASE) == Some(lease)
            && then.is_some_and(|then| then.iter().all(|(key, digest)| now.get(key) == Some(digest)))
    }

    /// Writes it over the one that was read, or where there was none.
    pub(super) async fn write(
        &self,
        asking: Asking<'_>,
        live: Option<&Value>,
        content: &SecretEntries,
        lease: Option<&str>,
    ) -> Result<(), VaultError> {
        let size: usize = content.values().map(|value| value.expose_secret().len()).sum();
        if size > MOST_BYTES {
            let message = format!("its content is too large for a Secret: {size} bytes");
            return Err(VaultError::new(ResolvedReason::BadData, message));
        }
        let data: Map<String, Value> = content
            .iter()
            .map(|(key, value)| (key.clone(), STANDARD.encode(value.expose_secret()).into()))
            .collect();
        let mut labels = json!(self.spec.secret.labels);
        labels[SECRET_LABEL] = json!(self.owner.1);
        let mut manifest = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": self.spec.secret_name(&self.owner.1),
                "namespace": self.owner.0,
                "labels": labels,
            },
            "type": self.spec.secret_type(),
        });
        if let Some(lease) = lease {
            manifest["metadata"]["annotations"] =
                json!({LEASE: lease, CONTENT: json!(digests(&data)).to_string()});
        }
        manifest["data"] = Value::Object(data);
        let manifest = match live {
            Some(live) => sent_over(&manifest, live),
            None => sent_new(&manifest),
        };
        let now = asking.ports.live.apply(asking.by, &manifest, Run::Real, Contested::Take).await?;
        self.note(asking, &now);
        Ok(())
    }

    /// Notes the version of the Secret: a later one is news.
    fn note(&self, asking: Asking<'_>, found: &Value) {
        let name = self.spec.secret_name(&self.owner.1);
        asking.vault.knows_secret(self.owner, name, text(found, "/metadata/resourceVersion"));
    }
}

/// Deletes the Secrets that were written for the VaultSecret under other names, now that the one with this name exists.
pub(super) async fn keep_only(
    asking: Asking<'_>,
    subject: &mut VaultSecretSubject,
    name: &str,
) -> Result<(), VaultError> {
    if subject.status.secret_name.as_deref() != Some(name) {
        // Of one that never held anything there is no other.
        if subject.status.secret_name.is_some() || subject.status.last_read.is_some() {
            remove_others(asking.ports, asking.by, subject, Some(name)).await?;
        }
        subject.status.secret_name = Some(name.to_owned());
    }
    Ok(())
}

/// Deletes the Secrets that were written for a VaultSecret, under whatever names, but for one that stays.
pub(super) async fn remove_others(
    ports: &Ports,
    by: &As,
    subject: &VaultSecretSubject,
    stays: Option<&str>,
) -> Result<(), VaultError> {
    let (namespace, own) = (subject.key.0.as_str(), subject.key.1.as_str());
    let kind = ApiKind::of_version("v1", "Secret");
    let mut names: BTreeSet<String> = subject.status.secret_name.iter().cloned().collect();
    match ports.live.list(by, &kind, Some(namespace), &[(SECRET_LABEL, own)]).await {
        Ok(found) => names.extend(found.iter().map(|one| text(one, "/metadata/name").to_owned())),
        // Who may not list them knows the one that was written last.
        Err(error) if error.is_forbidden() => {
            names.insert(subject.spec.as_ref().map_or(own, |spec| spec.secret_name(own)).to_owned());
        }
        Err(error) => return Err(error.into()),
    }
    for name in names.iter().filter(|name| Some(name.as_str()) != stays) {
        remove(ports, by, &subject.key, name).await?;
    }
    Ok(())
}

/// Deletes a Secret of a VaultSecret; one that is not its own stays.
async fn remove(ports: &Ports, by: &As, owner: &VaultSecretKey, name: &str) -> Result<(), VaultError> {
    let object = secret(&owner.0, name);
    let Some(found) = ports.live.read(by, &object).await? else { return Ok(()) };
    if label(&found) != Some(owner.1.as_str()) {
        return Ok(());
    }
    let only = Preconditions {
        uid: text(&found, "/metadata/uid"),
        resource_version: Some(text(&found, "/metadata/resourceVersion")),
    };
    match ports.live.delete(by, &object, only, Run::Real).await? {
        Deleted::Gone | Deleted::Absent => Ok(()),
        Deleted::Terminating | Deleted::Replaced | Deleted::Changed => Err(VaultError::new(
            ResolvedReason::Away,
            format!("{object} is being deleted, or was changed meanwhile"),
        )),
    }
}

/// A Secret by name.
pub(super) fn secret(namespace: &str, name: &str) -> ApiObject {
    ApiObject {
        kind: ApiKind::of_version("v1", "Secret"),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    }
}

fn label(secret: &Value) -> Option<&str> {
    secret.pointer("/metadata/labels")?.get(SECRET_LABEL)?.as_str()
}

fn digests(data: &Map<String, Value>) -> BTreeMap<String, String> {
    data.iter().map(|(key, value)| (key.clone(), sha256(value.as_str().unwrap_or_default()))).collect()
}

/// A text in an object.
pub(super) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
