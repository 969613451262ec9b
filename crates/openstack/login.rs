//! Tokens: who somebody is, and where the services of the project are.

use std::sync::Arc;

use async_trait::async_trait;
use capstan_outbound::host_of;
use http::{HeaderValue, Method};
use secrecy::ExposeSecret as _;
use serde_json::Value;

use super::catalog::Catalog;
use super::clouds_yaml::CloudEntry;
use super::entrance::{CA, CLOUDS_YAML, Entrance};
use super::http::{Call, CallFailure, CloudResponse, Http, Patience};
use super::refusal::{refused, unanswered};
use super::session::{Door, Session};
use capstan_ports::{AllowedHosts, CloudAccount, CloudCredential, CloudError, CloudSession, Clouds};

/// OpenStack's services on hosts that are named.
#[derive(Debug, Clone)]
pub struct OpenStack {
    hosts: AllowedHosts,
    any: Allowed,
}

/// Whether any host is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Some,
    None,
}

impl OpenStack {
    /// Asks those hosts alone: Keystone's and those of the catalog.
    pub fn new(hosts: Vec<String>) -> Self {
        let any = if hosts.is_empty() { Allowed::None } else { Allowed::Some };
        Self { hosts: AllowedHosts::new(hosts), any }
    }
}

#[async_trait]
impl Clouds for OpenStack {
    fn may_ask(&self) -> bool {
        self.any == Allowed::Some
    }

    async fn log_in(&self, credential: &CloudCredential) -> Result<Arc<dyn CloudSession>, CloudError> {
        let text =
            |key: &str| credential.secret.get(key).filter(|text| !text.expose_secret().trim().is_empty());
        let clouds_yaml = text(CLOUDS_YAML)
            .ok_or_else(|| CloudError::Unusable(format!("it has no key `{CLOUDS_YAML}` that holds text")))?;
        let ca = text(CA).map(|pem| pem.expose_secret().to_owned());
        let entry = CloudEntry::read(clouds_yaml, &credential.cloud).map_err(CloudError::Unusable)?;
        let http = Http::new(&self.hosts, ca.as_deref()).map_err(CloudError::Unusable)?;
        let host = host_of(&entry.keystone);
        let mut url = entry.keystone.clone();
        url.set_path(&format!("{}/auth/tokens", url.path()));
        let body = entry.request();
        let call = Call { method: Method::POST, url, token: None, body: Some(&body) };
        let unanswered = |reason: String| unanswered(&host, &reason);
        let told = match http.send(&call, Patience::Login).await {
            Ok(told) => told,
            Err(CallFailure::NotAllowed(host)) => {
                return Err(CloudError::HostNotAllowed { host, allowed: self.hosts.to_string() });
            }
            Err(CallFailure::Trouble(reason)) => return Err(unanswered(reason)),
        };
        if refuses(&told) {
            return Err(refused(&host, told.status.as_u16()));
        }
        let token = told.headers.get("x-subject-token").filter(|_| told.status.is_success());
        let mut token: HeaderValue = token
            .cloned()
            .ok_or_else(|| unanswered(format!("answers {} without a token", told.status.as_u16())))?;
        token.set_sensitive(true);
        let said = &told.body["token"];
        let text = |pointer: &str| said.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let project = text("/project/id")
            .ok_or_else(|| CloudError::Unusable("its credential is for no project".to_owned()))?;
        let region = credential.region.clone().or(entry.region);
        let account = CloudAccount {
            host,
            region: region.clone(),
            account: project,
            user: text("/user/id").unwrap_or_default(),
        };
        let catalog = Catalog::of(said, &entry.interface, region.as_deref());
        let entrance = Entrance {
            cloud: credential.cloud.clone(),
            auth_url: entry.keystone.to_string(),
            region,
            interface: entry.interface,
            ca,
        };
        Ok(Arc::new(Session::new(http, token, account, catalog, Door { keystone: entry.keystone, entrance })))
    }
}

/// Whether Keystone itself says no: to a wrong secret 401, to an application credential that is not there 404, and 403
/// to what it does not allow. Something else at that address may answer 404 too.
fn refuses(told: &CloudResponse) -> bool {
    let is_keystone =
        told.body.pointer("/error/code").and_then(Value::as_u64) == Some(u64::from(told.status.as_u16()));
    is_keystone && [400, 401, 403, 404].contains(&told.status.as_u16())
}
