//! A VaultSecret as it was read, and what is written back to it.

use capstan_live::secrets::{ResolvedReason, VaultSecretSpec};
use capstan_reconciler_core::leases::{
    API_VERSION, Accounts, Appliers, KIND, SeenVaultSecret, VaultSecretKey, kind,
};
use jiff::Timestamp;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::reconcile::dependencies::Ports;
use capstan_ports::{ApiObject, As, Contested, ManagementCluster as _, ObjectPart, Run, VaultError};
use capstan_reconciler_core::resources::{ConditionStatus, ConditionType, VaultSecretStatus};

/// Set while there is something to end or to delete.
const FINALIZER: &str = "capstan.dev/vault-secret";

#[derive(Debug, Clone)]
pub(super) struct VaultSecretSubject {
    pub(super) key: VaultSecretKey,
    pub(super) uid: String,
    pub(super) resource_version: String,
    pub(super) generation: i64,
    pub(super) is_deleting: bool,
    /// Since when.
    pub(super) deleted: Option<Timestamp>,
    finalizers: Vec<String>,
    pub(super) spec: Result<VaultSecretSpec, String>,
    /// What will be said; begins as what was said last.
    pub(super) status: VaultSecretStatus,
    /// The status there.
    written: VaultSecretStatus,
}

/// One of them by name.
pub(super) fn object(namespace: &str, name: &str) -> ApiObject {
    ApiObject { kind: kind(), namespace: Some(namespace.to_owned()), name: name.to_owned() }
}

