//! Calls through octocrab: as the App itself, or as the owner of a token.

use std::sync::Arc;

use http::Request;
use http::header::ACCEPT;
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use secrecy::SecretString;
use serde_json::json;

use capstan_ports::CodeHostError;

use super::answer::{GitHubAnswer, failure};
use super::call::GitHubCall;
use super::credentials::AppCredentials;
use super::layers::{LayerState, stacked};

/// octocrab with the App's key, above the layers.
pub(super) struct AppClient {
    /// As the App itself; with a token it asks as the token's owner.
    app: Octocrab,
    pub(super) shared: Arc<LayerState>,
}

impl AppClient {
    pub(super) fn new(credentials: AppCredentials, shared: Arc<LayerState>) -> Self {
        let AppCredentials(app) = credentials;
        let layers = OctocrabBuilder::new_empty().with_service(stacked(&shared));
        let Ok(app) = layers.with_auth(AuthState::App(app)).build();
        Self { app, shared }
    }

    /// Makes a call as the App itself.
    pub(super) async fn send_as_app(&self, call: &GitHubCall) -> Result<GitHubAnswer, CodeHostError> {
        self.send_through(call, &self.app).await
    }

    /// Makes a call as the owner of the token.
    pub(super) async fn send_with(
        &self,
        call: &GitHubCall,
        token: &SecretString,
    ) -> Result<GitHubAnswer, CodeHostError> {
        let doing = |error| failure(call.terms.doing.clone(), error);
        let whose = self.app.user_access_token(token.clone()).map_err(doing)?;
        self.send_through(call, &whose).await
    }

    async fn send_through(&self, call: &GitHubCall, whose: &Octocrab) -> Result<GitHubAnswer, CodeHostError> {
        let doing = |error| failure(call.terms.doing.clone(), error);
        let request = Request::builder()
            .method(&call.method)
            .uri(call.path_and_query(&self.shared.rest))
            .header(ACCEPT, call.accept)
            .extension(Arc::new(call.terms.clone()));
        let nothing = call.terms.effect.writes().then(|| json!({}));
        let request = whose.build_request(request, call.body.as_ref().or(nothing.as_ref())).map_err(doing)?;
        let response = whose.execute(request).await.map_err(doing)?;
        GitHubAnswer::of(call.terms.doing.clone(), call.method.clone(), response).await
    }
}
