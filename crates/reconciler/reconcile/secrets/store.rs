//! A VaultStore, ready to be asked for a namespace.

use std::sync::Arc;

use capstan_live::secrets::{ResolvedReason, StoreAuth, VaultStoreSpec};
use capstan_model::digest::sha256;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use super::memory::VaultSecrets;
use super::patience::Patient;
use crate::reconcile::dependencies::Ports;
use capstan_ports::{
    ApiKind, ApiObject, As, ManagementCluster as _, ServiceAccount, VaultAddress, VaultError, VaultLogin,
};

/// A store, and the Vault behind it.
#[derive(Clone)]
pub(super) struct Store {
    name: String,
    spec: VaultStoreSpec,
    pub(super) vault: Arc<Patient>,
    /// Of what decides who a login is: another one is another login.
    pub(super) print: String,
}

impl VaultSecrets {
    /// The store of that name, for a namespace.
    ///
    /// # Errors
    /// It is not there, cannot be used, or serves other namespaces.
    pub(super) async fn store(
        &self,
        ports: &Ports,
        name: &str,
        namespace: &str,
    ) -> Result<Store, VaultError> {
        let object = ApiObject {
            kind: ApiKind::of_version("capstan.dev/v1alpha1", "VaultStore"),
            namespace: Some(self.namespace.clone()),
            name: name.to_owned(),
        };
        let found = ports.live.read(&As::Reconciler, &object).await?;
        let found = found.ok_or_else(|| {
            VaultError::new(
                ResolvedReason::Missing,
                format!("there is no VaultStore {}/{name}", self.namespace),
            )
        })?;
        let spec = VaultStoreSpec::read(&found).map_err(|error| {
            VaultError::new(ResolvedReason::BadData, format!("VaultStore {name}: {error}"))
        })?;
        if !spec.serves(namespace) {
            let message = format!(
                "the VaultStore {name} does not serve the namespace {namespace}: its `namespaces` list those that it serves"
            );
            return Err(VaultError::new(ResolvedReason::NotAllowed, message));
        }
        let ca = match &spec.ca_secret_name {
            Some(secret) => {
                let pem = self.beside(ports, name, secret, "ca.crt").await?;
                Some(pem.expose_secret().to_owned())
            }
            None => None,
        };
        let address =
            VaultAddress { url: spec.url.clone(), ca: ca.clone(), namespace: spec.vault_namespace.clone() };
        let vault = self.open(name, &address)?;
        // Who else the store serves does not affect a login.
        let of_login = ["/spec/url", "/spec/vaultNamespace", "/spec/auth"].map(|at| found.pointer(at));
        let print = sha256(json!([of_login, ca]).to_string());
        Ok(Store { name: name.to_owned(), spec, vault, print })
    }

    /// The value under a key of a Secret beside the stores.
    async fn beside(
        &self,
        ports: &Ports,
        store: &str,
        secret: &str,
        key: &str,
    ) -> Result<SecretString, VaultError> {
        let missing = |what: String| {
            let message =
                format!("Secret {}/{secret}, which the VaultStore {store} names, {what}", self.namespace);
            VaultError::new(ResolvedReason::Missing, message)
        };
        let found = ports.status_store.secret(&self.namespace, secret).await?;
        let data = found.ok_or_else(|| missing("is not there".to_owned()))?;
        let value = data.get(key).filter(|value| !value.expose_secret().trim().is_empty());
        value.cloned().ok_or_else(|| missing(format!("has no key `{key}`")))
    }

    /// What somebody of a namespace logs in with.
    pub(super) async fn credential(
        &self,
        ports: &Ports,
        store: &Store,
        account: &ServiceAccount,
    ) -> Result<VaultLogin, VaultError> {
        let role_of = |role: &str| StoreAuth::role_for(role, &account.namespace);
        match &store.spec.auth {
            StoreAuth::Jwt { path, role, audience } => {
                let jwt = self.tokens.token(account, Some(audience)).await?;
                Ok(VaultLogin::Jwt { path: path.clone(), role: role_of(role), jwt })
            }
            StoreAuth::Kubernetes { path, role, audience } => {
                let jwt = self.tokens.token(account, audience.as_deref()).await?;
                Ok(VaultLogin::Jwt { path: path.clone(), role: role_of(role), jwt })
            }
            StoreAuth::AppRole { path, secret_name } => Ok(VaultLogin::AppRole {
                path: path.clone(),
                role_id: self.beside(ports, &store.name, secret_name, "roleId").await?,
                secret_id: self.beside(ports, &store.name, secret_name, "secretId").await?,
            }),
            StoreAuth::Token { secret_name } => {
                Ok(VaultLogin::Token(self.beside(ports, &store.name, secret_name, "token").await?))
            }
        }
    }
}

impl Store {
    /// Whether its logins are made here: a token that somebody made is not ended here either.
    pub(super) const fn makes_logins(&self) -> bool {
        !matches!(self.spec.auth, StoreAuth::Token { .. })
    }

    /// Whether each namespace logs in as itself: else its login opens what is another one's, too, and is kept nowhere.
    pub(super) const fn makes_own_logins(&self) -> bool {
        matches!(self.spec.auth, StoreAuth::Jwt { .. } | StoreAuth::Kubernetes { .. })
    }

    /// A login that leases hang on is kept in the namespace that asked for them: so it has to be that namespace's own.
    ///
    /// # Errors
    /// All namespaces that the store serves log in as one.
    pub(super) fn gives_leases(&self) -> Result<(), VaultError> {
        let is_shared = matches!(self.spec.auth, StoreAuth::AppRole { .. });
        let message = "a lease needs a separate login for the namespace: give the VaultStore `auth.jwt` or `auth.kubernetes`; with `appRole`, Vault cannot tell its namespaces apart";
        if is_shared { Err(VaultError::new(ResolvedReason::NotAllowed, message)) } else { Ok(()) }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}