impl VaultSecretSubject {
    /// Reads it. A status that another version of Capstan wrote counts as none.
    pub(super) fn read(object: &Value) -> Self {
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let status = object.get("status").and_then(|status| VaultSecretStatus::deserialize(status).ok());
        let mut status = status.unwrap_or_default();
        status.bound_earlier();
        let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        let finalizers = finalizers.into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned));
        Self {
            key: (text("/metadata/namespace"), text("/metadata/name")),
            uid: text("/metadata/uid"),
            resource_version: text("/metadata/resourceVersion"),
            generation: object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default(),
            is_deleting: object.pointer("/metadata/deletionTimestamp").is_some(),
            deleted: text("/metadata/deletionTimestamp").parse().ok(),
            finalizers: finalizers.collect(),
            spec: VaultSecretSpec::read(object),
            written: status.clone(),
            status,
        }
    }

    /// What tells a later look whether it changed.
    pub(super) fn seen(&self) -> SeenVaultSecret {
        SeenVaultSecret { uid: self.uid.clone(), generation: self.generation, is_deleting: self.is_deleting }
    }

    /// Who acts for it.
    pub(super) fn accounts(&self, appliers: &Appliers) -> Option<Accounts> {
        appliers.of((&self.key, &self.uid), self.is_deleting)
    }

    /// The store that it names; empty where nobody can read that.
    pub(super) fn store_name(&self) -> &str {
        self.spec.as_ref().map(|spec| spec.store.as_str()).unwrap_or_default()
    }

    /// Whether it holds a lease, or may.
    pub(super) fn has_lease(&self) -> bool {
        self.status.lease.is_some() || self.status.asked_with.is_some() || !self.status.earlier.is_empty()
    }

    /// Forgets the leases of a store of which that holds, by UID, id and login; how many.
    pub(super) fn forget_leases(
        &mut self,
        store: &str,
        is_false: impl Fn(&str, &str, &str) -> bool,
    ) -> usize {
        let own = self.store_name().to_owned();
        let is_here = |of: &str| of == store || of.is_empty() && own == store;
        let uid = &self.uid;
        let before = self.status.earlier.len();
        self.status.earlier.retain(|one| {
            let id = one.id.as_ref().filter(|_| is_here(&one.store));
            id.is_none_or(|id| !is_false(uid, id, &one.login))
        });
        let gone = before - self.status.earlier.len();
        let lease = self.status.lease.as_ref().filter(|lease| is_here(&lease.store));
        if lease.is_some_and(|lease| is_false(uid, &lease.id, &lease.login)) {
            (self.status.lease, self.status.lease_expires) = (None, None);
            return gone + 1;
        }
        gone
    }

    fn object(&self) -> ApiObject {
        object(&self.key.0, &self.key.1)
    }

    /// Nothing of it goes before what it made is ended.
    pub(super) async fn hold(&mut self, ports: &Ports, by: &As) -> Result<(), VaultError> {
        if self.finalizers.iter().any(|one| one == FINALIZER) {
            return Ok(());
        }
        let mut finalizers = self.finalizers.clone();
        finalizers.push(FINALIZER.to_owned());
        self.patch(ports, by, ObjectPart::Whole, "/metadata/finalizers", json!(finalizers)).await?;
        self.finalizers = finalizers;
        Ok(())
    }

    /// It may go.
    pub(super) async fn let_go(&mut self, ports: &Ports, by: &As) -> Result<(), VaultError> {
        let left: Vec<String> = self.finalizers.iter().filter(|one| *one != FINALIZER).cloned().collect();
        if left.len() == self.finalizers.len() {
            return Ok(());
        }
        self.patch(ports, by, ObjectPart::Whole, "/metadata/finalizers", json!(left)).await?;
        self.finalizers = left;
        Ok(())
    }

    /// Writes the status, where it changed: with the reconciler's own rights, because an account of the namespace that
    /// could write a status could write anything there.
    pub(super) async fn save(&mut self, ports: &Ports) -> Result<(), VaultError> {
        if self.status == self.written {
            return Ok(());
        }
        let status = serde_json::to_value(&self.status).map_err(|error| {
            VaultError::new(ResolvedReason::BadData, format!("its status cannot be written: {error}"))
        })?;
        self.patch(ports, &As::Reconciler, ObjectPart::Status, "/status", status).await?;
        self.written = self.status.clone();
        Ok(())
    }

    async fn patch(
        &mut self,
        ports: &Ports,
        by: &As,
        part: ObjectPart,
        path: &str,
        value: Value,
    ) -> Result<(), VaultError> {
        let patch = json!([
            {"op": "replace", "path": "/metadata/resourceVersion", "value": self.resource_version},
            {"op": "add", "path": path, "value": value},
        ]);
        let now = ports.live.patch(by, &self.object(), part, &patch, Run::Real).await?;
        if let Some(version) = now.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
            version.clone_into(&mut self.resource_version);
        }
        Ok(())
    }

    /// Sets its condition; whether the reason is a new one.
    pub(super) fn say(&mut self, now: Timestamp, why: ResolvedReason, message: impl Into<String>) -> bool {
        let before = self.status.conditions.of(ConditionType::Resolved).map(|one| one.reason.clone());
        let status =
            if why == ResolvedReason::Resolved { ConditionStatus::True } else { ConditionStatus::False };
        let conditions = &mut self.status.conditions;
        conditions.set(now, self.generation, ConditionType::Resolved, status, why.as_str(), message);
        before.as_deref() != Some(why.as_str())
    }

    /// What is said of it while it holds what it asks for.
    pub(super) fn said(&self) -> Option<String> {
        let said = self.status.conditions.of(ConditionType::Resolved)?;
        (said.status == ConditionStatus::True).then(|| said.message.clone())
    }

    /// Publishes an event on it, in its namespace; the event may get lost.
    pub(super) async fn note(
        &self,
        ports: &Ports,
        by: &As,
        now: Timestamp,
        why: ResolvedReason,
        message: &str,
    ) {
        const LONGEST: usize = 900;
        let (namespace, name) = &self.key;
        let note: String = message.chars().take(LONGEST).collect();
        let event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": namespace, "name": format!("{name}.{:x}", now.as_millisecond())},
            "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string(),
            "reportingController": "capstan.dev/reconciler",
            "reportingInstance": "capstan-reconciler",
            "action": "Resolve",
            "reason": why.as_str(),
            "type": if why == ResolvedReason::Resolved { "Normal" } else { "Warning" },
            "note": note,
            "regarding": {
                "apiVersion": API_VERSION, "kind": KIND,
                "namespace": namespace, "name": name, "uid": self.uid,
            },
        });
        let said = ports.live.apply(by, &event, Run::Real, Contested::Refuse).await;
        if let Err(error) = said {
            tracing::debug!(secret = %self.object(), %error, "an event was lost");
        }
    }
}
