//! Logins that have leases, and which leases those are, over restarts: in a Secret of their namespace.
//!
//! A token is a secret, so no status holds it. A user who may read Secrets of the namespace may log in as it anyway,
//! and one who may write them may end those leases without Capstan. A lease of a login that is not the namespace's own
//! is kept here, too, without that login.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_live::applying::{sent_new, sent_over};
use capstan_live::secrets::ResolvedReason;
use capstan_model::digest::sha256;
use capstan_reconciler_core::leases::LoginTimes;
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::asking::Asking;
use super::logins::{KeptLease, StoreLogin};
use super::target::{secret, text};
use capstan_ports::{Contested, Deleted, ManagementCluster as _, Preconditions, Run, VaultError};
use capstan_reconciler_core::resources::ServiceAccountSpec;

/// The label, with the store's name as far as a label takes it.
const LABEL: &str = "capstan.dev/vault-login";
const LOGINS: &str = "logins";
const LEASES: &str = "leases";

/// The Secret with the logins of a namespace and store.
pub(super) struct KeptLogins<'a> {
    asking: Asking<'a>,
    store: &'a str,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredLogins {
    token: String,
    since: Timestamp,
    expires: Option<Timestamp>,
    first_seconds: i64,
    renewable: bool,
    print: String,
    retires: bool,
}

impl<'a> KeptLogins<'a> {
    pub(super) const fn of(asking: Asking<'a>, store: &'a str) -> Self {
        Self { asking, store }
    }

    fn name(&self) -> String {
        const LONGEST: usize = 200;
        let short: String = self.store.chars().take(LONGEST).collect();
        let account = &self.asking.account.name;
        if account == ServiceAccountSpec::DEFAULT_NAME {
            return format!("capstan-vault-{short}");
        }
        // Fleets may have accounts of their own in one namespace, and each its own logins.
        let account: String = sha256(account).chars().take(8).collect();
        format!("capstan-vault-{short}-{account}")
    }

    /// The store's name as a label's value: one that is longer by its digest.
    fn label(&self) -> String {
        const LONGEST: usize = 63;
        if self.store.len() <= LONGEST {
            return self.store.to_owned();
        }
        sha256(self.store).chars().take(LONGEST).collect()
    }

    async fn live(&self) -> Result<Option<Value>, VaultError> {
        let object = secret(&self.asking.account.namespace, &self.name());
        let Some(found) = self.asking.ports.live.read(self.asking.by, &object).await? else {
            return Ok(None);
        };
        let label =
            found.pointer("/metadata/labels").and_then(|labels| labels.get(LABEL)).and_then(Value::as_str);
        if label == Some(self.label().as_str()) {
            return Ok(Some(found));
        }
        Err(VaultError::new(
            ResolvedReason::NotAllowed,
            format!(
                "{object} exists, and is not Capstan's: its name is reserved for logins that leases depend on. Delete it"
            ),
        ))
    }

    /// What is kept; what somebody made unreadable is nothing.
    pub(super) async fn read(
        &self,
    ) -> Result<Option<(Vec<StoreLogin>, BTreeMap<String, KeptLease>)>, VaultError> {
        let Some(found) = self.live().await? else { return Ok(None) };
        let of = |key: &str| STANDARD.decode(text(&found, &format!("/data/{key}"))).unwrap_or_default();
        let all: BTreeMap<String, StoredLogins> = serde_json::from_slice(&of(LOGINS)).unwrap_or_default();
        let leases = serde_json::from_slice(&of(LEASES)).unwrap_or_default();
        let login = |(accessor, one): (String, StoredLogins)| StoreLogin {
            accessor,
            token: SecretString::from(one.token),
            times: LoginTimes {
                since: one.since,
                expires: one.expires,
                first_seconds: one.first_seconds,
                is_renewable: one.renewable,
            },
            print: one.print,
            is_own: true,
            retires: one.retires,
        };
        Ok(Some((all.into_iter().map(login).collect(), leases)))
    }

    /// Keeps these and no others.
    pub(super) async fn write(
        &self,
        logins: &[&StoreLogin],
        leases: &BTreeMap<String, KeptLease>,
    ) -> Result<(), VaultError> {
        let all: BTreeMap<&str, StoredLogins> = logins
            .iter()
            .map(|login| {
                let kept = StoredLogins {
                    token: login.token.expose_secret().to_owned(),
                    since: login.times.since,
                    expires: login.times.expires,
                    first_seconds: login.times.first_seconds,
                    renewable: login.times.is_renewable,
                    print: login.print.clone(),
                    retires: login.retires,
                };
                (login.accessor.as_str(), kept)
            })
            .collect();
        let manifest = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": self.name(),
                "namespace": self.asking.account.namespace,
                "labels": {LABEL: self.label()},
            },
            "type": "Opaque",
            "data": {
                LOGINS: STANDARD.encode(json!(all).to_string()),
                LEASES: STANDARD.encode(json!(leases).to_string()),
            },
        });
        let live = self.live().await?;
        let manifest = match &live {
            Some(live) => sent_over(&manifest, live),
            None => sent_new(&manifest),
        };
        self.asking.ports.live.apply(self.asking.by, &manifest, Run::Real, Contested::Take).await?;
        Ok(())
    }

    /// Nothing is kept any more.
    pub(super) async fn remove(&self) -> Result<(), VaultError> {
        let Some(found) = self.live().await? else { return Ok(()) };
        let only = Preconditions {
            uid: text(&found, "/metadata/uid"),
            resource_version: Some(text(&found, "/metadata/resourceVersion")),
        };
        let object = secret(&self.asking.account.namespace, &self.name());
        match self.asking.ports.live.delete(self.asking.by, &object, only, Run::Real).await? {
            Deleted::Gone | Deleted::Absent => Ok(()),
            Deleted::Terminating | Deleted::Replaced | Deleted::Changed => {
                Err(VaultError::new(ResolvedReason::Away, format!("{object} was changed meanwhile")))
            }
        }
    }
}
