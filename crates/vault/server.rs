//! The calls (<https://developer.hashicorp.com/vault/api-docs>).

use std::sync::Arc;

use async_trait::async_trait;
use capstan_live::secrets::{KvRead, LeaseMethod, ResolvedReason};
use http::Method;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value, json};

use super::http::{VaultCall, VaultHttp};
use capstan_ports::{KvSecret, NewLease, Vault, VaultAddress, VaultError, VaultLogin, VaultToken, Vaults};

/// Vaults, wherever stores say that they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct VaultServers;

impl Vaults for VaultServers {
    fn open(&self, address: &VaultAddress) -> Result<Arc<dyn Vault>, VaultError> {
        Ok(Arc::new(VaultServer { http: VaultHttp::new(address)? }))
    }
}

struct VaultServer {
    http: VaultHttp,
}

impl VaultServer {
    /// What a login answers.
    async fn token(&self, call: &VaultCall<'_>) -> Result<VaultToken, VaultError> {
        let told = self.http.send(call).await?;
        if matches!(told.status.as_u16(), 400 | 401 | 403 | 404) {
            // A wrong service account or audience is a 400 whose text holds claims: it is not shown.
            return Err(VaultError::new(
                ResolvedReason::Denied,
                format!(
                    "{}: it is refused ({}): check the role's bindings in Vault, and `auth` of the VaultStore",
                    call.doing,
                    told.status.as_u16()
                ),
            ));
        }
        if !told.status.is_success() {
            return Err(self.http.refused(call, &told));
        }
        let auth = &told.body["auth"];
        let token = auth["client_token"].as_str().filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| self.http.useless(call, "answers without a token"))?;
        Ok(VaultToken {
            token: SecretString::from(token.to_owned()),
            accessor: auth["accessor"].as_str().unwrap_or_default().to_owned(),
            seconds: seconds(&auth["lease_duration"]),
            is_renewable: auth["renewable"].as_bool() == Some(true),
        })
    }

    /// Who a token is that somebody made.
    async fn look_up(&self, token: &SecretString) -> Result<VaultToken, VaultError> {
        let call = VaultCall {
            doing: "logging in with a token".to_owned(),
            method: Method::GET,
            path: vec!["auth", "token", "lookup-self"],
            query: None,
            token: Some(token),
            body: None,
        };
        let told = self.http.send(&call).await?;
        if told.status.as_u16() == 403 {
            let message = "logging in with a token: it is refused (403): it has expired, or was revoked";
            return Err(VaultError::new(ResolvedReason::Denied, message));
        }
        if !told.status.is_success() {
            return Err(self.http.refused(&call, &told));
        }
        let data = &told.body["data"];
        Ok(VaultToken {
            token: token.clone(),
            accessor: data["accessor"].as_str().unwrap_or_default().to_owned(),
            seconds: seconds(&data["ttl"]),
            is_renewable: data["renewable"].as_bool() == Some(true),
        })
    }

    /// Where a secret was deleted, or a version: 404 with a body that says so.
    fn gone(&self, call: &VaultCall<'_>, body: &Value) -> VaultError {
        let metadata = &body["data"]["metadata"];
        let version =
            metadata["version"].as_u64().map_or_else(String::new, |version| format!("version {version} "));
        let deleted = metadata["deletion_time"].as_str().is_some_and(|time| !time.is_empty());
        let what = match (metadata["destroyed"].as_bool() == Some(true), deleted) {
            (true, _) => format!("{version}was destroyed"),
            (false, true) => format!("{version}was deleted"),
            (false, false) => "there is no such secret or version".to_owned(),
        };
        VaultError::new(ResolvedReason::Missing, format!("{}: {what}", call.doing))
    }
}

#[async_trait]
impl Vault for VaultServer {
    async fn log_in(&self, login: &VaultLogin) -> Result<VaultToken, VaultError> {
        let (path, body, who) = match login {
            VaultLogin::Token(token) => return self.look_up(token).await,
            VaultLogin::Jwt { path, role, jwt } => {
                (path, json!({"role": role, "jwt": jwt.expose_secret()}), format!(" as the role {role}"))
            }
            VaultLogin::AppRole { path, role_id, secret_id } => {
                let body = json!({
                    "role_id": role_id.expose_secret().trim(),
                    "secret_id": secret_id.expose_secret().trim(),
                });
                (path, body, String::new())
            }
        };
        let mut parts = vec!["auth"];
        parts.extend(path.split('/'));
        parts.push("login");
        let call = VaultCall {
            doing: format!("logging in at auth/{path}{who}"),
            method: Method::POST,
            path: parts,
            query: None,
            token: None,
            body: Some(body),
        };
        self.token(&call).await
    }

