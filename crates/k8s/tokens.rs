//! [`ServiceAccountTokens`]: the API server signs short tokens for the accounts that folders are applied as.

use async_trait::async_trait;
use http::Method;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::connect::Connection;
use super::rest::{ApiCall, ApiServer};
use capstan_ports::{As, LiveError, ServiceAccount, ServiceAccountTokens};

/// The shortest time that an API server gives a token for.
const SECONDS: u32 = 600;

/// Asks as the account itself: so the right is among the account's other rights, and the reconciler has none.
pub struct KubeTokens {
    rest: ApiServer,
}

impl KubeTokens {
    /// Of the API server of a connection.
    pub fn new(connection: &Connection) -> Self {
        Self { rest: connection.rest.clone() }
    }
}

#[async_trait]
impl ServiceAccountTokens for KubeTokens {
    async fn token(
        &self,
        account: &ServiceAccount,
        audience: Option<&str>,
    ) -> Result<SecretString, LiveError> {
        let ServiceAccount { namespace, name } = account;
        let doing = format!("asking for a token of ServiceAccount {namespace}/{name}");
        let by = As::Impersonated(account.clone());
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let mut spec = json!({"expirationSeconds": SECONDS});
        if let Some(audience) = audience {
            spec["audiences"] = json!([audience]);
        }
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
        let call = ApiCall::new(&doing, &by, Method::POST, path).body("application/json", &request);
        let answer = self.rest.done(&call).await?;
        let token = answer.pointer("/status/token").and_then(Value::as_str);
        let none = || LiveError::Malformed { doing, reason: "the answer holds no token".to_owned() };
        token.map(|token| SecretString::from(token.to_owned())).ok_or_else(none)
    }
}
