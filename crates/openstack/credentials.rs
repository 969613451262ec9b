//! Application credentials of the user who is logged in
//! (<https://docs.openstack.org/api-ref/identity/v3/#application-credentials>).

use capstan_outbound::host_of;
use http::{HeaderValue, Method, StatusCode};
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Value, json};
use url::Url;

use super::http::{Call, CallFailure, CloudResponse, Http, Patience};
use super::refusal::unanswered;
use capstan_ports::{CloudError, Issued, NewCredential};

/// What a cluster's controllers may do.
const ROLE: &str = "member";

/// Keystone, as one user.
pub(super) struct Keystone<'a> {
    pub(super) http: &'a Http,
    pub(super) token: &'a HeaderValue,
    pub(super) user: &'a str,
    /// With `/v3`.
    pub(super) url: &'a Url,
}

impl Keystone<'_> {
    pub(super) async fn list(&self, beginning: &str) -> Result<Vec<Issued>, CloudError> {
        let told = self.send(Method::GET, None, None).await?;
        let all = told.body["application_credentials"].as_array();
        let all = all.filter(|_| told.status.is_success()).ok_or_else(|| self.unexpected(&told))?;
        let is_its = |one: &&Value| {
            let rest = one["name"].as_str().and_then(|name| name.strip_prefix(beginning));
            rest.is_some_and(|rest| rest.starts_with('-'))
        };
        let read = |one: &Value| {
            let id = one["id"].as_str()?.to_owned();
            Some(Issued { id, expires_at: one["expires_at"].as_str().and_then(time) })
        };
        Ok(all.iter().filter(is_its).filter_map(read).collect())
    }

    pub(super) async fn issue(&self, name: &str, expires_at: Timestamp) -> Result<NewCredential, CloudError> {
        let body = json!({"application_credential": {
            "name": name,
            "description": "Made by Capstan for a cluster",
            "expires_at": expires_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "roles": [{"name": ROLE}],
            "unrestricted": false,
        }});
        let told = self.send(Method::POST, None, Some(&body)).await?;
        let made = &told.body["application_credential"];
        match (told.status, made["id"].as_str(), made["secret"].as_str()) {
            (StatusCode::CREATED, Some(id), Some(secret)) => {
                Ok(NewCredential { id: id.to_owned(), secret: SecretString::from(secret.to_owned()) })
            }
            _ => Err(self.unexpected(&told)),
        }
    }

    pub(super) async fn revoke(&self, id: &str) -> Result<(), CloudError> {
        let told = self.send(Method::DELETE, Some(id), None).await?;
        match told.status {
            StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => Ok(()),
            _ => Err(self.unexpected(&told)),
        }
    }

    async fn send(
        &self,
        method: Method,
        id: Option<&str>,
        body: Option<&Value>,
    ) -> Result<CloudResponse, CloudError> {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.extend(["users", self.user, "application_credentials"]).extend(id);
        }
        let call = Call { method, url, token: Some(self.token), body };
        self.http.send(&call, Patience::FreshToken).await.map_err(|failed| match failed {
            CallFailure::NotAllowed(host) => {
                CloudError::HostNotAllowed { host, allowed: self.http.hosts().to_string() }
            }
            CallFailure::Trouble(reason) => unanswered(&host_of(self.url), &reason),
        })
    }

    fn unexpected(&self, told: &CloudResponse) -> CloudError {
        let (host, status) = (host_of(self.url), told.status.as_u16());
        match status {
            403 => CloudError::Unusable(format!(
                "Keystone at {host} answers 403: a restricted credential cannot make or delete others, and no user can give a role that they do not have"
            )),
            409 => CloudError::Unusable(format!(
                "Keystone at {host} answers 409: an application credential has that name"
            )),
            _ => unanswered(&host, &format!("answers {status}")),
        }
    }
}

/// Keystone writes times in UTC, without saying so.
fn time(text: &str) -> Option<Timestamp> {
    let text = text.trim_end_matches('Z');
    format!("{text}Z").parse().ok()
}