    async fn is_alive(&self, token: &SecretString) -> Result<bool, VaultError> {
        match self.look_up(token).await {
            Ok(_) => Ok(true),
            Err(error) if error.why == ResolvedReason::Denied => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn read(&self, token: &SecretString, read: &KvRead) -> Result<KvSecret, VaultError> {
        let mut path: Vec<&str> = read.mount.split('/').collect();
        path.push("data");
        path.extend(read.path.split('/'));
        let call = VaultCall {
            doing: format!("reading {read}"),
            method: Method::GET,
            path,
            query: read.version.map(|version| ("version", version.to_string())),
            token: Some(token),
            body: None,
        };
        let told = self.http.send(&call).await?;
        if told.status.as_u16() == 404 {
            return Err(self.gone(&call, &told.body));
        }
        if !told.status.is_success() {
            return Err(self.http.refused(&call, &told));
        }
        let data = &told.body["data"];
        let version = data["metadata"]["version"].as_u64();
        match (data["data"].as_object(), version) {
            (Some(fields), Some(version)) => Ok(KvSecret { fields: fields.clone(), version }),
            (None, Some(_)) if data["data"].is_null() => Err(self.gone(&call, &told.body)),
            _ => Err(self
                .http
                .useless(&call, "does not answer with a secret of the key-value engine, version 2: is the mount of this kind?")),
        }
    }

    async fn lease(
        &self,
        token: &SecretString,
        path: &str,
        method: LeaseMethod,
        parameters: &Map<String, Value>,
    ) -> Result<NewLease, VaultError> {
        let call = VaultCall {
            doing: format!("asking for a lease of {path}"),
            method: match method {
                // Not a read: each answer is another lease. It is sent once.
                LeaseMethod::Get => Method::GET,
                LeaseMethod::Post => Method::POST,
            },
            path: path.split('/').collect(),
            query: None,
            token: Some(token),
            body: (method == LeaseMethod::Post).then(|| Value::Object(parameters.clone())),
        };
        let told = self.http.once(&call).await?;
        if !told.status.is_success() {
            return Err(self.http.refused(&call, &told));
        }
        // Also where there are none: what was given can be ended by its name alone.
        let fields = told.body["data"].as_object().cloned().unwrap_or_default();
        Ok(NewLease {
            id: told.body["lease_id"].as_str().unwrap_or_default().to_owned(),
            seconds: told.body["lease_duration"].as_i64().unwrap_or(0),
            is_renewable: told.body["renewable"].as_bool() == Some(true),
            fields,
        })
    }

    async fn knows(&self, token: &SecretString, lease: &str) -> Result<bool, VaultError> {
        let call = VaultCall {
            doing: "looking up a lease".to_owned(),
            method: Method::PUT,
            path: vec!["sys", "leases", "lookup"],
            query: None,
            token: Some(token),
            body: Some(json!({"lease_id": lease})),
        };
        let told = self.http.send(&call).await?;
        // A 404 may be of a server that has no such call.
        match told.status.as_u16() {
            400 => Ok(false),
            _ if told.status.is_success() => Ok(true),
            _ => Err(self.http.refused(&call, &told)),
        }
    }

    async fn renew(&self, token: &SecretString, lease: &str, seconds: i64) -> Result<i64, VaultError> {
        let call = VaultCall {
            doing: "renewing a lease".to_owned(),
            method: Method::PUT,
            path: vec!["sys", "leases", "renew"],
            query: None,
            token: Some(token),
            body: Some(json!({"lease_id": lease, "increment": seconds})),
        };
        let body = self.http.success(&call).await?;
        body["lease_duration"].as_i64().ok_or_else(|| self.http.useless(&call, "does not say for how long"))
    }

    async fn revoke(&self, token: &SecretString, lease: &str) -> Result<(), VaultError> {
        let call = VaultCall {
            doing: "revoking a lease".to_owned(),
            method: Method::PUT,
            path: vec!["sys", "leases", "revoke"],
            query: None,
            token: Some(token),
            body: Some(json!({"lease_id": lease})),
        };
        let told = self.http.send(&call).await?;
        // A lease that is not there is a 400 or a 404, by versions.
        match told.status.as_u16() {
            400 | 404 => Ok(()),
            _ if told.status.is_success() => Ok(()),
            _ => Err(self.http.refused(&call, &told)),
        }
    }

    async fn renew_self(&self, token: &SecretString) -> Result<i64, VaultError> {
        let call = VaultCall {
            doing: "renewing a login".to_owned(),
            method: Method::PUT,
            path: vec!["auth", "token", "renew-self"],
            query: None,
            token: Some(token),
            body: Some(json!({})),
        };
        let body = self.http.success(&call).await?;
        let lived = body["auth"]["lease_duration"].as_i64();
        lived.ok_or_else(|| self.http.useless(&call, "does not say for how long"))
    }

    async fn revoke_self(&self, token: &SecretString) -> Result<(), VaultError> {
        let call = VaultCall {
            doing: "ending a login".to_owned(),
            method: Method::PUT,
            path: vec!["auth", "token", "revoke-self"],
            query: None,
            token: Some(token),
            body: Some(json!({})),
        };
        let told = self.http.send(&call).await?;
        // The token has ended.
        if told.status.is_success() || told.status.as_u16() == 403 {
            return Ok(());
        }
        Err(self.http.refused(&call, &told))
    }
}

/// A time in seconds; none where it is 0: what never ends.
fn seconds(value: &Value) -> Option<i64> {
    value.as_i64().filter(|seconds| *seconds > 0)
}
